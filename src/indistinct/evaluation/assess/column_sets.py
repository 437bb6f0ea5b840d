"""The smallest combination of values of one, two or three quasi-identifiers: what subset anonymity could guarantee."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

from indistinct.as_json import AsJson
from indistinct.frequencies.value import Classes, ClassLabels
from indistinct.models.subset_anonymity import SubsetAnonymity

# Largest sets of columns that are counted, and the most classes times sets.
LARGEST, WORK = 3, 1_200_000_000


@dataclass(frozen=True, slots=True)
class SmallestCombination(AsJson):
    """How many members share a combination of values at least, over all sets of a number of quasi-identifiers."""

    size: int
    sets: int
    smallest: int


def smallest_combinations(classes: Classes, labels: ClassLabels) -> tuple[SmallestCombination, ...]:
    """Return the smallest combination of one, two and three columns, unless counting would take too long.

    >>> import numpy as np
    >>> labels = ClassLabels(("age", "sex"), np.array([[0, 0], [0, 1]]))
    >>> found = smallest_combinations(Classes(np.array([2, 3])), labels)
    >>> [(each.size, each.smallest) for each in found]
    [(1, 2), (2, 2)]
    """
    labeled, columns = replace(classes, labels=labels), len(labels.names)
    sizes: Sequence[int] = [
        size for size in range(1, min(LARGEST, columns) + 1) if comb(columns, size) * len(classes) <= WORK
    ]
    achieved = [(size, SubsetAnonymity(k=1, size=size).achieved(labeled)) for size in sizes if classes.rows]
    return tuple(SmallestCombination(size, comb(columns, size), int(each["k"])) for size, each in achieved)
