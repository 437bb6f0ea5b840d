"""Checks of invariance: the order of rows and columns, names, and repeating all rows must not matter.

Each check receives a case and a function that publishes it, and raises `AssertionError` where the recoding depends on
it.
"""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from indistinct.release.release import Release
from indistinct.schema import Schema
from indistinct.testing.checks.case import (
    Case,
    Publish,
    expect,
    project_rows,
    publish_case,
    scale_model,
    turn_rows,
    with_columns_of,
)
from indistinct.testing.checks.shown import published_rows


def check_row_order(case: Case, *, publish: Publish = publish_case) -> None:
    """Rows in another order give the same release."""
    wanted = _count_decided_rows(case, publish(case))
    positions = range(case.table.num_rows)
    shuffled = random.Random(1).sample(positions, len(positions))  # noqa: S311
    for other in (turn_rows(case), replace(case, table=case.table.take(pa.array(shuffled)))):
        expect(_count_decided_rows(other, publish(other)) == wanted, "the release depends on the order of the rows")


def check_column_order(case: Case, *, publish: Publish = publish_case) -> None:
    """Columns in another order give the same release."""
    other = replace(case, table=case.table.select(case.table.column_names[::-1]))
    expect(
        _count_decided_rows(other, publish(other)) == _count_decided_rows(case, publish(case)),
        "the release depends on the order of the columns",
    )


def check_names(case: Case, *, publish: Publish = publish_case) -> None:
    """Other column names give the same release."""
    names = {name: f"{index}. größe “{name[::-1]}”" for index, name in enumerate(case.table.column_names)}
    schema = Schema(
        **{
            role: [names[name] for name in getattr(case.schema, role)]
            for role in ("identifiers", "quasi", "sensitive", "insensitive")
        }
    )
    other = replace(
        case,
        table=_rename_table(case.table, names),
        schema=schema,
        model=with_columns_of(case.model, names),
        hierarchies={names[name]: hierarchy for name, hierarchy in case.hierarchies.items()},
        key=names[case.key],
        population=None if case.population is None else _rename_table(case.population, names),
    )
    mine, theirs = publish(case), publish(other)
    positions = _places(case, mine)
    expect(
        Counter(_at(published_rows(mine), positions)) == Counter(_at(published_rows(theirs), positions)),
        "the release depends on the names of the columns",
    )


def check_doubling(case: Case, *, publish: Publish = publish_case) -> None:
    """Every row twice, and a model that counts rows doubled: the same classes, twice as large."""
    if case.algorithm.traits.splits or any(part.row_counts is None for part in case.model.parts()):
        return
    population = None if case.population is None else pa.concat_tables([case.population, case.population])
    twice = pa.concat_tables([case.table, case.table])
    other = replace(case, table=twice, model=scale_model(case.model, 2), population=population)
    once, doubled = (_vectors(publish(given)) for given in (case, other))
    expect(
        doubled == Counter({vector: 2 * size for vector, size in once.items()}),
        "doubling every row changes the classes",
    )


def _rename_table(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    return table.rename_columns([names[name] for name in table.column_names])


def _vectors(release: Release) -> Counter[tuple[Any, ...]]:
    return Counter(project_rows(release.table.to_pylist(), release.schema.quasi))


def _count_decided_rows(case: Case, release: Release) -> Counter[tuple[Any, ...]]:
    """Count the published rows, without columns that are drawn at random."""
    names = sorted(release.table.column_names[index] for index in _places(case, release))
    return Counter(project_rows(release.table.to_pylist(), names))


def _places(case: Case, release: Release) -> list[int]:
    """Return the columns that do not depend on chance.

    An algorithm that splits rows with equal vectors lets chance decide which of them goes where, except for the
    columns that the model looks at.
    """
    names = release.table.column_names
    if not case.algorithm.traits.splits:
        return list(range(len(names)))
    decided = {*release.schema.quasi, *(name for key in case.model.keys for name in key)}
    return [index for index, name in enumerate(names) if name in decided]


def _at(rows: list[tuple[Any, ...]], indices: list[int]) -> list[tuple[Any, ...]]:
    return [tuple(row[index] for index in indices) for row in rows]
