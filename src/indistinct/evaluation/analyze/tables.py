"""Contingency tables, means, medians and correlations before and after anonymization."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from indistinct.errors import ParameterError, did_you_mean
from indistinct.evaluation.analyze.columns import CategoryColumn, Floats, NumericColumn, StudyColumn
from indistinct.evaluation.analyze.imputation import dummies_of
from indistinct.evaluation.analyze.regression import Side, combine, interval_of, iterate_completed
from indistinct.evaluation.analyze.result import Interval

Kind = Literal["table", "mean", "median", "correlation"]
MAX_CELLS = 1_000
FORMS = {
    "table": "sex, disease",
    "mean": "cost by sex",
    "median": "age by disease",
    "correlation": "age, cost",
}
"""How each kind of question is written."""


@dataclass(frozen=True, slots=True)
class Question:
    """A table, mean, median or correlation: the columns that it describes and those that it groups by.

    >>> parse_question("mean", "cost by sex", ["cost", "sex"])
    Question(kind='mean', columns=('cost',), by=('sex',))
    """

    kind: Kind
    columns: tuple[str, ...]
    by: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The question as written."""
        return ", ".join(self.columns) + (f" by {', '.join(self.by)}" if self.by else "")

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns whose numbers are needed."""
        return () if self.kind == "table" else self.columns

    @property
    def categories(self) -> tuple[str, ...]:
        """The columns whose categories are needed."""
        return self.columns if self.kind == "table" else self.by


def parse_question(kind: str, text: str, columns: Collection[str]) -> Question:
    """Return a question over some columns; raise `ParameterError` for what is none."""
    form = f"write it like {FORMS[kind]!r}"
    described, *groups = re.split(r"\s+by\s+", text.strip()) if text.strip() else [""]
    named = [tuple(name.strip() for name in part.split(",") if name.strip()) for part in (described, *groups)]
    for name in (name for part in named for name in part):
        if name not in columns:
            raise ParameterError(
                f"the {kind} names the column {name!r}, which the table does not have",
                hint=did_you_mean(name, list(columns)) or form,
            )
    own, by = named[0], named[1] if len(named) > 1 else ()
    needed = {"table": len(own) in (1, 2, 3) and not by, "correlation": len(own) >= 2 and not by}
    if len(named) > 2 or not needed.get(kind, len(own) == 1) or len(set(own + by)) < len(own + by):
        raise ParameterError(f"a {kind} is asked for with other columns; got {text!r}", hint=form)
    return Question(kind, own, by)  # type: ignore[arg-type]  # its form is known


def answer_original(question: Question, side: Side, columns: Mapping[str, StudyColumn]) -> dict[str, Interval]:
    """Return the figures of a question on the original."""
    figures = _estimate(question, side.columns, side.weights, columns)
    return {name: _interval(question.kind, *figure) for name, figure in figures.items()}


def answer_release(
    question: Question, side: Side, columns: Mapping[str, StudyColumn], *, draws: int, seed: int
) -> dict[str, Interval]:
    """Return the figures of a question on a release, combined over imputations where it shows ranges."""
    known: list[Floats] = []
    for name in (*question.categories, *question.numbers):
        column = columns[name]
        if isinstance(column, CategoryColumn):
            known += dummies_of(column.released[side.complete], len(column.categories))
        elif name not in side.ranged:
            known.append(side.columns[name])
    completed = iterate_completed(side, known, draws=draws, seed=seed)
    tables = [_estimate(question, each, side.weights, columns) for each in completed]
    answers: dict[str, Interval] = {}
    for name in tables[0]:
        figures = np.array([table[name] for table in tables if name in table])
        mean, total, freedom = combine(figures[:, :1], figures[:, 1:2] ** 2, np.inf)
        answers[name] = _interval(question.kind, mean[0], np.sqrt(total[0]), freedom[0])
    return answers


def hidden_figures(question: Question, side: Side, columns: Mapping[str, StudyColumn], *, least: int) -> frozenset[str]:
    """Return the figures of the original to withhold from others because fewer than `least` rows are behind them.

    A row counts for a mean as much as its number weighs, so that one large number hides it. In a table every line and
    the whole have two hidden cells or none, with `least` rows together, since cells add up to margins.
    """
    if question.kind == "correlation":
        pairs = [f"{one}, {two}" for index, one in enumerate(question.columns) for two in question.columns[index + 1 :]]
        return frozenset(pairs if side.rows < least else ())
    labels, groups = _group(question.categories, side.columns, columns)
    counts = np.bincount(groups, minlength=len(labels)).astype(np.float64)
    if question.kind == "table":
        shape = [len(_categories_of(columns[name])) for name in question.categories]
        hidden = hidden_cells(counts.reshape(shape), least).reshape(-1)
    else:
        weights = np.abs(side.columns[question.columns[0]]) if question.kind == "mean" else np.ones(len(groups))
        sums, squares = (np.bincount(groups, weights**power, minlength=len(labels)) for power in (1, 2))
        behind = np.divide(sums**2, squares, out=counts.copy(), where=squares > 0)
        hidden = (counts > 0) & (np.minimum(behind, counts) < least)
    return frozenset(name for name, each in zip(labels, hidden, strict=True) if each)


def _categories_of(column: StudyColumn) -> Sequence[str]:
    return column.categories if isinstance(column, CategoryColumn) else ()


def hidden_cells(counts: Floats, least: int) -> npt.NDArray[np.bool_]:
    """Return which cells of a table are hidden: small ones, and others without which margins would give them away.

    >>> hidden_cells(np.array([[3, 40, 50], [30, 20, 60]]), 10).tolist()
    [[True, True, False], [True, True, False]]
    """
    hidden = (counts > 0) & (counts < least)
    changed = bool(hidden.any())
    while changed:
        changed = False
        for line in _lines(counts.shape):
            inside = hidden[line]
            if not inside.any() or (inside.sum() > 1 and counts[line][inside].sum() >= least):
                continue
            others = np.where(~inside & (counts[line] > 0), counts[line], np.inf)
            if np.isfinite(others).any():
                position = np.unravel_index(int(np.argmin(others)), others.shape)
                inside[position] = changed = True
                hidden[line] = inside
    return hidden


def _lines(shape: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Yield every line of a table along every axis, then the whole."""
    for axis in range(len(shape)):
        for index in np.ndindex(*(size for other, size in enumerate(shape) if other != axis)):
            yield (*index[:axis], slice(None), *index[axis:])
    yield (slice(None),) * len(shape)


def _interval(kind: Kind, estimate: float, error: float, freedom: float = np.inf) -> Interval:
    """Return the interval of a figure; correlations are on Fisher's scale, shares stay between 0 and 1."""
    interval = interval_of(float(estimate), float(error), float(freedom))
    if kind == "correlation":
        return Interval(*(float(np.tanh(each)) for each in (interval.estimate, interval.low, interval.high)))
    if kind == "table":
        return Interval(interval.estimate, max(interval.low, 0.0), min(interval.high, 1.0), interval.error)
    return interval


def _estimate(
    question: Question, values: Mapping[str, Any], weights: Floats | None, columns: Mapping[str, StudyColumn]
) -> dict[str, tuple[float, float]]:
    """Return the estimate and the standard error of each figure."""
    if question.kind == "correlation":
        return _correlations(question, values, weights)
    labels, groups = _group(question.categories, values, columns)
    rows = len(groups)
    if not rows:
        raise ParameterError(f"no row has a value in every column of the {question.kind}", hint="analyze fewer columns")
    share = np.ones(rows) if weights is None else weights / weights.mean()
    if question.kind == "table":
        sums = np.bincount(groups, share, minlength=len(labels))
        design = float((share**2).sum() / share.sum())
        return {
            name: _share(float(sums[index]), float(share.sum()), design)
            for index, name in enumerate(labels)
            if sums[index] > 0
        }
    numbers = np.asarray(values[question.columns[0]], np.float64)
    figure: Callable[[Floats, Floats], tuple[float, float]] = _mean if question.kind == "mean" else _median
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(len(labels) + 1))
    estimates = {}
    for index, name in enumerate(labels):
        members = order[ends[index] : ends[index + 1]]
        if len(members) > 1:
            estimates[name] = figure(numbers[members], share[members])
    return estimates


def _group(
    names: Sequence[str], values: Mapping[str, Any], columns: Mapping[str, StudyColumn]
) -> tuple[list[str], Any]:
    """Return the name of each combination of categories, and the combination of each row."""
    rows = len(next(iter(values.values())))
    labels, codes = [""], np.zeros(rows, np.int64)
    for name in names:
        column = columns[name]
        if isinstance(column, NumericColumn):  # asked for as categories, so that it cannot be
            raise ParameterError(f"column {name!r} is a number, which cannot group rows", hint="group by categories")
        index = {category: position for position, category in enumerate(column.categories)}
        own = np.fromiter((index[value] for value in values[name]), np.int64, rows)
        codes = codes * len(column.categories) + own
        labels = [
            f"{first}, {name}={category}".removeprefix(", ") for first in labels for category in column.categories
        ]
        if len(labels) > MAX_CELLS:
            raise ParameterError(
                f"the table has more than {MAX_CELLS:,} cells", hint="name columns with fewer categories"
            )
    return [label or "all" for label in labels], codes


def _share(count: float, total: float, design: float = 1.0) -> tuple[float, float]:
    """Return a share and its standard error, which Agresti and Coull's adjustment keeps above 0 for rare cells."""
    adjusted = (count + 2) / (total + 4)
    return count / total, float(np.sqrt(adjusted * (1 - adjusted) * design / (total + 4)))


def interval_of_share(count: float, total: float) -> Interval:
    """Return the share of a cell of a table with its interval."""
    return _interval("table", *_share(count, total))


def _mean(numbers: Floats, share: Floats) -> tuple[float, float]:
    """Return the weighted mean, and its variance."""
    weight = share / share.sum()
    mean = float(weight @ numbers)
    size = 1 / float((weight**2).sum())
    return mean, float(np.sqrt((weight @ (numbers - mean) ** 2) / max(size - 1, 1)))


def _median(numbers: Floats, share: Floats) -> tuple[float, float]:
    """Return the median and a standard error from the order statistics that enclose it."""
    order = np.argsort(numbers, kind="stable")
    ordered, running = numbers[order], np.cumsum(share[order]) / share.sum()
    size = share.sum() ** 2 / float((share**2).sum())
    half = 0.98 / np.sqrt(size)  # 1.96 times the standard deviation of a share of one half

    def at(level: float) -> float:
        return float(ordered[min(int(np.searchsorted(running, level - 1e-12)), len(ordered) - 1)])

    median = (at(0.5) + float(ordered[min(int(np.searchsorted(running, 0.5 + 1e-12)), len(ordered) - 1)])) / 2
    low, high = at(max(0.5 - half, 0.0)), at(min(0.5 + half, 1.0))
    return median, (high - low) / (2 * 1.959963984540054)


def _correlations(
    question: Question, values: Mapping[str, Any], weights: Floats | None
) -> dict[str, tuple[float, float]]:
    """Return Fisher's transform of each correlation, and its standard error."""
    table = np.array([np.asarray(values[name], np.float64) for name in question.columns])
    share = np.ones(table.shape[1]) if weights is None else weights
    size = share.sum() ** 2 / float((share**2).sum())
    if size <= 3:
        raise ParameterError("a correlation needs more than three rows", hint="analyze more rows")
    covariance = np.cov(table, aweights=share)
    deviation = np.sqrt(np.diag(covariance))
    estimates = {}
    for first in range(len(table)):
        for second in range(first + 1, len(table)):
            scale = deviation[first] * deviation[second]
            ratio = 0.0 if scale == 0 else covariance[first, second] / scale
            z = float(np.arctanh(np.clip(ratio, -1 + 1e-12, 1 - 1e-12)))
            estimates[f"{question.columns[first]}, {question.columns[second]}"] = (z, 1 / float(np.sqrt(size - 3)))
    return estimates
