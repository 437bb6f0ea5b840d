"""Excel workbooks (.xlsx), read as the archive of XML that they are: cells, and everything that is not shown."""

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.scanning.base import NotChecked, Opened, Part
from indistinct.scanning.containers import MOST_INFLATED, read_entry, too_large
from indistinct.scanning.parquet import encrypted
from indistinct.tables.value import check_width

WORKBOOK, STRINGS, LINKS = "xl/workbook.xml", "xl/sharedStrings.xml", "xl/_rels/workbook.xml.rels"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MOST_CELLS, MOST_COLUMNS = 20_000_000, 16_384
# An entity can stand for any number of others; no workbook has a document type.
_DOCTYPE = re.compile(rb"<\0?!\0?(D\0?O\0?C\0?T\0?Y\0?P\0?E|E\0?N\0?T\0?I\0?T\0?Y)")
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook: whether people see it, its cells, and what in it is hidden or computed."""

    number: int
    hidden: bool
    cells: Mapping[int, Mapping[int, str]] = field(repr=False)
    strings: frozenset[int] = field(repr=False)
    hidden_rows: int
    hidden_columns: int
    formulas: int
    rules: int


@dataclass(frozen=True, slots=True, eq=False)
class Workbook:
    """A workbook: its sheets, its shared texts, the XML of every entry, and the names of all entries."""

    sheets: tuple[Sheet, ...]
    strings: tuple[str, ...]
    entries: Mapping[str, bytes]
    names: tuple[str, ...]


def refuse_old_office(content: bytes, name: str) -> InputError:
    """Return the error of a file in the container of older office programs, which also holds encrypted workbooks."""
    if "EncryptedPackage".encode("utf-16-le") in content:
        return encrypted(name)
    return InputError(f"{name} is a workbook of an older format", hint="save it as .xlsx, and scan that")


def is_workbook(archive: zipfile.ZipFile) -> bool:
    """Return whether an archive is an Excel workbook."""
    return WORKBOOK in archive.namelist()


def open_workbook(archive: zipfile.ZipFile, name: str) -> Opened:
    """Read a workbook; its first sheet that people see is the published table, with names in its first row."""
    entries, left = {}, MOST_INFLATED
    for entry in archive.namelist():
        if entry.endswith((".xml", ".rels", ".vml")) and entry not in entries:
            entries[entry] = read_entry(archive, entry, name, most=left)
            left -= len(entries[entry])
    if left <= 0:
        raise too_large(name)
    try:
        strings = tuple(_texts(entries[STRINGS], name)) if STRINGS in entries else ()
        sheets = tuple(_sheets(entries, strings, name))
    except (ElementTree.ParseError, ValueError, KeyError, IndexError, OverflowError):
        raise InputError(f"{name} cannot be read as an Excel file", hint="save it again, and scan that") from None
    shown = [sheet for sheet in sheets if not sheet.hidden]
    table = _table(shown[0], name) if shown and shown[0].cells else None
    parts = tuple(Part(f"the entry {entry}", _words(content)) for entry, content in entries.items())
    others = [sheet for sheet in shown[1:] if sheet.cells]
    reason = "the first sheet is taken for the published table: save each as a file of its own, and scan it"
    untold = tuple(NotChecked(f"the cells of sheet {sheet.number}", reason) for sheet in others)
    return Opened(
        "excel", table, parts, Workbook(sheets, strings, entries, tuple(archive.namelist())), not_checked=untold
    )


def parsed(content: bytes, name: str) -> ElementTree.Element:
    """Return an XML document; raise `InputError` for one that defines entities, which could stand for anything."""
    if _DOCTYPE.search(content[:65536]) or _DOCTYPE.search(content):
        raise InputError(
            f"{name} has XML with a document type, which no workbook needs", hint="do not open this file elsewhere"
        )
    return ElementTree.fromstring(content)  # noqa: S314  (without a document type there are no entities)


def local(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _sheets(entries: Mapping[str, bytes], strings: tuple[str, ...], name: str) -> Iterator[Sheet]:
    targets = {
        link.get("Id", ""): link.get("Target", "")
        for link in (parsed(entries[LINKS], name) if LINKS in entries else ())
    }
    number = 0
    for element in parsed(entries[WORKBOOK], name).iter():
        if local(element) != "sheet":
            continue
        number += 1
        link = next((value for key, value in element.items() if key.rpartition("}")[2] == "id"), "")
        target = targets.get(link, f"worksheets/sheet{number}.xml")
        entry = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        hidden = element.get("state", "visible") != "visible"
        if entry in entries:
            yield _sheet(parsed(entries[entry], name), number, strings, hidden=hidden)


def _sheet(root: ElementTree.Element, number: int, strings: tuple[str, ...], *, hidden: bool) -> Sheet:
    cells: dict[int, dict[int, str]] = {}
    used: set[int] = set()
    counts = {"hidden_rows": 0, "hidden_columns": 0, "formulas": 0, "rules": 0}
    row = column = total = 0
    for element in root.iter():
        match local(element):
            case "row":
                row, column = int(element.get("r", row + 1)), 0
                counts["hidden_rows"] += _is_on(element.get("hidden"))
            case "col":
                span = int(element.get("max", 1)) - int(element.get("min", 1)) + 1
                counts["hidden_columns"] += _is_on(element.get("hidden")) * min(max(span, 1), MOST_COLUMNS)
            case "c":
                column, total = _column(element.get("r"), column + 1), total + 1
                if total > MOST_CELLS or column > MOST_COLUMNS:
                    raise ValueError("too many cells")
                text = _cell(element, strings, used)
                counts["formulas"] += any(local(part) == "f" for part in element)
                if text is not None:
                    cells.setdefault(row, {})[column] = text
            case "dataValidation" | "cfRule":
                counts["rules"] += 1
    return Sheet(number, hidden, cells, frozenset(used), **counts)


def _cell(element: ElementTree.Element, strings: tuple[str, ...], used: set[int]) -> str | None:
    """Return the text of a cell, None for an empty one; what it shares with others is noted."""
    kind = element.get("t", "n")
    if kind == "inlineStr":
        return "".join(part.text or "" for part in element.iter() if local(part) == "t")
    value = next((part.text for part in element if local(part) == "v"), None)
    if value is None or kind != "s":
        return value
    place = int(value)
    if place < 0:
        raise ValueError("a shared text before the first")
    used.add(place)
    return strings[place]


def _column(reference: str | None, following: int) -> int:
    """Return the number of a column.

    >>> _column("AB12", 1)
    28
    """
    found = _CELL.fullmatch(reference or "")
    if found is None:
        return following
    number = 0
    for letter in found[1]:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _texts(content: bytes, name: str) -> Iterator[str]:
    for element in parsed(content, name):
        if local(element) == "si":
            yield "".join(part.text or "" for part in element.iter() if local(part) == "t")


def _table(sheet: Sheet, name: str) -> pa.Table:
    """Return the cells of a sheet as text; the first row has the names."""
    first, *rows = sorted(sheet.cells)
    width = max(max(cells) for cells in sheet.cells.values())
    check_width(width)
    header = sheet.cells[first]
    if (width + 1) * len(sheet.cells) > MOST_CELLS:
        raise InputError(f"{name} has cells too far apart", hint="save the table alone in a new file")
    columns = [[sheet.cells[row].get(place) for row in rows] for place in range(1, width + 1)]
    names = [header.get(place, "") for place in range(1, width + 1)]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=names)


def _words(content: bytes) -> bytes:
    """Return the text of an XML entry, with the marks that XML writes in other ways."""
    for written, mark in ((b"&lt;", b"<"), (b"&gt;", b">"), (b"&quot;", b'"'), (b"&apos;", b"'"), (b"&amp;", b"&")):
        content = content.replace(written, mark)
    return content


def _is_on(flag: str | None) -> bool:
    return flag in ("1", "true")
