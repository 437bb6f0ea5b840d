"""Numba kernels that list the sets of tokens of each person, and choose labels that meet all violated sets.

Tokens are sorted by person: those of person p are `starts[p]:starts[p + 1]`, each with a dense number (`token`), the
cell of its label (`cell`), how many rows it stands for (`weight`) and its table. A set of at most three tokens of
different cells is packed into one word, `BITS` bits a token, the last one lowest. The plain twins are
combinations and dictionaries in `tests/unit/linked/test_sets.py`.
"""

import numpy as np

from indistinct.machine.compiled import inner, jit

BITS = 21


@inner
def fits(tables, weights, limits, rows):
    """Return whether an attacker can know these tokens: by table, and together."""
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


@jit
def meet_sets(sets, class_starts, class_of_cell, rows, chosen):
    """Mark in `chosen` cells that together meet every set: in each class, time and again the one in most sets a row.

    `sets` (n × 3) holds cells of one class each, -1 where there are fewer; those of class c are
    `class_starts[c]:class_starts[c + 1]`. Of equal cells the first is chosen.
    """
    votes = np.zeros(len(rows), dtype=np.int64)
    for number in range(len(class_starts) - 1):
        first, last = class_starts[number], class_starts[number + 1]
        for i in range(first, last):
            for j in range(sets.shape[1]):
                if sets[i, j] >= 0:
                    votes[sets[i, j]] += 1
        left = last - first
        open_sets = np.ones(left, dtype=np.bool_)
        low, high = len(rows), -1
        for i in range(first, last):
            for j in range(sets.shape[1]):
                if sets[i, j] >= 0:
                    low, high = min(low, sets[i, j]), max(high, sets[i, j])
        while left > 0:
            best = -1
            for cell in range(low, high + 1):
                if votes[cell] > 0 and (best < 0 or votes[cell] * rows[best] > votes[best] * rows[cell]):
                    best = cell
            chosen[best] = True
            for i in range(first, last):
                if not open_sets[i - first]:
                    continue
                met = False
                for j in range(sets.shape[1]):
                    met |= sets[i, j] == best
                if met:
                    open_sets[i - first] = False
                    left -= 1
                    for j in range(sets.shape[1]):
                        if sets[i, j] >= 0:
                            votes[sets[i, j]] -= 1
        for cell in range(low, high + 1):
            votes[cell] = 0
