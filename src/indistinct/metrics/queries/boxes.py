"""Conditions as boxes: sets of values for each column, so that published values are compared column by column.

The boxes of a condition do not overlap, so that their counts add up. The boxes of a workload are in codes.
"""

from collections.abc import Iterator, Mapping
from typing import assert_never

import numpy as np

from indistinct.errors import InputError
from indistinct.machine.arrays import Mask
from indistinct.metrics.queries.value import AllConditions, Compare, Condition, Either, IsMissing
from indistinct.metrics.queries.values import EVERY, ColumnValues, LineSet, ValueSet
from indistinct.tables.domain import Domain

Box = Mapping[str, ValueSet]
"""The allowed values of columns; a column that is not named may have any value."""
MAX_BOXES = 512


def boxes_of(condition: Condition | None, columns: Mapping[str, ColumnValues]) -> tuple[Box, ...]:
    """Return boxes without overlap that together contain the values that satisfy a condition; none if nothing does."""
    if condition is None:
        return ({},)
    return tuple(_join_boxes(_apart(_join_boxes(_boxes(condition, columns)))))


def _boxes(condition: Condition, columns: Mapping[str, ColumnValues]) -> list[Box]:
    """Convert a condition to boxes, one set of values per column; boxes may overlap."""
    match condition:
        case Compare(column=column):
            return _drop_empty([{column: columns[column].allowed(condition)}])
        case IsMissing(column, missing):
            return _drop_empty([{column: columns[column].missing(missing)}])
        case AllConditions(parts):
            boxes: list[Box] = [{}]
            for part in parts:
                more = _boxes(part, columns)
                boxes = _few(_drop_empty([_both(one, other) for one in boxes for other in more]))
            return boxes
        case Either(parts):
            return _few(_join_boxes([box for part in parts for box in _boxes(part, columns)]))
        case _:
            assert_never(condition)


def _both(one: Box, other: Box) -> Box:
    """Intersect two boxes."""
    shared = {name: one[name] & other[name] for name in one if name in other}  # type: ignore[operator]
    return {**one, **other, **shared}


def _drop_empty(boxes: list[Box]) -> list[Box]:
    return [box for box in boxes if not any(values.empty for values in box.values())]


def _join_boxes(boxes: list[Box]) -> list[Box]:
    """Join boxes that differ in one column: x < 5 or x >= 5 is one box, not two that each contain half of a class."""
    joined: list[Box] = []
    for box in boxes:
        grown, again = box, True
        while again:
            again = False
            for index, other in enumerate(joined):
                differ = [name for name in grown if name in other and grown[name] != other[name]]
                if grown.keys() == other.keys() and len(differ) <= 1:
                    same = {name: grown[name] | other[name] for name in differ}  # type: ignore[operator]
                    grown, again = {**grown, **same}, True
                    del joined[index]
                    break
        joined.append(grown)
    return joined


def _apart(boxes: list[Box]) -> list[Box]:
    """Divide boxes so that none overlaps another."""
    disjoint: list[Box] = []
    for box in boxes:
        parts = [box]
        for other in disjoint:
            parts = _few([piece for part in parts for piece in _without(part, other)])
        disjoint += parts
    return _few(disjoint)


def _without(box: Box, other: Box) -> Iterator[Box]:
    """Yield boxes without overlap with the values of `box` that are not in `other`."""
    inside: dict[str, ValueSet] = dict(box)
    pieces: list[Box] = []
    for name, values in other.items():
        own = inside.get(name)
        outside = ~values if own is None else own & ~values  # type: ignore[operator]
        within = values if own is None else own & values  # type: ignore[operator]
        if within.empty:
            yield box
            return
        if not outside.empty:
            pieces.append({**inside, name: outside})
        inside[name] = within
    yield from pieces


def _few(boxes: list[Box]) -> list[Box]:
    """Raise if a condition has too many boxes."""
    if len(boxes) > MAX_BOXES:
        raise InputError(
            f"the condition falls into more than {MAX_BOXES} parts that must be counted apart",
            hint="join fewer conditions by OR, or use IN for several values of one column",
        )
    return boxes


def codes_in(values: ValueSet, domain: Domain) -> Mask:
    """Return for every code of a domain whether its value is in a set."""
    if isinstance(values, LineSet):
        positions = domain.positions()[int(domain.missing) :]
        inside = values.holds(positions)
    else:
        inside = values.levels[:-2] == EVERY
    return np.concatenate([[values.missing], inside]) if domain.missing else np.asarray(inside)
