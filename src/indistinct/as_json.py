"""Results as JSON: frozen values with figures become plain objects, lists, texts, numbers and null."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar

from indistinct.settings import value_at


class AsJson:
    """A frozen dataclass that JSON documents show.

    `in_json` names its members, fields and properties alike, in the order of the document, with blanks between them;
    by default all fields. `profile=gate.profile.spec` shows a member of a member under another name.
    """

    __slots__ = ()
    in_json: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; a number that is not finite becomes None."""
        names = self.in_json.split() or [each.name for each in fields(self)]  # type: ignore[arg-type]
        named = [each.partition("=") for each in names]
        return {name: to_plain(value_at(self, path) if path else getattr(self, name)) for name, _, path in named}


def to_plain(value: Any) -> Any:
    """Return a value as JSON can write it: by its `to_json`, if it has one, a dataclass by its fields.

    A value that JSON has no form for is returned unchanged.

    >>> to_plain({5: (float("inf"), Fraction(1, 4)), "day": date(2024, 3, 7)})
    {'5': [None, 0.25], 'day': '2024-03-07'}
    """
    match value:
        case _ if hasattr(value, "to_json"):
            return value.to_json()
        case StrEnum():
            return str(value)
        case date():
            return value.isoformat()
        case Fraction():
            return float(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): to_plain(each) for key, each in value.items()}
        case list() | tuple():
            return [to_plain(each) for each in value]
        case _ if callable(value):
            return to_plain(value())
        case _ if is_dataclass(value):
            return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
        case _ if hasattr(value, "item"):  # a number of NumPy
            return to_plain(value.item())
        case _:
            return value
