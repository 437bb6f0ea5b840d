"""Numba kernels that enumerate the tuples of published buckets and count the buckets that match a tuple."""

import numpy as np

from indistinct.machine.compiled import jit


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
def count_matching(tuples, offsets, listed, starts, lists, rows, bits, runs, low, high, found):
    """Write how many buckets hold every value of each tuple, beginning with its rarest value of a listed column.

    Values with more buckets than a row of bits has words own such a row. Where the rarest value owns one, so do all of
    listed columns. Buckets that are left are asked for the values of the other columns, run by run.
    """
    for i in range(len(tuples)):
        rarest, length = np.int64(-1), np.int64(-1)
        for j in range(tuples.shape[1]):
            if listed[j]:
                size = starts[tuples[i, j] + 1] - starts[tuples[i, j]]
                if length < 0 or size < length:
                    rarest, length = tuples[i, j], size
        if rows[rarest] >= 0:
            found[i] = _count_common_bits(tuples, i, offsets, listed, rows, bits, runs, low, high)
            continue
        count = 0
        for k in range(starts[rarest], starts[rarest + 1]):
            everywhere = True
            for j in range(tuples.shape[1]):
                value = tuples[i, j]
                if listed[j] and value != rarest and not _holds(lists[k], value, starts, lists, rows, bits):
                    everywhere = False
                    break
            count += everywhere and _covers_others(lists[k], tuples, i, offsets, listed, runs, low, high)
        found[i] = count


@jit
def _count_common_bits(tuples, i, offsets, listed, rows, bits, runs, low, high):
    count, every = 0, listed.all()
    for word in range(bits.shape[1]):
        common = ~np.uint64(0)
        for j in range(tuples.shape[1]):
            if listed[j]:
                common &= bits[rows[tuples[i, j]], word]
        if every:
            count += _ones(common)
            continue
        place = word << 6
        while common:
            if common & np.uint64(1):
                count += _covers_others(place, tuples, i, offsets, listed, runs, low, high)
            common >>= np.uint64(1)
            place += 1
    return count


@jit
def _covers_others(bucket, tuples, i, offsets, listed, runs, low, high):
    """Return whether a bucket covers a tuple in every column of which buckets are not listed."""
    for j in range(tuples.shape[1]):
        if not listed[j]:
            code = tuples[i, j] - offsets[j]
            first, last = runs[j, bucket], runs[j, bucket + 1]
            while first < last:  # the first run that does not end before the code
                middle = (first + last) >> 1
                if high[middle] < code:
                    first = middle + 1
                else:
                    last = middle
            if first == runs[j, bucket + 1] or low[first] > code:
                return False
    return True


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
