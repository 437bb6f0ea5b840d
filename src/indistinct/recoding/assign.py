"""From a recoding to what an engine publishes: pieces of cells, their classes, and what each class shows.

This is the only module that knows every kind of recoding, so that no engine has to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from indistinct.errors import InputError, UnseenValueError
from indistinct.frequencies import _kernels
from indistinct.frequencies.encode import group_rows, pack
from indistinct.frequencies.pieces import Pieces
from indistinct.frequencies.slices import joins_of, share_attributes
from indistinct.frequencies.structure import Buckets
from indistinct.frequencies.value import Classes, ClassLabels, FrequencySet
from indistinct.machine.arrays import Codes, Mask, starts_of
from indistinct.machine.ordering import distinct_with_places
from indistinct.recoding.kinds import ByBucket, ByCell, ByColumn, ByPart, ByRegion, ByRow, Recoding
from indistinct.recoding.outputs import (
    MAIN,
    SENSITIVE,
    Assignment,
    Layout,
    OutputColumn,
    OutputTable,
    PublishedColumn,
    multiset_labels,
)
from indistinct.recoding.range_columns import with_range_columns
from indistinct.recoding.validation import check_recoding
from indistinct.schema import BUCKET, COUNT, Schema


def assign(frequencies: FrequencySet, recoding: Recoding, *, without: Mask | None = None) -> Assignment:
    """Assign cells to the classes of a recoding; the codes of both are those of the recoding's domains.

    Raises `UnseenValueError` for a vector that the recoding does not cover; no raw value is ever passed through.
    `without` marks cells that are suppressed, whatever the recoding says of them.
    """
    check_recoding(recoding)
    if recoding.ranges == "columns":
        recoding = with_range_columns(recoding)
    match recoding:
        case ByColumn():
            assignment = _by_column(frequencies, recoding, without)
        case ByRegion():
            assignment = _by_region(frequencies, recoding, without)
        case ByCell():
            assignment = _by_cell(frequencies, recoding, without)
        case ByRow():
            assignment = _by_row(frequencies, recoding)
        case ByBucket():
            assignment = _by_bucket(frequencies, recoding)
            generalized = [_of_slice(assignment.frequencies, part) for part in recoding.generalized]
            layout = bucket_layout(assignment, recoding, generalized)
            return replace(assignment, domains=recoding.recoded_domains, layout=layout)
        case ByPart():
            raise InputError(
                "this recoding is applied part by part, by the engine duckdb to a file",
                hint='ind.apply(recoding, "table.parquet", engine="duckdb", output="release.parquet")',
            )
        case _:
            assert_never(recoding)  # type: ignore[arg-type]
    layout = class_layout(assignment, recoding.schema)
    return replace(assignment, domains=recoding.recoded_domains, layout=layout)


def _of_slice(frequencies: FrequencySet, recoding: Recoding) -> tuple[Assignment, Codes]:
    """Return where the recoding of a slice sends its cells, and the place of each cell of the table among them."""
    projected, cells = project(frequencies, recoding.names)
    return assign(projected, recoding), cells


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """The cells that a recoding does not cover, and by column those in which a value is not covered."""

    cells: Mask
    columns: Mapping[str, Mask]


def gaps_of(frequencies: FrequencySet, recoding: Recoding) -> Gaps:
    """Return which cells a recoding does not cover.

    Under cuts a column's value may be covered together with some values of other columns and not with others.
    """
    nothing = np.zeros(len(frequencies), dtype=bool)
    match recoding:
        case ByColumn():
            outside = [group[frequencies.vectors[:, j]] < 0 for j, group in enumerate(recoding.groups)]
        case ByRegion():
            outside = _locate_cells(frequencies, recoding)[1]
        case ByCell():
            unlisted = _find(frequencies.vectors, recoding) < 0
            outside = [unlisted] * len(recoding.columns)
        case _:
            outside = [nothing] * len(recoding.names)
    columns = dict(zip(recoding.names, outside, strict=True))
    return Gaps(np.logical_or.reduce([nothing, *outside]), columns)


def _by_column(frequencies: FrequencySet, recoding: ByColumn, without: Mask | None) -> Assignment:
    """Assign cells by a recoding that maps the values of each column on their own."""
    codes = [group[frequencies.vectors[:, j]] for j, group in enumerate(recoding.groups)]
    if any(group.min() < 0 for group in recoding.groups):
        outside = np.logical_or.reduce([code < 0 for code in codes])
        _require_covered(outside, without, "combinations of quasi-identifier values with values that it does not cover")
        codes = [np.maximum(code, 0) for code in codes]
    sizes = [len(column.summary.published) for column in recoding.columns]
    grouping = group_rows(codes, sizes)
    class_ids = grouping.group_ids()
    values = np.stack([code[grouping.first] for code in codes], axis=1).astype(np.int32)
    dropped = _among(values, recoding.suppressed, sizes)
    if recoding.star is not None:
        values[dropped] = recoding.star
        return _join_equal_classes(frequencies, recoding, values, _suppress_cells(class_ids, without))
    renumbered = np.where(dropped, -1, np.cumsum(~dropped) - 1).astype(np.int32)
    assignment = _join_equal_classes(
        frequencies, recoding, values[~dropped], _suppress_cells(renumbered[class_ids], without)
    )
    if without is not None:
        return assignment
    return replace(assignment, hidden=values[class_ids[assignment.class_ids < 0]])


def _suppress_cells(class_ids: Codes, without: Mask | None) -> Codes:
    return class_ids if without is None else np.where(without, np.int32(-1), class_ids)


def _require_covered(outside: Mask, without: Mask | None, what: str) -> None:
    """Raise `UnseenValueError` for cells that the recoding does not cover, but for those to suppress (`without`)."""
    uncovered = outside if without is None else outside & ~without
    if uncovered.any():
        raise UnseenValueError(
            f"{int(uncovered.sum())} {what}",
            hint="search a new recoding on the new data, or search with extent=region, which covers the whole domain",
        )


def _by_region(frequencies: FrequencySet, recoding: ByRegion, without: Mask | None) -> Assignment:
    """Assign cells by a recoding that cuts the space of values into regions."""
    class_ids, outside = _locate_cells(frequencies, recoding)
    what = f"combinations of known quasi-identifier values {recoding.not_covered}"
    _require_covered(np.logical_or.reduce(outside), without, what)
    return _join_equal_classes(frequencies, recoding, recoding.values, _suppress_cells(class_ids, without))


def _locate_cells(frequencies: FrequencySet, recoding: ByRegion) -> tuple[Codes, list[Mask]]:
    """Return the class of every cell and, by column, the cells whose value its published range does not cover."""
    ranks = np.empty(frequencies.vectors.shape, dtype=np.uint32, order="C")
    for j, column in enumerate(recoding.columns):
        ranks[:, j] = column.ranks[frequencies.vectors[:, j]]
    class_ids = recoding.cuts.locate(ranks)
    return class_ids, [
        ~column.summary.covers(recoding.values[class_ids, j], ranks[:, j], floor=column.floor)
        for j, column in enumerate(recoding.columns)
    ]


def _by_cell(frequencies: FrequencySet, recoding: ByCell, without: Mask | None) -> Assignment:
    positions = _find(frequencies.vectors, recoding)
    what = f"combinations of known quasi-identifier values {recoding.not_covered}"
    _require_covered(positions < 0, without, what)
    return _join_equal_classes(
        frequencies, recoding, recoding.values, _suppress_cells(recoding.class_ids[positions], without)
    )


def _by_row(frequencies: FrequencySet, recoding: ByRow) -> Assignment:
    """Assign cells by a recoding that lists how many rows of each cell go to each class."""
    _check_rows(frequencies, recoding)
    values, merged = _distinct(recoding.values, recoding)
    class_ids = np.where(recoding.class_ids < 0, -1, merged[recoding.class_ids])
    classes = Pieces(recoding.cells, recoding.joint, recoding.counts, class_ids).classes(frequencies, len(values))
    columns = tuple(column.summary.published for column in recoding.columns)
    pieces = (recoding.cells, class_ids, recoding.counts)
    return Assignment(frequencies, columns, values, *pieces, classes, joint=recoding.joint, split=True)


def _by_bucket(frequencies: FrequencySet, recoding: ByBucket) -> Assignment:
    """Return the buckets as classes; they have no published vector in common."""
    _check_rows(frequencies, recoding)
    sizes = np.zeros(int(recoding.class_ids.max()) + 1, dtype=np.int64)
    _kernels.add_up(recoding.class_ids, recoding.counts, sizes)
    nothing = np.zeros((len(sizes), 0), dtype=np.int32)
    pieces = (recoding.cells, recoding.class_ids, recoding.counts)
    return Assignment(frequencies, (), nothing, *pieces, Classes(sizes), joint=recoding.joint, split=True)


def _check_rows(frequencies: FrequencySet, recoding: ByRow | ByBucket) -> None:
    """Raise unless a recoding of single rows was made for this table."""
    same = np.array_equal(frequencies.vectors, recoding.vectors)
    if same and recoding.joint is not None and frequencies.joint is not None:
        inner = frequencies.joint.histogram
        same = _kernels.are_entries(
            recoding.cells, recoding.joint, recoding.counts, inner.indptr, inner.codes, inner.counts
        )
    elif same:
        expected = np.bincount(recoding.cells, weights=recoding.counts, minlength=len(recoding.vectors))
        same = np.array_equal(expected, frequencies.counts)
    if not same:
        raise InputError(
            "this recoding assigns the rows of one table to classes; the table at hand is another one",
            hint="search a new recoding on the new data; strict partitioning gives one that can be applied again",
        )
    if recoding.joint is not None and frequencies.joint is None:
        raise InputError(
            "this recoding also says which sensitive values go to which class; the table at hand was counted without",
            hint="search a new recoding; strict partitioning gives one that can be applied again",
        )


def _join_equal_classes(frequencies: FrequencySet, recoding: Recoding, values: Codes, class_ids: Codes) -> Assignment:
    """Unite classes that publish the same and drop those without rows."""
    distinct, merged = _distinct(values, recoding)
    used = np.zeros(len(distinct), dtype=bool)
    used[merged[class_ids[(class_ids >= 0) & (frequencies.counts > 0)]]] = True
    # The last entry is that of class -1, which stays suppression; so does a class without rows.
    numbers = np.where(used, np.cumsum(used) - 1, -1)
    class_ids = np.append(numbers[merged], -1).astype(np.int32)[class_ids]
    columns = tuple(column.summary.published for column in recoding.columns)
    labels = ClassLabels(tuple(column.domain.column for column in recoding.columns), distinct[used])
    classes = replace(frequencies.classes.regroup(class_ids, int(used.sum())), labels=labels)
    cells = np.arange(len(frequencies), dtype=np.int32)
    return Assignment(frequencies, columns, labels.codes, cells, class_ids, frequencies.counts, classes)


def _distinct(values: Codes, recoding: Recoding) -> tuple[Codes, Codes]:
    """Return the distinct published vectors, ascending, and the place of each class among them."""
    sizes = [len(column.summary.published) for column in recoding.columns]
    values = values.copy()
    for index, column in enumerate(recoding.columns):
        values[:, index] = _as_seen(column.summary.published)[values[:, index]]
    grouping = group_rows(list(values.T), sizes)
    return values[grouping.first], grouping.group_ids()


def _as_seen(column: PublishedColumn) -> Codes:
    """Return, for each published code, the representative of all codes with the same label: the one that covers most.

    Two nodes of a hierarchy may carry the same label; readers cannot tell their classes apart, so they are one.
    """
    codes = np.arange(len(column), dtype=np.int32)
    looks = [values.dictionary_encode(null_encoding="encode") for _, values in column.outputs]
    if any(len(look.dictionary) == len(column) for look in looks):
        return codes
    grouping = group_rows([look.indices.to_numpy() for look in looks], [len(look.dictionary) for look in looks])
    owners = np.repeat(np.arange(len(grouping)), grouping.counts)
    by_cover = np.lexsort((-column.leaves[grouping.order], owners))
    codes[grouping.order] = grouping.order[by_cover][grouping.starts[:-1]][owners]
    return codes


def _among(values: Codes, chosen: Codes, sizes: list[int]) -> Mask:
    """Return which rows of `values` are among the rows of `chosen`."""
    if not len(chosen):
        return np.zeros(len(values), dtype=bool)
    both = np.concatenate([values, chosen])
    words, _ = pack(list(both.T), sizes)
    return np.isin(words[: len(values)], words[len(values) :])


def _find(vectors: Codes, recoding: ByCell) -> Codes:
    """Return the place of every vector in a recoding's list, -1 for one that is not listed."""
    if np.array_equal(vectors, recoding.vectors):
        return np.arange(len(vectors))
    sizes = [len(column.domain) for column in recoding.columns]
    words, _ = pack(list(np.concatenate([recoding.vectors, vectors]).T), sizes)
    known, wanted = words[: len(recoding.vectors)], words[len(recoding.vectors) :]
    order = np.argsort(known)
    positions = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    return np.where(known[positions] == wanted, positions, -1)


def class_layout(assignment: Assignment, schema: Schema | None) -> Layout:
    """Return one table: the labels of the quasi-identifiers by class, and the other columns unmodified."""
    outputs = [
        output
        for index, column in enumerate(assignment.columns)
        for output in _of_column(column, assignment.values[:, index], by_cell=False)
    ]
    roles = schema or Schema(quasi=[column.column for column in assignment.columns])
    outputs += [OutputColumn(name, name) for name in (*roles.sensitive, *roles.insensitive)]
    names = {column.column: [name for name, _ in column.outputs] for column in assignment.columns}
    quasi = [name for original in roles.quasi for name in names[original]]
    published = Schema(quasi=quasi, sensitive=roles.sensitive, insensitive=roles.insensitive)
    return Layout({MAIN: OutputTable((tuple(outputs),))}, published)


def bucket_layout(
    assignment: Assignment, recoding: ByBucket, generalized: Sequence[tuple[Assignment, Codes]]
) -> Layout:
    """Return the table or tables of a recoding into buckets, by what it publishes of a bucket.

    `generalized` has, for each recoding of a slice, its classes and the index of each cell among its own cells.
    """
    schema = recoding.schema or Schema(quasi=recoding.names)
    structure = Buckets(
        recoding.form, recoding.slices, tuple(name for part in recoding.generalized for name in part.names)
    )
    if recoding.form == "multiset":
        outputs = _multisets(assignment, recoding)
        slices = tuple((outputs.get(name, OutputColumn(name, name)),) for names in recoding.slices for name in names)
        roles = Schema(quasi=recoding.names, sensitive=schema.sensitive)
        return Layout({MAIN: OutputTable(slices)}, roles, structure=structure)
    if recoding.form == "tables":
        known, sensitive = (tuple(OutputColumn(name, name) for name in names) for names in recoding.slices)
        tables = {MAIN: OutputTable((known,), BUCKET), SENSITIVE: OutputTable((sensitive,), BUCKET, COUNT)}
        roles = Schema(quasi=[BUCKET], insensitive=recoding.names)
        return Layout(tables, roles, in_source_order=False, structure=structure)
    joins, sliced = joins_of(recoding.slices), []
    for join in joins:  # an attribute of several slices is published by the first
        names = tuple(name for name in recoding.slices[join.index] if name not in join.shared)
        sliced.append(_columns_of_slice(names, generalized))
    shared = tuple(join.shared for join in joins) if share_attributes(recoding.slices) else ()
    others = [output.name for outputs in sliced for output in outputs if output.of not in schema.sensitive]
    roles = Schema(quasi=[BUCKET], sensitive=schema.sensitive, insensitive=others)
    table = OutputTable(tuple(sliced), BUCKET, shared=shared)
    return Layout({MAIN: table}, roles, in_source_order=False, structure=structure)


def _of_column(column: PublishedColumn, codes: Codes, *, by_cell: bool) -> list[OutputColumn]:
    return [OutputColumn(name, column.column, values, codes, by_cell) for name, values in column.outputs]


def _columns_of_slice(
    names: tuple[str, ...], generalized: Sequence[tuple[Assignment, Codes]]
) -> tuple[OutputColumn, ...]:
    """Return the columns of one slice: unmodified values, or the labels of the slice's own recoding."""
    outputs: dict[str, list[OutputColumn]] = {}
    for classes, cells in generalized:
        for index, column in enumerate(classes.columns):
            codes = classes.values[:, index][classes.class_ids][cells]
            outputs[column.column] = _of_column(column, codes, by_cell=True)
    return tuple(output for name in names for output in outputs.get(name, [OutputColumn(name, name)]))


def _multisets(assignment: Assignment, recoding: ByBucket) -> dict[str, OutputColumn]:
    """Return every attribute that is not sensitive as the multiset of its bucket."""
    outputs = {}
    every = np.arange(len(assignment.classes))
    for index, domain in enumerate(recoding.domains):
        codes = recoding.vectors[assignment.cells, index]
        words, inverse = distinct_with_places(assignment.class_ids.astype(np.int64) * len(domain) + codes)
        counts = np.bincount(inverse, weights=assignment.counts).astype(np.int64)
        owners, members = np.divmod(words, len(domain))
        indptr = starts_of(np.bincount(owners, minlength=len(every)))
        labels = multiset_labels(domain.texts(), indptr, members, counts)
        outputs[domain.column] = OutputColumn(domain.column, domain.column, labels, every)
    return outputs


def project(frequencies: FrequencySet, names: Sequence[str]) -> tuple[FrequencySet, Codes]:
    """Return the frequency set of some attributes, and the place of every cell in it.

    >>> pairs = FrequencySet(("age", "sex"), np.array([[0, 0], [0, 1], [1, 1]]), Classes(np.array([4, 2, 3])))
    >>> sexes, places = project(pairs, ["sex"])
    >>> sexes.counts.tolist(), places.tolist()
    ([4, 5], [0, 1, 1])
    """
    columns = [frequencies.vectors[:, frequencies.names.index(name)] for name in names]
    grouping = group_rows(columns, [int(column.max()) + 1 for column in columns])
    positions = grouping.group_ids()
    sizes = np.bincount(positions, weights=frequencies.counts).astype(np.int64)
    vectors = np.asfortranarray(np.stack([column[grouping.first] for column in columns], axis=1).astype(np.int32))
    return FrequencySet(tuple(names), vectors, Classes(sizes)), positions
