"""Two releases of the same people, intersected: the answer is that of a plain count, whoever has how many rows."""

from collections import defaultdict
from typing import Any

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.errors import IndistinctError

ROWS = st.lists(st.tuples(st.integers(0, 7), st.integers(20, 40), st.sampled_from("fm")), min_size=4, max_size=20)
SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["key"], person=["pid"])


def table_of(rows: list[tuple[int, int, str]]) -> pa.Table:
    pid, age, sex = zip(*rows, strict=True)
    return pa.table({"pid": [f"p{one}" for one in pid], "age": age, "sex": sex, "key": list(range(len(rows)))})


def classes_of(release: ind.Release, table: pa.Table) -> dict[str, set[Any]]:
    """Return the classes in which each person stands, by the rows of the release."""
    people, stands = table["pid"].to_pylist(), defaultdict(set)
    for row in release.table.to_pylist():
        stands[people[row["key"]]].add((row["age"], row["sex"]))
    return stands


@settings(deadline=None, max_examples=60)
@given(
    june=ROWS,
    july=ROWS,
    k=st.integers(1, 3),
    algorithm=st.sampled_from(["mondrian", "mondrian:extent=region", "optimal"]),
)
def test_the_smallest_intersection_is_that_of_a_plain_count(june: Any, july: Any, k: int, algorithm: str) -> None:
    first, second = table_of(june), table_of(july)
    options: dict[str, Any] = {"model": ind.KAnonymity(k), "algorithm": algorithm}
    try:
        earlier, alone = ind.anonymize(first, SCHEMA, **options), ind.anonymize(second, SCHEMA, **options)
    except IndistinctError:
        assume(False)
    old, new = classes_of(earlier, first), classes_of(alone, second)
    together = defaultdict(set)
    for person in old.keys() & new.keys():
        for before in old[person]:
            for after in new[person]:
                together[before, after].add(person)
    below = {person for people in together.values() if len(people) < k for person in people}
    both = {"previous": earlier.recoding, "previous_input": first}
    release = ind.anonymize(second, SCHEMA, **options, **both, accept_overlap=True)
    overlap = release.certificate.overlap
    assert overlap.shared_people == len(old.keys() & new.keys())
    assert overlap.smallest_intersection == min(map(len, together.values()), default=0)
    assert overlap.people_below == len(below)
    assert any("together with the earlier release" in warning for warning in release.certificate.warnings) == bool(
        below
    )
    assert not any("p1" in warning for warning in release.certificate.warnings)
    try:
        ind.anonymize(second, SCHEMA, **options, **both)
        refused = False
    except ind.VerificationError:
        refused = True
    assert refused == bool(below)
