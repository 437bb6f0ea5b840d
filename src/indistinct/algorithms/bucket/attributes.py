"""Which attributes are published together: the columns that the algorithm slicing finds or that a user gives it."""

from collections.abc import Sequence

import numpy as np

from indistinct.algorithms.bucket.medoids import cluster_medoids
from indistinct.arrays import Codes
from indistinct.errors import ParameterError
from indistinct.schema import did_you_mean

Columns = tuple[tuple[str, ...], ...]
_ONE_COLUMN = "slicing into one column publishes the table as it is"


def partition_attributes(
    names: Sequence[str], correlation: Codes, *, sensitive: Sequence[str], columns: int, alpha: int | None
) -> Columns:
    """Return columns of attributes that depend on each other: links inside a column are kept, others are broken.

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
        taken = {place for column in found for place in column}
        free = [place for place in free if place not in taken]
    if free:
        clusters = cluster_medoids(1 - correlation[free][:, free], columns - len(found))
        found += [[free[item] for item in cluster] for cluster in clusters]
    return tuple(tuple(names[place] for place in column) for column in sorted(map(sorted, found)))


def explicit_columns(given: Sequence[Sequence[str]], names: Sequence[str]) -> Columns:
    """Return the columns that a user gave, in the user's order, once each attribute is known to be in exactly one."""
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
        raise ParameterError(f"`columns` of slicing must be at least 2; got {columns}", hint=_ONE_COLUMN)
    if columns > len(names):
        raise ParameterError(
            f"`columns` of slicing must be at most the number of attributes, {len(names)}; got {columns}",
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
        raise ParameterError(
            f"`alpha` of slicing leaves {max(left, 0)} attribute(s) for {others} other column(s); got {alpha}",
            hint=f"use alpha of at most {most}, or fewer columns" if most >= 1 else "ask for fewer columns",
        )


def _around_sensitive(correlation: Codes, sensitive: Sequence[int], *, alpha: int) -> list[list[int]]:
    free = [place for place in range(len(correlation)) if place not in sensitive]
    found = []
    for own in sensitive:
        nearest = np.argsort(-correlation[own, free], kind="stable")
        partners = [free[item] for item in nearest[: alpha - 1]]
        free = [place for place in free if place not in partners]
        found.append([own, *partners])
    return found
