"""Numba kernels that divide groups of cells by a further column, and find the cells that belong to a single person.

Group `g` has the cells `cells[starts[g]:starts[g + 1]]`. `first` has an entry for each code of the column, which is
`EMPTY` before and after a call; `touched` has as many entries. Unless `repeat`, no two cells have the same owner.
"""

from indistinct.machine.compiled import jit

EMPTY, SEVERAL = -2, -1


@jit
def find_alone(cells, starts, column, owners, repeat, first, touched, alone):
    """Write the cells whose owner is alone in their group with their code; return how many there are."""
    size = 0
    for group in range(len(starts) - 1):
        begin, end = starts[group], starts[group + 1]
        codes = 0
        for i in range(begin, end):
            code = column[cells[i]]
            present = first[code]
            if present == EMPTY:
                first[code] = cells[i]
                touched[codes] = code
                codes += 1
            elif present != SEVERAL and not (repeat and owners[present] == owners[cells[i]]):
                first[code] = SEVERAL
        if repeat:  # a person may have several cells of a code
            for i in range(begin, end):
                if first[column[cells[i]]] >= 0 and owners[cells[i]] != SEVERAL:
                    alone[size] = cells[i]
                    size += 1
        for t in range(codes):
            cell = first[touched[t]]
            first[touched[t]] = EMPTY
            if not repeat and cell >= 0 and owners[cell] != SEVERAL:
                alone[size] = cell
                size += 1
    return size


@jit
def divide(cells, starts, column, owners, repeat, first, touched, sizes, codes, kept, kept_starts):
    """Divide groups by code and keep those in which different people meet; return how many groups and cells these are.

    `sizes` has an entry for each code, 0 before and after; `codes` has room for one of each cell.
    """
    groups, filled = 0, 0
    for group in range(len(starts) - 1):
        begin, end = starts[group], starts[group + 1]
        distinct = 0
        for i in range(begin, end):
            code = column[cells[i]]
            codes[i] = code
            if sizes[code] == 0:
                touched[distinct] = code
                distinct += 1
                first[code] = cells[i]
            elif not (repeat and first[code] != SEVERAL and owners[first[code]] == owners[cells[i]]):
                first[code] = SEVERAL
            sizes[code] += 1
        for t in range(distinct):  # sizes become start positions
            code = touched[t]
            size = sizes[code]
            sizes[code] = -1
            if first[code] == SEVERAL:
                sizes[code] = filled
                filled += size
                groups += 1
                kept_starts[groups] = filled
        for i in range(begin, end):
            position = sizes[codes[i]]
            if position >= 0:
                kept[position] = cells[i]
                sizes[codes[i]] = position + 1
        for t in range(distinct):
            first[touched[t]], sizes[touched[t]] = EMPTY, 0
    return groups, filled
