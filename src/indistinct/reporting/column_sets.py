"""Rows that are unique on some columns together, in the original and in the release."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from indistinct.frequencies.encode import Encoded
from indistinct.release.published import Published
from indistinct.view.value import View, unmodified

MAX_COLUMNS_PAIRED, MAX_SETS_REPORTED = 8, 6
"""Upper limits of the columns whose pairs are counted, those with the most values, and of the reported sets."""


def column_set_facts(given: Published) -> dict[str, Any]:
    """Return for the worst sets of columns how many rows are unique on them, before and after.

    The quasi-identifiers together come first, then single columns and pairs that single out most rows. Nothing is
    counted in releases in buckets, where links between columns are hidden.
    """
    columns, view = given.values_of_original("report"), given.view("report")
    if len(view.slices) != 1:
        return {"rows": 0, "sets": []}
    whole = unmodified(columns)
    counted = {names: count_unique(whole, names) for names in _candidates(columns)}
    quasi = tuple(name for name in given.schema.quasi if name in columns)
    unexplained = {names: alone for names, alone in counted.items() if alone and not _is_explained(names, counted)}
    worst = sorted(unexplained, key=lambda names: -unexplained[names])
    sets = list(dict.fromkeys([*([quasi] if quasi else []), *worst]))[:MAX_SETS_REPORTED]
    counted[quasi] = count_unique(whole, quasi) if quasi else 0
    return {
        "rows": whole.rows,
        "sets": [
            {"columns": list(names), "before": counted[names], "after": count_unique(view, names)} for names in sets
        ],
    }


def _is_explained(names: tuple[str, ...], counted: Mapping[tuple[str, ...], int]) -> bool:
    """Return whether one column of a pair singles out at least half as many rows by itself."""
    return len(names) > 1 and any(2 * counted[(name,)] >= counted[names] for name in names)


def _candidates(columns: Mapping[str, Encoded]) -> Sequence[tuple[str, ...]]:
    """Return the columns, and the pairs of those with most values."""
    names = sorted(columns, key=lambda name: -len(columns[name].domain))[:MAX_COLUMNS_PAIRED]
    return [*((name,) for name in names), *combinations([name for name in columns if name in names], 2)]


def count_unique(view: View, names: tuple[str, ...]) -> int:
    """Return how many rows of a table in classes show values of some columns that no other row shows."""
    return int((view.project(names).sizes == 1).sum())
