"""Bounds on the largest class: tables on which every recoding of columns leaves half of the rows in one class."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from indistinct_papers.mondrian_bounds import axes, star
from indistinct_papers.partitions import boxes_of


def finest_by_columns(table: pa.Table, k: int) -> int:
    """Return the smallest size that the largest class can have, over all sets of cuts of all columns."""
    columns = [column.to_numpy() for column in table.columns]
    cuts = [
        [c for n in range(int(own.max()) + 1) for c in itertools.combinations(range(int(own.max())), n)]
        for own in columns
    ]
    best = table.num_rows
    for chosen in itertools.product(*cuts):
        cells = np.stack([np.searchsorted(c, own) for c, own in zip(chosen, columns, strict=True)])
        sizes = np.unique(cells, axis=1, return_counts=True)[1]
        if sizes.min() >= k:
            best = min(best, int(sizes.max()))
    return best


@pytest.mark.parametrize(("size", "k"), [(3, 2), (5, 2), (6, 3)])
def test_no_cuts_of_columns_part_both_axes(size, k):
    table = axes(size)
    assert table.group_by(table.column_names).aggregate([]).num_rows == table.num_rows == 2 * size + 1
    assert finest_by_columns(table, k) == size
    largest = boxes_of(table, "mondrian", k=k, cardinality=size + 1).sizes.max()
    assert largest <= 2 * 2 * (k - 1) + 1
    assert boxes_of(table, "single-dimensional", k=k, cardinality=size + 1).sizes.max() >= size


@pytest.mark.parametrize(("d", "k", "m"), [(1, 2, 1), (2, 3, 2), (2, 4, 9), (3, 3, 2)])
def test_a_star_has_as_many_rows_as_the_bound_and_no_cut(d, k, m):
    table = star(d, k, m)
    assert table.num_rows == 2 * d * (k - 1) + m
    assert boxes_of(table, "mondrian", k=k, cardinality=3).sizes.tolist() == [table.num_rows]


def test_boxes_cover_the_plane_and_count_their_rows():
    table = pa.table({"x1": [0, 1, 4, 4, 7, 9], "x2": [5, 5, 2, 8, 8, 2]})
    for algorithm in ("mondrian", "single-dimensional"):
        boxes = boxes_of(table, algorithm, k=2, cardinality=10)
        covered = np.zeros((10, 10), dtype=int)
        for low, high, size in zip(boxes.low, boxes.high, boxes.sizes, strict=True):
            covered[low[0] : high[0] + 1, low[1] : high[1] + 1] += 1
            inside = [
                all(low[j] <= row[j] <= high[j] for j in range(2))
                for row in zip(*table.to_pydict().values(), strict=True)
            ]
            assert sum(inside) == size
        assert covered.max() == 1
        if algorithm == "mondrian":
            assert covered.min() == 1
        assert boxes.counts(0, 10).sum() == pytest.approx(6)
