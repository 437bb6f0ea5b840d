"""Delimited text and compressed files: cells that spreadsheets execute, stray bytes, contents of headers and lists."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.exploration.scan.archives import find_strays
from indistinct.exploration.scan.base import (
    FilePart,
    Finding,
    NotChecked,
    Opened,
    ScanCheck,
    ScannedFile,
    bytes_behind,
    note,
    suspicion,
)
from indistinct.exploration.scan.compared import spell_values
from indistinct.exploration.scan.parquet import encrypted_error
from indistinct.figures import plural
from indistinct.machine.memory import Allowance
from indistinct.release.writing.delimited import is_formula
from indistinct.tables.delimited import read_cells
from indistinct.tables.dialect import MARKS
from indistinct.tables.extents import ARCHIVE_ERRORS
from indistinct.tables.value import Reading


def open_delimited(path: Path, content: bytes, reading: Reading) -> Opened:
    """Read delimited text cell by cell, as text; `content` is decompressed."""
    table, encoding = read_cells(path, reading)
    plain = content if encoding == "utf-8" else content.decode(encoding, errors="replace").encode()
    return Opened("delimited", table, (FilePart("the text", plain),), content)


def _find_formulas(subject: ScannedFile) -> Iterator[Finding]:
    """Report texts that spreadsheets would run as formulas."""
    for index, name in enumerate(subject.columns):
        texts = spell_values(subject.table.column(index))
        count = int(pc.sum(is_formula(texts)).as_py() or 0) + bool(re.match(r"[=@+\t\r]", name))
        if count:
            called = subject.called(name)
            yield suspicion(
                called,
                count,
                f"{plural(count, 'distinct value')} of {called} begin as formulas do: a spreadsheet that opens the "
                "file would run them",
                "recode the values, or write Parquet; a quote before them changes what other programs read",
            )


def _find_marks(subject: ScannedFile) -> Iterator[Finding]:
    """Note a byte order mark."""
    content: bytes = subject.file.inside
    marked = next((mark for mark, _ in MARKS if content.startswith(mark)), None)
    if marked is not None:
        yield note(
            "the first bytes",
            len(marked),
            "the file begins with a byte order mark, as programs of one system write it",
            "nothing: readers skip it",
        )
    # White space may follow the rows; control characters there are left by editors and tapes.
    left = re.search(rb"[\x00\x1a][\x00-\x20]*\Z", content[-4096:]) if marked is None else None
    if left is not None:
        yield suspicion(
            "the last bytes",
            len(left[0]),
            f"{plural(len(left[0]), 'byte')} that are no text follow the last row",
            "write the table into a new file",
        )


GZIP, ZIP = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
# Memory relative to the decompressed size: text, and the XML of a workbook.
TEXT_MEMORY_FACTOR, XML_MEMORY_FACTOR = 4, 16
MAX_ENTRIES = 10_000
# A path that shows where a file was, not only its name.
_ELSEWHERE = re.compile(r"^[/\\]|^[A-Za-z]:|\.\.|(^|[/\\])(home|users)[/\\]", re.IGNORECASE)
HAS_EXTRA, HAS_NAME, HAS_COMMENT = 4, 8, 16
HEADER_BYTES = 10


@dataclass(frozen=True, slots=True)
class GzipHeader:
    """The content of a gzip header: a file name, a comment, a time; and the bytes after the end of the file."""

    name: str
    has_comment: bool
    has_time: bool
    behind: int


def inflate(content: bytes, name: str, allowance: Allowance) -> tuple[bytes, GzipHeader]:
    """Decompress a gzip file of one or more members; raise for one that is broken or takes more than is allowed."""
    first, most = _header(content), allowance.most // TEXT_MEMORY_FACTOR
    whole, rest = io.BytesIO(), content
    while rest.startswith(GZIP):
        member = zlib.decompressobj(wbits=31)
        try:
            whole.write(member.decompress(rest, most - whole.tell() + 1))
        except zlib.error:
            raise _broken(name) from None
        require_inflated(whole.tell(), name, allowance, grows=TEXT_MEMORY_FACTOR)
        if not member.eof:
            raise _broken(name)
        rest = member.unused_data
    behind = len(rest.rstrip(b"\0"))
    return whole.getvalue(), GzipHeader(first.name, first.has_comment, first.has_time, behind)


def require_inflated(size: int, name: str, allowance: Allowance, *, grows: int) -> None:
    """Raise `OutOfMemoryError` if the decompressed content would take more memory than is allowed."""
    allowance.require(size * grows, name, f"at least {size >> 20:,} MB", otherwise="unpack it first, and scan that")


def _broken(name: str) -> InputError:
    return InputError(f"{name} is not a complete gzip file", hint="check that the file was copied whole")


def _header(content: bytes) -> GzipHeader:
    """Parse the header of a gzip file."""
    flags, position, name = content[3] if len(content) > 3 else 0, HEADER_BYTES, b""
    if flags & HAS_EXTRA:
        position += 2 + int.from_bytes(content[position : position + 2], "little")
    if flags & HAS_NAME:
        name = content[position:].partition(b"\0")[0][:1000]
    return GzipHeader(name.decode("latin-1"), bool(flags & HAS_COMMENT), any(content[4:8]), 0)


def open_archive(content: bytes, name: str) -> zipfile.ZipFile:
    """Open a zip archive; raise `InputError` for one that is broken or encrypted, or has far too many entries."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        entries = archive.infolist()
    except ARCHIVE_ERRORS:
        raise InputError(
            f"{name} cannot be read as a zip archive or an Excel file", hint="check that the file was copied whole"
        ) from None
    if any(entry.flag_bits & 1 for entry in entries):
        raise encrypted_error(name)
    if len(entries) > MAX_ENTRIES:
        raise InputError(f"{name} has more than {MAX_ENTRIES:,} entries", hint="check that this is the right file")
    return archive


def read_entry(
    archive: zipfile.ZipFile, entry: str | zipfile.ZipInfo, name: str, allowance: Allowance, *, taken: int = 0
) -> bytes:
    """Return the content of an archive's entry, limited by the allowance after `taken` bytes."""
    most = max(allowance.most // XML_MEMORY_FACTOR - taken, 0)
    try:
        with archive.open(entry) as opened:
            content = opened.read(most + 1)
    except (*ARCHIVE_ERRORS, KeyError):
        raise InputError(
            f"{name} has an entry that cannot be read", hint="check that the file was copied whole"
        ) from None
    require_inflated(taken + len(content), name, allowance, grows=XML_MEMORY_FACTOR)
    return content


def open_zip(archive: zipfile.ZipFile, content: bytes, name: str) -> Opened:
    """Return an archive that is no workbook: the list of its files, which are not opened."""
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    reason = "an archive is not unpacked: scan each file in it on its own"
    strays = find_strays(archive, content, name)
    unread = (NotChecked(plural(len(files), "file"), reason),)
    return Opened("zip", None, (strays.part(),), archive, unread=unread, strays=strays)


def _check_gzip(subject: ScannedFile) -> Iterator[Finding]:
    """Report name, time and comments in the header of a gzip file."""
    header: GzipHeader | None = subject.file.gzip
    if header is None:
        return
    own = "" if subject.path is None else subject.path.name.removesuffix(".gz")
    if header.name and header.name != own:
        yield suspicion(
            "the header",
            1,
            "the header of the gzip file tells another name of the file, such as that of the table it was made of",
            "compress it anew without a name: gzip --no-name",
        )
    if header.has_comment:
        yield suspicion("the header", 1, "the compressed file has a comment", "compress it anew without one")
    if header.has_time:
        yield note(
            "the header",
            1,
            "the header of the gzip file tells when the table was written",
            "compress it anew without a time: gzip --no-name",
        )
    yield from bytes_behind(header.behind, "compressed table")


def _check_archive(subject: ScannedFile) -> Iterator[Finding]:
    """Yield findings about paths, hidden files and times in the list of files of an archive."""
    archive: zipfile.ZipFile = subject.file.inside
    names = [entry.filename for entry in archive.infolist()]
    elsewhere = sum(bool(_ELSEWHERE.search(name)) for name in names)
    if elsewhere:
        yield suspicion(
            "the list of files",
            elsewhere,
            f"{plural(elsewhere, 'path')} in the archive show where the files lay, perhaps with the name of a user",
            "pack the files by their names alone: zip --junk-paths",
        )
    hidden = sum(any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts) for name in names)
    if hidden:
        yield suspicion(
            "the list of files",
            hidden,
            f"{plural(hidden, 'file')} in the archive are hidden ones, which systems and editors leave",
            "pack the files that are meant to be published, and no others",
        )
    yield note(
        "the list of files",
        len(names),
        "the archive tells when each file was last changed",
        "nothing, unless these times tell something",
    )


CHECKS = (
    ScanCheck("formula-cells", "cells that a spreadsheet would run", _find_formulas, ("table",), ("delimited",)),
    ScanCheck("text-marks", "bytes before and behind the rows of a text file", _find_marks, (), ("delimited",)),
    ScanCheck("gzip-header", "a name, a time and a comment in the header of gzip", _check_gzip),
    ScanCheck("zip-entries", "paths and hidden files in a zip archive", _check_archive, (), ("zip",)),
)
