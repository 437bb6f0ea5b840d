"""Documents in another language: each text is looked up in a catalogue, and names and values of a table stay."""

import calendar
import functools
import html
import re
import textwrap
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from indistinct.document.blocks import (
    NOTE_END,
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
    Section,
    Terms,
)
from indistinct.document.catalogue import NUMBER, Catalogue

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DRAWN = re.compile(r"(<(text|title)\b[^>]*>)([^<]+)(</\2>)")
_MARKS = re.compile(r'(<g class="mark-text role-axis-label".*?</g>)', re.DOTALL)
"""The marks of an axis in a drawing."""
_ITALIC = 'font-style="italic"'
_DESCRIPTION = re.compile(r"(<desc>)([^<]+)(</desc>)")
_LINE = re.compile(r"(<tspan\b[^>]*>)([^<]*)</tspan>")
_LINES = re.compile(r"(?:<tspan\b[^>]*>[^<]*</tspan>)+")
"""A line of a text in a drawing, and all of its lines."""
_NUMBER_OR_MONTH = re.compile(rf"{NUMBER}|{'|'.join(calendar.month_name[1:])}")


class Own(str):
    """A text that is the same in every language: a name, a value of a table, or code."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Translation:
    """A catalogue applied to one document: `own` are names and values of its table, which are not translated.

    `missing` collects texts that the catalogue does not have; they stay in English.
    """

    catalogue: Catalogue
    own: Collection[str] = ()
    missing: dict[str, None] = field(default_factory=dict)

    def text(self, text: str) -> str:
        """Return a text of the program in the language of the catalogue."""
        translated = self.catalogue.translate(text) if text and not isinstance(text, Own) else text
        if translated is None:
            self.missing[text] = None
        return text if translated is None else translated

    def item(self, text: str) -> str:
        """Return a text that may be one of the table or of its publisher."""
        return text if text in self.own else self.text(text)

    def cell(self, cell: Cell) -> Cell:
        """Return a cell; one without blanks that the catalogue does not have is a name or a value."""
        if isinstance(cell, Figure):
            return replace(cell, text=self._word(cell.text))
        return self._word(cell)

    def _word(self, text: str) -> str:
        """Translate a word of a table; values of the data stay."""
        if text in self.own or isinstance(text, Own):
            return text
        if _DATE.fullmatch(text):
            return self.catalogue.date(text)
        return self.text(text) if " " in text else self.catalogue.translate(text) or text

    def document(self, document: Document) -> Document:
        """Translate the texts of a document; figures keep their values and paths."""
        return Document(self.text(document.title), tuple(map(self.section, document.sections)))

    def section(self, section: Section) -> Section:
        """Return a section in the language of the catalogue; links to it stay."""
        return replace(section, title=self.text(section.title), blocks=tuple(map(self.block, section.blocks)))

    def block(self, block: Block) -> Block:
        """Translate the texts of a block; figures keep their values and paths."""
        match block:
            case Paragraph(text) | Notice(text):
                return replace(block, text=self.text(text))
            case Listing(items):
                return Listing(tuple(map(self.item, items)))
            case Terms(pairs):
                return Terms(tuple((self.text(word), cell and self.cell(cell)) for word, cell in pairs))
            case Code(caption):
                return replace(block, caption=self.text(caption))
            case Picture(caption, text, svg):
                return replace(block, caption=self.text(caption), text=self.text(text), svg=self.drawing(svg))
            case Grid():
                return self.grid(block)

    def grid(self, table: Grid) -> Grid:
        """Return a table in the language of the catalogue; names and values of what it is about stay."""
        return replace(
            table,
            caption=self.text(table.caption),
            headings=tuple(map(self.item, table.headings)),
            rows=tuple(tuple(map(self.cell, row)) for row in table.rows),
            right=frozenset(map(self.item, table.right)),
        )

    def drawing(self, svg: str, *, values: bool = False) -> str:
        """Translate the words of a drawing; labels missing from the catalogue are data values.

        Where the marks of its axes are `values` of a table, only numbers and what is in italics among them are written
        otherwise: a name for missing or for several values.
        """

        def translate(match: re.Match[str], *, mark: bool = False) -> str:
            text = html.unescape(match[3])
            stays = mark and _ITALIC not in match[1] and not _NUMBER_OR_MONTH.fullmatch(text)
            return f"{match[1]}{html.escape(text if stays else self._drawn(text), quote=False)}{match[4]}"

        described = _DESCRIPTION.search(svg)
        notes = html.unescape(described[2]).split(NOTE_END) if described else []
        parts = _MARKS.split(svg) if values else [svg]
        translated = "".join(
            _DRAWN.sub(functools.partial(translate, mark=bool(index % 2)), part) for index, part in enumerate(parts)
        )
        german = html.escape(NOTE_END.join(map(self._drawn, notes)), quote=False)
        translated = _DESCRIPTION.sub(lambda found: f"{found[1]}{german}{found[3]}", translated)
        return _LINES.sub(lambda found: self._lines(found[0], notes), translated)

    def _drawn(self, text: str) -> str:
        """Return a text of a drawing; one that the catalogue does not have is a value."""
        return text if text in self.own else self.catalogue.translate(text) or text

    def _lines(self, drawn: str, notes: Collection[str]) -> str:
        """Return the lines of a text of a drawing; each of its `notes` takes as many lines as before."""
        lines = [html.unescape(line) for _, line in _LINE.findall(drawn)]
        wrapped: list[str] = []
        while len(wrapped) < len(lines):
            rest = lines[len(wrapped) :]
            counts = (count for count in range(1, len(rest) + 1) if " ".join(rest[:count]) in notes)
            count = next(counts, 1)
            wrapped += _wrap(self._drawn(" ".join(rest[:count])), count)
        translated = iter(wrapped)
        return _LINE.sub(lambda found: f"{found[1]}{html.escape(next(translated), quote=False)}</tspan>", drawn)


def _wrap(text: str, count: int) -> list[str]:
    """Return a text in a number of lines, as short as they can be."""
    widths = range(max(1, len(text) // count), len(text) + 2)
    wraps = (textwrap.wrap(text, width, break_long_words=False) for width in widths)
    lines = next(lines for lines in wraps if len(lines) <= count)
    return [*lines, *[""] * (count - len(lines))]
