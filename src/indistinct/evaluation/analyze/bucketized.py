"""Tables of two columns and means by group from a bucketized or sliced release, whose links are broken inside buckets.

Inside a bucket a reader knows how often each value occurs and not with which other. The expected number of rows with
values x and y is the sum over buckets of n(x) × n(y) / n. It has no bias where columns are independent inside buckets;
regressions over two slices would need the links, and are refused. Where both slices have an attribute in common, the
rows of a bucket with one value of it are a bucket of their own.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from indistinct.errors import ParameterError
from indistinct.evaluation.analyze.columns import CategoryColumn, Floats, Integers, NumericColumn, StudyColumn
from indistinct.evaluation.analyze.regression import interval_of
from indistinct.evaluation.analyze.result import Interval
from indistinct.evaluation.analyze.tables import Question, interval_of_share
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.slices import joined_components
from indistinct.frequencies.structure import Structure
from indistinct.recoding.outputs import MAIN
from indistinct.schema import BUCKET, COUNT


def rows_of_slice(tables: Mapping[str, pa.Table], structure: Structure, *columns: str) -> pa.Table:
    """Return the rows, with their bucket, of the table and slice that has some columns; counted rows are repeated.

    Without slices, whole rows are published.
    """
    name = columns[0]
    if structure.whole_rows:
        return tables[MAIN]
    if structure.multisets:
        raise ParameterError(
            "a release of multisets shows no rows of its quasi-identifiers",
            hint="query estimates counts and means from it",
        )
    own = next((names for names in structure.slices if set(columns) <= set(names)), None)
    table = next((each for each in tables.values() if name in each.column_names), None)
    if table is None:
        raise ParameterError(
            f"the release does not have the column {name!r}", hint="analyze columns that are published"
        )
    kept = table.select([*(own or (name,)), BUCKET])
    if COUNT in table.column_names and own is not None:
        times = np.asarray(table[COUNT].cast(pa.int64()), np.int64)
        kept = kept.take(pa.array(np.repeat(np.arange(table.num_rows), times)))
    return kept


def strata(tables: Mapping[str, pa.Table], structure: Structure) -> dict[str, Integers]:
    """Return for each column the stratum of each row of its table: its bucket and what both tables show of it.

    Tables of slices that are connected by others alone are refused: these others tell how they depend on each other.
    """
    first, second = tables.values()
    shared = [name for name in first.column_names if name in second.column_names]
    groups = [{structure.slices[join.index] for join in group} for group in joined_components(structure.slices)]
    own = {tuple(name for name in each.column_names if name != BUCKET) for each in tables.values()}
    if shared == [BUCKET] and any(own <= group for group in groups):
        raise ParameterError(
            "columns of slices that others connect cannot be taken for independent",
            hint="query estimates counts and means of them",
        )
    columns = []
    for name in shared:
        both = pa.chunked_array([*first[name].chunks, *second[name].cast(first[name].type).chunks])
        values = both.cast(both.type.value_type) if pa.types.is_dictionary(both.type) else both
        codes = values.combine_chunks().dictionary_encode("encode").indices
        columns.append(np.asarray(codes, np.int64))
    ids = group_rows(columns, [int(codes.max(initial=0)) + 1 for codes in columns]).group_ids().astype(np.int64)
    return dict(zip(tables, (ids[: first.num_rows], ids[first.num_rows :]), strict=True))


def expected_answer(
    question: Question, columns: Mapping[str, StudyColumn], places: Mapping[str, Integers]
) -> dict[str, Interval]:
    """Return the expected figures of a question over two slices; `places` has the stratum of each column's rows."""
    first, second = (*question.columns, *question.by)
    described, group = columns[first], columns[second]
    numbers = range(int(max(places[first].max(initial=-1), places[second].max(initial=-1))) + 1)
    sizes = np.bincount(places[first], minlength=len(numbers)).astype(float)
    if isinstance(described, CategoryColumn) and isinstance(group, CategoryColumn):
        counts = (_counts(described, places[first], len(sizes)), _counts(group, places[second], len(sizes)))
        return _expected_table((first, second), (described.categories, group.categories), counts, sizes)
    if isinstance(described, NumericColumn) and isinstance(group, CategoryColumn) and question.kind == "mean":
        counts_of_group = _counts(group, places[second], len(sizes))
        return _expected_means(second, group.categories, described, places[first], counts_of_group)
    raise ParameterError(
        f"a {question.kind} over two slices cannot be estimated: inside a bucket their rows are not linked",
        hint="tables of two categories and means by group can be",
    )


def _counts(column: CategoryColumn, position: Integers, buckets: int) -> Floats:
    """Return the rows of each category in each bucket."""
    known = column.released >= 0
    joint = position[known] * len(column.categories) + column.released[known]
    return np.bincount(joint, minlength=buckets * len(column.categories)).reshape(buckets, -1).astype(float)


def _expected_table(
    names: tuple[str, str],
    categories: tuple[tuple[str, ...], tuple[str, ...]],
    counts: tuple[Floats, Floats],
    sizes: Floats,
) -> dict[str, Interval]:
    """Return the expected share of each pair of categories, if two columns are independent inside each bucket.

    `counts` has the rows of each category of either column by bucket, as buckets × categories, and `sizes` all rows.
    """
    expected = (counts[0] / np.maximum(sizes, 1)[:, None]).T @ counts[1]
    total = float(expected.sum())
    return {
        f"{names[0]}={own}, {names[1]}={other}": interval_of_share(float(expected[i, j]), total)
        for i, own in enumerate(categories[0])
        for j, other in enumerate(categories[1])
        if expected[i, j] > 0
    }


def _expected_means(
    name: str, categories: tuple[str, ...], numbers: NumericColumn, position: Integers, counts: Floats
) -> dict[str, Interval]:
    """Return the expected mean of a number in each category, with its interval, over slices of buckets."""
    known = ~np.isnan(numbers.low)
    values, position = numbers.low[known], position[known]
    rows = np.bincount(position, minlength=len(counts)).astype(float)
    mean_of, square_of = (
        np.bincount(position, values**power, minlength=len(counts)) / np.maximum(rows, 1) for power in (1, 2)
    )
    weights = counts * (rows > 0)[:, None]
    totals = weights.sum(axis=0)
    answers = {}
    for index, category in enumerate(categories):
        if totals[index] > 1:
            mean = float(weights[:, index] @ mean_of / totals[index])
            variance = max(float(weights[:, index] @ square_of / totals[index]) - mean**2, 0.0)
            answers[f"{name}={category}"] = interval_of(mean, float(np.sqrt(variance / totals[index])))
    return answers
