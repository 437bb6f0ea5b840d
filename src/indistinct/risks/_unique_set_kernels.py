"""Numba kernels that find the cells which nobody else shares in some columns."""

from indistinct.compiled import jit

EMPTY, SEVERAL = -2, -1


@jit
def find_alone(cells, keys, column, radix, owners, table, alone):
    """Write the cells whose key together with a further column's code has a single owner; return how many there are.

    `table` has an entry for every such key.
    """
    table[:] = EMPTY
    singles = 0
    for i in range(len(cells)):
        key, owner = keys[i] * radix + column[cells[i]], owners[cells[i]]
        present = table[key]
        if present == EMPTY:
            table[key] = owner
            singles += owner != SEVERAL
        elif present != owner and present != SEVERAL:
            table[key] = SEVERAL
            singles -= 1
    found = 0
    if singles == 0:
        return found
    for i in range(len(cells)):
        if owners[cells[i]] != SEVERAL and table[keys[i] * radix + column[cells[i]]] != SEVERAL:
            alone[found] = cells[i]
            found += 1
    return found
