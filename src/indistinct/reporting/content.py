"""What a report is made of: sections of paragraphs, tables, pictures and lines to sign, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
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
    """An SVG drawing, and the same in words for those who do not see it; two that are `half` stand side by side."""

    caption: str
    text: str
    svg: str = field(repr=False)
    half: bool = False


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


def rows_of(blocks: Sequence[Block]) -> tuple[tuple[Block, ...], ...]:
    """Return blocks in rows: tables, and pictures of half a width, stand beside each other where there is room.

    >>> one, other = (Picture(caption, "", "", half=True) for caption in ("age", "sex"))
    >>> [len(row) for row in rows_of([Paragraph("a"), one, other])]
    [1, 2]
    """
    return tuple(tuple(row) for _, row in groupby(blocks, key=_stands_beside))


def _stands_beside(block: Block) -> object:
    """Return what is the same for blocks that may stand beside each other, and for no others."""
    return None if isinstance(block, Grid) or (isinstance(block, Picture) and block.half) else id(block)


def kind_of(block: Block) -> str:
    """Return how a template calls a block."""
    return type(block).__name__.lower()
