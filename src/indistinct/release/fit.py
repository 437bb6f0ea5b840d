"""Fitting a recoding to another table: what it covers, which classes satisfy the model, and what would repair the rest.

Nothing here publishes: the result is an assignment for the one pipeline, in which rows that cannot be published are
suppressed, within a budget.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from indistinct.engines.base import Engine, Source
from indistinct.errors import Feasible, InfeasibleError, UnseenValueError, VerificationError
from indistinct.figures import Sentence, count_unit, literal, plural, share_above
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.value import Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Mask
from indistinct.machine.ordering import distinct
from indistinct.models.base import Model
from indistinct.models.dropping import classes_to_drop
from indistinct.recoding.assign import assign, gaps_of
from indistinct.recoding.extend import Extended, as_stored, extend_recoding
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import Assignment


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A table in the codes of a recoding that covers its values as far as it can, and what the recoding makes of it.

    `without` marks the cells that nothing covers. `uncovered` has, by column, the rows with a value that no
    published one covers, and `combinations` the rows whose values are known, but not in this combination. `values` are
    those that are not covered. `fresh` has, by column, the rows with a value that is new and covered.
    """

    counted: Counted
    recoding: Recoding
    assignment: Assignment
    without: Mask | None = None
    uncovered: Mapping[str, int] = field(default_factory=dict)
    combinations: int = 0
    values: tuple[Any, ...] = ()
    fresh: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Return the number of rows of the table."""
        return self.counted.frequencies.rows

    @property
    def members(self) -> int:
        """Return the number of people in the table where people are counted, otherwise of rows."""
        return self.counted.frequencies.members

    @property
    def unit(self) -> str:
        """Return the unit of `members`: rows or people."""
        return self.counted.frequencies.classes.unit

    @property
    def uncovered_rows(self) -> int:
        """Return the number of rows that nothing covers."""
        return 0 if self.without is None else int(self.counted.frequencies.counts[self.without].sum())

    @property
    def uncovered_members(self) -> int:
        """Return the number of people with a row that nothing covers where they were counted, of such rows else."""
        return 0 if self.without is None else self.counted.frequencies.classes.members_of(self.without)

    def describe(self) -> str:
        """Describe the uncovered rows by column, without values."""
        template, counts = self.described()
        return Sentence(template, **counts)

    def described(self) -> tuple[str, dict[str, int]]:
        """Return the template of that sentence, and its counts."""
        template, counts = _by_column({name: rows for name, rows in self.uncovered.items() if rows}, "; ")
        if self.combinations:
            counts["rows_combined"] = self.combinations
            apart = "; " if template else ""
            template += (
                f"{apart}in {{rows_combined:row|rows}} combinations of known values that {self.recoding.not_covered}"
            )
        return template, counts


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """What a release needs to satisfy its model: classes to suppress, and how many rows or people lose by it.

    `assignment` is None where no class would be left.
    """

    assignment: Assignment | None
    classes: int
    rows: int
    suppressed: int


def fit(
    engine: Engine,
    source: Source,
    recoding: Recoding,
    *,
    keys: Sequence[Key] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Fit:
    """Count a table as a recoding sees it, and return what the recoding makes of it.

    The recoding first covers what its hierarchies, ranges and regions cover of values that it does not know.
    """
    domains = {domain.column: domain for domain in recoding.recoded_domains}
    person, columns = ((), ()) if recoding.schema is None else (recoding.schema.person, recoding.schema.published)
    request = Request(tuple(domains), keys, hierarchies or {}, domains=domains, person=person, to_publish=columns)
    request = replace(request, joint=recoding.splits_by_sensitive)
    larger = as_stored(recoding)
    try:
        counted = engine.count(source, request)
    except UnseenValueError:
        if not recoding.reusable:
            raise
        larger = extend_recoding(recoding, _own_domains(engine, source, tuple(domains)))
        domains = {domain.column: domain for domain in larger.recoding.recoded_domains}
        counted = engine.count(source, replace(request, domains=domains))
    try:
        fitted = Fit(counted, larger.recoding, assign(counted.frequencies, larger.recoding))
    except UnseenValueError:
        fitted = _with_gaps(counted, larger)
    return replace(fitted, fresh=_fresh(fitted, larger))


def _by_column(rows: Mapping[str, int], between: str = ", ") -> tuple[str, dict[str, int]]:
    """Return the template of a list of columns with the rows that each has, and its counts."""
    parts = [f"column {literal(repr(name))} in {{rows_{index}:row|rows}}" for index, name in enumerate(rows)]
    return between.join(parts), {f"rows_{index}": count for index, count in enumerate(rows.values())}


def _fresh(fitted: Fit, larger: Extended) -> dict[str, int]:
    """Return the rows, by column, with a value that the stored recoding does not know and that is covered."""
    cells, rows = fitted.counted.frequencies, {}
    covered = np.ones(len(cells), dtype=bool) if fitted.without is None else ~fitted.without
    for index, domain in enumerate(fitted.recoding.recoded_domains):
        new = larger.unseen.get(domain.column)
        if new is not None and new.any():
            rows[domain.column] = int(cells.counts[covered & new[cells.vectors[:, index]]].sum())
    return {name: count for name, count in rows.items() if count}


def _own_domains(engine: Engine, source: Source, names: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the domains of some columns as the table has them."""
    others = tuple((name,) for name in names[1:])
    return engine.count(source, Request(names[:1], groupings=others, published=True)).known


def _with_gaps(counted: Counted, larger: Extended) -> Fit:
    """Suppress the cells that no class covers, and count them by column."""
    cells, recoding = counted.frequencies, larger.recoding
    gaps, blamed = gaps_of(cells, recoding), np.zeros(len(cells), dtype=bool)
    uncovered, values = {}, []
    for index, domain in enumerate(recoding.recoded_domains):
        codes = cells.vectors[:, index]
        here = gaps.columns[domain.column] & larger.unseen[domain.column][codes]
        blamed |= here
        uncovered[domain.column] = int(cells.counts[here].sum())
        texts = domain.texts()
        values += [texts[code] for code in distinct(codes[here]).tolist()]
    combinations = int(cells.counts[gaps.cells & ~blamed].sum())
    assignment = assign(cells, recoding, without=gaps.cells)
    return Fit(counted, recoding, assignment, gaps.cells, uncovered, combinations, tuple(values))


def repair(fitted: Fit, model: Model) -> Repair:
    """Suppress classes that break a model until it holds; a model that is not stable may take several rounds."""
    cells, assignment = fitted.counted.frequencies, fitted.assignment
    without = np.zeros(len(cells), dtype=bool) if fitted.without is None else fitted.without.copy()
    classes = rows = 0
    while len(assignment.classes):
        broken = classes_to_drop(model, assignment.classes)
        if not broken.any():
            return Repair(assignment, classes, rows, assignment.suppressed_members)
        classes, rows = classes + int(broken.sum()), rows + int(assignment.classes.sizes[broken].sum())
        without |= np.append(broken, False)[assignment.class_ids]  # the last entry is that of class -1
        assignment = assign(cells, fitted.recoding, without=without)
    return Repair(None, classes, rows, fitted.members)


def suppressed_within(fitted: Fit, model: Model, *, budget: int) -> tuple[Assignment, tuple[str, ...]]:
    """Return what is published within the suppression limit, with warnings; raise if the limit is exceeded.

    Raises `UnseenValueError` where what is not covered exceeds the budget. Classes that break the model stay where
    suppressing them would exceed it: verification then refuses the release.
    """
    warnings: list[str] = []
    if fitted.fresh:
        template, counts = _by_column(fitted.fresh)
        prefix = "values that the first table did not have were published by what covers them: "
        warnings.append(Sentence(prefix + template, **counts))
    if fitted.uncovered_rows:
        if fitted.uncovered_members > budget:
            raise _not_covered(fitted, model, budget=budget)
        template, counts = fitted.described()
        prefix = "{rows_suppressed:row|rows} suppressed, which the recoding does not cover: "
        warnings.append(Sentence(prefix + template, rows_suppressed=fitted.uncovered_rows, **counts))
    assignment = fitted.assignment
    if budget and fitted.recoding.reusable:
        repaired = repair(fitted, model)
        if repaired.assignment is not None and repaired.classes and repaired.suppressed <= budget:
            assignment = repaired.assignment
            warnings.append(
                Sentence(
                    "{classes:class|classes} with {rows_suppressed:row|rows} suppressed: the model is not satisfied "
                    "there",
                    classes=repaired.classes,
                    rows_suppressed=repaired.rows,
                )
            )
    return assignment, tuple(warnings)


def _not_covered(fitted: Fit, model: Model, *, budget: int) -> UnseenValueError:
    """Return the error of a table with more uncovered rows than may be suppressed."""
    return UnseenValueError(
        f"the recoding does not know or cover {fitted.uncovered_rows:,} of {fitted.rows:,} rows: {fitted.describe()}"
        + (f"; {count_unit(budget, fitted.unit)} may be suppressed" if budget else ""),
        hint=f"{_advice(fitted, model)[0]}; or search a new recoding on this table (auto:reuse=true, extent=region and "
        "hierarchies cover values that are not known)",
        values=fitted.values,
        uncovered=dict(fitted.uncovered),
        combinations=fitted.combinations,
    )


def _advice(fitted: Fit, model: Model) -> tuple[str, float | None]:
    """Return the advice on suppression in words, and the share that suffices if there is one."""
    repaired = repair(fitted, model)
    if repaired.assignment is None:
        return "no row would be left that satisfies the model", None
    share = share_above(repaired.suppressed, fitted.members)
    extra = f", with {plural(repaired.rows, 'row')} of {plural(repaired.classes, 'class', 'classes')} below the model"
    words = f"`suppression={share}` (--suppression {share}) drops {count_unit(repaired.suppressed, fitted.unit)}"
    return words + (extra if repaired.rows else ""), share


def within_budget(error: InfeasibleError, fitted: Fit, model: Model) -> InfeasibleError:
    """Return the error of a recoding that drops too much of a table with the share that would do for all reasons."""
    if not fitted.recoding.reusable:
        return error
    words, share = _advice(fitted, model)
    return InfeasibleError(
        error.message, hint=f"{words}; or search a new recoding on this table", feasible=Feasible(share=share)
    )


def explain_failure(error: VerificationError, fitted: Fit, model: Model) -> VerificationError:
    """Extend the error of a release that fails verification by what fails and what would repair it.

    One that fails only together with earlier releases says so already.
    """
    if "overlap" in error.details:
        return error
    classes = fitted.assignment.classes
    broken = model.violations(classes) if len(classes) and fitted.recoding.reusable else np.zeros(0, dtype=bool)
    if not broken.any():
        return error
    reached = ", ".join(
        f"{part.name} with {key} = {value:.6g}"
        for part in model.parts()
        if part.violations(classes).any()
        for key, value in part.achieved(classes).items()
    )
    rows = int(classes.sizes[broken].sum())
    return VerificationError(
        f"{error.message}: {int(broken.sum()):,} of {len(classes):,} classes violate it, with {rows:,} of "
        f"{fitted.rows:,} rows",
        hint=f"{_advice(fitted, model)[0]}; or ask for what these rows achieve ({reached}); or search a new recoding "
        "on this table; nothing was written",
        **error.details,
    )
