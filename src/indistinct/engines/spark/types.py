"""Types of Spark and of Arrow: what can be counted and published, and what is refused with its column and type."""

from typing import Any

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.tables.value import check_names

PLAIN = {
    "ByteType": pa.int8(),
    "ShortType": pa.int16(),
    "IntegerType": pa.int32(),
    "LongType": pa.int64(),
    "FloatType": pa.float32(),
    "DoubleType": pa.float64(),
    "BooleanType": pa.bool_(),
    "StringType": pa.string(),
    "CharType": pa.string(),
    "VarcharType": pa.string(),
    "NullType": pa.string(),
    "DateType": pa.date32(),
    "TimestampType": pa.timestamp("us", tz="UTC"),  # a moment: its day and hour are those of UTC, as in Parquet
    "TimestampNTZType": pa.timestamp("us"),
}
# Types of Arrow that Spark does not have, and wider ones that hold the same values.
WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.null(): pa.string(),
}


def arrow_schema(schema: Any) -> pa.Schema:
    """Return the types that the columns of a Spark frame have in Arrow."""
    check_names([field.name for field in schema.fields])
    return pa.schema([pa.field(field.name, _arrow_type(field.name, field.dataType)) for field in schema.fields])


def _arrow_type(name: str, kind: Any) -> pa.DataType:
    """Return the Arrow type of a Spark type; raise if there is none."""
    of_spark = type(kind).__name__
    if of_spark == "DecimalType":
        return pa.decimal128(kind.precision, kind.scale)
    if of_spark not in PLAIN:
        raise InputError(
            f"column {name!r} has the type {kind.simpleString()}, which is neither number, date nor text",
            hint="turn it into text, or leave it out with frame.select(…)",
            column=name,
        )
    return PLAIN[of_spark]


def spark_schema(schema: pa.Schema) -> Any:
    """Return the Spark schema of an Arrow schema whose types Spark has."""
    from pyspark.sql import types

    names = {kind: name for name, kind in PLAIN.items() if name not in ("CharType", "VarcharType", "NullType")}
    fields = []
    for field in schema:
        kind = carried_type(field.name, field.type)
        of_spark = (
            types.DecimalType(kind.precision, kind.scale)
            if pa.types.is_decimal(kind)
            else getattr(types, names[kind])()
        )
        fields.append(types.StructField(field.name, of_spark, nullable=True))
    return types.StructType(fields)


def types_to_send(schema: pa.Schema) -> pa.Schema:
    """Return the types in which columns are sent to Spark; results are cast back to the original types."""
    return pa.schema([pa.field(field.name, carried_type(field.name, field.type)) for field in schema])


def carried_type(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type of Spark that holds the values of an Arrow type; raise `InputError` if there is none."""
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    kind = WIDER.get(kind, kind)
    if pa.types.is_decimal(kind) and kind.precision <= 38:
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return pa.timestamp("us", tz=None if kind.tz is None else "UTC")
    if kind not in PLAIN.values():
        raise InputError(
            f"column {name!r} has the type {kind}, which the engine spark does not carry",
            hint="give it another type, or use the engine memory or duckdb",
            column=name,
        )
    return kind
