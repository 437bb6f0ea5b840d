"""Verification of a release of several tables, made by any tool, from its tables alone.

It knows labels, pseudonyms and the policy; it shares nothing with the search. Every check is counted on the published
rows: whose they are, one calendar, the guarantee, and the order of the files.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.stored_rows import GROUP, PartitionBounds, Partitions
from indistinct.linked.arrays import PublishedPeople, ids_of, knowledge_of, offsets_of, people_of, row_owners, view_of
from indistinct.linked.calendar import OPEN, Unit, misfits, overlapping, read_offset
from indistinct.linked.declared import LinkedPolicy, LinkedTable
from indistinct.linked.folder import blocks_of
from indistinct.linked.judge import LinkedJudgement, judge
from indistinct.linked.opened import window_days
from indistinct.linked.order import PublishedOrder, published_columns
from indistinct.linked.runs import bounds_of_runs
from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.memory import give_memory_back
from indistinct.release.pseudonyms.making import are_pseudonyms
from indistinct.tables.dictionaries import share_dictionary

MEMORY = 1 << 32
"""Approximate default memory for the rows being judged, in bytes."""


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
        judgement = self.judgement
        return {
            "holds": self.holds,
            "checks": [{"name": each.name, "holds": each.holds, "words": each.words} for each in self.checks],
            "people": self.people,
            "rows": dict(self.rows),
            "achieved": {} if judgement is None else {"k": judgement.k, "largest_share": judgement.largest_share},
            "violations": None if judgement is None else judgement.violations + judgement.too_frequent,
        }


def verify_tables(
    policy: LinkedPolicy, tables: Mapping[str, pa.Table], *, anchors_inside: bool = True, memory: int = MEMORY
) -> LinkedVerdict:
    """Verify published tables, given by name; every table of the policy must be present.

    `anchors_inside` says that a star in place of an anchor means the declared windows, and not any day. Rows are judged
    in runs of whole classes, which take about `memory` bytes.
    """
    shape = [*_check_columns(policy, tables)]
    if not all(check.holds for check in shape):
        return LinkedVerdict(tuple(shape), None, 0)
    ids = ids_of(policy, tables)
    rows = {policy.people.name: len(ids)}
    checks = [*shape, *_check_people(ids)]
    if not all(check.holds for check in checks):
        return LinkedVerdict(tuple(checks), None, len(ids), rows)
    people, problem = people_of(policy, tables, anchors_inside=anchors_inside)
    findings = [check_rows(policy, table, blocks_of(tables, table.name), people) for table in policy.events]
    rows |= {each.name: each.rows for each in findings}
    orphans = sum(each.orphans for each in findings)
    checks.append(LinkedCheck("persons of rows", not orphans, f"{orphans:,} rows of people who are not published"))
    if orphans:
        return LinkedVerdict(tuple(checks), None, len(ids), rows)
    checks.append(_check_order(policy, people, findings))
    checks.append(LinkedCheck("dates of people", problem is None, problem or "all labels can be read"))
    judged, offsets = _judge_runs(policy, tables, people, {each.name: each.counts for each in findings}, memory)
    offsets |= {each.name: each.offsets for each in findings if each.offsets is not None}
    checks += [offsets[table.name].check(table) for table in policy.events if table.name in offsets]
    checks.append(
        LinkedCheck(
            policy.model.spec(),
            judged.holds and len(ids) > 0,
            f"the smallest group has {judged.k:,} people"
            + (f", and {judged.largest_share:.1%} of one show the same value" if policy.model.l is not None else ""),
        )
    )
    return LinkedVerdict(tuple(checks), judged, len(ids), rows)


@dataclass(slots=True)
class OffsetFindings:
    """What was found about the offsets of a table: how many fit no date of their class, and how many labels overlap."""

    misfits: int = 0
    overlaps: int = 0
    unreadable: bool = False

    def check(self, table: LinkedTable) -> LinkedCheck:
        """Return whether one calendar is kept."""
        if self.unreadable and table.time is not None:
            words = f"column {table.time.column} of {table.name} has texts that are not offsets"
            return LinkedCheck("calendar", False, words)
        words = f"{table.name}: {self.misfits:,} offsets do not fit the dates of their class; "
        return LinkedCheck(
            "calendar", not self.misfits and not self.overlaps, f"{words}{self.overlaps:,} labels overlap"
        )


def _judge_runs(
    policy: LinkedPolicy,
    tables: Mapping[str, pa.Table],
    people: PublishedPeople,
    counts: Mapping[str, Codes],
    memory: int,
) -> tuple[LinkedJudgement, dict[str, OffsetFindings]]:
    """Judge every person's candidates and the offsets of events, a run of whole classes at a time."""
    smallest, share = np.zeros(len(people), dtype=np.int64), np.zeros(len(people))
    violations = too_frequent = 0
    offsets = {table.name: OffsetFindings() for table in policy.judged if table.time is not None}
    for members, run, owners in _runs_of_classes(policy, tables, people, counts, memory):
        classes = people.classes[members]
        for table in policy.judged:
            if table.name in offsets:
                _check_offsets(policy, table, run[table.name], classes[owners[table.name]], people, offsets[table.name])
        view, _ = view_of(policy, run, classes, owners)
        part = judge(view, knowledge_of(policy, view), policy.model)
        smallest[members], share[members] = part.smallest, part.share
        violations, too_frequent = violations + part.violations, too_frequent + part.too_frequent
        give_memory_back(sum(len(each) for each in owners.values()))
    return LinkedJudgement(smallest, share, violations, too_frequent), offsets


def _runs_of_classes(
    policy: LinkedPolicy,
    tables: Mapping[str, pa.Table],
    people: PublishedPeople,
    counts: Mapping[str, Codes],
    memory: int,
) -> Iterator[tuple[Codes, dict[str, pa.Table], dict[str, Codes]]]:
    """Yield people of whole classes, all tables with their rows alone, and the person of each row among them.

    `counts` are the rows of each person in each table.
    """
    order = np.argsort(people.classes, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    every = sum((counts[table.name] for table in policy.judged), np.zeros(len(people), dtype=np.int64))
    sizes = np.bincount(people.classes)
    cuts = bounds_of_runs(np.bincount(people.classes, every).astype(np.int64), memory)
    cuts = PartitionBounds(starts_of(sizes)[cuts.ends], cuts.parts, cuts.firsts)
    with ExitStack() as stack:
        partitions = []
        for table in policy.judged:
            kept = Partitions(starts_of(every[order]), memory // 8, cuts=cuts)
            partitions.append(stack.enter_context(closing(kept)))
            for block in blocks_of(tables, table.name):
                owners = row_owners(block[table.person], people.ids)
                kept.add(block.select(_judged_columns(policy, table, block.column_names)), rank[owners], None)
        parts = [each.read() for each in partitions]
        for first, last in zip(cuts.ends[:-1].tolist(), cuts.ends[1:].tolist(), strict=True):
            run = {table.name: next(part)[2] for table, part in zip(policy.judged, parts, strict=True)}
            owners_of_run = {name: rows[GROUP].to_numpy().astype(np.int64) - first for name, rows in run.items()}
            members = order[first:last]
            yield members, {policy.people.name: people.data.take(pa.array(members)), **run}, owners_of_run


def _judged_columns(policy: LinkedPolicy, table: LinkedTable, names: Sequence[str]) -> list[str]:
    """Return the columns of a table that are judged: labels, times, and with l sensitive values."""
    time = [] if table.time is None else [table.time.column]
    sensitive = () if policy.model.l is None else table.schema.sensitive
    return [*time, *table.schema.quasi, *(name for name in sensitive if name in names)]


def _check_offsets(
    policy: LinkedPolicy,
    table: LinkedTable,
    data: pa.Table,
    classes: Codes,
    people: PublishedPeople,
    findings: OffsetFindings,
) -> None:
    """Count the offsets of whole classes that fit no date, and labels that overlap; `classes` are those of the rows."""
    ends = offsets_of(policy, table, data)
    if ends is None or policy.time is None:
        findings.unreadable = True
        return
    limits = people.dates.limits(window_days(policy, table.name))
    findings.misfits += int(misfits(*ends, classes, limits, policy.time.unit).sum())
    findings.overlaps += overlapping(*ends, classes)


@dataclass(slots=True)
class RowFindings:
    """What was found about a table that was read once: its rows by person, those of no published person, and order.

    `offsets` is None but for streamed tables, which are judged by nothing else.
    """

    name: str
    counts: Codes
    rows: int = 0
    orphans: int = 0
    sorted: bool = True
    offsets: OffsetFindings | None = None


def check_rows(
    policy: LinkedPolicy, table: LinkedTable, blocks: Iterator[pa.Table], people: PublishedPeople
) -> RowFindings:
    """Check an event table in one pass: its rows for each person, rows without a person, order and calendar."""
    findings = RowFindings(table.name, np.zeros(len(people), dtype=np.int64))
    order, calendar = PublishedOrder(table), None
    if table.time is not None and table not in policy.judged:
        calendar = _StreamedCalendar(policy, table, people)
    for block in blocks:
        findings.rows += block.num_rows
        findings.sorted &= order.holds(block)
        owner = row_owners(block[table.person], people.ids)
        known = np.flatnonzero(owner >= 0)
        findings.orphans += len(owner) - len(known)
        findings.counts += np.bincount(owner[known], minlength=len(people))
        if calendar is not None:
            calendar.add(block, owner)
    findings.offsets = None if calendar is None else calendar.findings()
    return findings


class _StreamedCalendar:
    """The offsets of a table that comes in blocks.

    Of offsets of one unit, which never overlap each other, each class has the `first` and the `last`; a range of
    several units between them counts as overlapping. `labels` are class and ends of all others.
    """

    def __init__(self, policy: LinkedPolicy, table: LinkedTable, people: PublishedPeople) -> None:
        if policy.time is None or table.time is None:
            raise AssertionError("only times have a calendar")
        self.unit, self.column, self.classes = policy.time.unit, table.time.column, people.classes
        self.limits = people.dates.limits(window_days(policy, table.name))
        self.first = np.full(len(people.vectors), OPEN)
        self.last = np.full(len(people.vectors), -OPEN)
        self.labels = np.zeros((0, 3), dtype=np.int64)
        self.found = OffsetFindings()

    def add(self, block: pa.Table, owner: Codes) -> None:
        """Add some rows."""
        labels = _offset_labels(block[self.column], self.classes, owner, self.unit)
        self.found.unreadable |= labels is None
        if labels is None:
            return
        wrong = misfits(labels[:, 1], labels[:, 2], labels[:, 0], self.limits, self.unit)
        self.found.misfits += int(labels[wrong, 3].sum())
        single = labels[:, 1] == labels[:, 2]
        np.minimum.at(self.first, labels[single, 0], labels[single, 1])
        np.maximum.at(self.last, labels[single, 0], labels[single, 1])
        self.labels = np.unique(np.concatenate([self.labels, labels[~single, :3]]), axis=0)

    def findings(self) -> OffsetFindings:
        """Return the findings, after all rows were read."""
        single = np.flatnonzero(self.first <= self.last)
        labels = np.concatenate([self.labels, np.column_stack([single, self.first[single], self.last[single]])])
        self.found.overlaps = overlapping(labels[:, 1], labels[:, 2], labels[:, 0])
        return self.found


def _offset_labels(column: pa.ChunkedArray, classes: Codes, owner: Codes, unit: Unit) -> Codes | None:
    """Return class, lower and upper end of each distinct offset of a class, and its rows; None where a text is none."""
    texts = column if isinstance(column.type, pa.DictionaryType) else column.dictionary_encode()
    texts = share_dictionary(texts).combine_chunks()
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if texts.null_count or texts.dictionary.null_count:
        return None
    codes = texts.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    known = texts.dictionary.take(pa.array(np.unique(codes))).to_pylist()
    positions = np.zeros(len(texts.dictionary), dtype=np.int64)
    positions[np.unique(codes)] = np.arange(len(known))
    ends = [read_offset(text, unit) for text in known]
    if any(end is None for end in ends):
        return None
    table = np.array(ends, dtype=np.int64).reshape(-1, 2)
    inside = owner >= 0
    words = classes[owner[inside]] * max(len(known), 1) + positions[codes[inside]]
    distinct, counts = np.unique(words, return_counts=True)
    return np.column_stack([distinct // max(len(known), 1), table[distinct % max(len(known), 1)], counts])


def _check_columns(policy: LinkedPolicy, tables: Mapping[str, pa.Table]) -> list[LinkedCheck]:
    """Check that the tables have exactly the declared columns."""
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
        names, declared = next(blocks_of(tables, table.name)).column_names, published_columns(table)
        dropped = (*table.schema.sensitive, *table.schema.insensitive)
        strange = [name for name in names if name not in declared]
        absent = [name for name in declared if name not in names and name not in dropped]
        if strange or absent:
            words = f"columns of {table.name}: " + (
                f"{', '.join(strange)} must not be published" if strange else f"{', '.join(absent)} missing"
            )
            checks.append(LinkedCheck("columns", False, words))
    return checks


def _check_people(ids: pa.Array) -> list[LinkedCheck]:
    """Return whether every person has one row, and a pseudonym."""
    once = len(pc.unique(ids)) == len(ids) and ids.null_count == 0
    looks = are_pseudonyms(pc.drop_null(ids))
    return [
        LinkedCheck("people", once, f"{len(ids):,} people" if once else "a person has two rows, or none is named"),
        LinkedCheck("pseudonyms", looks, "random" if looks else "person IDs do not look like pseudonyms"),
    ]


def _check_order(policy: LinkedPolicy, people: PublishedPeople, findings: Sequence[RowFindings]) -> LinkedCheck:
    """Return whether all files are sorted."""
    unsorted = [each.name for each in findings if not each.sorted]
    if not PublishedOrder(policy.people).holds(people.data):
        unsorted = [policy.people.name, *unsorted]
    return LinkedCheck("order", not unsorted, f"not sorted: {', '.join(unsorted)}" if unsorted else "files are sorted")
