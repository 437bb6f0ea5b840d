"""Next month at the command line: unseen values, the budget, another input of a policy, and an earlier release."""

import json
import random
from pathlib import Path

import pytest


def write(path: Path, rows: list[tuple[object, ...]]) -> Path:
    path.write_text("\n".join(",".join(map(str, row)) for row in [("pid", "age", "zip", "d"), *rows]) + "\n")
    return path


def visits(seed: int, *, ages: tuple[int, int], zips: list[str], rows: int = 200) -> list[tuple[object, ...]]:
    draw = random.Random(seed)  # noqa: S311
    return [
        (f"p{draw.randrange(120)}", draw.randint(*ages), draw.choice(zips), draw.choice("abc")) for _ in range(rows)
    ]


ROLES = ["--person", "pid", "--quasi", "age,zip", "--sensitive", "d", "--text", "zip"]
MASKED = ["--hierarchy", "zip=mask:right"]


@pytest.fixture
def months(tmp_path: Path) -> tuple[Path, Path]:
    june = write(tmp_path / "june.csv", visits(1, ages=(20, 80), zips=["1011", "1012", "1023"]))
    july = write(tmp_path / "july.csv", visits(2, ages=(15, 99), zips=["1011", "1015", "1023"]))
    return june, july


def kept(run, june: Path, folder: Path, *flags: object, name: str = "r.json") -> Path:
    recoding = folder / name
    out = ["-o", folder / f"{name}.csv", "--save-recoding", recoding]
    made = run("anonymize", june, *ROLES, "--model", "k-anonymity:k=5", *flags, *out)
    assert made.code == 0, made.err
    return recoding


def test_levels_publish_values_that_nobody_had(months, run, tmp_path: Path) -> None:
    june, july = months
    flags = [*MASKED, "--hierarchy", "age=intervals:20,40", "--node", "1,2"]
    recoding = kept(run, june, tmp_path, *flags)
    ran = run("apply", recoding, july, "--text", "zip", "-o", tmp_path / "out.csv", "--suppression", "0.1")
    assert ran.code == 0, ran.err
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert {line.split(",")[1] for line in lines} == {"10**"}
    assert {"80-99", "0-19"} <= {line.split(",")[0] for line in lines}


def test_regions_are_open_at_the_ends(months, run, tmp_path: Path) -> None:
    june, july = months
    recoding = kept(run, june, tmp_path, "--hierarchy", "zip=suppression", "--algorithm", "mondrian:extent=region")
    ran = run("apply", recoding, july, "--text", "zip", "-o", tmp_path / "out.csv", "--suppression", "0.9", "--json")
    assert ran.code == 0, ran.err
    shown = {line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]}
    assert any(label.endswith("-]") for label in shown)
    assert any(label.startswith("[ .. ") for label in shown)


def test_what_nothing_covers_is_counted_and_dropped_within_the_budget(months, run, tmp_path: Path) -> None:
    june, july = months
    recoding = kept(run, june, tmp_path)
    apply = ["apply", recoding, july, "--text", "zip", "--model", "k-anonymity:k=2", "-o", tmp_path / "out.csv"]
    refused = run(*apply, "--json")
    assert refused.code == 1
    assert "column 'age' in" in refused.err
    assert "column 'zip' in" in refused.err
    assert "1015" not in refused.err
    hint = json.loads(refused.out)["error"]["hint"]
    share = hint.split("--suppression ")[1].split(")")[0]
    assert not (tmp_path / "out.csv").exists()
    less = run(*apply, "--suppression", str(float(share) - 0.02))
    assert less.code in (1, 4), less.err
    allowed = run(*apply, "--suppression", share, "--json")
    assert allowed.code == 0, allowed.err
    document = json.loads(allowed.out)
    assert document["holds"]
    assert any("does not cover" in warning for warning in document["warnings"])
    assert "1015" not in (tmp_path / "out.csv").read_text()


def test_classes_that_break_the_promise_are_told_and_dropped(tmp_path: Path, run) -> None:
    june = write(tmp_path / "june.csv", [(i, 20 + 10 * (i % 3), "1", "a") for i in range(30)])
    july = write(tmp_path / "july.csv", [(i, 20, "1", "a") for i in range(10)] + [(99, 30, "1", "a")] * 3)
    recoding = kept(run, june, tmp_path)
    apply = ["apply", recoding, july, "--text", "zip", "-o", tmp_path / "out.csv"]
    refused = run(*apply)
    assert refused.code == 4
    assert "1 of 2 classes violate it, with 3 of 13 rows" in refused.err
    assert "--suppression 0.1) drops 1 person" in refused.err
    assert "k-anonymity with k = 1" in refused.err
    assert "people were counted" not in refused.err
    allowed = run(*apply, "--suppression", "0.1", "--json")
    assert allowed.code == 0, allowed.err
    assert json.loads(allowed.out)["suppressed_rows"] == 3


def test_a_policy_reads_another_input(months, run, tmp_path: Path) -> None:
    june, july = months
    (tmp_path / "policy.toml").write_text(
        '[input]\npath = "june.csv"\ntext = ["zip"]\n\n[columns]\npid = "person"\nage = { role = "quasi" }\n'
        'zip = { role = "quasi" }\nd = { role = "sensitive" }\n\n[privacy]\nmodels = ["k-anonymity:k=5"]\n\n'
        '[algorithm]\nuse = "mondrian"\n\n[output]\npath = "release.csv"\n'
    )
    ran = run("anonymize", tmp_path / "policy.toml", "--input", july, "--output", tmp_path / "july-release.csv")
    assert ran.code == 0, ran.err
    assert not (tmp_path / "release.csv").exists()
    assert "1015" in (tmp_path / "july-release.csv").read_text()
    assert run("anonymize", july, "--input", june, *ROLES, "--model", "k-anonymity:k=5", "-o", "x.csv").code == 2
    replaced = run("anonymize", tmp_path / "policy.toml", "--input", july, "-o", july, "--overwrite")
    assert replaced.code == 1


def test_an_earlier_release_is_compared_with(months, run, tmp_path: Path) -> None:
    june, july = months
    first = kept(run, june, tmp_path)
    second = kept(run, july, tmp_path, name="july.json")
    apply = ["apply", second, july, "--text", "zip", "-o", tmp_path / "out.csv"]
    earlier = ["--previous", first, "--previous-input", june]
    refused = run(*apply, *earlier)
    assert refused.code == 4
    assert "share their history of classes with fewer than 5" in refused.err
    assert "--accept-overlap" in refused.err
    assert not (tmp_path / "out.csv").exists()
    accepted = run(*apply, *earlier, "--accept-overlap", "--json")
    assert accepted.code == 0, accepted.err
    certificate = json.loads(accepted.out)["certificate"]
    assert certificate["overlap"]["people_below"] > 0
    assert any("earlier release" in warning for warning in certificate["warnings"])
    again = ["anonymize", july, *ROLES, "--model", "k-anonymity:k=5", "-o", tmp_path / "new.csv", *earlier]
    assert run(*again).code == 4
    one = ["--previous", kept(run, june, tmp_path, "--node", "1,1", name="one.json"), "--previous-input", june]
    coarse = run(*again[:-4], *one, "--node", "1,1")
    assert coarse.code == 0, coarse.err
    assert "people are in the earlier release too" in coarse.out


def test_nobody_in_both_is_said(months, run, tmp_path: Path) -> None:
    june, july = months
    first = kept(run, june, tmp_path, "--node", "1,1")
    strangers = tmp_path / "strangers.csv"
    strangers.write_text(june.read_text().replace("\np", "\nx"))
    out = ["-o", tmp_path / "new.csv", "--node", "1,1"]
    ran = run(
        "anonymize",
        july,
        *ROLES,
        "--model",
        "k-anonymity:k=5",
        *out,
        "--previous",
        first,
        "--previous-input",
        strangers,
    )
    assert ran.code == 0, ran.err
    assert "no person is both in this table and in the earlier one" in ran.err


def test_the_earlier_table_is_read_as_it_was(months, run, tmp_path: Path) -> None:
    """The export changed its notation since: each table has its own."""
    june, july = months
    old = tmp_path / "old.csv"
    old.write_text(june.read_text().replace(",", ";"), encoding="utf-16")
    recoding = tmp_path / "old.json"
    made = run(
        "anonymize",
        old,
        *ROLES,
        "--encoding",
        "utf-16",
        "--delimiter",
        ";",
        "--node",
        "1,1",
        "--model",
        "k-anonymity:k=5",
        "-o",
        tmp_path / "old-release.csv",
        "--save-recoding",
        recoding,
    )
    assert made.code == 0, made.err
    ran = run(
        "anonymize",
        july,
        *ROLES,
        "--delimiter",
        ",",
        "--node",
        "1,1",
        "--model",
        "k-anonymity:k=5",
        "-o",
        tmp_path / "new.csv",
        "--previous",
        recoding,
        "--previous-input",
        old,
    )
    assert ran.code == 0, ran.err
    assert "people are in the earlier release too" in ran.out


def test_an_earlier_release_needs_its_recoding_and_its_table(months, run, tmp_path: Path) -> None:
    june, july = months
    first = kept(run, june, tmp_path)
    apply = ["apply", first, june, "--text", "zip", "-o", tmp_path / "out.csv"]
    for flags in (["--previous", first], ["--previous-input", june]):
        ran = run(*apply, *flags)
        assert ran.code == 2
        assert "missing" in ran.err
    release = run(*apply, "--previous", tmp_path / "r.json.csv", "--previous-input", june)
    assert release.code == 1
    assert "recoding of the earlier release" in release.err
    other = run(*apply, "--previous", first, "--previous-input", july)
    assert other.code == 1
    assert "earlier table" in other.err
    assert "1015" not in other.err


def test_people_must_be_known_in_both(months, run, tmp_path: Path) -> None:
    june, _ = months
    roles = ["--identifier", "pid", "--quasi", "age,zip", "--sensitive", "d", "--text", "zip"]
    out = ["-o", tmp_path / "a.csv", "--save-recoding", tmp_path / "nobody.json"]
    assert run("anonymize", june, *roles, "--model", "k-anonymity:k=5", *out).code == 0
    first = kept(run, june, tmp_path)
    earlier = ["--previous", tmp_path / "nobody.json", "--previous-input", june]
    ran = run("apply", first, june, "--text", "zip", "-o", tmp_path / "out.csv", *earlier)
    assert ran.code == 1
    assert "no column in the earlier release" in ran.err
    ran = run("apply", tmp_path / "nobody.json", june, "--text", "zip", "-o", tmp_path / "out.csv", *earlier)
    assert ran.code == 1
    assert "role person" in ran.err
    relaxed = kept(run, june, tmp_path, "--algorithm", "mondrian:relaxed=true", name="relaxed.json")
    earlier = ["--previous", relaxed, "--previous-input", june]
    ran = run("apply", first, june, "--text", "zip", "-o", tmp_path / "out.csv", *earlier)
    assert ran.code == 2
    assert "cannot be followed" in ran.err


def test_a_stray_text_does_not_turn_numbers_into_text(run, tmp_path: Path) -> None:
    """Sensitive numbers of the first table are numbers in the next one, or it is refused with the line."""
    rows = [(n, 20 + n % 3, "1", n) for n in range(30)]
    recoding = kept(run, write(tmp_path / "june.csv", rows), tmp_path)
    july = write(tmp_path / "july.csv", [*rows[:-1], (29, 22, "1", "SECRETWORD")])
    ran = run("apply", recoding, july, "-o", tmp_path / "out.csv")
    assert ran.code == 1
    assert "column 'd' was declared to have the type number, but 1 of 30 cells do not fit it, on line 31" in ran.err
    assert "SECRETWORD" not in ran.err
    empty = write(tmp_path / "empty.csv", [(*row[:3], "") for row in rows])
    assert run("apply", recoding, empty, "-o", tmp_path / "out.csv").code == 0
