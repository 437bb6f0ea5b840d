"""Columns in blocks of rows that stay in the cache from the first column to the last."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from indistinct.arrays import Codes
from indistinct.frequencies.encode import Encoded
from indistinct.ordering import distinct
from indistinct.parallel import spread

# Rows of a block: words for them fill half a megabyte.
BLOCK = 1 << 16

Result = TypeVar("Result")
Work = Callable[[int, int, list[tuple[int, Codes]]], Result]


def in_blocks(columns: Sequence[Encoded], work: Work[Result], *, last: int | None = None) -> list[Result]:
    """Call `work(start, stop, parts)` for every block of rows, on several threads; return what it returned.

    `parts` has, for each column, the number of the chunk in which the block lies, and the block's cells. Where `last`
    is given, only blocks that begin before that row are looked at.
    """
    ends = [column.ends for column in columns]
    rows = int(ends[0][-1])
    bounds = distinct(np.concatenate([[0], *ends, np.arange(0, rows, BLOCK)]))
    places = [np.searchsorted(end, bounds[:-1], side="right").tolist() for end in ends]

    def call(block: int) -> Result:
        start, stop = bounds[block : block + 2].tolist()
        parts = []
        for column, end, chunks in zip(columns, ends, places, strict=True):
            chunk = chunks[block]
            first = start - (int(end[chunk - 1]) if chunk else 0)
            parts.append((chunk, column.chunks[chunk][first : first + stop - start]))
        return work(start, stop, parts)

    count = len(bounds) - 1 if last is None else min(int(np.searchsorted(bounds, last)), len(bounds) - 1)
    return spread(call, range(count))
