"""What a release can still answer: how wide its values are on average, one query, and a study's analyses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.document.blocks import Block
from indistinct.errors import IndistinctError, MissingExtraError
from indistinct.evaluation.analyze.analyze import analyze
from indistinct.evaluation.analyze.result import Analyses
from indistinct.evaluation.query.answer import answer
from indistinct.evaluation.query.query import query, rows_of_original
from indistinct.figures import number, plural
from indistinct.job.policy import Policy
from indistinct.machine.arrays import Codes
from indistinct.metrics.queries.parse import parse_query
from indistinct.release.published import Published
from indistinct.tables import open_table
from indistinct.tables.domain import Kind, kind_of
from indistinct.view.value import ShownColumn, View
from indistinct.web.tasks.published import Files, published_files
from indistinct.web.tasks.tables import stamp_of
from indistinct.web.worker import Desk

QUESTIONS = ("formulas", "tables", "means", "medians", "correlations")
"""The parts of an analysis plan that name analyses."""
MAX_WIDTHS = 5
"""Columns whose width is named in a sentence."""
MONTH, YEAR = 30.44, 365.25
"""Days of both on average."""


def answerable(desk: Desk, policy: Policy, files: Files) -> list[str]:
    """Return in sentences what the release can still answer; it is found once for a release."""
    about = ("answerable", stamp_of(Path(files["table"]), policy.input.reading))
    questions: list[str] = desk.keep(about, lambda: _answerable(desk, policy, files), most=1)
    return questions


def _answerable(desk: Desk, policy: Policy, files: Files) -> list[str]:
    """Return sentences on which questions the release can answer, with an example."""
    given = published_files(desk, policy, files)
    questions = []
    if not given.structure.unmeasured:
        view = given.view("what can be answered")
        widths = [f"{name} {words}" for name in policy.schema.quasi if (words := width_in_words(view, name))]
        questions.append(widths_in_words(widths))
    return [*questions, *_example(given, policy.schema.quasi)]


def widths_in_words(widths: Sequence[str]) -> str:
    """Describe how narrow the values of columns are on average.

    >>> widths_in_words(["age within 14", "zipcode within 9"]), widths_in_words([])
    ('On average a row tells age within 14, zipcode within 9.', 'Every value is unmodified.')
    """
    if not widths:
        return "Every value is unmodified."
    named, left = ", ".join(widths[:MAX_WIDTHS]), len(widths) - MAX_WIDTHS
    more = f", and so on for {left:,} more columns" if left > 1 else f", {widths[-1]}" if left == 1 else ""
    return f"On average a row tells {named}{more}."


@dataclass(frozen=True, slots=True)
class ShownAnalyses:
    """What becomes of a study's analyses: one sentence, a forest plot, and the estimates with remarks."""

    sentence: str
    picture: str | None
    blocks: tuple[Block, ...]


def analyze_release(desk: Desk, policy: Policy, files: Files) -> ShownAnalyses:
    """Return the analyses of a policy on the table and on the release."""
    plan = policy.analysis
    desk.enter("reading")
    given = published_files(desk, policy, files)
    desk.enter("analyzing")
    asked = {name: getattr(plan, name) for name in QUESTIONS}
    analyses = analyze(given, **asked, family=plan.family, rules=plan.rules, weights=plan.weights, progress=desk.report)
    document = analyses.document()
    return ShownAnalyses(f"{document.title}.", _forest_plot(analyses), document.sections[0].blocks)


def _forest_plot(analyses: Analyses) -> str | None:
    try:
        return analyses.chart().svg
    except MissingExtraError:
        return None


def width_in_words(view: View, name: str) -> str:
    """Describe the average width of the published values of a column; empty if they are unmodified.

    A column whose values are hardly ever merged counts as unmodified, too.
    """
    column, whole = view.columns[name], view.home(name)
    codes, counts = whole.codes[name], whole.counts
    if column.cover.exact:
        return ""
    if column.positions is None:
        mean = float(f"{np.average(column.sizes[codes], weights=counts):.2g}")
        return f"as one of {number(mean)} of {plural(len(column.domain), 'value')}" if mean > 1 else ""
    width = _mean_width(column, codes, counts)
    if width is None:
        return ""
    return f"within {_days_in_words(width) if column.kind is Kind.DATE else number(_rounded(width))}"


def _mean_width(column: ShownColumn, codes: Codes, counts: Codes) -> float | None:
    low, high = column.ends
    widths = (high - low)[codes]
    there = np.isfinite(widths)
    return float(np.average(widths[there], weights=counts[there])) if there.any() else None


def _rounded(mean: float) -> float:
    """Return a mean with two digits that count."""
    return float(f"{mean:.2g}") if mean < 100 else round(mean)


def _days_in_words(days: float) -> str:
    """Return a length of time in the unit that people use.

    >>> _days_in_words(12.0), _days_in_words(150.0), _days_in_words(5000.0)
    ('12 days', '5 months', '14 years')
    """
    if days < 2 * MONTH:
        return plural(max(round(days), 1), "day")
    if days < 2 * YEAR:
        return plural(round(days / MONTH), "month")
    return plural(round(days / YEAR), "year")


def _example(given: Published, quasi: Sequence[str]) -> list[str]:
    """Return one query with its answers from the release and from the original, where it can be asked."""
    try:
        data = open_table(given.require_original("an example")).data
        asked = _query_of(data, quasi)
        if asked is None:
            return []
        words, sql = asked
        estimate = query(given, sql)
        (truth,) = [answer(rows_of_original(data, given.schema, [parsed]), parsed) for parsed in [parse_query(sql)]]
    except (IndistinctError, MissingExtraError):
        return []
    counts = estimate.value, estimate.low, estimate.high, truth.value
    value, low, high, true = (float(each) if isinstance(each, int | float) else math.nan for each in counts)
    if not math.isfinite(value + low + high + true):
        return []
    text = number(low) if estimate.exact else f"between {number(low)} and {number(high)}, about {number(round(value))}"
    return [f"How many rows have {words}? The release says {text}; the table has {number(true)}."]


def _query_of(data: pa.Table, quasi: Sequence[str]) -> tuple[str, str] | None:
    """Return a count in words and as SQL: the middle half of a column of numbers, and a frequent text with it."""
    kinds = {name: kind_of(data[name].type) for name in quasi}
    conditions, words = [], []
    line = next((name for name in quasi if kinds[name] is Kind.NUMBER), None)
    if line is not None:
        low, high = (
            _plain(each) for each in pc.quantile(data[line], q=[0.25, 0.75], interpolation="nearest").to_pylist()
        )
        conditions.append(f'"{_quoted(line, chr(34))}" BETWEEN {low} AND {high}')
        words.append(f"{line} from {number(low)} to {number(high)}")
    texts = [name for name in quasi if kinds[name] is Kind.TEXT and pa.types.is_string(data[name].type)]
    few = min(texts, key=lambda name: pc.count_distinct(data[name]).as_py(), default=None)
    if few is not None and (modes := pc.value_counts(pc.drop_null(data[few])).to_pylist()):
        value = max(modes, key=lambda each: each["counts"])["values"]
        conditions.append(f"\"{_quoted(few, chr(34))}\" = '{_quoted(value, chr(39))}'")
        words.append(f"{few} {value}")
    return (" and ".join(words), f"SELECT COUNT(*) WHERE {' AND '.join(conditions)}") if conditions else None


def _plain(value: Any) -> Any:
    return int(value) if float(value).is_integer() else float(value)


def _quoted(text: str, mark: str) -> str:
    return str(text).replace(mark, 2 * mark)
