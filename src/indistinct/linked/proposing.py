"""The first policy of several tables: which has one row a person, the person ID of each, roles, and the calendar."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indistinct.errors import InputError
from indistinct.figures import number
from indistinct.inspection.inspect import inspect
from indistinct.inspection.roles import meets, words_of
from indistinct.inspection.starter import starter_policy
from indistinct.inspection.value import ColumnProfile, Inspection
from indistinct.linked.declared import LinkedPolicy, LinkedTable, Tells, TimeColumn, TimeRules
from indistinct.linked.guarantee import LinkedAnonymity
from indistinct.schema import Role, Schema
from indistinct.suppression_limit import Budget
from indistinct.tables import Table, open_table
from indistinct.tables.domain import Kind
from indistinct.tables.opening import columns_in
from indistinct.tables.several import ARROW, DELIMITED, HIDDEN, LABELLED, PARQUET, SHEETS, kind_of_file

STARTING_K = 5
"""The k of a first policy."""
DEFAULT_SUPPRESSION = 0.02
"""The share of people that a first policy lets a search suppress."""
MAX_SHARE_OF_STRANGERS = 0.1
"""Share of the distinct values of a person ID that may be absent from the people table; opening then says so."""
BIRTH = frozenset({"birth", "birthdate", "born", "dob", "geburt", "geburtsdatum"})
DEATH = frozenset({"death", "deathdate", "died", "dod", "deceased", "tod", "todesdatum", "sterbedatum"})


@dataclass(frozen=True, slots=True, eq=False)
class LinkedProposal:
    """A first policy of several tables, the profile of each, and the reasons in sentences.

    Every `knows` is 0: how many rows an attacker may know is for the publisher to say. `left_out` are tables without a
    person ID.
    """

    policy: LinkedPolicy
    inspections: Mapping[str, Inspection]
    reasons: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def propose_linked(files: Mapping[str, Path], *, people: str | None = None) -> LinkedProposal:
    """Return a first policy for files about the same people, by table name; `people` is the people table, if known.

    Raises
    ------
    InputError
        No two tables have a person ID in common.
    """
    opened = {name: open_table(path) for name, path in files.items()}
    inspections = {name: inspect(table) for name, table in opened.items()}
    tables = {
        name: table
        if inspections[name].reading == table.reading
        else open_table(files[name], reading=inspection.reading)
        for (name, table), inspection in zip(opened.items(), inspections.values(), strict=True)
    }
    people, persons = find_people(tables, people=people)
    first = _propose_people(people, persons[people], inspections[people], files[people])
    anchor = _anchor(first, inspections[people])
    events = [
        _propose_events(name, persons[name], inspections[name], files[name], timed=anchor is not None)
        for name in persons
        if name != people
    ]
    timed = [table for table in events if table.time is not None]
    time = None
    if anchor is not None and timed:
        window = _window([tables[each.name].data[each.time.column] for each in timed if each.time is not None])
        time = TimeRules(anchor, {each.name: window for each in events})
    in_order = {table.name: table for table in (first, *events)}
    policy = LinkedPolicy(
        tuple(in_order[name] for name in tables if name in persons),
        LinkedAnonymity(min(STARTING_K, tables[people].rows)),
        time,
        suppression=Budget(DEFAULT_SUPPRESSION),
        base=files[people].parent,
    )
    linked = {name: inspections[name] for name in tables if name in persons}
    left_out = tuple(name for name in tables if name not in persons)
    return LinkedProposal(policy, linked, _reasons(policy, persons, tables), left_out)


def tables_in(folder: Path) -> dict[str, Path] | None:
    """Return the files of a folder by table name, where their columns differ; None where they are one table.

    Files of other kinds, such as a policy, and hidden ones are passed over.
    """
    kinds = (*DELIMITED, *PARQUET, *ARROW, *SHEETS, *LABELLED)
    files = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith(HIDDEN) and kind_of_file(path) in kinds
    ]
    if len(files) < 2 or len({frozenset(_columns_of(path)) for path in files}) == 1:
        return None
    stems = Counter(path.name.partition(".")[0] for path in files)
    return {path.name if stems[stem] > 1 else stem: path for path in files if (stem := path.name.partition(".")[0])}


def _columns_of(path: Path) -> Sequence[str]:
    """Return the columns of a file, of most kinds without its rows."""
    if kind_of_file(path) in DELIMITED:
        return columns_in(path)
    return pq.read_schema(path).names if kind_of_file(path) in PARQUET else open_table(path).columns


def find_people(tables: Mapping[str, Table], *, people: str | None = None) -> tuple[str, dict[str, str]]:
    """Return the people table, and the column with the person ID of each table that belongs to it.

    The people table has a column without two equal values, in which those of a column of another table are. Of several
    such tables the one with most links is taken, then with most links by columns of the same name, then the smallest.
    """
    candidates: dict[tuple[int, int, int, int], tuple[str, dict[str, str]]] = {}
    for index, (name, table) in enumerate(tables.items()):
        for column in table.columns if people in (None, name) else ():
            ids = _distinct(table.data[column])
            if table.data[column].null_count or pa.types.is_floating(ids.type) or len(ids) < table.rows:
                continue
            links = {other: _link(column, ids, each) for other, each in tables.items() if other != name}
            persons = {name: column, **{other: each for other, each in links.items() if each is not None}}
            alike = sum(each == column for each in persons.values())
            candidates[(-len(persons), -alike, table.rows, index)] = name, persons
    best = candidates[min(candidates)] if candidates else ("", {})
    if len(best[1]) < 2:
        raise InputError(
            f"no table of {', '.join(tables)} has one row a person, and another one its person IDs",
            hint="several tables of the same people have a person ID in common, and one table has one row a person",
        )
    return best


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct values of a column, texts as texts, without missing."""
    values = pc.drop_null(pc.unique(column))
    return values.cast(values.type.value_type) if isinstance(values.type, pa.DictionaryType) else values


def _link(name: str, ids: pa.Array, table: Table) -> str | None:
    """Return the column of another table that holds person IDs: one of the same name first; None without one."""
    names = sorted(table.columns, key=lambda each: each != name)
    return next((each for each in names if _holds(table.data[each], ids, alike=each == name)), None)


def _holds(column: pa.ChunkedArray, ids: pa.Array, *, alike: bool) -> bool:
    """Return whether the values of a column are person IDs; a column of another name must repeat and be large."""
    values = _distinct(column)
    if values.type != ids.type:
        return False
    known = pc.sum(pc.is_in(values, value_set=ids)).as_py() or 0
    few = len(values) < max(2, len(ids) // 20)
    return known >= (1 - MAX_SHARE_OF_STRANGERS) * len(values) > 0 and (alike or not few)


def _propose_people(name: str, person: str, inspection: Inspection, path: Path) -> LinkedTable:
    """Return the people table: dates without gaps are quasi-identifiers, dates with gaps are dropped."""
    roles = {each.name: _role_of_people(each, person) for each in inspection.columns}
    tells: dict[str, Tells] = {
        each.name: "birth"
        for each in inspection.columns
        if each.kind is Kind.DATE and roles[each.name] is Role.QUASI and meets(words_of(each.name), BIRTH)
    }
    offered = starter_policy(inspection, path, path.parent, reading=inspection.reading).hierarchies
    hierarchies = {each: hierarchy for each, hierarchy in offered.items() if roles[each] is Role.QUASI}
    schema = Schema.from_roles(roles)
    return LinkedTable(name, schema, Path(path.name), inspection.reading, hierarchies, people=True, tells=tells)


def _role_of_people(column: ColumnProfile, person: str) -> Role:
    """Return the suggested role of a column of the people table."""
    if column.name == person:
        return Role.PERSON
    if column.kind is Kind.DATE:
        gaps = bool(column.missing) or meets(words_of(column.name), DEATH)
        return Role.IDENTIFIER if gaps else Role.QUASI
    return Role.IDENTIFIER if column.role is Role.PERSON else column.role


def _anchor(people: LinkedTable, inspection: Inspection) -> str | None:
    """Return the date since which times are counted: one that is no birth where there is one."""
    dates = [each.name for each in inspection.columns if each.kind is Kind.DATE and each.name in people.schema.quasi]
    return min(dates, key=lambda name: name in people.tells, default=None)


def _propose_events(name: str, person: str, inspection: Inspection, path: Path, *, timed: bool) -> LinkedTable:
    """Return an event table: its first date is the time, where times can be counted; other dates are dropped."""
    dates = [each.name for each in inspection.columns if each.kind is Kind.DATE]
    time = next((each for each in dates if timed and not _gaps(inspection, each)), None)
    roles = {each.name: _role_of_event(each, person) for each in inspection.columns if each.name != time}
    schema = Schema.from_roles(roles)
    time_column = None if time is None else TimeColumn(time)
    counted = bool(schema.quasi) or time_column is not None
    return LinkedTable(
        name, schema, Path(path.name), inspection.reading, knows=0 if counted else None, time=time_column
    )


def _role_of_event(column: ColumnProfile, person: str) -> Role:
    """Return the role of a column of events: codes are quasi-identifiers, as an attacker may know a row by them."""
    if column.name == person:
        return Role.PERSON
    if column.kind is Kind.DATE or column.role is Role.PERSON:
        return Role.IDENTIFIER
    return Role.QUASI if column.role is Role.SENSITIVE and column.kind is Kind.TEXT else column.role


def _gaps(inspection: Inspection, name: str) -> bool:
    """Return whether a column has missing values."""
    return next(bool(each.missing) for each in inspection.columns if each.name == name)


def _window(columns: list[pa.ChunkedArray]) -> tuple[date, date]:
    """Return whole years in which all times lie."""
    ends = [pc.min_max(column).as_py() for column in columns]
    return date(min(each["min"] for each in ends).year, 1, 1), date(max(each["max"] for each in ends).year, 12, 31)


def _reasons(policy: LinkedPolicy, persons: Mapping[str, str], tables: Mapping[str, Table]) -> tuple[str, ...]:
    """Return why the policy is proposed, in sentences."""
    people = policy.people.name
    reasons = [f"{people} has one row a person: no two rows have the same {persons[people]}"]
    for name in persons:
        if name != people:
            rows = round(tables[name].rows / max(tables[people].rows, 1), 1)
            reasons.append(f"{name} is linked by {persons[name]}: {number(rows)} rows a person")
    if policy.time is not None:
        reasons.append(f"times are published as {policy.time.unit} since {policy.time.anchor}")
    return tuple(reasons)
