"""TopDown: specialize the whole table step by step as long as the model allows it (Wong, Li, Fu, Wang 2006).

A part is split into the children of its node in one column. Children that break the model fall back into the
remainder, and if the remainder breaks it, other children give rows or are dissolved until it does not.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.cluster import _top_down_kernels as _kernels
from indistinct.algorithms.cluster.top_down_parts import Children, ClusterParts, from_the_front, specialize
from indistinct.algorithms.cluster.top_down_remainder import Leaving
from indistinct.algorithms.cluster.tree_space import ClusterSpace, recoding_of
from indistinct.frequencies.pieces import Pieces
from indistinct.machine.arrays import Codes
from indistinct.parameters import Parameter
from indistinct.recoding.kinds import Recoding


@dataclass(frozen=True, slots=True)
class TopDown(Algorithm):
    """Specialize parts by the column that keeps most rows in its children, then by the one with fewest children.

    Rows that cannot be specialized stay behind as a class of their own; with `respecialize_remainder` other columns
    are tried on them. For (α,k)-anonymity rows move to the remainder by the rarest protected value.

    Guarantees: every class satisfies the model and no row is suppressed.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44], "disease": ["flu", "cold", "flu", "cold", "flu", "cold"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> ages = {"age": ind.Hierarchy.intervals([10, 20])}
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.TopDown(), hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "top-down"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Groups along hierarchies", "Parts the table along hierarchies as long as it can."
    )
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(
        local=True, hierarchies=True, monotone=True, splits=True, reusable=False, tight=True
    )
    respecialize_remainder: Annotated[
        bool,
        Parameter(
            "Respecialize the remainder",
            "Try other columns on the rows that a split leaves over; slower, may lose less.",
        ),
    ] = False

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the most specialized parts."""
        space = ClusterSpace(problem)
        self.require(problem)
        problem.model.check(problem.whole())
        if problem.model.traits.sizes_only:
            found = specialize_by_size(space, k=problem.model.smallest, again=self.respecialize_remainder)
        else:
            found = specialize_by_model(space, again=self.respecialize_remainder)
        problem.progress(0.7)
        return recoding_of(space, found.pieces, by_row=True)


def specialize_by_size(space: ClusterSpace, *, k: int, again: bool = False) -> ClusterParts:
    """Return the most specialized parts of at least `k` rows, as arithmetic on counts."""

    def leave(parts: ClusterParts, children: Children) -> Codes:
        rows = np.zeros(len(children.values), dtype=np.int64)
        _kernels.unspecialize(children.bounds, children.values, children.sizes, k, rows)
        return from_the_front(parts.pieces.counts, children.groups, rows)

    cells = np.arange(len(space.cells), dtype=np.int32)
    whole = Pieces(cells, None, space.problem.frequencies.counts, np.zeros_like(cells))
    return specialize(space, whole, leave, least=k, again=again)


def specialize_by_model(space: ClusterSpace, *, again: bool = False) -> ClusterParts:
    """Return the most specialized parts that satisfy the problem's model, rows moving by their sensitive values."""
    model, whole = space.problem.model, Pieces.of(space.problem.frequencies)
    return specialize(space, whole, Leaving(space, model), least=model.smallest, again=again)
