"""Estimates before and after anonymization, and how far their confidence intervals overlap."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from indistinct.document.blocks import ABSENT, Block, Document, Grid, document, grid, listing
from indistinct.document.result import Result
from indistinct.document.translation import Own
from indistinct.drawing.charts import COLOURS, Chart, altair, draw
from indistinct.figures import percent, plural, short

FOREST_WIDTH, ROW_HEIGHT = 420, 26
MAX_DRAWN_TERMS = 60
SIDES = ("before", "after")


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % confidence interval and standard error."""

    estimate: float
    low: float
    high: float
    error: float | None = None

    @property
    def sign(self) -> int:
        """The sign of the estimate."""
        return (self.estimate > 0) - (self.estimate < 0)

    def excludes(self, value: float) -> bool:
        """Return whether a value is outside the interval: the estimate differs significantly from it at 5 %."""
        return value < self.low or value > self.high

    def to_json(self) -> dict[str, float | None]:
        """Return the figures as JSON values; what is not finite is null."""
        named = {"estimate": self.estimate, "low": self.low, "high": self.high, "standard_error": self.error}
        return {name: None if value is None or not math.isfinite(value) else value for name, value in named.items()}


def overlap_of(before: Interval, after: Interval) -> float:
    """Return the mean share of two intervals that both cover, from 0 to 1 (Karr et al. 2006).

    >>> overlap_of(Interval(1, 0, 2), Interval(2, 1, 3)), overlap_of(Interval(1, 0, 2), Interval(5, 4, 6))
    (0.5, 0.0)

    An interval without length is covered whole where it lies in the other:

    >>> overlap_of(Interval(1, 0, 2), Interval(1, 1, 1))
    0.5
    """
    shared = min(before.high, after.high) - max(before.low, after.low)
    lengths = (before.high - before.low, after.high - after.low)
    if not all(map(math.isfinite, (*lengths, shared))):
        return 0.0
    if max(lengths) <= 0:
        return float(math.isclose(before.estimate, after.estimate, rel_tol=1e-9, abs_tol=1e-12))
    if shared < 0:
        return 0.0
    return sum(shared / length if length > 0 else 1.0 for length in lengths) / 2


@dataclass(frozen=True, slots=True)
class Term:
    """One figure of an analysis, on the original and on the release; None where it cannot be estimated.

    `tested` is the value that a study would test against, None where a figure is not tested. `lost` marks a
    column whose categories the release joins.
    """

    name: str
    before: Interval | None
    after: Interval | None
    tested: float | None = 0.0
    lost: bool = False

    @property
    def overlap(self) -> float | None:
        """The overlap of the two intervals; 0 where the release has no estimate, None where the original has none."""
        if self.before is None:
            return 0.0 if self.lost else None
        return 0.0 if self.after is None else overlap_of(self.before, self.after)

    @property
    def flips(self) -> tuple[str, ...]:
        """What a reader of the release would conclude differently: the sign, or significance at 5 %."""
        if self.before is None or self.after is None or self.tested is None:
            return ()
        significant = self.before.excludes(self.tested), self.after.excludes(self.tested)
        sign = any(significant) and self.before.sign != self.after.sign
        changed = (("sign", sign), ("significance", significant[0] != significant[1]))
        return tuple(name for name, flipped in changed if flipped)

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "term": self.name,
            "before": None if self.before is None else self.before.to_json(),
            "after": None if self.after is None else self.after.to_json(),
            "overlap": self.overlap,
            "flips": list(self.flips),
            "lost": self.lost,
        }


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """How a column whose values the release generalizes entered an analysis."""

    column: str
    rule: str
    detail: str

    def to_json(self) -> dict[str, str]:
        """Return the rule as JSON values."""
        return {"column": self.column, "rule": self.rule, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """One analysis before and after: `rows` that it used, its terms, and how generalized columns entered."""

    name: str
    kind: str
    rows: tuple[int, int]
    terms: tuple[Term, ...]
    rules: tuple[ColumnRule, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: int = 0

    @property
    def overlaps(self) -> tuple[float, ...]:
        """The overlaps of all terms that the original has."""
        return tuple(term.overlap for term in self.terms if term.overlap is not None)

    @property
    def least_overlap(self) -> float | None:
        """The smallest overlap of a term, None where nothing was compared."""
        return min(self.overlaps, default=None)

    @property
    def mean_overlap(self) -> float | None:
        """The mean overlap of all terms."""
        return math.fsum(self.overlaps) / len(self.overlaps) if self.overlaps else None

    def to_json(self) -> dict[str, Any]:
        """Return the analysis as JSON values."""
        return {
            "analysis": self.name,
            "kind": self.kind,
            "rows": {"before": self.rows[0], "after": self.rows[1]},
            "terms": [term.to_json() for term in self.terms],
            "least_overlap": self.least_overlap,
            "mean_overlap": self.mean_overlap,
            "rules": [rule.to_json() for rule in self.rules],
            "hidden_terms": self.hidden,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Analyses(Result):
    """A study's analyses on the original and on a release.

    Attributes
    ----------
    analyses
        One result for each formula, table, mean, median or correlation that was asked for.
    draws
        Multiple imputations of values that the release shows as ranges.
    seed
        What the imputations were drawn from.
    """

    analyses: tuple[AnalysisResult, ...]
    draws: int
    seed: int

    @property
    def least_overlap(self) -> float | None:
        """The smallest overlap of all terms of all analyses."""
        return min((one.least_overlap for one in self.analyses if one.least_overlap is not None), default=None)

    @property
    def mean_overlap(self) -> float | None:
        """The mean over analyses of their mean overlap."""
        means = [one.mean_overlap for one in self.analyses if one.mean_overlap is not None]
        return math.fsum(means) / len(means) if means else None

    @property
    def flips(self) -> int:
        """Number of terms whose sign or significance changes."""
        return sum(bool(term.flips) for one in self.analyses for term in one.terms)

    def document(self) -> Document:
        """Return each term before and after, how generalized columns entered, and what a reader must know."""
        least = "nothing to compare" if self.least_overlap is None else f"least overlap {percent(self.least_overlap)}"
        analyses = plural(len(self.analyses), "analysis", "analyses")
        title = f"{analyses}: {least}, {plural(self.flips, 'conclusion')} changed"
        blocks: list[Block] = []
        for one in self.analyses:
            blocks += [_term_grid(one), *listing(_remarks(one))]
        return document(title, *blocks)

    def chart(self) -> Chart:
        """Return a forest plot: all estimates with their intervals, before and after; needs the extra `report`."""
        several = len(self.analyses) > 1
        drawn = [
            (f"{term.name}, {one.name}" if several else term.name, term.before, term.after)
            for one in self.analyses
            for term in one.terms
        ]
        title = self.document().title if several or not self.analyses else self.analyses[0].name
        return Chart(_draw_terms(title, drawn))

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        return {
            "analyses": [one.to_json() for one in self.analyses],
            "least_overlap": self.least_overlap,
            "mean_overlap": self.mean_overlap,
            "flips": self.flips,
            "draws": self.draws,
            "seed": self.seed,
        }


def _term_grid(one: AnalysisResult) -> Grid:
    """Return the table of terms before and after."""
    rows = [
        (
            Own(term.name),
            _spell_interval(term.before),
            _spell_interval(term.after),
            ABSENT if term.overlap is None else percent(term.overlap),
            "lost" if term.lost else ", ".join(term.flips),
        )
        for term in one.terms
    ]
    headings = ("term", "before", "after", "overlap", "changes")
    return grid(f"{one.name} ({one.kind})", headings, rows, right=headings[1:4], most=len(rows))


def _remarks(one: AnalysisResult) -> Iterator[str]:
    """Yield the remarks on an analysis: rows, conversions and notes."""
    yield f"{one.name}: {one.rows[0]:,} rows of the original, {one.rows[1]:,} of the release"
    yield from (f"{rule.column}: {rule.rule}, {rule.detail}" for rule in one.rules)
    yield from one.notes


def _draw_terms(title: str, terms: Sequence[tuple[str, Interval | None, Interval | None]]) -> str:
    """Return the estimates of an analysis before and after as an SVG document.

    Each term is drawn on a scale of its own, in standard errors of the original around its estimate there, because
    coefficients have different units.
    """
    alt = altair()
    rows: list[dict[str, Any]] = []
    names = []
    for index, (name, before, after) in enumerate(terms[:MAX_DRAWN_TERMS]):
        unit = None if before is None else (before.high - before.low) / 2
        if before is None or unit is None or not unit > 0:
            continue
        names.append(key := f"{index:03d}{name}")
        for side, each in zip(SIDES, (before, after), strict=True):
            if each is not None:
                scaled = {end: (getattr(each, end) - before.estimate) / unit for end in ("estimate", "low", "high")}
                rows.append({"term": key, "side": side, **scaled})
    label = "length(datum.label) > 37 ? slice(datum.label, 3, 37) + '…' : slice(datum.label, 3)"
    y = alt.Y("term:N", sort=names, title=None).axis(labelExpr=label, labelLimit=260)
    offset = alt.YOffset("side:N", sort=list(SIDES))
    color = alt.Color("side:N", sort=list(SIDES)).scale(domain=list(SIDES), range=[COLOURS[1], COLOURS[0]])
    axis_title = "difference from the original's estimate, in half widths of its interval"
    base = alt.Chart(alt.Data(values=rows), width=FOREST_WIDTH, height=max(50, ROW_HEIGHT * len(names)))
    lines = base.mark_rule(strokeWidth=2).encode(
        y=y, yOffset=offset, x=alt.X("low:Q", title=axis_title), x2="high:Q", color=color
    )
    points = base.mark_point(filled=True, size=55, opacity=1).encode(y=y, yOffset=offset, x="estimate:Q", color=color)
    notes = [f"{len(terms) - MAX_DRAWN_TERMS} more terms are not drawn"] if len(terms) > MAX_DRAWN_TERMS else []
    return draw(lines + points, title=title, notes=notes, legend=SIDES)


def _spell_interval(interval: Interval | None) -> str:
    if interval is None:
        return ABSENT
    return f"{short(interval.estimate)} [{short(interval.low)}, {short(interval.high)}]"


def terms_of(
    before: Mapping[str, Interval], after: Mapping[str, Interval], *, tested: float | None
) -> tuple[Term, ...]:
    """Return the terms of both sides, in the order of the original."""
    names = dict.fromkeys((*before, *after))
    return tuple(Term(name, before.get(name), after.get(name), tested) for name in names)
