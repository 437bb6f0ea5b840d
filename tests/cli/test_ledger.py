"""Releases over time at the command line: --ledger, a policy's ledger, `ledger show` and `ledger forget`."""

import json
import random
from pathlib import Path

import pytest

ROLES = ["--person", "pid", "--quasi", "age", "--sensitive", "d", "--model", "k-anonymity:k=5"]
FLAGS = [*ROLES, "--algorithm", "mondrian"]


def write(path: Path, seed: int, *, rows: int = 120) -> Path:
    draw = random.Random(seed)  # noqa: S311
    lines = [f"p{index},{draw.randint(20, 80)},{draw.choice('abc')}" for index in range(rows)]
    path.write_text("pid,age,d\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def months(tmp_path: Path) -> tuple[Path, Path, Path]:
    return write(tmp_path / "june.csv", 1), write(tmp_path / "july.csv", 2), tmp_path / "releases.ledger"


def test_a_ledger_from_the_first_release_on(months, run, tmp_path: Path) -> None:
    june, july, ledger = months
    made = run("anonymize", june, *FLAGS, "-o", tmp_path / "june-out.csv", "--ledger", ledger)
    assert made.code == 0, made.err
    assert "is a new ledger" in made.err
    again = ["anonymize", july, *FLAGS, "-o", tmp_path / "july-out.csv", "--ledger", ledger]
    refused = run(*again, "--json")
    assert refused.code == 4
    assert "share their history of classes with fewer than 5" in json.loads(refused.out)["error"]["message"]
    assert not (tmp_path / "july-out.csv").exists()
    accepted = run(*again, "--accept-overlap")
    assert accepted.code == 0, accepted.err
    assert "120 people are in the earlier release too" in accepted.out
    assert "new ledger" not in accepted.err
    shown = run("ledger", "show", ledger)
    assert shown.code == 0
    assert [line.split()[0] for line in shown.out.splitlines()[2:]] == ["1", "2"]
    document = json.loads(run("ledger", "show", ledger, "--json").out)
    assert [entry["number"] for entry in document["releases"]] == [1, 2]
    assert [entry["people"] for entry in document["releases"]] == [120, 120]
    assert all(entry["published"] and len(entry["certificate_digest"]) == 64 for entry in document["releases"])
    forgotten = run("ledger", "forget", ledger, "1", "--json")
    assert [entry["number"] for entry in json.loads(forgotten.out)["releases"]] == [2]


def test_a_policy_names_its_ledger_and_the_smallest_count(run, tmp_path: Path) -> None:
    lines = [f"p{index},{20 + 10 * (index % 3)},{'abc'[index % 2]}" for index in range(120)]
    (tmp_path / "june.csv").write_text("\n".join(["pid,age,d", *lines, "x,99,a", "y,98,a"]) + "\n")
    (tmp_path / "policy.toml").write_text(
        '[input]\npath = "june.csv"\n\n[columns]\npid = "person"\nage = { role = "quasi" }\nd = "sensitive"\n\n'
        '[privacy]\nmodels = ["k-anonymity:k=5"]\nsuppression = 0.05\n\n[algorithm]\nuse = "optimal"\n\n'
        '[output]\npath = "out.csv"\nledger = "private.ledger"\nsmallest_count = 3\n'
    )
    ran = run("anonymize", tmp_path / "policy.toml", "--json")
    assert ran.code == 0, ran.err
    assert (tmp_path / "private.ledger").is_file()
    exact = json.loads(ran.out)["suppressed_rows"]
    shown = json.loads((tmp_path / "out.csv.certificate.json").read_text())
    assert exact == 2
    assert (shown["smallest_count"], shown["suppressed_rows"]) == (3, None)
    flag = run("anonymize", tmp_path / "policy.toml", "--overwrite", "--smallest-count", "0", "--accept-overlap")
    assert flag.code == 0, flag.err
    assert json.loads((tmp_path / "out.csv.certificate.json").read_text())["suppressed_rows"] == exact
    (tmp_path / "policy.toml").write_text(
        (tmp_path / "policy.toml").read_text().replace("smallest_count = 3", "smallest_count = -1")
    )
    wrong = run("anonymize", tmp_path / "policy.toml", "--overwrite")
    assert wrong.code == 1
    assert "[output] smallest_count: expected a whole number from 0" in wrong.err


def test_a_recoding_is_applied_beside_a_ledger(months, run, tmp_path: Path) -> None:
    june, july, ledger = months
    kept = ["-o", tmp_path / "june-out.csv", "--save-recoding", tmp_path / "r.json", "--ledger", ledger]
    assert run("anonymize", june, *ROLES, "--algorithm", "mondrian:extent=region", *kept).code == 0
    apply = ["apply", tmp_path / "r.json", july, "--model", "k-anonymity:k=2", "--ledger", ledger]
    assert run(*apply, "-o", tmp_path / "july-out.csv").code == 4
    assert run(*apply, "-o", ledger, "--overwrite").code == 1
    ran = run(*apply, "-o", tmp_path / "july-out.csv", "--accept-overlap", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["certificate"]["overlap"]["releases"] == 1
    assert json.loads(run("ledger", "show", ledger, "--json").out)["releases"][0]["recoding"].endswith("r.json")


def test_fresh_columns_by_flag_and_by_policy(run, tmp_path: Path) -> None:
    """Everybody is 30: with weights that are measured anew one more may come each month."""
    for name, count in (("june", 10), ("july", 11), ("august", 12)):
        lines = [f"p{index},30,{60 + index}" for index in range(count)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["pid,age,weight", *lines]) + "\n")
    ledger = ["--ledger", tmp_path / "l.ledger"]
    flags = ["--person", "pid", "--quasi", "age", "--sensitive", "weight", "--model", "k-anonymity:k=5", *ledger]
    fresh = ["--fresh", "weight"]
    assert run("anonymize", tmp_path / "june.csv", *flags, *fresh, "-o", tmp_path / "1.csv").code == 0
    july = ["anonymize", tmp_path / "july.csv", *flags, "-o", tmp_path / "2.csv"]
    assert run(*july).code == 4
    assert run(*july, "--fresh", "age").code == 1
    assert run(*july, *fresh).code == 0
    (tmp_path / "policy.toml").write_text(
        '[input]\npath = "august.csv"\n\n[columns]\npid = "person"\nage = { role = "quasi" }\n'
        'weight = { role = "sensitive", fresh = true }\n\n[privacy]\nmodels = ["k-anonymity:k=5"]\n\n'
        '[output]\npath = "3.csv"\nledger = "l.ledger"\n'
    )
    ran = run("anonymize", tmp_path / "policy.toml")
    assert ran.code == 0, ran.err
    assert "re-measured" in ran.err
    assert [
        each["fresh"] for each in json.loads(run("ledger", "show", tmp_path / "l.ledger", "--json").out)["releases"]
    ]
    text = (tmp_path / "policy.toml").read_text()
    (tmp_path / "policy.toml").write_text(text.replace('"quasi" }', '"quasi", fresh = true }'))
    wrong = run("anonymize", tmp_path / "policy.toml", "--overwrite")
    assert wrong.code == 1
    assert "[columns] age: a fresh column is published unmodified" in wrong.err


def test_people_are_held_back(run, tmp_path: Path) -> None:
    lines = [f"p{index},{20 if index < 30 else 60},a" for index in range(61)]
    (tmp_path / "june.csv").write_text("\n".join(["pid,age,d", *lines[:60]]) + "\n")
    (tmp_path / "july.csv").write_text("\n".join(["pid,age,d", *lines]) + "\n")
    ledger = ["--ledger", tmp_path / "l.ledger"]
    kept = ["-o", tmp_path / "1.csv", "--save-recoding", tmp_path / "r.json", *ledger]
    assert run("anonymize", tmp_path / "june.csv", *FLAGS, *kept).code == 0
    july = ["apply", tmp_path / "r.json", tmp_path / "july.csv", "-o", tmp_path / "2.csv", *ledger]
    refused = run(*july)
    assert refused.code == 4
    assert "leaving out 1 person of 61 would do" in " ".join(refused.err.split())
    assert run(*july, "--hold-back").code == 3
    held = run(*july, "--hold-back", "--suppression", "0.05", "--json")
    assert held.code == 0, held.err
    assert json.loads(held.out)["rows"] == 60


def test_bad_input(months, run, tmp_path: Path) -> None:
    june, _, ledger = months
    out = ["-o", tmp_path / "out.csv", "--ledger", ledger]
    nobody = run("anonymize", june, "--identifier", "pid", *FLAGS[2:], *out)
    assert nobody.code == 1
    assert "none has the role person" in nobody.err
    ledger.write_text("precious")
    ledger.chmod(0o644)
    refused = run("anonymize", june, *FLAGS, *out)
    assert refused.code == 1
    assert "is not a ledger" in refused.err
    ledger.chmod(0o600)
    assert "not a ledger" in run("anonymize", june, *FLAGS, *out).err
    assert ledger.read_text() == "precious"
    assert run("ledger", "show", tmp_path / "nowhere").code == 1
    assert run("ledger", "show", ledger, "1").code == 2
    assert run("ledger", "forget", ledger).code == 2
    assert run("ledger", "burn", ledger).code == 2
    assert run("anonymize", june, *FLAGS, "-o", tmp_path / "out.csv", "--smallest-count", "-1").code == 2
    assert json.loads(run("ledger", "show", tmp_path / "nowhere", "--json").out)["error"]["type"] == "InputError"
