"""Numba kernels that list the sets of tokens of each person, and choose labels that meet all violations.

Tokens are sorted by person: those of person p are `starts[p]:starts[p + 1]`, each with a dense number (`token`), the
cell of its label (`cell`), its number of rows (`weight`) and its table. A set of at most three tokens of different
cells is packed into one word, `BITS` bits a token, the last one lowest. What they lead to is compared with the
definition in `tests/unit/linked/test_suppress.py`.
"""

import numpy as np

from indistinct.machine.compiled import inner, jit

BITS = 21


@inner
def fits(tables, weights, limits, rows):
    """Return whether an attacker can know these tokens, by the limits of each table and of all together."""
    total = 0
    for i in range(len(tables)):
        total += weights[i]
        own = 0
        for j in range(len(tables)):
            if tables[j] == tables[i]:
                own += weights[j]
        if own > limits[tables[i]]:
            return False
    return total <= rows


@jit
def list_sets(starts, token, cell, weight, table, limits, rows, size, words, owners, fill):
    """Write the words and owners of all sets of `size` tokens if `fill`; return how many there are."""
    count = 0
    tables = np.zeros(size, dtype=np.int64)
    weights = np.zeros(size, dtype=np.int64)
    for person in range(len(starts) - 1):
        for a in range(starts[person], starts[person + 1]):
            tables[0], weights[0] = table[a], weight[a]
            if size == 1:
                if fits(tables, weights, limits, rows):
                    if fill:
                        words[count], owners[count] = token[a], person
                    count += 1
                continue
            for b in range(a + 1, starts[person + 1]):
                if cell[b] == cell[a] or weight[a] + weight[b] > rows:
                    continue
                tables[1], weights[1] = table[b], weight[b]
                if size == 2:
                    if fits(tables, weights, limits, rows):
                        if fill:
                            words[count] = (token[a] << BITS) | token[b]
                            owners[count] = person
                        count += 1
                    continue
                for c in range(b + 1, starts[person + 1]):
                    if cell[c] == cell[b]:
                        continue
                    tables[2], weights[2] = table[c], weight[c]
                    if fits(tables, weights, limits, rows):
                        if fill:
                            words[count] = (token[a] << (2 * BITS)) | (token[b] << BITS) | token[c]
                            owners[count] = person
                        count += 1
    return count


@inner
def count_votes(sets, value, first, last, carrier_starts, carriers, still, votes):
    """Count in `votes` how many violations of a class each cell meets, and in `still` the open ones of each value.

    Return the first and the last cell with a vote.
    """
    low, high = len(votes), -1
    for i in range(first, last):
        if value[i] >= 0:
            still[value[i]] += 1
        for j in range(sets.shape[1]):
            if sets[i, j] >= 0:
                votes[sets[i, j]] += 1
                low, high = min(low, sets[i, j]), max(high, sets[i, j])
    for v in np.unique(value[first:last]):
        if v >= 0:
            for cell in carriers[carrier_starts[v] : carrier_starts[v + 1]]:
                votes[cell] += still[v]
                low, high = min(low, cell), max(high, cell)
    return low, high


@jit
def meet_violations(sets, value, class_starts, rows, carrier_starts, carriers, value_starts, values, chosen):
    """Mark in `chosen` cells that together meet every violation.

    Per class, repeatedly the cell that meets most per row.

    Violations are sorted by class; those of class c are `class_starts[c]:class_starts[c + 1]`. `sets` (n × 3) holds
    their cells, -1 where there are fewer, and `value` the number of a frequent value, -1 without one. Value v is
    carried by the cells `carriers[carrier_starts[v]:carrier_starts[v + 1]]`, and cell c carries
    `values[value_starts[c]:value_starts[c + 1]]`. A violation is met by a cell of its set, and by one that carries its
    value, which need not be enough. Of equal cells the first is chosen.
    """
    votes = np.zeros(len(rows), dtype=np.int64)
    still = np.zeros(len(carrier_starts), dtype=np.int64)
    carried = np.zeros(len(carrier_starts), dtype=np.bool_)
    for number in range(len(class_starts) - 1):
        first, last = class_starts[number], class_starts[number + 1]
        low, high = count_votes(sets, value, first, last, carrier_starts, carriers, still, votes)
        named = np.unique(value[first:last])
        open_ones = np.ones(last - first, dtype=np.bool_)
        left = last - first
        while left > 0:
            best = -1
            for cell in range(low, high + 1):
                if votes[cell] > 0 and (best < 0 or votes[cell] * rows[best] > votes[best] * rows[cell]):
                    best = cell
            if best < 0:
                break
            chosen[best] = True
            for v in values[value_starts[best] : value_starts[best + 1]]:
                carried[v] = True
            for i in range(first, last):
                if not open_ones[i - first]:
                    continue
                matches = value[i] >= 0 and carried[value[i]]
                for j in range(sets.shape[1]):
                    matches |= sets[i, j] == best
                if matches:
                    open_ones[i - first] = False
                    left -= 1
                    if value[i] >= 0:
                        still[value[i]] -= 1
                        for cell in carriers[carrier_starts[value[i]] : carrier_starts[value[i] + 1]]:
                            votes[cell] -= 1
                    for j in range(sets.shape[1]):
                        if sets[i, j] >= 0:
                            votes[sets[i, j]] -= 1
            for v in values[value_starts[best] : value_starts[best + 1]]:
                carried[v] = False
        for v in named:
            if v >= 0:
                still[v] = 0
        for cell in range(low, high + 1):
            votes[cell] = 0
