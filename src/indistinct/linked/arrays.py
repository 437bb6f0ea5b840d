"""A published release as arrays: whose its rows are, and what its labels and its sensitive values are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.linked.calendar import ClassDates, read_offset
from indistinct.linked.declared import LinkedPolicy, LinkedTable, list_name
from indistinct.linked.folder import blocks_of
from indistinct.linked.guarantee import KnownRows
from indistinct.linked.people import class_dates
from indistinct.linked.view import EventLabels, LinkedView, PersonValues, coarse_codes, distinct_values, number_rows
from indistinct.machine.arrays import Codes


@dataclass(frozen=True, slots=True, eq=False)
class PublishedPeople:
    """The published people table: its pseudonyms, the class of each person, and the labels and dates of each class."""

    data: pa.Table
    ids: pa.Array
    classes: Codes
    vectors: tuple[tuple[str | None, ...], ...]
    dates: ClassDates

    def __len__(self) -> int:
        return len(self.classes)


@dataclass(frozen=True, slots=True, eq=False)
class LinkedArrays:
    """A published release as arrays: the view that is judged, and the content of each label.

    `labels` has, for each table and each label number, the published texts and where they are times their ends.
    """

    view: LinkedView
    vectors: tuple[tuple[str | None, ...], ...]
    labels: Mapping[str, tuple[tuple[Any, ...], ...]]


def knowledge_of(policy: LinkedPolicy, view: LinkedView) -> KnownRows:
    """Return the declared knowledge for the tables of a view."""
    known = policy.knowledge
    return KnownRows({name: known.tables.get(name, 0) for name in view.events}, known.rows)


def rows_by_person(policy: LinkedPolicy, tables: Mapping[str, pa.Table], table: LinkedTable) -> Codes:
    """Return how many rows each published person has in a table."""
    people = ids_of(policy, tables)
    counts = np.zeros(len(people), dtype=np.int64)
    for block in blocks_of(tables, table.name):
        owner = row_owners(block[table.person], people)
        counts += np.bincount(owner[owner >= 0], minlength=len(people))
    return counts


def row_owners(column: pa.ChunkedArray, people: pa.Array) -> Codes:
    """Return the place of each row's person among people, -1 for one who is not there."""
    parts = [np.zeros(0, dtype=np.int64)]
    for chunk in column.chunks:
        coded = chunk if isinstance(chunk.type, pa.DictionaryType) else chunk.dictionary_encode()
        positions = pc.index_in(coded.dictionary.cast(pa.string()), value_set=people)
        known = np.append(pc.fill_null(positions, -1).to_numpy(zero_copy_only=False), -1).astype(np.int64)
        parts.append(known[pc.fill_null(coded.indices, len(known) - 1).to_numpy(zero_copy_only=False)])
    return np.concatenate(parts)


def _texts(column: pa.ChunkedArray) -> pa.Array:
    texts = column.cast(pa.string()).combine_chunks()
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def ids_of(policy: LinkedPolicy, tables: Mapping[str, pa.Table]) -> pa.Array:
    """Return the pseudonyms of the published people."""
    return _texts(tables[policy.people.name][policy.people.person])


def owners_of(policy: LinkedPolicy, tables: Mapping[str, pa.Table]) -> dict[str, Codes]:
    """Return the person of each row of the event tables that are judged, as a number of the published people."""
    ids = pc.unique(ids_of(policy, tables))
    return {table.name: row_owners(tables[table.name][table.person], ids) for table in policy.judged}


def people_of(
    policy: LinkedPolicy, tables: Mapping[str, pa.Table], *, anchors_inside: bool
) -> tuple[PublishedPeople, str | None]:
    """Return the published people, and what is wrong where a label of a date cannot be read."""
    data, quasi = tables[policy.people.name], policy.people.schema.quasi
    texts = {name: _texts(data[name]) for name in quasi}
    classes, size = number_rows([_codes(texts[name]) for name in quasi], data.num_rows)
    first = np.zeros(size, dtype=np.int64)
    first[classes] = np.arange(len(classes))
    columns = {name: texts[name].take(pa.array(first)).to_pylist() for name in quasi}
    vectors = tuple(zip(*columns.values(), strict=True)) if columns else ((),) * size
    problem = None
    try:
        dates = class_dates(policy, columns if columns else {"": [None] * size}, anchors_inside=anchors_inside)
    except InputError as error:
        problem = error.message
        dates = ClassDates(*(np.zeros(size, dtype=np.int64) for _ in range(4)))
    return PublishedPeople(data, ids_of(policy, tables), classes, vectors, dates), problem


def arrays_of(
    policy: LinkedPolicy, tables: Mapping[str, pa.Table], owners: Mapping[str, Codes], *, anchors_inside: bool
) -> LinkedArrays:
    """Return published tables as arrays."""
    people, _ = people_of(policy, tables, anchors_inside=anchors_inside)
    view, labels = view_of(policy, tables, people.classes, owners)
    return LinkedArrays(view, people.vectors, labels)


def view_of(
    policy: LinkedPolicy, tables: Mapping[str, pa.Table], classes: Codes, owners: Mapping[str, Codes]
) -> tuple[LinkedView, dict[str, tuple[tuple[Any, ...], ...]]]:
    """Encode people and their rows for judging; return also the labels of each table as texts."""
    people = tables[policy.people.name]
    events, labels = {}, {}
    for table in policy.judged:
        number, known = _label_rows(table, tables[table.name])
        labels[table.name] = known
        events[table.name] = EventLabels(owners[table.name], number, max(len(known), 1))
    for column in policy.people.lists:
        name = list_name(policy.people.name, column.column)
        events[name], labels[name] = _list_members(_texts(people[column.column]), column.separator)
    return LinkedView(classes, events, _shown_values(policy, tables, owners, people.num_rows)), labels


def _codes(texts: pa.Array) -> Codes:
    codes: Codes = texts.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
    return codes.astype(np.int64)


def _label_rows(table: LinkedTable, data: pa.Table) -> tuple[Codes, tuple[tuple[Any, ...], ...]]:
    """Return the number of the label of each row, and the texts of each label: quasi-identifiers, then a known time."""
    names = [*table.schema.quasi]
    if table.time is not None and not table.time.unknown:
        names.append(table.time.column)
    columns = [_texts(data[name]) for name in names]
    number, size = number_rows([_codes(column) for column in columns], data.num_rows)
    first = np.zeros(size, dtype=np.int64)
    first[number] = np.arange(len(number))
    texts = [column.take(pa.array(first)).to_pylist() for column in columns]
    return number, tuple(zip(*texts, strict=True)) if texts else ((),) * size


def _list_members(cells: pa.Array, separator: str) -> tuple[EventLabels, tuple[tuple[Any, ...], ...]]:
    """Encode the members of a list column as events of their people."""
    lists = pc.split_pattern(pc.fill_null(cells, ""), separator)
    person = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    members = pc.list_flatten(lists)
    kept = pc.not_equal(members, "")
    encoded = members.filter(kept).dictionary_encode()
    label = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    known = tuple((text,) for text in encoded.dictionary.to_pylist())
    return EventLabels(person[kept.to_numpy(zero_copy_only=False)], label, max(len(known), 1)), known


def _shown_values(
    policy: LinkedPolicy, tables: Mapping[str, pa.Table], owners: Mapping[str, Codes], people: int
) -> PersonValues:
    """Return the sensitive values that people show, of any table; missing is a value."""
    persons: list[Codes] = [np.zeros(0, dtype=np.int64)]
    values: list[Codes] = [np.zeros(0, dtype=np.int64)]
    begun = 0
    for table in (policy.people, *policy.judged):
        for name in table.schema.sensitive:
            if name in tables[table.name].column_names:
                codes, size = coarse_codes(name, tables[table.name][name])
                persons.append(np.arange(people) if table.people else owners[table.name])
                values.append(codes + begun)
                begun += size
    return distinct_values(np.concatenate(persons), np.concatenate(values))


def offsets_of(policy: LinkedPolicy, table: LinkedTable, data: pa.Table) -> tuple[Codes, Codes] | None:
    """Return the ends of the published offset of each row in units, None where a text is none."""
    if table.time is None or policy.time is None:
        return None
    texts = _texts(data[table.time.column]).dictionary_encode()
    if texts.null_count:
        return None
    ends = [read_offset(text, policy.time.unit) for text in texts.dictionary.to_pylist()]
    if any(end is None for end in ends):
        return None
    known = np.array(ends, dtype=np.int64).reshape(-1, 2)[texts.indices.to_numpy(zero_copy_only=False)]
    return known[:, 0], known[:, 1]
