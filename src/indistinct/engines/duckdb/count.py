"""Counting with DuckDB: one GROUP BY, which spills to disk where it must."""

from collections.abc import Sequence

import numpy as np

from indistinct.engines.duckdb.source import SOURCE, DuckTable, quoted
from indistinct.engines.finding import Learned
from indistinct.engines.groups import count_groups
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import Classes, FrequencySet


def count_source(source: DuckTable, request: Request) -> tuple[Counted, Learned | None]:
    """Return what was asked for, and how rows find their cell again."""
    if not source.rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    alone = {name: source.alone(name) for name in request.alone}
    if not request.quasi:  # the whole table is one cell
        whole = FrequencySet((), np.zeros((1, 0), dtype=np.int32), Classes(np.array([source.rows])))
        return Counted((), whole, alone=alone), None
    others = request.population
    return count_groups(
        source.groups,
        request,
        columns=source.columns,
        population=others.groups if isinstance(others, DuckTable) else None,
        alone=alone,
    )


def estimated_values(source: DuckTable, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Return how many combinations of values some columns have, and how many values each of them, about.

    Where DuckDB has too little memory to say, every row may have its own.
    """
    import duckdb

    names = [quoted(name) for name in columns]
    asked = [f"hash({', '.join(names)})", *names]
    counts = ", ".join(f"approx_count_distinct({each})" for each in asked)
    try:
        found = source.query(f"SELECT {counts} FROM {SOURCE}").fetchall()[0]  # noqa: S608
    except duckdb.OutOfMemoryException:
        found = (source.rows,) * len(asked)
    cells, *values = (min(int(count), source.rows) for count in found)
    return cells, dict(zip(columns, values, strict=True))
