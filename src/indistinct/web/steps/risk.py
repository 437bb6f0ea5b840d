"""The step `risk`: what remains of the risk in the published file, and attacks on it before others try."""

from typing import Any

from indistinct.figures import number, percent
from indistinct.study.assess.profiles import PROFILES
from indistinct.study.attack.base import Attack
from indistinct.study.attack.registry import EVERY_ATTACK
from indistinct.study.verdict import STATES
from indistinct.web import parts
from indistinct.web.blocks import draw_list, draw_section
from indistinct.web.files import uploaded_path
from indistinct.web.frame import Screen
from indistinct.web.parameters import parse_whole
from indistinct.web.sessions import Session, job_of
from indistinct.web.standing import ATTACKS, RELEASED, RISK, identity_of, verdict_on
from indistinct.web.tasks.risks import assess_release, attack_release

CHOICES = "risk-choices"
NO_PROFILE = ""
PROFILE_WORDS = {
    NO_PROFILE: "none: only look",
    "public": "public: for everybody (highest risk 0.09, nobody alone)",
    "licensed": "licensed: recipients under contract (average risk 0.09)",
    "internal": "internal: for colleagues (average risk 0.2)",
}
# What an attacker has beside the release, as files that can be given here.
BESIDE = {
    "external": ("A register", "Names and quasi-identifiers that an attacker may have. Without it one is made up."),
    "control": ("A control", "People of the same kind who are not in the table: what is found of them is chance."),
    "earlier": ("Another release", "A published table about some of the same people."),
}
PLAIN = {
    "record-linkage": "Look for each person's row with a register of names.",
    "homogeneity": "Read a sensitive value off a class in which all have the same.",
    "background-knowledge": "The same, after ruling one value out.",
    "skewness": "Use that a class makes a value much more likely than it is among all.",
    "similarity": "Be content with a kind of value, or a narrow range.",
    "membership": "Say which of two people was in the table.",
    "unsorted-matching": "Use that rows still stand in their old order.",
    "intersection": "Put this release beside another one about the same people.",
    "definetti": "Guess sensitive values inside buckets by what all buckets tell together.",
    "downcoding": "Name finer values, because the release loses as little as it can.",
    "combinatorial-refinement": "Narrow values by the order of a search.",
    "minimality": "Compute which tables the algorithm could have had; for small tables.",
    "predictable-seed": "Undo the shuffling by guessing a seed.",
}
SECONDS = 60
NINE = 0.09
ROUNDED = (
    "A class of 11 has a risk of 1/11 = 0.0909: strictly above 0.09, and enough where the limit is read as rounded, as "
    "in practice. Classes of 12 are on the safe side."
)


async def draw(screen: Screen) -> None:
    """Draw what can be asked, and what was found."""
    session = screen.session
    made = release_of(screen)
    if made is None:
        return
    chosen = _chosen(session)
    _assessment(screen, chosen, made)
    found = session.result(RISK)
    if found is not None:
        _draw_assessment(session, found, made)
    _attacks(screen, chosen)
    outcomes = session.result(ATTACKS)
    if outcomes is not None:
        if not session.is_fresh(ATTACKS, identity_of(made)):
            parts.notice("These attacks were on an earlier release.", kind="warning")
        _outcomes(outcomes)
    assessed = session.is_fresh(RISK, identity_of(made))
    with parts.tag("div", classes="actions"):
        parts.link("Go on to release", "/release", classes="main" if assessed else "")


def release_of(screen: Screen) -> Any:
    """Return what the search made; say so and return None where there is nothing, or where it is old."""
    session = screen.session
    made = session.result(RELEASED)
    if made is not None and session.is_fresh(RELEASED, job_of(session.policy)):
        return made
    if made is None:
        parts.notice("There is no release yet.", hint="Search for one first.")
    else:
        parts.notice(
            "The job was changed since the last search, so that its release is not what the job says.",
            kind="warning",
            hint="Search again, or take the change back with Undo.",
        )
    parts.link("Go to search", "/search", classes="main")
    return None


def _chosen(session: Session) -> dict[str, Any]:
    first: dict[str, Any] = {"profile": NO_PROFILE, "population_size": "", "attacks": None, "beside": {}}
    return first | (session.result(CHOICES) or {})


def _choose(session: Session, **changed: Any) -> None:
    session.keep(CHOICES, _chosen(session) | changed)


def _assessment(screen: Screen, chosen: dict[str, Any], made: Any) -> None:
    session = screen.session
    parts.say(
        "Three attackers: a prosecutor knows that somebody is in the table, a journalist does not, and a marketer "
        "links as many people as possible. All of them know all quasi-identifiers, the columns that others "
        "may know. A class is a group of rows that look alike in them."
    )
    with parts.tag("div", classes="sides"):
        with parts.tag("div"):
            screen.choice(
                "Hold it against a profile",
                {name: PROFILE_WORDS.get(name, name) for name in (NO_PROFILE, *PROFILES)},
                chosen["profile"],
                lambda value: _choose(session, profile=value),
                name="profile",
                hint="How the release is given away decides which risk is acceptable.",
            )
        with parts.tag("div"):
            screen.field(
                "Size of the population",
                chosen["population_size"],
                lambda value: _set_population(session, value),
                name="population-size",
                action="assess",
                hint="From how many people the table was drawn, if it is known.",
                inputmode="numeric",
            )
    with parts.tag("div", classes="actions"):
        fresh = session.is_fresh(RISK, identity_of(made))
        text = "Assess again" if fresh else "Assess"
        begin = screen.on(lambda: _begin_assess(session), at="assess")
        parts.button(text, begin, main=not fresh, name="assess", disabled=screen.cannot_begin("assess"))
    screen.problem("assess")


def _set_population(session: Session, value: str) -> None:
    size = str(parse_whole(value, what="the size of the population")) if value.strip() else ""
    _choose(session, population_size=size)


def _begin_assess(session: Session) -> None:
    made, chosen = session.result(RELEASED), _chosen(session)
    options = {
        "population_size": int(chosen["population_size"]) if chosen["population_size"] else None,
        "profile": chosen["profile"] or None,
    }

    def then(found: Any) -> None:
        session.keep(RISK, found | {"asked": options}, rests_on=identity_of(made))

    at = ("risk", "assess")
    session.begin(
        "Assessing", assess_release, session.policy, made["files"], then=then, options=options, at=at, action="assess"
    )


def _draw_assessment(session: Session, found: Any, made: Any) -> None:
    figures = found["found"]
    if not session.is_fresh(RISK, identity_of(made)):
        parts.notice("These figures are of an earlier release: assess again.", kind="warning")
    else:
        draw_verdict(session, made)
    _gate(figures)
    before, after = figures["before"], figures
    told = f"The highest risk of being found is {percent(after['prosecutor']['highest'])}"
    told += f" ({percent(before['prosecutor']['highest'])} in the original)" if before else ""
    parts.say(f"{told}; {number(after['uniques'])} of {number(after['members'])} {after['unit']} are alone.")
    uniques = figures["population_uniques"]
    if uniques["dankar"] is not None:
        parts.say(f"About {percent(uniques['dankar'])} of the population are unique in it ({uniques['used']}).")
    for place, section in enumerate(found["sections"]):
        draw_section(section, closed=place > 0)


def draw_verdict(session: Session, made: Any) -> None:
    """Draw the verdict on a release, in the words that every skin has."""
    verdict = verdict_on(session, made)
    said = f"Verdict: the release {verdict.headline}." if verdict.gate else f"Verdict: {verdict.headline}."
    parts.notice(said, kind=verdict.tone)
    with parts.tag("div", id="verdict"):
        draw_list(list(verdict.sentences))


def _gate(figures: Any) -> None:
    gate = figures["profile"]
    if gate is None:
        return
    nearly = _nearly(gate)
    if nearly:
        parts.say(nearly, kind="hint")
    rows = [
        (
            line["meaning"],
            number(line["limit"]),
            "not known" if line["value"] is None else number(line["value"]),
            STATES[line["state"]],
            line["source"] or "a limit of your own",
        )
        for line in gate["lines"]
    ]
    headings = ("limit", "at most", "found", "verdict", "source")
    parts.table(f"Profile {gate['profile']}", headings, rows, right=("at most", "found"))


def _nearly(gate: Any) -> str | None:
    """Return what to know where classes of 11 miss a limit of 0.09, which regulators write for them."""
    failed = [line for line in gate["lines"] if not line["passed"]]
    missed = [each for each in failed if each["limit"] == NINE and each["value"] and round(each["value"], 2) == NINE]
    return ROUNDED if missed and len(missed) == len(failed) else None


# Attacks


def _attacks(screen: Screen, chosen: dict[str, Any]) -> None:
    session = screen.session
    parts.heading("Attack it before others do")
    parts.say(
        "The original stays here and only decides which guesses are right. An attack counts where it does better than "
        "guessing without the release, and than on people who are not in it."
    )
    wanted = names_of(chosen)
    with parts.tag("details", id="which-attacks", open="which" in screen.choices):
        parts.tag("summary", f"Which attacks ({len(wanted)} of {len(_every())})")
        for name, kind in _every().items():
            screen.tick(
                name,
                name in wanted,
                lambda value, name=name: _tick(screen, name, value),
                name=f"attack-{name}",
                hint=words_of(name, kind),
            )
    with parts.tag("details", id="beside", open="beside" in screen.choices):
        parts.tag("summary", "What an attacker has besides")
        for file, (label, hint) in BESIDE.items():
            _upload(screen, file, label, hint=hint)
    with parts.tag("div", classes="actions"):
        begin = screen.on(lambda: _begin_attack(session), at="attack")
        parts.button("Attack", begin, name="attack", disabled=not wanted or screen.cannot_begin("attack"))
        parts.say(f"It takes up to {SECONDS} seconds, and can be stopped.", kind="hint")
    screen.problem("attack")


def _every() -> dict[str, type[Attack]]:
    added = {each.name: each.kind for each in EVERY_ATTACK.extensions() if each.kind is not None}
    return {**added, **EVERY_ATTACK.builtin}


def names_of(chosen: dict[str, Any]) -> list[str]:
    """Return the attacks that are ticked; at first all are that need nothing else."""
    if chosen["attacks"] is not None:
        return [name for name in _every() if name in chosen["attacks"]]
    return [name for name, kind in _every().items() if not {"control", "earlier"} & set(kind.needs)]


def words_of(name: str, kind: type[Attack]) -> str:
    """Return what an attack tries, in plain words, and what it needs."""
    said = PLAIN.get(name) or (kind.__doc__ or "").strip().partition("\n")[0]
    needs = [BESIDE[need][0].lower() for need in kind.needs if need in BESIDE]
    return f"{said} Needs {' and '.join(needs)}." if needs else said


def _tick(screen: Screen, name: str, value: bool) -> None:
    screen.choices["which"] = "stays open"
    now = set(names_of(_chosen(screen.session)))
    _choose(screen.session, attacks=sorted(now | {name} if value else now - {name}))


def _upload(screen: Screen, kind: str, label: str, *, hint: str) -> None:
    session = screen.session
    given = _chosen(session)["beside"].get(kind)
    name = f"beside-{kind}"
    parts.upload(
        label,
        screen.on(lambda told: _take_upload(screen, kind, told), at=name),
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


def _take_upload(screen: Screen, kind: str, told: dict[str, Any]) -> None:
    session = screen.session
    screen.choices["beside"] = "stays open"
    path = uploaded_path(session, kind, told)
    _choose(session, beside=_chosen(session)["beside"] | {kind: path})


def _take_away(session: Session, kind: str) -> None:
    beside = dict(_chosen(session)["beside"])
    path = beside.pop(kind, None)
    if path is not None:
        path.unlink(missing_ok=True)
    _choose(session, beside=beside)


def _begin_attack(session: Session) -> None:
    made, chosen = session.result(RELEASED), _chosen(session)

    def then(found: Any) -> None:
        session.keep(ATTACKS, found, rests_on=identity_of(made))

    options = {"attacks": names_of(chosen), "seconds": float(SECONDS), "beside": chosen["beside"]}
    at = ("risk", "attack")
    session.begin("Attacking", attack_release, session.policy, made["files"], then=then, options=options, at=at)


def _outcomes(outcomes: Any) -> None:
    found = outcomes["found"]
    tried = [each["attack"] for each in found["outcomes"]]
    won = [each["attack"] for each in found["outcomes"] if each["succeeds"]]
    if won:
        parts.notice(f"{len(won)} of {len(tried)} attacks do better than chance:", kind="bad")
        draw_list([f"{name}: {PLAIN[name]}" if name in PLAIN else name for name in won])
    elif tried:
        parts.notice(f"None of {len(tried)} attacks is shown to do better than chance.")
    else:
        parts.notice("None of these attacks applies to this release.")
    for section in outcomes["sections"]:
        draw_section(section)
