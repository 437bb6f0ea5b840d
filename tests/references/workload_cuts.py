"""What a cut weighs for a workload, by its definition: loops over cells, queries and columns."""

import numpy as np


def covered(column, kind, ranks):
    """Return the ranks that a class of some cells covers, as it would be published."""
    if kind == "set":
        return set(ranks)
    low, high = min(ranks), max(ranks)
    if kind == "line":
        return set(range(low, high + 1))
    ancestors = column.taxonomy.ancestors[column.by_rank]
    level = next(each for each in range(ancestors.shape[1]) if len({ancestors[rank, each] for rank in ranks}) == 1)
    return set(np.flatnonzero(ancestors[:, level] == ancestors[low, level]).tolist())


def weight_of_side(cells, ranks, counts, columns, kinds, accepted, weights, truths, tie):
    """Return what one side of a cut weighs."""
    rows = sum(int(counts[cell]) for cell in cells)
    covers = [
        covered(column, kind, [int(ranks[cell, place]) for cell in cells])
        for place, (column, kind) in enumerate(zip(columns, kinds, strict=True))
    ]
    widths = [
        (len(cover) - 1) / (len(column.domain) - 1) if len(column.domain) > 1 else 0.0
        for column, cover in zip(columns, covers, strict=True)
    ]
    total = tie * rows * sum(widths) / len(columns)
    for query, (weight, truth) in enumerate(zip(weights, truths, strict=True)):
        share, inside = 1.0, set(cells)
        for place, cover in enumerate(covers):
            if accepted[place] is not None:
                share *= sum(accepted[place][query, rank] for rank in cover) / len(cover)
                inside = {cell for cell in inside if accepted[place][query, ranks[cell, place]]}
        asked = sum(int(counts[cell]) for cell in inside)
        total += weight / truth * (abs(rows * share - asked) + asked * (rows - asked) / rows)
    return total


def weight_of_cut(left, right, *described):
    """Return what a cut weighs: both of its sides."""
    return weight_of_side(left, *described) + weight_of_side(right, *described)
