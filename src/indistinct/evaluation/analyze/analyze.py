"""Run a study's own analyses on the original and on a release, and compare their estimates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.engines import closes_sources
from indistinct.errors import ParameterError
from indistinct.evaluation.analyze.bucketized import expected_answer, rows_of_slice, strata
from indistinct.evaluation.analyze.columns import (
    CategoryColumn,
    Floats,
    NumericColumn,
    StudyColumn,
    check_rules,
    order_rows,
    read_column,
)
from indistinct.evaluation.analyze.formula import Formula, check_published, parse_formula
from indistinct.evaluation.analyze.regression import (
    Side,
    fit_original,
    fit_release,
    original_side,
    released_side,
    require_extra,
    rows_behind,
)
from indistinct.evaluation.analyze.result import Analyses, AnalysisResult, ColumnRule, Interval, Term, terms_of
from indistinct.evaluation.analyze.tables import (
    Question,
    answer_original,
    answer_release,
    hidden_figures,
    parse_question,
)
from indistinct.figures import plural
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.memory import needs_memory
from indistinct.release.published import Knowledge, Published, describe_release
from indistinct.schema import Schema
from indistinct.tables.opening import open_table

DRAWS, SEED = 20, 0
LEAST_ROWS_FOR_OTHERS = 10
"""In the external edition, estimates that rest on fewer rows of the original are not shown."""
Edition = Literal["internal", "external"]


@with_checked_arguments
@closes_sources
@needs_memory("analyzing")
def analyze(
    release: Any,
    formulas: str | Sequence[str] = (),
    *,
    family: str | None = None,
    tables: str | Sequence[str] = (),
    means: str | Sequence[str] = (),
    medians: str | Sequence[str] = (),
    correlations: str | Sequence[str] = (),
    rules: Mapping[str, str] | None = None,
    weights: str | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    edition: Edition = "internal",
    schema: Schema | None = None,
    progress: Progress | None = None,
    **known: Unpack[Knowledge],
) -> Analyses:
    """Compare a study's estimates on a release with those on its original.

    Numbers that the release shows as ranges are imputed several times inside their ranges, conditional on the outcome
    and the other covariates, and the estimates are combined by Rubin's rules. Categories that share a label are joined
    in both tables. Suppressed rows and cells are missing.

    Parameters
    ----------
    release
        A `Release`, a `Published`, or a published table: a path or a frame.
    formulas
        Regressions, such as ``"cost ~ age + C(sex)"`` or ``"Surv(days, died) ~ age"``.
    family
        Family of all formulas: ``linear`` (default), ``logistic``, ``poisson``; ``Surv(…)`` is always ``cox``.
    tables, means, medians, correlations
        Shares of combinations (``"sex, disease"``), means and medians by group (``"cost by sex"``), and correlations
        (``"age, cost"``).
    rules
        How the ranges of a column enter: ``imputation`` (default), ``midpoint`` or ``category``. The rule ``category``
        for a categorical column declares that joined categories are accepted.
    weights
        Column with survey weights.
    draws, seed
        Number of imputations, and what they are drawn from.
    edition
        ``external`` leaves out estimates that rest on few rows of the original.
    schema
        Roles of the columns, where `release` does not know them.
    progress
        Called with the share of the work that is done.
    **known
        What `published` takes, above all ``original``.

    Returns
    -------
    Analyses
        Each term before and after, with the overlap of the confidence intervals.

    Raises
    ------
    ParameterError
        If the original is not known, or a formula names a column that the release does not have.
    MissingExtraError
        If the extra ``analysis`` is not installed.

    Examples
    --------
    >>> import indistinct as ind
    >>> from indistinct.samples import generate_patients
    >>> patients = generate_patients(400, seed=1)
    >>> roles = {"identifiers": ["name"], "sensitive": ["disease"], "insensitive": ["cost"]}
    >>> schema = ind.Schema(quasi=["age", "sex", "zipcode", "admitted"], **roles)
    >>> release = ind.anonymize(patients, schema, model=ind.KAnonymity(k=5), seed=1)
    >>> found = ind.analyze(release, "cost ~ age", original=patients)
    >>> [term.name for term in found.analyses[0].terms]
    ['Intercept', 'age']
    """
    require_extra()
    given = describe_release(release, schema, **known)
    given.require_original("analyze")
    questions = {"table": tables, "mean": means, "median": medians, "correlation": correlations}
    study = _Study.open(given, weights=weights, rules=dict(rules or {}), draws=draws, seed=seed, edition=edition)
    asked = study.parse(_listed(formulas), family, {kind: _listed(texts) for kind, texts in questions.items()})
    results = []
    for index, one in enumerate(asked):
        results.append(study.run(one))
        if progress is not None:
            progress((index + 1) / len(asked))
    return Analyses(tuple(results), draws, seed)


def _listed(texts: str | Sequence[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    """Both tables of a comparison, and how their columns are read."""

    given: Published
    original: pa.Table
    released: Mapping[str, pa.Table]
    weights: str | None
    rules: Mapping[str, str]
    draws: int
    seed: int
    edition: str

    @classmethod
    def open(cls, given: Published, **how: Any) -> "_Study":
        """Read both tables into memory."""
        if how["draws"] < 2:
            raise ParameterError(f"`draws` of analyze must be at least 2; got {how['draws']}", hint="20 are usual")
        released = {name: open_table(source, published=True).data for name, source in given.tables.sources.items()}
        return cls(given, open_table(given.raw).data, released, **how)

    def parse(
        self, formulas: Sequence[str], family: str | None, questions: Mapping[str, Sequence[str]]
    ) -> list[Formula | Question]:
        """Parse the requested analyses, and check them before any work."""
        names = self.original.column_names
        asked = parse_analyses(formulas, family, questions, names, self.given.schema)
        check_rules(self.rules, list(dict.fromkeys(name for one in asked for name in _columns_of(one))))
        if self.weights is not None and self.weights not in names:
            raise ParameterError(
                f"the table has no column {self.weights!r} of weights", hint=f"it has: {', '.join(names)}"
            )
        return asked

    def run(self, one: Formula | Question) -> AnalysisResult:
        """Return one analysis before and after."""
        names = _columns_of(one)
        if not self.given.structure.links(names):
            return self._run_over_slices(one)
        table = rows_of_slice(self.released, self.given.structure, *names)
        read = {name: self._read(name, one, table) for name in names}
        columns, weights = order_rows(read, self._weights(table))
        before_side = original_side(columns, self._weights(self.original))
        after_side = released_side(columns, weights)
        before, after, notes = self._both(
            lambda: (
                fit_original(one, before_side, columns).intervals()
                if isinstance(one, Formula)
                else answer_original(one, before_side, columns)
            ),
            lambda: (
                fit_release(one, after_side, columns, draws=self.draws, seed=self.seed)
                if isinstance(one, Formula)
                else answer_release(one, after_side, columns, draws=self.draws, seed=self.seed)
            ),
        )
        result = _result(one, (before_side.rows, after_side.rows), before, after, notes)
        return self._finish(result, one, columns, before_side)

    def _run_over_slices(self, one: Formula | Question) -> AnalysisResult:
        """Estimate a two-way table or a mean by group over two slices of buckets; raise for other analyses."""
        if isinstance(one, Formula) or len(_columns_of(one)) != 2 or self.weights is not None:
            raise ParameterError(
                f"{one.text!r} needs columns of several slices, which the release does not link",
                hint="inside a bucket it is not known which values belong together; tables of two columns and means by "
                "group can be estimated",
            )
        tables = {name: rows_of_slice(self.released, self.given.structure, name) for name in _columns_of(one)}
        columns = {name: self._read(name, one, table) for name, table in tables.items()}
        side = original_side(columns, None)
        before = answer_original(one, side, columns)
        after = expected_answer(one, columns, strata(tables, self.given.structure))
        note = "expected over buckets: inside a bucket the columns are taken to be independent"
        rows = (side.rows, next(iter(tables.values())).num_rows)
        return self._finish(_result(one, rows, before, after, (note,)), one, columns, side)

    def _both(
        self, before: Callable[[], dict[str, Interval]], after: Callable[[], dict[str, Interval]]
    ) -> tuple[dict[str, Interval], dict[str, Interval], tuple[str, ...]]:
        """Return both sides; what cannot be estimated on the release is a result too, and not an error."""
        first = before()
        try:
            return first, after(), ()
        except ParameterError as error:
            return first, {}, (f"cannot be estimated on the release: {error.message}",)

    def _read(self, name: str, one: Formula | Question, table: pa.Table) -> StudyColumn:
        """Read a column for an analysis, as numbers or as categories."""
        as_category = (
            name in one.categories if isinstance(one, Question) else f"C({name})" in one.terms.replace(" ", "")
        )
        column = read_column(
            name,
            self.original,
            table,
            generalized=name in self.given.recoded,
            rule=self.rules.get(name),
            as_category=as_category,
            hierarchies=self.given.used_hierarchies,
        )
        if isinstance(one, Question) and name in one.numbers and isinstance(column, CategoryColumn):
            raise ParameterError(f"a {one.kind} needs numbers, and column {name!r} is text", hint="name a number")
        return column

    def _weights(self, table: pa.Table) -> Floats | None:
        """Return the survey weights of the rows, None without any; raise unless they are published as numbers."""
        if self.weights is None:
            return None
        if self.weights not in table.column_names or not _is_number(table[self.weights].type):
            raise ParameterError(
                f"the weights {self.weights!r} are not published as numbers",
                hint="publish the weights unmodified, as an insensitive column",
            )
        return np.asarray(table[self.weights].cast(pa.float64(), safe=False), np.float64)

    def _finish(
        self, result: AnalysisResult, one: Formula | Question, columns: Mapping[str, StudyColumn], side: Side
    ) -> AnalysisResult:
        """Add the rules of columns, count lost categories, and leave out small cells for others."""
        rules = [rule for name, column in columns.items() for rule in _rules_of(name, column, self.rules.get(name))]
        masked = {name: each for name, each in self.given.transformations.items() if name in columns}
        rules += [ColumnRule(name, "masked", f"enters as published: {each.spec()}") for name, each in masked.items()]
        lost = tuple(
            Term(f"{name}: {plural(len(column.lost), 'value')} joined", None, None, tested=None, lost=True)
            for name, column in columns.items()
            if isinstance(column, CategoryColumn) and column.regrouped and self.rules.get(name) != "category"
        )
        result = replace(result, rules=tuple(rules), terms=(*result.terms, *lost))
        return result if self.edition == "internal" else _without_small(result, one, columns, side)


def parse_analyses(
    formulas: Sequence[str],
    family: str | None,
    questions: Mapping[str, Sequence[str]],
    names: Sequence[str],
    schema: Schema,
) -> list[Formula | Question]:
    """Parse analyses given as text; raise for those that cannot be run on a release."""
    asked: list[Formula | Question] = [parse_formula(text, names, family=family) for text in formulas]
    asked += [parse_question(kind, text, names) for kind, texts in questions.items() for text in texts]
    if not asked:
        raise ParameterError(
            "no analysis is asked for", hint='name a formula, such as "cost ~ age + C(sex)" (--formula)'
        )
    check_published([name for one in asked for name in _columns_of(one)], schema)
    return asked


def _columns_of(one: Formula | Question) -> tuple[str, ...]:
    """Return the columns of a formula or a question."""
    return one.columns if isinstance(one, Formula) else (*one.columns, *one.by)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _result(
    one: Formula | Question,
    rows: tuple[int, int],
    before: Mapping[str, Interval],
    after: Mapping[str, Interval],
    notes: tuple[str, ...],
) -> AnalysisResult:
    """Combine the estimates of original and release to a result."""
    kind = f"{one.family} regression" if isinstance(one, Formula) else one.kind
    tested = 0.0 if isinstance(one, Formula) or one.kind == "correlation" else None
    return AnalysisResult(one.text, kind, rows, terms_of(before, after, tested=tested), notes=notes)


def _rules_of(name: str, column: StudyColumn, rule: str | None) -> list[ColumnRule]:
    """Return notes on how a column was converted for the analysis, where the release changed its values."""
    if isinstance(column, CategoryColumn):
        if not column.regrouped:
            return []
        detail = f"{plural(len(column.lost), 'value')} joined with others, before and after"
        return [ColumnRule(name, "category", detail)]
    if isinstance(column, NumericColumn) and (column.in_ranges or rule == "midpoint"):
        if rule == "midpoint":
            return [ColumnRule(name, "midpoint", "ranges enter as their middles, which biases estimates")]
        return [ColumnRule(name, "imputation", "drawn inside its ranges, conditional on the outcome and other columns")]
    return []


def _without_small(
    result: AnalysisResult, one: Formula | Question, columns: Mapping[str, StudyColumn], side: Side
) -> AnalysisResult:
    """Return a result for other readers: without estimates based on few rows of the original."""
    if isinstance(one, Question):
        hidden = hidden_figures(one, side, columns, least=LEAST_ROWS_FOR_OTHERS)
    else:
        behind = rows_behind(one, side, columns)
        hidden = frozenset(name for name, rows in behind.items() if rows < LEAST_ROWS_FOR_OTHERS)
    kept = tuple(term for term in result.terms if term.name not in hidden)
    return replace(result, terms=kept, hidden=len(result.terms) - len(kept))
