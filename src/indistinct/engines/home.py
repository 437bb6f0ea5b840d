"""The engine that a source belongs to, by what the source is: no engine is loaded for that."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.engines.base import DatabaseTable, is_address, place_of
from indistinct.errors import InputError
from indistinct.tables.several import PARQUET, files_of, is_delimited, kind_of_file
from indistinct.tables.value import home_of_opened

# What a text takes in memory, once its cells are codes and numbers, by the bytes of its file.
TEXT_GROWS, COMPRESSED_GROWS = 2, 10
DATABASES = (".duckdb", ".ddb")
"""The suffixes of DuckDB's database files."""


def home_of(source: Any) -> str | None:
    """Return the name of the engine that a source lives in; None for one that memory reads, such as a file.

    >>> home_of("postgresql://host/clinic"), home_of("clinic.duckdb"), home_of("clinic.csv")
    ('postgres', 'duckdb', None)
    """
    opened = home_of_opened(source)
    if opened is not None:
        return opened
    if is_relation(source) or is_database(source):
        return "duckdb"
    if is_address(source.database if isinstance(source, DatabaseTable) else source):
        return "postgres"
    return "spark" if is_spark_frame(source) else None


def is_relation(source: Any) -> bool:
    """Return whether a source is a relation of DuckDB."""
    duckdb = sys.modules.get("duckdb")  # a caller with a relation has imported it
    return duckdb is not None and isinstance(source, duckdb.DuckDBPyRelation)


def is_database(source: Any) -> bool:
    """Return whether a source is a database file of DuckDB, or a table of one."""
    place = source.database if isinstance(source, DatabaseTable) else source
    return isinstance(place, str | Path) and "://" not in str(place) and Path(place).suffix.lower() in DATABASES


def is_spark_frame(source: Any) -> bool:
    """Return whether a source is a frame of Spark."""
    module = sys.modules.get("pyspark.sql")  # a caller with a frame has imported it
    return module is not None and any(
        each.__name__ == "DataFrame" and each.__module__.startswith("pyspark.sql") for each in type(source).__mro__
    )


def is_read_in_place(source: Any) -> bool:
    """Return whether a source is one or several files that DuckDB reads where they lie."""
    with suppress(InputError):
        files = files_of(place_of(source))
        return files is not None and all(path.is_file() and is_readable_by_duckdb(path) for path in files)
    return False


def bytes_in_memory(source: Any) -> int:
    """Return how many bytes files take in memory, about."""
    return sum(
        _text_bytes(path) if is_delimited(path) else _parquet_bytes(path) for path in files_of(place_of(source)) or ()
    )


def is_readable_by_duckdb(path: Path) -> bool:
    """Return whether DuckDB reads a file of this name."""
    return is_delimited(path) or kind_of_file(path) in PARQUET


def _text_bytes(path: Path) -> int:
    return path.stat().st_size * (COMPRESSED_GROWS if path.suffix.lower() == ".gz" else TEXT_GROWS)


def _parquet_bytes(path: Path) -> int:
    """Return how many bytes the columns of a Parquet file take before compression, at least four a cell."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            footer = file.metadata
            groups = (footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))
            return max(sum(groups), 4 * footer.num_rows * footer.num_columns)
    except (pa.ArrowException, OSError):
        return 0  # reading it says what is wrong
