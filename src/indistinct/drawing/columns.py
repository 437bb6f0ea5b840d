"""Small pictures of columns before any recoding: histograms of numbers and dates, bars of the most frequent values."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.drawing.charts import COLOURS, GREY, altair, draw
from indistinct.figures import plural
from indistinct.machine.arrays import Counts, Floats

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT, LABELS, BINS, MAX_COLUMNS_DRAWN, LONGEST = 236, 96, 92, 20, 6, 15
START = datetime(1970, 1, 1, tzinfo=UTC)
SHORT = "abs(datum.value) >= 10000 ? format(datum.value, '~s') : format(datum.value, '~g')"
SMALL: dict[str, Any] = {"padding": 4, "axis": {"labelColor": GREY, "labelFontSize": 10, "ticks": False, "title": None}}


@dataclass(frozen=True, slots=True)
class Bars:
    """What is drawn of a column: the rows of each value, or of each bin between two `edges`; `others` are not drawn."""

    counts: tuple[int, ...]
    labels: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    others: int = 0
    dates: bool = False


def bars_of_values(values: Sequence[str], counts: Counts) -> Bars:
    """Return the most frequent values, and how many others there are.

    >>> bars_of_values(["a", "b"], np.array([1, 3])).labels
    ('b', 'a')
    """
    first = np.argsort(-counts, kind="stable")[:MAX_COLUMNS_DRAWN].tolist()
    return Bars(tuple(int(counts[i]) for i in first), tuple(values[i] for i in first), others=len(counts) - len(first))


def bars_of_numbers(numbers: Floats, counts: Counts, *, dates: bool = False) -> Bars:
    """Return a histogram of numbers with their counts; `dates` are seconds since 1970.

    >>> bars_of_numbers(np.array([0.0, 1.0, 2.0]), np.array([5, 1, 2])).counts
    (5, 1, 2)
    """
    low, high = float(numbers.min()), float(numbers.max())
    whole = bool((numbers == np.round(numbers)).all())
    if whole and not dates and high - low < BINS:
        edges = np.arange(low - 0.5, high + 1)
    else:
        edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    heights, _ = np.histogram(numbers, bins=edges, weights=counts)
    return Bars(tuple(round(each) for each in heights), edges=tuple(edges.tolist()), dates=dates)


def draw_bars(name: str, bars: Bars) -> str:
    """Return a small picture of a column as an SVG document; its title says what it is, and no value."""
    if bars.edges:
        return draw(_histogram(bars), title=f"{name}: how its values are spread over rows", visible=False, style=SMALL)
    more = f"; {plural(bars.others, 'value')} more" if bars.others else ""
    title = f"{name}: rows of the most frequent values{more}"
    return draw(_most_frequent(bars), title=title, visible=False, style=SMALL)


def _most_frequent(bars: Bars) -> "alt.Chart":
    """Draw the most frequent values of a column."""
    alt = altair()
    # Two long labels may begin alike, so that each has its place in front of it.
    keys = [f"{index:02d}{label}" for index, label in enumerate(bars.labels)]
    rows = [{"value": key, "rows": count} for key, count in zip(keys, bars.counts, strict=True)]
    label_text = (
        f"length(datum.label) > {LONGEST + 2} ? slice(datum.label, 2, {LONGEST + 1}) + '…' : slice(datum.label, 2)"
    )
    labels = {"labelExpr": label_text, "labelLimit": LABELS, "minExtent": LABELS, "maxExtent": LABELS, "domain": False}
    return (
        alt.Chart(alt.Data(values=rows), width=WIDTH - LABELS, height=HEIGHT)
        .mark_bar(color=COLOURS[0])
        .encode(
            y=alt.Y("value:N", sort=keys, title=None).axis(**labels),
            x=alt.X("rows:Q", title=None).axis(tickCount=3, labelExpr=SHORT, grid=True, gridColor="#ddd"),
        )
    )


def _histogram(bars: Bars) -> "alt.Chart":
    """Draw a histogram of numbers or dates."""
    alt = altair()
    ends: list[float | str] = [_moment(edge) if bars.dates else edge for edge in bars.edges]
    rows = [
        {"low": low, "high": high, "rows": count, "none": 0}
        for (low, high), count in zip(pairwise(ends), bars.counts, strict=True)
    ]
    if bars.dates:
        x = alt.X("low:T", title=None).scale(type="utc", nice=False).axis(tickCount=4, labelOverlap=True)
    else:
        x = alt.X("low:Q", title=None).scale(zero=False, nice=False)
        x = x.axis(tickCount=4, labelExpr=SHORT, labelOverlap=True)
    return (
        alt.Chart(alt.Data(values=rows), width=WIDTH, height=HEIGHT)
        .mark_bar(color=COLOURS[0], stroke="white", strokeWidth=0.5)
        .encode(
            x=x,
            x2="high",
            y=alt.Y("rows:Q", title=None).axis(tickCount=3, labelExpr=SHORT, gridColor="#ddd"),
            y2="none:Q",
        )
    )


def _moment(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()
