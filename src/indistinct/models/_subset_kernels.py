"""Numba kernels that count groups of classes which share the labels of some columns.

`prefix` (int64) and `codes` (uint16 or int32) have one entry a class: its group by all columns of a set but the last,
and its label in the last one; `radix` is the number of labels of that. Their group is `prefix * radix + code`, and
`table` (int64) has one entry a group. `alive` (bool) marks the classes that were not dropped; several threads may work
on it, each on other sets, because no entry is ever set back. `sizes` (int64) has the rows of each class. Where
people are counted, `persons` and `owners` (int32) have one entry for each person of each class, in the order of people.
The twin is a dictionary in `testing/reference.py`.
"""

import numpy as np

from indistinct.machine.compiled import inner, jit

# A group's entry while people are counted: their number in the lower half, the last counted person plus 1 above it.
HALF = 32
COUNT = (1 << HALF) - 1


@inner
def counted_with(known, person):
    """Return a group's entry after a row of a person: the person counted last is not counted again."""
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
    # The entries of a person are neighbours: a group that met this person last has counted them.
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
    """Drop the classes of groups with a count below k, but for fixed ones; return how many rows that were."""
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
    """Choose classes that do not ask until each group of an asking class has k rows of chosen ones, or all of its own.

    `asking` and `chosen` (bool) have one entry a class.
    """
    table[:] = -1
    for i in range(len(prefix)):
        if asking[i]:
            table[prefix[i] * radix + codes[i]] = 0
    # A group that is not asked for stays at -1; the others count the chosen rows.
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
    """Choose classes that do not ask until each group of an asking class has k people of chosen ones, or all its own.

    `table` comes with the people that chosen classes have. Groups which have k of them need no more.
    """
    for group in range(len(table)):
        table[group] = -2 if table[group] >= k else -1
    for i in range(len(prefix)):
        group = prefix[i] * radix + codes[i]
        if asking[i] and table[group] == -1:
            table[group] = 0
    # The others count anew, in the order of people: who was chosen before, and who is chosen now.
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
    """Write the group of each class by one column more."""
    for i in range(len(prefix)):
        longer[i] = prefix[i] * radix + codes[i]
