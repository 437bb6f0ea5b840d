"""Groups that DuckDB counts by codes are those that it counts by values."""

from collections import Counter
from datetime import date

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indistinct.engines.duckdb import DuckDB
from indistinct.engines.duckdb.source import coded_groups
from indistinct.errors import InputError
from indistinct.tables import Reading


def batches_of(table, size):
    return [table.slice(start, size) for start in range(0, len(table), size)]


def counted(groups):
    rows = zip(*(groups.table[name].to_pylist() for name in groups.table.column_names), strict=True)
    return dict(zip(rows, groups.counts.tolist(), strict=True))


@pytest.fixture(scope="module")
def table():
    rng, rows = np.random.default_rng(3), 900
    return pa.table(
        {
            "text": pa.array(rng.choice(["a", "b", "", "é"], rows), mask=rng.random(rows) < 0.2),
            "coded": pa.array(rng.choice(["x", "y"], rows)).dictionary_encode(),
            "number": pa.array(rng.integers(-3, 4, rows), mask=rng.random(rows) < 0.1),
            "float": rng.choice([0.0, 1.5, -2.25], rows),
            "day": pa.array([date(2020, 1, int(day)) for day in rng.integers(1, 5, rows)]),
        }
    )


@pytest.mark.parametrize("columns", [("text",), ("number", "day"), ("text", "coded", "number", "float", "day")])
def test_codes_count_what_values_count(table, columns):
    found = coded_groups(batches_of(table, 100), columns, duckdb.connect(), table.schema)
    expected = Counter(zip(*(table[name].to_pylist() for name in columns), strict=True))
    assert counted(found) == expected
    assert [found.table[name].type for name in columns if name in ("number", "float", "day")] == [
        table[name].type for name in columns if name in ("number", "float", "day")
    ]


def test_missing_values_inside_and_outside_of_a_dictionary_are_missing():
    batches = [
        pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1]), pa.array(["a", None]))}),
        pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", "b"]))}),
    ]
    found = coded_groups(batches, ["x"], duckdb.connect(), batches[0].schema)
    assert counted(found) == {("a",): 2, (None,): 3, ("b",): 1}


def test_columns_of_many_values_are_counted_as_they_are(table, tmp_path, monkeypatch):
    monkeypatch.setattr("indistinct.engines.duckdb.source.MAX_VALUES", 3)
    assert coded_groups(batches_of(table, 100), ["text", "number"], duckdb.connect(), table.schema) is None
    pq.write_table(table, tmp_path / "t.parquet")
    source = DuckDB(1 << 28).open(tmp_path / "t.parquet", Reading())
    expected = Counter(zip(table["text"].to_pylist(), table["number"].to_pylist(), strict=True))
    assert counted(source.groups(["text", "number"])) == expected


def test_what_goes_wrong_while_rows_are_read_is_told_as_it_is(table):
    def failing():
        yield table.slice(0, 10)
        raise InputError("the file has changed")

    with pytest.raises(InputError, match="the file has changed"):
        coded_groups(failing(), ["text"], duckdb.connect(), table.schema)
