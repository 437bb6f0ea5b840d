"""The parts of the membership figure: tuples of a published table, claims, and the ranking of attributes."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from indistinct.evaluation.assess.membership import Membership, membership_of, random_buckets
from indistinct.release.opening import BucketTable
from indistinct.samples import generate_census
from indistinct.schema import Schema
from indistinct_papers.overlapping_slicing import claims as compare_sharing
from indistinct_papers.overlapping_slicing import measure_release
from indistinct_papers.slicing import (
    ALL,
    BUCKETIZATION,
    QUASI,
    RANDOM,
    SEED,
    SENSITIVE,
    Measured,
    claims,
    measured_at_random,
    measured_by_search,
    ranking,
)

TABLE = pa.table(
    {
        "age": [22, 22, 33, 52, 54, 60, 60, 64],
        "sex": list("MFFFMMMF"),
        "zip": [47906, 47906, 47905, 47905, 47302, 47302, 47304, 47304],
        SENSITIVE: ["dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia", "gastritis"],
    }
)
SCHEMA = Schema(quasi=["age", "sex", "zip"], sensitive=[SENSITIVE])
BUCKETS = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def permuted(slices: tuple[tuple[str, ...], ...]) -> pa.Table:
    """Return the table with each slice turned by a different number of rows inside each half."""
    columns = {}
    for turn, names in enumerate(slices):
        order = np.concatenate([np.roll(np.arange(4), turn), np.roll(np.arange(4, 8), 2 * turn)])
        columns |= {name: TABLE[name].take(pa.array(order)) for name in names}
    return pa.table(columns)


@pytest.mark.parametrize(
    ("slices", "every", "known"),
    [
        ((("age", "sex"), ("zip", SENSITIVE)), (28, 8, 20), (14, 8, 6)),
        ((("age", "sex", "zip"), (SENSITIVE,)), (24, 8, 16), (8, 8, 0)),
    ],
)
def test_tuples_of_a_published_table_are_those_of_the_worked_example(slices, every, known) -> None:
    counted = {}
    for kind in (ALL, QUASI):
        found, same = (
            membership_of(
                BucketTable(source.append_column("bucket", pa.array(BUCKETS)), slices),
                SCHEMA,
                original=TABLE,
                quasi_only=kind == QUASI,
            )
            for source in (permuted(slices), TABLE)
        )
        assert found == same
        counted[kind] = (found.candidates, found.originals, found.fake)
    assert counted == {ALL: every, QUASI: known}


def test_random_buckets_have_the_tuples_that_sets_say() -> None:
    table, size = generate_census(600, seed=3), 7
    slices = ("age", "salary"), ("sex", SENSITIVE), ("race", "country"), ("marital", "education", "workclass")
    measured = measured_at_random(table, {4: slices}, size)
    assert [(each.algorithm, each.columns, each.tuples) for each in measured] == [
        (RANDOM, 4, ALL),
        (RANDOM, 4, QUASI),
        (BUCKETIZATION, 2, ALL),
        (BUCKETIZATION, 2, QUASI),
    ]
    whole = tuple(name for name in table.column_names if name != SENSITIVE), (SENSITIVE,)
    buckets = random_buckets(600, size, rng=np.random.default_rng([SEED, size]))
    known = [
        tuple(kept for names in each if (kept := tuple(name for name in names if name != SENSITIVE)))
        for each in (slices, whole)
    ]
    kinds = [slices, known[0], whole, known[1]]
    for each, kept in zip(measured, kinds, strict=True):
        columns = [list(zip(*(table[name].to_pylist() for name in names), strict=True)) for names in kept]
        candidates = set()
        for bucket in range(buckets.max() + 1):
            rows = np.flatnonzero(buckets == bucket)
            candidates |= set(product(*({column[row] for row in rows} for column in columns)))
        originals = set(zip(*columns, strict=True))
        assert each.found.exact
        assert (each.found.candidates, each.found.originals) == (len(candidates), len(originals))
        assert each.row()[4:8] == (
            len(candidates),
            len(originals),
            len(candidates - originals),
            round(len(candidates - originals) / len(originals), 3),
        )


def test_buckets_of_a_search_are_measured_as_they_are_published() -> None:
    measured, sentence = measured_by_search(TABLE, 2)
    assert [each.tuples for each in measured] == [ALL, QUASI]
    assert all(each.found.originals == 8 for each in measured)
    assert measured[0].size == round(8 / int(sentence.split()[1]))
    assert "every original tuple matches one bucket only" in sentence
    assert measured_by_search(TABLE, 3) == ([], "slicing:l=3: this table allows no such l")


def test_claims_are_confirmed_only_where_the_numbers_say_so() -> None:
    held = claims(
        [
            drawn(5, 2, fake=90),
            drawn(10, 2, fake=90),
            drawn(5, 3, fake=150),
            drawn(10, 3, fake=200),
            drawn(5, 2, fake=0, algorithm=BUCKETIZATION, tuples=QUASI),
            drawn(10, 2, fake=3, algorithm=BUCKETIZATION, tuples=QUASI),
        ]
    )
    assert [claim.verdict for claim in held] == ["depends", "depends", "confirmed", "depends"]
    assert held[0].figures.startswith("in 2 of 4 settings; 0.9 to 2 fake tuples for each original one")
    assert held[0].figures.endswith("not with 2 columns, tuples: all, bucket size 5, 10")
    assert held[1].figures.endswith("not with 2 columns, tuples: all, bucket size 10")
    assert held[2].figures.startswith("in 2 of 2 settings")


def test_kinds_of_tuples_are_not_compared_with_each_other() -> None:
    held = claims([drawn(5, 2, fake=200), drawn(5, 2, fake=20, tuples=QUASI), drawn(5, 3, fake=30, tuples=QUASI)])
    assert [claim.verdict for claim in held] == ["depends", "not tested", "confirmed", "not tested"]
    assert "1 of 1 settings" in held[2].figures


def test_attributes_are_ranked_by_what_they_tell_about_the_sensitive_one() -> None:
    table = TABLE.append_column("same", TABLE[SENSITIVE]).append_column("constant", pa.array(["x"] * 8))
    found = ranking(table)
    assert next(iter(found)) == "same"
    assert list(found)[-1] == "constant"
    assert (found["same"], found["constant"]) == (1.0, 0.0)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    # Of numbers only the bin counts: ages of one tenth of the range are one value.
    near = pa.array([0.0, 0.1, 0.2, 0.3, 10.0, 9.9, 9.8, 9.7])
    assert ranking(TABLE.append_column("near", near))["near"] == ranking(TABLE.append_column("near", halves()))["near"]


def halves() -> pa.Array:
    return pa.array(["low"] * 4 + ["high"] * 4)


def drawn(size: int, columns: int, *, fake: int, algorithm: str = RANDOM, tuples: str = ALL) -> Measured:
    groups = (("1 to 10", 1.0), ("11 to 20", 1.0), ("over 20", 2.0))
    found = Membership(100 + fake, 100, fake, True, (0.0, 0.0), groups, groups, 7, 1.0, 1.0)
    measured = Measured(size, algorithm, columns, tuples, found)
    assert measured.row()[8:] == (0.75, 0.75, "yes")
    return measured


def test_columns_that_share_attributes_are_compared_with_those_that_share_none() -> None:
    rows = [
        (2, 0, "a|b", 9, 0.2, 0.3, 0.5, 0.4, 8.0),
        (2, 1, "a|a+b", 9, 0.1, 0.3, 0.6, 0.4, 7.0),
        (5, 0, "a|b", 9, 0.2, 0.3, 0.5, 0.4, 8.0),
        (5, 1, "a|a+b", 9, 0.3, 0.2, 0.5, 0.4, 6.0),
    ]
    pairs, counts, learned, fake = compare_sharing(rows)
    assert [(each.held, each.tested, each.own) for each in (pairs, counts, learned, fake)] == [
        (1, 2, True),
        (1, 2, True),
        (1, 2, True),
        (2, 2, True),
    ]
    assert pairs.figures == "in 1 of 2 settings: 0.1 against 0.2 (l = 2, overlap 1), 0.3 against 0.2 (l = 5, overlap 1)"


def test_a_release_with_shared_columns_has_fewer_fake_tuples() -> None:
    table = generate_census(600, seed=SEED)
    plain, shared = (measure_release(table, 2, overlap) for overlap in (0, 1))
    assert (plain[0], plain[1], shared[1]) == (2, 0, 1)
    assert plain[3] == shared[3]  # the same buckets
    names = [str(each[2]).replace("|", "+").split("+") for each in (plain, shared)]
    assert len(names[1]) > len(set(names[1])) == len(names[0])
    assert shared[-1] <= plain[-1]
