"""Nested trees as tables: a branch that ends early is padded by repeating its value towards the top."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from indistinct.errors import HierarchyError

Row = tuple[str, ...]


def flatten(nested: Mapping[str, object]) -> tuple[Row, ...]:
    """Return a row for each leaf, from the leaf to the top; the rows of one node are adjacent.

    A mapping has nodes and what is below them, a list has leaves (or mappings), and a node with nothing below is a leaf
    itself.
    """
    if not isinstance(nested, Mapping) or not nested:
        raise HierarchyError("a tree must be a nested mapping", hint=_HINT)
    paths = list(_paths(nested, ()))
    height = max(map(len, paths))
    rows = [(path[0],) * (height - len(path)) + path for path in paths]
    # A branch may be written in two places; sorting by each node's first occurrence joins it.
    positions: dict[Row, int] = {}
    for row in rows:
        for depth in range(1, height + 1):
            positions.setdefault(row[-depth:], len(positions))
    return tuple(sorted(rows, key=lambda row: [positions[row[-depth:]] for depth in range(1, height + 1)]))


def nest(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the tree that `flatten` turns into these rows, without the padding that `flatten` adds."""
    padded = all(row[0] == row[1] for row in rows)
    return _nest_rows(rows, len(rows[0]) - 1, trim=not padded)


_HINT = 'for instance {"*": {"married": ["civil", "church"], "single": []}}'


def _paths(below: object, above: Row) -> Iterator[Row]:
    """Yield the path of each leaf of a nested mapping."""
    if isinstance(below, Mapping):
        for label, children in below.items():
            here = (text_of(label), *above)
            if children is None or (isinstance(children, Mapping | Sequence) and not children):
                yield here
            else:
                yield from _paths(children, here)
    elif isinstance(below, Sequence) and not isinstance(below, str):
        for child in below:
            if isinstance(child, Mapping):
                yield from _paths(child, above)
            else:
                yield (text_of(child), *above)
    else:
        raise HierarchyError("below a node of a tree comes a mapping or a list of values", hint=_HINT)


def _nest_rows(rows: Sequence[Row], level: int, *, trim: bool) -> dict[str, Any]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[level], []).append(row)
    return {label: _below(group, level, trim=trim) for label, group in groups.items()}


def _below(rows: Sequence[Row], level: int, *, trim: bool) -> dict[str, Any] | list[str]:
    """Return the nested tree below a node."""
    if level == 0 or (trim and len(rows) == 1 and set(rows[0][: level + 1]) == {rows[0][level]}):
        return []
    nested = _nest_rows(rows, level - 1, trim=trim)
    return nested if any(nested.values()) else list(nested)


def text_of(value: object) -> str:
    """Convert a declared value to the text that is matched with the data; None, missing, is the empty text."""
    if isinstance(value, Mapping | Sequence | Set) and not isinstance(value, str):
        raise HierarchyError(
            "a value of a hierarchy must be a text, a number or a date", hint="write one list a raw value"
        )
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return "" if value is None else str(value)
