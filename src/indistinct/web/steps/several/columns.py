"""The step `columns` for several tables: a line for each column with its values, the reason, and its role."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indistinct.hierarchy import hierarchy_from_json
from indistinct.linked.declared import LinkedTable
from indistinct.schema import Role
from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.steps.columns import (
    count_values,
    describe_column,
    describe_role,
    ids_of,
    sample_values,
    warn_of_values,
)
from indistinct.web.steps.hierarchies.page import TO_PRIVACY
from indistinct.web.tables_following import follow_tables
from indistinct.web.tables_job import BIRTH, DEATH, LIST, TIME, UNKNOWN_TIME, role_of, with_column_role, with_separator
from indistinct.web.tables_standing import LOOK

OF_PEOPLE = {
    BIRTH: "date of birth: others may know it",
    DEATH: "date of death: others may know it",
    LIST: "list: others may know some of its values",
}
OF_EVENTS = {
    TIME: "time: others may know when it was",
    UNKNOWN_TIME: "time that others do not know: published finely",
}
PEOPLE_HINT = "One row a person. Others may know all quasi-identifiers of a person."
EVENTS_HINT = "Several rows a person. Others may know some rows: how many is asked in the step Privacy."
PASSED_HINT = "No quasi-identifier and no known time: its rows are published unmodified, under the pseudonym."


async def draw(screen: Screen) -> None:
    """Draw the columns of each table with their roles, the people table first."""
    looked, policy = screen.session.result(LOOK), screen.tables.policy
    follow_tables(screen.session)
    with parts.tag("div", classes="actions"):
        parts.link(TO_PRIVACY, "/privacy", classes="main")
    screen.problem("role")
    for number, table in enumerate(sorted(policy.tables, key=lambda each: not each.people)):
        parts.heading(Own(table.name))
        hint = PEOPLE_HINT if table.people else EVENTS_HINT if table.is_counted else PASSED_HINT
        parts.say(hint, kind="hint")
        columns = looked[table.name]["columns"]
        keys = ids_of([each["name"] for each in columns])
        with parts.tag("div", classes="lines"):
            for column in columns:
                _line(screen, table, column, f"{number}-{keys[column['name']]}", looked[table.name]["rows"])
    with parts.tag("div", classes="actions"):
        parts.link(TO_PRIVACY, "/privacy")


def _line(screen: Screen, table: LinkedTable, column: Mapping[str, Any], key: str, rows: int) -> None:
    """Draw a column with its role."""
    name = column["name"]
    role = role_of(table, name)
    with parts.tag("section", classes="line", aria_labelledby=f"column-{key}"), parts.tag("div", classes="line-head"):
        parts.tag("strong", Own(name), id=f"column-{key}")
        with parts.tag("div", classes="short"):
            samples = sample_values(column)
            if samples:
                parts.tag("span", Own(samples), classes="samples")
            suggested = role == column["role"]
            short = describe_column(column, rows) if suggested else f"{count_values(column, rows)}."
            parts.tag("span", short, classes="hint")
            warning = warn_of_values(column, Role(role) if role in set(Role) else Role.QUASI)
            if warning:
                parts.tag("span", warning, classes="badge bad")
        if name == table.person:
            parts.say("person ID: published as a random pseudonym", kind="hint")
            return
        screen.choice(
            f"Role of {name} in {table.name}",
            roles_for(table, column),
            role,
            lambda value: _decide(screen, table.name, column, value),
            name=f"role-{key}",
            hidden_label=True,
        )
    if role == LIST:
        separator = next(each.separator for each in table.lists if each.column == name)
        screen.field(
            f"What parts the values of {name}",
            separator,
            lambda text: screen.change_tables(with_separator(screen.tables, name, text)),
            name=f"separator-{key}",
            about=f"{name}: separator",
        )


def roles_for(table: LinkedTable, column: Mapping[str, Any]) -> dict[str, str]:
    """Return the roles that a column can have, with what each means."""
    plain = {each.value: describe_role(each) for each in Role if each is not Role.PERSON}
    if table.people:
        kind = {"date": (BIRTH, DEATH), "text": (LIST,)}.get(column["type"], ())
        return plain | {each: OF_PEOPLE[each] for each in kind}
    return plain | (OF_EVENTS if column["type"] == "date" else {})


def _decide(screen: Screen, table: str, column: Mapping[str, Any], role: str) -> None:
    given = column["hierarchy"] if screen.tables.policy.table(table).people else None
    suggested = None if given is None else hierarchy_from_json(given, base=Path())
    screen.change_tables(with_column_role(screen.tables, table, column["name"], role, hierarchy=suggested))
