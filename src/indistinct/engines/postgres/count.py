"""Counting with PostgreSQL: one GROUP BY in the database."""

from collections.abc import Sequence

import numpy as np

from indistinct.engines.finding import Learned
from indistinct.engines.groups import Fetch, Groups, count_groups
from indistinct.engines.postgres.source import PostgresTable
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.tables.value import Table


def count_source(source: PostgresTable, request: Request) -> tuple[Counted, Learned | None]:
    """Return what was asked for, and how rows find their cell again."""
    if not source.rows:
        raise InputError("the table has no rows", hint="check that this is the right table")
    alone = {name: source.alone(name) for name in request.alone}
    if not request.quasi:  # the whole table is one cell
        whole = FrequencySet((), np.zeros((1, 0), dtype=np.int32), Classes(np.array([source.rows])))
        return Counted((), whole, alone=alone), None
    return count_groups(
        source.groups,
        request,
        columns=source.columns,
        population=_population(request.population),
        alone=alone,
    )


def _population(source: object) -> Fetch | None:
    """Return what fetches groups of a population: of a database, or of a table in memory, in which each row is one."""
    if isinstance(source, PostgresTable):
        return source.groups
    if not isinstance(source, Table):
        return None
    data = source.data

    def rows(columns: Sequence[str]) -> Groups:
        there = [name for name in columns if name in data.column_names]
        return Groups(data.select(there), np.ones(data.num_rows, dtype=np.int64))

    return rows
