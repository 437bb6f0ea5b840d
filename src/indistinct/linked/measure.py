"""The cost of a release of several tables: deleted rows and lost information, by table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.frequencies.encode import encode_column
from indistinct.linked.arrays import offsets_of
from indistinct.linked.calendar import OPEN, units_of_days
from indistinct.linked.declared import LinkedPolicy, LinkedTable
from indistinct.linked.folder import blocks_of
from indistinct.linked.opened import OpenEvents, OpenTables, window_days
from indistinct.machine.arrays import Floats
from indistinct.recoding.columns import columns_of
from indistinct.schema import Schema
from indistinct.view.read_back import cover_of_rows


@dataclass(frozen=True, slots=True)
class TableCost:
    """The cost of one table: rows before and after, and the mean loss of its quasi-identifiers.

    The loss of a value is 0 where it is unmodified, and 1 where it is suppressed or its row is deleted. It is None for
    a table without quasi-identifiers and known times.
    """

    table: str
    original_rows: int
    rows: int
    loss: float | None

    @property
    def deleted(self) -> float:
        """Return the share of rows that are deleted."""
        return 1 - self.rows / self.original_rows if self.original_rows else 0.0


@dataclass(frozen=True, slots=True)
class LinkedMeasurements:
    """The cost of a release of several tables; `loss` is the mean over its tables."""

    tables: tuple[TableCost, ...]
    loss: float

    def to_json(self) -> dict[str, Any]:
        """Return the measurements as plain JSON values."""
        return {
            "loss": self.loss,
            "tables": [
                {
                    "table": each.table,
                    "original_rows": each.original_rows,
                    "rows": each.rows,
                    "deleted": each.deleted,
                    "loss": each.loss,
                }
                for each in self.tables
            ],
        }


def measure_release(opened: OpenTables, tables: Mapping[str, pa.Table]) -> LinkedMeasurements:
    """Measure the information loss of published tables, made by any tool, against their originals."""
    policy = opened.policy
    people = tables[policy.people.name]
    costs = [TableCost(policy.people.name, opened.size, people.num_rows, _people_loss(opened, people))]
    for table in policy.events:
        events = opened.events_of(table)
        loss = None
        if isinstance(events, OpenEvents) and table.is_counted:
            loss = _events_loss(policy, events, table, tables[table.name])
        rows = sum(block.num_rows for block in blocks_of(tables, table.name))
        costs.append(TableCost(table.name, events.rows, rows, loss))
    losses = [each.loss for each in costs if each.loss is not None]
    return LinkedMeasurements(tuple(costs), float(np.mean(losses)) if losses else 0.0)


def _people_loss(opened: OpenTables, data: pa.Table) -> float | None:
    """Return the mean loss of the people table, None without quasi-identifiers."""
    schema = opened.policy.people.schema
    if not schema.quasi or not opened.size:
        return None
    losses = _covered_shares(opened.people, data, schema.quasi, opened.policy.people.hierarchies)
    return float((np.mean(losses, axis=0).sum() + opened.size - len(data)) / opened.size)


def _covered_shares(
    originals: pa.Table, data: pa.Table, names: Sequence[str], hierarchies: Mapping[str, Any]
) -> list[Floats]:
    """Return, for each column and published row, the share of the column's other values that the label covers."""
    encoded = [originals[name].combine_chunks() for name in names]
    domains = [_domain(name, column) for name, column in zip(names, encoded, strict=True)]
    columns = columns_of(domains, {name: each for name, each in hierarchies.items() if name in names})
    covers = cover_of_rows(data.select(list(names)), columns, schema=Schema(quasi=names))
    return [(cover.lengths - 1) / max(len(domain) - 1, 1) for cover, domain in zip(covers, domains, strict=True)]


def _domain(name: str, column: Any) -> Any:
    return encode_column(name, pa.chunked_array([column]), required=False).domain


def _events_loss(policy: LinkedPolicy, events: OpenEvents, table: LinkedTable, data: pa.Table) -> float:
    """Return the mean loss of an event table."""
    names = [column.name for column in events.quasi]
    losses = []
    if names:
        originals = pa.table({column.name: column.values() for column in events.quasi})
        losses += _covered_shares(originals, data, names, table.hierarchies)
    if table.time is not None and not table.time.unknown:
        losses.append(_time_loss(policy, table, data))
    if not events.rows:
        return 0.0
    return float((np.mean(losses, axis=0).sum() + events.rows - len(data)) / events.rows)


def _time_loss(policy: LinkedPolicy, table: LinkedTable, data: pa.Table) -> Floats:
    """Return the loss of each published time as a share of the window."""
    ends = offsets_of(policy, table, data)
    if ends is None or policy.time is None:
        raise InputError(f"the times of table {table.name!r} are not offsets", hint="measure a release of this program")
    first, last = window_days(policy, table.name)
    span = int(units_of_days(np.array([last - first]), policy.time.unit)[0]) or 1
    is_open = (ends[0] <= -OPEN) | (ends[1] >= OPEN)
    return np.where(is_open, 1.0, np.clip((ends[1] - ends[0]) / span, 0.0, 1.0))
