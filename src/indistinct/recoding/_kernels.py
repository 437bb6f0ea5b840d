"""Numba kernels that find the class of a cell and the extent of a class."""

import numba as nb
import numpy as np

jit = nb.njit(cache=True, nogil=True)


@jit
def locate(nodes, ranks, labels):
    """Write the leaf of every row of a matrix of ranks; a node is (axis, cut, left, right)."""
    for i in range(len(ranks)):
        node = 0
        while nodes[node, 0] >= 0:
            node = nodes[node, 2] if ranks[i, nodes[node, 0]] <= nodes[node, 1] else nodes[node, 3]
        labels[i] = nodes[node, 2]


@jit
def extents_by_label(values, labels, floor, low, high, below):
    """Write each class's smallest and largest value from `floor` up, and whether it holds one below it."""
    for i in range(len(values)):
        label = labels[i]
        if label < 0:
            continue
        value = values[i]
        if value < floor:
            below[label] = True
        else:
            low[label] = min(low[label], value)
            high[label] = max(high[label], value)


@jit
def region_bounds(axis, cut, left, right, low, high):
    """Write the box of every leaf; `low[0]` and `high[0]` hold the whole domain and are overwritten."""
    columns, nodes = low.shape[1], len(axis)
    box_low = np.empty((nodes, columns), dtype=low.dtype)
    box_high = np.empty((nodes, columns), dtype=high.dtype)
    for j in range(columns):
        box_low[0, j], box_high[0, j] = low[0, j], high[0, j]
    stack = [0]
    while len(stack):
        node = stack.pop()
        if axis[node] < 0:
            for j in range(columns):
                low[left[node], j], high[left[node], j] = box_low[node, j], box_high[node, j]
            continue
        for child in (left[node], right[node]):
            for j in range(columns):
                box_low[child, j], box_high[child, j] = box_low[node, j], box_high[node, j]
            stack.append(child)
        box_high[left[node], axis[node]] = cut[node]
        box_low[right[node], axis[node]] = cut[node] + 1


@jit
def members_cover(indptr, codes, published, values, covered):
    """Write whether each value is among the members of its published set; members ascend."""
    for i in range(len(published)):
        low, high = indptr[published[i]], indptr[published[i] + 1]
        while low < high:
            middle = (low + high) >> 1
            if codes[middle] < values[i]:
                low = middle + 1
            else:
                high = middle
        covered[i] = low < indptr[published[i] + 1] and codes[low] == values[i]


@jit
def mark_members(ranks, labels, masks):
    """Set a class's bit for every rank that it holds; there are at most 64 ranks."""
    for i in range(len(ranks)):
        masks[labels[i]] |= np.uint64(1) << np.uint64(ranks[i])


@jit
def spread_members(masks, size):
    """Return the ranks of every mask as compressed sparse rows."""
    indptr = np.zeros(len(masks) + 1, dtype=np.int64)
    for i in range(len(masks)):
        count = 0
        mask = masks[i]
        while mask:
            mask &= mask - np.uint64(1)
            count += 1
        indptr[i + 1] = indptr[i] + count
    members = np.empty(indptr[-1], dtype=np.int32)
    place = 0
    for i in range(len(masks)):
        for rank in range(size):
            if (masks[i] >> np.uint64(rank)) & np.uint64(1):
                members[place] = rank
                place += 1
    return indptr, members
