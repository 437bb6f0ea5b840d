"""Rows that fit each other where a star matches everything, as sdcMicro counts them."""

from collections.abc import Sequence

import numpy as np

from indistinct.figures import plural
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, Mask

# Units times sets of starred columns up to which they are compared with each other.
MOST_COMPARED = 10_000_000


def group_shown(values: Codes, columns: Sequence[int]) -> tuple[Codes, int]:
    """Return the group of each unit by some columns, and the number of groups."""
    if not len(columns):
        return np.zeros(len(values), dtype=np.int32), 1
    codes = [values[:, j].astype(np.uint32) for j in columns]
    grouping = group_rows(codes, [int(code.max(initial=0)) + 1 for code in codes])
    return grouping.group_ids().astype(np.int32), len(grouping.first)


def compatible_rows(values: Codes, stars: Mask, counts: Codes) -> Codes:
    """Return for each of some published rows how many fit it where a star matches everything, as sdcMicro counts.

    It promises nothing: who knows a row's true values may still find it alone. Rows with stars in the same columns are
    compared with all others that have theirs in the same columns, by the columns in which neither has one.
    """
    found = np.zeros(len(values), dtype=np.int64)
    masks, owner = np.unique(stars, axis=0, return_inverse=True)
    places = [np.flatnonzero(owner.reshape(-1) == number) for number in range(len(masks))]
    for own, mine in zip(masks, places, strict=True):
        for other, theirs in zip(masks, places, strict=True):
            ids, groups = group_shown(values[np.concatenate([mine, theirs])], np.flatnonzero(~(own | other)).tolist())
            rows = np.bincount(ids[len(mine) :], counts[theirs], groups)
            found[mine] += rows[ids[: len(mine)]].astype(np.int64)
    return found


def fewest_compatible(values: Codes, stars: Mask, counts: Codes) -> int | None:
    """Return the fewest rows that fit any; None without stars, or where comparing them would take long."""
    if not stars.any() or len(values) * len(np.unique(stars, axis=0)) > MOST_COMPARED:
        return None
    return int(compatible_rows(values, stars, counts).min())


def say_fewest_compatible(least: int) -> str:
    """Return the count of sdcMicro in words.

    >>> say_fewest_compatible(2)
    'counted as sdcMicro does, where a star matches everything, each row fits at least 2 rows; that is no promise'
    """
    return (
        "counted as sdcMicro does, where a star matches everything, each row fits at least "
        f"{plural(least, 'row')}; that is no promise"
    )


def compare_counts(values: Codes, stars: Mask, counts: Codes) -> tuple[str, ...]:
    """Return a sentence with the count of sdcMicro, for comparison; none where there is no such count."""
    least = fewest_compatible(values, stars, counts)
    return () if least is None else (say_fewest_compatible(least),)
