"""Every command from end to end: what it writes, what it prints, and its exit code."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import indistinct
from indistinct.job.policy import read_policy

CENSUS = ["age", "sex", "race", "marital", "education", "country", "workclass", "occupation"]
CENSUS_ROLES = ["--quasi", ",".join(CENSUS), "--insensitive", "salary"]


def smallest_class(path: Path, columns: list[str]) -> int:
    """Count again with nothing of ours but the file."""
    table = pq.read_table(path) if path.suffix == ".parquet" else pa.csv.read_csv(path)
    return min(table.group_by(columns).aggregate([([], "count_all")])["count_all"].to_pylist())


def test_census_from_generate_to_verify(tmp_path: Path, run) -> None:
    source, target = tmp_path / "census.parquet", tmp_path / "out.parquet"
    assert run("generate", "census", "--rows", 3000, "--seed", 1, "-o", source).code == 0
    ran = run(
        "anonymize",
        source,
        *CENSUS_ROLES,
        "--model",
        "k-anonymity:k=5",
        "--algorithm",
        "mondrian",
        "-o",
        target,
        "--json",
    )
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["k"] >= 5
    assert document["k"] == smallest_class(target, CENSUS)
    assert document["rows"] == 3000
    assert document["suppressed_rows"] == 0
    assert document["output"] == str(target)
    assert Path(document["certificate_path"]).is_file()
    assert json.loads(Path(document["certificate_path"]).read_text()) == document["certificate"]
    assert document["metrics"]["discernibility"] >= 3000 * 5
    assert document["metrics"]["average-class-size"] == pytest.approx(3000 / document["classes"] / 5)
    assert 0 < document["metrics"]["gcp"] < 1
    assert document["models"][0]["model"] == "k-anonymity:k=5"
    assert "seconds" in document["counters"]
    assert set(pq.read_table(target).column_names) == {*CENSUS, "salary"}

    assert run("verify", target, *CENSUS_ROLES, "--model", "k-anonymity:k=5").code == 0
    ran = run("verify", target, *CENSUS_ROLES, "--model", "k-anonymity:k=500", "--json")
    assert ran.code == 4
    verdict = json.loads(ran.out)
    assert verdict["holds"] is False
    assert verdict["k"] == document["k"]
    assert verdict["models"][0]["violating_classes"] > 0


def policy_text(**extra: str) -> str:
    return f"""
[input]
path = "patients.csv"

[columns]
name     = "identifier"
age      = {{ role = "quasi", hierarchy = {{ intervals = [5, 10, 20] }} }}
zipcode  = {{ role = "quasi", hierarchy = {{ mask = "right" }} }}
sex      = {{ role = "quasi" }}
admitted = {{ role = "quasi", hierarchy = {{ dates = ["month", "year"] }} }}
disease  = {{ role = "sensitive" }}
cost     = "insensitive"

[privacy]
models = ["k-anonymity:k=4", "distinct-l-diversity:sensitive=disease,l=2"]

[algorithm]
use = "{extra.get("use", "mondrian")}"

[measure]
metrics = ["gcp", "discernibility"]

[output]
path = "release.csv"
{extra.get("output", "")}
"""


@pytest.fixture
def policy(patients: Path) -> Path:
    path = patients.parent / "policy.toml"
    path.write_text(policy_text())
    return path


def test_a_policy_from_end_to_end(policy: Path, run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ran = run("anonymize", policy, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    release = policy.parent / "release.csv"
    assert release.is_file(), "paths are relative to the policy"
    assert not list(elsewhere.iterdir())
    assert list(document["metrics"]) == ["gcp", "discernibility"]
    assert [verdict["holds"] for verdict in document["models"]] == [True, True]
    assert smallest_class(release, ["age", "zipcode", "sex", "admitted"]) == document["k"] >= 4
    assert "name" not in release.read_text().splitlines()[0]
    assert run("verify", release, "--policy", policy).code == 0
    assert run("verify", release, "--policy", policy, "--original", policy.parent / "patients.csv").code == 0
    assert run("verify", release, "--policy", policy, "--model", "k-anonymity:k=300").code == 4


def test_the_summary_names_the_paths_and_the_models(policy: Path, run) -> None:
    ran = run("anonymize", policy)
    assert ran.code == 0
    for text in (
        "k-anonymity:k=4",
        "gcp",
        "release.csv",
        "release.csv.certificate.json",
        "0 rows suppressed",
    ):
        assert text in ran.out


@pytest.mark.parametrize("numeric", ["interval", "bounds", "mean", "interval+mean"])
def test_every_numeric_form_is_verified_from_its_file(policy: Path, run, numeric: str) -> None:
    policy.write_text(policy_text(use=f"mondrian:numeric={numeric}"))
    made = json.loads(run("anonymize", policy, "--json").out)
    ran = run("verify", policy.parent / "release.csv", "--policy", policy, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["classes"] == made["classes"]
    assert [text for text in document["warnings"] if "'cost' is published unmodified" not in text] == []
    if numeric == "bounds":
        assert {"age_min", "age_max"} <= set(document["certificate"]["quasi_identifiers"])


def test_overwriting_is_asked_for(policy: Path, run) -> None:
    assert run("anonymize", policy).code == 0
    first = (policy.parent / "release.csv").read_bytes()
    assert run("anonymize", policy).code == 1
    assert (policy.parent / "release.csv").read_bytes() == first
    assert run("anonymize", policy, "--overwrite").code == 0
    assert (policy.parent / "release.csv").read_bytes() != first, "rows are shuffled anew"


def test_a_seed_repeats_the_release_and_is_warned_of(patients: Path, roles: list[str], run, tmp_path: Path) -> None:
    made = []
    for name in ("one.csv", "two.csv"):
        ran = run(
            "anonymize",
            patients,
            *roles,
            "--model",
            "k-anonymity:k=3",
            "-o",
            tmp_path / name,
            "--seed",
            7,
            "--json",
        )
        assert ran.code == 0
        assert json.loads(ran.out)["certificate"]["seeded"] is True
        assert "fixed seed" in ran.err
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]


def test_hierarchies_as_flags(patients: Path, roles: list[str], run, tmp_path: Path) -> None:
    tree = tmp_path / "sex.csv"
    tree.write_text("female;*\nmale;*\n;*\n")
    ran = run(
        "anonymize",
        patients,
        *roles,
        *("--model", "k-anonymity:k=10", "-o", tmp_path / "out.csv"),
        *("--hierarchy", "zipcode=mask:right", "--hierarchy", "age=intervals:5,10,20"),
        *("--hierarchy", "admitted=dates:month,year", "--hierarchy", f"sex={tree}"),
    )
    assert ran.code == 0, ran.err
    zipcodes = pa.csv.read_csv(tmp_path / "out.csv")["zipcode"].unique().to_pylist()
    assert all(code.endswith("*") or code.isdigit() or code == "" for code in map(str, zipcodes))


def test_a_changed_sensitive_cell_is_not_what_was_certified(policy: Path, run) -> None:
    assert run("anonymize", policy).code == 0
    release = policy.parent / "release.csv"
    lines = release.read_text().splitlines()
    cost = lines[0].split(",").index("cost")
    cells = lines[1].split(",")
    release.write_text("\n".join([lines[0], lines[1].replace(cells[cost], "1"), *lines[2:]]) + "\n")
    ran = run("verify", release, "--policy", policy, "--json")
    assert ran.code == 4
    document = json.loads(ran.out)
    assert [verdict["model"] for verdict in document["models"] if not verdict["holds"]] == ["own-certificate"]
    assert "belongs to another file" in ran.err
    told = run("verify", release, "--policy", policy)
    assert (
        "Every privacy model is satisfied, but this file is not the one that its certificate describes: "
        "own-certificate failed. Verify the file as it was written, or anonymize again."
    ) in " ".join(told.out.split())
    assert "NOT satisfied" not in told.out
    Path(f"{release}.certificate.json").unlink()
    assert run("verify", release, "--policy", policy).code == 0, "without a certificate the models alone decide"


def test_a_broken_guarantee_is_said_once(policy: Path, run) -> None:
    assert run("anonymize", policy).code == 0
    ran = run("verify", policy.parent / "release.csv", "--policy", policy, "--model", "k-anonymity:k=100000")
    assert ran.code == 4
    assert ran.out.count("NOT satisfied") == 1


def test_a_guarantee_that_allows_single_rows_says_so(policy: Path, run) -> None:
    ran = run("anonymize", policy, "--instead", "--model", "k-anonymity:k=1", "--algorithm", "mondrian")
    assert ran.code == 0, ran.err
    words = " ".join(ran.out.split())
    assert "The privacy guarantee is satisfied. It does not require a class to have more than one row." in words
    assert words.index("It does not require") < words.index("k = 1 is no protection")


def test_columns_without_a_role_and_leaks_are_remarked(patients: Path, run) -> None:
    ran = run("verify", patients, "--quasi", "sex", "--identifier", "name", "--model", "k-anonymity:k=1", "--json")
    assert ran.code == 4
    leak, ignored, *_ = json.loads(ran.out)["warnings"]
    assert "'name'" in leak
    assert "'cost'" in ignored
    assert leak in ran.err


def test_verify_reads_texts_that_look_like_numbers(tmp_path: Path, run) -> None:
    (tmp_path / "original.csv").write_text("age,code\n" + "1,7\n1,8\n" * 3 + "2,x\n")
    (tmp_path / "published.csv").write_text("age,code\n" + "1,7\n1,8\n" * 3)
    model = ["--model", "t-closeness:sensitive=code,t=0.5"]
    roles = ["--quasi", "age", "--sensitive", "code", "--original", tmp_path / "original.csv"]
    ran = run("verify", tmp_path / "published.csv", *roles, *model, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["certificate"]["suppressed_rows"] == 1


def test_measure_by_policy_agrees_with_the_release(policy: Path, run) -> None:
    made = json.loads(run("anonymize", policy, "--json").out)
    ran = run("measure", policy.parent / "release.csv", "--policy", policy, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["metrics"]["discernibility"] == made["metrics"]["discernibility"]
    assert document["metrics"]["gcp"] == pytest.approx(made["metrics"]["gcp"])
    assert document["rows"] == document["original_rows"] == 300
    assert "gcp" in run("measure", policy.parent / "release.csv", "--policy", policy).out


def test_measure_says_what_a_file_cannot_tell(policy: Path, run) -> None:
    policy.write_text(policy.read_text().replace('metrics = ["gcp", "discernibility"]', ""))
    run("anonymize", policy)
    job = ["measure", policy.parent / "release.csv", "--policy", policy]
    ran = run(*job, "--json")
    document = json.loads(ran.out)
    assert "entropy" not in document["metrics"]
    assert list(document["not_measured"]) == ["entropy"]
    assert "entropy is not measured on a published file" in ran.err


def test_measure_takes_single_metrics(policy: Path, run) -> None:
    run("anonymize", policy)
    job = ["measure", policy.parent / "release.csv", "--policy", policy]
    one = json.loads(run(*job, "--metric", "loss", "--metric", "gcp", "--json").out)
    assert list(one["metrics"]) == ["loss", "gcp"]
    assert "not_measured" not in one
    refused = run(*job, "--metric", "entropy")
    assert (refused.code, "entropy cannot be measured on a published table" in refused.err) == (2, True)


def test_measure_tells_who_could_have_been_in_the_table(policy: Path, run) -> None:
    run("anonymize", policy)
    job = ["measure", policy.parent / "release.csv", "--policy", policy]
    chart = policy.parent / "matching.svg"
    members = json.loads(run(*job, "--json", "--chart", chart).out)["membership"]["quasi_identifiers"]
    assert members["originals"] == members["unique_original"] > 0, "Mondrian's classes do not overlap"
    assert members["fake"] > 0
    assert "matching classes of a tuple" in chart.read_text()
    said = run(*job, "--chart", chart)
    assert (said.code, "--overwrite" in said.err) == (1, True)
    assert "originals that match one class" in run(*job).out


def test_generate_is_seeded_or_says_its_seed(tmp_path: Path, run) -> None:
    for name in ("a.csv", "b.csv"):
        assert run("generate", "patients", "--rows", 20, "--seed", 3, "-o", tmp_path / name).code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    document = json.loads(run("generate", "patients", "--rows", 20, "-o", tmp_path / "c.csv", "--json").out)
    again = ["--rows", 20, "--seed", document["seed"], "-o", tmp_path / "d.csv"]
    assert f"seed {document['seed']}" in run("generate", "patients", *again).out
    assert (tmp_path / "c.csv").read_bytes() == (tmp_path / "d.csv").read_bytes()
    assert document["rows"] == 20
    assert run("generate", "patients", "-o", tmp_path / "a.csv").code == 1


def test_inspect_writes_a_policy_that_runs(patients: Path, run, tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    ran = run("inspect", patients, "-o", folder / "first.toml", "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["policy"] == str(folder / "first.toml")
    assert document["quasi_identifiers"] == ["age", "sex", "zipcode", "admitted"]
    policy = read_policy(folder / "first.toml")
    assert policy.locate(policy.input.path).samefile(patients)
    assert policy.schema.identifiers == ("name",)
    assert policy.schema.sensitive == ("disease", "cost")
    assert run("anonymize", folder / "first.toml").code == 0
    assert (folder / "patients-release.csv").is_file()


def test_inspect_shows_values_only_on_request(tmp_path: Path, run, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # no cell of the table is folded
    data = tmp_path / "data.csv"
    data.write_text("age,city\n" + "31337,SECRETVALUE42\n" * 3 + "40,Oslo\n")
    policy = tmp_path / "policy.toml"
    for flags in ([], ["--json"], ["-o", policy]):
        ran = run("inspect", data, *flags)
        assert ran.code == 0
        assert "SECRETVALUE42" not in ran.out + ran.err
        assert "31337" not in ran.out + ran.err
    assert "SECRETVALUE42" not in policy.read_text()
    assert "SECRETVALUE42 (3)" in run("inspect", data, "--show-values").out
    shown = json.loads(run("inspect", data, "--show-values", "--json").out)
    assert shown["columns"][1]["frequent"][0] == {"value": "SECRETVALUE42", "rows": 3}


def test_list_names_everything_that_is_registered(run) -> None:
    from indistinct.algorithms.registry import ALGORITHMS
    from indistinct.metrics import METRICS
    from indistinct.models.registry import MODELS
    from indistinct.samples import GENERATORS

    listed = json.loads(run("list", "--json").out)
    for what, known in (("models", MODELS), ("algorithms", ALGORITHMS), ("metrics", METRICS)):
        assert [entry["name"] for entry in listed[what]] == list(known)
    assert listed["generators"] == list(GENERATORS)
    assert {"name": "k-anonymity", "parameters": {"k": None}} in listed["models"]
    shown = run("list").out
    assert all(name in shown for name in (*MODELS, *ALGORITHMS, *METRICS, *GENERATORS))


def test_version_and_help(run) -> None:
    assert run("--version").out == f"indistinct {indistinct.__version__}\n"
    assert "anonymize" in run("--help").out
    assert run().out == run("--help").out
    for command in ("inspect", "anonymize", "apply", "verify", "measure", "generate", "list"):
        ran = run(command, "--help")
        assert ran.code == 0
        assert "--json" in ran.out


def test_measure_of_a_release_in_which_every_row_is_suppressed(tmp_path: Path, run) -> None:
    (tmp_path / "a.csv").write_text("age,d\n30,flu\n31,cold\n")
    (tmp_path / "r.csv").write_text("age,d\n")
    roles = ["--quasi", "age", "--sensitive", "d"]
    ran = run("measure", tmp_path / "r.csv", *roles, "--original", tmp_path / "a.csv", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["membership"]["quasi_identifiers"]["candidates"] == 0


CODES = "name,age,icd\n" + "".join(f"p{i},{30 + i},{code}\n" for i, code in enumerate(["250.00", "250.0"] * 4))
CODE_ROLES = ["--identifier", "name", "--quasi", "age", "--sensitive", "icd"]


@pytest.mark.parametrize("how", ["--algorithm=anatomy:l=2", "--model=distinct-l-diversity:sensitive=icd,l=2"])
def test_columns_of_codes_are_published_as_they_are(how, tmp_path: Path, run) -> None:
    """Read as numbers, both codes would be one, and no class could be diverse; readers of a text file do so."""
    data, release = tmp_path / "codes.csv", tmp_path / "release.parquet"
    data.write_text(CODES)
    job = [*CODE_ROLES, how]
    assert run("anonymize", data, *job, "-o", release).code == 3
    refused = run("anonymize", data, *job, "--text", "icd", "-o", tmp_path / "release.csv")
    assert (refused.code, "write Parquet" in refused.err) == (4, True)
    assert not list(tmp_path.glob("release*"))
    ran = run("anonymize", data, *job, "--text", "icd", "-o", release)
    assert ran.code == 0, ran.err
    tables = [pq.read_table(path) for path in tmp_path.glob("release*.parquet")]
    codes = {code for table in tables if "icd" in table.column_names for code in table["icd"].to_pylist()}
    assert codes == {"250.00", "250.0"}
    assert run("verify", release, *job, "--text", "icd,name", "--original", data).code == 0
    merged = run("verify", release, *job, "--original", data)
    assert (merged.code, "codes want --text icd" in merged.err) == (4, True)
    misspelt = run("verify", release, *job, "--text", "icf")
    assert (misspelt.code, "did you mean 'icd'" in misspelt.err) == (2, True)
    assert run("anonymize", data, *job, "--text", "icf", "--overwrite", "-o", release).code == 1


def test_text_under_input_is_text_in_the_release_too(tmp_path: Path, run) -> None:
    (tmp_path / "codes.csv").write_text(CODES)
    found = run("inspect", tmp_path / "codes.csv", "--text", "icd", "-o", tmp_path / "job.toml")
    assert found.code == 0, found.err
    text = (tmp_path / "job.toml").read_text()
    assert 'text = ["icd"]' in text
    (tmp_path / "job.toml").write_text(text.replace("k=5", "k=2").replace("release.csv", "release.parquet"))
    assert run("anonymize", tmp_path / "job.toml").code == 0
    ran = run("verify", tmp_path / "codes-release.parquet", "--policy", tmp_path / "job.toml")
    assert ran.code == 0, ran.err


def test_a_mixture_that_is_text_on_purpose(tmp_path: Path, run) -> None:
    (tmp_path / "a.csv").write_text("code,s\n" + "250,x\n251,y\n252,z\nV58,w\n" * 2)
    job = ["anonymize", tmp_path / "a.csv", "--quasi", "code", "--sensitive", "s", "--model", "k-anonymity:k=2"]
    refused = run(*job, "-o", tmp_path / "r.csv")
    assert (refused.code, "--text" in refused.err) == (1, True)
    assert run(*job, "--text", "code", "-o", tmp_path / "r.csv").code == 0


def test_average_class_size_is_in_units_of_the_promised_k(tmp_path: Path, run) -> None:
    people = pa.table({"age": list(range(20, 40)), "sex": ["m", "f"] * 10, "ill": ["a", "b", "c", "d"] * 5})
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(
        '[input]\npath = "people.csv"\n[columns.age]\nrole = "quasi"\n[columns.sex]\nrole = "quasi"\n'
        '[columns.ill]\nrole = "sensitive"\n[privacy]\nmodels = ["k-anonymity:k=2"]\n[algorithm]\nuse = "mondrian"\n'
        '[measure]\nmetrics = ["average-class-size"]\n[output]\npath = "published.csv"\n'
    )
    ran = run("anonymize", tmp_path / "policy.toml", "--json")
    made = json.loads(ran.out)
    size = made["rows"] / made["classes"] / 2
    assert made["metrics"]["average-class-size"] == size
    flags = ["--original", tmp_path / "people.csv", "--quasi", "age,sex", "--sensitive", "ill"]
    for how in (["--policy", tmp_path / "policy.toml"], flags, [*flags, "--model", "k-anonymity:k=2"]):
        ran = run("measure", tmp_path / "published.csv", *how, "--json")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["metrics"]["average-class-size"] == size, how
