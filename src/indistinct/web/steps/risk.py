"""The step `risk`: what remains of the risk in the published file, in sentences, and attacks on it."""

from collections.abc import Sequence
from typing import Any

from indistinct.document.blocks import JsonValues, Picture
from indistinct.evaluation.assess.assess_document import limit_grids
from indistinct.evaluation.assess.profiles import PROFILES
from indistinct.evaluation.attack.base import Attack
from indistinct.evaluation.verdict import Verdict
from indistinct.evaluation.verdict_line import TRIES
from indistinct.figures import number, percent
from indistinct.web import parts
from indistinct.web.blocks import draw_list, draw_section
from indistinct.web.files import uploaded_path
from indistinct.web.following import attack_names, attack_seconds, every_attack, follow, rows_of
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.parameters import parse_whole
from indistinct.web.sessions import Session
from indistinct.web.standing import (
    ATTACKS,
    RELEASED,
    RISK,
    check_release,
    choose_about_risk,
    key_of_attacks,
    key_of_risk,
    risk_choices,
)
from indistinct.web.steps.privacy import hold_against
from indistinct.web.steps.verdict_box import WHO_COULD, draw_verdict, link_to_release, release_of

NO_PROFILE = ""
PROFILE_WORDS = {
    NO_PROFILE: "no particular group: only look",
    "public": "everybody (public)",
    "licensed": "recipients under contract (licensed)",
    "internal": "colleagues (internal)",
}
# What an attacker has in addition to the release, as files that can be given here.
BESIDE = {
    "external": ("A register", "Names and quasi-identifiers that an attacker may have. Without it one is made up."),
    "control": ("A control", "People of the same kind who are not in the table: what is found of them is chance."),
    "earlier": ("Another release", "A published table about some of the same people."),
}
LIMIT_OF_NINE_PERCENT = 0.09
ROUNDED = (
    "A class of 11 has a risk of 1/11 = 0.0909: strictly above 0.09, and enough where the limit is read as rounded, as "
    "in practice. Classes of 12 are on the safe side."
)


async def draw(screen: Screen) -> None:
    """Draw the verdict, its figures, and further questions."""
    session = screen.session
    made = release_of(screen)
    if made is None:
        return
    draw_verdict(screen, made)
    with parts.tag("div", classes="actions"):
        link_to_release()
    assessment = session.result(RISK) if session.is_fresh(RISK, key_of_risk(session, made)) else None
    if assessment is not None:
        _draw_sentences(assessment["found"])
        _draw_pictures(assessment["pictures"])
    outcomes = session.result(ATTACKS) if session.is_fresh(ATTACKS, key_of_attacks(session, made)) else None
    if outcomes is not None:
        _draw_outcomes(outcomes)
    _draw_asked(screen)
    if assessment is not None:
        parts.heading("Details")
        _draw_limits(screen, check_release(session, made))
        for section in assessment["sections"]:
            draw_section(section, closed=True)
    for section in outcomes["sections"] if outcomes is not None else ():
        draw_section(section, closed=True)


# In sentences


def _draw_sentences(figures: Any) -> None:
    parts.heading(WHO_COULD)
    with parts.tag("div", id="sentences"):
        draw_list(risk_in_sentences(figures))


def _draw_pictures(pictures: Sequence[Picture]) -> None:
    with parts.tag("div", classes="pictures risks", id="risk-pictures"):
        for index, each in enumerate(pictures):
            parts.document_picture(each, name=f"risk-{index}")


def risk_in_sentences(figures: Any) -> list[str]:
    """Return an assessment in plain sentences."""
    unit, before = figures["unit"], figures["before"]
    one = "person" if unit == "people" else "row"
    highest = figures["prosecutor"]["highest"]
    was = f" In the original table, it was {percent(before['prosecutor']['highest'])}." if before else ""
    sentences = [
        f"An attacker who knows that a person is in the table, and all that others may know of them, is right about "
        f"their {one} with a probability of {percent(highest)} at most.{was}",
        f"On average over all {unit} this is {percent(figures['prosecutor']['average'])}.",
        f"{number(figures['uniques'])} of {number(figures['members'])} {unit} are unique by the quasi-identifiers: no "
        f"other has the same values."
        if figures["uniques"]
        else f"By the quasi-identifiers none of the {number(figures['members'])} {unit} is unique: others have the "
        f"same values.",
    ]
    uniques = figures["population_uniques"]
    if uniques["dankar"] is not None:
        sentences.append(f"About {percent(uniques['dankar'])} of the population are unique in it.")
    return sentences


def _draw_outcomes(outcomes: Any) -> None:
    """Draw the outcomes of attacks."""
    outcomes_found = outcomes["found"]
    tried = [each["attack"] for each in outcomes_found["outcomes"]]
    won = [each["attack"] for each in outcomes_found["outcomes"] if each["succeeds"]]
    parts.heading("What attacks achieve")
    if won:
        parts.say(f"{len(won)} of {len(tried)} attacks do better than chance:")
        with parts.tag("ul"):
            for name in won:
                _draw_attack(name)
    elif tried:
        parts.say(f"None of {len(tried)} attacks is shown to do better than chance.")
    else:
        parts.say("None of these attacks applies to this release.")
    if outcomes_found["left_out"]:
        parts.say("These attacks were not through in time; give them more time below:", kind="hint")
        with parts.tag("ul", classes="hint"):
            for name in outcomes_found["left_out"]:
                _draw_attack(name)


def _draw_attack(name: str) -> None:
    """Draw what an attack tries; the details have its name in the literature."""
    parts.tag("li", sentence_of(name) or Own(name))


def words_of_attack(name: str, kind: type[Attack]) -> str:
    """Describe an attack and what it needs."""
    words = sentence_of(name) or (kind.__doc__ or "").strip().partition("\n")[0]
    needs = [BESIDE[need][0].lower() for need in kind.needs if need in BESIDE]
    return f"{words} Needs {' and '.join(needs)}." if needs else words


def sentence_of(name: str) -> str:
    """Return the description of an attack as a sentence, empty without one.

    >>> sentence_of("predictable-seed")
    'Undo the shuffling by guessing a seed.'
    """
    tries = TRIES.get(name, "")
    return f"{tries[:1].upper()}{tries[1:]}." if tries else ""


def _draw_limits(screen: Screen, verdict: Verdict) -> None:
    """Draw each limit of the profile with its figure and its source."""
    gate = None if verdict.gate is None else verdict.gate.to_json()
    if gate is None:
        return
    with parts.details(f"Limits of the profile {gate['profile']}", screen.choices, name="limits"):
        nearly = _nearly(gate)
        if nearly:
            parts.say(nearly, kind="hint")
        for table in limit_grids(JsonValues("assess", {"profile": gate, "verdict": verdict.to_json()})):
            parts.document_table(table)


def _nearly(gate: Any) -> str | None:
    """Return the explanation of classes of 11 that miss a limit of 0.09, else None."""
    failed = [line for line in gate["lines"] if not line["passed"]]
    missed = [
        each
        for each in failed
        if each["limit"] == LIMIT_OF_NINE_PERCENT and each["value"] and round(each["value"], 2) == LIMIT_OF_NINE_PERCENT
    ]
    return ROUNDED if missed and len(missed) == len(failed) else None


# What is asked


def _draw_asked(screen: Screen) -> None:
    """Draw the choices of profile, population and attacks."""
    session, chosen = screen.session, risk_choices(screen.session)
    made = session.result(RELEASED)
    rows = 0 if made is None else rows_of(made)
    with parts.details("Change what is asked: who gets it, the population, attacks", screen.choices, name="asked"):
        screen.choice(
            "Hold it against a profile: it goes to",
            {name: PROFILE_WORDS.get(name, name) for name in (NO_PROFILE, *PROFILES)},
            screen.policy.about.profile or NO_PROFILE,
            lambda value: hold_against(screen, value or None),
            name="profile",
            hint="How the release is given away decides which risk is acceptable.",
        )
        screen.field(
            "Size of the population",
            chosen["population_size"],
            lambda value: _set_population(session, value),
            name="population-size",
            action="assess",
            hint="From how many people the table was drawn, if it is known.",
            inputmode="numeric",
        )
        screen.tick(
            "Give attacks more time",
            chosen["longer"],
            lambda value: _choose(session, longer=bool(value)),
            name="attack-longer",
            hint=f"{attack_seconds(rows, longer=True)} seconds instead of {attack_seconds(rows, longer=False)}.",
        )
        _which_attacks(screen, chosen)
        for file, (label, hint) in BESIDE.items():
            _upload(screen, file, label, hint=hint)


def _choose(session: Session, **changed: Any) -> None:
    choose_about_risk(session, **changed)
    follow(session)


def _set_population(session: Session, value: str) -> None:
    size = str(parse_whole(value, what="the size of the population")) if value.strip() else ""
    _choose(session, population_size=size)


def _which_attacks(screen: Screen, chosen: dict[str, Any]) -> None:
    """Draw the choice of attacks."""
    wanted = attack_names(chosen)
    with parts.details(f"Which attacks ({len(wanted)} of {len(every_attack())})", screen.choices, name="which-attacks"):
        for name, kind in every_attack().items():
            screen.tick(
                words_of_attack(name, kind),
                name in wanted,
                lambda value, name=name: _tick(screen, name, value),
                name=f"attack-{name}",
                hint=Own(name),
            )


def _tick(screen: Screen, name: str, value: bool) -> None:
    now = set(attack_names(risk_choices(screen.session)))
    _choose(screen.session, attacks=sorted(now | {name} if value else now - {name}))


def _upload(screen: Screen, kind: str, label: str, *, hint: str) -> None:
    """Draw the upload of a file that an attacker may have."""
    session = screen.session
    given = risk_choices(session)["beside"].get(kind)
    name = f"beside-{kind}"
    parts.upload(
        label,
        screen.on(lambda event: _take_upload(session, kind, event), at=name),
        name=name,
        kind=kind,
        most=session.settings.largest_upload,
        hint=f"Given: {given.name}. {hint}" if given else hint,
        error=screen.errors.get(name),
    )
    if given:
        screen.button(
            "Take it away",
            lambda: _take_away(session, kind),
            name=f"{name}-away",
            label=f"Take {label.lower()} away",
            at=name,
        )


def _take_upload(session: Session, kind: str, event: dict[str, Any]) -> None:
    path = uploaded_path(session, kind, event)
    _choose(session, beside=risk_choices(session)["beside"] | {kind: path})


def _take_away(session: Session, kind: str) -> None:
    """Remove an attacker's file."""
    beside = dict(risk_choices(session)["beside"])
    path = beside.pop(kind, None)
    if path is not None:
        path.unlink(missing_ok=True)
    _choose(session, beside=beside)
