"""A file as a hospital exports it, from the first look to next month: what is declared once is used everywhere."""

import json
import random
from datetime import date, timedelta
from pathlib import Path

import pytest

HIDDEN = "SECRETVALUE42"
ROLES = ["--identifier", "nr", "--quasi", "alter,plz,tag", "--sensitive", "icd,kosten"]
NOTATION = ["--decimal", ",", "--thousands", ".", "--dates", "%d.%m.%Y", "--missing", "alter=-99"]
MODEL = ["--model", "k-anonymity:k=3"]


def export(path: Path, *, seed: int = 1, rows: int = 120) -> Path:
    """Write visits in Latin-1 with semicolons, decimal commas, German dates and a mark for missing."""
    draw = random.Random(seed)  # noqa: S311 (no secret)
    lines = ["nr;alter;plz;tag;icd;kosten"]
    for number in range(rows):
        age = -99 if number % 20 == 7 else draw.randrange(20, 60)
        day = date(2024, 1, 1) + timedelta(days=draw.randrange(150))
        cost = f"{draw.randrange(1000, 9000)},{draw.randrange(100):02}"
        cost = f"{cost[0]}.{cost[1:]}"
        code = draw.choice(["E11.9", "I10", "J45.0", "Löß"])
        lines.append(f"{number};{age};0{draw.randrange(1000, 1009)};{day:%d.%m.%Y};{code};{cost}")
    path.write_bytes("\n".join(lines).encode("latin-1") + b"\n")
    return path


@pytest.fixture
def june(tmp_path: Path) -> Path:
    return export(tmp_path / "june.csv")


def test_undeclared_dates_are_refused_with_the_line_to_add(june: Path, run, tmp_path: Path) -> None:
    ran = run("anonymize", june, *ROLES, *MODEL, "-o", tmp_path / "out.csv")
    assert ran.code == 1
    assert "column 'tag' looks like dates" in ran.err
    assert 'dates = "%d.%m.%Y"' in ran.err
    assert "--dates %d.%m.%Y" in ran.err
    dated = run("anonymize", june, *ROLES, *MODEL, "--dates", "%d.%m.%Y", "-o", tmp_path / "out.csv")
    assert dated.code == 1
    assert "--decimal , --thousands ." in dated.err


def test_a_date_format_that_fits_no_cell(june: Path, run, tmp_path: Path) -> None:
    for form in ("%d/%m/%Y", "tag=%Y-%m-%d", "alter=%d.%m.%Y"):
        ran = run("anonymize", june, *ROLES, *MODEL, "--dates", form, "-o", tmp_path / "out.csv")
        assert ran.code == 1
        assert "fits no cell" in ran.err
        assert not (tmp_path / "out.csv").exists()


def test_a_date_format_that_fits_some_cells(june: Path, run, tmp_path: Path) -> None:
    lines = june.read_bytes().decode("latin-1").splitlines()
    lines[4] = lines[4].replace(lines[4].split(";")[3], HIDDEN)
    june.write_bytes("\n".join(lines).encode("latin-1"))
    ran = run("anonymize", june, *ROLES, *MODEL, *NOTATION, "-o", tmp_path / "out.csv")
    assert ran.code == 1
    assert "1 of 120 cells do not fit it, on line 5" in ran.err
    assert HIDDEN not in ran.err


def published(june: Path, run, tmp_path: Path, *flags: object) -> tuple[Path, Path]:
    release, recoding = tmp_path / "release.csv", tmp_path / "recoding.json"
    kept = ["-o", release, "--save-recoding", recoding]
    ran = run("anonymize", june, *ROLES, *MODEL, *NOTATION, *kept, *flags)
    assert ran.code == 0, ran.err
    return release, recoding


def test_flags_read_the_file_and_the_release_is_judged_with_them(june: Path, run, tmp_path: Path) -> None:
    release, _ = published(june, run, tmp_path)
    assert "[2024-" in release.read_text()
    asked = [*ROLES, *MODEL, "--model", "t-closeness:sensitive=kosten,t=1"]
    for original in ([], ["--original", june]):
        ran = run("verify", release, *asked, *(NOTATION if original else []), *original)
        assert ran.code == 0, ran.err
    ran = run("measure", release, *ROLES, *MODEL, *NOTATION, "--original", june, "--json")
    assert ran.code == 0, ran.err
    refused = run("verify", release, *asked, "--original", june)
    assert refused.code == 1
    assert "column 'kosten' looks like numbers" in refused.err


def test_apply_reads_as_the_first_file_was_read(june: Path, run, tmp_path: Path) -> None:
    release, recoding = published(june, run, tmp_path)
    again = tmp_path / "again.csv"
    ran = run("apply", recoding, june, "-o", again)
    assert ran.code == 0, ran.err
    assert sorted(again.read_text().splitlines()) == sorted(release.read_text().splitlines())
    stored = json.loads(recoding.read_text())["reading"]
    assert (stored["decimal"], stored["dates"], stored["missing_in"]) == (",", ["%d.%m.%Y"], {"alter": ["-99"]})
    other = tmp_path / "other.csv"
    text = june.read_bytes().decode("latin-1")
    other.write_text("\n".join(line.replace(".2024", "/2024").replace("/", ".", 0) for line in text.splitlines()))
    refused = run("apply", recoding, other, "-o", tmp_path / "other-out.csv")
    assert refused.code == 1
    assert "fits no cell" in refused.err
    given = run("apply", recoding, other, "-o", tmp_path / "other-out.csv", "--dates", "%d.%m/%Y")
    assert given.code == 0, given.err


def test_a_policy_keeps_what_was_declared(june: Path, run, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    ran = run("inspect", june, "-o", policy)
    assert ran.code == 0, ran.err
    assert "alter: -99 in 6 rows looks like a mark for missing" in ran.out
    text = policy.read_text()
    for line in ('decimal = ","', 'thousands = "."', 'dates = "%d.%m.%Y"', 'missing = ["", "-99"]', 'text = ["plz"]'):
        assert line in text
    text = text.replace(
        'kosten = { role = "quasi", hierarchy = { intervals = [1000, 5000, 10000] } }', 'kosten = "sensitive"'
    )
    policy.write_text(text)
    release = tmp_path / "june-release.csv"
    ran = run("anonymize", policy, "--save-recoding", tmp_path / "r.json")
    assert ran.code == 0, ran.err
    for command in (
        ("verify", release, "--policy", policy, "--original", june),
        ("verify", release, "--policy", policy),
        ("measure", release, "--policy", policy),
        ("measure", release, "--policy", policy, "--original", june),
        ("apply", tmp_path / "r.json", june, "-o", tmp_path / "again.csv"),
    ):
        ran = run(*command)
        assert ran.code == 0, ran.err


def test_tables_of_columns_in_a_policy(june: Path, run, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[input]\npath = "june.csv"\ndecimal = ","\nthousands = "."\ndates = { tag = "%d.%m.%Y" }\n'
        'missing = { "*" = [""], alter = "-99" }\ntypes = { plz = "text" }\n'
        '[columns]\nnr = "identifier"\nalter = "quasi"\nplz = "quasi"\ntag = "quasi"\nicd = "sensitive"\n'
        'kosten = "sensitive"\n[privacy]\nmodels = ["k-anonymity:k=3"]\n'
    )
    ran = run("anonymize", policy, "-o", tmp_path / "out.csv")
    assert ran.code == 0, ran.err
    assert "-99" not in (tmp_path / "out.csv").read_text()
    text = policy.read_text()
    for wrong, told in (
        ('dates = { tga = "%d.%m.%Y" }', "[input] dates: there is no column 'tga'"),
        ("dates = 7", "[input] dates: expected a text, a list of texts, or a table"),
        ('dates = "%d.%m"', "has no year"),
        ('dates = { tag = ["%d.%m.%Y", "%Y"] }', "must have one date format"),
    ):
        policy.write_text(text.replace('dates = { tag = "%d.%m.%Y" }', wrong))
        ran = run("anonymize", policy, "-o", tmp_path / "out.csv")
        assert ran.code == 1
        assert told in ran.err


def test_wrong_flags(june: Path, run, tmp_path: Path) -> None:
    for flags, told in (
        (["--decimal", ".", "--thousands", "."], "same mark"),
        (["--decimal", ";"], "same mark"),
        (["--type", "alter"], "COLUMN=KIND"),
        (["--type", "alter=colour"], "must be one of"),
        (["--dates", "nosuch=%d.%m.%Y"], "no column 'nosuch'"),
        (["--missing", "nosuch=?"], "no column 'nosuch'"),
    ):
        ran = run("anonymize", june, *ROLES, *MODEL, *flags, "-o", tmp_path / "out.csv")
        assert ran.code in (1, 2)
        assert told in ran.err


def test_a_mark_with_an_equals_sign(run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,code\n31,x\na=b,x\n33,y\n31,y\n33,y\n31,x\n")
    flags = ["--quasi", "age", "--insensitive", "code", "--model", "k-anonymity:k=1", "-o", tmp_path / "o.csv"]
    assert run("anonymize", path, *flags, "--missing", "*=a=b").code == 0
    assert "a=b" not in (tmp_path / "o.csv").read_text()


def test_a_file_without_names_is_refused_everywhere_and_not_shown(june: Path, run, tmp_path: Path) -> None:
    release, recoding = published(june, run, tmp_path)
    rows = june.read_bytes().decode("latin-1").splitlines()[1:]
    rows[0] = f"{HIDDEN};44;01003;31.01.2024;I10;1.234,50"
    bare = tmp_path / "bare.csv"
    bare.write_bytes("\n".join(rows).encode("latin-1"))
    out = tmp_path / "never.csv"
    policy = tmp_path / "p.toml"
    for command in (
        ("inspect", bare),
        ("inspect", bare, "-o", policy),
        ("anonymize", bare, *ROLES, *MODEL, *NOTATION, "-o", out),
        ("anonymize", bare, "--quasi", "alter", *MODEL, "-o", out),
        ("anonymize", bare, *ROLES, *MODEL, "--text", "plz", "-o", out),
        ("apply", recoding, bare, "-o", out),
        ("verify", bare, *ROLES, *MODEL),
        ("verify", release, *ROLES, *MODEL, "--original", bare),
        ("measure", release, *ROLES, *MODEL, "--original", bare),
    ):
        ran = run(*command)
        assert ran.code == 1, command
        assert "looks like data" in ran.err
        for secret in (HIDDEN, "01003", "31.01.2024", "1.234"):
            assert secret not in ran.err + ran.out
    assert not out.exists()
    assert not policy.exists()


def test_a_guessed_encoding_is_told_and_declared(run, tmp_path):
    path, out = tmp_path / "people.csv", tmp_path / "out.csv"
    lines = ["город,возраст", *(f"{('Москва', 'Пермь')[row % 2]},{20 + row % 3}" for row in range(24))]
    path.write_bytes("\n".join(lines).encode("cp1251") + b"\n")
    seen = run("inspect", path)
    assert "read as cp1252 (Western European), which looks wrong" in seen.err
    assert "cp1251" in seen.err
    assert "cp1251" in run("inspect", path, "--json").err
    quasi = ["--quasi", "возраст", "--sensitive", "город", "--model", "k-anonymity:k=3", "-o", out]
    ran = run("anonymize", path, *quasi, "--encoding", "cp1251")
    assert ran.code == 0, ran.err
    assert "UTF-8" not in ran.err
    assert "Москва" in out.read_text(encoding="utf-8")
    latin = tmp_path / "latin.csv"
    latin.write_bytes("\n".join(["ort,alter", *(f"Köln,{20 + row % 3}" for row in range(24))]).encode("cp1252"))
    ran = run("anonymize", latin, "--quasi", "alter", "--insensitive", "ort", *quasi[4:-1], tmp_path / "b.csv")
    assert ran.code == 0, ran.err
    assert "latin.csv is not UTF-8; it was read as cp1252" in ran.err


def test_lists_in_flags_follow_one_rule(run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = ["20,n/a,x", "-99,5,y", "21,7,x", '22,"1,5",y', "-98,8,x", "23,-1,y"]
    path.write_text("age,pay,last\n" + "\n".join(rows * 3) + "\n")
    flags = ["--quasi", "age,pay", "--sensitive", "last", "--model", "k-anonymity:k=2"]
    marks = ["--missing", 'n/a,age=-99,-98,pay=-1,"1,5"', "--type", "age=integer,pay=number"]
    ran = run(
        "anonymize", path, *flags, *marks, "--json", "-o", tmp_path / "out.csv", "--save-recoding", tmp_path / "r"
    )
    assert ran.code == 0, ran.err
    stored = json.loads((tmp_path / "r").read_text())["reading"]
    assert stored["missing"] == ["", "n/a"]
    assert stored["missing_in"] == {"age": ["-99", "-98"], "pay": ["-1", "1,5"]}
    assert stored["types"]["pay"] == "number"
    empty = run("anonymize", path, *flags, "--missing", ",")
    assert (empty.code, "in quotes" in empty.err) == (2, True)


def test_a_title_above_the_names(run, tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out.csv"
    path.write_text(f"{HIDDEN} 2024\nname;age\n" + "".join(f"{HIDDEN}{row};{20 + row}\n" for row in range(8)))
    flags = ["--identifier", "name", "--quasi", "age", "--model", "k-anonymity:k=2", "-o", out]
    ran = run("anonymize", path, *flags)
    assert (ran.code, out.exists(), HIDDEN in ran.err) == (1, False, False)
    assert "--skip-rows 1" in ran.err
    for engine in ("memory", "duckdb"):
        ran = run("anonymize", path, *flags, "--skip-rows", "1", "--engine", engine, "--overwrite")
        assert ran.code == 0, ran.err
        assert HIDDEN not in out.read_text()
    checked = run("measure", out, "--original", path, "--skip-rows", "1", *flags[:4])
    assert checked.code == 0, checked.err
    policy = tmp_path / "policy.toml"
    assert run("inspect", path, "--skip-rows", "1", "-o", policy).code == 0
    assert "skip_rows = 1" in policy.read_text()
