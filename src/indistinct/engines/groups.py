"""Counting by groups: what an engine beyond memory fetches of a source is one GROUP BY, and cells are made of that.

A *group* is a combination of values with the number of its rows. Groups may be finer than cells, because a database
tells more values apart than we do (zeros of both signs, say): they are united here, by the same rules as rows are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.finding import CellFinder, FoundRows
from indistinct.engines.memory.count import (
    encoded_column,
    keys_of_request,
    published_columns_of,
    require_columns,
    with_population,
)
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted, Request, group_encoded, join_columns, parts_of
from indistinct.frequencies.encode import Encoded, encode_column, not_finite
from indistinct.frequencies.singled_out import MAX_CELLS_AT_ONCE, SingledOut, count_apart, rows_alone
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Histogram, Joint, Key
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.machine.arrays import Codes


@dataclass(frozen=True, slots=True, eq=False)
class ValueGroups:
    """Distinct combinations of values, column by column, and how many rows have each."""

    table: pa.Table
    counts: Codes


Fetch = Callable[[Sequence[str]], ValueGroups]
"""What an engine gives: the groups of some columns."""


class GroupedSource(Protocol):
    """A source whose groups are fetched by an engine."""

    @property
    def home(self) -> str:
        """The engine that opened it."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""

    @property
    def arrow(self) -> pa.Schema:
        """The Arrow types of its columns."""

    def groups(self, columns: Sequence[str]) -> ValueGroups:
        """Return the groups of some columns."""

    def alone(self, column: str) -> int:
        """Return how many rows have a value of a column that no other row has."""

    def once(self, columns: Sequence[str]) -> int:
        """Return how many rows have a combination of values that no other row has; missing is a value."""


def groups_of(source: Any, columns: Sequence[str]) -> ValueGroups:
    """Return the groups of some columns of any source; each row is one where values have no order, such as NaN."""
    whole = source.in_memory
    if whole is None:
        groups: ValueGroups = source.groups(columns)
        return groups
    table = whole.select(list(columns))
    if not table.num_rows or not columns:
        return ValueGroups(table, np.ones(table.num_rows, dtype=np.int64))
    try:
        grouping, _ = group_encoded([encode_column(name, table[name], required=False) for name in columns])
    except (InputError, pa.ArrowException):
        return ValueGroups(table, np.ones(table.num_rows, dtype=np.int64))
    return ValueGroups(table.take(pa.array(grouping.first)), grouping.counts)


def count_source(source: GroupedSource, request: Request, *, what: str, population: Fetch | None = None) -> Counted:
    """Count cells and histograms as requested, and build the index of rows; `what` names the source in errors.

    A population in a source of the same engine gives its groups itself, also where the other one is a sample of it.
    """
    others: Any = request.population
    if population is None and others is not None and others.home == source.home:
        population = others.groups
    if not source.rows:
        raise InputError("the table has no rows", hint=f"check that this is the right {what}")
    alone = {name: source.alone(name) for name in request.alone}
    singled_out = _published_columns(source, request)
    if not request.quasi:  # the whole table is one cell
        whole = FrequencySet((), np.zeros((1, 0), dtype=np.int32), Classes(np.array([source.rows])))
        return Counted((), whole, alone=alone, singled_out=singled_out)
    counted = count_groups(source.groups, request, columns=source.columns, population=population, alone=alone)
    return replace(counted, singled_out=singled_out)


def _published_columns(source: GroupedSource, request: Request) -> SingledOut | None:
    """Count rows that are unique on published columns; for a large source each set of columns is one query."""
    names = tuple(request.published_columns)
    if not names:
        return None
    wanted = tuple(dict.fromkeys((*names, *request.class_columns, *request.person)))
    if source.rows * len(wanted) <= MAX_CELLS_AT_ONCE:
        groups = source.groups(wanted)
        return published_columns_of(groups.table, request, counts=groups.counts)
    finer = [name for name in wanted if _is_told_apart(source.arrow.field(name).type)]
    rows = count_apart(names, source.rows, source.once, classes=request.class_columns, finer=finer)
    if not request.person:
        return rows
    # A row that is alone tells that its person is; how many people that are is not counted here.
    people = len(source.groups(tuple(request.person)).counts)
    return SingledOut("people", people, names, int(rows.least > 0), people, {}, rows.counted, rows.sets)


def _is_told_apart(kind: pa.DataType) -> bool:
    """Return whether a database may distinguish values that are equal here: zeros of both signs, NaN, zones."""
    return pa.types.is_floating(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None)


def count_groups(
    fetch: Fetch,
    request: Request,
    *,
    columns: Sequence[str],
    population: Fetch | None = None,
    alone: Mapping[str, int] = MappingProxyType({}),
) -> Counted:
    """Count cells and histograms from the groups that an engine fetches, and build the index of rows.

    `columns` are those that the source has.
    """
    require_columns(request, columns)
    keyed = [name for key in request.keys for name in key if name != PERSON]
    people = request.person if any(PERSON in key for key in request.keys) else ()
    groups = fetch(tuple(dict.fromkeys([*request.quasi, *keyed, *people])))
    if not len(groups.counts):
        raise InputError("the table has no rows", hint="check that this is the right file")
    table, counts = groups.table, groups.counts
    for name in dict.fromkeys([*request.quasi, *keyed]):
        _check_finite(groups, name)
    del groups  # columns are let go as they become codes: texts of many groups would be there twice
    encoded = {}
    for name in dict.fromkeys([*request.quasi, *keyed]):
        encoded[name] = encoded_column(table, name, request)
        table = table if name in request.person else table.drop_columns(name)
    others = None
    if population is not None:
        population_groups = population(tuple(request.quasi))
        both = {name: with_population(encoded[name], population_groups.table, request) for name in request.quasi}
        encoded.update({name: mine for name, (mine, _) in both.items()})
        others = frequencies_of([both[name][1] for name in request.quasi], population_groups.counts)
    keys, pairs, alike = keys_of_request(table, encoded, request, counts=counts)
    taxonomies = {
        name: hierarchy.bind(encoded[name].domain) for name, hierarchy in request.hierarchies.items() if (name,) in keys
    }
    quasi = [encoded[name] for name in request.quasi]
    frequencies, entries = _cells(quasi, keys, counts, taxonomies, pairs, joint=request.joint)
    counted_by = [
        *(encoded[name] for name in dict.fromkeys([*request.quasi, *keyed])),
        *(encode_column(name, table[name]) for name in people if name not in encoded),
    ]
    groupings = {}
    for key in request.groupings:
        some = fetch(key)
        for name in key:
            encoded.setdefault(name, encoded_column(some.table, name, request))
        again = [Encoded.plain(encoded[name].domain, encoded[name].domain.encode(some.table[name])) for name in key]
        groupings[key] = frequencies_of(again, some.counts)
    known = {name: column.domain for name, column in encoded.items()}
    domains = tuple(column.domain for column in quasi)
    row_index = _index_rows(frequencies, entries, counted_by)
    return Counted(domains, frequencies, known, groupings, others, alone, alike, row_index=row_index)


def _check_finite(groups: ValueGroups, name: str) -> None:
    """Raise `InputError` with the number of rows, not of groups, that have NaN or an infinity."""
    column = groups.table[name]
    if pa.types.is_floating(column.type):
        odd = [test(column).fill_null(False).to_numpy() for test in (pc.is_nan, pc.is_inf)]
        nans, infinities = (int(groups.counts[each].sum()) for each in odd)
        if nans or infinities:
            raise not_finite(name, nans, infinities)


def _index_rows(frequencies: FrequencySet, entries: Codes | None, columns: Sequence[Encoded]) -> FoundRows | None:
    """Return the index that finds a row's cell and joint vector by the group that it was counted in."""
    if entries is None:
        return None
    grouping, vectors = group_encoded(columns)
    return FoundRows(frequencies.vectors, CellFinder.of([c.domain for c in columns], vectors), entries[grouping.first])


def frequencies_of(columns: Sequence[Encoded], counts: Codes) -> FrequencySet:
    """Return the cells of groups."""
    return _cells(columns, {}, counts, {}, {}, joint=False)[0]


def _cells(
    quasi: Sequence[Encoded],
    keys: dict[Key, Encoded],
    counts: Codes,
    taxonomies: dict[str, Taxonomy],
    pairs: dict[Key, tuple[Codes, Codes]],
    *,
    joint: bool,
) -> tuple[FrequencySet, Codes | None]:
    """Merge groups into cells. Each group starts as a class of its own, with one entry in each histogram.

    Where joint vectors are requested, return as well the index of each group's in their histogram.
    """
    grouping, vectors = group_encoded(quasi)
    # Counts of a table of Arrow cannot be written, for which kernels would be compiled once more.
    counts = np.require(counts, requirements="W")
    own = np.arange(len(counts) + 1, dtype=np.int64)

    def entries(column: Encoded) -> Histogram:
        codes = column.codes.astype(np.int32)
        reference = np.bincount(codes, weights=counts, minlength=len(column.domain)).astype(np.int64)
        return Histogram(own, codes, counts, reference)

    histograms = {
        key: replace(
            entries(column),
            taxonomy=taxonomies.get(key[0]) if len(key) == 1 else None,
            texts=() if PERSON in key else column.domain.texts(),
            pairs=pairs.get(key),
        )
        for key, column in keys.items()
    }
    ids, size = grouping.group_ids(), len(grouping)
    names = tuple(column.domain.column for column in quasi)
    cells = FrequencySet(names, vectors, Classes(counts, histograms).regroup(ids, size))
    if not joint or not keys:
        return cells, None
    column = join_columns(list(keys.values()))
    histogram = entries(column).regroup(ids, size)
    width = len(column.domain)
    known = histogram.owners() * width + histogram.codes
    positions = np.searchsorted(known, ids.astype(np.int64) * width + column.codes)
    return replace(cells, joint=Joint(histogram, parts_of(column, keys))), positions


def alone_in_groups(fetch: Fetch, column: str) -> int:
    """Return how many rows have a value of a transformed column that no other row has."""
    groups = fetch([column])
    cells, counts = groups.table[column], groups.counts
    # A group of several rows is never unique: counting it twice suffices.
    return rows_alone(cells.take(pa.array(np.repeat(np.arange(len(counts)), np.minimum(counts, 2)))))


def once_in_groups(fetch: Fetch, columns: Sequence[str]) -> int:
    """Return how many rows have a combination of values, transformed ones too, that no other row has."""
    groups = fetch(columns)
    rows = pa.table({f"c{index}": groups.table[name] for index, name in enumerate(columns)})
    rows = rows.append_column("rows", pa.array(groups.counts))
    united = rows.group_by(rows.column_names[:-1]).aggregate([("rows", "sum")])
    return int((united["rows_sum"].to_numpy() == 1).sum())
