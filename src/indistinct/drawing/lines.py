"""Small line charts side by side: how algorithms compare as a figure's size grows."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from indistinct.drawing.charts import altair

if TYPE_CHECKING:
    import altair as alt

Scale = Literal["linear", "log", "ratio", "share"]
WIDTH, STACKED_WIDTH, HEIGHT = 220, 300, 140
# 0.01, 100 and 20k: large numbers with a letter, others in full.
SHORT = "format(datum.value, datum.value < 1000 ? '~g' : '~s')"


def line_charts(
    rows: Sequence[Mapping[str, Any]],
    *,
    x: tuple[str, str],
    across: str,
    lines: str,
    measures: Mapping[str, Scale],
    stacked: bool = False,
) -> "alt.VConcatChart":
    """Return a row of charts for each measure, with its scale, and in it a chart for each value of the key `across`.

    `x` is the key of the x axis and its title; `lines` is the key whose values have a line each. Colours, dashes and
    marks distinguish lines. Charts that are `stacked` are below each other, which is legible on a telephone, and have
    the value alone as their heading.
    """
    alt = altair()
    key, title = x
    names, charts = (list(dict.fromkeys(row[name] for row in rows)) for name in (lines, across))
    heading = "" if stacked else f"{across} = "
    named = [{**row, across: f"{heading}{row[across]}"} for row in rows]
    ticks = sorted({row[key] for row in rows})
    # Values such as 2, 5, 10 and 100 would lie on each other on an even axis.
    spaced = "log" if 0 < 10 * ticks[0] <= ticks[-1] else "linear"
    line = {"field": lines, "type": "nominal", "scale": alt.Scale(domain=names)}
    base = (
        alt.Chart(alt.Data(values=named), width=STACKED_WIDTH if stacked else WIDTH, height=HEIGHT)
        .mark_line(point=alt.OverlayMarkDef(size=42, filled=True, opacity=1), strokeWidth=1.8)
        .encode(
            x=alt.X(f"{key}:Q", title=title)
            .scale(type=spaced, zero=False, nice=False, padding=12)
            .axis(values=ticks, labelExpr=SHORT),
            color=alt.Color(**line),
            strokeDash=alt.StrokeDash(**line),
            shape=alt.Shape(**line),
        )
    )
    order = [f"{heading}{value}" for value in charts]
    above = alt.Header(labelOrient="top", labelAnchor="start")
    facets: dict[str, Any] = (
        {"row": alt.Row(f"{across}:N", sort=order, title=None, header=above)}
        if stacked
        else {"column": alt.Column(f"{across}:N", sort=order, title=None)}
    )
    return alt.vconcat(
        *(
            base.encode(y=measure_axis([row[measure] for row in rows], (measure, measure), scale)).facet(**facets)
            for measure, scale in measures.items()
        )
    )


def measure_axis(values: Sequence[float], named: tuple[str, str], scale: Scale) -> "alt.Y":
    """Return the y axis of a measure by its key and its title.

    A logarithmic axis has whole powers of ten alone; one of ratios does not begin with zero, so that values near one
    can be distinguished.
    """
    alt = altair()
    key, title = named
    axis = alt.Y(f"{key}:Q", title=title)
    if scale == "linear":
        return axis.scale(padding=0).axis(labelExpr=SHORT, tickCount=5)
    if scale == "share":  # always from 0 to 1, so that pictures can be compared
        return axis.scale(domain=[0, 1], padding=0).axis(format=".0%", tickCount=5)
    if scale == "ratio":
        return axis.scale(zero=False, padding=4).axis(format="~g", tickCount=5)
    powers = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    ticks = [10.0**power for power in powers]
    return axis.scale(type="log", domain=[ticks[0], ticks[-1]]).axis(labelExpr=SHORT, values=ticks)
