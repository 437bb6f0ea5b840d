"""What a check receives: a table, the conditions of its release, and the algorithm under test."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, reduce
from typing import Any

import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.engines import open_source
from indistinct.frequencies.count import Counted, Request
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.publishing import anonymize
from indistinct.models import Model
from indistinct.release.release import Release
from indistinct.release.verification.population import beside_population
from indistinct.schema import Schema
from indistinct.testing.reference import Path

Row = dict[str, Any]
Judge = Callable[[Sequence[Row], Sequence[Row]], bool]
"""Return whether rows that form a class break a model, given the rows of the original table."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One trial of an algorithm. The column `key` is insensitive and unique, so published rows can be traced back.

    `judge` decides whether a class breaks the model where the slow reference does not know it. `population` is there
    where the model compares with one; it has the columns of the table.
    """

    table: pa.Table
    schema: Schema
    model: Model
    algorithm: Algorithm
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: float = 0.0
    key: str = "key"
    judge: Judge | None = None
    population: pa.Table | None = None

    @property
    def rows(self) -> list[Row]:
        """Return the original rows."""
        return list(self.table.to_pylist())

    def originals(self, release: Release) -> list[Row]:
        """Return the original row behind each published row."""
        by_key = {row[self.key]: row for row in self.rows}
        return [by_key[key] for key in release.table[self.key].to_pylist()]


Publish = Callable[..., Release]
"""A function that makes the release of a case, with `seed=` for a fixed one.

It may return the same release again for the same case; a check that needs a second release publishes a copy.
"""


def publish_case(case: Case, *, seed: int | None = None) -> Release:
    """Publish a case as users do."""
    return anonymize(
        case.table,
        case.schema,
        model=case.model,
        algorithm=case.algorithm,
        hierarchies=case.hierarchies,
        suppression=case.suppression,
        seed=seed,
        population=case.population,
    )


def count_table(
    table: pa.Table,
    schema: Schema,
    *,
    hierarchies: Mapping[str, Hierarchy],
    model: Model | None = None,
    joint: bool = False,
    population: pa.Table | None = None,
) -> Counted:
    """Return a table as cells, with the histograms that a model needs, and a population."""
    keys = model.table_keys if model is not None else ()
    engine, source = open_source(table)
    others = None if population is None else engine.open(population, source.reading)
    counted = engine.count(source, Request(schema.quasi, keys, hierarchies, joint=joint, population=others))
    return beside_population(counted, others, engine, schema)


def publish_once() -> Publish:
    """Return a publishing function that shares the release among checks of the same case."""
    releases: dict[tuple[Case, int | None], Release] = {}

    def publish(case: Case, *, seed: int | None = None) -> Release:
        if (case, seed) not in releases:
            releases[case, seed] = publish_case(case, seed=seed)
        return releases[case, seed]

    return publish


@lru_cache(maxsize=4)
def turn_rows(case: Case) -> Case:
    """Return the case with its rows reversed; always the same object, so that its release is shared."""
    return replace(case, table=case.table.take(pa.array(range(case.table.num_rows)[::-1])))


def complete_hierarchies(
    hierarchies: Mapping[str, Hierarchy], quasi: Iterable[str], *, algorithm: Algorithm
) -> Mapping[str, Hierarchy]:
    """Return a hierarchy for every quasi-identifier where the algorithm needs them: suppression if none is given."""
    if not algorithm.traits.hierarchies:
        return hierarchies
    return {**{name: Hierarchy.suppression() for name in quasi}, **hierarchies}


def expect(condition: object, message: str) -> None:
    """Fail a check with a message."""
    if not condition:
        raise AssertionError(message)


def expect_refusal(case: Case, kind: type[Exception], publish: Publish) -> None:
    """Fail unless publishing a case raises an error of a kind."""
    try:
        release = publish(case)
    except kind:
        return
    raise AssertionError(f"{release.table.num_rows} row(s) published where {kind.__name__} was due")


def with_columns_of(model: Model, names: Mapping[str, str]) -> Model:
    """Return a model for other column names."""
    return combine_models(_rename_columns(part, names) for part in model.parts())


def combine_models(parts: Iterable[Model]) -> Model:
    """Return one model that requires all of several."""
    return reduce(lambda one, other: one & other, parts)


def scale_model(model: Model, factor: int) -> Model:
    """Return the model for a table with every row `factor` times that is equivalent to this one for the table."""
    return combine_models(
        replace(part, **{name: getattr(part, name) * factor for name in part.row_counts or ()})  # type: ignore[type-var]
        for part in model.parts()
    )


def paths_of(case: Case) -> dict[str, dict[Any, Path]]:
    """Return every explicit hierarchy as value -> ancestors; missing hangs below the root."""
    return {name: _tree_paths(each.listed) for name, each in case.hierarchies.items() if each.listed}


def _tree_paths(rows: Sequence[Path]) -> dict[Any, Path]:
    """Return the ancestors of each value of an explicit hierarchy, level 1 to the top."""
    paths: dict[Any, Path] = {row[0]: row[1:] for row in rows}
    *inner, top = next(iter(paths.values()))
    return {**paths, None: ("", *[""] * len(inner), top)[-len(inner) - 1 :]}


def project_rows(rows: Sequence[Row], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return some columns of every row."""
    return [tuple(row[column] for column in columns) for row in rows]


def _rename_columns(model: Model, names: Mapping[str, str]) -> Model:
    """Rename the columns of a model."""
    changes: dict[str, Any] = {}
    for spec in fields(model):  # type: ignore[arg-type]
        match getattr(model, spec.name):
            case str(name) if name in names:
                changes[spec.name] = names[name]
            case tuple(several) if several and set(several) <= set(names):
                changes[spec.name] = tuple(names[name] for name in several)
    return replace(model, **changes)  # type: ignore[type-var]
