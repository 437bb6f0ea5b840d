"""Several releases of the same people, put together: the answer is that of a plain count, whoever has how many rows."""

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines import open_source
from indistinct.errors import IndistinctError
from indistinct.release.certificate import Overlap
from indistinct.release.comparison import overlap_of
from indistinct.release.ledger_entries import packed, unpacked
from indistinct.release.pseudonyms import new_key
from indistinct.release.standing import Standing, standing_of

ROWS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(20, 40), st.sampled_from("fm"), st.sampled_from("abcd")),
    min_size=4,
    max_size=20,
)
SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["d"], insensitive=["key"], person=["pid"])


def table_of(rows: list[tuple[int, int, str, str]]) -> pa.Table:
    pid, age, sex, d = zip(*rows, strict=True)
    columns = {"pid": [f"p{one}" for one in pid], "age": age, "sex": sex, "d": d, "key": list(range(len(rows)))}
    return pa.table(columns)


class Plain:
    """A release as its rows show it: who stands in which classes, what each shows, and who has which values."""

    def __init__(self, release: ind.Release, table: pa.Table) -> None:
        people = table["pid"].to_pylist()
        self.classes, self.shows, self.values = defaultdict(set), defaultdict(set), defaultdict(Counter)
        for row in release.table.to_pylist():
            person, shown = people[row["key"]], (row["age"], row["sex"])
            self.classes[person].add(shown)
            self.shows[shown].add(row["d"])
            self.values[person][row["d"]] += 1

    def signature(self, person: str) -> set[str]:
        return set().union(*(self.shows[shown] for shown in self.classes[person]))


def combinations(releases: list[Plain], person: str) -> set[tuple[Any, ...]]:
    found: set[tuple[Any, ...]] = {()}
    for release in releases:
        found = {(*head, shown) for head in found for shown in release.classes[person]}
    return found


def candidates(new: Plain, earlier: list[Plain], person: str) -> int:
    """Return how many people share, in the worst case, all classes of somebody in all releases that he is in."""
    inside = [new, *(old for old in earlier if person in old.classes)]
    others = [each for each in new.classes if all(each in release.classes for release in inside)]
    known = Counter(combination for each in others for combination in combinations(inside, each))
    return min(known[combination] for combination in combinations(inside, person))


def differences(new: Plain, old: Plain) -> list[set[str]]:
    """Return the groups of people whom the difference of two releases speaks of: merge classes until none is linked."""
    parts = [{(side, shown)} for side, each in enumerate((new, old)) for shown in each.shows]
    stayed = new.classes.keys() & old.classes.keys()
    if not stayed:
        return []
    for person in stayed:
        own = {(0, shown) for shown in new.classes[person]} | {(1, shown) for shown in old.classes[person]}
        linked = [part for part in parts if part & own]
        parts = [part for part in parts if not part & own] + [set().union(*linked)]
    changed = {person for person in stayed if new.values[person] != old.values[person]}
    groups = []
    for part in parts:
        for side, (here, there) in enumerate(((new, old), (old, new))):
            inside = {person for person, own in here.classes.items() if any((side, shown) in part for shown in own)}
            groups.append({person for person in inside if person not in there.classes or person in changed})
    return [group for group in groups if group]


def plainly(new: Plain, earlier: list[Plain], k: int) -> Overlap:
    shared = {person for person in new.classes if any(person in old.classes for old in earlier)}
    sizes = {person: candidates(new, earlier, person) for person in shared}
    groups = [group for old in earlier for group in differences(new, old)]
    changed, certain, left = set(), set(), []
    for person in shared:
        signatures = [release.signature(person) for release in (new, *earlier) if person in release.classes]
        common = set.intersection(*signatures)
        if any(each != common for each in signatures):
            changed.add(person)
        if common & set(new.values[person]):
            left.append(len(common))
            if len(common) == 1 and all(len(each) > 1 for each in signatures):
                certain.add(person)
    return Overlap(
        len(shared),
        min(sizes.values(), default=0),
        sum(size < k for size in sizes.values()),
        k,
        len(earlier),
        min(map(len, groups), default=0),
        len(set().union(*(group for group in groups if len(group) < k))),
        len(changed),
        min(left, default=0),
        len(certain),
    )


def standing(release: ind.Release, table: pa.Table, key: bytes) -> Standing:
    engine, source = open_source(table)
    return standing_of(engine, source, release.assignment, schema=SCHEMA, key=key)


@settings(deadline=None, max_examples=60)
@given(
    months=st.integers(2, 4).flatmap(lambda size: st.lists(ROWS, min_size=size, max_size=size)),
    same=st.booleans(),
    k=st.integers(1, 3),
    algorithm=st.sampled_from(["mondrian", "mondrian:extent=region", "optimal"]),
)
def test_what_releases_tell_together_is_what_a_plain_count_says(
    months: Any, same: bool, k: int, algorithm: str
) -> None:
    if same:  # the same table with a row more each time: mostly the same people with the same values
        months = [months[0] + month[:1] * index for index, month in enumerate(months)]
    tables = [table_of(month) for month in months]
    options: dict[str, Any] = {"model": ind.KAnonymity(k), "algorithm": algorithm}
    try:
        releases = [ind.anonymize(table, SCHEMA, **options) for table in tables]
    except IndistinctError:
        assume(False)
    *before, last = [Plain(release, table) for release, table in zip(releases, tables, strict=True)]
    key = new_key()
    *earlier, new = [standing(release, table, key) for release, table in zip(releases, tables, strict=True)]
    assert overlap_of(new, [unpacked(packed(each)) for each in earlier], k=k) == plainly(last, before, k)


@settings(deadline=None, max_examples=25)
@given(june=ROWS, july=ROWS, k=st.integers(1, 3))
def test_a_release_is_refused_if_it_is_broken_beside_an_earlier_one(june: Any, july: Any, k: int) -> None:
    first, second = table_of(june), table_of(july)
    options: dict[str, Any] = {"model": ind.KAnonymity(k), "algorithm": "mondrian"}
    try:
        earlier, alone = ind.anonymize(first, SCHEMA, **options), ind.anonymize(second, SCHEMA, **options)
    except IndistinctError:
        assume(False)
    expected = plainly(Plain(alone, second), [Plain(earlier, first)], k)
    both = {"previous": earlier.recoding, "previous_input": first}
    release = ind.anonymize(second, SCHEMA, **options, **both, accept_overlap=True)
    assert release.certificate.overlap == expected
    told = [warning for warning in release.certificate.warnings if "earlier release" in warning]
    assert not any("p1" in warning for warning in release.certificate.warnings)
    try:
        ind.anonymize(second, SCHEMA, **options, **both)
        refused = False
    except ind.VerificationError:
        refused = True
    assert refused == bool(expected.people_below or expected.people_isolated or expected.people_certain)
    assert refused <= bool(told)
