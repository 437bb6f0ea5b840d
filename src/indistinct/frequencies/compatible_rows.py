"""Rows that match each other where `*` matches everything, as sdcMicro counts them."""

from collections.abc import Sequence

import numpy as np

from indistinct.figures import plural
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, Mask

# Largest number of units times sets of starred columns for which all are compared with each other.
MAX_UNIT_SETS = 10_000_000


def group_shown(values: Codes, columns: Sequence[int]) -> tuple[Codes, int]:
    """Return the group of each unit by some columns, and the number of groups."""
    if not len(columns):
        return np.zeros(len(values), dtype=np.int32), 1
    codes = [values[:, j].astype(np.uint32) for j in columns]
    grouping = group_rows(codes, [int(code.max(initial=0)) + 1 for code in codes])
    return grouping.group_ids().astype(np.int32), len(grouping.first)


def compatible_rows(values: Codes, stars: Mask, counts: Codes) -> Codes:
    """Return for each published row how many rows match it where `*` matches everything, as sdcMicro counts.

    This is no guarantee: an attacker who knows a row's true values may still find it unique. Rows with stars in the
    same columns are compared with all rows of every other such set, on the columns in which neither has a star.
    """
    totals = np.zeros(len(values), dtype=np.int64)
    masks, owner = np.unique(stars, axis=0, return_inverse=True)
    positions = [np.flatnonzero(owner.reshape(-1) == number) for number in range(len(masks))]
    for own, mine in zip(masks, positions, strict=True):
        for other, theirs in zip(masks, positions, strict=True):
            ids, groups = group_shown(values[np.concatenate([mine, theirs])], np.flatnonzero(~(own | other)).tolist())
            rows = np.bincount(ids[len(mine) :], counts[theirs], groups)
            totals[mine] += rows[ids[: len(mine)]].astype(np.int64)
    return totals


def fewest_compatible(values: Codes, stars: Mask, counts: Codes) -> int | None:
    """Return the smallest number of matching rows.

    None without stars, or where comparing all of them would take long.
    """
    if not stars.any() or len(values) * len(np.unique(stars, axis=0)) > MAX_UNIT_SETS:
        return None
    return int(compatible_rows(values, stars, counts).min())


def say_fewest_compatible(least: int) -> str:
    """Return sdcMicro's count as a sentence.

    >>> say_fewest_compatible(2)
    'counted as sdcMicro does, where a star matches everything, each row fits at least 2 rows; that is no promise'
    """
    return (
        "counted as sdcMicro does, where a star matches everything, each row fits at least "
        f"{plural(least, 'row')}; that is no promise"
    )


def compare_counts(values: Codes, stars: Mask, counts: Codes) -> tuple[str, ...]:
    """Return sdcMicro's count as a sentence for comparison; empty where there is no such count."""
    least = fewest_compatible(values, stars, counts)
    return () if least is None else (say_fewest_compatible(least),)
