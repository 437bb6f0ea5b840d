"""Printed tables that do not have the property claimed for them, and their corrections, which do."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct_papers import documents


def holds(rows, names, k, *, quasi):
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    schema = ind.Schema(quasi=quasi, insensitive=[name for name in names if name not in quasi])
    certificate = ind.verify(pa.table(columns), schema, ind.KAnonymity(k))
    assert certificate.holds == (certificate.smallest_class >= k)
    return certificate.holds


def corrected(rows, index, **cells):
    """Return printed rows, one of them with other cells by their place."""
    row = list(rows[index])
    for place, cell in cells.items():
        row[int(place.removeprefix("cell"))] = cell
    return [*rows[:index], tuple(row), *rows[index + 1 :]]


def test_two_anonymous_single_dimensional_table():
    printed, names = documents.RETOLD_SINGLE_PRINTED, documents.MONDRIAN_NAMES
    assert not holds(printed, names, 2, quasi=list(names[:3]))
    assert holds(corrected(printed, 4, cell2="533441"), names, 2, quasi=list(names[:3]))


def test_four_anonymous_external_table():
    printed, names = documents.EXTERNAL_PRINTED, ("Name", *documents.JOB_NAMES)
    assert printed[7][0] == "Henry"
    assert not holds(printed, names, 4, quasi=list(names[1:]))
    mended = corrected(printed, 7, cell3="[35-40)")
    assert holds(mended, names, 4, quasi=list(names[1:]))
    assert not holds(mended, names, 5, quasi=list(names[1:])), "classes of four and five"


@pytest.mark.parametrize(
    ("rows", "expected"), [(documents.INCOGNITO_PATIENTS_PRINTED, False), (documents.INCOGNITO_PATIENTS, True)]
)
def test_two_anonymous_birthdays_and_zipcodes(rows, expected):
    """The node <B0, Z2> of the slides."""
    masked = [(birth, f"{zipcode[:3]}**") for birth, _, zipcode, _ in rows]
    assert holds(masked, ("Birthdate", "Zipcode"), 2, quasi=["Birthdate", "Zipcode"]) is expected


def test_four_anonymous_salaries():
    """The slide calls the table 4-anonymous; it is for sex, city, zipcode and education, not for years."""
    names, few = documents.SALARY_NAMES, list(documents.SALARY_NAMES[:4])
    assert holds(documents.SALARIES, names, 4, quasi=few)
    assert not holds(documents.SALARIES, names, 2, quasi=list(names))
    assert not holds(documents.SALARIES, names, 5, quasi=few)


def test_the_printed_mean_does_not_give_the_printed_average():
    """With the printed mean of 36 for [37-38] the example query gives 35.75; the corrected one gives 36.5."""
    means = {row[4]: row[1] for row in documents.RETOLD_MEANS_PRINTED}
    assert means["Hang nail"] == 36
    printed, right = ([means["Flu"], means["AIDS"], mean, mean] for mean in (36, 37.5))
    assert sum(printed) / 4 == 35.75
    assert sum(right) / 4 == 36.5
