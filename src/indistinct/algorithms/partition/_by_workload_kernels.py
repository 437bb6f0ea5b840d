"""Numba kernels that weigh the cuts of parts by the error of queries.

A candidate is a cut of a column: one of a list that all parts share, or the cut of a part nearest its middle. Values
that no candidate separates are an *atom*; the values of an atom on one side of the middle are a *segment* of a part.
For every segment the kernels know its rows, its rows that each query counts, and what it covers of every column: the
lowest and highest rank, or a set as bits. A side of a candidate covers what its segments cover.

`items` (int64) are the cells; a part is a run of them that begins at its entry of `starts`. By cell: `ranks` (cells ×
columns, uint32), `counts` (int64), and `asked` (cells × words, uint64), a bit for every query that counts the cell.
`weights` is parts × candidates of all columns (float64). `tests/references/workload_cuts.py` computes the same in plain
Python; `tests/laws/test_workload_cuts.py` compares both.
"""

from collections import namedtuple

import numpy as np

from indistinct.algorithms.partition._by_loss_kernels import bits_of, lowest_bit
from indistinct.algorithms.partition._cut_order_kernels import inner, jit, sort_keys

LINE, SET, NODE = range(3)

Columns = namedtuple("Columns", ["kind", "size", "first_word", "words", "stride", "tree", "node_first", "node_last"])
"""By column: how it is published, its number of ranks, its words among the bits of a cover, and its tree.

From `tree[c] + rank * stride[c] + level` on, `node_first` and `node_last` are the ranks that a node covers.
"""

Queries = namedtuple("Queries", ["weight", "start", "column", "at", "accepted", "bits"])
"""For each query its weight and its conditions; for each condition its column and where its accepted ranks are."""

Candidates = namedtuple("Candidates", ["count", "atoms", "atom_at", "atom", "left_at", "left"])
"""For each column the numbers of candidates and atoms, the atom of every rank, and the atoms left of each candidate."""

Work = namedtuple(
    "Work",
    [
        "tally",
        "keys",
        "number",
        "segments",
        "rows",
        "asked",
        "low",
        "high",
        "bits",
        "side_low",
        "side_high",
        "side_bits",
        "side_size",
        "active",
        "place",
        "totals",
        "left_asked",
        "taken",
        "seen",
    ],
)
"""A thread's scratch arrays; int64 except `bits`, `side_bits` and `seen` (uint64) and `taken` (bool)."""


@inner
def clear_cover(low, high, bits):
    """Clear a cover, so that it covers nothing."""
    for c in range(len(low)):
        low[c], high[c] = np.int64(1) << 40, -1
    for w in range(len(bits)):
        bits[w] = np.uint64(0)


@inner
def cover_cell(cell, ranks, columns, low, high, bits):
    """Add a cell to a cover."""
    for c in range(len(columns.kind)):
        rank = np.int64(ranks[cell, c])
        if columns.kind[c] == SET:
            bits[columns.first_word[c] + (rank >> 6)] |= np.uint64(1) << np.uint64(rank & 63)
        else:
            low[c], high[c] = min(low[c], rank), max(high[c], rank)


@inner
def join_cover(low, high, bits, more_low, more_high, more_bits):
    """Add another cover to a cover."""
    for c in range(len(low)):
        low[c], high[c] = min(low[c], more_low[c]), max(high[c], more_high[c])
    for w in range(len(bits)):
        bits[w] |= more_bits[w]


@inner
def finish_cover(columns, low, high, bits, sizes):
    """Widen trees to their lowest common node, and write the number of covered ranks of every column."""
    for c in range(len(low)):
        if columns.kind[c] == SET:
            sizes[c] = 0
            for w in range(columns.first_word[c], columns.first_word[c] + columns.words[c]):
                sizes[c] += bits_of(bits[w])
            continue
        if columns.kind[c] == NODE:
            at = columns.tree[c] + low[c] * columns.stride[c]
            while columns.node_last[at] < high[c]:
                at += 1
            low[c], high[c] = columns.node_first[at], columns.node_last[at]
        sizes[c] = high[c] - low[c] + 1


@inner
def share_of(query, columns, queries, low, high, bits, sizes):
    """Return the share of the covered combinations that a query accepts, with all values equally likely."""
    share = 1.0
    for e in range(queries.start[query], queries.start[query + 1]):
        c, at = queries.column[e], queries.at[e]
        if columns.kind[c] == SET:
            common = np.int64(0)
            for w in range(columns.words[c]):
                common += bits_of(bits[columns.first_word[c] + w] & queries.bits[at + w])
        else:
            common = np.int64(queries.accepted[at + high[c] + 1]) - np.int64(queries.accepted[at + low[c]])
        if common == 0:
            return 0.0
        if common < sizes[c]:
            share *= common / sizes[c]
    return share


@inner
def width_of(columns, sizes):
    """Return the width of a cover, from 0 to 1."""
    width = 0.0
    for c in range(len(sizes)):
        if columns.size[c] > 1:
            width += (sizes[c] - 1) / (columns.size[c] - 1)
    return width / len(sizes)


@inner
def middle_of(items, start, stop, ranks, counts, c, total, smallest, work):
    """Return the rank after which a cut is nearest the middle of the rows, the lower of two; -1 if none is allowed."""
    count = np.int64(0)
    for i in range(start, stop):
        rank = ranks[items[i], c]
        if work.tally[rank] == 0:
            work.keys[count] = rank
            count += 1
        work.tally[rank] += counts[items[i]]
    sort_keys(work.keys, count)
    middle, nearest, up_to = np.int64(-1), np.int64(1) << 62, np.int64(0)
    # Invariant: `up_to` are the rows with ranks up to `keys[i]`.
    for i in range(count):
        up_to += work.tally[work.keys[i]]
        work.tally[work.keys[i]] = 0
        if i + 1 < count and up_to >= smallest and total - up_to >= smallest and abs(2 * up_to - total) < nearest:
            nearest, middle = abs(2 * up_to - total), work.keys[i]
    return middle


@inner
def find_active(items, start, stop, ranks, columns, queries, work):
    """List the queries that accept some and not all of what a part covers; return their number."""
    low, high, bits, sizes = work.side_low[0], work.side_high[0], work.side_bits[0], work.side_size[0]
    clear_cover(low, high, bits)
    for i in range(start, stop):
        cover_cell(items[i], ranks, columns, low, high, bits)
    finish_cover(columns, low, high, bits, sizes)
    count = np.int64(0)
    for q in range(len(queries.weight)):
        share = share_of(q, columns, queries, low, high, bits, sizes)
        work.place[q] = -1
        if 0.0 < share < 1.0:
            work.active[count], work.place[q], work.totals[count] = q, count, 0
            count += 1
    return count


@inner
def fill_segments(items, start, stop, ranks, counts, asked, columns, candidates, axis, middle, active, work):
    """Write rows, counted rows and covers of the segments of a part along a column; return the number of segments."""
    segments = np.int64(0)
    for i in range(start, stop):
        cell = items[i]
        rank = np.int64(ranks[cell, axis])
        segment = 2 * np.int64(candidates.atom[candidates.atom_at[axis] + rank]) + (rank > middle)
        s = work.number[segment] - 1
        if s < 0:
            s = segments
            segments += 1
            work.number[segment], work.segments[s], work.rows[s] = segments, segment, 0
            clear_cover(work.low[s], work.high[s], work.bits[s])
            for a in range(active):
                work.asked[s, a] = 0
        work.rows[s] += counts[cell]
        cover_cell(cell, ranks, columns, work.low[s], work.high[s], work.bits[s])
        for w in range(asked.shape[1]):
            word = asked[cell, w]
            # One iteration for each bit that is set, the lowest first.
            while word:
                position = work.place[64 * w + lowest_bit(word)]
                word &= word - np.uint64(1)
                if position >= 0:
                    work.asked[s, position] += counts[cell]
    for s in range(segments):
        work.number[work.segments[s]] = 0
    return segments


@inner
def mixed(number):
    """Return a hash of a number."""
    word = (np.uint64(number) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inner
def goes_left(candidates, axis, candidate, segment):
    """Return whether a segment is left of a candidate; the last candidate is the middle of the part."""
    if candidate == candidates.count[axis]:
        return segment % 2 == 0
    return candidates.left[candidates.left_at[axis] + candidate * candidates.atoms[axis] + segment // 2]


@inner
def weigh_sides(columns, queries, segments, active, left_rows, total, tie, work):
    """Return the weight of a candidate, given which segments are on its left."""
    for side in range(2):
        clear_cover(work.side_low[side], work.side_high[side], work.side_bits[side])
    for a in range(active):
        work.left_asked[a] = 0
    for s in range(segments):
        side = 0 if work.taken[s] else 1
        join_cover(
            work.side_low[side],
            work.side_high[side],
            work.side_bits[side],
            work.low[s],
            work.high[s],
            work.bits[s],
        )
        if side == 0:
            for a in range(active):
                work.left_asked[a] += work.asked[s, a]
    weight = 0.0
    for side in range(2):
        low, high, bits, sizes = work.side_low[side], work.side_high[side], work.side_bits[side], work.side_size[side]
        finish_cover(columns, low, high, bits, sizes)
        rows = float(left_rows if side == 0 else total - left_rows)
        weight += tie * rows * width_of(columns, sizes)
        for a in range(active):
            truth = float(work.left_asked[a] if side == 0 else work.totals[a] - work.left_asked[a])
            guess = rows * share_of(work.active[a], columns, queries, low, high, bits, sizes)
            weight += queries.weight[work.active[a]] * (abs(guess - truth) + truth * (rows - truth) / rows)
    return weight


@inner
def weigh_column(columns, queries, candidates, axis, segments, middle, active, total, smallest, tie, work, weights):
    """Write the weight of every candidate of a column; of candidates that are equal in this part, only the first."""
    for a in range(active):
        work.totals[a] = 0
        for s in range(segments):
            work.totals[a] += work.asked[s, a]
    both = np.uint64(0)
    for s in range(segments):
        both ^= mixed(work.segments[s])
    # The hash of a set of segments is the exclusive or of their hashes, so that its complement has `both ^ word`.
    seen = 0
    for candidate in range(candidates.count[axis] + 1):
        if candidate == candidates.count[axis] and middle < 0:
            continue
        rows, word = np.int64(0), np.uint64(0)
        for s in range(segments):
            work.taken[s] = goes_left(candidates, axis, candidate, work.segments[s])
            if work.taken[s]:
                rows += work.rows[s]
                word ^= mixed(work.segments[s])
        if rows < smallest or total - rows < smallest or rows == 0 or rows == total:
            continue
        known = False
        for other in range(seen):
            known = known or work.seen[other] == word or work.seen[other] == both ^ word
        if known:
            continue
        work.seen[seen] = word
        seen += 1
        weights[candidate] = weigh_sides(columns, queries, segments, active, rows, total, tie, work)


@jit
def weigh(items, starts, ranks, counts, asked, smallest, tie, columns, queries, candidates, work, weights):
    """Write the weight of every candidate of every part; entries of `weights` without a candidate are not changed."""
    width = weights.shape[1] // len(columns.kind)
    for part in range(len(starts) - 1):
        start, stop, total = starts[part], starts[part + 1], np.int64(0)
        for i in range(start, stop):
            total += counts[items[i]]
        if total < 2 * smallest or stop - start < 2:
            continue
        active = find_active(items, start, stop, ranks, columns, queries, work)
        for axis in range(len(columns.kind)):
            middle = middle_of(items, start, stop, ranks, counts, axis, total, smallest, work)
            segments = fill_segments(
                items, start, stop, ranks, counts, asked, columns, candidates, axis, middle, active, work
            )
            if segments < 2:
                continue
            own = weights[part, axis * width : (axis + 1) * width]
            weigh_column(columns, queries, candidates, axis, segments, middle, active, total, smallest, tie, work, own)


@jit
def divide(
    items,
    starts,
    first,
    last,
    ranks,
    counts,
    smallest,
    width,
    candidates,
    work,
    ends_of,
    chosen,
    order,
    middles,
    ends,
    members,
    sizes,
):
    """Divide each part from `first` to `last` by its `chosen` candidate.

    Written for each part: to `order` its cells, the left side first; to `middles` where the right side begins; to
    `ends` the last rank on the left, for cuts along ranks; to `members` and `sizes` the ranks on the left and their
    number, for sets. The other arrays are only read. `ends_of` has the last rank of candidates that are cut along
    ranks, by column and candidate, and -1 for sets.
    """
    for part in range(first, last):
        start, stop, total = starts[part], starts[part + 1], np.int64(0)
        for i in range(start, stop):
            total += counts[items[i]]
        axis, candidate = chosen[part] // width, chosen[part] % width
        middle = middle_of(items, start, stop, ranks, counts, axis, total, smallest, work)
        at, segments = start, np.int64(0)
        # Invariant: `order[start:at]` is done: first the left side, then the right, each in the order of the part.
        for side in range(2):
            for i in range(start, stop):
                rank = np.int64(ranks[items[i], axis])
                segment = 2 * np.int64(candidates.atom[candidates.atom_at[axis] + rank]) + (rank > middle)
                left = goes_left(candidates, axis, candidate, segment)
                if left == (side == 0):
                    order[at] = i
                    at += 1
                    if side == 0 and work.tally[rank] == 0:
                        work.tally[rank] = 1
                        work.keys[segments] = rank
                        segments += 1
            if side == 0:
                middles[part] = at
        for i in range(segments):
            work.tally[work.keys[i]] = 0
        end = middle if candidate == candidates.count[axis] else ends_of[axis, candidate]
        sizes[part], ends[part] = 0, max(end, 0)
        if end < 0:
            sort_keys(work.keys, segments)
            sizes[part] = segments
            for i in range(segments):
                members[start + i] = work.keys[i]
