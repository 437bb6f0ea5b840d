"""Several releases of the same people, put together: whoever is accepted stands among k, in every possible world."""

from collections import Counter, defaultdict
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines import open_source
from indistinct.errors import IndistinctError
from indistinct.release.certificate import Overlap
from indistinct.release.history import histories
from indistinct.release.history.histories import Standing, overlap_of, people_to_hold_back, standing_of
from indistinct.release.history.ledger import packed, unpacked
from indistinct.release.pseudonyms.making import new_key

# A release by hand: the classes of each of its people.
Release = dict[int, frozenset[int]]
RELEASE = st.dictionaries(
    st.integers(0, 7), st.frozensets(st.integers(0, 2), min_size=1, max_size=2), min_size=1, max_size=8
)
# Mostly the same people in the same class, so that some series are accepted.
STEADY = st.dictionaries(st.integers(0, 7), st.just(frozenset({0})), min_size=3, max_size=8)
SERIES = st.lists(st.one_of(RELEASE, STEADY), min_size=2, max_size=4)
ROWS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(20, 40), st.sampled_from("fm"), st.sampled_from("abcd")),
    min_size=4,
    max_size=20,
)
SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["d"], insensitive=["key"], person=["pid"])


def stand(release: Release, k: int, *, fresh: bool = False) -> Standing:
    people = sorted(release)
    sets = [sorted(release[person]) for person in people]
    return Standing(
        {"pid": "text"},
        np.array([f"{person:016}" for person in people], dtype="S16"),
        np.cumsum([0, *map(len, sets)]),
        np.array([each for classes in sets for each in classes], dtype=np.int32),
        3,
        k,
        fresh,
    )


def company(series: list[Release], fresh: list[bool], person: int) -> int:
    """Return among how many people somebody stands, by definition.

    Who is missing does not matter in a fresh release that is followed by fresh ones alone.
    """
    fresh = [all(fresh[index:]) for index in range(len(fresh))]
    return sum(
        all(
            other.get(one) == other.get(person)
            for other, free in zip(series, fresh, strict=True)
            if not free or person in other
        )
        for one in {each for release in series for each in release}
    )


def plainly(series: list[Release], ks: list[int], fresh: list[bool]) -> Overlap:
    *earlier, new = series
    everybody = {person for release in series for person in release}
    promised = {
        person: max(k for release, k in zip(series, ks, strict=True) if person in release) for person in everybody
    }
    stands = {person: company(series, fresh, person) for person in everybody}
    untouched = {person for person in everybody - set(new) if company(earlier, fresh[:-1], person) == stands[person]}
    below = {person for person in everybody if stands[person] < promised[person]}
    before = {person for release in earlier for person in release}
    return Overlap(
        len(before & set(new)),
        min(stands[person] for person in everybody - untouched),
        len(below - untouched),
        max(promised.values()),
        len(earlier),
        len(below - untouched - before),
        len(below - untouched - set(new)),
        len(below & untouched),
    )


@settings(deadline=None, max_examples=300)
@given(series=SERIES, data=st.data())
def test_the_comparison_is_what_the_definition_says(series: list[Release], data: Any) -> None:
    ks = data.draw(st.lists(st.integers(1, 4), min_size=len(series), max_size=len(series)))
    fresh = data.draw(st.lists(st.booleans(), min_size=len(series), max_size=len(series)))
    *earlier, new = [stand(*each, fresh=free) for *each, free in zip(series, ks, fresh, strict=True)]
    assert overlap_of(new, [unpacked(packed(each)) for each in earlier]) == plainly(series, ks, fresh)


@settings(deadline=None, max_examples=200)
@given(series=SERIES, k=st.integers(1, 4), data=st.data())
def test_without_those_who_are_held_back_it_is_accepted(series: list[Release], k: int, data: Any) -> None:
    fresh = data.draw(st.sampled_from([[False] * len(series), [True] * len(series)]))
    *earlier, new = [stand(each, k, fresh=free) for each, free in zip(series, fresh, strict=True)]
    held = np.isin(np.arange(len(new)), people_to_hold_back(new, earlier))
    assert held.any() <= bool(overlap_of(new, earlier).people_below)
    left = new.without(held)
    if len(left):
        assert overlap_of(left, earlier).people_below == 0


def worlds(series: list[Release], values: dict[int, str]) -> list[dict[int, str]]:
    """Return every way to give people values that shows the same of every class of every release.

    Values do not change between releases and the observer knows it, as well as who is where: nobody knows more.
    """
    people = sorted(values)

    def shows(given: dict[int, str]) -> list[Any]:
        classes = defaultdict(Counter)
        for number, release in enumerate(series):
            for person, own in release.items():
                for each in own:
                    classes[number, each][given[person]] += 1
        return sorted(classes.items())

    seen = shows(values)
    every = (dict(zip(people, drawn, strict=True)) for drawn in product("xy", repeat=len(people)))
    return [world for world in every if shows(world) == seen]


@settings(deadline=None, max_examples=150)
@given(series=SERIES, k=st.integers(2, 3), data=st.data())
def test_whoever_is_accepted_may_have_every_value_of_k_people(series: list[Release], k: int, data: Any) -> None:
    """In every possible world: a value is certain of nobody unless k people of a history all have it."""
    accepted: list[Standing] = []
    for release in series:
        new = stand(release, k)
        held = people_to_hold_back(new, accepted)
        for person in [sorted(release)[each] for each in held]:
            del release[person]
        if release:
            accepted.append(stand(release, k))
            found = overlap_of(accepted[-1], accepted[:-1])
            assert (found.people_below, found.people_before) == (0, 0)
    series = [release for release in series if release]
    people = sorted({person for release in series for person in release})
    values = dict(zip(people, data.draw(st.lists(st.sampled_from("xy"), min_size=8, max_size=8)), strict=False))
    possible = worlds(series, values)
    for person in people:
        same = [one for one in people if all(each.get(one) == each.get(person) for each in series)]
        assert len(same) >= k
        assert {world[person] for world in possible} >= {values[one] for one in same}


@settings(deadline=None, max_examples=100)
@given(series=SERIES, k=st.integers(2, 3), data=st.data())
def test_releases_whose_values_may_be_repeated_are_sound_without_fresh_ones(
    series: list[Release], k: int, data: Any
) -> None:
    """Nothing that is fresh to the end says a value of the others: they must be sound by themselves."""
    fresh = data.draw(st.lists(st.booleans(), min_size=len(series), max_size=len(series)))
    stands = [stand(each, k, fresh=free) for each, free in zip(series, fresh, strict=True)]
    found = overlap_of(stands[-1], stands[:-1])
    strict = [each for index, each in enumerate(series) if not all(fresh[index:])]
    if not found.people_below and not found.people_before:
        for person in {person for each in strict for person in each}:
            assert company(strict, [False] * len(strict), person) >= k
        for person in {person for each in series for person in each}:
            assert all(sum(each.get(one) == each[person] for one in each) >= k for each in series if person in each)


def test_the_law_bites() -> None:
    """Four people of a class, and then a fifth: with one disease left over, it is certain in every world."""
    series = [dict.fromkeys(range(4), frozenset({0})), dict.fromkeys(range(5), frozenset({0}))]
    values = {0: "x", 1: "x", 2: "y", 3: "y", 4: "x"}
    assert {world[4] for world in worlds(series, values)} == {"x"}
    assert overlap_of(stand(series[1], 2), [stand(series[0], 2)]).people_below == 1


def test_too_many_sets_of_fresh_releases_are_judged_as_if_none_were(monkeypatch: Any) -> None:
    june, july = dict.fromkeys(range(4), frozenset({0})), dict.fromkeys(range(5), frozenset({0}))
    given = stand(july, 2, fresh=True), [stand(june, 2, fresh=True)]
    assert overlap_of(*given).people_below == 0
    monkeypatch.setattr(histories, "MAX_COMPARED", 0)
    assert overlap_of(*given).people_below == 1


def test_pseudonyms_that_begin_alike_are_different_people() -> None:
    """The first half of a pseudonym is looked at first."""
    names = np.array([b"12345678abcdefgh", b"12345678abcdefgi"])
    one = Standing({"pid": "text"}, names[:1], np.array([0, 1]), np.array([0]), 1, 1)
    two = Standing({"pid": "text"}, names[1:], np.array([0, 1]), np.array([0]), 1, 1)
    both = Standing({"pid": "text"}, names, np.array([0, 1, 2]), np.array([0, 0]), 1, 1)
    assert overlap_of(two, [one]).shared_people == 0
    assert overlap_of(both, [two]).shared_people == 1


def table_of(rows: list[tuple[int, int, str, str]]) -> pa.Table:
    pid, age, sex, d = zip(*rows, strict=True)
    columns = {"pid": [f"p{one}" for one in pid], "age": age, "sex": sex, "d": d, "key": list(range(len(rows)))}
    return pa.table(columns)


def published(release: ind.Release, table: pa.Table) -> dict[str, frozenset[Any]]:
    """Return the classes of everybody, as the rows of a release show them."""
    people, classes = table["pid"].to_pylist(), defaultdict(set)
    for row in release.table.to_pylist():
        classes[people[row["key"]]].add((row["age"], row["sex"]))
    return {person: frozenset(own) for person, own in classes.items()}


@settings(deadline=None, max_examples=40)
@given(
    months=st.integers(2, 4).flatmap(lambda size: st.lists(ROWS, min_size=size, max_size=size)),
    same=st.booleans(),
    k=st.integers(1, 3),
    algorithm=st.sampled_from(["mondrian", "mondrian:extent=region", "optimal"]),
)
def test_what_releases_tell_together_is_what_their_rows_show(months: Any, same: bool, k: int, algorithm: str) -> None:
    if same:  # the same table with a row more each time: mostly the same people with the same values
        months = [months[0] + month[:1] * index for index, month in enumerate(months)]
    tables = [table_of(month) for month in months]
    options: dict[str, Any] = {"model": ind.KAnonymity(k), "algorithm": algorithm}
    try:
        releases = [ind.anonymize(table, SCHEMA, **options) for table in tables]
    except IndistinctError:
        assume(False)
    key, standings = new_key(), []
    for release, table in zip(releases, tables, strict=True):
        engine, source = open_source(table)
        standings.append(standing_of(engine, source, release.assignment, schema=SCHEMA, key=key, k=k))
    *earlier, new = standings
    shown: Any = [published(release, table) for release, table in zip(releases, tables, strict=True)]
    assert overlap_of(new, earlier) == plainly(shown, [k] * len(shown), [False] * len(shown))


@settings(deadline=None, max_examples=20)
@given(june=ROWS, july=ROWS, k=st.integers(1, 3))
def test_a_release_is_refused_if_it_is_broken_beside_an_earlier_one(june: Any, july: Any, k: int) -> None:
    first, second = table_of(june), table_of(july)
    options: dict[str, Any] = {"model": ind.KAnonymity(k), "algorithm": "mondrian"}
    try:
        earlier, alone = ind.anonymize(first, SCHEMA, **options), ind.anonymize(second, SCHEMA, **options)
    except IndistinctError:
        assume(False)
    shown: Any = [published(earlier, first), published(alone, second)]
    expected = plainly(shown, [k, k], [False, False])
    both = {"previous": earlier.recoding, "previous_input": first}
    release = ind.anonymize(second, SCHEMA, **options, **both, accept_overlap=True)
    assert release.certificate.overlap == expected
    warned = [warning for warning in release.certificate.warnings if "history of classes" in warning]
    assert not any("p1" in warning for warning in release.certificate.warnings)
    try:
        ind.anonymize(second, SCHEMA, **options, **both)
        refused = False
    except ind.VerificationError:
        refused = True
    assert refused == bool(expected.people_below) == bool(warned)
