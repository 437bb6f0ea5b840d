"""Incognito (LeFevre, DeWitt, Ramakrishnan 2005): all satisfying nodes, by subsets of the columns.

A node over some columns can satisfy the model only if its restriction to fewer columns does. So the search covers
single columns, then pairs, and so on; candidates over i + 1 columns are joined from survivors over i columns and
pruned.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar, Literal

from indistinct.algorithms.base import AlgorithmWords, Problem
from indistinct.algorithms.full_domain.breadth_first import (
    SETS_LIMIT,
    AllNodes,
    BreadthFirst,
    Marking,
    RootSource,
    columns_of,
    minimal,
)
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.parameters import MARKING
from indistinct.frequencies.lattice import OUT, Node, RolledUp
from indistinct.machine.arguments import with_checked_arguments
from indistinct.parameters import Parameter

Variant = Literal["basic", "super-roots", "cube"]
Columns = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Incognito(AllNodes):
    """Full-domain generalization: find all nodes that satisfy the model, pruning by subsets of the columns.

    The variants find the same nodes with the same checks; they differ in how often the base cells are scanned: `basic`
    once for each root of each round, `super-roots` once for each set of columns, `cube` once in all.

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
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.Incognito(), hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "incognito"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Every choice of levels that is enough",
        "Finds every choice of levels that is enough, and takes the lowest of them.",
    )
    variant: Annotated[
        Variant,
        Parameter("Variant", "basic, super-roots or cube: how nodes are counted. All three find the same nodes."),
    ] = "super-roots"
    marking: Annotated[Marking, MARKING] = "direct"

    @with_checked_arguments
    def satisfying(self, problem: Problem) -> set[Node]:
        """Return every node of the lattice that satisfies the model."""
        return self.rounds(problem)[-1]

    @with_checked_arguments
    def minimal(self, problem: Problem) -> set[Node]:
        """Return the satisfying nodes that have no satisfying specialization."""
        return minimal(self.satisfying(problem))

    @with_checked_arguments
    def rounds(self, problem: Problem) -> list[set[Node]]:
        """Return the survivors of each round, over one column, two columns, and so on."""
        self.require_whole(problem)
        space = FullDomain(problem)
        space.require_size(limit=SETS_LIMIT)
        problem.counters["scans"] = 0
        width = len(space.columns)
        cube = _cube(space) if self.variant == "cube" else {}
        candidates = {
            _node(width, {column: level}) for column in range(width) for level in range(space.lattice.shape[column])
        }
        survivors: list[set[Node]] = []
        for size in range(1, width + 1):
            before, done = problem.counters["checks"], size - 1

            def report(share: float, done: int = done) -> None:
                problem.progress((done + share) / width)

            search = BreadthFirst(space, self.marking, self._roots(space, candidates, cube), report=report)
            survivors.append(search.search(candidates))
            problem.counters[f"checks over {size} columns"] = problem.counters["checks"] - before
            problem.progress(size / width)
            if size < width:
                candidates = prune_candidates(join_survivors(survivors[-1], size), survivors[-1])
        return survivors

    def _roots(self, space: FullDomain, candidates: set[Node], cube: dict[Columns, RolledUp]) -> RootSource:
        """Return the function that gives the frequency set of a node without a failed specialization."""
        if self.variant == "cube":
            return lambda node: _from(space, cube[columns_of(node)], node)
        if self.variant == "basic":
            return space.scan
        supers: dict[Columns, RolledUp] = {}
        lowest = _lowest(candidates)

        def from_super_root(node: Node) -> RolledUp:
            columns = columns_of(node)
            if columns not in supers:
                supers[columns] = space.scan(lowest[columns])
            return _from(space, supers[columns], node)

        return from_super_root


def _node(width: int, levels: dict[int, int]) -> Node:
    """Return a node over all columns; those without a level are out."""
    return tuple(levels.get(index, OUT) for index in range(width))


def _from(space: FullDomain, finer: RolledUp, node: Node) -> RolledUp:
    """Roll a finer node up to another one, unless it is that node."""
    return finer if finer.levels == node else space.roll_up(finer, node)


def _lowest(candidates: set[Node]) -> dict[Columns, Node]:
    """Return for each set of columns the component-wise minimum of its candidates, which is that of their roots."""
    lowest: dict[Columns, Node] = {}
    for node in candidates:
        columns = columns_of(node)
        lowest[columns] = tuple(map(min, lowest.get(columns, node), node))
    return lowest


def _cube(space: FullDomain) -> dict[Columns, RolledUp]:
    """Return the raw frequency set of every subset of columns, each from its smallest superset with one more."""
    width = len(space.columns)
    every = tuple(range(width))
    space.problem.counters["scans"] += 1
    cube = {every: space.cells.base}
    for size in range(width - 1, 0, -1):
        for columns in combinations(every, size):
            supersets = [tuple(sorted((*columns, other))) for other in every if other not in columns]
            smallest = min((cube[superset] for superset in supersets), key=len)
            cube[columns] = space.roll_up(smallest, _node(width, dict.fromkeys(columns, 0)))
    return cube


def join_survivors(survivors: set[Node], size: int) -> set[Node]:
    """Join survivors that agree in all but their last column."""
    by_prefix: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
    for node in survivors:
        pairs = [(index, level) for index, level in enumerate(node) if level != OUT]
        by_prefix.setdefault(tuple(pairs[:-1]), []).append(pairs[-1])
    width = len(next(iter(survivors))) if survivors else 0
    return {
        _node(width, dict((*prefix, one, other)))
        for prefix, lasts in by_prefix.items()
        for one in lasts
        for other in lasts
        if one[0] < other[0]
    }


def prune_candidates(joined: set[Node], survivors: set[Node]) -> set[Node]:
    """Keep the candidates whose restrictions with one column less all survived."""
    return {
        node
        for node in joined
        if all((*node[:j], OUT, *node[j + 1 :]) in survivors for j, level in enumerate(node) if level != OUT)
    }
