"""Bottom-up breadth-first search (LeFevre, DeWitt, Ramakrishnan 2005): every satisfying node of the lattice."""

from dataclasses import dataclass
from typing import ClassVar

from indistinct.algorithms.base import Problem
from indistinct.algorithms.full_domain.breadth_first import SETS_LIMIT, AllNodes, BreadthFirst, Marking, check_marking
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.frequencies.lattice import Node
from indistinct.machine.arguments import with_checked_arguments


@dataclass(frozen=True, slots=True)
class BottomUp(AllNodes):
    """Breadth-first search from the raw node upward.

    Without `rollup` every check counts the base cells again. The recoding is that of the lowest satisfying node;
    `satisfying` returns them all.
    """

    name: ClassVar[str] = "bottom-up"
    rollup: bool = True
    marking: Marking = "direct"

    def __post_init__(self) -> None:
        check_marking(self.marking, owner="BottomUp")

    @with_checked_arguments
    def satisfying(self, problem: Problem) -> set[Node]:
        """Return every node of the lattice that satisfies the model."""
        self.require(problem)
        problem.model.check(problem.whole())
        space = FullDomain(problem)
        space.require_size(limit=SETS_LIMIT)
        problem.counters["scans"] = 0
        search = BreadthFirst(space, self.marking, space.scan, rollup=self.rollup, report=problem.progress)
        return search.search({tuple(node) for node in space.lattice.nodes().tolist()})
