"""Values that a single row has: whoever knows one finds the row, whatever a recoding does to the other columns."""

import numpy as np
import pyarrow as pa

from indistinct.arrays import Codes
from indistinct.frequencies.encode import from_dictionary

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

    Missing is no value. Lists and the like are not looked at.
    """
    if pa.types.is_nested(column.type):
        return 0
    places = sample_of(len(column))
    if len(places) < len(column) and _alone(column.take(pa.array(places))) < LIKELY * len(places):
        return 0
    return _alone(column)


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
        cells = np.sort(column.drop_null().to_numpy())  # far faster than to hash what hardly repeats
        cells = cells[cells == cells]  # not a number, which equals nothing
        fresh = np.ones(len(cells) + 1, dtype=bool)
        fresh[1:-1] = cells[1:] != cells[:-1]
        return int((fresh[1:] & fresh[:-1]).sum())
    return once(column.drop_null().value_counts().field("counts").to_numpy())


def _alone_in_dictionaries(column: pa.ChunkedArray) -> int:
    (first, *more) = column.chunks or [pa.array([], column.type)]
    if not more and len(first.dictionary.unique()) == len(first.dictionary) and not first.dictionary.null_count:
        cells = first.indices.drop_null().to_numpy(zero_copy_only=False)
        return once(np.bincount(cells, minlength=len(first.dictionary)))
    distinct = from_dictionary(column)
    counts = np.zeros(len(distinct.values) + 1, dtype=np.int64)
    for cells, places in zip(distinct.chunks, distinct.places, strict=True):
        counts += np.bincount(places[cells] + 1, minlength=len(counts))
    return once(counts[1:])


def once(counts: Codes) -> int:
    """Return how many counts are 1."""
    return int((counts == 1).sum())
