"""A release in a folder of Hive partitions: one folder for each value of some published columns.

What lies where is a function of the published table alone. Every folder holds one file, whose rows keep the order of
the release, so that partitions tell nothing that a single file would not.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.base import DatabaseTable, without_password
from indistinct.errors import IndistinctError, OutputError, ParameterError, SchemaError, did_you_mean
from indistinct.machine.arrays import Codes
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.formats import publishable, write_parquet
from indistinct.schema import Schema
from indistinct.tables.addresses import address_of, without_credentials
from indistinct.tables.dictionaries import is_text
from indistinct.tables.several import keeps_values, partition_folder

MAX_PARTITIONS = 1_000
MAX_NAME_BYTES = 255
PARQUET_SUFFIXES = (".parquet", ".pq")
# What a folder without partitions holds, and each of its partitions.
PART_NAME = "part-00000.parquet"

# Types that, with text, the name of a folder keeps.
NAME_KINDS = (pa.types.is_integer, pa.types.is_date32, pa.types.is_null)

Values = tuple[Any, ...]


def check_partitioned_place(columns: Sequence[str], output: str | Path | DatabaseTable | None) -> None:
    """Raise `ParameterError` unless a release at `output` can be a folder of partitions."""
    if not columns:
        return
    if output is None:
        raise ParameterError(
            "`partition_by` needs an output", hint="name a folder to write, such as -o release.parquet (output=…)"
        )
    if isinstance(output, DatabaseTable):
        raise ParameterError(
            f"`partition_by` makes folders, and {without_password(output.database)} is a database",
            hint="leave it out, or write the release to a folder such as release.parquet",
        )
    address = without_credentials(output)
    if address_of(output) is not None:
        raise ParameterError(
            f"`partition_by` makes folders on this machine, and {address} is an address elsewhere",
            hint="write to a path such as release.parquet, and copy the folder and its certificate",
        )
    if Path(output).suffix.lower() not in PARQUET_SUFFIXES:
        raise ParameterError(
            f"partitions are Parquet files, and {address} does not end in .parquet",
            hint="end the output in .parquet, or leave out `partition_by` (--partition-by)",
        )


def check_partitioning(
    columns: Sequence[str],
    schema: Schema,
    *,
    require_classes: Callable[[IndistinctError], None],
    pseudonyms: Iterable[str] = (),
) -> None:
    """Raise unless a release may have its columns named by folders.

    Names of folders appear in listings, logs and messages of other programs. Columns that point at people and sensitive
    columns stay out of them, and so do buckets, in which columns are not linked: `require_classes` raises for those.
    """
    if not columns:
        return
    require_classes(
        ParameterError(
            "a release in buckets cannot be partitioned: a folder would link columns that the buckets keep apart",
            hint="leave out `partition_by` (--partition-by), or choose an algorithm that generalizes",
        )
    )
    allowed = [name for name in (*schema.quasi, *schema.insensitive) if name not in schema.hidden]
    for name in columns:
        if name in allowed and list(columns).count(name) == 1:
            continue
        role = str(schema.role(name)) if name in schema.columns else ""
        if name in allowed:
            problem = "is named twice"
        elif name in pseudonyms or name in schema.hidden:
            problem = f"has the role {role}: a folder would point at a person"
        elif name in schema.sensitive:
            problem = "is sensitive: names of folders appear in listings and logs"
        else:
            problem = "is not in the table"
        raise SchemaError(
            f"`partition_by` names column {name!r}, which {problem}",
            hint=did_you_mean(name, allowed) or f"these columns are possible: {', '.join(allowed) or 'none'}",
        )


def write_partitions(batches: Iterable[pa.Table], folder: Path, columns: Sequence[str], writing: Writing) -> None:
    """Write a published table, given in batches, as a new folder of partitions.

    Rows wait in a file next to the folder, which only its owner can enter, until each partition is written whole.
    """
    source = iter(batches)
    first = next(source)
    _check_columns(first.schema, columns)
    folder.mkdir()
    waiting = folder.with_name("waiting")
    try:
        parts = _collect_rows(first, source, waiting, columns)
        if not parts:  # a release without rows has its columns all the same
            write_parquet(iter([publishable(first, writing.labels)]), folder / PART_NAME, writing)
            return
        _check_values(first.schema, columns, list(parts))
        made = {Path()}
        with pa.memory_map(str(waiting)) as mapped, pa.ipc.open_file(mapped) as stored:
            for values in sorted(parts, key=lambda each: partition_path(columns, each)):
                path = Path(partition_path(columns, values))
                for inside in (*reversed(path.parents), path):
                    if inside not in made:
                        _make_folder(folder / inside)
                        made.add(inside)
                rows = (_with_codes(stored.get_batch(number), writing) for number in parts[values])
                write_parquet(rows, folder / path / PART_NAME, writing)
    finally:
        waiting.unlink(missing_ok=True)


def partition_path(columns: Sequence[str], values: Values) -> str:
    """Return the folder of a partition below that of its release.

    >>> partition_path(["sex", "zip"], ("F", "0213*"))
    'sex=F/zip=0213%2A'
    """
    return "/".join(
        partition_folder(name, None if value is None else str(value))
        for name, value in zip(columns, values, strict=True)
    )


def restore_columns(table: pa.Table, schema: pa.Schema | None) -> pa.Table:
    """Return a table that was read from partitions with the columns, in order and type, that were written."""
    if schema is None or table.column_names == schema.names:
        return table
    for index, name in enumerate(table.column_names):
        kind = schema.field(name).type
        wanted = pa.string() if is_text(kind) else kind
        if table.column(index).type != wanted and not (is_text(table.column(index).type) and is_text(kind)):
            table = table.set_column(index, name, table.column(index).cast(wanted))
    return table.select(schema.names)


def _make_folder(path: Path) -> None:
    """Create the folder of a partition; raise if two values share a folder name."""
    try:
        path.mkdir()
    except FileExistsError:
        raise OutputError(
            "two values of the columns of `partition_by` have the same folder name on this disk",
            hint="partition by another column, or write to a disk that distinguishes upper and lower case",
        ) from None


def _check_columns(schema: pa.Schema, columns: Sequence[str]) -> None:
    """Raise unless the release can be partitioned by these columns."""
    for name in columns:
        if name not in schema.names:
            raise SchemaError(
                f"`partition_by` names column {name!r}, which the release does not have under this name",
                hint=did_you_mean(name, schema.names) or f"it has: {', '.join(schema.names)}",
            )
        kind = schema.field(name).type
        if not (is_text(kind) or any(test(kind) for test in NAME_KINDS)):
            raise OutputError(
                f"column {name!r} cannot name folders: they keep text, whole numbers and dates, and it has {kind}",
                hint="partition by another column, or generalize it to intervals or years",
            )
    if not set(schema.names) - set(columns):
        raise ParameterError(
            "`partition_by` names every published column", hint="leave one out: files without columns have no rows"
        )


def _check_values(schema: pa.Schema, columns: Sequence[str], keys: Sequence[Values]) -> None:
    """Raise `OutputError` for values that a folder's name does not keep unchanged, or that are too long for one."""
    for index, name in enumerate(columns):
        values = [key[index] for key in keys]
        if any(len(partition_folder(name, None if v is None else str(v)).encode()) > MAX_NAME_BYTES for v in values):
            raise OutputError(
                f"column {name!r} has values that are too long for the name of a folder",
                hint="partition by another column",
            )
        if not keeps_values(values, text=is_text(schema.field(name).type)):
            raise OutputError(
                f"column {name!r} has values that would change in the name of a folder",
                hint="partition by another column",
            )


def _collect_rows(
    first: pa.Table, others: Iterator[pa.Table], waiting: Path, columns: Sequence[str]
) -> Mapping[Values, list[int]]:
    """Write rows to a file, those of a partition together; return the numbers of the batches of each partition."""
    parts: dict[Values, list[int]] = {}
    plain = pa.schema([_plain_field(each) for each in first.schema if each.name not in columns])
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    count = 0
    with pa.OSFile(str(waiting), "wb") as file, pa.ipc.new_file(file, plain, options=options) as writer:
        batch: pa.Table | None = first
        while batch is not None:
            for values, rows in _split(batch, columns):
                parts.setdefault(values, [])
                if len(parts) > MAX_PARTITIONS:
                    raise OutputError(
                        f"`partition_by` would make more than {MAX_PARTITIONS:,} folders",
                        hint="partition by fewer columns, or by one with fewer values",
                    )
                for record in rows.select(plain.names).cast(plain).combine_chunks().to_batches():
                    writer.write_batch(record)
                    parts[values].append(count)
                    count += 1
            batch = next(others, None)
    return parts


def _plain_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, pa.string() if is_text(field.type) else field.type)


def _with_codes(batch: pa.RecordBatch, writing: Writing) -> pa.Table:
    """Return rows with text as codes, as in a release of one file."""
    table = pa.Table.from_batches([batch])
    coded = [column.dictionary_encode() if is_text(column.type) else column for column in table.columns]
    return publishable(pa.table(coded, names=table.column_names), writing.labels)


def _split(table: pa.Table, columns: Sequence[str]) -> Iterator[tuple[Values, pa.Table]]:
    """Yield the rows of a table by the values of some columns, in their order."""
    if not len(table):
        return
    groups = np.zeros(len(table), dtype=np.int64)
    for name in columns:
        codes, size = _codes(table[name])
        _, groups = np.unique(groups * size + codes, return_inverse=True)
    order = np.argsort(groups, kind="stable")
    ends = np.flatnonzero(np.diff(groups[order])) + 1
    for chosen in np.split(order, ends):
        values = tuple(table[name][int(chosen[0])].as_py() for name in columns)
        yield values, table.take(pa.array(chosen))


def _codes(column: pa.ChunkedArray) -> tuple[Codes, int]:
    """Return a number for the value of each row, and how many there are; missing is one of them."""
    plain = column.cast(pa.string()) if is_text(column.type) else column
    whole = plain.combine_chunks().dictionary_encode(null_encoding="mask")
    codes = pc.fill_null(whole.indices, len(whole.dictionary)).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), len(whole.dictionary) + 1
