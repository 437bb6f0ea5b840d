"""Which labels are suppressed, each for a whole class, so that every group is large enough and has no frequent value.

Sets of one token, then of two, then of three are listed; while a group is too small or has a value too often, the label
that is in most of them, relative to its rows, is suppressed in its class. The verifier counts independently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from indistinct.errors import ParameterError
from indistinct.linked._set_kernels import BITS, list_sets, meet_violations
from indistinct.linked.guarantee import ALL, KnownRows, LinkedAnonymity
from indistinct.linked.judge import MAX_GROUP_ENTRIES, multiset_numbers, subset_bound
from indistinct.linked.view import number_rows
from indistinct.machine.arrays import Codes, run_entries, starts_of

SETS_AT_ONCE = 8_000_000
"""Upper limit of the sets that are listed at a time, in whole classes."""

CELLS_PER_CHOICE = 8
"""Cells of a class among which one is suppressed at a time, where a table is known completely."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelRows:
    """The rows of a table in a search: person, label, and the sensitive values of each row, one array a column."""

    person: Codes
    label: Codes
    values: tuple[Codes, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LabelCells:
    """The rows of all tables by cell, a label of a table in a class; cells are sorted by class.

    `carriers` are distinct triples of cell, person and value, with cell -1 for values of the people table.
    """

    people: int
    classes: Codes
    person: Codes
    cell: Codes
    cell_class: Codes
    cell_table: Codes
    rows: Codes
    carriers: tuple[Codes, Codes, Codes]
    first_row: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Violations:
    """Groups that violate the model: the class of each, the cells of its set, and its frequent value or -1."""

    classes: Codes
    sets: Codes
    value: Codes

    def __len__(self) -> int:
        return len(self.classes)


def suppressed_rows(
    classes: Codes,
    tables: Mapping[str, LabelRows],
    own_values: Sequence[Codes],
    knowledge: KnownRows,
    model: LinkedAnonymity,
) -> dict[str, Codes] | None:
    """Return the rows of each table to delete so that the model holds; None if the classes alone violate it.

    `classes` has the class of each person, and `own_values` the sensitive values of the people table, a column each.
    """
    cells = _cells(classes, tables, own_values if model.l is not None else (), model)
    known = [knowledge.tables[name] for name in tables]
    alive = np.ones(len(cells.cell_class), dtype=bool)
    size = 0
    while size <= knowledge.rows:
        violations = _violations(cells, alive, known, knowledge, model, size)
        if not len(violations):
            size += 1
            continue
        chosen = _choose(cells, alive, known, violations)
        if not chosen.any():
            return None
        alive &= ~chosen
        if ALL in known:
            size = 0  # people who differed in a deleted label are one group from now on
        elif model.l is None:
            size += 1  # every violating set lost a label, and no other set has fewer people than before
    return _rows_of(cells, alive, tables)


def _rows_of(cells: LabelCells, alive: Codes, tables: Mapping[str, LabelRows]) -> dict[str, Codes]:
    """Return which rows of each table are deleted."""
    dead = ~alive[cells.cell]
    return {
        name: dead[first : first + len(rows.person)]
        for first, (name, rows) in zip(cells.first_row, tables.items(), strict=True)
    }


def _cells(
    classes: Codes, tables: Mapping[str, LabelRows], own_values: Sequence[Codes], model: LinkedAnonymity
) -> LabelCells:
    """Group the rows of all tables to cells: class and label."""
    person = np.concatenate([np.zeros(0, dtype=np.int64), *(rows.person for rows in tables.values())])
    sizes = [int(rows.label.max(initial=-1)) + 1 for rows in tables.values()]
    offsets = starts_of(sizes)
    label = np.concatenate(
        [np.zeros(0, np.int64), *(r.label + o for r, o in zip(tables.values(), offsets, strict=False))]
    )
    distinct, cell = np.unique(classes[person] * (int(offsets[-1]) + 1) + label, return_inverse=True)
    labels = distinct % (int(offsets[-1]) + 1)
    table = np.searchsorted(offsets, labels, side="right") - 1
    carriers = _carriers(person, cell, tables, own_values) if model.l is not None else (person[:0],) * 3
    counts = np.bincount(cell, minlength=len(distinct))
    first_row = starts_of([len(rows.person) for rows in tables.values()])[:-1]
    return LabelCells(
        len(classes),
        classes,
        person,
        cell,
        distinct // (int(offsets[-1]) + 1),
        table,
        counts,
        carriers,
        tuple(first_row.tolist()),
    )


def _carriers(
    person: Codes, cell: Codes, tables: Mapping[str, LabelRows], own_values: Sequence[Codes]
) -> tuple[Codes, Codes, Codes]:
    """Return the distinct (cell, person, value) of all sensitive columns; values of different columns differ."""
    parts: list[tuple[Codes, Codes, Codes]] = []
    first, begun = 0, 0
    for values in own_values:
        parts.append((np.full(len(values), -1), np.arange(len(values)), values + begun))
        begun += int(values.max(initial=-1)) + 1
    for rows in tables.values():
        run = slice(first, first + len(rows.person))
        for values in rows.values:
            parts.append((cell[run], person[run], values + begun))
            begun += int(values.max(initial=-1)) + 1
        first += len(rows.person)
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    columns = [np.concatenate([part[i] for part in parts]).astype(np.int64) for i in range(3)]
    distinct = np.unique(np.column_stack(columns), axis=0)
    return distinct[:, 0], distinct[:, 1], distinct[:, 2]


def _violations(
    cells: LabelCells, alive: Codes, known: Sequence[object], knowledge: KnownRows, model: LinkedAnonymity, size: int
) -> Violations:
    """Return the groups of sets of `size` tokens that violate the model."""
    parts = _parts(cells, alive, known)
    part_order = np.argsort(parts, kind="stable")
    position = np.empty(cells.people, dtype=np.int64)
    position[part_order] = np.arange(cells.people)
    lists = _value_lists(cells, alive, parts, position, model)
    if size == 0:
        sizes = np.bincount(parts)
        class_of = np.zeros(len(sizes), dtype=np.int64)
        class_of[parts] = cells.classes
        group, value = _judge_groups(parts[part_order], np.arange(cells.people), lists, model)
        return Violations(class_of[group], np.full((len(group), 3), -1), value)
    tokens = _tokens(cells, alive, parts, position, known, knowledge)
    groups = [
        _violations_of_run(cells, tokens, first, last, lists, knowledge, known, model, size)
        for first, last in _runs(tokens, parts[part_order], knowledge.rows)
    ]
    if not groups:
        return Violations(np.zeros(0, np.int64), np.zeros((0, 3), np.int64), np.zeros(0, np.int64))
    return Violations(
        *(np.concatenate([getattr(each, name) for each in groups]) for name in ("classes", "sets", "value"))
    )


def _parts(cells: LabelCells, alive: Codes, known: Sequence[object]) -> Codes:
    """Divide classes by the rows of completely known tables."""
    columns = [cells.classes]
    live = alive[cells.cell]
    for number, each in enumerate(known):
        if each == ALL:
            rows = live & (cells.cell_table[cells.cell] == number)
            columns.append(multiset_numbers(cells.person[rows], cells.cell[rows], cells.people))
    return number_rows(columns, cells.people)[0]


@dataclass(frozen=True, slots=True, eq=False)
class _Tokens:
    """Tokens by person, people in the order of their parts; `token` numbers (part, cell, weight) in ascending order."""

    starts: Codes
    token: Codes
    cell: Codes
    weight: Codes
    table: Codes


def _tokens(
    cells: LabelCells, alive: Codes, parts: Codes, position: Codes, known: Sequence[object], knowledge: KnownRows
) -> _Tokens:
    """Return the rows that an attacker may know as tokens of each person."""
    limits = np.array([0 if each == ALL else each for each in known], dtype=np.int64)
    most = np.minimum(limits, knowledge.rows)
    live = alive[cells.cell] & (most[cells.cell_table[cells.cell]] > 0)
    width = len(cells.cell_class) + 1
    pairs, counts = np.unique(position[cells.person[live]] * width + cells.cell[live], return_counts=True)
    counts = np.minimum(counts, most[cells.cell_table[pairs % width]])
    at = np.repeat(pairs, counts)
    weight = run_entries(np.ones(len(pairs), dtype=np.int64), counts)
    person, cell = at // width, at % width
    part = np.empty(cells.people, dtype=np.int64)
    part[position] = parts
    token = np.unique((part[person] * width + cell) * 4 + weight, return_inverse=True)[1]
    return _Tokens(starts_of(np.bincount(person, minlength=cells.people)), token, cell, weight, cells.cell_table[cell])


def _runs(tokens: _Tokens, parts: Codes, rows: int) -> list[tuple[int, int]]:
    """Return runs of people, whole parts each, whose sets are listed together."""
    cost = starts_of(subset_bound(np.diff(tokens.starts), rows))
    ends = np.append(np.flatnonzero(parts[1:] != parts[:-1]) + 1, len(parts))
    runs, first, before = [], 0, 0
    for end in ends.tolist():
        wide = tokens.starts[end] - tokens.starts[first] > 1 << BITS
        if before > first and (cost[end] - cost[first] > SETS_AT_ONCE or wide):
            runs.append((first, before))
            first = before
        before = end
    return [*runs, (first, before)] if before > first else runs


def _violations_of_run(
    cells: LabelCells,
    tokens: _Tokens,
    first: int,
    last: int,
    lists: "_ValueLists",
    knowledge: KnownRows,
    known: Sequence[object],
    model: LinkedAnonymity,
    size: int,
) -> Violations:
    """Return the combinations of known rows with fewer than k people in a run of people."""
    low, high = int(tokens.starts[first]), int(tokens.starts[last])
    distinct, token = np.unique(tokens.token[low:high], return_inverse=True)
    cell_of = np.zeros(len(distinct), dtype=np.int64)
    cell_of[token] = tokens.cell[low:high]
    limits = np.array([0 if each == ALL else each for each in known], dtype=np.int64)
    given = (
        tokens.starts[first : last + 1] - low,
        token.astype(np.int64),
        tokens.cell[low:high],
        tokens.weight[low:high],
        tokens.table[low:high],
        limits,
        knowledge.rows,
        size,
    )
    count = list_sets(*given, np.zeros(0, np.int64), np.zeros(0, np.int64), False)
    check_size(count)
    words, owners = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    list_sets(*given, words, owners, True)
    sets, group = np.unique(words, return_inverse=True)
    wrong, value = _judge_groups(group, owners + first, lists, model)
    chosen = np.full((len(wrong), 3), -1, dtype=np.int64)
    for column in range(size):
        chosen[:, column] = cell_of[(sets[wrong] >> (BITS * column)) & ((1 << BITS) - 1)]
    return Violations(cells.cell_class[chosen[:, 0]], chosen, value)


def check_size(count: int) -> None:
    """Raise where one class has too many combinations of known rows."""
    if count > MAX_GROUP_ENTRIES:
        raise ParameterError(
            f"one class has {count:,} combinations of known rows; at most {MAX_GROUP_ENTRIES:,} are counted",
            hint="declare fewer known rows, or coarser codes",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _ValueLists:
    """The sensitive values that each person shows, people in the order of their parts."""

    starts: Codes
    values: Codes


def _value_lists(cells: LabelCells, alive: Codes, parts: Codes, position: Codes, model: LinkedAnonymity) -> _ValueLists:
    """Return the values in remaining rows that can be too frequent among k people."""
    cell, person, value = cells.carriers
    if model.ratio is None or not len(cell):
        return _ValueLists(np.zeros(cells.people + 1, np.int64), np.zeros(0, np.int64))
    alive_values = (cell < 0) | _are_alive(alive, cell)
    width = int(value.max()) + 1
    pairs = np.unique(position[person[alive_values]] * width + value[alive_values])
    owner, own = pairs // width, pairs % width
    part = np.empty(cells.people, dtype=np.int64)
    part[position] = parts
    _, inverse, counts = np.unique(part[owner] * width + own, return_inverse=True, return_counts=True)
    kept = counts[inverse] * model.ratio[0] > model.k * model.ratio[1]
    return _ValueLists(starts_of(np.bincount(owner[kept], minlength=cells.people)), own[kept])


def _are_alive(alive: Codes, cell: Codes) -> Codes:
    """Return whether each cell is not suppressed; -1, which is no cell, is not alive."""
    return np.append(alive, False)[cell]


def _judge_groups(group: Codes, person: Codes, lists: _ValueLists, model: LinkedAnonymity) -> tuple[Codes, Codes]:
    """Return the groups that are too small, with value -1, and those that show a value too often, with the value."""
    sizes = np.bincount(group)
    small = np.flatnonzero((sizes < model.k) & (sizes > 0))
    if model.ratio is None or not len(lists.values):
        return small, np.full(len(small), -1)
    counts = np.diff(lists.starts)[person]
    values = lists.values[run_entries(lists.starts[:-1][person], counts)]
    width = int(lists.values.max()) + 1
    pairs, times = np.unique(np.repeat(group, counts) * width + values, return_counts=True)
    frequent = times * model.ratio[0] > sizes[pairs // width] * model.ratio[1]
    wrong = pairs[frequent]
    return np.concatenate([small, wrong // width]), np.concatenate([np.full(len(small), -1), wrong % width])


def _choose(cells: LabelCells, alive: Codes, known: Sequence[object], violations: Violations) -> Codes:
    """Return the cells to suppress: all that meet the violations of a class.

    With completely known tables, the best few.

    What a deleted label of such a table does to the groups is counted again before many more follow.
    """
    if ALL not in known:
        return _meet(cells, alive, violations)
    chosen = np.zeros(len(alive), dtype=bool)
    votes = np.zeros(len(alive), dtype=np.int64)
    for column in range(violations.sets.shape[1]):
        named = violations.sets[:, column]
        np.add.at(votes, named[named >= 0], 1)
    groups = np.bincount(violations.classes, minlength=int(cells.classes.max(initial=0)) + 1)
    differing = _differing(cells, alive, known)
    votes[differing] += groups[cells.cell_class[differing]]
    value, cell, times = _carriers_of_frequent(cells, alive, violations)[:3]
    np.add.at(votes, cell, times[value])
    votes[~alive] = 0
    voted = np.flatnonzero(votes)
    order = voted[np.lexsort((voted, -(votes[voted] / cells.rows[voted]), cells.cell_class[voted]))]
    counts = np.bincount(cells.cell_class[order])
    rank = run_entries(np.zeros(len(counts), dtype=np.int64), counts)
    chosen[order[rank * CELLS_PER_CHOICE < np.maximum(counts[cells.cell_class[order]], 1)]] = True
    return chosen


def _carriers_of_frequent(cells: LabelCells, alive: Codes, violations: Violations) -> tuple[Codes, Codes, Codes, Codes]:
    """Return pairs of a frequent value and a cell that carries it, violations by value, and each violation's value.

    A frequent value is one of a class, and has a number of its own; a violation without one has -1.
    """
    cell, _, value = cells.carriers
    frequent = violations.value >= 0
    width = int(value.max(initial=0)) + 1
    wanted, number, times = np.unique(
        violations.classes[frequent] * width + violations.value[frequent], return_inverse=True, return_counts=True
    )
    own = np.full(len(violations), -1, dtype=np.int64)
    own[frequent] = number
    live = _are_alive(alive, cell)
    words = cells.cell_class[cell[live]] * width + value[live]
    at = np.searchsorted(wanted, words)
    match = at < len(wanted)
    match[match] = wanted[at[match]] == words[match]
    pairs = np.unique(at[match] * len(alive) + cell[live][match])
    return pairs // len(alive), pairs % len(alive), times, own


def _meet(cells: LabelCells, alive: Codes, violations: Violations) -> Codes:
    """Return cells that meet all violations of each class."""
    chosen = np.zeros(len(alive), dtype=bool)
    value, cell, times, own = _carriers_of_frequent(cells, alive, violations)
    order = np.argsort(violations.classes, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(violations.classes[order], prepend=-1)), len(order))
    by_cell = np.argsort(cell, kind="stable")
    meet_violations(
        violations.sets[order],
        own[order],
        starts,
        cells.rows,
        starts_of(np.bincount(value, minlength=len(times))),
        cell,
        starts_of(np.bincount(cell, minlength=len(alive))),
        value[by_cell],
        chosen,
    )
    return chosen


def _differing(cells: LabelCells, alive: Codes, known: Sequence[object]) -> Codes:
    """Return the cells of completely known tables with counts that differ among the people of a class."""
    whole = np.array([each == ALL for each in known], dtype=bool)
    live = alive[cells.cell] & whole[cells.cell_table[cells.cell]]
    width = len(alive)
    pairs, counts = np.unique(cells.person[live] * width + cells.cell[live], return_counts=True)
    cell = pairs % width
    least, most = np.full(width, np.iinfo(np.int64).max), np.zeros(width, dtype=np.int64)
    np.minimum.at(least, cell, counts)
    np.maximum.at(most, cell, counts)
    holders = np.bincount(cell, minlength=width)
    people = np.bincount(cells.classes, minlength=int(cells.classes.max(initial=0)) + 1)
    return np.flatnonzero(alive & (most > 0) & ((least != most) | (holders < people[cells.cell_class])))
