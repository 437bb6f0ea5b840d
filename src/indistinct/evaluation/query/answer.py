"""The answer of a published table to a query: an estimate, the bounds between which the truth lies, what is exact."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from indistinct.document.blocks import ABSENT, Document, document, grid, listing
from indistinct.document.result import Result
from indistinct.errors import InputError
from indistinct.evaluation.query.aggregates import Aggregate, Numbers, largest_of, least_of, mean_of, sum_of
from indistinct.figures import number, plural
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes, Mask
from indistinct.metrics.queries.boxes import Box, boxes_of
from indistinct.metrics.queries.published_rows import Pool, PublishedRows, clip, overlap
from indistinct.metrics.queries.value import Compare, Query, comparisons_in, negate_condition
from indistinct.metrics.queries.values import EVERY, NONE, LineSet, TextSet, ValueSet
from indistinct.tables.domain import Kind
from indistinct.view.value import ShownColumn

Number = float | date | datetime
OVERLAPPING = "published values overlap, so rows may count in several groups"
PERHAPS_NONE = "perhaps no row fulfils the condition; the bounds hold if one does"
MAX_GROUPS = 10_000


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Result):
    """What a published table answers to a query.

    `value` is the estimate over the published rows; it is what SQL returns on the original where `exact`. The truth
    lies between `low` and `high`, also with the rows that were suppressed where their number is known; an infinite
    bound says that nothing is known, and None that there is no such number. `error` is the standard deviation of the
    estimate, as if values were spread evenly. A query with GROUP BY has `groups`, each named by `group`.
    """

    query: Query
    value: Number | None
    low: Number | None
    high: Number | None
    exact: bool
    error: float | None = 0.0
    suppressed: int | None = 0
    notes: tuple[str, ...] = ()
    group: Mapping[str, str | None] = field(default_factory=dict)
    groups: tuple["Answer", ...] = ()

    def document(self) -> Document:
        """Return the estimate and its bounds, for the whole or for each group."""
        text = f"{_words(self.value)}, between {_words(self.low)} and {_words(self.high)}"
        exact = ", exact" if self.exact else ""
        title = f"Answer {text}{exact}" + (f"; {plural(len(self.groups), 'group')}" if self.groups else "")
        names = tuple(self.query.groups)
        rows = [each._row(names) for each in self.groups or (self,)]
        headings = (*names, "estimate", "at least", "at most", "expected error")
        table = grid("Answers" if names else "Answer", headings, rows, right=headings[-4:-1], most=len(rows))
        return document(title, table, *listing(self.notes))

    def _row(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the answer as a row of a table."""
        error = "unknown" if self.error is None else f"± {_words(self.error)}"
        whose = ["missing" if self.group[name] is None else str(self.group[name]) for name in names]
        return (*whose, _words(self.value), _words(self.low), _words(self.high), "exact" if self.exact else error)

    @property
    def bounded(self) -> bool:
        """Whether both bounds are finite."""
        return not any(isinstance(end, float) and math.isinf(end) for end in (self.low, self.high))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; a bound that is not finite becomes None, and `bounded` false."""
        plain: dict[str, Any] = {"query": str(self.query)} if not self.group else {"group": dict(self.group)}
        plain |= {"value": _plain(self.value), "low": _plain(self.low), "high": _plain(self.high)}
        plain |= {"exact": self.exact, "bounded": self.bounded, "error": _plain(self.error)}
        if not self.group:
            plain |= {"suppressed": self.suppressed, "notes": list(self.notes)}
        return plain | ({"groups": [each.to_json() for each in self.groups]} if self.groups else {})


def _words(value: Number | None) -> str:
    """Write a number or a date of an answer."""
    if value is None:
        return ABSENT
    if isinstance(value, date):
        return value.isoformat()
    return number(value) if math.isfinite(value) else "unbounded"


def answer(rows: PublishedRows, query: Query) -> Answer:
    """Answer a query on published rows."""
    whole = replace(_answer(rows, query, _boxes(rows, query)), notes=())
    notes = [*rows.notes, *_absent_values(rows, query), *([PERHAPS_NONE] if _perhaps_none(whole) else [])]
    if not query.groups:
        return replace(whole, notes=tuple(notes))
    groups, overlapping = _groups(rows, query)
    notes += [OVERLAPPING] if overlapping else []
    return replace(whole, notes=tuple(notes), groups=groups)


def _absent_values(rows: PublishedRows, query: Query) -> list[str]:
    """Return a note for each comparison by = or IN, or the negation of one, whose values no published row can have."""
    notes = []
    for compare in comparisons_in(query.where):
        equal = negate_condition(compare) if compare.operator in ("<>", "NOT IN") else compare
        if isinstance(equal, Compare) and equal.operator in ("=", "IN"):
            name = equal.column
            if not overlap(rows.view.columns[name], rows.values[name].allowed(equal)).possible.any():
                notes.append(f"no published row can have {equal}: check how values of column {name!r} are written")
    return list(dict.fromkeys(notes))


def answers(rows: PublishedRows, queries: Sequence[Query]) -> list[Answer]:
    """Return the answers to many queries without groups; counts of one box each are taken together."""
    results: list[Answer | None] = [None] * len(queries)
    plain: list[int] = []
    boxes: list[Box] = []
    for index, query in enumerate(queries):
        chosen = _boxes(rows, query)
        if query.aggregate == "COUNT" and len(chosen) == 1:
            plain.append(index)
            boxes.append(chosen[0])
        else:
            results[index] = answer(rows, query)
    for index, counted in zip(plain, rows.count_each(boxes), strict=True):
        results[index] = replace(_answer_count(rows, queries[index], counted), notes=rows.notes)
    return [each for each in results if each is not None]


def _boxes(rows: PublishedRows, query: Query) -> tuple[Box, ...]:
    """Convert the condition of a query to boxes."""
    if query.target is not None and query.aggregate != "COUNT":
        _require_numbers(rows.view.columns[query.target], query)
    return boxes_of(query.rows, rows.values)


def _require_numbers(labels: ShownColumn, query: Query) -> None:
    """Raise unless a column can be aggregated as the query asks."""
    kind = labels.kind
    if kind is Kind.TEXT:
        raise InputError(
            f"{query.aggregate} needs numbers, and column {labels.name!r} is text",
            hint=f"COUNT({labels.name}) counts its values; give the original if it has numbers",
        )
    if kind is Kind.DATE and query.aggregate in ("SUM", "AVG"):
        raise InputError(
            f"{query.aggregate} needs numbers, and column {labels.name!r} has dates", hint="ask for MIN or MAX"
        )


def _answer(rows: PublishedRows, query: Query, boxes: Sequence[Box]) -> Answer:
    """Answer a query for one set of boxes."""
    if query.aggregate == "COUNT":
        return _answer_count(rows, query, rows.count(boxes))
    assert query.target is not None  # noqa: S101  (every aggregate but COUNT has one)
    numbers = _numbers(rows, query.target, boxes, by_mean=query.aggregate in ("SUM", "AVG"))
    aggregate = {"SUM": sum_of, "AVG": mean_of, "MIN": least_of, "MAX": largest_of}[query.aggregate](numbers)
    if rows.view.columns[query.target].kind is Kind.DATE:
        return _answer_date(query, aggregate, rows)
    return Answer(
        query, aggregate.value, aggregate.low, aggregate.high, aggregate.exact, aggregate.error, rows.suppressed
    )


def _answer_count(rows: PublishedRows, query: Query, counted: tuple[float, int, int, float]) -> Answer:
    """Convert counts of rows to the answer of a COUNT."""
    value, low, most, variance = counted
    high = most + (rows.suppressed or 0)
    # The estimate is of published rows, whose number is exact where all are certain or impossible.
    value, error = (float(low), 0.0) if low == most else (min(max(value, low), most), math.sqrt(max(variance, 0.0)))
    return Answer(query, _count(value), low, high, low == high, error, rows.suppressed)


def _count(value: float) -> float:
    return int(value) if value == int(value) else value


def _numbers(rows: PublishedRows, target: str, boxes: Sequence[Box], *, by_mean: bool) -> Numbers:
    """Return the numbers of a column that boxes may have chosen; published means may replace them in sums."""
    pool = rows.pool(boxes, target)
    home, labels = rows.view.home(target), rows.view.columns[target]
    values = home.codes[target][pool.entries]
    least, largest, mean, variance = (np.zeros(len(values)) for _ in range(4))
    for index, box in enumerate(boxes):
        own = pool.box == index
        clipped = clip(labels, box.get(target))
        for filled, part in zip(
            (least, largest, mean, variance),
            (clipped.low, clipped.high, clipped.mean, clipped.variance),
            strict=True,
        ):
            filled[own] = part[values[own]]
    if by_mean and labels.means is not None and all(target not in box or box[target].everything for box in boxes):
        means = labels.means[values]
        there = np.isfinite(means)
        mean = np.where(there, np.clip(means, least, largest), mean)
        if rows.trusted_means and len(boxes):
            full = _full_groups(home.codes[target], home.counts, pool)[values] & there
            least, largest, variance = np.where(full, means, least), np.where(full, means, largest), variance * ~full
    limits = rows.limits.get(target, (-math.inf, math.inf))
    return Numbers(
        pool.low,
        pool.high,
        pool.units,
        pool.counts,
        pool.weights,
        least,
        largest,
        mean,
        variance,
        rows.suppressed or 0,
        limits,
        _attained_ends(rows, pool, target),
    )


def _attained_ends(rows: PublishedRows, pool: Pool, target: str) -> Mask | None:
    """Return which entries of a pool have rows with both ends of their range, for sure; None where it is unknown.

    All rows among which the ends occur must have been chosen: of a class that was chosen in part, the others may have
    them.
    """
    together, home = rows.attained.get(target), rows.view.home(target)
    if together is None or not len(home.counts):
        return None
    alike = group_rows([home.codes[name] for name in together], [len(rows.view.columns[name]) for name in together])
    group = np.empty(len(home.counts), dtype=np.int64)
    group[alike.order] = np.repeat(np.arange(len(alike.first)), np.diff(alike.starts))
    return _full_groups(group, home.counts, pool)[group[pool.entries]]


def _full_groups(values: Codes, counts: Codes, pool: Pool) -> Mask:
    """Return for each published value whether all rows that show it were chosen, so that its mean or ends are theirs.

    Of a release in classes every entry is a unit.
    """
    size = int(values.max(initial=-1)) + 1
    whole = np.bincount(values, counts, minlength=size)
    sure = np.bincount(values[pool.entries], pool.low[pool.units], minlength=size)
    return whole == sure


def _groups(rows: PublishedRows, query: Query) -> tuple[tuple[Answer, ...], bool]:
    """Return the answer for each combination of published values, and whether these overlap.

    A group is not what shows a published value but what it covers: rows whose own value may be covered count too.
    """
    labels = rows.view.columns
    combined: list[tuple[dict[str, str | None], Box]] = [({}, {})]
    overlapping = False
    for name in query.groups:
        sets = _covered_sets(labels[name])
        overlapping |= _overlap([values for _, values in sets])
        combined = [({**g, name: text}, {**box, name: values}) for g, box in combined for text, values in sets]
        if len(combined) > MAX_GROUPS:
            raise InputError(
                f"the query has more than {MAX_GROUPS:,} groups", hint="group by fewer columns, or by coarser ones"
            )
    chosen = boxes_of(query.rows, rows.values)
    answers = []
    for group, box in combined:
        overlaps = [_met(each, box) for each in chosen]
        whole = _answer(rows, query, [each for each in overlaps if each is not None])
        if whole.high or whole.value is not None:
            answers.append(replace(whole, group=group))
    return tuple(answers), overlapping


def _met(one: Box, other: Box) -> Box | None:
    """Intersect two boxes, None if the intersection is empty."""
    shared = {name: one[name] & other[name] for name in one if name in other}  # type: ignore[operator]
    both = {**one, **other, **shared}
    return None if any(values.empty for values in both.values()) else both


def _covered_sets(labels: ShownColumn) -> list[tuple[str | None, ValueSet]]:
    """Return each distinct published text of a column, and the values that it covers."""
    sets: dict[str | None, ValueSet] = {}
    for index, text in enumerate(labels.texts):
        if text not in sets:
            sets[text] = _set_of(labels, index)
    return sorted(sets.items(), key=lambda item: (item[0] is not None, item[0] or ""))


def _set_of(labels: ShownColumn, index: int) -> ValueSet:
    """Return the values that a published label covers as a set."""
    cover = labels.cover
    runs = slice(int(cover.indptr[index]), int(cover.indptr[index + 1]))
    pairs = list(zip(cover.low[runs].tolist(), cover.high[runs].tolist(), strict=True))
    missing = bool(labels.absent[index])
    if labels.kind is Kind.TEXT:
        levels = np.full(len(labels.domain.values) + 2, NONE, dtype=np.int8)
        for first, last in pairs:
            levels[max(first - labels.missing, 0) : last - labels.missing + 1] = EVERY
        levels[-2], levels[-1] = EVERY * bool(labels.beyond_domain[index]), EVERY * missing
        return TextSet(levels)
    if labels.hull is not None:
        low, high = float(labels.hull[0][index]), float(labels.hull[1][index])
        return LineSet(((low, 0), (high, 1)) if low <= high else (), missing)
    assert labels.positions is not None  # noqa: S101
    allowed = LineSet((), missing)
    for first, last in pairs:
        start = max(first, int(labels.missing))
        if start <= last:
            allowed = allowed | LineSet(((float(labels.positions[start]), 0), (float(labels.positions[last]), 1)))
    return allowed


def _overlap(sets: Sequence[ValueSet]) -> bool:
    """Return whether two of the sets have a common value."""
    seen: ValueSet | None = None
    for values in sets:
        if seen is not None and not (seen & values).empty:  # type: ignore[operator]
            return True
        seen = values if seen is None else seen | values  # type: ignore[operator]
    return False


def _perhaps_none(answer: Answer) -> bool:
    return (
        answer.query.aggregate != "COUNT" and answer.low is not None and not answer.exact and answer.low == answer.high
    )


def _answer_date(query: Query, aggregate: Aggregate, rows: PublishedRows) -> Answer:
    """Turn bounds and estimate in days since 1970 into dates; an estimate between whole days is rounded down."""
    days = [each for each in (aggregate.low, aggregate.high) if each is not None and math.isfinite(each)]
    whole = all(each == int(each) for each in days)
    estimate = math.floor(aggregate.value) if whole and aggregate.value is not None else aggregate.value
    value, low, high = (_moment(each) for each in (estimate, aggregate.low, aggregate.high))
    return Answer(query, value, low, high, aggregate.exact, aggregate.error, rows.suppressed)


def _moment(days: float | None) -> Number | None:
    """Convert days since 1970 to a date or a moment."""
    if days is None or not math.isfinite(days):
        return days
    moment = datetime(1970, 1, 1) + timedelta(days=days)
    return moment.date() if days == int(days) else moment


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value
