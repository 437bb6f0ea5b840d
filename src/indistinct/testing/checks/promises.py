"""Checks of guarantees: the model is satisfied, failure is an error, and limits and declared traits are kept.

Each check receives a case and a function that publishes it, and raises `AssertionError` where an algorithm breaks a
guarantee.
"""

from collections import Counter
from dataclasses import fields, replace

import pyarrow as pa

from indistinct.errors import InfeasibleError, InputError, ParameterError
from indistinct.hierarchy.explicit import declared_order
from indistinct.job.publishing import apply
from indistinct.models import KAnonymity, Model
from indistinct.release.release import Release
from indistinct.testing.checks.case import (
    Case,
    Publish,
    Row,
    combine_models,
    expect,
    paths_of,
    project_rows,
    publish_case,
)
from indistinct.testing.reference import groups_of, violating_classes


def check_model_holds(case: Case, *, publish: Publish = publish_case) -> None:
    """Every class of the published rows satisfies the model, counted by the slow reference."""
    release = publish(case)
    expect(release.table.num_rows, "the release is empty")
    hidden = case.schema.identifiers
    rows = [
        {**row, **{name: original[name] for name in hidden}}
        for row, original in zip(release.table.to_pylist(), case.originals(release), strict=True)
    ]
    if case.judge is not None:
        classes = groups_of(rows, release.schema.quasi)
        broken = [vector for vector, members in classes.items() if case.judge(members, case.rows)]
    else:
        broken = violating_classes(
            rows,
            release.schema.quasi,
            model=case.model,
            original=case.rows,
            orders={name: order for name, h in case.hierarchies.items() if (order := declared_order(h)) is not None},
            paths=paths_of(case),
            population=_published_population(case, release),
        )
    expect(not broken, f"{len(broken)} published class(es) break {case.model.spec()}")


def _published_population(case: Case, release: Release) -> list[Row] | None:
    """Return the row that the recoding publishes for each person of the population; {} for suppressed people."""
    if case.population is None:
        return None
    everybody = KAnonymity(1)
    published = apply(release.recoding, case.population, model=everybody, hierarchies=case.hierarchies, suppression=1.0)
    rows = list(published.table.to_pylist())
    return [*rows, *({} for _ in range(case.population.num_rows - len(rows)))]


def check_infeasible(case: Case, *, publish: Publish = publish_case) -> None:
    """A model that no release can satisfy is an `InfeasibleError` with a hint, never an empty table."""
    for model in (impossible(case.model, case.table.num_rows), case.model & KAnonymity(case.table.num_rows + 1)):
        try:
            release = publish(replace(case, model=model))
        except InfeasibleError as error:
            expect(error.hint, "the error does not say what would be feasible")
            continue
        raise AssertionError(f"{model.spec()} cannot hold, but {release.table.num_rows} row(s) were published")


def impossible(model: Model, rows: int) -> Model:
    """Return a model of the same kind that a table with this number of rows cannot satisfy."""
    parts = []
    for part in model.parts():
        counted = [f.name for f in fields(part) if f.name in ("k", "l")]  # type: ignore[arg-type]
        # What is counted or estimated in a population is not bounded by the rows of the table.
        too_much = rows + 1 if part.row_counts is not None and not part.needs_population else 10**6
        parts.append(replace(part, **dict.fromkeys(counted, too_much)))  # type: ignore[type-var]
    whole = combine_models(parts)
    return whole if whole != model else model & KAnonymity(rows + 1)


def check_suppression(case: Case, *, publish: Publish = publish_case) -> None:
    """No more rows are dropped than the share of the original rows that was allowed, and none is published twice.

    An algorithm may refuse a budget that it cannot use with a model, with a `ParameterError` that says so.
    """
    for share in (case.suppression, 0.1, 0.5):
        try:
            release = publish(case if share == case.suppression else replace(case, suppression=share))
        except ParameterError as error:
            expect(share > case.suppression and error.hint, "an algorithm refuses to work without a budget")
            continue
        dropped = case.table.num_rows - release.table.num_rows
        rows = case.table.num_rows
        expect(dropped >= 0 and dropped / rows <= share, f"{dropped} row(s) of {rows} dropped, {share} allowed")
        keys = Counter(release.table[case.key].to_pylist())
        expect(not keys or max(keys.values()) == 1, "a row is published twice")
        if not case.algorithm.traits.suppresses:
            expect(dropped == 0, "an algorithm that declares not to suppress rows dropped some")


def check_traits(case: Case, *, publish: Publish = publish_case) -> None:
    """What the algorithm declares about itself holds on this case."""
    traits, release = case.algorithm.traits, publish(case)
    rows, originals = release.table.to_pylist(), case.originals(release)
    if not traits.splits:
        before = project_rows(originals, case.schema.quasi)
        after = project_rows(rows, release.schema.quasi)
        expect(len(set(zip(before, after, strict=True))) == len(set(before)), "equal vectors are published differently")
    if not traits.local:
        outputs = {column.column: [name for name, _ in column.outputs] for column in release.assignment.columns}
        for name in case.schema.quasi:
            before, after = project_rows(originals, [name]), project_rows(rows, outputs[name])
            expect(len(set(zip(before, after, strict=True))) == len(set(before)), f"equal values of {name!r} differ")
    if traits.reusable:
        again = apply(
            release.recoding, case.table, model=case.model, hierarchies=case.hierarchies, population=case.population
        )
        mine, theirs = (Counter(_hashable(r.table)) for r in (release, again))
        expect(mine == theirs, "a stored recoding publishes the same table differently")
    else:
        _refuses_other_tables(case, publish)


def _refuses_other_tables(case: Case, publish: Publish) -> None:
    """Raise if a recoding of rows can be applied to another table."""
    twice = pa.concat_tables([case.table, case.table])
    try:
        apply(publish(case).recoding, twice, model=case.model, hierarchies=case.hierarchies, population=case.population)
    except InputError:
        return
    raise AssertionError("a recoding of the rows of one table was applied to another one")


def _hashable(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]
