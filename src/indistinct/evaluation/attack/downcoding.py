"""Downcoding (Cohen 2022): finer values than published, from a release alone that generalizes no more than it must.

A release of the least possible loss reveals more than its labels say:

- A range that is as tight as its class is attained: some row has its lowest value, some row its highest. A set of
  values lists only values that occur.
- A node that is the closest common ancestor of its class has rows below at least two children; if it has only two,
  below each of them.
- A full-domain node is minimal if no column could be one level finer. So for every generalized column there is a class
  that this level would split. If only one class can be that one, its node has rows below two children.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.algorithms.base import AlgorithmTraits
from indistinct.evaluation.attack.base import Attack, Outcome, Target
from indistinct.evaluation.attack.finer import Claims, ShownClasses, judge, shown_classes, stays_whole
from indistinct.frequencies.structure import Units
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.machine.arrays import Codes, run_entries
from indistinct.view.meanings import Members, Node, Span, has_ends_between_values

PAIR = 2  # children of a node that must both be there if at least two are


@dataclass(frozen=True, slots=True)
class Downcoding(Attack):
    """Name finer values than a release publishes, where its being minimal makes them certain.

    What is recovered is a *cell* (a row's value in one column): the release publishes several values, and the attack
    names a strictly finer value or node that is right. Inside a class the row is not named.
    """

    name: ClassVar[str] = "downcoding"
    needs: ClassVar[tuple[str, ...]] = ("original",)
    form: ClassVar[Units | None] = "classes"

    def run(self, target: Target) -> Outcome:
        """Return how many generalized cells come back finer than they were published."""
        classes = shown_classes(target)
        claims = claims_of(classes, traits=None if target.algorithm is None else target.algorithm.traits)
        judged = judge(classes, claims, whole=stays_whole(target), progress=target.progress)
        return judged.outcome(
            self.name,
            why="what is published is as tight as the rows of a class, so its ends, its members or both children of "
            "its node occur there",
            defence="regions instead of ranges (mondrian:extent=region), or one level for a whole column, drawn among "
            "nearly optimal ones (optimal:choice=0.05)",
        )


def claims_of(classes: ShownClasses, *, traits: AlgorithmTraits | None) -> list[Claims]:
    """Return the claims for each column, by the declared traits of the algorithm; None infers them."""
    claims = []
    for j in range(len(classes.columns)):
        if looks_tight(classes, j) if traits is None else traits.tight:
            claims.append(_of_tight(classes, j))
        else:
            minimal = traits is None or not (traits.local or traits.draws)
            claims.append(_of_full_domain(classes, j) if minimal else Claims.none(j))
    return claims


def looks_tight(classes: ShownClasses, j: int) -> bool:
    """Return whether a column looks tight: its ranges all have ends that are values, or its nodes differ in level."""
    if any(map(has_ends_between_values, classes.classes.meanings[j])):
        return False
    return not any(classes.nodes(j)) or _level(classes, j) is None


def _level(classes: ShownClasses, j: int) -> int | None:
    """Return the one level on which a column is published, None if there is none."""
    levels = {None if node is None else node.level for node in classes.nodes(j)}
    return levels.pop() if len(levels) == 1 else None


def _of_tight(classes: ShownClasses, j: int) -> Claims:
    """Return the ends of ranges, the members of sets, and the children of nodes that have two."""
    column, named = classes.columns[j], []
    for value, meaning in enumerate(classes.classes.meanings[j]):
        match meaning:
            case Span(low, high, absent, ends):
                codes = sorted({low, high} if low <= high and ends is None else set())
                named += [(value, 0, code) for code in ([0, *codes] if absent else codes)]
            case Members(members):
                named += [(value, 0, code) for code in members]
            case Node(level, node) if level:
                assert column.taxonomy is not None  # noqa: S101  (nodes come from one)
                finer, children = split_of(column.taxonomy, level, node)
                named += [(value, finer, child) for child in children.tolist()] if len(children) == PAIR else []
    return _claim_rows(classes, j, named)


def split_of(taxonomy: Taxonomy, level: int, node: int) -> tuple[int, Codes]:
    """Return the first level below a node on which it has several nodes, and these; else level 0 and one code."""
    below = taxonomy.ancestors[taxonomy.ancestors[:, level] == node]
    for finer in range(level - 1, -1, -1):
        children = np.unique(below[:, finer])
        if len(children) > 1:
            return finer, children
    return 0, np.unique(below[:, 0])


def _claim_rows(shown_classes: ShownClasses, j: int, named: list[tuple[int, int, int]]) -> Claims:
    """Return claims of one row for every class that shows a value, given as value, level and part."""
    if not named:
        return Claims.none(j)
    values, levels, parts = (np.array(part, dtype=np.int64) for part in zip(*named, strict=True))
    order, wide = np.argsort(values, kind="stable"), shown_classes.coarse(j)
    values, levels, parts = values[order], levels[order], parts[order]
    shows, numbers = (
        shown_classes.classes.values[:, j],
        np.bincount(values, minlength=len(shown_classes.classes.meanings[j])),
    )
    classes = np.flatnonzero(wide & (numbers[shows] > 0))
    first = np.searchsorted(values, shows[classes])
    count = numbers[shows[classes]]
    positions = run_entries(first, count)
    owners = np.repeat(classes, count)
    sizes = np.where(levels[positions] > 0, PAIR, shown_classes.covers[j].lengths[shows[owners]])
    return Claims(j, owners, levels[positions], parts[positions], np.ones(len(owners), dtype=np.int64), 1 / sizes)


def _of_full_domain(classes: ShownClasses, j: int) -> Claims:
    """Return the children of the only class that a finer level of the column can split."""
    taxonomy, level = classes.columns[j].taxonomy, _level(classes, j)
    if not level or taxonomy is None:
        return Claims.none(j)
    below = [
        np.unique(taxonomy.ancestors[taxonomy.ancestors[:, level] == node.node, level - 1])
        for node in classes.nodes(j)
        if node is not None
    ]
    numbers = np.array([len(children) for children in below])[classes.classes.values[:, j]]
    splits = np.flatnonzero((numbers > 1) & (classes.classes.sizes > 1))
    if len(splits) != 1 or numbers[splits[0]] != PAIR:
        return Claims.none(j)
    children = below[int(classes.classes.values[splits[0], j])]
    ones = np.ones(PAIR, dtype=np.int64)
    return Claims(j, np.repeat(splits, PAIR), ones * (level - 1), children, ones, ones / PAIR)
