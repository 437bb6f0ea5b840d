"""What depends on a person's occupation in Adult: the ranks of Li, Li, Zhang and Molloy (2012)."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from indistinct.algorithms.bucket.attributes import partition_attributes
from indistinct.algorithms.bucket.correlation import correlations, put_into_bins
from indistinct_papers.adult import load_adult

DATA = Path(os.environ.get("INDISTINCT_DATA") or Path(__file__).parents[3] / "shared" / "data")

pytestmark = pytest.mark.skipif(
    not (DATA / "adult.csv").is_file(), reason="the Adult table is not there; set INDISTINCT_DATA to its folder"
)

EXPECTED = {
    "sex": 0.190,
    "salary-class": 0.120,
    "workclass": 0.047,
    "education": 0.039,
    "relationship": 0.031,
    "marital-status": 0.017,
    "race": 0.007,
}


def coded(column):
    """Return codes of a column; numbers are cut into ten bins."""
    values, codes = np.unique(column.to_numpy(), return_inverse=True)
    return put_into_bins(values)[codes] if pa.types.is_integer(column.type) else codes


@pytest.fixture(scope="module")
def adult():
    table = load_adult(DATA)
    assert table.num_rows == 45_222
    ones = np.ones(table.num_rows, dtype=np.int64)
    return table.column_names, correlations([coded(column) for column in table.columns], weights=ones)


@pytest.fixture(scope="module")
def with_occupation(adult):
    names, matrix = adult
    row = dict(zip(names, matrix[names.index("occupation")].tolist(), strict=True))
    assert row.pop("occupation") == 1.0
    return row


@pytest.mark.parametrize(("attribute", "value"), EXPECTED.items())
def test_correlation_with_occupation(with_occupation, attribute, value):
    assert with_occupation[attribute] == pytest.approx(value, abs=0.001)


def test_sex_is_first_and_salary_second_among_all(with_occupation):
    ranked = sorted(with_occupation, key=lambda name: -with_occupation[name])
    assert len(ranked) == 14
    assert ranked[:2] == ["sex", "salary-class"]
    assert [name for name in ranked if name in EXPECTED] == list(EXPECTED)


def test_binned_numbers_lie_in_their_ranges(with_occupation):
    assert 0.014 <= with_occupation["hours-per-week"] <= 0.030
    assert 0.008 <= with_occupation["age"] <= 0.014


def test_the_sensitive_column_takes_sex_and_salary(adult):
    names, matrix = adult
    columns = partition_attributes(names, matrix, sensitive=["occupation"], columns=5, alpha=3)
    assert ("occupation", "sex", "salary-class") in columns
    assert sorted(name for column in columns for name in column) == sorted(names)
    assert any({"education", "education-num"} <= set(column) for column in columns)
    assert any({"marital-status", "relationship"} <= set(column) for column in columns)
