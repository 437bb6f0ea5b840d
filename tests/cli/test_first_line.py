"""A first line that is a person: refused where it can be told, and printed by no command."""

import pytest

from indistinct.tables.layout import is_data

PLANTED = "SECRETANNA"


@pytest.mark.parametrize(
    ("cell", "below"),
    [
        ("E11.9", ["I25.1", "J45.0", "K35.8"]),
        ("31 Jan 2024", ["1 Feb 2024", "28 Feb 2023", "3 Mar 2022"]),
        ("12:30", ["9:15", "10:45", "23:59"]),
        ("180 cm", ["175 cm", "168 cm", "190 cm"]),
        ("€50", ["€75", "€12", "€8"]),
        ("52 years", ["31 years", "7 years", "90 years"]),
        ("1e3", ["2e4", "7e1", "3e2"]),
        ("true", ["false", "true", "false"]),
        ("52", ["31"]),
    ],
)
def test_a_cell_like_those_below_is_data(cell, below):
    assert is_data([cell, "Anna"], [[each, f"text {chr(97 + n)}"] for n, each in enumerate(below)])


@pytest.mark.parametrize(
    ("names", "row"),
    [
        (["v1", "v2"], ["p12", "x7"]),
        (["Q1", "Q2"], ["12", "7"]),
        (["item_1", "item_2"], ["code_9", "code_8"]),
        (["2019", "2020"], ["12", "7"]),
        (["age", "zip"], ["31", "02138"]),
        (["ICD10", "cost"], ["E11.9", "12.5"]),
    ],
)
def test_names_of_columns_are_none(names, row):
    assert not is_data(names, [row, row, [f"{row[0]}0", row[1]]])


@pytest.fixture
def files(run, tmp_path):
    june, nameless = tmp_path / "june.csv", tmp_path / "nameless.csv"
    rows = [f"anna{n},town{n % 3},ill{n % 4}" for n in range(40)]
    june.write_text("\n".join(["who,town,ill", *rows]) + "\n")
    nameless.write_text("\n".join([f"{PLANTED},{PLANTED} town,{PLANTED} ill", *rows]) + "\n")
    roles = ["--person", "who", "--quasi", "town", "--sensitive", "ill"]
    job = [*roles, "--model", "k-anonymity:k=3"]
    made = run("anonymize", june, *job, "-o", tmp_path / "june.out.csv", "--save-recoding", tmp_path / "june.json")
    assert made.code == 0, made.err
    return june, nameless, job, tmp_path


def test_no_command_prints_it(run, files):
    june, nameless, job, folder = files
    recoding, out = folder / "june.json", folder / "june.out.csv"
    commands = [
        ["apply", recoding, nameless, "-o", folder / "x.csv"],
        ["anonymize", nameless, *job, "-o", folder / "x.csv"],
        ["explore", nameless, *job],
        ["anonymize", june, *job, "-o", folder / "x.csv", "--previous", recoding, "--previous-input", nameless],
        ["verify", nameless, *job, "--original", june],
        ["verify", out, *job, "--original", nameless],
        ["verify", out, *job, "--original", nameless, "--recoding", recoding],
        ["measure", nameless, *job[:-2], "--original", june],
        ["measure", out, *job[:-2], "--original", nameless],
    ]
    for command in commands:
        ran = run(*command)
        assert ran.code in (1, 2, 4), command
        assert PLANTED not in ran.out + ran.err, command
        assert "unexpected" not in ran.err, command
