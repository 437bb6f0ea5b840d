"""What every command prints with --json fits its JSON Schema: here by a walk, elsewhere in every test that runs one."""

import json

import pytest
from jsonschema import Draft202012Validator
from typer.main import get_command

from indistinct.cli import app
from indistinct.cli.json_schemas import SCHEMAS, schema_of
from indistinct.web.server import Address, address_to_json
from references.arx_projects import clinic_project
from references.command_line import POLICY, ROLES, fit_schema

BUCKETS = POLICY.replace('use = "mondrian"', 'use = "slicing:l=2"').replace("release.csv", "sliced.csv")
PEOPLE = POLICY.replace('name = "identifier"', 'name = "person"').replace("release.csv", "people.csv")
WALK = (
    "inspect patients.csv -o first.toml",
    "inspect patients.csv --show-values",
    "inspect --from clinic.deid -o clinic/job.toml",
    "anonymize policy.toml --save-recoding recoding.json",
    ["anonymize", "patients.csv", *ROLES, "--model", "k-anonymity:k=3", "-o", "auto.csv", "--suppression", "0.05"],
    "anonymize buckets.toml",
    "anonymize people.toml --ledger ledger.json",
    "apply recoding.json other.csv -o again.csv --suppression 0.5",
    "verify release.csv --policy policy.toml",
    "verify sliced.csv --policy buckets.toml",
    "measure release.csv --policy policy.toml",
    "measure sliced.csv --policy buckets.toml",
    "distributions release.csv --policy policy.toml",
    "classify policy.toml --target disease --folds 2 --classifiers naive-bayes",
    ["query", "release.csv", "SELECT COUNT(*) WHERE age >= 40", "--policy", "policy.toml"],
    ["query", "release.csv", "SELECT AVG(age) GROUP BY sex", "--policy", "policy.toml"],
    "query release.csv --workload queries.sql --policy policy.toml --original patients.csv",
    "assess release.csv --policy policy.toml --profile public",
    ["assess", "patients.csv", *ROLES, "--suda", "2", "--unique-sets", "2", "--population-size", "9000"],
    ["assess", "patients.csv", *ROLES, "--show-values", "--population", "patients.csv"],
    "assess sliced.csv --policy buckets.toml",
    "attack all release.csv --policy policy.toml --seed 1",
    "attack homogeneity release.csv --policy policy.toml",
    "report release.csv --policy policy.toml --seconds 0.1 -o report.html",
    "report release.csv --policy policy.toml --seconds 0.1 --edition external -o readers.html",
    "scan release.csv --policy policy.toml",
    "scan release.csv patients.csv",
    ["analyze", "release.csv", "--policy", "policy.toml", "--formula", "age ~ C(sex)", "--mean", "age by disease"],
    "codebook release.csv --policy policy.toml -o book.csv",
    "compare policy.toml --algorithms datafly --models k-anonymity:k=5,k-anonymity:k=900 --workers 1 -o points",
    "explore policy.toml --svg lattice.svg",
    "dbt policy.toml -o tests",
    "ledger show ledger.json",
    "list",
    "warm-up --algorithm datafly",
    "reproduce mondrian-bounds --sizes 10",
    "generate patients --rows 20 --seed 3 -o few.csv",
    "anonymize missing.toml",
)


@pytest.fixture
def folder(run, patients, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"policy": POLICY, "buckets": BUCKETS, "people": PEOPLE}.items():
        models = 'models = ["k-anonymity:k=5"]'
        (tmp_path / f"{name}.toml").write_text(
            text if name != "buckets" else text.replace(f"[privacy]\n{models}\n", "")
        )
    (tmp_path / "queries.sql").write_text("SELECT COUNT(*) WHERE age >= 40\nSELECT COUNT(*) WHERE sex = 'f'\n")
    assert run("generate", "patients", "--rows", 300, "--seed", 2, "-o", "other.csv").code == 0
    clinic_project(tmp_path / "clinic.deid")
    (tmp_path / "clinic").mkdir()
    return tmp_path


def test_what_every_command_prints_fits_its_schema(folder, run):
    printed = set()
    for step in WALK:
        words = step.split() if isinstance(step, str) else step
        ran = run(*words, "--json")  # which holds it against the schema
        assert ran.code in (0, 4) or words[1] == "missing.toml", (step, ran.out, ran.err)
        document = json.loads(ran.out)
        printed.add("error" if set(document) == {"error"} else words[0])
    assert printed | {"serve"} == set(SCHEMAS)  # which does not end by itself


def test_what_the_server_prints_fits_its_schema():
    fit_schema("serve", json.loads(address_to_json(Address(8080, "abc"))))


def test_every_command_with_json_has_a_schema():
    commands = get_command(app).commands
    having = {name for name, each in commands.items() if any("--json" in option.opts for option in each.params)}
    assert having | {"error", "reproduce"} == set(SCHEMAS)  # whose options another package declares


@pytest.mark.parametrize("command", SCHEMAS)
def test_schemas_are_valid_and_closed(command, run):
    schema = schema_of(command)
    Draft202012Validator.check_schema(schema)
    assert json.loads(run("schema", command).out) == schema
    several = schema.get("anyOf", [schema])
    assert several[0]["additionalProperties"] is False
    assert several[-1]["additionalProperties"] is False or command == "reproduce"


def test_a_field_that_the_schema_does_not_have_is_found():
    document = {"error": {"type": "InputError", "message": "no", "hint": "", "more": 1}}
    with pytest.raises(AssertionError, match="more"):
        fit_schema("scan", document)
    with pytest.raises(AssertionError, match="rows"):
        fit_schema("generate", {"output": "a.csv", "name": "census", "rows": "3", "seed": 1, "columns": []})


def test_an_unknown_command_has_no_schema(run):
    ran = run("schema", "anonymise")
    assert ran.code == 2
    assert "did you mean 'anonymize'?" in ran.err
