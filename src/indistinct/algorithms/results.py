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
    """Return the recoding that publishes every column on one level of its hierarchy; level 0 is the raw values.

    Classes that violate the model are suppressed; the caller keeps them within the suppression limit.
    """
    space = FullDomain(problem)
    return space.recoding(tuple(levels[column.name] for column in space.columns))


@with_checked_arguments
def recode_classes(problem: Problem, class_ids: Codes) -> ByCell:
    """Return the recoding that sends every cell to a class; a negative class suppresses the cell.

    A class is published as what its cells cover: a range, an ancestor in the hierarchy, or a set of values. Classes
    with the same labels are merged.
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
