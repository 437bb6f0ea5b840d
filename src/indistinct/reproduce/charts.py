"""Small line charts side by side, drawn as one SVG: how algorithms compare as a figure's size grows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

# Colours that people with any colour vision tell apart (Okabe and Ito 2008); dashes and marks say the same again.
STYLES = (
    ("#0072B2", "", "circle"),
    ("#D55E00", "6 3", "square"),
    ("#009E73", "2 3", "triangle"),
    ("#CC79A7", "8 3 2 3", "diamond"),
    ("#000000", "4 2", "cross"),
)
WIDTH, HEIGHT = 300, 210
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 30, 36
HEAD, FOOT = 96, 16


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: a line for each name, by the same places on the x axis."""

    title: str
    xs: Sequence[float]
    lines: Mapping[str, Sequence[float]]
    logarithmic: bool = False


def draw_charts(title: str, charts: Sequence[Sequence[Chart]], *, x_label: str, note: str = "") -> str:
    """Return rows of charts with one legend, as an SVG document."""
    width, height = WIDTH * max(map(len, charts)), HEAD + HEIGHT * len(charts) + FOOT
    names = list(charts[0][0].lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11" fill="#222">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="16" y="28" font-size="17" font-weight="bold">{escape(title)}</text>',
        f'<text x="16" y="48" fill="#555">{escape(note)}</text>',
        *_legend(names),
    ]
    for row, some in enumerate(charts):
        for place, chart in enumerate(some):
            parts.append(f'<g class="chart" transform="translate({place * WIDTH} {HEAD + row * HEIGHT})">')
            parts += _chart(chart, x_label)
            parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def ticks_of(low: float, high: float, *, logarithmic: bool) -> list[float]:
    """Return round values that cover a stretch of an axis: powers of ten, or steps of 1, 2 or 5.

    >>> ticks_of(0, 900, logarithmic=False)
    [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]
    >>> ticks_of(0.02, 3, logarithmic=True)
    [0.01, 0.1, 1.0, 10.0]
    """
    if logarithmic:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return [10.0**power for power in range(first, max(last, first + 1) + 1)]
    rough = max(high - low, 1e-9) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= rough)
    return [step * place for place in range(math.floor(low / step), math.ceil(high / step) + 1)]


def _chart(chart: Chart, x_label: str) -> list[str]:
    values = [value for line in chart.lines.values() for value in line]
    floor = min(value for value in [*values, math.inf] if value > 0) if max(values) > 0 else 1.0
    logarithmic = chart.logarithmic
    ticks = ticks_of(floor if logarithmic else 0.0, max(*values, floor), logarithmic=logarithmic)

    def across(x: float) -> float:
        first, last = min(chart.xs), max(chart.xs)
        share = (x - first) / (last - first) if last > first else 0.5
        return LEFT + 10 + share * (WIDTH - LEFT - RIGHT - 20)

    def up(y: float) -> float:
        measure = math.log10 if logarithmic else float
        low, high = measure(ticks[0]), measure(ticks[-1])
        return HEIGHT - BOTTOM - (measure(max(y, ticks[0])) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="18" font-weight="bold">{escape(chart.title)}</text>']
    parts += [
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(tick):.1f}" y2="{up(tick):.1f}" stroke="#ddd"/>'
        f'<text x="{LEFT - 6}" y="{up(tick) + 4:.1f}" text-anchor="end" fill="#555">{_short(tick)}</text>'
        for tick in ticks
    ]
    parts += [
        f'<text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle" fill="#555">{_short(x)}</text>'
        for x in chart.xs
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle" fill="#555">{escape(x_label)}</text>')
    for (colour, dash, mark), line in zip(STYLES, chart.lines.values(), strict=False):
        points = [(across(x), up(y)) for x, y in zip(chart.xs, line, strict=True)]
        parts.append(_line(points, colour, dash))
        parts += [_mark(x, y, colour, mark) for x, y in points]
    return parts


def _legend(names: Sequence[str]) -> list[str]:
    parts, x = [], 16.0
    for (colour, dash, mark), name in zip(STYLES, names, strict=False):
        parts.append(_line([(x, 72), (x + 34, 72)], colour, dash))
        parts.append(_mark(x + 17, 72, colour, mark))
        parts.append(f'<text x="{x + 42}" y="76">{escape(name)}</text>')
        x += 70 + 6.4 * len(name)
    return parts


def _line(points: Sequence[tuple[float, float]], colour: str, dash: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"/>'


def _mark(x: float, y: float, colour: str, mark: str) -> str:
    """Return a small sign of one of the five shapes."""
    shapes = {
        "square": "M-3.2,-3.2h6.4v6.4h-6.4z",
        "triangle": "M0,-4.2L4,3H-4z",
        "diamond": "M0,-4.6L4.6,0L0,4.6L-4.6,0z",
        "cross": "M-3.5,-3.5L3.5,3.5M-3.5,3.5L3.5,-3.5",
    }
    if mark not in shapes:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{colour}"/>'
    return f'<path transform="translate({x:.1f} {y:.1f})" d="{shapes[mark]}" fill="{colour}" stroke="{colour}"/>'


def _short(value: float) -> str:
    """Return a number as an axis shows it."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
