"""Pieces of HTML that reports and notebooks share: grids of figures, every text escaped, nothing fetched, no script.

A figure keeps the number itself beside the words for it, and where in a JSON document it stands. What models, metrics
and attacks found is passed in as such documents.
"""

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from indistinct.figures import short

ABSENT = "–"
"""What stands where there is no figure."""
BROAD, CROWDED = 5, 10
"""From so many columns on a table is wide, and very wide."""
# For notebooks, which have colours of their own: light or dark, what stands here takes theirs.
STYLE = """
.indistinct table { border-collapse: collapse; margin: 0 0 1em; font-size: 0.9em; }
.indistinct caption { caption-side: top; text-align: left; font-weight: bold; padding: 0.3em 0; color: inherit; }
.indistinct th, .indistinct td { text-align: left; vertical-align: top; padding: 0.2em 1em 0.2em 0; max-width: 22em;
  border-bottom: 1px solid rgba(128, 128, 128, 0.35); white-space: normal; background: none; }
.indistinct tbody th { font-weight: normal; } .indistinct .wide { overflow-x: auto; }
.indistinct .number { text-align: right; font-variant-numeric: tabular-nums; }
"""
Words = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Figure:
    """A value in words; `path` leads to it in the JSON documents of a report."""

    path: tuple[str | int, ...]
    value: Any
    text: str


Cell = str | Figure


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """What a function found, as JSON values, under the name of that function.

    >>> Document("assess", {"marketer": {"average": 0.25}}).figure("marketer", "average")
    Figure(path=('assess', 'marketer', 'average'), value=0.25, text='0.25')
    """

    name: str
    content: Mapping[str, Any]

    def at(self, *path: str | int) -> Any:
        """Return what stands at a path, None where a part of it is not there."""
        found: Any = self.content
        for key in path:
            if isinstance(found, Mapping):
                found = found.get(key)
            elif isinstance(found, list | tuple) and isinstance(key, int) and key < len(found):
                found = found[key]
            else:
                return None
        return found

    def figure(self, *path: str | int, words: Words = short, absent: str = ABSENT) -> Figure:
        """Return the value at a path as a figure, in the words that a function gives it."""
        value = self.at(*path)
        return Figure((self.name, *path), value, absent if value is None else words(value))


@dataclass(frozen=True, slots=True)
class Grid:
    """A table to read: the first cell of a row names it, and columns named in `right` hold numbers."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[str] = field(default=frozenset())


def grid(caption: str, headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[str] = ()) -> Grid:
    """Return a table to read."""
    return Grid(caption, tuple(headings), tuple(map(tuple, rows)), frozenset(right))


TURNING = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the direction of what follows."""


def printable(text: str) -> str:
    """Return text that XML can hold: what it forbids, and what would turn the text around it, is shown as a box."""
    return re.sub(f"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[{TURNING}]", "\ufffd", text)


def escape(text: str) -> str:
    """Return a text as it stands in HTML, also inside quotes.

    >>> escape("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return html.escape(printable(text), quote=True)


def cell_html(cell: Cell) -> str:
    """Return a cell: a figure has its value and its path with it.

    >>> cell_html(Figure(("measure", "gcp"), 0.25, "25 %"))
    '<data value="0.25" data-of="[&quot;measure&quot;, &quot;gcp&quot;]">25 %</data>'
    """
    if isinstance(cell, str):
        return escape(cell)
    value = None if isinstance(cell.value, float) and not math.isfinite(cell.value) else cell.value
    told = json.dumps(value, ensure_ascii=False)
    path = json.dumps(cell.path, ensure_ascii=False)
    return f'<data value="{escape(told)}" data-of="{escape(path)}">{escape(cell.text)}</data>'


def grid_html(table: Grid) -> str:
    """Return a table with its caption; what is wider than the screen can be moved, also with the keyboard."""
    kinds = [' class="number"' if name in table.right else "" for name in table.headings]
    head = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(table.headings, kinds, strict=True)
    )
    lines = []
    for row in table.rows:
        first, *others = row
        cells = "".join(f"<td{kind}>{cell_html(cell)}</td>" for cell, kind in zip(others, kinds[1:], strict=True))
        lines.append(f'<tr><th scope="row">{cell_html(first)}</th>{cells}</tr>')
    caption = escape(table.caption)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{caption}"><table{_width(table)}>'
        f"<caption><span>{caption}</span></caption><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _width(table: Grid) -> str:
    """Return how wide a table is, for screens and sheets that are not."""
    columns = len(table.headings)
    return "" if columns < BROAD else ' class="broad crowded"' if columns >= CROWDED else ' class="broad"'


def piece(title: str, *tables: Grid, notes: Iterable[str] = ()) -> str:
    """Return what a notebook shows of a value: a title, tables and notes, complete in itself."""
    parts = [f"<p><strong>{escape(title)}</strong></p>", *map(grid_html, tables)]
    parts += [f"<p>{escape(note)}</p>" for note in notes]
    return f'<div class="indistinct"><style>{STYLE}</style>{"".join(parts)}</div>'


MOST_ROWS, LONGEST_CELL = 30, 300
"""Rows of a table, and characters of a text, that a notebook shows at most."""


class Result:
    """What functions return, as notebooks and consoles show it: short, however large the table was.

    A result has a `heading`, tables to read (`grids`) and `remarks`; `to_json` has all of it.
    """

    __slots__ = ()

    def heading(self) -> str:
        """Return the result in one line."""
        return type(self).__name__

    def grids(self) -> Iterable[Grid]:
        """Return the tables that a notebook shows."""
        return ()

    def remarks(self) -> Iterable[str]:
        """Return what a reader must know besides."""
        return ()

    def __repr__(self) -> str:
        return f"<{_cut(self.heading())}>"

    def _repr_html_(self) -> str:
        tables = list(self.grids())
        more = [
            f"{table.caption}: {len(table.rows) - MOST_ROWS:,} more rows are in to_json()"
            for table in tables
            if len(table.rows) > MOST_ROWS
        ]
        notes = [*map(_cut, list(self.remarks())[:MOST_ROWS]), *more]
        return piece(_cut(self.heading()), *map(_shorten, tables), notes=notes)


def _shorten(table: Grid) -> Grid:
    """Return the first rows of a table, with long texts cut."""
    rows = tuple(
        tuple(
            _cut(cell) if isinstance(cell, str) else Figure(cell.path, _plain(cell.value), _cut(cell.text))
            for cell in row
        )
        for row in table.rows[:MOST_ROWS]
    )
    return Grid(_cut(table.caption), table.headings, rows, table.right)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def _plain(value: Any) -> Any:
    return _cut(value) if isinstance(value, str) else value
