"""What it costs to assess a table, against the GROUP BY that counts its cells, and how far estimates are off."""

from collections.abc import Iterator

import numpy as np
import pyarrow.parquet as pq

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.models.uniqueness_estimators import estimate_uniques

TWICE, REPEAT = 2.0, 7
CLASSES, FRACTIONS = 100_000, (0.01, 0.1, 0.3, 0.8)


def risk_lines(rows: int) -> Iterator[Line]:
    """Quasi-identifiers alone, and with what classes tell of a sensitive column; each against counting the same."""
    table = pq.read_table(census(rows))
    others = [name for name in table.column_names if name not in QUASI]
    for sensitive in ([], others):
        schema = ind.Schema(quasi=QUASI, sensitive=sensitive, insensitive=[] if sensitive else others)
        request = Request(QUASI, tuple((name,) for name in sensitive))

        def assess(schema: ind.Schema = schema) -> None:
            ind.assess(ind.open(table), schema)

        def count(request: Request = request) -> None:
            count_source(ind.open(table), request)

        assess()  # compiles
        what = f"assess, {len(QUASI)} columns" + (f", {len(sensitive)} sensitive" if sensitive else "")
        yield Line(what, best(assess, repeat=REPEAT), "GROUP BY of the same columns", best(count, repeat=REPEAT), TWICE)


def uniqueness_lines() -> Iterator[str]:
    """How far estimates of population uniques are from the truth, on populations that are drawn here."""
    rng = np.random.default_rng(1)
    populations = {
        "geometric": rng.geometric(0.2, CLASSES),
        "negative binomial": 1 + rng.negative_binomial(0.5, 0.1, CLASSES),
        "log-normal": np.maximum(rng.lognormal(1, 1.2, CLASSES).astype(int), 1),
        "Zipf": np.minimum(rng.zipf(1.6, CLASSES), 5000),
        "Poisson": np.maximum(rng.poisson(3, CLASSES), 1),
    }
    for name, population in populations.items():
        people = np.repeat(np.arange(CLASSES), population)
        true = float((population == 1).sum() / len(people))
        for fraction in FRACTIONS:
            drawn = np.bincount(rng.choice(people, int(fraction * len(people)), replace=False))
            found = estimate_uniques(drawn, len(people))
            told = "  ".join(
                f"{estimator} {'–' if share is None else f'{share / true - 1:+.0%}'}"
                for estimator, share in [*found.by_name.items(), (f"dankar ({found.used})", found.dankar)]
            )
            yield f"population uniques, {name:<18} fraction {fraction:<5} true {true:.3%}  bias: {told}"
