"""Binary workbooks (.xlsb): the records of their sheets, for reading tables and for scanning published files.

A record is a number for its kind, the length of its payload, and the payload; both numbers are written in groups of
seven bits. The numbers of kinds are those of [MS-XLSB].
"""

import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import NamedTuple
from xml.sax.saxutils import unescape

BOOK, STRINGS, LINKS = "xl/workbook.bin", "xl/sharedStrings.bin", "xl/_rels/workbook.bin.rels"
# Kinds of records: a row, a cell of shared text, a shared text, a sheet's name, a merged area.
ROW, SHARED_CELL, SHARED_TEXT, BUNDLE, MERGED = 0, 7, 19, 156, 176
# Upper limit of the bytes of the entry that lists the sheets, and of the one that links them to their entries.
MAX_LIST_BYTES = 1 << 24


class SheetEntry(NamedTuple):
    """A sheet of a binary workbook: its name, the entry with its records, and whether it is hidden."""

    name: str
    entry: str
    hidden: bool


def read_records(content: bytes | Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the kind and the payload of every record of an .xlsb entry, given as bytes or as blocks of bytes.

    Raises `ValueError` if they end within a record.

    >>> list(read_records(bytes([5, 2, 65, 66, 0xB0, 1, 0])))
    [(5, b'AB'), (176, b'')]
    """
    read = _reader(iter([content]) if isinstance(content, bytes) else content)
    while first := read(1):
        kind = _read_number(read, first, most=2)
        length = _read_number(read, read(1), most=4)
        payload = read(length)
        if len(payload) < length:
            raise ValueError("a record is cut")
        yield kind, payload


def _read_number(read: Callable[[int], bytes], byte: bytes, *, most: int) -> int:
    """Read a number of at most `most` groups of seven bits, lowest first; `byte` is the first of them."""
    number = 0
    for group in range(most):
        if not byte:
            raise ValueError("a record is cut")
        number |= (byte[0] & 0x7F) << 7 * group
        if byte[0] < 0x80 or group == most - 1:
            break
        byte = read(1)
    return number


def _reader(blocks: Iterator[bytes]) -> Callable[[int], bytes]:
    """Return a function that reads the given number of bytes from blocks."""
    held, at = b"", 0

    def read(size: int) -> bytes:
        nonlocal held, at
        while len(held) - at < size and (block := next(blocks, None)) is not None:
            held, at = held[at:] + block, 0
        part = held[at : at + size]
        at += size
        return part

    return read


def read_wide_text(payload: bytes, position: int) -> tuple[str, int]:
    """Return a UTF-16 text that follows its length, and the position after it.

    Raise `ValueError` for a truncated one.
    """
    if position + 4 > len(payload):
        raise ValueError("a text is cut")
    (length,) = struct.unpack_from("<I", payload, position)
    end = position + 4 + 2 * length
    if end > len(payload):
        raise ValueError("a text is cut")
    return payload[position + 4 : end].decode("utf-16-le", errors="replace"), end


def list_sheets(archive: zipfile.ZipFile) -> list[SheetEntry]:
    """Return the sheets of a binary workbook in order; raise `ValueError` or an error of the archive."""
    targets = dict(_read_links(_read_whole(archive, LINKS).decode(errors="replace")))
    sheets = []
    for kind, payload in read_records(_read_whole(archive, BOOK)):
        if kind != BUNDLE:
            continue
        state = int.from_bytes(payload[:4], "little")
        link, position = read_wide_text(payload, 8)
        name, _ = read_wide_text(payload, position)
        target = targets.get(link, "")
        entry = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        sheets.append(SheetEntry(name, entry, state != 0))
    return sheets


def count_merged_areas(archive: zipfile.ZipFile, sheet: str) -> int:
    """Return how many merged areas a sheet of a binary workbook has."""
    entries = [each.entry for each in list_sheets(archive) if each.name == sheet]
    return sum(kind == MERGED for entry in entries[:1] for kind, _ in read_records(archive.read(entry)))


def _read_links(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the target of every link; no entity is expanded."""
    for tag in re.findall(r"<(?:\w+:)?Relationship\b[^>]*>", text):
        parts = {name: unescape(value) for name, _, value in re.findall(r"\b(Id|Target)=([\"'])(.*?)\2", tag)}
        yield parts.get("Id", ""), parts.get("Target", "")


def _read_whole(archive: zipfile.ZipFile, entry: str) -> bytes:
    """Read an entry as a whole; raise if it is too large for a list of sheets."""
    with archive.open(entry) as file:
        content = file.read(MAX_LIST_BYTES + 1)
    if len(content) > MAX_LIST_BYTES:
        raise ValueError("the list of sheets has no end")
    return content
