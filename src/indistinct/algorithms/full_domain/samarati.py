"""Samarati's binary search (2001): a node of the smallest height that satisfies the model."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, Problem
from indistinct.algorithms.full_domain.nodes import FullDomain, precision_of
from indistinct.frequencies.lattice import Node
from indistinct.recoding.kinds import Recoding


@dataclass(frozen=True, slots=True)
class Samarati(Algorithm):
    """Binary search over the heights of the lattice.

    Among the satisfying nodes of the smallest height: fewest suppressed rows, then highest precision, then the
    lexicographically smallest vector of levels. With `first` the first one found is taken.

    Guarantees: no node of smaller height satisfies the model.
    """

    name: ClassVar[str] = "samarati"
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(hierarchies=True, monotone=True, suppresses=True)
    first: bool = False

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the chosen node."""
        self.require(problem)
        problem.model.check(problem.whole())
        space = FullDomain(problem)
        space.require_roots()
        space.require_size()
        layers = _Layers(space)
        low, high, best = 0, sum(space.lattice.heights), None
        while low < high:
            middle = (low + high) // 2
            found = self._choose(space, layers.nodes(middle))
            if found is not None:
                best, high = found, middle
            else:
                low = middle + 1
        # The last height may never have been looked at, for example the top.
        if best is None or sum(best) != low:
            best = self._choose(space, layers.nodes(low))
        if best is None:
            raise space.infeasible()
        return space.recoding(best)

    def _choose(self, space: FullDomain, nodes: list[Node]) -> Node | None:
        """Return the preferred satisfying node of a layer."""
        found: list[tuple[int, Fraction, Node]] = []
        for node in nodes:
            space.problem.counters["rollups"] += 1
            rolled = space.cells.roll_up(space.cells.base, node)
            if space.check(rolled):
                if self.first:
                    return node
                precision = precision_of(node, space.lattice.heights)
                found.append((space.suppressed_rows(rolled), -precision, node))
        return min(found)[2] if found else None


class _Layers:
    """The nodes of each height, in lexicographic order."""

    def __init__(self, space: FullDomain) -> None:
        self.all = space.lattice.nodes()
        self.heights = self.all.sum(axis=1)

    def nodes(self, height: int) -> list[Node]:
        return [tuple(node) for node in self.all[np.flatnonzero(self.heights == height)].tolist()]
