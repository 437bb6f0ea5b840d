"""Laws of pseudonyms: what links people by their sets of classes, against brute force, and what is refused."""

from collections import Counter, defaultdict
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines import open_source
from indistinct.errors import VerificationError
from indistinct.frequencies.count import Request
from indistinct.release.pseudonyms.linked import class_sets, linked_rows, set_numbers
from indistinct.release.pseudonyms.making import column_pseudonyms
from indistinct.tables.domain import Domain

SCHEMA = ind.Schema(person=["who"], quasi=["a", "b"], sensitive=["s"])
ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=24
)


def sets_of(rows):
    """Return each person's multiset of classes, by definition."""
    counts = defaultdict(Counter)
    for who, a, b, _ in rows:
        counts[who][a, b] += 1
    return {who: frozenset(classes.items()) for who, classes in counts.items()}


def plain_sets_of(rows):
    """Return each person's set of classes."""
    return {who: frozenset(each for each, _ in classes) for who, classes in sets_of(rows).items()}


def table_of(rows):
    return pa.table(
        {name: list(values) for name, values in zip(["who", "a", "b", "s"], zip(*rows, strict=True), strict=True)}
    )


@settings(deadline=None, max_examples=60)
@given(rows=ROWS)
def test_sets_of_classes(rows):
    engine, source = open_source(table_of(rows))
    request = Request(["a", "b", "who"], [("",), ("s",), ("", "s")], person=["who"], published=True)
    linked = linked_rows(engine.count(source, request), ["a", "b"], ["who"], schema=SCHEMA)
    sets = sets_of(rows)
    shared = Counter(sets.values())
    assert linked.people == len(sets)
    assert linked.several == sum(sum(count for _, count in each) > 1 for each in sets.values())
    assert sorted(linked.shared.tolist()) == sorted(shared[each] for each in sets.values())
    assert [linked.below(k) for k in range(1, 5)] == [
        sum(shared[each] < k for each in sets.values()) for k in range(1, 5)
    ]
    if linked.counted is None:
        return
    parts = defaultdict(lambda: (set(), Counter()))
    for who, a, b, s in rows:
        people, values = parts[a, b, sets[who]]
        people.add(who)
        values[str(s)] += 1
    classes = linked.counted.frequencies.classes
    values = classes.histograms["s",]
    found = [
        (
            int(members),
            {values.texts[values.codes[i]]: int(values.counts[i]) for i in range(*values.indptr[place : place + 2])},
        )
        for place, members in enumerate(classes.members)
    ]
    wanted = [(len(people), dict(values)) for people, values in parts.values()]
    assert sorted(map(_sorted, found)) == sorted(map(_sorted, wanted))


@settings(deadline=None, max_examples=40)
@given(rows=ROWS)
def test_sets_take_the_place_of_multisets_where_numbers_of_rows_are_not_known(rows):
    engine, source = open_source(table_of(rows))
    counted = engine.count(source, Request(["a", "b", "who"], [("",)], person=["who"], published=True))
    linked = linked_rows(counted, ["a", "b"], ["who"], schema=SCHEMA, rows_unknown=True)
    sets = plain_sets_of(rows)
    shared = Counter(sets.values())
    assert linked.several == sum(len(each) > 1 for each in sets.values())
    assert sorted(linked.shared.tolist()) == sorted(shared[each] for each in sets.values())


def test_a_person_with_nine_rows_among_people_with_two_is_alone():
    """Twelve people of one class, of whom one has nine rows: k = 12 by sets, and 1 by multisets."""
    people = [f"p{i}" for i in range(12)]
    who = [each for each in people for _ in range(9 if each == "p0" else 2)]
    table = pa.table({"who": who, "a": ["x"] * len(who), "b": ["y"] * len(who), "s": ["z"] * len(who)})
    pseudonyms = {"who": ind.Pseudonym(random=True)}
    options = {"model": ind.KAnonymity(5), "algorithm": "mondrian", "pseudonyms": pseudonyms}
    with pytest.raises(VerificationError, match="class-sets-shared"):
        ind.anonymize(table, SCHEMA, **options)
    release = ind.anonymize(table, SCHEMA, **options, knows="classes")
    assert release.certificate.holds
    assert release.certificate.pseudonyms == {"who": "random; numbers of rows not known"}
    assert any("numbers of rows not known" in warning for warning in release.certificate.warnings)
    told = {"who": ind.Pseudonym(random=True, knows="classes")}
    assert ind.verify(release.table, SCHEMA, ind.KAnonymity(5), pseudonyms=told).holds
    assert not ind.verify(release.table, SCHEMA, ind.KAnonymity(5), pseudonyms=["who"]).holds


def _sorted(part):
    return part[0], sorted(part[1].items())


@settings(deadline=None, max_examples=40)
@given(rows=ROWS, k=st.integers(1, 3))
def test_a_release_with_pseudonyms_is_refused_where_sets_are_shared_by_too_few(rows, k):
    people = defaultdict(set)
    for who, a, b, _ in rows:
        people[a, b].add(who)
    assume(min(map(len, people.values())) >= k)
    smallest = min(Counter(sets_of(rows).values()).values())
    raw = {"algorithm": ind.ChosenNode((0, 0)), "hierarchies": dict.fromkeys("ab", ind.Hierarchy.suppression())}
    with nullcontext() if smallest >= k else pytest.raises(VerificationError, match="class-sets-shared"):
        release = ind.anonymize(
            table_of(rows), SCHEMA, model=ind.KAnonymity(k), pseudonyms={"who": ind.Pseudonym(random=True)}, **raw
        )
        assert release.certificate.achieved["k"] == smallest
        assert ind.verify(release.table, SCHEMA, ind.KAnonymity(k), pseudonyms=["who"]).holds


@settings(deadline=None, max_examples=60)
@given(sets=st.lists(st.frozensets(st.integers(0, 4), max_size=4), max_size=12))
def test_equal_sets_have_equal_numbers(sets):
    lists = [sorted(each) for each in sets]
    members = np.array([member for each in lists for member in each], dtype=np.int32)
    numbers = set_numbers(np.cumsum([0, *map(len, lists)]), members).tolist()
    assert all((numbers[i] == numbers[j]) == (sets[i] == sets[j]) for i in range(len(sets)) for j in range(len(sets)))
    persons = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    if all(lists):
        indptr, again = class_sets(persons, members, 5)
        assert (indptr.tolist(), again.tolist()) == (np.cumsum([0, *map(len, lists)]).tolist(), members.tolist())


@settings(deadline=None, max_examples=60)
@given(
    values=st.lists(st.text(max_size=4), unique=True, max_size=8),
    keys=st.lists(st.binary(min_size=16, max_size=40), min_size=2, max_size=2, unique=True),
)
def test_pseudonyms_are_those_of_key_column_and_value(values, keys):
    one, two = keys
    domain = Domain("who", pa.array(values, pa.string()))
    mine = column_pseudonyms(one, domain)
    assert mine == column_pseudonyms(one, domain)
    assert len(set(mine)) == len(values)
    if one.ljust(64, b"\0") != two.ljust(64, b"\0"):  # HMAC fills short keys up with zeros
        assert not set(mine) & set(column_pseudonyms(two, domain))
    assert not set(mine) & set(column_pseudonyms(one, Domain("whom", domain.values)))
