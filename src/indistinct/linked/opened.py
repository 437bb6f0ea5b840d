"""The original tables once they are opened: whose each row is, when it was, and the codes of its quasi-identifiers.

Event tables that are judged are in memory or on disk, coded; those without labels are streams of the files themselves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from indistinct.engines.stored_rows import take_rows
from indistinct.hierarchy import Taxonomy
from indistinct.linked.calendar import OPEN
from indistinct.linked.declared import LinkedPolicy, LinkedTable, ListColumn
from indistinct.linked.streams import Persons, Stream
from indistinct.linked.view import coarse_codes
from indistinct.machine.arrays import Codes
from indistinct.tables.domain import Domain

Dates = tuple[Codes | None, Codes, Codes]
"""Anchor, birth and death of each person, in days since 1970."""


@dataclass(frozen=True, slots=True, eq=False)
class EventColumn:
    """A quasi-identifier of an event table: the code of each row, and the coarser values of each code."""

    name: str
    codes: Codes
    taxonomy: Taxonomy
    domain: Domain

    def values(self) -> pa.Array:
        """Return the original value of each row."""
        return self.domain.decode(self.codes)


@dataclass(frozen=True, slots=True, eq=False)
class OpenEvents:
    """An event table: the person of each row as a number of the people table, and days since the person's anchor.

    `data` has the published columns that are no quasi-identifiers. `sensitive` are codes of each sensitive column.
    """

    name: str
    table: LinkedTable | ListColumn
    person: Codes
    quasi: tuple[EventColumn, ...]
    data: pa.Table
    days: Codes | None = None
    sensitive: tuple[Codes, ...] = ()

    @property
    def rows(self) -> int:
        """Return the number of original rows."""
        return len(self.person)

    def counts(self, people: int) -> Codes:
        """Return how many rows each original person has."""
        return np.bincount(self.person, minlength=people)

    def select(self, people: Codes) -> "OpenEvents":
        """Return the rows of some people; `people` marks them among the original ones."""
        rows = np.flatnonzero(people[self.person])
        quasi = tuple(replace(column, codes=column.codes[rows]) for column in self.quasi)
        return replace(
            self,
            person=self.person[rows],
            quasi=quasi,
            data=take_rows(self.data, rows),
            days=None if self.days is None else self.days[rows],
            sensitive=tuple(codes[rows] for codes in self.sensitive),
        )


PERSON, DAYS, CODES = "\0person", "\0days", "\0codes"
"""Columns of coded rows on disk; no column of a table begins so. Codes are followed by the number of their column."""


@dataclass(frozen=True, slots=True, eq=False)
class EventsOnDisk:
    """An event table that is read from disk: its columns `names`, and its rows by person."""

    table: LinkedTable
    stream: Stream
    names: tuple[str, ...]
    persons: Persons

    @property
    def name(self) -> str:
        """Return the name of the table."""
        return self.table.name

    @property
    def rows(self) -> int:
        """Return the number of original rows."""
        return self.stream.rows


@dataclass(frozen=True, slots=True, eq=False)
class PassedEvents(EventsOnDisk):
    """An event table that is streamed after its rows were checked; `names` are its published columns."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredEvents(EventsOnDisk):
    """An event table that is judged and stored on disk as codes.

    `stream` has the coded rows: `PERSON`, `DAYS` where there is a time, `CODES` for each column of `quasi`, whose own
    codes are empty, and the unmodified columns `names`.
    """

    quasi: tuple[EventColumn, ...]

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Return its published sensitive columns."""
        return tuple(name for name in self.table.schema.sensitive if name in self.names)

    def counts(self, people: int) -> Codes:
        """Return how many rows each original person has."""
        return self.persons.counts[:people]

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the coded rows in blocks, at least one, with some of the unmodified columns."""
        coded = [name for name in self.stream.schema.names if name.startswith("\0")]
        yield from self.stream.read([*coded, *names])

    def load(self, rows: pa.Table) -> OpenEvents:
        """Return some of its coded rows as a table in memory."""
        known = {name: rows[name].to_numpy().astype(np.int64) for name in rows.column_names if name.startswith("\0")}
        return OpenEvents(
            self.name,
            self.table,
            known[PERSON],
            tuple(replace(column, codes=known[f"{CODES}{i}"]) for i, column in enumerate(self.quasi)),
            rows.select([name for name in self.names if name in rows.column_names]),
            known.get(DAYS),
            tuple(coarse_codes(name, rows[name])[0] for name in self.sensitive if name in rows.column_names),
        )


@dataclass(frozen=True, slots=True, eq=False)
class OpenTables:
    """All original tables; `anchor`, `birth` and `death` are days since 1970, open where a person has none.

    `ids` are the person IDs of the people table. `events` are tables that are judged, in memory, `stored` those that
    wait on disk, and `passed` those that are streamed. `dropped_keys` are columns of event tables that link their rows,
    and are not published. `memory` bounds the bytes that rows of stored tables take at once.
    """

    policy: LinkedPolicy
    people: pa.Table
    ids: pa.ChunkedArray
    anchor: Codes | None
    birth: Codes
    death: Codes
    events: tuple[OpenEvents, ...]
    sensitive: tuple[Codes, ...]
    passed: tuple[PassedEvents, ...] = ()
    dropped_keys: tuple[str, ...] = ()
    stored: tuple[StoredEvents, ...] = ()
    memory: int = 0

    @property
    def dates(self) -> tuple[Codes | None, Codes, Codes]:
        """Return anchor, birth and death of each person."""
        return self.anchor, self.birth, self.death

    @property
    def judged(self) -> tuple[OpenEvents | StoredEvents, ...]:
        """Return the tables that are judged, wherever they are; list columns come last."""
        return (*self.stored, *self.events)

    def events_of(self, table: LinkedTable) -> OpenEvents | StoredEvents | PassedEvents:
        """Return an event table."""
        return next(events for events in (*self.judged, *self.passed) if events.name == table.name)

    @property
    def size(self) -> int:
        """Return the number of original people."""
        return int(self.people.num_rows)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the tables for the data steward."""
        return tuple(f"column {name} links rows of event tables as a key and is dropped" for name in self.dropped_keys)


def window_days(policy: LinkedPolicy, table: str) -> tuple[int, int]:
    """Return the window of a table in days since 1970."""
    if policy.time is None:
        return -OPEN, OPEN
    first, last = (int(np.datetime64(day).astype(int)) for day in policy.time.windows[table])
    return first, last
