"""The published tables of a solution: labels, new random pseudonyms in place of person IDs, and sorted rows."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.stored_rows import GROUP, Partitions
from indistinct.hierarchy import Taxonomy
from indistinct.linked.calendar import Unit
from indistinct.linked.declared import LinkedTable, list_name
from indistinct.linked.opened import OpenEvents, OpenTables, StoredEvents
from indistinct.linked.order import sort_columns, sort_ranks
from indistinct.linked.passing import offset_texts, passed_rows, sorted_rows
from indistinct.linked.search import LinkedRows, LinkedSolution, solved_runs
from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.memory import give_memory_back
from indistinct.machine.ordering import text_order

PSEUDONYM_BYTES = 16
"""Random bytes of a pseudonym, published as twice this number of hexadecimal digits."""


def new_pseudonyms(people: int) -> pa.Array:
    """Return distinct random pseudonyms from the operating system; they cannot be reproduced.

    >>> made = new_pseudonyms(3).to_pylist()
    >>> len(set(made)), len(made[0])
    (3, 32)
    """
    while True:
        digits = os.urandom(PSEUDONYM_BYTES * people).hex()
        width = 2 * PSEUDONYM_BYTES
        made = pa.array([digits[width * i : width * (i + 1)] for i in range(people)], pa.string())
        if len(pc.unique(made)) == people:
            return made


def published_tables(opened: OpenTables, solution: LinkedSolution) -> dict[str, Iterator[pa.Table]]:
    """Return the tables of a release by name, in parts: rows sorted by pseudonym and then by what they publish."""
    names = new_pseudonyms(len(solution.people.kept))
    passed = {each.name: passed_rows(opened, solution.people, names, each) for each in opened.passed}
    judged = _judged_tables(opened, solution, names)
    return {table.name: passed.get(table.name) or judged[table.name] for table in opened.policy.tables}


def _judged_tables(opened: OpenTables, solution: LinkedSolution, names: pa.Array) -> dict[str, Iterator[pa.Table]]:
    """Return the people table and the tables that are judged; rows of tables on disk wait there by person."""
    unit: Unit = "days" if opened.policy.time is None else opened.policy.time.unit
    order = text_order(names)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    waiting = {
        each.name: Partitions(starts_of(each.counts(opened.size)[solution.people.kept[order]]), opened.memory // 8)
        for each in opened.stored
    }
    made: dict[str, Iterator[pa.Table]] = {}
    members: dict[str, list[list[str]]] = {}
    for run, solved in solved_runs(opened, solution):
        for events in run:
            rows = solved[events.name]
            if not isinstance(events.table, LinkedTable):
                _add_members(events, rows, members.setdefault(events.name, [[] for _ in range(len(names))]))
                continue
            data = _event_table(events, events.table, rows, unit)
            if events.name in waiting:
                waiting[events.name].add(data, rank[rows.person], None)
            else:
                person = names.take(pa.array(rows.person))
                made[events.name] = iter([sort_rows(events.table, data.append_column(events.table.person, person))])
    for stored in opened.stored:
        made[stored.name] = _stored_rows(stored, waiting[stored.name], names.take(pa.array(order)))
    people = opened.policy.people
    made[people.name] = iter([sort_rows(people, _people_table(opened, solution, names, members))])
    return made


def _stored_rows(events: StoredEvents, waiting: Partitions, names: pa.Array) -> Iterator[pa.Table]:
    """Yield the published rows of a table on disk, sorted; `names` are the pseudonyms in their order."""
    with closing(waiting):
        for _, _, part in waiting.read():
            person = names.take(part[GROUP].combine_chunks())
            yield sort_rows(events.table, part.drop_columns([GROUP]).append_column(events.table.person, person))
            give_memory_back(part.num_rows)


def _people_table(
    opened: OpenTables, solution: LinkedSolution, names: pa.Array, members: Mapping[str, list[list[str]]]
) -> pa.Table:
    """Return the published people table."""
    table, kept = opened.policy.people, pa.array(solution.people.kept)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {table.person: names}
    for name in table.schema.quasi:
        columns[name] = solution.people.labels[name]
    for column in table.lists:
        cells = members[list_name(table.name, column.column)]
        columns[column.column] = pa.array(
            [column.separator.join(sorted(each)) if each else None for each in cells], pa.string()
        )
    for name in (*table.schema.sensitive, *table.schema.insensitive):
        columns[name] = opened.people[name].take(kept)
    return pa.table(columns)


def _add_members(events: OpenEvents, rows: LinkedRows, members: list[list[str]]) -> None:
    """Add the labels of some rows of a list column to the lists of their people."""
    labels = label_texts(events.quasi[0].taxonomy, rows.levels[0], events.quasi[0].codes[rows.kept]).to_pylist()
    for person, label in zip(rows.person.tolist(), labels, strict=True):
        members[person].append(label or "")


def _event_table(events: OpenEvents, table: LinkedTable, rows: LinkedRows, unit: Unit) -> pa.Table:
    """Return the published columns of some rows but the person."""
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    if table.time is not None and rows.offsets is not None:
        texts, number = offset_texts(rows.offsets, unit)
        columns[table.time.column] = texts.take(pa.array(number))
    for column, level in zip(events.quasi, rows.levels, strict=False):
        columns[column.name] = label_texts(column.taxonomy, level, column.codes[rows.kept])
    kept = pa.array(rows.kept)
    for name in events.data.column_names:
        columns[name] = events.data[name].take(kept)
    return pa.table(columns)


def label_texts(taxonomy: Taxonomy, level: int, codes: Codes) -> pa.Array:
    """Return the published labels of codes at a level."""
    texts = pa.array(taxonomy.labels[level], pa.string())
    return texts.take(pa.array(taxonomy.ancestors[codes, level]))


def sort_rows(table: LinkedTable, data: pa.Table) -> pa.Table:
    """Return rows sorted by person, labels and other values; rows that differ in none of these are shuffled."""
    names = sort_columns(table, data.column_names)
    labels = {table.person, *table.schema.quasi} | (set() if table.time is None else {table.time.column})
    ranks = [ranked for name in names if (ranked := sort_ranks(data[name], text=name in labels)) is not None]
    return data.take(pa.array(sorted_rows(ranks, data.num_rows))).select(names)
