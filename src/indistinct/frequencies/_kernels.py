"""Numba kernels for packing rows into words, grouping them, and merging classes.

A histogram of classes is a compressed sparse matrix: class i has the codes `codes[indptr[i]:indptr[i + 1]]` (int32,
ascending) with the numbers of rows `counts` (int64); `indptr` is int64. `class_ids` (int32) is the merged class of each
class, -1 for none. A word (uint64) holds the codes of several columns as bit fields; a row has one word, or w of them
where they do not fit (n × w). `owners` (int32) is the person of each row, negative where several people share the row.
Counters and dictionaries do the same in `tests/laws/test_frequencies.py` (regrouping, packing), `test_rollup.py`
(hashing) and `test_discovery.py` (unique rows).
"""

import numpy as np

from indistinct.machine.compiled import jit


@jit
def regroup_entries(indptr, codes, counts, class_ids, size, width):
    """Return compressed sparse rows of merged classes.

    Class `i` becomes part of `class_ids[i]`, or is left out if negative.
    """
    capacity = np.zeros(size + 1, dtype=np.int64)
    for i in range(len(class_ids)):
        if class_ids[i] >= 0:
            capacity[class_ids[i] + 1] += indptr[i + 1] - indptr[i]
    # `room[c]` becomes where the entries of class c begin; `place[c]` advances from there to where they end.
    for i in range(size):
        capacity[i + 1] += capacity[i]
    position = capacity[:-1].copy()
    merged_codes = np.empty(capacity[size], dtype=np.int32)
    merged_counts = np.empty(capacity[size], dtype=np.int64)
    for i in range(len(class_ids)):
        class_id = class_ids[i]
        if class_id >= 0:
            for entry in range(indptr[i], indptr[i + 1]):
                merged_codes[position[class_id]] = codes[entry]
                merged_counts[position[class_id]] = counts[entry]
                position[class_id] += 1
    return compact_entries(capacity, merged_codes, merged_counts, size, width)


@jit
def compact_entries(room, codes, counts, size, width):
    """Add up equal codes inside each class, in place; return the compressed rows with ascending codes."""
    totals = np.zeros(width, dtype=np.int64)
    indptr = np.zeros(size + 1, dtype=np.int64)
    end = 0
    # Invariant: `codes[:end]` are finished, and `end` is never ahead of the next entry to read; `totals` is zero
    # between classes.
    for class_id in range(size):
        start = end
        for entry in range(room[class_id], room[class_id + 1]):
            code, count = codes[entry], counts[entry]
            if totals[code] == 0:
                codes[end] = code
                end += 1
            totals[code] += count
        codes[start:end].sort()
        for entry in range(start, end):
            counts[entry] = totals[codes[entry]]
            totals[codes[entry]] = 0
        indptr[class_id + 1] = end
    return indptr, codes[:end].copy(), counts[:end].copy()


@jit
def add_up(class_ids, counts, sums):
    """Add each count to the sum of its class; counts of negative classes are ignored."""
    for i in range(len(class_ids)):
        if class_ids[i] >= 0:
            sums[class_ids[i]] += counts[i]


@jit
def are_entries(cells, codes, counts, indptr, entry_codes, entry_counts):
    """Return whether pieces, ascending by cell and code, sum exactly to the entries of compressed sparse rows.

    Every count must be positive.
    """
    i = 0
    # Invariant: the pieces before i sum to the entries before this one.
    for cell in range(len(indptr) - 1):
        for entry in range(indptr[cell], indptr[cell + 1]):
            left = entry_counts[entry]
            while left > 0:
                if i == len(cells) or cells[i] != cell or codes[i] != entry_codes[entry]:
                    return False
                left -= counts[i]
                i += 1
            if left < 0:
                return False
    return i == len(cells)


@jit
def mark_used(values, base, used):
    """Mark every value that occurs, counted from `base`."""
    for i in range(len(values)):
        used[values[i] - base] = True


@jit
def pack_field(words, values, base, lookup, width):
    """Append a field to every word: the code of a value, `lookup[value - base]`, in `width` bits."""
    for i in range(len(words)):
        words[i] = (words[i] << width) | lookup[values[i] - base]


@jit
def add_rows(words, first, bits):
    """Append the row number, counted from `first`, to every word."""
    for i in range(len(words)):
        words[i] = (words[i] << bits) | np.uint64(first + i)


@jit
def hashed(word):
    """Return a word with its bits well mixed (the finalizer of a 64-bit mixing function)."""
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xD6E8FEB86659FD93)
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xD6E8FEB86659FD93)
    return word ^ (word >> np.uint64(32))


@jit
def replace_field(words, word, shift, mask, table):
    """Replace a field in the word of every row by its entry in a table of shifted fields."""
    keep = ~(mask << shift)
    for i in range(len(words)):
        words[i, word] = (words[i, word] & keep) | table[(words[i, word] >> shift) & mask]


@jit
def same_words(words, i, found, group):
    """Return whether two rows of words are equal."""
    for j in range(words.shape[1]):
        if words[i, j] != found[group, j]:
            return False
    return True


@jit
def group_words_by_hash(words, counts, class_ids):
    """Number the groups of equal rows of words by first appearance.

    Writes each row's group; returns the groups' words and counts.
    """
    capacity = 16
    while capacity < 2 * len(words):
        capacity *= 2
    slots = np.full(capacity, -1, dtype=np.int32)
    distinct = np.empty(words.shape, dtype=np.uint64)
    sizes = np.empty(len(words), dtype=np.int64)
    mask = np.uint64(capacity - 1)
    groups = 0
    for i in range(len(words)):
        key = np.uint64(0)
        for j in range(words.shape[1]):
            key = hashed(key ^ words[i, j])
        slot = key & mask
        # Linear probing: every slot passed over has a group with other words.
        while slots[slot] >= 0 and not same_words(words, i, distinct, slots[slot]):
            slot = (slot + np.uint64(1)) & mask
        group = slots[slot]
        if group < 0:
            group = groups
            slots[slot] = group
            for j in range(words.shape[1]):
                distinct[group, j] = words[i, j]
            sizes[group] = 0
            groups += 1
        sizes[group] += counts[i]
        class_ids[i] = group
    return distinct[:groups].copy(), sizes[:groups].copy()


@jit
def mark_alone(order, starts, codes, size, owners, alone):
    """Mark the rows whose pair of values no other member has.

    Rows `order[starts[i]:starts[i + 1]]` have the i-th value of one column; `codes` are those of the other, below
    `size`. A negative owner means several people.
    """
    group_of = np.full(size, -1, dtype=np.int32)
    owner_of = np.empty(size, dtype=np.int32)
    for group in range(len(starts) - 1):
        # The owner of each code seen in this group, or -1 once a second member has it too.
        for index in range(starts[group], starts[group + 1]):
            row = order[index]
            code = codes[row]
            if group_of[code] != group:
                group_of[code] = group
                owner_of[code] = owners[row]
            elif owner_of[code] != owners[row]:
                owner_of[code] = -1
        for index in range(starts[group], starts[group + 1]):
            row = order[index]
            alone[row] = owner_of[codes[row]] >= 0


@jit
def mark_alone_by_table(outer, inner, size, owner_of, owners, alone):
    """Mark the rows whose pair of values no other member has, with a table of all pairs.

    Return whether there are any.

    `owner_of` has -2 for every pair at first, and `inner` codes are below `size`.
    """
    # `owner_of[pair]`: -2 for no member yet, one person, or -1 for several.
    for row in range(len(outer)):
        pair = np.int64(outer[row]) * size + inner[row]
        if owner_of[pair] == -2:
            owner_of[pair] = owners[row]
        elif owner_of[pair] != owners[row]:
            owner_of[pair] = -1
    anybody = False
    for pair in range(len(owner_of)):
        anybody |= owner_of[pair] >= 0
    if anybody:
        for row in range(len(outer)):
            alone[row] = owner_of[np.int64(outer[row]) * size + inner[row]] >= 0
    return anybody
