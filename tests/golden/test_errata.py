"""Printed tables that do not have the property claimed for them, and their corrections, which do."""

import pyarrow as pa
import pytest

import indistinct as ind


def holds(rows, names, k, *, quasi):
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    schema = ind.Schema(quasi=quasi, insensitive=[name for name in names if name not in quasi])
    certificate = ind.verify(pa.table(columns), schema, ind.KAnonymity(k))
    assert certificate.holds == (certificate.smallest_class >= k)
    return certificate.holds


def retold_mondrian(zipcode):
    """The single-dimensional table of a retelling of Mondrian; the zipcode of the fifth row is in doubt."""
    ages, zips = "[35-38]", "[533448-533449]"
    return [
        (ages, "Male", zips),
        (ages, "Female", "533441"),
        (ages, "Male", zips),
        (ages, "Male", zips),
        (ages, "Female", zipcode),
        (ages, "Male", zips),
    ]


def external_table(henry):
    """The 4-anonymous external table of Verma 2013, table 1.3d; Henry's age is in doubt."""
    artist, professional = ("Artist", "Female", "[30-35)"), ("Professional", "Male", "[35-40)")
    return [
        artist,
        professional,
        artist,
        professional,
        artist,
        professional,
        artist,
        ("Professional", "Male", henry),
        artist,
    ]


def incognito_patients(last):
    """The patients of LeFevre et al. 2005 at <B0, Z2>; the last birthday is in doubt on a slide."""
    return [(birth, "537**") for birth in ("1/21/76", "4/13/86", "2/28/76", "1/21/76", "4/13/86", last)]


@pytest.mark.parametrize(("zipcode", "expected"), [("533449", False), ("533441", True)])
def test_two_anonymous_single_dimensional_table(zipcode, expected):
    names = ("Age", "Sex", "Zipcode")
    assert holds(retold_mondrian(zipcode), names, 2, quasi=list(names)) is expected


@pytest.mark.parametrize(("henry", "expected"), [("[30-35)", False), ("[35-40)", True)])
def test_four_anonymous_external_table(henry, expected):
    names = ("Job", "Sex", "Age")
    assert holds(external_table(henry), names, 4, quasi=list(names)) is expected


def test_the_corrected_external_table_has_classes_of_four_and_five():
    names = ("Job", "Sex", "Age")
    assert holds(external_table("[35-40)"), names, 4, quasi=list(names))
    assert not holds(external_table("[35-40)"), names, 5, quasi=list(names))


@pytest.mark.parametrize(("last", "expected"), [("1/28/76", False), ("2/28/76", True)])
def test_two_anonymous_birthdays_and_zipcodes(last, expected):
    names = ("Birthdate", "Zipcode")
    assert holds(incognito_patients(last), names, 2, quasi=list(names)) is expected


SALARIES = [
    (1973, "560000", 20),
    (1975, "560040", 17),
    (1977, "560030", 18),
    (1974, "560040", 20),
    (1985, "560000", 12),
    (1980, "560000", 10),
    (1977, "560040", 15),
    (1978, "560000", 18),
    (1980, "560040", 20),
    (1982, "560030", 15),
    (1980, "560030", 12),
    (1979, "560030", 14),
]


def test_four_anonymous_salaries():
    """The slide calls the table 4-anonymous; it is for sex, city, zipcode and education, not for years."""
    names = ("Gender", "City", "Zip", "Education", "Year", "Years of experience")
    rows = [("Any Sex", "BLR", zipcode, "Any_Degree", year, years) for year, zipcode, years in SALARIES]
    assert holds(rows, names, 4, quasi=["Gender", "City", "Zip", "Education"])
    assert not holds(rows, names, 2, quasi=list(names))
    assert not holds(rows, names, 5, quasi=["Gender", "City", "Zip", "Education"])


def test_the_printed_mean_does_not_give_the_printed_average():
    """With the printed mean of 36 for [37-38] the example query gives 35.75; the corrected one gives 36.5."""
    printed, corrected = ([35.5, 35.5, mean, mean] for mean in (36, 37.5))
    assert sum(printed) / 4 == 35.75
    assert sum(corrected) / 4 == 36.5
