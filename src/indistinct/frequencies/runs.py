"""Rows that stand beside rows like them: a table that is in order, as a release is, is grouped by its runs."""

from collections.abc import Sequence

import numpy as np

from indistinct.arrays import Codes, repeated, row_numbers, starts_of
from indistinct.frequencies.blocks import BLOCK, in_blocks
from indistinct.frequencies.encode import Encoded
from indistinct.frequencies.grouping import Grouping, group_rows
from indistinct.parallel import is_large

# Runs must be fewer than this share of the rows to be worth looking for.
FEW = 0.5


def group_runs(columns: Sequence[Encoded]) -> tuple[Grouping, Codes] | None:
    """Return rows grouped by their vector, and the vectors; None where most rows differ from those beside them.

    Runs are found by cells as they stand, and only the first row of each is looked up and sorted.
    """
    rows = int(columns[0].ends[-1])
    if not is_large(rows):
        return None
    fresh = np.zeros(rows, dtype=bool)

    def mark(start: int, stop: int, parts: list[tuple[int, Codes]]) -> None:
        own = fresh[start:stop]
        own[0] = True  # a block begins a run, as cells of two chunks cannot be compared
        for _, cells in parts:
            own[1:] |= cells[1:] != cells[:-1]

    in_blocks(columns, mark, last=BLOCK)
    if np.count_nonzero(fresh[:BLOCK]) > FEW * BLOCK:
        return None
    in_blocks(columns, mark)
    firsts = np.flatnonzero(fresh)
    if len(firsts) > FEW * rows:
        return None
    codes = [_codes_at(column, firsts) for column in columns]
    grouping = group_rows(codes, [len(column.domain) for column in columns])
    lengths = np.diff(np.append(firsts, rows))[grouping.order]
    begins = starts_of(lengths)
    order = row_numbers(rows)
    if (grouping.order[1:] < grouping.order[:-1]).any():  # runs do not stand in order yet
        order += repeated((firsts[grouping.order] - begins[:-1]).astype(order.dtype), lengths)
    vectors = [column[grouping.first].astype(np.int32) for column in codes]
    return Grouping(order, begins[grouping.starts]), np.asfortranarray(np.stack(vectors, axis=1))


def _codes_at(column: Encoded, rows: Codes) -> Codes:
    """Return the codes of some rows, given in ascending order."""
    parts, begin = [], 0
    cuts = np.searchsorted(rows, column.ends)
    for index, (chunk, cut) in enumerate(zip(column.chunks, cuts.tolist(), strict=True)):
        cells = chunk[rows[begin:cut] - (int(column.ends[index]) - len(chunk))]
        parts.append(column.lookups[index][cells - column.base] if column.lookups else cells)
        begin = cut
    return np.concatenate(parts)
