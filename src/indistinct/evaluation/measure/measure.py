"""The public functions that measure: what a recoding costs the people who use its release."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError, ParameterError
from indistinct.evaluation.measure.distributions import Distributions, compare_distributions
from indistinct.frequencies.count import drop_absent_values
from indistinct.frequencies.value import PERSON, Key
from indistinct.job.job import check_job
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import Codes
from indistinct.machine.memory import needs_memory
from indistinct.machine.stages import Progress
from indistinct.metrics.base import Metric
from indistinct.metrics.buckets import measure_buckets
from indistinct.metrics.information import AverageClassSize
from indistinct.metrics.loss import Loss
from indistinct.metrics.registry import Measurements, measure_all, metric_of, standard_metrics
from indistinct.models import KAnonymity
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.recoding.outputs import Assignment, PublishedColumn
from indistinct.release.published import Beside, Knowledge, Published, describe_release
from indistinct.release.release import Release
from indistinct.release.sources import closes_sources, open_source
from indistinct.release.verification.by_label import classes_by_label
from indistinct.schema import Schema
from indistinct.view.read_back import measure_column, output_names, read_back, read_column

NOT_TOLD = "it does not tell where each row came from"
NOT_COUNTED = "values were counted by class, and not by row"


@with_checked_arguments
@needs_memory("measuring")
def measure(
    release: Release | Published, metrics: Sequence[Metric | str] | None = None, *, target: str | None = None
) -> Measurements:
    """Measure the utility of a release: how much information was lost by generalization and suppression.

    A file of another tool is measured too: describe it with ``published(path, schema, original=…)`` first. Bucketized
    releases have only metrics of buckets, since their values are not generalized; releases made part by part have only
    metrics that add up over parts.

    Parameters
    ----------
    release
        A `Release`, or a `Published` (what `published` returns).
    metrics
        Metrics to measure: names such as ``"gcp"`` (`indistinct list` shows all), or values of `indistinct.metrics`. By
        default every standard metric that applies.
    target
        Column of the classification metric, as it was given to `anonymize`.

    Returns
    -------
    Measurements
        Value of each metric by name. `Measurements.not_measured` names the standard metrics that were left out, and
        why.

    Raises
    ------
    ParameterError
        If a metric is not known, or the original is not known where it is needed.
    InputError
        If a table cannot be read.
    OutOfMemoryError
        If a step needs more memory than there is.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 41, 42], "disease": ["flu", "cold", "flu", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> release = ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian")
    >>> ind.measure(release, ["discernibility", "average-class-size"])["discernibility"]
    8.0
    """
    return _measure(describe_release(release), metrics, target=target)


@with_checked_arguments
@closes_sources
@needs_memory("measuring")
def measure_table(
    published: Any,
    schema: Schema | None = None,
    *,
    k: int | None = None,
    target: str | None = None,
    metrics: Sequence[Metric | str] | None = None,
    **known: Unpack[Knowledge],
) -> Measurements:
    """Return the utility of a published table of any tool, compared with its original.

    A published table that is larger than memory is counted where it is.

    Parameters
    ----------
    published
        The published table: a path, a frame, or what `published` returned.
    schema
        Roles of the columns of the original.
    k
        Unit of the average class size, by default the k that the release guarantees.
    target
        Column of the classification metric.
    metrics
        Metrics by name or as values; by default a standard choice.
    **known
        What `published` takes: the `original`, and the `hierarchies` of the labels.

    Returns
    -------
    Measurements
        The value of each metric, by name.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> original = pa.table({"age": [21, 22, 41, 42]})
    >>> published = pa.table({"age": ["[21-22]", "[21-22]", "[41-42]", "[41-42]"]})
    >>> found = measure_table(published, ind.Schema(quasi=["age"]), original=original, metrics=["discernibility"])
    >>> found["discernibility"]
    8.0
    """
    return _measure(describe_release(published, schema, **known), metrics, k=k, target=target)


def _measure(
    published: Published,
    metrics: Sequence[Metric | str] | None,
    *,
    k: int | None = None,
    target: str | None,
) -> Measurements:
    """Measure a release: in classes, in buckets, or part by part."""
    if published.sums:
        return _measure_by_part(published, metrics)
    unit = published.k if k is None else k
    links = published.tables.links(published.schema)
    if links is not None:
        return measure_buckets(links, k=unit)
    chosen = standard_metrics(k=unit, target=target) if metrics is None else _parse_metrics(metrics, k=unit)
    if published.release is not None:
        return _measure_release(assignment_of(published), chosen, given=metrics is not None)
    left_out = [metric.name for metric in chosen if metric.compares_cells]
    if left_out and metrics is not None:
        raise ParameterError(
            f"{left_out[0]} cannot be measured on a published table: {NOT_TOLD}",
            hint="measure the release when it is made",
        )
    chosen = tuple(metric for metric in chosen if not metric.compares_cells)
    keys = tuple(dict.fromkeys(key for metric in chosen for key in metric.keys))
    measured = measure_all(assignment_of(published, keys=keys), chosen)
    return replace(measured, not_measured=tuple((name, NOT_TOLD) for name in left_out))


def _measure_release(assignment: Assignment, chosen: Sequence[Metric], *, given: bool) -> Measurements:
    """Measure a release in classes; without cells only the metrics that do not need them."""
    if not assignment.frequencies.of_classes:
        return measure_all(assignment, chosen)
    left_out = [metric for metric in chosen if metric.compares_cells or metric.counts_values]
    if left_out and given:
        raise ParameterError(
            f"{left_out[0].name} cannot be measured on a release that was made round by round: {NOT_COUNTED}",
            hint="leave it out, or allow more `memory`",
        )
    measured = measure_all(assignment, [metric for metric in chosen if metric not in left_out])
    return replace(measured, not_measured=tuple((metric.name, NOT_COUNTED) for metric in left_out))


def _measure_by_part(published: Published, metrics: Sequence[Metric | str] | None) -> Measurements:
    """Return the metrics that were added up while a release was made part by part."""
    certificate, k = published.certificate, published.k
    rows, classes = certificate["rows"], certificate["classes"]
    pairs = []
    for metric in standard_metrics(k=k) if metrics is None else _parse_metrics(metrics, k=k):
        value = published.sums.get(metric.name, metric.of_class_number(classes, released=rows, rows=rows))
        if value is not None:
            pairs.append((metric.name, value))
        elif metrics is not None:
            raise ParameterError(
                f"{metric.name} does not add up over the parts of a release that was made part by part",
                hint=f"these do: {', '.join([*published.sums, AverageClassSize.name])}; or measure the written file, "
                "if it fits in memory",
            )
    return Measurements(tuple(pairs))


def assignment_of(published: Published, *, keys: Sequence[Key] = ()) -> Assignment:
    """Return the assignment of a release in classes: as it was made, or read from its labels.

    `keys` ask for histograms of published columns where labels are read. What was read by some keys is read once.
    """
    release = published.release
    if release is not None:
        return published.once("assignment", lambda: _in_values_of_original(published, release))
    return published.once(f"assignment {tuple(keys)}", lambda: _read_assignment(published, keys))


def _in_values_of_original(published: Published, release: Release) -> Assignment:
    """Return the assignment of a release, measured over the values that its original has.

    A population, or the table that a recoding was found on, may have further values. They are no detail that this
    release could lose: it costs what its file costs compared with its original.
    """
    made = release.assignment
    domains, cells = drop_absent_values(made.domains, made.frequencies)
    if all(mine is theirs for mine, theirs in zip(domains, made.domains, strict=True)):
        return made
    columns = columns_of(domains, {name: h for name, h in published.used_hierarchies.items() if name in cells.names})
    codes = [made.values[:, index] for index in range(len(columns))]
    if made.hidden is not None:
        codes = [np.append(own, made.hidden[:, index]) for index, own in enumerate(codes)]
    pairs = zip(made.columns, columns, codes, strict=True)
    again = tuple(
        _measure_again(own_column, column, np.unique(own), published.schema) for own_column, column, own in pairs
    )
    return replace(made, domains=domains, frequencies=cells, columns=again)


def _measure_again(published: PublishedColumn, column: QuasiColumn, used: Codes, schema: Schema) -> PublishedColumn:
    """Return a published column measured over other values of its original: what labels cover, or bounds of means."""
    table = pa.table({name: values.take(pa.array(used)) for name, values in published.outputs})
    leaves, low, high = published.leaves.copy(), published.low.copy(), published.high.copy()
    try:
        read = read_column(table, column, schema)
    except InputError:  # means do not say what they cover
        line = column.positions
        leaves[used] = np.searchsorted(line, high[used], "right") - np.searchsorted(line, low[used], "left")
    else:
        known = measure_column(column, read)
        leaves[used], low[used], high[used] = (each[read.codes] for each in (known.leaves, known.low, known.high))
    measured = replace(published, leaves=leaves, low=low, high=high)
    # Levels are those of the hierarchy that the recoding was found with, which may not be known here.
    height = column.height if (published.levels <= column.height).all() else published.height
    return replace(measured, span=column.span, size=column.size, height=height)


def _read_assignment(published: Published, keys: Sequence[Key]) -> Assignment:
    """Read the assignment of a release from its labels, by the original."""
    source, schema, declared = published.main, published.schema, published.used_hierarchies
    whole = open_source(published.require_original("measure"), memory=published.memory)[1]
    check_job(whole, schema, KAnonymity(1), declared)
    if schema.person:
        return classes_by_label(source, whole, schema, ((PERSON,), *keys), hierarchies=declared)[1]
    counted = published.cells_of_original("measure")
    columns = columns_of(counted.domains, declared)
    # A metric says itself which column it misses.
    names = [name for key in keys for name in key if name in source.columns and name not in schema.quasi]
    labels = [name for column in columns for name in output_names(source.columns, column.name, schema)]
    groups = published.groups(tuple(dict.fromkeys([*labels, *names])))
    table, counts = groups.table, groups.counts
    return read_back(table, columns, frequencies=counted.frequencies, schema=schema, keys=keys, counts=counts)


def column_losses(assignment: Assignment) -> dict[str, float]:
    """Return the mean loss of every quasi-identifier: the metric `loss` is the mean of these."""
    totals = Loss().column_totals(assignment) / max(assignment.rows, 1)
    return dict(zip((column.column for column in assignment.columns), totals.tolist(), strict=True))


@with_checked_arguments
@closes_sources
@needs_memory("measuring")
def distributions(
    release: Any,
    original: Any = None,
    schema: Schema | None = None,
    *,
    progress: Progress | None = None,
    **known: Unpack[Beside],
) -> Distributions:
    """Compare the distribution of every column, and of every pair of columns, in a release and its original.

    Labels are spread evenly over the values that they cover, slices of a bucket count as independent, and rows are
    counted, not people.

    Parameters
    ----------
    release
        A `Release`, a `Published`, a `BucketTable`, or a published table: a path or a frame.
    original
        Table before publishing, unmodified.
    schema
        Roles of the columns of the original; not needed for a `Release` or a `Published`.
    progress
        Called with the share of the work that is done.
    **known
        Further facts, as `published` takes them, such as ``hierarchies``.

    Returns
    -------
    Distributions
        Distances of all columns and of all pairs.

    Raises
    ------
    ParameterError
        If the original or the roles are not known.
    SchemaError
        If roles and columns do not fit each other.
    InputError
        If a table cannot be read.
    OutOfMemoryError
        If a step needs more memory than there is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 20, 20, 30], "sex": ["f", "f", "m", "m"]})
    >>> published = pa.table({"age": ["20-30"] * 4, "sex": ["f", "f", "m", "m"]})
    >>> distances = distributions(published, people, Schema(quasi=["age"], insensitive=["sex"]))
    >>> [each.total_variation for each in distances.columns]
    [0.25, 0.0]
    """
    published = describe_release(release, schema, original=original, **known)
    columns, view = published.values_of_original("distributions"), published.view("distributions")
    return compare_distributions(columns, view, progress=progress)


def _parse_metrics(metrics: Sequence[Metric | str], *, k: int) -> tuple[Metric, ...]:
    return tuple(metric_of(metric).for_promise(k) for metric in metrics)
