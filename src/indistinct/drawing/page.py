"""One HTML page of tables and pictures: no script, nothing fetched, every text escaped. It opens anywhere and prints.

What a page says of algorithms and models is passed in; this module only lays it out.
"""

from collections.abc import Iterable, Sequence
from html import escape

from indistinct.markup import printable

Cells = Sequence[str]
MARKED = '<tr class="marked">'

STYLE = """
body { font: 15px/1.45 Arial, "Liberation Sans", Helvetica, sans-serif; color: #222; margin: 2em auto; max-width: 76em;
  padding: 0 1.5em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.25em; margin-top: 2.2em; } p.small { color: #555; font-size: 0.92em; }
table { border-collapse: collapse; font-size: 0.88em; margin: 1em 0; }
th, td { text-align: left; padding: 0.22em 0.7em 0.22em 0; border-bottom: 1px solid #ddd; vertical-align: top; }
th { border-bottom: 1px solid #555; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.marked td { background: #eaf3fa; } figure { margin: 1em 0; overflow-x: auto; } svg { max-width: 100%; height: auto; }
code { font-size: 0.95em; overflow-wrap: anywhere; } div.wide { overflow-x: auto; }
@media print { body { max-width: none; margin: 0; } h2, figure { break-inside: avoid; } }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page with a title; `parts` are made by the other functions here."""
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{_text(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def heading(text: str) -> str:
    """Return the heading of a part."""
    return f"<h2>{_text(text)}</h2>"


def subheading(text: str) -> str:
    """Return the heading of a part of a part."""
    return f"<h3>{_text(text)}</h3>"


def paragraph(text: str, *, small: bool = False) -> str:
    """Return a paragraph.

    >>> paragraph("k < 5")
    '<p>k &lt; 5</p>'
    """
    kind = ' class="small"' if small else ""
    return f"<p{kind}>{_text(text)}</p>"


def listing(texts: Iterable[str], *, code: bool = False) -> str:
    """Return texts as a list, or as code."""
    opening, closing = ("<code>", "</code>") if code else ("", "")
    return "<ul>" + "".join(f"<li>{opening}{_text(text)}{closing}</li>" for text in texts) + "</ul>"


def table(headings: Cells, rows: Iterable[Cells], *, right: Cells = (), marked: Iterable[int] = ()) -> str:
    """Return a table; columns named by `right` hold numbers, and rows at places in `marked` stand out."""
    shades = set(marked)
    kinds = [' class="number"' if name in right else "" for name in headings]
    head = "".join(f"<th{kind}>{_text(name)}</th>" for name, kind in zip(headings, kinds, strict=True))
    lines = [
        (MARKED if place in shades else "<tr>")
        + "".join(f"<td{kind}>{_text(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for place, row in enumerate(rows)
    ]
    body = "".join(lines)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def picture(svg: str) -> str:
    """Return an SVG document inside a page."""
    start = svg.index("<svg")
    return f"<figure>{svg[start:].strip()}</figure>"


def _text(text: str) -> str:
    return escape(printable(text))
