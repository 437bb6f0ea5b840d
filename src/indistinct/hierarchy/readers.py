"""Hierarchies from files, such as the semicolon CSV that ARX writes."""

import csv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from itertools import islice
from pathlib import Path

from indistinct.errors import HierarchyError
from indistinct.figures import plural
from indistinct.hierarchy.explicit import Explicit
from indistinct.tables.addresses import read_ordinary
from indistinct.tables.dialect import doubt_of, encodings_of

_DELIMITERS = (";", "\t", ",")
# Number of rows by which the delimiter is found.
_ROWS_SAMPLED = 100
# Number of lines that an error lists.
_MAX_LINES_NAMED = 6


def read_hierarchy(
    path: str | Path,
    *,
    base: Path | None = None,
    delimiter: str | None = None,
    rooted: bool = True,
    encoding: str | None = None,
    header: bool = False,
) -> Explicit:
    """Read a table of levels: one row per raw value, levels left to right; with `header` the first row is left out.

    A relative path starts at `base`; the declaration keeps it as written. Encoding and delimiter are detected if they
    are not given.
    """
    file = Path(path) if base is None else base / path
    numbered = _rows(_text(file, encoding), file, delimiter=delimiter)[1 if header else 0 :]
    if not numbered:
        raise HierarchyError(f"the hierarchy {file} has a header and no rows", hint="write one row a raw value")
    try:
        rows = tuple(row for _, row in numbered)
        declared = Explicit(rows, rooted=rooted, form="file", path=str(path), delimiter=delimiter)
    except HierarchyError as error:
        message = f"{file}: {error.message}{_lines(numbered, error)}"
        raise HierarchyError(message, hint=error.hint, values=error.values, **error.details) from None
    return replace(declared, encoding=encoding, header=header)


def _lines(numbered: Sequence[tuple[int, tuple[str, ...]]], error: HierarchyError) -> str:
    """Return the lines to check: the first one of each value with each of its parents."""
    level = error.details.get("level")
    if level is None:
        return ""
    firsts: dict[tuple[str, ...], int] = {}
    wrong = set(error.values)
    for line, row in numbered:
        if row[level] in wrong:
            firsts.setdefault(row[level:], line)
    lines = sorted(firsts.values())
    numbers = ", ".join(map(str, lines[:_MAX_LINES_NAMED]))
    return f" ({'line' if len(lines) == 1 else 'lines'} {numbers}{', …' if len(lines) > _MAX_LINES_NAMED else ''})"


def _text(path: Path, encoding: str | None) -> str:
    """Read the text of a hierarchy file."""
    try:
        content = read_ordinary(path)
    except FileNotFoundError:
        raise HierarchyError(f"there is no file {path}, which a hierarchy names", hint="check its path") from None
    except OSError as error:
        raise HierarchyError(
            f"cannot read the hierarchy {path}: {error.strerror or 'unreadable'}", hint="check the path"
        ) from None
    for candidate in encodings_of(content) if encoding is None else (encoding,):
        try:
            text = content.decode("utf-8-sig" if candidate == "utf-8" else candidate)
        except UnicodeDecodeError:
            continue
        except LookupError:
            raise HierarchyError(
                f"the encoding {encoding!r} of the hierarchy {path} is not known",
                hint="use utf-8, cp1252 or latin-1, or leave the encoding out to have it found",
            ) from None
        doubt = None if encoding else doubt_of(candidate, content)
        if doubt is not None:  # a wrong guess would be published in labels
            raise HierarchyError(
                f"the hierarchy {path} is not UTF-8, and {candidate} looks wrong: {doubt}",
                hint="save it as UTF-8, or name its encoding: { file = …, encoding = … } in a policy, encoding=",
            )
        return text
    raise HierarchyError(
        f"the hierarchy {path} is not text in the encoding {encoding}", hint="leave it out to have it found"
    )


def _rows(text: str, path: Path, *, delimiter: str | None) -> list[tuple[int, tuple[str, ...]]]:
    """Return rows of equal length, each with the number of its line."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise HierarchyError("the delimiter must be one character", hint="for instance delimiter=';'")
    numbered = _parse(text, path, delimiter or _detect(text))
    if not numbered:
        raise HierarchyError(f"the hierarchy {path} is empty", hint="write one row a raw value, levels left to right")
    width = len(numbered[0][1])
    for line, row in numbered:
        if len(row) != width:
            raise HierarchyError(
                f"line {line} of the hierarchy {path} has {plural(len(row), 'level')}; the first row has {width}",
                hint="fill every row up to the top, and quote values that hold the delimiter",
            )
    return numbered


def _detect(text: str) -> str:
    """Return the delimiter that splits the first rows into the same number of levels, above one."""
    for delimiter in _DELIMITERS:
        with suppress(csv.Error):
            rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
            widths = {len(row) for row in islice(rows, _ROWS_SAMPLED) if row}
            if len(widths) == 1 and widths.pop() > 1:
                return delimiter
    return max(_DELIMITERS, key=text.count)


def _parse(text: str, path: Path, delimiter: str) -> list[tuple[int, tuple[str, ...]]]:
    """Parse the rows of a hierarchy file, with their line numbers."""
    lines = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(lines.line_num, tuple(row)) for row in lines if row]
    except csv.Error:
        raise HierarchyError(
            f"line {lines.line_num} of the hierarchy {path} has a quote without its counterpart",
            hint='write quotes inside quoted values twice: "a ""b"" c"',
        ) from None
