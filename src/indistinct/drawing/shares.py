"""Bars of a column's distribution before and after: what a recoding made of it."""

from collections.abc import Sequence

from indistinct.drawing.charts import COLOURS, altair, draw

WIDTH, BAR, LONGEST = 280, 9, 26
NAMES = ("before", "after")


def draw_shares(
    column: str, labels: Sequence[str], *, before: Sequence[float], after: Sequence[float], notes: Sequence[str] = ()
) -> str:
    """Return the share of every group of values before and after, side by side, as an SVG document."""
    alt = altair()
    # Two long labels may begin alike, so that each has its place in front of it.
    keys = [f"{place:03d}{label}" for place, label in enumerate(labels)]
    bars = [
        {"group": key, "side": side, "share": share}
        for side, shares in zip(NAMES, (before, after), strict=True)
        for key, share in zip(keys, shares, strict=True)
    ]
    shown = f"length(datum.label) > {LONGEST + 3} ? slice(datum.label, 3, {LONGEST + 3}) + '…' : slice(datum.label, 3)"
    chart = (
        alt.Chart(alt.Data(values=bars), width=WIDTH, height=max(60, 2.6 * BAR * len(keys)))
        .mark_bar()
        .encode(
            y=alt.Y("group:N", sort=keys, title=None).axis(labelExpr=shown, labelLimit=190).scale(paddingInner=0.2),
            yOffset=alt.YOffset("side:N", sort=list(NAMES)),
            x=alt.X("share:Q", title="share of rows").axis(format="%", tickCount=5, grid=True, gridColor="#ddd"),
            color=alt.Color("side:N", sort=list(NAMES)).scale(domain=list(NAMES), range=[COLOURS[1], COLOURS[0]]),
        )
    )
    return draw(chart, title=column, notes=notes, legend=NAMES)
