"""Charts about releases as SVG: Altair describes them, vl-convert draws them.

What is drawn is one text without a script, and nothing is fetched. Both packages are the extra `report`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from indistinct.document.blocks import NOTE_END
from indistinct.document.html import printable
from indistinct.errors import MissingExtraError

if TYPE_CHECKING:
    import altair as alt

# Colours that people with any colour vision can distinguish (Okabe and Ito 2008); the first two also differ in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000", "#D55E00", "#56B4E9")
GREY = "#555"
# How many letters a line of a legend has, and how many of them a symbol takes.
LONGEST_LINE, SYMBOL = 115, 4
STYLE: dict[str, Any] = {
    # These fonts have the same widths, so that texts fit wherever the picture is opened.
    "font": "Arial, Liberation Sans, Helvetica, sans-serif",
    "padding": 16,
    "range": {"category": COLOURS},
    "view": {"stroke": None},
    "title": {"anchor": "start", "frame": "group", "fontSize": 17, "offset": 14, "subtitleColor": GREY},
    "axis": {"labelColor": GREY, "labelFontSize": 11, "titleColor": GREY, "titleFontSize": 11, "ticks": False},
    "axisX": {"grid": False, "labelAngle": 0, "labelPadding": 7, "titleFontWeight": "normal", "titlePadding": 8},
    "axisY": {"gridColor": "#ddd", "domain": False, "titleFontWeight": "normal", "titlePadding": 8},
    "legend": {"orient": "top", "title": None, "labelFontSize": 11, "labelLimit": 0, "symbolStrokeWidth": 0},
    "header": {"labelFontSize": 11, "labelFontWeight": "bold", "labelLimit": 0},
}

OF_EVERY_OBJECT = frozenset(
    {
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
        "__proto__",
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    }
)
"""What Vega finds in every object, whether or not it was put there."""


def altair() -> Any:
    """Return the package that describes charts if both packages are installed; raise `MissingExtraError` otherwise."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), extra="report", purpose="a chart") from None
    return altair


@dataclass(frozen=True, slots=True, repr=False)
class Chart:
    """A picture that a notebook shows: an SVG document without a script."""

    svg: str

    def __repr__(self) -> str:
        return f"<Chart, {len(self.svg):,} bytes of SVG>"

    def _repr_svg_(self) -> str:
        return self.svg

    def write(self, path: str | Path) -> None:
        """Write the picture as an SVG file."""
        Path(path).write_text(self.svg, encoding="utf-8")


def draw(
    chart: "alt.TopLevelMixin",
    *,
    title: str,
    notes: Sequence[str] = (),
    legend: Sequence[str] = (),
    visible: bool = True,
    longest: int = LONGEST_LINE,
    style: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return a chart below its title and notes, which screen readers read as well, as an SVG document.

    Notes are wrapped at `longest` letters. A long `legend` takes several lines. A title that is not `visible` is for
    screen readers alone. `style` replaces parts of the style that all charts share.
    """
    import altair as alt
    import vl_convert

    lines = [line for note in notes for line in wrap(note, longest)]  # a long one would shrink the chart
    above = {"title": {"text": title, "subtitle": lines}} if visible else {}
    spec = chart.to_dict() | above | {"config": {**_style(legend), **style}}
    version = alt.SCHEMA_VERSION.rpartition(".")[0]  # vl-convert knows versions without their patch
    drawn = vl_convert.vegalite_to_svg(_clean(spec), vl_version=version, allowed_base_urls=[])
    opening, end, rest = drawn.partition(">")
    parts = {"title": title, "desc": NOTE_END.join(notes)}
    about = "".join(f"<{name}>{escape(printable(text))}</{name}>" for name, text in parts.items())
    return f"{opening}{end}{about}{rest}\n"


def _style(legend: Sequence[str]) -> dict[str, Any]:
    """Return the style of a chart; names that are too long for one line together get columns."""
    widths = [len(name) + SYMBOL for name in legend]
    columns = max(1, LONGEST_LINE // max(widths)) if sum(widths) > LONGEST_LINE else 0
    return {**STYLE, "legend": {**STYLE["legend"], "columns": columns}} if columns else STYLE


def _clean(spec: Any) -> Any:
    """Return a description in which every text is printable: vl-convert ends the process at any other.

    A column or a value that is called like a property of every object in JavaScript gets a space that is not seen,
    because Vega would find that property instead.
    """
    match spec:
        case str():
            return f"{spec}\u00a0" if spec in OF_EVERY_OBJECT else printable(spec)
        case dict():
            return {key: _clean(part) for key, part in spec.items()}
        case list() | tuple():
            return [_clean(part) for part in spec]
        case _:
            return spec


def require_extra() -> None:
    """Raise `MissingExtraError` unless the packages of the extra `report` are installed."""
    altair()
