"""`inspect --from project.deid`: what is written and said, and refusals."""

import json

import pytest

from references.arx_projects import clinic_project


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return clinic_project(tmp_path / "clinic.deid")


def test_policy_hierarchies_and_table_are_written_and_the_policy_runs(project, run, tmp_path):
    ran = run("inspect", "--from", project)
    assert ran.code == 0, ran.err
    assert "Not taken over:" in ran.out
    assert "clinic-hierarchies/04-zip.csv  (zip)" in ran.out
    written = {"clinic.toml", "clinic-data.csv", "clinic-hierarchies", "clinic.deid"}
    assert {path.name for path in tmp_path.iterdir()} == written
    assert "# Taken over from the ARX project clinic.deid." in (tmp_path / "clinic.toml").read_text()
    assert run("anonymize", "clinic.toml").code == 0
    assert run("verify", "clinic-data-release.csv", "--policy", "clinic.toml").code == 0


def test_the_document_names_every_file_and_what_was_lost(project, run, tmp_path):
    (tmp_path / "jobs").mkdir()
    ran = run("inspect", "--from", project, "-o", "jobs/ours.toml", "--html", "page.html", "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["policy"] == "jobs/ours.toml"
    assert document["data"] == "jobs/ours-data.csv"
    assert document["project"]["hierarchies"]["zip"] == "jobs/ours-hierarchies/04-zip.csv"
    assert document["project"]["population"] is None
    assert len(document["project"]["not_taken_over"]) == 1
    assert "P17" not in ran.out + (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        ([], 2, "no table is given"),
        (["--from", "clinic.deid", "patients.csv"], 2, "leave out the table"),
        (["--from", "nothing.deid"], 1, "there is no file nothing.deid"),
        (["--from", "clinic.deid", "-o", "clinic.deid", "--overwrite"], 1, "is also read"),
        (["--from", "clinic.deid", "-o", "nowhere/job.toml"], 1, "nowhere"),
    ],
)
def test_bad_input(project, run, tmp_path, flags, code, words):
    before = project.read_bytes()
    ran = run("inspect", *flags)
    assert ran.code == code
    assert words in ran.err
    assert project.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["clinic.deid"]
