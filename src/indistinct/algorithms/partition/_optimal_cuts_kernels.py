"""Numba kernel of the optimal cuts of all columns, for models that look at class sizes alone.

A cut is a value of a column after which the column is cut; the cuts of column j have the numbers from `bases[j]` on,
and `bases` has one more entry (int64). `ranks` is cells × columns (int32), `weights` the rows of cells (int64).
`status` (int8) of each cut is HEAD (made), TAIL (may be made) or OUT. A lookup (int32) has the interval of every value;
the values of column j begin at `bases[j] + j`, because a column has one more value than cuts. Intervals of the head are
between made cuts, fine ones between all cuts that are not out.

`weigh_node_by_model` in `optimal_cuts.py` computes the same in plain NumPy; `tests/laws/test_optimal_cuts.py` compares
both.
"""

import numpy as np

from indistinct.machine.compiled import inner, jit

TAIL, HEAD, OUT = np.int8(0), np.int8(1), np.int8(2)
# Upper limit of the keys of groups.
MAX_GROUP_KEY = np.int64(1) << 62
# An odd number that spreads keys over the slots of a table (Knuth 1998).
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@inner
def number_intervals(status, bases, last, lookup, spans):
    """Write the interval of every value, cut where the status is not OUT and not above `last`."""
    for j in range(len(spans)):
        at, interval = bases[j] + j, np.int32(0)
        lookup[at] = 0
        for cut in range(bases[j], bases[j + 1]):
            made = status[cut] == HEAD or (last == TAIL and status[cut] == TAIL)
            interval += np.int32(made)
            at += 1
            lookup[at] = interval
        spans[j] = interval + 1


@inner
def number_keys(keys, size, ids, slots):
    """Number the groups of equal keys by first occurrence; return the number of groups."""
    count = 0
    # `slots` maps the hash of a key to the first cell that has it.
    if size <= len(slots):
        slots[:size] = -1
        for i in range(len(keys)):
            first = slots[keys[i]]
            if first < 0:
                slots[keys[i]] = i
                ids[i] = count
                count += 1
            else:
                ids[i] = ids[first]
        return count
    slots[:] = -1
    last, shift, bits = len(slots) - 1, np.uint64(64), len(slots)
    while bits > 1:
        bits >>= 1
        shift -= np.uint64(1)
    for i in range(len(keys)):
        slot = np.int64((np.uint64(keys[i]) * SPREAD) >> shift)
        while slots[slot] >= 0 and keys[slots[slot]] != keys[i]:
            slot = (slot + 1) & last
        if slots[slot] < 0:
            slots[slot] = i
            ids[i] = count
            count += 1
        else:
            ids[i] = ids[slots[slot]]
    return count


@inner
def group_cells(ranks, lookup, bases, spans, ids, keys, slots):
    """Write the group of every cell by its intervals in all columns; return the number of groups."""
    keys[:] = 0
    size = np.int64(1)
    for j in range(len(spans)):
        if spans[j] == 1:
            continue
        if size > MAX_GROUP_KEY // spans[j]:
            size = np.int64(number_keys(keys, size, ids, slots))
            keys[:] = ids
        base = bases[j] + j
        for i in range(len(keys)):
            keys[i] = keys[i] * spans[j] + lookup[base + ranks[i, j]]
        size *= spans[j]
    return number_keys(keys, size, ids, slots)


@inner
def least_squares(rows, k):
    """Return the smallest sum of squared sizes of classes with at least k rows each and `rows` rows together."""
    classes = max(rows // k, 1)
    each = rows // classes
    larger = rows - each * classes
    return (classes - larger) * each * each + larger * (each + 1) * (each + 1)


@inner
def weigh_class(ranks, weights, members, bases, fine, ends, rows, k, table, effects, counts):
    """Add to `effects` what each cut does to one class of the head (see `weigh_node`).

    `ends[0]` and `ends[1]` (by value) are the first and last fine interval of every interval of the head, `ends[2]` the
    interval of the head, and `ends[3]` the cut behind every fine interval.
    """
    one = members[0]
    for j in range(ranks.shape[1]):
        base = bases[j] + j
        head = ends[2, base + ranks[one, j]]
        low, high = ends[0, base + head], ends[1, base + head]
        if low == high:
            continue
        counts[: high - low + 1] = 0
        for i in members:
            counts[fine[base + ranks[i, j]] - low] += weights[i]
        left = np.int64(0)
        # Invariant: `left` are the rows of the class up to the fine interval `at`.
        for at in range(low, high):
            left += counts[at - low]
            right = rows - left
            if left == 0 or right == 0:
                continue
            cut = ends[3, base + at]
            effects[cut, 0] += 1
            effects[cut, 1] += (left if left < k else 0) + (right if right < k else 0)
            effects[cut, 2] += rows * rows
            effects[cut, 2] -= left * left if left >= k else left * table
            effects[cut, 2] -= right * right if right >= k else right * table
            effects[cut, 3] = min(effects[cut, 3], left, right)
            if left >= k or right >= k:
                effects[cut, 4] = 1


@inner
def find_ends(bases, status, head, fine, ends):
    """Write the fine intervals of each interval of the head, and the cut after each of them."""
    for j in range(len(bases) - 1):
        base = bases[j] + j
        for value in range(bases[j + 1] - bases[j] + 1):
            at = base + value
            if value == 0 or head[at] != head[at - 1]:
                ends[0, base + head[at]] = fine[at]
            ends[1, base + head[at]] = fine[at]
            ends[2, at] = head[at]
            if value < bases[j + 1] - bases[j] and status[bases[j] + value] != OUT:
                ends[3, base + fine[at]] = bases[j] + value


@inner
def order_members(ids, count, starts, order):
    """Write the cells ordered by class, and where each class begins."""
    starts[: count + 1] = 0
    for i in range(len(ids)):
        starts[ids[i] + 1] += 1
    for label in range(count):
        starts[label + 1] += starts[label]
    for i in range(len(ids)):
        order[starts[ids[i]]] = i
        starts[ids[i]] += 1
    for label in range(count, 0, -1):
        starts[label] = starts[label - 1]
    starts[0] = 0


@jit
def weigh_node(ranks, weights, bases, status, k, budget, table, effects, atoms, sizes, figures):
    """Evaluate the head of a node, remove cuts from its tail that cannot be in a best answer, and bound the rest.

    Each row of `effects` (int64) is about a cut: the classes of the head that it divides, the rows that it brings below
    k, by how much it lowers the cost, the smallest part that it makes, and whether some part has k rows. `table` has
    the number of all rows and the cost of a suppressed one. The first cells of `atoms` and `sizes` become the cells of
    head and tail together. `figures` (int64): the number of these cells, the cost of the head, the bound of the node,
    and the cost of head and tail together, or -1 where that breaks the model. Returns whether the head is within the
    suppression limit.
    """
    cells, columns = ranks.shape
    length = 1
    while length < 2 * cells:
        length *= 2
    slots, keys, ids = np.empty(length, np.int64), np.empty(cells, np.int64), np.empty(cells, np.int64)
    head, fine = np.empty(bases[-1] + columns, np.int32), np.empty(bases[-1] + columns, np.int32)
    spans = np.empty(columns, np.int64)
    number_intervals(status, bases, HEAD, head, spans)
    classes = group_cells(ranks, head, bases, spans, ids, keys, slots)
    starts, order = np.empty(classes + 1, np.int64), np.empty(cells, np.int64)
    order_members(ids, classes, starts, order)
    rows = np.zeros(classes, np.int64)
    for i in range(cells):
        rows[ids[i]] += weights[i]
    dropped, cost = np.int64(0), np.int64(0)
    for label in range(classes):
        dropped += rows[label] if rows[label] < k else 0
        cost += rows[label] * (rows[label] if rows[label] >= k else table)
    figures[1] = cost
    if dropped > budget:
        return False
    number_intervals(status, bases, TAIL, fine, spans)
    ends, counts = np.empty((4, len(fine)), np.int64), np.empty(len(fine), np.int64)
    find_ends(bases, status, head, fine, ends)
    effects[:] = 0
    effects[:, 3] = table
    for label in range(classes):
        if rows[label] >= k:
            members = order[starts[label] : starts[label + 1]]
            weigh_class(ranks, weights, members, bases, fine, ends, rows[label], k, table, effects, counts)
    for cut in range(len(status)):
        # A cut that divides no class of the head divides none of any finer one, and rows that it brings below k stay
        # below k.
        useless = effects[cut, 0] == 0 or effects[cut, 4] == 0
        if status[cut] == TAIL and (useless or dropped + effects[cut, 1] > budget):
            status[cut] = OUT
    bound_node(
        ranks, weights, bases, status, k, budget, table, atoms, sizes, figures, ids, rows, (fine, spans, keys, slots)
    )
    return True


@inner
def bound_node(ranks, weights, bases, status, k, budget, table, atoms, sizes, figures, ids, rows, buffers):
    """Write the cells of head and tail, their cost, and the least cost of any cuts between the head and both."""
    fine, spans, keys, slots = buffers
    number_intervals(status, bases, TAIL, fine, spans)
    parts = np.empty(len(ranks), np.int64)
    count = group_cells(ranks, fine, bases, spans, parts, keys, slots)
    owners = keys  # the class of the head that contains an atom
    sizes[:count] = 0
    for i in range(len(ranks)):
        part = parts[i]
        if sizes[part] == 0:
            owners[part] = ids[i]
            atoms[part] = ranks[i]
        sizes[part] += weights[i]
    least = np.zeros(len(rows), np.int64)
    below, full = np.int64(0), np.int64(0)
    for part in range(count):
        size = sizes[part]
        least[owners[part]] += size * max(size, k)
        below += size if size < k else 0
        full += size * (size if size >= k else table)
    bound = np.int64(0)
    for label in range(len(rows)):
        if rows[label] < k:
            bound += rows[label] * table
        elif budget == 0 or 2 * rows[label] <= table:
            bound += max(least[label], least_squares(rows[label], k))
        else:
            bound += least[label]
    figures[0], figures[2], figures[3] = count, bound, full if below <= budget else -1
