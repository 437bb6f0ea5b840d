"""Samarati's binary search (2001): a node of the smallest height that satisfies the model."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.frequencies.lattice import Node
from indistinct.parameters import Parameter
from indistinct.recoding.kinds import Recoding


@dataclass(frozen=True, slots=True)
class Samarati(Algorithm):
    """Binary search over the heights of the lattice.

    Among the satisfying nodes of the smallest height: fewest suppressed rows, then highest precision, then the
    lexicographically smallest vector of levels. With `first` the first one found is taken.

    Guarantees: no node of smaller height satisfies the model.

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
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.Samarati(), hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "samarati"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "The lowest levels that are enough", "Finds the lowest levels that are enough."
    )
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(
        hierarchies=True, monotone=True, suppresses=True, release_wide=True, whole_domain=True, one_level=True
    )
    first: Annotated[
        bool,
        Parameter(
            "Stop at the first node", "Take the first satisfying node of the lowest height instead of the best; faster."
        ),
    ] = False

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the chosen node."""
        self.require_whole(problem)
        space = FullDomain(problem)
        space.require_roots()
        space.require_size()
        low, high, best = 0, sum(space.lattice.heights), None
        while low < high:
            middle = (low + high) // 2
            node = self._choose(space, middle)
            if node is not None:
                best, high = node, middle
            else:
                low = middle + 1
        # The last height may never have been checked, for example the top.
        if best is None or sum(best) != low:
            best = self._choose(space, low)
        if best is None:
            raise space.infeasible()
        return space.recoding(best)

    def _choose(self, space: FullDomain, height: int) -> Node | None:
        """Return the preferred satisfying node of a height."""
        candidates: list[tuple[int, Fraction, Node]] = []
        nodes = np.argwhere(space.lattice.node_heights() == height).tolist()
        for index, node in enumerate(map(tuple, nodes)):
            space.problem.progress(index / len(nodes))
            rolled = space.roll_up(space.cells.base, node)
            if space.check(rolled):
                if self.first:
                    return node
                candidates.append((space.suppressed_rows(rolled), -space.precision(node), node))
        return min(candidates)[2] if candidates else None
