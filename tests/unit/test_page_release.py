"""What leaves the page: the job as code, the risk of the published file, and the files of a release."""

import json
import subprocess
import zipfile
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
from indistinct.datasets import generate_patients
from indistinct.errors import OutputError
from indistinct.hierarchy import Hierarchy
from indistinct.policy import Output, Statement, policy_from_toml, read_policy
from indistinct.policy.starter import starter_policy
from indistinct.release.form import Writing
from indistinct.tables.reading import declare
from indistinct.web.as_code import policy_text, portable
from indistinct.web.as_command import command_of
from indistinct.web.as_python import python_of
from indistinct.web.files import attachment, safe_name
from indistinct.web.steps.release import in_format, sentence, writes_again
from indistinct.web.steps.risk import names_of, words_of
from indistinct.web.tasks.releasing import FOR_RECIPIENTS, prepare, write_into
from indistinct.web.tasks.risks import assess_release, attack_release
from indistinct.web.tasks.searching import search
from indistinct.web.worker import Desk

EXAMPLES = Path(__file__).parents[2] / "examples"
NOWHERE = Path("/nowhere-at-all")
ROWS = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with an invented table, as a steward's own."""
    place = tmp_path_factory.mktemp("steward")
    pyarrow.csv.write_csv(generate_patients(ROWS, seed=3), place / "patients.csv")
    return place


@pytest.fixture(scope="module")
def job(folder):
    """The job of the example, on the invented table."""
    policy = read_policy(EXAMPLES / "patients.toml")
    return replace(
        policy, input=replace(policy.input, path=Path("patients.csv")), output=Output(Path("open.csv")), base=folder
    )


@pytest.fixture(scope="module")
def made(job, tmp_path_factory):
    return search(Desk(), job, tmp_path_factory.mktemp("page") / "release")


@pytest.fixture(scope="module")
def prepared(job, made, tmp_path_factory):
    """Everything that may leave, reports included."""
    stated = replace(job, about=Statement(purpose="a test of downloads"))
    folder = tmp_path_factory.mktemp("prepared") / "files"
    return prepare(Desk(), stated, made, folder, shipped=portable(stated, NOWHERE), seconds=0.5)


@pytest.fixture
def run(monkeypatch):
    """Run the command line in a folder, and return what it prints as JSON."""

    def run(*words, cwd, code=0):
        monkeypatch.chdir(cwd)
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == code, done.stderr
        return json.loads(done.stdout)

    return run


# As code


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
        if name in ("bom", "for-spreadsheet", "header", "codes"):
            given[key] = True
            continue
        value = value if equals else next(rest)
        if key is None:
            continue
        if key in ("suppression",):
            given[key] = float(value)
        elif key in ("delimiter", "encoding", "decimal", "thousands", "sheet", "algorithm", "target") or key.startswith(
            ("output_",)
        ):
            given[key] = value
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


def test_flags_say_the_whole_job(job):
    policy = replace(
        read_policy(EXAMPLES / "hospital.toml"),
        suppression=0.05,
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


@pytest.mark.parametrize(
    ("hierarchy", "said"),
    [
        (Hierarchy.tree({"*": {"a": ["x"], "b": ["y"]}}), "it is a tree"),
        (Hierarchy.from_rows([["x", "*"]]), "row by row"),
        (Hierarchy.intervals([5, 10], origin=2), "intervals"),
        (Hierarchy.masking(levels=2), "mask"),
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
        suppression=0.1,
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
    assert given.get("suppression", 0.0) == policy.suppression
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


# Risk


def test_figures_are_those_of_the_command_line(run, job, made, folder, tmp_path):
    (tmp_path / "policy.toml").write_text(
        policy_text(replace(job, input=replace(job.input, path=folder / "patients.csv")))
    )
    where = ["--policy", "policy.toml", "--original", str(folder / "patients.csv")]
    path, recoding = map(str, (made["files"]["table"], made["files"]["recoding"]))
    found = assess_release(Desk(), job, made["files"], population_size=50_000, profile="public")
    told = run(
        *("assess", path, *where, "--recoding", recoding, "--population-size", "50000", "--profile", "public"),
        cwd=tmp_path,
        code=0 if found["found"]["profile"]["passed"] else 4,
    )
    del told["table"]
    assert json.loads(json.dumps(found["found"])) == told
    assert [section.anchor for section in found["sections"]] == ["risk", "thresholds", "attributes", "membership"]


def test_attacks_are_those_of_the_command_line(run, job, made, folder, tmp_path):
    (tmp_path / "policy.toml").write_text(
        policy_text(replace(job, input=replace(job.input, path=folder / "patients.csv")))
    )
    pyarrow.csv.write_csv(generate_patients(200, seed=77), tmp_path / "control.csv")
    options = {"attacks": ["record-linkage", "homogeneity"], "beside": {"control": tmp_path / "control.csv"}}
    found = attack_release(Desk(), job, made["files"], **options)["found"]
    assert sorted(each["attack"] for each in found["outcomes"]) == ["homogeneity", "record-linkage"]
    by_name = {each["attack"]: each for each in found["outcomes"]}
    told = run(
        *("attack", "record-linkage", str(made["files"]["table"]), "--policy", "policy.toml"),
        *("--control", "control.csv"),
        cwd=tmp_path,
    )
    assert by_name["record-linkage"] == told
    assert by_name["record-linkage"]["control"] is not None


def test_attacks_are_told_in_plain_words():
    from indistinct.attacks.registry import ATTACKS

    for name, kind in ATTACKS.items():
        assert words_of(name, kind).endswith(".")
    assert "Needs a control" in words_of("membership", ATTACKS["membership"])
    first = names_of({"attacks": None})
    assert "homogeneity" in first
    assert not {"membership", "intersection"} & set(first)
    assert names_of({"attacks": ["membership"]}) == ["membership"]


# What leaves


def test_the_downloaded_files_verify_and_run_on_the_command_line(run, prepared, folder, tmp_path):
    for path in prepared["downloads"].values():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "patients.csv").write_bytes((folder / "patients.csv").read_bytes())
    told = run("verify", "open.csv", "--policy", "policy.toml", "--original", "patients.csv", cwd=tmp_path)
    assert told["holds"]
    assert told["certificate"]["rows"] == prepared["verdict"]["rows"]
    again = run("anonymize", "policy.toml", "--overwrite", cwd=tmp_path)
    assert again["holds"]
    assert again["rows"] == told["rows"]


def test_reports_name_the_policy_that_is_given_away(prepared):
    import hashlib

    files = prepared["downloads"]
    digest = hashlib.sha256(files["policy"].read_bytes()).hexdigest()
    assert digest in files["report-internal"].read_text()
    assert "a test of downloads" in files["report"].read_text()
    assert read_policy(files["policy"]).about.purpose == "a test of downloads"


def test_archives_have_names_and_nothing_else(prepared):
    files = prepared["downloads"]
    with zipfile.ZipFile(files["package"]) as archive:
        assert archive.namelist() == ["open.csv", "open.csv.certificate.json", "open.report.html"]
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.read("open.csv") == files["table"].read_bytes()
    with zipfile.ZipFile(files["everything"]) as archive:
        assert {"policy.toml", "open.recoding.json", "open.internal.html"} < set(archive.namelist())
        assert all("/" not in name for name in archive.namelist())


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".sav"])
def test_another_form_has_the_same_rows_and_the_same_promise(job, made, folder, tmp_path, suffix):
    policy = in_format(replace(job, output=replace(job.output, writing=Writing(delimiter=";"))), suffix)
    assert writes_again(policy, made)
    assert (policy.output.writing == Writing()) == (suffix != ".csv")
    ready = prepare(Desk(), policy, made, tmp_path / "p", shipped=portable(policy, NOWHERE), again=True, reports=False)
    table = ready["downloads"]["table"]
    assert table.name == f"open{suffix}"
    columns = ["age", "sex", "disease"]

    def rows(path):
        shown = ind.open(path, text=["age"] if path.suffix == ".csv" else None).data.select(columns)
        return sorted(str(list(row.values())) for row in shown.to_pylist())

    assert rows(table) == rows(made["files"]["table"])
    told = json.loads(ready["downloads"]["certificate"].read_text())
    assert told["algorithm"] == made["certificate"]["algorithm"]
    assert told["holds"]


def test_a_release_in_two_tables_leaves_with_both(job, tmp_path):
    policy = replace(job, models=(), algorithm=ind.Anatomy(l=3))
    found = search(Desk(), policy, tmp_path / "r")
    options = {"shipped": portable(policy, NOWHERE), "reports": False}
    ready = prepare(Desk(), policy, found, tmp_path / "p", **options)
    assert ready["downloads"]["second"].name == "open.sensitive.csv"
    other = in_format(policy, ".parquet")
    again = prepare(Desk(), other, found, tmp_path / "q", shipped=portable(other, NOWHERE), reports=False, again=True)
    with zipfile.ZipFile(again["downloads"]["package"]) as archive:
        assert set(archive.namelist()) == {"open.parquet", "open.sensitive.parquet", "open.parquet.certificate.json"}


def test_files_are_written_whole_and_private_ones_for_their_owner(prepared, job, folder, tmp_path):
    target = tmp_path / "out"
    options = {"policy": portable(job, NOWHERE, base=target), "sources": job.files}
    names = write_into(Desk(), target, prepared["downloads"], overwrite=False, **options)
    assert sorted(each.name for each in target.iterdir()) == sorted(names)
    assert read_policy(target / "policy.toml").source.resolve() == (folder / "patients.csv").resolve()
    for kind, path in prepared["downloads"].items():
        if path.name in names and kind not in FOR_RECIPIENTS:
            assert (target / path.name).stat().st_mode & 0o077 == 0
    with pytest.raises(OutputError):
        write_into(Desk(), target, prepared["downloads"], overwrite=False, **options)
    assert write_into(Desk(), target, prepared["downloads"], overwrite=True, **options) == names


def test_the_table_that_was_read_is_never_replaced(prepared, job, folder):
    files = {**prepared["downloads"], "report": Path("/elsewhere/patients.csv")}
    before = (folder / "patients.csv").read_bytes()
    options = {"policy": job, "sources": job.files, "overwrite": True}
    with pytest.raises(OutputError, match="also read"):
        write_into(Desk(), folder, files, **options)
    assert (folder / "patients.csv").read_bytes() == before


def test_a_change_of_the_form_asks_for_another_file(job, made):
    assert not writes_again(job, made)
    assert writes_again(replace(job, output=replace(job.output, writing=Writing(bom=True))), made)
    assert writes_again(replace(job, output=replace(job.output, smallest_count=3)), made)
    assert writes_again(replace(job, output=replace(job.output, ledger=Path("ledger.json"))), made)


def test_what_is_released_is_told_in_a_sentence(made):
    assert sentence(made).startswith(f"{made['rows']} rows in {made['classes']} classes, the smallest of ")


def test_names_of_downloads_are_safe():
    assert attachment('a"b\r\nset-cookie: x.csv') == "attachment; filename*=UTF-8''a%22bset-cookie%3A%20x.csv"
    assert safe_name("..\\..\\a.csv") == "a.csv"
