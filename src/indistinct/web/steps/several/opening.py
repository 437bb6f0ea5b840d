"""The step `open` for several tables: what links them, which one has one row a person, and a look at their rows."""

from pathlib import Path
from typing import Any

from indistinct.figures import plural
from indistinct.web import parts
from indistinct.web.blocks import draw_list
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.steps.opening import TABLES_LEFT_OUT, TABLES_REASONS, TO_COLUMNS, begin_tables, draw_other_ways
from indistinct.web.tables_following import follow_tables
from indistinct.web.tables_job import columns_of, with_person
from indistinct.web.tables_standing import LOOK
from indistinct.web.tasks.looking import preview

ROWS = 5
PROPOSED = "Proposed from the files; change it below if it is wrong:"
LINK = (
    "One table has one row a person. Every other one says by its person ID whose each row is. The IDs are published as "
    "random pseudonyms, the same in all tables of a release."
)


async def draw(screen: Screen) -> None:
    """Draw how the tables are linked, and their first rows."""
    session, policy = screen.session, screen.tables.policy
    looked = session.result(LOOK)
    follow_tables(session)
    parts.heading(f"{plural(len(policy.tables), 'table')} about the same people").classes("outcome")
    reasons, left_out = session.result(TABLES_REASONS) or (), session.result(TABLES_LEFT_OUT) or ()
    if reasons:
        parts.say(PROPOSED)
        draw_list([f"{each}." for each in reasons])
    if left_out:
        parts.notice(f"Left out, because no column holds person IDs: {', '.join(left_out)}.")
    with parts.tag("div", classes="actions"):
        parts.link(TO_COLUMNS, "/columns", classes="main")
    _links(screen, looked)
    for table in policy.tables:
        await _rows(screen, table.name, looked[table.name]["rows"])
    draw_other_ways(screen)


def _links(screen: Screen, looked: Any) -> None:
    """Draw the people table and the person ID of each table, each to be changed."""
    policy = screen.tables.policy
    parts.heading("How they are linked")
    parts.say(LINK, kind="hint")
    screen.choice(
        "The table with one row a person",
        {each.name: Own(each.name) for each in policy.tables},
        policy.people.name,
        lambda name: _choose_people(screen, name),
        name="people-table",
    )
    with parts.tag("div", classes="fields"):
        for index, table in enumerate(policy.tables):
            screen.choice(
                f"Person ID of {table.name}",
                {name: Own(name) for name in columns_of(table)},
                table.person,
                lambda column, name=table.name: screen.change_tables(with_person(screen.tables, name, column)),
                name=f"person-{index}",
                hint=f"{plural(looked[table.name]['rows'], 'row')}",
            )


def _choose_people(screen: Screen, name: str) -> None:
    """Propose everything again with another table of people."""
    if name != screen.tables.policy.people.name:
        policy = screen.tables.policy
        files = {each.name: policy.locate(each.path or Path(each.name)) for each in policy.tables}
        begin_tables(screen.session, files, at="people-table", people=name, title=screen.session.name)


async def _rows(screen: Screen, name: str, rows: int) -> None:
    """Draw the first rows of a table."""
    table = screen.tables.policy.table(name)
    with parts.details(f"{name}: first rows of {rows:,}", screen.choices, name=f"rows-{name}"):
        if screen.choices.get(f"rows-{name}"):
            path = screen.tables.policy.locate(table.path or Path(name))
            page = await screen.session.ask(preview, path, table.reading, rows=ROWS)
            numbered = [(f"{number:,}", *map(Own, row)) for number, row in enumerate(page["rows"], start=1)]
            parts.table("", ["row", *map(Own, page["columns"])], numbered).classes("cells")
