"""Values that a single row has: whoever knows one finds the row, whatever a recoding does to the other columns."""

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from indistinct.frequencies.encode import from_dictionary
from indistinct.frequencies.grouping import pack
from indistinct.machine.arrays import Codes

NEARLY_UNIQUE = 0.5
"""Share of rows with a value of their own from which a column is nearly unique.

From half on, whoever knows somebody's value is more likely than not to have found one row.
"""
# Of fewer rows, a share says little: a handful of costs always differ.
ENOUGH_ROWS = 20
# Of larger tables so many rows are looked at first.
SAMPLE = 10_000
# What is alone in the table is alone in a sample. This is ten deviations of chance below the share that matters.
LIKELY = 0.9 * NEARLY_UNIQUE


def is_nearly_unique(alone: int, rows: int) -> bool:
    """Return whether so many rows with a value of their own make a column nearly unique.

    >>> is_nearly_unique(3871, 4000), is_nearly_unique(30, 4000), is_nearly_unique(5, 5)
    (True, False, False)
    """
    return rows >= ENOUGH_ROWS and alone >= NEARLY_UNIQUE * rows


def rows_alone(column: pa.ChunkedArray) -> int:
    """Return how many rows have a value that no other row has; 0 where a sample shows that they are few.

    Missing is no value. Lists and the like, and intervals of time, are not looked at.
    """
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return 0
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):  # Arrow cannot take cells of these
        column = column.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
    places = sample_of(len(column))
    if len(places) < len(column) and _alone(column.take(pa.array(places))) < LIKELY * len(places):
        return 0
    return _alone(column)


def vectors_alone(columns: Sequence[Codes], counts: Codes, *, missing: bool = False) -> int:
    """Return how many rows have a vector of codes that no other row has; 0 where a sample shows that they are few.

    Entry `i` stands for `counts[i]` rows, and a vector may have several entries. Of one column, code 0 may be
    `missing`, which is no value.
    """
    rows, sizes = int(counts.sum()), [int(column.max(initial=0)) + 1 for column in columns]
    if math.prod(sizes) < NEARLY_UNIQUE * rows:
        return 0
    places = sample_of(len(counts))
    if len(places) < len(counts):
        likely = _vectors_alone([column[places] for column in columns], counts[places], sizes, missing=missing)
        if likely / len(places) * len(counts) < LIKELY * rows:
            return 0
    return _vectors_alone(columns, counts, sizes, missing=missing)


def _vectors_alone(columns: Sequence[Codes], counts: Codes, sizes: Sequence[int], *, missing: bool) -> int:
    words, _ = pack(columns, sizes)
    several = words[counts > 1]
    nothing = np.zeros(2 if missing else 0, dtype=words.dtype)  # the code of missing is never alone then
    words = np.concatenate([words, several, nothing])
    return _singles(np.sort(words))


def sample_of(rows: int) -> Codes:
    """Return the places of a sample, of all rows where they are not many."""
    if rows <= 2 * SAMPLE:
        return np.arange(rows)
    step = rows // SAMPLE
    # One of every stretch, so that nothing that repeats in the order of rows is met each time.
    return np.arange(SAMPLE) * step + np.random.default_rng(1).integers(0, step, SAMPLE)


def _alone(column: pa.ChunkedArray) -> int:
    kind = column.type
    if isinstance(kind, pa.DictionaryType):
        return _alone_in_dictionaries(column)
    if pa.types.is_temporal(kind):
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        cells = column.drop_null().to_numpy()
        # What is not a number equals nothing. Sorting is far faster than to hash what hardly repeats.
        return _singles(np.sort(cells[cells == cells]))
    return _once(column.drop_null().value_counts().field("counts").to_numpy())


def _alone_in_dictionaries(column: pa.ChunkedArray) -> int:
    (first, *more) = column.chunks or [pa.array([], column.type)]
    if not more and len(first.dictionary.unique()) == len(first.dictionary) and not first.dictionary.null_count:
        cells = first.indices.drop_null().to_numpy(zero_copy_only=False)
        return _once(np.bincount(cells, minlength=len(first.dictionary)))
    distinct = from_dictionary(column)
    counts = np.zeros(len(distinct.values) + 1, dtype=np.int64)
    for cells, places in zip(distinct.chunks, distinct.places, strict=True):
        counts += np.bincount(places[cells] + 1, minlength=len(counts))
    return _once(counts[1:])


def _singles(ordered: Codes) -> int:
    """Return how many entries of a sorted array equal none of their neighbours."""
    fresh = np.ones(len(ordered) + 1, dtype=bool)
    fresh[1:-1] = ordered[1:] != ordered[:-1]
    return int((fresh[1:] & fresh[:-1]).sum())


def _once(counts: Codes) -> int:
    return int((counts == 1).sum())
