"""The step `search` for several tables: what is asked for, the search, and what it found, table by table."""

from collections.abc import Mapping, Sequence
from typing import Any

from indistinct.document.blocks import Cell
from indistinct.figures import number, percent, plural
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.guarantee import ALL, Known
from indistinct.web import parts
from indistinct.web.blocks import draw_asked, draw_list
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.steps.several.chores import draw_tables_verdict, release_sentence
from indistinct.web.steps.verdict_box import link_to_release
from indistinct.web.tables_following import NOT_SAID, begin_tables_search, follow_tables
from indistinct.web.tables_job import known_rows
from indistinct.web.tables_standing import MADE, fresh_tables, judged_tables

CHANGED = "The job was changed since this was found. Undo takes the change back."
FEW = "few"
"""The word for a number of suppressed rows or people that is too small to be published."""


async def draw(screen: Screen) -> None:
    """Draw the request, the button, and the release."""
    session = screen.session
    follow_tables(session)
    made, fresh = session.result(MADE), fresh_tables(session)
    if fresh is not None:
        draw_tables_verdict(screen, fresh)
        with parts.tag("div", classes="actions"):
            link_to_release()
            parts.link("Look at the risk", "/risk")
        _draw_found(screen, fresh)
    _request(screen)
    _search(screen, again=fresh is not None)
    if made is not None and fresh is None:
        parts.notice(CHANGED, kind="warning")


def _request(screen: Screen) -> None:
    """Draw the request of a search in words."""
    policy = screen.tables.policy
    quasi = "; ".join(f"{table.name}: {names}" for table in policy.tables if (names := ", ".join(_coarser(table))))
    people = policy.suppression.plain
    dropped = f"{percent(people)} of the people" if isinstance(people, float) else str(people)
    lost = f"{dropped}, {percent(policy.rows)} of the rows of a table"
    requests = [
        ("Made coarser", Own(quasi) if quasi else "no column", "columns"),
        ("Attackers know", known_in_words(policy, chosen=screen.tables.chosen), "privacy"),
        ("What must hold", f"a choice of {policy.model.k} people or more", "privacy"),
        ("At most suppressed", lost, "privacy"),
    ]
    draw_asked([(label, [words], step) for label, words, step in requests])


def _coarser(table: Any) -> tuple[str, ...]:
    time = () if table.time is None or table.time.unknown else (table.time.column,)
    return (*table.schema.quasi, *(each.column for each in table.lists), *time)


def known_in_words(policy: LinkedPolicy, *, chosen: frozenset[str]) -> str:
    """Describe what an attacker knows; unanswered tables are listed as open."""
    rows = [f"{rows_in_words(known)} of {name}" if name in chosen else f"{name}: not said yet"
            for name, known in known_rows(policy).items()]  # fmt: skip
    together = f"; {plural(policy.knowledge.rows, 'row')} together at most" if len(rows) > 1 else ""
    return ", ".join([f"the quasi-identifiers of {policy.people.name}", *rows]) + together


def rows_in_words(known: Known) -> str:
    """Return a number of known rows in words.

    >>> rows_in_words(0), rows_in_words(1), rows_in_words("all")
    ('no row', '1 row', 'all rows')
    """
    return "all rows" if known == ALL else "no row" if known == 0 else plural(int(known), "row")


def _search(screen: Screen, *, again: bool) -> None:
    """Draw the button that begins, and what prevents the search."""
    left = screen.tables.open_questions
    if left:
        parts.notice(f"{NOT_SAID[:1].upper()}{NOT_SAID[1:]}: {', '.join(left)}.", kind="warning")
        parts.link("Say it in privacy", "/privacy", classes="main")
    with parts.tag("div", classes="actions"):
        screen.button(
            "Search again" if again else "Search",
            lambda: begin_tables_search(screen.session),
            main=not again and not left,
            name="search",
            disabled=screen.cannot_begin("search") or bool(left),
        )
    screen.problem("search")


def _draw_found(screen: Screen, made: Any) -> None:
    """Draw the published tables and their information loss."""
    certificate = made["certificate"]
    parts.heading("The release").classes("outcome")
    parts.say(release_sentence(certificate))
    judged = judged_tables(screen.session, made)
    costs = {} if judged is None else {each["table"]: each for each in judged["measure"]["tables"]}
    headings = ("table", "rows", "suppressed", "attackers know", "detail lost")
    parts.table(
        "Tables of the release", headings, table_rows(certificate, costs), right=("rows", "suppressed", "detail lost")
    )
    if certificate["assumptions"]:
        parts.say("What is assumed:")
        draw_list([f"{each[:1].upper()}{each[1:]}." for each in certificate["assumptions"]])
    for each in certificate["warnings"]:
        parts.notice(f"{each[:1].upper()}{each[1:]}.", kind="warning")


def table_rows(certificate: Mapping[str, Any], costs: Mapping[str, Any]) -> Sequence[Sequence[Cell]]:
    """Return a line for each table of a release."""
    rows: list[Sequence[Cell]] = []
    for name, entry in sorted(certificate["tables"].items(), key=lambda pair: not pair[1]["people"]):
        known = (
            "all quasi-identifiers"
            if entry["people"]
            else "no row"
            if entry["knows"] is None
            else rows_in_words(entry["knows"])
        )
        gone = "" if entry["people"] else FEW if entry["suppressed_rows"] is None else number(entry["suppressed_rows"])
        loss = costs.get(name, {}).get("loss")
        rows.append((Own(name), number(entry["rows"]), gone, known, "" if loss is None else percent(loss)))
    return rows
