"""What verbs about a release take on many rows, in CPU seconds, against reading the files that they are about."""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best
from indistinct.evaluation.assess.membership import membership_by_kind


def verb_lines(rows: int) -> Iterator[Line]:
    """Measure with membership, distributions, scan and inspect, each against reading original and release."""
    original = census(rows)
    others = [name for name in pq.read_schema(original).names if name not in QUASI]
    schema = ind.Schema(quasi=QUASI, insensitive=others)
    with tempfile.TemporaryDirectory() as folder:
        release = Path(folder) / "release.parquet"
        ind.anonymize(original, schema, model="k-anonymity:k=5", algorithm="mondrian", output=release)

        def measure() -> None:
            given = ind.published(release, schema, original=original)
            ind.measure(given)
            membership_by_kind(given)

        verbs: dict[str, Callable[[], object]] = {
            "measure, with membership": measure,
            "distributions": lambda: ind.distributions(release, original, schema),
            "scan": lambda: ind.scan(release, original=original, schema=schema),
            "inspect": lambda: ind.inspect(original),
        }

        def read() -> None:
            pq.read_table(original)
            pq.read_table(release)

        for name, verb in verbs.items():
            verb()  # compiles
            ours, theirs = (best(work, repeat=2, clock=time.process_time) for work in (verb, read))
            yield Line(f"{name}, {rows:,} rows, CPU", ours, "reading both files with Arrow, CPU", theirs, None)
