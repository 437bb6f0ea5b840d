"""To publish by the job as it stands: a search is begun, and what follows from its release begins after it."""

import secrets
import shutil
from pathlib import Path
from typing import Any

from indistinct.job.policy import Policy
from indistinct.web.as_code import NO_PROMISE, SAY_WHAT_HOLDS
from indistinct.web.following import follow
from indistinct.web.frame import Screen
from indistinct.web.sessions import Session, job_of
from indistinct.web.standing import RELEASED
from indistinct.web.tasks.searching import search
from indistinct.web.worker import TaskError

SEARCHING = "Search"


def promises_nothing(policy: Policy) -> bool:
    """Return whether neither a model nor the algorithm says what must hold."""
    return policy.model is None and policy.algorithm.promise() is None


def begin_search(session: Session) -> None:
    """Begin to publish by the current job; what was published before stays until the new release is whole.

    Each search writes into a folder of its own under `release`. Folders to which no undo leads are deleted.
    """
    policy = session.require_job()
    if promises_nothing(policy):
        raise TaskError(NO_PROMISE, hint=SAY_WHAT_HOLDS)

    def then(made: dict[str, Any]) -> None:
        session.keep(RELEASED, made, rests_on=job_of(policy))
        follow(session)

    folder = session.folder / RELEASED
    session.begin(
        SEARCHING,
        search,
        policy,
        folder / secrets.token_hex(4),
        then=then,
        lastly=lambda: _tidy(session, folder),
        at=("search", "search"),
    )


def _tidy(session: Session, folder: Path) -> None:
    """Remove the folders of releases that can no longer be restored."""
    kept = session.kept_releases()
    for each in folder.glob("*"):
        if each not in kept:
            shutil.rmtree(each, ignore_errors=True)


def require_rest(screen: Screen) -> None:
    """Raise while a long task runs or a field is not valid, before anything is changed for another task."""
    screen.session.require_rest()
    screen.session.require_valid()


def take_change(screen: Screen, policy: Policy) -> None:
    """Take over a changed job; where there was a release, it is searched again, so that its effect is seen."""
    require_rest(screen)
    searched = screen.session.result(RELEASED) is not None
    screen.change(policy)
    if searched:
        begin_search(screen.session)
