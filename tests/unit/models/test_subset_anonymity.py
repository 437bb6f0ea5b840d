"""Subset anonymity: what it refuses, worked examples, and that suppressing set by set leaves violations, ours none."""

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines import count_source
from indistinct.errors import InfeasibleError, ParameterError, SchemaError
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import PERSON, Classes, ClassLabels, Histogram
from indistinct.models.dropping import classes_to_drop
from indistinct.models.of_people import OfPeople, in_people, people_as_rows
from indistinct.models.registry import parse_model
from indistinct.models.subset_groups import SubsetGroups

NAMES = ("a", "b", "c")
CROSSED = [(1, 0, 0), (1, 1, 1), (0, 0, 1), (0, 1, 0)]
"""The worked example: every value stands twice, every pair once."""


def classes_of(vectors, sizes=None, people=None, names=NAMES):
    vectors = np.array(vectors)
    sizes = np.ones(len(vectors), dtype=np.int64) if sizes is None else np.array(sizes)
    histograms = {}
    if people is not None:
        flat = np.array([one for group in people for one in group], dtype=np.int32)
        starts = np.cumsum([0, *map(len, people)])
        histograms[(PERSON,)] = Histogram(starts, flat, np.ones(len(flat), dtype=np.int64), np.bincount(flat))
    return Classes(sizes, histograms, ClassLabels(tuple(names[: vectors.shape[1]]), vectors))


def smallest_by_hand(rows, columns, size):
    sets = combinations(columns, size)
    return min(min(Counter(tuple(row[name] for name in names) for row in rows).values()) for names in sets)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ind.SubsetAnonymity(k=0, size=2), "`k` of SubsetAnonymity must be at least 1; got 0"),
        (lambda: ind.SubsetAnonymity(k=2, size=0), "`size` of SubsetAnonymity must be at least 1; got 0"),
        (lambda: ind.SubsetAnonymity(k=2), "`size` of SubsetAnonymity or `sets` must be given; got neither"),
        (lambda: ind.SubsetAnonymity(2, 2, [["a"]]), "`size` of SubsetAnonymity or `sets` must be given; got both"),
        (lambda: ind.SubsetAnonymity(2, sets="ab"), "`sets` of SubsetAnonymity must be lists of names of columns"),
        (lambda: ind.SubsetAnonymity(2, sets=["ab"]), "`sets` of SubsetAnonymity must be lists of names of columns"),
        (lambda: ind.SubsetAnonymity(2, sets=[["a", 1]]), "`sets` of SubsetAnonymity must be lists of names"),
        (lambda: ind.SubsetAnonymity(2, sets=[[]]), "`sets` of SubsetAnonymity must be lists of names of columns"),
        (lambda: ind.SubsetAnonymity(2, sets=[["a", "a"]]), "`sets` of SubsetAnonymity must name a column once"),
    ],
)
def test_every_refusal_says_what_was_expected_and_has_a_hint(make, sentence):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.message.startswith(sentence)
    assert caught.value.hint


@pytest.mark.parametrize(
    "spec",
    [
        "subset-anonymity:k=3,size=2",
        "subset-anonymity:k=5,sets=age+sex+region|age+occupation",
        'subset-anonymity:k=5,sets="a+b"+"c|d"|e',
    ],
)
def test_it_is_spelled_as_it_is_read(spec):
    assert parse_model(spec).spec() == spec


def test_a_set_of_names_may_hold_a_plus():
    assert parse_model('subset-anonymity:k=5,sets="a+b"+c|e').sets == (("a+b", "c"), ("e",))


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("subset-anonymity:k=2,sets=age+sxe", SchemaError, "names the column 'sxe', which is not a quasi-identifier"),
        ("subset-anonymity:k=2,sets=age+disease", SchemaError, "names the column 'disease', which is no"),
        ("subset-anonymity:k=2,size=3", ParameterError, "at most the number of quasi-identifiers, 2; got 3"),
        ("subset-anonymity:k=7,size=1", InfeasibleError, "k = 7 but the table has 6 rows"),
    ],
)
def test_a_job_whose_columns_do_not_fit_is_refused(spec, error, words):
    table = pa.table({"age": [1, 1, 2, 2, 3, 3], "sex": list("mfmfmf"), "disease": list("xyxyxy")})
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
    with pytest.raises(error, match=words) as refused:
        ind.anonymize(table, schema, model=spec, algorithm="optimal")
    assert refused.value.hint


def test_the_worked_example():
    classes = classes_of(CROSSED)
    single, pairs = ind.SubsetAnonymity(k=2, size=1), ind.SubsetAnonymity(k=2, size=2)
    assert not single.violations(classes).any()
    assert single.achieved(classes) == {"k": 2}
    assert pairs.violations(classes).all()
    assert pairs.achieved(classes) == {"k": 1}
    for gone in range(4):
        rest = classes.take(np.array([place for place in range(4) if place != gone]))
        assert classes_to_drop(single, rest).all()  # one value of each column is alone, and so on


def test_people_are_counted_once_in_a_group():
    """One person has both rows with a = 0, two people those with a = 1."""
    classes = classes_of([(0, 0), (0, 1), (1, 0), (1, 1)], people=[[7], [7], [1], [2]])
    model = OfPeople(ind.SubsetAnonymity(k=2, sets=[["a"]]))
    assert model.violations(classes).tolist() == [True, True, False, False]
    assert model.achieved(classes) == {"k": 1}
    assert not ind.SubsetAnonymity(k=2, sets=[["a"]]).violations(classes_of(classes.labels.codes)).any()


def test_a_set_within_another_need_not_be_counted():
    model = ind.SubsetAnonymity(k=2, sets=[["a"], ["b", "a"], ["a", "b"], ["c"]])
    assert model.column_sets(NAMES) == ((0, 1), (2,))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_many_labels_are_counted_as_few_are(monkeypatch, size):
    """Where an array of all groups would be too large their words are hashed."""
    dice = np.random.default_rng(size)
    classes = classes_of(dice.integers(0, 4, (60, 3)) * 1000, dice.integers(1, 3, 60))
    sets = ind.SubsetAnonymity(k=2, size=size).column_sets(NAMES)
    plain = SubsetGroups(classes, sets)
    expected = plain.smallest(), plain.below(3).tolist(), plain.outside(3).tolist()
    monkeypatch.setattr("indistinct.models.subset_groups.MAX_ARRAY", 1)
    monkeypatch.setattr("indistinct.models.subset_groups.MAX_ARRAY_PER_CLASS", 0)
    hashed = SubsetGroups(classes, sets)
    assert (hashed.smallest(), hashed.below(3).tolist(), hashed.outside(3).tolist()) == expected


def test_who_asks_for_enough_is_told_of_more_than_that():
    classes = classes_of(CROSSED * 3 + [(2, 2, 2), (3, 3, 3)])
    model = ind.SubsetAnonymity(k=2, size=1)
    assert classes.sizes[model.outside(classes)].sum() == 2
    assert classes.sizes[model.outside(classes, enough=0)].sum() > 0
    assert not model.outside(classes_of(CROSSED), enough=0).any()


def test_who_asks_for_enough_people_is_told_of_more_than_that():
    """Four rows go of two people. Whoever may lose two people is told all of it, and nobody is counted twice."""
    people = [[1], [2], [3], [4], [7], [7], [8], [8]]
    classes = classes_of([(0, 0)] * 2 + [(1, 1)] * 2 + [(2, 3), (3, 2), (4, 5), (5, 4)], people=people)
    model = OfPeople(ind.SubsetAnonymity(k=2, size=1))
    assert model.outside(classes).tolist() == [False] * 4 + [True] * 4
    assert model.outside(classes, 2).tolist() == [False] * 4 + [True] * 4
    assert classes.members_of(model.outside(classes, 1)) > 1


def test_a_long_check_is_announced_with_what_all_would_take(monkeypatch, caplog):
    monkeypatch.setattr("indistinct.algorithms.full_domain.nodes.LONG_CHECK_S", -1.0)
    dice = np.random.default_rng(3)
    table = pa.table({name: dice.integers(0, 4, 60) for name in NAMES})
    with caplog.at_level("INFO", "indistinct"):
        ind.anonymize(table, ind.Schema(quasi=NAMES), model="subset-anonymity:k=3,size=2", algorithm="datafly")
    said = [record.getMessage() for record in caplog.records if "a check takes" in record.getMessage()]
    assert said == ["a check takes about 0 s, 4 of them, from raw to top, about 0 s; the lattice has 8 nodes"]


def suppress_set_by_set(rows, names, *, size, k):
    """Star a cell of every row in a small group, set after set and each set once, as `combs` of sdcMicro does.

    There a star matches every value. Here it is counted as what a reader sees.
    """
    rows = [dict(row) for row in rows]
    for columns in combinations(names, size):
        counts = Counter(tuple(row[name] for name in columns) for row in rows)
        for row in rows:
            if counts[tuple(row[name] for name in columns)] < k:
                row[columns[-1]] = "*"
    return rows


def test_suppressing_set_by_set_leaves_small_groups_and_ours_does_not():
    dice = np.random.default_rng(3)
    names = ["a", "b", "c", "d"]
    table = pa.table({name: [f"v{v}" for v in dice.geometric(0.45, 120).clip(max=6)] for name in names})
    starred = suppress_set_by_set(table.to_pylist(), names, size=2, k=3)
    assert smallest_by_hand(starred, names, 2) < 3
    schema = ind.Schema(quasi=names)
    for algorithm in ("datafly", "samarati", "optimal", "value-suppression", "cell-suppression"):
        release = ind.anonymize(
            table, schema, model="subset-anonymity:k=3,size=2", algorithm=algorithm, suppression=0.3
        )
        assert smallest_by_hand(release.table.to_pylist(), names, 2) >= 3


def test_the_published_file_is_judged_and_not_the_search(tmp_path):
    table = pa.table({"age": ["1", "1", "1", "2"], "sex": list("mmff")})
    schema = ind.Schema(quasi=["age", "sex"])
    held = ind.verify(table, schema, model="subset-anonymity:k=2,size=1")
    assert not held.holds
    assert held.verdicts[0].achieved == {"k": 1}
    assert held.verdicts[0].violating_rows == 1
    assert any("guarantees nothing against an attacker who knows more than 1" in warning for warning in held.warnings)


def test_bounds_of_a_range_are_one_quasi_identifier():
    """Every lower bound and every sex stands twice, every range of two bounds once."""
    table = pa.table({"age_min": [1, 1, 2, 2], "age_max": [5, 6, 6, 5], "sex": ["m", "f", "m", "f"]})
    schema = ind.Schema(quasi=["age", "sex"])
    assert ind.verify(table, schema, model="subset-anonymity:k=1,size=2").holds
    single = ind.verify(table, schema, model="subset-anonymity:k=2,size=1")
    assert single.verdicts[0].achieved == {"k": 1}


def test_a_release_in_buckets_is_not_asked_for_it():
    table = pa.table({"age": [1, 1, 2, 2], "sex": list("mfmf"), "disease": list("xyxy")})
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
    with pytest.raises(ParameterError, match="buckets remove the links"):
        ind.anonymize(table, schema, model="subset-anonymity:k=2,size=1", algorithm="anatomy:l=2")
    release = ind.anonymize(table, schema, algorithm="anatomy:l=2")
    with pytest.raises(SchemaError, match="buckets remove the links"):
        ind.verify(release, model="subset-anonymity:k=2,size=1")


@pytest.mark.parametrize("rows_of_a_person", [1, 3])
@pytest.mark.parametrize(
    "other",
    [
        "t-closeness:sensitive=d,t=0.6",
        "t-closeness:sensitive=d,t=0.6,distance=ordered",
        "basic-beta-likeness:sensitive=d,beta=3",
        "enhanced-beta-likeness:sensitive=d,beta=3",
        "delta-disclosure:sensitive=d,delta=3",
        "entropy-l-diversity:sensitive=d,l=2",
        "recursive-l-diversity:sensitive=d,c=4,l=2",
        "distinct-l-diversity:sensitive=d,l=2",
        "alpha-k:sensitive=d,alpha=0.8,k=2",
    ],
)
def test_default_algorithm_combines_subset_anonymity_with_models_of_people(other, rows_of_a_person):
    dice, people = np.random.default_rng(3), 240
    quasi = {"age": dice.integers(20, 40, people), "sex": dice.choice(["m", "f"], people)}
    table = pa.table({"id": np.arange(people), **quasi, "zip": dice.integers(0, 4, people)})
    table = table.take(np.repeat(np.arange(people), rows_of_a_person))
    table = table.append_column("d", pa.array(dice.choice(["a", "b", "c"], len(table))))
    schema = ind.Schema(quasi=["age", "sex", "zip"], sensitive=["d"], person=["id"])
    release = ind.anonymize(table, schema=schema, model=f"subset-anonymity:k=3,size=2 & {other}", suppression=0.2)
    rows = release.table.to_pylist()
    assert rows
    assert smallest_by_hand(rows, schema.quasi, 2) >= 3


def test_people_counted_in_parts_stay_so_in_every_derived_model():
    column = pa.array(["a", "b"] * 4)
    table = pa.table({"id": range(8), "age": [1, 1, 1, 1, 2, 2, 2, 2], "d": column})
    model = in_people(parse_model("t-closeness:sensitive=d,t=0.5"), ["id"])
    request = Request(("age",), model.table_keys, person=("id",))
    counted, judge = people_as_rows(count_source(table, request).frequencies, model)
    for derived in (judge.in_classes(), judge.sampled(8), judge.respelled({}), judge.around(judge.inner)):
        assert derived == judge
        assert not derived.violations(counted.classes).any()
