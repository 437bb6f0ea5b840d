"""The loops that look rows up among cells: a table of places that a word's own bits lead to."""

import numpy as np

from indistinct.compiled import inner, jit


@inner
def slot_of(word, bits):
    """Return where the search for a word begins: the upper bits of a product (Fibonacci hashing, Knuth 1973)."""
    return np.int64((np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))


@jit
def enter_words(words, slots, bits):
    """Enter the place of each word into the first free slot from where its search begins; free ones hold -1."""
    last = len(slots) - 1
    for place in range(len(words)):
        slot = slot_of(words[place], bits)
        while slots[slot] >= 0:
            slot = slot + 1 if slot < last else 0
        slots[slot] = place


@jit
def find_words(words, known, slots, bits, out):
    """Write the place of each word among those that are known, -1 for others; return the number of those."""
    last, strange = len(slots) - 1, 0
    for i in range(len(words)):
        word = words[i]
        slot = slot_of(word, bits)
        while slots[slot] >= 0 and known[slots[slot]] != word:
            slot = slot + 1 if slot < last else 0
        out[i] = slots[slot]
        if out[i] < 0:
            strange += 1
    return strange
