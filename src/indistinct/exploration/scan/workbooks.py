"""Workbooks (.xlsx, .xlsb, .ods), read as archives, and what they store apart from the visible cells.

That is who made them, hidden sheets, rows and columns, comments, links, and texts of deleted cells.
"""

import io
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.exploration.scan.archives import find_strays
from indistinct.exploration.scan.base import (
    FilePart,
    Finding,
    NotChecked,
    Opened,
    ScanCheck,
    ScannedFile,
    leak,
    note,
    suspicion,
)
from indistinct.exploration.scan.parquet import encrypted_error
from indistinct.exploration.scan.text import read_entry
from indistinct.figures import plural
from indistinct.machine.memory import Allowance
from indistinct.tables.binary_workbooks import BOOK, ROW, SHARED_TEXT, list_sheets, read_records, read_wide_text
from indistinct.tables.binary_workbooks import STRINGS as BINARY_STRINGS
from indistinct.tables.extents import column_number
from indistinct.tables.sheets import CONTENT, MAX_EXACT_INTEGER
from indistinct.tables.sheets import open_workbook as open_sheets
from indistinct.tables.sheets import spell_cell as spell
from indistinct.tables.value import check_width
from indistinct.tables.xml_documents import parse_xml

WORKBOOK, STRINGS, LINKS = "xl/workbook.xml", "xl/sharedStrings.xml", "xl/_rels/workbook.xml.rels"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Kinds of records in a binary workbook, and the bit that hides a row.
COLUMNS, CELLS, FORMULAS, RULES = 60, (*range(2, 12), 62), (8, 9, 10, 11), (64, 463)
HIDDEN_ROW = 0x10
# The entry of an OpenDocument file with its type.
MEDIA = "mimetype"
XML = (".xml", ".rels", ".vml", ".rdf")
OPEN_NOT_SHOWN = (NotChecked("hidden columns", "the reader of open documents does not show them"),)
MAX_CELLS, MAX_COLUMNS = 20_000_000, 16_384
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


@dataclass(frozen=True, slots=True)
class ScannedSheet:
    """A sheet of a workbook: whether it is visible, its cells, and its hidden and computed parts."""

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
    """A workbook: its sheets, its shared texts, the content of every entry, and the names of all entries."""

    sheets: tuple[ScannedSheet, ...]
    strings: tuple[str, ...]
    entries: Mapping[str, bytes]
    names: tuple[str, ...]


def refuse_old_office(content: bytes, name: str) -> InputError:
    """Return the error of a file in the container of older office programs, which encrypted workbooks also use."""
    if "EncryptedPackage".encode("utf-16-le") in content:
        return encrypted_error(name)
    return InputError(f"{name} is a workbook of an older format", hint="save it as .xlsx, and scan that")


def is_workbook(archive: zipfile.ZipFile, name: str, allowance: Allowance) -> bool:
    """Return whether an archive is a workbook: of Excel, in XML or binary records, or an OpenDocument file (.ods)."""
    names = archive.namelist()
    if WORKBOOK in names or BOOK in names:
        return True
    return CONTENT in names and MEDIA in names and b"spreadsheet" in read_entry(archive, MEDIA, name, allowance)


def open_workbook(archive: zipfile.ZipFile, content: bytes, name: str, allowance: Allowance) -> Opened:
    """Read a workbook; its first visible sheet is the published table, with names in its first row."""
    entries: dict[str, bytes] = {}
    hidden: list[FilePart] = []
    taken = 0
    for entry in archive.infolist():
        if entry.filename in entries:
            hidden.append(_searched_part(entry.filename, entries[entry.filename]))
        entries[entry.filename] = read_entry(archive, entry, name, allowance, taken=taken)
        taken += len(entries[entry.filename])
    strays = find_strays(archive, content, name)
    names = tuple(archive.namelist())
    not_shown: tuple[NotChecked, ...] = ()
    try:
        if WORKBOOK in entries:
            strings = tuple(_texts(entries[STRINGS], name)) if STRINGS in entries else ()
            sheets = tuple(_sheets(entries, strings, name))
        elif BOOK in entries:
            strings = tuple(read_shared_texts(entries))
            sheets = tuple(_binary_sheets(archive, entries, strings))
        else:
            strings, sheets, not_shown = (), tuple(_open_sheets(content, entries[CONTENT], name)), OPEN_NOT_SHOWN
    except (ElementTree.ParseError, ValueError, KeyError, IndexError, OverflowError, struct.error):
        raise InputError(f"{name} cannot be read as a workbook", hint="save it again, and scan that") from None
    visible = [sheet for sheet in sheets if not sheet.hidden and sheet.cells]
    table = _table(visible[0], name) if visible else None
    parts = (*(_searched_part(entry, each) for entry, each in entries.items()), *hidden, strays.part())
    book = Workbook(sheets, strings, entries, names)
    return Opened("excel", table, parts, book, not_checked=not_shown, unread=_unread(visible), strays=strays)


def _unread(shown: list[ScannedSheet]) -> tuple[NotChecked, ...]:
    """Return the visible cells that the scan does not read: those of every sheet except the first."""
    if not shown:
        return (NotChecked("the cells", "no sheet that people see has any"),)
    reason = "the first sheet is taken for the published table: save each as a file of its own, and scan it"
    return tuple(NotChecked(f"the cells of sheet {sheet.number}", reason) for sheet in shown[1:])


def local(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _sheets(entries: Mapping[str, bytes], strings: tuple[str, ...], name: str) -> Iterator[ScannedSheet]:
    """Yield the sheets of an .xlsx workbook."""
    targets = {
        link.get("Id", ""): link.get("Target", "")
        for link in (parse_xml(entries[LINKS], name) if LINKS in entries else ())
    }
    number = 0
    for element in parse_xml(entries[WORKBOOK], name).iter():
        if local(element) != "sheet":
            continue
        number += 1
        link = next((value for key, value in element.items() if key.rpartition("}")[2] == "id"), "")
        target = targets.get(link, f"worksheets/sheet{number}.xml")
        entry = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        hidden = element.get("state", "visible") != "visible"
        if entry in entries:
            yield _sheet(parse_xml(entries[entry], name), number, strings, hidden=hidden)


def read_shared_texts(entries: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the shared texts of a binary workbook."""
    for kind, payload in read_records(entries.get(BINARY_STRINGS, b"")):
        if kind == SHARED_TEXT:
            yield read_wide_text(payload, 1)[0]


def _binary_sheets(
    archive: zipfile.ZipFile, entries: Mapping[str, bytes], strings: tuple[str, ...]
) -> Iterator[ScannedSheet]:
    """Yield the sheets of an .xlsb workbook."""
    for number, listed in enumerate(list_sheets(archive), start=1):
        if listed.entry in entries:
            yield _binary_sheet(entries[listed.entry], number, strings, hidden=listed.hidden)


def _binary_sheet(content: bytes, number: int, strings: tuple[str, ...], *, hidden: bool) -> ScannedSheet:
    """Read the cells of a sheet of an .xlsb workbook."""
    cells: dict[int, dict[int, str]] = {}
    used: set[int] = set()
    counts = {"hidden_rows": 0, "hidden_columns": 0, "formulas": 0, "rules": 0}
    row = total = 0
    for kind, payload in read_records(content):
        if kind == ROW:
            row = int.from_bytes(payload[:4], "little")
            counts["hidden_rows"] += bool(payload[11] & HIDDEN_ROW)
        elif kind == COLUMNS:
            first, last, _, _, flags = struct.unpack_from("<IIIIH", payload)
            counts["hidden_columns"] += (flags & 1) * min(max(last - first + 1, 1), MAX_COLUMNS)
        elif kind in RULES:
            counts["rules"] += 1
        elif kind in CELLS:
            column, total = int.from_bytes(payload[:4], "little") + 1, total + 1
            if total > MAX_CELLS or column > MAX_COLUMNS:
                raise ValueError("too many cells")
            counts["formulas"] += kind in FORMULAS
            text = _binary_cell(kind, payload[8:], strings, used)
            if text is not None:
                cells.setdefault(row, {})[column] = text
    return ScannedSheet(number, hidden, cells, frozenset(used), **counts)


def _binary_cell(kind: int, payload: bytes, strings: tuple[str, ...], used: set[int]) -> str | None:
    """Return the text of a cell, None for an empty one; indices of shared texts are added to `used`."""
    match kind:
        case 2:
            (packed,) = struct.unpack_from("<i", payload)
            bits = struct.pack("<q", (packed & ~3) << 32)
            number = float(packed >> 2) if packed & 2 else struct.unpack("<d", bits)[0]
            return _spell_number(number / 100 if packed & 1 else number)
        case 4 | 10:
            return str(payload[0])
        case 5 | 9:
            return _spell_number(struct.unpack_from("<d", payload)[0])
        case 6 | 8:
            return read_wide_text(payload, 0)[0]
        case 62:
            return read_wide_text(payload, 1)[0]
        case 7:
            (index,) = struct.unpack_from("<I", payload)
            used.add(index)
            return strings[index]
    return None


def _spell_number(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < MAX_EXACT_INTEGER else str(number)


def _open_sheets(content: bytes, document: bytes, name: str) -> Iterator[ScannedSheet]:
    """Yield the sheets of an OpenDocument file; the first has the counts of formulas and hidden rows of all sheets."""
    counts = {
        "hidden_rows": len(re.findall(rb'table:visibility="(?:collapse|filter)"', document)),
        "formulas": len(re.findall(rb"\btable:formula=", document)),
        "rules": len(re.findall(rb"<table:content-validation\b|<calcext:conditional-format\b", document)),
    }
    with open_sheets(Path(name), io.BytesIO(content)) as book:
        for number, metadata in enumerate(book.sheets_metadata, start=1):
            rows = book.get_sheet_by_name(metadata.name).to_python()
            cells = {
                index: {column: spell(cell) for column, cell in enumerate(row, start=1) if cell not in (None, "")}
                for index, row in enumerate(rows, start=1)
            }
            mine = counts if number == 1 else dict.fromkeys(counts, 0)
            filled = {index: row for index, row in cells.items() if row}
            hidden = metadata.visible != type(metadata.visible).Visible
            yield ScannedSheet(number, hidden, filled, frozenset(), hidden_columns=0, **mine)


def _sheet(root: ElementTree.Element, number: int, strings: tuple[str, ...], *, hidden: bool) -> ScannedSheet:
    """Read the cells of a sheet of an .xlsx workbook."""
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
                counts["hidden_columns"] += _is_on(element.get("hidden")) * min(max(span, 1), MAX_COLUMNS)
            case "c":
                column, total = _column(element.get("r"), column + 1), total + 1
                if total > MAX_CELLS or column > MAX_COLUMNS:
                    raise ValueError("too many cells")
                text = _cell(element, strings, used)
                counts["formulas"] += any(local(part) == "f" for part in element)
                if text is not None:
                    cells.setdefault(row, {})[column] = text
            case "dataValidation" | "cfRule":
                counts["rules"] += 1
    return ScannedSheet(number, hidden, cells, frozenset(used), **counts)


def _cell(element: ElementTree.Element, strings: tuple[str, ...], used: set[int]) -> str | None:
    """Return the text of a cell, None for an empty one; indices of shared texts are added to `used`."""
    kind = element.get("t", "n")
    if kind == "inlineStr":
        return "".join(part.text or "" for part in element.iter() if local(part) == "t")
    value = next((part.text for part in element if local(part) == "v"), None)
    if value is None or kind != "s":
        return value
    index = int(value)
    if index < 0:
        raise ValueError("a shared text before the first")
    used.add(index)
    return strings[index]


def _column(reference: str | None, following: int) -> int:
    """Return the number of a column from a cell reference.

    >>> _column("AB12", 1)
    28
    """
    match = _CELL.fullmatch(reference or "")
    if match is None:
        return following
    return column_number(match[1].encode())


def _texts(content: bytes, name: str) -> Iterator[str]:
    """Yield the shared texts of a workbook."""
    for element in parse_xml(content, name):
        if local(element) == "si":
            yield "".join(part.text or "" for part in element.iter() if local(part) == "t")


def _table(sheet: ScannedSheet, name: str) -> pa.Table:
    """Return the cells of a sheet as text; the first row has the names."""
    first, *rows = sorted(sheet.cells)
    width = max(max(cells) for cells in sheet.cells.values())
    check_width(width)
    header = sheet.cells[first]
    if (width + 1) * len(sheet.cells) > MAX_CELLS:
        raise InputError(f"{name} has cells too far apart", hint="save the table alone in a new file")
    columns = [[sheet.cells[row].get(index) for row in rows] for index in range(1, width + 1)]
    names = [header.get(index, "") for index in range(1, width + 1)]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=names)


def _searched_part(entry: str, content: bytes) -> FilePart:
    """Return the text of an entry to be searched: that of XML, and UTF-16 text of binary records, as UTF-8."""
    location = f"the entry {entry}"
    if entry.endswith(XML):
        return FilePart(location, _words(content))
    if not entry.endswith(".bin"):
        return FilePart(location, content, words=False)
    even, odd = (content[start:].decode("utf-16-le", errors="ignore") for start in (0, 1))
    return FilePart(location, (even + "\n" + odd).encode(errors="ignore"), words=False)


def _words(content: bytes) -> bytes:
    """Return the text of an XML entry with entities decoded."""
    for written, mark in ((b"&lt;", b"<"), (b"&gt;", b">"), (b"&quot;", b'"'), (b"&apos;", b"'"), (b"&amp;", b"&")):
        content = content.replace(written, mark)
    return content


def _is_on(flag: str | None) -> bool:
    return flag in ("1", "true")


# Properties that name people and places, and those with times.
PEOPLE = {"creator", "lastModifiedBy", "Manager", "Company", "category", "keywords", "subject", "description", "title"}
PEOPLE |= {"initial-creator", "printed-by", "keyword", "template"}
TIMES = {"created", "modified", "lastPrinted", "TotalTime", "creation-date", "date", "print-date", "editing-duration"}
PROPERTIES = ("docProps/core.xml", "docProps/app.xml", "meta.xml")
CUSTOM = "docProps/custom.xml"


def _properties(subject: ScannedFile) -> Iterator[Finding]:
    """Report names of people and other properties of the document."""
    book: Workbook = subject.file.inside
    elements = [element for entry in PROPERTIES for element in read_elements(book, entry)]
    people = [element for element in elements if local(element) in PEOPLE and (element.text or "").strip()]
    if people:
        yield suspicion(
            "the document's properties",
            len(people),
            f"{plural(len(people), 'property', 'properties')} of the document tell who made it, where, or of what",
            "remove them: File, Info, Inspect Document in Excel",
        )
    times = [element for element in elements if local(element) in TIMES and (element.text or "").strip()]
    if times:
        yield note(
            "the document's properties",
            len(times),
            "the document tells when it was made and changed",
            "remove it if these times tell something",
        )
    custom = sum(local(element) == "property" for element in read_elements(book, CUSTOM))
    if custom:
        yield suspicion(
            CUSTOM,
            custom,
            f"the document has {plural(custom, 'property', 'properties')} that a person added",
            "read them, and remove them",
        )


def _hidden(subject: ScannedFile) -> Iterator[Finding]:
    """Report hidden sheets, rows and columns."""
    book: Workbook = subject.file.inside
    for sheet in book.sheets:
        hidden = {"rows": sheet.hidden_rows, "columns": sheet.hidden_columns}
        if sheet.hidden:
            hidden = {"cells": max(sum(map(len, sheet.cells.values())), 1)}
        for what, count in hidden.items():
            if count:
                yield leak(
                    f"sheet {sheet.number}",
                    count,
                    f"sheet {sheet.number} hides {plural(count, what.removesuffix('s'))}, which everybody can show",
                    "delete what is hidden, or save the table alone in a new file",
                )
        if sheet.formulas or sheet.rules:
            count = sheet.formulas + sheet.rules
            yield suspicion(
                f"sheet {sheet.number}",
                count,
                f"sheet {sheet.number} has {plural(count, 'formula or rule', 'formulas or rules')} that may show other "
                "cells, or list the values of a column",
                "paste the values alone into a new file",
            )


def _strings(subject: ScannedFile) -> Iterator[Finding]:
    """Report shared texts that no cell uses."""
    book: Workbook = subject.file.inside
    used = frozenset[int]().union(*(sheet.strings for sheet in book.sheets))
    strings = {book.strings[index] for index in used}
    unused = {text for index, text in enumerate(book.strings) if index not in used and text.strip()} - strings
    if unused:
        yield leak(
            "the shared texts",
            len(unused),
            f"the workbook still stores {plural(len(unused), 'text')} that no cell has: those of deleted cells",
            "save the table alone in a new file",
        )


def read_elements(book: Workbook, entry: str) -> Iterator[ElementTree.Element]:
    """Yield the elements of an XML entry, none where it is missing or broken."""
    if entry in book.entries:
        try:
            yield from parse_xml(book.entries[entry], entry).iter()
        except ElementTree.ParseError:
            return


CHECKS = (
    ScanCheck("workbook-properties", "who made a workbook, and when", _properties, (), ("excel",)),
    ScanCheck("workbook-hidden", "hidden sheets, rows and columns, formulas", _hidden, (), ("excel",)),
    ScanCheck("workbook-strings", "texts that a workbook stores and no cell has", _strings, (), ("excel",)),
)
