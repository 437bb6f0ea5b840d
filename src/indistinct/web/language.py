"""The language of a page: its texts are looked up when they are shown.

Names and values of a table are not translated.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import Client
from nicegui.slot import Slot

from indistinct.document.blocks import Grid
from indistinct.document.catalogue import ENGLISH, LANGUAGES, read_catalogue
from indistinct.document.translation import Own, Translation
from indistinct.models.words import list_names
from indistinct.tables.domain import Kind

__all__ = ["Own", "keep_names", "preferred_language", "speak", "translate"]
ATTRIBUTES = frozenset({"aria_label", "label", "placeholder", "data_refused", "data_lost", "data_ended"})
"""The properties of an element, in addition to its text, that people read."""
NAMES = {"en": "English", "de": "Deutsch"}
"""The name of each language in that language."""
DAY = len("2024-12-31")
_SPOKEN: WeakKeyDictionary[Client, Translation] = WeakKeyDictionary()


def preferred_language(asked: str) -> str:
    """Return the language of pages that a browser prefers, by its header Accept-Language.

    >>> preferred_language("de-AT,de;q=0.9,en;q=0.8"), preferred_language("fr, en;q=0.5, de;q=0.4")
    ('de', 'en')
    >>> preferred_language(""), preferred_language("de;q=0"), preferred_language("*;q=x")
    ('en', 'en', 'en')
    """
    wanted: dict[str, float] = {}
    for each in asked.lower().split(","):
        name, _, weight = each.partition(";")
        language = name.strip().partition("-")[0]
        if language in LANGUAGES:
            wanted[language] = max(wanted.get(language, 0.0), _read_weight(weight))
    best = max(wanted, key=wanted.__getitem__, default=ENGLISH)
    return best if wanted.get(best, 0.0) > 0 else ENGLISH


def _read_weight(text: str) -> float:
    """Parse the weight of a language, such as `q=0.8`; 1 if there is none, 0 if it cannot be read."""
    name, _, value = text.strip().partition("=")
    try:
        return float(value) if name else 1.0
    except ValueError:
        return 0.0


def speak(client: Client, language: str) -> Translation:
    """Set the language of a page; return its translation, which collects texts without a translation."""
    spoken = Translation(read_catalogue(language), set())
    if language != ENGLISH:
        _SPOKEN[client] = spoken
    return spoken


def keep_names(client: Client, names: Iterable[str]) -> None:
    """Let cells of a page keep names of columns, also where they are words of the catalogue."""
    spoken = _SPOKEN.get(client)
    if spoken is not None and isinstance(spoken.own, set):
        spoken.own.clear()
        spoken.own.update(names)


def _spoken() -> Translation | None:
    """Return the translation of the page that is being drawn; None where no page is."""
    slots = Slot.get_stack()
    return _SPOKEN.get(slots[-1].parent.client) if slots else None


def translate(text: str) -> str:
    """Return a text as the page that is being drawn says it."""
    spoken = None if isinstance(text, Own) or not any(map(str.isalnum, text)) else _spoken()
    if spoken is None:
        return text
    words = text.strip()
    return text.replace(words, spoken.text(words))


def shown_value(text: str, kind: str) -> Own:
    """Return a value of a table as the page that is being drawn writes numbers and dates; others stay.

    >>> shown_value("72.4", "number")  # no page is being drawn
    '72.4'
    """
    spoken = _spoken()
    if spoken is not None and kind == Kind.NUMBER:
        text = text.replace(".", spoken.catalogue.decimal)
    elif spoken is not None and kind == Kind.DATE:
        text = spoken.catalogue.date(text[:DAY]) + text[DAY:]
    return Own(text)


def name_list(names: Sequence[str]) -> str:
    """Return names with commas and a last "and" between them, as the page that is being drawn says it."""
    listed, spoken = list_names(names), _spoken()
    return Own(listed if spoken is None else spoken.catalogue.join(listed))


def shown_grid(grid: Grid) -> Grid:
    """Return a table of a document as the page that is being drawn says it."""
    spoken = _spoken()
    return grid if spoken is None else spoken.grid(grid)


def shown_drawing(svg: str, *, values: bool = False) -> str:
    """Return a picture as the page that is being drawn says it; marks of its axes stay where they are `values`."""
    spoken = _spoken()
    return svg if spoken is None else spoken.drawing(svg, values=values)


def shown_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the attributes of an element that people read."""
    return {
        key: translate(value) if key in ATTRIBUTES and isinstance(value, str) else value
        for key, value in attributes.items()
    }
