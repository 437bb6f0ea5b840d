"""A search, and what follows from its release by itself: risk, attacks, analyses, other solutions, and then reports."""

import secrets
from pathlib import Path
from typing import Any

from indistinct.evaluation.attack.base import Attack
from indistinct.evaluation.attack.registry import EVERY_ATTACK
from indistinct.job.policy import Policy
from indistinct.release.writing.delimited import Writing
from indistinct.web.as_code import NO_PROMISE, SAY_WHAT_HOLDS, portable
from indistinct.web.background import Chore, remove_other_folders
from indistinct.web.frame import Screen
from indistinct.web.sessions import Session, job_of
from indistinct.web.standing import (
    ATTACKS,
    RELEASED,
    RISK,
    check_release,
    identity_of,
    key_of_attacks,
    key_of_risk,
    risk_choices,
)
from indistinct.web.tasks.exploring import key_of_solutions, solve
from indistinct.web.tasks.releasing import prepare
from indistinct.web.tasks.risks import assess_release, attack_release
from indistinct.web.tasks.searching import release_name, search
from indistinct.web.tasks.usefulness import analyze_release
from indistinct.web.worker import TaskError

ANALYSES, SOLUTIONS, PREPARED = "analyses", "solutions", "prepared"
"""Under these names a session keeps a study's analyses, other solutions, and the files that leave with reports."""
SECONDS, LONGER, ROWS_IN_A_SECOND = 15, 120, 25_000
"""So long attacks take by themselves, and where the steward asks for more, and how many rows need a second more."""


def follow(session: Session) -> None:
    """Start the chores that follow from the current release and are not done yet."""
    made = fresh_release(session)
    chores = [] if made is None else chores_for(session, made)
    session.background.want([each for each in chores if not session.is_fresh(each.name, each.rests_on)])


def fresh_release(session: Session) -> Any:
    """Return the result of the search, None without one or if the job was changed since."""
    made = session.result(RELEASED)
    return made if made is not None and session.is_fresh(RELEASED, job_of(session.policy)) else None


def chores_for(session: Session, made: Any) -> list[Chore]:
    """Return everything that follows from a release."""
    chosen, policy, rows = risk_choices(session), session.policy, rows_of(made)
    if policy is None:
        return []
    size = chosen["population_size"]
    chores = [
        Chore(
            RISK,
            "Risk",
            key_of_risk(session, made),
            assess_release,
            (policy, made["files"]),
            {"population_size": int(size) if size else None},
            seconds=1.5 + rows / 20_000,
        ),
        attack_chore(session, made),  # the verdict waits for the first two
        *([analysis_chore(policy, made)] if policy.analysis.asks else []),
        Chore(
            SOLUTIONS,
            "Other solutions",
            key_of_solutions(policy, made),
            solve,
            (policy, made),
            seconds=min(2 + 8 * made["counters"]["seconds"], 15 + 2 * made["counters"]["seconds"]),
        ),
    ]
    if policy.output.ledger is None and not session.refusals():
        chores.append(prepare_chore(session, made))
    return chores


def rows_of(made: Any) -> int:
    """Return how many rows a release was made of; where that is not known, how many it has."""
    return int(made["original_rows"] or made["rows"])


def attack_seconds(rows: int, *, longer: bool) -> int:
    """Return the time limit of attacks on a table; large tables get more time for reading.

    >>> attack_seconds(5_000, longer=False), attack_seconds(1_000_000, longer=True)
    (15, 160)
    """
    return (LONGER if longer else SECONDS) + rows // ROWS_IN_A_SECOND


def attack_chore(session: Session, made: Any) -> Chore:
    """Return the attacks on a release."""
    chosen = risk_choices(session)
    seconds = attack_seconds(rows_of(made), longer=chosen["longer"])
    options = {"attacks": attack_names(chosen), "seconds": seconds, "beside": chosen["beside"]}
    about = key_of_attacks(session, made)
    return Chore(ATTACKS, "Attacks", about, attack_release, (session.policy, made["files"]), options, seconds)


def key_of_analyses(policy: Policy, made: Any) -> Any:
    """Return the key of analyses: they are outdated when it changes."""
    return policy.analysis, identity_of(made)


def analysis_chore(policy: Policy, made: Any) -> Chore:
    """Return the analyses of the policy on the release."""
    about, rows = key_of_analyses(policy, made), rows_of(made)
    return Chore(ANALYSES, "Analyses", about, analyze_release, (policy, made["files"]), seconds=3 + rows / 10_000)


def every_attack() -> dict[str, type[Attack]]:
    """Return all attacks that there are, by name."""
    added = {each.name: each.kind for each in EVERY_ATTACK.extensions() if each.kind is not None}
    return {**added, **EVERY_ATTACK.builtin}


def attack_names(chosen: dict[str, Any]) -> list[str]:
    """Return the attacks that are ticked; at first all are that need nothing else."""
    if chosen["attacks"] is not None:
        return [name for name in every_attack() if name in chosen["attacks"]]
    return [name for name, kind in every_attack().items() if not {"control", "earlier"} & set(kind.needs)]


# Files


def key_of_files(session: Session, made: Any) -> Any:
    """Return the key of prepared files: they are outdated when it changes.

    These are the whole job, the file of the search, the attacks on it, and the language of reports.
    """
    return session.policy, identity_of(made), key_of_attacks(session, made), session.shown_in


def prepare_chore(session: Session, made: Any) -> Chore:
    """Return the chore that prepares the files of a release, with their reports; outdated ones are deleted."""
    policy, folder = session.policy, session.folder / PREPARED
    if policy is None:
        raise AssertionError("there is no release without a policy")
    options = {
        "shipped": portable(policy, session.folder),
        "again": writes_again(policy, made),
        "language": session.shown_in,
    }

    def later() -> dict[str, Any]:
        outcomes = session.result(ATTACKS) if session.is_fresh(ATTACKS, key_of_attacks(session, made)) else None
        prepared = session.result(PREPARED)
        remove_other_folders(folder, {prepared["downloads"]["table"].parent} if prepared else set())
        return {} if outcomes is None else {"attacks": outcomes["found"]}

    rows = made["rows"]
    return Chore(
        PREPARED,
        "Reports",
        key_of_files(session, made),
        prepare,
        (policy, made, folder / secrets.token_hex(4)),
        options,
        seconds=3 + rows / 8_000,
        later=later,
    )


def writes_again(policy: Any, made: Any) -> bool:
    """Return whether the table must be written in another form than by the search, or added to a ledger."""
    before, output = made["output"], policy.output
    same = made["files"]["table"].suffix.lower() == Path(release_name(policy)).suffix.lower()
    writing: Writing = output.writing
    same = same and (before.writing, before.smallest_count) == (writing, output.smallest_count)
    return not same or output.ledger is not None


def files_to_take(session: Session) -> dict[str, Path]:
    """Return the files that may leave now: all that were prepared, or else what the search wrote and verified.

    None may leave while a check of the release is running.
    """
    made = fresh_release(session)
    if made is None or session.policy is None or session.refusals() or check_release(session, made).running:
        return {}
    if session.is_fresh(PREPARED, key_of_files(session, made)):
        downloads: dict[str, Path] = session.result(PREPARED)["downloads"]
        return downloads
    if writes_again(session.policy, made):
        return {}
    files = made["files"]
    second = {"second": files["others"][0]} if files["others"] else {}
    return {"table": files["table"], **second, "certificate": files["certificate"]}


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
        lastly=lambda: remove_other_folders(folder, session.kept_releases()),
        at=("search", "search"),
    )


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
