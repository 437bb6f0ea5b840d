"""The loops that put rows behind classes, compiled where NumPy has none as quick.

`order` are row numbers (int32 or int64), `class_ids` (int32) and `counts` (int64) describe pieces of rows, `places`
(int64) has the next free index of `out` for every class. Codes are of the narrowest integer type that holds them, and
`used` (bool) has an entry for each code. Each function is its own twin: small tables take the NumPy branch, large ones
the compiled one, and `tests/laws/test_engine.py::test_large_tables_are_published_as_small_ones` compares both.
"""

from collections.abc import Sequence

import numpy as np

from indistinct.machine.arrays import Codes, empty_large
from indistinct.machine.compiled import jit
from indistinct.machine.threads import blocks, is_large, spread


def scatter_rows(order: Codes, class_ids: Codes, counts: Codes, positions: Codes, out: Codes) -> None:
    """Send runs of rows to their classes: piece `i` takes the next `counts[i]` rows of `order`.

    Class `c` goes to `out` from `places[c]` on, which is overwritten; rows of class -1 go nowhere.
    """
    if not is_large(len(order)):
        owners = np.repeat(class_ids, counts)
        arranged = np.argsort(np.append(positions, -1)[owners], kind="stable")
        out[:] = order[arranged[np.count_nonzero(owners < 0) :]]
        return
    parts = blocks(len(positions), least=1)  # each thread serves its own classes
    if len(class_ids) == len(order):
        spread(lambda part: _scatter(order, class_ids, positions, out, part.start, part.stop), parts)
    else:
        spread(lambda part: _scatter_runs(order, class_ids, counts, positions, out, part.start, part.stop), parts)


@jit
def _scatter(order, class_ids, places, out, first, last):
    """Copy each row of classes `first` to `last` to where its class goes on."""
    # `places[c]` is where the next row of class c goes; rows keep their order inside a class.
    for i in range(len(class_ids)):
        class_id = class_ids[i]
        if first <= class_id < last:
            out[places[class_id]] = order[i]
            places[class_id] += 1


@jit
def _scatter_runs(order, class_ids, counts, places, out, first, last):
    """Copy each run of classes `first` to `last` to where its class goes on; rows of class -1 go nowhere."""
    at = 0
    # `at` is the first row of the piece in `order`: the sum of all counts before it.
    for piece in range(len(class_ids)):
        class_id = class_ids[piece]
        count = counts[piece]
        if first <= class_id < last:
            position = places[class_id]
            for i in range(count):
                out[position + i] = order[at + i]
            places[class_id] = position + count
        at += count


def gather_codes(chunks: Sequence[Codes], lookups: Sequence[Codes], order: Codes, used: Codes) -> Codes:
    """Return the codes of cells, `lookups[i][cell]` for a cell of chunk `i`, in an order; mark those that occur."""
    parts = zip(lookups, chunks, strict=True)
    if not is_large(len(order)):
        return gather(np.concatenate([lookup[chunk] for lookup, chunk in parts]), order, used)
    # Narrow codes stay in the cache while rows are gathered from all over the table.
    narrow = empty_large(sum(map(len, chunks)), lookups[0].dtype)
    end = 0
    for lookup, chunk in parts:
        _look_up(chunk, lookup, narrow[end : end + len(chunk)])
        end += len(chunk)
    return gather(narrow, order, used)


def gather(codes: Codes, order: Codes, used: Codes) -> Codes:
    """Return codes in an order, and mark those that occur."""
    if not is_large(len(order)):
        gathered: Codes = codes[order]
        used[gathered] = True
        return gathered
    out = empty_large(len(order), codes.dtype)
    _gather(codes, order, out, used)
    return out


@jit
def _look_up(cells, lookup, out):
    for i in range(len(cells)):
        out[i] = lookup[cells[i]]


@jit
def _gather(codes, order, out, used):
    """Write to `out` the code of each row in the given order, and mark the codes used."""
    for i in range(len(order)):
        code = codes[order[i]]
        out[i] = code
        used[code] = True


@jit
def sort_run(codes):
    """Sort codes in place; short runs by insertion, which has no overhead."""
    if len(codes) > 32:
        codes.sort()
        return
    # `codes[:i]` ascend.
    for i in range(1, len(codes)):
        code = codes[i]
        position = i
        while position > 0 and codes[position - 1] > code:
            codes[position] = codes[position - 1]
            position -= 1
        codes[position] = code


@jit
def count_in_runs(codes, starts, entries, counts, lengths):
    """Count equal codes inside each run, in place: write each run's distinct codes, ascending, and how often each.

    `lengths[run]` is the number of distinct codes of a run; return the number of all.
    """
    end = 0
    # `entries[:end]` and `counts[:end]` are the distinct codes of the runs before, run by run.
    for run in range(len(starts) - 1):
        first = end
        own = codes[starts[run] : starts[run + 1]]
        sort_run(own)
        for i in range(len(own)):
            if i == 0 or own[i] != own[i - 1]:
                entries[end] = own[i]
                counts[end] = 0
                end += 1
            counts[end - 1] += 1
        lengths[run] = end - first
    return end
