"""Edits of a tree of values as functions of its rows: each row is a value and its coarser values, the top last.

On a level, a member (a value of the level below) is in a group, or it is unmodified and has its own name there. Every
edit leaves the rows nested: a group has one parent, and a member that joins a group has that parent too.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from indistinct.errors import ParameterError
from indistinct.hierarchy import Explicit, Hierarchy
from indistinct.hierarchy.taxonomy import ROOT
from indistinct.hierarchy.trees import Row, nest

Rows = tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A label of a level and its members below; with `alone`, a single ungrouped member."""

    label: str
    members: tuple[str, ...]

    @property
    def alone(self) -> bool:
        """Whether this is a member that is in no group."""
        return self.members == (self.label,)


def tree_of(rows: Rows, *, rooted: bool = True) -> Explicit:
    """Return the hierarchy of rows as a policy has it inline.

    >>> tree_of((("flu", "infection", "*"), ("ulcer", "stomach", "*"))).to_json()
    {'tree': {'*': {'infection': ['flu'], 'stomach': ['ulcer']}}}
    """
    return Hierarchy.tree(nest(rows), rooted=rooted)


def rows_of_values(values: Iterable[str]) -> Rows:
    """Return values below one top, with a level between on which each is unmodified.

    >>> rows_of_values(["flu", "ulcer"])
    (('flu', 'flu', '*'), ('ulcer', 'ulcer', '*'))
    """
    return tuple((value, value, ROOT) for value in values)


def levels_of(rows: Rows, *, rooted: bool = True) -> range:
    """Return the levels that have groups: those above the values and, where there is one top, below it."""
    return range(1, len(rows[0]) - 1 if rooted else len(rows[0]))


def groups_of(rows: Rows, level: int) -> tuple[Group, ...]:
    """Return the groups of a level, and the unmodified members, in the order of the rows.

    >>> groups_of((("flu", "infection", "*"), ("ulcer", "ulcer", "*")), 1)
    (Group(label='infection', members=('flu',)), Group(label='ulcer', members=('ulcer',)))
    """
    groups: dict[str, dict[str, None]] = {}
    for row in rows:
        groups.setdefault(row[level], {})[row[level - 1]] = None
    return tuple(Group(label, tuple(members)) for label, members in groups.items())


def put(rows: Rows, members: Collection[str], *, level: int, group: str) -> Rows:
    """Return rows with some members of a level in a group, which is made if it is not there.

    >>> put(rows_of_values(["flu", "cold", "ulcer"]), ["flu", "cold"], level=1, group="infection")
    (('flu', 'infection', '*'), ('cold', 'infection', '*'), ('ulcer', 'ulcer', '*'))
    """
    moved = set(members)
    present = next((row for row in rows if row[level] == group and row[level - 1] not in moved), None)
    first = next((row for row in rows if row[level - 1] in moved), None)
    above = present[level + 1 :] if present else () if first is None else _above(first, level, group)
    return tuple((*row[:level], group, *above) if row[level - 1] in moved else row for row in rows)


def rename(rows: Rows, group: str, *, level: int, name: str) -> Rows:
    """Rename a group; if another group has the name, both are merged."""
    return put(rows, _members(rows, group, level), level=level, group=name)


def remove_group(rows: Rows, group: str, *, level: int) -> Rows:
    """Dissolve a group on its level."""
    return take_out(rows, _members(rows, group, level), level=level)


def take_out(rows: Rows, members: Iterable[str], *, level: int) -> Rows:
    """Remove members from their groups on a level."""
    for member in members:
        rows = put(rows, [member], level=level, group=member)
    return rows


def add_level(rows: Rows, *, rooted: bool = True) -> Rows:
    """Return rows with one more level below the top, on which everything is unmodified.

    >>> add_level((("flu", "infection", "*"),))
    (('flu', 'infection', 'infection', '*'),)
    """
    return tuple((*row[:-1], row[-2], row[-1]) if rooted else (*row, row[-1]) for row in rows)


def remove_level(rows: Rows, level: int) -> Rows:
    """Return rows without a level."""
    if len(rows[0]) <= 2:
        raise ParameterError("a tree keeps one level above its values", hint="choose suppression instead")
    return tuple((*row[:level], *row[level + 1 :]) for row in rows)


def add_top(rows: Rows) -> Rows:
    """Return rows with one value above all others."""
    return tuple((*row, ROOT) for row in rows)


def add_values(rows: Rows, values: Iterable[str], *, rooted: bool = True) -> Rows:
    """Return rows with more values, each unmodified on every level but the top.

    A group that has the name of a value takes it in.

    >>> add_values((("flu", "infection", "*"),), ["ulcer"])
    (('flu', 'infection', '*'), ('ulcer', 'ulcer', '*'))
    """
    above = [{row[level]: row[level + 1 :] for row in rows} for level in range(len(rows[0]))]
    top = rows[0][-1:] if rooted else ()
    return (*rows, *(_complete_row(value, above, top) for value in values))


def _complete_row(value: str, above: Sequence[dict[str, Row]], top: Row) -> Row:
    """Return the row of a value: its groups on all levels, or the value itself where it has none."""
    width = len(above)
    for level in range(1, width):
        if value in above[level]:
            return (*[value] * (level + 1), *above[level][value])
    return (*[value] * (width - len(top)), *top)


def _members(rows: Rows, group: str, level: int) -> list[str]:
    """Return the members of a group."""
    return list(dict.fromkeys(row[level - 1] for row in rows if row[level] == group))


def _above(row: Row, level: int, group: str) -> Row:
    """Return the levels above a new group: those of a member, except levels that only repeat it."""
    kept = list(row)
    for index in range(level + 1, len(row)):
        if row[index] != row[index - 1]:
            break
        kept[index] = group
    return tuple(kept[level + 1 :])
