"""Relaxed multidimensional partitioning: parts are halved by rows, so equal vectors may go to different classes."""

from collections import Counter
from dataclasses import replace

import numpy as np

from indistinct.algorithms.partition import _relaxed_kernels
from indistinct.algorithms.partition.layout import KernelLayout
from indistinct.algorithms.partition.strict_any_model import widths
from indistinct.frequencies.pieces import Pieces, join_pieces
from indistinct.frequencies.value import FrequencySet
from indistinct.machine.arrays import Codes
from indistinct.models.base import Model


def halve_by_size(ranks: Codes, counts: Codes, *, layout: KernelLayout, k: int) -> Pieces:
    """Halve parts while both halves have at least `k` rows."""
    rows, cells = int(counts.sum()), len(ranks)
    most = cells + rows // k + 1
    # Each halving in progress may add one divided cell to the buffers; at most `depth` are in progress.
    buffer = cells + 2 * max(rows, 1).bit_length() + 8
    tally, weights = np.empty(buffer, dtype=np.int64), np.empty(buffer, dtype=np.int64)
    tally[:cells], weights[:cells] = np.arange(cells), counts
    spare = np.empty(buffer, dtype=np.int64), np.empty(buffer, dtype=np.int64)
    arrays = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    keys = np.empty(buffer, dtype=np.uint64)
    written, _ = _relaxed_kernels.partition_relaxed(ranks, tally, weights, cells, k, layout.arrays, spare, keys, arrays)
    return Pieces(arrays[0][:written], None, arrays[1][:written], arrays[2][:written]).in_order()


def halve_by_rounds(
    ranks: Codes, frequencies: FrequencySet, *, layout: KernelLayout, model: Model, counters: Counter[str]
) -> Pieces:
    """Halve parts while both halves satisfy the model; sensitive values are assigned in value order."""
    pieces, done = Pieces.of(frequencies), []
    while len(pieces):
        settled, lefts = _round(ranks, pieces, frequencies, layout=layout, model=model, counters=counters)
        final = pieces.take(settled[pieces.class_ids])
        done.append(replace(final, class_ids=(np.cumsum(settled) - 1)[final.class_ids]))
        pieces = _halve_pieces(pieces, settled, lefts)
    return join_pieces(done).in_order()


def _round(
    ranks: Codes,
    pieces: Pieces,
    frequencies: FrequencySet,
    *,
    layout: KernelLayout,
    model: Model,
    counters: Counter[str],
) -> tuple[Codes, Codes]:
    """Halve every part along the first of its columns, widest first, whose halves satisfy the model.

    Return which parts have no such column, and how many rows of each piece go left in the others.
    """
    parts, count, values = pieces.class_ids, pieces.size, ranks[pieces.cells]
    starts = np.searchsorted(parts, np.arange(count))
    low = np.minimum.reduceat(values, starts).astype(np.int64)
    high = np.maximum.reduceat(values, starts).astype(np.int64)
    by_width = np.argsort(-widths(low, high, layout), axis=1, kind="stable")
    settled, lefts = np.ones(count, dtype=bool), np.zeros(len(parts), dtype=np.int64)
    sizes = np.add.reduceat(pieces.counts, starts)
    for attempt in range(ranks.shape[1]):
        open_ = settled & (sizes >= 2 * model.smallest) & (sizes >= 2)
        if not open_.any():
            break
        left = _left_counts(values[np.arange(len(parts)), by_width[parts, attempt]], pieces.counts, parts, starts)
        counters["checks"] += int(open_.sum())
        broken = np.zeros(count, dtype=bool)
        for side in (left, pieces.counts - left):
            half = replace(pieces, counts=side).take(side > 0)
            broken |= model.violations(half.classes(frequencies, count))
        won = open_ & ~broken
        settled[won] = False
        lefts[won[parts]] = left[won[parts]]
    return settled, lefts


def _left_counts(values: Codes, counts: Codes, parts: Codes, starts: Codes) -> Codes:
    """Return how many rows of each item belong to the left half of its part, in order of value."""
    order = np.lexsort((values, parts))
    running = np.cumsum(counts[order])
    bases = running[starts] - counts[order][starts]
    totals = np.add.reduceat(counts, starts)
    half = ((totals + 1) // 2)[parts[order]]
    before = running - counts[order] - bases[parts[order]]
    left = np.empty(len(values), dtype=np.int64)
    left[order] = np.clip(half - before, 0, counts[order])
    return left


def _halve_pieces(pieces: Pieces, settled: Codes, lefts: Codes) -> Pieces:
    """Return the pieces of the next round: the halves of every part that is not settled."""
    going = ~settled[pieces.class_ids]
    rest, left = pieces.take(going), lefts[going]
    right, dense = rest.counts - left, (np.cumsum(~settled) - 1)[rest.class_ids]
    chosen = np.concatenate([np.flatnonzero(left > 0), np.flatnonzero(right > 0)])
    counts = np.concatenate([left[left > 0], right[right > 0]])
    children = np.concatenate([2 * dense[left > 0], 2 * dense[right > 0] + 1])
    order = np.lexsort((chosen, children))
    return replace(rest.take(chosen[order]), counts=counts[order], class_ids=children[order])
