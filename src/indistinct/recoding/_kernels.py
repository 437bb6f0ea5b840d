"""Numba kernels that find the class of a cell and the extent of a class."""

import numpy as np

from indistinct.compiled import jit


@jit
def locate(nodes, starts, members, ranks, class_ids):
    """Write the leaf of every row of a matrix of ranks; a node is (axis, cut, left, right).

    A negative cut is a set of ranks: so many places of `members`, which ascend.
    """
    for i in range(len(ranks)):
        node = 0
        while nodes[node, 0] >= 0:
            rank, cut = np.int64(ranks[i, nodes[node, 0]]), nodes[node, 1]
            goes_left = rank <= cut
            if cut < 0:
                low, high = starts[-1 - cut], starts[-cut]
                while low < high:
                    middle = (low + high) >> 1
                    if members[middle] < rank:
                        low = middle + 1
                    else:
                        high = middle
                goes_left = low < starts[-cut] and members[low] == rank
            node = nodes[node, 2] if goes_left else nodes[node, 3]
        class_ids[i] = nodes[node, 2]


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
