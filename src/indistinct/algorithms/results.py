"""Build a recoding from the decisions of a search: a level for every column, or a class for every cell."""

from collections.abc import Mapping

import numpy as np

from indistinct.algorithms.base import Problem
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.partition.layout import ranks_of, summarize
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import Codes
from indistinct.machine.ordering import distinct_with_places
from indistinct.recoding.kinds import ByCell, ByColumn
from indistinct.recoding.summary import Style


@with_checked_arguments
def recode_levels(problem: Problem, levels: Mapping[str, int]) -> ByColumn:
    """Return the recoding that publishes every column on one level of its hierarchy.

    Classes that violate the model are suppressed; the caller keeps them within the suppression limit.

    Parameters
    ----------
    problem
        The problem that a search receives.
    levels
        Level of each column by name; level 0 is the raw values.

    Returns
    -------
    ByColumn
        The recoding.

    Raises
    ------
    ParameterError
        If `levels` is not a node of the lattice.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44]})
    >>> ages = {"age": ind.Hierarchy.intervals([10, 20])}
    >>> found = ind.problem(table, ind.Schema(quasi=["age"]), model="k-anonymity:k=3", hierarchies=ages)
    >>> len(found.assigned(recode_levels(found, {"age": 1})).classes)
    2
    """
    space = FullDomain(problem)
    return space.recoding(tuple(levels[column.name] for column in space.columns))


@with_checked_arguments
def recode_classes(problem: Problem, class_ids: Codes) -> ByCell:
    """Return the recoding that sends every cell to a class.

    A class is published as what its cells cover: a range, an ancestor in the hierarchy, or a set of values. Classes
    with the same labels are merged.

    Parameters
    ----------
    problem
        The problem that a search receives.
    class_ids
        Class of each cell of the problem; a negative number suppresses the cell.

    Returns
    -------
    ByCell
        The recoding.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44]})
    >>> found = ind.problem(table, ind.Schema(quasi=["age"]), model="k-anonymity:k=3")
    >>> len(found.assigned(recode_classes(found, np.array([0, 0, 0, 1, 1, 1]))).classes)
    2
    """
    kept, vectors = np.flatnonzero(class_ids >= 0), problem.frequencies.vectors
    distinct, ids = distinct_with_places(class_ids[kept])
    ids = ids.astype(np.int32)
    columns, values = summarize(
        problem.columns,
        ranks_of(problem.columns, vectors[kept]),
        class_ids=ids,
        counts=problem.frequencies.counts[kept],
        classes=len(distinct),
        style=Style(),
    )
    by_cell = np.full(len(vectors), -1, dtype=np.int32)
    by_cell[kept] = ids
    return ByCell(columns, np.ascontiguousarray(vectors), by_cell, values)
