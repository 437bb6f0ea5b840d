"""Sources whose columns are transformed: engines count and publish what is published, and never see what was there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from indistinct.engines.base import Source
from indistinct.engines.groups import Fetch
from indistinct.errors import ParameterError
from indistinct.frequencies.singled_out import rows_alone
from indistinct.recoding.transformations import Transformation, Transformed, transformed_columns
from indistinct.tables.value import Table


@runtime_checkable
class Transformable(Protocol):
    """A source beyond memory that transforms the columns of its groups and batches as it gives them away."""

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow types of the columns."""

    def groups(self, columns: Sequence[str]) -> Any:
        """Return the distinct combinations of some columns, and how many rows have each."""

    def transformed(self, transformed: Transformed) -> Source:
        """Return the same source with columns that are transformed."""


def transformed_source(source: Source, transformations: Mapping[str, Transformation]) -> tuple[Source, Transformed]:
    """Return a source with transformed columns, and what was done to them.

    Raises where a column is not what its transformation is for, or where the source cannot transform.
    """
    if isinstance(source, Table):
        data = source.data
        made = transformed_columns(transformations, {each.name: each.type for each in data.schema}, data.column)
        return (replace(source, data=made.table(data), learned={}) if transformations else source), made
    if not transformations:
        return source, Transformed({}, {}, {})
    if not isinstance(source, Transformable):
        raise ParameterError(
            f"a {type(source).__name__} transforms no columns yet: {', '.join(map(repr, transformations))}",
            hint="use the engine memory, duckdb or postgres, or transform the columns in the frame itself",
        )
    types = {each.name: each.type for each in source.arrow}
    made = transformed_columns(transformations, types, lambda name: source.groups([name]).table[name])
    return source.transformed(made), made


def alone_in_groups(fetch: Fetch, column: str) -> int:
    """Return how many rows have a value of a transformed column that no other row has."""
    found = fetch([column])
    cells, counts = found.table[column], found.counts
    # A group of several rows stands for no row alone: twice is enough to say so.
    return rows_alone(cells.take(pa.array(np.repeat(np.arange(len(counts)), np.minimum(counts, 2)))))


def once_in_groups(fetch: Fetch, columns: Sequence[str]) -> int:
    """Return how many rows have a combination of values, transformed ones too, that no other row has."""
    found = fetch(columns)
    rows = pa.table({f"c{place}": found.table[name] for place, name in enumerate(columns)})
    rows = rows.append_column("rows", pa.array(found.counts))
    united = rows.group_by(rows.column_names[:-1]).aggregate([("rows", "sum")])
    return int((united["rows_sum"].to_numpy() == 1).sum())
