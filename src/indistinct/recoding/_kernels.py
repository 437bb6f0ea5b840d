"""Numba kernels that find the class of a cell and the extent of a class, given the binary tree of cuts.

With m nodes and d columns: `nodes` is m × 4 (int32); `axis`, `cut`, `left` and `right` are its columns as arrays of
their own; a leaf has axis -1 and its class in `left`. `ranks` is n × d (uint32), `class_ids` n (int32), `low` and
`high` are classes × d (int32). `starts` (int64) and `members` (int32) are the sets of ranks at which columns without an
order are cut. The plain twin of `locate` is `Cuts._descend`; `tests/laws/test_partition.py` compares both, and the
boxes with those of a recursion over the tree.
"""

import numpy as np

from indistinct.machine.compiled import jit


@jit
def locate(nodes, starts, members, ranks, class_ids):
    """Write the leaf of every row of a matrix of ranks; a node is (axis, cut, left, right).

    A cut of -1 - s is the set s of ranks, `members[starts[s]:starts[s + 1]]`, which ascend: they go left.
    """
    for i in range(len(ranks)):
        node = 0
        # Row i lies in the region of `node`.
        while nodes[node, 0] >= 0:
            rank, cut = np.int64(ranks[i, nodes[node, 0]]), nodes[node, 1]
            goes_left = rank <= cut
            if cut < 0:
                low, high = starts[-1 - cut], starts[-cut]
                # Binary search: members before `low` are below the rank, members from `high` on are not.
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
    # Every node on the stack has its box in `box_low` and `box_high`.
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
