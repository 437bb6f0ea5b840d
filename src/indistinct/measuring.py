"""The public functions that measure: what a recoding costs the people who use its release."""

from collections.abc import Mapping, Sequence
from typing import Any

from indistinct.engines import open_source
from indistinct.errors import ParameterError
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import PERSON
from indistinct.hierarchy import Hierarchy
from indistinct.jobs import check_job
from indistinct.memory import needs_memory
from indistinct.metrics import Measurements, Metric, measure_all, standard_metrics
from indistinct.metrics.buckets import measure_buckets
from indistinct.models import KAnonymity
from indistinct.recoding.columns import columns_of
from indistinct.recoding.read_back import read_back
from indistinct.registry import parse_metric
from indistinct.release.by_label import classes_by_label
from indistinct.release.published import BucketTable, Published, open_published, published_tables
from indistinct.release.release import Release
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
    source, declared = open_table(published, published=True), dict(hierarchies or {})
    where, whole = open_source(original, engine=engine, memory=memory)
    check_job(whole, schema, KAnonymity(k), declared)
    chosen = _parsed(metrics) if metrics is not None else standard_metrics(k=k, target=target)
    if metrics is None:
        chosen = tuple(metric for metric in chosen if metric.name != "entropy")
    if any(metric.name == "entropy" for metric in chosen):
        raise ParameterError(
            "entropy cannot be measured on a published table: it does not tell where each row came from",
            hint="measure the release when it is made",
        )
    keys = tuple(dict.fromkeys(key for metric in chosen for key in metric.keys))
    if schema.person:
        _, meant = classes_by_label(source, whole, schema, ((PERSON,), *keys), hierarchies=declared)
        return measure_all(meant, chosen)
    counted = where.count(whole, Request(schema.quasi, (), declared))
    assignment = read_back(
        source.data,
        columns_of(counted.domains, declared),
        frequencies=counted.frequencies,
        schema=schema,
        keys=keys,
    )
    return measure_all(assignment, chosen)


def _measured_buckets(published: Published, schema: Schema, *, k: int) -> Measurements:
    return measure_buckets(published.in_buckets(schema).links, k=k)


def _parsed(metrics: Sequence[Metric | str]) -> tuple[Metric, ...]:
    return tuple(parse_metric(metric) if isinstance(metric, str) else metric for metric in metrics)
