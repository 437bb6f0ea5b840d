"""Special uniques: how exposed the unique cells of a frequency set are, by the small column sets that tell them apart.

The score is that of SUDA (Elliot, Manning and Ford 2002; Manning, Haglin and Keane 2008). DIS-SUDA spreads the risk of
the whole file over its unique cells (Elliot and Manning 2003).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from indistinct.errors import ParameterError
from indistinct.frequencies.value import FrequencySet
from indistinct.inspection.unique_sets import Progress, owners_of, unique_sets
from indistinct.machine.arrays import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpecialUniques:
    """What makes cells special uniques; every array but `levels` has an entry for each cell.

    `scores` are SUDA scores, 0 for a cell that is not unique or has no minimal unique of up to `size` columns.
    `uniques` counts a cell's minimal uniques, `smallest` is the number of columns of its smallest one, 0 without any,
    and `disclosure` its DIS-SUDA score. `levels[j][code]` is the part of all scores that comes from minimal uniques
    with that value of column j.
    """

    names: tuple[str, ...]
    size: int
    scores: Floats
    uniques: Codes
    smallest: Codes
    disclosure: Floats
    levels: tuple[Floats, ...]

    @property
    def special(self) -> int:
        """Return how many cells are special uniques: single people with a minimal unique."""
        return int((self.uniques > 0).sum())

    @property
    def contributions(self) -> Mapping[str, float]:
        """Return the share of all scores to which each column contributes.

        A minimal unique counts for each of its columns, so shares add up to more than 1.
        """
        total = float(self.scores.sum())
        return {
            name: float(level.sum()) / total if total else 0.0
            for name, level in zip(self.names, self.levels, strict=True)
        }

    def to_json(self) -> Mapping[str, Any]:
        """Return the figures of the whole file as plain JSON values, without single cells.

        `mean_score` is the mean over special uniques, and not over all cells.
        """
        present = self.uniques > 0
        return {
            "size": self.size,
            "special_uniques": self.special,
            "by_smallest": {str(s): int((self.smallest == s).sum()) for s in range(1, self.size + 1)},
            "highest_score": float(self.scores.max(initial=0)),
            "mean_score": float(self.scores[present].mean()) if present.any() else 0.0,
            "highest_dis_suda": float(self.disclosure.max(initial=0)),
            "contributions": dict(self.contributions),
        }


def special_uniques(
    frequencies: FrequencySet, *, size: int = 4, fraction: float = 0.01, progress: Progress | None = None
) -> SpecialUniques:
    """Return the special uniques of a frequency set, by all minimal uniques of up to `size` columns.

    Cells are unique if one row has them, or one person where people are counted. `fraction` is the sampling fraction,
    for DIS-SUDA alone. `progress` is called with the share of the work that is done; what it raises ends it.

        >>> from indistinct.frequencies.value import Classes
        >>> cells = np.array([[1, 0, 0], [1, 3, 6], [2, 0, 0]])
        >>> found = special_uniques(FrequencySet(("a", "b", "c"), cells, Classes(np.ones(3, dtype=np.int64))))
        >>> found.scores.tolist(), found.smallest.tolist(), found.contributions
        ([2.0, 4.0, 2.0], [2, 1, 1], {'a': 0.5, 'b': 0.375, 'c': 0.375})
    """
    vectors, owners = frequencies.vectors, owners_of(frequencies.classes)
    width, cells = vectors.shape[1], len(vectors)
    _require_fraction(fraction)
    scores = np.zeros(cells)
    uniques, smallest = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    levels = [np.zeros(int(column.max(initial=-1)) + 1) for column in vectors.T]
    for unique_set in unique_sets(vectors, owners, size=size, progress=progress):
        if not len(unique_set.minimal):
            continue
        weight = msu_score(len(unique_set.columns), columns=width, size=size)
        scores[unique_set.minimal] += weight
        uniques[unique_set.minimal] += 1
        fresh = unique_set.minimal[smallest[unique_set.minimal] == 0]
        smallest[fresh] = len(unique_set.columns)  # smaller sets come first
        for j in unique_set.columns:
            levels[j] += weight * np.bincount(vectors[unique_set.minimal, j], minlength=len(levels[j]))
    members = frequencies.classes.members
    disclosure = dis_suda(
        scores,
        columns=width,
        uniques=int((members == 1).sum()),
        pairs=int((members == 2).sum()),
        fraction=fraction,
    )
    return SpecialUniques(frequencies.names, min(size, width), scores, uniques, smallest, disclosure, tuple(levels))


def msu_score(chosen: int, *, columns: int, size: int) -> float:
    """Return the score of a minimal unique of some chosen columns, where up to `size` columns are chosen.

    That is the product of `columns` - i for i from `chosen` to `size`. The last factor may not be 0, so a larger `size`
    counts as `columns` - 1; the product of no factors is 1.

        >>> [msu_score(chosen, columns=4, size=3) for chosen in (1, 2, 3)]
        [6.0, 2.0, 1.0]
    """
    return float(prod(columns - i for i in range(chosen, min(size, columns - 1) + 1)))


def dis_risk(*, uniques: int, pairs: int, fraction: float) -> float:
    """Return the probability that a unique match with a sample is correct (Skinner and Elliot 2002).

    `uniques` cells are single people's, `pairs` cells are shared by two.

        >>> round(dis_risk(uniques=4, pairs=3, fraction=0.01), 6)
        0.006689
    """
    _require_fraction(fraction)
    expected = uniques * fraction
    return expected / (expected + 2 * pairs * (1 - fraction)) if expected else 0.0


def dis_suda(scores: Floats, *, columns: int, uniques: int, pairs: int, fraction: float) -> Floats:
    """Return the DIS-SUDA score of every cell: the risk of the file, spread by SUDA scores.

    With s the score, DIS the risk of the file, U its `uniques` and Q = 1 + (8 - `columns`) / 20, a cell has
    1 / (1 + (U / DIS - U) / (s^Q × A)), where A is the sum of 1 / s^Q over all cells with a score; 0 without a score.
    """
    risk, scored = dis_risk(uniques=uniques, pairs=pairs, fraction=fraction), scores > 0
    spread = np.zeros(len(scores))
    if not scored.any():
        return spread
    powers = scores[scored] ** (1 + (8 - columns) / 20)
    spread[scored] = 1 / (1 + (uniques / risk - uniques) / (powers * (1 / powers).sum()))
    return spread


def _require_fraction(fraction: float) -> None:
    """Raise unless a sampling fraction is above 0 and at most 1."""
    if not 0 < fraction <= 1:
        raise ParameterError(
            f"the sampling fraction must be above 0 and at most 1; got {fraction:g}",
            hint="it is the number of people in the table, divided by that of the population",
        )
