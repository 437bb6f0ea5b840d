"""Declarations about a file by callers, policies and flags, as the single value `Reading`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from indistinct.errors import ParameterError
from indistinct.schema import did_you_mean
from indistinct.tables.notation import check_format, check_marks, is_run_of_digits
from indistinct.tables.value import EVERY, Reading

TYPES = ("number", "plain-number", "integer", "date", "datetime", "text")
"""The types that can be declared; a plain number has a decimal point in a file with another decimal separator."""

NAMELESS = ("drop", "name")
"""What happens to columns without a name."""


class Declarations(TypedDict, total=False):
    """What can be declared about a file or a frame; None declares nothing."""

    delimiter: str | None
    encoding: str | None
    missing: str | Iterable[str] | Mapping[str, str | Iterable[str]] | None
    text: str | Iterable[str] | None
    decimal: str | None
    thousands: str | None
    dates: str | Iterable[str] | Mapping[str, str | Iterable[str]] | None
    types: Mapping[str, str] | None
    header: bool | None
    sheet: str | None
    codes: bool | None
    columns: str | Iterable[str] | None
    skip_rows: int | None
    comment: str | None
    trim: bool | None
    nameless: str | None
    version: int | None


def declare(base: Reading | None = None, **declared: Unpack[Declarations]) -> Reading:
    """Return a reading with declarations replaced; None keeps the previous declaration.

    `dates` and `missing` are one or several texts for all columns, or a mapping of columns, in which `"*"` means all.

    >>> declare(missing={"*": ["", "?"], "age": "-99"}).marks("age")
    ('', '?', '-99')
    """
    for key in declared:
        if key not in Declarations.__annotations__:
            known = tuple(Declarations.__annotations__)
            raise ParameterError(
                f"{key!r} cannot be declared about a file",
                hint=did_you_mean(key, known) or f"known: {', '.join(known)}",
            )
    changed: dict[str, Any] = dict(declared)
    for key in ("text", "columns"):
        if (names := changed.pop(key, None)) is not None:
            changed[key] = _texts(key, names)
    if (missing := changed.pop("missing", None)) is not None:
        marks, marks_in = _part_declarations("missing", missing)
        changed |= {"missing": ("",) if marks is None else marks, "missing_in": marks_in}
    if (dates := changed.pop("dates", None)) is not None:
        forms, forms_in = _part_declarations("dates", dates)
        changed |= {"dates": forms or (), "dates_in": {name: _one(name, each) for name, each in forms_in.items()}}
    if (types := changed.pop("types", None)) is not None:
        changed["types"] = dict(types)
    said = {key: value for key, value in changed.items() if value is not None}
    return check_reading(replace(base or Reading(), **said))


def check_reading(reading: Reading) -> Reading:
    """Return a reading; raise `ParameterError` if it contradicts itself or is not supported."""
    check_marks(reading.decimal, reading.thousands, reading.delimiter)
    _check_layout(reading)
    for form in (*reading.dates, *reading.dates_in.values()):
        check_format(form)
    for form in reading.dates:
        if is_run_of_digits(form):
            raise ParameterError(
                f"the date format {form!r} has no mark between its parts, so that numbers and codes would fit it too",
                hint=f'name its column: dates={{"column": "{form}"}} in Python and policies, --dates COLUMN={form}',
            )
    for name, kind in reading.types.items():
        if kind not in TYPES:
            raise ParameterError(
                f"the type of column {name!r} must be one of {', '.join(TYPES)}; got {kind!r}",
                hint=did_you_mean(str(kind), TYPES) or "leave the column out to have its type found",
            )
    if len(set(reading.columns)) < len(reading.columns):
        raise ParameterError("`columns` names a column twice", hint="name every column once")
    twice = [name for name in reading.text if reading.types.get(name, "text") != "text" or name in reading.dates_in]
    twice += [name for name in reading.dates_in if reading.types.get(name, "date") not in ("date", "datetime")]
    if twice:
        raise ParameterError(
            f"column {twice[0]!r} is declared to be two things", hint="declare it under one of text, types and dates"
        )
    return reading


def _check_layout(reading: Reading) -> None:
    """Raise `ParameterError` for impossible declarations of skipped lines, comments and names."""
    skipped = reading.skip_rows
    if isinstance(skipped, bool) or not isinstance(skipped, int) or skipped < 0:
        raise ParameterError("`skip_rows` must be a whole number of lines above the names", hint="skip_rows=1")
    mark = reading.comment
    if mark is not None and (not isinstance(mark, str) or not mark.strip() or set(mark) & set('"\r\n\0')):
        raise ParameterError("`comment` must be the text that comment lines begin with", hint='comment="#"')
    if reading.nameless not in (None, *NAMELESS):
        raise ParameterError(
            f"`nameless` must be one of {', '.join(NAMELESS)}; got {reading.nameless!r}",
            hint='"drop" leaves columns without a name out, "name" calls them after their number: column 1',
        )
    version = reading.version
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 0):
        raise ParameterError("`version` must be a whole number from 0", hint="version=3")


def to_options(reading: Reading) -> dict[str, Any]:
    """Return a reading as the options of `declare` and of a policy, without what was not declared.

    >>> to_options(declare(dates="%d.%m.%Y", missing=["", "-99"]))
    {'missing': ['', '-99'], 'dates': '%d.%m.%Y'}
    """
    default = Reading()
    changed = {key: getattr(reading, key) for key in Declarations.__annotations__}
    changed = {key: value for key, value in changed.items() if value != getattr(default, key)}
    options = {key: list(value) if isinstance(value, tuple) else value for key, value in changed.items()}
    if len(reading.dates) == 1:
        options["dates"] = reading.dates[0]
    for key, own in (("dates", dict(reading.dates_in)), ("missing", reading.missing_in)):
        if own:
            everywhere = {EVERY: options[key]} if key in options else {}
            each = {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}
            options[key] = {**everywhere, **each}
    return {key: options[key] for key in Declarations.__annotations__ if key in options}


def _part_declarations(name: str, given: Any) -> tuple[tuple[str, ...] | None, dict[str, tuple[str, ...]]]:
    """Return (declaration for all columns or None, declarations for single columns)."""
    if not isinstance(given, Mapping):
        return _texts(name, given), {}
    parts = {column: _texts(name, each) for column, each in given.items()}
    return parts.pop(EVERY, None), parts


def _texts(name: str, given: Any) -> tuple[str, ...]:
    texts = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(text, str) for text in texts):
        raise ParameterError(f"`{name}` must be texts", hint='marks are texts too: missing=["-99"], not [-99]')
    return texts


def _one(column: str, forms: tuple[str, ...]) -> str:
    if len(forms) != 1:
        raise ParameterError(f"column {column!r} must have one date format; got {len(forms)}", hint="keep one")
    return forms[0]
