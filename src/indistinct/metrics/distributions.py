"""Distances between the distributions of a release and of its original, and measures of dependence.

Every function takes plain arrays. A distribution is an array of shares with sum 1; two distributions that are compared
have the same values in the same order.
"""

import math

import numpy as np

from indistinct.machine.arrays import Codes, Floats

SMOOTHING = 0.5
"""Rows that are added to each value on both sides before Kullback-Leibler is computed."""


def total_variation(before: Floats, after: Floats) -> float:
    """Return half the sum of absolute differences, 0 to 1: the largest error of the share of any set of values.

    >>> total_variation(np.array([0.5, 0.5]), np.array([0.75, 0.25]))
    0.25
    """
    return float(np.abs(before - after).sum() / 2)


def hellinger(before: Floats, after: Floats) -> float:
    """Return the Hellinger distance, sqrt(Σ (sqrt(p) - sqrt(q))² / 2), 0 to 1.

    >>> hellinger(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    return float(np.sqrt(np.square(np.sqrt(before) - np.sqrt(after)).sum() / 2))


def kullback_leibler(before: Floats, after: Floats, *, rows: int, smoothing: float = SMOOTHING) -> float:
    """Return the bits wasted by coding the original with the release's distribution; 0 or more.

    A value that the release never shows would make it infinite. So both distributions are smoothed in the same way: as
    if `smoothing` rows of each value were added to the original's `rows` rows.

    >>> round(kullback_leibler(np.array([0.5, 0.5]), np.array([0.25, 0.75]), rows=8, smoothing=0), 6)
    0.207519
    """
    values = before.size
    if not values:
        return 0.0
    total = rows + smoothing * values
    first, second = ((rows * shares + smoothing) / total for shares in (before, after))
    kept = first > 0
    if (second[kept] == 0).any():
        return math.inf
    return max(float((first[kept] * np.log2(first[kept] / second[kept])).sum()), 0.0)


def wasserstein(before: Floats, after: Floats, *, positions: Floats) -> float:
    """Return the mean distance that rows must be moved to turn one distribution into the other, in the axis's unit.

    `positions` are the ascending positions of the values.

    >>> wasserstein(np.array([1.0, 0.0]), np.array([0.0, 1.0]), positions=np.array([20.0, 30.0]))
    10.0
    """
    moved = np.abs(np.cumsum(before - after))[:-1]
    return float((moved * np.diff(positions)).sum())


def cramers_v(joint: Codes) -> float:
    """Return Cramér's V of a table of shares: 0 for independent attributes, 1 if one determines the other.

    V² is φ², the mean square contingency coefficient by which slicing groups attributes. A constant attribute depends
    on nothing: 0.

    >>> cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]]))
    1.0
    """
    joint = joint / joint.sum() if joint.sum() else joint
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    joint = joint[rows > 0][:, columns > 0]
    size = min(joint.shape)
    if size < 2:
        return 0.0
    chance = np.outer(rows[rows > 0], columns[columns > 0])
    squared = float((np.square(joint - chance) / chance).sum()) / (size - 1)
    return min(math.sqrt(squared), 1.0)


def correlation_of(moments: Floats) -> float | None:
    """Return the correlation of two numbers; None if one is constant.

    >>> correlation_of(np.array([[2.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]))
    1.0
    """
    if moments[0, 0] <= 0:
        return None
    shares = moments / moments[0, 0]
    x, y = shares[1, 0], shares[0, 1]
    spread = (shares[2, 0] - x * x) * (shares[0, 2] - y * y)
    scale = shares[2, 0] * shares[0, 2]
    if spread <= 1e-24 * scale:
        return None
    return float(np.clip((shares[1, 1] - x * y) / math.sqrt(spread), -1.0, 1.0))


def middle_ranks(shares: Floats) -> Floats:
    """Return the rank of each value as a share: the share of smaller values plus half of its ties.

    >>> middle_ranks(np.array([0.5, 0.5])).tolist()
    [0.25, 0.75]
    """
    return np.cumsum(shares) - shares / 2
