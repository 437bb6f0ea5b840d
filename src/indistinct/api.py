"""The public functions: open, anonymize, apply, verify, measure."""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from indistinct.algorithms.base import Algorithm, Problem, Progress
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.bucketing import anonymize_into_buckets, apply_into_buckets, measure_bucket_table
from indistinct.domain import Kind
from indistinct.engines.base import Published, Request
from indistinct.engines.memory import Memory
from indistinct.errors import InputError, ParameterError, SchemaError, VerificationError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.value import Key
from indistinct.hierarchy import Hierarchy
from indistinct.metrics import Measurements, Metric, measure_all, standard_metrics
from indistinct.models import KAnonymity, Model
from indistinct.recoding.columns import columns_of
from indistinct.recoding.interpret import interpret_table
from indistinct.recoding.kinds import ByBucket, Recoding
from indistinct.recoding.storage import digest
from indistinct.registry import parse_algorithm, parse_metric, parse_model
from indistinct.release.certificate import Certificate
from indistinct.release.release import Release
from indistinct.release.verify import verify_table
from indistinct.schema import Schema, did_you_mean
from indistinct.spelling import spell
from indistinct.tables import Table, open_table
from indistinct.tables.inference import mixture_of

COUNTERS = ("checks", "scans", "rollups", "merges")
SEED_WARNING = "a fixed seed was used: whoever knows it can undo the shuffling of rows; use none for a real release"


def open(source: Any, **options: Any) -> Table:  # noqa: A001
    """Return the table at a path or in a frame; see `indistinct.tables.open_table` for the options."""
    return open_table(source, **options)


def anonymize(
    table: Any,
    schema: Schema,
    *,
    model: Model | str | None = None,
    algorithm: Algorithm | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: float = 0.0,
    target: str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Return a release of a table that satisfies a model, verified on the published rows.

    `suppression` is the share of the original rows that may be dropped. `target` names a column whose classification
    metric is wanted. `seed` fixes the shuffling for tests; a real release leaves it out. An algorithm that is its own
    model (anatomy, multiset, slicing) can do without another one.

    Raises `InfeasibleError` if no release can satisfy the model.
    """
    source, report = open_table(table), progress or (lambda _share: None)
    model = parse_model(model) if isinstance(model, str) else model
    algorithm = parse_algorithm(algorithm) if isinstance(algorithm, str) else algorithm or Mondrian()
    declared = dict(hierarchies or {})
    if algorithm.traits.buckets:
        check_job(source, schema, model or KAnonymity(1), declared, seed=seed)
        return anonymize_into_buckets(
            source, schema, model=model, algorithm=algorithm, hierarchies=declared, seed=seed, progress=report
        )
    if model is None:
        raise ParameterError(f"{algorithm.name} needs a model", hint="for example model=KAnonymity(5)")
    extra = (*algorithm.keys, *([(target,)] if target else []))
    check_job(source, schema, model, declared, extra=extra, seed=seed)
    began, keys = time.perf_counter(), tuple(dict.fromkeys([*model.keys, *extra]))
    counted = Memory().count(source.data, Request(schema.quasi, keys, declared, joint=algorithm.traits.splits))
    check_kinds(counted, known=(*declared, *source.text))
    report(0.2)
    problem = Problem(
        counted.frequencies,
        columns_of(counted.domains, declared),
        model,
        suppression=budget(suppression, source.rows),
        progress=lambda share: report(0.2 + 0.4 * share),
        counters=Counter(scans=1),
    )
    release = _released(problem, source, schema, counted, algorithm=algorithm, hierarchies=declared, seed=seed)
    report(1.0)
    counters = {**dict.fromkeys(COUNTERS, 0), **problem.counters, "seconds": time.perf_counter() - began}
    return replace(release, counters=counters, source=source.path)


def _released(
    problem: Problem,
    source: Table,
    schema: Schema,
    counted: Counted,
    *,
    algorithm: Algorithm,
    hierarchies: Mapping[str, Hierarchy],
    seed: int | None,
) -> Release:
    """Search, apply and verify."""
    model = problem.model
    recoding = replace(algorithm.search(problem), schema=schema, promise=model.spec())
    problem.progress(1.0)
    published = Memory().apply(recoding, source.data, schema=schema, seed=seed, counted=counted)
    certificate = _certify(published, source, recoding, model=model, hierarchies=hierarchies, seed=seed)
    certificate = replace(certificate, algorithm=spell(algorithm))
    return Release(published.table, published.schema, certificate, recoding, published.assignment, {})


def apply(
    recoding: Recoding,
    table: Any,
    *,
    model: Model | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    seed: int | None = None,
) -> Release:
    """Return the release of another table under a recoding that was found before.

    The new release must keep the promise of the first one, or satisfy `model` if that is given. A value or a
    combination of values that the recoding does not know is an error; a raw value is never passed through.
    """
    source, schema = open_table(table), recoding.schema
    if schema is None:
        raise ParameterError("the recoding does not say which roles the columns have", hint="use a release's recoding")
    promised = model or recoding.promise
    if isinstance(recoding, ByBucket):
        parsed = parse_model(promised) if isinstance(promised, str) else promised
        check_job(source, schema, parsed or KAnonymity(1), dict(hierarchies or {}), seed=seed)
        return apply_into_buckets(recoding, source, model=parsed, seed=seed)
    if promised is None:
        raise ParameterError("the recoding does not say what it promised", hint="pass model=…")
    wanted = parse_model(promised) if isinstance(promised, str) else promised
    declared = dict(hierarchies or {})
    check_job(source, schema, wanted, declared, seed=seed)
    began = time.perf_counter()
    published = Memory().apply(recoding, source.data, schema=schema, seed=seed)
    certificate = _certify(published, source, recoding, model=wanted, hierarchies=declared, seed=seed)
    counters = {"scans": 1, "seconds": time.perf_counter() - began}
    return Release(published.table, published.schema, certificate, recoding, published.assignment, counters)


def verify(
    table: Any,
    schema: Schema,
    model: Model | str,
    *,
    original: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Certificate:
    """Return what a published table from anywhere achieves under a model.

    With `original` the check compares with the distribution of that table and counts suppressed rows.
    """
    wanted = parse_model(model) if isinstance(model, str) else model
    whole = None if original is None else open_table(original).data
    return verify_table(open_table(table).data, schema, model=wanted, original=whole, hierarchies=hierarchies or {})


def measure(release: Release, metrics: Sequence[Metric | str] | None = None) -> Measurements:
    """Return the utility of a release: every standard metric, or those that are named.

    Of a release in buckets it is what speaks of buckets: values are not recoded there, so nothing else is lost.
    """
    if isinstance(release.recoding, ByBucket):
        schema = release.recoding.schema or release.schema
        return measure_bucket_table(release.bucket_table(), schema, k=release.recoding.l or 1)
    if metrics is not None:
        chosen = [parse_metric(metric) if isinstance(metric, str) else metric for metric in metrics]
        return measure_all(release.assignment, chosen)
    promise = parse_model(release.recoding.promise) if release.recoding.promise else KAnonymity(1)
    return measure_all(release.assignment, standard_metrics(k=promise.smallest))


def measure_table(
    published: Any,
    schema: Schema,
    *,
    original: Any,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    k: int = 1,
    target: str | None = None,
    metrics: Sequence[Metric | str] | None = None,
) -> Measurements:
    """Return the utility of a published table from anywhere, beside the original that it was made from.

    `schema` gives the roles in the original, `hierarchies` those that the published labels come from. Every
    standard metric is measured, or those that are named, but not `entropy`: it compares rows with their
    originals, and a published table does not tell which ones these are. `k` is the unit of the average class
    size; `target` names a column whose classification metric is wanted.
    """
    source, whole, declared = open_table(published), open_table(original), dict(hierarchies or {})
    check_job(whole, schema, KAnonymity(k), declared)
    if metrics is None:
        chosen = [metric for metric in standard_metrics(k=k, target=target) if metric.name != "entropy"]
    else:
        chosen = [parse_metric(metric) if isinstance(metric, str) else metric for metric in metrics]
    if any(metric.name == "entropy" for metric in chosen):
        raise ParameterError(
            "entropy cannot be measured on a published table: it does not tell where each row came from",
            hint="measure the release when it is made",
        )
    counted = Memory().count(whole.data, Request(schema.quasi, (), declared))
    assignment = interpret_table(
        source.data,
        columns_of(counted.domains, declared),
        frequencies=counted.frequencies,
        schema=schema,
        keys=tuple(dict.fromkeys(key for metric in chosen for key in metric.keys)),
    )
    return measure_all(assignment, chosen)


def budget(suppression: float, rows: int) -> int:
    """Return how many rows a share of the original rows allows to drop."""
    if isinstance(suppression, bool) or not 0 <= suppression <= 1:
        raise ParameterError(
            f"`suppression` must be a share from 0 to 1; got {suppression!r}", hint="0.02 allows two rows in a hundred"
        )
    return int(Fraction(str(suppression)) * rows)


def check_kinds(counted: Counted, *, known: Collection[str]) -> None:
    """Raise if a quasi-identifier is mostly numbers or dates, but not only; those `known` to be text may be so."""
    for domain in counted.domains:
        if domain.kind is not Kind.TEXT or domain.column in known:
            continue
        slip = mixture_of(domain.values)
        if slip is not None:
            kind, strangers = slip
            raise InputError(
                f"column {domain.column!r} mixes {kind} and text: {len(strangers)} of its {len(domain.values)} "
                f"distinct values cannot be read as {kind}, so it cannot be published as ranges",
                hint="declare marks for missing values (--missing, or `missing` under [input]), correct the cells, or "
                f"say that {domain.column!r} is text (--text, or `text` under [input]; or a hierarchy)",
                values=strangers,
                column=domain.column,
            )


def check_job(
    table: Table,
    schema: Schema,
    model: Model,
    hierarchies: Mapping[str, Hierarchy],
    *,
    extra: Sequence[Key] = (),
    seed: int | None = None,
) -> None:
    """Raise unless table, schema, model and hierarchies speak of the same columns; `extra` are further ones in use."""
    if seed is not None and (isinstance(seed, bool) or seed < 0):
        raise ParameterError(f"`seed` must be a whole number from 0; got {seed!r}", hint="leave it out for a release")
    schema.check(table.columns)
    if not table.rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    for name in hierarchies:
        if name not in schema.columns:
            raise SchemaError(
                f"a hierarchy is given for column {name!r}, which the schema does not name",
                hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
            )
    for name in dict.fromkeys(name for key in extra for name in key):
        if name not in schema.columns:
            raise SchemaError(
                f"column {name!r} is to be predicted, but the schema does not name it",
                hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
            )
    for name in dict.fromkeys(name for key in model.keys for name in key):
        if name not in schema.columns:
            raise SchemaError(
                f"the model {model.spec()} needs column {name!r}, which the schema does not name",
                hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
            )
        if name in schema.quasi:
            raise SchemaError(
                f"the model {model.spec()} protects column {name!r}, which is a quasi-identifier and will be recoded",
                hint="give the column the role sensitive",
            )


def _certify(
    published: Published,
    source: Table,
    recoding: Recoding,
    *,
    model: Model,
    hierarchies: Mapping[str, Hierarchy],
    seed: int | None,
) -> Certificate:
    """Verify a published table, and refuse to hand out one that breaks its promise."""
    needed = {name for key in model.keys for name in key}
    hidden = [name for name in source.columns if name in needed and name not in published.table.column_names]
    companions = source.data.select(hidden).take(pa.array(published.order)) if hidden else None
    certificate = verify_table(
        published.table,
        published.schema,
        model=model,
        original=source.data,
        companions=companions,
        hierarchies={name: h for name, h in hierarchies.items() if name in needed},
    )
    if not certificate.holds:
        broken = [verdict.model for verdict in certificate.verdicts if not verdict.holds]
        raise VerificationError(
            f"the published table does not satisfy {', '.join(broken)}",
            hint="nothing was written; search a new recoding on this table",
            certificate=certificate,
        )
    warnings = (*certificate.warnings, *((SEED_WARNING,) if seed is not None else ()))
    return replace(certificate, recoding_digest=digest(recoding), seeded=seed is not None, warnings=warnings)
