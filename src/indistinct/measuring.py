"""The public functions that measure: what a recoding costs the people who use its release."""

from collections.abc import Mapping, Sequence
from typing import Any

from indistinct.algorithms.base import Progress
from indistinct.engines import open_source
from indistinct.errors import ParameterError
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import PERSON, Key
from indistinct.hierarchy import Hierarchy
from indistinct.jobs import check_job
from indistinct.memory import needs_memory
from indistinct.metrics import Loss, Measurements, Metric, measure_all, standard_metrics
from indistinct.metrics.buckets import measure_buckets
from indistinct.metrics.cells import cell_totals
from indistinct.models import KAnonymity
from indistinct.recoding.columns import columns_of
from indistinct.recoding.outputs import Assignment
from indistinct.recoding.read_back import read_back
from indistinct.registry import parse_metric
from indistinct.release.by_label import classes_by_label
from indistinct.release.distributions import Distributions, compare_distributions
from indistinct.release.possible_values import encoded_original, possible_values
from indistinct.release.published import BucketTable, Published, open_published, published_tables
from indistinct.release.release import Release, opened_release
from indistinct.schema import Schema, require_schema
from indistinct.tables import open_table


def measure(
    release: Release, metrics: Sequence[Metric | str] | None = None, *, target: str | None = None
) -> Measurements:
    """Return the utility of a release: every standard metric, or those that are named.

    `target` names the column of the classification metric, as `anonymize` was given it. Of a release in buckets only
    what speaks of buckets is measured: values are not recoded there, so nothing else is lost.
    """
    if release.buckets is not None:
        published = published_tables(release.tables, release.buckets)
        return _measured_buckets(published, release.check.schema, k=release.check.model.smallest)
    if metrics is not None:
        return measure_all(release.assignment, _parsed(metrics))
    return measure_all(release.assignment, standard_metrics(k=release.check.model.smallest, target=target))


@needs_memory("measuring")
def measure_table(
    published: Any,
    schema: Schema,
    *,
    original: Any,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    k: int = 1,
    target: str | None = None,
    metrics: Sequence[Metric | str] | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Measurements:
    """Return the utility of a published table from anywhere, beside the original that it was made from.

    `schema` gives the roles in the original, `hierarchies` those that the published labels come from. Every
    standard metric is measured, or those that are named, but not `entropy`: it compares rows with their
    originals, and a published table does not tell which ones these are. `k` is the unit of the average class
    size; `target` names a column whose classification metric is wanted. Of a `BucketTable`, which needs no original,
    only what speaks of buckets is measured. `engine` and `memory` say where the original is counted, as in `anonymize`;
    the published table is read into memory.
    """
    require_schema(schema)
    if isinstance(published, BucketTable):
        return _measured_buckets(open_published(published, schema), schema, k=k)
    chosen = _parsed(metrics) if metrics is not None else standard_metrics(k=k, target=target)
    if metrics is None:
        chosen = tuple(metric for metric in chosen if not metric.compares_cells)
    for metric in chosen:
        if metric.compares_cells:
            raise ParameterError(
                f"{metric.name} cannot be measured on a published table: it does not tell where each row came from",
                hint="measure the release when it is made",
            )
    keys = tuple(dict.fromkeys(key for metric in chosen for key in metric.keys))
    where = {"engine": engine, "memory": memory}
    meant = read_assignment(published, schema, original=original, hierarchies=hierarchies, keys=keys, where=where)
    return measure_all(meant, chosen)


def read_assignment(
    published: Any,
    schema: Schema,
    *,
    original: Any,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    keys: Sequence[Key] = (),
    where: Mapping[str, Any] | None = None,
) -> Assignment:
    """Return what a published table in classes makes of its original, as far as its labels tell it.

    `keys` ask for histograms of published columns; `where` is the engine of the original and its memory.
    """
    source, declared = open_table(published, published=True), dict(hierarchies or {})
    counting, whole = open_source(original, **(where or {}))
    check_job(whole, schema, KAnonymity(1), declared)
    if schema.person:
        return classes_by_label(source, whole, schema, ((PERSON,), *keys), hierarchies=declared)[1]
    counted = counting.count(whole, Request(schema.quasi, (), declared))
    columns = columns_of(counted.domains, declared)
    return read_back(source.data, columns, frequencies=counted.frequencies, schema=schema, keys=keys)


def column_losses(assignment: Assignment) -> dict[str, float]:
    """Return the mean loss of every quasi-identifier: the metric `loss` is the mean of these."""
    totals = cell_totals(assignment, Loss()) / max(assignment.rows, 1)
    return dict(zip((column.column for column in assignment.columns), totals.tolist(), strict=True))


@needs_memory("measuring")
def distributions(
    release: Any,
    original: Any,
    schema: Schema | None = None,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    progress: Progress | None = None,
) -> Distributions:
    """Return how far a release is from its original in the distribution of every column and of every two columns.

    `release` is a `Release`, or a published table or `BucketTable` from anywhere with the `schema` of its original and
    the `hierarchies` that its labels come from. Labels are spread evenly over the values that they cover, slices of a
    bucket count as independent, and rows count, not people.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 20, 20, 30], "sex": ["f", "f", "m", "m"]})
    >>> published = pa.table({"age": ["20-30"] * 4, "sex": ["f", "f", "m", "m"]})
    >>> found = distributions(published, people, Schema(quasi=["age"], insensitive=["sex"]))
    >>> [each.total_variation for each in found.columns]
    [0.25, 0.0]
    """
    published, roles, declared = opened_release(release, schema, hierarchies=hierarchies)
    columns = encoded_original(open_table(original).data, roles, hierarchies=declared)
    domains = {name: column.domain for name, column in columns.items()}
    shown = possible_values(published, roles, domains=domains, hierarchies=declared)
    return compare_distributions(columns, shown, progress=progress)


def _measured_buckets(published: Published, schema: Schema, *, k: int) -> Measurements:
    return measure_buckets(published.in_buckets(schema).links, k=k)


def _parsed(metrics: Sequence[Metric | str]) -> tuple[Metric, ...]:
    return tuple(parse_metric(metric) if isinstance(metric, str) else metric for metric in metrics)
