"""A job is all that a run needs; a policy becomes one in one place, and `run` publishes it."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv

import indistinct as ind
from indistinct.cli import main
from indistinct.errors import InputError, OutputError, ParameterError
from indistinct.job.job import Job, job_of_policy
from indistinct.job.policy import policy_from_toml, read_policy
from indistinct.job.running import run_job
from indistinct.recoding.outputs import MAIN
from indistinct.suppression_limit import Budget

ROWS = 60
TABLE = pa.table(
    {
        "id": [f"{row:03}" for row in range(ROWS)],
        "age": [20 + row % 30 for row in range(ROWS)],
        "disease": [("flu", "cold", "HIV")[row % 3] for row in range(ROWS)],
        "cost": [row * 7 for row in range(ROWS)],
    }
)
POLICY = """\
[input]
path = "people.csv"
text = ["id"]

[columns]
id      = "person"
age     = { role = "quasi", hierarchy = { intervals = [5, 10] } }
disease = "sensitive"
cost    = { role = "insensitive", round = 100, fresh = true }

[privacy]
models = ["k-anonymity:k=4"]
suppression = 0.1

[algorithm]
use = "optimal"

[output]
path = "release.csv"
ledger = "releases.ledger"
smallest_count = 3
delimiter = ";"
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    csv.write_csv(TABLE, tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path / "policy.toml"


def test_a_policy_runs_and_its_release_lies_where_it_says(policy: Path) -> None:
    release = ind.run(policy, seed=1)
    written = policy.with_name("release.csv")
    assert written.read_text().splitlines()[0] == "age;disease;cost"
    assert (release.certificate.holds, release.certificate.achieved["k"] >= 4) == (True, True)
    assert json.loads(written.with_name("release.csv.certificate.json").read_text())["rows"] == release.table.num_rows
    assert len(ind.read_ledger(policy.with_name("releases.ledger"))) == 1
    assert {value % 100 for value in release.table["cost"].to_pylist()} == {0}


def test_a_policy_gives_what_the_command_line_gives(policy: Path, tmp_path: Path) -> None:
    written, ledger = tmp_path / "a.csv", tmp_path / "other.ledger"
    assert main(["anonymize", str(policy), "-o", str(written), "--seed", "1", "--ledger", str(ledger)]) == 0
    ind.run(read_policy(policy), output=tmp_path / "b.csv", seed=1)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_keywords_take_the_place_of_what_a_policy_says(policy: Path, tmp_path: Path) -> None:
    plain = replace(read_policy(policy), output=replace(read_policy(policy).output, ledger=None))
    csv.write_csv(TABLE.slice(0, 40), tmp_path / "half.csv")
    from_file = ind.run(plain, input=tmp_path / "half.csv", output=tmp_path / "half-release.csv", seed=1)
    assert len((tmp_path / "half-release.csv").read_text().splitlines()) - 1 == from_file.table.num_rows <= 40
    assert not (tmp_path / "release.csv").exists()
    from_frame = ind.run(plain, input=TABLE.slice(0, 40), output=tmp_path / "frame.csv", seed=1)
    assert from_frame.table.to_pylist() == from_file.table.to_pylist()
    assert from_frame.certificate.original_rows == 40


def test_a_release_without_an_output_stays_in_memory(policy: Path, tmp_path: Path) -> None:
    given = read_policy(policy)
    before = sorted(tmp_path.iterdir())
    release = ind.run(replace(given, output=type(given.output)()))
    assert release.certificate.holds
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["people.csv", "release.csv"])
def test_a_path_that_is_read_or_taken_is_refused_before_any_work(policy: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "release.csv").write_text("older\n")
    kept = (tmp_path / name).read_bytes()
    with pytest.raises(OutputError):
        ind.run(policy, output=tmp_path / name, overwrite=name == "people.csv", progress=pytest.fail)
    assert (tmp_path / name).read_bytes() == kept


@pytest.mark.parametrize("name", ["taken.csv", "release.docx", "nowhere/release.csv"])
def test_an_output_that_cannot_be_is_refused_before_any_work(tmp_path: Path, monkeypatch, name: str) -> None:
    (tmp_path / "taken.csv").write_text("mine")
    monkeypatch.setattr("indistinct.job.running._publish_by_search", None)
    with pytest.raises(OutputError):
        ind.anonymize(TABLE, ind.Schema(quasi=["age"]), model="k-anonymity:k=4", output=tmp_path / name)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("taken.csv", "mine")]


def test_a_policy_is_never_replaced_by_its_release(policy: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.csv").write_text(POLICY)
    with pytest.raises(OutputError, match="also read"):
        ind.run(tmp_path / "policy.csv", output=tmp_path / "policy.csv", overwrite=True)


def test_what_is_no_policy_is_named(tmp_path: Path) -> None:
    with pytest.raises(ind.PolicyError):
        ind.run(tmp_path / "no.toml")
    with pytest.raises(ParameterError, match="`policy` of run"):
        ind.run(5)


def test_every_part_of_a_policy_reaches_its_job() -> None:
    given = policy_from_toml(POLICY, base=Path("/jobs"))
    job = job_of_policy(given)
    assert (job.table, job.reading) == (Path("/jobs/people.csv"), given.input.reading)
    assert (job.schema, job.model, job.algorithm) == (given.schema, ind.KAnonymity(4), given.algorithm)
    assert (job.hierarchies, job.transformations) == (given.hierarchies, given.transformations)
    assert (job.suppression, job.history.fresh) == (Budget(0.1), ("cost",))
    assert job.history.ledger == Path("/jobs/releases.ledger")
    assert job.destination.output == Path("/jobs/release.csv")
    assert (job.destination.smallest_count, job.destination.writing.delimiter) == (3, ";")


def test_what_is_changed_takes_the_place_of_what_a_policy_says() -> None:
    given = policy_from_toml(POLICY, base=Path("/jobs"))
    job = job_of_policy(given, table=TABLE, output=None, smallest_count=0, suppression=None, fresh=["disease"])
    assert (job.reading, job.destination.output, job.destination.smallest_count) == (None, None, 0)
    assert (job.suppression, job.budget, job.history.fresh) == (None, Budget(0.0), ["disease"])


def test_a_job_with_a_recoding_applies_it() -> None:
    schema = ind.Schema(identifiers=["id"], quasi=["age"], sensitive=["disease"], insensitive=["cost"])
    first = run_job(Job(TABLE, schema, model="k-anonymity:k=4", algorithm="mondrian", suppression=0.1, seed=1))
    again = run_job(Job(TABLE, schema, recoding=first.recoding, seed=1))
    assert again.table.equals(first.table)
    assert again.counters["checks"] == 0
    assert Job(TABLE, schema, recoding=first.recoding).budget == Budget(0.1)


def test_parts_of_a_destination_belong_together(tmp_path: Path) -> None:
    schema = ind.Schema(identifiers=["id"], quasi=["age"], sensitive=["disease"], insensitive=["cost"])
    with pytest.raises(ParameterError, match="`save_recoding` goes with `output`"):
        ind.anonymize(tmp_path / "no.csv", schema, model="k-anonymity:k=4", save_recoding=tmp_path / "r.json")
    with pytest.raises(ParameterError, match="smallest_count"):
        ind.anonymize(tmp_path / "no.csv", schema, model="k-anonymity:k=4", smallest_count=-1)
    with pytest.raises(InputError):
        ind.anonymize(tmp_path / "no.csv", schema, model="k-anonymity:k=4")


def test_only_the_folder_of_jobs_spreads_a_policy_over_a_run() -> None:
    """Skins build jobs by `job_of_policy`: none of them calls what publishes with the parts of a policy."""
    package = Path(ind.__file__).parent
    offences = [
        f"{path.relative_to(package)}:{call.lineno}"
        for folder in ("cli", "web", "exploration/compare")
        for path in (package / folder).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).rpartition(".")[2] in ("anonymize", "apply", "Job")
        and any("policy." in ast.unparse(each) for each in (*call.args, *(named.value for named in call.keywords)))
    ]
    assert offences == []


@pytest.mark.parametrize("published", ['"sensitive"', '{ role = "sensitive", round = 0.5 }'])
def test_a_release_with_decimal_commas_is_assessed_and_verified_beside_its_original(tmp_path, published):
    """Costs that are published as they are, or rounded, come back as the numbers that they were."""
    lines = [f"{20 + place % 9};{1000 + 7 * place},{place % 10}5" for place in range(60)]
    (tmp_path / "visits.csv").write_text("\n".join(["age;cost", *lines]))
    job = (
        '[input]\npath = "visits.csv"\ndecimal = ","\n[columns]\nage = "quasi"\n'
        f"cost = {published}\n"
        '[privacy]\nmodels = ["k-anonymity:k=5"]\n[algorithm]\nuse = "mondrian"\n'
        '[output]\npath = "out.csv"\ndelimiter = ";"\ndecimal = ","\n'
    )
    (tmp_path / "policy.toml").write_text(job)
    assert main(["anonymize", str(tmp_path / "policy.toml")]) == 0
    assert "1000," in (tmp_path / "out.csv").read_text()
    given = ind.published(tmp_path / "out.csv", policy=tmp_path / "policy.toml", original=tmp_path / "visits.csv")
    assert given.tables.sources[MAIN].kinds["cost"] is given.original.kinds["cost"]
    assert ind.assess(given).figures.members == 60
    assert (
        main(
            [
                "verify",
                str(tmp_path / "out.csv"),
                "--policy",
                str(tmp_path / "policy.toml"),
                "--original",
                str(tmp_path / "visits.csv"),
            ]
        )
        == 0
    )
