"""Pictures of risk: probabilities before and after against their limits, unique rows, and how large classes are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from indistinct.drawing.charts import COLOURS, altair, draw
from indistinct.figures import percent, plural

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT, NOTE = 330, 110, 56
"""A picture of this size is legible on a telephone; `NOTE` is the longest line above it, in letters."""
# Edges of bars: whole sizes while they are small, then about three bars each doubling.
STEPS = (10, 13, 16, 20, 25, 32, 40, 50, 64, 80)
EDGES = (1, 2, 3, 4, 5, 6, 8, *(step * 10**power for power in range(9) for step in STEPS))
RULE = "#D55E00"
Sizes = Mapping[int, int]
BAR_WIDTH, BAR, LABEL = 220, 15, 150
"""`LABEL` is the room of a label next to its bars, also when it is translated into a longer one."""
IN_LINES = r"length(datum.label) > 22 ? split(replace(datum.label, regexp(' \\+ ', 'g'), ' +\n'), '\n') : datum.label"
"""Columns that are known together, a line each where they are too long for one."""
SIDES = ("before", "after")
Bars = Sequence[tuple[str, float | None, float]]
"""What each pair of bars is about, with its share before, None where it is not known, and after."""


def draw_class_sizes(sides: Mapping[str, Sizes], *, k: int | None, groups: str = "classes", unit: str = "rows") -> str:
    """Return the share of members in classes of each size, a histogram for each side, as an SVG document.

    `sides` have the number of classes of each size, by name, such as before and after. A line marks `k`.
    """
    alt = altair()
    charts = [
        _histogram(name, sizes, k=k, groups=groups, unit=unit, reach=_reach(sides)) for name, sizes in sides.items()
    ]
    words = [f"{name}: {_words(sizes, k, unit)}" for name, sizes in sides.items()]
    return draw(alt.vconcat(*charts, spacing=18), title=f"How large {groups} are", notes=words, longest=NOTE)


def draw_cumulative(sides: Mapping[str, Sizes], *, k: int | None, groups: str = "classes", unit: str = "rows") -> str:
    """Draw the share of members in classes of at most each size, a line for each side."""
    alt = altair()
    points = [point for name, sizes in sides.items() for point in _running(name, sizes, _reach(sides)[1])]
    names, (_, high) = list(sides), _reach(sides)
    x = alt.X("size:Q", title=f"{unit} in a {_one(groups)}, at most").scale(type="log", domain=[1, high], nice=False)
    y = alt.Y("share:Q", title=f"share of {unit}").scale(domain=[0, 1]).axis(format="%", tickCount=5)
    lines = (
        alt.Chart(alt.Data(values=points), width=WIDTH, height=220)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=x.axis(values=_ticks(high), format="~s"),
            y=y,
            color=alt.Color("side:N")
            .scale(domain=names, range=_colours(names))
            .legend(symbolType="stroke", symbolStrokeWidth=2.5, symbolSize=180),
            strokeDash=alt.StrokeDash("side:N").scale(domain=names),
        )
    )
    layers = [lines, *_rule(k, high)]
    words = [f"{name}: {_words(sizes, k, unit)}" for name, sizes in sides.items()]
    title = f"Who stands in small {groups}"
    return draw(alt.layer(*layers), title=title, notes=words, legend=names, longest=NOTE)


def _histogram(
    name: str, sizes: Sizes, *, k: int | None, groups: str, unit: str, reach: tuple[int, int]
) -> "alt.LayerChart":
    """Draw the histogram of class sizes, with a rule at k."""
    alt = altair()
    edges = edges_for(k, reach[1])
    members = sum(size * number for size, number in sizes.items()) or 1
    bars = []
    for low, high in zip(edges, [*edges[1:], reach[1]], strict=True):
        inside = sum(size * number for size, number in sizes.items() if low <= size < high)
        if inside:
            bars.append({"low": low, "high": high, "share": inside / members, "nothing": 0})
    colour = _colours([name])[0]
    x = alt.X("low:Q", title=f"{unit} in a {_one(groups)}").scale(type="log", domain=[1, reach[1]], nice=False)
    chart = (
        alt.Chart(alt.Data(values=bars), width=WIDTH, height=HEIGHT)
        .mark_bar(color=colour, stroke="white", strokeWidth=0.6)
        .encode(
            x=x.axis(values=_ticks(reach[1]), format="~s"),
            x2="high:Q",
            y=alt.Y("share:Q", title=f"share of {unit}").axis(format="%", tickCount=4),
            y2="nothing:Q",
        )
    )
    layered = alt.layer(chart, *_rule(k, reach[1]))
    return layered.properties(title=alt.TitleParams(name, fontSize=12, anchor="start", offset=8))


def edges_for(k: int | None, high: int) -> list[int]:
    """Return where bars begin: one begins at k, so that none reaches below it with members who are not there.

    >>> edges_for(12, 17)
    [1, 2, 3, 4, 5, 6, 8, 10, 12, 13, 16]
    """
    return sorted({edge for edge in (*EDGES, *(() if k is None or k < 1 else (k,))) if edge < high})


def _rule(k: int | None, high: int) -> Sequence["alt.Chart"]:
    """Return a line at k with its name, where there is one to draw."""
    if k is None or not 1 < k <= high:
        return ()
    alt = altair()
    base = alt.Chart(alt.Data(values=[{"size": k, "text": f"k = {k}"}]))
    x = alt.X("size:Q").scale(type="log", domain=[1, high], nice=False)
    line = base.mark_rule(color=RULE, strokeWidth=2, strokeDash=[5, 3]).encode(x=x)
    # Its name is above the plot, where no bar is.
    name = base.mark_text(color=RULE, align="left", baseline="bottom", dx=-1, fontWeight="bold").encode(
        x=x, y=alt.value(-3), text="text:N"
    )
    return (line, name)


def _running(name: str, sizes: Sizes, high: int) -> list[dict[str, Any]]:
    """Return the running share of members by class size."""
    members, total = sum(size * number for size, number in sizes.items()) or 1, 0
    points: list[dict[str, Any]] = []
    for size in sorted(sizes):
        total += size * sizes[size]
        points.append({"side": name, "size": size, "share": total / members})
    first = {"side": name, "size": 1, "share": 0.0}
    return [*([first] if 1 not in sizes else []), *points, {"side": name, "size": high, "share": 1.0}]


def _reach(sides: Mapping[str, Sizes]) -> tuple[int, int]:
    """Return the smallest and largest size of the axis."""
    largest = max((max(sizes, default=1) for sizes in sides.values()), default=1)
    return 1, max(round(1.2 * largest), largest + 1, 10)


def _ticks(high: int) -> list[int]:
    """Return the ticks 1, 2, 5, 10, … up to the largest size."""
    return [tick for power in range(10) for digit in (1, 2, 5) for tick in [digit * 10**power] if tick <= high]


def _colours(names: Sequence[str]) -> list[str]:
    """Return one colour for what was, another for what is."""
    return [COLOURS[1] if name.startswith("before") else COLOURS[0] for name in names]


def _one(groups: str) -> str:
    """Return the singular of `groups`."""
    return "class" if groups == "classes" else "bucket"


def _words(sizes: Sizes, k: int | None, unit: str) -> str:
    """Describe the class sizes in a sentence."""
    members = sum(size * number for size, number in sizes.items()) or 1
    sentence = f"the smallest has {_members(min(sizes, default=0), unit)}"
    if k is None:
        return sentence
    below = sum(size * number for size, number in sizes.items() if size < k)
    return f"{sentence}; {percent(below / members)} of the {unit} are in smaller ones than k = {k}"


def _members(number: int, unit: str) -> str:
    return plural(number, "person", "people") if unit == "people" else plural(number, "row")


# Bars


def draw_risks(bars: Bars, *, limits: Sequence[float | None]) -> str:
    """Return risks before and after as bars from 0 to 100 %, as an SVG document.

    A line marks the limit of each risk, None where it is not limited.
    """
    alt = altair()
    marks = [{"about": bar[0], "limit": limit} for bar, limit in zip(bars, limits, strict=True) if limit is not None]
    layers = _bars(bars, title="probability of being found", sides=_sides(bars))
    if marks:
        lines = alt.Chart(alt.Data(values=marks)).mark_tick(color=RULE, thickness=3, size=2 * BAR + 10)
        layers.insert(1, lines.encode(y=alt.Y("about:N", sort=[name for name, _, _ in bars]), x="limit:Q"))
    title = "How likely a person is found, before and after"
    return draw(alt.layer(*layers), title=title, notes=_words_of_bars(bars), legend=_sides(bars), visible=False)


def _sides(bars: Bars) -> tuple[str, ...]:
    """Return the sides that have figures."""
    return SIDES if any(before is not None for _, before, _ in bars) else SIDES[1:]


def draw_column_sets(bars: Bars) -> str:
    """Return the shares of rows that are unique on sets of columns before and after, as an SVG document."""
    chart = altair().layer(*_bars(bars, title="share of rows that are unique", sides=SIDES))
    title = "Rows that are unique on columns that an attacker may know"
    return draw(chart, title=title, notes=_words_of_bars(bars), legend=SIDES, visible=False)


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
    y = alt.Y("about:N", sort=names, title=None)
    y = y.axis(labelExpr=IN_LINES, labelLimit=LABEL, minExtent=LABEL, labelFontSize=12)
    offset = alt.YOffset("side:N", sort=list(sides)).scale(domain=list(sides))
    x = alt.X("share:Q", title=title).scale(domain=[0, 1]).axis(format="%", tickCount=5, grid=True, gridColor="#ddd")
    colour = alt.Color("side:N", sort=list(sides)).scale(domain=list(sides), range=colours)
    base = alt.Chart(alt.Data(values=values), width=BAR_WIDTH, height=len(names) * (len(sides) * BAR + 14))
    label_style = {"align": "left", "dx": 5, "fontSize": 11}
    # A limit may lie behind a value, which stays legible.
    halo, text = (
        base.mark_text(stroke="white", strokeWidth=3, strokeJoin="round", aria=False, **label_style),
        base.mark_text(**label_style),
    )
    encoding = {"y": y, "yOffset": offset, "x": "share:Q", "text": "text:N"}
    bar = base.mark_bar(height=BAR).encode(y=y, yOffset=offset, x=x, color=colour)
    return [bar, halo.encode(**encoding), text.encode(**encoding)]


def _words_of_bars(bars: Bars) -> list[str]:
    """Return the bars in words."""
    return [
        f"{name}: {'' if before is None else f'{percent(before)} before, '}{percent(after)} after"
        for name, before, after in bars
    ]
