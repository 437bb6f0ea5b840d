"""The dialect of a delimited text file: encoding, delimiter and header, found before an engine reads it."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from indistinct.errors import InputError, ParameterError
from indistinct.tables.layout import (
    TableLines,
    blanks_note,
    body_of,
    check_header,
    check_one_column,
    check_title,
    ragged_hint,
)
from indistinct.tables.value import Reading, check_names, check_width

# Upper limit of the length of a line, in bytes: a file without line ends, or a small compressed one, might never end.
LONGEST_LINE = 1 << 23
DELIMITERS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 18
SAMPLE_RECORDS = 200
NAMELESS = "\0"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to read a delimited text file, whose header comes after `ahead` blank lines.

    Columns without a name get one that begins with NUL, and are left out if they have no values. `bare` says that
    nothing follows the header. Without `quoted`, a quote is an ordinary character, so that records end at line ends and
    are found faster; that is only right if the file has no quotes. The first `skip` lines and lines that begin with
    `comment` are not part of the table. With `trim`, blanks around fields are removed. Columns without a name but with
    values are left out if they are `dropped`, or `named` after their number, as declared. `notes` are for the user.
    """

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    bare: bool
    quoted: bool = True
    ahead: int = 0
    skip: int = 0
    comment: str | None = None
    trim: bool = False
    dropped: bool = False
    named: bool = False
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have a name."""
        return tuple(name for name in self.names if not name.startswith(NAMELESS))


def open_bytes(path: Path) -> BinaryIO:
    """Open a file to read its bytes, decompressed if its name ends in `.gz`."""
    return cast(BinaryIO, gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb"))


def encodings(path: Path, encoding: str | None) -> tuple[str, ...]:
    """Return the encodings to try in order: the given one, that of a byte order mark, or UTF-8, Japanese and Latin.

    Every sequence of bytes is Latin-1, so the last resort never fails.
    """
    if encoding is not None:
        try:
            "a".encode(encoding)
            known = codecs.lookup(encoding).name
        except (LookupError, ValueError):
            raise InputError(
                f"the encoding {encoding!r} is not known",
                hint="use utf-8, utf-16, cp1252 or latin-1, or leave the encoding out to have it found",
            ) from None
        return ("utf-8" if known == "utf-8-sig" else known,)
    with open_bytes(path) as file:
        start = file.read(SAMPLE_BYTES)
    return encodings_of(start)


def guess_note(path: Path, encoding: str) -> tuple[str, ...]:
    """Return a note if the encoding of a file was guessed."""
    if encoding not in GUESSES:
        return ()
    with open_bytes(path) as file:
        sample = file.read(SAMPLE_BYTES)
        while sample.isascii() and (more := file.read(SAMPLE_BYTES)):
            sample = more
    note = guess_of(path.name, encoding, sample)
    return () if note is None else (note,)


def find_dialect(path: Path, encoding: str, reading: Reading) -> Dialect:
    """Return the dialect of a file; raise `UnicodeDecodeError` if its start has another encoding.

    A first line that looks like data is refused, unless it is declared to be a header; so are lines above the names,
    and records that would be a single column. No message quotes a line.
    """
    given = reading.delimiter
    if given is not None and (len(given) != 1 or not given.isascii() or given in '"\r\n\0'):
        raise ParameterError("`delimiter` must be one ASCII character", hint='for example delimiter=";"')
    for size in (SAMPLE_BYTES, SAMPLE_BYTES << 3, LONGEST_LINE):
        sample, complete = _sample(path, encoding, size)
        body = body_of(sample, reading)
        text, delimiter = body.text, given or body.delimiter
        start = len(text) - len(text.lstrip("\r\n"))
        if start == len(text):
            if complete:
                raise InputError(f"{path} is empty", hint="a table has a header line with the names of its columns")
            continue
        end = _line_end(text, start)
        check_width(1 + max(text.count(mark, start, end) for mark in (delimiter or DELIMITERS)))
        if end == len(text) and not complete:
            continue
        chosen = delimiter or _find_delimiter(text, complete)
        records = _records(text, chosen, complete, limit=SAMPLE_RECORDS, trim=reading.trim)
        if records or complete:
            notes = _check_layout(path, text, chosen, records, reading, sure=delimiter is not None)
            names = _names(path, records, reading)
            bare = complete and _is_bare(text, chosen)
            return Dialect(
                encoding,
                chosen,
                tuple(names),
                bare=bare,
                quoted='"' in text,
                ahead=len(text[:start].splitlines()),
                skip=body.skip,
                comment=reading.comment,
                trim=reading.trim,
                dropped=reading.nameless == "drop",
                named=reading.nameless == "name",
                notes=notes,
            )
    raise InputError(
        f"the first line of {path} does not end within {LONGEST_LINE >> 20} MB",
        hint="check that this is delimited text with a line of names; a quote that is left open swallows lines",
    )


def _names(path: Path, records: list[list[str]], reading: Reading) -> list[str]:
    """Return the names of columns; one without a name begins with NUL, or is named after its number if declared."""
    names = records[0] if records else []
    if any("\0" in name for name in names):
        raise nul_error()
    if not reading.header:
        check_header(path, records)
    if any(name.strip() for name in names):
        beginning = "column " if reading.nameless == "name" else NAMELESS
        first = 1 if reading.nameless == "name" else 0
        names = [name if name.strip() else f"{beginning}{index}" for index, name in enumerate(names, start=first)]
    check_names(names, quote=False)
    return names


def _check_layout(
    path: Path, text: str, chosen: str, records: list[list[str]], reading: Reading, *, sure: bool
) -> tuple[str, ...]:
    """Return notes on a layout; raise for lines above the names, and for records in one column.

    `sure` says that the delimiter was declared.
    """
    widths = {len(row) for row in records}
    settled = sure or (len(widths) == 1 and widths != {1})
    if not reading.header:
        check_title(path, text, [chosen] if settled else DELIMITERS, reading)
    if widths == {1}:
        return check_one_column(path, records, chosen, sure=sure)
    return blanks_note(records, chosen) if not reading.trim else ()


def _line_end(text: str, start: int) -> int:
    """Return the position of the end of the line that begins at `start`."""
    ends = [end for mark in "\r\n" if (end := text.find(mark, start)) >= 0]
    return min(ends, default=len(text))


def _is_bare(text: str, delimiter: str) -> bool:
    """Return whether the file has only a header; in a file of one column a blank line is a row."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = next(row for row in rows if row)
    try:
        return not any(row or len(header) == 1 for row in rows)
    except csv.Error:
        return False


def _find_delimiter(text: str, complete: bool) -> str:
    """Return the delimiter that splits all sampled records into the same number of fields, the most and at least two.

    If there is none, the one that splits the header most: the file is then ragged, and the reader reports where.
    """
    widths = {mark: [len(row) for row in _records(text, mark, complete, limit=SAMPLE_RECORDS)] for mark in DELIMITERS}
    even = {mark: lengths[0] for mark, lengths in widths.items() if len(set(lengths)) == 1 and lengths[0] > 1}
    headers = {mark: lengths[0] if lengths else 0 for mark, lengths in widths.items()}
    ranked = even or headers
    return max(ranked, key=lambda mark: ranked[mark])


def _records(text: str, delimiter: str, complete: bool, *, limit: int, trim: bool = False) -> list[list[str]]:
    """Return the first whole records of a sample, without blank lines."""
    records = []
    # A field that never ends stops the reader; the records before it still count.
    with suppress(csv.Error):
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=trim):
            if row:
                records.append([cell.strip() for cell in row] if trim else row)
            if len(records) > limit:
                break
        else:
            # The sample may end inside its last record.
            records = records if complete else records[:-1]
    return records[:limit]


def _sample(path: Path, encoding: str, size: int) -> tuple[str, bool]:
    """Decode the first bytes of a file; return also whether this is the whole file."""
    with open_bytes(path) as file:
        start = file.read(size)
        complete = not file.read(1)
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
    return decoder.decode(start, complete), complete


def nul_error() -> InputError:
    """Return the error for a file that is not text in the encoding it was read in."""
    return InputError(
        "the file holds NUL bytes, so it is not text in this encoding",
        hint="check that it is a text file and not a picture or a workbook; if it is UTF-16 without a byte order mark, "
        'declare it: --encoding utf-16-le, or encoding="utf-16-le" in Python',
    )


def diagnose(path: Path, dialect: Dialect) -> InputError | None:
    """Return the error in the records of a file, with its line; None if there is none."""
    number = 0
    try:
        for number, row in _strict_rows(path, dialect):
            if row and len(row) != len(dialect.names):
                return InputError(
                    f"{path}, line {number}: expected {len(dialect.names)} fields, got {len(row)}",
                    hint=ragged_hint(row, len(dialect.names)),
                    line=number,
                    expected=len(dialect.names),
                    found=len(row),
                )
    except csv.Error:
        return InputError(
            f"{path}, after line {number}: a quoted field does not end, or text follows its closing quote",
            hint='close the quote, and write a quote inside a quoted field twice: ""',
            line=number,
        )
    return None


def line_numbers(path: Path, dialect: Dialect, rows: list[int]) -> list[int]:
    """Return the lines of a file on which some rows end; rows ascend and are counted from 0 after the header.

    Lines without any value are not rows.
    """
    wanted, lines, number = set(rows), [], -2
    for line, row in _strict_rows(path, dialect):
        number += any(row) or (len(dialect.names) == 1 and number >= -1)
        if number in wanted:
            lines.append(line)
        if len(lines) == len(wanted):
            break
    return lines


def empty_rows(path: Path, dialect: Dialect, candidates: Collection[int]) -> list[int]:
    """Return which of the candidate rows have no value at all, not even an NA string; blank rows are counted."""
    wanted, number, empty = set(candidates), -2, []
    for _, row in _strict_rows(path, dialect):
        number += bool(row)
        if row and number in wanted and not any(row):
            empty.append(number)
    return empty


def _strict_rows(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file with their line numbers, by a strict parser."""
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    with open_bytes(path) as file, io.BufferedReader(_EndingLines(path, file), 1 << 16) as buffered:
        lines = TableLines(
            io.TextIOWrapper(buffered, encoding=encoding, newline="", errors="replace"), dialect.skip, dialect.comment
        )
        reader = csv.reader(lines, delimiter=dialect.delimiter, strict=True, skipinitialspace=dialect.trim)
        for row in reader:
            yield reader.line_num + lines.left_out, [cell.strip() for cell in row] if dialect.trim else row


class _EndingLines(io.RawIOBase):
    """The bytes of a file; raises `InputError` where a line exceeds the limit, before it is decoded."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        super().__init__()
        self._path, self._file, self._ended, self._open = path, file, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes, and raise for a line that is too long."""
        part = self._file.read(len(buffer))
        buffer[: len(part)] = part
        last = max(part.rfind(b"\n"), part.rfind(b"\r"))
        self._ended += part.count(b"\n")
        self._open = self._open + len(part) if last < 0 else len(part) - last
        if self._open > LONGEST_LINE:
            raise InputError(
                f"line {self._ended + 1:,} of {self._path} is longer than {LONGEST_LINE >> 20} MB",
                hint="check that this is delimited text, and complete",
                line=self._ended + 1,
            )
        return len(part)


MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Share of non-ASCII characters above which a text that decodes as Shift-JIS is more likely in Latin letters.
LATIN_SHARE = 0.2
# The languages for which an encoding other than UTF-8 is guessed.
GUESSES = {
    "cp1252": "Western European",
    "latin-1": "Western European",
    "cp932": "Japanese",
}
DECLARE = "declare it if letters look wrong (--encoding, encoding=)"
# Words with letters beyond ASCII, in any encoding with one byte per letter; three such letters and nothing else are a
# word of no language that cp1252 is for.
WORD = re.compile(rb"[A-Za-z\x80-\xff]+")
FOREIGN = re.compile(rb"[A-Za-z]?[\x80-\xff]{3,}[A-Za-z]?")
# Between two letters cp1252 has letters, apostrophes and dashes.
SIGN_INSIDE = re.compile(
    rb"[A-Za-z\xc0-\xff][\x80-\x82\x84-\x89\x8b\x8d\x8f\x90\x93-\x95\x99\x9b\x9d\xa1-\xac\xae-\xb6\xb8\xb9\xbb-\xbf]"
    rb"[A-Za-z\xc0-\xff]"
)
DOUBTFUL_SHARE = 0.2
ALPHABETS = (
    "Cyrillic (cp1251, koi8-r), Greek (cp1253), Hebrew (cp1255), Arabic (cp1256), Thai (cp874), "
    "Chinese (gb18030, big5) or Korean (cp949)"
)
LETTERS = "Central European (cp1250), Turkish (cp1254), Baltic (cp1257) or what old programs wrote (cp850, mac-roman)"


def encodings_of(start: bytes) -> tuple[str, ...]:
    """Return the encodings to try in order for a text that begins with these bytes."""
    marked = next((name for mark, name in MARKS if start.startswith(mark)), None)
    if marked:
        return (marked,)
    return ("utf-8", *(("cp932",) if _is_japanese(start) else ()), "cp1252", "latin-1")


def guess_of(name: str, encoding: str, sample: bytes) -> str | None:
    """Return a note on a guessed encoding, from a sample of the text; None where nothing was guessed.

    >>> guess_of("a.csv", "cp1252", "Müller".encode("cp1252")).partition(":")[0]
    'a.csv is not UTF-8; it was read as cp1252 (Western European)'
    """
    if encoding not in GUESSES:
        return None
    doubt = doubt_of(encoding, sample)
    words = f"{name} is not UTF-8; it was read as {encoding} ({GUESSES[encoding]})"
    return (
        f"{words}: {DECLARE}"
        if doubt is None
        else f"{words}, which looks wrong: {doubt}; declare it (--encoding, encoding=)"
    )


def doubt_of(encoding: str, sample: bytes) -> str | None:
    """Return why a sample is unlikely in the guessed encoding, and which encodings are likely.

    None if there is no doubt.

    >>> doubt_of("cp1252", "Иванов".encode("cp1251")).partition(",")[0]
    'whole words are of letters beyond ASCII'
    """
    if encoding not in GUESSES:
        return None
    if encoding == "cp932":
        return None if _double_bytes(sample)[0] else f"it may be {ALPHABETS}"
    words = [word for word in WORD.findall(sample) if not word.isascii()]
    foreign = sum(FOREIGN.fullmatch(word) is not None for word in words)
    if foreign > DOUBTFUL_SHARE * len(words):
        return f"whole words are of letters beyond ASCII, as in {ALPHABETS}"
    signs = sum(SIGN_INSIDE.search(word) is not None for word in words)
    if encoding == "latin-1" or signs > DOUBTFUL_SHARE * len(words):
        return f"signs are inside words, as in {LETTERS}"
    return None


def _is_japanese(start: bytes) -> bool:
    """Return whether bytes are text in Shift-JIS as Windows writes it (cp932), and not Latin letters.

    Latin letters with accents may decode as well, but to characters inside words of ASCII letters.
    """
    if start.isascii():
        return False
    decoder = codecs.getincrementaldecoder("cp932")()
    try:
        text = decoder.decode(start)
    except UnicodeDecodeError:
        return False
    signs = sum(not mark.isascii() for mark in text)
    inside = len(re.findall("(?<=[A-Za-z])[^\\x00-\\x7f]|[^\\x00-\\x7f](?=[A-Za-z])", text))
    private = any("\ue000" <= mark <= "\uf8ff" for mark in text)
    usual, rare = _double_bytes(start)
    return signs > 0 and not private and inside <= LATIN_SHARE * signs and usual >= rare


def _double_bytes(start: bytes) -> tuple[int, int]:
    """Return how many two-byte characters are usual in Japanese, and how many are rare.

    Small Cyrillic letters, read in pairs, are rare characters.
    """
    text = codecs.getincrementaldecoder("cp932")(errors="replace").decode(start)
    leads = [code[0] for mark in set(text) if len(code := mark.encode("cp932", "replace")) == 2]
    return sum(lead < 0xA0 for lead in leads), sum(lead >= 0xE0 for lead in leads)
