"""Where the table of a text file begins: lines above its names, the names or a first row, and comments.

Without these checks a title would become a column name, and whole records would be published as texts. No message shows
a line.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from indistinct.errors import InputError
from indistinct.tables.value import Reading

BLOCK_BYTES = 1 << 20
# Lines that may be above the names, and records that are checked.
MAX_LINES_ABOVE, RECORDS_COMPARED = 30, 200
# The beginnings of comment lines, longer ones first.
COMMENTS = ("//", "--", "#", "%", "!", "*")
# Characters that may separate fields, in addition to the delimiters that are tried.
LIKELY = (";", ",", "\t", "|", "~", "^")
SEPARATOR = re.compile(r'(?i)"?sep=(.)"?[ \t]*(?:\r\n|\r|\n|\Z)')
LINE_END = re.compile(r"\r\n|\r|\n")
WIDE = re.compile("utf[-_]?(?:16|32)")
DECLARE = "--skip-rows {0}, skip_rows={0}, or `skip_rows = {0}` under [input]"


class Body(NamedTuple):
    """The text of a file from the possible start of its table, the lines above it, and a delimiter declared there."""

    text: str
    skip: int
    delimiter: str | None


def body_of(text: str, reading: Reading) -> Body:
    r"""Return the beginning of a file without lines that are not part of its table; `sep=;` declares the delimiter.

    >>> body_of("Patients\nsep=;\nname;age\n", Reading(skip_rows=1))
    Body(text='name;age\n', skip=2, delimiter=';')
    """
    begin = 0
    for _ in range(reading.skip_rows):
        end = LINE_END.search(text, begin)
        begin = len(text) if end is None else end.end()
    named = SEPARATOR.match(text, begin)
    if named is not None:
        begin = named.end()
    rest = text[begin:]
    if reading.comment is not None:
        rest = "".join(TableLines(io.StringIO(rest, newline=""), 0, reading.comment))
    return Body(rest, reading.skip_rows + (named is not None), None if named is None else named[1])


class TableLines:
    """The lines of a text without the first ones and without comments; `left_out` counts the lines left out.

    A line inside a quoted field is not a comment, whatever it begins with.
    """

    def __init__(self, lines: Any, skip: int, comment: str | None) -> None:
        self._lines, self._skip, self._comment, self.left_out = lines, skip, comment, 0

    def __iter__(self) -> Iterator[str]:
        inside = False
        for number, line in enumerate(self._lines):
            if number < self._skip or (self._comment and not inside and line.startswith(self._comment)):
                self.left_out += 1
                continue
            inside ^= line.count('"') % 2 == 1
            yield line


class TableBytes(io.RawIOBase):
    """The bytes of a file without the first lines and comments, as `TableLines` leaves them out."""

    def __init__(self, file: BinaryIO, *, encoding: str, skip: int, comment: str | None) -> None:
        super().__init__()
        self._file = _Transcoded(file, encoding) if WIDE.match(encoding) else file
        self._skip, self._comment = skip, None if comment is None else _encode_comment(comment, encoding)
        self._rest, self._ready, self._inside, self._first, self._ended = b"", b"", False, True, False

    def readable(self) -> bool:
        """Return True: bytes can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer and return the number of bytes."""
        while not self._ready and not self._ended:
            self._fill()
        part = self._ready[: len(buffer)]
        buffer[: len(part)], self._ready = part, self._ready[len(part) :]
        return len(part)

    def close(self) -> None:
        """Close the stream and the file."""
        self._file.close()
        super().close()

    def _fill(self) -> None:
        """Read a block; only complete lines are filtered."""
        block = self._file.read(BLOCK_BYTES)
        self._ended = not block
        text = self._rest + block
        if self._first and block:
            text, self._first = text.removeprefix(b"\xef\xbb\xbf"), False
        # A line end may have a second character after the block.
        end = len(text) if self._ended else max(text.rfind(b"\n"), text.rfind(b"\r", 0, len(text) - 1)) + 1
        self._rest = text[end:]
        self._ready = self._drop_lines(text[:end])

    def _drop_lines(self, text: bytes) -> bytes:
        """Remove skipped and comment lines, except inside quotes."""
        mark = self._comment
        if not self._skip and (mark is None or (mark not in text)):
            self._inside ^= mark is not None and text.count(b'"') % 2 == 1
            return text
        kept = []
        for line in re.findall(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)", text):
            if self._skip and line:
                self._skip -= 1
            elif mark is None or self._inside or not line.startswith(mark):
                self._inside ^= line.count(b'"') % 2 == 1
                kept.append(line)
        return b"".join(kept)


class _Transcoded:
    """A file in an encoding whose line ends are not single bytes, converted to UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._text = io.TextIOWrapper(file, encoding=encoding, newline="")

    def read(self, size: int) -> bytes:
        return self._text.read(size).encode()

    def close(self) -> None:
        self._text.close()


def _encode_comment(comment: str, encoding: str) -> bytes:
    return comment.encode("utf-8" if WIDE.match(encoding) else encoding)


def is_cut(skip: int, comment: str | None) -> bool:
    """Return whether a file has lines that are not part of its table."""
    return skip > 0 or comment is not None


def encoding_of_cut(encoding: str) -> str:
    """Return the encoding of the bytes from `TableBytes`."""
    return "utf-8" if WIDE.match(encoding) else encoding


def check_title(path: Path, text: str, marks: Sequence[str], reading: Reading) -> None:
    """Raise `InputError` if lines above the names are a title or comments; the error says how many lines to skip."""
    lines = [above for mark in marks if (above := _lines_above(text, mark)) is not None]
    if not lines:
        return
    above = max(lines, key=lambda each: each.width)
    total = reading.skip_rows + above.lines
    several = f"{above.lines:,} lines of {path} are" if above.lines > 1 else f"the first line of {path} is"
    comment = f'they begin with a mark, leave out all such lines: --comment "{above.comment}"; else ' * bool(
        above.comment
    )
    raise InputError(
        f"{several} above a line with {above.width:,} fields: a title or comment, and no names",
        hint=f"{comment}leave out what is above the names: {DECLARE.format(total)}; if it does hold the names, say "
        "so: --header, header=True; if there is one column, name a delimiter that it does not hold: --delimiter",
        skip_rows=total,
    )


class _Above(NamedTuple):
    lines: int
    width: int
    comment: str | None


def _lines_above(text: str, mark: str) -> _Above | None:
    """Return the lines above the first record with as many fields as all others, None if there are none."""
    rows = _numbered_rows(text, mark)
    width = len(rows[-1][1]) if rows else 1
    if width < 2:
        return None
    index = next((i for i, (_, row) in enumerate(rows) if len(row) == width and 2 * _count_filled(row) > width), 0)
    above, below = rows[:index], rows[index:]
    if not above or len(below) < 2 or len(above) > MAX_LINES_ABOVE or any(len(row) != width for _, row in below):
        return None
    # Below a title, lines of another width may follow, such as a sentence that contains the delimiter.
    if not _is_title(above[0][1], width) or any(len(row) == width and not _is_title(row, width) for _, row in above):
        return None
    marks = {_comment_of(row[0]) for _, row in above}
    return _Above(above[-1][0], width, marks.pop() if len(marks) == 1 else None)


def _numbered_rows(text: str, mark: str) -> list[tuple[int, list[str]]]:
    """Return the first records of a text, each with the line on which it ends, without blank lines."""
    rows: list[tuple[int, list[str]]] = []
    with suppress(csv.Error):
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        for row in reader:
            if row:
                rows.append((reader.line_num, row))
            if len(rows) > RECORDS_COMPARED:
                break
    # The last record may be incomplete.
    return rows[:-1] if len(rows) > RECORDS_COMPARED or (not text.endswith(("\n", "\r")) and len(rows) > 3) else rows


def _is_title(row: Sequence[str], width: int) -> bool:
    """Return whether a row above the names is a title: it has few fields, and lacks more than the first name."""
    if _comment_of(row[0]) is not None or len(row) == 1:
        return True
    return width > 2 and 2 * _count_filled(row) <= width and any(not cell.strip() for cell in row[1:])


def _comment_of(cell: str) -> str | None:
    return next((mark for mark in COMMENTS if cell.startswith(mark)), None)


def _count_filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def check_one_column(path: Path, records: Sequence[Sequence[str]], delimiter: str, *, sure: bool) -> tuple[str, ...]:
    """Raise `InputError` if the records of a one-column file look like several columns; a note if that was declared.

    Quoted fields may contain the delimiter, unless the name of the column contains it too.
    """
    for mark in LIKELY:
        if mark == delimiter and mark not in records[0][0]:
            continue
        holding = sum(mark in row[0] for row in records)
        if holding < 2 or 2 * holding < len(records):
            continue
        named = "a tab" if mark == "\t" else repr(mark)
        words = f"has one column, but {holding:,} of its first {len(records):,} lines hold {named}"
        if sure:
            return (f"{path.name} {words}: check the delimiter",)
        comment = next((each for row in records if (each := _comment_of(row[0])) is not None), None)
        comments = f'leave out comments (--comment "{comment}"), ' * (comment is not None)
        raise InputError(
            f"{path} {words}, which may part fields: whole records would be published as one value",
            hint=f"{comments}name the delimiter (--delimiter, delimiter=), leave out lines above the names "
            "(--skip-rows, skip_rows=), or take off quotes around whole lines; if there is one column, declare any "
            "delimiter",
        )
    return ()


def blanks_note(records: Sequence[Sequence[str]], delimiter: str) -> tuple[str, ...]:
    """Return a note if a blank follows nearly every delimiter: names would contain it, and numbers would be text."""
    cells = [cell for row in records for cell in row[1:] if cell]
    if delimiter == "\t" or not cells or 10 * sum(cell[0] == " " for cell in cells) < 9 * len(cells):
        return ()
    return ("fields have a blank in front of them: names, texts and numbers are read without it if you declare --trim",)


def ragged_hint(row: Sequence[str], width: int) -> str:
    """Return a hint where a record has more or fewer fields than there are names."""
    mark = _comment_of(row[0])
    if mark is not None:
        return f'if lines that begin with a mark are comments, declare it: --comment "{mark}"'
    if len(row) == width + 1 and not row[-1]:
        return "a delimiter ends the line: remove it from the end of each line, or add one to the line of names"
    if len(row) == width + 1:
        return (
            "quote fields that contain the delimiter, or declare another delimiter with --delimiter (delimiter=… in "
            "Python). A file from R with row names: write it with row.names = FALSE or col.names = NA"
        )
    below = "; leave out lines above the names: --skip-rows, skip_rows=" * (len(row) > width)
    return f"quote fields that contain the delimiter, or pass the right delimiter{below}"


NUMBER = re.compile(r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:[.,' \u00a0\u202f][0-9]{3})+)(?:[.,][0-9]+)?")
DATE = re.compile(
    r"(?:[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-/.])[0-9]{1,2}\2(?:[0-9]{4}|[0-9]{2})"
    r"|[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日)(?:[T ][0-9]{1,2}:[0-9]{2}.*)?"
)
YEAR = re.compile("(?:19|20)[0-9]{2}")
TRUTH = frozenset({"true", "false", "yes", "no", "ja", "nein", "oui", "non", "sí", "si", "はい", "いいえ"})
# Share of a column's cells that must be of a kind, and the number of rows below which repeated texts mean nothing.
MIN_SHARE_OF_KIND = 0.8
FEWEST_ROWS = 3
# CODE_DIGITS: digits from which a code has a shape. SEVERAL: columns whose cells must repeat or have the shape.
CODE_DIGITS = 4
SEVERAL = 2


def check_header(path: Path, records: Sequence[Sequence[str]]) -> None:
    """Raise `InputError` if the first record looks like the records below it."""
    header, rows = records[0] if records else [], [row for row in records[1:] if list(row) != list(records[0])]
    if not rows or not is_data(header, rows):
        return
    raise InputError(
        f"the first line of {path} looks like data, not like the names of columns",
        hint="write a line with names above it; if it does hold names, say so: header=True, --header, or "
        "`header = true` under [input]",
    )


def is_data(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a first line looks like the rows below it, so that it does not name columns.

    A number above numbers or a date above dates is data, and so are several texts that occur again below. Years above
    other numbers, and numbers that count columns, are names.

    >>> is_data(["52", "F"], [["31", "M"], ["47", "F"], ["52", "M"]]), is_data(["age", "sex"], [["31", "M"]] * 3)
    (True, False)
    """
    columns = [
        [cell.strip() for cell in cells if cell.strip()] for cells in zip(*_rows_as_wide(header, rows), strict=True)
    ]
    cells = [cell.strip() for cell in header]
    if any(DATE.fullmatch(cell) and _mostly(DATE, below) for cell, below in zip(cells, columns, strict=True)):
        return True
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell)]
    if not _is_sequence(numbers) and any(_among(cell, below) for cell, below in zip(cells, columns, strict=True)):
        return True
    if any(
        _is_composed_alike(cell, below) or _is_truth(cell, below) for cell, below in zip(cells, columns, strict=True)
    ):
        return True
    return (
        len(rows) >= FEWEST_ROWS
        and sum(_returns(cell, below) for cell, below in zip(cells, columns, strict=True)) >= SEVERAL
    )


def _rows_as_wide(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows with as many fields as the header."""
    return [row for row in rows if len(row) == len(header)] or [[""] * len(header)]


def _mostly(pattern: re.Pattern[str], cells: Sequence[str]) -> bool:
    return bool(cells) and sum(pattern.fullmatch(cell) is not None for cell in cells) >= MIN_SHARE_OF_KIND * len(cells)


def _among(cell: str, below: Sequence[str]) -> bool:
    """Return whether a number is above numbers of its kind; a year above other numbers may well be a name."""
    if not NUMBER.fullmatch(cell) or not _mostly(NUMBER, below):
        return False
    return not YEAR.fullmatch(cell) or _mostly(YEAR, below)


def _is_sequence(numbers: Sequence[str]) -> bool:
    """Return whether numbers are a sequence with equal steps, as column names that are years or ages."""
    if len(numbers) < 2 or not all(number.isdigit() and len(number) < 10 for number in numbers):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(numbers)}
    return len(steps) == 1 and steps != {0} and (len(numbers) > 2 or numbers in (["0", "1"], ["1", "2"]))


def _returns(cell: str, below: Sequence[str]) -> bool:
    """Return whether a text occurs again below, or has the shape of nearly all codes there."""
    if not cell:
        return False
    if cell in below:
        return True
    shape = _shape(cell)
    coded = sum(mark == "9" for mark in shape) >= CODE_DIGITS
    return coded and sum(_shape(other) == shape for other in below) >= MIN_SHARE_OF_KIND * max(1, len(below))


def _is_composed_alike(cell: str, below: Sequence[str]) -> bool:
    """Return whether a cell combines digits and other characters as the cells below do: 180 cm, 12:30, E11.9, €50.

    Names such as v1 or Q4 are letters followed by a number; that alone does not count.
    """
    shape = re.sub("9+", "9", re.sub("a+", "a", _shape(cell)))
    if "9" not in shape or shape in ("9", "a9", "a_9", "a 9", "a-9", "a.9"):
        return False
    alike = sum(re.sub("9+", "9", re.sub("a+", "a", _shape(other))) == shape for other in below)
    return bool(below) and alike >= MIN_SHARE_OF_KIND * len(below)


def _is_truth(cell: str, below: Sequence[str]) -> bool:
    words = [other.casefold() for other in below]
    return cell.casefold() in TRUTH and bool(words) and all(word in TRUTH for word in words)


def _shape(cell: str) -> str:
    """Return the shape of a cell: digits as 9, letters as a."""
    return "".join("9" if mark.isdigit() else "a" if mark.isalpha() else mark for mark in cell)
