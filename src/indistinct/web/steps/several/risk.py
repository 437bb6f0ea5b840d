"""The step `risk` for several tables: who could be found before and after, and what the attack achieves."""

from collections.abc import Mapping
from typing import Any

from indistinct.figures import number, percent
from indistinct.web import parts
from indistinct.web.blocks import draw_list
from indistinct.web.frame import Screen
from indistinct.web.steps.several.chores import SAME_AS_TABLE, TOO_MANY, draw_tables_verdict, tables_release_of
from indistinct.web.steps.verdict_box import WHO_COULD, link_to_release
from indistinct.web.tables_following import key_of_known_rows
from indistinct.web.tables_standing import KNOWN_ROWS, judged_tables

BEFORE_AFTER = "People among fewer than {k}, before and after"


async def draw(screen: Screen) -> None:
    """Draw the verdict, the risk before and after, and the attack."""
    session = screen.session
    made = tables_release_of(screen)
    if made is None:
        return
    draw_tables_verdict(screen, made)
    with parts.tag("div", classes="actions"):
        link_to_release()
    judged = judged_tables(session, made)
    if judged is None:
        return
    key = key_of_known_rows(screen.tables.policy)
    before = session.result(KNOWN_ROWS) if session.is_fresh(KNOWN_ROWS, key) else None
    parts.heading(WHO_COULD)
    draw_list(risk_lines(judged["assess"], judged["attack"]))
    if before is not None and before["picture"]:
        with parts.tag("div", classes="pictures"):
            parts.picture(before["picture"], caption="The original tables")
            parts.picture(judged["picture"], caption="The release")
    pictured = before is not None and bool(before["picture"])
    with parts.details(SAME_AS_TABLE, screen.choices, name="risk-table", start=not pictured):
        _table(judged["assess"], None if before is None else before["found"])
    with parts.details("What was checked on the files", screen.choices, name="checks"):
        rows = [(each["name"], "yes" if each["holds"] else "NO", each["words"]) for each in judged["verify"]["checks"]]
        parts.table("", ("check", "satisfied", "found"), rows)


def risk_lines(risk: Mapping[str, Any], attack: Mapping[str, Any]) -> list[str]:
    """Return the risk of a release and the attack on it, in sentences."""
    declared = risk["declared"]
    share = TOO_MANY if declared is None or declared["share"] is None else percent(declared["share"])
    return [
        f"With what the job says attackers know, {share} of the people are left among fewer than {risk['k']}.",
        f"An attack with true rows of {number(attack['attempts'])} people: {number(attack['singled_out'])} were left "
        f"alone, {number(attack['below_k'])} among fewer than {attack['k']}; a guess is right in "
        f"{percent(attack['risk'])} of cases.",
    ]


def _table(after: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
    """Draw the risk by known rows, before and after."""

    def shares(values: Mapping[str, Any] | None) -> dict[Any, str]:
        return {
            (each["table"], each["known"], each["people_columns"]): TOO_MANY
            if each["share"] is None
            else percent(each["share"])
            for each in (values or {"risks": ()})["risks"]
        }

    old = shares(before)
    rows = [(table, str(known), "yes" if people else "no", old.get((table, known, people), ""), share)
            for (table, known, people), share in shares(after).items()]  # fmt: skip
    headings = ("table", "known rows", "people columns known", "before", "after")
    parts.table(BEFORE_AFTER.format(k=after["k"]), headings, rows, right=headings[-2:])
