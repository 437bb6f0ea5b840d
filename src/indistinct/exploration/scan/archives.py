"""The bytes of a zip archive outside its entries: before, between and after them, comments, extra fields.

Workbooks are such archives. Programs that open one do not show these bytes, which may contain anything.
"""

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from indistinct.errors import InputError
from indistinct.exploration.scan.base import FilePart, Finding, ScanCheck, ScannedFile, Severity, unused_ranges
from indistinct.figures import plural

END, END_64, LOCATOR_64, DESCRIPTOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x07\x08"
LOCAL_SIZE, CENTRAL_SIZE, END_SIZE, LOCATOR_SIZE = 30, 46, 22, 20
HAS_DESCRIPTOR = 8
# Extra fields that programs write, each with its largest size in bytes: large sizes, times, owners, a mark of Java.
EXTRA_FIELDS = {0x0001: 28, 0x000A: 32, 0x5455: 13, 0x5855: 12, 0x7855: 4, 0x7875: 15, 0xCAFE: 0}
# Space that office programs reserve for a longer entry: a mark, the size and zeros.
PADDING, PADDING_MARK = 0xA220, 4


@dataclass(frozen=True, slots=True, eq=False)
class Strays:
    """The bytes of an archive that belong to no entry, by location, and the number of entries that share a name."""

    bytes_in: dict[str, bytes]
    repeated: int

    def part(self) -> FilePart:
        """Return all these bytes as a part to be searched."""
        return FilePart("the space outside the entries", b"\n".join(self.bytes_in.values()))


BEFORE, BETWEEN, BEHIND = "before the first entry", "between the entries", "behind the end of the archive"
COMMENTS, EXTRAS, PACKED = "in comments", "in extra fields", "behind the compressed content of entries"


def find_strays(archive: zipfile.ZipFile, content: bytes, name: str) -> Strays:
    """Return the bytes of an archive outside its entries; raise `InputError` for a damaged one."""
    try:
        return _find_strays(archive, content)
    except struct.error:
        raise InputError(f"{name} is a damaged archive", hint="check that the file was copied whole") from None


def _find_strays(archive: zipfile.ZipFile, content: bytes) -> Strays:
    """Collect the bytes of an archive that belong to no entry."""
    entries = archive.infolist()
    strays: dict[str, list[bytes]] = {}
    used = [_read_local(content, entry, strays) for entry in entries]
    used += _read_directory(content, archive.start_dir, len(entries), strays)
    for start, end in unused_ranges(used, len(content)):
        location = BEFORE if start == 0 else BEHIND if end == len(content) else BETWEEN
        strays.setdefault(location, []).append(content[start:end])
    strays.setdefault(COMMENTS, []).extend([archive.comment, *(entry.comment for entry in entries)])
    strays.setdefault(EXTRAS, []).extend(_strange_fields(entry.extra) for entry in entries)
    names = Counter(entry.filename.casefold() for entry in entries)
    joined = {location: b"\n".join(filter(None, parts)) for location, parts in strays.items()}
    return Strays({location: each for location, each in joined.items() if each}, sum(names.values()) - len(names))


def _read_local(content: bytes, entry: zipfile.ZipInfo, strays: dict[str, list[bytes]]) -> tuple[int, int]:
    """Return the span of an entry; collect further bytes of its header and compressed content."""
    start = entry.header_offset
    name, extra = struct.unpack_from("<HH", content, start + LOCAL_SIZE - 4)
    data = start + LOCAL_SIZE + name + extra
    end = data + entry.compress_size
    strays.setdefault(EXTRAS, []).append(_strange_fields(content[data - extra : data]))
    if entry.compress_type == zipfile.ZIP_DEFLATED:
        strays.setdefault(PACKED, []).append(_behind_stream(content[data:end]))
    if entry.flag_bits & HAS_DESCRIPTOR:
        end += 4 * (content[end : end + 4] == DESCRIPTOR)
        crc = struct.pack("<I", entry.CRC)
        for form in ("<II", "<QQ"):
            descriptor = crc + struct.pack(form, entry.compress_size, entry.file_size) if _fits(entry, form) else b""
            if descriptor and content.startswith(descriptor, end):
                return start, end + len(descriptor)
    return start, end


def _fits(entry: zipfile.ZipInfo, form: str) -> bool:
    """Return whether the sizes of an entry fit the form of its descriptor."""
    return form == "<QQ" or max(entry.compress_size, entry.file_size) < 1 << 32


def _behind_stream(packed: bytes) -> bytes:
    """Return the bytes after the end of a compressed stream; the decompressed content is discarded."""
    stream = zlib.decompressobj(-15)
    rest = packed
    try:
        while rest and not stream.eof:
            stream.decompress(rest, 1 << 20)
            rest = stream.unconsumed_tail
    except zlib.error:
        return b""  # reading the entry raises the error
    return stream.unused_data


def _read_directory(
    content: bytes, start: int, entries: int, strays: dict[str, list[bytes]]
) -> Iterator[tuple[int, int]]:
    """Yield the spans of the central directory's records and of the end record."""
    for _ in range(entries):
        sizes = struct.unpack_from("<HHH", content, start + 28)
        end = start + CENTRAL_SIZE + sum(sizes)
        yield start, end
        start = end
    if content.startswith(END_64, start):
        (size,) = struct.unpack_from("<Q", content, start + 4)
        strays.setdefault(EXTRAS, []).append(content[start + 56 : start + 12 + size])
        yield start, start + 12 + size
        start += 12 + size
    position = content.rfind(END, start)
    if content.startswith(LOCATOR_64, position - LOCATOR_SIZE):
        yield position - LOCATOR_SIZE, position
    (comment,) = struct.unpack_from("<H", content, position + END_SIZE - 2)
    yield position, position + END_SIZE + comment


def _strange_fields(extra: bytes) -> bytes:
    """Return the content of extra fields that no archive program writes.

    >>> _strange_fields(struct.pack("<HH", 0x5455, 5) + bytes(5))
    b''
    >>> _strange_fields(struct.pack("<HH", 0x9999, 5) + b"names")
    b'names'
    """
    strange = []
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == PADDING:
            strange.append(field[PADDING_MARK:].strip(b"\0"))
        elif size > EXTRA_FIELDS.get(kind, 0):
            strange.append(field)
    return b"".join((*strange, extra.strip(b"\0")))


def _check_strays(subject: ScannedFile) -> Iterator[Finding]:
    """Report the bytes of an archive that belong to no entry."""
    strays: Strays | None = subject.file.strays
    if strays is None:
        return
    for index, stored in strays.bytes_in.items():
        # A comment of an archive is shown by programs that unpack it; programs for workbooks write none.
        is_usual = index == COMMENTS and subject.file.kind == "zip"
        yield Finding(
            Severity.SUSPICION if is_usual else Severity.LEAK,
            "the archive",
            len(stored),
            f"{plural(len(stored), 'byte')} {index} belong to no entry of the archive, and programs do not show them",
            "save the table alone in a new file",
        )
    if strays.repeated:
        yield Finding(
            Severity.LEAK,
            "the archive",
            strays.repeated,
            f"{plural(strays.repeated, 'entry has', 'entries have')} the name of another entry: programs show one of "
            "them and hide the other",
            "save the table alone in a new file",
        )


CHECKS = (
    ScanCheck("archive-bytes", "bytes of an archive that belong to no entry", _check_strays, (), ("excel", "zip")),
)
