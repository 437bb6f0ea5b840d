"""The one GROUP BY that a search needs, for engines that hold codes in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.arrays import Codes, empty_large, starts_of
from indistinct.domain import Domain
from indistinct.frequencies import _kernels
from indistinct.frequencies.blocks import in_blocks
from indistinct.frequencies.encode import Encoded
from indistinct.frequencies.grouping import (
    WORD,
    Grouping,
    group_rows,
    group_words,
    number_words,
    one_of_each,
    pack,
    run_starts,
)
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Joint, Key
from indistinct.hierarchy.value import Taxonomy
from indistinct.parallel import is_large


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A frequency set and the rows that stand behind each of its cells."""

    domains: tuple[Domain, ...]
    frequencies: FrequencySet
    grouping: Grouping


def count_cells(
    quasi: Sequence[Encoded],
    keys: Mapping[Key, Encoded],
    *,
    taxonomies: Mapping[str, Taxonomy] | None = None,
) -> Counted:
    """Count the cells of a table, and a histogram inside each cell for every key."""
    grouping, vectors = group_encoded(quasi)
    histograms = {
        key: histogram_of(grouping, column, taxonomy=(taxonomies or {}).get(key[0]) if len(key) == 1 else None)
        for key, column in keys.items()
    }
    names = tuple(column.domain.column for column in quasi)
    frequencies = FrequencySet(names, vectors, Classes(grouping.counts, histograms))
    return Counted(tuple(column.domain for column in quasi), frequencies, grouping)


def count_pieces(
    quasi: Sequence[Encoded],
    keys: Mapping[Key, Encoded],
    *,
    taxonomies: Mapping[str, Taxonomy] | None = None,
) -> Counted:
    """Count the cells of a table, and inside each cell the vectors of all keys together, by the same one sort.

    Rows are in the order of cells, and inside a cell in that of these vectors.
    """
    together = join_columns(list(keys.values()))
    pieces, vectors = group_encoded([*quasi, together])
    fresh = np.zeros(len(pieces), dtype=bool)
    fresh[0] = True
    for place in range(len(quasi)):
        fresh[1:] |= vectors[1:, place] != vectors[:-1, place]
    firsts = np.flatnonzero(fresh)
    grouping = Grouping(pieces.order, np.append(pieces.starts[firsts], pieces.starts[-1]))
    indptr = np.append(firsts, len(pieces))
    cells = _by_column(len(firsts), len(quasi))
    for place in range(len(quasi)):
        np.take(vectors[:, place], firsts, out=cells[:, place])
    codes, counts = np.ascontiguousarray(vectors[:, -1]), pieces.counts
    inner = Histogram(indptr, codes, counts, _reference(codes, counts, together), None, together.domain.texts())
    parts = _parts(together, keys)
    histograms = {}
    for key, column in keys.items():
        taxonomy = (taxonomies or {}).get(key[0]) if len(key) == 1 else None
        own = inner.codes if column is together else parts[key][inner.codes]
        reference = inner.reference if column is together else _reference(own, counts, column)
        entries = Histogram(indptr, own, counts, reference, taxonomy, column.domain.texts())
        same = np.arange(len(firsts), dtype=np.int32)
        histograms[key] = entries if column is together else entries.regroup(same, len(firsts))
    names = tuple(column.domain.column for column in quasi)
    frequencies = FrequencySet(names, cells, Classes(grouping.counts, histograms), Joint(inner, parts))
    return Counted(tuple(column.domain for column in quasi), frequencies, grouping)


def _reference(codes: Codes, counts: Codes, column: Encoded) -> Codes:
    return np.bincount(codes, weights=counts, minlength=len(column.domain)).astype(np.int64)


def _parts(together: Encoded, keys: Mapping[Key, Encoded]) -> dict[Key, Codes]:
    """Return, for every code of several columns together, the codes of each of them."""
    width = len(together.domain)
    if len(keys) == 1:
        return {key: np.arange(width, dtype=np.int32) for key in keys}
    some = one_of_each(together.codes, width)
    return {key: column.codes[some].astype(np.int32) for key, column in keys.items()}


def group_encoded(columns: Sequence[Encoded]) -> tuple[Grouping, Codes]:
    """Group rows by their vector; return the vectors as well, one row a group."""
    rows = int(columns[0].ends[-1])
    widths = [max(len(column.domain) - 1, 0).bit_length() for column in columns]
    row_bits = max(rows - 1, 0).bit_length()
    if sum(widths) + row_bits > WORD:
        grouping = group_rows([c.codes for c in columns], [len(c.domain) for c in columns])
        found = [c.codes[grouping.first] for c in columns]
        return grouping, np.asfortranarray(np.stack(found, axis=1).astype(np.int32))
    words = _packed(columns, widths, rows, row_bits)
    grouping, cells = group_words(words, row_bits)
    vectors = _by_column(len(grouping), len(columns))
    for place in reversed(range(len(columns))):
        vectors[:, place] = cells & np.uint64((1 << widths[place]) - 1)
        cells >>= np.uint64(widths[place])
    return grouping, vectors


def _by_column(rows: int, columns: int) -> Codes:
    """Return room for vectors, column after column."""
    return empty_large(rows * columns, np.int32).reshape(columns, rows).T


def _packed(columns: Sequence[Encoded], widths: Sequence[int], rows: int, row_bits: int) -> Codes:
    """Return the rows as words that carry the row number in their last bits."""
    if not is_large(rows):
        return number_words(pack([c.codes for c in columns], [len(c.domain) for c in columns])[0], row_bits)
    words = np.empty(rows, dtype=np.uint64)
    lookups = [[lookup.astype(np.uint64) for lookup in column.lookups] for column in columns]

    def fill(start: int, stop: int, parts: list[tuple[int, Codes]]) -> None:
        block = words[start:stop]
        block[:] = 0
        for column, tables, width, (chunk, cells) in zip(columns, lookups, widths, parts, strict=True):
            _kernels.pack_field(block, cells, column.base, tables[chunk], np.uint64(width))
        _kernels.add_rows(block, start, np.uint64(row_bits))

    in_blocks(columns, fill)
    return words


def histogram_of(grouping: Grouping, column: Encoded, *, taxonomy: Taxonomy | None = None) -> Histogram:
    """Count the values of a column inside each group."""
    width = len(column.domain)
    groups = np.repeat(np.arange(len(grouping), dtype=np.int64), grouping.counts)
    words = groups * width + column.codes[grouping.order]
    words.sort()
    starts = run_starts(words)
    entries = words[starts[:-1]]
    owners, codes = np.divmod(entries, width)
    indptr = starts_of(np.bincount(owners, minlength=len(grouping)))
    counts = np.diff(starts)
    reference = np.bincount(codes, weights=counts, minlength=width).astype(np.int64)
    return Histogram(indptr, codes.astype(np.int32), counts, reference, taxonomy, column.domain.texts())


def join_columns(columns: Sequence[Encoded]) -> Encoded:
    """Return several columns as one: a code for each distinct vector, in canonical order."""
    if len(columns) == 1:
        return columns[0]
    import pyarrow as pa

    grouping = group_rows([c.codes for c in columns], [len(c.domain) for c in columns])
    name = " × ".join(c.domain.column for c in columns)
    values = pa.array([f"{place:012d}" for place in range(len(grouping))], pa.string())
    return Encoded.plain(Domain(name, values), grouping.group_ids())
