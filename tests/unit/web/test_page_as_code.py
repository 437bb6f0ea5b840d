"""A job without the page: the policy, the command and the Python do the same."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import indistinct as ind
from indistinct.cli import app
from indistinct.cli.flags import policy_of
from indistinct.cli.options import Flags
from indistinct.hierarchy import Hierarchy
from indistinct.inspection.starter import starter_policy
from indistinct.job.as_command import command_of
from indistinct.job.as_python import python_of
from indistinct.job.policy import Output, policy_from_toml, read_policy
from indistinct.recoding.columns import importance_of, levels_of, numeric_forms
from indistinct.release.writing.delimited import Writing
from indistinct.samples import generate_patients
from indistinct.suppression_limit import parse_budget
from indistinct.tables.value import declare
from indistinct.web.as_code import policy_text, portable

EXAMPLES = Path(__file__).parents[3] / "examples"
NOWHERE = Path("/nowhere-at-all")


@pytest.fixture
def job():
    policy = read_policy(EXAMPLES / "patients.toml")
    return replace(policy, input=replace(policy.input, path=Path("patients.csv")), output=Output(Path("open.csv")))


@pytest.fixture
def run(monkeypatch):
    """Run the command line in a folder, and return what it prints as JSON."""

    def run(*words, cwd, code=0):
        monkeypatch.chdir(cwd)
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == code, done.stderr
        return json.loads(done.stdout)

    return run


def words_of_shell(command):
    """Return the words that a shell would pass on."""
    shell = "indistinct() { printf '%s\\0' \"$@\"; }\n" + command
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True)
    return ["indistinct", *done.stdout.split("\0")[:-1]]


def parsed(command):
    """Return the policy that a command's flags describe, as the command line reads them."""
    words = words_of_shell(command)
    assert words[:2] == ["indistinct", "anonymize"]
    given = {}
    rest = iter(words[3:])
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        key = {"output": None}.get(name, name.replace("-", "_"))
        if name in ("bom", "for-spreadsheet", "guard-formulas", "header", "codes"):
            given[key] = True
            continue
        value = value if equals else next(rest)
        if key is None:
            continue
        if key in (
            "suppression",
            "delimiter",
            "encoding",
            "decimal",
            "thousands",
            "sheet",
            "algorithm",
            "target",
            "ranges",
        ) or key.startswith(("output_",)):
            given[key] = value
        elif key == "sample":
            given[key] = float(value)
        else:
            given.setdefault(key, []).append(value)
    return policy_of(Path(words[2]), Flags(**given))


READINGS = (
    {"missing": ["", "-99", "a=b"], "text": ["zipcode"]},
    {"missing": {"*": ["", "?"], "age": ["999"]}, "dates": {"admitted": "%d.%m.%Y"}, "types": {"zipcode": "text"}},
    {"delimiter": "\t", "encoding": "cp1252", "decimal": ",", "thousands": ".", "header": True},
)


@pytest.mark.parametrize("given", READINGS)
def test_flags_say_how_a_table_is_read(job, given):
    policy = replace(job, input=replace(job.input, reading=declare(**given)))
    assert parsed(command_of(policy)).input == policy.input


@pytest.mark.parametrize("budget", [0.05, "4 rows", "4/30", "1 person"])
def test_flags_say_the_whole_job(job, budget):
    policy = replace(
        read_policy(EXAMPLES / "hospital.toml"),
        suppression=budget,
        hierarchies={
            "Geburtsdatum": Hierarchy.dates(["year"]),
            "PLZ": Hierarchy.masking("left"),
            "Geschlecht": Hierarchy.order(["f", "m"]),
        },
    )
    again = parsed(command_of(policy))
    for part in ("schema", "models", "hierarchies", "suppression", "algorithm", "transformations", "input"):
        assert getattr(again, part) == getattr(policy, part), part
    assert {name: each.options() for name, each in again.pseudonyms.items()} == {
        name: each.options() for name, each in policy.pseudonyms.items()
    }


def weighed_job(job):
    """Return a job that says what matters most, which levels are allowed, and that a sample is published."""
    return replace(
        job,
        input=replace(job.input, sample=0.75),
        models=(ind.SubsetAnonymity(k=3, sets=[["age", "sex"], ["age", "zipcode"]]),),
        hierarchies={"zipcode": Hierarchy.masking(), "age": Hierarchy.intervals([10, 20, 40])},
        importance=importance_of({"age": 3, "sex": 0.1}),
        levels=levels_of({"age": (0, 2), "sex": (0, None), "zipcode": (1, 4)}),
        numeric=numeric_forms({"age": "interval+mean"}),
        output=replace(job.output, ranges="columns"),
    )


def test_flags_say_what_matters_which_levels_and_the_sample(job):
    policy = weighed_job(job)
    again = parsed(command_of(policy))
    assert policy_from_toml(policy_text(policy), base=policy.base) == policy
    for part in ("importance", "levels", "numeric", "input", "models"):
        assert getattr(again, part) == getattr(policy, part), part
    assert "--ranges columns" in command_of(policy)


def test_python_says_what_matters_which_levels_the_sample_and_the_form_of_ranges(job, monkeypatch):
    policy, given = weighed_job(job), {}

    def anonymize(table, schema, **options):
        given.update(options)
        raise InterruptedError

    monkeypatch.setattr(ind, "open", lambda path, **options: path)
    monkeypatch.setattr(ind, "anonymize", anonymize)
    with pytest.raises(InterruptedError):
        exec(compile(python_of(policy), "job.py", "exec"), {})  # noqa: S102 (our own text)
    assert importance_of(given["importance"]) == policy.importance
    assert levels_of(given["levels"]) == policy.levels
    assert numeric_forms(given["numeric"]) == policy.numeric
    assert (given["sample"], given["ranges"]) == (0.75, "columns")
    assert given["model"] == policy.models[0]


@pytest.mark.parametrize(
    ("hierarchy", "said"),
    [
        (Hierarchy.tree({"*": {"a": ["x"], "b": ["y"]}}), "it is a tree"),
        (Hierarchy.from_rows([["x", "*"]]), "row by row"),
        (Hierarchy.order(["a|b", "c"]), "order"),
    ],
)
def test_what_flags_cannot_say_is_told_and_the_policy_runs_instead(job, hierarchy, said):
    told = command_of(replace(job, hierarchies={"zipcode": hierarchy}))
    assert said in told
    assert told.splitlines()[-1] == "indistinct anonymize policy.toml"


def test_a_column_that_no_flag_can_name_is_told(job):
    policy = replace(job, hierarchies={"a=b": Hierarchy.masking()})
    assert "equals sign" in command_of(policy)


def test_names_are_quoted_for_the_shell(job):
    schema = ind.Schema(quasi=["it's; rm -rf $HOME", 'a "b", c'])
    again = parsed(command_of(replace(job, schema=schema, hierarchies={})))
    assert again.schema == schema


def examples(tmp_path):
    """Yield policies of several kinds, with small tables in a folder."""
    pyarrow.csv.write_csv(generate_patients(300, seed=1), tmp_path / "patients.csv")
    pyarrow.parquet.write_table(ind.open(tmp_path / "patients.csv").data, tmp_path / "patients.parquet")
    first = read_policy(EXAMPLES / "patients.toml")
    yield replace(first, input=replace(first.input, path=Path("patients.csv")), output=Output(Path("r.parquet")))
    yield starter_policy(ind.inspect(tmp_path / "patients.csv"), tmp_path / "patients.csv", tmp_path, reading=declare())
    wide = Output(Path("r.csv"), writing=Writing(delimiter=";", bom=True, spreadsheet=True), smallest_count=5)
    yield replace(
        first,
        input=replace(first.input, path=Path("patients.parquet")),
        algorithm=ind.Optimal(),
        suppression="30 rows",
        hierarchies={
            "zipcode": Hierarchy.masking(),
            "age": Hierarchy.intervals([10, 20, 40]),
            "admitted": Hierarchy.dates(["year", "decade"]),
            "sex": Hierarchy.suppression(),
        },
        transformations={"disease": ind.Transformation(clear="presence")},
        models=(ind.KAnonymity(4),),
        output=wide,
    )
    yield replace(first, input=replace(first.input, path=Path("patients.csv")), models=(), algorithm=ind.Anatomy(l=3))


@pytest.mark.parametrize("which", range(4))
def test_policy_command_and_python_do_the_same(which, run, tmp_path):
    policy = portable(replace(list(examples(tmp_path))[which], base=tmp_path), NOWHERE)
    (tmp_path / "policy.toml").write_text(policy_text(policy, notes={"age": "a note\nof two lines"}))
    assert policy_from_toml((tmp_path / "policy.toml").read_text(), base=tmp_path) == policy
    told = []
    for words in (["anonymize", "policy.toml"], words_of_shell(command_of(policy))[1:]):
        told.append(run(*words, cwd=tmp_path)["certificate"])
        for path in tmp_path.glob(f"{policy.output.path.stem}*"):
            path.unlink()
    names = {}
    exec(compile(python_of(policy), "job.py", "exec"), names)  # noqa: S102 (our own text)
    told.append(names["certificate"].to_json())
    assert (tmp_path / policy.output.path).is_file()
    first, *others = told
    for key in (
        "holds",
        "rows",
        "classes",
        "smallest_class",
        "quasi_identifiers",
        "form",
        "columns",
        "suppressed_rows",
    ):
        assert [each[key] for each in others] == [first[key]] * 2, key
    promised = [[verdict["model"] for verdict in each["verdicts"]] for each in told]
    assert promised == [promised[0]] * 3
    assert names["schema"] == policy.schema


@pytest.mark.parametrize("name", ["hospital", "census", "patients"])
def test_python_of_every_example_declares_what_its_policy_does(name, monkeypatch):
    policy = portable(read_policy(EXAMPLES / f"{name}.toml"), NOWHERE)
    given = {}

    def anonymize(table, schema, **options):
        given.update(options, schema=schema)
        raise InterruptedError

    monkeypatch.setattr(ind, "open", lambda path, **options: given.update(path=path, reading=declare(**options)))
    monkeypatch.setattr(ind, "anonymize", anonymize)
    with pytest.raises(InterruptedError):
        exec(compile(python_of(policy), "job.py", "exec"), {})  # noqa: S102 (our own text)
    assert (given["path"], given["reading"]) == (str(policy.input.path), policy.input.reading)
    assert given["schema"] == policy.schema
    assert given["hierarchies"] == policy.hierarchies
    assert given["model"].spec() == policy.model.spec()
    assert given["algorithm"] == policy.algorithm
    assert given.get("transformations", {}) == policy.transformations
    assert parse_budget(given.get("suppression", 0.0)) == policy.suppression
    assert {key: each.options() for key, each in given.get("pseudonyms", {}).items()} == {
        key: each.options() for key, each in policy.pseudonyms.items()
    }


def test_nothing_of_the_private_folder_is_in_the_code(tmp_path, job):
    private = tmp_path / "private"
    (private / "hierarchy").mkdir(parents=True)
    (private / "hierarchy" / "zip.csv").write_text("1;*\n2;*\n")
    uploaded = Hierarchy.read_csv(private / "hierarchy" / "zip.csv")
    policy = replace(job, base=private, hierarchies={"zipcode": uploaded})
    moved = portable(policy, private)
    assert moved.hierarchies["zipcode"].to_json() == {"rows": [["1", "*"], ["2", "*"]]}
    for text in (policy_text(moved), command_of(moved), python_of(moved)):
        assert str(tmp_path) not in text
