"""The step `privacy` for several tables: the risk by known rows, how many are assumed, and what must hold then."""

import math
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import Any

from indistinct.errors import ParameterError
from indistinct.evaluation.assess.profiles import PROFILES, Profile, models_asked_by
from indistinct.figures import percent, plural
from indistinct.linked.assess import TOGETHER
from indistinct.linked.calendar import UNITS
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.guarantee import ALL, MAX_ROWS_KNOWN, Known, LinkedAnonymity
from indistinct.models import AverageRisk
from indistinct.models.k_anonymity import sizes_asked
from indistinct.parameters import exact
from indistinct.schema import Schema
from indistinct.suppression_limit import parse_budget
from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.steps.opening import WHO
from indistinct.web.steps.privacy import TO_SEARCH
from indistinct.web.steps.several.chores import SAME_AS_TABLE, TOO_MANY, draw_tables_chores
from indistinct.web.tables_following import follow_tables, key_of_known_rows
from indistinct.web.tables_job import known_rows, with_calendar, with_known, with_policy, with_window
from indistinct.web.tables_standing import KNOWN_ROWS
from indistinct.web.worker import TaskError

NOT_CHOSEN = ""
KNOWN_OPTIONS = {"0": "no row", "1": "1 row", "2": "2 rows", "3": "3 rows", ALL: "all rows"}
RISK_TITLE = "How many people could be found, by what is known of them"
KNOWS_TITLE = "How many rows of one person could an attacker know?"
KNOWS_HINT = (
    "Think of a neighbor, an employer or a relative: how many stays, diagnoses or prescriptions of one person could "
    "they know? There is no safe default, so each table is asked."
)
MUST_TITLE = "What must hold"
TIMES_TITLE = "Times"
TIMES_HINT = (
    "The time of each row is published as a distance from one date of its person. The window says which days the data "
    "cover; a reader knows it, too."
)
TOGETHER_HINT = "Of all tables together, at most 3 rows are counted."
DAY_HINT = "year-month-day"


async def draw(screen: Screen) -> None:
    """Draw the risk of the originals, the choice of known rows, and the guarantee."""
    policy = screen.tables.policy
    follow_tables(screen.session)
    with parts.tag("div", classes="actions"):
        parts.link(TO_SEARCH, "/search", classes="button" if screen.tables.open_questions else "main")
    _risk(screen)
    _knowledge(screen)
    _guarantee(screen, policy)
    if policy.time is not None:
        _calendar(screen, policy)


def _risk(screen: Screen) -> None:
    """Draw the share of people below k by the number of known rows, once it is counted."""
    session, policy = screen.session, screen.tables.policy
    if not known_rows(policy):
        return
    parts.heading(RISK_TITLE)
    draw_tables_chores(screen)
    if not session.is_fresh(KNOWN_ROWS, key_of_known_rows(policy)):
        return
    risks = session.result(KNOWN_ROWS)
    parts.say(risk_sentence(risks["found"]))
    if risks["picture"]:
        with parts.tag("div", classes="pictures"):
            parts.picture(risks["picture"])
    with parts.details(SAME_AS_TABLE, screen.choices, name="known-table", start=not risks["picture"]):
        k = risks["found"]["k"]
        rows = [
            (each["table"], str(each["known"]), "yes" if each["people_columns"] else "no",
             TOO_MANY if each["share"] is None else percent(each["share"]))
            for each in risks["found"]["risks"]
        ]  # fmt: skip
        headings = ("table", "known rows", "people columns known", f"people below {k}")
        parts.table("", headings, rows, right=headings[-1:])


def risk_sentence(values: Mapping[str, Any]) -> str:
    """Return the largest risk of the originals with one known row, in a sentence.

    >>> risk = {"table": "stays", "known": 1, "people_columns": True, "share": 0.5}
    >>> risk_sentence({"k": 5, "risks": [risk]})
    'An attacker who knows the columns of a person and 1 row of stays finds 50 % of the people among fewer than 5.'
    """
    one = [
        each for each in values["risks"] if each["people_columns"] and each["known"] == 1 and each["share"] is not None
    ]
    one = [each for each in one if each["table"] != TOGETHER] or one
    if not one:
        return "The combinations of known rows are too many to count."
    worst = max(one, key=lambda each: each["share"])
    return (
        f"An attacker who knows the columns of a person and 1 row of {worst['table']} finds {percent(worst['share'])} "
        f"of the people among fewer than {values['k']}."
    )


def _knowledge(screen: Screen) -> None:
    """Draw how many rows of each table an attacker may know."""
    job = screen.tables
    asked = known_rows(job.policy)
    if not asked:
        parts.notice("No table has a quasi-identifier or a known time: attackers know no row.")
        return
    parts.heading(KNOWS_TITLE)
    parts.say(KNOWS_HINT, kind="hint")
    with parts.tag("div", classes="fields"):
        for index, (name, known) in enumerate(asked.items()):
            chosen = str(known) if name in job.chosen else NOT_CHOSEN
            options = KNOWN_OPTIONS if chosen else {NOT_CHOSEN: "please choose", **KNOWN_OPTIONS}
            screen.choice(
                f"Known rows of {name}",
                options,
                chosen,
                lambda value, name=name: screen.change_tables(with_known(screen.tables, name, parse_rows(value))),
                name=f"knows-{index}",
            )
        if len(asked) > 1 and not job.open_questions:
            screen.choice(
                "Known rows of all tables together",
                {str(number): plural(number, "row") for number in range(1, MAX_ROWS_KNOWN + 1)},
                str(max(1, job.policy.knowledge.rows)),
                lambda value: screen.change_tables(with_policy(screen.tables, together=int(value))),
                name="together",
                hint=TOGETHER_HINT,
            )


def parse_rows(text: str) -> Known:
    """Return a number of known rows as it was chosen."""
    if text == ALL:
        return ALL
    if text not in KNOWN_OPTIONS:
        raise TaskError("choose how many rows", hint="0, 1, 2, 3 or all")
    return int(text)


def _guarantee(screen: Screen, policy: LinkedPolicy) -> None:
    """Draw k with the profiles that set it, l, and the suppression limits."""
    parts.heading(MUST_TITLE)
    model = policy.model
    rest = "" if model.l is None else f" At most one in {model.l} of them shows the same sensitive value."
    parts.say(f"An attacker who knows that of a person still has a choice of {model.k} people or more.{rest}")
    with parts.tag("div", classes="actions"):
        for name, profile in PROFILES.items():
            k = least_k(profile())
            who = WHO[name][0] if name in WHO else name
            change = screen.on(lambda k=k: _change_model(screen, k=k), at="k")
            button = parts.button(f"{who}: k = {k}", change, name=f"profile-{name}")
            button.props["aria-pressed"] = "true" if k == model.k else "false"
    with parts.tag("div", classes="fields"):
        screen.field("Smallest number of people (k)", str(model.k), lambda text: _change_model(screen, k=text),
                     name="k", part=lambda job: job.policy.model)  # fmt: skip
        screen.field("Sensitive values: one in (l)", "" if model.l is None else str(model.l),
                     lambda text: _change_model(screen, l=text), name="l", part=lambda job: job.policy.model,
                     hint="empty for none")  # fmt: skip
        screen.field("People who may be suppressed", str(policy.suppression.plain),
                     lambda text: screen.change_tables(with_policy(screen.tables, suppression=parse_budget(text))),
                     name="suppression", part=lambda job: job.policy.suppression,
                     hint="a share such as 0.02, or a number such as 20 people")  # fmt: skip
        screen.field("Rows of each table that may be deleted", f"{policy.rows:g}",
                     lambda text: screen.change_tables(with_policy(screen.tables, rows=_share(text))),
                     name="rows", part=lambda job: job.policy.rows, hint="a share: 1 sets no limit")  # fmt: skip


def least_k(profile: Profile) -> int:
    """Return the smallest number of people that keeps the risk of a profile.

    >>> [least_k(kind()) for kind in PROFILES.values()]
    [12, 12, 5]
    """
    models = models_asked_by(profile, Schema()).models
    average = [math.ceil(1 / exact(each.threshold)) for each in models if isinstance(each, AverageRisk)]
    return max([*sizes_asked(models), *average, 2])


def _change_model(screen: Screen, **changed: Any) -> None:
    """Change k or l; a text that is no number is refused."""
    model = screen.tables.policy.model
    try:
        k = int(changed.get("k", model.k))
        given = str(changed.get("l", "" if model.l is None else model.l)).strip()
        l = Fraction(given) if given else None
    except (ValueError, ZeroDivisionError):
        raise ParameterError("k is a whole number, and l a number", hint="for example 5 and 2") from None
    screen.change_tables(with_policy(screen.tables, model=LinkedAnonymity(k, l)))


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError("this is not a share", hint="a number from 0 to 1, such as 0.3") from None


def _calendar(screen: Screen, policy: LinkedPolicy) -> None:
    """Draw the anchor date, the unit of times, and the covered days."""
    rules = policy.time
    if rules is None:
        return
    parts.heading(TIMES_TITLE)
    parts.say(TIMES_HINT, kind="hint")
    first, last = next(iter(rules.windows.values()))

    def change(**changed: Any) -> None:
        screen.change_tables(with_calendar(screen.tables, **changed))

    def move(start: date, end: date) -> None:
        screen.change_tables(with_window(screen.tables, start, end))

    dates = {name: Own(name) for name in policy.people.schema.quasi}
    with parts.tag("div", classes="fields"):
        screen.choice("Counted since", dates, rules.anchor, lambda name: change(anchor=name), name="anchor")
        screen.choice(
            "Published in", {unit: unit for unit in UNITS}, rules.unit, lambda unit: change(unit=unit), name="unit"
        )
        for label, name, day, take in (
            ("First day of the data", "window-first", first, lambda text: move(_day(text), last)),
            ("Last day of the data", "window-last", last, lambda text: move(first, _day(text))),
        ):
            screen.field(label, day.isoformat(), take, name=name, part=lambda job: job.policy.time, hint=DAY_HINT)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ParameterError("this is not a day", hint="year-month-day, such as 2024-12-31") from None
