"""`indistinct scan`: exit codes, JSON, policies and bad input."""

import json

import pandas as pd
import pytest

POLICY = """
[input]
path = "patients.csv"

[columns]
name = "identifier"
age = { role = "quasi", hierarchy = { intervals = [10, 50] } }
sex = "quasi"
zipcode = { role = "quasi", hierarchy = { mask = "right" } }
admitted = { role = "quasi", hierarchy = { dates = ["month", "year"] } }
disease = "sensitive"
cost = "insensitive"

[privacy]
models = ["k-anonymity:k=5"]
suppression = 0.05

[algorithm]
use = "optimal"

[output]
path = "release.csv"
"""


@pytest.fixture
def policy(patients):
    path = patients.parent / "policy.toml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def release(run, policy):
    path = policy.parent / "release.parquet"
    assert run("anonymize", policy, "-o", path).code == 0
    return path


def test_a_release_of_ours_is_clean(run, release, policy, patients):
    ran = run("scan", release, "--policy", policy, "--original", patients)
    assert ran.code == 0
    assert "no leak found" in ran.out
    assert "Not checked" in ran.out


def test_an_index_is_a_leak(run, release, policy, patients, tmp_path):
    pd.read_parquet(release).sample(frac=1, random_state=1).to_csv(tmp_path / "index.csv")
    ran = run("scan", tmp_path / "index.csv", "--policy", policy, "--original", patients, "--json")
    assert ran.code == 4
    told = json.loads(ran.out)
    assert not told["clean"]
    assert {"check", "severity", "place", "count", "sentence", "remedy"} == set(told["findings"][0])
    assert told["findings"][0]["check"] == "invented-columns"
    assert "row-order" in told["checked"]
    assert told["file"].endswith("index.csv")


def test_roles_come_from_flags_too(run, patients, roles):
    ran = run("scan", patients, *roles)
    assert ran.code == 4
    assert "column 'name' points at people" in ran.out
    assert "LEAK" in ran.out


def test_nothing_but_the_file_is_needed(run, release):
    ran = run("scan", release, "--json")
    assert ran.code == 0
    told = json.loads(ran.out)
    assert any(each["reason"] == "the original is not given" for each in told["not_checked"])


def test_no_value_of_the_table_is_told(run, patients, roles):
    names = pd.read_csv(patients)["name"]
    said = run("scan", patients, *roles, "--original", patients)
    assert not any(name in said.out + said.err for name in names)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nowhere.csv"], "there is no file"),
        (["locked.parquet"], "is encrypted"),
        (["patients.csv", "--original", "nowhere.csv"], "there is no file"),
        (["patients.csv", "--policy", "policy.toml", "--quasi", "age"], "sets what --quasi would set"),
    ],
)
def test_bad_input(run, patients, policy, argv, words, monkeypatch):
    monkeypatch.chdir(patients.parent)
    (patients.parent / "locked.parquet").write_bytes(b"PARE1234PARE")
    ran = run("scan", *argv)
    assert ran.code in (1, 2)
    assert words in ran.err
    assert ran.out == ""


def test_a_pickle_says_that_its_cells_were_not_read(run, release, patients, tmp_path):
    pd.read_parquet(release).to_pickle(tmp_path / "release.pkl")
    ran = run("scan", tmp_path / "release.pkl")
    assert ran.code == 1
    assert "NOT SCANNED; not read: the cells" in ran.out
    assert "no leak found" not in ran.out
    told = json.loads(run("scan", tmp_path / "release.pkl", "--json").out)
    assert (told["cells_read"], told["clean"], told["verdict"]) == (False, False, "not scanned")
    assert "NOT SCANNED" not in run("scan", release).out


def test_an_original_of_something_else_is_noted(run, release, policy, patients, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("name,age,sex,zipcode,admitted,disease,cost\n" + "A,200,x,00000,1700-01-01,none,-1\n" * 400)
    flags = ["--original", other]
    for asked in (flags, [*flags, "--policy", policy]):
        ran = run("scan", release, *asked)
        assert "note: this does not look like the original of this file" in ran.out, ran.err
        assert "does not look like" not in run("scan", release, *asked, "--original", patients).out
    other.write_text("first,second\n1,2\n")
    assert "it has none of the published columns" in run("scan", release, *flags).out


def test_a_transformed_column_is_compared_as_it_is_published(run, tmp_path):
    """Rounded costs are not those of the original: without --transform it looks like another one."""
    rows = [f"{20 + i % 3},{'ab'[i % 2]},{1001 + 7 * i}" for i in range(60)]
    people, out = tmp_path / "people.csv", tmp_path / "out.csv"
    people.write_text("age,sex,cost\n" + "\n".join(rows) + "\n")
    roles = ("--quasi", "age,sex", "--insensitive", "cost")
    change = ("--transform", "cost=round:1000")
    made = run("anonymize", people, *roles, *change, "--model", "k-anonymity:k=3", "-o", out)
    assert made.code == 0, made.err
    other = "does not look like the original"
    plain = run("scan", out, "--original", people, *roles)
    told = run("scan", out, "--original", people, *roles, *change)
    assert (other in plain.out, other in told.out) == (True, False)
    assert told.code == 0


def test_a_raw_table_with_names_leaks_without_a_policy(run, patients):
    ran = run("scan", patients)
    assert ran.code == 4
    assert "column 'name' points at people" in ran.out
    assert "suggested by its inspection" in ran.out


def test_suspicions_fail_only_where_that_is_asked_for(run, release, tmp_path):
    assert run("scan", release, "--fail-on", "leak").code == 0
    frame = pd.read_parquet(release).drop(columns="cost").sample(frac=1, random_state=1)
    frame.to_csv(tmp_path / "sound.csv", index=False)
    assert run("scan", tmp_path / "sound.csv", "--fail-on", "suspicion").code == 0
    frame.assign(disease="=1+1").to_csv(tmp_path / "formula.csv", index=False)
    assert run("scan", tmp_path / "formula.csv").code == 0
    ran = run("scan", tmp_path / "formula.csv", "--fail-on", "suspicion")
    assert ran.code == 4
    assert "no leak found, 1 suspicion" in ran.out
    assert run("scan", tmp_path / "formula.csv", "--fail-on", "note").code == 2
