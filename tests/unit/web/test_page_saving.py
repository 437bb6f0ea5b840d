"""Jobs that outlive a server: private, without rows unless asked for, and opened again by whoever has them."""

import asyncio
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from indistinct.errors import InputError
from indistinct.job.policy import Input, Policy
from indistinct.models import KAnonymity
from indistinct.schema import Schema
from indistinct.web.project import job_of_session, open_project, open_saved, project_file, save_session
from indistinct.web.saving import ROWS, SavedJob, Shelf, new_key, pack_job, unpack_job
from indistinct.web.sessions import Session, Sessions, Settings
from indistinct.web.steps.opening import is_another_table
from indistinct.web.worker import TaskError

PERSON = "Erika Mustermann"


@pytest.fixture
def session(tmp_path):
    """A session whose table was uploaded, on a server that saves jobs."""
    private, folder = tmp_path / "private", tmp_path / "folder"
    for each in (private / "uploaded" / "table", folder):
        each.mkdir(parents=True)
    table = private / "uploaded" / "table" / "patients.csv"
    table.write_text(f"name,age\n{PERSON},30\n")
    made = Session(private, Settings(folder, 1000, shelf=Shelf(tmp_path / "jobs")))
    policy = Policy(
        Input(Path("patients.csv")), Schema(identifiers=["name"], quasi=["age"]), (KAnonymity(5),), base=table.parent
    )
    made.change(policy, name="patients.csv")
    made.keep("answers", {"who": "public"})
    return made


def files_in(folder):
    return {str(each.relative_to(folder)): each for each in folder.rglob("*") if each.is_file()}


def test_a_saved_job_is_private_and_has_no_row(session, tmp_path):
    save_session(session)
    found = files_in(tmp_path / "jobs")
    assert sorted(Path(name).name for name in found) == ["job.json", "policy.toml"]
    for path in found.values():
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0
        assert PERSON not in path.read_text()
        assert str(session.folder) not in path.read_text()


def test_rows_are_saved_only_where_somebody_asks_and_go_when_nobody_does(session, tmp_path):
    session.keep("keeps-rows", True)
    save_session(session)
    [entry] = session.settings.shelf.entries()
    assert entry.rows
    [copy] = (tmp_path / "jobs").glob(f"*/{ROWS}/*")
    assert copy.stat().st_mode & 0o077 == 0
    session.keep("keeps-rows", False)
    save_session(session)
    assert not session.settings.shelf.entries()[0].rows
    assert not copy.exists()


def test_a_job_comes_back_as_it_was_decided(session):
    save_session(session)
    [entry] = session.settings.shelf.entries()
    job, rows = session.settings.shelf.take(entry.key)
    assert (job.name, job.told["answers"], rows) == ("patients.csv", {"who": "public"}, None)
    assert "k-anonymity:k=5" in job.policy
    session.settings.shelf.remove(entry.key)
    assert session.settings.shelf.entries() == []
    with pytest.raises(InputError, match="not saved here"):
        session.settings.shelf.take(entry.key)


def test_another_table_does_not_overwrite_the_saved_job(session):
    saved = session._save = save_session
    saved(session)
    first = session.key
    other = replace(session.policy, input=Input(Path("visits.csv")), schema=Schema(quasi=["weight"]))
    assert is_another_table(session.policy, other)
    assert is_another_table(session.policy, replace(session.policy, schema=Schema(quasi=["weight"])))
    assert not is_another_table(session.policy, replace(session.policy, models=(KAnonymity(9),)))
    session.change(replace(session.policy, models=(KAnonymity(7),)))  # not saved yet
    session.change(other, name="visits.csv", key=new_key())
    session.forget("answers")
    save_session(session)
    assert [each.name for each in session.settings.shelf.entries()] == ["patients.csv"], "it was only looked at"
    session.change(replace(other, models=(KAnonymity(3),)))
    save_session(session)
    jobs = {each.key: session.settings.shelf.take(each.key)[0] for each in session.settings.shelf.entries()}
    assert {job.name for job in jobs.values()} == {"patients.csv", "visits.csv"}
    assert "k-anonymity:k=7" in jobs[first].policy
    session.undo()
    session.undo()
    assert (session.key, session.name, session.result("answers")) == (first, "patients.csv", {"who": "public"})
    save_session(session)
    assert session.settings.shelf.take(first)[0].told["answers"] == {"who": "public"}


def test_a_saved_job_that_cannot_be_opened_yet_is_not_overwritten(session):
    save_session(session)
    first = session.key
    session.change(replace(session.policy, input=Input(Path("visits.csv"))), name="visits.csv", key=new_key())
    open_saved(session, first)  # its table may have to be uploaded first
    session.change(replace(session.policy, models=(KAnonymity(9),)))
    save_session(session)
    assert "k-anonymity:k=5" in session.settings.shelf.take(first)[0].policy


@pytest.mark.parametrize("key", ["..", "../secret", "", "/etc"])
def test_no_key_leads_out_of_the_shelf(session, key):
    save_session(session)
    with pytest.raises(InputError):
        session.settings.shelf.take(key)
    with pytest.raises(InputError):
        session.settings.shelf.remove(key)


def test_a_job_whose_choices_are_no_object_is_refused_on_the_shelf(session, tmp_path):
    key = new_key()
    session.settings.shelf.put(key, SavedJob("x", ""))
    (tmp_path / "jobs" / key / "job.json").write_text("[]")
    with pytest.raises(TaskError):
        open_saved(session, key)


def test_a_job_taken_along_has_no_rows_and_opens_elsewhere(session, tmp_path):
    name, content = project_file(session)
    assert name == "patients.indistinct"
    assert PERSON.encode() not in content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert sorted(archive.namelist()) == ["job.json", "policy.toml"]
    elsewhere = Session(tmp_path / "other", replace(session.settings))
    elsewhere.folder.mkdir()
    path = tmp_path / name
    path.write_bytes(content)
    policy, told = open_project(elsewhere, path)
    assert told["answers"] == {"who": "public"}
    assert "patients.csv" in policy.read_text()
    assert policy.stat().st_mode & 0o077 == 0


def test_rows_that_were_packed_come_along(session, tmp_path):
    session.keep("keeps-rows", True)
    (tmp_path / "job.indistinct").write_bytes(project_file(session)[1])
    _, rows = unpack_job(tmp_path / "job.indistinct", into=tmp_path, most=1000)
    assert rows.read_text().endswith("30\n")
    assert rows.parent == tmp_path


def bomb(name):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("policy.toml", "")
        archive.writestr("job.json", json.dumps({"format": 1, "name": "x", "told": {}}))
        archive.writestr(name, b"0" * 5_000_000)
    return made.getvalue()


def packed(told, policy="", rows=b"name,age\nx,30\n" * 20, method=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, text in {"job.json": told, "policy.toml": policy, "rows/patients.csv": rows}.items():
            archive.writestr(name, text)
    return made.getvalue()


def damaged(entry, method=zipfile.ZIP_DEFLATED):
    """Return a saved job with other bytes at the start of a compressed entry, behind what names the method."""
    content = bytearray(packed(TOLD, "x = 1\n" * 100, method=method))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        start = archive.getinfo(entry).header_offset + 30 + len(entry) + (9 if method == zipfile.ZIP_LZMA else 0)
    content[start : start + 4] = b"\xff" * 4
    return bytes(content)


def shortened():
    """Return a saved job whose index promises more bytes of the rows, its last entry, than the file has."""
    content = bytearray(packed(TOLD, method=zipfile.ZIP_STORED))
    index = content.rindex(b"PK\x01\x02")
    for at in (index + 20, index + 24):
        content[at : at + 4] = (10_000).to_bytes(4, "little")
    return bytes(content)


TOLD = json.dumps({"format": 1, "name": "x", "told": {}})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 nothing",
        bomb("rows/large.csv"),
        pack_job(SavedJob("x", ""))[:-30],
        packed("[]"),
        packed("7"),
        packed('{"format": 1, "told": {}}'),
        packed(b"\xff"),
        damaged("job.json"),
        damaged("policy.toml"),
        damaged("rows/patients.csv"),
        damaged("rows/patients.csv", zipfile.ZIP_LZMA),
        damaged("rows/patients.csv", zipfile.ZIP_BZIP2),
        shortened(),
    ],
)
def test_a_file_that_is_no_job_is_refused_without_what_is_in_it(session, tmp_path, content):
    (tmp_path / "bad.indistinct").write_bytes(content)
    with pytest.raises(TaskError) as told:
        open_project(session, tmp_path / "bad.indistinct")
    assert "0000" not in told.value.message


@pytest.mark.parametrize("told", ["[]", "{}", json.dumps({"format": 99, "name": "x", "told": {}})])
def test_rows_of_a_refused_job_are_not_written(told, tmp_path):
    (tmp_path / "job.indistinct").write_bytes(packed(told))
    (tmp_path / "rows").mkdir()
    with pytest.raises(InputError):
        unpack_job(tmp_path / "job.indistinct", into=tmp_path / "rows", most=1000)
    assert not list((tmp_path / "rows").iterdir())


def test_a_packed_job_is_compressed():
    policy = "# the same line again\n" * 1000
    content = pack_job(SavedJob("x", policy))
    assert len(content) < len(policy) / 10
    assert content == pack_job(SavedJob("x", policy))


def test_rows_of_a_packed_job_stay_in_their_folder(session, tmp_path):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("policy.toml", "")
        archive.writestr("job.json", json.dumps({"format": 1, "name": "x", "told": {}}))
        archive.writestr("rows/../../../escaped.csv", "a")
    (tmp_path / "bad.indistinct").write_bytes(made.getvalue())
    open_project(session, tmp_path / "bad.indistinct")
    assert [each.name for each in tmp_path.rglob("escaped.csv")] == ["escaped.csv"]
    assert next(tmp_path.rglob("escaped.csv")).is_relative_to(session.folder)


def test_nothing_is_saved_where_that_is_not_wanted_or_nothing_was_decided(tmp_path, session):
    assert job_of_session(Session(tmp_path, session.settings)) is None
    session.settings.shelf.__init__(None)
    save_session(session)
    assert session.settings.shelf.entries() == []


def test_sessions_that_nobody_uses_end_and_what_was_decided_stays(tmp_path, session):
    saved = []
    settings = replace(session.settings, idle=100.0)
    (tmp_path / "sessions").mkdir()

    async def live():
        sessions = Sessions(tmp_path / "sessions", settings, save=saved.append)
        secret, left = sessions.open()
        other, used = sessions.open()
        assert (left.first, used.first) == (True, False)
        left.used -= 101
        sessions.end_idle()
        assert (sessions.of(secret), sessions.of(other)) == (None, used)
        assert saved == [left]
        assert not left.folder.exists()
        sessions.close()

    asyncio.run(live())
