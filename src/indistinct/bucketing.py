"""From a table to a verified release in buckets: an algorithm breaks links instead of recoding values.

Every column that is not sensitive counts as known to others, whatever its role: what nobody needs to know belongs to
no release.
"""

import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from indistinct.algorithms.base import Algorithm, Problem, Progress
from indistinct.engines.base import Published, Request
from indistinct.engines.memory import Memory
from indistinct.errors import InputError, SchemaError, VerificationError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy import Hierarchy, Order
from indistinct.metrics import Measurements
from indistinct.metrics.buckets import measure_buckets
from indistinct.models import KAnonymity, Model
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.kinds import ByBucket
from indistinct.recoding.storage import digest
from indistinct.release.bucket_table import BucketTable, coded, plain
from indistinct.release.certificate import Certificate
from indistinct.release.release import Release, recoding_table
from indistinct.release.verify_buckets import verify_buckets
from indistinct.schema import BUCKET, COUNT, Schema
from indistinct.spelling import spell
from indistinct.tables import Table

SEED_WARNING = (
    "a fixed seed was used: whoever knows it can undo the permutation and link every row again; "
    "use none for a real release"
)
NO_PROMISE = "l = 1 promises nothing about sensitive values: a bucket may tell them for certain"


def anonymize_into_buckets(
    source: Table,
    schema: Schema,
    *,
    model: Model | None,
    algorithm: Algorithm,
    hierarchies: Mapping[str, Hierarchy],
    seed: int | None,
    progress: Progress,
) -> Release:
    """Return a release in buckets, verified on the published rows against the original."""
    check_columns(schema, algorithm)
    _check_model(schema, model)
    engine, began = Memory(), time.perf_counter()
    counted, problem = _problem(engine, source, schema, model=model, hierarchies=hierarchies, progress=progress)
    recoding = algorithm.search(replace(problem, seed=seed))
    if not isinstance(recoding, ByBucket):
        raise TypeError(f"{algorithm.name} declares buckets, but returned {type(recoding).__name__}")
    recoding = replace(recoding, schema=schema, promise=None if model is None else model.spec())
    progress(0.6)
    published = engine.apply(recoding, source.data, schema=schema, seed=seed, counted=counted)
    progress(0.8)
    certificate = certify_buckets(published, source, recoding, model=model, seed=seed)
    counters = {**problem.counters, "seconds": time.perf_counter() - began}
    certificate = replace(certificate, algorithm=spell(algorithm))
    return Release(
        published.table,
        published.schema,
        certificate,
        recoding,
        published.assignment,
        counters,
        published.others,
        source.path,
    )


def apply_into_buckets(recoding: ByBucket, source: Table, *, model: Model | None, seed: int | None) -> Release:
    """Return another release of the one table that a recoding into buckets speaks of."""
    schema = recoding.schema or Schema()
    began = time.perf_counter()
    published = Memory().apply(recoding, source.data, schema=schema, seed=seed)
    certificate = certify_buckets(published, source, recoding, model=model, seed=seed)
    counters = {"scans": 1, "seconds": time.perf_counter() - began}
    return Release(
        published.table, published.schema, certificate, recoding, published.assignment, counters, published.others
    )


def check_columns(schema: Schema, algorithm: Algorithm) -> None:
    """Raise if a column of the table has the name of one that a release in buckets adds."""
    for name in (BUCKET, *((COUNT,) if getattr(algorithm, "form", None) == "tables" else ())):
        if name in schema.published:
            raise SchemaError(
                f"a release in buckets adds a column {name!r}, and the table has one already", hint="rename the column"
            )


def _check_model(schema: Schema, model: Model | None) -> None:
    """Raise for a model that looks at a column which is not published: buckets could not be checked for it."""
    for name in (name for key in (model.keys if model is not None else ()) for name in key):
        if name not in schema.published:
            raise SchemaError(
                f"a release in buckets cannot be checked for column {name!r}, which is not published",
                hint="leave the model out: the algorithm is its own",
            )


def measure_bucket_table(published: BucketTable, schema: Schema, *, k: int = 1) -> Measurements:
    """Return the utility of a published table in buckets from anywhere; `k` is the unit of the mean size."""
    rows = plain(published, schema)
    counted = Memory().count(rows.table, Request([BUCKET], tuple((name,) for name in schema.sensitive)))
    codes = coded(rows, None)
    known = [[name for name in names if name not in schema.sensitive] for names in rows.slices]
    return measure_buckets(counted.frequencies.classes, [codes.joined(names)[0] for names in known if names], k=k)


def certify_buckets(
    published: Published, source: Table, recoding: ByBucket, *, model: Model | None, seed: int | None
) -> Certificate:
    """Verify a release in buckets, and refuse to hand out one that breaks its promise."""
    shown = recoding_table(recoding, published.table, published.others)
    schema = recoding.schema or published.schema
    with ThreadPoolExecutor(1) as pool:  # a commitment to every row takes a while
        committed = pool.submit(digest, recoding)
        certificate = verify_buckets(shown, schema, l=recoding.l, size=recoding.size, original=source.data, model=model)
    if not certificate.holds:
        broken = [verdict.model for verdict in certificate.verdicts if not verdict.holds]
        raise VerificationError(
            f"the published table does not satisfy {', '.join(broken)}",
            hint="nothing was written; ask for less, or for another algorithm",
            certificate=certificate,
        )
    warnings = list(certificate.warnings)
    warnings += [NO_PROMISE] if recoding.l == 1 and schema.sensitive else []
    warnings += [SEED_WARNING] if seed is not None else []
    return replace(certificate, recoding_digest=committed.result(), seeded=seed is not None, warnings=tuple(warnings))


def _problem(
    engine: Memory,
    source: Table,
    schema: Schema,
    *,
    model: Model | None,
    hierarchies: Mapping[str, Hierarchy],
    progress: Progress,
) -> tuple[Counted, Problem]:
    known = [*schema.quasi, *schema.insensitive]
    keys = tuple(dict.fromkeys([*((name,) for name in schema.sensitive), *(model.keys if model is not None else ())]))
    for name in (*known, *schema.sensitive):
        if source.data[name].null_count == source.rows:
            raise InputError(f"every cell is missing in column {name!r}", hint="leave the column out of the table")
    counted = engine.count(source.data, Request(known, keys, hierarchies, joint=bool(keys)))
    progress(0.2)
    problem = Problem(
        counted.frequencies,
        columns_of(counted.domains, hierarchies),
        model or KAnonymity(1),
        progress=lambda share: progress(0.2 + 0.4 * share),
        counters=Counter(scans=1),
        sensitive=tuple(_sensitive(source, name, hierarchies) for name in schema.sensitive),
    )
    return counted, problem


def _sensitive(source: Table, name: str, hierarchies: Mapping[str, Hierarchy]) -> QuasiColumn:
    hierarchy = hierarchies.get(name)
    order = hierarchy.values if isinstance(hierarchy, Order) else None
    return QuasiColumn(encode_column(name, source.data[name], order=order).domain)
