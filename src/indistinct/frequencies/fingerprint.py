"""Whether two tables have the same rows, each equally often, whatever their order."""

import secrets
from collections.abc import Sequence

import numpy as np

from indistinct.arrays import Codes
from indistinct.frequencies import _kernels
from indistinct.frequencies.blocks import in_blocks
from indistinct.frequencies.encode import Encoded
from indistinct.frequencies.grouping import group_rows
from indistinct.parallel import is_large

PRIME = _kernels.PRIME
# A remainder and so many more add up to less than 2⁶⁴.
ADDENDS = 7


def same_rows(mine: Sequence[Encoded], theirs: Sequence[Encoded]) -> bool:
    """Return whether two tables hold the same vectors equally often; column by column they share a domain.

    Rows of small tables are sorted. Of large ones the polynomial that is the product over all rows of
    x + Σ yⱼ codeⱼ is compared at a random point, modulo the prime 2⁶¹ - 1: tables that differ have different
    polynomials, which agree at a point with a probability of at most rows / 2⁶¹ (Schwartz 1980).
    """
    rows = [int(columns[0].ends[-1]) for columns in (mine, theirs)]
    if rows[0] != rows[1]:
        return False
    if not is_large(rows[0]):
        return _equal_halves(mine, theirs)
    point = [secrets.randbelow(PRIME) for _ in range(len(mine) + 1)]
    return fingerprint(mine, point) == fingerprint(theirs, point)


def fingerprint(columns: Sequence[Encoded], point: Sequence[int]) -> int:
    """Return the polynomial of a table's rows at a point: x, and a factor for each column."""
    scaled = [
        _kernels.multiples(np.uint64(factor), len(column.domain))
        for factor, column in zip(point[1:], columns, strict=True)
    ]
    terms = [[table[lookup] for lookup in column.lookups] for table, column in zip(scaled, columns, strict=True)]

    def work(start: int, stop: int, parts: list[tuple[int, Codes]]) -> int:
        words = np.full(stop - start, point[0], dtype=np.uint64)
        for place, (column, tables, (chunk, cells)) in enumerate(zip(columns, terms, parts, strict=True), start=1):
            _kernels.add_terms(words, cells, column.base, tables[chunk])
            if place % ADDENDS == 0 or place == len(columns):
                _kernels.reduce_all(words)
        return int(_kernels.product_of(words))

    found = 1
    for part in in_blocks(columns, work):
        found = found * part % PRIME
    return found


def _equal_halves(mine: Sequence[Encoded], theirs: Sequence[Encoded]) -> bool:
    """Sort the rows of both tables together, and return whether half of each group comes from either."""
    columns = [np.concatenate([left.codes, right.codes]) for left, right in zip(mine, theirs, strict=True)]
    grouping = group_rows(columns, [len(column.domain) for column in mine])
    rows = len(columns[0]) // 2
    left = np.add.reduceat(grouping.order < rows, grouping.starts[:-1], dtype=np.int64) if rows else np.zeros(0)
    return np.array_equal(2 * left, grouping.counts)
