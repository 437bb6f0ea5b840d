"""Cells seen by some of their attributes only, for recodings that speak of these alone."""

from collections.abc import Sequence

import numpy as np

from indistinct.frequencies.grouping import group_rows
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.machine.arrays import Codes


def project(frequencies: FrequencySet, names: Sequence[str]) -> tuple[FrequencySet, Codes]:
    """Return the frequency set of some attributes, and the place of every cell in it.

    >>> pairs = FrequencySet(("age", "sex"), np.array([[0, 0], [0, 1], [1, 1]]), Classes(np.array([4, 2, 3])))
    >>> sexes, places = project(pairs, ["sex"])
    >>> sexes.counts.tolist(), places.tolist()
    ([4, 5], [0, 1, 1])
    """
    columns = [frequencies.vectors[:, frequencies.names.index(name)] for name in names]
    grouping = group_rows(columns, [int(column.max()) + 1 for column in columns])
    places = grouping.group_ids()
    sizes = np.bincount(places, weights=frequencies.counts).astype(np.int64)
    vectors = np.asfortranarray(np.stack([column[grouping.first] for column in columns], axis=1).astype(np.int32))
    return FrequencySet(tuple(names), vectors, Classes(sizes)), places
