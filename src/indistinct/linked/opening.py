"""The original tables, opened and checked: the person and time of each row, and the codes of its quasi-identifiers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InfeasibleError, InputError, SchemaError
from indistinct.figures import plural
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy import Hierarchy, check_rooted, suggest
from indistinct.linked.calendar import OPEN
from indistinct.linked.declared import LinkedPolicy, LinkedTable, ListColumn, list_name
from indistinct.linked.opened import (
    CODES,
    DAYS,
    PERSON,
    Dates,
    EventColumn,
    OpenEvents,
    OpenTables,
    PassedEvents,
    StoredEvents,
    window_days,
)
from indistinct.linked.streams import (
    STREAM_MEMORY,
    BlockValues,
    DateEvidence,
    KeyEvidence,
    Persons,
    RowFile,
    Stream,
    open_stream,
    plain_names,
)
from indistinct.linked.view import coarse_codes
from indistinct.machine.arrays import Codes
from indistinct.schema import where_is
from indistinct.tables import open_table
from indistinct.tables.domain import Domain, Kind, kind_of, plain_column
from indistinct.tables.several import require_unchanged


def open_linked(
    policy: LinkedPolicy, sources: Mapping[str, Any] | None = None, *, memory: int | None = None
) -> OpenTables:
    """Return the tables of a policy, opened and checked; `sources` replace files.

    With `memory`, judged event tables are stored on disk, and their rows take about this number of bytes at a time.
    """
    given = sources or {}
    people = policy.people
    data = {people.name: _read(policy, people, given.get(people.name))}
    ids = _people_ids(policy, data[people.name])
    _refuse_dates(people, data[people.name], plain_names(people.schema))
    anchor = None if policy.time is None else _days_of(people, data[people.name], policy.time.anchor, needed=True)
    birth, death = (_days_that_tell(policy, data[people.name], what) for what in ("birth", "death"))
    dates = (anchor, birth, death)
    in_memory, streamed = (policy.judged, policy.passed) if memory is None else ((), policy.events)
    data |= {table.name: _read(policy, table, given.get(table.name)) for table in in_memory}
    shared = _shared_names(policy)
    evidence = {
        (table.name, name): _key_evidence(data[table.name][name], _people_of_rows(table, data[table.name], ids))
        for table in in_memory
        for name in shared[table.name]
    }
    streams = {table.name: _open_stream(policy, table, given.get(table.name), memory) for table in streamed}
    persons = {}
    distinct = {table.name: [BlockValues(name) for name in table.schema.quasi] for table in streamed}
    for table in streamed:
        evidence_of = {name: KeyEvidence() for name in shared[table.name]}
        persons[table.name] = _check_stream(
            policy, table, streams[table.name], ids, dates, evidence_of, distinct[table.name]
        )
        evidence |= {(table.name, name): each for name, each in evidence_of.items()}
    keys = _keys_between(policy, evidence)
    events = [_open_events(policy, table, data[table.name], ids, keys, dates) for table in in_memory]
    stored = [
        _store_events(policy, table, streams[table.name], ids, dates, keys, distinct[table.name], persons[table.name])
        for table in streamed
        if table not in policy.passed
    ]
    events += [_open_list(policy, column, data[people.name]) for column in people.lists]
    kept = data[people.name].drop_columns([people.person, *(column.column for column in people.lists)])
    sensitive = tuple(coarse_codes(name, kept[name])[0] for name in people.schema.sensitive)
    passed = tuple(
        PassedEvents(table, streams[table.name], _published_as_is(table, keys), persons[table.name])
        for table in policy.passed
    )
    return OpenTables(
        policy, kept, ids, *dates, tuple(events), sensitive, passed, tuple(keys), tuple(stored), memory or 0
    )


def _people_ids(policy: LinkedPolicy, people: pa.Table) -> pa.ChunkedArray:
    """Return the person IDs of the people table, once each has one row and there are enough."""
    ids = _person_ids(policy.people, people)
    if not len(ids):
        raise InputError(f"table {policy.people.name!r} has no rows", hint="check that this is the right file")
    if len(pc.unique(ids)) < len(ids):
        raise InputError(
            f"table {policy.people.name!r} has {len(ids) - len(pc.unique(ids)):,} more rows than people",
            hint="the people table has one row a person",
        )
    if len(ids) < policy.model.k:
        raise InfeasibleError(
            f"k = {policy.model.k} but the people table has {len(ids):,} people",
            hint=f"choose a k of at most {len(ids)}",
        )
    return ids


def _read(policy: LinkedPolicy, table: LinkedTable, source: Any) -> pa.Table:
    """Return the columns of a table that are not dropped; every column must have a role."""
    data = open_table(source_of(policy, table, source), reading=table.reading).data
    _check_roles(table, data.column_names)
    return data.drop_columns([name for name in table.schema.identifiers if name in data.column_names])


def _open_stream(policy: LinkedPolicy, table: LinkedTable, source: Any, memory: int | None) -> Stream:
    most = STREAM_MEMORY if memory is None else min(memory // 4, STREAM_MEMORY)
    stream = open_stream(source_of(policy, table, source), table.reading, memory=most)
    _check_roles(table, stream.schema.names)
    return stream


def source_of(policy: LinkedPolicy, table: LinkedTable, source: Any) -> Any:
    """Return the source of a table: the given one, or its file."""
    if source is None:
        if table.path is None:
            raise InputError(f"there is no table {table.name!r}", hint="give every table of the policy")
        return policy.locate(table.path)
    return source


def _check_roles(table: LinkedTable, found: Sequence[str]) -> None:
    """Raise for a column without a role, and for a column that does not exist."""
    named = [*table.schema.columns, *(column.column for column in table.lists)]
    named += [] if table.time is None else [table.time.column]
    for name in named:
        if name not in found:
            hint = where_is(name, found, expected=named, table=f"table {table.name}")
            raise SchemaError(f"table {table.name!r} has no column {name!r}", hint=hint)
    unnamed = [name for name in found if name not in named]
    if unnamed:
        raise SchemaError(
            f"table {table.name!r}: no role for {', '.join(map(repr, unnamed))}",
            hint="name each as identifier (dropped), quasi, sensitive, insensitive or time",
        )


def _check_stream(
    policy: LinkedPolicy,
    table: LinkedTable,
    stream: Stream,
    ids: pa.ChunkedArray,
    dates: Dates,
    evidence: Mapping[str, KeyEvidence],
    distinct: Sequence[BlockValues],
) -> Persons:
    """Return the rows of each person of a table that is read in blocks, once all rows are possible.

    Add what is seen to the evidence of keys, and to the distinct values of quasi-identifiers.
    """
    persons = Persons.of(len(ids), OPEN)
    days_seen = DateEvidence.of((*table.schema.quasi, *plain_names(table.schema)))
    columns = [name for name in stream.schema.names if name not in table.schema.identifiers]
    done = 0
    with require_unchanged(stream.stamps):
        for block in stream.read(columns):
            done += block.num_rows
            try:
                person, days = people_and_days(policy, table, block, ids, dates)
            except InputError as error:
                if block.num_rows == stream.rows:
                    raise
                raise InputError(f"{error.message} (among rows {done - block.num_rows + 1:,} to {done:,})",
                                 hint=error.hint) from None  # fmt: skip
            persons.add(person, days)
            days_seen.add(block)
            for name, each in evidence.items():
                each.add(block[name], person)
            for column in distinct:
                column.add(block[column.name])
    _refuse_date_columns(table, days_seen.columns)
    return persons


def _store_events(
    policy: LinkedPolicy,
    table: LinkedTable,
    stream: Stream,
    ids: pa.ChunkedArray,
    dates: Dates,
    keys: Sequence[str],
    distinct: Sequence[BlockValues],
    persons: Persons,
) -> StoredEvents:
    """Read the rows of a table again, encode them, and write them to disk."""
    names, nothing = _published_as_is(table, keys), stream.schema.empty_table()
    values = [pa.table({each.name: each.column if each.parts else nothing[each.name]}) for each in distinct]
    quasi = tuple(
        replace(code_column(data, each.name, table.hierarchies.get(each.name)), codes=np.zeros(0, dtype=np.int64))
        for each, data in zip(distinct, values, strict=True)
    )
    needed = [table.person, *([] if table.time is None else [table.time.column]), *table.schema.quasi, *names]
    rows = RowFile()
    with require_unchanged(stream.stamps):
        for block in chain([nothing], stream.read(needed)):
            person, days = people_and_days(policy, table, block, ids, dates)
            coded = {PERSON: pa.array(person, pa.int32())}
            coded |= {} if days is None else {DAYS: pa.array(days, pa.int32())}
            coded |= {
                f"{CODES}{index}": pa.array(_codes_in(column.domain, block[column.name]), pa.int32())
                for index, column in enumerate(quasi)
            }
            rows.add(pa.table({**coded, **{name: block[name] for name in names}}))
    return StoredEvents(table, rows.stream(), names, persons, quasi)


def people_and_days(
    policy: LinkedPolicy, table: LinkedTable, data: pa.Table, ids: pa.ChunkedArray, dates: Dates
) -> tuple[Codes, Codes | None]:
    """Return the row of the people table of each row of an event table, and the days since that person's anchor."""
    person = _people_of_rows(table, data, ids)
    return person, None if table.time is None else _offsets(policy, table, data, person, dates)


def _codes_in(domain: Domain, column: pa.ChunkedArray) -> Codes:
    """Return the code of each cell; where every cell of a table is missing, that is the only code."""
    return domain.encode(column) if len(domain.values) else np.zeros(len(column), dtype=np.int32)


def _person_ids(table: LinkedTable, data: pa.Table) -> pa.ChunkedArray:
    """Return the person IDs of a table; raise if some are missing."""
    ids = plain_column(table.person, data[table.person])
    if isinstance(ids.type, pa.DictionaryType):
        ids = ids.cast(ids.type.value_type)
    missing = ids.null_count
    if pa.types.is_string(ids.type):
        missing += pc.sum(pc.equal(pc.utf8_trim_whitespace(ids), "")).as_py() or 0
    if missing:
        raise InputError(
            f"table {table.name!r} has no person ID in column {table.person!r} of {plural(missing, 'row')}",
            hint="remove these rows, or find out whose they are",
        )
    if pa.types.is_integer(ids.type) or pa.types.is_floating(ids.type):
        with suppress(pa.ArrowInvalid):  # a fraction, or a number that is too large, stays what it is
            return ids.cast(pa.int64())
    return ids


def _people_of_rows(table: LinkedTable, data: pa.Table, known: pa.ChunkedArray) -> Codes:
    """Return, for each row of an event table, the row of its person in the people table, whose IDs are `known`.

    Raise `InputError` for IDs of another type, or that the people table does not have.
    """
    ids = _person_ids(table, data)
    if len(ids) and ids.type != known.type:
        raise InputError(
            f"person IDs are {_kind_words(ids.type)} in table {table.name!r}, and {_kind_words(known.type)} in the "
            f"people table (types {ids.type} and {known.type})",
            hint=f'read them alike, for example text = ["{table.person}"] in both tables',
        )
    positions = pc.index_in(ids.cast(known.type), value_set=known.combine_chunks())
    strangers = positions.null_count
    if strangers:
        raise InputError(
            f"table {table.name!r} has {plural(strangers, 'row')} of people who are not in the people table",
            hint="remove these rows, or add the people",
        )
    return positions.to_numpy().astype(np.int64)


def _kind_words(kind: pa.DataType) -> str:
    return {Kind.NUMBER: "numbers", Kind.DATE: "dates", Kind.TEXT: "texts"}[kind_of(kind)]


def _refuse_dates(table: LinkedTable, data: pa.Table, names: tuple[str, ...]) -> None:
    seen = DateEvidence.of(names)
    seen.add(data)
    _refuse_date_columns(table, seen.columns)


def _refuse_date_columns(table: LinkedTable, names: Sequence[str]) -> None:
    """Raise for columns of dates in other roles than a release can protect."""
    for name in names:
        what = "is no quasi-identifier" if table.people else "does not have the role time"
        raise SchemaError(
            f"column {name!r} of table {table.name!r} holds dates and {what}",
            hint='dates of people are quasi-identifiers: role = "quasi"; or drop it: role = "identifier"'
            if table.people
            else 'a table has one date, with the role time; drop others: role = "identifier"',
        )


def _days_of(table: LinkedTable, data: pa.Table, name: str, *, needed: bool, beyond: int = OPEN) -> Codes:
    """Return a column of dates as days since 1970; a missing one is an error where it is needed."""
    column = plain_column(name, data[name])
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    if column.null_count and needed:
        raise InputError(
            f"table {table.name!r} has no date in column {name!r} of {plural(column.null_count, 'row')}",
            hint="times are counted since the anchor: remove these rows, or choose another column",
        )
    if kind_of(column.type) is not Kind.DATE and column.null_count < len(column):
        raise InputError(
            f"column {name!r} of table {table.name!r} is read as {kind_of(column.type)} and must hold dates",
            hint='declare how they are written, for example dates = "%d.%m.%Y"',
        )
    if column.null_count == len(column):
        return np.full(len(column), beyond, dtype=np.int64)
    days = pc.floor_temporal(column.cast(pa.timestamp("us")), unit="day").cast(pa.date32()).cast(pa.int32())
    numbers: Codes = pc.fill_null(days.cast(pa.int64()), beyond).to_numpy()
    return numbers


def _days_that_tell(policy: LinkedPolicy, people: pa.Table, what: str) -> Codes:
    """Return each person's latest birth, or earliest death, of the columns declared so; open if there are none."""
    beyond = -OPEN if what == "birth" else OPEN
    days = np.full(people.num_rows, beyond, dtype=np.int64)
    for name, event in policy.people.tells.items():
        if event == what:
            own = _days_of(policy.people, people, name, needed=False, beyond=beyond)
            days = np.maximum(days, own) if what == "birth" else np.minimum(days, own)
    return days


def _shared_names(policy: LinkedPolicy) -> dict[str, tuple[str, ...]]:
    """Return the unmodified columns of each event table whose name occurs in another event table too."""
    names = {table.name: plain_names(table.schema) for table in policy.events}
    times = Counter(name for each in names.values() for name in each)
    return {table: tuple(name for name in own if times[name] > 1) for table, own in names.items()}


def _key_evidence(column: pa.ChunkedArray, person: Codes) -> KeyEvidence:
    evidence = KeyEvidence()
    evidence.add(column, person)
    return evidence


def _keys_between(policy: LinkedPolicy, evidence: Mapping[tuple[str, str], KeyEvidence]) -> list[str]:
    """Return the columns that link rows of two event tables.

    Same name, common values, each value of a single person.
    """
    keys: list[str] = []
    order = {table.name: index for index, table in enumerate(policy.events)}
    for (table, name), own in sorted(evidence.items(), key=lambda pair: order[pair[0][0]]):
        for (other, same), theirs in evidence.items():
            is_pair = name == same and order[table] < order[other] and f"{table}.{name}" not in keys
            if is_pair and own.links_to(theirs):
                keys += [f"{table}.{name}", f"{other}.{name}"]
    return list(dict.fromkeys(keys))


def _published_as_is(table: LinkedTable, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in plain_names(table.schema) if f"{table.name}.{name}" not in keys)


def _open_events(
    policy: LinkedPolicy,
    table: LinkedTable,
    data: pa.Table,
    ids: pa.ChunkedArray,
    keys: list[str],
    dates: Dates,
) -> OpenEvents:
    """Encode an event table in memory."""
    rest = _published_as_is(table, keys)
    _refuse_dates(table, data, (*table.schema.quasi, *rest))
    person, days = people_and_days(policy, table, data, ids, dates)
    quasi = tuple(code_column(data, name, table.hierarchies.get(name)) for name in table.schema.quasi)
    sensitive = tuple(coarse_codes(name, data[name])[0] for name in table.schema.sensitive if name in rest)
    return OpenEvents(table.name, table, person, quasi, data.select(list(rest)), days, sensitive)


def _offsets(policy: LinkedPolicy, table: LinkedTable, data: pa.Table, person: Codes, dates: Dates) -> Codes:
    """Return the days between the anchor and each event, after checking that all are possible."""
    anchor, birth, death = dates
    if table.time is None or policy.time is None or anchor is None:
        raise SchemaError(f"table {table.name!r} has no column with the role time", hint='date = { role = "time" }')
    days = _days_of(table, data, table.time.column, needed=True)
    first, last = window_days(policy, table.name)
    absent = int((np.maximum(birth, first) > np.minimum(death, last)).sum())
    if absent:
        raise InputError(
            f"{absent:,} of {len(birth):,} people died before the window of table {table.name!r} begins, or were born "
            "after it ends",
            hint="a reader who knows that excludes the people with rows there: remove these people, or correct the "
            "window",
        )
    wrong = {
        f"before the window of table {table.name!r} begins": days < first,
        f"after the window of table {table.name!r} ends": days > last,
        "before the birth of their person": days < birth[person],
        "after the death of their person": days > death[person],
    }
    for words, rows in wrong.items():
        if rows.any():
            raise InputError(
                f"table {table.name!r} has {plural(int(rows.sum()), 'row')} {words}",
                hint="correct or remove these rows, or declare the window that the data cover",
            )
    return days - anchor[person]


def code_column(data: pa.Table, name: str, hierarchy: Hierarchy | None) -> EventColumn:
    """Return the codes of a column and its hierarchy, by default the one that its values suggest."""
    encoded = encode_column(name, data[name], required=False)
    taxonomy = (hierarchy or suggest(encoded.domain)).bind(encoded.domain)
    check_rooted(taxonomy)
    return EventColumn(name, encoded.codes.astype(np.int64), taxonomy, encoded.domain)


def _open_list(policy: LinkedPolicy, column: ListColumn, people: pa.Table) -> OpenEvents:
    """Return the members of a list column as rows; an empty or a missing list has none."""
    cells = people[column.column]
    if not pa.types.is_list(cells.type):
        cells = pc.split_pattern(pc.fill_null(cells.cast(pa.string()), ""), column.separator)
    lists = cells.combine_chunks()
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    person = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    members = pc.utf8_trim_whitespace(pc.list_flatten(lists).cast(pa.string()))
    kept = pc.fill_null(pc.not_equal(members, ""), False)
    rows = pa.table({column.column: members.filter(kept)})
    coded = code_column(rows, column.column, column.hierarchy)
    _refuse_separator(coded, column)
    return OpenEvents(
        list_name(policy.people.name, column.column),
        column,
        person[kept.to_numpy(zero_copy_only=False)],
        (coded,),
        pa.table({}),
    )


def _refuse_separator(coded: EventColumn, column: ListColumn) -> None:
    """Raise if a label of a list column contains the separator."""
    labels = [label for level in coded.taxonomy.labels for label in level if label]
    if any(column.separator in label for label in labels):
        raise SchemaError(
            f"a label of the hierarchy of list column {column.column!r} holds its separator",
            hint="choose another separator, or other labels",
        )
