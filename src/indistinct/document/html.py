"""Documents as HTML: every text escaped, no script, nothing fetched."""

import html
import json
import math
import re
from collections.abc import Callable
from importlib.resources import files

from indistinct.document.blocks import (
    Block,
    Cell,
    Code,
    Document,
    Grid,
    Listing,
    Notice,
    Paragraph,
    Picture,
    Section,
    Terms,
    rows_of,
)
from indistinct.document.catalogue import ENGLISH
from indistinct.document.translation import Translation

BROAD, CROWDED = 5, 10
"""From this many columns on a table is wide, and very wide."""
WIDTH, LARGE = re.compile(r'<svg[^>]* width="([0-9.]+)"'), 640
"""The width of a drawing, and the pixels from which on it cannot be read when it is as wide as a phone."""
NAMED = re.compile(r'(\bid="|url\(#|href="#)')
"""What an SVG refers to by name; a name must be unique in a page."""
TURNING = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the direction of the text after them."""
NO_BREAK_SPACE = "\u00a0"
BEFORE_PERCENT = re.compile(r"(?<=\d) (?=%)")


def printable(text: str) -> str:
    """Return text that XML can hold: what it forbids, and what would turn the text around it, is shown as a box."""
    return re.sub(f"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[{TURNING}]", "\ufffd", text)


def escape(text: str) -> str:
    """Return a text as HTML has it, also inside quotes.

    >>> escape("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return html.escape(printable(text), quote=True)


def prose(text: str) -> str:
    """Escape a text for HTML, with a no-break space before percent signs."""
    return BEFORE_PERCENT.sub(NO_BREAK_SPACE, escape(text))


def cell_html(cell: Cell) -> str:
    """Return a cell: a figure has its value and its path with it.

    >>> from indistinct.document.blocks import Figure
    >>> cell_html(Figure(("measure", "gcp"), 0.25, "25 %")).replace(NO_BREAK_SPACE, " ")
    '<data value="0.25" data-of="[&quot;measure&quot;, &quot;gcp&quot;]">25 %</data>'
    """
    if isinstance(cell, str):
        return prose(cell)
    if cell.value is None:
        return prose(cell.text)
    value = None if isinstance(cell.value, float) and not math.isfinite(cell.value) else cell.value
    encoded = json.dumps(value, ensure_ascii=False)
    path = json.dumps(cell.path, ensure_ascii=False)
    return f'<data value="{escape(encoded)}" data-of="{escape(path)}">{prose(cell.text)}</data>'


def grid_html(table: Grid, *, heading: str = "") -> str:
    """Return a table with its caption, unless that is the heading above it.

    What is wider than the screen can be moved, also with the keyboard.
    """
    kinds = [' class="number"' if name in table.right else "" for name in table.headings]
    head = "".join(
        f'<th scope="col"{kind}>{prose(name)}</th>' for name, kind in zip(table.headings, kinds, strict=True)
    )
    lines = []
    for index, row in enumerate(table.rows):
        first, *others = row
        cells = "".join(f"<td{kind}>{cell_html(cell)}</td>" for cell, kind in zip(others, kinds[1:], strict=True))
        opening = '<tr class="marked">' if index in table.marked else "<tr>"
        lines.append(f'{opening}<th scope="row">{cell_html(first)}</th>{cells}</tr>')
    caption = prose(table.caption)
    label = f' aria-label="{caption}"' if caption else ""
    titled = f"<caption><span>{caption}</span></caption>" if table.caption not in ("", heading) else ""
    return (
        f'<div class="wide" role="region" tabindex="0"{label}><table{_width(table)}>'
        f"{titled}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _width(table: Grid) -> str:
    """Return the class attribute of a wide table."""
    columns = len(table.headings)
    return "" if columns < BROAD else ' class="broad crowded"' if columns >= CROWDED else ' class="broad"'


def inline_svg(picture: Picture, *, name: str) -> str:
    """Return a drawing as a part of a page: read as one picture with its text, and its names are its own."""
    svg = picture.svg[picture.svg.index("<svg") :].strip()
    svg = NAMED.sub(lambda match: f"{match[1]}p{name}-", svg)
    label = escape(picture.text)
    wide = WIDTH.search(svg)
    if wide is not None and float(wide[1]) > LARGE:  # on a phone it is moved instead of made smaller
        svg = svg.replace('class="marks"', 'class="marks large"', 1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def block_html(block: Block, *, name: str, heading: str = "") -> str:
    """Return a block under a heading; `name` is unique in the page, for what a drawing refers to."""
    match block:
        case Paragraph(text):
            return f"<p>{prose(text)}</p>"
        case Notice(text, tone):
            return f'<p class="notice {tone}">{prose(text)}</p>'
        case Listing(items):
            return f"<ul>{''.join(f'<li>{prose(item)}</li>' for item in items)}</ul>"
        case Terms(pairs):
            return f"<dl>{''.join(f'<div><dt>{prose(word)}</dt>{_value(cell)}</div>' for word, cell in pairs)}</dl>"
        case Code(caption, text):
            title = f"<figcaption>{prose(caption)}</figcaption>"
            return f'<figure class="code">{title}<pre tabindex="0">{escape(text)}</pre></figure>'
        case Picture(caption, text):
            drawn = f'<div class="wide" role="region" tabindex="0" aria-label="{escape(caption)}">'
            drawn += f"{inline_svg(block, name=name)}</div><figcaption>{prose(text)}</figcaption>"
            return f'<figure class="picture{" half" if block.half else ""}">{drawn}</figure>'
        case Grid():
            return grid_html(block, heading=heading)


def _value(cell: Cell | None) -> str:
    if not cell:
        return '<dd class="line"><span class="hidden">to be filled in</span></dd>'
    return f"<dd>{cell_html(cell)}</dd>"


def page_html(document: Document, *, byline: str = "", footer: str = "", translation: Translation | None = None) -> str:
    """Return a document as one HTML file, with a table of contents; it opens anywhere and prints."""
    say: Callable[[str], str] = str if translation is None else translation.text
    if translation is not None:
        document, byline, footer = translation.document(document), say(byline), say(footer)
    language = ENGLISH if translation is None else translation.catalogue.language
    titled = [section for section in document.sections if section.title]
    title, style = escape(document.title), files("indistinct.document").joinpath("page.css").read_text("utf-8")
    links = "\n".join(f'<li><a href="#{escape(each.anchor)}">{prose(each.title)}</a></li>' for each in titled)
    skip = f'<a class="skip" href="#{escape(titled[0].anchor)}">{prose(say("To the report"))}</a>' if titled else ""
    numbers = {id(section): index for index, section in enumerate(titled, start=1)}
    body = "\n".join(_section_html(each, number=numbers.get(id(each), 0)) for each in document.sections)
    head = (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n"
    )
    return (
        f'{head}<body>\n{skip}\n<header>\n<h1>{title}</h1>\n<p class="edition">{prose(byline)}</p>\n</header>\n'
        f'<nav aria-label="{escape(say("Sections"))}">\n<ol>\n{links}\n</ol>\n</nav>\n<main>\n{body}\n</main>\n'
        f"<footer><p>{prose(footer)}</p></footer>\n</body>\n</html>\n"
    )


def _section_html(section: Section, *, number: int) -> str:
    """Return a section as HTML."""
    lines = []
    for outer, row in enumerate(rows_of(section.blocks), start=1):
        parts = [
            block_html(each, name=f"{number}-{outer}-{inner}", heading=section.title)
            for inner, each in enumerate(row, start=1)
        ]
        lines += ['<div class="beside">', *parts, "</div>"] if len(parts) > 1 else parts
    inside = "\n".join(lines)
    if not section.title:
        return f"<section>\n{inside}\n</section>"
    anchor = escape(section.anchor)
    heading = f'<h2 id="{anchor}-title">{number}. {prose(section.title)}</h2>'
    return f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n{heading}\n{inside}\n</section>'
