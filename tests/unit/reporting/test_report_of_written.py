"""What a report says of a release that was written, and of one whose workload is in no file."""

import pytest

import indistinct as ind
from indistinct.samples import generate_patients


@pytest.fixture(scope="module")
def patients():
    return generate_patients(300, seed=3)


def released(patients, algorithm):
    others = [name for name in patients.column_names if name not in ("age", "sex")]
    schema = ind.Schema(quasi=["age", "sex"], identifiers=others)
    return ind.anonymize(patients, schema, model="k-anonymity:k=5", algorithm=algorithm)


def test_a_release_that_was_written_is_named_by_its_digest(patients, tmp_path):
    release, path = released(patients, ind.Mondrian()), tmp_path / "release.csv"
    certificate = release.write(path)
    assert certificate.output_digest in ind.report(release, path=path, seconds=0.1).html


def test_a_workload_that_is_in_no_file_is_no_obstacle(patients):
    workload = ind.Workload.of(["SELECT COUNT(*) WHERE age < 30"])
    release = released(patients, ind.Mondrian(workload=workload))
    assert workload.digest[:12] in ind.report(release, seconds=0.1).html


def test_a_population_that_buckets_cannot_use_is_said_to_be_so(patients):
    others = [name for name in patients.column_names if name not in ("age", "disease")]
    schema = ind.Schema(quasi=["age"], sensitive=["disease"], identifiers=others)
    release = ind.anonymize(patients, schema, algorithm="anatomy:l=2")
    report = ind.report(release, population=patients, seconds=0.2)
    (risk,) = (each for each in report.content.sections if each.anchor == "risk")
    said = [block.text for block in risk.blocks if hasattr(block, "text")]
    assert any(each.startswith("The population was not used: buckets show") for each in said)
    assert "This was not computed." not in said


def test_a_sample_is_said_to_be_one(patients, tmp_path):
    others = [name for name in patients.column_names if name not in ("age", "sex")]
    schema = ind.Schema(quasi=["age", "sex"], identifiers=others)
    release = ind.anonymize(patients, schema, model="k-anonymity:k=3", algorithm="mondrian", sample=0.5)
    path = tmp_path / "sample.csv"
    release.write(path)
    for edition in ("internal", "external"):
        report = ind.report(path, schema, model="k-anonymity:k=3", edition=edition)
        assert report.content.documents["certificate"]["sample"] == 0.5
        assert "share of rows that was drawn at random" in report.html
    assert "--sample 0.5" in ind.report(path, schema, model="k-anonymity:k=3").html
