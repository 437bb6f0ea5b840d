"""What functions return, as notebooks, consoles and Markdown show it: short, however large the table was."""

import re
from dataclasses import replace
from typing import Any

from indistinct.as_json import AsJson
from indistinct.document.blocks import (
    Block,
    Cell,
    Code,
    Document,
    Figure,
    Grid,
    Listing,
    Notice,
    Paragraph,
    Picture,
    Terms,
    document,
)
from indistinct.document.html import block_html, printable, prose

# For notebooks: every colour is inherited, so that light and dark themes apply.
STYLE = """
.indistinct table { border-collapse: collapse; margin: 0 0 1em; font-size: 0.9em; }
.indistinct caption { caption-side: top; text-align: left; font-weight: bold; padding: 0.3em 0; color: inherit; }
.indistinct th, .indistinct td { text-align: left; vertical-align: top; padding: 0.2em 1em 0.2em 0; max-width: 22em;
  border-bottom: 1px solid rgba(128, 128, 128, 0.35); white-space: normal; background: none; }
.indistinct tbody th { font-weight: normal; } .indistinct .wide { overflow-x: auto; }
.indistinct .number { text-align: right; font-variant-numeric: tabular-nums; }
"""
MAX_ITEMS, MAX_CHARACTERS = 30, 300
"""Sentences of a list, and characters of a text, that a notebook shows at most."""


class Result(AsJson):
    """What functions return: a document to read, in a notebook, a console and as Markdown; `to_json` has all of it."""

    __slots__ = ()

    def document(self) -> Document:
        """Return the result as a document: a title in one line, sentences and tables."""
        return document(type(self).__name__)

    def to_markdown(self) -> str:
        """Return the result as Markdown, for an issue, a pull request or a wiki; it has what a notebook shows."""
        return markdown_of(_shorten(self.document()))

    def __repr__(self) -> str:
        return f"<{_cut(self.document().title)}>"

    def _repr_html_(self) -> str:
        """Return the result as HTML for notebooks."""
        document = _shorten(self.document())
        blocks = [
            f"<p><strong>{prose(section.title)}</strong></p>" * bool(section.title) + _blocks_html(section.blocks)
            for section in document.sections
        ]
        title = f"<p><strong>{prose(document.title)}</strong></p>"
        return f'<div class="indistinct"><style>{STYLE}</style>{title}{"".join(blocks)}</div>'


def _blocks_html(blocks: tuple[Block, ...]) -> str:
    return "".join(block_html(block, name=f"n{index}") for index, block in enumerate(blocks))


def _shorten(whole: Document) -> Document:
    """Return a document with the first rows of its tables and the first sentences of its lists, long texts cut."""
    sections = tuple(
        replace(section, blocks=tuple(part for block in section.blocks for part in _shorten_block(block)))
        for section in whole.sections
    )
    return Document(_cut(whole.title), sections)


def _shorten_block(block: Block) -> tuple[Block, ...]:
    """Shorten a block for notebooks."""
    match block:
        case Grid():
            rows = tuple(tuple(map(_cut_cell, row)) for row in block.rows[: block.most])
            rest = len(block.rows) - len(rows)
            more = (Paragraph(f"{_cut(block.caption)}: {rest:,} more rows are in to_json()"),) if rest else ()
            return (replace(block, caption=_cut(block.caption), rows=rows), *more)
        case Listing(items):
            return (Listing(tuple(map(_cut, items[:MAX_ITEMS]))),)
        case Paragraph(text):
            return (Paragraph(_cut(text)),)
        case Notice(text, tone):
            return (Notice(_cut(text), tone),)
        case Code():
            return (block,)
    return (block,)


def _cut_cell(cell: str | Figure) -> str | Figure:
    if isinstance(cell, str):
        return _cut(cell)
    return Figure(cell.path, _cut_value(cell.value), _cut(cell.text))


def _cut(text: str) -> str:
    """Cut a text after the allowed number of characters."""
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


def _cut_value(value: Any) -> Any:
    return _cut(value) if isinstance(value, str) else value


SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!])")
BLANKS = re.compile(r"\s+")


def markdown_of(whole: Document) -> str:
    r"""Return a document as Markdown.

    >>> from indistinct.document.blocks import grid
    >>> print(markdown_of(document("2 rows", grid("Roles", ("column", "rows"), [("a*b", "2")], right=["rows"]))))
    **2 rows**
    <BLANKLINE>
    Roles
    <BLANKLINE>
    | column | rows |
    | :-- | --: |
    | a\*b | 2 |
    <BLANKLINE>
    """
    parts = [f"**{plain(whole.title)}**"]
    for section in whole.sections:
        parts += [f"## {plain(section.title)}"] if section.title else []
        parts += [_block(block, heading=section.title) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    r"""Escape markup in a text, and put it on one line.

    >>> print(plain("<b> | c"))
    \<b\> \| c
    """
    return SPECIAL.sub(r"\\\1", BLANKS.sub(" ", printable(text)))


def _block(block: Block, *, heading: str) -> str:
    """Return a block as Markdown."""
    match block:
        case Paragraph(text):
            return plain(text)
        case Notice(text):
            return f"> {plain(text)}"
        case Listing(items):
            return "\n".join(f"- {plain(item)}" for item in items)
        case Terms(pairs):
            return "\n".join(f"- {plain(word)}: {_cell(cell or '')}" for word, cell in pairs)
        case Code(caption, text):
            fence = "`" * (3 + max((len(run) for run in re.findall("`+", text)), default=0))
            return f"{plain(caption)}\n\n{fence}\n{printable(text)}\n{fence}"
        case Picture(_, text):
            return plain(text)
        case Grid():
            return _grid(block, heading=heading)


def _grid(table: Grid, *, heading: str) -> str:
    marks = ["--:" if name in table.right else ":--" for name in table.headings]
    lines = [_row(table.headings), f"| {' | '.join(marks)} |", *map(_row, table.rows)]
    caption = [] if table.caption in ("", heading) else [plain(table.caption), ""]
    return "\n".join([*caption, *lines])


def _row(cells: tuple[Cell, ...]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(cell: Cell) -> str:
    return plain(cell if isinstance(cell, str) else cell.text)
