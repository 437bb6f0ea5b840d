"""What a recoding costs people: an assignment whose rows are people, for every metric."""

from dataclasses import replace

import numpy as np

from indistinct.frequencies.value import PERSON
from indistinct.recoding.outputs import Assignment


def counted_in_people(assignment: Assignment) -> Assignment:
    """Return an assignment in which people count, not rows; the same one where people were not counted.

    Somebody counts once in every cell of a class: several rows with the same values cost no more than one.
    """
    cells = assignment.frequencies.classes
    if (PERSON,) not in cells.histograms:
        return assignment
    pieces = _one_of_each(assignment)
    counts = cells.members[pieces.cells] if pieces.joint is None else np.ones(len(pieces.cells), dtype=np.int64)
    kept = pieces.class_ids >= 0
    sizes = np.bincount(pieces.class_ids[kept], counts[kept], len(assignment.classes)).astype(np.int64)
    whole = np.bincount(pieces.cells, counts, len(cells)).astype(np.int64)
    frequencies = replace(assignment.frequencies, classes=replace(cells, sizes=whole))
    classes = replace(assignment.classes, sizes=sizes)
    return replace(pieces, frequencies=frequencies, counts=counts, classes=classes)


def _one_of_each(assignment: Assignment) -> Assignment:
    """Return an assignment with one piece for every person, cell and class; whole cells are left as they are."""
    joint = assignment.frequencies.joint
    if assignment.joint is None or joint is None:
        return assignment
    keys = (joint.codes[(PERSON,)][assignment.joint], assignment.cells, assignment.class_ids)
    order = np.lexsort(keys)
    again = np.logical_and.reduce([np.diff(key[order]) == 0 for key in keys])
    first = np.sort(np.delete(order, 1 + np.flatnonzero(again)))
    return replace(
        assignment,
        cells=assignment.cells[first],
        class_ids=assignment.class_ids[first],
        joint=assignment.joint[first],
    )
