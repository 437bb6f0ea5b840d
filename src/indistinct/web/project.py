"""A session as a saved job, and back: policy and decisions, and no rows unless the steward asks for them."""

from pathlib import Path
from typing import Any

from indistinct.errors import InputError
from indistinct.web.as_code import NOTES, policy_text, portable, tables_policy_text
from indistinct.web.saving import POLICY, SUFFIX, SavedJob, pack_job, unpack_job
from indistinct.web.sessions import SAVED, Session
from indistinct.web.worker import TaskError

UPLOADED = "uploaded"
"""The folder of a session's uploads."""


def job_of_session(session: Session, *, base: Path | None = None) -> SavedJob | None:
    """Return what is saved of a session; None without a job, or if its policy could not be read again.

    Paths start at `base`, or at the folder of the table.
    """
    if session.tables is not None:
        return _job_of_tables(session, base=base)
    policy = session.policy
    if policy is None or (policy.model is None and policy.algorithm.promise() is None):
        return None
    text = policy_text(portable(policy, session.folder, base=base), notes=session.result(NOTES))
    results = {name: session.result(name) for name in SAVED if session.result(name) is not None}
    if "risk-choices" in results:  # files that an attacker may have contain rows of people
        results["risk-choices"] = {key: each for key, each in results["risk-choices"].items() if key != "beside"}
    return SavedJob(session.name, text, results)


def _job_of_tables(session: Session, *, base: Path | None) -> SavedJob | None:
    """Return what is saved of a job on several tables, once all questions about known rows are answered."""
    job = session.require_tables()
    if job.open_questions:
        return None
    return SavedJob(session.name, tables_policy_text(job.policy, session.folder, base=base), {})


def save_session(session: Session) -> None:
    """Save the job of a session on the shelf of its server."""
    shelf = session.settings.shelf
    job = job_of_session(session, base=session.settings.folder) if shelf.keeps and _has_changed(session) else None
    if job is not None:
        shelf.put(session.key, job, rows=rows_of(session) if session.result("keeps-rows") else None)


def _has_changed(session: Session) -> bool:
    """Return whether a steward decided something: a table that was only looked at is not kept."""
    return session.decided or any(session.result(name) is not None for name in SAVED)


def rows_of(session: Session) -> Path | None:
    """Return the file of the table, None where it is several or none."""
    source = None if session.policy is None else session.policy.source
    return source if isinstance(source, Path) and source.is_file() else None


def project_file(session: Session) -> tuple[str, bytes]:
    """Return the job of a session as a file to take along, and what it is called."""
    job = job_of_session(session)
    if job is None:
        raise TaskError("there is nothing to save yet", hint="open a table, and say what must hold")
    rows = rows_of(session) if session.result("keeps-rows") else None
    return f"{job.name.partition('.')[0] or 'job'}{SUFFIX}", pack_job(job, rows=rows)


def lay_out(session: Session, job: SavedJob, rows: Path | None = None) -> Path:
    """Copy a saved job to the folder of uploads, as if it had been uploaded; return the path of its policy."""
    folder = session.folder / UPLOADED
    for each in (folder, folder / "policy", folder / "table"):
        each.mkdir(mode=0o700, exist_ok=True)
    if rows is not None and rows.parent != folder / "table":
        target = folder / "table" / rows.name
        target.touch(mode=0o600)
        target.write_bytes(rows.read_bytes())
    path = folder / "policy" / POLICY
    path.touch(mode=0o600)
    path.write_text(job.policy, encoding="utf-8")
    return path


def take_told(session: Session, results: dict[str, Any]) -> None:
    """Restore the decisions that a saved job has in addition to the policy."""
    for name in SAVED:
        if name in results:
            session.keep(name, results[name])


def open_project(session: Session, path: Path) -> tuple[Path, dict[str, Any]]:
    """Return the policy of an uploaded saved job, and its further decisions."""
    folder = session.folder / UPLOADED / "table"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        job, rows = unpack_job(path, into=folder, most=session.settings.largest_upload)
    except InputError as error:
        raise TaskError(error.message, hint=error.hint) from None
    return lay_out(session, job, rows), dict(job.told)


def open_saved(session: Session, key: str) -> tuple[Path, dict[str, Any]]:
    """Return the policy of a job on the shelf, and what was decided with it."""
    try:
        job, rows = session.settings.shelf.take(key)
    except (InputError, OSError, ValueError, KeyError) as error:
        hint = error.hint if isinstance(error, InputError) else None
        raise TaskError("this job cannot be opened any more", hint=hint) from None
    return lay_out(session, job, rows), dict(job.told)
