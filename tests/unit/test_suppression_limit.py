"""One budget of suppression, however it is said: every share r/N allows r of N, and "r rows" does too."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ind
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.suppression_limit import Budget, parse_budget


def test_every_share_of_a_small_table_allows_its_rows():
    for members in range(1, 68):
        for rows in range(members + 1):
            for said in (rows / members, Fraction(rows, members), f"{rows}/{members}", f"{rows} rows"):
                assert parse_budget(said).allows(members) == rows, (said, members)


@given(share=st.floats(0, 1), members=st.integers(0, 10**9))
def test_a_float_allows_the_most_whose_share_it_reaches(share, members):
    allowed = Budget(share).allows(members)
    assert 0 <= allowed <= members
    assert allowed == 0 or allowed / members <= share
    assert allowed == members or (allowed + 1) / members > share


@given(rows=st.integers(1, 10**6), more=st.integers(0, 10**6))
def test_every_quotient_allows_what_was_divided(rows, more):
    assert Budget(rows / (rows + more)).allows(rows + more) == rows


@pytest.mark.parametrize(
    ("said", "budget"),
    [
        ("4 rows", Budget(4, "rows")),
        (" 1 row ", Budget(1, "rows")),
        ("3 people", Budget(3, "people")),
        ("1 person", Budget(1, "people")),
        ("4/30", Budget(Fraction(2, 15))),
        ("4 / 30", Budget(Fraction(2, 15))),
        (Fraction(4, 30), Budget(Fraction(2, 15))),
        (0.05, Budget(0.05)),
        (np.float64(0.05), Budget(0.05)),
        ("0.05", Budget(0.05)),
        (0, Budget(0.0)),
        (1, Budget(1.0)),
    ],
)
def test_what_is_understood(said, budget):
    assert parse_budget(said) == budget
    assert parse_budget(budget.plain) == budget
    assert parse_budget(str(budget)) == budget


@pytest.mark.parametrize(
    "said",
    [
        *("", "rows", "4", "four rows", "-4 rows", "4.5 rows", "4 cats", "5 %", "1/0", "31/30", "-1/30", "nan", "all"),
        *("9" * 5000 + " rows", "1.5", 1.5, -0.1, math.nan, math.inf, 4, -1, True, Fraction(31, 30), None, [0.1], b"4"),
    ],
)
def test_anything_else_is_refused(said):
    with pytest.raises(ind.ParameterError, match="suppression"):
        parse_budget(said)


def test_a_bare_number_of_rows_says_how_to_say_it():
    with pytest.raises(ind.ParameterError) as caught:
        parse_budget(4)
    assert '"4 rows"' in caught.value.hint


def test_more_than_all_is_all():
    assert Budget(40, "rows").allows(30) == 30


THIRTY = pa.table({"age": [1] * 13 + [2] * 13 + [3, 4, 5, 6], "ill": ["x", "y"] * 15})
ROLES = ind.Schema(quasi=["age"], sensitive=["ill"])


@pytest.mark.parametrize("said", [4 / 30, "4/30", "4 rows", Fraction(4, 30), Budget(4, "rows")])
@pytest.mark.parametrize("algorithm", ["optimal", "samarati", "incognito", "datafly", "node:levels=0"])
def test_four_of_thirty_rows_may_go(said, algorithm):
    trees = {"age": ind.Hierarchy.suppression()}
    release = ind.anonymize(
        THIRTY, ROLES, model="k-anonymity:k=5", algorithm=algorithm, hierarchies=trees, suppression=said
    )
    assert release.certificate.suppressed_rows == 4
    assert set(release.table["age"].to_pylist()) == {1, 2}
    again = ind.apply(release.recoding, THIRTY)
    assert again.certificate.suppressed_rows == 4
    stored = recoding_from_json(recoding_to_json(release.recoding))
    assert stored == release.recoding


@pytest.mark.parametrize("said", [4 / 30, "4/30", "4 rows"])
def test_apply_and_explore_count_alike(said):
    trees = {"age": ind.Hierarchy.suppression()}
    recoding = ind.anonymize(
        THIRTY.slice(0, 26), ROLES, model="k-anonymity:k=5", algorithm="optimal", hierarchies=trees
    ).recoding
    assert ind.apply(recoding, THIRTY, suppression=said).certificate.suppressed_rows == 4
    found = ind.explore(THIRTY, ROLES, model="k-anonymity:k=5", hierarchies=trees, suppression=said)
    assert found.suppression == 4


VISITS = pa.table(
    {"who": [f"p{i // 2}" for i in range(30)], "age": [1] * 14 + [2] * 12 + [3, 3, 4, 4], "ill": ["x", "y"] * 15}
)
PEOPLE = ind.Schema(quasi=["age"], sensitive=["ill"], person=["who"])


@pytest.mark.parametrize("said", ["2 people", 2 / 15, "2/15"])
def test_people_are_dropped_with_all_their_rows(said):
    release = ind.anonymize(
        VISITS,
        PEOPLE,
        model="k-anonymity:k=5",
        algorithm="optimal",
        hierarchies={"age": ind.Hierarchy.suppression()},
        suppression=said,
    )
    assert release.certificate.suppressed_rows == 4
    assert release.certificate.people.suppressed == 2


def test_rows_are_no_people():
    with pytest.raises(ind.ParameterError) as caught:
        ind.anonymize(VISITS, PEOPLE, model="k-anonymity:k=5", suppression="2 rows")
    assert "people are counted" in caught.value.message
    assert '"2 people"' in caught.value.hint
    with pytest.raises(ind.ParameterError, match="rows are counted"):
        ind.anonymize(THIRTY, ROLES, model="k-anonymity:k=5", suppression="2 people")
