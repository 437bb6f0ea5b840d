"""What a report says of a release that was written, and of one whose workload is in no file."""

import pytest

import indistinct as ind
from indistinct.datasets import generate_patients


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
