"""Pictures of risk before and after: bars against the limit of a profile, and rows that columns single out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from indistinct.drawing.charts import COLOURS, altair, draw
from indistinct.drawing.class_sizes import RULE
from indistinct.figures import percent

if TYPE_CHECKING:
    import altair as alt

WIDTH, BAR, LABEL = 300, 15, 180
SIDES = ("before", "after")
Bars = Sequence[tuple[str, float | None, float]]
"""What each pair of bars is about, with its share before, None where it is not known, and after."""


def draw_risks(bars: Bars, *, limits: Sequence[float | None]) -> str:
    """Return risks before and after as bars from 0 to 100 %, as an SVG document.

    A line marks the limit of each risk, None where it is not limited.
    """
    alt = altair()
    marks = [{"about": bar[0], "limit": limit} for bar, limit in zip(bars, limits, strict=True) if limit is not None]
    layers = _bars(bars, title="probability of being found", sides=_sides(bars))
    if marks:
        lines = alt.Chart(alt.Data(values=marks)).mark_tick(color=RULE, thickness=3, size=2 * BAR + 10)
        layers.append(lines.encode(y=alt.Y("about:N", sort=[name for name, _, _ in bars]), x="limit:Q"))
    title = "How likely a person is found, before and after"
    return draw(alt.layer(*layers), title=title, notes=_words(bars), legend=_sides(bars), visible=False)


def _sides(bars: Bars) -> tuple[str, ...]:
    """Return the sides of which something is known."""
    return SIDES if any(before is not None for _, before, _ in bars) else SIDES[1:]


def draw_column_sets(bars: Bars) -> str:
    """Return the shares of rows that are unique on sets of columns before and after, as an SVG document."""
    chart = altair().layer(*_bars(bars, title="share of rows that are unique", sides=SIDES))
    title = "Rows that are unique on columns that an attacker may know"
    return draw(chart, title=title, notes=_words(bars), legend=SIDES, visible=False)


def _bars(bars: Bars, *, title: str, sides: Sequence[str]) -> "list[alt.Chart]":
    """Return bars of one or two sides with their values behind them."""
    alt = altair()
    names = [name for name, _, _ in bars]
    values = [
        {"about": name, "side": side, "share": share, "text": percent(share)}
        for name, before, after in bars
        for side, share in zip(SIDES, (before, after), strict=True)
        if share is not None
    ]
    colours = [COLOURS[1 - SIDES.index(side)] for side in sides]
    y = alt.Y("about:N", sort=names, title=None).axis(labelLimit=LABEL, labelFontSize=12)
    offset = alt.YOffset("side:N", sort=list(sides)).scale(domain=list(sides))
    x = alt.X("share:Q", title=title).scale(domain=[0, 1]).axis(format="%", tickCount=5, grid=True, gridColor="#ddd")
    colour = alt.Color("side:N", sort=list(sides)).scale(domain=list(sides), range=colours)
    base = alt.Chart(alt.Data(values=values), width=WIDTH, height=len(names) * (len(sides) * BAR + 14))
    text = base.mark_text(align="left", dx=5, fontSize=11)
    return [
        base.mark_bar(height=BAR).encode(y=y, yOffset=offset, x=x, color=colour),
        text.encode(y=y, yOffset=offset, x="share:Q", text="text:N"),
    ]


def _words(bars: Bars) -> list[str]:
    """Return the bars in words."""
    return [
        f"{name}: {'' if before is None else f'{percent(before)} before, '}{percent(after)} after"
        for name, before, after in bars
    ]
