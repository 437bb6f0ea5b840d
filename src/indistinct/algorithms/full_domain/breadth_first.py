"""The breadth-first search that bottom-up and Incognito share (LeFevre, DeWitt, Ramakrishnan 2005).

Candidates are nodes over some or all columns, written as vectors with `OUT` for an absent column. A family is the set
of candidates over the same columns; inside a family the candidates are upward closed.
"""

import heapq
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, Problem, Progress
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.frequencies.lattice import OUT, Node, RolledUp, specializations
from indistinct.recoding.kinds import Recoding

Marking = Literal["direct", "transitive"]
# Nodes are kept in sets here; with more of them the search would take hours.
SETS_LIMIT = 2_000_000
RootSource = Callable[[Node], RolledUp]


@dataclass(eq=False)
class BreadthFirst:
    """One search: nodes are checked by height, and the generalizations of a failed node are rolled up from it.

    With `direct` marking, as in the paper, a satisfying node marks its direct generalizations and a marked node marks
    none; with `transitive` marking all generalizations are marked. Both find the same nodes.
    """

    space: FullDomain
    marking: Marking
    root: RootSource
    rollup: bool = True
    report: Progress = lambda _share: None
    kept: dict[Node, RolledUp] = field(default_factory=dict)

    def search(self, candidates: set[Node]) -> set[Node]:
        """Return the candidates that satisfy the model."""
        roots = [node for node in candidates if not any(below in candidates for below in specializations(node))]
        queue = [(self.height(node), self.order(node), node) for node in roots]
        heapq.heapify(queue)
        seen, marked, failed, at, taken = set(roots), set[Node](), set[Node](), 0, 0
        transitive = self.marking == "transitive"
        while queue:
            height, _, node = heapq.heappop(queue)
            taken += 1
            self.report(taken / len(candidates))
            if height > at:  # no later node is rolled up from one more than a step below
                self.kept = {one: rolled for one, rolled in self.kept.items() if self.height(one) == height - 1}
                at = height
            above = [upper for upper in self.space.lattice.above(node) if upper in candidates]
            if node in marked:
                marked.update(above if transitive else ())
            elif self.space.check(rolled := self._frequency_set(node)):
                marked.update(above)
            else:
                failed.add(node)
                self.kept[node] = rolled
            for upper in above if transitive or node in failed else ():
                if upper not in seen:
                    seen.add(upper)
                    heapq.heappush(queue, (self.height(upper), self.order(upper), upper))
        self.kept.clear()
        return candidates - failed

    def _frequency_set(self, node: Node) -> RolledUp:
        """Return a node's classes, rolled up from its smallest failed direct specialization, or from a root."""
        finer = [self.kept[below] for below in specializations(node) if below in self.kept]
        return self.space.roll_up(min(finer, key=len), node) if finer and self.rollup else self.root(node)

    @staticmethod
    def height(node: Node) -> int:
        """Return the sum of a candidate's levels."""
        return sum(level for level in node if level != OUT)

    @staticmethod
    def order(node: Node) -> Node:
        """Return the sort key among candidates of one height: their columns, then their levels."""
        return (*columns_of(node), *(level for level in node if level != OUT))


def columns_of(node: Node) -> tuple[int, ...]:
    """Return the columns of a candidate."""
    return tuple(index for index, level in enumerate(node) if level != OUT)


def minimal(nodes: set[Node]) -> set[Node]:
    """Return the nodes of an upward closed set that have no specialization in it."""
    return {node for node in nodes if not any(below in nodes for below in specializations(node))}


class AllNodes(Algorithm):
    """Find every satisfying node and publish the lowest; ties: most precise, then lexicographically first."""

    __slots__ = ()
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(
        hierarchies=True, monotone=True, suppresses=True, release_wide=True, whole_domain=True, one_level=True
    )

    @abstractmethod
    def satisfying(self, problem: Problem) -> set[Node]:
        """Return every node of the lattice that satisfies the model."""

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the preferred satisfying node."""
        nodes, space = self.satisfying(problem), FullDomain(problem)
        if not nodes:
            raise space.infeasible()
        lowest = min(map(sum, nodes))
        low = (node for node in nodes if sum(node) == lowest)
        return space.recoding(min(low, key=lambda node: (-space.precision(node), node)))
