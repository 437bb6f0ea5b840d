"""What a document is made of: sections of paragraphs, tables, pictures and lines to sign, as plain values.

A figure has its value, its words, and its path in a JSON document. Results of models, metrics and attacks are passed
in as such JSON documents.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from indistinct.figures import short

ABSENT = "–"
"""What a table shows where there is no figure."""
NOTE_END = ";\n"
"""What separates the notes in the description of a drawing; a note may have a semicolon, but no line break."""
MAX_ROWS_SHOWN = 30
"""Rows of a table that a terminal or a notebook shows, unless the table says otherwise."""
Tone = Literal["missing", "warning", "good", "bad"]
Words = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Figure:
    """A value in words; `path` leads to it in the JSON documents of a report."""

    path: tuple[str | int, ...]
    value: Any
    text: str


Cell = str | Figure


@dataclass(frozen=True, slots=True, eq=False)
class JsonValues:
    """What a function found, as JSON values, under the name of that function.

    >>> JsonValues("assess", {"marketer": {"average": 0.25}}).figure("marketer", "average")
    Figure(path=('assess', 'marketer', 'average'), value=0.25, text='0.25')
    """

    name: str
    content: Mapping[str, Any]

    def at(self, *path: str | int) -> Any:
        """Return the value at a path, None where a part of the path is missing."""
        value: Any = self.content
        for key in path:
            if isinstance(value, Mapping):
                value = value.get(key)
            elif isinstance(value, list | tuple) and isinstance(key, int) and key < len(value):
                value = value[key]
            else:
                return None
        return value

    def figure(self, *path: str | int, words: Words = short, absent: str = ABSENT) -> Figure:
        """Return the value at a path as a figure, in the words that a function gives it."""
        value = self.at(*path)
        return Figure((self.name, *path), value, absent if value is None else words(value))


@dataclass(frozen=True, slots=True)
class Grid:
    """A table to read: the first cell of a row names it, and columns named in `right` hold numbers.

    Rows at the indices in `marked` are highlighted. Terminals and notebooks show the first `most` rows, pages all.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[str] = field(default=frozenset())
    marked: frozenset[int] = field(default=frozenset())
    most: int = MAX_ROWS_SHOWN


def grid(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Iterable[str] = (),
    marked: Iterable[int] = (),
    most: int = MAX_ROWS_SHOWN,
) -> Grid:
    """Return a table to read."""
    return Grid(caption, tuple(headings), tuple(map(tuple, rows)), frozenset(right), frozenset(marked), most)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A highlighted sentence: something is missing, a warning, or a verdict."""

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
    """An SVG drawing, and its description in words for readers who cannot see it; two `half` ones share a row."""

    caption: str
    text: str
    svg: str = field(repr=False)
    half: bool = False


Block = Paragraph | Notice | Listing | Terms | Code | Picture | Grid


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document under a heading; `anchor` is its name in links. The first one may have no title."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A result to read: its title in one line, and sections.

    >>> document("3 rows", Paragraph("One of them is unique.")).sections[0].blocks
    (Paragraph(text='One of them is unique.'),)
    """

    title: str
    sections: tuple[Section, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block of every section."""
        return tuple(block for section in self.sections for block in section.blocks)


def document(title: str, *blocks: Block) -> Document:
    """Return a document of one section without a title."""
    return Document(title, (Section("", "", blocks),))


def listing(items: Iterable[str]) -> tuple[Listing, ...]:
    """Return a list of sentences, and nothing where there are none.

    >>> listing(["a"]), listing([])
    ((Listing(items=('a',)),), ())
    """
    whole = tuple(items)
    return (Listing(whole),) if whole else ()


def notes_section(notes: Iterable[str]) -> tuple[Section, ...]:
    """Return a section of notes, and nothing where there are none."""
    blocks = listing(map(sentence, notes))
    return (Section("notes", "Notes", blocks),) if blocks else ()


def sentence(note: str) -> str:
    """Return a note as a sentence of its own.

    >>> sentence("rows were counted")
    'Rows were counted.'
    """
    return note[:1].upper() + note[1:] + ("" if note.endswith((".", "!", "?")) else ".")


def rows_of(blocks: Sequence[Block]) -> tuple[tuple[Block, ...], ...]:
    """Return blocks in rows: tables, and pictures of half a width, share a row where the page is wide enough.

    >>> one, other = (Picture(caption, "", "", half=True) for caption in ("age", "sex"))
    >>> [len(row) for row in rows_of([Paragraph("a"), one, other])]
    [1, 2]
    """
    return tuple(tuple(row) for _, row in groupby(blocks, key=_row_key))


def _row_key(block: Block) -> object:
    """Return an equal key for blocks that may share a row, and a key of its own for any other."""
    return None if isinstance(block, Grid) or (isinstance(block, Picture) and block.half) else id(block)


def separate_pictures(blocks: Iterable[Block]) -> tuple[list[Picture], list[Block]]:
    """Return the pictures among blocks, and the other blocks."""
    pictures: list[Picture] = []
    others: list[Block] = []
    for block in blocks:
        if isinstance(block, Picture):
            pictures.append(block)
        else:
            others.append(block)
    return pictures, others
