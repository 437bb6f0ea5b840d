"""The classes of each person in each release, by pseudonym, and what all releases reveal together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from indistinct.engines.base import Engine, Source
from indistinct.frequencies.count import Request
from indistinct.frequencies.encode import Grouping, encode_column, group_rows
from indistinct.machine.arrays import Codes, Mask, starts_of
from indistinct.machine.ordering import distinct
from indistinct.recoding.assign import project
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import Assignment
from indistinct.release.certificate import Overlap
from indistinct.release.pseudonyms.linked import class_sets, set_numbers
from indistinct.release.pseudonyms.making import LENGTH, pseudonyms
from indistinct.schema import Schema
from indistinct.tables.domain import Domain
from indistinct.tables.value import Table


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Where earlier releases of the same people are known from, and what may be published after them.

    `previous` is the recoding of one and `previous_input` its table; a private `ledger` remembers all of them. With
    `accept_overlap` a release is made that leaves a person among fewer people than guaranteed. `fresh` are
    columns that were measured anew for every release that has them.
    """

    previous: Recoding | str | Path | None = None
    previous_input: Any = None
    ledger: str | Path | None = None
    accept_overlap: bool = False
    fresh: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Standing:
    """The people of a release and the classes of each.

    Person `i` is in `classes[indptr[i]:indptr[i + 1]]`. `people` are pseudonyms and ascend; `person` has the
    columns that tell people apart, with their types. `k` is the guaranteed class size. A release is `fresh`
    where every unmodified column was re-measured for it.
    """

    person: Mapping[str, str]
    people: Codes
    indptr: Codes
    classes: Codes
    size: int
    k: int = 1
    fresh: bool = False

    def __len__(self) -> int:
        return len(self.people)

    def without(self, withheld: Mask) -> "Standing":
        """Return the release without the marked people."""
        counts = np.diff(self.indptr)
        classes = self.classes[np.repeat(~withheld, counts)]
        return replace(self, people=self.people[~withheld], indptr=starts_of(counts[~withheld]), classes=classes)


def standing_of(
    engine: Engine, source: Source, assignment: Assignment, *, schema: Schema, key: bytes, k: int, fresh: bool = False
) -> Standing:
    """Return the classes of each person in what an assignment publishes; person IDs are hashed with a key."""
    names, person = assignment.frequencies.names, tuple(schema.person)
    known = {domain.column: domain for domain in assignment.domains}
    counted = engine.count(source, Request((*names, *person), domains=known, published=True))
    cells, domains = counted.frequencies, counted.known
    projected, positions = project(cells, names)
    if not np.array_equal(projected.vectors, assignment.frequencies.vectors):
        raise AssertionError("the cells of a table do not depend on which people have them")
    class_ids = assignment.class_ids[positions].astype(np.int64)
    kept = class_ids >= 0
    people, ranks = _people(key, [domains[name] for name in person], cells.vectors[kept, len(names) :])
    indptr, classes = class_sets(ranks, class_ids[kept], len(assignment.classes))
    kinds = {name: str(domains[name].kind) for name in person}
    return Standing(kinds, people, indptr, classes.astype(np.int32), len(assignment.classes), k, fresh)


def rows_of_people(table: Table, people: Codes, *, schema: Schema, key: bytes) -> Mask:
    """Mark the rows of a table that are about some people, who are pseudonyms under a key."""
    columns = [encode_column(name, table.data[name]) for name in schema.person]
    everybody, ranks = _people(
        key, [each.domain for each in columns], np.stack([each.codes for each in columns], axis=1)
    )
    marked: Mask = np.isin(everybody, people)[ranks]
    return marked


def _people(key: bytes, domains: Sequence[Domain], who: Codes) -> tuple[Codes, Codes]:
    """Return the pseudonyms of people, ascending, and where each row's person is among them."""
    grouping = group_rows(list(who.T), [len(domain) for domain in domains])
    words = pseudonyms(key, domains, who[grouping.first], purpose="person")
    order = np.argsort(words, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return words[order], ranks[grouping.group_ids()]


# Most entries of histories to compare where releases are fresh; the other people are counted as if none were fresh.
MAX_COMPARED = 1 << 28


@dataclass(frozen=True, slots=True, eq=False)
class Histories:
    """All people in a new release or in an earlier one, with the size of each person's candidate set.

    `index` is where a person is in the new release, -1 where absent. `before` and `now` number histories without and
    with the new release. `k` is the largest guaranteed to a person, `k_before` without the new release, 0 where
    there was none. `company` is the number of people who share a person's history. `untouched` marks people about
    whom the new release reveals nothing, neither by presence nor by absence. `fresh` says that the new release is.
    """

    index: Codes
    before: Codes
    now: Codes
    k: Codes
    k_before: Codes
    company: Codes
    untouched: Codes
    fresh: bool = False

    @property
    def joined(self) -> Mask:
        """Mark the people who are only in the new release."""
        return self.k_before == 0

    @property
    def left(self) -> Mask:
        """Mark the people who are only in earlier releases."""
        return self.index < 0

    @property
    def small(self) -> Mask:
        """Mark the people whose candidate set is smaller than k."""
        return self.company < self.k


def overlap_of(new: Standing, earlier: Sequence[Standing]) -> Overlap:
    """Summarize the candidate sets of all people after intersecting a release with earlier ones."""
    histories = histories_of(new, earlier)
    below = histories.small & ~histories.untouched
    return Overlap(
        shared_people=int((~histories.joined & ~histories.left).sum()),
        smallest_history=int(histories.company[~histories.untouched].min(initial=_MANY)) if len(new) else 0,
        people_below=int(below.sum()),
        k=int(histories.k.max(initial=0)),
        releases=len(earlier),
        people_joined=int((below & histories.joined).sum()),
        people_left=int((below & histories.left).sum()),
        people_before=int((histories.small & histories.untouched).sum()),
    )


_MANY = np.iinfo(np.int64).max


def histories_of(new: Standing, earlier: Sequence[Standing]) -> Histories:
    """Return the histories of all people of a release or an earlier one."""
    everybody, indices = _everybody([*earlier, new])
    columns, k = [], np.zeros(everybody, dtype=np.int64)
    k_before = k
    for standing, own in zip((*earlier, new), indices, strict=True):
        column = np.zeros(everybody, dtype=np.int32)
        column[own] = set_numbers(standing.indptr, standing.classes)
        columns.append(column)
        k_before, k = k, k.copy()
        k[own] = np.maximum(k[own], max(standing.k, 1))
    index = np.full(everybody, -1, dtype=np.int64)
    index[indices[-1]] = np.arange(len(new))
    before = _grouped(columns[:-1], everybody).group_ids()
    now = _grouped([before, columns[-1]], everybody).group_ids()
    fresh = [each.fresh for each in (*earlier, new)]
    if any(fresh):
        alone, company = _candidates(columns[:-1], fresh[:-1], everybody), _candidates(columns, fresh, everybody)
    else:
        alone, company = np.bincount(before)[before], np.bincount(now)[now]
    untouched = (index < 0) & (alone == company)
    return Histories(index, before, now, k, k_before, company, untouched, new.fresh)


def _without_earlier_values(fresh: Sequence[bool]) -> list[bool]:
    """Mark the last releases that are all re-measured, so that they share no values with earlier ones.

    A fresh one shows none of an earlier release, and may be repeated by a later one that is not fresh.

    >>> _without_earlier_values([True, False, True, True])
    [False, False, True, True]
    """
    return [all(fresh[index:]) for index in range(len(fresh))]


def _everybody(standings: Sequence[Standing]) -> tuple[int, list[Codes]]:
    """Number all people of several releases; return their number, and the numbers of the people in each.

    The first half of a pseudonym tells people apart; where it ever does not, the whole is looked at.
    """
    halves = [_first_half(each.people) for each in standings]
    every = distinct(np.concatenate(halves))
    indices: list[Codes] = [np.searchsorted(every, each) for each in halves]
    whole = np.zeros(len(every), dtype=f"S{LENGTH}")
    for standing, own in zip(standings, indices, strict=True):
        whole[own] = standing.people
    same = all((whole[own] == each.people).all() for each, own in zip(standings, indices, strict=True))
    if same and all((np.diff(own) > 0).all() for own in indices):
        return len(every), indices
    every = np.unique(np.concatenate([each.people for each in standings]))
    return len(every), [np.searchsorted(every, each.people) for each in standings]


def _first_half(people: Codes) -> Codes:
    """Return the first eight bytes of pseudonyms as numbers that ascend as they do."""
    filled = np.ascontiguousarray(people, dtype=f"S{LENGTH}")
    return filled.view(">u8").reshape(-1, LENGTH // 8)[:, 0].astype(np.uint64)


def _grouped(columns: Sequence[Codes], people: int) -> Grouping:
    """Group people by several columns of codes."""
    if not columns:
        return group_rows([np.zeros(people, dtype=np.int32)], [1])
    return group_rows(list(columns), [int(column.max(initial=0)) + 1 for column in columns])


def _candidates(columns: Sequence[Codes], fresh: Sequence[bool], people: int) -> Codes:
    """Return the size of each person's candidate set; absence from the last, re-measured releases does not count.

    These are the people of the same history in all other releases who are in the same classes of every one of these
    that the person is in. They are counted for each set of these that a person is in.
    """
    fresh = _without_earlier_values(fresh)
    grouping = _grouped(columns, people)
    first, counts = grouping.first, grouping.counts
    own = [column[first] for column in columns]
    strict = _grouped([each for each, free in zip(own, fresh, strict=True) if not free], len(first)).group_ids()
    open_ = [each for each, free in zip(own, fresh, strict=True) if free]
    present = np.stack([each > 0 for each in open_], axis=1) if open_ else np.zeros((len(first), 0), dtype=bool)
    patterns = _grouped([column.astype(np.int32) for column in present.T], len(first))
    company, compared = counts.astype(np.int64), 0
    smallest = np.minimum.reduceat(counts[patterns.order], patterns.starts[:-1]) if len(first) else counts
    for index in np.argsort(smallest, kind="stable"):
        rows = patterns.order[patterns.starts[index] : patterns.starts[index + 1]].astype(np.int64)
        inside = np.flatnonzero(present[rows[0]])
        others = np.flatnonzero(present[:, inside].all(axis=1))
        compared += len(others) * (len(inside) + 1)
        if compared > MAX_COMPARED:
            break
        ids = _grouped([strict[others], *(open_[each][others] for each in inside)], len(others)).group_ids()
        together = np.bincount(ids, weights=counts[others]).astype(np.int64)
        company[rows] = together[ids[np.searchsorted(others, rows)]]
    return company[grouping.group_ids()]


def people_to_hold_back(new: Standing, earlier: Sequence[Standing], histories: Histories | None = None) -> Codes:
    """Return people to withhold, by index, so that a new release is accepted; a small set, not the smallest.

    A person among too few is withheld. Where then too few of a history are missing, others of it are held back
    too, from its largest groups. Which of them is decided by their pseudonyms, and so by nothing that is published.
    """
    histories = histories or histories_of(new, earlier)
    if not histories.fresh:
        return _held_back(histories)
    withheld = np.zeros(len(new), dtype=bool)
    while True:
        small = histories.index[histories.small & ~histories.left]
        if not len(small):
            return np.flatnonzero(withheld)
        withheld[np.flatnonzero(~withheld)[small]] = True
        histories = histories_of(new.without(withheld), earlier)


def _held_back(histories: Histories) -> Codes:
    """Return the people to withhold, by index in the new release, where that release is not re-measured.

    First, all people whose history with the new release has fewer than k people. Then, where some people of an earlier
    history are missing but fewer than `k_before`, others of it: from its largest new histories as many as leave k in
    each, then whole histories, the smallest first, until `k_before` are missing.
    """
    sizes = np.bincount(histories.now)
    withheld = ~histories.left & (sizes[histories.now] < histories.k)
    missing = np.bincount(histories.before, weights=histories.left | withheld).astype(np.int64)
    wanted = np.zeros(len(missing), dtype=np.int64)
    wanted[histories.before] = histories.k_before
    touched = np.zeros(len(missing), dtype=bool)
    touched[histories.before[~histories.left]] = True
    short = touched & (missing > 0) & (missing < wanted)
    rows = np.flatnonzero(short[histories.before] & ~histories.left & ~withheld)
    rows = rows[np.lexsort((rows, histories.now[rows], histories.before[rows]))]
    for group in np.split(rows, np.flatnonzero(np.diff(histories.before[rows])) + 1) if len(rows) else ():
        parts = np.split(group, np.flatnonzero(np.diff(histories.now[group])) + 1)
        lacking = int(wanted[histories.before[group[0]]] - missing[histories.before[group[0]]])
        for part in sorted(parts, key=len, reverse=True):
            taken = min(len(part) - int(histories.k[part[0]]), lacking)
            withheld[part[:taken]] = True
            lacking -= taken
        for part in sorted(parts, key=len):
            if lacking > 0:
                lacking -= int((~withheld[part]).sum())
                withheld[part] = True
    return np.sort(histories.index[withheld])
