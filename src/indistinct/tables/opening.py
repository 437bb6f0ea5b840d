"""One door for every table: a path or a frame goes in, a `Table` that every engine takes comes out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.tables.delimited import read_delimited
from indistinct.tables.files import choose, read_arrow, read_parquet
from indistinct.tables.frames import flat, from_frame, is_frame
from indistinct.tables.value import Table

DELIMITED = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")


def open_table(
    source: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = ("",),
    columns: Sequence[str] | None = None,
) -> Table:
    """Return the table at a path or in a frame; `columns` chooses some and their order.

    A path ends in .csv, .tsv or .txt (also .gz after it), .parquet or .pq, .arrow, .feather or .ipc. A frame
    is one of pandas (its index is dropped), polars, Arrow, or of any library that speaks Arrow's PyCapsule
    interface.

    `delimiter`, `encoding` and `missing` concern delimited text alone. Delimiter and encoding are found if
    not given; only the texts in `missing` are missing, so `NA` stays text unless it is listed. Types are
    decided on whole columns.

        >>> open_table(pa.table({"age": [31, 42], "city": ["Oslo", "Bergen"]})).rows
        2
    """
    chosen = [columns] if isinstance(columns, str) else columns
    if isinstance(source, Table):
        return Table(source.data.select(choose(source.columns, chosen)), source.name, source.path)
    if isinstance(source, str | Path):
        path = Path(source)
        _check_file(path)
        absent = (missing,) if isinstance(missing, str) else tuple(missing)
        return Table(_read(path, delimiter, encoding, absent, chosen), path.name, path)
    if not is_frame(source):
        raise InputError(
            f"a table is opened from a path or a frame; got {type(source).__name__}",
            hint="give a path, or a pandas, polars or Arrow table",
        )
    table = flat(from_frame(source))
    return Table(table.select(choose(table.column_names, chosen)))


def _read(
    path: Path,
    delimiter: str | None,
    encoding: str | None,
    missing: Sequence[str],
    columns: Sequence[str] | None,
) -> pa.Table:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-1] if suffixes else ""
    if kind == ".gz" and len(suffixes) > 1 and suffixes[-2] in DELIMITED:
        kind = suffixes[-2]
    if kind in DELIMITED:
        mark = "\t" if delimiter is None and kind == ".tsv" else delimiter
        return read_delimited(path, delimiter=mark, encoding=encoding, missing=missing, columns=columns)
    if kind in PARQUET:
        return flat(read_parquet(path, columns))
    if kind in ARROW:
        return flat(read_arrow(path, columns))
    raise InputError(
        f"{path}: the suffix {kind!r} does not say how to read the file" if kind else f"{path} has no suffix",
        hint=f"rename it to end in one of {', '.join((*DELIMITED, *PARQUET, *ARROW))}; text may end in .gz",
    )


def _check_file(path: Path) -> None:
    try:
        folder, present = path.is_dir(), path.exists()
    except (OSError, ValueError):
        folder = present = False
    if folder:
        raise InputError(f"{path} is a directory, not a file", hint="name one file")
    if not present:
        raise InputError(
            f"there is no file {path}", hint="check the path; a relative one starts at the working directory"
        )
