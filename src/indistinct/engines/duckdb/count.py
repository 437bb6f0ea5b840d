"""Counting with DuckDB: one GROUP BY, which spills to disk where it must."""

from collections.abc import Sequence

from indistinct.engines import groups
from indistinct.engines.duckdb.source import SOURCE, DuckTable, quoted
from indistinct.engines.finding import Learned
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request


def count_source(source: DuckTable, request: Request) -> tuple[Counted, Learned | None]:
    """Return what was asked for, and how rows find their cell again."""
    others = request.population
    population = others.groups if isinstance(others, DuckTable) else None
    return groups.count_source(source, request, population=population, what="file")


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
