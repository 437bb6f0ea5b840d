"""Delta and Iceberg tables with deleted rows, deletion vectors, new columns and other names in their files."""

import json
import struct
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyroaring import BitMap

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
# What the format's specification begins a bitmap of deleted rows with.
BITMAPS = 1681511377


def people(rows: int = 40) -> pa.Table:
    """Return a table with a missing value in every column and a column of every type."""

    def some(kind, value):
        return pa.array([None if row == 7 else value(row) for row in range(rows)], kind)

    return pa.table(
        {
            "name": some(pa.string(), lambda row: f"person {row}"),
            "age": some(pa.int64(), lambda row: 30 + row),
            "sex": some(pa.string(), lambda row: "fm"[row % 2]),
            "height": some(pa.float64(), lambda row: 150.5 + row % 3),
            "insured": some(pa.bool_(), lambda row: row % 3 == 0),
            "born": some(pa.date32(), lambda row: date(1970, 1, 1 + row % 5)),
            "seen": some(pa.timestamp("us"), lambda row: datetime(2024, 1, 1, row % 5)),
            "cost": some(pa.decimal128(8, 2), lambda row: Decimal(row % 4)),
            "ward": some(pa.int32(), lambda row: row % 2),
        }
    )


def delta(folder: Path, data: pa.Table, *, deleted: str | None = None, partition_by: list[str] | None = None) -> Path:
    """Write a Delta table in two files, and delete some of its rows in a second version."""
    half = len(data) // 2
    for part in (data.slice(0, half), data.slice(half)):
        write_deltalake(str(folder), part, mode="append", partition_by=partition_by)
    if deleted is not None:
        DeltaTable(str(folder)).delete(deleted)
    return folder


def delta_with_vector(folder: Path, data: pa.Table, rows: list[int]) -> Path:
    """Write a Delta table of one file, of which a deletion vector hides some rows."""
    write_deltalake(str(folder), data)
    log = folder / "_delta_log"
    (add,) = (
        entry["add"] for entry in map(json.loads, (log / f"{0:020}.json").read_text().splitlines()) if "add" in entry
    )
    bitmap = struct.pack("<iqi", BITMAPS, 1, 0) + BitMap(rows).serialize()
    vector = {"storageType": "i", "pathOrInlineDv": _in_letters(bitmap), "sizeInBytes": len(bitmap)}
    feature = ["deletionVectors", "timestampNtz"]
    entries = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": feature,
                "writerFeatures": feature,
            }
        },
        {"remove": {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": {**add, "deletionVector": {**vector, "cardinality": len(rows)}}},
    ]
    (log / f"{1:020}.json").write_text("\n".join(map(json.dumps, entries)))
    return folder


def delta_with_other_names(folder: Path, data: pa.Table) -> Path:
    """Write a Delta table whose files have other names of columns than the table: its log says which is which."""
    (folder / "_delta_log").mkdir(parents=True)
    path = folder / "part-0.parquet"
    inside = [f"col-{number}" for number in range(data.num_columns)]
    schema = pa.schema(
        [
            pa.field(name, each.type, metadata={"PARQUET:field_id": str(number + 1)})
            for number, (name, each) in enumerate(zip(inside, data.schema, strict=True))
        ]
    )
    pq.write_table(pa.table(data.columns, schema=schema), path)
    kinds = {pa.string(): "string", pa.int64(): "long"}
    fields = [
        {
            "name": each.name,
            "type": kinds[each.type],
            "nullable": True,
            "metadata": {"delta.columnMapping.id": number + 1, "delta.columnMapping.physicalName": inside[number]},
        }
        for number, each in enumerate(data.schema)
    ]
    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": str(len(fields))}
    metadata = {
        "id": "00000000-0000-0000-0000-000000000001",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": settings,
    }
    added = {"path": path.name, "partitionValues": {}, "size": path.stat().st_size, "modificationTime": 1}
    entries = [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metaData": metadata},
        {"add": {**added, "dataChange": True}},
    ]
    (folder / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, entries)))
    return folder


def iceberg(warehouse: Path, data: pa.Table, *, deleted: str | None = None) -> Path:
    """Write an Iceberg table in two files, delete some of its rows, and return its folder."""
    warehouse.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog("tests", uri="sqlite:///:memory:", warehouse=warehouse.absolute().as_uri())
    catalog.create_namespace("clinic")
    table = catalog.create_table("clinic.people", schema=data.schema)
    half = len(data) // 2
    for part in (data.slice(0, half), data.slice(half)):
        if len(part):
            table.append(part)
    if deleted is not None:
        table.delete(deleted)
    catalog.engine.dispose()
    return warehouse / "clinic" / "people"


def _in_letters(content: bytes) -> str:
    """Return bytes in the letters of Z85."""
    padded = content + bytes(-len(content) % 4)
    text = ""
    for first in range(0, len(padded), 4):
        number = int.from_bytes(padded[first : first + 4], "big")
        text += "".join(LETTERS[number // 85**power % 85] for power in range(4, -1, -1))
    return text
