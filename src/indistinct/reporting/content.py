"""What a report is made of: sections of paragraphs, tables, pictures and lines to sign, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from indistinct.markup import Cell, Grid

Edition = Literal["internal", "external"]
EDITIONS: tuple[Edition, ...] = ("internal", "external")
Tone = Literal["missing", "warning", "good", "bad"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence that stands out: something is missing, a warning, or a verdict."""

    text: str
    tone: Tone = "missing"


@dataclass(frozen=True, slots=True)
class Listing:
    """Several sentences under each other."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """Words and what they mean or hold; one without a value is a line to fill in."""

    pairs: tuple[tuple[str, Cell | None], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A text that a machine reads: a command, a policy."""

    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG drawing, and the same in words for those who do not see it."""

    caption: str
    text: str
    svg: str = field(repr=False)


Block = Paragraph | Notice | Listing | Terms | Code | Picture | Grid


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report under a heading; `anchor` is its name in links."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """Everything that one edition says, and the JSON documents that its figures stand in."""

    title: str
    edition: Edition
    made: str
    sections: tuple[Section, ...]
    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def sentence(note: str) -> str:
    """Return a note as a sentence of its own.

    >>> sentence("rows were counted")
    'Rows were counted.'
    """
    return note[:1].upper() + note[1:] + ("" if note.endswith((".", "!", "?")) else ".")


def kind_of(block: Block) -> str:
    """Return how a template calls a block."""
    return type(block).__name__.lower()
