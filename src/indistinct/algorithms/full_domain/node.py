"""A node of the lattice chosen by hand: nothing is searched, only the model is checked."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.figures import share_above
from indistinct.frequencies.lattice import Node
from indistinct.parameters import Parameter
from indistinct.recoding.kinds import Recoding


@dataclass(frozen=True, slots=True)
class ChosenNode(Algorithm):
    """The recoding of one node, chosen by hand.

    `levels` gives the level of each quasi-identifier, in the order of the schema; without them it is the top, where
    every column is generalized as far as it goes. Rows of classes that break the model are suppressed, within the
    suppression limit.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> ChosenNode((1, 0, 2)).levels
    (1, 0, 2)
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44], "disease": ["flu", "cold", "flu", "cold", "flu", "cold"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> ages = {"age": ind.Hierarchy.intervals([10, 20])}
    >>> node = ind.ChosenNode((1,))
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=node, hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "node"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Levels that you choose", "Takes the levels that you choose; the step explore shows them all."
    )
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(
        hierarchies=True, suppresses=True, release_wide=True, whole_domain=True
    )
    levels: Annotated[
        tuple[int, ...],
        Parameter("Levels", "Level of each quasi-identifier, in the order of the columns, such as 1|0|2."),
    ] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        if any(isinstance(level, bool) or not isinstance(level, int) or level < 0 for level in self.levels):
            raise ParameterError.of(
                "ChosenNode", "levels", "must be whole numbers from 0", hint="one for each quasi-identifier: 1, 0, 2"
            )

    @property
    def weighs_columns(self) -> bool:
        """Always False: the levels are chosen by hand."""
        return False

    def chosen_node(self, heights: tuple[int, ...]) -> tuple[int, ...]:
        """Return the levels that were chosen, by default the top."""
        return self.levels or heights

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the chosen node.

        Raise if there is no such node or it suppresses more than is allowed.
        """
        problem.require_possible()
        space = FullDomain(problem)
        node = self._node(space)
        rolled = space.roll_up(space.cells.base, node)
        broken = space.outside(rolled)
        problem.counters["checks"] += 1
        suppressed, members = rolled.classes.members_of(broken), problem.frequencies.members
        if suppressed > space.allowed:
            raise InfeasibleError(
                f"the node {spell_node(self.levels or node)} satisfies {problem.model.spec()} only if {suppressed:,} "
                f"of {members:,} {problem.unit} are suppressed; {space.allowed:,} may be",
                hint="see which nodes satisfy it with `indistinct explore`, or allow more suppression",
                feasible=Feasible(share=share_above(suppressed, members)),
                suppressed_rows=suppressed,
            )
        return space.recoding_without(rolled, np.flatnonzero(broken))

    def _node(self, space: FullDomain) -> Node:
        """Return the chosen node; raise if it is outside the lattice."""
        least = [space.problem.levels.least(column.name) for column in space.columns]
        node = tuple(level - a for level, a in zip(self.levels, least, strict=False)) or space.lattice.top
        if node not in space.lattice or len(self.levels) not in (0, len(least)):
            heights = ", ".join(f"{c.name} {a} to {a + c.height}" for c, a in zip(space.columns, least, strict=True))
            raise ParameterError(
                f"the node {spell_node(self.levels)} lies outside the lattice, whose levels are {heights}",
                hint="give one level for each quasi-identifier, in the order of the schema",
            )
        return node


def spell_node(node: Node) -> str:
    """Return a node as the command line writes it.

    >>> spell_node((1, 0, 2))
    '1,0,2'
    """
    return ",".join(map(str, node))
