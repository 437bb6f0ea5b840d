"""Queries drawn from a table: COUNT over ranges and sets of values, of about a wanted share of its rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import ParameterError, SchemaError
from indistinct.machine.arrays import Codes
from indistinct.metrics.queries.value import All, Compare, Constant, Query
from indistinct.schema import Schema, did_you_mean
from indistinct.tables import open_table
from indistinct.tables.domain import Kind, kind_of

DISTRIBUTIONS = ("data", "uniform")


def draw_queries(
    table: Any,
    schema: Schema,
    *,
    queries: int,
    attributes: int,
    selectivity: float,
    distribution: str,
    columns: Sequence[str] | None,
    seed: int | None,
) -> list[Query]:
    """Return queries of `attributes` columns each, every one of which allows its part of the wanted share of rows."""
    source = open_table(table)
    names = tuple(columns) if columns is not None else tuple(schema.quasi)
    _check(names, source.columns, schema, queries, attributes, selectivity, distribution)
    share = selectivity ** (1 / attributes)
    generator = np.random.default_rng(seed)
    known = {name: _Values.of(source.data[name]) for name in names}
    usable = [name for name in names if len(known[name].values)]
    if len(usable) < attributes:
        raise ParameterError(f"only {len(usable)} column(s) have values", hint="ask for fewer attributes")
    found = []
    for _ in range(queries):
        chosen = sorted(generator.choice(len(usable), size=attributes, replace=False).tolist())
        parts = [known[usable[index]].condition(usable[index], share, distribution, generator) for index in chosen]
        found.append(Query(where=parts[0] if len(parts) == 1 else All(tuple(parts))))
    return found


class _Values:
    """The distinct values of a column and how many rows have each; `ordered` if ranges mean something."""

    def __init__(self, values: list[Any], counts: Codes, *, ordered: bool) -> None:
        self.values, self.ordered = values, ordered
        self.running = np.concatenate([[0], np.cumsum(counts)]) / max(int(counts.sum()), 1)

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "_Values":
        ordered = kind_of(column.type) is not Kind.TEXT
        plain = column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column
        found = plain.drop_null().value_counts()
        values, counts = found.field("values"), found.field("counts").to_numpy(zero_copy_only=False)
        order = pa.compute.sort_indices(values.cast(pa.string()) if pa.types.is_boolean(values.type) else values)
        return cls(values.take(order).to_pylist(), counts[order.to_numpy()], ordered=ordered)

    def condition(self, name: str, share: float, distribution: str, generator: np.random.Generator) -> Compare:
        """Return a range, or a set of text, that about a share of the rows fulfils."""
        count = len(self.values)
        if distribution == "uniform":
            wanted = max(1, round(share * count))
            first = int(generator.integers(0, count - wanted + 1))
            places = list(range(first, first + wanted))
        else:
            start = generator.uniform(0, max(1 - share, 0.0))
            first = int(np.searchsorted(self.running, start, "right")) - 1
            last = max(first, int(np.searchsorted(self.running, start + share, "left")) - 1)
            places = list(range(min(first, count - 1), min(last, count - 1) + 1))
        if self.ordered:
            return Compare(name, "BETWEEN", (_plain(self.values[places[0]]), _plain(self.values[places[-1]])))
        if distribution == "uniform":
            places = sorted(generator.choice(count, size=len(places), replace=False).tolist())
        if len(places) == 1:
            return Compare(name, "=", (_plain(self.values[places[0]]),))
        return Compare(name, "IN", tuple(_plain(self.values[place]) for place in places))


def _plain(value: Any) -> Constant:
    return float(value) if type(value).__name__ == "Decimal" else value


def _check(
    names: Sequence[str],
    present: Sequence[str],
    schema: Schema,
    queries: int,
    attributes: int,
    selectivity: float,
    distribution: str,
) -> None:
    for name in names:
        if name in schema.hidden or name not in present:
            raise SchemaError(
                f"queries cannot be about column {name!r}, which is not published",
                hint=did_you_mean(name, schema.published) or f"choose among {', '.join(schema.published)}",
            )
    if queries < 1:
        raise ParameterError(f"`queries` must be at least 1; got {queries}")
    if not 1 <= attributes <= len(names):
        raise ParameterError(f"`attributes` must be from 1 to {len(names)}, the number of columns; got {attributes}")
    if not 0 < selectivity <= 1:
        raise ParameterError(f"`selectivity` must be above 0 and at most 1; got {selectivity}")
    if distribution not in DISTRIBUTIONS:
        raise ParameterError(
            f"there is no distribution {distribution!r}",
            hint=did_you_mean(distribution, DISTRIBUTIONS) or f"choose among {', '.join(DISTRIBUTIONS)}",
        )
