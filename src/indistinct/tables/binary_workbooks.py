"""Binary workbooks (.xlsb): the records of their sheets, for the reader of tables and for the scan of published files.

A record has a number for its kind, the length of its payload, and the payload; both numbers are written in groups of
seven bits. The numbers of kinds are those of [MS-XLSB].
"""

import re
import struct
import zipfile
from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import unescape

BOOK, STRINGS, LINKS = "xl/workbook.bin", "xl/sharedStrings.bin", "xl/_rels/workbook.bin.rels"
# Kinds of records: a sheet's name, a merged area.
BUNDLE, MERGED = 156, 176
# Most bytes of the entry that lists the sheets, or of the one that links them to their entries.
MOST_LISTED = 1 << 24


class SheetEntry(NamedTuple):
    """A sheet of a binary workbook: its name, the entry that holds its records, and whether it is hidden."""

    name: str
    entry: str
    hidden: bool


def read_records(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the kind and the payload of every record; raise `ValueError` where the bytes end within one.

    >>> list(read_records(bytes([5, 2, 65, 66, 0xB0, 1, 0])))
    [(5, b'AB'), (176, b'')]
    """
    position = 0
    while position < len(content):
        kind, position = _read_number(content, position, most=2)
        length, position = _read_number(content, position, most=4)
        payload = content[position : position + length]
        if len(payload) < length:
            raise ValueError("a record is cut")
        yield kind, payload
        position += length


def _read_number(content: bytes, position: int, *, most: int) -> tuple[int, int]:
    """Return a number of at most `most` groups of seven bits, the lowest first, and the position behind it."""
    number = 0
    for group in range(most):
        if position >= len(content):
            raise ValueError("a record is cut")
        byte = content[position]
        number, position = number | (byte & 0x7F) << 7 * group, position + 1
        if byte < 0x80:
            break
    return number, position


def read_wide_text(payload: bytes, position: int) -> tuple[str, int]:
    """Return a text of UTF-16 behind its length, and the position behind it; raise `ValueError` for one that is cut."""
    if position + 4 > len(payload):
        raise ValueError("a text is cut")
    (length,) = struct.unpack_from("<I", payload, position)
    end = position + 4 + 2 * length
    if end > len(payload):
        raise ValueError("a text is cut")
    return payload[position + 4 : end].decode("utf-16-le", errors="replace"), end


def list_sheets(archive: zipfile.ZipFile) -> list[SheetEntry]:
    """Return the sheets of a binary workbook in their order; raise `ValueError` or an error of the archive."""
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
    with archive.open(entry) as file:
        content = file.read(MOST_LISTED + 1)
    if len(content) > MOST_LISTED:
        raise ValueError("the list of sheets has no end")
    return content
