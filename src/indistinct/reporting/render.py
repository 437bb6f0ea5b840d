"""From content to one HTML page: Jinja2 lays out what sections say, and every text in it is escaped."""

import re
from typing import Any

import indistinct
from indistinct.drawing.charts import altair
from indistinct.errors import MissingExtraError
from indistinct.markup import cell_html, escape, grid_html, printable
from indistinct.reporting.content import Content, Edition, Picture, kind_of, rows_of

ABOUT: dict[Edition, str] = {
    "internal": "For the people who answer for the release. It names classes and counts: do not pass it on.",
    "external": "For readers of the data: what was done, what is promised, and what is not.",
}
# A picture of more pixels than this cannot be read when it is as wide as a phone.
WIDTH, LARGE = re.compile(r'<svg[^>]* width="([0-9.]+)"'), 640
# What an SVG refers to by name must be named once in a page.
NAMED = re.compile(r'(\bid="|url\(#|href="#)')


def require_extra() -> None:
    """Raise `MissingExtraError` unless the packages of the extra `report` are installed."""
    altair()
    _jinja()


def html_of(content: Content) -> str:
    """Return a report as an HTML document: no script, nothing fetched."""
    jinja = _jinja()
    environment = jinja.Environment(
        loader=jinja.PackageLoader("indistinct.reporting", "templates"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
    )
    safe = environment.filters["safe"]
    environment.filters |= {
        "printable": printable,
        "kind": kind_of,
        "rows": rows_of,
        "cell": lambda cell: safe(cell_html(cell)),
        "grid": lambda table: safe(grid_html(table)),
        "svg": lambda picture, name: safe(inline_svg(picture, name=str(name))),
    }
    style = safe(environment.loader.get_source(environment, "report.css")[0]) if environment.loader else ""
    template = environment.get_template("report.html")
    return template.render(content=content, about=ABOUT[content.edition], style=style, version=indistinct.__version__)


def inline_svg(picture: Picture, *, name: str) -> str:
    """Return a drawing as a part of a page: read as one picture with its text, and its names are its own."""
    svg = picture.svg[picture.svg.index("<svg") :].strip()
    svg = NAMED.sub(lambda found: f"{found[1]}p{name}-", svg)
    label = escape(picture.text)
    wide = WIDTH.search(svg)
    if wide is not None and float(wide[1]) > LARGE:  # on a phone it is moved instead of made smaller
        svg = svg.replace('class="marks"', 'class="marks large"', 1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def _jinja() -> Any:
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), extra="report", purpose="a report") from None
    return jinja2
