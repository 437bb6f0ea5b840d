"""Which attributes slicing keeps together in one column: found by clustering, or given by the user."""

from collections.abc import Sequence

import numpy as np

from indistinct.errors import ParameterError, did_you_mean
from indistinct.figures import plural
from indistinct.frequencies.slices import joins_of, sharing_problem
from indistinct.machine.arrays import Floats

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
    columns_so_far: list[list[int]] = []
    if alpha is not None:
        _check_alpha(alpha, len(names), sensitive=len(sensitive), columns=columns)
        columns_so_far = _around_sensitive(correlation, [names.index(name) for name in sensitive], alpha=alpha)
        taken = {index for column in columns_so_far for index in column}
        free = [index for index in free if index not in taken]
    if free:
        clusters = cluster_medoids(1 - correlation[free][:, free], columns - len(columns_so_far))
        columns_so_far += [[free[item] for item in cluster] for cluster in clusters]
    return tuple(tuple(names[index] for index in column) for column in sorted(map(sorted, columns_so_far)))


def share_by_correlation(
    names: Sequence[str],
    correlation: Floats,
    columns: Columns,
    *,
    sensitive: Sequence[str],
    distinctive: Sequence[str] = (),
    overlap: int,
) -> Columns:
    """Return columns that take over up to `overlap` attributes of another column, those that they depend on most.

    Columns are joined as a tree, from those with a sensitive attribute or else the widest one on: the pair of a joined
    column and another one with the strongest correlation between their attributes comes first; ties go to the earlier
    column. Columns with a sensitive attribute take over none, so that what is known with a sensitive value stays as
    it was. `distinctive` attributes are not taken over: they would tell which rows belong together. No column takes
    over all of another one, which would tell nothing more then.
    """
    if not overlap:
        return columns
    index = {name: number for number, name in enumerate(names)}
    own = [[index[name] for name in column if name not in sensitive] for column in columns]
    hidden = [[index[name] for name in column if name in sensitive] for column in columns]
    kept = {index[name] for name in distinctive}
    joined = [number for number, some in enumerate(hidden) if some]
    left = [number for number in range(len(columns)) if number not in joined]
    whole = list(map(list, own))
    while left:
        offers = {number: [each for each in whole[number] if each not in kept] for number in joined}
        most = {number: min(overlap, len(whole[number]) - (not hidden[number])) for number in joined}
        pairs = [(number, parent) for number in left for parent in joined if offers[parent] and most[parent] > 0]
        if not pairs:
            joined.append(max(left, key=lambda number: len(own[number])))
            left.remove(joined[-1])
            continue
        strongest = [float(correlation[np.ix_(own[number], offers[parent])].max()) for number, parent in pairs]
        number, parent = pairs[int(np.argmax(strongest))]
        nearest = np.argsort(-correlation[np.ix_(offers[parent], own[number])].max(axis=1), kind="stable")
        whole[number] += [offers[parent][candidate] for candidate in nearest[: most[parent]]]
        joined.append(number)
        left.remove(number)
    return tuple(
        tuple(names[each] for each in sorted([*some, *rest])) for some, rest in zip(whole, hidden, strict=True)
    )


def explicit_columns(given: Sequence[Sequence[str]], names: Sequence[str], *, overlap: int = 0) -> Columns:
    """Return the columns that a user gave, in the user's order, once each attribute is known to be in exactly one.

    With `overlap`, columns may have up to this number of attributes in common with those that they are joined to.
    """
    columns = tuple(map(tuple, given))
    if len(columns) < 2:
        raise ParameterError(f"slicing needs at least two columns; got {len(columns)}", hint=_ONE_COLUMN)
    if not all(columns):
        number = columns.index(()) + 1
        raise ParameterError(f"column {number} of slicing has no attribute", hint="leave the empty column out")
    listed = [name for column in columns for name in column]
    unknown = next((name for name in listed if name not in names), None)
    if unknown is not None:
        raise ParameterError(
            f"slicing knows no attribute {unknown!r}",
            hint=did_you_mean(unknown, names) or f"the attributes are: {', '.join(names)}",
        )
    twice = [name for name in names if listed.count(name) > 1]
    if twice and not overlap:
        raise ParameterError(
            f"an attribute belongs to exactly one column of slicing; repeated: {', '.join(map(repr, twice))}",
            hint="name each attribute once, or allow columns to share attributes with overlap=1",
        )
    missing = [name for name in names if name not in listed]
    if missing:
        raise ParameterError(
            f"every attribute belongs to a column of slicing; missing: {', '.join(map(repr, missing))}",
            hint="add each to one of the columns, or give it a column of its own",
        )
    return columns


def check_sharing(columns: Columns, *, sensitive: Sequence[str], overlap: int) -> None:
    """Raise unless columns share attributes as slicing allows it, no more than `overlap` at a time."""
    problem = sharing_problem(columns, sensitive)
    if problem is not None:
        raise ParameterError(problem, hint="for example age+sex|sex+zipcode|zipcode+disease")
    most = max((len(join.shared) for join in joins_of(columns)), default=0)
    if most > overlap:
        raise ParameterError(
            f"a column of slicing shares {most} attributes with those that it is joined to; `overlap` allows {overlap}",
            hint=f"allow overlap={most}, or name fewer attributes twice",
        )


def _check_number(columns: int, names: Sequence[str]) -> None:
    """Raise unless the number of columns is between 2 and that of attributes."""
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
    """Raise unless alpha leaves attributes for all columns."""
    others, left = columns - sensitive, attributes - sensitive * alpha
    if others < 0 or (others == 0 and left > 0):
        raise ParameterError(
            f"columns={columns} is too few for {plural(sensitive, 'sensitive column')} and the other attributes",
            hint=f"ask for at least {sensitive + 1} columns, or leave alpha out",
        )
    if left < others:
        most = (attributes - others) // sensitive
        raise ParameterError.of(
            "slicing",
            "alpha",
            f"leaves {plural(max(left, 0), 'attribute')} for {plural(others, 'other column')}; got {alpha}",
            hint=f"use alpha of at most {most}, or fewer columns" if most >= 1 else "ask for fewer columns",
        )


def _around_sensitive(correlation: Floats, sensitive: Sequence[int], *, alpha: int) -> list[list[int]]:
    """Cluster each sensitive attribute with the alpha - 1 attributes correlated most with it."""
    free = [index for index in range(len(correlation)) if index not in sensitive]
    clusters = []
    for own in sensitive:
        nearest = np.argsort(-correlation[own, free], kind="stable")
        partners = [free[item] for item in nearest[: alpha - 1]]
        free = [index for index in free if index not in partners]
        clusters.append([own, *partners])
    return clusters


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
