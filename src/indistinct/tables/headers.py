"""Whether the first line of a text file has the names of columns, or data of a person.

No message shows what the line contains, because it may be about a person.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from indistinct.errors import InputError

NUMBER = re.compile(r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:[.,' \u00a0\u202f][0-9]{3})+)(?:[.,][0-9]+)?")
DATE = re.compile(
    r"(?:[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-/.])[0-9]{1,2}\2(?:[0-9]{4}|[0-9]{2})"
    r"|[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日)(?:[T ][0-9]{1,2}:[0-9]{2}.*)?"
)
YEAR = re.compile("(?:19|20)[0-9]{2}")
TRUTH = frozenset({"true", "false", "yes", "no", "ja", "nein", "oui", "non", "sí", "si", "はい", "いいえ"})
# MIN_SHARE_OF_KIND: share of a column's cells that must be of a kind. MIN_ROWS_REPEATED: rows below which repeated
# texts mean nothing.
MIN_SHARE_OF_KIND = 0.8
MIN_ROWS_REPEATED = 3
# MIN_CODE_DIGITS: digits from which a code has a shape. MIN_COLUMNS_REPEATED: columns whose cells must repeat or have
# the shape.
MIN_CODE_DIGITS = 4
MIN_COLUMNS_REPEATED = 2


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
    if not _counts(numbers) and any(_among(cell, below) for cell, below in zip(cells, columns, strict=True)):
        return True
    if any(
        _is_composed_alike(cell, below) or _is_truth(cell, below) for cell, below in zip(cells, columns, strict=True)
    ):
        return True
    return (
        len(rows) >= MIN_ROWS_REPEATED
        and sum(_returns(cell, below) for cell, below in zip(cells, columns, strict=True)) >= MIN_COLUMNS_REPEATED
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


def _counts(numbers: Sequence[str]) -> bool:
    """Return whether numbers ascend or descend in equal steps, as names that count columns, ages or years do."""
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
    coded = sum(mark == "9" for mark in shape) >= MIN_CODE_DIGITS
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
    return "".join("9" if mark.isdigit() else "a" if mark.isalpha() else mark for mark in cell)
