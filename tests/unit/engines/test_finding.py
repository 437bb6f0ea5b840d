"""Which cell a row belongs to: the compiled search finds what the plain one finds."""

import numpy as np
import pyarrow as pa
import pytest

from indistinct.engines.finding import CellFinder
from indistinct.errors import UnseenValueError
from indistinct.frequencies.encode import encode_column
from indistinct.tables.domain import Domain


def sample(*, columns, values, rows, seed=1):
    rng = np.random.default_rng(seed)
    table = pa.table({f"c{i}": rng.integers(0, values, rows) * 7 for i in range(columns)})
    encoded = [encode_column(name, table[name]) for name in table.column_names]
    vectors, places = np.unique(np.stack([each.codes for each in encoded], axis=1), axis=0, return_inverse=True)
    return table, CellFinder.of([each.domain for each in encoded], vectors), vectors, places.ravel()


@pytest.mark.parametrize("shape", [(1, 2, 5), (3, 6, 400), (2, 900, 3000), (12, 300, 500)])
@pytest.mark.parametrize("large", [1, 1 << 18])
def test_every_row_finds_its_cell(shape, large, monkeypatch):
    monkeypatch.setattr("indistinct.machine.threads.LARGE_ROWS", large)
    columns, values, rows = shape
    table, finder, _, places = sample(columns=columns, values=values, rows=rows)
    assert finder.find(table).tolist() == places.tolist()
    assert finder.find(table.slice(rows // 2)).tolist() == places[rows // 2 :].tolist()
    assert bool(finder.slots) == (large == 1)


@pytest.mark.parametrize("large", [1, 1 << 18])
def test_a_row_of_no_cell_is_told_and_not_shown(large, monkeypatch):
    monkeypatch.setattr("indistinct.machine.threads.LARGE_ROWS", large)
    domains = [Domain("x", pa.array([1, 2, 3])), Domain("y", pa.array([10, 20]))]
    finder = CellFinder.of(domains, np.array([[0, 0], [1, 1], [2, 0]], dtype=np.int32))
    known = pa.table({"x": [3, 1, 2], "y": [10, 10, 20]})
    assert finder.find(known).tolist() == [2, 0, 1]
    with pytest.raises(UnseenValueError, match=r"^rows have a combination .* \(2\)"):
        finder.find(pa.table({"x": [3, 1, 2], "y": [20, 10, 10]}))
