"""The compiled loop that finds the fields of delimited text and numbers the distinct fields of each column.

`data` (uint8) are the bytes of a block followed by 16 spare bytes; `words` (uint64) views the same memory at every
byte: `words[i]` are the eight bytes from `data[i]` on, the first one lowest. With c columns to read and space for e
distinct fields of each: `wanted` (int64) has the output column of every field of a row, `codes` is c × rows (int32),
`slots` are c hash tables of 4e entries (int32), `begins`, `lengths` and `keys` are c · e (uint64), `counts` c (int64).
`tests/unit/tables/test_fields.py` compares the result with what Arrow reads.
"""

import numpy as np

from indistinct.machine.compiled import jit

STRANGE, FULL = -1, -2
"""Why rows were not read: they are not plain, or there are too many distinct fields."""

ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
ONE, THREE, EIGHT, LAST, BYTES, HALF = (np.uint64(each) for each in (1, 3, 8, 56, 8, 32))
END, RETURN, QUOTE = np.uint8(10), np.uint8(13), np.uint8(34)


@jit
def number_fields(data, words, stop, mark, wanted, codes, slots, begins, lengths, keys, counts):
    """Number the fields of every row up to `stop`, which is after the end of a line; return the number of rows.

    Field `i` of a row belongs to output column `wanted[i]`, or to none if that is negative. `codes[j, row]` becomes the
    number of the field in column `j`. Its bytes are the `lengths[e]` from `begins[e]` on, where `e` is that number plus
    `j` times the space of a column. `slots` must be full of -1 and `counts` of 0. Rows with another number of fields,
    and line breaks in quotes, return `STRANGE`.
    """
    marks, ends = np.uint64(mark) * ONES, np.uint64(END) * ONES
    returns, quotes = np.uint64(RETURN) * ONES, np.uint64(QUOTE) * ONES
    width, stop = len(wanted), np.uint64(stop)
    last = np.full(len(codes), -1, dtype=np.int64)
    most, slots_per_code = len(begins) // len(codes), np.uint64(len(slots) // len(codes))
    mask = slots_per_code - ONE
    row, at = 0, np.uint64(0)
    behind, above = np.zeros(width, dtype=np.uint64), stop  # ends of the previous row's fields, and its start
    # Invariant: `at` is the first byte of row `row`; all rows before it have their codes.
    while at < stop:
        # The fields before `first` are byte for byte those of the previous row, and have its codes.
        first, begin = 0, at
        if above < stop:
            first = fields_alike(words, above, at, stop, behind)
            for index in range(first):
                if wanted[index] >= 0:
                    codes[wanted[index], row] = last[wanted[index]] - wanted[index] * most
            if first:
                at += behind[first - 1]
        for index in range(first, width):
            start = at
            if data[at] == QUOTE:
                at = behind_quotes(data, at, stop)
                if at >= stop:
                    return STRANGE
            else:
                # Advance by eight bytes until one of them is a delimiter, a line end or a quote.
                while True:
                    word = words[at]
                    special = zeros(word ^ marks) | zeros(word ^ ends) | zeros(word ^ returns) | zeros(word ^ quotes)
                    if special != np.uint64(0):
                        break
                    at += EIGHT
                # The bits below the lowest set bit are counted, one per byte, which includes that byte itself.
                at += (((((special & (~special + ONE)) - ONE) & ONES) * ONES) >> LAST) - ONE
            if data[at] != (END if index == width - 1 else mark):
                return STRANGE
            j = wanted[index]
            if j >= 0:
                length = at - start
                key = key_of(words, start, length)
                entry = last[j]
                if entry < 0 or not same_field(words, begins, lengths, keys, entry, start, length, key):
                    slot = (key ^ length) * np.uint64(0xD6E8FEB86659FD93)
                    slot = (slot ^ slot >> HALF) & mask
                    base = np.uint64(j) * slots_per_code
                    entry = np.int64(slots[base + slot])
                    # Linear probing: every slot passed over has another field of this column.
                    while entry >= 0 and not same_field(words, begins, lengths, keys, entry, start, length, key):
                        slot = (slot + ONE) & mask
                        entry = np.int64(slots[base + slot])
                    if entry < 0:
                        if counts[j] == most:
                            return FULL
                        entry = j * most + counts[j]
                        slots[base + slot] = entry
                        begins[entry] = start
                        lengths[entry] = length
                        keys[entry] = key
                        counts[j] += 1
                    last[j] = entry
                codes[j, row] = entry - j * most
            at += ONE
            behind[index] = at - begin
        above = begin
        row += 1
    return row


@jit
def fields_alike(words, above, at, stop, behind):
    """Return how many fields at the beginning of a row equal those of the previous row.

    `behind` is where these end.
    """
    same, width = np.uint64(0), len(behind)
    whole = min(behind[width - 1], stop - at)
    # Invariant: the first `same` bytes of both rows agree.
    while same < whole and words[above + same] == words[at + same]:
        same += EIGHT
    differs = words[above + same] ^ words[at + same]
    if same < whole:
        while differs & np.uint64(255) == np.uint64(0):
            differs >>= EIGHT
            same += ONE
    same = min(same, whole)
    first = 0
    while first < width and behind[first] <= same:
        first += 1
    return first


@jit
def zeros(word):
    """Return a word whose lowest set bit is the top bit of the lowest zero byte of a word; 0 if none is zero."""
    return (word - ONES) & ~word & TOPS


@jit
def behind_quotes(data, at, stop):
    """Return the position after a quoted field; `stop` if it contains a line break or does not end."""
    at += ONE
    while at < stop:
        byte = data[at]
        if byte == QUOTE:
            if data[at + ONE] != QUOTE:
                return at + ONE
            at += ONE
        elif byte in (END, RETURN):
            return stop
        at += ONE
    return stop


@jit
def key_of(words, start, length):
    """Return a hash word for a field; a field of up to seven bytes is its own word."""
    key, at = np.uint64(0), start
    while length >= BYTES:
        key = (key ^ words[at]) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> HALF
        at += BYTES
        length -= BYTES
    return key ^ (words[at] & ((ONE << (length << THREE)) - ONE))


@jit
def same_field(words, begins, lengths, keys, entry, start, length, key):
    """Return whether a field equals that of an entry."""
    entry = np.uint64(entry)
    if keys[entry] != key or lengths[entry] != length:
        return False
    if length < BYTES:
        return True
    begin = begins[entry]
    while length >= BYTES:
        if words[begin] != words[start]:
            return False
        begin += BYTES
        start += BYTES
        length -= BYTES
    return ((words[begin] ^ words[start]) & ((ONE << (length << THREE)) - ONE)) == np.uint64(0)


@jit
def copy_fields(data, begins, starts, out):
    """Copy field `i`, which begins at `begins[i]`, to `out[starts[i] : starts[i + 1]]`."""
    for i in range(len(begins)):
        for offset in range(starts[i + 1] - starts[i]):
            out[starts[i] + offset] = data[begins[i] + np.uint64(offset)]
