"""Value suppression (Fung et al. 2010).

Each value is published either unmodified everywhere or as the root everywhere.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.subtrees import SubtreeCut
from indistinct.machine.arrays import Codes
from indistinct.recoding.kinds import Recoding

Value = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ValueSuppression(Algorithm):
    """Suppress single values of columns, greedily, until the model holds within the suppression budget.

    The next value is the one with the largest share of rows in classes that break the model; equals go by fewer rows,
    then by column and value. At the end every value whose suppression is no longer needed is restored, most rows first.

    Each value takes one pass over all cells: time grows with the number of suppressed values times that of cells, and
    with the square of the rows where nearly every row has values of its own.

    A score that looks only one step ahead would fail: the first suppressed value of a column merges no classes.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"town": ["Oslo", "Oslo", "Oslo", "Moss", "Hamar", "Voss"], "disease": ["flu", "cold"] * 3})
    >>> schema = ind.Schema(quasi=["town"], sensitive=["disease"])
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.ValueSuppression())
    >>> release.classes().to_pylist()
    [{'town': '*', 'rows': 3}, {'town': 'Oslo', 'rows': 3}]
    """

    name: ClassVar[str] = "value-suppression"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Rare values hidden", "Suppresses single rare values, and leaves all others unmodified."
    )
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(
        hierarchies=True, suppresses=True, release_wide=True, whole_domain=True
    )

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding by column in which some values are published as the root."""
        problem.require_possible()
        space = FullDomain(problem)
        space.require_roots()
        cut = SubtreeCut(space, tuple(np.zeros(len(c.domain), dtype=np.int32) for c in space.columns))
        rows: list[Codes] = [
            np.bincount(problem.frequencies.vectors[:, j], problem.frequencies.counts, len(c.domain))
            for j, c in enumerate(space.columns)
        ]
        suppressed: list[Value] = []
        while not _satisfies(cut):
            value = _next_value(cut, rows)
            if value is None:
                raise space.went_too_far(self.name)
            suppressed.append(value)
            cut = _with_level(cut, value, level=space.lattice.heights[value[0]])
            problem.progress(0.5 * len(suppressed) / sum(len(c.domain) for c in space.columns))
        for index, value in enumerate(sorted(suppressed, key=lambda value: (-rows[value[0]][value[1]], value))):
            problem.progress(0.5 + 0.5 * index / len(suppressed))
            restored = _with_level(cut, value, level=0)
            if _satisfies(restored):
                cut = restored
        return cut.recoding()


def _satisfies(cut: SubtreeCut) -> bool:
    """Return whether the model holds with suppression within the limit, and some row is left."""
    problem = cut.space.problem
    problem.counters["checks"] += 1
    return cut.suppressed_rows <= min(problem.suppression, problem.frequencies.members - 1)


def _next_value(cut: SubtreeCut, rows: list[Codes]) -> Value | None:
    """Return the value with the largest share of rows in classes that break the model, None if all are suppressed."""
    frequencies = cut.space.problem.frequencies
    outside = np.where(cut.broken[cut.class_ids], frequencies.counts, 0)
    candidates: list[tuple[float, float, Value]] = []
    for j, height in enumerate(cut.space.lattice.heights):
        there = np.bincount(frequencies.vectors[:, j], outside, len(rows[j]))
        if (cut.levels[j] >= height).all():
            continue
        share = np.where(cut.levels[j] < height, there / np.maximum(rows[j], 1), -1.0)
        code = int(np.lexsort((rows[j], -share))[0])
        candidates.append((-float(share[code]) / cut.space.weights[j], float(rows[j][code]), (j, code)))
    return min(candidates)[2] if candidates else None


def _with_level(cut: SubtreeCut, value: Value, *, level: int) -> SubtreeCut:
    """Return the cut with a value at another level."""
    column, code = value
    levels = cut.levels[column].copy()
    levels[code] = level
    return SubtreeCut(cut.space, (*cut.levels[:column], levels, *cut.levels[column + 1 :]))
