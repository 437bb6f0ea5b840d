"""Verification of a release of several tables of any tool, from its tables alone.

It uses labels, pseudonyms and the policy, and shares no code with the search. Every check is counted on the published
rows: their persons, the calendar, the guarantee, and the order of the files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.frequencies.encode import encode_column
from indistinct.linked.calendar import OPEN, ClassDates, Unit, misfits, overlapping, read_offset
from indistinct.linked.declared import LinkedPolicy, LinkedTable, list_name
from indistinct.linked.folder import blocks_of
from indistinct.linked.guarantee import KnownRows
from indistinct.linked.judge import LinkedJudgement, judge
from indistinct.linked.opening import coarse_codes, window_days
from indistinct.linked.people import class_dates
from indistinct.linked.view import EventLabels, LinkedView, distinct_values, number_rows
from indistinct.machine.arrays import Codes, Floats
from indistinct.release.pseudonyms.making import are_pseudonyms
from indistinct.tables.dictionaries import share_dictionary
from indistinct.tables.domain import kind_of


@dataclass(frozen=True, slots=True)
class LinkedCheck:
    """One check: its name, whether it is satisfied, and the finding in words."""

    name: str
    holds: bool
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class LinkedVerdict:
    """The verdict on a release of several tables.

    `judgement` is None where the tables do not fit together, so that nothing could be counted.
    """

    checks: tuple[LinkedCheck, ...]
    judgement: LinkedJudgement | None
    people: int
    rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether every check is satisfied."""
        return self.judgement is not None and all(check.holds for check in self.checks)

    def with_checks(self, *more: LinkedCheck) -> "LinkedVerdict":
        """Return the verdict with further checks."""
        return LinkedVerdict((*self.checks, *more), self.judgement, self.people, self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values."""
        found = self.judgement
        return {
            "holds": self.holds,
            "checks": [{"name": each.name, "holds": each.holds, "words": each.words} for each in self.checks],
            "people": self.people,
            "rows": dict(self.rows),
            "achieved": {} if found is None else {"k": found.k, "largest_share": found.largest_share},
            "violations": None if found is None else found.violations + found.too_frequent,
        }


@dataclass(frozen=True, slots=True, eq=False)
class LinkedArrays:
    """A published release as arrays: the view that is judged, and the content of each label.

    `labels` has, for each table and each label number, the published texts and where they are times their ends.
    """

    view: LinkedView
    vectors: tuple[tuple[str | None, ...], ...]
    labels: Mapping[str, tuple[tuple[Any, ...], ...]]


def verify_tables(
    policy: LinkedPolicy, tables: Mapping[str, pa.Table], *, anchors_inside: bool = True
) -> LinkedVerdict:
    """Return the verdict on published tables, by name; every table of the policy must be given.

    `anchors_inside` says that a star in place of an anchor means the declared windows instead of any day.
    """
    shape = [*_check_columns(policy, tables)]
    if not all(check.holds for check in shape):
        return LinkedVerdict(tuple(shape), None, 0)
    rows = {table.name: tables[table.name].num_rows for table in (policy.people, *policy.judged)}
    people, owners, resolved = _resolve(policy, tables)
    if not all(check.holds for check in resolved):
        return LinkedVerdict((*shape, *resolved), None, len(people), rows)
    arrays, dates, readable = arrays_of(policy, tables, owners, anchors_inside=anchors_inside)
    passed = [
        check_passed(policy, table, blocks_of(tables, table.name), people, arrays.view.classes, dates)
        for table in policy.passed
    ]
    rows |= {each.name: each.rows for each in passed}
    unsorted = [each.name for each in passed if not each.sorted]
    checks = [*shape, *resolved, *(check for each in passed for check in each.orphan_checks)]
    checks += _check_order(policy, tables, unsorted)
    checks += [readable, *_check_calendar(policy, tables, arrays, owners, dates)]
    checks += [check for each in passed for check in each.calendar_checks]
    found = judge(arrays.view, knowledge_of(policy, arrays.view), policy.model)
    checks.append(
        LinkedCheck(
            policy.model.spec(),
            found.holds and len(people) > 0,
            f"the smallest group has {found.k:,} people"
            + (f", and {found.largest_share:.1%} of one show the same value" if policy.model.l is not None else ""),
        )
    )
    return LinkedVerdict(tuple(checks), found, len(people), rows)


@dataclass(slots=True)
class PassedFindings:
    """Findings about a streamed table: its rows by person, rows without a published person, order and offsets.

    Of offsets of one unit, which never overlap each other, each class has the `first` and the `last`; a range of
    several units between them counts as overlapping. `labels` are class and ends of all others.
    """

    name: str
    counts: Codes
    first: Codes
    last: Codes
    rows: int = 0
    orphans: int = 0
    sorted: bool = True
    times: str | None = None
    unreadable: bool = False
    misfits: int = 0
    labels: Codes = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))

    @property
    def orphan_checks(self) -> list[LinkedCheck]:
        """Return what is wrong with the persons of its rows."""
        words = f"{self.orphans:,} rows of {self.name} are of people who are not published"
        return [LinkedCheck("persons of rows", False, words)] if self.orphans else []

    @property
    def calendar_checks(self) -> list[LinkedCheck]:
        """Return whether its offsets fit the dates of their classes."""
        if self.times is None:
            return []
        if self.unreadable:
            return [LinkedCheck("calendar", False, f"column {self.times} of {self.name} has texts that are no offsets")]
        single = np.flatnonzero(self.first <= self.last)
        spans = np.column_stack([single, self.first[single], self.last[single]])
        labels = np.concatenate([self.labels, spans])
        meeting = overlapping(labels[:, 1], labels[:, 2], labels[:, 0])
        return [_calendar_check(self.name, self.misfits, meeting)]


def check_passed(
    policy: LinkedPolicy,
    table: LinkedTable,
    blocks: Iterator[pa.Table],
    people: pa.Array,
    classes: Codes,
    dates: ClassDates,
) -> PassedFindings:
    """Return the findings about a streamed table, read once."""
    size = int(classes.max(initial=-1)) + 1
    found = PassedFindings(table.name, np.zeros(len(people), dtype=np.int64), np.full(size, OPEN), np.full(size, -OPEN))
    found.times = None if table.time is None or policy.time is None else table.time.column
    order = _Order(table)
    for block in blocks:
        found.rows += block.num_rows
        found.sorted &= order.holds(block)
        owner = _owners(block[table.person], people)
        known = np.flatnonzero(owner >= 0)
        found.orphans += len(owner) - len(known)
        found.counts += np.bincount(owner[known], minlength=len(people))
        if found.times is not None and policy.time is not None and not found.unreadable:
            labels = _offset_labels(block[found.times], classes, owner, policy.time.unit)
            found.unreadable = labels is None
            if labels is not None:
                limits = dates.limits(window_days(policy, table.name))
                wrong = misfits(labels[:, 1], labels[:, 2], labels[:, 0], limits, policy.time.unit)
                found.misfits += int(labels[wrong, 3].sum())
                single = labels[:, 1] == labels[:, 2]
                np.minimum.at(found.first, labels[single, 0], labels[single, 1])
                np.maximum.at(found.last, labels[single, 0], labels[single, 1])
                found.labels = np.unique(np.concatenate([found.labels, labels[~single, :3]]), axis=0)
    return found


def _offset_labels(column: pa.ChunkedArray, classes: Codes, owner: Codes, unit: Unit) -> Codes | None:
    """Return class, lower and upper end of each distinct offset of a class, and its rows; None where a text is none."""
    texts = column if isinstance(column.type, pa.DictionaryType) else column.dictionary_encode()
    texts = share_dictionary(texts).combine_chunks()
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if texts.null_count or texts.dictionary.null_count:
        return None
    codes = texts.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    known = texts.dictionary.take(pa.array(np.unique(codes))).to_pylist()
    places = np.zeros(len(texts.dictionary), dtype=np.int64)
    places[np.unique(codes)] = np.arange(len(known))
    ends = [read_offset(text, unit) for text in known]
    if any(end is None for end in ends):
        return None
    table = np.array(ends, dtype=np.int64).reshape(-1, 2)
    inside = owner >= 0
    words = classes[owner[inside]] * max(len(known), 1) + places[codes[inside]]
    distinct, counts = np.unique(words, return_counts=True)
    return np.column_stack([distinct // max(len(known), 1), table[distinct % max(len(known), 1)], counts])


def rows_by_person(policy: LinkedPolicy, tables: Mapping[str, pa.Table], table: LinkedTable) -> Codes:
    """Return how many rows each published person has in a table."""
    people = _texts(tables[policy.people.name][policy.people.person])
    counts = np.zeros(len(people), dtype=np.int64)
    for block in blocks_of(tables, table.name):
        owner = _owners(block[table.person], people)
        counts += np.bincount(owner[owner >= 0], minlength=len(people))
    return counts


def knowledge_of(policy: LinkedPolicy, view: LinkedView) -> KnownRows:
    """Return the declared knowledge for the tables of a view."""
    known = policy.knowledge
    return KnownRows({name: known.tables.get(name, 0) for name in view.events}, known.rows)


def published_columns(table: LinkedTable) -> list[str]:
    """Return the columns that a release shows of a table, person first."""
    time = [] if table.time is None else [table.time.column]
    lists = [column.column for column in table.lists]
    return [table.person, *time, *table.schema.quasi, *lists, *table.schema.sensitive, *table.schema.insensitive]


def _check_columns(policy: LinkedPolicy, tables: Mapping[str, pa.Table]) -> list[LinkedCheck]:
    missing = [table.name for table in policy.tables if table.name not in tables]
    extra = [name for name in tables if all(table.name != name for table in policy.tables)]
    words = (
        f"missing: {', '.join(missing)}"
        if missing
        else f"not declared: {', '.join(extra)}"
        if extra
        else "all are there"
    )
    checks = [LinkedCheck("tables", not missing and not extra, words)]
    for table in policy.tables:
        if table.name in missing:
            continue
        shown, declared = next(blocks_of(tables, table.name)).column_names, published_columns(table)
        dropped = (*table.schema.sensitive, *table.schema.insensitive)
        strange = [name for name in shown if name not in declared]
        absent = [name for name in declared if name not in shown and name not in dropped]
        if strange or absent:
            words = f"columns of {table.name}: " + (
                f"{', '.join(strange)} must not be published" if strange else f"{', '.join(absent)} missing"
            )
            checks.append(LinkedCheck("columns", False, words))
    return checks


def _resolve(
    policy: LinkedPolicy, tables: Mapping[str, pa.Table]
) -> tuple[pa.Array, dict[str, Codes], list[LinkedCheck]]:
    """Return the people, the person of each row, and whether every row has one."""
    people_table = policy.people
    ids = _texts(tables[people_table.name][people_table.person])
    distinct = pc.unique(ids)
    once = len(distinct) == len(ids) and ids.null_count == 0
    looks = are_pseudonyms(pc.drop_null(ids))
    checks = [
        LinkedCheck("people", once, f"{len(ids):,} people" if once else "a person has two rows, or none is named"),
        LinkedCheck("pseudonyms", looks, "random" if looks else "person IDs do not look like pseudonyms"),
    ]
    owners = {}
    orphans = 0
    for table in policy.judged:
        owners[table.name] = _owners(tables[table.name][table.person], distinct)
        orphans += int((owners[table.name] < 0).sum())
    checks.append(LinkedCheck("persons of rows", orphans == 0, f"{orphans:,} rows of people who are not published"))
    return distinct, owners, checks


def _owners(column: pa.ChunkedArray, people: pa.Array) -> Codes:
    """Return the place of each row's person among people, -1 for one who is not there."""
    parts = [np.zeros(0, dtype=np.int64)]
    for chunk in column.chunks:
        coded = chunk if isinstance(chunk.type, pa.DictionaryType) else chunk.dictionary_encode()
        places = pc.index_in(coded.dictionary.cast(pa.string()), value_set=people)
        known = np.append(pc.fill_null(places, -1).to_numpy(zero_copy_only=False), -1).astype(np.int64)
        parts.append(known[pc.fill_null(coded.indices, len(known) - 1).to_numpy(zero_copy_only=False)])
    return np.concatenate(parts)


def _texts(column: pa.ChunkedArray) -> pa.Array:
    texts = column.cast(pa.string()).combine_chunks()
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def owners_of(policy: LinkedPolicy, tables: Mapping[str, pa.Table]) -> dict[str, Codes]:
    """Return the person of each row of the event tables, as a number of the published people."""
    return _resolve(policy, tables)[1]


def arrays_of(
    policy: LinkedPolicy, tables: Mapping[str, pa.Table], owners: Mapping[str, Codes], *, anchors_inside: bool
) -> tuple[LinkedArrays, ClassDates, LinkedCheck]:
    """Return published tables as arrays, the dates that classes allow, and whether all labels could be read."""
    people = tables[policy.people.name]
    quasi = policy.people.schema.quasi
    texts = {name: _texts(people[name]) for name in quasi}
    classes, size = number_rows([_codes(texts[name]) for name in quasi], people.num_rows)
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
    events, labels = {}, {}
    for table in policy.judged:
        number, known = _label_rows(table, tables[table.name])
        labels[table.name] = known
        events[table.name] = EventLabels(owners[table.name], number, max(len(known), 1))
    for column in policy.people.lists:
        name = list_name(policy.people.name, column.column)
        events[name], labels[name] = _list_members(_texts(people[column.column]), column.separator)
    view = LinkedView(classes, events, _shown_values(policy, tables, owners, people.num_rows))
    check = LinkedCheck("dates of people", problem is None, problem or "all labels can be read")
    return LinkedArrays(view, vectors, labels), dates, check


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
) -> Any:
    """Return the sensitive values that people show, of any table; missing is a value."""
    persons, values, begun = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
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


def _check_calendar(
    policy: LinkedPolicy,
    tables: Mapping[str, pa.Table],
    arrays: LinkedArrays,
    owners: Mapping[str, Codes],
    dates: ClassDates,
) -> list[LinkedCheck]:
    checks = []
    for table in policy.judged:
        if table.time is None or policy.time is None:
            continue
        ends = offsets_of(policy, table, tables[table.name])
        if ends is None:
            checks.append(
                LinkedCheck(
                    "calendar", False, f"column {table.time.column} of {table.name} has texts that are no offsets"
                )
            )
            continue
        classes = arrays.view.classes[owners[table.name]]
        wrong = int(misfits(*ends, classes, dates.limits(window_days(policy, table.name)), policy.time.unit).sum())
        meeting = overlapping(*ends, classes)
        checks.append(_calendar_check(table.name, wrong, meeting))
    return checks


def _calendar_check(name: str, wrong: int, meeting: int) -> LinkedCheck:
    words = f"{name}: {wrong:,} offsets do not fit the dates of their class; {meeting:,} labels overlap"
    return LinkedCheck("calendar", wrong == 0 and meeting == 0, words)


def _check_order(policy: LinkedPolicy, tables: Mapping[str, pa.Table], passed: Sequence[str]) -> list[LinkedCheck]:
    """Return whether all files are sorted; `passed` are streamed tables that are not."""
    own = [each.name for each in (policy.people, *policy.judged) if not _Order(each).holds(tables[each.name])]
    unsorted = [table.name for table in policy.tables if table.name in (*own, *passed)]
    return [
        LinkedCheck("order", not unsorted, f"not sorted: {', '.join(unsorted)}" if unsorted else "files are sorted")
    ]


RANKINGS: tuple[Callable[[pa.ChunkedArray], pa.ChunkedArray], ...] = (
    lambda column: column.cast(pa.string()),
    lambda column: column,
    lambda column: column.cast(pa.string()).cast(pa.float64()),
)
"""What a column may be sorted by: its texts, the values of its type, or numbers written as texts."""


class _Order:
    """Whether rows that come in blocks are sorted by person and then by their published values.

    Each column is sorted by one of `RANKINGS` in the whole table; labels are by their texts.
    """

    def __init__(self, table: LinkedTable) -> None:
        self.table = table
        self.last: pa.Table | None = None
        self.possible: dict[str, list[int]] = {}

    def holds(self, block: pa.Table) -> bool:
        """Return whether the rows are sorted, and follow those that came before."""
        if self.last is not None:
            plain = [block[name].cast(self.last[name].type) for name in block.column_names]
            block = pa.table(plain, names=block.column_names)
            rows = pa.concat_tables([self.last, block])
        else:
            rows = block
            labels = _label_columns(self.table)
            self.possible = {
                name: _rankings_of(block[name], text=name in labels)
                for name in sort_columns(self.table, block.column_names)
            }
        if len(block):
            self.last = rows.slice(len(rows) - 1)
        return self._ascends(rows)

    def _ascends(self, rows: pa.Table) -> bool:
        tied = np.ones(max(len(rows) - 1, 0), dtype=bool)
        for name, possible in self.possible.items():
            if not possible or not tied.any():
                continue
            steps = {ranking: _steps(rows[name], ranking) for ranking in possible}
            fitting = [ranking for ranking, step in steps.items() if not (tied & (step < 0)).any()]
            if not fitting:
                return False
            self.possible[name] = fitting
            tied &= steps[fitting[0]] == 0
        return True


def _label_columns(table: LinkedTable) -> set[str]:
    time = set() if table.time is None else {table.time.column}
    return {table.person, *table.schema.quasi, *(column.column for column in table.lists)} | time


def _rankings_of(column: pa.ChunkedArray, *, text: bool) -> list[int]:
    """Return by which of `RANKINGS` a column can be sorted."""
    if sort_ranks(column.slice(0, 1), text=text) is None:
        return []
    return [0] if text else [0, 1, 2]


def _steps(column: pa.ChunkedArray, ranking: int) -> Codes:
    """Return whether each cell is greater (1) or smaller (-1) than the previous one, or equal (0).

    Missing comes first.

    Where the ranking does not fit the cells, all are below.
    """
    try:
        plain = RANKINGS[ranking](column)
        if isinstance(plain.type, pa.DictionaryType):
            plain = plain.cast(plain.type.value_type)
        if pa.types.is_floating(plain.type):
            plain = pc.if_else(pc.is_nan(plain), None, plain)
        before, after = plain.slice(0, max(len(plain) - 1, 0)), plain.slice(1)
        up, down = pc.greater(after, before), pc.less(after, before)
        up = pc.if_else(before.is_null(), after.is_valid(), up)
        down = pc.if_else(after.is_null(), before.is_valid(), down)
        signs = [pc.fill_null(each, False).to_numpy().astype(np.int8) for each in (up, down)]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(max(len(column) - 1, 0), -1, dtype=np.int8)
    return signs[0] - signs[1]


def sort_columns(table: LinkedTable, names: Sequence[str]) -> list[str]:
    """Return the columns of a table in the order in which its rows are sorted: person, labels, then other values."""
    return [name for name in published_columns(table) if name in names]


def _ranks_of_floats(values: Floats) -> Codes:
    """Return the rank of each number; those that are none are missing, and endless ones are the outermost."""
    missing = np.isnan(values)
    ranks = np.unique(np.where(missing, 0.0, values), return_inverse=True)[1].astype(np.int64) + 1
    ranks[missing] = 0
    return ranks


def sort_ranks(column: pa.ChunkedArray, *, text: bool) -> Codes | None:
    """Return the rank of each cell, missing first; None for a type that has no order."""
    try:
        plain = column.cast(pa.string()) if text else column
        if not len(plain):
            return np.zeros(0, dtype=np.int64)
        if pa.types.is_floating(plain.type):
            return _ranks_of_floats(plain.to_numpy())
        kind_of(plain.type)
        return encode_column("column", plain, required=False).codes.astype(np.int64)
    except (InputError, pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None
