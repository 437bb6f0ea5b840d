"""Help shows an example and the common options; mistakes on the command line get the line to write instead."""

import shlex

import pytest
import typer

from indistinct.cli import app
from indistinct.cli.help import EXAMPLES, RARELY_USED, arrange_help

COMMANDS = sorted(set(EXAMPLES))
MAX_LINES = 80
TABLE = "name,age,sex,zipcode\n" + "".join(
    f"n{row},{20 + row % 5},{'FM'[row % 2]},0213{row % 3}\n" for row in range(40)
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_begins_with_an_example_and_fits_a_page(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(command, "--help").out
    lines = shown.splitlines()
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= 80
    assert shown.index(f"Example: indistinct {command}") < shown.index("╭─")
    assert "<bool>" not in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_shows_every_option(run, command):
    options = [
        name
        for each in typer.main.get_command(app).commands[command].params
        if each.param_type_name == "option"
        for name in each.opts
    ]
    shown = run(command, "--help-all").out
    assert [name for name in options if name not in shown] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_flags_of_an_example_are_options_of_its_command(command):
    _, name, *words = shlex.split(EXAMPLES[command])
    assert name == command
    options = {each for option in typer.main.get_command(app).commands[command].params for each in option.opts}
    assert {word for word in words if word.startswith("-")} <= options


def test_every_option_that_help_leaves_out_is_one_of_a_command():
    root = typer.main.get_command(app)
    assert arrange_help(root, ["anonymize", "--help"]) == ["anonymize", "--help"]
    hidden = {each.name for command in root.commands.values() for each in command.params if getattr(each, "hidden", 0)}
    assert hidden == RARELY_USED


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--k", "5"], "write --model k-anonymity:k=5"),
        (["--k=7"], "write --model k-anonymity:k=7"),
        (["--l", "3"], "write --model distinct-l-diversity:sensitive=COLUMN,l=3"),
        (["--quasi", "age", "sex", "zipcode"], "separate columns by commas: --quasi age,sex,zipcode"),
        (["--quasi", "age,", "sex"], "separate columns by commas: --quasi age,sex"),
        (["--model", "k=5"], "write k-anonymity:k=5"),
        (["--model", "l=3"], "write distinct-l-diversity:l=3"),
        (["--model", "k-anonymity:k=5", "--suppression", "5%"], '5 % is 0.05; "5 rows" allows 5 rows'),
    ],
)
def test_a_usual_mistake_gets_the_line_to_write(run, tmp_path, flags, words):
    (tmp_path / "a.csv").write_text(TABLE)
    ran = run("anonymize", tmp_path / "a.csv", *flags, "-o", tmp_path / "b.csv")
    assert ran.code == 2
    assert words in " ".join(ran.err.split())


def test_an_extra_word_without_a_list_points_at_help(run, tmp_path):
    ran = run("anonymize", tmp_path / "a.csv", "other.csv")
    assert ran.code == 2
    assert "unexpected argument other.csv" in ran.err
    assert "anonymize takes one table" in ran.err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("generate", "no NAME is given"),
        ("report a.csv", "no --output is given"),
        ("anonymize --frobnicate", "there is no option --frobnicate"),
        ("anonymise", "there is no command 'anonymise'; did you mean 'anonymize'?"),
        ("list models", "unexpected argument models"),
        ("query a.csv", "no query is given"),
        ("ledger forget a.csv", "`forget` needs the number of a release"),
        ("ledger show a.csv 2", "`show` takes no number"),
        ("classify a.csv --quasi age --model k-anonymity:k=2", "no target column is given"),
        ("anonymize a.csv --model k-anonymity:k=five -o b.csv", "hint: for example k=5"),
        ("anonymize a.csv --quasi=age\\ sex --model k-anonymity:k=5 -o b.csv", "separate columns with commas: age,sex"),
    ],
)
def test_a_mistake_is_said_in_one_way(run, tmp_path, monkeypatch, line, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(TABLE)
    ran = run(*shlex.split(line))
    assert ran.code in (1, 2)
    assert words in " ".join(ran.err.split())


def test_the_missing_input_of_a_policy_names_the_folder_of_the_policy(run, tmp_path):
    policy = tmp_path / "policies" / "p.toml"
    policy.parent.mkdir()
    policy.write_text(
        '[input]\npath = "nope.csv"\n[columns]\nage = {role = "quasi"}\n[privacy]\nmodels = ["k-anonymity:k=2"]\n'
        '[output]\npath = "out.csv"\n'
    )
    ran = run("anonymize", policy)
    assert ran.code == 1
    assert "which the policy p.toml names" in " ".join(ran.err.split())
    assert str(policy.parent) in ran.err
    ran = run("anonymize", policy, "--input", tmp_path / "patiens.csv")
    assert ran.code == 1
    assert f"there is no file {tmp_path / 'patiens.csv'}" in " ".join(ran.err.split())
    assert "which the policy" not in ran.err
    (policy.parent / "nope.csv").write_text("age\n1\n1\n")
    assert run("anonymize", policy).code == 0


def test_a_flag_that_a_policy_sets_names_instead(run, tmp_path):
    policy = tmp_path / "p.toml"
    policy.write_text('[input]\npath = "a.csv"\n[columns]\nage = {role = "quasi"}\n[output]\npath = "o.csv"\n')
    ran = run("anonymize", policy, "--model", "k-anonymity:k=2")
    assert ran.code == 2
    assert "add --instead" in ran.err


def test_a_table_is_no_ledger(run, tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    ran = run("ledger", "show", tmp_path / "a.csv")
    assert ran.code == 1
    assert "is not a ledger" in ran.err
    assert "chmod" not in ran.err


def test_columns_that_become_stars_for_want_of_a_hierarchy_are_named(run, tmp_path):
    rows = "".join(f"{row},{'FM'[row % 2]}\n" for row in range(40))
    (tmp_path / "a.csv").write_text(f"age,sex\n{rows}")
    flags = ["--quasi", "age,sex", "--model", "k-anonymity:k=5", "--algorithm", "optimal"]
    ran = run("anonymize", tmp_path / "a.csv", *flags, "-o", tmp_path / "b.csv")
    assert ran.code == 0
    assert "'age' has no hierarchy and is published as * in every row" in " ".join(ran.err.split())


def test_a_recoding_that_cannot_be_read_is_named(run, tmp_path):
    (tmp_path / "r.json").write_text("{}")
    (tmp_path / "a.csv").write_text(TABLE)
    ran = run("apply", tmp_path / "r.json", tmp_path / "a.csv", "-o", tmp_path / "b.csv")
    assert ran.code == 1
    assert "r.json: this is not a saved recoding" in " ".join(ran.err.split())


def test_hints_name_flags_and_no_parameters_of_python(run, tmp_path):
    table, there = tmp_path / "table.csv", tmp_path / "there.csv"
    for path in (table, there):
        path.write_text("age\n1\n2\n", encoding="utf-8")
    refused = run("anonymize", table, "--quasi", "age", "--model", "k-anonymity:k=2", "-o", there)
    assert refused.code == 1
    assert "allow it with --overwrite" in refused.err
    assert "overwrite=True" not in refused.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["attack", "table.csv"], "write `indistinct attack all table.csv …`, or one attack such as record-linkage"),
        (["attack", "table.csv", "all"], "write `indistinct attack all table.csv …`, or one attack such as"),
        (["serve", "--port", "abc"], "'--port': expected a whole number\n"),
        (["serve", "--idle", "abc"], "'--idle': expected a number\n"),
        (["scan", "table.csv", "--fail-on", "leaks"], "'--fail-on': 'leaks' is not one of 'leak', 'suspicion'\n"),
    ],
)
def test_what_is_written_in_the_wrong_place_says_what_is_expected(run, tmp_path, monkeypatch, arguments, words):
    (tmp_path / "table.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    ran = run(*arguments)
    assert ran.code in (1, 2)
    assert words in ran.err
