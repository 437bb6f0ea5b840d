"""Where a Parquet file stores page indexes and Bloom filters, which Arrow does not report.

The footer is a struct in the compact protocol of Apache Thrift: each field has a number and a type.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

# Types of fields that contain their value.
TRUE, FALSE = 1, 2
# Numbers of fields: of the file, of a row group, of one of its columns, and of that column's metadata.
ROW_GROUPS, COLUMNS, COLUMN_METADATA, PACKED_SIZE, DATA_PAGES, DICTIONARY = 4, 1, 3, 7, 9, 11
OFFSET_INDEX, COLUMN_INDEX, BLOOM_FILTER = (4, 5), (6, 7), (14, 15)
MAX_DEPTH = 32

Fields = dict[int, Any]


def index_ranges(content: bytes, footer: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of page indexes and Bloom filters; raise `ValueError` for a broken footer."""
    try:
        fields, _ = _read_struct(content, footer, 0)
        for group in fields.get(ROW_GROUPS, ()):
            for column in group.get(COLUMNS, ()):
                for start, length in (OFFSET_INDEX, COLUMN_INDEX):
                    if start in column:
                        yield column[start], column[start] + column.get(length, 0)
                described = column.get(COLUMN_METADATA, {})
                yield from _copy_of(described, content)
                if BLOOM_FILTER[0] in described:
                    start = described[BLOOM_FILTER[0]]
                    yield start, start + (described.get(BLOOM_FILTER[1]) or _bloom_filter_size(content, start))
    except (IndexError, AttributeError, TypeError, struct.error, OverflowError):
        raise ValueError("the footer is broken") from None


def _copy_of(described: Fields, content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the span of a copy of a column's metadata; some programs write one."""
    starts = [described[field] for field in (DATA_PAGES, DICTIONARY) if described.get(field)]
    position = min(starts, default=0) + described.get(PACKED_SIZE, 0)
    with suppress(IndexError, ValueError, struct.error):
        fields, end = _read_struct(content, position, 0)
        if fields == described:
            yield position, end


def _bloom_filter_size(content: bytes, start: int) -> int:
    """Return the size of a Bloom filter with its header, whose first field is the number of bytes after it."""
    header, end = _read_struct(content, start, 0)
    return end - start + int(header[1])


def _read_struct(content: bytes, index: int, depth: int) -> tuple[Fields, int]:
    """Read a struct of the compact Thrift protocol; return it with the position after it."""
    if depth > MAX_DEPTH:
        raise ValueError("structs are nested too deep")
    fields: Fields = {}
    number = 0
    while (head := content[index]) != 0:
        index += 1
        if head >> 4:
            number += head >> 4
        else:
            number, index = _read_signed(content, index)
        kind = head & 15
        if kind in (TRUE, FALSE):
            fields[number] = kind == TRUE
        else:
            fields[number], index = _read_value(content, index, kind, depth)
    return fields, index + 1


def _read_value(content: bytes, index: int, kind: int, depth: int) -> tuple[Any, int]:
    """Read a value of a Thrift type; return it with the position after it."""
    match kind:
        case 1 | 2 | 3:  # one byte: a boolean in a list, or a small number
            return content[index], index + 1
        case 4 | 5 | 6:
            return _read_signed(content, index)
        case 7:
            return struct.unpack_from("<d", content, index)[0], index + 8
        case 8:
            size, index = _read_unsigned(content, index)
            return content[index : index + size], index + size
        case 9 | 10:
            return _read_list(content, index, depth)
        case 12:
            return _read_struct(content, index, depth + 1)
    raise ValueError("a field of an unknown type")


def _read_list(content: bytes, index: int, depth: int) -> tuple[list[Any], int]:
    """Read a list of the compact Thrift protocol; return it with the position after it."""
    head, index = content[index], index + 1
    size, kind = head >> 4, head & 15
    if size == 15:
        size, index = _read_unsigned(content, index)
    if size > len(content):
        raise ValueError("a list is longer than the file")
    items = []
    for _ in range(size):
        item, index = _read_value(content, index, kind, depth + 1)
        items.append(item)
    return items, index


def _read_unsigned(content: bytes, index: int) -> tuple[int, int]:
    """Read an unsigned integer of variable length; return it with the position after it."""
    value = shift = 0
    while True:
        byte, index = content[index], index + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, index
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def _read_signed(content: bytes, index: int) -> tuple[int, int]:
    value, index = _read_unsigned(content, index)
    return (value >> 1) ^ -(value & 1), index
