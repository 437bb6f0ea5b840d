"""Reading published values as their readers do: which original values does a label cover?

Written from the description of the formats alone, so that it is an independent judge of what recodings publish.
"""

import datetime
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from indistinct.testing.reference import Path

MISSING = "missing"


def stands_for(
    shown: Any, original: Any, *, paths: Mapping[Any, Path] | None = None, order: Sequence[Any] | None = None
) -> bool:
    """Return whether a published value is true of an original one.

    `paths` gives ancestors, `order` the declared order of a column's values.

    >>> stands_for("[25-30]", 27), stands_for("{flu, measles}", "flu"), stands_for("[25-30] or missing", None)
    (True, True, True)
    >>> stands_for("[-24]", 7), stands_for("[85-]", 85), stands_for("[0.5-1.5)", 1.5), stands_for("*", 3)
    (True, True, False, True)
    >>> stands_for("[1, 3)", 1.25), stands_for("[1, 3)", 3.0)
    (True, False)
    >>> stands_for("[25-30]", 31), stands_for("{flu, measles}", "HIV"), stands_for("[25-30]", None)
    (False, False, False)
    """
    if shown == original:
        return True
    if not isinstance(shown, str):
        return False
    if paths is not None and (
        shown == spell_value(original) or shown in paths.get(original, paths.get(spell_value(original), ()))
    ):
        return True
    if shown.startswith("{") and shown.endswith("}"):
        return (MISSING, False) in members(shown) if original is None else _among(spell_value(original), shown)
    if paths is not None:
        return False
    if shown == "*" and not isinstance(original, str):
        return True
    noted = shown.endswith(f" or {MISSING}")
    if original is None:
        return noted
    return _within(shown.removesuffix(f" or {MISSING}"), original, order)


def members(text: str) -> list[tuple[str, bool]]:
    """Return the members of a published set, each with whether it was quoted."""
    matches = re.finditer(r'\s*(?:"((?:[^"]|"")*)"|([^,"]+))(?:,|$)', text[1:-1])
    return [
        (quoted.replace('""', '"'), True) if quoted is not None else (plain.strip(), False)
        for quoted, plain in (match.groups() for match in matches)
    ]


def spell_value(value: Any) -> str:
    """Return a raw value as a release writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _among(text: str, shown: str) -> bool:
    return any(member == text and (quoted or member != MISSING) for member, quoted in members(shown))


def _within(text: str, original: Any, order: Sequence[Any] | None) -> bool:
    """Return whether a value is within a published range."""
    if text == spell_value(original):
        return True
    if not (text.startswith("[") and text.endswith(("]", ")"))):
        return False
    if isinstance(original, str) and order is None and _between_texts(text, original):
        return True
    inner = text[1:-1]
    between = next((mark for mark in (" .. ", ", ") if mark in inner), "-")
    low, _, high = inner.partition(between)
    if order is not None:
        ranks = [str(value) for value in order]
        return ranks.index(low) <= ranks.index(str(original)) <= ranks.index(high)
    above = not low or _parse_bound(low, original) <= original
    below = not high or (
        original < _parse_bound(high, original) if text.endswith(")") else original <= _parse_bound(high, original)
    )
    return bool(above and below)


def _between_texts(text: str, original: str) -> bool:
    """Return whether a text is between two others by code points; ends may be quoted."""
    end = r'"(?:[^"]|"")*"|[^"]*?'
    written = re.fullmatch(rf"\[({end}) \.\. ({end})\]", text, re.DOTALL)
    if written is None:
        return False
    low, high = (end[1:-1].replace('""', '"') if end[:1] == '"' else end for end in written.groups())
    return low <= original <= high


def _parse_bound(text: str, like: Any) -> Any:
    """Return a bound as a value that can be compared with an original one."""
    match like:
        case datetime.datetime():
            return datetime.datetime.fromisoformat(text).replace(tzinfo=like.tzinfo)
        case datetime.date():
            return datetime.date.fromisoformat(text)
        case Decimal():
            return Decimal(text)
        case int():
            return Decimal(text)
        case float():
            return float(text)
        case _:
            return text
