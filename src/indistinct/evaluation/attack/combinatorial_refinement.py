"""Combinatorial refinement (Chhillar et al. 2025): values of a local recoding narrowed by the order of its search.

A local recoding by states (levels of all columns) goes from fine ones to coarse ones: at each state, cells of at least
k of the remaining rows are published and taken out. So the rows of a class that was published at a coarse state

- were fewer than k in every cell of every finer state, for else they had been published there; and
- lie in no cell that was published at a finer state, for such a cell took all its rows.

With the size of the class these are linear constraints on the number of its rows below each node. Only states that are
finer in every column are taken for earlier ones; that holds for every order by a loss that grows with the levels.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.evaluation.attack.base import Attack, Outcome, Progress, Target
from indistinct.evaluation.attack.finer import Claims, ShownClasses, judge, shown_classes
from indistinct.frequencies.structure import Units
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.machine.arrays import Codes
from indistinct.parameters import Parameter, Whole
from indistinct.view.meanings import Node


@dataclass(frozen=True, slots=True)
class CombinatorialRefinement(Attack):
    """Name nodes below which a class must have rows, because the search would have stopped earlier otherwise.

    `k` is the size from which a cell was published; without it the model tells it, or else the smallest class bounds
    it. The bounds of each class and column follow from its own constraints; constraints that bind several columns or
    several classes beyond the cells that are taken out are not used.
    """

    name: ClassVar[str] = "combinatorial-refinement"
    needs: ClassVar[tuple[str, ...]] = ("original",)
    form: ClassVar[Units | None] = "classes"
    k: Annotated[int | None, Parameter("Known k", "The k of the release, where the attacker knows it.", Whole())] = None

    def refusal(self, target: Target) -> str | None:
        """Return why the attack does not apply: it reads nodes of a local recoding."""
        missing = Attack.refusal(self, target)
        if missing is not None:
            return missing
        if target.algorithm is not None and not target.algorithm.traits.local:
            return f"{target.algorithm.name} publishes a value alike everywhere, and the attack compares several levels"
        if not target.hierarchies:
            return "it needs the hierarchies of the published labels"
        return None

    def run(self, target: Target) -> Outcome:
        """Return how many generalized cells come back finer than they were published."""
        classes = shown_classes(target)
        k = self.k or (target.model.smallest if target.model is not None else int(classes.classes.sizes.min(initial=1)))
        claims, impossible = refine_classes(classes, k=k, progress=target.progress)
        judged = judge(classes, claims, whole=True, progress=target.progress)
        outcome = judged.outcome(
            self.name,
            why=f"fewer than {k} rows may be left in each finer cell, or they would have been published there",
            defence="one level for a whole column (optimal), or regions of cuts (mondrian:extent=region)",
        )
        return Outcome(
            outcome.attack,
            outcome.tally,
            outcome.baseline,
            outcome.sentence,
            defence=outcome.defence,
            details={**outcome.details, "k": k, "contradictions": impossible},
        )


def refine_classes(classes: ShownClasses, *, k: int, progress: Progress | None = None) -> tuple[list[Claims], int]:
    """Return the claims for each column, and the number of classes and columns with contradictory constraints.

    Such a contradiction shows that the release was made in another way; nothing is claimed there.
    """
    claims, impossible = [], 0
    for j, column in enumerate(classes.columns):
        named: list[tuple[int, int, int, int, float]] = []
        known: dict[tuple[Node, frozenset[Node]], list[tuple[int, int]]] = {}
        for class_id, node, taken in [] if column.taxonomy is None else _earlier(classes, j):
            assert column.taxonomy is not None  # noqa: S101
            if (node, taken) not in known:
                known[node, taken] = parts_left(column.taxonomy, node, taken)
            parts, size = known[node, taken], int(classes.classes.sizes[class_id])
            least = size - (k - 1) * (len(parts) - 1)
            if len(parts) < 2 or least > k - 1:
                impossible += 1
            elif least > 0:
                named += [(class_id, level, part, least, 1 / len(parts)) for level, part in parts]
        claims.append(_as_claims(j, named))
        if progress is not None:
            progress((j + 1) / len(classes.columns))
    return claims, impossible


def _earlier(classes: ShownClasses, j: int) -> Iterator[tuple[int, Node, frozenset[Node]]]:
    """Yield each generalized class with its node, and the finer nodes of classes equal in all other columns."""
    values, alike = classes.classes.values, defaultdict(list)
    others = list(map(tuple, np.delete(values, j, axis=1).tolist()))
    known = classes.nodes(j)
    nodes = [known[value] for value in values[:, j].tolist()]
    for other, node in zip(others, nodes, strict=True):
        if node is not None:
            alike[other].append(node)
    for class_id in np.flatnonzero(classes.coarse(j)).tolist():
        node = nodes[class_id]
        if node is not None:
            yield class_id, node, frozenset(each for each in alike[others[class_id]] if each.level < node.level)


def parts_left(taxonomy: Taxonomy, node: Node, taken: Iterable[Node]) -> list[tuple[int, int]]:
    """Return the parts of a node that finer cells left over, each as the level and the number of its finest node.

    `taken` are nodes whose cells were published on their own, and left no row behind.
    """
    left = taxonomy.ancestors[:, node.level] == node.node
    for other in taken:
        left &= taxonomy.ancestors[:, other.level] != other.node
    below = taxonomy.ancestors[left]
    finer = next((step for step in range(node.level - 1, 0, -1) if len(np.unique(below[:, step])) > 1), 0)
    return [_finest(below, finer, part) for part in np.unique(below[:, finer]).tolist()]


def _finest(below: Codes, level: int, part: int) -> tuple[int, int]:
    """Return the finest level on which all that is left of a part is one node, and that node."""
    inside = below[below[:, level] == part]
    finest = next(step for step in range(level + 1) if len(np.unique(inside[:, step])) == 1)
    return finest, int(inside[0, finest])


def _as_claims(j: int, named: list[tuple[int, int, int, int, float]]) -> Claims:
    """Convert named parts of classes to claims on a column."""
    if not named:
        return Claims.none(j)
    *whole, chance = zip(*named, strict=True)
    classes, levels, parts, rows = (np.array(part, dtype=np.int64) for part in whole)
    return Claims(j, classes, levels, parts, rows, np.array(chance))
