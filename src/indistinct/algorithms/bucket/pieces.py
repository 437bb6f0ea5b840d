"""What bucket searches see of a problem: rows of equal vectors and equal sensitive values as one piece."""

from dataclasses import dataclass

import numpy as np

from indistinct.algorithms.base import Problem
from indistinct.arrays import Codes
from indistinct.recoding.columns import QuasiColumn


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Piece `i` stands for `counts[i]` rows of cell `cells[i]`, with the sensitive values of code `joint[i]`.

    Pieces ascend by cell, then by code. Without a sensitive attribute `joint` is None and a piece is a cell.
    """

    cells: Codes
    joint: Codes | None
    counts: Codes


def pieces_of(problem: Problem) -> Pieces:
    """Return the pieces of a problem's table."""
    joint = problem.frequencies.joint
    if joint is None:
        cells = np.arange(len(problem.frequencies), dtype=np.int32)
        return Pieces(cells, None, problem.frequencies.counts)
    histogram = joint.histogram
    return Pieces(histogram.owners().astype(np.int32), histogram.codes, histogram.counts)


def attributes_of(problem: Problem) -> tuple[QuasiColumn, ...]:
    """Return every attribute of a bucket search: those that are not sensitive, then the sensitive ones."""
    return (*problem.columns, *problem.sensitive)


def codes_of(problem: Problem, pieces: Pieces, name: str) -> Codes:
    """Return the code of an attribute for every piece."""
    if name in problem.frequencies.names:
        codes: Codes = problem.frequencies.vectors[pieces.cells, problem.frequencies.names.index(name)]
        return codes
    joint = problem.frequencies.joint
    assert joint is not None  # noqa: S101  (a sensitive attribute is always counted)
    assert pieces.joint is not None  # noqa: S101
    of_joint: Codes = joint.codes[(name,)][pieces.joint]
    return of_joint
