"""Compare a release of several tables with its originals: whether every published person can be an original one.

A published person fits an original one if the labels of the class cover the original values, and the published rows are
the labels of all original rows, without those labels that no one of the class shows. A matching must exist in which
every published person has a different original person, so that no row was deleted, added or moved for single people.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy import Taxonomy
from indistinct.linked.arrays import LinkedArrays, arrays_of, offsets_of, owners_of, rows_by_person
from indistinct.linked.calendar import units_of_days
from indistinct.linked.declared import LinkedPolicy, LinkedTable
from indistinct.linked.judge import multiset_numbers
from indistinct.linked.opened import OpenEvents, OpenTables
from indistinct.linked.verify import LinkedCheck
from indistinct.machine.arrays import Codes, run_entries, starts_of
from indistinct.recoding.columns import columns_of
from indistinct.schema import Schema
from indistinct.view.read_back import cover_of_rows

NOTHING = -1
"""The label of an original row whose label no one of the class shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Original people and the classes whose labels cover them."""

    person: Codes
    group: Codes


def compare_with_originals(
    opened: OpenTables, tables: Mapping[str, pa.Table], levels: Mapping[str, Mapping[str, int]]
) -> LinkedCheck:
    """Return whether published tables can be a release of the originals.

    `levels` has the level of each generalized column of each table, as the certificate tells them; a list column is one
    of the people table.
    """
    policy = opened.policy
    owners = owners_of(policy, tables)
    arrays = arrays_of(policy, tables, owners, anchors_inside=True)
    pairs = _covering_pairs(opened, arrays, tables)
    observed, expected = [arrays.view.classes], [pairs.group]
    for events in opened.events:
        home = events.table if isinstance(events.table, LinkedTable) else policy.people
        try:
            labels = _expected_labels(opened, events, arrays, tables, owners, pairs, levels.get(home.name, {}))
        except InputError as error:
            return LinkedCheck("originals", False, error.message)
        rows = arrays.view.events[events.name]
        person = np.concatenate([rows.person, labels[0] + arrays.view.people])
        numbers = multiset_numbers(
            person, np.concatenate([rows.label, labels[1]]), arrays.view.people + len(pairs.person)
        )
        observed.append(numbers[: arrays.view.people])
        expected.append(numbers[arrays.view.people :])
    for passed in opened.passed:
        observed.append(rows_by_person(policy, tables, passed.table))
        expected.append(passed.persons.counts[pairs.person])
    unmatched = _unmatched(np.column_stack(observed), np.column_stack(expected), pairs.person)
    dropped = opened.size - arrays.view.people
    allowed = policy.suppression.allows(opened.size, "people")
    if unmatched:
        words = f"{unmatched:,} published people fit no original person of their own"
    elif not 0 <= dropped <= allowed:
        words = "more people are missing than the suppression limit allows"
    else:
        return LinkedCheck("originals", True, "every published person fits an original person of their own")
    return LinkedCheck("originals", False, words)


def _covering_pairs(opened: OpenTables, arrays: LinkedArrays, tables: Mapping[str, pa.Table]) -> Pairs:
    """Return each original person with each class whose labels cover the person's values."""
    policy = opened.policy
    quasi, size = policy.people.schema.quasi, len(arrays.vectors)
    if not quasi:
        return Pairs(np.arange(opened.size), np.zeros(opened.size, dtype=np.int64))
    encoded = [encode_column(name, opened.people[name], required=False) for name in quasi]
    columns = columns_of(
        [each.domain for each in encoded],
        {name: each for name, each in policy.people.hierarchies.items() if name in quasi},
    )
    vectors = pa.table(
        {name: pa.array([vector[i] for vector in arrays.vectors], pa.string()) for i, name in enumerate(quasi)}
    )
    covers = cover_of_rows(vectors, columns, schema=Schema(quasi=quasi))
    codes = [each.codes.astype(np.int64) for each in encoded]
    persons, groups = [], []
    for group in range(size):
        fits = np.arange(opened.size)
        for cover, own in zip(covers, codes, strict=True):
            fits = fits[cover.holds(own[fits], np.full(len(fits), group))]
        persons.append(fits)
        groups.append(np.full(len(fits), group))
    return Pairs(np.concatenate(persons), np.concatenate(groups))


def _expected_labels(
    opened: OpenTables,
    events: OpenEvents,
    arrays: LinkedArrays,
    tables: Mapping[str, pa.Table],
    owners: Mapping[str, Codes],
    pairs: Pairs,
    levels: Mapping[str, int],
) -> tuple[Codes, Codes]:
    """Return (pair, label) of each original row that its class shows, for every pair of a person and a class."""
    order = np.argsort(events.person, kind="stable")
    starts = starts_of(np.bincount(events.person, minlength=opened.size))
    counts = np.diff(starts)[pairs.person]
    rows = order[run_entries(starts[:-1][pairs.person], counts)]
    pair = np.repeat(np.arange(len(pairs.person)), counts)
    group = pairs.group[pair]
    quasi, names = _texts_of_rows(events, levels)
    known = arrays.labels[events.name]
    time = isinstance(events.table, LinkedTable) and events.table.time is not None and not events.table.time.unknown
    width = len(names[0]) if names else 0
    index: dict[tuple[Any, ...], int] = {}
    own = np.array([index.setdefault(label[:width], len(index)) for label in known], dtype=np.int64)
    coded = np.array([index.get(name, NOTHING) for name in names], dtype=np.int64)
    word = coded[quasi[rows]] if len(names) else np.zeros(len(rows), dtype=np.int64)
    view = arrays.view.events[events.name]
    shown_group, shown_word = arrays.view.classes[view.person], own[view.label] if len(known) else view.label
    slots: Codes = np.zeros(len(rows), dtype=np.int64)
    shown_slot: Codes = np.zeros(len(view.person), dtype=np.int64)
    if time and isinstance(events.table, LinkedTable):
        slots, shown_slot = _time_slots(opened.policy, events, tables, group, rows, shown_group)
    # A label of a class consists of the class, the texts and the time interval; labels that no one shows are dropped.
    wanted = np.column_stack([group, word, slots])
    have = np.column_stack([shown_group, shown_word, shown_slot])
    distinct, first = np.unique(have, axis=0, return_index=True)
    at = _find_rows(distinct, wanted)
    matching = (at >= 0) & (word >= 0) & (slots >= 0)
    return pair[matching], view.label[first[at[matching]]]


def _texts_of_rows(events: OpenEvents, levels: Mapping[str, int]) -> tuple[Codes, list[tuple[Any, ...]]]:
    """Return the number of the published texts of each original row, and these texts."""
    columns = []
    for column in events.quasi:
        level = levels.get(column.name)
        if level is None or not 0 <= level <= column.taxonomy.height:
            raise InputError(
                f"the certificate does not state the level of column {column.name!r} of {events.name}",
                hint="give the release as it was written, with its own certificate",
            )
        columns.append((column.taxonomy, level, column.codes))
    number = np.zeros(events.rows, dtype=np.int64)
    for taxonomy, level, codes in columns:
        number = number * len(taxonomy.labels[level]) + taxonomy.ancestors[codes, level]
        number = np.unique(number, return_inverse=True)[1]
    size = int(number.max(initial=-1)) + 1
    first = np.zeros(size, dtype=np.int64)
    first[number] = np.arange(len(number))
    return number, [tuple(_text(*column, row) for column in columns) for row in first.tolist()]


def _text(taxonomy: Taxonomy, level: int, codes: Codes, row: int) -> str | None:
    """Return the label of a row on a level."""
    return taxonomy.labels[level][taxonomy.ancestors[codes[row], level]]


def _time_slots(
    policy: LinkedPolicy,
    events: OpenEvents,
    tables: Mapping[str, pa.Table],
    group: Codes,
    rows: Codes,
    shown_group: Codes,
) -> tuple[Codes, Codes]:
    """Return the number of the interval of a class that covers each original row, and of each published row."""
    table = events.table
    if not isinstance(table, LinkedTable) or policy.time is None or events.days is None:
        raise AssertionError("only a table with a known time is compared by it")
    ends = offsets_of(policy, table, tables[table.name])
    if ends is None:
        raise InputError(
            f"the times of table {table.name} cannot be read",
            hint="give the release as it was written, with its own certificate",
        )
    slots, shown_slot = np.unique(np.column_stack([shown_group, *ends]), axis=0, return_inverse=True)
    units = units_of_days(events.days[rows], policy.time.unit)
    order = np.lexsort((slots[:, 1], slots[:, 0]))
    slots = slots[order]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    at = _last_not_above(slots[:, 0], slots[:, 1], group, units)
    inside = at >= 0
    inside[inside] = (slots[at[inside], 0] == group[inside]) & (units[inside] <= slots[at[inside], 2])
    return np.where(inside, at, NOTHING), rank[shown_slot.reshape(-1)]


def _last_not_above(groups: Codes, lows: Codes, group: Codes, units: Codes) -> Codes:
    """Return the last interval of a group that begins not after a unit, as a number of sorted intervals, or -1."""
    keys = np.concatenate([np.column_stack([groups, lows, np.zeros(len(lows), dtype=np.int64)]),
                           np.column_stack([group, units, np.ones(len(units), dtype=np.int64)])])  # fmt: skip
    order = np.lexsort((keys[:, 2], keys[:, 1], keys[:, 0]))
    before = np.cumsum(keys[order, 2] == 0) - 1
    positions = np.empty(len(keys), dtype=np.int64)
    positions[order] = before
    result: Codes = positions[len(lows) :]
    return result


def _find_rows(distinct: Codes, wanted: Codes) -> Codes:
    """Return the index of each wanted row among distinct ones, -1 if it is missing."""
    if not len(wanted) or not len(distinct):
        return np.full(len(wanted), NOTHING)
    _, inverse = np.unique(np.concatenate([distinct, wanted]), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    position = np.full(int(inverse.max()) + 1, NOTHING)
    position[inverse[: len(distinct)]] = np.arange(len(distinct))
    rows: Codes = position[inverse[len(distinct) :]]
    return rows


def _unmatched(codes: Codes, expected: Codes, person: Codes) -> int:
    """Return how many published people have no original person of their own in a largest matching."""
    _, number = np.unique(np.concatenate([codes, expected]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    demand = np.bincount(number[: len(codes)], minlength=int(number.max(initial=-1)) + 1)
    offered = number[len(codes) :]
    wanted = demand[offered] > 0
    offered, owner = offered[wanted], person[wanted]
    times = np.bincount(owner, minlength=int(owner.max(initial=-1)) + 1)
    single = times[owner] == 1
    left = demand - np.minimum(demand, np.bincount(offered[single], minlength=len(demand)))
    rows_by_key: dict[int, list[int]] = {}
    choices: dict[int, list[int]] = {}
    for who, group in zip(owner[~single].tolist(), offered[~single].tolist(), strict=True):
        choices.setdefault(who, []).append(group)
    return int(left.sum()) - _assign(choices, left, rows_by_key)


def _assign(choices: Mapping[int, list[int]], left: Codes, held: dict[int, list[int]]) -> int:
    """Return how many people with several choices can be assigned to groups with free places, by augmenting paths."""
    capacity = left.tolist()
    assigned = 0
    for start in choices:
        came_from: dict[int, tuple[int, int]] = {}
        frontier, end = [start], None
        seen_people = {start}
        while frontier and end is None:
            who = frontier.pop()
            for group in choices[who]:
                if group in came_from:
                    continue
                came_from[group] = (who, group)
                if len(held.setdefault(group, [])) < capacity[group]:
                    end = group
                    break
                for other in held[group]:
                    if other not in seen_people:
                        seen_people.add(other)
                        frontier.append(other)
        if end is None:
            continue
        assigned += 1
        _shift(end, start, came_from, held)
    return assigned


def _shift(end: int, start: int, came_from: Mapping[int, tuple[int, int]], held: dict[int, list[int]]) -> None:
    """Move people along a path that ends at a group with a free place."""
    group = end
    while True:
        who = came_from[group][0]
        before = next((other for other, members in held.items() if who in members), None)
        held[group].append(who)
        if who == start or before is None:
            return
        held[before].remove(who)
        group = before
