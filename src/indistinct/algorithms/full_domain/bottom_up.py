"""Bottom-up breadth-first search (LeFevre, DeWitt, Ramakrishnan 2005): every satisfying node of the lattice."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from indistinct.algorithms.base import AlgorithmWords, Problem
from indistinct.algorithms.full_domain.breadth_first import SETS_LIMIT, AllNodes, BreadthFirst, Marking
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.parameters import MARKING
from indistinct.frequencies.lattice import Node
from indistinct.machine.arguments import with_checked_arguments
from indistinct.parameters import Parameter


@dataclass(frozen=True, slots=True)
class BottomUp(AllNodes):
    """Breadth-first search from the raw node upward.

    Without `rollup` every check counts the base cells again. The recoding is that of the lowest satisfying node;
    `satisfying` returns them all.

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
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.BottomUp(), hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "bottom-up"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Levels from the finest on", "Goes through levels from the finest to the coarsest."
    )
    rollup: Annotated[
        bool,
        Parameter(
            "Roll up counts", "Count a node from a finer one instead of the table; faster, with the same result."
        ),
    ] = True
    marking: Annotated[Marking, MARKING] = "direct"

    @with_checked_arguments
    def satisfying(self, problem: Problem) -> set[Node]:
        """Return every node of the lattice that satisfies the model."""
        self.require_whole(problem)
        space = FullDomain(problem)
        space.require_size(limit=SETS_LIMIT)
        problem.counters["scans"] = 0
        search = BreadthFirst(space, self.marking, space.scan, rollup=self.rollup, report=problem.progress)
        return search.search({tuple(node) for node in space.lattice.nodes().tolist()})
