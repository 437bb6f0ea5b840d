"""Releases in buckets at the command line: published, read back, verified, measured, and every way to get it wrong."""

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

POLICY = """
[input]
path = "patients.csv"

[columns]
name     = "identifier"
age      = {{ role = "quasi", hierarchy = {{ intervals = [5, 10, 20] }} }}
sex      = "quasi"
zipcode  = {{ role = "quasi", hierarchy = {{ mask = "right" }} }}
admitted = "quasi"
disease  = "sensitive"
cost     = "sensitive"
{privacy}
[algorithm]
use = "{use}"

[output]
path = "{output}"
"""
MODELS = '[privacy]\nmodels = ["k-anonymity:k=5", "distinct-l-diversity:sensitive=disease,l=3"]\n'
KNOWN = ["age", "sex", "zipcode", "admitted"]


@pytest.fixture
def folder(tmp_path: Path, run) -> Path:
    assert (
        run("generate", "patients", "--rows", "2000", "--seed", "2026", "-o", str(tmp_path / "patients.csv")).code == 0
    )
    return tmp_path


def policy(folder: Path, use: str, *, privacy: str = "", output: str = "release.csv") -> str:
    path = folder / "policy.toml"
    path.write_text(POLICY.format(use=use, privacy=privacy, output=output), encoding="utf-8")
    return str(path)


def original(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "patients.csv", dtype=str, keep_default_na=False)


def same_rows(mine: pd.DataFrame, theirs: pd.DataFrame, names: list[str]) -> bool:
    first, second = (frame[names].sort_values(names).reset_index(drop=True) for frame in (mine, theirs))
    return first.equals(second)


@pytest.mark.parametrize("privacy", ["", MODELS])
@pytest.mark.parametrize("use", ["slicing:l=5", "slicing:l=5,try_all_dims=true", "anatomy:l=5,form=permuted"])
def test_one_table_is_published_and_understood(folder, run, use, privacy):
    job = policy(folder, use, privacy=privacy)
    made = run("anonymize", job, "--json")
    assert made.code == 0, made.err
    document = json.loads(made.out)
    columns = document["certificate"]["columns"]
    frame = pd.read_csv(folder / "release.csv", dtype=str, keep_default_na=False)
    assert list(frame.columns) == ["bucket", *(name for names in columns for name in names)]
    assert frame["bucket"].nunique() == document["classes"]
    for names in columns:
        assert same_rows(frame, original(folder), names)
    assert frame.groupby("bucket")["disease"].agg(lambda s: s.value_counts(normalize=True).max()).max() <= 0.2
    release = str(folder / "release.csv")
    for more in ([], ["--original", str(folder / "patients.csv")]):
        ran = run("verify", release, "--policy", job, *more, "--json")
        assert ran.code == 0, ran.err + ran.out
        checked = [verdict["model"] for verdict in json.loads(ran.out)["models"]]
        assert "l-diverse-links:l=5,sensitive=disease" in checked
        assert ("columns-preserved" in checked) == bool(more)
        assert ("k-anonymity:k=5" in checked) == bool(privacy)
    measured = json.loads(run("measure", release, "--policy", job, "--json").out)
    assert measured["metrics"]["buckets"] == document["classes"]
    assert measured["membership"]["all_attributes"]["originals"] == 2000
    assert measured["membership"]["all_attributes"]["fake"] > 0


def test_anatomy_publishes_two_tables(folder, run):
    job = policy(folder, "anatomy:l=5")
    made = json.loads(run("anonymize", job, "--json").out)
    assert made["other_outputs"] == [str(folder / "release.sensitive.csv")]
    known = pd.read_csv(folder / "release.csv", dtype=str, keep_default_na=False)
    values = pd.read_csv(folder / "release.sensitive.csv", dtype={"cost": str})
    assert list(known.columns) == ["bucket", *KNOWN]
    assert list(values.columns) == ["bucket", "disease", "cost", "count"]
    assert same_rows(known, original(folder), KNOWN)
    assert values["count"].sum() == 2000
    assert (values.groupby("bucket")["disease"].nunique() == values.groupby("bucket")["count"].sum()).all()
    assert set(made["certificate"]["other_digests"]) == {"sensitive"}
    ran = run("verify", str(folder / "release.csv"), "--policy", job, "--json")
    assert ran.code == 0
    assert not any(verdict["needs_original"] for verdict in json.loads(ran.out)["models"])
    quasi = json.loads(run("measure", str(folder / "release.csv"), "--policy", job, "--json").out)["membership"]
    assert quasi["without_sensitive_ones"]["fake"] == 0, "anatomy hides nobody's membership"


def test_multisets_are_published_under_the_schemas_columns(folder, run):
    job = policy(folder, "multiset:l=3", output="release.parquet")
    assert run("anonymize", job).code == 0
    frame = pd.read_parquet(folder / "release.parquet")
    assert list(frame.columns) == [*KNOWN, "disease", "cost"]
    assert frame["sex"].str.contains(":").all()
    assert run("verify", str(folder / "release.parquet"), "--policy", job).code == 0
    assert run("measure", str(folder / "release.parquet"), "--policy", job).code == 0


def test_flags_do_without_a_model(folder, run):
    roles = ["--identifier", "name", "--quasi", ",".join(KNOWN), "--sensitive", "disease", "--insensitive", "cost"]
    release = str(folder / "out.csv")
    made = run("anonymize", str(folder / "patients.csv"), *roles, "--algorithm", "slicing:l=5", "-o", release)
    assert made.code == 0, made.err
    assert "Inside a bucket every column has an order of its own" in made.out
    ran = run("verify", release, *roles, "--algorithm", "slicing:l=5")
    assert ran.code == 0
    assert run("verify", release, *roles, "--algorithm", "slicing:l=500").code == 4


def test_the_columns_must_be_known(folder, run):
    job = policy(folder, "slicing:l=5")
    run("anonymize", job)
    (folder / "release.csv.certificate.json").unlink()
    ran = run("verify", str(folder / "release.csv"), "--policy", job)
    assert ran.code == 2
    assert "columns of the release are not known" in ran.err


def test_a_tampered_release_does_not_hold(folder, run):
    job = policy(folder, "anatomy:l=5,form=permuted")
    run("anonymize", job)
    path = folder / "release.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    frame.loc[frame["bucket"] == frame["bucket"].iloc[0], "disease"] = frame["disease"].iloc[0]
    frame.to_csv(path, index=False)
    ran = run("verify", str(path), "--policy", job)
    assert ran.code == 4
    assert "is NOT satisfied" in ran.out


def test_an_unpermuted_table_does_not_hold(folder, run):
    """The original with a bucket column is diverse in every bucket, and links everybody."""
    job = policy(folder, "slicing:l=5")
    run("anonymize", job)
    path = folder / "release.csv"
    columns = list(pd.read_csv(path, nrows=0).columns)
    original(folder).assign(bucket="1")[columns].to_csv(path, index=False)
    ran = run("verify", str(path), "--policy", job, "--json")
    assert ran.code == 4
    assert [v["model"] for v in json.loads(ran.out)["models"] if not v["holds"]] == ["own-certificate"]
    seal = Path(f"{path}.certificate.json")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    seal.write_text(json.dumps({**json.loads(seal.read_text()), "output_digest": digest}))
    assert run("verify", str(path), "--policy", job).code == 0, "the file alone does not show it"
    ran = run("verify", str(path), "--policy", job, "--original", str(folder / "patients.csv"), "--json")
    assert ran.code == 4
    assert [v["model"] for v in json.loads(ran.out)["models"] if not v["holds"]] == ["links-broken"]


def test_a_seed_is_warned_of(folder, run):
    made = json.loads(run("anonymize", policy(folder, "slicing:l=5"), "--seed", "1", "--json").out)
    assert made["certificate"]["seeded"]
    assert any("link every row again" in warning for warning in made["certificate"]["warnings"])


def test_verify_warns_of_a_seed_that_the_certificate_tells(folder, run):
    job = policy(folder, "slicing:l=5")
    run("anonymize", job, "--seed", "1")
    ran = run("verify", str(folder / "release.csv"), "--policy", job, "--json")
    assert ran.code == 0
    assert any("fixed seed" in warning for warning in json.loads(ran.out)["warnings"])


def test_a_size_is_promised_as_k_anonymity(folder, run):
    job = policy(folder, "slicing:l=5,size=10,try_all_dims=true")
    assert run("anonymize", job).code == 0
    ran = run("verify", str(folder / "release.csv"), "--policy", job, "--json")
    assert ran.code == 0, ran.err
    assert "k-anonymity:k=10" in [verdict["model"] for verdict in json.loads(ran.out)["models"]]
    more = run("verify", str(folder / "release.csv"), "--policy", job, "--model", "k-anonymity:k=2000")
    assert more.code == 4


def test_links_are_judged_in_classes_too(folder, run):
    job = policy(folder, "mondrian", privacy='[privacy]\nmodels = ["l-diverse-links:l=2,sensitive=disease"]\n')
    made = run("anonymize", job, "--json")
    assert made.code == 0, made.err
    frame = pd.read_csv(folder / "release.csv", dtype=str, keep_default_na=False)
    assert frame.groupby(KNOWN)["disease"].agg(lambda s: s.value_counts(normalize=True).max()).max() <= 0.5
    assert run("verify", str(folder / "release.csv"), "--policy", job).code == 0
    asked = ["--model", "l-diverse-links:l=9,sensitive=disease"]
    assert run("verify", str(folder / "release.csv"), "--policy", job, *asked).code == 4


def test_a_metric_that_cannot_be_measured_leaves_a_verified_release(folder, run):
    job = Path(policy(folder, "mondrian", privacy=MODELS))
    job.write_text(job.read_text() + '\n[measure]\nmetrics = ["ncp:importance=nobody=2"]\n')
    ran = run("anonymize", str(job))
    assert ran.code != 0
    assert "written and verified, but it cannot be measured" in ran.err
    assert run("verify", str(folder / "release.csv"), "--policy", str(job)).code == 0


def test_two_different_l_are_an_error(folder, run):
    ran = run("anonymize", policy(folder, "slicing:l=5", privacy='[privacy]\nmodels = ["l-diverse-links:l=3"]\n'))
    assert (ran.code, "l = 3" in ran.err, "l = 5" in ran.err) == (2, True, True)


def test_a_chart_is_drawn(folder, run):
    job = policy(folder, "slicing:l=5,try_all_dims=true")
    run("anonymize", job)
    chart = folder / "matching.svg"
    assert run("measure", str(folder / "release.csv"), "--policy", job, "--chart", str(chart)).code == 0
    assert chart.read_text(encoding="utf-8").startswith("<svg")
    again = run("measure", str(folder / "release.csv"), "--policy", job, "--chart", str(chart))
    assert again.code == 1
    assert "--overwrite" in again.err


def test_a_stored_recoding_publishes_its_own_table_again(folder, run):
    job = policy(folder, "anatomy:l=5")
    stored = str(folder / "recoding.json")
    assert run("anonymize", job, "--save-recoding", stored).code == 0
    again = run("apply", stored, str(folder / "patients.csv"), "-o", str(folder / "again.csv"))
    assert again.code == 0, again.err
    assert (folder / "again.sensitive.csv").exists()
    run("generate", "patients", "--rows", "2000", "--seed", "7", "-o", str(folder / "other.csv"))
    refused = run("apply", stored, str(folder / "other.csv"), "-o", str(folder / "no.csv"))
    assert refused.code == 1
    assert not list(folder.glob("no*"))


BAD = {
    "one column": ("slicing:l=2,columns=1", 2, "at least 2"),
    "l above eligibility": ("anatomy:l=9", 3, "hint: the largest l that this table allows is "),
    "l above what columns allow": ("slicing:l=9", 3, "hint: the largest l that this table allows is "),
    "attribute missing": ("slicing:l=2,columns=age+sex|zipcode+disease|cost", 2, "missing: 'admitted'"),
    "attribute twice": ("slicing:l=2,columns=age+sex|zipcode+disease|cost+age|admitted", 2, "repeated: 'age'"),
    "attribute misspelt": ("slicing:l=2,columns=ages+sex|zipcode+disease|cost|admitted", 2, "did you mean 'age'"),
    "no l": ("slicing", 2, "needs l"),
    "l of zero": ("anatomy:l=0", 1, "at least 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(folder, run, name):
    use, code, message = BAD[name]
    job = policy(folder, use)
    before = sorted(folder.iterdir())
    ran = run("anonymize", job)
    assert message in ran.err
    assert "\nhint: " in ran.err
    assert "Traceback" not in ran.err
    assert ran.code == code
    assert sorted(folder.iterdir()) == before


def test_an_existing_table_of_sensitive_values_is_not_replaced(folder, run):
    (folder / "release.sensitive.csv").write_text("precious\n")
    ran = run("anonymize", policy(folder, "anatomy:l=5"))
    assert ran.code == 1
    assert (folder / "release.sensitive.csv").read_text() == "precious\n"
    assert not (folder / "release.csv").exists()


def test_a_certificate_alone_changes_no_verdict(folder, run):
    """Whoever can write a certificate must not be able to have a table of raw rows judged by its buckets."""
    path = folder / "raw.csv"
    original(folder).assign(bucket="1").drop(columns=["name"]).to_csv(path, index=False)
    run("anonymize", policy(folder, "slicing:l=5"))
    forged = {
        **json.loads((folder / "release.csv.certificate.json").read_text()),
        "form": "sliced",
        "columns": [KNOWN, ["disease"], ["cost"]],
        "generalized": ["age"],
    }
    Path(f"{path}.certificate.json").write_text(json.dumps(forged))
    roles = ["--quasi", ",".join(KNOWN), "--sensitive", "disease,cost"]
    ran = run("verify", str(path), *roles, "--model", "k-anonymity:k=5", "--original", str(folder / "patients.csv"))
    assert ran.code == 4
    assert "name the algorithm" in ran.err
    named = [*roles, "--algorithm", "slicing:l=5", "--original", str(folder / "patients.csv")]
    assert run("verify", str(path), *named).code == 4, "what a certificate calls generalized must be the algorithm's"


@pytest.mark.parametrize(
    "edit", [{"columns": 5}, {"columns": [1]}, {"columns": []}, {"verdicts": None, "generalized": 5}]
)
def test_an_edited_certificate_is_an_error(folder, run, edit):
    job = policy(folder, "slicing:l=5")
    run("anonymize", job)
    path = folder / "release.csv.certificate.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **edit}))
    ran = run("verify", str(folder / "release.csv"), "--policy", job)
    assert ran.code in (1, 2)
    assert "unexpected" not in ran.err


def test_an_original_without_a_published_column_is_an_error(folder, run):
    job = policy(folder, "anatomy:l=5")
    run("anonymize", job)
    original(folder).drop(columns=["sex"]).to_csv(folder / "less.csv", index=False)
    for command in ("verify", "measure"):
        ran = run(command, str(folder / "release.csv"), "--policy", job, "--original", str(folder / "less.csv"))
        assert ran.code == 1
        assert "'sex'" in ran.err


def test_counts_that_do_not_add_up_are_an_error(folder, run):
    job = policy(folder, "anatomy:l=5")
    run("anonymize", job)
    path = folder / "release.sensitive.csv"
    values = pd.read_csv(path)
    values.loc[0, "count"] = 10**12
    values.to_csv(path, index=False)
    ran = run("verify", str(folder / "release.csv"), "--policy", job)
    assert ran.code == 1
    assert "counts of sensitive values" in ran.err


def test_an_identifier_beside_sensitive_values_does_not_hold(folder, run):
    job = policy(folder, "anatomy:l=5")
    run("anonymize", job)
    path = folder / "release.sensitive.csv"
    values = pd.read_csv(path)
    values.assign(name=[f"person {row}" for row in range(len(values))]).to_csv(path, index=False)
    ran = run("verify", str(folder / "release.csv"), "--policy", job)
    assert ran.code == 4
    assert "role identifier" in ran.err


@pytest.mark.parametrize("use", ["mondrian", "slicing:l=5"])
def test_a_broken_certificate_is_an_error(folder, run, use):
    job = policy(folder, use, privacy=MODELS)
    run("anonymize", job)
    (folder / "release.csv.certificate.json").write_text("{")
    ran = run("verify", str(folder / "release.csv"), "--policy", job)
    assert (ran.code, "cannot be read" in ran.err, "move it away" in ran.err) == (1, True, True)


def test_what_becomes_of_an_old_second_table_is_said(folder, run):
    run("anonymize", policy(folder, "anatomy:l=5"))
    gone = run("anonymize", policy(folder, "slicing:l=5"), "--overwrite")
    assert "is gone with it" in gone.err
    assert not (folder / "release.sensitive.csv").exists()
    (folder / "release.sensitive.csv").write_text("mine")
    kept = run("anonymize", policy(folder, "slicing:l=5"), "--overwrite")
    assert "left where it is" in kept.err
    assert (folder / "release.sensitive.csv").read_text() == "mine"


def test_a_second_table_that_is_lost_is_named(folder, run):
    job = policy(folder, "anatomy:l=5")
    run("anonymize", job)
    (folder / "release.sensitive.csv").unlink()
    ran = run("verify", str(folder / "release.csv"), "--policy", job)
    assert (ran.code, "the second table of an anatomy release" in ran.err) == (1, True)
