"""The slow, obvious anatomy and slicing: both algorithms by their definitions, over rows, in plain Python.

They follow Xiao and Tao 2006 and Li, Li, Zhang and Molloy 2012 word for word and know no codes, cells or kernels.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from indistinct.testing.bucket_reference import Rows, Slices, in_buckets
from references.mondrian import Line, median_cut


def anatomize(values: Sequence[Any], l: int) -> list[list[int]] | None:
    """Return the groups of anatomy as row numbers, given every row's sensitive value; None if it is not eligible.

    >>> anatomize(["dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia", "gastritis"], 2)
    [[0, 1], [5, 2], [3, 6], [4, 7]]
    """
    if max(Counter(values).values()) * l > len(values):
        return None
    left = {value: [row for row, own in enumerate(values) if own == value] for value in sorted(set(values))}
    groups = []
    while sum(bool(rows) for rows in left.values()) >= l:
        largest = sorted(left, key=lambda value: -len(left[value]))[:l]
        groups.append([left[value].pop(0) for value in sorted(largest)])
    for value, rows in left.items():
        for row in rows:
            next(group for group in groups if value not in [values[other] for other in group]).append(row)
    return groups


def partition_tuples(
    rows: Rows,
    known: Sequence[str],
    *,
    slices: Slices,
    sensitive: Sequence[str],
    l: int,
    size: int = 1,
    every: bool = False,
    shown: Rows | None = None,
) -> list[list[int]]:
    """Return the buckets of slicing's tuple partitioning as row numbers, checked against all buckets at each split.

    Buckets are cut along the attributes `known`. `shown` are the rows as slices show them, where these are
    generalized. With `every` the other attributes are tried after the widest.
    """
    seen = rows if shown is None else shown
    lines = {name: Line.of(row[name] for row in rows) for name in known}
    queue: list[list[int]] = [list(range(len(rows)))]
    done: list[list[int]] = []
    while queue:
        bucket = queue.pop(0)
        for sides in _cuts(rows, bucket, lines, size=size, every=every):
            if in_buckets(seen, queue + sides + done, slices=slices, sensitive=sensitive).is_diverse(seen, l):
                queue += sides
                break
        else:
            done.append(bucket)
    return done


def _cuts(rows: Rows, bucket: list[int], lines: Mapping[str, Line], *, size: int, every: bool) -> list[list[list[int]]]:
    """Return the cuts of a bucket that may be tried, the widest attribute first, ties in the order of attributes."""
    varying = [name for name in lines if len({rows[row][name] for row in bucket}) > 1]
    by_width = sorted(varying, key=lambda name: -lines[name].width(rows[row][name] for row in bucket))
    tried = by_width if every else by_width[:1]
    found = [median_cut({row: rows[row][name] for row in bucket}, lines[name], k=size) for name in tried]
    return [sides for sides in found if sides is not None]
