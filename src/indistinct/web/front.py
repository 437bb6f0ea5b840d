"""A picture of solutions: risk against what they cost, with points that can be looked at from the keyboard."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from indistinct.document.html import escape
from indistinct.figures import number, percent
from indistinct.web.language import translate

WIDTH, HEIGHT = 680, 340
LEFT, RIGHT, TOP, BOTTOM = 88, 24, 18, 60
# A star for the release that was published, and a disc for every other solution.
OWN = (
    '<path class="mark own" d="M0,-13 3.5,-4 13,-4 5.5,1.7 8.3,11 0,5.4 -8.3,11 -5.5,1.7 -13,-4 -3.5,-4Z"/>'
    '<text x="{}" y="-9" text-anchor="{}">{}</text>'
)
# Distance from the right edge at which the name of the release fits next to its star.
NAME_WIDTH = 120
OTHER = '<circle class="mark" r="7"/>'
# From this ratio of largest to smallest risk on, the axis is logarithmic.
MIN_RATIO_FOR_LOGARITHM = 20
# Below this ratio, an axis of powers of ten alone would have hardly any ticks.
FEW_POWERS = 300


@dataclass(frozen=True, slots=True)
class Spot:
    """A solution that can be looked at: where it lies, what is picked by it, and what it is in words.

    The `chosen` one is looked at, and the `own` one was published.
    """

    risk: float
    cost: float
    value: str
    words: str
    chosen: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the position of a value on the axis."""
        low, high, value = (math.log(max(each, 1e-12)) if self.log else each for each in (self.low, self.high, value))
        return self.start + (self.end - self.start) * ((value - low) / (high - low) if high > low else 0.5)


def draw_front(
    spots: Sequence[Spot],
    places: Sequence[tuple[float, float]],
    *,
    cost: str,
    better: str = "lower",
    share: bool = False,
) -> str:
    """Return the picture: `spots` can be picked, `places` (risk and cost of other solutions) are shown behind them.

    A line goes along the spots. `cost` is the name of what is on the other axis, where it may be a `share`.
    """
    risks = [each.risk for each in spots] + [risk for risk, _ in places]
    costs = [each.cost for each in spots] + [value for _, value in places]
    x, y = _across(risks), _up(costs)
    dots = "".join(f'<circle class="other" cx="{x.at(r):.1f}" cy="{y.at(c):.1f}" r="3"/>' for r, c in places)
    line = " ".join(f"{x.at(each.risk):.1f},{y.at(each.cost):.1f}" for each in sorted(spots, key=lambda s: s.risk))
    label = escape(translate(f"Solutions: {cost} against the highest risk. {len(spots)} can be picked."))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="group" aria-label="{label}">'
        + _axes(x, y, f"{cost} ({better} is better)", percent if share else _short)
        + dots
        + f'<polyline class="front" points="{line}"/>'
        + "".join(_spot(each, x.at(each.risk), y.at(each.cost)) for each in spots)
        + "</svg>"
    )


def _across(risks: Sequence[float]) -> _Scale:
    """Return the horizontal scale for risks, logarithmic if they differ widely."""
    low, high = min(risks), max(risks)
    if low > 0 and high > MIN_RATIO_FOR_LOGARITHM * low:
        return _Scale(low / 1.3, high * 1.3, LEFT, WIDTH - RIGHT, log=True)
    margin = (high - low) * 0.06 or high * 0.1 or 0.1
    return _Scale(max(low - margin, 0.0), high + margin, LEFT, WIDTH - RIGHT)


def _up(costs: Sequence[float]) -> _Scale:
    """Return the vertical scale for costs."""
    low, high = min(costs), max(costs)
    margin = (high - low) * 0.08 or abs(high) * 0.1 or 0.1
    return _Scale(low - margin if low < 0 or low > margin else 0.0, high + margin, HEIGHT - BOTTOM, TOP)


def _axes(x: _Scale, y: _Scale, title: str, spell: Callable[[float], str]) -> str:
    """Return the axes with their ticks and titles as SVG."""
    drawn = []
    for value in ticks(x.low, x.high, log=x.log):
        at = x.at(value)
        drawn.append(f'<line class="rule" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        drawn.append(
            f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{translate(percent(value))}</text>'
        )
    for value in ticks(y.low, y.high):
        at = y.at(value)
        drawn.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        drawn.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{translate(spell(value))}</text>')
    middle, side = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    below = escape(translate("highest risk of anybody (lower is better)"))
    drawn.append(f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">{below}</text>')
    title = escape(translate(title))
    drawn.append(f'<text transform="translate(14 {side}) rotate(-90)" text-anchor="middle">{title}</text>')
    return f'<g class="axes" aria-hidden="true">{"".join(drawn)}</g>'


def _short(value: float) -> str:
    """Write a number of the axis shortly, such as 20k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return number(round(value, 10))


def ticks(low: float, high: float, *, log: bool = False) -> list[float]:
    """Return about five round numbers between two others.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(0.001, 0.5, log=True), ticks(0.01, 0.3, log=True)
    ([0.001, 0.01, 0.1], [0.01, 0.02, 0.05, 0.1, 0.2])
    """
    if log:
        powers = range(math.floor(math.log10(low)), math.floor(math.log10(high) + 1e-9) + 1)
        digits = (1, 2, 5) if high < FEW_POWERS * low else (1,)
        positions = [digit * 10.0**power for power in powers for digit in digits]
        return [each for each in positions if low * (1 - 1e-9) <= each <= high * (1 + 1e-9)]
    if high <= low:
        return [low]
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * 0.999)
    count = math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1
    return [round((math.ceil(low / step - 1e-9) + index) * step, 12) for index in range(count)]


def _spot(spot: Spot, left: float, top: float) -> str:
    """Return a point of the picture as SVG."""
    pressed = "true" if spot.chosen else "false"
    words = escape(translate(spot.words))
    side = (14, "start") if left < WIDTH - NAME_WIDTH else (-14, "end")
    own = OWN.format(*side, escape(translate("your release")))
    return (
        f'<g class="spot" role="button" tabindex="0" aria-pressed="{pressed}" data-pick="{escape(spot.value)}" '
        f'aria-label="{words}" transform="translate({left:.1f} {top:.1f})"><title>{words}</title>'
        f'<circle class="reach" r="15"/>{own if spot.own else OTHER}</g>'
    )
