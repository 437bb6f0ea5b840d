"""`indistinct apply`: a kept recoding publishes another table, within its budget, and never over what is read."""

import json
from pathlib import Path


def test_a_recoding_is_kept_and_applied(patients: Path, roles: list[str], run, tmp_path: Path) -> None:
    recoding, again = tmp_path / "recoding.json", tmp_path / "again.csv"
    flags = ["--model", "k-anonymity:k=5", "-o", tmp_path / "out.csv", "--save-recoding", recoding, "--json"]
    made = json.loads(run("anonymize", patients, *roles, *flags).out)
    assert made["recoding_path"] == str(recoding)
    ran = run("apply", recoding, patients, "-o", again, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert (document["classes"], document["k"]) == (made["classes"], made["k"])
    assert document["certificate"]["recoding_digest"] == made["certificate"]["recoding_digest"]
    assert sorted(again.read_text().splitlines()) == sorted((tmp_path / "out.csv").read_text().splitlines())
    too_much = run("apply", recoding, patients, "-o", tmp_path / "b.csv", "--model", "k-anonymity:k=200")
    assert too_much.code == 4
    assert not (tmp_path / "b.csv").exists()


def test_a_value_that_the_recoding_does_not_know(patients: Path, roles: list[str], run, tmp_path: Path) -> None:
    recoding = tmp_path / "recoding.json"
    flags = ["--model", "k-anonymity:k=5", "-o", tmp_path / "out.csv", "--save-recoding", recoding]
    assert run("anonymize", patients, *roles, *flags).code == 0
    text = patients.read_text().replace(",female,", ",SECRETVALUE42,")
    (tmp_path / "next.csv").write_text(text)
    ran = run("apply", recoding, tmp_path / "next.csv", "-o", tmp_path / "next-out.csv")
    assert ran.code == 1
    assert "does not know" in ran.err
    assert "SECRETVALUE42" not in ran.err
    assert not (tmp_path / "next-out.csv").exists()


def test_apply_never_replaces_what_it_reads(patients: Path, roles: list[str], run, tmp_path: Path) -> None:
    recoding = tmp_path / "recoding.json"
    flags = ["--model", "k-anonymity:k=5", "-o", tmp_path / "out.csv", "--save-recoding", recoding]
    assert run("anonymize", patients, *roles, *flags).code == 0
    before = patients.read_bytes(), recoding.read_bytes()
    for target in (patients, recoding):
        ran = run("apply", recoding, patients, "-o", target, "--overwrite")
        assert ran.code == 1
        assert "would replace the input" in ran.err or "format" in ran.err
    assert (patients.read_bytes(), recoding.read_bytes()) == before


def test_apply_keeps_to_the_budget_of_suppression(tmp_path: Path, run) -> None:
    """A class that the first table filled is too small in the next one: its rows would be dropped."""
    rows = [f"{20 + i % 4},a" for i in range(16)]
    (tmp_path / "june.csv").write_text("age,d\n" + "\n".join([*rows, "90,a"]) + "\n")
    (tmp_path / "july.csv").write_text("age,d\n" + "\n".join([*rows, *["90,a"] * 3]) + "\n")
    job = ["--quasi", "age", "--sensitive", "d", "--model", "k-anonymity:k=4", "--suppression", "0.1"]
    kept = ["--node", "0", "-o", tmp_path / "out.csv", "--save-recoding", tmp_path / "r.json", "--json"]
    made = run("anonymize", tmp_path / "june.csv", *job, *kept)
    assert made.code == 0, made.err
    assert json.loads(made.out)["suppressed_rows"] == 1
    again = ["apply", tmp_path / "r.json", tmp_path / "july.csv", "-o", tmp_path / "july-out.csv"]
    refused = run(*again)
    assert refused.code == 3
    assert "--suppression" in refused.err
    assert not (tmp_path / "july-out.csv").exists()
    allowed = run(*again, "--suppression", "0.2", "--json")
    assert allowed.code == 0, allowed.err
    assert json.loads(allowed.out)["suppressed_rows"] == 3
    assert run(*again, "--suppression", "2", "--overwrite").code == 2
