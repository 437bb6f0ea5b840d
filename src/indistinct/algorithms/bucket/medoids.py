"""Clusters around medoids: how the algorithm slicing gathers attributes that depend on each other into columns.

Partitioning around medoids (PAM) of Kaufman and Rousseeuw (1987): greedy BUILD, then the best SWAP while one helps.
"""

import numpy as np

from indistinct.arrays import Codes

# Costs that differ by less are equal: rounding must neither decide a tie nor let two swaps undo each other for ever.
_TOLERANCE = 1e-12


def cluster_medoids(distances: Codes, count: int) -> tuple[tuple[int, ...], ...]:
    """Return `count` clusters of items given their symmetric matrix of distances, each as ascending indices.

    An item goes to its nearest medoid. Every tie falls to the smallest index, so the answer is always the same;
    clusters are ordered by their smallest item and none is empty. The cost, the sum of the distances to the medoids,
    is one that no exchange of a medoid for another item lowers.

    >>> cluster_medoids(np.abs(np.subtract.outer([0, 9, 1, 8], [0, 9, 1, 8])), 2)
    ((0, 2), (1, 3))
    """
    matrix = np.asarray(distances, dtype=np.float64)
    medoids = _swapped(matrix, _built(matrix, count))
    nearest = np.argmin(matrix[:, medoids], axis=1)
    nearest[medoids] = np.arange(count)  # where medoids lie at distance zero of each other, each keeps its own
    return tuple(sorted(tuple(np.flatnonzero(nearest == place).tolist()) for place in range(count)))


def _built(matrix: Codes, count: int) -> list[int]:
    """Choose medoids one by one, each the item that lowers the cost most."""
    medoids: list[int] = []
    reach = np.full(len(matrix), np.inf)
    for _ in range(count):
        costs = np.minimum(matrix, reach).sum(axis=1)
        costs[medoids] = np.inf
        medoids.append(_first_least(costs))
        reach = np.minimum(reach, matrix[medoids[-1]])
    return sorted(medoids)


def _swapped(matrix: Codes, medoids: list[int]) -> list[int]:
    """Exchange a medoid for another item, the best exchange first, until none lowers the cost."""
    cost = matrix[medoids].min(axis=0).sum()
    while True:
        costs = _exchange_costs(matrix, medoids)
        place, item = divmod(_first_least(costs.ravel()), len(matrix))
        if not costs[place, item] < cost - _TOLERANCE:
            return medoids
        cost = costs[place, item]
        medoids = sorted([*medoids[:place], *medoids[place + 1 :], item])


def _exchange_costs(matrix: Codes, medoids: list[int]) -> Codes:
    """Return the cost after each exchange, a row for each medoid and a column for each item that takes its place."""
    chosen = matrix[medoids]
    owner, reach = chosen.argmin(axis=0), chosen.min(axis=0)
    chosen[owner, np.arange(len(matrix))] = np.inf
    second = chosen.min(axis=0)
    costs = np.empty((len(medoids), len(matrix)))
    for place in range(len(medoids)):
        without = np.where(owner == place, second, reach)
        costs[place] = np.minimum(matrix, without).sum(axis=1)
    costs[:, medoids] = np.inf
    return costs


def _first_least(costs: Codes) -> int:
    return int(np.argmax(costs <= costs.min() + _TOLERANCE))
