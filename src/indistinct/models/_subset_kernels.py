"""Numba kernels that count groups of classes which share the labels of some columns.

`prefix` (int64) and `codes` (uint16 or int32) have one entry a class: its group by all columns of a set but the last,
and its label in the last one; `radix` is the number of labels of that. Their group is `prefix * radix + code`, and
`table` (int64) has one entry a group. `alive` (bool) marks the classes that were not dropped; several threads may write
it, each for other sets, because entries only change from True to False. `sizes` (int64) has the rows of each class.
Where people are counted, `persons` and `owners` (int32) have one entry for each person of each class, in the order of
people. `testing/reference.py` does the same with a dictionary.
"""

import numpy as np

from indistinct.machine.compiled import inner, jit

# A group's entry while people are counted: the low half is their number, the high half the last counted person plus 1.
HALF = 32
COUNT = (1 << HALF) - 1


@inner
def counted_with(known, person):
    """Return a group's entry after a row of a person; the person counted last is not counted again."""
    if known >> HALF == np.int64(person) + 1:
        return known
    return ((np.int64(person) + 1) << HALF) | ((known & COUNT) + 1)


@jit
def count_rows(prefix, codes, radix, sizes, alive, table):
    """Write the rows of each group."""
    table[:] = 0
    for i in range(len(prefix)):
        if alive[i]:
            table[prefix[i] * radix + codes[i]] += sizes[i]


@jit
def count_people(prefix, codes, radix, persons, owners, alive, table):
    """Write the people of each group, counting a person with several rows once."""
    table[:] = 0
    # A person's entries are adjacent, so comparing with the last counted person suffices.
    for entry in range(len(persons)):
        i = owners[entry]
        if alive[i]:
            group = prefix[i] * radix + codes[i]
            table[group] = counted_with(table[group], persons[entry])
    for group in range(len(table)):
        table[group] &= COUNT


@jit
def smallest_group(table):
    """Return the smallest count above 0, 0 if there is none."""
    least = np.int64(0)
    for group in range(len(table)):
        if table[group] > 0 and (least == 0 or table[group] < least):
            least = table[group]
    return least


@jit
def drop_small_groups(prefix, codes, radix, table, k, sizes, fixed, alive):
    """Drop the classes of groups with a count below k, except fixed ones; return the number of dropped rows."""
    dropped = np.int64(0)
    for i in range(len(prefix)):
        if alive[i] and not fixed[i] and table[prefix[i] * radix + codes[i]] < k:
            alive[i] = False
            dropped += sizes[i]
    return dropped


@jit
def mark_small_groups(prefix, codes, radix, table, k, alive, marked):
    """Mark the classes of groups with a count below k."""
    for i in range(len(prefix)):
        if alive[i] and table[prefix[i] * radix + codes[i]] < k:
            marked[i] = True


@jit
def choose_witnesses(prefix, codes, radix, sizes, asking, k, chosen, table):
    """Choose further classes until each group of an asking class has k rows of chosen ones, or all rows that exist.

    `asking` and `chosen` (bool) have one entry a class.
    """
    table[:] = -1
    for i in range(len(prefix)):
        if asking[i]:
            table[prefix[i] * radix + codes[i]] = 0
    # Groups without an asking class stay at -1; the others count the chosen rows.
    for i in range(len(prefix)):
        group = prefix[i] * radix + codes[i]
        if chosen[i] and table[group] >= 0:
            table[group] += sizes[i]
    for i in range(len(prefix)):
        group = prefix[i] * radix + codes[i]
        if not asking[i] and not chosen[i] and 0 <= table[group] < k:
            chosen[i] = True
            table[group] += sizes[i]


@jit
def choose_people(prefix, codes, radix, persons, owners, asking, k, chosen, table):
    """Choose further classes until each group of an asking class has k people of chosen ones, or all that exist.

    `table` begins with the people of chosen classes; groups with k of them need no more.
    """
    for group in range(len(table)):
        table[group] = -2 if table[group] >= k else -1
    for i in range(len(prefix)):
        group = prefix[i] * radix + codes[i]
        if asking[i] and table[group] == -1:
            table[group] = 0
    # The others count again, in the order of people: those chosen before and those chosen now.
    for entry in range(len(persons)):
        i = owners[entry]
        group = prefix[i] * radix + codes[i]
        if asking[i] or table[group] < 0:
            continue
        if chosen[i] or (table[group] & COUNT) < k:
            chosen[i] = True
            table[group] = counted_with(table[group], persons[entry])


@jit
def extend_prefix(prefix, codes, radix, longer):
    """Write the group of each class by one more column."""
    for i in range(len(prefix)):
        longer[i] = prefix[i] * radix + codes[i]
