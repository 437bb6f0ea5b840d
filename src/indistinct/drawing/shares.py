"""A column's distribution before and after: what a recoding made of it, as bars of values or as a histogram."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.drawing.charts import COLOURS, STYLE, altair, draw
from indistinct.figures import percent

if TYPE_CHECKING:
    import altair as alt

WIDTH, BAR, LONGEST, HEIGHT, NOTE = 350, 10, 24, 150, 66
"""Pictures of all columns are as wide, so that they line up and their letters have one size next to each other."""
LABELS, FIGURES, TITLE = 138, 32, 18
"""The width left of a plot for labels of values, or for shares and their title."""
STYLED = {"title": {**STYLE["title"], "frame": "bounds"}}
NAMES = ("before", "after")
YEARS = 5 * 365
"""Days from which on an axis of dates shows years alone."""
SHORT = "abs(datum.value) >= 10000 ? format(datum.value, '~s') : format(datum.value, '~g')"


def draw_shares(
    column: str,
    labels: Sequence[str],
    *,
    before: Sequence[float],
    after: Sequence[float],
    notes: Sequence[str] = (),
    edges: Sequence[float] = (),
    dates: bool = False,
    joined: Collection[int] = (),
) -> str:
    """Return the share of every group of values before and after, as an SVG document.

    With `edges` the last groups are bars of equal width on a line of numbers or of `dates`, in days since 1970; a group
    before them is what is missing. Labels at the indices of `joined` are no values, and are drawn in italics.
    """
    if not edges:
        chart = _bars(labels, before, after, joined=joined)
        return draw(chart, title=column, notes=notes, legend=NAMES, longest=NOTE, style=STYLED)
    apart = len(labels) - len(edges) + 1
    missing = [f"{labels[0]}: {percent(before[0])} before, {percent(after[0])} after"] if apart else []
    histogram = _histogram(edges, before[apart:], after[apart:], dates=dates)
    return draw(histogram, title=column, notes=[*missing, *notes], legend=NAMES, longest=NOTE, style=STYLED)


def _bars(
    labels: Sequence[str], before: Sequence[float], after: Sequence[float], *, joined: Collection[int]
) -> "alt.Chart":
    """Return the bars of groups, side by side."""
    alt = altair()
    # Two long labels may begin alike, so that each has its place in front of it.
    keys = [f"{position:03d}{label}" for position, label in enumerate(labels)]
    bars = [
        {"group": key, "side": side, "share": share}
        for side, shares in zip(NAMES, (before, after), strict=True)
        for key, share in zip(keys, shares, strict=True)
    ]
    label_text = (
        f"length(datum.label) > {LONGEST + 3} ? slice(datum.label, 3, {LONGEST + 3}) + '…' : slice(datum.label, 3)"
    )
    own = [f"{index:03d}" for index in sorted(joined)]
    italic = alt.condition(f"indexof({own}, slice(datum.label, 0, 3)) >= 0", alt.value("italic"), alt.value("normal"))
    return (
        alt.Chart(alt.Data(values=bars), width=WIDTH - LABELS, height=max(60, 2.6 * BAR * len(keys)))
        .mark_bar()
        .encode(
            y=alt.Y("group:N", sort=keys, title=None)
            .axis(labelExpr=label_text, labelLimit=LABELS, labelFontStyle=italic, minExtent=LABELS, maxExtent=LABELS)
            .scale(paddingInner=0.2),
            yOffset=alt.YOffset("side:N", sort=list(NAMES)),
            x=alt.X("share:Q", title="share of rows").axis(format="%", tickCount=5, grid=True, gridColor="#ddd"),
            color=alt.Color("side:N", sort=list(NAMES)).scale(domain=list(NAMES), range=[COLOURS[1], COLOURS[0]]),
        )
    )


def _histogram(
    edges: Sequence[float], before: Sequence[float], after: Sequence[float], *, dates: bool
) -> "alt.LayerChart":
    """Return a histogram: filled bars before, and the outline of those after over them."""
    alt = altair()
    positions = [_milliseconds(edge) if dates else edge for edge in edges]
    kind = "T" if dates else "Q"
    x: dict[str, Any] = {"title": None}
    scale = alt.Scale(type="utc" if dates else "linear", domain=[positions[0], positions[-1]], nice=False)
    spell = "%b %Y" if edges[-1] - edges[0] < YEARS else "%Y"
    axis = alt.Axis(tickCount=4, labelOverlap=True, format=spell) if dates else alt.Axis(tickCount=6, labelExpr=SHORT)
    bars = [
        {"low": low, "high": high, "share": share, "side": NAMES[0], "nothing": 0}
        for (low, high), share in zip(pairwise(positions), before, strict=True)
    ]
    steps = [{"at": positions[0], "share": 0.0}]
    for (low, high), share in zip(pairwise(positions), after, strict=True):
        steps += [{"at": low, "share": share}, {"at": high, "share": share}]
    steps.append({"at": positions[-1], "share": 0.0})
    line = [{**step, "side": NAMES[1], "order": index} for index, step in enumerate(steps)]
    colour = alt.Color("side:N", sort=list(NAMES)).scale(domain=list(NAMES), range=[COLOURS[1], COLOURS[0]])
    y = alt.Y("share:Q", title="share of rows").axis(format="%", tickCount=4, minExtent=FIGURES, maxExtent=FIGURES)
    filled = (
        alt.Chart(alt.Data(values=bars))
        .mark_bar(stroke="white", strokeWidth=0.6, opacity=0.75)
        .encode(x=alt.X(f"low:{kind}", scale=scale, axis=axis, **x), x2="high", y=y, y2="nothing:Q", color=colour)
    )
    outline = (
        alt.Chart(alt.Data(values=line))
        .mark_line(strokeWidth=2)
        .encode(x=alt.X(f"at:{kind}", scale=scale, axis=axis, **x), y=y, order="order:Q", color=colour)
    )
    return alt.layer(filled, outline).properties(width=WIDTH - FIGURES - TITLE, height=HEIGHT)


def _milliseconds(days: float) -> int:
    return int(np.datetime64(int(days), "D").astype("datetime64[ms]").astype(np.int64))
