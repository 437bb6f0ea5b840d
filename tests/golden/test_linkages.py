"""The joining attack and the linkages of the sources: people are found before, and none after (Verma 2013)."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct_papers.adult import ADULT_QUASI, load_adult

DATA = Path(os.environ.get("INDISTINCT_DATA") or Path(__file__).parents[3] / "shared" / "data")
PATIENTS = pa.table(
    {
        "age": [35, 35, 36, 37, 37, 38],
        "sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "zipcode": ["533449", "533441", "533449", "533448", "533441", "533449"],
        "disease": ["Flu", "Cancer", "Aids", "Hang Nail", "Hepatitis", "Broken Arm"],
    }
)
VOTERS = pa.table(
    {
        "name": ["Lee", "zan", "dum", "wry", "su"],
        "age": [35, 38, 41, 29, 51],
        "sex": ["Male", "Female", "Female", "Male", "Female"],
        "zipcode": ["533449", "533448", "533447", "533446", "533445"],
    }
)
JOINED = ind.Schema(quasi=["age", "sex", "zipcode"], sensitive=["disease"])

MALE, FEMALE = ["Male"] * 3, ["Female"] * 4
SICK = pa.table(
    {
        "job": ["Engineer", "Engineer", "Lawyer", "Writer", "Writer", "Dancer", "Dancer"],
        "sex": MALE + FEMALE,
        "age": [35, 38, 38, 30, 30, 30, 30],
        "disease": ["Hepatitis", "Hepatitis", "HIV", "Flu", "HIV", "HIV", "HIV"],
    }
)
SICK_PUBLISHED = pa.table(
    {
        "job": ["Professional"] * 3 + ["Artist"] * 4,
        "sex": MALE + FEMALE,
        "age": ["[35-40)"] * 3 + ["[30-35)"] * 4,
        "disease": SICK["disease"],
    }
)
NAMED = pa.table(
    {
        "name": ["Alice", "Bob", "Cathy", "Doug", "Emily", "Fred", "Gladys", "Henry", "Irene"],
        "job": ["Writer", "Engineer", "Writer", "Lawyer", "Dancer", "Engineer", "Dancer", "Lawyer", "Dancer"],
        "sex": ["Female", "Male", "Female", "Male", "Female", "Male", "Female", "Male", "Female"],
        "age": [30, 35, 30, 38, 30, 38, 30, 39, 32],
    }
)
JOBS = {
    "job": ind.Hierarchy.tree({"*": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Writer", "Dancer"]}}),
    "age": ind.Hierarchy.intervals([5]),
}
LINKED = ind.Schema(quasi=["job", "sex", "age"], sensitive=["disease"])


def test_a_voter_is_found_among_patients_before_and_not_after() -> None:
    before = ind.attack("record-linkage", PATIENTS, JOINED, original=PATIENTS, external=VOTERS)
    assert (before.tally.attempts, before.tally.successes) == (1, 1)
    assert before.control is not None  # the voters who are no patients
    assert (before.control.attempts, before.control.successes) == (4, 0)
    release = ind.anonymize(PATIENTS, JOINED, model="k-anonymity:k=2", algorithm="mondrian")
    after = ind.attack("record-linkage", release, original=PATIENTS, external=VOTERS)
    assert (after.tally.attempts, after.tally.successes) == (1, 0)
    assert after.risk == 0


def test_doug_is_found_before_and_nobody_after() -> None:
    """Bob, Doug and Fred stand alone in the patient table; Henry and Irene are in the external table only."""
    before = ind.attack("record-linkage", SICK, LINKED, original=SICK, external=NAMED, hierarchies=JOBS)
    assert (before.tally.attempts, before.tally.successes) == (7, 3)
    doug = NAMED.filter(pa.array([name == "Doug" for name in NAMED["name"].to_pylist()]))
    alone = ind.attack("record-linkage", SICK, LINKED, original=SICK, external=doug, hierarchies=JOBS)
    assert (alone.tally.attempts, alone.tally.successes) == (1, 1)
    after = ind.attack("record-linkage", SICK_PUBLISHED, LINKED, original=SICK, external=NAMED, hierarchies=JOBS)
    assert (after.tally.attempts, after.tally.successes) == (7, 0)
    assert after.details["expected_matches"] == pytest.approx(3 / 3 + 4 / 4)
    assert after.control is not None
    assert (after.control.attempts, after.control.successes) == (2, 0)


def test_emily_is_known_before_and_not_after() -> None:
    """All dancers have one disease, so that nobody need tell which of them is Emily."""
    before = ind.attack("homogeneity", SICK, LINKED, original=SICK, hierarchies=JOBS)
    assert (before.tally.attempts, before.tally.successes) == (7, 5)
    after = ind.attack("homogeneity", SICK_PUBLISHED, LINKED, original=SICK, hierarchies=JOBS)
    assert after.tally.successes == 0
    likely = ind.attack("homogeneity:share=0.75", SICK_PUBLISHED, LINKED, original=SICK, hierarchies=JOBS)
    assert likely.tally.successes == 3  # three of four artists have it, which entropy 1.75 allows


def test_the_external_table_itself_is_published_without_names() -> None:
    """Table 1.3d: classes of four and five."""
    schema = ind.Schema(identifiers=["name"], quasi=["job", "sex", "age"])
    release = ind.anonymize(NAMED, schema, model="k-anonymity:k=4", algorithm="optimal", hierarchies=JOBS)
    assert release.certificate.smallest_class >= 4
    before = ind.attack("record-linkage", NAMED, schema, original=NAMED, external=NAMED, hierarchies=JOBS)
    after = ind.attack("record-linkage", release, original=NAMED, external=NAMED)
    assert before.details["register"] == "names"
    assert (before.tally.successes, after.tally.successes) == (5, 0)


@pytest.mark.skipif(
    not (DATA / "adult.csv").is_file(), reason="the Adult table is not there; set INDISTINCT_DATA to its folder"
)
def test_a_register_with_errors_finds_many_in_adult_before_and_nobody_after() -> None:
    every = load_adult().select([*ADULT_QUASI, "salary-class"])
    rows = np.random.default_rng(1).permutation(every.num_rows)
    inside, outside = every.take(rows[:4000]), every.take(rows[4000:6000])
    schema = ind.Schema(quasi=list(ADULT_QUASI), sensitive=["salary-class"])
    release = ind.anonymize(inside, schema, model="k-anonymity:k=5", algorithm="mondrian")
    known = {"original": inside, "control": outside, "seed": 1}
    before = ind.attack("record-linkage:errors=0.05", inside, schema, **known)
    after = ind.attack("record-linkage:errors=0.05", release, **known)
    assert before.succeeds
    assert before.tally.share > 0.4  # two thirds of all entries with eight cells have no error
    assert 0 < before.details["wrong"] < 0.05 * before.tally.attempts
    assert after.tally.successes == 0
    assert after.interval[1] < 0.002
