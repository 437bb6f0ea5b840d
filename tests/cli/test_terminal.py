"""Nothing of a table steers the terminal: names of columns may hold escapes, ends of lines and turned writing."""

import csv
from pathlib import Path

import pytest

from indistinct.cli import app

AGE, SEX, DISEASE, COST = "age\x1b[2J", "sex\nFAKE: holds", "dis\u202eease", "co\x9bst\x07"
STEERS = [*map(chr, range(9)), "\x0b", "\x0c", "\r", *map(chr, range(14, 32)), *map(chr, range(127, 160)), "\u202e"]
MODEL = ["--model", "k-anonymity:k=3"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([AGE, SEX, DISEASE, COST])
        writer.writerows([20 + row % 9, "MF"[row % 2], ["flu", "cold", "\x1bc"][row % 3], row * 7] for row in range(90))
    return path


@pytest.fixture
def policy(table: Path) -> Path:
    path = table.with_name("policy.toml")
    names = {AGE: "quasi", SEX: "quasi", DISEASE: "sensitive", COST: "insensitive"}
    escaped = {name.encode("unicode_escape").decode().replace("\\x", "\\u00"): role for name, role in names.items()}
    columns = "".join(f'"{name}" = "{role}"\n' for name, role in escaped.items())
    path.write_text(
        f'[input]\npath = "{table.name}"\n[columns]\n{columns}[privacy]\nmodels = ["k-anonymity:k=3"]\n'
        '[algorithm]\nuse = "mondrian"\n[output]\npath = "out.csv"\n'
    )
    return path


def harmless(ran) -> None:
    """Assert that what a run printed steers nothing, and that no name begins a line."""
    for text in (ran.out, ran.err):
        assert not [mark for mark in STEERS if mark in text]
        assert not [line for line in text.splitlines() if line.startswith("FAKE")]
    assert "unexpected" not in ran.err


def test_every_command_escapes_names(run, table, policy, monkeypatch):
    monkeypatch.chdir(table.parent)
    made = run("anonymize", policy, "--save-recoding", "recoding.json")
    assert made.code == 0, made.err
    beside = ["--policy", policy, "--original", table]
    commands = {
        "anonymize": [policy, "--overwrite", "--verbose"],
        "apply": ["recoding.json", table, "-o", "next.csv"],
        "inspect": [table, "--show-values"],
        "verify": ["out.csv", *beside],
        "measure": ["out.csv", *beside],
        "distributions": ["out.csv", *beside],
        "assess": ["out.csv", *beside, "--profile", "public"],
        "attack": ["all", "out.csv", *beside, "--seconds", "1"],
        "analyze": ["out.csv", *beside, "--formula", "x ~ y"],
        "scan": ["out.csv", *beside],
        "explore": [policy],
        "codebook": ["out.csv", "--policy", policy],
        "dbt": [policy, "-o", "tests"],
        "query": ["SELECT COUNT(*)", "out.csv", "--policy", policy],
        "classify": [policy, "--target", DISEASE],
        "compare": [policy, "--k", "3,4"],
        "report": ["out.csv", *beside, "-o", "page.html", "--seconds", "0.1"],
        "ledger": ["show", "none.ledger"],
    }
    others = {"serve", "generate", "reproduce", "warm-up", "list", "schema"}  # which read no table
    assert commands.keys() | others == {command.name for command in app.registered_commands}
    for name, arguments in commands.items():
        ran = run(name, *arguments)
        harmless(ran)
        assert ran.out or ran.err, name


@pytest.mark.parametrize("width", ["40", "200"])
def test_tables_and_hints_escape_names_at_any_width(run, table, policy, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    seen = run("inspect", table)
    harmless(seen)
    assert "age\\x1b[2J" in seen.out
    wrong = run("anonymize", table, "--quasi", "age", "--sensitive", "other", *MODEL, "-o", "x.csv")
    assert wrong.code == 1
    harmless(wrong)


def test_a_hint_with_a_name_is_one_line(run, tmp_path):
    path = tmp_path / "table.csv"
    cells = "".join(f'"1.{row:03d},5",a\n' for row in range(50))
    path.write_text(f'"am\x1bount\nFAKE",d\n{cells}')
    rest = ["--sensitive", "d", *MODEL, "-o", tmp_path / "x.csv"]
    unquoted = run("anonymize", path, "--quasi", "am\x1bount\nFAKE", *rest)
    assert unquoted.code == 2
    harmless(unquoted)
    ran = run("anonymize", path, "--quasi", '"am\x1bount\nFAKE"', *rest)
    assert ran.code == 1
    harmless(ran)
    assert "--text am\\x1bount\\nFAKE" in ran.err
