"""Several tables of the same people on the page: each step of the walk, changes of the job, and what is saved."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

pytest.importorskip("nicegui")

from nicegui import Client, core, ui
from nicegui.elements.mixins.text_element import TextElement

from indistinct.errors import ParameterError, PolicyError, SchemaError
from indistinct.linked.policy import linked_policy_from_toml
from indistinct.release.writing.files import write_table
from indistinct.samples.clinic import CLINIC_POLICY, clinic_codes, generate_clinic
from indistinct.tables import Reading
from indistinct.web import parts
from indistinct.web.as_code import as_command, as_policy, as_python, tables_policy_text
from indistinct.web.files import DOWNLOADS
from indistinct.web.frame import Places, Screen
from indistinct.web.project import job_of_session, save_session
from indistinct.web.saving import Shelf, new_key
from indistinct.web.sessions import Session, Settings
from indistinct.web.standing import MEANING, standing
from indistinct.web.steps import STEPS
from indistinct.web.steps.opening import TABLES_LEFT_OUT, TABLES_REASONS, is_another_job
from indistinct.web.steps.several.columns import roles_for
from indistinct.web.tables_following import begin_tables_search, chores_for_tables, take_tables
from indistinct.web.tables_job import (
    LIST,
    TIME,
    UNKNOWN_TIME,
    TablesJob,
    columns_of,
    known_rows,
    role_of,
    with_calendar,
    with_column_role,
    with_known,
    with_person,
    with_policy,
    with_separator,
    with_window,
)
from indistinct.web.tables_standing import JUDGED, KNOWN_ROWS, LOOK, MADE, verdict_on_tables
from indistinct.web.tasks.looking import Allowed, MissingTable
from indistinct.web.tasks.several import (
    TablesLook,
    assess_known_rows,
    judge_tables,
    look_at_files,
    look_by_any_policy,
    publish_tables,
)
from indistinct.web.worker import Desk, TaskError
from references.drawn_page import draw_step

SIZE = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with the files of a clinic and one file without people."""
    made = tmp_path_factory.mktemp("clinic")
    for name, table in generate_clinic(SIZE, seed=4).items():
        if name != "prescriptions":
            write_table(table, made / f"{name}.csv")
    write_table(clinic_codes(), made / "codes.csv")
    return made


@pytest.fixture(scope="module")
def looked(folder: Any) -> TablesLook:
    found = look_at_files(Desk(), folder, Reading())
    assert isinstance(found, TablesLook)
    return found


@pytest.fixture
def job(looked: TablesLook) -> TablesJob:
    """The tables as they were proposed, but for laboratory values, whose times attackers do not know."""
    made = TablesJob(looked.policy)
    for column in ("test", "value"):
        made = with_column_role(made, "labs", column, "insensitive")
    return with_column_role(made, "labs", "date", UNKNOWN_TIME)


@pytest.fixture
def decided(job: TablesJob) -> TablesJob:
    """The tables with everything decided; few people suffice."""
    for name in known_rows(job.policy):
        job = with_known(job, name, 1 if name == "stays" else 0)
    return with_policy(job, model=replace(job.policy.model, k=2))


@pytest.fixture
def session(tmp_path: Any, looked: TablesLook, job: TablesJob, monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session(tmp_path, Settings(tmp_path, 10))
    desk = Desk()

    async def ask(_session: Session, task: Any, *arguments: Any, **options: Any) -> Any:
        return task(desk, *arguments, **options)

    monkeypatch.setattr(Session, "ask", ask)
    monkeypatch.setattr("indistinct.web.background.Background.want", lambda _background, _chores: None)
    take_tables(made, job, name="clinic", key=new_key())
    made.keep(LOOK, dict(looked.inspections))
    made.keep(TABLES_REASONS, looked.reasons)
    made.keep(TABLES_LEFT_OUT, looked.left_out)
    return made


def text_of(session: Session, step: str, **choices: Any) -> str:
    """Draw a step of a session without a browser, and return everything that it says."""

    async def draw() -> str:
        loop, core.loop = core.loop, asyncio.get_running_loop()
        try:
            client = Client(ui.page("/"))
            with client:
                places = Places(*(parts.tag("div") for _ in range(6)))
                screen = Screen(session, next(each for each in STEPS if each.name == step), STEPS, places)
                screen.choices |= choices
                await screen.draw()
            texts = [each.text for each in client.elements.values() if isinstance(each, TextElement)]
            marks = [str(each.props.get("innerHTML", "")) for each in client.elements.values()]
            return "\n".join([*texts, *marks])
        finally:
            core.loop = loop

    said = asyncio.run(draw())
    assert "unexpected" not in said, said
    return said


@pytest.mark.parametrize("step", ["open", "columns", "privacy", "search", "risk", "release"])
def test_each_step_is_told_in_german(session: Session, decided: TablesJob, step: str, tmp_path: Any) -> None:
    session.language = "de"
    undecided = draw_step(session, step)[1]
    session.change_tables(decided, name="clinic")
    policy = session.require_tables().policy
    made = publish_tables(Desk(), policy, tmp_path / "release")
    session.keep(MADE, made, rests_on=policy)
    judged = judge_tables(Desk(), policy, made["folder"], tables_policy_text(policy, session.folder))
    session.keep(JUDGED, judged, rests_on=made["folder"])
    left = [*undecided.missing, *draw_step(session, step)[1].missing]
    assert left == []


# What is opened


def test_a_folder_of_different_files_opens_as_several_tables(looked: TablesLook) -> None:
    assert looked.policy.people.name == "patients"
    assert looked.left_out == ("codes",)
    assert set(looked.inspections) == {"patients", "stays", "diagnoses", "labs"}
    assert looked.inspections["patients"]["columns"][0]["points_at"] is not None


def test_a_policy_of_several_tables_opens_and_waits_for_its_tables(folder: Any, tmp_path: Any) -> None:
    uploaded = tmp_path / "uploaded"
    for each in ("table", "policy"):
        (uploaded / each).mkdir(parents=True)
    allowed = Allowed(tmp_path.resolve(), (uploaded / "table").resolve())
    path = uploaded / "policy" / "policy.toml"
    text = CLINIC_POLICY.replace(
        ', hierarchy = { parents = "codes.csv", code = "code", parent = "parent", root = "*" }', ""
    )
    start, rest = text.split("[tables.prescriptions]")
    path.write_text(start + rest[rest.index("[time]") :])
    found = look_by_any_policy(Desk(), path, allowed, allowed.uploaded)
    assert found == MissingTable("patients.csv")
    given = allowed.uploaded / "clinic"
    given.mkdir()
    for each in folder.glob("*.csv"):
        (given / each.name).write_bytes(each.read_bytes())
    found = look_by_any_policy(Desk(), path, allowed, given)
    assert isinstance(found, TablesLook)
    assert found.decided
    assert found.policy.table("diagnoses").knows == 2
    assert len(found.inspections) == 4


def test_no_policy_leads_out_of_the_folder(tmp_path: Any) -> None:
    inside, secret = tmp_path / "inside", tmp_path / "secret.csv"
    inside.mkdir()
    secret.write_text("code,parent\na,\n")
    path = inside / "policy.toml"
    path.write_text(CLINIC_POLICY.replace('"codes.csv"', '"../secret.csv"'))
    allowed = Allowed(inside.resolve(), (inside / "uploaded" / "table").resolve())
    with pytest.raises(PolicyError, match="leads out of the folder"):
        look_by_any_policy(Desk(), path, allowed, allowed.uploaded)
    write_table(clinic_codes(), inside / "codes.csv")
    path.write_text(CLINIC_POLICY.replace('"patients.csv"', '"../secret.csv"'))
    assert look_by_any_policy(Desk(), path, allowed, allowed.uploaded) == MissingTable("secret.csv")


# Changes of the job


def test_a_role_changes_with_what_goes_with_it(job: TablesJob) -> None:
    changed = with_column_role(job, "stays", "ward", "insensitive")
    assert changed.policy.table("stays").is_counted
    changed = with_column_role(changed, "stays", "length", "insensitive")
    changed = with_column_role(changed, "stays", "admitted", "identifier")
    assert changed.policy.table("stays").time is None
    assert changed.policy.table("stays").knows is None
    assert "stays" not in known_rows(changed.policy)
    back = with_column_role(changed, "stays", "admitted", TIME)
    assert role_of(back.policy.table("stays"), "admitted") == TIME
    assert back.open_questions == ("diagnoses", "stays")


def test_a_list_counts_as_a_table(job: TablesJob) -> None:
    listed = with_column_role(job, "patients", "region", LIST)
    assert "patients.region" in known_rows(listed.policy)
    assert "region" in columns_of(listed.policy.people)
    chosen = with_known(listed, "patients.region", 2)
    assert chosen.policy.people.lists[0].knows == 2
    assert with_separator(chosen, "region", ";").policy.people.lists[0].separator == ";"
    with pytest.raises(ParameterError, match="separator"):
        with_separator(chosen, "region", "")
    plain = with_column_role(chosen, "patients", "region", "insensitive")
    assert plain.chosen == frozenset()


def test_more_than_three_known_rows_get_a_number_for_all_tables(job: TablesJob) -> None:
    assert with_known(job, "stays", 2).policy.together is None
    both = with_known(with_known(job, "stays", 2), "diagnoses", 2)
    assert both.policy.together == 3
    assert both.policy.knowledge.rows == 3


def test_the_calendar_and_the_person_id_change(job: TablesJob) -> None:
    days = with_window(job, date(2000, 1, 1), date(2030, 12, 31))
    assert days.policy.time is not None
    assert set(days.policy.time.windows.values()) == {(date(2000, 1, 1), date(2030, 12, 31))}
    weeks = with_calendar(days, unit="weeks")
    assert weeks.policy.time is not None
    assert weeks.policy.time.unit == "weeks"
    assert with_calendar(days, anchor="birth_date").policy.time != days.policy.time
    other = with_person(job, "stays", "stay")
    assert other.policy.table("stays").person == "stay"
    assert role_of(other.policy.table("stays"), "patient") == "identifier"
    with pytest.raises(SchemaError, match="anchor"):
        with_column_role(job, "patients", "first_admission", "identifier")


def test_roles_that_a_column_cannot_have_are_not_offered(looked: TablesLook) -> None:
    columns = {each["name"]: each for each in looked.inspections["stays"]["columns"]}
    stays = looked.policy.table("stays")
    assert {TIME, UNKNOWN_TIME} <= set(roles_for(stays, columns["admitted"]))
    assert not {TIME, LIST, "person"} & set(roles_for(stays, columns["ward"]))


# The walk


def test_every_step_is_drawn_and_asks_what_is_open(session: Session) -> None:
    opened = text_of(session, "open", **{"rows-patients": True})
    assert "4 tables about the same people" in opened
    assert "patients has one row a person" in opened
    assert "Left out, because no column holds person IDs: codes." in opened
    columns = text_of(session, "columns")
    assert "person ID: published as a random pseudonym" in columns
    assert "Others may know all quasi-identifiers" in columns
    privacy = text_of(session, "privacy")
    assert "please choose" in privacy
    assert "Everybody: k = 12" in privacy
    search = text_of(session, "search")
    assert "It is not said yet how many rows an attacker may know: diagnoses, stays." in search
    assert "There is no release yet." in text_of(session, "risk")
    assert "do not have this step" in text_of(session, "explore")
    assert ("tables", "4", "") in standing(session)
    assert {label for label, _, _ in standing(session)} <= set(MEANING)


def test_nothing_is_searched_before_it_is_said_what_is_known(session: Session) -> None:
    with pytest.raises(TaskError, match="not said yet"):
        begin_tables_search(session)
    assert job_of_session(session) is None


def test_a_walk_ends_with_files_that_pass(session: Session, decided: TablesJob, tmp_path: Any) -> None:
    session.change_tables(decided)
    [known] = chores_for_tables(session)
    session.keep(KNOWN_ROWS, assess_known_rows(Desk(), *known.arguments), rests_on=known.rests_on)
    privacy = text_of(session, "privacy")
    assert "An attacker who knows the columns of a person and 1 row of" in privacy
    made = publish_tables(Desk(), decided.policy, tmp_path / "made" / "1" / "release")
    session.keep(MADE, made, rests_on=decided.policy)
    verdict = verdict_on_tables(session, made)
    assert verdict.tone in ("checking", "warning")
    assert verdict.sentence == "Checking 2 of 3: no verdict on the release yet."
    assert "Checking 2 of 3" in text_of(session, "release")
    assert session.result(DOWNLOADS) == {}, "nothing is taken before everything is checked"
    judge = chores_for_tables(session)[1]
    session.keep(JUDGED, judge_tables(Desk(), *judge.arguments), rests_on=judge.rests_on)
    final = verdict_on_tables(session, made)
    for step in ("search", "risk", "release"):
        assert final.sentence in text_of(session, step)
    assert any(final.sentence in told for _, told, _ in standing(session))
    files = session.result(DOWNLOADS)
    assert {"package", "table-patients", "certificate", "policy", "report-internal"} <= set(files)
    assert all(path.is_file() for path in files.values())
    assert final.sentence in files["report-internal"].read_text()
    session.change_tables(with_policy(decided, rows=0.5))
    assert "changed since the last search" in text_of(session, "release")
    session.undo()
    assert final.sentence in text_of(session, "release")


def test_a_job_is_saved_as_a_policy_that_runs(session: Session, decided: TablesJob, folder: Any) -> None:
    session.change_tables(decided)
    saved = job_of_session(session)
    assert saved is not None
    back = linked_policy_from_toml(saved.policy, base=folder)
    assert {table.name: table.knows for table in back.tables} == {
        table.name: table.knows for table in decided.policy.tables
    }
    assert "ind.run" in as_python(session)
    assert as_command(session) == "indistinct anonymize policy.toml"
    assert str(session.folder) not in as_policy(session)
    private = replace(decided.policy, base=session.folder / "uploaded")
    assert 'path = "patients.csv"' in tables_policy_text(private, session.folder)


def test_one_table_after_several_and_back(session: Session) -> None:
    from indistinct.job.policy import Input, Policy
    from indistinct.models import KAnonymity
    from indistinct.schema import Schema

    before = session.tables
    policy = Policy(Input(session.folder / "a.csv"), Schema(quasi=["age"]), (KAnonymity(5),))
    assert is_another_job(session, policy), "it does not overwrite the saved job on several tables"
    session.change(policy, name="a.csv", key=new_key())
    assert session.tables is None
    assert not is_another_job(session, policy)
    session.undo()
    assert session.tables == before
    assert session.policy is None
    with suppress(RuntimeError):
        session.save_soon()


def test_a_job_on_several_tables_is_kept_on_the_shelf(tmp_path: Any, looked: TablesLook, decided: TablesJob) -> None:
    private, folder = tmp_path / "private", tmp_path / "folder"
    for each in (private / "uploaded" / "table" / "clinic", folder):
        each.mkdir(parents=True)
    made = Session(private, Settings(folder, 10, shelf=Shelf(tmp_path / "jobs")), save=save_session)
    uploaded = replace(decided.policy, base=private / "uploaded" / "table" / "clinic")
    take_tables(made, TablesJob(uploaded), name="clinic", key=new_key())
    made.change_tables(replace(decided, policy=uploaded))
    made.save()
    [entry] = made.settings.shelf.entries()
    assert entry.name == "clinic"
    assert 'path = "patients.csv"' in made.settings.shelf.take(entry.key)[0].policy
