"""`indistinct attack`: one attack, all attacks, and bad input."""

import json

import pyarrow as pa
import pyarrow.csv
import pytest

from references.command_line import POLICY, ROLES


@pytest.fixture
def folder(tmp_path, patients, run):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    assert run("anonymize", tmp_path / "policy.toml").code == 0
    return tmp_path


def test_one_attack_says_what_it_found(run, folder) -> None:
    ran = run("attack", "record-linkage:errors=0.05", folder / "release.csv", "--policy", folder / "policy.toml")
    assert ran.code == 0, ran.err
    assert "record-linkage finds nothing. " in ran.out
    assert "0 of 300 rows" in ran.out


def test_flags_and_a_register_instead_of_a_policy(run, folder) -> None:
    """The register has some of the columns, and names that the original knows."""
    patients = pa.csv.read_csv(folder / "patients.csv")
    pa.csv.write_csv(patients.select(["name", "age", "zipcode"]).slice(0, 50), folder / "register.csv")
    given = ["--original", folder / "patients.csv", *ROLES, "--text", "zipcode"]
    before = run(
        "attack", "record-linkage", folder / "patients.csv", *given, "--external", folder / "register.csv", "--json"
    )
    after = run(
        "attack", "record-linkage", folder / "release.csv", *given, "--external", folder / "register.csv", "--json"
    )
    assert (before.code, after.code) == (0, 0), before.err + after.err
    told = json.loads(before.out), json.loads(after.out)
    assert [each["attempts"] for each in told] == [50, 50]
    assert told[0]["successes"] > 20
    assert told[1]["successes"] == 0
    assert told[0]["details"]["register"] == "names"


def test_all_attacks_in_one_table(run, folder) -> None:
    ran = run("attack", "all", folder / "release.csv", "--policy", folder / "policy.toml", "--seed", 1)
    assert ran.code == 0, ran.err
    assert "Attacks that do not apply:" in ran.out
    assert "membership: it needs a table of people of the same kind who are not in the original" in ran.out
    assert "To defend: " in ran.out
    lines = ran.out.splitlines()
    first = lines[1 + next(index for index, line in enumerate(lines) if line.startswith("───"))].split()[0]
    assert f"{first} beats chance. " in ran.out
    patients = pa.csv.read_csv(folder / "patients.csv")
    assert not any(value in ran.out for name in ("name", "disease") for value in set(patients[name].to_pylist()))


def test_all_attacks_in_no_time(run, folder) -> None:
    given = ["attack", "all", folder / "release.csv", "--policy", folder / "policy.toml", "--seconds", "1e-9"]
    ran = run(*given)
    assert ran.code == 0
    assert "Left out for lack of time (--seconds): record-linkage" in ran.out
    told = json.loads(run(*given, "--json").out)
    assert "record-linkage" in told["left_out"]
    assert (told["outcomes"], told["succeeds"]) == ([], False)


def test_one_attack_may_be_limited_in_time(run, folder) -> None:
    ran = run("attack", "homogeneity", folder / "release.csv", "--policy", folder / "policy.toml", "--seconds", "60")
    assert ran.code == 0, ran.err


def test_an_earlier_release_and_a_control(run, folder) -> None:
    policy = folder / "policy.toml"
    earlier = ["--earlier", folder / "release.csv", "--earlier-original", folder / "patients.csv"]
    ran = run("attack", "intersection", folder / "release.csv", "--policy", policy, *earlier, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["details"]["below_k"] == 0
    assert run("generate", "patients", "--rows", 200, "--seed", 9, "-o", folder / "others.csv").code == 0
    ran = run("attack", "membership", folder / "release.csv", "--policy", policy, "--control", folder / "others.csv")
    assert ran.code == 0, ran.err
    assert "of 200 pairs" in ran.out


def test_a_register_need_not_have_the_notations_of_the_original(run, tmp_path) -> None:
    people = [f"n{row};{20 + row % 40};{1 + row % 28:02}.03.1980;{row},5" for row in range(100)]
    (tmp_path / "original.csv").write_text("\n".join(["name;age;born;cost", *people]), encoding="utf-8")
    (tmp_path / "register.csv").write_text(
        "\n".join(["name;age", *(f"n{row};{20 + row}" for row in range(9))]), "utf-8"
    )
    given = [
        "--identifier",
        "name",
        "--quasi",
        "age,born",
        "--sensitive",
        "cost",
        "--decimal",
        ",",
        "--dates",
        "%d.%m.%Y",
    ]
    assert (
        run("anonymize", tmp_path / "original.csv", *given, "--model", "k-anonymity:k=4", "-o", tmp_path / "r.csv").code
        == 0
    )
    known = ["--original", tmp_path / "original.csv", "--external", tmp_path / "register.csv"]
    ran = run("attack", "record-linkage", tmp_path / "r.csv", *known, *given)
    assert ran.code == 0, ran.err
    assert "for 0 of 9 people" in ran.out


def test_attacks_are_listed(run) -> None:
    told = json.loads(run("list", "--json").out)
    assert {"name": "record-linkage", "parameters": {"errors": "0.0"}} in told["attacks"]
    assert "predictable-seed" in run("list").out


BAD = {
    "misspelt": (["homogenity", "release.csv", "--policy", "policy.toml"], 2, "did you mean 'homogeneity'?"),
    "no original": (["record-linkage", "release.csv", *ROLES], 2, "add --original FILE, the table as it was"),
    "no overlap": (
        ["record-linkage", "release.csv", "--policy", "policy.toml", "--external", "strange.csv"],
        1,
        "none of the quasi-identifiers",
    ),
    "no overlap, all": (
        ["all", "release.csv", "--policy", "policy.toml", "--external", "strange.csv"],
        1,
        "none of the quasi-identifiers",
    ),
    "another original": (
        ["homogeneity", "release.csv", "--policy", "policy.toml", "--original", "half.csv"],
        1,
        "the original does not contain the release",
    ),
    "no release": (["homogeneity", "absent.csv", "--policy", "policy.toml"], 1, "absent.csv"),
    "no control file": (
        ["membership", "release.csv", "--policy", "policy.toml", "--control", "absent.csv"],
        1,
        "absent.csv",
    ),
    "needs more": (["membership", "release.csv", "--policy", "policy.toml"], 2, "--control"),
    "too few seconds of one": (
        ["homogeneity", "release.csv", "--policy", "policy.toml", "--seconds", "1e-9"],
        2,
        "was not through after 1e-09 seconds",
    ),
    "header only": (["homogeneity", "header.csv", "--policy", "policy.toml"], 1, "the table has no rows"),
    "no seconds": (["all", "release.csv", "--policy", "policy.toml", "--seconds", "0"], 2, "above 0"),
    "bad parameter": (["record-linkage:errors=x", "release.csv", "--policy", "policy.toml"], 2, "must be a number"),
}


@pytest.mark.parametrize(("argv", "code", "words"), BAD.values(), ids=BAD)
def test_bad_input(argv, code, words, run, folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "strange.csv").write_text("who,what\na,b\n", encoding="utf-8")
    pa.csv.write_csv(pa.csv.read_csv(folder / "patients.csv").slice(0, 100), folder / "half.csv")
    (folder / "header.csv").write_text((folder / "release.csv").read_text("utf-8").partition("\n")[0] + "\n", "utf-8")
    ran = run("attack", *argv)
    assert ran.code == code, ran.err
    assert words in ran.err
    assert ran.out == ""
    told = run("attack", *argv, "--json")
    assert told.code == code
    assert json.loads(told.out)["error"]["message"]
