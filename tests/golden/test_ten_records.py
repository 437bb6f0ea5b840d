"""Individual risk, SUDA and DIS-SUDA of the ten records of the IHSN guide to anonymization (Benschop, Machingauta and
Welch), tables 4.1 and 4.5, as sdcMicro prints them."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines import count_source
from indistinct.evaluation.assess.individual import individual_risk, risks_of_counts, sums_of_weights, weight_keys
from indistinct.evaluation.assess.special_uniques import dis_suda, special_uniques
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.inspection.unique_sets import minimal_uniques

QUASI = ("residence", "gender", "education", "labor")
RECORDS = [
    ("urban", "female", "secondary incomplete", "employed", 180),
    ("urban", "female", "secondary incomplete", "employed", 180),
    ("urban", "female", "primary incomplete", "non-LF", 215),
    ("urban", "male", "secondary complete", "employed", 76),
    ("rural", "female", "secondary complete", "unemployed", 186),
    ("urban", "male", "secondary complete", "employed", 76),
    ("urban", "female", "primary complete", "non-LF", 180),
    ("urban", "male", "post-secondary", "unemployed", 215),
    ("urban", "female", "secondary incomplete", "non-LF", 186),
    ("urban", "female", "secondary incomplete", "non-LF", 76),
]
RISKS = [0.0054, 0.0054, 0.0251, 0.0126, 0.0282, 0.0126, 0.0290, 0.0251, 0.0074, 0.0074]
SCORES = [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


@pytest.fixture(scope="module")
def counted():
    columns = dict(zip((*QUASI, "weight"), map(list, zip(*RECORDS, strict=True)), strict=True))
    return count_source(ind.open(pa.table(columns)), Request(QUASI, weight_keys("weight", people=False)))


@pytest.fixture(scope="module")
def cell_of(counted):
    """Return the cell of every record."""
    texts = [domain.texts() for domain in counted.domains]
    cells = [
        tuple(names[code] for names, code in zip(texts, vector, strict=True)) for vector in counted.frequencies.vectors
    ]
    return np.array([cells.index(record[:4]) for record in RECORDS])


def test_the_individual_risk_is_that_of_the_guide(counted, cell_of):
    weights = sums_of_weights(counted.frequencies.classes, counted.known["weight"])
    assert weights[cell_of].tolist() == [360, 360, 215, 152, 186, 152, 180, 215, 262, 262]
    found = individual_risk(counted.frequencies.classes, weights)
    assert found.risks[cell_of].round(4).tolist() == RISKS
    assert found.risks[cell_of][[0, 2, 3, 4, 6, 8]] == pytest.approx(
        [0.005424520, 0.025096439, 0.012563425, 0.028247279, 0.029010932, 0.007403834], abs=5e-10
    )


def test_the_global_risk_is_that_of_the_guide(counted):
    found = individual_risk(
        counted.frequencies.classes, sums_of_weights(counted.frequencies.classes, counted.known["weight"])
    )
    assert (round(100 * found.mean, 3), round(found.expected, 3), found.people) == (1.582, 0.158, 10)


def test_the_checks_beside_the_table():
    assert risks_of_counts(np.array([1, 2]), np.array([215.0, 360.0])).round(4).tolist() == [0.0251, 0.0054]


@pytest.mark.parametrize("size", [3, 4])
def test_the_suda_scores_are_those_of_the_guide(counted, cell_of, size):
    found = special_uniques(counted.frequencies, size=size)
    assert found.scores[cell_of].tolist() == SCORES
    # Record 5: rural alone, and three pairs without it.
    assert (found.uniques[cell_of][4], found.smallest[cell_of][4]) == (4, 1)
    assert found.special == 4


def test_dis_suda_is_that_of_the_guide():
    """The guide prints DIS-SUDA of another score (1.75, 3.25, 1.75, 2.75), which sdcMicro took before version 5.0.2."""
    scores = np.array([0, 0, 1.75, 0, 3.25, 0, 1.75, 2.75, 0, 0])
    found = dis_suda(scores, columns=4, uniques=4, pairs=3, fraction=0.01)
    printed = [0, 0, 0.005120313, 0, 0.010702061, 0, 0.005120313, 0.008775093, 0, 0]
    assert found == pytest.approx(printed, abs=5e-9)


def test_the_contributions_are_those_that_sdcmicro_tests():
    """Three records with a = 2 1 1, b = 0 3 0, c = 0 6 0: 50, 37.5 and 37.5 %."""
    cells = FrequencySet(("a", "b", "c"), np.array([[1, 0, 0], [1, 3, 6], [2, 0, 0]]), Classes(np.ones(3, np.int64)))
    found = special_uniques(cells)
    assert found.contributions == {"a": 0.5, "b": 0.375, "c": 0.375}
    assert [level.tolist() for level in found.levels] == [
        [0, 2, 2],
        [1, 0, 0, 2],
        [1, 0, 0, 0, 0, 0, 2],
    ]


def test_the_columns_that_single_out_the_ten(counted):
    found = minimal_uniques(counted.frequencies)
    assert found.by_size == {1: 4, 2: 0, 3: 0, 4: 0}
    assert [(one.columns, one.minimal) for one in found.singling_out()][:2] == [
        (("education",), 3),
        (("gender", "labor"), 2),
    ]
    assert [one.columns for one in found.above(0.4)] == [
        ("residence", "education"),
        ("gender", "education"),
        ("education", "labor"),
    ]
