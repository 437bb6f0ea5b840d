"""Worked examples of strict and relaxed partitioning (LeFevre, DeWitt, Ramakrishnan 2006), from table to release."""

import math
from collections import Counter

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct_papers.documents import MONDRIAN_PATIENTS as PATIENTS
from indistinct_papers.documents import RETOLD_PATIENTS as RETOLD
from indistinct_papers.documents import RETOLD_PATIENTS_PRINTED

NAMES = ("Age", "Sex", "Zipcode")
SEXES = {"Sex": ind.Hierarchy.order(["Female", "Male"])}


def released(rows, quasi, *, k=2, algorithm="mondrian", hierarchies=SEXES):
    columns = dict(zip((*NAMES, "Disease"), map(list, zip(*rows, strict=True)), strict=True))
    names = [name for name in columns if name in (*quasi, "Disease")]
    schema = ind.Schema(quasi=quasi, sensitive=["Disease"])
    return ind.anonymize(
        pa.table({name: columns[name] for name in names}),
        schema,
        model=ind.KAnonymity(k),
        algorithm=algorithm,
        hierarchies={name: h for name, h in hierarchies.items() if name in quasi},
    )


def shown(release, *columns):
    return {
        row["Disease"]: tuple(str(row[column]) for column in (columns or NAMES)) for row in release.table.to_pylist()
    }


PUBLISHED = {
    "Flu": ("[25-26]", "Male", "53711"),
    "Bronchitis": ("[25-26]", "Male", "53711"),
    "Hepatitis": ("[25-27]", "Female", "53712"),
    "AIDS": ("[25-27]", "Female", "53712"),
    "Broken arm": ("[27-28]", "Male", "[53710-53711]"),
    "Hang nail": ("[27-28]", "Male", "[53710-53711]"),
}


@pytest.mark.parametrize("quasi", [["Zipcode", "Age", "Sex"], ["Sex", "Age", "Zipcode"]])
def test_the_published_table(quasi):
    """The order Sex, Age, Zipcode gives only two classes where the median may go to one side alone."""
    assert shown(released(PATIENTS, quasi)) == PUBLISHED


def test_the_published_table_without_an_imposed_order():
    assert shown(released(PATIENTS, ["Zipcode", "Age", "Sex"], hierarchies={})) == PUBLISHED
    tree = {"Sex": ind.Hierarchy.suppression()}
    assert shown(released(PATIENTS, ["Zipcode", "Age", "Sex"], hierarchies=tree)) == PUBLISHED


def test_ties_between_widths_go_by_the_order_of_quasi_identifiers():
    release = released(PATIENTS, ["Age", "Sex", "Zipcode"])
    assert Counter(ages for ages, _, _ in shown(release).values()) == {"[25-26]": 3, "[27-28]": 3}


def test_the_means_of_the_published_table():
    release = released(PATIENTS, ["Sex", "Age", "Zipcode"], algorithm="mondrian:numeric=interval+mean")
    means = {row["Age"]: row["Age_mean"] for row in release.table.to_pylist()}
    assert means == {"[25-26]": 25.5, "[25-27]": 26.0, "[27-28]": 27.5}


def test_the_metrics_of_the_published_table():
    told = ind.measure(
        released(PATIENTS, ["Zipcode", "Age", "Sex"], hierarchies={}),
        ["discernibility", "average-class-size:k=2", "ncp", "gcp"],
    )
    assert told["discernibility"] == 12
    assert told["average-class-size"] == 1
    assert told["ncp"] == pytest.approx(11 / 3)
    assert told["gcp"] == pytest.approx(11 / 54)
    assert round(told["gcp"], 4) == 0.2037


def test_the_single_dimensional_table():
    """Sex is published as it is: a cut between its values crosses no class once the zipcodes are cut."""
    release = released(PATIENTS, ["Zipcode", "Sex"], algorithm="single-dimensional")
    classes = Counter(shown(release, "Sex", "Zipcode").values())
    assert classes == {("Male", "[53710-53711]"): 4, ("Female", "53712"): 2}
    told = ind.measure(release, ["discernibility", "average-class-size:k=2"])
    assert told["discernibility"] == 20
    assert told["average-class-size"] == 1.5
    # With Age as well the greedy search does better than the published table.
    better = released(PATIENTS, ["Zipcode", "Age", "Sex"], algorithm="single-dimensional")
    assert ind.measure(better, ["discernibility"])["discernibility"] == 18


def test_the_retold_table():
    release = released(RETOLD, ["Sex", "Age", "Zipcode"], algorithm="mondrian:numeric=interval+mean")
    assert shown(release, "Age", "Age_mean", "Sex", "Zipcode") == {
        "Flu": ("[35-36]", "35.5", "Male", "533449"),
        "AIDS": ("[35-36]", "35.5", "Male", "533449"),
        "Cancer": ("[35-37]", "36.0", "Female", "533441"),
        "Hepatitis": ("[35-37]", "36.0", "Female", "533441"),
        "Hang nail": ("[37-38]", "37.5", "Male", "[533448-533449]"),
        "Broken arm": ("[37-38]", "37.5", "Male", "[533448-533449]"),
    }


def test_the_retold_table_as_printed_mixes_the_zipcodes_of_the_women():
    release = released(RETOLD_PATIENTS_PRINTED, ["Sex", "Age", "Zipcode"])
    assert shown(release)["Hepatitis"] == ("[35-37]", "Female", "[533441-533448]")


def test_relaxed_halves_share_a_value_that_strict_cuts_cannot():
    zips = [(0, "", zipcode, str(place)) for place, (_, _, zipcode, _) in enumerate(PATIENTS)]
    relaxed = released(zips, ["Zipcode"], k=3, algorithm="mondrian:relaxed=true")
    assert Counter(relaxed.table["Zipcode"].to_pylist()) == {"[53710-53711]": 3, "[53711-53712]": 3}
    strict = released(zips, ["Zipcode"], k=3)
    assert Counter(strict.table["Zipcode"].to_pylist()) == {"[53710-53712]": 6}


def sizes(rows, k, **options):
    names = [f"q{place}" for place in range(len(rows[0]))]
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    release = ind.anonymize(
        table, ind.Schema(quasi=names), model=ind.KAnonymity(k), **{"algorithm": "mondrian"} | options
    )
    return sorted(release.assignment.classes.sizes.tolist())


def test_the_median_may_go_to_the_right():
    assert sizes([(0,), (1,), (2,), (3,), (3,), (3,), (3,)], 2) == [3, 4]


@pytest.mark.parametrize(("d", "k", "m"), [(1, 2, 1), (1, 5, 3), (2, 3, 4), (3, 4, 1), (5, 10, 7)])
def test_the_size_bound_is_attained(d, k, m):
    """A point m times, and each of its 2d neighbours k - 1 times, cannot be cut."""
    rows = [(0,) * d] * m
    for axis in range(d):
        for step in (-1, 1):
            rows += [tuple(step if place == axis else 0 for place in range(d))] * (k - 1)
    assert sizes(rows, k) == [2 * d * (k - 1) + m]


def test_a_declared_order_of_numbers_is_the_order_of_cuts():
    order = {"q0": ind.Hierarchy.order([3, 1, 2])}
    assert sizes([(3,), (1,), (2,)] * 4, 2, hierarchies=order) == [4, 4, 4]


def test_children_of_a_tree_are_cut_together():
    jobs = ind.Hierarchy.tree({"*": {"artist": ["dancer", "writer"], "professional": ["engineer", "lawyer"]}})
    rows = [
        (job,) for job, count in (("dancer", 2), ("writer", 1), ("engineer", 3), ("lawyer", 2)) for _ in range(count)
    ]
    table = pa.table({"job": [job for (job,) in rows]})
    for k, expected in (
        (2, {"artist": 3, "engineer": 3, "lawyer": 2}),
        (3, {"artist": 3, "professional": 5}),
        (4, {"*": 8}),
    ):
        release = ind.anonymize(
            table, ind.Schema(quasi=["job"]), model=ind.KAnonymity(k), algorithm="mondrian", hierarchies={"job": jobs}
        )
        assert Counter(release.table["job"].to_pylist()) == expected


def test_a_model_of_values_is_the_test_of_a_cut():
    table = pa.table({"age": [1, 2, 3, 4, 5, 6, 7, 8], "disease": list("aaababbb")})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    release = ind.anonymize(table, schema, model=ind.DistinctLDiversity("disease", l=2), algorithm="mondrian")
    assert Counter(release.table["age"].to_pylist()) == {"[1-4]": 4, "[5-8]": 4}
    entropy = ind.anonymize(table, schema, model=ind.EntropyLDiversity("disease", l=2), algorithm="mondrian")
    assert Counter(entropy.table["age"].to_pylist()) == {"[1-8]": 8}


def test_bounds_and_regions():
    table = pa.table({"age": [1, 2, 8, 9]})
    schema, model = ind.Schema(quasi=["age"]), ind.KAnonymity(2)
    bounds = ind.anonymize(table, schema, model=model, algorithm="mondrian:numeric=bounds").table
    assert Counter(tuple(row.values()) for row in bounds.to_pylist()) == {(1, 2): 2, (8, 9): 2}
    gap = pa.table({"age": [1, 2, 8, 9, 5, 5], "sex": ["f", "f", "f", "f", "m", "m"]})
    region = ind.anonymize(gap, ind.Schema(quasi=["sex", "age"]), model=model, algorithm="mondrian:extent=region").table
    assert Counter((row["sex"], row["age"]) for row in region.to_pylist()) == {
        ("f", "[ .. 4]"): 2,
        ("f", "[5-]"): 2,
        ("m", "*"): 2,
    }


def test_missing_values_come_first_and_are_told():
    table = pa.table({"age": [None, 1, 2, 3, None, 4]})
    release = ind.anonymize(table, ind.Schema(quasi=["age"]), model=ind.KAnonymity(3), algorithm="mondrian")
    assert Counter(release.table["age"].to_pylist()) == {"1 or missing": 3, "[2-4]": 3}
    few = pa.table({"age": [None, 1, 2, None]})
    alone = ind.anonymize(few, ind.Schema(quasi=["age"]), model=ind.KAnonymity(2), algorithm="mondrian")
    assert Counter(alone.table["age"].to_pylist()) == {None: 2, "[1-2]": 2}


def test_the_average_age_of_men_in_the_published_table_is_exact():
    release = released(PATIENTS, ["Sex", "Age", "Zipcode"], algorithm="mondrian:numeric=interval+mean")
    men = [row["Age_mean"] for row in release.table.to_pylist() if row["Sex"] == "Male"]
    assert math.isclose(sum(men) / len(men), 26.5)
