"""Files of SPSS, Stata and SAS: unused value labels, values declared missing, notes, times, hidden rows.

Cells are read as stored, including those with values that the file declares as missing.
"""

import io
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from indistinct.errors import InputError
from indistinct.exploration.scan.base import (
    FilePart,
    Finding,
    Kind,
    NotChecked,
    Opened,
    ScanCheck,
    ScannedFile,
    Severity,
    bytes_behind,
    leak,
    note,
    suspicion,
)
from indistinct.exploration.scan.compared import spell_values
from indistinct.figures import plural
from indistinct.tables.labelled import count_members, label_columns, parse_labelled
from indistinct.tables.value import Reading

# The first bytes of files, and the suffix of their program.
MAGIC = {
    b"$FL2": ".sav",
    b"$FL3": ".zsav",
    b"<stata_dta>": ".dta",
    b"HEADER RECORD*******LIB": ".xpt",
    bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c\x18\x1f\x10\x11": ".sas7bdat",
}
SPSS = (".sav", ".zsav")
# Where the header of SPSS has the number of rows, and the number there that means unknown.
COUNTED, UNCOUNTED = 80, -1
STATA_BEGIN, STATA_END = b"<stata_dta>", b"</stata_dta>"
# Records of SPSS with attributes of the file and of columns; SPSS itself writes the role of a column there.
ATTRIBUTES = (17, 18)
ROLE = re.compile(rb"\$@Role\('[0-9]'\s*\)")
# The name of a table if none was given.
UNNAMED = ("", "DATASET")


@dataclass(frozen=True, slots=True, eq=False)
class StatisticsFile:
    """What a file of a statistics program stores apart from its cells.

    `unused` and `in_missing` are by column: labels of codes that no row has, and cells with values that are declared
    missing. `uncounted` rows are beyond the number in the header, `behind` bytes are after the end.
    """

    metadata: Any
    unused: Mapping[str, tuple[str, ...]]
    in_missing: Mapping[str, int]
    orphans: int = 0
    attributes: int = 0
    uncounted: int = 0
    behind: int = 0
    titles: int = 0
    texts: tuple[str, ...] = field(default=(), repr=False)


def suffix_of(content: bytes, suffix: str) -> str | None:
    """Return the suffix of the statistics program that wrote some bytes; None for other files."""
    return next((program for magic, program in MAGIC.items() if content.startswith(magic)), suffix or None)


def open_statistics(content: bytes, name: str, suffix: str, reading: Reading) -> Opened:
    """Read a file of SPSS, Stata or SAS with everything that it stores apart from cells."""
    counted, whole = _without_count(content) if suffix in SPSS else (UNCOUNTED, content)
    file = io.BytesIO(whole)
    try:
        cells, metadata = parse_labelled(file, name, suffix, reading.encoding, stored=True)
        labelled = label_columns(cells, metadata, reading, program=suffix)
    except (pa.ArrowException, OverflowError):
        raise InputError(f"{name} cannot be read as a file of SPSS, Stata or SAS", hint="write it again") from None
    table = labelled.data
    inside = StatisticsFile(
        metadata,
        _unused_labels(cells, metadata),
        {column: count for column in cells if (count := _count_declared_missing(cells[column], column, metadata))},
        orphans=len(set(metadata.value_labels) - set(metadata.variable_to_label.values())),
        attributes=_count_attributes(content) if suffix in SPSS else _count_characteristics(content),
        uncounted=0 if counted == UNCOUNTED else max(table.num_rows - counted, 0),
        behind=_count_behind(content),
        titles=sum(map(bool, metadata.column_labels or ())),
        texts=tuple(_texts_of(metadata)),
    )
    words = FilePart("the labels and notes", "\n".join(inside.texts).encode(errors="replace"))
    unread = _unread_tables(content) if suffix == ".xpt" else ()
    return Opened(
        "statistics",
        table,
        (words, FilePart("the file", content, words=False)),
        inside,
        not_checked=_not_shown(content, suffix),
        unread=unread,
    )


def _without_count(content: bytes) -> tuple[int, bytes]:
    """Return (number of rows in an SPSS header, the file with that number unset, so that all rows are read)."""
    if len(content) < COUNTED + 4:
        return UNCOUNTED, content
    order = _byte_order(content)
    (count,) = struct.unpack_from(f"{order}i", content, COUNTED)
    return count, content[:COUNTED] + struct.pack(f"{order}i", UNCOUNTED) + content[COUNTED + 4 :]


def _byte_order(content: bytes) -> str:
    """Return the byte order of an SPSS file as `struct` writes it, by a small number in its header."""
    return "<" if content[64:65] in (b"\x02", b"\x03") else ">"


def _unused_labels(cells: Mapping[str, list[Any]], metadata: Any) -> dict[str, tuple[str, ...]]:
    """Return, for every column, the labels of codes that none of its cells has."""
    unused = {}
    for column, labels in metadata.variable_value_labels.items():
        occurring = set(cells.get(column, ()))
        texts = tuple(str(text) for code, text in labels.items() if code not in occurring)
        if texts:
            unused[column] = texts
    return unused


def _count_declared_missing(cells: list[Any], column: str, metadata: Any) -> int:
    """Return how many cells of a column have a value that the file declares as missing."""
    ranges = (metadata.missing_ranges or {}).get(column, ())
    letters = set((metadata.missing_user_values or {}).get(column, ()))
    return sum(
        cell is not None and (_is_in(cell, ranges) or (isinstance(cell, str) and cell in letters)) for cell in cells
    )


def _is_in(cell: Any, ranges: Any) -> bool:
    try:
        return any(each["lo"] <= cell <= each["hi"] for each in ranges)
    except TypeError:  # a date, which has no numeric bounds
        return False


def _count_attributes(content: bytes) -> int:
    """Return how many attributes of an SPSS file, or of its columns, were added by users."""
    count, order = 0, _byte_order(content)
    for number in ATTRIBUTES:
        start = content.find(struct.pack(f"{order}iii", 7, number, 1))
        if start < 0 or start + 16 > len(content):
            continue
        (length,) = struct.unpack_from(f"{order}i", content, start + 12)
        count += ROLE.sub(b"", content[start + 16 : start + 16 + max(length, 0)]).count(b"('")
    return count


def _count_characteristics(content: bytes) -> int:
    """Return how many characteristics a file of Stata has; its notes are some of them."""
    if not content.startswith(STATA_BEGIN):
        return 0
    begin, end = content.find(b"<characteristics>"), content.find(b"</characteristics>")
    return content.count(b"<ch>", begin, end) if 0 <= begin < end else 0


def _count_behind(content: bytes) -> int:
    if not content.startswith(STATA_BEGIN) or STATA_END not in content:
        return 0
    return len(content) - content.rindex(STATA_END) - len(STATA_END)


def _texts_of(metadata: Any) -> Iterator[str]:
    """Yield every text of a file that is not a cell."""
    yield from (str(text) for text in (metadata.file_label, metadata.table_name) if text)
    yield from map(str, metadata.notes or ())
    yield from (str(text) for text in metadata.column_labels or () if text)
    for labels in metadata.value_labels.values():
        yield from map(str, labels.values())


def _unread_tables(content: bytes) -> tuple[NotChecked, ...]:
    tables = count_members(content)
    if tables < 2:
        return ()
    return (NotChecked(plural(tables - 1, "further table"), "the first table of a transport file is read alone"),)


def _not_shown(content: bytes, suffix: str) -> tuple[NotChecked, ...]:
    """Return the parts of a statistics file that are not checked."""
    reason = "the reader of these files does not show them"
    if suffix == ".sas7bdat":
        return (NotChecked("rows that were deleted and are still stored, indexes and passwords", reason),)
    if suffix == ".dta" and not content.startswith(STATA_BEGIN):
        return (NotChecked("characteristics, and bytes behind the end", "a file of Stata before version 13"),)
    return ()


def _labels(subject: ScannedFile) -> Iterator[Finding]:
    """Report labels of values that no row has."""
    inside: StatisticsFile = subject.file.inside
    for column, texts in inside.unused.items():
        called, severity = subject.called(column), Severity.SUSPICION
        whose = "a list of codes that was kept whole, or rows that were suppressed"
        if subject.original is not None and column in subject.original.columns:
            before = set(spell_values(subject.original.data[column]).to_pylist())
            hidden = [text for text in texts if text.strip() in before]
            severity = Severity.LEAK if hidden else Severity.NOTE
            whose = f"{len(hidden)} of them are values of the original" if hidden else "none is a value of the original"
        yield Finding(
            severity,
            called,
            len(texts),
            f"{called} labels {plural(len(texts), 'code')} that no row has: {whose}",
            "keep only the labels of codes that occur, and write the file anew",
        )
    if inside.orphans:
        yield suspicion(
            "the labels",
            inside.orphans,
            f"{plural(inside.orphans, 'list')} of labels belong to no column, but perhaps to one that was dropped",
            "drop the lists, and write the file anew",
        )


def _missing(subject: ScannedFile) -> Iterator[Finding]:
    """Report values that the file declares as missing."""
    for column, count in subject.file.inside.in_missing.items():
        called = subject.called(column)
        yield suspicion(
            called,
            count,
            f"{plural(count, 'cell')} of {called} hold values that the file declares to be missing: programs hide "
            "them, and anybody can show them",
            "write these cells as missing, without a value, and drop the declaration",
        )


def _notes(subject: ScannedFile) -> Iterator[Finding]:
    """Report notes and labels of the file."""
    inside: StatisticsFile = subject.file.inside
    metadata = inside.metadata
    noted = {
        "a label of the file": int(bool((metadata.file_label or "").strip())),
        "notes": len(metadata.notes or ()),
        "attributes": inside.attributes,
    }
    if any(noted.values()):
        yield suspicion(
            "the header",
            sum(noted.values()),
            f"the file has {' and '.join(what for what, count in noted.items() if count)}, which may tell anything",
            "read them, and write the file anew without them",
        )
    if (metadata.table_name or "").strip() not in UNNAMED:
        yield note(
            "the header",
            1,
            "the file tells the name of its table",
            "make sure that the name may be known",
        )
    if inside.titles:
        yield note(
            "the labels",
            inside.titles,
            f"{plural(inside.titles, 'column')} have a label, which may be any text",
            "read the labels: they may name people or places",
        )


def _times(subject: ScannedFile) -> Iterator[Finding]:
    """Note the stored time of creation."""
    metadata = subject.file.inside.metadata
    if metadata.creation_time or metadata.modification_time:
        yield note(
            "the header",
            1,
            "the file tells when it was made",
            "nothing, unless this time tells something",
        )


def _hidden(subject: ScannedFile) -> Iterator[Finding]:
    """Report rows and columns that programs do not show."""
    inside: StatisticsFile = subject.file.inside
    if inside.uncounted:
        yield leak(
            "the end of the file",
            inside.uncounted,
            f"{plural(inside.uncounted, 'row')} follow the last one that the header counts, and programs do not show "
            "them",
            "write the published rows into a new file",
        )
    yield from bytes_behind(inside.behind, "file")


ONLY: tuple[Kind, ...] = ("statistics",)
CHECKS = (
    ScanCheck("value-labels", "labels of codes that no row has", _labels, ("table",), ONLY),
    ScanCheck("declared-missing", "values that are declared missing and still stored", _missing, ("table",), ONLY),
    ScanCheck("file-notes", "labels, notes and attributes of a statistics program", _notes, (), ONLY),
    ScanCheck("file-times", "when a statistics program made the file", _times, (), ONLY),
    ScanCheck("hidden-rows", "rows and bytes behind the last row that is shown", _hidden, (), ONLY),
)
