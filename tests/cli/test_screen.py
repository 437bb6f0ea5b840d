"""What the screen shows: 80 columns, figures that say what they mean, the algorithm, and how a run was ended."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from indistinct.cli.screen import show
from indistinct.document.blocks import grid
from indistinct.figures import percent
from indistinct.metrics import METRICS
from indistinct.metrics.base import BUCKET_METRICS
from indistinct.release.writing.files import write_table
from indistinct.samples import generate_census, generate_patients

CENSUS = ["age", "sex", "race", "marital", "education", "country", "workclass", "occupation"]
WIDE = "the_day_on_which_the_person_was_admitted_to_the_clinic_for_the_first_time"


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A census, and patients with a column whose name is nearly as wide as a screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_table(generate_census(400, seed=1), "census.csv")
    patients = generate_patients(400, seed=1)
    write_table(
        patients.rename_columns([WIDE if n == "admitted" else n for n in patients.column_names]), "patients.csv"
    )


def commands() -> list[str]:
    census = f"--quasi {','.join(CENSUS)} --sensitive salary"
    few = f"--quasi age,sex,race --sensitive salary --insensitive {','.join(CENSUS[3:])}"
    patients = f"--identifier name --quasi age,sex,zipcode,{WIDE} --sensitive disease,cost"
    model = "--model k-anonymity:k=5 --model distinct-l-diversity:sensitive"
    kept = "-o p.csv --save-recoding r.json"
    metrics = "--metric loss --metric discernibility --metric average-class-size"
    return [
        "list",
        "inspect census.csv",
        "inspect patients.csv --show-values",
        "inspect patients.csv -o first.toml",
        "anonymize first.toml",
        f"anonymize census.csv {census} {model}=salary,l=2 -o census-out.csv",
        f"verify census-out.csv {census} {model}=salary,l=2 --original census.csv",
        f"measure census-out.csv {census} {model}=salary,l=2 --original census.csv",
        f"anonymize patients.csv {patients} {model}=disease,l=3 --suppression 0.1 --seed 1 {kept}",
        f"measure p.csv {patients} --original patients.csv",
        f"apply r.json patients.csv -o again.csv {model}=disease,l=2",
        f"anonymize patients.csv {patients} --algorithm slicing:l=3 -o sliced.csv",
        f"verify sliced.csv {patients} --algorithm slicing:l=3 --original patients.csv",
        f"measure sliced.csv {patients} --algorithm slicing:l=3 --original patients.csv",
        f"explore census.csv {few} --model k-anonymity:k=5 {metrics} --hierarchy age=intervals:5,10,20",
        f"anonymize census.csv {census} --model k-anonymity:k=4000 -o never.csv",
        "generate patients --rows 10 -o few.csv",
        "--help",
        "anonymize --help",
    ]


def test_every_line_fits_eighty_columns(tables: None, run) -> None:
    wide = {}
    for command in commands():
        ran = run(*command.split())
        assert ran.code in (0, 3), (command, ran.err)
        # A word without spaces, such as a column's name, is not broken in a sentence: it could not be copied.
        lines = [line for line in (ran.out + ran.err).splitlines() if len(line) > 80 and " " in line.strip()]
        if lines:
            wide[command] = lines
    assert wide == {}


def test_wide_names_are_cut_in_tables_and_numbers_never(tables: None, run) -> None:
    ran = run("inspect", "patients.csv")
    assert f"{WIDE[:20]}" in ran.out
    assert "…" in ran.out
    assert re.search(r"^cost +sensitive +number +400 ", ran.out, re.M)


def test_tables_fit_where_nobody_says_how_wide_the_screen_is(patients: Path, run) -> None:
    assert max(map(len, run("list").out.splitlines())) <= 80


def test_metrics_say_what_they_mean_and_which_way_is_good(patients: Path, roles: list[str], run) -> None:
    out = patients.with_name("out.csv")
    ran = run("anonymize", patients, *roles, "--model", "k-anonymity:k=5", "-o", out)
    for name, kind in METRICS.items():
        assert kind.meaning, name
        if name not in ("classification", "workload-error"):  # they need to be told of what
            better = "higher" if kind.goal == "max" else "lower"
            assert re.search(rf"^{name} +\S+( %)? +{better} +{re.escape(kind.meaning)}", ran.out, re.M), name
    listed = {entry["name"]: entry for entry in json.loads(run("list", "--json").out)["metrics"]}
    assert listed["precision"]["better"] == "higher"
    assert listed["loss"]["meaning"] == METRICS["loss"].meaning
    ran = run("anonymize", patients, *roles, "--algorithm", "anatomy:l=2", "-o", patients.with_name("a.csv"))
    for name, (_, meaning) in BUCKET_METRICS.items():
        assert re.search(rf"^{name} .*{re.escape(meaning)}", ran.out, re.M)


def test_the_summary_names_the_algorithm(patients: Path, roles: list[str], run) -> None:
    out, spec = patients.with_name("out.csv"), "mondrian:extent=region"
    ran = run("anonymize", patients, *roles, "--model", "k-anonymity:k=5", "--algorithm", spec, "-o", out)
    assert ran.out.startswith(f"{spec}: 300 rows in ")
    again = ["anonymize", patients, *roles, "--model", "k-anonymity:k=5", "-o", out, "--overwrite", "--json"]
    chosen = json.loads(run(*again).out)
    assert chosen["algorithm"] == chosen["explanation"]["algorithm"], "without a name it is the one that was chosen"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.9996, "99.96 %"),
        (0.9999, "99.99 %"),
        (0.999999, "> 99.99 %"),
        (0.0004, "0.04 %"),
        (1e-7, "< 0.01 %"),
        (0.5, "50 %"),
        (1748 / 2000, "87.4 %"),
    ],
)
def test_almost_all_is_not_all_and_few_are_not_none(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_share_of_nearly_all_rows_is_not_printed_as_all(tmp_path: Path, run) -> None:
    codes = [*range(4999), 1]
    write_table(pa.table({"code": pa.array(codes), "sex": ["a", "b"] * 2500}), tmp_path / "codes.csv")
    ran = run("inspect", tmp_path / "codes.csv", "-o", tmp_path / "policy.toml")
    assert "99.96 %" in ran.out
    assert "100 %" not in ran.out
    assert "99.96 % of the rows" in (tmp_path / "policy.toml").read_text()


def test_exit_code_130_is_documented(run) -> None:
    root = Path(__file__).parents[2]
    assert "130 interrupted" in " ".join(run("--help").out.split())
    assert "| 130 | interrupted |" in (root / "docs" / "cheat-sheet.md").read_text(encoding="utf-8")
    assert "| 130 |" in (root / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")


def test_verbose_says_what_each_stage_counts_and_stays_on_stderr(patients: Path, roles: list[str], run) -> None:
    given = ["anonymize", patients, *roles, "--model", "k-anonymity:k=5", "-o", patients.with_name("out.csv"), "--json"]
    ran = run(*given, "-v")
    assert ran.code == 0
    json.loads(ran.out)
    for line in ("open: opened 300 rows of 7 columns", "count: counted 300 rows", "verify: verified 300 rows"):
        assert line in ran.err
    assert "counted" not in run(*given, "--overwrite").err


def test_a_table_of_too_many_columns_goes_on_below_and_loses_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    headings = ["algorithm", *(f"measurement {number}" for number in range(12))]
    row = ("mondrian", *(f"{1_000_000 + number:,}" for number in range(12)))
    show(grid("", headings, [row], right=headings[1:]))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert all(f"{1_000_000 + number:,}" in out for number in range(12))
    assert out.count("mondrian") > 1


def test_wide_letters_count_as_two_columns() -> None:
    from rich.cells import cell_len

    from indistinct.cli.screen import _broken

    line = "  " + "昭和 年月日 が 不明 です、" * 20 + "end"
    broken = _broken(line, 40)
    assert max(map(cell_len, broken.split("\n"))) <= 40
    assert broken.split() == line.split()
    assert _broken("a word and another", 10) == "a word and\n  another"
    assert _broken("x" * 50, 10) == "x" * 50
    assert _broken("", 10) == ""
