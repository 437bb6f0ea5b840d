"""The one GROUP BY that a search needs: what an engine is asked to count, its answer, and grouping in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.figures import plural
from indistinct.frequencies import _kernels
from indistinct.frequencies.encode import (
    BITS_PER_WORD,
    Encoded,
    Grouping,
    group_rows,
    group_words,
    number_words,
    one_of_each,
    pack,
)
from indistinct.frequencies.singled_out import SingledOut
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Histogram, Joint, Key
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes, empty_large, repeat_values, row_numbers, run_starts, starts_of
from indistinct.machine.ordering import distinct
from indistinct.machine.threads import is_large, spread
from indistinct.tables.domain import Domain

# Rows per block: their words fill half a megabyte.
ROWS_PER_BLOCK = 1 << 16
# Runs of equal rows are only used if they are fewer than this share of the rows.
MAX_SHARE_OF_RUNS = 0.5

Result = TypeVar("Result")
Work = Callable[[int, int, list[tuple[int, Codes]]], Result]


class RowIndex(Protocol):
    """How an engine finds the rows of counted cells again; counting passes it to publishing.

    Only the engine that made it can use it, for the source that it counted.
    """

    @property
    def vectors(self) -> Codes:
        """The vectors of the counted cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The counts of an engine; apart from `row_index` they contain nothing about single rows.

    `domains` are those of the quasi-identifiers, `known` those of every column that was counted. `groupings` has a
    frequency set for each further list of columns in the request, `population` the cells of the population in the same
    domains, and `alone` the number of rows with a unique value in a column; 0 where these are clearly few. `alike`
    counts people, treating identifiers that differ only in case or spaces as one; `singled_out` has the people who are
    unique on one or two of the requested columns. `row_index` is for publishing; where it is None, the engine looks
    rows up again.
    """

    domains: tuple[Domain, ...]
    frequencies: FrequencySet
    known: Mapping[str, Domain] = field(default_factory=dict)
    groupings: Mapping[Key, FrequencySet] = field(default_factory=dict)
    population: FrequencySet | None = None
    alone: Mapping[str, int] = field(default_factory=dict)
    alike: int | None = None
    singled_out: SingledOut | None = None
    row_index: RowIndex | None = None


def drop_absent_values(domains: Sequence[Domain], cells: FrequencySet) -> tuple[tuple[Domain, ...], FrequencySet]:
    """Return domains without the values that no cell has, and the cells in their codes.

    A population, or the table for which a recoding was found, may have values that a table does not have.

    >>> ages = Domain("age", pa.array([20, 30, 40]))
    >>> (domain,), cells = drop_absent_values([ages], FrequencySet(("age",), np.array([[0], [2]]), Classes(np.ones(2))))
    >>> domain.values.to_pylist(), cells.vectors.tolist()
    ([20, 40], [[0], [1]])
    """
    if cells.of_classes:
        return tuple(domains), cells
    vectors, kept = cells.vectors.copy(), []
    for index, domain in enumerate(domains):
        occurring = np.flatnonzero(np.bincount(cells.vectors[:, index], minlength=len(domain)))
        vectors[:, index] = np.searchsorted(occurring, cells.vectors[:, index])
        missing = domain.missing and 0 in occurring[:1]
        values = domain.values.take(pa.array(occurring[int(missing) :] - int(domain.missing)))
        kept.append(domain if len(occurring) == len(domain) else replace(domain, values=values, missing=missing))
    return tuple(kept), replace(cells, vectors=vectors)


def count_cells(
    quasi: Sequence[Encoded],
    keys: Mapping[Key, Encoded],
    *,
    taxonomies: Mapping[str, Taxonomy] | None = None,
    pairs: Mapping[Key, tuple[Codes, Codes]] | None = None,
) -> tuple[FrequencySet, Grouping]:
    """Count the cells of a table, and a histogram in each for every key; return the rows of each cell as well."""
    grouping, vectors = group_encoded(quasi)
    histograms = {
        key: replace(
            histogram_of(grouping, column, taxonomy=_of(taxonomies, key), spelled=PERSON not in key),
            pairs=(pairs or {}).get(key),
        )
        for key, column in keys.items()
    }
    classes = Classes(grouping.counts, histograms)
    return FrequencySet(tuple(column.domain.column for column in quasi), vectors, classes), grouping


def count_pieces(
    quasi: Sequence[Encoded],
    keys: Mapping[Key, Encoded],
    *,
    taxonomies: Mapping[str, Taxonomy] | None = None,
    pairs: Mapping[Key, tuple[Codes, Codes]] | None = None,
) -> tuple[FrequencySet, Grouping]:
    """Count the cells of a table, and in each cell the vectors of all keys together, with a single sort.

    Rows are in the order of cells and, inside a cell, of these vectors.
    """
    together = join_columns(list(keys.values()))
    pieces, vectors = group_encoded([*quasi, together])
    fresh = np.zeros(len(pieces), dtype=bool)
    fresh[0] = True
    for index in range(len(quasi)):
        fresh[1:] |= vectors[1:, index] != vectors[:-1, index]
    firsts = np.flatnonzero(fresh)
    grouping = Grouping(pieces.order, np.append(pieces.starts[firsts], pieces.starts[-1]))
    indptr = np.append(firsts, len(pieces))
    cells = _by_column(len(firsts), len(quasi))
    for index in range(len(quasi)):
        np.take(vectors[:, index], firsts, out=cells[:, index])
    codes, counts = np.ascontiguousarray(vectors[:, -1]), pieces.counts
    inner = Histogram(indptr, codes, counts, _reference(codes, counts, together))
    parts = parts_of(together, keys)
    histograms = {}
    for key, column in keys.items():
        own = inner.codes if column is together else parts[key][inner.codes]
        reference = inner.reference if column is together else _reference(own, counts, column)
        texts = () if PERSON in key else column.domain.texts()
        both = (pairs or {}).get(key)
        entries = Histogram(indptr, own, counts, reference, _of(taxonomies, key), texts, both)
        same = np.arange(len(firsts), dtype=np.int32)
        histograms[key] = entries if column is together else entries.regroup(same, len(firsts))
    classes = Classes(grouping.counts, histograms)
    names = tuple(column.domain.column for column in quasi)
    return FrequencySet(names, cells, classes, Joint(inner, parts)), grouping


def pair_people(person: Encoded, value: Encoded) -> tuple[Encoded, tuple[Codes, Codes]]:
    """Return people and values as one column, and (person, value) codes for each of its codes."""
    both = join_columns([person, value])
    some = one_of_each(both.codes, len(both.domain))
    return both, (person.codes[some].astype(np.int32), value.codes[some].astype(np.int32))


def _of(taxonomies: Mapping[str, Taxonomy] | None, key: Key) -> Taxonomy | None:
    """Return the hierarchy of a key of one column, None for others."""
    return (taxonomies or {}).get(key[0]) if len(key) == 1 else None


def _reference(codes: Codes, counts: Codes, column: Encoded) -> Codes:
    """Count each code of a column in the whole table."""
    return np.bincount(codes, weights=counts, minlength=len(column.domain)).astype(np.int64)


def parts_of(together: Encoded, keys: Mapping[Key, Encoded]) -> dict[Key, Codes]:
    """Return, for every code of several columns together, the codes of each of them."""
    width = len(together.domain)
    if len(keys) == 1:
        return {key: np.arange(width, dtype=np.int32) for key in keys}
    some = one_of_each(together.codes, width)
    return {key: column.codes[some].astype(np.int32) for key, column in keys.items()}


def group_encoded(columns: Sequence[Encoded]) -> tuple[Grouping, Codes]:
    """Group rows by their vector; return the vectors as well, one row for each group."""
    rows = int(columns[0].ends[-1])
    if len(columns) == 1 and columns[0].order is not None:
        grouping = Grouping(*columns[0].order)
        return grouping, np.arange(len(grouping), dtype=np.int32)[:, None]
    in_runs = group_runs(columns)
    if in_runs is not None:
        return in_runs
    widths = [max(len(column.domain) - 1, 0).bit_length() for column in columns]
    row_bits = max(rows - 1, 0).bit_length()
    if sum(widths) + row_bits > BITS_PER_WORD:
        grouping = group_rows([c.codes for c in columns], [len(c.domain) for c in columns])
        codes = [c.codes[grouping.first] for c in columns]
        return grouping, np.asfortranarray(np.stack(codes, axis=1).astype(np.int32))
    grouping, cells = group_words(_pack_rows(columns, widths, rows, row_bits), row_bits)
    vectors = _by_column(len(grouping), len(columns))
    for index in reversed(range(len(columns))):
        vectors[:, index] = cells & np.uint64((1 << widths[index]) - 1)
        cells >>= np.uint64(widths[index])
    return grouping, vectors


def _by_column(rows: int, columns: int) -> Codes:
    """Return an empty array of vectors in column-major order."""
    return empty_large(rows * columns, np.int32).reshape(columns, rows).T


def _pack_rows(columns: Sequence[Encoded], widths: Sequence[int], rows: int, row_bits: int) -> Codes:
    """Return the rows as words whose last bits are the row number."""
    if not is_large(rows):
        return number_words(pack([c.codes for c in columns], [len(c.domain) for c in columns])[0], row_bits)
    words = np.empty(rows, dtype=np.uint64)
    lookups = [[lookup.astype(np.uint64) for lookup in column.lookups] for column in columns]

    def fill(start: int, stop: int, parts: list[tuple[int, Codes]]) -> None:
        block = words[start:stop]
        block[:] = 0
        for column, tables, width, (chunk, cells) in zip(columns, lookups, widths, parts, strict=True):
            if tables:
                _kernels.pack_field(block, cells, column.base, tables[chunk], np.uint64(width))
            else:
                block <<= np.uint64(width)
                np.bitwise_or(block, cells, out=block, dtype=np.uint64, casting="unsafe")
        _kernels.add_rows(block, start, np.uint64(row_bits))

    in_blocks(columns, fill)
    return words


def histogram_of(
    grouping: Grouping, column: Encoded, *, taxonomy: Taxonomy | None = None, spelled: bool = True
) -> Histogram:
    """Count the values of a column in each group; without `spelled`, the histogram has no texts of values."""
    width = len(column.domain)
    groups = np.repeat(np.arange(len(grouping), dtype=np.int64), grouping.counts)
    words = groups * width + column.codes[grouping.order]
    words.sort()
    starts = run_starts(words)
    owners, codes = np.divmod(words[starts[:-1]], width)
    indptr, counts = starts_of(np.bincount(owners, minlength=len(grouping))), np.diff(starts)
    texts = column.domain.texts() if spelled else ()
    return Histogram(indptr, codes.astype(np.int32), counts, _reference(codes, counts, column), taxonomy, texts)


def join_columns(columns: Sequence[Encoded]) -> Encoded:
    """Return several columns as one: a code for each distinct vector, in canonical order."""
    if len(columns) == 1:
        return columns[0]
    grouping = group_rows([c.codes for c in columns], [len(c.domain) for c in columns])
    name = " × ".join(c.domain.column for c in columns)
    return Encoded.plain(Domain(name, pa.array(np.arange(len(grouping)))), grouping.group_ids())


def group_runs(columns: Sequence[Encoded]) -> tuple[Grouping, Codes] | None:
    """Return (rows grouped by their vector, the vectors); None where most rows differ from the next one.

    Runs of equal rows are found by comparing cells, and only the first row of each is looked up and sorted.
    """
    rows = int(columns[0].ends[-1])
    if not is_large(rows):
        return None
    fresh = np.zeros(rows, dtype=bool)

    def mark(start: int, stop: int, parts: list[tuple[int, Codes]]) -> None:
        own = fresh[start:stop]
        own[0] = True  # a block always begins a run, because cells of two chunks cannot be compared
        for _, cells in parts:
            own[1:] |= cells[1:] != cells[:-1]

    in_blocks(columns, mark, last=ROWS_PER_BLOCK)
    if np.count_nonzero(fresh[:ROWS_PER_BLOCK]) > MAX_SHARE_OF_RUNS * ROWS_PER_BLOCK:
        return None
    in_blocks(columns, mark)
    firsts = np.flatnonzero(fresh)
    if len(firsts) > MAX_SHARE_OF_RUNS * rows:
        return None
    codes = [_codes_at(column, firsts) for column in columns]
    grouping = group_rows(codes, [len(column.domain) for column in columns])
    lengths = np.diff(np.append(firsts, rows))[grouping.order]
    begins = starts_of(lengths)
    order = row_numbers(rows)
    if (grouping.order[1:] < grouping.order[:-1]).any():  # runs are not sorted yet
        order += repeat_values((firsts[grouping.order] - begins[:-1]).astype(order.dtype), lengths)
    vectors = [column[grouping.first].astype(np.int32) for column in codes]
    return Grouping(order, begins[grouping.starts]), np.asfortranarray(np.stack(vectors, axis=1))


def _codes_at(column: Encoded, rows: Codes) -> Codes:
    """Return the codes of some rows, given in ascending order."""
    parts, begin = [], 0
    cuts = np.searchsorted(rows, column.ends)
    for index, (chunk, cut) in enumerate(zip(column.chunks, cuts.tolist(), strict=True)):
        cells = chunk[rows[begin:cut] - (int(column.ends[index]) - len(chunk))]
        parts.append(column.lookups[index][cells - column.base] if column.lookups else cells)
        begin = cut
    return np.concatenate(parts)


def in_blocks(columns: Sequence[Encoded], work: Work[Result], *, last: int | None = None) -> list[Result]:
    """Call `work(start, stop, parts)` for every block of rows, on several threads; return the results.

    `parts` has, for each column, the number of the chunk with the block, and the block's cells. With `last`, only
    blocks that begin before that row are processed.
    """
    ends = [column.ends for column in columns]
    rows = int(ends[0][-1])
    bounds = distinct(np.concatenate([[0], *ends, np.arange(0, rows, ROWS_PER_BLOCK)]))
    chunk_of_block = [np.searchsorted(end, bounds[:-1], side="right").tolist() for end in ends]

    def call(block: int) -> Result:
        start, stop = bounds[block : block + 2].tolist()
        parts = []
        for column, end, chunks in zip(columns, ends, chunk_of_block, strict=True):
            chunk = chunks[block]
            first = start - (int(end[chunk - 1]) if chunk else 0)
            parts.append((chunk, column.chunks[chunk][first : first + stop - start]))
        return work(start, stop, parts)

    count = len(bounds) - 1 if last is None else min(int(np.searchsorted(bounds, last)), len(bounds) - 1)
    return spread(call, range(count))


@dataclass(frozen=True, slots=True)
class Request:
    """What to count: the cells of the quasi-identifiers, and in each cell a histogram for each key.

    `hierarchies` give declared orders and the taxonomies of sensitive columns. `joint` asks for the vectors of all
    keys together, which algorithms that split equal vectors need. `person` names the columns of the person ID, for keys
    that begin with `PERSON`; it may not be missing in any row. `population` is a second source, counted in the same
    domains, which hold the values of both. `groupings` are further lists of columns to be counted. For columns in
    `alone`, the rows with a unique value are counted, unless these are clearly few. On `published_columns`, unique
    members are counted: people where `person` is given, and together with the class of a row where `class_columns`
    identify classes. `domains` fix the codes of some columns: a value outside raises `UnseenValueError`. A column
    without any value is an error unless it is `published`, where missing is its only value. `to_publish` are the
    columns whose rows are published afterwards: an engine may read them at once, and hold them until then.
    """

    quasi: Sequence[str]
    keys: Sequence[Key] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    joint: bool = False
    person: Sequence[str] = ()
    population: Any = None
    groupings: Sequence[Key] = ()
    alone: Sequence[str] = ()
    published_columns: Sequence[str] = ()
    class_columns: Sequence[str] = ()
    domains: Mapping[str, Domain] = field(default_factory=dict)
    published: bool = False
    to_publish: Sequence[str] = ()


def nobody(column: str, rows: int) -> InputError:
    """Return the error of a table with rows without a person ID."""
    return InputError(
        f"column {column!r} is the person ID, and has no value in {plural(rows, 'row')}",
        hint="fill the column or leave these rows out; to count rows, give it the role identifier instead",
        column=column,
    )
