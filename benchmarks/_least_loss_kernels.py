"""Compiled bounds of what a partition into classes must lose: distances between cells, and an exact search.

The *distance* of two cells is what a class of both costs a row: no class that holds both costs less.
"""

import numpy as np

from indistinct.algorithms.cluster._refine_kernels import SET, charge_of
from indistinct.machine.compiled import jit


@jit
def distance(charges, ranks, a, b, limit):
    """Return what a class of two cells costs a row, or infinity as soon as that is not below `limit`."""
    total = 0.0
    for j in range(ranks.shape[1]):
        one, two = ranks[a, j], ranks[b, j]
        if one != two:
            if charges.kind[j] == SET:
                total += charge_of(charges, j, 0, 0, 2)
            elif one >= charges.floor[j] and two >= charges.floor[j]:
                total += charge_of(charges, j, min(one, two), max(one, two), 0)
            if total >= limit:
                return np.inf
    return total


@jit
def company(charges, ranks, counts, wanted, queries, least):
    """Write how far each of some cells must reach until `wanted` rows are within reach, its own among them.

    Nearest cells are kept sorted, few of them: as soon as they have enough rows nothing farther matters.
    """
    nearest, rows = np.empty(wanted, dtype=np.float64), np.empty(wanted, dtype=np.int64)
    for q in range(len(queries)):
        a = queries[q]
        kept, total, limit = 0, counts[a], np.inf
        for b in range(len(counts)):
            if b == a:
                continue
            far = distance(charges, ranks, a, b, limit)
            if far >= limit:
                continue
            place = kept
            while place and nearest[place - 1] > far:
                nearest[place], rows[place] = nearest[place - 1], rows[place - 1]
                place -= 1
            nearest[place], rows[place] = far, counts[b]
            kept, total = kept + 1, total + counts[b]
            while kept and total - rows[kept - 1] >= wanted:
                kept, total = kept - 1, total - rows[kept - 1]
            if total >= wanted:
                limit = nearest[kept - 1]
        least[q] = nearest[kept - 1] if total >= wanted and kept else 0.0


@jit
def cost_of(charges, ranks, members, number):
    """Return what a class of some cells costs a row."""
    total = 0.0
    for j in range(ranks.shape[1]):
        if charges.kind[j] == SET:
            distinct = 0
            for i in range(number):
                fresh = 1
                for other in range(i):
                    if ranks[members[other], j] == ranks[members[i], j]:
                        fresh = 0
                distinct += fresh
            total += charge_of(charges, j, 0, 0, distinct)
        else:
            low, high = 1 << 30, -1
            for i in range(number):
                rank = ranks[members[i], j]
                if rank >= charges.floor[j]:
                    low, high = min(low, rank), max(high, rank)
            total += charge_of(charges, j, low, high, 0)
    return total


@jit
def list_classes(charges, ranks, counts, wanted, members, price):
    """Write every class that an optimal partition may have, and what its rows pay in all; return how many there are.

    A class that can be parted is left out, for its parts cost no more: counts above `wanted` taken for that, one of
    3 * wanted - 2 rows can, and so can one of 2 * wanted equal counts of 1. -1 says that they do not fit.
    """
    cells, found, number, capped = len(counts), 0, 0, np.int64(0)
    most = 2 * wanted - 1 if counts.max() == 1 else 3 * wanted - 3
    chosen, following = np.empty(cells, dtype=np.int64), 0
    while True:
        if following < cells and capped < most and number < members.shape[1]:
            chosen[number], number = following, number + 1
            capped += min(counts[following], wanted)
            if wanted <= capped and capped <= most:
                if found == len(price):
                    return -1
                rows = np.int64(0)
                for i in range(number):
                    members[found, i] = chosen[i]
                    rows += counts[chosen[i]]
                price[found] = rows * cost_of(charges, ranks, chosen, number)
                found += 1
            following += 1
            continue
        if number == 0:
            return found
        number -= 1
        capped -= min(counts[chosen[number]], wanted)
        following = chosen[number] + 1


@jit
def raise_duties(members, slack, cell, duty):
    """Raise what a cell must pay until some class of it is exhausted; lower the slack of all its classes."""
    least = np.inf
    for g in range(len(slack)):
        for i in range(members.shape[1]):
            if members[g, i] == cell:
                least = min(least, slack[g])
    for g in range(len(slack)):
        for i in range(members.shape[1]):
            if members[g, i] == cell:
                slack[g] -= least
    duty[cell] += least


@jit
def least_partition(members, slack, first, gap, budget):
    """Return the least sum of slacks of classes that part all cells, if below `gap`, and the steps; -1 are too many.

    Classes stand by their first cell, which `first` tells, and by slack inside. The first cell that is in no class
    takes one class of its own after the other: it is nobody's later one.
    """
    cells, depth, steps = len(first) - 1, 0, 0
    used, total = np.zeros(cells, dtype=np.int64), np.zeros(cells + 1, dtype=np.float64)
    opener, taken = np.zeros(cells + 1, dtype=np.int64), np.full(cells + 1, -1, dtype=np.int64)
    taken[0] = first[0] - 1
    while steps < budget:
        steps += 1
        g = taken[depth]
        if g >= first[opener[depth]]:
            for i in range(members.shape[1]):
                if members[g, i] >= 0:
                    used[members[g, i]] = 0
        g += 1
        while g < first[opener[depth] + 1] and total[depth] + slack[g] < gap:
            free = True
            for i in range(members.shape[1]):
                free = free and (members[g, i] < 0 or not used[members[g, i]])
            if free:
                break
            g += 1
        if g == first[opener[depth] + 1] or total[depth] + slack[g] >= gap:
            if depth == 0:
                return gap, steps
            depth -= 1
            continue
        taken[depth] = g
        for i in range(members.shape[1]):
            if members[g, i] >= 0:
                used[members[g, i]] = 1
        following = opener[depth]
        while following < cells and used[following]:
            following += 1
        if following == cells:
            gap = total[depth] + slack[g]
            continue
        depth += 1
        total[depth], opener[depth] = total[depth - 1] + slack[taken[depth - 1]], following
        taken[depth] = first[following] - 1
    return gap, -1
