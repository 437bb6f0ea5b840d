"""Counting with PostgreSQL: one GROUP BY in the database."""

from collections.abc import Sequence

import numpy as np

from indistinct.engines import groups
from indistinct.engines.finding import Learned
from indistinct.engines.groups import Fetch, Groups
from indistinct.engines.postgres.source import PostgresTable
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.tables.value import Table


def count_source(source: PostgresTable, request: Request) -> tuple[Counted, Learned | None]:
    """Return what was asked for, and how rows find their cell again."""
    return groups.count_source(source, request, population=_population(request.population), what="table")


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
