"""The one GROUP BY that a search needs, for engines that hold codes in memory."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from indistinct.domain import Codes, Domain
from indistinct.frequencies import _kernels
from indistinct.frequencies.encode import Encoded
from indistinct.frequencies.grouping import (
    PARALLEL_FROM,
    WORD,
    Grouping,
    group_rows,
    group_words,
    number_words,
    pack,
    run_starts,
)
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.hierarchy.value import Taxonomy

# Rows packed at a time: their words fill half a megabyte.
BLOCK = 1 << 16


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
    vectors = np.empty((len(grouping), len(columns)), dtype=np.int32, order="F")
    for place in reversed(range(len(columns))):
        vectors[:, place] = cells & np.uint64((1 << widths[place]) - 1)
        cells >>= np.uint64(widths[place])
    return grouping, vectors


def _packed(columns: Sequence[Encoded], widths: Sequence[int], rows: int, row_bits: int) -> Codes:
    """Return the rows as words that carry the row number in their last bits."""
    if rows < PARALLEL_FROM:
        return number_words(pack([c.codes for c in columns], [len(c.domain) for c in columns])[0], row_bits)
    words = np.zeros(rows, dtype=np.uint64)
    lookups = [[lookup.astype(np.uint64) for lookup in column.lookups] for column in columns]
    ends = [column.ends for column in columns]
    bounds = np.unique(np.concatenate([[0], *ends, np.arange(0, rows, BLOCK)]))
    # The chunk of each column in which a block lies.
    places = [np.searchsorted(end, bounds[:-1], side="right").tolist() for end in ends]

    def fill(block: int) -> None:
        start, stop = bounds[block : block + 2].tolist()
        for column, end, tables, width, chunks in zip(columns, ends, lookups, widths, places, strict=True):
            chunk = chunks[block]
            first = start - (int(end[chunk - 1]) if chunk else 0)
            cells = column.chunks[chunk][first : first + stop - start]
            _kernels.pack_field(words[start:stop], cells, column.base, tables[chunk], np.uint64(width))
        _kernels.add_rows(words[start:stop], start, np.uint64(row_bits))

    # A block's words stay in the cache from the first field to the last.
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fill, range(len(bounds) - 1)))
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
    indptr = np.zeros(len(grouping) + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=len(grouping)), out=indptr[1:])
    counts = np.diff(starts)
    reference = np.bincount(codes, weights=counts, minlength=width).astype(np.int64)
    return Histogram(indptr, codes.astype(np.int32), counts, reference, taxonomy, column.domain.texts())


def join_columns(columns: Sequence[Encoded]) -> Encoded:
    """Return several columns as one: a code for each distinct vector, in canonical order."""
    if len(columns) == 1:
        return columns[0]
    import pyarrow as pa

    grouping = group_rows([c.codes for c in columns], [len(c.domain) for c in columns])
    codes: Codes = np.empty(len(grouping.order), dtype=np.uint32)
    codes[grouping.order] = np.repeat(np.arange(len(grouping), dtype=np.uint32), grouping.counts)
    name = " × ".join(c.domain.column for c in columns)
    values = pa.array([f"{place:012d}" for place in range(len(grouping))], pa.string())
    return Encoded.plain(Domain(name, values), codes)
