"""Which attributes slicing keeps together in one column: found by clustering, or given by the user."""

from collections.abc import Sequence

import numpy as np

from indistinct.errors import ParameterError
from indistinct.machine.arrays import Floats
from indistinct.schema import did_you_mean

Columns = tuple[tuple[str, ...], ...]
_ONE_COLUMN = "slicing into one column publishes the table unmodified"
# Costs that differ by less are equal: rounding must not decide a tie nor let two swaps undo each other forever.
_TOLERANCE = 1e-12


def partition_attributes(
    names: Sequence[str], correlation: Floats, *, sensitive: Sequence[str], columns: int, alpha: int | None
) -> Columns:
    """Group attributes into columns of dependent attributes: links inside a column are kept, all others are hidden.

    Without `alpha` all attributes are clustered around medoids at distance 1 - φ². With it, each sensitive attribute
    forms a column with the `alpha - 1` free attributes that depend on it most (the first one chooses first, ties go
    to the earlier name), and the rest is clustered (Li, Li, Zhang and Molloy 2012). Every attribute is in exactly one
    column; attributes and columns keep the order of `names`.
    """
    _check_number(columns, names)
    free = list(range(len(names)))
    found: list[list[int]] = []
    if alpha is not None:
        _check_alpha(alpha, len(names), sensitive=len(sensitive), columns=columns)
        found = _around_sensitive(correlation, [names.index(name) for name in sensitive], alpha=alpha)
        taken = {index for column in found for index in column}
        free = [index for index in free if index not in taken]
    if free:
        clusters = cluster_medoids(1 - correlation[free][:, free], columns - len(found))
        found += [[free[item] for item in cluster] for cluster in clusters]
    return tuple(tuple(names[index] for index in column) for column in sorted(map(sorted, found)))


def explicit_columns(given: Sequence[Sequence[str]], names: Sequence[str]) -> Columns:
    """Return the columns that a user gave, in the user's order; raise unless each attribute is in exactly one."""
    columns = tuple(map(tuple, given))
    if len(columns) < 2:
        raise ParameterError(f"slicing needs at least two columns; got {len(columns)}", hint=_ONE_COLUMN)
    if not all(columns):
        place = columns.index(()) + 1
        raise ParameterError(f"column {place} of slicing has no attribute", hint="leave the empty column out")
    listed = [name for column in columns for name in column]
    unknown = next((name for name in listed if name not in names), None)
    if unknown is not None:
        raise ParameterError(
            f"slicing knows no attribute {unknown!r}",
            hint=did_you_mean(unknown, names) or f"the attributes are: {', '.join(names)}",
        )
    twice = [name for name in names if listed.count(name) > 1]
    if twice:
        raise ParameterError(
            f"an attribute belongs to exactly one column of slicing; repeated: {', '.join(map(repr, twice))}",
            hint="name each attribute once",
        )
    missing = [name for name in names if name not in listed]
    if missing:
        raise ParameterError(
            f"every attribute belongs to a column of slicing; missing: {', '.join(map(repr, missing))}",
            hint="add each to one of the columns, or give it a column of its own",
        )
    return columns


def _check_number(columns: int, names: Sequence[str]) -> None:
    if columns < 2:
        raise ParameterError.of("slicing", "columns", f"must be at least 2; got {columns}", hint=_ONE_COLUMN)
    if columns > len(names):
        raise ParameterError.of(
            "slicing",
            "columns",
            f"must be at most the number of attributes, {len(names)}; got {columns}",
            hint=f"with columns={len(names)} each attribute has a column of its own"
            if len(names) > 1
            else "a table of one attribute cannot be sliced",
        )


def _check_alpha(alpha: int, attributes: int, *, sensitive: int, columns: int) -> None:
    others, left = columns - sensitive, attributes - sensitive * alpha
    if others < 0 or (others == 0 and left > 0):
        raise ParameterError(
            f"{columns} column(s) do not suffice for {sensitive} sensitive one(s) and the other attributes",
            hint=f"ask for at least {sensitive + 1} columns, or leave alpha out",
        )
    if left < others:
        most = (attributes - others) // sensitive
        raise ParameterError.of(
            "slicing",
            "alpha",
            f"leaves {max(left, 0)} attribute(s) for {others} other column(s); got {alpha}",
            hint=f"use alpha of at most {most}, or fewer columns" if most >= 1 else "ask for fewer columns",
        )


def _around_sensitive(correlation: Floats, sensitive: Sequence[int], *, alpha: int) -> list[list[int]]:
    free = [index for index in range(len(correlation)) if index not in sensitive]
    found = []
    for own in sensitive:
        nearest = np.argsort(-correlation[own, free], kind="stable")
        partners = [free[item] for item in nearest[: alpha - 1]]
        free = [index for index in free if index not in partners]
        found.append([own, *partners])
    return found


def cluster_medoids(distances: Floats, count: int) -> tuple[tuple[int, ...], ...]:
    """Return `count` clusters of items given their symmetric matrix of distances, each as ascending indices.

    Partitioning around medoids (PAM) of Kaufman and Rousseeuw (1987): greedy BUILD, then the best SWAP while one helps.
    An item goes to its nearest medoid. Every tie falls to the smallest index, so the answer is always the same;
    clusters are ordered by their smallest item and none is empty. The cost, the sum of the distances to the medoids,
    is one that no exchange of a medoid for another item lowers.

    >>> cluster_medoids(np.abs(np.subtract.outer([0, 9, 1, 8], [0, 9, 1, 8])), 2)
    ((0, 2), (1, 3))
    """
    matrix = np.asarray(distances, dtype=np.float64)
    medoids = _swap_medoids(matrix, _build_medoids(matrix, count))
    nearest = np.argmin(matrix[:, medoids], axis=1)
    nearest[medoids] = np.arange(count)  # where medoids lie at distance zero of each other, each keeps its own
    return tuple(sorted(tuple(np.flatnonzero(nearest == index).tolist()) for index in range(count)))


def _build_medoids(matrix: Floats, count: int) -> list[int]:
    """Choose medoids one by one, each the item that lowers the cost most."""
    medoids: list[int] = []
    reach = np.full(len(matrix), np.inf)
    for _ in range(count):
        costs = np.minimum(matrix, reach).sum(axis=1)
        costs[medoids] = np.inf
        medoids.append(_first_least(costs))
        reach = np.minimum(reach, matrix[medoids[-1]])
    return sorted(medoids)


def _swap_medoids(matrix: Floats, medoids: list[int]) -> list[int]:
    """Exchange a medoid for another item, the best exchange first, until none lowers the cost."""
    cost = matrix[medoids].min(axis=0).sum()
    while True:
        costs = _exchange_costs(matrix, medoids)
        index, item = divmod(_first_least(costs.ravel()), len(matrix))
        if not costs[index, item] < cost - _TOLERANCE:
            return medoids
        cost = costs[index, item]
        medoids = sorted([*medoids[:index], *medoids[index + 1 :], item])


def _exchange_costs(matrix: Floats, medoids: list[int]) -> Floats:
    """Return the cost after each exchange, a row for each medoid and a column for each item that takes its place."""
    chosen = matrix[medoids]
    owner, reach = chosen.argmin(axis=0), chosen.min(axis=0)
    chosen[owner, np.arange(len(matrix))] = np.inf
    second = chosen.min(axis=0)
    costs = np.empty((len(medoids), len(matrix)))
    for index in range(len(medoids)):
        without = np.where(owner == index, second, reach)
        costs[index] = np.minimum(matrix, without).sum(axis=1)
    costs[:, medoids] = np.inf
    return costs


def _first_least(costs: Floats) -> int:
    return int(np.argmax(costs <= costs.min() + _TOLERANCE))
