"""The public functions: open, anonymize, apply, verify, measure."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from indistinct.algorithms.base import Algorithm, Problem, Progress
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.engines import open_source
from indistinct.engines.base import Source
from indistinct.errors import InputError, ParameterError, SchemaError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import Key
from indistinct.hierarchy import Hierarchy
from indistinct.metrics import Measurements, Metric, measure_all, standard_metrics
from indistinct.metrics.buckets import measure_buckets
from indistinct.models import KAnonymity, LDiverseLinks, Model
from indistinct.randomness import Secret
from indistinct.recoding.assign import domains_of, keys_of, needs_joint
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import MAIN, Buckets
from indistinct.recoding.read_back import read_back
from indistinct.recoding.storage import read_recoding, stored
from indistinct.registry import parse_algorithm, parse_metric, parse_model
from indistinct.release.bucket_evidence import count_buckets
from indistinct.release.certificate import About, Certificate
from indistinct.release.check import Check
from indistinct.release.kinds import check_kinds, check_notations, reading_again
from indistinct.release.pipeline import Destination, Job, publish
from indistinct.release.published import BucketTable, Published, belongs_to, open_published, read_certificate
from indistinct.release.reading import require_original
from indistinct.release.release import Release
from indistinct.schema import BUCKET, COUNT, Schema, did_you_mean
from indistinct.spelling import spell
from indistinct.tables import Table, open_table

COUNTERS = ("checks", "scans", "rollups", "merges")


def open(source: Any, **options: Any) -> Table:  # noqa: A001
    """Return the table at a path or in a frame, read as it is declared; what is not declared is found or stays text.

    `delimiter` and `encoding` of a text file; `decimal` and `thousands` marks; `dates`, a format such as "%d.%m.%Y" for
    all columns of text that fit, or {column: format}; `missing`, texts for all columns or {column: texts}; `text`,
    columns that are text whatever they spell; `types`, {column: number, integer, date, datetime or text}; `header=True`
    for a first line of names that looks like data; `columns` chooses some; `reading` is how another table was read.
    """
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
    output: str | Path | None = None,
    overwrite: bool = False,
    save_recoding: str | Path | None = None,
) -> Release:
    """Return a release of a table that satisfies a model, verified on the published rows.

    `suppression` is the share of the original rows that may be dropped. `target` names a column whose classification
    metric is wanted. `seed` fixes the order of rows for tests; a real release leaves it out. An algorithm that promises
    something by itself (anatomy, multiset, slicing) can do without another model. With `output` the release is written
    there and verified as written; `save_recoding` then keeps the recoding beside it, for its owner alone. Raises
    `InfeasibleError` if no release can satisfy the model.
    """
    report, declared, secret = progress or (lambda _share: None), dict(hierarchies or {}), Secret(seed)
    began, (engine, source) = time.perf_counter(), open_source(table)
    search = parse_algorithm(algorithm) if isinstance(algorithm, str) else algorithm or Mondrian()
    wanted = promised_model(model, search, schema)
    extra = (*search.keys, *([(target,)] if target else []))
    check_job(source, schema, wanted, declared, extra=extra)
    counted = engine.count(source, _request(schema, wanted, search, declared, extra))
    check_kinds(counted, known=(*declared, *source.reading.text))
    report(0.2)
    problem = Problem(
        counted.frequencies,
        columns_of(counted.domains, declared),
        wanted,
        suppression=budget(suppression, source.rows),
        progress=lambda share: report(0.2 + 0.4 * share),
        counters=Counter(scans=1),
        sensitive=_sensitive(schema, counted) if search.traits.buckets else (),
        seed=seed,
    )
    recoding = _promising(search.search(problem), source, schema=schema, model=wanted, suppression=suppression)
    report(0.6)
    counters = {**dict.fromkeys(COUNTERS, 0), **problem.counters, "seconds": time.perf_counter() - began}
    job = Job(engine, source, counted, recoding, wanted, schema, problem.suppression, secret, spell(search))
    release = publish(job, _destination(output, overwrite, save_recoding, recoding), counters=counters)
    report(1.0)
    return release


def apply(
    recoding: Recoding | str | Path,
    table: Any,
    *,
    model: Model | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: float | None = None,
    seed: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
) -> Release:
    """Return the release of another table under a recoding that was found before, or the path where it was kept.

    The new release must keep the promise of the first one, or satisfy `model` if that is given. It may drop the share
    of rows that the first one was allowed to drop, or `suppression`. A value or a combination of values that the
    recoding does not know is an error; a raw value is never passed through.
    """
    began, secret = time.perf_counter(), Secret(seed)
    recoding = recoding if isinstance(recoding, Recoding) else read_recoding(recoding)
    engine, source = open_source(table, reading_again(recoding))
    schema, asked = recoding.schema, model or recoding.promise
    if schema is None:
        raise ParameterError("the recoding does not say which roles the columns have", hint="use a release's recoding")
    if asked is None:
        raise ParameterError("the recoding does not say what it promised", hint="pass model=…")
    wanted = (parse_model(asked) if isinstance(asked, str) else asked).resolved(schema.sensitive)
    declared = dict(hierarchies or {})
    check_job(source, schema, wanted, declared)
    keys = tuple(dict.fromkeys([*keys_of(recoding), *wanted.keys]))
    domains = {domain.column: domain for domain in domains_of(recoding)}
    sensitive = {name: hierarchy for name, hierarchy in declared.items() if (name,) in keys}
    request = Request(tuple(domains), keys, sensitive, joint=needs_joint(recoding), domains=domains)
    counted = engine.count(source, request)
    allowed = budget(recoding.suppression if suppression is None else suppression, source.rows)
    counters = {**dict.fromkeys(COUNTERS, 0), "scans": 1, "seconds": time.perf_counter() - began}
    job = Job(engine, source, counted, recoding, wanted, schema, allowed, secret)
    return publish(job, _destination(output, overwrite, None, recoding), counters=counters)


def verify(
    table: Any,
    schema: Schema,
    model: Model | str,
    *,
    original: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Certificate:
    """Return what a published table from anywhere achieves under a model.

    `schema` gives the roles in the original. A release in buckets is given as a `BucketTable`. With `original` the
    check compares with that table: its distribution, suppressed rows, broken links. The certificate that lies beside a
    file must be its own.
    """
    wanted = (parse_model(model) if isinstance(model, str) else model).resolved(schema.sensitive)
    published = open_published(table, schema)
    declared = {name: h for name, h in (hierarchies or {}).items() if any(name in key for key in wanted.keys)}
    reference = None
    if original is not None:
        reference = _reference(original, schema, wanted, buckets=published.buckets, hierarchies=declared)
    check = Check(published.engine, schema, wanted, published.buckets, reference, hierarchies=declared)
    if published.path is None:
        return check.certify(published.sources)
    told = read_certificate(published.path)
    foreign = not belongs_to(told, published.path, apart=published.apart)
    about = About(seeded=bool(told and told.get("seeded")))
    return check.certify(published.sources, coarse=published.text, about=about, foreign_certificate=foreign)


def measure(
    release: Release, metrics: Sequence[Metric | str] | None = None, *, target: str | None = None
) -> Measurements:
    """Return the utility of a release: every standard metric, or those that are named.

    `target` names the column of the classification metric, as `anonymize` was given it. Of a release in buckets only
    what speaks of buckets is measured: values are not recoded there, so nothing else is lost.
    """
    if release.buckets is not None:
        tables = {MAIN: release.table, **release.others}
        sources = {name: open_source(table)[1] for name, table in tables.items()}
        published = Published(release.check.engine, sources, release.buckets)
        return _measured_buckets(published, release.check.schema, k=release.check.model.smallest)
    if metrics is not None:
        return measure_all(release.assignment, _parsed(metrics))
    return measure_all(release.assignment, standard_metrics(k=release.check.model.smallest, target=target))


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
    size; `target` names a column whose classification metric is wanted. Of a `BucketTable`, which needs no original,
    only what speaks of buckets is measured.
    """
    if isinstance(published, BucketTable):
        return _measured_buckets(open_published(published, schema), schema, k=k)
    source, declared = open_table(published), dict(hierarchies or {})
    engine, whole = open_source(original)
    check_job(whole, schema, KAnonymity(k), declared)
    chosen = _parsed(metrics) if metrics is not None else standard_metrics(k=k, target=target)
    if metrics is None:
        chosen = tuple(metric for metric in chosen if metric.name != "entropy")
    if any(metric.name == "entropy" for metric in chosen):
        raise ParameterError(
            "entropy cannot be measured on a published table: it does not tell where each row came from",
            hint="measure the release when it is made",
        )
    counted = engine.count(whole, Request(schema.quasi, (), declared))
    assignment = read_back(
        source.data,
        columns_of(counted.domains, declared),
        frequencies=counted.frequencies,
        schema=schema,
        keys=tuple(dict.fromkeys(key for metric in chosen for key in metric.keys)),
    )
    return measure_all(assignment, chosen)


def promised_model(model: Model | str | None, algorithm: Algorithm, schema: Schema) -> Model:
    """Return what a release must satisfy: the model that is asked for, and what the algorithm promises by itself."""
    asked = parse_model(model) if isinstance(model, str) else model
    own = algorithm.promise()
    if asked is None and own is None:
        raise ParameterError(f"{algorithm.name} needs a model", hint="for example model=KAnonymity(5)")
    given = () if asked is None else asked.parts()
    implied = () if own is None else own.parts()
    for mine in (part for part in implied if isinstance(part, LDiverseLinks)):
        for part in given:
            if isinstance(part, LDiverseLinks) and part.l != mine.l:
                raise ParameterError(
                    f"the model asks for l = {part.l}, and {algorithm.name} for l = {mine.l}",
                    hint="give both the same l, or leave the model out: the algorithm implies it",
                )
    if not schema.sensitive:
        implied = tuple(part for part in implied if not isinstance(part, LDiverseLinks))
    parts = tuple(
        dict.fromkeys(part for each in (*implied, *given) for part in each.resolved(schema.sensitive).parts())
    )
    wanted: Model = KAnonymity(1) if not parts else parts[0]
    for part in parts[1:]:
        wanted = wanted & part
    if algorithm.traits.buckets:
        _check_buckets(schema, wanted, algorithm)
    return wanted


def _check_buckets(schema: Schema, model: Model, algorithm: Algorithm) -> None:
    """Raise for columns that a release in buckets cannot have, and for a model that looks at what it does not show."""
    for name in (BUCKET, COUNT):
        if name in schema.published:
            raise SchemaError(
                f"a release in buckets adds a column {name!r}, and the table has one already", hint="rename the column"
            )
    for name in (name for key in model.keys for name in key):
        if name in schema.identifiers:
            raise SchemaError(
                f"a release in buckets cannot be checked for column {name!r}, which is not published",
                hint=f"leave the model out: {algorithm.name} makes a promise by itself",
            )


def _request(
    schema: Schema, model: Model, algorithm: Algorithm, hierarchies: Mapping[str, Hierarchy], extra: Sequence[Key]
) -> Request:
    """Return what a search needs; whoever breaks links needs every column, and the sensitive ones together."""
    keys = tuple(dict.fromkeys([*model.keys, *extra]))
    if not algorithm.traits.buckets:
        return Request(schema.quasi, keys, hierarchies, joint=algorithm.traits.splits)
    keys = tuple(dict.fromkeys([*((name,) for name in schema.sensitive), *keys]))
    return Request((*schema.quasi, *schema.insensitive), keys, hierarchies, joint=bool(keys))


def _reference(
    original: Any, schema: Schema, model: Model, *, buckets: Buckets | None, hierarchies: Mapping[str, Hierarchy]
) -> Counted:
    """Count an original as far as the check of its release needs it."""
    engine, source = open_source(original)
    check_notations(source, [name for key in model.keys for name in key], hierarchies=hierarchies)
    if buckets is None:
        keys = tuple(key for key in model.keys if all(name in source.columns for name in key))
        some = dict.fromkeys(name for key in keys for name in key) or schema.quasi[:1]
        return engine.count(source, Request(tuple(some), keys, hierarchies, published=True))
    require_original(buckets, source.columns)
    keys = tuple(dict.fromkeys([*((name,) for name in schema.sensitive), *model.keys]))
    known = (*schema.quasi, *schema.insensitive)
    return engine.count(source, Request(known, keys, hierarchies, joint=bool(keys), published=True))


def _measured_buckets(published: Published, schema: Schema, *, k: int) -> Measurements:
    if published.buckets is None:
        raise AssertionError("only a release in buckets is measured by its buckets")

    def count(name: str, request: Request) -> Counted:
        return published.engine.count(published.sources[name], request)

    rows = published.sources[MAIN].rows
    evidence = count_buckets(count, published.buckets, schema, rows=rows, reference=None)
    return measure_buckets(evidence.links, k=k)


def _destination(
    output: str | Path | None, overwrite: bool, save_recoding: str | Path | None, recoding: Recoding
) -> Destination | None:
    if output is None:
        if save_recoding is not None:
            raise ParameterError(
                "`save_recoding` goes with `output`", hint="release.write_recoding(path) keeps it alone"
            )
        return None
    private = {} if save_recoding is None else stored(recoding, save_recoding)
    return Destination(Path(output), overwrite, private)


def _promising(found: Recoding, source: Source, *, schema: Schema, model: Model, suppression: float) -> Recoding:
    """Return a recoding that says what it was found for, so that it can be applied to another table."""
    return replace(found, schema=schema, promise=model.spec(), suppression=suppression, reading=source.reading)


def _sensitive(schema: Schema, counted: Counted) -> tuple[QuasiColumn, ...]:
    return tuple(QuasiColumn(counted.known[name]) for name in schema.sensitive)


def _parsed(metrics: Sequence[Metric | str]) -> tuple[Metric, ...]:
    return tuple(parse_metric(metric) if isinstance(metric, str) else metric for metric in metrics)


def budget(suppression: float, rows: int) -> int:
    """Return how many rows a share of the original rows allows to drop."""
    if isinstance(suppression, bool) or not 0 <= suppression <= 1:
        raise ParameterError(
            f"`suppression` must be a share from 0 to 1; got {suppression!r}", hint="0.02 allows two rows in a hundred"
        )
    return int(Fraction(str(suppression)) * rows)


def check_job(
    table: Source,
    schema: Schema,
    model: Model,
    hierarchies: Mapping[str, Hierarchy],
    *,
    extra: Sequence[Key] = (),
) -> None:
    """Raise unless table, schema, model and hierarchies speak of the same columns; `extra` are further ones in use."""
    schema.check(table.columns)
    if not table.rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    check_notations(table, (*schema.quasi, *schema.sensitive), hierarchies=hierarchies)
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
