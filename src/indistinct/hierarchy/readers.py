"""Hierarchies from files, policies and flags: the semicolon CSV that ARX writes, the policy's form, short specs."""

import csv
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

from indistinct.errors import HierarchyError, ParameterError
from indistinct.hierarchy.explicit import Explicit
from indistinct.hierarchy.value import Hierarchy
from indistinct.schema import did_you_mean
from indistinct.tables.encodings import doubt_of, encodings_of
from indistinct.tables.input_files import read_ordinary

_DELIMITERS = (";", "\t", ",")
# Rows that the delimiter is found by.
_LOOK = 100
# Lines that an error names.
_TOLD = 6
_SPELLED = ("mask", "intervals", "dates", "order", "suppression", "file", "header")
_HINT = "for instance { intervals = [5, 10, 20] }"


def read_hierarchy(
    path: str | Path,
    *,
    base: Path | None = None,
    delimiter: str | None = None,
    rooted: bool = True,
    encoding: str | None = None,
    header: bool = False,
) -> Explicit:
    """Read a table of levels: one row a raw value, levels left to right; with `header` the first row is left out.

    A relative path starts at `base`; the declaration keeps it as written. What is not given of encoding and
    delimiter is found.
    """
    place = Path(path) if base is None else base / path
    numbered = _rows(_text(place, encoding), place, delimiter=delimiter)[1 if header else 0 :]
    if not numbered:
        raise HierarchyError(f"the hierarchy {place} has a header and no rows", hint="write one row a raw value")
    try:
        rows = tuple(row for _, row in numbered)
        declared = Explicit(rows, rooted=rooted, form="file", path=str(path), delimiter=delimiter)
    except HierarchyError as error:
        told = f"{place}: {error.message}{_lines(numbered, error)}"
        raise HierarchyError(told, hint=error.hint, values=error.values, **error.details) from None
    return replace(declared, encoding=encoding, header=header)


def _lines(numbered: Sequence[tuple[int, tuple[str, ...]]], error: HierarchyError) -> str:
    """Return the lines at which somebody has to look: the first one of each value with each of its parents."""
    level = error.details.get("level")
    if level is None:
        return ""
    firsts: dict[tuple[str, ...], int] = {}
    wrong = set(error.values)
    for line, row in numbered:
        if row[level] in wrong:
            firsts.setdefault(row[level:], line)
    lines = sorted(firsts.values())
    told = ", ".join(map(str, lines[:_TOLD]))
    return f" ({'line' if len(lines) == 1 else 'lines'} {told}{', …' if len(lines) > _TOLD else ''})"


def hierarchy_from_json(data: Mapping[str, Any], *, base: Path) -> Hierarchy:
    """Build the hierarchy that stands in a policy; paths are relative to `base`. The inverse of `to_json`.

    >>> hierarchy_from_json({"intervals": [5, 10, 20]}, base=Path()).widths
    (5, 10, 20)
    """
    if not isinstance(data, Mapping):
        raise HierarchyError("a hierarchy must be a table of keys", hint=_HINT)
    for key in data:
        if key not in _KINDS and key not in _OPTIONS:
            raise HierarchyError(
                f"unknown key {key!r} of a hierarchy",
                unknown=key,
                hint=did_you_mean(str(key), (*_KINDS, *_OPTIONS)) or f"known: {', '.join(_KINDS)}",
            )
    named = [key for key in data if key in _KINDS]
    if len(named) != 1:
        raise HierarchyError(
            f"a hierarchy is declared by one of {', '.join(_KINDS)}; got {', '.join(named) or 'none'}", hint=_HINT
        )
    allowed, build = _KINDS[named[0]]
    options = {key: value for key, value in data.items() if key != named[0]}
    for key in options:
        if key not in allowed:
            raise HierarchyError(
                f"{key!r} does not go with {named[0]!r}",
                hint=f"other keys of {named[0]!r}: {', '.join(allowed) or 'none'}",
            )
    if not isinstance(options.get("rooted", True), bool):
        raise HierarchyError("`rooted` must be true or false")
    return build(data[named[0]], options, base)


def _file(path: Any, options: Mapping[str, Any], base: Path) -> Hierarchy:
    texts = (path, options.get("delimiter", ""), options.get("encoding", ""))
    if not all(isinstance(text, str) for text in texts):
        raise HierarchyError("`file`, `delimiter` and `encoding` of a hierarchy must be texts")
    if not isinstance(options.get("header", False), bool):
        raise HierarchyError("`header` must be true or false", hint="true if the first row names the levels")
    return read_hierarchy(path, base=base, **options)


def _suppression(given: Any, options: Mapping[str, Any], base: Path) -> Hierarchy:
    if given is not True:
        raise HierarchyError("`suppression` must be true", hint="leave the key out")
    return Hierarchy.suppression()


# What declares a hierarchy in a policy: the other keys that go with it, and its builder.
_KINDS: dict[str, tuple[tuple[str, ...], Callable[[Any, Mapping[str, Any], Path], Hierarchy]]] = {
    "intervals": (("origin",), lambda given, options, base: Hierarchy.intervals(given, **options)),
    "cuts": ((), lambda given, options, base: Hierarchy.intervals(cuts=given)),
    "dates": ((), lambda given, options, base: Hierarchy.dates(given)),
    "mask": (("char", "levels", "length"), lambda given, options, base: Hierarchy.masking(given, **options)),
    "order": ((), lambda given, options, base: Hierarchy.order(given)),
    "suppression": ((), _suppression),
    "rows": (("rooted",), lambda given, options, base: Hierarchy.from_rows(given, **options)),
    "tree": (("rooted",), lambda given, options, base: Hierarchy.tree(given, **options)),
    "file": (("delimiter", "rooted", "encoding", "header"), _file),
}
_OPTIONS = tuple(dict.fromkeys(option for allowed, _ in _KINDS.values() for option in allowed))


def _text(place: Path, encoding: str | None) -> str:
    try:
        content = read_ordinary(place)
    except OSError as error:
        raise HierarchyError(
            f"cannot read the hierarchy {place}: {error.strerror or 'unreadable'}", hint="check the path"
        ) from None
    for candidate in encodings_of(content) if encoding is None else (encoding,):
        try:
            text = content.decode("utf-8-sig" if candidate == "utf-8" else candidate)
        except UnicodeDecodeError:
            continue
        except LookupError:
            raise HierarchyError(
                f"the encoding {encoding!r} of the hierarchy {place} is not known",
                hint="use utf-8, cp1252 or latin-1, or leave the encoding out to have it found",
            ) from None
        doubt = None if encoding else doubt_of(candidate, content)
        if doubt is not None:  # nobody would be told, and its labels are published
            raise HierarchyError(
                f"the hierarchy {place} is not UTF-8, and {candidate} looks wrong: {doubt}",
                hint="save it as UTF-8, or name its encoding: { file = …, encoding = … } in a policy, encoding=",
            )
        return text
    raise HierarchyError(
        f"the hierarchy {place} is not text in the encoding {encoding}", hint="leave it out to have it found"
    )


def _rows(text: str, place: Path, *, delimiter: str | None) -> list[tuple[int, tuple[str, ...]]]:
    """Return rows of equal length, each with the number of its line."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise HierarchyError("the delimiter must be one character", hint="for instance delimiter=';'")
    numbered = _parse(text, place, delimiter or _detect(text))
    if not numbered:
        raise HierarchyError(f"the hierarchy {place} is empty", hint="write one row a raw value, levels left to right")
    width = len(numbered[0][1])
    for line, row in numbered:
        if len(row) != width:
            raise HierarchyError(
                f"line {line} of the hierarchy {place} has {len(row)} level(s); the first row has {width}",
                hint="fill every row up to the top, and quote values that hold the delimiter",
            )
    return numbered


def _detect(text: str) -> str:
    """Return the delimiter that gives the first rows the same number of levels, above one."""
    for delimiter in _DELIMITERS:
        with suppress(csv.Error):
            rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
            widths = {len(row) for row in islice(rows, _LOOK) if row}
            if len(widths) == 1 and widths.pop() > 1:
                return delimiter
    return max(_DELIMITERS, key=text.count)


def _parse(text: str, place: Path, delimiter: str) -> list[tuple[int, tuple[str, ...]]]:
    lines = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(lines.line_num, tuple(row)) for row in lines if row]
    except csv.Error:
        raise HierarchyError(
            f"line {lines.line_num} of the hierarchy {place} has a quote that is left open or stands alone",
            hint='write quotes inside quoted values twice: "a ""b"" c"',
        ) from None


def hierarchy_from_spec(column: str, spec: str) -> Hierarchy:
    """Return the hierarchy of a column that is spelled as on the command line: a kind with its values, or a file.

    >>> hierarchy_from_spec("age", "intervals:5,10").widths
    (5, 10)
    """
    kind, _, rest = spec.partition(":")
    match kind:
        case "mask":
            return Hierarchy.masking(rest or "right")
        case "intervals":
            return Hierarchy.intervals([_number(column, part) for part in rest.split(",")])
        case "dates":
            return Hierarchy.dates(rest.split(",")) if rest else Hierarchy.dates()
        case "order":
            return Hierarchy.order(rest.split("|"))
        case "suppression" if not rest:
            return Hierarchy.suppression()
        case "header" if rest:
            return Hierarchy.read_csv(rest, header=True)
    path = rest if kind == "file" else spec
    if kind != "file" and not Path(path).suffix:
        raise ParameterError(
            f"the hierarchy of {column!r} is neither a file nor one of {', '.join(_SPELLED)}",
            hint=did_you_mean(kind, _SPELLED) or f"for example {column}=mask:right",
        )
    return Hierarchy.read_csv(path)


def _number(column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ParameterError(
            f"the widths of the intervals of {column!r} must be numbers", hint=f"for example {column}=intervals:5,10,20"
        ) from None
    return int(text) if text.strip().isdigit() else value
