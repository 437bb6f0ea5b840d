"""What queries accept of the values that columns have: their conditions as boxes of codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.machine.arrays import Codes
from indistinct.metrics.queries.boxes import boxes_of
from indistinct.metrics.queries.value import All, Condition, Either, columns_in
from indistinct.metrics.queries.values import EVERY, ColumnValues, LineSet, ValueSet, column_values
from indistinct.metrics.queries.workload import Workload
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The boxes of a workload: the query that each belongs to, and its weight.

    `accepted` has for every column a matrix with a row a box and a column a code, or None if nobody asks for it.
    """

    owners: Codes
    weights: Codes
    accepted: tuple[Codes | None, ...]

    def __len__(self) -> int:
        return len(self.owners)


def boxes_of_workload(workload: Workload, domains: Sequence[Domain]) -> Boxes:
    """Return what the queries of a workload accept of some columns; conditions on others are left out."""
    columns = {domain.column: column_values(domain) for domain in domains}
    owners, weights, boxes = [], [], []
    for query, (asked, weight) in enumerate(zip(workload.queries, workload.weights, strict=True)):
        for box in boxes_of(_about(asked.rows, columns), columns):
            owners.append(query)
            weights.append(weight)
            boxes.append(box)
    accepted = []
    for domain in domains:
        rows = [box.get(domain.column) for box in boxes]
        everything = np.ones(len(domain), dtype=bool)
        asked_for = any(row is not None for row in rows)
        made = [everything if row is None else codes_in(row, domain) for row in rows]
        accepted.append(np.stack(made) if asked_for else None)
    return Boxes(np.array(owners, dtype=np.int64), np.array(weights, dtype=np.float64), tuple(accepted))


def _about(condition: Condition | None, columns: Mapping[str, ColumnValues]) -> Condition | None:
    """Return what is left of a condition that does not know of other columns."""
    if condition is None or all(name in columns for name in columns_in(condition)):
        return condition
    if isinstance(condition, All):
        parts = [part for each in condition.parts if (part := _about(each, columns)) is not None]
        return All(tuple(parts)) if parts else None
    if isinstance(condition, Either):
        either = [_about(each, columns) for each in condition.parts]
        return None if any(part is None for part in either) else Either(tuple(part for part in either if part))
    return None


def codes_in(values: ValueSet, domain: Domain) -> Codes:
    """Return for every code of a domain whether its value is in a set."""
    if isinstance(values, LineSet):
        positions = domain.positions()[int(domain.missing) :]
        inside = values.holds(positions)
    else:
        inside = values.levels[:-2] == EVERY
    return np.concatenate([[values.missing], inside]) if domain.missing else np.asarray(inside)
