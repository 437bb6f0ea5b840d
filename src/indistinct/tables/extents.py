"""The number of cells that the sheets of a workbook span, counted before anything allocates memory for them.

A reader of sheets allocates the whole rectangle between the first cell and the last: a single cell in the far corner of
a file of a kilobyte spans 17 billion cells. A text that many cells share is small in the file, and is copied for each
of them.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from lzma import LZMAError
from pathlib import Path
from xml.sax.saxutils import unescape

import numpy as np

from indistinct.tables.binary_workbooks import ROW, SHARED_CELL, SHARED_TEXT, read_records

ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, ValueError, RuntimeError)
"""What reading a damaged zip archive may raise, by every method of compression."""
BLOCK_BYTES = 1 << 20
# Bytes per cell while a sheet is read, and the number of copies of its text.
BYTES_PER_CELL, COPIES_OF_TEXT = 160, 2
REFERENCE = re.compile(rb'<(?:\w+:)?c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
# The beginnings of cells and rows, with any namespace prefix: searching bytes is faster than patterns.
ANY_CELL, ANY_ROW = (b"<c ", b"<c>", b":c ", b":c>"), (b"<row", b":row")
SHARED = re.compile(rb't="s"[^>]*>(?:<(?:\w+:)?f\b[^>]*/>|<(?:\w+:)?f\b.*?</(?:\w+:)?f>)?<(?:\w+:)?v>(\d+)</')
ITEM_END = re.compile(rb"</(?:\w+:)?si>")
OWN_TEXT = re.compile(rb't="(?:inlineStr|str)"')
SHEET_NAME = re.compile(rb'<(?:\w+:)?sheet\b[^>]*?\bname="([^"]*)"[^>]*?\b\w+:id="([^"]*)"')
RELATION = re.compile(rb"<(?:\w+:)?Relationship\b[^>]*>")
# The rows and cells of an OpenDocument file, and how often each is repeated.
OPEN_TAG = re.compile(rb"<(?:\w+:)?(table-row|table-cell|covered-table-cell|table)\b([^>]*?)(/?)>")
COLUMNS, ROWS = re.compile(rb'number-columns-repeated="(\d+)"'), re.compile(rb'number-rows-repeated="(\d+)"')
# Records of cells in binary workbooks.
CELLS = range(1, 12)


@dataclass(slots=True)
class Extent:
    """The rectangle between the first and the last cell of a sheet, and the bytes of its texts."""

    first: tuple[int, int] | None = None
    last: tuple[int, int] = (0, 0)
    texts: int = 0

    def add(self, rows: tuple[int, int], columns: tuple[int, int]) -> None:
        """Extend the rectangle by the rows and columns of some cells, each given as (first, last)."""
        before = self.first or (rows[0], columns[0])
        self.first = min(before[0], rows[0]), min(before[1], columns[0])
        self.last = max(self.last[0], rows[1]), max(self.last[1], columns[1])

    @property
    def cells(self) -> int:
        """The number of cells of the rectangle."""
        if self.first is None:
            return 0
        return (self.last[0] - self.first[0] + 1) * (self.last[1] - self.first[1] + 1)

    @property
    def size(self) -> int:
        """The approximate number of bytes that the sheet takes while it is read."""
        return BYTES_PER_CELL * self.cells + COPIES_OF_TEXT * self.texts


@dataclass(slots=True)
class Spans:
    """The extents of the sheets of a workbook; counting stops once they take more than `most` bytes."""

    most: int
    sheets: list[Extent] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of bytes that all sheets take."""
        return sum(each.size for each in self.sheets)

    @property
    def cells(self) -> int:
        """The number of cells that all sheets span."""
        return sum(each.cells for each in self.sheets)

    def begin(self) -> Extent:
        """Add an extent for the next sheet and return it."""
        self.sheets.append(Extent())
        return self.sheets[-1]

    def is_enough(self) -> bool:
        """Whether the count already exceeds the limit."""
        return self.size > self.most


def count_spans(path: Path, sheet: str | None, *, most: int) -> Spans:
    """Return the spans of the sheets of a workbook, or of one sheet; empty for a file that is not an archive."""
    spans = Spans(most)
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "content.xml" in names:
                _count_open_document(archive, spans)
                return spans
            binary = any(name.lower() == "xl/workbook.bin" for name in names)
            count = _count_binary if binary else _count_sheet
            wanted = None if binary or sheet is None else _entry_of(archive, sheet)
            items = [name for name in names if "sharedstrings" in name.lower()]
            lengths = _lengths(archive, items, most=most, binary=binary)
            for name in [wanted] if wanted in names else [name for name in names if name not in items]:
                if not spans.is_enough():
                    count(archive, str(name), spans, lengths)
    except ARCHIVE_ERRORS:
        return spans  # the reader reports what is wrong
    return spans


def _blocks(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """Yield the decompressed blocks of an entry, whatever size it declares."""
    entry = archive.getinfo(name)
    entry.file_size = 1 << 62
    with archive.open(entry) as file:
        while block := file.read(BLOCK_BYTES):
            yield block


def _blocks_of_tags(archive: zipfile.ZipFile, name: str, mark: bytes = b">") -> Iterator[bytes]:
    """Yield the blocks of an entry; no block ends within a tag."""
    rest = b""
    for block in _blocks(archive, name):
        text = rest + block
        end = text.rfind(mark) + len(mark)
        if end < len(mark):
            rest = text if len(text) < 64 * BLOCK_BYTES else b""
            continue
        yield text[:end]
        rest = text[end:]
    yield rest


def _lengths(archive: zipfile.ZipFile, names: list[str], *, most: int, binary: bool) -> np.ndarray:
    """Return the length of each shared text, in bytes of the file."""
    lengths: list[int] = []
    taken = 0
    for name in names:
        if binary:
            lengths += [len(content) for kind, content in read_records(_blocks(archive, name)) if kind == SHARED_TEXT]
            continue
        for block in _blocks_of_tags(archive, name, b"si>"):
            ends = [match.end() for match in ITEM_END.finditer(block)]
            lengths += np.diff([0, *ends]).tolist()
            taken += len(block)
            if taken * COPIES_OF_TEXT > most:
                return np.array([*lengths, taken])
    return np.array(lengths, dtype=np.int64)


def _count_sheet(archive: zipfile.ZipFile, name: str, spans: Spans, lengths: np.ndarray) -> None:
    """Count the cells of a sheet, and the length of its shared texts."""
    extent, rows, width = spans.begin(), 0, 0
    longest = int(lengths.max(initial=0))
    for block in _blocks_of_tags(archive, name):
        references = REFERENCE.findall(block)
        if references:
            columns = [column_number(letters) for letters in {letters for letters, _ in references}]
            numbers = [int(number) for number in {number for _, number in references}]
            extent.add((min(numbers), max(numbers)), (min(columns), max(columns)))
        cells = sum(map(block.count, ANY_CELL))
        rows += sum(map(block.count, ANY_ROW))
        if cells > len(references):  # cells without a reference follow each other
            parts = block.split(ANY_ROW[0] if ANY_ROW[0] in block else ANY_ROW[1])
            width = max(width, *(sum(map(part.count, ANY_CELL)) for part in parts))
            extent.add((1, max(rows, 1)), (1, max(width, 1)))
        if longest * max(cells, extent.cells) * COPIES_OF_TEXT > spans.most // 8:
            used = np.array(SHARED.findall(block), dtype=np.int64)
            extent.texts += int(lengths[used[used < len(lengths)]].sum())
        extent.texts += len(block) if OWN_TEXT.search(block) else 0
        if spans.is_enough():
            return


def column_number(letters: bytes) -> int:
    """Return the number of a column from its letters.

    >>> column_number(b"A"), column_number(b"XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _entry_of(archive: zipfile.ZipFile, sheet: str) -> str | None:
    """Return the entry of an archive with a sheet, None where the archive does not list it as usual."""
    try:
        book, relations = (archive.read(name) for name in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels"))
    except KeyError:
        return None
    wanted = [key for name, key in SHEET_NAME.findall(book) if unescape(name.decode(errors="replace")) == sheet]
    for tag in RELATION.findall(relations) if wanted else ():
        if b'Id="' + wanted[0] + b'"' in tag and (target := re.search(rb'Target="([^"]*)"', tag)):
            entry = target[1].decode(errors="replace")
            return entry.removeprefix("/") if entry.startswith("/") else f"xl/{entry}"
    return None


def _count_open_document(archive: zipfile.ZipFile, spans: Spans) -> None:
    """Count the cells of an OpenDocument file, whose rows and cells may be repeated."""
    extent = spans.begin()
    row = column = 0
    repeated, cell = 1, None
    for block in _blocks_of_tags(archive, "content.xml"):
        for tag in OPEN_TAG.finditer(block):
            if cell is not None:
                extent.texts += max(tag.start() - cell[0], 0) * cell[1]
                cell = None
            match tag[1]:
                case b"table":
                    extent, row, column = spans.begin(), 0, 0
                    repeated = 0
                case b"table-row":
                    row, column, repeated = row + repeated, 0, _number(ROWS, tag[2])
                case _:
                    across = _number(COLUMNS, tag[2])
                    if not tag[3] or b"value-type" in tag[2]:
                        extent.add((row, row + repeated - 1), (column, column + across - 1))
                        cell = None if tag[3] else (tag.end(), across * repeated)
                    column += across
        cell = None if cell is None else (cell[0] - len(block), cell[1])
        if spans.is_enough():
            return


def _number(mark: re.Pattern[bytes], attributes: bytes) -> int:
    match = mark.search(attributes)
    return int(match[1]) if match else 1


def _count_binary(archive: zipfile.ZipFile, name: str, spans: Spans, lengths: np.ndarray) -> None:
    """Count the cells of a sheet of a binary workbook."""
    if "worksheets" not in name.lower() or not name.lower().endswith(".bin"):
        return
    extent, row = spans.begin(), 0
    for kind, content in read_records(_blocks(archive, name)):
        if kind == ROW:
            row = int.from_bytes(content[:4], "little")
        elif kind in CELLS:
            column = int.from_bytes(content[:4], "little")
            extent.add((row, row), (column, column))
            item = int.from_bytes(content[8:12], "little")
            if kind == SHARED_CELL and item < len(lengths):
                extent.texts += int(lengths[item])
            if spans.is_enough():
                return
