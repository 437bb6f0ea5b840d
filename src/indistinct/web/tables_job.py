"""A job on several tables of the same people, and the changes of it that a steward makes; each gives a whole job."""

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from indistinct.errors import ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct.linked.calendar import Unit
from indistinct.linked.declared import LinkedPolicy, LinkedTable, ListColumn, TimeColumn, TimeRules, list_name
from indistinct.linked.guarantee import MAX_ROWS_KNOWN, Known
from indistinct.schema import Role, Schema

TIME, UNKNOWN_TIME, BIRTH, DEATH, LIST = "time", "time-unknown", "birth", "death", "list"
NO_TIME, GIVE_TIME = "no table has a time", "give a column the role time first"
SEPARATOR = "|"
"""What parts the values of a list column until the steward says otherwise."""


@dataclass(frozen=True, slots=True)
class TablesJob:
    """The policy of several tables, and the tables (or list columns) whose known rows the steward has stated.

    The policy has 0 for all others, so that it is whole; nothing is searched until every table was `chosen`.
    """

    policy: LinkedPolicy
    chosen: frozenset[str] = frozenset()

    @property
    def open_questions(self) -> tuple[str, ...]:
        """Return the tables and list columns without an answer on how many rows an attacker may know."""
        return tuple(name for name in known_rows(self.policy) if name not in self.chosen)

    @property
    def source(self) -> tuple[Path, ...]:
        """Return the paths of the tables."""
        return tuple(self.policy.locate(table.path or Path(table.name)) for table in self.policy.tables)


def known_rows(policy: LinkedPolicy) -> dict[str, Known]:
    """Return how many rows an attacker may know, of each table and list column for which that matters."""
    known: dict[str, Known] = {each.name: each.knows or 0 for each in policy.events if each.is_counted}
    people = policy.people
    return known | {list_name(people.name, each.column): each.knows for each in people.lists}


def role_of(table: LinkedTable, column: str) -> str:
    """Return the role of a column, including times, lists, and dates of birth or death."""
    if table.time is not None and table.time.column == column:
        return UNKNOWN_TIME if table.time.unknown else TIME
    if any(each.column == column for each in table.lists):
        return LIST
    return table.tells.get(column) or str(table.schema.role(column))


def columns_of(table: LinkedTable) -> tuple[str, ...]:
    """Return every column of a table that has a role."""
    time = () if table.time is None else (table.time.column,)
    return (*table.schema.columns, *(each.column for each in table.lists), *time)


def with_column_role(
    job: TablesJob, table_name: str, column: str, role: str, *, hierarchy: Hierarchy | None = None
) -> TablesJob:
    """Change the role of a column; `hierarchy` is used where the role has one."""
    table = job.policy.table(table_name)
    roles = {name: str(table.schema.role(name)) for name in table.schema.columns if name != column}
    tells = {name: each for name, each in table.tells.items() if name != column}
    lists = tuple(each for each in table.lists if each.column != column)
    time = None if table.time is not None and table.time.column == column else table.time
    hierarchies = {name: each for name, each in table.hierarchies.items() if name != column}
    match role:
        case "time" | "time-unknown":
            if time is not None:  # a table has one time: the other date is dropped
                roles[time.column] = str(Role.IDENTIFIER)
            time = TimeColumn(column, unknown=role == UNKNOWN_TIME)
        case "list":
            lists = (*lists, ListColumn(column, SEPARATOR, 0))
        case "birth" | "death":
            roles[column], tells[column] = str(Role.QUASI), "birth" if role == BIRTH else "death"
        case _:
            roles[column] = role
            if role == Role.QUASI and hierarchy is not None:
                hierarchies[column] = hierarchy
    schema = Schema.from_roles(roles)
    changed = replace(table, schema=schema, tells=tells, lists=lists, time=time, hierarchies=hierarchies)
    if not table.people:
        changed = replace(changed, knows=None if not replace(changed, knows=0).is_counted else changed.knows or 0)
    return _with_table(job, changed, times=_times_for(job.policy, changed))


def _times_for(policy: LinkedPolicy, changed: LinkedTable) -> TimeRules | None:
    """Return the rules of time after a change of a table: they go where their anchor goes and no time needs them."""
    tables = [changed if each.name == changed.name else each for each in policy.tables]
    timed = any(each.time is not None for each in tables)
    if timed and policy.time is None:
        raise ParameterError(
            "times are counted since a date of each person, and the people table had none without gaps",
            hint="drop this date, or open the tables with such a date",
        )
    people = next(each for each in tables if each.people)
    return policy.time if timed or (policy.time is not None and policy.time.anchor in people.schema.quasi) else None


def _with_table(job: TablesJob, changed: LinkedTable, *, times: TimeRules | None) -> TablesJob:
    tables = tuple(changed if each.name == changed.name else each for each in job.policy.tables)
    return _forget_settled(replace(job, policy=replace(job.policy, tables=tables, time=times)))


def _forget_settled(job: TablesJob) -> TablesJob:
    """Forget answers about tables that no longer need one."""
    return replace(job, chosen=job.chosen & set(known_rows(job.policy)))


def with_person(job: TablesJob, table_name: str, column: str) -> TablesJob:
    """Make another column the person ID of a table; the previous one is dropped."""
    table = job.policy.table(table_name)
    if column == table.person:
        return job
    if column not in table.schema.columns:
        raise ParameterError("a time or a list is not a person ID", hint="choose another column")
    roles = {name: str(table.schema.role(name)) for name in table.schema.columns}
    roles |= {table.person: str(Role.IDENTIFIER), column: str(Role.PERSON)}
    hierarchies = {name: each for name, each in table.hierarchies.items() if name != column}
    tells = {name: each for name, each in table.tells.items() if name != column}
    changed = replace(table, schema=Schema.from_roles(roles), hierarchies=hierarchies, tells=tells)
    return _with_table(job, changed, times=job.policy.time)


def with_known(job: TablesJob, name: str, known: Known) -> TablesJob:
    """Return a job that says how many rows of a table, or values of a list column, an attacker may know."""
    policy = job.policy

    def changed(table: LinkedTable) -> LinkedTable:
        lists = tuple(
            replace(each, knows=known) if list_name(table.name, each.column) == name else each for each in table.lists
        )
        return replace(table, lists=lists, knows=known if table.name == name else table.knows)

    together = policy.together
    made = replace(policy, tables=tuple(map(changed, policy.tables)))
    total = sum(each for each in known_rows(made).values() if isinstance(each, int))
    # Without a number for all tables together, attackers know the sum of all, which can be counted up to three.
    if total > MAX_ROWS_KNOWN and together is None:
        together = MAX_ROWS_KNOWN
    return TablesJob(replace(made, together=together), job.chosen | {name})


def with_separator(job: TablesJob, column: str, separator: str) -> TablesJob:
    """Change the separator of a list column."""
    if not separator:
        raise ParameterError("a list needs a separator", hint="for example | or ;")
    people = job.policy.people
    lists = tuple(replace(each, separator=separator) if each.column == column else each for each in people.lists)
    return _with_table(job, replace(people, lists=lists), times=job.policy.time)


def with_window(job: TablesJob, first: date, last: date) -> TablesJob:
    """Change the window of days of all tables."""
    if job.policy.time is None:
        raise ParameterError(NO_TIME, hint=GIVE_TIME)
    windows = dict.fromkeys(job.policy.time.windows, (first, last))
    return with_policy(job, time=replace(job.policy.time, windows=windows))


def with_calendar(job: TablesJob, *, anchor: str | None = None, unit: Unit | None = None) -> TablesJob:
    """Change the anchor of times or their unit, with the levels of that unit."""
    rules = job.policy.time
    if rules is None:
        raise ParameterError(NO_TIME, hint=GIVE_TIME)
    tables = job.policy.tables
    if unit is not None and unit != rules.unit:
        tables = tuple(
            each if each.time is None else replace(each, time=replace(each.time, widths=None)) for each in tables
        )
    return with_policy(job, tables=tables, time=replace(rules, anchor=anchor or rules.anchor, unit=unit or rules.unit))


def with_policy(job: TablesJob, **changed: Any) -> TablesJob:
    """Return a job with other parts of its policy."""
    return _forget_settled(replace(job, policy=replace(job.policy, **changed)))
