"""`indistinct classify` and `indistinct distributions`: what a release is still good for, and bad input."""

import json
import sys

import pytest

from references.command_line import POLICY, ROLES

FAST = ["--classifiers", "naive-bayes", "--folds", "3"]


@pytest.fixture
def folder(tmp_path, patients):
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


@pytest.fixture
def released(folder, run):
    assert run("anonymize", folder / "policy.toml").code == 0
    return folder


# classify


def test_a_column_is_learned_by_a_policy(run, folder) -> None:
    ran = run("classify", folder / "policy.toml", "--target", "disease", *FAST, "--as", "sampled", "--seed", 3)
    assert ran.code == 0, ran.err
    assert "'disease' (sensitive, " in ran.out
    assert "300 rows in 3 folds, labels as sampled, seed 3" in ran.out
    assert "most frequent value" in ran.out
    assert "Nadeau and Bengio" in ran.out


def test_flags_give_the_same_as_a_policy(run, folder) -> None:
    how = ["--model", "k-anonymity:k=5", "--algorithm", "mondrian", "--text", "zipcode"]
    how += ["--hierarchy", "age=intervals:5,10,20", "--hierarchy", "zipcode=mask:right"]
    one = run("classify", folder / "policy.toml", "--target", "sex", *FAST, "--json")
    other = run("classify", folder / "patients.csv", *ROLES, *how, "--target", "sex", *FAST, "--json")
    assert (one.code, other.code) == (0, 0), one.err + other.err
    told = json.loads(one.out)
    assert told == json.loads(other.out)
    assert (told["role"], told["finished"], told["classification_metric"]) == ("quasi", False, None)
    assert {each["trained_on"] for each in told["scores"]} == {"original", "release", "without quasi-identifiers"}
    assert "note: the target is a quasi-identifier" in one.err


def test_a_finished_release_is_told_from_folds(run, released) -> None:
    given = ["--release", released / "release.csv", "--target", "disease", *FAST, "--json"]
    ran = run("classify", released / "policy.toml", *given)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["finished"]
    assert "the people that it is tested on are in the finished release" in ran.err


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (["--target", "name"], 1, "identifies a person"),
        (["--target", "diseas"], 1, "did you mean 'disease'?"),
        (["--target", "cost"], 1, "at most 100"),
        ([], 2, "the column to predict with --target"),
        (["--target", "disease", "--folds", "1"], 2, "`folds`"),
        (["--target", "disease", "--folds", "100"], 1, "fewer than 5 rows each"),
        (["--target", "disease", "--as", "middles"], 2, "`representation`"),
        (["--target", "disease", "--classifiers", "forest"], 2, "no classifier 'forest'"),
    ],
)
def test_what_cannot_be_learned_is_said(run, folder, given, code, words) -> None:
    ran = run("classify", folder / "policy.toml", *given)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err


def test_the_extra_is_named_before_anything_is_read(run, folder, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    ran = run("classify", folder / "nowhere.csv", *ROLES, "--model", "k-anonymity:k=2", "--target", "disease")
    assert ran.code == 1
    assert 'pip install "indistinct[ml]"' in ran.err


# distributions


def test_distributions_are_compared_and_drawn(run, released) -> None:
    chart = released / "map.svg"
    ran = run("distributions", released / "release.csv", "--policy", released / "policy.toml", "--chart", chart)
    assert ran.code == 0, ran.err
    assert "300 of 300 rows are published" in ran.out
    assert "Spearman" in ran.out
    picture = chart.read_text(encoding="utf-8")
    assert "total variation" in picture
    assert "<script" not in picture
    again = run("distributions", released / "release.csv", "--policy", released / "policy.toml", "--chart", chart)
    assert again.code == 1
    assert "--overwrite" in again.err


def test_distributions_as_json(run, released) -> None:
    given = [*ROLES, "--original", released / "patients.csv", "--text", "zipcode", "--json"]
    given += ["--hierarchy", "age=intervals:5,10,20", "--hierarchy", "zipcode=mask:right"]
    ran = run("distributions", released / "release.csv", *given)
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    columns = {each["column"]: each for each in told["columns"]}
    assert columns["disease"]["total_variation"] == 0
    assert columns["zipcode"]["wasserstein"] is None
    assert columns["age"]["wasserstein"] > 0
    assert len(told["pairs"]) == 15


def test_distributions_need_the_original(run, released) -> None:
    ran = run("distributions", released / "release.csv", *ROLES)
    assert ran.code == 2
    assert "--original" in ran.err
    other = released / "other.csv"
    text = (released / "patients.csv").read_text(encoding="utf-8").splitlines()
    other.write_text("\n".join(text[:40]) + "\n", encoding="utf-8")
    given = [*ROLES, "--original", other, "--text", "zipcode", "--hierarchy", "age=intervals:5,10,20"]
    ran = run("distributions", released / "release.csv", *given)
    assert ran.code == 1
    assert "column" in ran.err
