"""Delta tables by the command line: live rows alone, the version in policy and certificate, every door."""

import json

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

ROLES = ["--identifier", "name,admitted,cost", "--quasi", "age,sex,zipcode", "--sensitive", "disease"]
MODEL = ["--model", "k-anonymity:k=5"]


@pytest.fixture
def delta(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("generate", "patients", "--rows", "5000", "--seed", "1", "-o", "patients.parquet").code == 0
    write_deltalake("delta", pq.read_table("patients.parquet"))
    DeltaTable("delta").delete("age > 50")
    return tmp_path / "delta"


@pytest.mark.parametrize("engine", ["auto", "memory", "duckdb"])
def test_deleted_rows_are_not_published(run, delta, engine):
    ran = run("anonymize", "delta", *ROLES, *MODEL, "--engine", engine, "-o", "out.csv")
    assert ran.code == 0, ran.err
    certificate = json.loads((delta.parent / "out.csv.certificate.json").read_text())
    assert (certificate["rows"], certificate["original_rows"], certificate["table_version"]) == (2312, 2312, 1)
    assert run("verify", "out.csv", *ROLES, *MODEL, "--original", "delta").code == 0
    before = run("verify", "out.csv", *ROLES, *MODEL, "--original", "delta", "--version", "0")
    assert "2,688 rows suppressed" in before.out
    older = run("anonymize", "delta", *ROLES, *MODEL, "--version", "0", "-o", "all.csv", "--json")
    assert json.loads(older.out)["certificate"]["table_version"] == 0
    assert "5,000" in run("assess", "delta", *ROLES, "--version", "0").out


def test_a_policy_names_the_version_that_was_looked_at(run, delta):
    assert run("inspect", "delta", "-o", "policy.toml").code == 0
    assert "\nversion = 1\n" in (delta.parent / "policy.toml").read_text()
    DeltaTable("delta").delete("age > 30")
    assert run("anonymize", "policy.toml", "-o", "out.csv").code == 0
    certificate = json.loads((delta.parent / "out.csv.certificate.json").read_text())
    assert (certificate["original_rows"], certificate["table_version"]) == (2312, 1)
    ran = run("anonymize", "policy.toml", "--version", "0", "-o", "out2.csv")
    assert ran.code == 2
    assert "sets what --version would set" in ran.err
    again = run("anonymize", "policy.toml", "--input", "delta", "-o", "out3.csv", "--json")
    assert json.loads(again.out)["certificate"]["table_version"] == 2


def test_a_report_shows_the_version_that_was_read(run, delta):
    assert run("inspect", "patients.parquet", "-o", "policy.toml").code == 0
    text = (delta.parent / "policy.toml").read_text().replace('"patients.parquet"', '"delta"')
    (delta.parent / "policy.toml").write_text(text.replace("[output]", '[output]\nreport = "report.html"'))
    ran = run("anonymize", "policy.toml")
    assert ran.code == 0, ran.err
    assert "version = 1" in (delta.parent / "report.html").read_text()


def test_every_door_refuses_single_files(run, delta):
    files = sorted(map(str, delta.glob("*.parquet")))
    assert len(files) == 2
    assert run("anonymize", "delta", *ROLES, *MODEL, "-o", "out.csv").code == 0
    for words in (
        ["inspect", files[0]],
        ["inspect", "delta/*.parquet"],
        ["scan", files[0]],
        ["scan", "delta"],
        ["scan", "out.csv", "--original", files[0], *ROLES],
        ["verify", files[0], *ROLES, *MODEL],
        ["verify", "delta", *ROLES, *MODEL],
        ["verify", "out.csv", "--original", files[0], *ROLES, *MODEL],
        ["assess", files[0], *ROLES],
        ["assess", "out.csv", "--original", files[0], *ROLES],
        ["codebook", "delta"],
        ["anonymize", "delta/**/*.parquet", *ROLES, *MODEL, "-o", "x.csv"],
        ["anonymize", "**/*.parquet", *ROLES, *MODEL, "-o", "x.csv"],
        ["anonymize", "patients.parquet", *ROLES, "--model", "k-map:k=5", "--population", files[0], "-o", "x.csv"],
    ):
        ran = run(*words)
        assert ran.code == 1, (words, ran.err)
        assert "deleted rows and files of earlier versions lie in it" in ran.err
    ran = run("anonymize", "delta", *ROLES, *MODEL, "-o", "delta/out.csv")
    assert "lies in the folder of the Delta table" in ran.err
