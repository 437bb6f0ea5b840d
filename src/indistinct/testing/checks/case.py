"""What a check is given: a table, what its release must satisfy, and the algorithm on trial."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import Any

import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.api import anonymize
from indistinct.hierarchy import Hierarchy
from indistinct.hierarchy.explicit import Explicit
from indistinct.models import Model
from indistinct.release.release import Release
from indistinct.schema import Schema
from indistinct.testing.reference import Judge, Path

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One trial of an algorithm. The column `key` is insensitive and unique, so published rows can be traced back.

    `judge` says whether the rows of one class break a model that is not built in, in plain Python.
    """

    table: pa.Table
    schema: Schema
    model: Model
    algorithm: Algorithm
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: float = 0.0
    key: str = "key"
    judge: Judge | None = None

    @property
    def rows(self) -> list[Row]:
        """Return the original rows."""
        return list(self.table.to_pylist())

    def originals(self, release: Release) -> list[Row]:
        """Return the original row behind each published row."""
        by_key = {row[self.key]: row for row in self.rows}
        return [by_key[key] for key in release.table[self.key].to_pylist()]


Publish = Callable[..., Release]
"""How a case becomes a release: called with the case, and `seed=` for a fixed one."""


def publish_case(case: Case, *, seed: int | None = None) -> Release:
    """Publish a case the way every user does."""
    return anonymize(
        case.table,
        case.schema,
        model=case.model,
        algorithm=case.algorithm,
        hierarchies=case.hierarchies,
        suppression=case.suppression,
        seed=seed,
    )


def completed(
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


def with_columns_of(model: Model, names: Mapping[str, str]) -> Model:
    """Return a model that speaks of other column names."""
    return combined(_renamed(part, names) for part in model.parts())


def combined(parts: Iterable[Model]) -> Model:
    """Return one model that asks for every one of several."""
    return reduce(lambda one, other: one & other, parts)


def scaled(model: Model, factor: int) -> Model:
    """Return the model that `factor` copies of every row satisfy exactly if one copy satisfies this model."""
    return combined(
        replace(part, **{name: getattr(part, name) * factor for name in part.row_counts})  # type: ignore[type-var]
        for part in model.parts()
    )


def paths_of(case: Case) -> dict[str, dict[Any, Path]]:
    """Return every explicit hierarchy as value -> ancestors; missing hangs below the root."""
    return {name: tree_paths(h) for name, h in case.hierarchies.items() if isinstance(h, Explicit)}


def tree_paths(hierarchy: Explicit) -> dict[Any, Path]:
    """Return the ancestors of each value of an explicit hierarchy, level 1 to the top."""
    paths: dict[Any, Path] = {row[0]: row[1:] for row in hierarchy.rows}
    *inner, top = next(iter(paths.values()))
    return {**paths, None: ("", *[""] * len(inner), top)[-len(inner) - 1 :]}


def projected(rows: Sequence[Row], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return some columns of every row."""
    return [tuple(row[column] for column in columns) for row in rows]


def _renamed(model: Model, names: Mapping[str, str]) -> Model:
    changes: dict[str, Any] = {}
    for spec in fields(model):  # type: ignore[arg-type]
        value = getattr(model, spec.name)
        if spec.name == "sensitive":
            changes[spec.name] = names[value]
        elif spec.name == "y":
            changes[spec.name] = tuple(names[name] for name in value)
    return replace(model, **changes)  # type: ignore[type-var]
