"""What a job on several tables found, what it rests on, and what follows from it by itself."""

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.guarantee import LinkedAnonymity
from indistinct.suppression_limit import NO_BUDGET
from indistinct.web.as_code import tables_policy_text
from indistinct.web.background import Chore, remove_other_folders
from indistinct.web.sessions import Session
from indistinct.web.tables_job import TablesJob
from indistinct.web.tables_standing import JUDGED, KNOWN_ROWS, LOOK, MADE, fresh_tables
from indistinct.web.tasks.several import assess_known_rows, judge_tables, publish_tables
from indistinct.web.worker import TaskError

SEARCHING = "Search"
NOT_SAID = "it is not said yet how many rows an attacker may know"
SAY_IT = "choose it for each table in the step Privacy"


def key_of_known_rows(policy: LinkedPolicy) -> LinkedPolicy:
    """Return the part of a policy that the risk of the originals depends on: tables, roles and k."""
    tables = tuple(
        replace(
            each,
            knows=0 if each.is_counted else None,
            lists=tuple(replace(column, knows=0) for column in each.lists),
        )
        for each in policy.tables
    )
    return replace(
        policy, tables=tables, model=LinkedAnonymity(policy.model.k), together=None, suppression=NO_BUDGET, rows=1.0
    )


def chores_for_tables(session: Session) -> list[Chore]:
    """Return the chores of a job on several tables: the risk of the originals, and of the release."""
    job, made = session.tables, fresh_tables(session)
    if job is None:
        return []
    rows = sum(each["rows"] for each in (session.result(LOOK) or {}).values())
    about = key_of_known_rows(job.policy)
    chores = [Chore(KNOWN_ROWS, "Risk by known rows", about, assess_known_rows, (about,), seconds=2 + rows / 50_000)]
    if made is not None:
        arguments = (job.policy, made["folder"], tables_policy_text(job.policy, session.folder))
        chores.append(
            Chore(JUDGED, "Risk and report", made["folder"], judge_tables, arguments, seconds=4 + rows / 20_000)
        )
    return chores


def follow_tables(session: Session) -> None:
    """Start the chores that follow from the current job and are not done yet."""
    session.background.want([each for each in chores_for_tables(session) if not is_done(session, each)])


def is_done(session: Session, chore: Chore) -> bool:
    """Return whether the result of a chore is there."""
    return session.is_fresh(chore.name, chore.rests_on)


def begin_tables_search(session: Session) -> None:
    """Start publishing several tables by the current job."""
    job = session.require_tables()
    if job.open_questions:
        raise TaskError(NOT_SAID, hint=SAY_IT)
    folder = session.folder / MADE

    def then(made: dict[str, Any]) -> None:
        session.keep(MADE, made, rests_on=job.policy)
        follow_tables(session)

    session.begin(
        SEARCHING,
        publish_tables,
        job.policy,
        folder / secrets.token_hex(4) / "release",
        then=then,
        lastly=lambda: _remove_older(session, folder),
        at=("search", "search"),
    )


def _remove_older(session: Session, folder: Path) -> None:
    made = session.result(MADE)
    remove_other_folders(folder, {made["folder"].parent} if made else set())


def take_tables(session: Session, job: TablesJob, *, name: str, key: str) -> None:
    """Make several tables the job; what was found of other ones is forgotten."""
    session.change_tables(job, name=name, key=key)
    session.forget(KNOWN_ROWS, MADE, JUDGED, "downloads")
