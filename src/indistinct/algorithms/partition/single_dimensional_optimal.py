"""The best cuts of all columns under discernibility: set enumeration with bounds (Bayardo and Agrawal 2005).

A node has a head, the cuts that are made, and a tail, the cuts that may be made as well. It represents every recoding
that makes the head and some of the tail. Its bound is the least cost of any of them; a node whose bound is not below
the best cost so far is skipped. `docs/theory/single-dimensional.md` has the proofs.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import combinations, pairwise

import numpy as np

from indistinct.algorithms.base import LOG, fewest_rows
from indistinct.algorithms.explanation import Proof
from indistinct.algorithms.partition import _optimal_cuts_kernels as _kernels
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes, Mask, starts_of
from indistinct.machine.stages import enter
from indistinct.models.base import Model
from indistinct.models.k_anonymity import KAnonymity

TAIL, HEAD, OUT = map(int, (_kernels.TAIL, _kernels.HEAD, _kernels.OUT))
# Open nodes keep their cells up to this many bytes in total; the cells of others are counted from the table again.
# While the kept cells exceed it, the newest node is visited first, so that there are soon fewer.
MAX_BYTES_KEPT = 1 << 29
# Columns of `Weighed.effects`: classes of the head that a cut divides, rows that it brings into classes which break the
# model, the decrease of cost, its smallest part, and whether one of its parts satisfies the model.
DIVIDED, LOST, GAIN, SMALLEST, USEFUL = range(5)
EFFECTS_PER_CUT = 5
# After EASY_NODES nodes without a proof, the search improves its starting cuts. That evaluates at most MAX_START_NODES
# nodes, and at most half of those that the search may enumerate.
EASY_NODES, MAX_START_NODES = 1_000, 50_000
# Answers for larger k are searched while the table has rows for at least this number of classes.
MIN_CLASSES_FOR_LARGER_K = 8


@dataclass(frozen=True, slots=True, eq=False)
class RankedCells:
    """Vectors of ranks without gaps, and the classes of equal vectors."""

    ranks: Codes
    classes: Classes


@dataclass(frozen=True, slots=True, eq=False)
class CutSpace:
    """All cuts of a table, and the model and suppression limit of its release.

    Cuts are numbered through; those of column j begin at `bases[j]`. `budget` is how many rows, or people, may be
    suppressed; a suppressed row costs the number of rows of the table.
    """

    cells: RankedCells
    bases: Codes
    model: Model
    budget: int

    @classmethod
    def of(cls, ranks: Codes, classes: Classes, model: Model, *, budget: int) -> "CutSpace":
        """Return the space of cells with these ranks, where each column has every rank from 0 on."""
        sizes = ranks.max(axis=0, initial=0).astype(np.int64)
        return cls(RankedCells(np.ascontiguousarray(ranks, dtype=np.int32), classes), starts_of(sizes), model, budget)

    @property
    def cuts(self) -> int:
        """The number of cuts."""
        return int(self.bases[-1])

    @property
    def rows(self) -> int:
        """The number of rows of the table."""
        return self.cells.classes.rows

    def intervals(self, made: Codes) -> list[Codes]:
        """Return, for each column, the interval of each value between the cuts of a mask."""
        return [starts_of(made[start:stop]) for start, stop in zip(self.bases[:-1], self.bases[1:], strict=True)]

    def class_ids(self, cells: RankedCells, made: Codes) -> Codes:
        """Return the class of every cell between the cuts of a mask."""
        intervals = self.intervals(made)
        columns = [own[cells.ranks[:, j]] for j, own in enumerate(intervals)]
        return group_rows(columns, [int(own[-1]) + 1 for own in intervals]).group_ids()


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """An evaluated node: the cost of its head, its bound, and the rest of its tail.

    `full` is what head and tail together cost, None if that breaks the model. `cells` are the classes of head and tail
    together. `effects` (cuts × EFFECTS) has the effects of every cut on the head, valid only for cuts of the tail.
    """

    status: Codes
    cells: RankedCells
    cost: int
    bound: int
    full: int | None
    effects: Codes

    def branching_cut(self) -> int | None:
        """Return the cut of the tail to branch on, None if the tail is empty.

        It is the cut nearest to breaking the model: it uses most of the suppression limit, or makes the smallest part.
        With it most other cuts break the model, so that one of the two nodes is soon skipped.
        """
        tail = np.flatnonzero(self.status == TAIL)
        if not len(tail):
            return None
        own = self.effects[tail]
        return int(tail[np.lexsort((-own[:, GAIN], own[:, SMALLEST], -own[:, LOST]))[0]])

    def largest_gain(self) -> int | None:
        """Return the cut of the tail that lowers the cost of the head most, None if none does."""
        gains = np.where(self.status == TAIL, self.effects[:, GAIN], 0)
        return int(np.argmax(gains)) if gains.max(initial=0) > 0 else None

    def nearest_half(self) -> int | None:
        """Return the cut of the tail whose smaller side is largest, as at a median; None if the tail is empty."""
        parts = np.where(self.status == TAIL, self.effects[:, SMALLEST], 0)
        return int(np.argmax(parts)) if parts.max(initial=0) > 0 else None


CHOICES = (Weighed.largest_gain, Weighed.nearest_half)
"""The rules by which greedy descents choose their next cut."""
Weigh = Callable[[CutSpace, RankedCells, Codes], Weighed | None]


def weigh_node(space: CutSpace, cells: RankedCells, status: Codes) -> Weighed | None:
    """Return the evaluated node, for any model; None if its head exceeds the suppression limit. `status` is changed."""
    by_size = space.model.traits.sizes_only
    return (weigh_node_by_size if by_size else weigh_node_by_model)(space, cells, status)


def weigh_node_by_size(space: CutSpace, cells: RankedCells, status: Codes) -> Weighed | None:
    """Return what `weigh_node_by_model` returns for a model that looks at class sizes alone, by a kernel."""
    effects, figures = np.empty((space.cuts, EFFECTS_PER_CUT), dtype=np.int64), np.zeros(4, dtype=np.int64)
    atoms, sizes = np.empty_like(cells.ranks), np.empty(len(cells.ranks), dtype=np.int64)
    k, weights = space.model.smallest, cells.classes.sizes.astype(np.int64)
    limits = (k, space.budget, space.rows)
    if not _kernels.weigh_node(cells.ranks, weights, space.bases, status, *limits, effects, atoms, sizes, figures):
        return None
    count, cost, bound, full = figures.tolist()
    atoms, sizes = atoms[:count].copy(), sizes[:count].copy()
    return Weighed(status, RankedCells(atoms, Classes(sizes)), cost, bound, None if full < 0 else full, effects)


def weigh_node_by_model(space: CutSpace, cells: RankedCells, status: Codes) -> Weighed | None:
    """Return the evaluated node from the model's judgement of classes; None if its head exceeds the limit."""
    model, table = space.model, space.rows
    head = space.class_ids(cells, status == HEAD)
    classes = cells.classes.regroup(head, int(head.max()) + 1)
    broken = model.violations(classes)
    dropped = classes.members_of(broken)
    if dropped > space.budget:
        return None
    effects = _effects(space, cells, status, head, classes.sizes, broken)
    # A person may be in several classes that break the model; only rows add up.
    lost = effects[:, LOST] if classes.unit == "rows" or not space.budget else 0
    useless = (effects[:, DIVIDED] == 0) | (effects[:, USEFUL] == 0)
    status[(status == TAIL) & (useless | (dropped + lost > space.budget))] = OUT
    parts = space.class_ids(cells, status != OUT)
    firsts = np.unique(parts, return_index=True)[1]
    atoms = cells.classes.regroup(parts, len(firsts))
    below = model.violations(atoms)
    full = _cost(atoms.sizes, below, table) if atoms.members_of(below) <= space.budget else None
    bound = _bound(space, classes.sizes, broken, atoms.sizes, head[firsts])
    merged = RankedCells(np.ascontiguousarray(cells.ranks[firsts]), atoms)
    return Weighed(status, merged, _cost(classes.sizes, broken, table), bound, full, effects)


def _effects(space: CutSpace, cells: RankedCells, status: Codes, head: Codes, rows: Codes, broken: Mask) -> Codes:
    """Return the effects of each cut of the tail on the classes of the head that satisfy the model."""
    effects, table = np.zeros((space.cuts, EFFECTS_PER_CUT), dtype=np.int64), space.rows
    effects[:, SMALLEST] = table
    for column, base in enumerate(space.bases[:-1].tolist()):
        for cut in (np.flatnonzero(status[base : space.bases[column + 1]] == TAIL) + base).tolist():
            sides = cells.classes.regroup(
                (2 * head + (cells.ranks[:, column] > cut - base)).astype(np.int32), 2 * len(rows)
            )
            sizes = sides.sizes.reshape(-1, 2)
            divided: Codes = np.flatnonzero((sizes > 0).all(axis=1) & ~broken)
            if not len(divided):
                continue
            fails = space.model.violations(sides.take((2 * divided[:, None] + np.arange(2)).ravel())).reshape(-1, 2)
            parts = sizes[divided]
            after = np.where(fails, parts * table, parts**2).sum()
            lost = int(parts[fails].sum())
            effects[cut] = len(divided), lost, (rows[divided] ** 2).sum() - after, parts.min(), int(not fails.all())
    return effects


def _cost(sizes: Codes, broken: Mask, table: int) -> int:
    """Return the discernibility of classes whose broken ones are suppressed."""
    return int(np.where(broken, sizes * table, sizes**2).sum())


def _bound(space: CutSpace, rows: Codes, broken: Mask, sizes: Codes, owners: Codes) -> int:
    """Return the least cost of cuts between the head and the whole tail."""
    # Counts of rows alone, so that a table in which every row occurs twice is searched in the same way.
    k, table = fewest_rows(space.model), space.rows
    least = np.bincount(owners, weights=sizes * np.maximum(sizes, k), minlength=len(rows)).astype(np.int64)
    even = (space.budget == 0) | (2 * rows <= table)
    least = np.where(even, np.maximum(least, [least_squares(int(size), k) for size in rows]), least)
    return int(np.where(broken, rows * table, least).sum())


def least_squares(rows: int, k: int) -> int:
    """Return the smallest sum of squared sizes of classes with at least k rows each and `rows` rows together.

    >>> least_squares(11, 3)
    41
    """
    classes = max(rows // k, 1)
    each, larger = divmod(rows, classes)
    return (classes - larger) * each**2 + larger * (each + 1) ** 2


@dataclass(frozen=True, slots=True, eq=False, order=False)
class _OpenNode:
    """A node still to be divided by making `cut` or leaving it out.

    Without `cells` its children are counted from the table.
    """

    status: Codes
    cells: RankedCells | None
    cut: int
    bound: int

    @property
    def bytes(self) -> int:
        """Return the memory that the node takes."""
        cells = 0 if self.cells is None else self.cells.ranks.nbytes + 8 * len(self.cells.ranks)
        return int(self.status.nbytes) + cells


@dataclass(slots=True, eq=False)
class _OpenNodes:
    """The nodes still to be visited: the lowest bound first, or the newest while memory is short."""

    heap: list[tuple[int, int, _OpenNode]] = field(default_factory=list)
    stack: list[_OpenNode] = field(default_factory=list)
    bytes: int = 0
    pushed: int = 0

    def push(self, node: _OpenNode) -> None:
        """Add a node; its cells are dropped, and computed again later, if memory is short."""
        self.pushed += 1
        if self.bytes + node.bytes > MAX_BYTES_KEPT:
            node = replace(node, cells=None)
        self.bytes += node.bytes
        if self.bytes > 2 * MAX_BYTES_KEPT:
            self.stack.append(node)
        else:  # of equal bounds the newest comes first
            heappush(self.heap, (node.bound, -self.pushed, node))

    def pop(self) -> _OpenNode:
        """Return the node to expand next: the newest if memory is short, else the one with the best bound."""
        node = self.stack.pop() if self.stack else heappop(self.heap)[2]
        self.bytes -= node.bytes
        return node

    def bound(self) -> float:
        """Return the lowest bound of an open node, infinity if there is none."""
        lowest = self.heap[0][0] if self.heap else math.inf
        return min(lowest, min((node.bound for node in self.stack), default=math.inf))


class CutSearch:
    """The state of an enumeration: the best cuts so far, and the nodes that may contain better ones."""

    def __init__(self, space: CutSpace, weigh: Weigh = weigh_node) -> None:
        self.space, self.weigh, self.open, self.begun = space, weigh, _OpenNodes(), False
        self.best, self.cost, self.nodes = np.zeros(space.cuts, dtype=bool), space.rows**2, 0

    def start_from(self, seeds: Iterable[Codes]) -> None:
        """Begin with the best of the given cuts and of two greedy descents."""
        for made in seeds:
            status = np.where(made, HEAD, OUT).astype(np.int8)
            self._look_at(self.space.cells, status)
        for choose in CHOICES:
            self._descend(np.zeros(self.space.cuts, dtype=np.int8), choose)

    def improve(self, answers: Iterable[Codes], *, nodes: float, deadline: float) -> None:
        """Improve the best cuts by greedy descents, until none lowers the cost any more.

        Descents start from each column alone, from all columns but one, from `answers` (masks of cuts that satisfy the
        model), and then from the best cuts without some of them. They end after about `nodes` nodes, or at `deadline`;
        a descent that began is completed.
        """
        limit = self.nodes + nodes
        for choose in CHOICES:
            for first, last in pairwise(self.space.bases.tolist()):
                column = np.arange(first, last)
                self._descend(_set_status(self.space.cuts, column, OUT, others=TAIL), choose)
                alone = self._descend(_set_status(self.space.cuts, column, TAIL, others=OUT), choose)
                if alone is not None:
                    self._descend(np.where(alone.status == HEAD, HEAD, TAIL).astype(np.int8), choose)
        for made in answers:
            self._descend(np.where(made, HEAD, TAIL).astype(np.int8), Weighed.largest_gain)
        while self._improve_once(limit, deadline):
            pass

    def _improve_once(self, limit: float, deadline: float) -> bool:
        """Remove cuts from the best ones and descend from there until that lowers the cost; return whether it did."""
        best, cost = self.best, self.cost
        for taken in self._cuts_to_take_out(best):
            if self.nodes >= limit or time.monotonic() > deadline:
                return False
            status = np.where(best, HEAD, TAIL).astype(np.int8)
            status[taken] = OUT
            self._descend(status, Weighed.largest_gain)
            if self.cost < cost:
                return True
        return False

    def _cuts_to_take_out(self, best: Codes) -> Iterator[list[int]]:
        """Yield the cuts to remove: each single cut, those of each column, and pairs."""
        made = np.flatnonzero(best).tolist()
        yield from ([cut] for cut in made)
        for first, last in pairwise(self.space.bases.tolist()):
            yield [cut for cut in made if first <= cut < last]
        yield from (list(pair) for pair in combinations(made, 2))

    def _descend(self, status: Codes, choose: Callable[[Weighed], int | None]) -> Weighed | None:
        """Make cuts of the tail one after another; return the last node that was evaluated."""
        node = self._look_at(self.space.cells, status)
        while node is not None and (cut := choose(node)) is not None:
            below = self._look_at(node.cells, _change_status(node.status, cut, HEAD))
            if below is None:
                return node
            node = below
        return node

    def run(self, *, nodes: float, deadline: float, report: Callable[[Proof], None]) -> Proof:
        """Enumerate nodes until the best cuts are proven, or the limit of nodes or the deadline is reached."""
        if not self.begun:
            self.begun = True
            self._enter(self._look_at(self.space.cells, np.zeros(self.space.cuts, dtype=np.int8)))
        next_report = max(self.nodes, 1024)
        while (bound := self.open.bound()) < self.cost:
            if self.nodes >= nodes or time.monotonic() > deadline:
                return Proof(self.cost, int(bound), self.nodes)
            if self.nodes >= next_report:
                next_report *= 2
                report(Proof(self.cost, int(bound), self.nodes))
            node = self.open.pop()
            if node.bound < self.cost:
                for status in (HEAD, OUT):
                    cells = self.space.cells if node.cells is None else node.cells
                    self._enter(self._look_at(cells, _change_status(node.status, node.cut, status)))
        return Proof(self.cost, self.cost, self.nodes)

    def _enter(self, node: Weighed | None) -> None:
        """Keep a node for later if it may contain better cuts."""
        if node is not None and node.bound < self.cost and (cut := node.branching_cut()) is not None:
            self.open.push(_OpenNode(node.status, node.cells, cut, node.bound))

    def _look_at(self, cells: RankedCells, status: Codes) -> Weighed | None:
        """Evaluate a node, and keep its head, or its head and tail, if that is the best so far."""
        self.nodes += 1
        node = self.weigh(self.space, cells, status)
        if node is None:
            return None
        if node.cost < self.cost:
            self.best, self.cost = node.status == HEAD, node.cost
        if node.full is not None and node.full < self.cost:
            self.best, self.cost = node.status != OUT, node.full
        return node


def _change_status(status: Codes, cut: int, value: int) -> Codes:
    changed = status.copy()
    changed[cut] = value
    return changed


def _set_status(cuts: int, some: Codes, value: int, *, others: int) -> Codes:
    status = np.full(cuts, others, dtype=np.int8)
    status[some] = value
    return status


def find_optimal_cuts(
    space: CutSpace,
    seeds: Iterable[Codes],
    *,
    nodes: float,
    seconds: float | None,
    report: Callable[[Proof], None] | None = None,
) -> tuple[Codes, Proof]:
    """Return a mask of the best cuts found, and a proof of how good they are.

    `seeds` are masks of cuts that satisfy the model; the answer is at least as good as each of them.
    """
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    report = report or _report
    search = CutSearch(space)
    search.start_from(seeds)
    proof = search.run(nodes=min(nodes, EASY_NODES), deadline=deadline, report=report)
    if not proof.proven and search.nodes < nodes:
        weighed, most = search.nodes, min(nodes // 2, MAX_START_NODES)
        search.improve(_answers_for_larger_k(space, nodes=most, deadline=deadline), nodes=most, deadline=deadline)
        # Evaluations for the start do not count.
        proof = search.run(nodes=nodes + search.nodes - weighed, deadline=deadline, report=report)
    return search.best, proof


def _answers_for_larger_k(space: CutSpace, *, nodes: float, deadline: float) -> list[Codes]:
    """Return good cuts for 2k, 4k and so on, which satisfy k as well; none for models without k."""
    larger = [max(space.model.smallest, 1)]
    while space.model.traits.sizes_only and 2 * larger[-1] * MIN_CLASSES_FOR_LARGER_K <= space.rows:
        larger.append(2 * larger[-1])
    answers = list[Codes]()
    for k in reversed(larger[1:]):
        search = CutSearch(replace(space, model=KAnonymity(k)))
        search.start_from(answers)
        search.improve(answers, nodes=nodes / len(larger), deadline=deadline)
        answers.append(search.best)
    return answers


def _report(proof: Proof) -> None:
    """Log during the search how good the best cuts so far are."""
    enter(f"searching: {proof}")
    LOG.info("searching: %s", proof)
