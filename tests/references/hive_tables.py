"""A table in Hive partitions, whose folders hold columns: numbers, texts like numbers, dates, odd texts, missing."""

import datetime

import pyarrow as pa
import pyarrow.parquet as pq

DAYS = [datetime.date(2024, 1, 31), datetime.date(2024, 2, 29)]
PARTED = ["year", "month", "day", "place"]


def hive_table(rows: int = 60) -> pa.Table:
    """Return a table with four columns that folders can hold, each with missing values but the day."""
    return pa.table(
        {
            "age": [20 + i % 5 for i in range(rows)],
            "illness": [("flu", None, "gout", "*")[i % 4] for i in range(rows)],
            "year": pa.array([(2023, 2024, None)[i % 3] for i in range(rows)], pa.int64()),
            "month": [("01", "02")[i // 3 % 2] for i in range(rows)],
            "day": pa.array([DAYS[i // 6 % 2] for i in range(rows)], pa.date32()),
            "place": [("a b", "c/d=é%", None)[i % 3] for i in range(rows)],
        }
    )


def write_partitions(table: pa.Table, folder, by=PARTED) -> None:
    """Write a folder of partitions as other programs do."""
    pq.write_to_dataset(table, folder, partition_cols=list(by))


def sources_of(folder) -> dict[str, object]:
    """Return the ways in which all files of a partitioned folder are named."""
    return {
        "folder": folder,
        "pattern": f"{folder}/**/*.parquet",
        "list": sorted(folder.rglob("*.parquet")),
    }
