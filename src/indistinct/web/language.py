"""The language of a page: what it says is looked up where it is shown; names and values of a table stay as they are."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import Client, ui

from indistinct.document.blocks import Cell
from indistinct.document.catalogue import ENGLISH, read_catalogue
from indistinct.document.translation import Translation

ATTRIBUTES = frozenset({"aria_label", "label", "placeholder", "data_refused", "data_lost", "data_ended"})
"""What of an element, beside its text, is read by people."""
_SPOKEN: WeakKeyDictionary[Client, Translation] = WeakKeyDictionary()


class Own(str):
    """A text of the steward's table, of its file or of code, which is the same in every language."""

    __slots__ = ()


def speak(client: Client, language: str) -> Translation:
    """Let a page speak a language; return what translates it, which collects what it has no translation of."""
    spoken = Translation(read_catalogue(language))
    if language != ENGLISH:
        _SPOKEN[client] = spoken
    return spoken


def translate(text: str) -> str:
    """Return a text as the page that is being drawn says it."""
    spoken = None if isinstance(text, Own) or not any(map(str.isalnum, text)) else _SPOKEN.get(ui.context.client)
    if spoken is None:
        return text
    words = text.strip()
    return text.replace(words, spoken.text(words))


def shown_cell(cell: Cell) -> Cell:
    """Return a cell of a table as the page that is being drawn says it."""
    return translate(cell) if isinstance(cell, str) else cell


def shown_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes of an element, of which those that people read are as the page says them."""
    return {
        key: translate(value) if key in ATTRIBUTES and isinstance(value, str) else value
        for key, value in attributes.items()
    }
