"""The state of a job on several tables: its release, judgements, verdict and key figures."""

from dataclasses import replace
from typing import Any

from indistinct.evaluation.verdict import Verdict
from indistinct.figures import number, percent
from indistinct.linked.certificate import verdict_of_certificate
from indistinct.web.sessions import Session

LOOK, KNOWN_ROWS, MADE, JUDGED = "tables-look", "tables-known", "tables-release", "tables-judged"
"""Under these names a session keeps the first look at several tables, the risk of the originals by known rows, their
release, and what was judged of it."""
ABSENT = "–"
NOT_VALID, CHANGED_SINCE = "a field is not valid", "changed since the last search"
CHECKS = 2
"""The inputs of the final verdict on several tables: verification against the originals, and the attack."""


def fresh_tables(session: Session) -> Any:
    """Return the release of several tables, None where there is none, or where the job was changed since."""
    made = session.result(MADE)
    return made if session.tables is not None and session.is_fresh(MADE, session.tables.policy) else None


def judged_tables(session: Session, made: Any) -> Any:
    """Return the judgement of a release, None if it is not there yet."""
    return session.result(JUDGED) if session.is_fresh(JUDGED, made["folder"]) else None


def verdict_on_tables(session: Session, made: Any) -> Verdict:
    """Return the verdict on a release, and how many of its checks have an answer."""
    judged = judged_tables(session, made)
    if judged is not None:
        verdict: Verdict = judged["verdict"]
        return verdict
    running = session.background.error_under(JUDGED, made["folder"]) is None
    return replace(verdict_of_certificate(made["certificate"]), checks=1 + CHECKS, answered=1, running=running)


def standing_of_tables(session: Session) -> list[tuple[str, str, str]]:
    """Return each figure of a job on several tables with its name, and whether it is good, bad or old."""
    job, made = session.require_tables(), session.result(MADE)
    looked = session.result(LOOK) or {}
    people = looked.get(job.policy.people.name, {}).get("rows")
    first = [
        ("tables", str(len(job.policy.tables)), ""),
        ("people", ABSENT if people is None else number(people), ""),
        ("k asked", number(job.policy.model.k), ""),
    ]
    refused = [("", NOT_VALID, "bad")] if session.refusals() else []
    if made is None:
        return [*first, ("violations", ABSENT, ""), *refused]
    old = "" if fresh_tables(session) is not None and not refused else "old"
    verdict, certificate = verdict_on_tables(session, made), made["certificate"]
    figures = [
        ("tables", str(len(certificate["tables"])), old),
        ("people", number(certificate["people"]), old),
        first[2],
        ("k reached", number(certificate["smallest_group"]), old),
        ("highest risk", percent(1 / max(certificate["smallest_group"], 1)), old),
        ("loss", ABSENT if certificate["loss"] is None else percent(certificate["loss"]), old),
        ("verdict", verdict.sentence, old or ("bad" if verdict.tone == "bad" else "")),
    ]
    changed = [("", CHANGED_SINCE, "old")] if fresh_tables(session) is None else []
    return [*figures, *changed, *refused]
