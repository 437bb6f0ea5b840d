"""Numba kernels that enumerate the tuples of published buckets and count the buckets that match a tuple."""

import numpy as np

from indistinct.compiled import jit


@jit
def extend_products(words, starts, values, value_starts, radix, out):
    """Write every word of a bucket followed by every value of the bucket; all numbers but the starts are uint64."""
    place = 0
    for bucket in range(len(starts) - 1):
        for i in range(starts[bucket], starts[bucket + 1]):
            for k in range(value_starts[bucket], value_starts[bucket + 1]):
                out[place] = words[i] * radix + values[k]
                place += 1


@jit
def fill_bits(starts, lists, rows, bits):
    """Set the bits of the buckets of every value that has a row of bits."""
    for value in range(len(rows)):
        if rows[value] >= 0:
            for i in range(starts[value], starts[value + 1]):
                bits[rows[value], lists[i] >> 6] |= np.uint64(1) << np.uint64(lists[i] & 63)


@jit
def count_matching(tuples, starts, lists, rows, bits, found):
    """Write how many buckets hold every value of each tuple, beginning with its rarest value.

    Values with more buckets than a row of bits has words own such a row. Where the rarest value owns one, so do all.
    """
    for i in range(len(tuples)):
        rarest, length = tuples[i, 0], np.int64(-1)
        for j in range(tuples.shape[1]):
            size = starts[tuples[i, j] + 1] - starts[tuples[i, j]]
            if length < 0 or size < length:
                rarest, length = tuples[i, j], size
        if rows[rarest] >= 0:
            found[i] = _count_common_bits(tuples, i, rows, bits)
            continue
        count = 0
        for k in range(starts[rarest], starts[rarest + 1]):
            everywhere = True
            for j in range(tuples.shape[1]):
                if tuples[i, j] != rarest and not _holds(lists[k], tuples[i, j], starts, lists, rows, bits):
                    everywhere = False
                    break
            count += everywhere
        found[i] = count


@jit
def _count_common_bits(tuples, i, rows, bits):
    count = 0
    for word in range(bits.shape[1]):
        common = bits[rows[tuples[i, 0]], word]
        for j in range(1, tuples.shape[1]):
            common &= bits[rows[tuples[i, j]], word]
        count += _ones(common)
    return count


@jit
def _ones(word):
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def _holds(bucket, value, starts, lists, rows, bits):
    if rows[value] >= 0:
        return (bits[rows[value], bucket >> 6] >> np.uint64(bucket & 63)) & np.uint64(1) == np.uint64(1)
    low, high = starts[value], starts[value + 1]
    while low < high:
        middle = (low + high) >> 1
        if lists[middle] < bucket:
            low = middle + 1
        else:
            high = middle
    return low < starts[value + 1] and lists[low] == bucket
