"""Merge each class that breaks the model with its nearest class, until every class satisfies it.

The classes are stored in arrays of the kernels; this module sets them up and runs the loop for models that look at more
than sizes.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from indistinct.algorithms.base import Progress
from indistinct.algorithms.cluster import _merge_nearest_kernels as _kernels
from indistinct.algorithms.cluster._merge_nearest_kernels import ABSENT, ASKED, BLOCK, NO_INDEX, Forest, State
from indistinct.algorithms.cluster.tree_space import ClusterSpace, Tree
from indistinct.frequencies.encode import BITS_PER_WORD
from indistinct.frequencies.pieces import Pieces
from indistinct.frequencies.value import Classes, Histogram, Key
from indistinct.machine.arrays import Codes, starts_of
from indistinct.models.base import Model

# Number of classes handled between two reports of progress.
CLASSES_PER_REPORT = 1024

Merged = tuple[Pieces, int]
"""The resulting classes, and the number of merges."""


def merge_by_size(
    forest: Forest,
    cells: Codes,
    counts: Codes,
    *,
    nodes: Codes,
    k: int,
    stub: bool,
    progress: Progress | None = None,
) -> Merged:
    """Merge until every class has `k` rows; with `stub` a large class gives only as many rows as are missing.

    `nodes` are the forest's leaf nodes of the cells, in canonical order.
    """
    state = fresh_state(forest, cells, counts, nodes=nodes)
    small = np.flatnonzero(counts < k)
    state.queue[: len(small)], state.marks[_kernels.PUT] = small, len(small)
    while (taken := int(state.marks[_kernels.TAKEN])) < (put := int(state.marks[_kernels.PUT])):
        if progress is not None:
            progress(taken / put)  # each step adds at most one waiting class, so that the share never falls
        _kernels.gather(forest, state, k, stub, taken + CLASSES_PER_REPORT)
    return members(state)


def merge_by_model(
    forest: Forest, cells: Codes, *, nodes: Codes, classes: Classes, model: Model, progress: Progress | None = None
) -> Merged:
    """Merge whole classes until every class satisfies the model; `classes` are the cells as classes."""
    state = fresh_state(forest, cells, classes.sizes, nodes=nodes)
    books = _Books.of(classes)
    queue = deque(np.flatnonzero(model.violations(classes)).tolist())
    taken = 0
    while queue:
        waiting = queue.popleft()
        taken += 1
        if progress is not None and taken % CLASSES_PER_REPORT == 0:
            progress(taken / (taken + len(queue)))
        slot = int(state.slot_of[waiting])
        if state.owner[slot] != waiting or not books.broken(waiting, model):
            continue
        before = int(state.marks[_kernels.IDENTITIES])
        target, partner = _kernels.join_nearest(forest, state, slot, 1, False)
        if target < 0:
            break
        union = int(state.owner[target])
        books.unite(union, {waiting, int(partner)} if union == before else {waiting, int(partner), union})
        if books.broken(union, model):
            queue.append(union)
    return members(state)


def members(state: State) -> Merged:
    """Return the rows of every class of a state; classes are numbered in the order of their slots."""
    count = int(state.marks[_kernels.PIECES])
    cells, class_ids, counts = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int64)
    _kernels.read_pieces(state, cells, class_ids, counts)
    return Pieces(cells, None, counts, class_ids), int(state.marks[_kernels.MERGES])


def fresh_state(forest: Forest, cells: Codes, counts: Codes, *, nodes: Codes) -> State:
    """Return a state in which every cell is a class."""
    classes, width = nodes.shape
    # A small table is one block of its own size, rounded up to fill vector registers.
    lanes = min(BLOCK, -(-max(classes, 1) // 32) * 32)
    blocks = -(-max(classes, 1) // lanes)
    slots, twice = blocks * lanes, 2 * classes + 1
    state = State(
        planes=np.full((blocks, len(forest.starts), lanes), ABSENT, dtype=np.uint8),
        masks=np.zeros((blocks, len(forest.starts), 4), dtype=np.uint64),
        nodes=np.zeros((slots, width), dtype=np.int32),
        sizes=np.zeros(slots, dtype=np.int64),
        climbed=np.zeros(slots, dtype=np.int64),
        first=np.zeros(slots, dtype=np.int64),
        owner=np.full(slots, NO_INDEX, dtype=np.int64),
        slot_of=np.full(twice, NO_INDEX, dtype=np.int64),
        table=np.full(1 << (4 * classes + 3).bit_length(), NO_INDEX, dtype=np.int64),
        head=np.full(slots, NO_INDEX, dtype=np.int64),
        tail=np.full(slots, NO_INDEX, dtype=np.int64),
        following=np.full(twice, NO_INDEX, dtype=np.int64),
        cells=np.zeros(twice, dtype=np.int64),
        counts=np.zeros(twice, dtype=np.int64),
        queue=np.zeros(twice, dtype=np.int64),
        marks=np.zeros(5, dtype=np.int64),
    )
    ranks = _coarse_first(forest, nodes) if blocks > 1 else np.arange(classes)
    state.nodes[:classes], state.sizes[:classes] = nodes[ranks], counts[ranks]
    state.cells[:classes], state.counts[:classes] = cells[ranks], counts[ranks]
    _kernels.settle(forest, state, ranks)
    return state


def _coarse_first(forest: Forest, nodes: Codes) -> Codes:
    """Return an order of slots in which classes that agree near the roots of all columns are close together."""
    bounds = np.append(np.flatnonzero(forest.starts), len(forest.starts))
    depths = np.diff(bounds)
    words, bits = np.zeros(len(nodes), dtype=np.uint64), 0
    for depth in range(int(depths.max())):
        for column in np.flatnonzero(depths > depth):
            digits = forest.digits[nodes[:, column], depth].astype(np.uint64)
            width = int(digits.max()).bit_length()
            if bits + width <= BITS_PER_WORD:
                words, bits = words << np.uint64(width) | digits, bits + width
    return np.argsort(words, kind="stable")


def forest_of(space: ClusterSpace) -> Forest:
    """Return the trees of a space in one numbering, with the bytes that encode the path to each node."""
    spellings, weights = zip(*map(_spell, space.trees, space.cost), strict=True)
    offsets = starts_of([len(tree) for tree in space.trees]).astype(np.int32)
    digits = np.full((int(offsets[-1]), max(spelling.shape[1] for spelling in spellings)), ABSENT, dtype=np.uint8)
    parent = np.empty(int(offsets[-1]), dtype=np.int32)
    for start, stop, tree, spelling in zip(offsets, offsets[1:], space.trees, spellings, strict=False):
        digits[start:stop, : spelling.shape[1]] = spelling
        parent[start:stop] = np.where(tree.parent < 0, NO_INDEX, tree.parent + start)
    narrow = sum(int(cost[-1]) for cost in space.cost) < 1 << 16
    return Forest(
        offsets=offsets[:-1],
        parent=parent,
        level=np.concatenate([tree.level for tree in space.trees]).astype(np.int32),
        cost=np.concatenate(space.node_cost),
        words=np.random.default_rng(len(parent)).integers(0, 1 << 64, len(parent), dtype=np.uint64),
        digits=digits,
        starts=np.concatenate([np.arange(len(each)) == 0 for each in weights]),
        weights=np.concatenate(weights).astype(np.uint16 if narrow else np.int64),
    )


def _spell(tree: Tree, cost: Codes) -> tuple[Codes, Codes]:
    """Return the bytes that encode the path from the root to each node, and the cost of a difference in each byte.

    A byte is the position among the children of a node, the highest level first.
    """
    above, height = tree.above, len(tree.above) - 1
    planes: list[Codes] = []
    weights: list[int] = []
    for at in range(height - 1, -1, -1):
        positions, most = _places(above[at, tree.leaf], above[at + 1, tree.leaf], len(tree))
        dear = int(cost[at + 1] - cost[at])
        if most <= 1:
            # No node branches on this level: nodes that differ here differ on the level above.
            if weights:
                weights[-1] += dear
            continue
        spelled = positions[above[at]]
        digits = max(-(-(most - 1).bit_length() // 7), 1) if most > ASKED else 1
        base = ASKED if digits == 1 else 128
        for digit in range(digits - 1, -1, -1):
            byte = spelled // base**digit % base
            planes.append(np.where(tree.level > at, ABSENT, byte).astype(np.uint8))
            weights.append(0 if digit else dear)
    if not planes:
        planes, weights = [np.zeros(len(tree), dtype=np.uint8)], [0]
    return np.stack(planes, axis=1), np.array(weights, dtype=np.int64)


def _places(nodes: Codes, parents: Codes, size: int) -> tuple[Codes, int]:
    """Return the position of each node among the children of its parent, and the largest number of children."""
    pairs = np.unique(parents.astype(np.int64) * size + nodes)
    owners, children = np.divmod(pairs, size)
    starts = np.searchsorted(owners, owners)
    positions = np.zeros(size, dtype=np.int64)
    positions[children] = np.arange(len(pairs)) - starts
    return positions, int(positions.max(initial=0)) + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Books:
    """The size and the histograms of each class, by its identity."""

    sizes: dict[int, int]
    entries: dict[Key, dict[int, dict[int, int]]]
    pattern: Classes

    @classmethod
    def of(cls, classes: Classes) -> "_Books":
        """Return the sizes and histograms of classes as dictionaries, which merging updates."""
        entries = {key: dict(enumerate(_rows(histogram))) for key, histogram in classes.histograms.items()}
        return cls(dict(enumerate(classes.sizes.tolist())), entries, classes)

    def unite(self, union: int, parts: set[int]) -> None:
        """Add the sizes and histograms of the classes `parts` under the identity `union`."""
        self.sizes[union] = sum(self.sizes.pop(part) for part in parts)
        for books in self.entries.values():
            largest, *others = sorted((books.pop(part) for part in parts), key=len, reverse=True)
            for other in others:
                for code, count in other.items():
                    largest[code] = largest.get(code, 0) + count
            books[union] = largest

    def broken(self, identity: int, model: Model) -> bool:
        """Return whether a class breaks the model."""
        if self.sizes[identity] < model.smallest:
            return True
        histograms = {}
        for key, books in self.entries.items():
            whole, counted = self.pattern.histograms[key], sorted(books[identity].items())
            codes = np.array([code for code, _ in counted], dtype=np.int32)
            counts = np.array([count for _, count in counted], dtype=np.int64)
            indptr = np.array([0, len(counted)], dtype=np.int64)
            histograms[key] = replace(whole, indptr=indptr, codes=codes, counts=counts)
        sizes = np.array([self.sizes[identity]], dtype=np.int64)
        return bool(model.violations(Classes(sizes, histograms))[0])


def _rows(histogram: Histogram) -> Iterator[dict[int, int]]:
    """Yield the histogram of each class as a dictionary."""
    codes, counts, indptr = histogram.codes.tolist(), histogram.counts.tolist(), histogram.indptr.tolist()
    for start, stop in pairwise(indptr):
        yield dict(zip(codes[start:stop], counts[start:stop], strict=True))
