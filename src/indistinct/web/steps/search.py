"""The step `search`: an algorithm, how far it is, and what it found."""

import secrets
import shutil
from pathlib import Path
from typing import Any

from indistinct.web import parts
from indistinct.web.frame import Screen, Step
from indistinct.web.sessions import Session, job_of
from indistinct.web.standing import RELEASED
from indistinct.web.tasks.searching import search
from indistinct.web.worker import TaskError


async def draw(screen: Screen) -> None:
    """Draw the step."""
    with parts.tag("div", classes="actions"):
        parts.button("Search", screen.on(lambda: begin_search(screen.session)), main=True, name="search")


def begin_search(session: Session) -> None:
    """Begin to publish by the job as it stands; what was published before stays until the new release is whole.

    Each search writes into a folder of its own under `release`. Whatever is not the newest whole release goes.
    """
    policy = session.policy
    if policy is None:
        raise TaskError("nothing is open", hint="open a table first")

    def then(made: dict[str, Any]) -> None:
        session.find(RELEASED, made, rests_on=job_of(policy))

    folder = session.folder / RELEASED
    session.begin(
        "Searching",
        search,
        policy,
        folder / secrets.token_hex(4),
        then=then,
        lastly=lambda: _tidy(session, folder),
    )


def _tidy(session: Session, folder: Path) -> None:
    """Remove every folder of a release but that of the one which stands."""
    made = session.found(RELEASED)
    kept = None if made is None else made["files"]["table"].parent
    for each in folder.glob("*"):
        if each != kept:
            shutil.rmtree(each, ignore_errors=True)


STEP = Step(
    "search",
    "Search",
    "Let an algorithm find the release that loses least and keeps the promise.",
    draw,
)
