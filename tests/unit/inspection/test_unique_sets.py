"""Special uniques and minimal unique column sets: edges, people, progress, bad input."""

import json

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines import count_source
from indistinct.errors import ParameterError
from indistinct.evaluation.assess.special_uniques import dis_risk, dis_suda, msu_score, special_uniques
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import PERSON, Classes, FrequencySet
from indistinct.inspection import unique_sets as module
from indistinct.inspection.unique_sets import minimal_uniques


def cells(vectors, counts=None):
    vectors = np.array(vectors)
    counts = np.ones(len(vectors), dtype=np.int64) if counts is None else np.array(counts)
    return FrequencySet(tuple("abcdefgh"[: vectors.shape[1]]), vectors, Classes(counts))


def visits(people):
    """Return the frequency set of four visits: two of one patient, who has moved, and two of others."""
    table = pa.table(
        {"patient": people, "age": [30, 30, 40, 40], "zip": ["a", "b", "c", "c"], "sex": ["f", "f", "m", "m"]}
    )
    return count_source(ind.open(table), Request(["age", "zip", "sex"], [(PERSON,)], person=["patient"])).frequencies


def test_the_score_is_the_product_of_the_paper_and_never_0():
    assert [msu_score(s, columns=8, size=4) for s in range(1, 5)] == [7 * 6 * 5 * 4, 6 * 5 * 4, 5 * 4, 4]
    # A factor of 0 would make all scores equal; all columns together weigh least.
    assert [msu_score(s, columns=4, size=4) for s in range(1, 5)] == [6, 2, 1, 1]
    assert msu_score(1, columns=1, size=1) == 1


def test_a_cell_of_several_rows_has_no_minimal_unique():
    found = special_uniques(cells([[0, 0], [1, 1]], [2, 3]))
    assert found.special == 0
    assert found.to_json()["highest_dis_suda"] == 0
    assert found.contributions == {"a": 0.0, "b": 0.0}


def test_the_only_row_of_a_table_is_unique_in_every_column():
    found = minimal_uniques(cells([[3, 0]]))
    assert [(one.columns, one.unique, one.minimal) for one in found.sets] == [
        (("a",), 1, 1),
        (("b",), 1, 1),
        (("a", "b"), 1, 0),
    ]


def test_without_columns_nobody_is_singled_out():
    found = minimal_uniques(FrequencySet((), np.zeros((1, 0), dtype=np.int32), Classes(np.array([5]))))
    assert (found.sets, found.by_size, found.people) == ((), {}, 5)


def test_somebody_with_several_rows_is_one_person():
    """The patient's visits share age and sex with nobody else's: in people these columns single somebody out."""
    found = minimal_uniques(visits([1, 1, 2, 3]))
    assert {one.columns: (one.unique, one.minimal) for one in found.sets} == {
        ("age",): (1, 1),
        ("zip",): (1, 1),
        ("sex",): (1, 1),
        ("age", "zip"): (1, 0),
        ("age", "sex"): (1, 0),
        ("zip", "sex"): (1, 0),
        ("age", "zip", "sex"): (1, 0),
    }
    assert (found.people, found.by_size) == (3, {1: 1, 2: 0, 3: 0})
    special = special_uniques(visits([1, 1, 2, 3]))
    assert special.uniques.tolist() == [3, 3, 0]
    # As rows, only the zip codes of the two visits are their own.
    rows = minimal_uniques(cells([[0, 0, 0], [0, 1, 0], [1, 2, 1]], [1, 1, 2]))
    assert [(one.columns, one.minimal) for one in rows.singling_out()] == [(("b",), 2)]


def test_two_visits_of_one_patient_in_one_cell_single_the_patient_out():
    found = minimal_uniques(visits([1, 2, 3, 3]))
    assert {one.columns: one.unique for one in found.sets if len(one.columns) == 1} == {
        ("age",): 1,
        ("zip",): 3,
        ("sex",): 1,
    }


def test_progress_rises_to_1_and_may_end_the_walk():
    shares = []
    special_uniques(cells([[0, 1, 2], [1, 1, 0]]), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1

    class StoppedError(Exception):
        pass

    def stop(share):
        raise StoppedError

    with pytest.raises(StoppedError):
        minimal_uniques(cells([[0, 1, 2], [1, 1, 0]]), progress=stop)


def test_figures_are_plain_json_and_tell_no_cell():
    table = cells([[7, 0], [8, 1], [8, 0]])
    assert json.loads(json.dumps(special_uniques(table).to_json())) == {
        "size": 2,
        "special_uniques": 3,
        "by_smallest": {"1": 2, "2": 1},
        "highest_score": 1.0,
        "mean_score": 1.0,
        "highest_dis_suda": 1.0,
        "contributions": {"a": 2 / 3, "b": 2 / 3},
    }
    assert json.loads(json.dumps(minimal_uniques(table).to_json())) == {
        "people": 3,
        "size": 2,
        "by_size": {"1": 2, "2": 1},
        "sets": [
            {"columns": ["a"], "unique": 1, "minimal": 1},
            {"columns": ["b"], "unique": 1, "minimal": 1},
            {"columns": ["a", "b"], "unique": 3, "minimal": 1},
        ],
    }


def test_dis_is_the_share_of_right_matches():
    assert dis_risk(uniques=0, pairs=3, fraction=0.1) == 0
    assert dis_risk(uniques=5, pairs=0, fraction=0.1) == 1
    assert dis_risk(uniques=5, pairs=7, fraction=1) == 1
    assert dis_suda(np.array([0.0, 3.0]), columns=5, uniques=1, pairs=0, fraction=0.2).tolist() == [0, 1]


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_below_1_is_an_error(size):
    for measure in (special_uniques, minimal_uniques):
        with pytest.raises(ParameterError, match="at least 1"):
            measure(cells([[0]]), size=size)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.1, float("nan")])
def test_a_sampling_fraction_outside_its_range_is_an_error(fraction):
    with pytest.raises(ParameterError, match="sampling fraction"):
        special_uniques(cells([[0]]), fraction=fraction)


@pytest.mark.parametrize("share", [-0.1, 1.01])
def test_a_share_of_people_outside_its_range_is_an_error(share):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        minimal_uniques(cells([[0]])).above(share)


def test_a_walk_that_would_take_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES_OF_RESULTS", 1)
    assert minimal_uniques(cells([[0, 1], [1, 0]]), size=1).by_size == {1: 2}
    with pytest.raises(ParameterError, match="GB") as refused:
        minimal_uniques(cells([[0, 1, 0], [1, 0, 0], [1, 1, 1]]), size=3)
    assert "smaller" in str(refused.value)
