"""Assessments of people with several rows, and of releases in buckets."""

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.samples import generate_patients, generate_visits


@pytest.fixture(scope="module")
def patients():
    return generate_patients(300, seed=3).drop_columns(["admitted"])


@pytest.fixture(scope="module")
def visits():
    table = generate_visits(400, seed=1)
    schema = ind.Schema(person=["person"], quasi=["age", "sex", "zipcode"], sensitive=["diagnosis"])
    tree = {"zipcode": ind.Hierarchy.masking()}
    made = ind.anonymize(table, schema, model="k-anonymity:k=3", algorithm="mondrian", hierarchies=tree)
    return table, schema, tree, made


def test_people_are_counted_on_the_original(visits, tmp_path):
    table, schema, tree, made = visits
    found = ind.assess(made)
    assert found.risk.unit == "people"
    assert found.risk.smallest == made.certificate.smallest_class
    assert found.risk.members == made.certificate.people.published
    assert found.risk.sensitive[0].unit == "rows"
    assert any("in rows" in note for note in found.notes)
    path = tmp_path / "visits.csv"
    made.write(path)
    beside = ind.assess(path, schema, original=table, hierarchies=tree, recoding=made.recoding)
    assert beside.risk.prosecutor == found.risk.prosecutor
    assert beside.risk.columns == found.risk.columns
    assert beside.risk.sensitive[0].unit == "people"
    with pytest.raises(InputError, match="people cannot be counted"):
        ind.assess(path, schema)
    # Given once more, the original tells of a release in memory which people have which values, too.
    given = ind.assess(made, original=table)
    assert given.risk.sensitive == beside.risk.sensitive
    assert not any("in rows" in note for note in given.notes)


def test_in_buckets_classes_are_buckets(patients):
    schema = ind.Schema(identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"])
    made = ind.anonymize(patients.drop_columns(["cost"]), schema, algorithm="anatomy:l=3")
    found = ind.assess(made, population_size=10_000)
    assert found.form == "tables"
    assert found.risk.classes == made.certificate.classes
    assert found.risk.prosecutor.highest == 1 / made.certificate.smallest_class
    assert found.risk.columns == ()
    assert found.risk.population.estimates is None
    assert any("classes are buckets" in note for note in found.notes)
    assert found.risk.sensitive[0].largest_share <= 1 / 3
    assert found.before is not None
    assert found.before.classes > 0
    again = ind.assess(ind.BucketTable(made.table, made.buckets.slices, "tables", made.others["sensitive"]), schema)
    assert again.risk.prosecutor == found.risk.prosecutor
    assert again.risk.sensitive == found.risk.sensitive
    shown = ind.BucketTable(made.table, made.buckets.slices, "tables", made.others["sensitive"])
    with pytest.raises(InputError, match="the original has 50"):
        ind.assess(shown, schema, original=patients.drop_columns(["cost"]).slice(0, 50))


@pytest.mark.parametrize("algorithm", ["anatomy:l=2", "multiset:l=2", "slicing:l=2,columns=age+zipcode|sex+disease"])
def test_buckets_of_another_original_are_refused(patients, algorithm):
    schema = ind.Schema(identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"])
    table = patients.drop_columns(["cost"])
    made = ind.anonymize(table, schema, algorithm=algorithm)
    shown = ind.BucketTable(made.table, made.buckets.slices, made.buckets.form, made.others.get("sensitive"))
    other = generate_patients(300, seed=4).drop_columns(["admitted", "cost"])
    swapped = table.set_column(table.column_names.index("sex"), "sex", pa.array(table["sex"].to_pylist()[::-1]))
    assert ind.assess(shown, schema, original=table).before is not None
    assert ind.attack("homogeneity", shown, schema, original=table).tally.attempts
    for stranger in (other, swapped) if algorithm == "anatomy:l=2" else (other,):
        with pytest.raises(InputError, match="original"):
            ind.assess(shown, schema, original=stranger)
        with pytest.raises(InputError, match="original"):
            ind.assess(made, original=stranger)
        with pytest.raises(InputError, match="original"):
            ind.attack("homogeneity", shown, schema, original=stranger)
