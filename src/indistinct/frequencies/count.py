"""The one GROUP BY that a search needs, for engines that hold codes in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.domain import Codes, Domain
from indistinct.frequencies.encode import Encoded
from indistinct.frequencies.grouping import Grouping, group_rows, run_starts
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.hierarchy.value import Taxonomy


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
    grouping = group_rows([c.codes for c in quasi], [len(c.domain) for c in quasi])
    vectors = np.empty((len(grouping), len(quasi)), dtype=np.int32, order="F")
    first = grouping.first
    for place, column in enumerate(quasi):
        vectors[:, place] = column.codes[first]
    histograms = {
        key: histogram_of(grouping, column, taxonomy=(taxonomies or {}).get(key[0]) if len(key) == 1 else None)
        for key, column in keys.items()
    }
    names = tuple(column.domain.column for column in quasi)
    frequencies = FrequencySet(names, vectors, Classes(grouping.counts, histograms))
    return Counted(tuple(column.domain for column in quasi), frequencies, grouping)


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
    return Encoded(Domain(name, values), codes)
