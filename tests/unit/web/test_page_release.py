"""What leaves the page: the risk of the published file, and the files of a release."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import indistinct as ind
from indistinct.cli import app
from indistinct.errors import OutputError
from indistinct.job.policy import Output, Statement, read_policy
from indistinct.release.writing.delimited import Writing
from indistinct.samples import generate_patients
from indistinct.web.as_code import policy_text, portable
from indistinct.web.files import attachment, safe_name
from indistinct.web.following import attack_chore, attack_names, files_to_take, prepare_chore, writes_again
from indistinct.web.sessions import Session, Settings, job_of
from indistinct.web.standing import (
    ATTACKS,
    RELEASED,
    RISK,
    check_release,
    choose_about_risk,
    key_of_attacks,
    key_of_risk,
    standing,
)
from indistinct.web.steps.release import in_format, reservation, sentence
from indistinct.web.steps.risk import words_of_attack
from indistinct.web.steps.verdict_box import settled_lines
from indistinct.web.tasks.releasing import FOR_RECIPIENTS, prepare, write_into
from indistinct.web.tasks.risks import assess_release, attack_release
from indistinct.web.tasks.searching import search
from indistinct.web.worker import Desk, StoppedError

EXAMPLES = Path(__file__).parents[3] / "examples"
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


# Risk


def test_figures_are_those_of_the_command_line(run, job, made, folder, tmp_path):
    (tmp_path / "policy.toml").write_text(
        policy_text(replace(job, input=replace(job.input, path=folder / "patients.csv")))
    )
    where = ["--policy", "policy.toml", "--original", str(folder / "patients.csv")]
    path, recoding = map(str, (made["files"]["table"], made["files"]["recoding"]))
    found = assess_release(Desk(), job, made["files"], population_size=50_000)
    told = run(
        *("assess", path, *where, "--recoding", recoding, "--population-size", "50000"),
        cwd=tmp_path,
    )
    del told["table"]
    assert json.loads(json.dumps(found["found"])) == told
    assert [section.anchor for section in found["sections"]] == ["risk", "thresholds", "attributes", "membership"]


def test_the_strip_is_not_green_beside_a_column_that_points_at_everybody(job, tmp_path):
    roles = replace(job.schema, identifiers=["name"], insensitive=["cost"])
    open_job = replace(job, schema=roles, models=job.models[:1])
    found = search(Desk(), open_job, tmp_path / "release")
    session = Session(tmp_path, Settings(tmp_path, 10))
    session.change(open_job)
    session.keep(RELEASED, found, rests_on=job_of(open_job))
    told = {name: (value, kind) for name, value, kind in standing(session)}
    assert told["verdict"] == ("Checking 2 of 3: no verdict on the release yet.", "")
    assert told["violations"] == ("0", "")
    session.change(replace(open_job, about=replace(open_job.about, profile="public")))
    risk = assess_release(Desk(), open_job, found["files"])
    session.keep(RISK, risk, rests_on=key_of_risk(session, found))
    told = {name: (value, kind) for name, value, kind in standing(session)}
    assert told["verdict"] == ("The release FAILS the profile public.", "bad")
    # The classes of five are too small for everybody, and the column fails as well.
    assert [(line.figure, line.columns) for line in check_release(session, found).open[:2]] == [
        ("highest", ()),
        (None, ("cost",)),
    ]
    # An attack that was run enters the verdict, in the words of the command line.
    outcome = {"attack": "homogeneity", "succeeds": True, "beyond_chance": 0.5}
    session.keep(ATTACKS, {"found": {"outcomes": [outcome]}}, rests_on=key_of_attacks(session, found))
    said = "read a sensitive value off a class in which all have the same: this beats chance"
    assert f"FAILED: an attacker can {said} by at least 50 %" in check_release(session, found).sentences
    session.keep(ATTACKS, {"found": {"outcomes": [outcome]}}, rests_on="another release")
    assert "not checked: no attack was tried" in check_release(session, found).sentences


def test_nothing_is_good_and_no_table_leaves_before_every_check_has_an_answer(job, tmp_path):
    bare = replace(job, models=(ind.KAnonymity(20),), about=replace(job.about, profile="public:homogeneous=1"))
    hidden = [*bare.schema.identifiers, *bare.schema.insensitive]
    bare = replace(bare, schema=replace(bare.schema, identifiers=hidden, insensitive=[]))
    found = search(Desk(), bare, tmp_path / "release")
    session = Session(tmp_path, Settings(tmp_path, 10))
    session.change(bare)
    session.keep(RELEASED, found, rests_on=job_of(bare))
    limits = len(check_release(session, found).gate.lines)

    def told():
        figures = {name: (value, kind) for name, value, kind in standing(session)}
        return figures["verdict"], figures["violations"][1], bool(files_to_take(session))

    about = "no verdict on the profile public:homogeneous=1.0 yet."
    assert told() == ((f"Checking 2 of {limits + 2}: {about}", ""), "", False)
    session.keep(RISK, assess_release(Desk(), bare, found["files"]), rests_on=key_of_risk(session, found))
    assert told() == ((f"Checking {limits + 2} of {limits + 2}: {about}", ""), "", False)
    assert any(line.startswith("being checked: attacks") for line in settled_lines(check_release(session, found)))
    outcome = {"attack": "homogeneity", "succeeds": False, "beyond_chance": 0.0}
    session.keep(ATTACKS, {"found": {"outcomes": [outcome]}}, rests_on=key_of_attacks(session, found))
    assert told() == (("The release passes the profile public:homogeneous=1.0.", "good"), "good", True)
    # An attack that was stopped leaves a check without an answer: nothing is good, and a button says so.
    choose_about_risk(session, longer=True)
    session.background._ended[ATTACKS] = attack_chore(session, found), StoppedError("stopped")
    said = (
        f"The release is not shown to pass the profile public:homogeneous=1.0: 1 of {limits + 2} checks has no answer."
    )
    assert told() == ((said, ""), "", True)
    assert reservation(check_release(session, found)) == ", although not everything was checked"


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
    from indistinct.evaluation.attack.registry import ATTACKS

    for name, kind in ATTACKS.items():
        assert words_of_attack(name, kind).endswith(".")
    assert "Needs a control" in words_of_attack("membership", ATTACKS["membership"])
    first = attack_names({"attacks": None})
    assert "homogeneity" in first
    assert not {"membership", "intersection"} & set(first)
    assert attack_names({"attacks": ["membership"]}) == ["membership"]


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


def test_the_report_for_readers_speaks_the_language_of_the_page(job, made, tmp_path):
    shipped = portable(job, NOWHERE)
    ready = prepare(Desk(), job, made, tmp_path / "p", shipped=shipped, seconds=0.5, language="de")
    readers, internal = (ready["downloads"][kind].read_text() for kind in ("report", "report-internal"))
    assert '<html lang="de"' in readers
    assert "Bericht über die Veröffentlichung" in readers
    assert '<html lang="en"' in internal


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
    assert sentence(made).startswith(f"{made['rows']} rows in {made['classes']} equivalence classes, the smallest of ")


def test_names_of_downloads_are_safe():
    assert attachment('a"b\r\nset-cookie: x.csv') == "attachment; filename*=UTF-8''a%22bset-cookie%3A%20x.csv"
    assert safe_name("..\\..\\a.csv") == "a.csv"


def test_reports_for_readers_are_made_anew_for_a_page_in_another_language(job, made, tmp_path):
    session = Session(tmp_path, Settings(tmp_path, 10))
    session.change(job)
    session.keep(RELEASED, made, rests_on=job_of(job))
    english = prepare_chore(session, made)
    session.shown_in = "de"
    german = prepare_chore(session, made)
    assert (english.options["language"], german.options["language"]) == ("en", "de")
    assert english.rests_on != german.rests_on
