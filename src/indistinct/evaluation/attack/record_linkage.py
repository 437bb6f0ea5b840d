"""Record linkage: an external table with names is joined with the release on quasi-identifiers (Sweeney 2002)."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import InputError
from indistinct.evaluation.attack.base import Attack, Outcome, Tally, Target, against, share_of
from indistinct.evaluation.attack.crowd import (
    Register,
    control_crowd,
    draw_people,
    original_crowd,
    register_of,
    table_of,
    translate_column,
    unit_of,
    with_errors,
)
from indistinct.evaluation.attack.crowd import domain_of as values_of
from indistinct.evaluation.attack.matching import Groups, Matches, groups_of, match, matches_of
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.slices import find_contained
from indistinct.machine.arrays import Codes, Floats, Mask, run_entries
from indistinct.machine.ordering import distinct, distinct_with_places
from indistinct.models.arithmetic import per_class
from indistinct.parameters import Number, Parameter

# Most pairs of an entry of the register and a group; where there are more, people are drawn by chance.
MAX_PAIRS = 1 << 22
# Most pairs of a row of the original and a group that are counted by people.
MAX_JUDGED = 1 << 26


@dataclass(frozen=True, slots=True)
class RecordLinkage(Attack):
    """An attacker with a register of names and quasi-identifiers who looks for the published row of each person.

    Candidates are the rows whose labels cover what the register says; people instead of rows, where they are known. It
    succeeds where there is one candidate, and that is the right one. Without an external table the register is made
    from the original. `errors` is the share of the register's cells that get another value of their column. Of a
    release in buckets, candidates are the sensitive entries of the buckets that match.
    """

    name: ClassVar[str] = "record-linkage"
    needs: ClassVar[tuple[str, ...]] = ("original",)
    errors: Annotated[
        float,
        Parameter(
            "Errors in the register",
            "Share of values in the external table that are wrong, from 0 to 1.",
            Number("a share from 0 to 1", low=0, high=1),
        ),
    ] = 0.0

    def run(self, target: Target) -> Outcome:
        """Look for every person of the register; people who were not published are a control."""
        register = register_of(target, errors=self.errors)
        groups = groups_of(target, next(iter(target.schema.sensitive), None))
        original = original_crowd(target)
        truth = matches_of(target, groups, original)
        published = distinct(register.originals[truth.covered])
        matches = matches_of(target, groups, register.people)
        register, matches = _bound_pairs(register, matches, target)
        inside = np.isin(register.entries, published)
        counts, single = _candidates(groups, matches, truth, register, people=bool(target.schema.person))
        right = _right(target, groups, matches, truth, register, rows=np.flatnonzero(single & inside))
        reached = _reaches(matches, truth, register, len(groups)) & inside
        expected = np.divide(1.0, counts, out=np.zeros(len(counts)), where=reached & (counts > 0))
        people = register.people
        tally = people.tally(inside, right)
        control = self._control(target, groups, register, single, inside)
        unit = unit_of(target) if target.external is None else "people"
        sentence = (
            f"A register of names leads to one record, the right one, for {share_of(tally, unit)}; "
            f"{against(control, 'a person who is not in the release is linked to one record')}."
        )
        details = {
            "unit": unit,
            "register": register.by,
            "errors": self.errors,
            "one_candidate": people.tally(inside, single).successes,
            "wrong": people.tally(inside, single & ~right).successes,
            "expected_matches": float(_most(people.persons[inside], expected[inside]).sum()),
        }
        persons = len(distinct(original.persons[truth.covered]))
        everybody = persons if target.schema.person else target.published.main.rows
        defence = "raise k or name more columns as quasi-identifiers, so that labels cover more people: k-anonymity:k=…"
        return Outcome(self.name, tally, 1 / max(everybody, 1), sentence, control, defence, details)

    def _control(self, target: Target, groups: Groups, register: Register, single: Codes, inside: Mask) -> Tally | None:
        """Return how often people are linked who are not in the release."""
        control = control_crowd(target)
        if control is not None:
            matches = match(groups, with_errors(control, target, self.errors))
            alone = matches.sums(groups.sizes)[matches.vector_of_row] == 1
            return control.tally(np.ones(len(control), dtype=bool), alone)
        if inside.all():
            return None
        return register.people.tally(~inside, single)


def _bound_pairs(register: Register, matches: Matches, target: Target) -> tuple[Register, Matches]:
    """Return a register, or some people of it by chance where it has too many pairs of an entry and a group."""
    pairs = int(matches.number[matches.vector_of_row].sum())
    if pairs <= MAX_PAIRS:
        return register, matches
    people = register.people
    some = draw_people(people, target, most=max(len(people) * MAX_PAIRS // pairs, 1))
    kept = np.searchsorted(people.rows, some.rows)
    return (
        replace(register, people=some, entries=register.entries[kept]),
        replace(matches, vector_of_row=matches.vector_of_row[kept]),
    )


def _candidates(
    groups: Groups, matches: Matches, truth: Matches, register: Register, *, people: bool
) -> tuple[Codes, Codes]:
    """Return how many candidates each entry of a register has, and whether that is one; people where they are known."""
    rows = matches.sums(groups.sizes)[matches.vector_of_row]
    if not people:
        return rows, rows == 1
    number = int(truth.number[truth.vector_of_row].sum())
    if number > MAX_JUDGED:
        raise InputError(
            f"{number:,} pairs of a row and a group that may hold it are too many to count people by",
            hint="attack a sample of the release, with the same people of the original",
        )
    pairs = _pairs(truth, register.originals)
    grouping = group_rows(list(pairs), [len(register.originals), len(groups)])
    person, group = (part[grouping.first] for part in pairs)
    sizes = np.bincount(group, minlength=len(groups))
    order = np.argsort(group, kind="stable")
    indptr = np.append(0, np.cumsum(sizes))
    low, high = (per_class(end, person[order], indptr=indptr) for end in (np.minimum, np.maximum))
    candidates = [
        per_class(end, ends[matches.groups], indptr=matches.indptr)
        for end, ends in ((np.minimum, low), (np.maximum, high))
    ]
    single = (matches.number > 0) & (candidates[0] == candidates[1])
    return matches.sums(sizes)[matches.vector_of_row], single[matches.vector_of_row]


def _pairs(matches: Matches, numbers: Codes, rows: Codes | None = None) -> tuple[Codes, Codes]:
    """Return the number and a group of every row, or of some rows, for all groups that may hold it."""
    vectors = matches.vector_of_row if rows is None else matches.vector_of_row[rows]
    lengths = matches.number[vectors]
    entries = run_entries(matches.indptr[vectors], lengths)
    return np.repeat(numbers if rows is None else numbers[rows], lengths), matches.groups[entries]


def _rows_of(register: Register, entries: Codes) -> Codes:
    """Return the rows of the original that are about the people of some entries."""
    wanted = np.zeros(int(register.originals.max(initial=-1)) + 1, dtype=bool)
    wanted[entries[entries >= 0]] = True
    return np.flatnonzero(wanted[register.originals])


def _reaches(matches: Matches, truth: Matches, register: Register, size: int) -> Mask:
    """Return for which entries of a register the right record is among the candidates."""
    person, group = _pairs(truth, register.originals, _rows_of(register, register.entries))
    right = distinct(person.astype(np.int64) * size + group)
    rows, groups = _pairs(matches, np.arange(len(register.entries)))
    asked = register.entries[rows].astype(np.int64) * size + groups
    positions = np.searchsorted(right, asked).clip(max=max(len(right) - 1, 0))
    hit = (register.entries[rows] >= 0) & (right[positions] == asked) if len(right) else np.zeros(len(rows), dtype=bool)
    return np.bincount(rows[hit], minlength=len(register.entries)) > 0


def _right(
    target: Target, groups: Groups, matches: Matches, truth: Matches, register: Register, *, rows: Codes
) -> Mask:
    """Return which entries with one candidate are right: it covers their values, and shows what they have."""
    right = np.zeros(len(register.entries), dtype=bool)
    if target.schema.person:
        right[rows] = True
        return right & _reaches(matches, truth, register, len(groups))
    published, own = _plain(target, groups)
    judging = _rows_of(register, register.entries[rows])
    person, group = _pairs(truth, register.originals, judging)
    row, _ = _pairs(truth, np.arange(len(register.originals)), judging)
    group_of_row = matches.groups[matches.indptr[:-1][matches.vector_of_row[rows]]]
    mine = (register.entries[rows], group_of_row, published[group_of_row])
    right[rows] = find_contained([part.astype(np.int64) for part in mine], [person, group, own[row]])
    return right


def _plain(target: Target, groups: Groups) -> tuple[Codes, Codes]:
    """Encode the unmodified columns of one row of each group, and the same columns of each original row."""
    original = table_of(target.original, "the original")
    if groups.class_of_row is None:
        return _of_bucket(target, groups, len(original))
    published = table_of(target.published.main, "the release")
    schema = target.schema
    names = [
        n
        for n in (*schema.sensitive, *schema.insensitive)
        if n in published.column_names and n in original.column_names
    ]
    both = [
        np.concatenate([translate_column(table, name, values_of(target, name)) for table in (published, original)]) + 1
        for name in names
    ]
    if not both:
        return np.zeros(len(groups), dtype=np.int64), np.zeros(len(original), dtype=np.int64)
    ids = group_rows(both, [int(codes.max(initial=0)) + 1 for codes in both]).group_ids().astype(np.int64)
    some = np.zeros(len(groups), dtype=np.int64)
    some[groups.class_of_row] = np.arange(published.num_rows)
    return ids[: published.num_rows][some], ids[published.num_rows :][original_crowd(target).rows]


def _of_bucket(target: Target, groups: Groups, rows: int) -> tuple[Codes, Codes]:
    """Return the sensitive value of each bucket entry, and of each original row."""
    if groups.shown is None:
        return np.zeros(len(groups), dtype=np.int64), np.zeros(rows, dtype=np.int64)
    return groups.shown.codes[groups.shown.indptr[:-1]], original_crowd(target).values[target.schema.sensitive[0]]


def _most(numbers: Codes, values: Codes) -> Floats:
    """Return the largest value of each number."""
    _, inverse = distinct_with_places(numbers)
    most = np.zeros(int(inverse.max(initial=-1)) + 1)
    np.maximum.at(most, inverse, values)
    return most
