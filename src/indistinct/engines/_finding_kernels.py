"""The loops that look rows up among cells: a hash table of indices that a word's own bits lead to.

`words` and `known` are uint64: the packed values of rows, and those of the cells, each once. `slots` (int32, 2 ** bits,
at least half as many again as there are cells) holds an index into `known`, or -1 where it is free; `out` is int32. The
plain twin is `_by_search` in `finding.py`; `tests/unit/engines/test_finding.py` compares both.
"""

import numpy as np

from indistinct.machine.compiled import inner, jit


@inner
def slot_of(word, bits):
    """Return the first slot to look at for a word: the upper bits of a product (Fibonacci hashing, Knuth 1973)."""
    return np.int64((np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))


@jit
def enter_words(words, slots, bits):
    """Enter the index of each word into the first free slot from where its search begins; free ones hold -1."""
    last = len(slots) - 1
    for index in range(len(words)):
        slot = slot_of(words[index], bits)
        # No slot between where the search began and `slot` is free: `find_words` will pass this way.
        while slots[slot] >= 0:
            slot = slot + 1 if slot < last else 0
        slots[slot] = index


@jit
def find_words(words, known, slots, bits, out):
    """Write the index of each word among those that are known, -1 for others; return the number of those."""
    last, strange = len(slots) - 1, 0
    for i in range(len(words)):
        word = words[i]
        slot = slot_of(word, bits)
        # Linear probing ends at the word, or at a free slot: then the word is not there.
        while slots[slot] >= 0 and known[slots[slot]] != word:
            slot = slot + 1 if slot < last else 0
        out[i] = slots[slot]
        if out[i] < 0:
            strange += 1
    return strange
