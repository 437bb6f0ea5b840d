"""The slow, obvious reference of KACA: every pair of classes is compared, tuple by tuple.

Nodes are pairs of a level and a number, as the hierarchies have them; nothing is shared with the blocks, planes and
tables of the algorithm.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Problem
from indistinct.algorithms.cluster.tree_space import ClusterSpace
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.hierarchy import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.models import KAnonymity
from indistinct.models.registry import parse_model
from indistinct.recoding.columns import columns_of

Node = tuple[int, int]
Tuple = tuple[Node, ...]
Member = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Group:
    """A class on its way: its tuple, its members as (cell, rows), and the rank of its first vector."""

    nodes: Tuple
    members: tuple[Member, ...]
    first: int
    identity: int

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return sum(rows for _, rows in self.members)


@dataclass(frozen=True, slots=True, eq=False)
class PlainKACA:
    """KACA as it is written down (Li et al. 2006), for sizes alone."""

    ancestors: Sequence[Codes]
    costs: Sequence[Sequence[int]]
    k: int
    stub: bool

    def classes(self, vectors: Codes, counts: Codes) -> list[tuple[Member, ...]]:
        """Return the members of every class."""
        groups: dict[Tuple, Group] = {}
        for cell, (vector, rows) in enumerate(zip(vectors.tolist(), counts.tolist(), strict=True)):
            nodes = tuple((0, int(paths[code, 0])) for paths, code in zip(self.ancestors, vector, strict=True))
            groups[nodes] = Group(nodes, ((cell, rows),), cell, cell)
        queue = deque(group.identity for group in groups.values() if group.size < self.k)
        given = len(groups)
        while queue:
            waiting = queue.popleft()
            group = next((g for g in groups.values() if g.identity == waiting), None)
            if group is None or group.size >= self.k or len(groups) == 1:
                continue
            del groups[group.nodes]
            partner = self._nearest(group, list(groups.values()))
            union = self._united(groups, group, partner, given)
            given += union.identity == given
            if union.size < self.k:
                queue.append(union.identity)
        return [group.members for group in groups.values()]

    def _nearest(self, group: Group, others: Sequence[Group]) -> Group:
        return min(others, key=lambda other: self._order(group, other))

    def _rows(self, group: Group, other: Group) -> int:
        """Return how many rows of another class would join."""
        return self.k - group.size if self.stub and group.size + other.size >= 2 * self.k else other.size

    def _order(self, group: Group, other: Group) -> tuple[int, int, int, int]:
        common, rows = self._common(group.nodes, other.nodes), self._rows(group, other)
        cost = group.size * self._climb(group.nodes, common) + rows * self._climb(other.nodes, common)
        steps = (group.size + rows) * sum(level for level, _ in common)
        return cost, steps, other.first, other.identity

    def _united(self, groups: dict[Tuple, Group], group: Group, partner: Group, fresh: int) -> Group:
        common, rows = self._common(group.nodes, partner.nodes), self._rows(group, partner)
        joined = group.members
        if common != partner.nodes:
            taken, stay = _split(partner.members, rows)
            joined += taken
            del groups[partner.nodes]
            if stay:
                groups[partner.nodes] = replace(partner, members=stay)
        existing = groups.get(common, Group(common, (), partner.first, fresh))
        first = min(group.first, partner.first, existing.first)
        groups[common] = replace(existing, members=existing.members + joined, first=first)
        return groups[common]

    def _climb(self, low: Tuple, high: Tuple) -> int:
        return sum(
            cost[above] - cost[below] for cost, (below, _), (above, _) in zip(self.costs, low, high, strict=True)
        )

    def _common(self, one: Tuple, other: Tuple) -> Tuple:
        return tuple(_lca(paths, *pair) for paths, *pair in zip(self.ancestors, one, other, strict=True))


def plain_kaca(space: ClusterSpace, *, k: int, stub: bool) -> list[tuple[Member, ...]]:
    """Return the classes of KACA on a space as members (cell, rows)."""
    plain = PlainKACA([t.ancestors for t in space.taxonomies], [c.tolist() for c in space.cost], k, stub)
    return plain.classes(space.problem.frequencies.vectors, space.problem.frequencies.counts)


def random_problem(seed: int, *, k: int = 2, model: str | None = None, values: int = 4) -> Problem:
    """Return a small table with random hierarchies as a problem; the sensitive column `s` has so many values."""
    dice = np.random.default_rng(seed)
    width, rows = int(dice.integers(1, 5)), int(dice.integers(max(k, 2), 60))
    columns: dict[str, object] = {}
    hierarchies: dict[str, Hierarchy] = {}
    for place in range(width):
        name, size = f"q{place}", int(dice.integers(1, 9))
        columns[name] = [f"v{code}" for code in dice.integers(0, size, rows)]
        if dice.random() < 0.8:
            hierarchies[name] = random_hierarchy(dice, size)
    columns["s"] = [f"s{code}" for code in dice.integers(0, values, rows)]
    wanted = KAnonymity(k) if model is None else parse_model(model)
    request = Request(tuple(f"q{place}" for place in range(width)), wanted.keys, hierarchies, joint=True)
    counted = count_source(pa.table(columns), request)
    return Problem(counted.frequencies, columns_of(counted.domains, hierarchies), wanted)


def random_hierarchy(dice: np.random.Generator, size: int) -> Hierarchy:
    """Return a hierarchy over the values v0, v1, … with random groups on up to three levels, some of them padded."""
    paths = [[f"v{code}"] for code in range(size)]
    groups = [[code] for code in range(size)]
    for level in range(int(dice.integers(0, 4))):
        merged: list[list[int]] = []
        for group in groups:
            if merged and dice.random() < 0.5:
                merged[-1] += group
            else:
                merged.append(list(group))
        for place, group in enumerate(merged):
            for code in group:
                paths[code].append(paths[code][-1] if len(group) == 1 else f"g{level}.{place}")
        groups = merged
    return Hierarchy.from_rows([[*path, "*"] for path in paths])


def _lca(paths: Codes, one: Node, other: Node) -> Node:
    """Return the lowest node above two nodes: the first level on which the values below them agree."""
    if one == other:
        return one
    codes = [int(np.flatnonzero(paths[:, level] == node)[0]) for level, node in (one, other)]
    level = max(one[0], other[0])
    while paths[codes[0], level] != paths[codes[1], level]:
        level += 1
    return level, int(paths[codes[0], level])


def _split(members: tuple[Member, ...], rows: int) -> tuple[tuple[Member, ...], tuple[Member, ...]]:
    """Return the first so many rows of some members, and the others."""
    taken, stay = [], []
    for cell, count in members:
        here = min(rows, count)
        rows -= here
        taken += [(cell, here)] if here else []
        stay += [(cell, count - here)] if count > here else []
    return tuple(taken), tuple(stay)
