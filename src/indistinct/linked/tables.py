"""The published tables of a solution: labels, new random pseudonyms in place of person IDs, and sorted rows."""

import os
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.hierarchy import Taxonomy
from indistinct.linked.calendar import Unit
from indistinct.linked.declared import LinkedTable, list_name
from indistinct.linked.opening import OpenEvents, OpenTables
from indistinct.linked.passing import offset_texts, passed_rows, sorted_rows
from indistinct.linked.search import LinkedRows, LinkedSolution
from indistinct.linked.verify import sort_columns, sort_ranks
from indistinct.machine.arrays import Codes

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
    return {
        table.name: passed[table.name] if table.name in passed else iter([sort_rows(table, judged[table.name])])
        for table in opened.policy.tables
    }


def _judged_tables(opened: OpenTables, solution: LinkedSolution, names: pa.Array) -> dict[str, pa.Table]:
    unit: Unit = "days" if opened.policy.time is None else opened.policy.time.unit
    tables = {opened.policy.people.name: _people_table(opened, solution, names)}
    for events in opened.events:
        if isinstance(events.table, LinkedTable):
            rows = solution.rows[events.name]
            tables[events.name] = _event_table(events, events.table, rows, names, unit)
    return tables


def _people_table(opened: OpenTables, solution: LinkedSolution, names: pa.Array) -> pa.Table:
    table, kept = opened.policy.people, pa.array(solution.people.kept)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {table.person: names}
    for name in table.schema.quasi:
        columns[name] = solution.people.labels[name]
    for column in table.lists:
        name = list_name(table.name, column.column)
        (events,) = [each for each in opened.events if each.name == name]
        columns[column.column] = _list_cells(events, solution.rows[name], column.separator, len(names))
    for name in (*table.schema.sensitive, *table.schema.insensitive):
        columns[name] = opened.people[name].take(kept)
    return pa.table(columns)


def _list_cells(events: OpenEvents, rows: LinkedRows, separator: str, people: int) -> pa.Array:
    """Return the sorted list of labels of each person, in one text; a person without any has no text."""
    labels = label_texts(events.quasi[0].taxonomy, rows.levels[0], events.quasi[0].codes[rows.kept]).to_pylist()
    members: list[list[str]] = [[] for _ in range(people)]
    for person, label in zip(rows.person.tolist(), labels, strict=True):
        members[person].append(label or "")
    return pa.array([separator.join(sorted(each)) if each else None for each in members], pa.string())


def _event_table(events: OpenEvents, table: LinkedTable, rows: LinkedRows, names: pa.Array, unit: Unit) -> pa.Table:
    columns: dict[str, pa.Array | pa.ChunkedArray] = {table.person: names.take(pa.array(rows.person))}
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
    ranks = [found for name in names if (found := sort_ranks(data[name], text=name in labels)) is not None]
    return data.take(pa.array(sorted_rows(ranks, data.num_rows))).select(names)
