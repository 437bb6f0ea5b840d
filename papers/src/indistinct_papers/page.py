"""One HTML page of tables and pictures: no script, nothing fetched, every text escaped. It opens anywhere and prints.

What a page says of algorithms and models is passed in; this module only lays it out.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import MappingProxyType

from indistinct.document.html import printable

Cells = Sequence[str]
MARKED = '<tr class="marked">'

STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #57606a; --paper: #fff; --line: #d4d9de; --strong: #6b7680;
  --mark: #eaf3fa; --good: #0a6b45; --bad: #a3260c; --warn: #7a4b00; --link: #0058a3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #a5aeb8; --paper: #14181c; --line: #353c44;
  --strong: #7d8791; --mark: #1c2c3a; --good: #7fd8b1; --bad: #ffa898; --warn: #f3c777; --link: #7cc0ff; } }
body { font: 15px/1.45 Arial, "Liberation Sans", Helvetica, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2em auto; max-width: 76em; padding: 0 1.5em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.25em; margin-top: 2.2em; } h3 { font-size: 1.05em; margin-top: 1.6em; }
p, li { max-width: 60em; } p.small { color: var(--soft); font-size: 0.92em; } a { color: var(--link); }
table { border-collapse: collapse; font-size: 0.88em; margin: 1em 0; }
th, td { text-align: left; padding: 0.22em 0.9em 0.22em 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { border-bottom: 1px solid var(--strong); } td.number, th.number { text-align: right;
  font-variant-numeric: tabular-nums; }
tr.marked td { background: var(--mark); } td.good, td.bad, td.warn { font-weight: bold; white-space: nowrap; }
td.good { color: var(--good); } td.bad { color: var(--bad); } td.warn { color: var(--warn); }
figure { margin: 1em 0; overflow-x: auto; background: #fff; border: 1px solid var(--line); border-radius: 6px;
  width: fit-content; max-width: 100%; } svg { display: block; max-width: 100%; height: auto; }
code { font-size: 0.95em; overflow-wrap: anywhere; } div.wide { overflow-x: auto; } summary { cursor: pointer; }
table.sentences td { min-width: 9em; } table.sentences td:first-child { min-width: 12em; }
@media (max-width: 40em) { body { padding: 0 0.8em; margin: 1em auto; } figure svg { max-width: none; }
  table.sentences thead { display: none; } table.sentences tr { display: block; padding: 0.5em 0;
  border-bottom: 1px solid var(--line); } table.sentences td { display: block; border: 0; padding: 0.1em 0; }
  table.sentences td:first-child { font-weight: bold; } }
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


def heading(text: str, *, anchor: str = "") -> str:
    """Return the heading of a part, which a link can lead to."""
    place = f' id="{escape(anchor)}"' if anchor else ""
    return f"<h2{place}>{_text(text)}</h2>"


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


def contents(names: Iterable[str]) -> str:
    """Return links to the headings whose anchors are these names."""
    return "<p>" + " · ".join(f'<a href="#{escape(name)}">{_text(name)}</a>' for name in names) + "</p>"


def folded(title: str, parts: Iterable[str]) -> str:
    """Return parts behind a title, which a click opens."""
    return f"<details><summary>{_text(title)}</summary>{''.join(parts)}</details>"


def table(
    headings: Cells,
    rows: Iterable[Cells],
    *,
    right: Cells = (),
    marked: Iterable[int] = (),
    shades_of: Mapping[str, str] = MappingProxyType({}),
    sentences: bool = False,
) -> str:
    """Return a table; columns named by `right` hold numbers, and rows at places in `marked` are highlighted.

    A cell whose text is in `shades_of` has that shade: good, bad or warn. Cells that hold `sentences` are below each
    other on a narrow screen.
    """
    shades = set(marked)
    kinds = [' class="number"' if name in right else "" for name in headings]
    head = "".join(f"<th{kind}>{_text(name)}</th>" for name, kind in zip(headings, kinds, strict=True))
    lines = [
        (MARKED if place in shades else "<tr>")
        + "".join(_cell(cell, kind, shades_of.get(cell)) for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for place, row in enumerate(rows)
    ]
    body = "".join(lines)
    opening = '<table class="sentences">' if sentences else "<table>"
    return f'<div class="wide">{opening}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def picture(svg: str) -> str:
    """Return an SVG document inside a page."""
    start = svg.index("<svg")
    return f"<figure>{svg[start:].strip()}</figure>"


def _cell(text: str, kind: str, shade: str | None) -> str:
    shaded = kind if shade is None else f' class="{escape(shade)}"'
    return f"<td{shaded}>{_text(text)}</td>"


def _text(text: str) -> str:
    return escape(printable(text))
