"""People instead of rows: what is refused, what a certificate says, and how a published table is verified."""

import json

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.models.of_people import in_people, people_as_rows
from indistinct.models.registry import parse_model
from indistinct.samples import generate_visits

VISITS = generate_visits(1200, seed=3)
SCHEMA = ind.Schema(person=["person"], quasi=["age", "sex", "zipcode"], sensitive=["diagnosis"])
HIERARCHIES = {"zipcode": ind.Hierarchy.masking(), "age": ind.Hierarchy.intervals([5, 10, 20])}

JOB = {"model": "k-anonymity:k=4", "hierarchies": HIERARCHIES}


def small(**columns):
    return pa.table({"who": ["a", "a", "a", "b", "c", "d"], "age": [1, 1, 1, 1, 2, 2], **columns})


def test_a_class_of_one_person_is_no_class_of_three():
    rows = ind.anonymize(small(), ind.Schema(identifiers=["who"], quasi=["age"]), model="k-anonymity:k=2")
    people = ind.anonymize(small(), ind.Schema(person=["who"], quasi=["age"]), model="k-anonymity:k=3")
    assert rows.certificate.classes == 2
    assert people.certificate.classes == 1
    assert people.certificate.smallest_class == 4


def test_several_columns_tell_people_apart_together():
    table = pa.table({"house": [1, 1, 2, 2], "member": [1, 2, 1, 1], "age": [1, 1, 2, 2]})
    schema = ind.Schema(person=["house", "member"], quasi=["age"])
    certificate = ind.anonymize(table, schema, model="k-anonymity:k=1").certificate
    assert certificate.people.published == 3
    assert certificate.smallest_class == 1


def test_rows_about_nobody_are_refused():
    table = small().set_column(0, "who", pa.array(["a", None, None, "b", "c", "d"]))
    with pytest.raises(ind.InputError, match=r"'who' is the person ID, and has no value in 2 rows"):
        ind.anonymize(table, ind.Schema(person=["who"], quasi=["age"]), model="k-anonymity:k=2")


def test_a_column_has_one_role():
    with pytest.raises(ind.SchemaError, match="named twice: who"):
        ind.Schema(person=["who"], identifiers=["who"], quasi=["age"])
    with pytest.raises(ind.ParameterError, match="4 arguments without a name"):
        ind.Schema([], ["age"], [], [], ["who"])


@pytest.mark.parametrize("algorithm", ["anatomy:l=2", "slicing:l=2", "multiset:l=2"])
def test_buckets_cannot_count_people(algorithm):
    with pytest.raises(ind.SchemaError, match="cannot count people"):
        ind.anonymize(VISITS, SCHEMA, algorithm=algorithm)


def test_the_budget_is_a_share_of_people():
    """Three of four people stand alone; dropping one of them is a quarter of the people and half of the rows."""
    table = pa.table({"who": ["a"] * 6 + ["b", "c", "d"], "age": [9] * 6 + [1, 1, 1]})
    schema = ind.Schema(person=["who"], quasi=["age"])
    node, hierarchies = ind.ChosenNode((0,)), {"age": ind.Hierarchy.suppression()}
    job = {"model": "k-anonymity:k=3", "algorithm": node, "hierarchies": hierarchies}
    release = ind.anonymize(table, schema, suppression=0.25, **job)
    assert release.certificate.people == ind.anonymize(table, schema, suppression=0.3, **job).certificate.people
    assert release.certificate.suppressed_rows == 6
    assert release.certificate.people.suppressed == 1
    with pytest.raises(ind.InfeasibleError, match="1 of 4 people are suppressed"):
        ind.anonymize(table, schema, suppression=0.2, **job)


def test_a_search_need_not_know_people_who_stand_in_one_cell():
    model = in_people(ind.KAnonymity(2) & ind.AlphaK("diagnosis", alpha=0.5, k=2), ["person"])
    counted = count_source(ind.open(VISITS), Request(SCHEMA.quasi, model.keys, person=["person"])).frequencies
    cells, plain = people_as_rows(counted, model)
    assert plain == ind.KAnonymity(2) & ind.AlphaK("diagnosis", alpha=0.5, k=2)
    assert cells.rows == counted.members == len(set(VISITS["person"].to_pylist()))
    assert set(cells.classes.histograms) == {("diagnosis",)}


PARTED = [
    "t-closeness:sensitive=diagnosis,t=0.4",
    "entropy-l-diversity:sensitive=diagnosis,l=1.5 & k-anonymity:k=3",
    "recursive-l-diversity:sensitive=diagnosis,c=2,l=3 & distinct-l-diversity:sensitive=diagnosis,l=2",
]


@pytest.mark.parametrize("spec", PARTED)
def test_parts_of_people_who_stand_in_one_cell_add_up(spec):
    table = generate_visits(2_000, seed=3)
    model = in_people(parse_model(spec), ["person"])
    counted = count_source(ind.open(table), Request(SCHEMA.quasi, model.keys, person=["person"])).frequencies
    cells, judge = people_as_rows(counted, model)
    assert set(cells.classes.histograms) == {("diagnosis",)}
    chance = np.random.default_rng(1)
    for classes in (1, 7, 60, len(counted)):
        owner = chance.permutation(np.arange(len(counted)) % classes).astype(np.int32)
        found = judge.violations(cells.classes.regroup(owner, classes))
        assert found.tolist() == model.violations(counted.classes.regroup(owner, classes)).tolist()
    release = ind.anonymize(table, SCHEMA, model=spec, hierarchies=HIERARCHIES)
    assert release.certificate.holds


def test_a_value_that_is_counted_once_and_in_parts_is_counted_again_for_each_class():
    model = ind.AlphaK("diagnosis", alpha=0.5, k=2) & ind.TCloseness("diagnosis", t=0.4)
    model = in_people(model, ["person"])
    counted = count_source(ind.open(VISITS), Request(SCHEMA.quasi, model.keys, person=["person"])).frequencies
    assert people_as_rows(counted, model)[1] is model


def test_a_certificate_says_how_people_were_counted():
    table = pa.table(
        {
            "who": ["a"] * 5 + ["b", "c", "a", "d"],
            "age": [1] * 7 + [2, 2],
        }
    )
    certificate = ind.anonymize(table, ind.Schema(person=["who"], quasi=["age"]), model="k-anonymity:k=2").certificate
    told = " / ".join(certificate.warnings)
    assert "people were counted on the original" in told
    assert "in 1 of 2 classes one person has more than half of the rows" in told
    assert "1 of 4 people are in several classes, one of them in 2" in told
    assert json.loads(certificate.to_text())["people"] == {"published": 4, "original": 4, "suppressed": 0}


def test_people_who_are_written_in_two_ways_are_told():
    table = pa.table({"who": ["A1", "a1 ", "b", "c", "José", "Jose\u0301"], "age": [1, 1, 1, 2, 2, 2]})
    certificate = ind.anonymize(table, ind.Schema(person=["who"], quasi=["age"]), model="k-anonymity:k=2").certificate
    assert any("6 people were counted" in told and "there would be 4" in told for told in certificate.warnings)


def test_nothing_is_said_of_people_where_rows_are_counted():
    schema = ind.Schema(identifiers=["person"], quasi=SCHEMA.quasi, sensitive=SCHEMA.sensitive)
    certificate = ind.anonymize(VISITS, schema, model="k-anonymity:k=3", hierarchies=HIERARCHIES).certificate
    assert certificate.people is None
    assert not any("people" in warning for warning in certificate.warnings)


class TestVerify:
    def test_a_release_alone_does_not_show_people(self):
        release = ind.anonymize(VISITS, SCHEMA, **JOB)
        with pytest.raises(ind.InputError, match="people cannot be counted on a release"):
            ind.verify(release.table, SCHEMA, "k-anonymity:k=4")

    def test_labels_that_leave_no_doubt_suffice(self, tmp_path):
        release = ind.anonymize(VISITS, SCHEMA, algorithm="optimal", suppression=0.05, **JOB)
        for name in ("x.csv", "x.parquet"):
            release.write(tmp_path / name)
            again = ind.verify(tmp_path / name, SCHEMA, "k-anonymity:k=4", original=VISITS, hierarchies=HIERARCHIES)
            assert again.holds
            assert again.people == release.certificate.people
            assert again.smallest_class == release.certificate.smallest_class

    def test_overlapping_labels_need_the_recoding(self, tmp_path):
        table = pa.table({"who": list("abcdef"), "age": [1, 2, 3, 4, 5, 6]})
        schema = ind.Schema(person=["who"], quasi=["age"])
        published = pa.table({"age": ["[1-4]", "[1-4]", "[1-4]", "[3-6]", "[3-6]", "[3-6]"]})
        with pytest.raises(ind.InputError, match="several published labels") as error:
            ind.verify(published, schema, "k-anonymity:k=3", original=table)
        assert "--recoding" in error.value.hint

    def test_another_original_is_found_out(self):
        release = ind.anonymize(VISITS, SCHEMA, algorithm="optimal", **JOB)
        place = VISITS.column_names.index("age")
        other = VISITS.set_column(place, "age", VISITS["age"].take(pa.array(range(1200))[::-1]))
        with pytest.raises(ind.VerificationError, match="does not show"):
            ind.verify(release.table, SCHEMA, "k-anonymity:k=4", original=other, hierarchies=HIERARCHIES)

    def test_values_moved_between_classes_are_found_out(self):
        release = ind.anonymize(VISITS, SCHEMA, algorithm="optimal", **JOB)
        forged = release.table.set_column(3, "diagnosis", release.table["diagnosis"].take(pa.array(range(1200))[::-1]))
        with pytest.raises(ind.VerificationError, match="'diagnosis'"):
            ind.verify(
                forged,
                SCHEMA,
                "alpha-k:sensitive=diagnosis,alpha=0.9,k=2",
                original=VISITS,
                hierarchies=HIERARCHIES,
            )

    def test_recodings_that_part_rows_were_verified_at_publication(self):
        release = ind.anonymize(VISITS, SCHEMA, algorithm="mondrian:relaxed=true", **JOB)
        with pytest.raises(ind.InputError, match="verified at publication only"):
            ind.verify(release.table, SCHEMA, "k-anonymity:k=4", original=VISITS, recoding=release.recoding)


def test_applying_counts_people_again():
    release = ind.anonymize(VISITS, SCHEMA, model="k-anonymity:k=4", hierarchies=HIERARCHIES)
    assert ind.apply(release.recoding, VISITS).certificate.people == release.certificate.people
    one = VISITS.set_column(VISITS.column_names.index("person"), "person", pa.array(["x"] * 1200))
    with pytest.raises(ind.VerificationError):
        ind.apply(release.recoding, one)


def test_measuring_a_file_counts_people():
    release = ind.anonymize(
        VISITS, SCHEMA, algorithm="optimal", suppression=0.05, model="k-anonymity:k=4", hierarchies=HIERARCHIES
    )
    measured = ind.measure_table(release.table, SCHEMA, original=VISITS, hierarchies=HIERARCHIES, k=4)
    whole = ind.measure(release)
    assert dict(measured) == pytest.approx({name: whole[name] for name in measured})


def test_an_original_without_its_people_is_refused():
    release = ind.anonymize(VISITS, SCHEMA, algorithm="optimal", **JOB)
    for recoding in (None, release.recoding):
        with pytest.raises(ind.SchemaError, match="no column 'person'"):
            ind.verify(
                release.table,
                SCHEMA,
                "k-anonymity:k=4",
                original=VISITS.drop_columns("person"),
                hierarchies=HIERARCHIES,
                recoding=recoding,
            )


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "kaca"])
def test_too_few_people_are_called_people(algorithm):
    people = len(set(VISITS["person"].to_pylist()))
    with pytest.raises(ind.InfeasibleError, match=f"for the {people} people of the table"):
        ind.anonymize(VISITS, SCHEMA, model="k-anonymity:k=1000", algorithm=algorithm, hierarchies=HIERARCHIES)
