"""Several tables about the same people as a user declares them: roles, known rows, the time column, and the window."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.errors import ParameterError, SchemaError, did_you_mean
from indistinct.hierarchy import Hierarchy
from indistinct.linked.calendar import DEFAULT_WIDTHS, UNITS, Unit
from indistinct.linked.guarantee import ALL, Known, KnownRows, LinkedAnonymity
from indistinct.schema import Schema
from indistinct.suppression_limit import NO_BUDGET, Budget
from indistinct.tables.value import Reading

Tells = Literal["birth", "death"]
TELLS: tuple[Tells, ...] = ("birth", "death")
MANY_ROWS_DELETED = 0.3
"""Share of deleted rows of an event table above which a release warns."""
DEFAULT_NODES = 64
"""Upper limit of the combinations of levels that a search compares for each people table."""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """The time column of an event table: its name, the widths of its levels, and whether attackers know it.

    Without `widths` the default ones of the unit are taken. An `unknown` time is published finely.
    """

    column: str
    widths: tuple[int, ...] | None = None
    unknown: bool = False

    def levels(self, unit: Unit) -> tuple[int | None, ...]:
        """Return the width of every level, finest first; None is the level on which no offset is published."""
        wider = [width for width in self.widths or DEFAULT_WIDTHS[unit] if width > 1]
        return (1, *wider, None)


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A column of the people table whose cells are lists, which counts as an event table of its own."""

    column: str
    separator: str
    knows: Known
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True, slots=True)
class LinkedTable:
    """One table: its roles, and what attackers know of it.

    `schema.person` is the one column that tells people apart. The people table has no `knows` and no time; it has the
    `lists`, and `tells` names its columns of births and deaths.
    """

    name: str
    schema: Schema
    path: Path | None = None
    reading: Reading = Reading()  # noqa: RUF009 (a frozen value)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    people: bool = False
    knows: Known | None = None
    time: TimeColumn | None = None
    lists: tuple[ListColumn, ...] = ()
    tells: Mapping[str, Tells] = field(default_factory=dict)

    @property
    def person(self) -> str:
        """The column with the person ID."""
        return self.schema.person[0]

    @property
    def is_counted(self) -> bool:
        """Whether its rows have labels that attackers can know; other event tables are streamed."""
        return not self.people and (bool(self.schema.quasi) or (self.time is not None and not self.time.unknown))


@dataclass(frozen=True, slots=True)
class TimeRules:
    """How times are published: from which column of the people table, in which unit, and which days the data cover."""

    anchor: str
    windows: Mapping[str, tuple[date, date]]
    unit: Unit = "days"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ParameterError(
                f"`as` must be one of {', '.join(UNITS)}; got {self.unit!r}", hint=did_you_mean(str(self.unit), UNITS)
            )
        for name, (first, last) in self.windows.items():
            if type(first) is not date or type(last) is not date:
                raise ParameterError(
                    f"the window of table {name!r} must be two days (datetime.date)",
                    hint="write (date(2010, 1, 1), date(2024, 12, 31))",
                )
            if first > last:
                raise ParameterError(f"the window of table {name!r} ends before it begins", hint="write [first, last]")


@dataclass(frozen=True, slots=True)
class LinkedPolicy:
    """A whole job on several tables.

    Paths start at `base`. `suppression` bounds the people who are dropped, `rows` the share of the rows of each event
    table that is deleted. `folder` is where the release goes, one file a table.
    """

    tables: tuple[LinkedTable, ...]
    model: LinkedAnonymity
    time: TimeRules | None = None
    together: int | None = None
    suppression: Budget = NO_BUDGET
    rows: float = 1.0
    algorithm: Algorithm = Mondrian()  # noqa: RUF009 (a frozen value)
    nodes: int = DEFAULT_NODES
    folder: Path | None = None
    base: Path = field(default=Path(), compare=False)
    name: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _check_tables(self)
        _check_time(self)
        if not 0 <= self.rows <= 1:
            raise ParameterError(f"`rows` must be a share from 0 to 1; got {self.rows!r}", hint="0.3 is 30 %")
        self.algorithm.require_classes(
            ParameterError(
                f"{self.algorithm.name} publishes buckets, in which people have no class",
                hint="choose an algorithm that publishes classes, such as mondrian",
            )
        )

    @property
    def people(self) -> LinkedTable:
        """The people table."""
        return next(table for table in self.tables if table.people)

    @property
    def events(self) -> tuple[LinkedTable, ...]:
        """The event tables that are files of their own."""
        return tuple(table for table in self.tables if not table.people)

    @property
    def passed(self) -> tuple[LinkedTable, ...]:
        """The event tables that do not influence the verdict and are streamed.

        No labels and, with l, no sensitive values.
        """
        return tuple(
            table
            for table in self.events
            if not table.is_counted and not (self.model.l is not None and table.schema.sensitive)
        )

    @property
    def judged(self) -> tuple[LinkedTable, ...]:
        """The other event tables."""
        passed = self.passed
        return tuple(table for table in self.events if table not in passed)

    @property
    def knowledge(self) -> KnownRows:
        """The number of rows that an attacker knows, by table with labels, including list columns."""
        known: dict[str, Known] = {}
        for table in self.events:
            if table.is_counted and table.knows is not None:
                known[table.name] = table.knows
        for column in self.people.lists:
            known[list_name(self.people.name, column.column)] = column.knows
        return KnownRows(known, self.together)

    def locate(self, path: Path) -> Path:
        """Resolve a path relative to the policy's folder."""
        return self.base / path

    def table(self, name: str) -> LinkedTable:
        """Return the table of a name."""
        return next(table for table in self.tables if table.name == name)

    @property
    def output(self) -> Path | None:
        """The folder of the release, None if the policy does not give it."""
        return None if self.folder is None else self.locate(self.folder)


def list_name(people: str, column: str) -> str:
    """Return the name under which a list column counts as a table."""
    return f"{people}.{column}"


def _check_tables(policy: LinkedPolicy) -> None:
    """Raise unless the tables of a policy are consistent."""
    marked = [table.name for table in policy.tables if table.people]
    if len(marked) != 1:
        raise SchemaError(
            "no table is marked as the one with one row for each person"
            if not marked
            else f"one table has one row for each person; marked are {', '.join(marked)}",
            hint="write people = true under [tables.NAME] of that table alone",
        )
    _check_names(policy)
    for table in policy.tables:
        if len(table.schema.person) != 1:
            raise SchemaError(
                f"table {table.name!r} needs one column with the role person; got {len(table.schema.person)}",
                hint='name the column that identifies people: patient = "person"',
            )
        if table.people and (table.knows is not None or table.time is not None):
            raise SchemaError(
                f"the people table {table.name!r} has neither `knows` nor a column with the role time",
                hint="attackers know all its quasi-identifiers; dates of people are quasi-identifiers",
            )
        if not table.people and table.lists:
            raise SchemaError(
                f"a list column is allowed in the people table alone; table {table.name!r} has one",
                hint="write one row for each member of the list",
            )
        if table.is_counted and table.knows is None:
            raise SchemaError(
                f"table {table.name!r} has quasi-identifiers or a known time, and no `knows`",
                hint=f'state how many of its rows an attacker may know: 0, 1, 2, 3 or "{ALL}"',
            )
        if table.tells and not table.people:
            raise SchemaError(f"`tells` belongs to the people table, not to {table.name!r}", hint="drop the column")
        for column, what in table.tells.items():
            if what not in TELLS:
                raise SchemaError(
                    f"`tells` of column {column!r} of table {table.name!r} must be birth or death; got {what!r}",
                    hint=did_you_mean(str(what), TELLS) or 'write "birth" or "death"',
                )
            if column not in table.schema.quasi:
                raise SchemaError(
                    f"column {column!r} of table {table.name!r} has dates of birth or death and is not a "
                    "quasi-identifier",
                    hint='dates of people are quasi-identifiers: role = "quasi"; or drop it: role = "identifier"',
                )


def _check_names(policy: LinkedPolicy) -> None:
    """Raise for a table that cannot be its own file: one with a path as name, or with the name of another one."""
    names = [table.name for table in policy.tables]
    lists = [list_name(policy.people.name, column.column) for column in policy.people.lists]
    for index, name in enumerate(names):
        if not name or name.startswith(".") or set(name) & set("/\\\0"):
            raise SchemaError(
                f"a table cannot be called {name!r}: its file is named after it", hint="choose a name without / and \\"
            )
        if name.casefold() in (other.casefold() for other in (*names[:index], *lists)):
            raise SchemaError(
                f"two tables are called {name!r}; small and capital letters are the same in names of files",
                hint="a list column counts as a table called PEOPLE.COLUMN; choose another name",
            )


def _check_time(policy: LinkedPolicy) -> None:
    """Raise unless anchor, windows and time columns match."""
    timed = [table for table in policy.events if table.time is not None]
    if timed and policy.time is None:
        raise SchemaError(
            f"table {timed[0].name!r} has a column with the role time, and no [time] says since when it is counted",
            hint='write [time] with anchor = "column of the people table" and window = ["first day", "last day"]',
        )
    if policy.time is None:
        return
    if policy.time.anchor not in policy.people.schema.quasi:
        raise SchemaError(
            f"the anchor {policy.time.anchor!r} is not a quasi-identifier of the people table {policy.people.name!r}",
            hint=did_you_mean(policy.time.anchor, policy.people.schema.quasi)
            or "choose a date of each person, with the role quasi",
        )
    for table in timed:
        if table.name not in policy.time.windows:
            raise SchemaError(
                f"there is no window for table {table.name!r}, which has a column with the role time",
                hint="write window = [first day, last day] for all tables, or one for each table that has times",
            )
