"""The verifier of linked anonymity equals its definition, and no attacker of it has fewer than k candidates."""

import os
from fractions import Fraction

import numpy as np
import pytest

from indistinct.linked.calendar import ClassDates, label_offsets, misfits, overlapping
from indistinct.linked.guarantee import KnownRows, LinkedAnonymity
from indistinct.linked.judge import judge
from indistinct.linked.view import EventLabels, LinkedView, distinct_values
from references.linked_worlds import (
    OPEN,
    Shown,
    World,
    attacks_of,
    candidates,
    judge_by_definition,
    random_knowledge,
    random_original,
    random_world,
    seeds,
)

WINDOW = (0, 29)
# Worlds of each of ten runs; `INDISTINCT_WORLDS=1000` draws ten thousand.
WORLDS = int(os.environ.get("INDISTINCT_WORLDS", "250"))


def view_of(world):
    """Return a world as arrays."""
    events = {}
    for table in world.rows[0]:
        pairs = [(person, label) for person, rows in enumerate(world.rows) for label in rows[table]]
        labels = sorted({label for _, label in pairs}, key=str)
        events[table] = EventLabels(
            np.array([person for person, _ in pairs], dtype=np.int64),
            np.array([labels.index(label) for _, label in pairs], dtype=np.int64),
            len(labels),
        )
    names = sorted({value for shown in world.values for value in shown})
    pairs = [(person, names.index(value)) for person, shown in enumerate(world.values) for value in shown]
    values = distinct_values(*(np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1)))
    return LinkedView(np.array(world.classes, dtype=np.int64), events, values)


@pytest.mark.parametrize("start", range(0, 10_000, 1000))
def test_the_verifier_is_the_definition(start):
    held = 0
    for rng in seeds(start, WORLDS):
        world = random_world(rng)
        knows, together = random_knowledge(rng, world)
        k, l = rng.randint(1, 3), rng.choice([None, None, 1, 2, Fraction(3, 2)])
        smallest, holds = judge_by_definition(world, knows, together, k, l)
        found = judge(view_of(world), KnownRows(knows, together), LinkedAnonymity(k, l))
        assert found.smallest.tolist() == smallest
        assert found.holds == holds
        held += holds
    assert WORLDS // 10 < held < WORLDS - WORLDS // 10, "worlds of both kinds are drawn"


def publish(rng, people):
    """Return a release of people by random classes, levels and suppressions, which may be no good one."""
    classes = [rng.randrange(rng.choice([1, 1, 2, 3])) for _ in people]
    members = {number: [p for p, c in zip(people, classes, strict=True) if c == number] for number in set(classes)}
    labels = {}
    for number, group in members.items():
        columns = [[getattr(each, name) for each in group] for name in ("quasi", "anchor", "birth", "death")]
        labels[number] = tuple(
            (min(each) - rng.choice([0, 0, 2]), max(each) + rng.choice([0, 0, 1])) for each in columns
        )
        low, high = labels[number][1]
        labels[number] = (labels[number][0], (max(low, WINDOW[0]), min(high, WINDOW[1])), *labels[number][2:])
    dated = {table: rng.random() < 0.8 for table in people[0].events}
    released = [Shown(*labels[c], {table: [] for table in p.events}) for p, c in zip(people, classes, strict=True)]
    for table in people[0].events:
        groups = rng.choice([("p", "q", "r"), ("pq", "r"), ("pqr",), ("pqr",)])
        width = rng.choice([1, 4, 7, 15, None])
        rows = [(index, code, day - p.anchor) for index, p in enumerate(people) for code, day in p.events[table]]
        if not rows:
            continue
        at = np.array([classes[index] for index, _, _ in rows])
        days = np.array([day for _, _, day in rows])
        count = max(classes) + 1
        blank = ((0, 0),) * 4
        ends = [
            np.array([labels.get(c, blank)[i][j] for c in range(count)]) for i, j in ((1, 0), (1, 1), (2, 1), (3, 0))
        ]
        coded = rng.random() < 0.8
        limits = ClassDates(*ends).limits(WINDOW) if coded else (np.full(count, -OPEN), np.full(count, OPEN))
        offsets = label_offsets(days, at, width, limits, "days")
        dropped = {(c, g) for c in set(classes) for g in groups if rng.random() < 0.15}
        for (index, code, _), low, high in zip(rows, offsets.low.tolist(), offsets.high.tolist(), strict=True):
            (codes,) = [group for group in groups if code in group]
            if (classes[index], codes) not in dropped:
                released[index].events[table].append((codes, low, high))
    return released, dated


def holds_for_release(released, dated, knows, together, k):
    """Judge a release as a verifier does: labels alone, and one calendar."""
    vectors = sorted({shown.labels for shown in released})
    classes = [vectors.index(shown.labels) for shown in released]
    ends = [np.array([vector[i][j] for vector in vectors]) for i, j in ((1, 0), (1, 1), (2, 1), (3, 0))]
    limits = ClassDates(*ends).limits(WINDOW)
    for table in released[0].events:
        rows = [(classes[i], *label) for i, shown in enumerate(released) for label in shown.events[table]]
        at, low, high = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 2, 3))
        if misfits(low, high, at, limits, "days").any() or overlapping(low, high, at):
            return False
    rows = [
        {t: [label if dated[t] else label[:1] for label in labels] for t, labels in s.events.items()} for s in released
    ]
    view = view_of(World(classes, rows))
    return judge(view, KnownRows(knows, together), LinkedAnonymity(k)).holds


@pytest.mark.parametrize("start", range(0, 10_000, 1000))
def test_no_attacker_of_a_verified_release_has_fewer_than_k_candidates(start):
    verified = 0
    for rng in seeds(50_000 + start, WORLDS):
        people = random_original(rng)
        released, dated = publish(rng, people)
        knows, together = random_knowledge(rng, World([], [people[0].events]))
        if not holds_for_release(released, dated, knows, together, 2):
            continue
        verified += 1
        windows = dict.fromkeys(people[0].events, WINDOW)
        for index, person in enumerate(people):
            for known, whole in attacks_of(person, knows, together):
                found = candidates(released, person, known, whole, dated=dated, windows=windows)
                assert index in found
                assert len(found) >= 2
    assert verified > WORLDS // 20


def one_table(*rows):
    return view_of(World([0] * len(rows), [{"t": list(labels)} for labels in rows]))


def test_multisets_are_not_sets():
    view = one_table("aa", "a", "ab", "ab")
    smallest = [judge(view, KnownRows({"t": known}), LinkedAnonymity(2)).k for known in (1, 2)]
    assert smallest == [2, 1]
    assert judge(one_table("cc", "c", "cc", "cc"), KnownRows({"t": 2}), LinkedAnonymity(2)).holds


def test_a_value_of_any_row_counts():
    values = [{(0, "HIV"), (0, f"x{i}")} for i in range(5)]
    view = view_of(World([0] * 5, [{"t": []}] * 5, values))
    found = judge(view, KnownRows({"t": 0}), LinkedAnonymity(2, 2))
    assert (found.k, found.largest_share, found.holds) == (5, 1.0, False)


def test_l_is_not_monotone_under_generalization():
    values = [set(), {(0, "HIV")}, {(0, "HIV")}, set()]
    known, model = KnownRows({"t": 1}), LinkedAnonymity(1, 2)
    fine = [{"t": list(labels)} for labels in ("ab", "a", "b", "")]
    assert judge(view_of(World([0] * 4, fine, values)), known, model).holds
    coarse = [{"t": list(labels)} for labels in ("cc", "c", "c", "")]
    assert not judge(view_of(World([0] * 4, coarse, values)), known, model).holds


def test_a_code_that_overlaps_another_label_is_seen():
    assert overlapping(np.array([0, 0]), np.array([6, OPEN]), np.zeros(2, dtype=np.int64)) == 1
    limits = ClassDates(*(np.array([each]) for each in (18, 29, -OPEN, OPEN))).limits(WINDOW)
    labels = label_offsets(np.array([5, 9]), np.zeros(2, dtype=np.int64), 7, limits, "days")
    assert set(zip(labels.low.tolist(), labels.high.tolist(), strict=True)) == {(0, OPEN)}


def test_an_offset_beyond_the_window_does_not_fit():
    days = [np.array([np.datetime64(day).astype(int)]) for day in ("2015-01-01", "2024-12-31")]
    window = (0, int(np.datetime64("2024-12-31").astype(int)))
    limits = ClassDates(*days, np.array([-OPEN]), np.array([OPEN])).limits(window)
    at = np.zeros(1, dtype=np.int64)
    assert misfits(np.array([3600]), np.array([3606]), at, limits, "days").all()
    coded = label_offsets(np.array([3600]), at, 7, limits, "days")
    assert not misfits(coded.low, coded.high, at, limits, "days").any()
