"""The attack on several tables: known rows, people columns and dates of each person against the published people.

For each attacked person some true rows are drawn. Published people are candidates if their labels cover the known rows,
and their offsets are possible for the person's dates. Where no published row of a class covers a known row, that row
was suppressed in the class and excludes no one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.figures import percent
from indistinct.frequencies.encode import encode_column
from indistinct.linked.arrays import arrays_of, offsets_of, owners_of
from indistinct.linked.calendar import OPEN, first_day, last_day, units_of_days
from indistinct.linked.declared import LinkedTable
from indistinct.linked.guarantee import ALL
from indistinct.linked.opened import OpenEvents, OpenTables, window_days
from indistinct.linked.people import day_ends
from indistinct.machine.arrays import Codes, Mask, run_entries, starts_of
from indistinct.recoding.columns import columns_of
from indistinct.schema import Schema
from indistinct.view.cover import Cover
from indistinct.view.read_back import cover_of_rows

ATTACK = "known-rows"
ATTACKED_PEOPLE = 1000
"""People who are attacked, drawn at random where there are more."""


@dataclass(frozen=True, slots=True)
class LinkedOutcome:
    """What an attack on several tables achieves.

    Attributes
    ----------
    attempts
        People who were attacked.
    risk
        The mean chance of naming the right published person: one in the number of candidates.
    singled_out
        People with one candidate.
    below_k
        People with fewer than k candidates.
    smallest
        The fewest candidates of any person.
    baseline
        The mean chance of an attacker who knows the people table's columns alone.
    control
        The share of people for whom the rows of another person leave one candidate too: what coincidence gives.
    """

    attempts: int
    k: int
    risk: float
    singled_out: int
    below_k: int
    smallest: int
    baseline: float
    control: float
    known: Mapping[str, int | str] = field(default_factory=dict)
    attack: str = ATTACK

    @property
    def succeeds(self) -> bool:
        """Whether any person was left among fewer than k candidates."""
        return self.below_k > 0

    @property
    def share_below(self) -> float | None:
        """Return the share of people who are left among fewer than k candidates, None where no one was attacked."""
        return self.below_k / self.attempts if self.attempts else None

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain JSON values."""
        return {
            "attack": self.attack,
            "attempts": self.attempts,
            "known": dict(self.known),
            "k": self.k,
            "risk": self.risk,
            "singled_out": self.singled_out,
            "below_k": self.below_k,
            "smallest": self.smallest,
            "baseline": self.baseline,
            "control": self.control,
            "sentence": self.sentence,
        }

    @property
    def sentence(self) -> str:
        """Return the outcome in words."""
        if not self.attempts:
            return "no person could be attacked: none of those who were drawn is in the release"
        return (
            f"{self.below_k:,} of {self.attempts:,} people are left among fewer than {self.k} candidates, "
            f"{self.singled_out:,} alone; a guess is right in {percent(self.risk)} of cases, and in "
            f"{percent(self.baseline)} without known rows"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _TableRows:
    """A table in an attack: published rows by person, original rows by person, and which codes each label covers."""

    events: OpenEvents
    shown_starts: Codes
    shown_rows: Codes
    own_starts: Codes
    own_rows: Codes
    covers: tuple[tuple[Cover, Codes], ...]
    days: tuple[Codes, Codes] | None
    absolute: bool
    known: int | str


@dataclass(frozen=True, slots=True, eq=False)
class _Published:
    """What an attacker sees of a release, and the originals that are partly known."""

    opened: OpenTables
    classes: Codes
    members: tuple[Codes, ...]
    covers: tuple[tuple[Cover, Codes], ...]
    tables: tuple[_TableRows, ...]


def attack_release(
    opened: OpenTables, tables: Mapping[str, pa.Table], *, seed: int | None = None, people: int = ATTACKED_PEOPLE
) -> LinkedOutcome:
    """Attack a release as an attacker who knows the declared number of rows of each person."""
    published = _prepare(opened, tables)
    generator = np.random.default_rng(seed)
    attacked = np.arange(opened.size)
    if opened.size > people:
        attacked = np.sort(generator.choice(opened.size, people, replace=False))
    sizes, alone, other = [], [], []
    for person in attacked.tolist():
        base = _candidates_by_columns(published, person)
        if not len(base):
            continue  # a person who was suppressed is not in the release
        known = _draw_rows(published, person, generator)
        candidates = _candidates(published, person, base, known)
        if not len(candidates):
            continue
        stranger = int(generator.integers(opened.size))
        wrong = _candidates(published, person, base, _draw_rows(published, stranger, generator))
        sizes.append(len(candidates))
        alone.append(len(base))
        other.append(len(wrong) == 1)
    counts = np.array(sizes, dtype=np.int64)
    declared = {rows.events.name: rows.known for rows in published.tables}
    if not len(counts):
        return LinkedOutcome(0, opened.policy.model.k, 0.0, 0, 0, 0, 0.0, 0.0, declared)
    return LinkedOutcome(
        len(counts),
        opened.policy.model.k,
        float((1 / counts).mean()),
        int((counts == 1).sum()),
        int((counts < opened.policy.model.k).sum()),
        int(counts.min()),
        float((1 / np.array(alone)).mean()),
        float(np.mean(other)),
        declared,
    )


def _prepare(opened: OpenTables, tables: Mapping[str, pa.Table]) -> _Published:
    """Prepare published people and rows for the attack."""
    policy = opened.policy
    owners = owners_of(policy, tables)
    arrays = arrays_of(policy, tables, owners, anchors_inside=True)
    quasi, size = policy.people.schema.quasi, len(arrays.vectors)
    vectors = pa.table({n: pa.array([v[i] for v in arrays.vectors], pa.string()) for i, n in enumerate(quasi)})
    covers = _covers(vectors, opened.people, quasi, policy.people.hierarchies)
    order = np.argsort(arrays.view.classes, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(arrays.view.classes, minlength=size))[:-1])
    covers_of_columns = []
    for events in opened.events:
        table = events.table
        known = policy.knowledge.tables.get(events.name)
        if not isinstance(table, LinkedTable):
            continue
        covers_of_columns.append(
            _table_rows(opened, events, table, tables[events.name], owners[events.name], known or 0, arrays.view.people)
        )
    return _Published(opened, arrays.view.classes, tuple(members), covers, tuple(covers_of_columns))


def _covers(
    labels: pa.Table, originals: pa.Table, names: Sequence[str], hierarchies: Mapping[str, Any]
) -> tuple[tuple[Cover, Codes], ...]:
    """Return, by column, the values that each label row covers, and the codes of the original rows."""
    if not names:
        return ()
    encoded = [encode_column(name, originals[name], required=False) for name in names]
    columns = columns_of([e.domain for e in encoded], {n: each for n, each in hierarchies.items() if n in names})
    read = cover_of_rows(labels, columns, schema=Schema(quasi=names))
    return tuple((cover, each.codes.astype(np.int64)) for cover, each in zip(read, encoded, strict=True))


def _table_rows(
    opened: OpenTables,
    events: OpenEvents,
    table: LinkedTable,
    data: pa.Table,
    owner: Codes,
    known: int | str,
    people: int,
) -> _TableRows:
    """Prepare the published rows of one event table for the attack."""
    names = [column.name for column in events.quasi]
    originals = pa.table({column.name: column.values() for column in events.quasi})
    covers = _covers(data.select(names), originals, names, table.hierarchies) if names else ()
    days, absolute = None, False
    if table.time is not None and table.time.column in data.column_names:
        days = offsets_of(opened.policy, table, data)
        if days is None:
            days, absolute = _absolute_days(table, data), True
    order = np.argsort(owner, kind="stable")
    own = np.argsort(events.person, kind="stable")
    return _TableRows(
        events,
        starts_of(np.bincount(owner, minlength=people)),
        order,
        starts_of(np.bincount(events.person, minlength=opened.size)),
        own,
        covers,
        days,
        absolute,
        known,
    )


def _absolute_days(table: LinkedTable, data: pa.Table) -> tuple[Codes, Codes]:
    """Return the days of published dates that are no offsets, as files of other tools have them."""
    if table.time is None:
        raise AssertionError("a table without time has no days")
    encoded = encode_column(table.time.column, data[table.time.column].cast(pa.string()), required=False)
    ends = [day_ends(table, table.time.column, text, star=(-OPEN, OPEN)) for text in encoded.domain.texts()]
    known = np.array(ends, dtype=np.int64).reshape(-1, 2)[encoded.codes]
    return known[:, 0], known[:, 1]


def _candidates_by_columns(published: _Published, person: int) -> Codes:
    """Return the published people whose class covers a person's columns of the people table."""
    groups = np.arange(len(published.members))
    for cover, codes in published.covers:
        groups = groups[cover.holds(np.full(len(groups), codes[person]), groups)]
    members = [published.members[group] for group in groups.tolist()]
    return np.concatenate(members) if members else np.zeros(0, dtype=np.int64)


def _draw_rows(published: _Published, person: int, generator: np.random.Generator) -> dict[int, Codes]:
    """Return the known true rows of a person, by the number of the table."""
    policy = published.opened.policy
    drawn: dict[int, Codes] = {}
    choices = []
    for number, table in enumerate(published.tables):
        own = table.own_rows[table.own_starts[person] : table.own_starts[person + 1]]
        if table.known == ALL:
            drawn[number] = own
        elif table.known:
            picked = generator.permutation(own)[: int(table.known)]
            choices += [(number, row) for row in picked.tolist()]
    kept = generator.permutation(len(choices))[: policy.knowledge.rows]
    for index in kept.tolist():
        number, row = choices[index]
        drawn[number] = np.append(drawn.get(number, np.zeros(0, dtype=np.int64)), row)
    return drawn


def _candidates(published: _Published, person: int, base: Codes, known: Mapping[int, Codes]) -> Codes:
    """Return the candidates that remain after using known rows and dates.

    A known row that no published row of a class covers was suppressed in the class, and excludes no one there.
    """
    left = np.ones(len(base), dtype=bool)
    for table in published.tables:
        left &= _possible(published, table, person, base)
    for number, rows in known.items():
        table = published.tables[number]
        owner, published_rows = _shown_rows(table, base)
        match = _matches(published, table, published_rows, rows)
        groups = published.classes[base]
        covered = np.zeros((len(rows), len(published.members)), dtype=bool)
        for index in range(len(rows)):
            covered[index, groups[owner[match[index]]]] = True
        left &= _has_known_rows(match, owner, len(base), covered[:, groups], exact=table.known == ALL)
    return base[left]


def _shown_rows(table: _TableRows, people: Codes) -> tuple[Codes, Codes]:
    """Return the published rows of some people, and the index of each row's person among them."""
    counts = np.diff(table.shown_starts)[people]
    rows = table.shown_rows[run_entries(table.shown_starts[:-1][people], counts)]
    return np.repeat(np.arange(len(people)), counts), rows


def _matches(published: _Published, table: _TableRows, shown: Codes, rows: Codes) -> Mask:
    """Return which published rows cover which known rows."""
    match = np.ones((len(rows), len(shown)), dtype=bool)
    for cover, codes in table.covers:
        for index, row in enumerate(rows.tolist()):
            match[index] &= cover.holds(np.full(len(shown), codes[row]), shown)
    declared = table.events.table
    if table.days is None or table.events.days is None or not isinstance(declared, LinkedTable):
        return match
    if declared.time is not None and declared.time.unknown:
        return match
    opened = published.opened
    days = table.events.days[rows]
    if table.absolute and opened.anchor is not None:
        days = days + opened.anchor[table.events.person[rows]]
    elif opened.policy.time is not None:
        days = units_of_days(days, opened.policy.time.unit)
    low, high = (ends[shown] for ends in table.days)
    return match & (low[None, :] <= days[:, None]) & (days[:, None] <= high[None, :])


def _has_known_rows(match: Mask, owner: Codes, people: int, counted: Codes, *, exact: bool) -> Mask:
    """Return which people can have a different published row for each known row that counts in their class.

    By Hall's theorem they can if, for every choice of known rows, as many published rows cover any of them. For tables
    that are known whole there must be no other row: the number of rows is known.
    """
    if exact:
        return _has_exact_rows(match, owner, people, counted)
    fits = np.ones(people, dtype=bool)
    for size in range(1, len(match) + 1):
        for chosen in combinations(range(len(match)), size):
            rows = list(chosen)
            together = match[rows].any(axis=0)
            fits &= ~counted[rows].all(axis=0) | (np.bincount(owner[together], minlength=people) >= size)
    return fits


def _has_exact_rows(match: Mask, owner: Codes, people: int, counted: Codes) -> Mask:
    """Return which people have exactly the known rows that count for their class."""
    fits = np.bincount(owner, minlength=people) == counted.sum(axis=0)
    for index in np.flatnonzero(fits).tolist():
        own = match[np.ix_(counted[:, index], owner == index)]
        fits[index] = _can_assign(own)
    return fits


def _can_assign(match: Codes) -> bool:
    """Return whether each known row can have a different published row."""
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column in np.flatnonzero(match[row]).tolist():
            if column in seen:
                continue
            seen.add(column)
            if column not in taken or place(taken[column], seen):
                taken[column] = row
                return True
        return False

    return all(place(row, set()) for row in range(match.shape[0]))


def _possible(published: _Published, table: _TableRows, person: int, people: Codes) -> Mask:
    """Return which published people show only offsets that are possible for the dates of an original one."""
    opened = published.opened
    if opened.anchor is None or opened.policy.time is None or table.days is None:
        return np.ones(len(people), dtype=bool)
    anchor, unit = int(opened.anchor[person]), opened.policy.time.unit
    owner, rows = _shown_rows(table, people)
    first, last = window_days(opened.policy, table.events.name)
    first, last = max(first, int(opened.birth[person])), min(last, int(opened.death[person]))
    low, high = (ends[rows] for ends in table.days)
    if not table.absolute:
        low, high = first_day(low, unit) + anchor, last_day(high, unit) + anchor
    return np.bincount(owner[(low > last) | (high < first)], minlength=len(people)) == 0


def refuse_attack(name: str) -> None:
    """Raise `InputError` for an attack that does not exist for several tables."""
    if name not in (ATTACK, "all"):
        raise InputError(f"there is no attack {name!r} on several tables", hint=f"{ATTACK}, or all")
