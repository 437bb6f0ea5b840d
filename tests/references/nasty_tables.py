"""Tables that engines, formats and verbs must survive: missing values in every type, odd texts, odd files."""

import datetime
import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import indistinct as ind

ROWS = 240
# Texts that a program may take for a suppressed cell, a formula, a missing value, or an end.
TEXTS = ["*", "=x", "", " ", "NA", "null", "x,y", 'say "x"', "é", "e\u0301", "line\nbreak", "-0.0", "[1-2]"]
QUASI = ("age", "share", "smokes", "born", "seen", "price", "city", "ward")
SENSITIVE = ("illness", "stage")
UNMODIFIED = ("visits", "score", "paid", "since", "at", "fee", "note", "branch")
SCHEMA = ind.Schema(person=["person"], quasi=list(QUASI), sensitive=list(SENSITIVE), insensitive=list(UNMODIFIED))
MODEL = "k-anonymity:k=3 & distinct-l-diversity:sensitive=illness,l=2"


def nasty_table(rows: int = ROWS, *, seed: int = 1) -> pa.Table:
    """Return people with one to three rows each; every column but the person has missing values."""
    rng = np.random.default_rng(seed)

    def some(values, kind, missing=0.15):
        cells = [values[i] for i in rng.integers(0, len(values), rows)]
        absent = rng.random(rows) < missing
        return pa.array([None if gone else cell for cell, gone in zip(cells, absent, strict=True)], kind)

    days = [datetime.date(1999, 12, 31), datetime.date(2000, 2, 29), datetime.date(2024, 1, 1)]
    moments = [datetime.datetime(2024, 3, day, hour, 16, 0, 5) for day in (1, 31) for hour in (0, 22)]
    prices = [Decimal("0.10"), Decimal("-7.25"), Decimal("1234.50")]
    coded = pa.dictionary(pa.int32(), pa.string())
    return pa.table(
        {
            "person": pa.array([f"p{i}" for i in rng.integers(0, max(rows // 2, 1), rows)], pa.string()),
            "age": some([*range(20, 60, 4)], pa.int64()),
            "share": some([-0.0, 0.0, 0.25, -1.5], pa.float64()),
            "smokes": some([True, False], pa.bool_()),
            "born": some(days, pa.date32()),
            "seen": some(moments, pa.timestamp("us")),
            "price": some(prices, pa.decimal128(8, 2)),
            "city": some(TEXTS[:6], pa.string()),
            "ward": some(TEXTS[4:9], pa.string()).cast(coded),
            "illness": some(["flu", "gout", "*", "=x"], pa.string()),
            "stage": some(["i", "ii", ""], pa.string()).cast(coded),
            "visits": some([0, -1, 2**53 + 1], pa.int64()),
            "score": some([-0.0, 0.0, float("nan"), 1e-7, 0.1], pa.float64()),
            "paid": some([True, False], pa.bool_()),
            "since": some(days, pa.date32()),
            "at": some(moments, pa.timestamp("us")),
            "fee": some(prices, pa.decimal128(8, 2)),
            "note": some(TEXTS, pa.string()),
            "branch": some(TEXTS, pa.string()).cast(coded),
        }
    )


def write_row_groups(table: pa.Table, path) -> None:
    """Write a Parquet file with row groups of one row, of none, and of many, each with its own dictionaries."""
    with pq.ParquetWriter(path, table.schema) as writer:
        ends = [0, 1, 1, 40, 41, 100, len(table)]
        for begin, end in itertools.pairwise(ends):
            writer.write_table(table.slice(begin, end - begin))


def write_files(table: pa.Table, folder) -> None:
    """Write a folder of Parquet files: one without rows, one with one row, one without a row group, and others."""
    folder.mkdir()
    ends = [0, 0, 1, 90, len(table)]
    for number, (begin, end) in enumerate(itertools.pairwise(ends)):
        pq.write_table(table.slice(begin, end - begin), folder / f"{number}.parquet", row_group_size=50)
    pq.ParquetWriter(folder / "9.parquet", table.schema).close()


SHAPES = ("file", "folder")


def write_shape(table: pa.Table, folder, shape: str):
    """Return where a table lies as one file of several row groups, or as a folder of several files."""
    if shape == "file":
        write_row_groups(table, folder / "nasty.parquet")
        return folder / "nasty.parquet"
    write_files(table, folder / "nasty")
    return folder / "nasty"


def rows_of(table) -> list[tuple[str, ...]]:
    """Return the rows of a table as texts that can be compared, whatever their order: NaN equals NaN, -0.0 is 0.0."""
    plain = pa.table(table)
    return sorted(tuple(map(_spell, row.values())) for row in plain.to_pylist())


def _spell(value) -> str:
    return repr(value + 0.0) if isinstance(value, float) else repr(value)


def with_slots(array: pa.DictionaryArray, slot: int) -> pa.DictionaryArray:
    """Return a dictionary array whose missing cells have an index of your choice in their slots.

    Arrow leaves undefined numbers there when it reads a Parquet file.
    """
    kind = array.indices.type.to_pandas_dtype()
    absent = array.indices.is_null().to_numpy(zero_copy_only=False)
    cells = np.where(absent, slot, array.indices.fill_null(0).to_numpy()).astype(kind)
    valid = pa.array(~absent).buffers()[1]
    indices = pa.Array.from_buffers(array.indices.type, len(array), [valid, pa.py_buffer(cells)])
    return pa.DictionaryArray.from_arrays(indices, array.dictionary, ordered=array.type.ordered, safe=False)
