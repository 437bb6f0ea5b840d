"""Queries on plain rows, slow and obvious: every comparison is true, false or unknown, as in SQL."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from indistinct.metrics.queries.value import AllConditions, Compare, Condition, Either, IsMissing, Query

Row = Mapping[str, Any]


def truth(rows: Sequence[Row], query: Query, *, order: Mapping[str, Sequence[str]] | None = None) -> Any:
    """Return what SQL answers on rows, without groups; `order` gives the declared orders of columns."""
    chosen = [row for row in rows if query.where is None or holds(row, query.where, order or {}) is True]
    if query.target is None:
        return len(chosen)
    values = [row[query.target] for row in chosen if row[query.target] is not None]
    if query.aggregate == "COUNT":
        return len(values)
    if not values:
        return None
    made = {"SUM": sum, "MIN": min, "MAX": max, "AVG": lambda cells: sum(cells) / len(cells)}
    return made[query.aggregate](values)


def holds(row: Row, condition: Condition, order: Mapping[str, Sequence[str]]) -> bool | None:
    """Return whether a condition holds of a row; None where nobody knows."""
    match condition:
        case IsMissing(column, missing):
            return (row[column] is None) == missing
        case AllConditions(parts):
            found = [holds(row, part, order) for part in parts]
            return False if False in found else None if None in found else True
        case Either(parts):
            found = [holds(row, part, order) for part in parts]
            return True if True in found else None if None in found else False
        case Compare(column, operator, constants):
            return None if row[column] is None else compared(row[column], operator, constants, order.get(column))


def compared(cell: Any, operator: str, constants: Sequence[Any], order: Sequence[str] | None) -> bool:
    """Return whether a value stands beside constants as an operator says."""
    if isinstance(cell, str):
        constants = [str(each) for each in constants]
    if isinstance(cell, datetime.date):
        constants = [datetime.date.fromisoformat(each) if isinstance(each, str) else each for each in constants]
    if order is not None and operator not in ("=", "<>", "IN", "NOT IN"):
        cell, constants = order.index(cell), [order.index(each) for each in constants]
    made = {
        "=": lambda: cell == constants[0],
        "<>": lambda: cell != constants[0],
        "<": lambda: cell < constants[0],
        "<=": lambda: cell <= constants[0],
        ">": lambda: cell > constants[0],
        ">=": lambda: cell >= constants[0],
        "IN": lambda: cell in constants,
        "NOT IN": lambda: cell not in constants,
        "BETWEEN": lambda: constants[0] <= cell <= constants[1],
        "NOT BETWEEN": lambda: not constants[0] <= cell <= constants[1],
    }
    return made[operator]()
