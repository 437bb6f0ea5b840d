"""The worked examples of local recoding: six people, their jobs, years of birth and postcodes."""

from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.metrics import Distortion
from indistinct_papers.documents import PEOPLE as ROWS
from indistinct_papers.documents import PEOPLE_NAMES

PEOPLE = pa.table({"row": range(1, 7)} | dict(zip(PEOPLE_NAMES, map(list, zip(*ROWS, strict=True)), strict=True)))
SCHEMA = ind.Schema(quasi=["job", "birth", "postcode"], sensitive=["illness"], insensitive=["row"])
HIERARCHIES = {"postcode": ind.Hierarchy.masking()}
TWO_ANONYMOUS = {("cat1", "*", "4350"): 2, ("cat1", "1955", "543*"): 2, ("cat2", "1975", "4350"): 2}


def publish(algorithm, model="k-anonymity:k=2", table=PEOPLE, schema=SCHEMA):
    return ind.anonymize(table, schema, model=model, algorithm=algorithm, hierarchies=HIERARCHIES)


def rows_by_class(release):
    found = {}
    for row in release.table.to_pylist():
        shown = (row["job"], row["birth"], row["postcode"].replace("****", "*"))
        found.setdefault(shown, set()).add(row["row"])
    return found


ALGORITHMS = [
    "kaca",
    "kaca:stub=false",
    "kaca:scheme=height",
    "top-down",
    "top-down:respecialize_remainder=true",
    "top-down-kaca",
    "top-down-kaca:part=2",
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_published_two_anonymous_table(algorithm):
    release = publish(algorithm)
    assert {shown: len(rows) for shown, rows in rows_by_class(release).items()} == TWO_ANONYMOUS
    assert Distortion().value(release.assignment) == 2.5
    assert rows_by_class(release)["cat1", "*", "4350"] == {1, 2}


def test_the_published_table_has_a_class_of_one_illness():
    """It is 2-anonymous, but both rows of its first class have HIV: with alpha = 1/2 it would not do."""
    release = publish("kaca")
    model = "alpha-k:sensitive=illness,alpha=0.5,k=2,protected=HIV"
    assert not ind.verify(release.table, release.schema, model).holds


def test_top_down_for_alpha_k():
    release = publish("top-down", "alpha-k:sensitive=illness,alpha=1/2,k=2,protected=HIV")
    assert rows_by_class(release) == {
        ("cat1", "*", "*"): {1, 3},
        ("cat1", "1955", "*"): {2, 4},
        ("cat2", "1975", "4350"): {5, 6},
    }
    assert release.certificate.verdicts[0].achieved["alpha"] == Fraction(1, 2)


def test_kaca_goes_on_until_the_model_holds():
    release = publish("kaca", "alpha-k:sensitive=illness,alpha=1/2,k=2,protected=HIV")
    assert release.certificate.holds
    assert min(release.assignment.classes.sizes) >= 2


def test_a_stub_leaves_the_trunk_as_detailed_as_it_was():
    """Nine rows of 4350 and one of 4351, k = 3: two rows join the lonely one, seven keep their postcode."""
    postcodes = ["4350"] * 9 + ["4351"]
    table = pa.table({"postcode": postcodes})
    schema = ind.Schema(quasi=["postcode"])
    with_stub, without = (
        Counter(publish(algorithm, "k-anonymity:k=3", table, schema).table["postcode"].to_pylist())
        for algorithm in ("kaca", "kaca:stub=false")
    )
    assert with_stub == {"4350": 7, "435*": 3}
    assert without == {"435*": 10}


def test_equally_near_classes_are_chosen_by_fewer_levels():
    """Row 2 is as far from row 1 (one level of one) as from row 3 (four levels of four)."""
    table = PEOPLE.slice(0, 3)
    release = publish("kaca:stub=false", "k-anonymity:k=2", table)
    assert rows_by_class(release) == {("cat1", "*", "*"): {1, 2, 3}}
    again = publish("kaca", "k-anonymity:k=2", PEOPLE.slice(0, 4))
    assert rows_by_class(again)["cat1", "*", "4350"] == {1, 2}


def test_fewer_rows_than_k_is_an_error():
    for algorithm in ALGORITHMS[:-1]:
        with pytest.raises(ind.InfeasibleError):
            publish(algorithm, "k-anonymity:k=7")


def test_parts_smaller_than_k_are_an_error():
    with pytest.raises(ind.ParameterError, match="at least 3"):
        publish("top-down-kaca:part=2", "k-anonymity:k=3")
    with pytest.raises(ind.ParameterError, match="at least 1"):
        ind.TopDownKACA(part=0)


def test_bad_weights_are_an_error():
    for algorithm in (ind.KACA, ind.TopDownKACA):
        with pytest.raises(ind.ParameterError, match="scheme"):
            algorithm(scheme="widths")
        with pytest.raises(ind.ParameterError, match="beta"):
            algorithm(beta=0.5)
