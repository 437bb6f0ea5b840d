"""The strip with the key figures of a job: rows, people, k, violations, highest risk, loss, verdict."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from indistinct.evaluation.assess.profiles import Profile, parse_profile
from indistinct.evaluation.verdict import AttackFigures, Verdict, verdict_of
from indistinct.figures import number, percent
from indistinct.frequencies.structure import structure_of
from indistinct.models import Model
from indistinct.text_form import arguments_of
from indistinct.web.sessions import Session, job_of
from indistinct.web.tables_standing import ABSENT, CHANGED_SINCE, NOT_VALID, standing_of_tables

RELEASED, INSPECTED, STARTER, RISK, ATTACKS = "release", "inspection", "starter", "risk", "attacks"
"""Under these names a session keeps what a search published, what a first look at the table found, the first policy,
and what an assessment and attacks found of the release."""
RISK_CHOICES = "risk-choices"
MEANING = {
    "tables": "Tables about the same people, published together.",
    "rows": "Rows of the table; after a search, how many of them are published.",
    "people": "People behind the rows, where a column tells them apart; else each row counts as a person.",
    "k asked": "How many must look alike, at least: the smallest equivalence class that is asked for.",
    "k reached": "The smallest equivalence class of the release: rows, or people, that look alike.",
    "smallest bucket": "The fewest rows that share one bucket of the release.",
    "violations": "Equivalence classes of the release that break a privacy guarantee.",
    "highest risk": "The highest probability with which a person is found.",
    "loss": "How much detail the release loses: 0 % none, 100 % all.",
    "verdict": "What is known of the release altogether: its promise, columns published unmodified, risk and attacks.",
}
"""What each figure says, in a sentence."""
Told = list[tuple[str, str, str]]
"""Figures: each with its name, and whether it is good, bad or old."""


def standing(session: Session) -> Told:
    """Return each figure with its name, and whether it is good, bad or old.

    Before a search, risk is that of the original table; afterwards the release says what it achieves. Where people are
    counted, so are k and risk.
    """
    if session.tables is not None:
        return standing_of_tables(session)
    if session.policy is None:
        return [("", "Nothing is open yet: a table comes first.", "none")]
    looked, made = session.result(INSPECTED) or {}, session.result(RELEASED)
    refused = [("", NOT_VALID, "bad")] if session.refusals() else []
    asked = ("k asked", _spell(k_asked(session.policy.models)), "")
    if made is None:
        smallest = looked.get("smallest_class")
        risk = 1 / smallest if smallest else None
        return [
            ("rows", _spell(looked.get("rows")), ""),
            *_people(looked.get("people"), None, ""),
            asked,
            ("violations", ABSENT, ""),
            ("highest risk", ABSENT if risk is None else f"{percent(risk)} now", "bad" if risk == 1 else ""),
            ("loss", ABSENT, ""),
            *refused,
        ]
    old = not session.is_fresh(RELEASED, job_of(session.policy))
    verdict = check_release(session, made)
    return [
        *_figures_of_release(made, asked, "old" if old or refused else "", clear=verdict.tone == "good"),
        ("verdict", verdict.sentence, "old" if old or refused else TONES[verdict.tone]),
        *([("", CHANGED_SINCE, "old")] if old else []),
        *refused,
    ]


TONES = {"good": "good", "bad": "bad", "warning": "", "checking": ""}
"""How the strip shows the tone of a verdict: what is open, or was not looked at, is never good."""


def identity_of(made: Any) -> str:
    """Return the digest that identifies the file of a release."""
    return str(made["certificate"]["output_digest"])


def risk_choices(session: Session) -> dict[str, Any]:
    """Return the steward's choices about risk: population, attacks, time limit and the attacker's files."""
    first: dict[str, Any] = {"population_size": "", "attacks": None, "longer": False, "beside": {}}
    return first | (session.result(RISK_CHOICES) or {})


def choose_about_risk(session: Session, **changed: Any) -> None:
    """Keep what a steward chose about risk."""
    session.keep(RISK_CHOICES, risk_choices(session) | changed)


def key_of_risk(session: Session, made: Any) -> Any:
    """Return the key of an assessment: it is outdated when it changes."""
    return identity_of(made), risk_choices(session)["population_size"]


def key_of_attacks(session: Session, made: Any) -> Any:
    """Return the key of attacks: they are outdated when it changes."""
    chosen = risk_choices(session)
    return identity_of(made), chosen["attacks"], chosen["longer"], dict(chosen["beside"])


def profile_of(session: Session) -> Profile | None:
    """Return the risk profile that the steward chose for the release, None if none is chosen."""
    named = None if session.policy is None else session.policy.about.profile
    return None if named is None else parse_profile(named)


def check_release(session: Session, made: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a release, of its assessment and its attacks, and how many of its checks have an answer."""
    keys = {RISK: key_of_risk(session, made), ATTACKS: key_of_attacks(session, made)}
    there = {name: session.result(name) for name, key in keys.items() if session.is_fresh(name, key)}
    attacks = AttackFigures.all_of(there[ATTACKS]["found"]) if ATTACKS in there else None
    figures = there[RISK]["figures"] if RISK in there else made["figures"]
    verdict = verdict_of(figures, profile_of(session), attacks=attacks)
    sizes = {RISK: 1 if verdict.gate is None else len(verdict.gate.lines), ATTACKS: 1}
    missing = [name for name in keys if name not in there]
    running = any(session.background.error_under(name, keys[name]) is None for name in missing)
    answered = 1 + sum(sizes[name] for name in there)
    return replace(verdict, checks=1 + sum(sizes.values()), answered=answered, running=running)


def _figures_of_release(made: Mapping[str, Any], asked: tuple[str, str, str], kind: str, *, clear: bool) -> Told:
    """Return the figures of a release; in buckets, where values are exact, risk is that of learning one.

    Nothing is good unless all is `clear`.
    """
    hides_rows = structure_of(made["form"], (), ()).hides_rows
    risk = _link_risk(made) if not hides_rows else 1 / made["k"] if made["k"] else None
    figure = ABSENT if risk is None else percent(risk)
    return [
        ("rows", _of(made["rows"], made["original_rows"]), kind),
        *_people(made["people"], made["original_people"], kind),
        asked,
        ("k reached" if hides_rows else "smallest bucket", _spell(made["k"]), kind),
        ("violations", _spell(made["violations"]), kind or ("" if made["holds"] and not clear else _kind(made))),
        ("highest risk", f"{figure} for a value" if not hides_rows and risk is not None else figure, kind),
        ("loss", ABSENT if made["loss"] is None else percent(made["loss"]), kind),
    ]


def _people(some: int | None, of: int | None, kind: str) -> Told:
    """Return the number of people, if there is a person ID."""
    return [] if some is None else [("people", _of(some, of), kind)]


def _kind(made: Mapping[str, Any]) -> str:
    return "good" if made["holds"] else "bad"


def k_asked(models: tuple[Model, ...]) -> int | None:
    """Return the largest k of the models, None if none has such a parameter.

    >>> from indistinct.models import DistinctLDiversity, KAnonymity
    >>> k_asked((KAnonymity(5), DistinctLDiversity("disease", l=3))), k_asked((DistinctLDiversity("disease", l=3),))
    (5, None)
    """
    asked = [each for each in models if arguments_of(each).get("k") == each.smallest]
    return max((each.smallest for each in asked if not each.needs_population), default=None)


def _link_risk(made: Mapping[str, Any]) -> float | None:
    """Return the largest probability with which a person is linked to a sensitive value."""
    chances = [each["achieved"].get("p") for each in made["models"]]
    return max((each for each in chances if each is not None), default=None)


def _of(some: int | None, everybody: int | None) -> str:
    """Return how many are published, and of how many where some are not."""
    if some is None or everybody in (None, some):
        return _spell(some)
    return f"{some:,} of {everybody:,}"


def _spell(value: float | None) -> str:
    return ABSENT if value is None else number(value)
