"""The step `hierarchies`: a list of columns, and for one of them its builder, a preview, and files in and out."""

from dataclasses import replace
from typing import Any

from nicegui import ui

from indistinct.figures import number, plural
from indistinct.hierarchy import table_of_values
from indistinct.web import parts
from indistinct.web.files import DOWNLOADS, key_of_downloads, safe_name, uploaded_path
from indistinct.web.frame import Screen
from indistinct.web.standing import INSPECTED
from indistinct.web.steps.hierarchies.declarations import (
    BUILDERS,
    NONE,
    builder_of,
    builders_for,
    columns_with_hierarchies,
    describe_hierarchy,
    remark,
    with_hierarchy,
)
from indistinct.web.steps.hierarchies.editor import draw_tree
from indistinct.web.steps.hierarchies.fields import COLUMN, decide, draw_fields
from indistinct.web.tasks.hierarchies import (
    Fit,
    Imported,
    begin_hierarchy,
    complete_hierarchy,
    export_hierarchy,
    import_hierarchy,
    preview,
    suggest_hierarchy,
)
from indistinct.web.tasks.hierarchies import survey as survey_columns

MISSING = "(missing)"
TOLD = "told"
"""Under this name a tab keeps what an import told."""


async def draw(screen: Screen) -> None:
    """Draw the columns, and everything about the chosen one."""
    columns = columns_with_hierarchies(screen.policy)
    if not columns:
        parts.notice("No column is recoded.", hint="Give a column the role quasi-identifier first.")
        parts.link("Go back to columns", "/columns", classes="main")
        return
    column = screen.choices.get(COLUMN)
    if column not in columns:
        column = screen.choices[COLUMN] = next(iter(columns))
    # Values of the others were counted when the table was opened.
    fits = {name: fit for name, fit in counted_before(screen.session.result(INSPECTED)).items() if name in columns}
    sought = [name for name in columns if name == column or name in screen.policy.hierarchies or name not in fits]
    fits |= await screen.session.ask(survey_columns, screen.policy, sought)
    await _draw_all_suggestions(screen, columns)
    _draw_list(screen, columns, fits)
    with parts.tag("section", aria_labelledby="chosen"):
        await _draw_column(screen, column, fits[column], quasi=column in screen.policy.schema.quasi)


async def _draw_all_suggestions(screen: Screen, columns: dict[str, str]) -> None:
    """Offer to give every column what is suggested for it, and to go on."""
    advice = {name: await screen.session.ask(suggest_hierarchy, screen.policy, name) for name in columns}
    others = {name: each for name, each in advice.items() if each != screen.policy.hierarchies.get(name)}

    def take() -> None:
        hierarchies = dict(screen.policy.hierarchies)
        for name, each in others.items():
            hierarchies = with_hierarchy(hierarchies, name, each)
        screen.change(replace(screen.policy, hierarchies=hierarchies))

    if not screen.policy.algorithm.traits.hierarchies:
        parts.say("You asked for ranges that fit the table: most columns need nothing here.", kind="hint")
    with parts.tag("div", classes="actions"):
        if others:
            screen.button(f"Use all suggestions ({', '.join(others)})", take, name="all-suggestions")
        else:
            parts.tag("span", "Every column has what is suggested.", classes="hint")
        parts.link("Go on to privacy", "/privacy", classes="main")
    screen.problem("all-suggestions")


def counted_before(inspection: dict[str, Any] | None) -> dict[str, Fit]:
    """Return what a first look at the table found of each column.

    >>> counted_before({"columns": [{"name": "sex", "type": "text", "distinct": 2, "missing": 55}]})["sex"].distinct
    3
    """
    columns = [] if inspection is None else inspection["columns"]
    return {each["name"]: Fit(each["type"], each["distinct"] + (each["missing"] > 0)) for each in columns}


def _draw_list(screen: Screen, columns: dict[str, str], fits: dict[str, Fit]) -> None:
    with parts.tag("div", classes="wide", role="region", tabindex="0", aria_label="Columns"), parts.tag("table"):
        parts.tag("caption", "Choose a column to see and change its hierarchy")
        with parts.tag("thead"), parts.tag("tr"):
            for name in ("Column", "Role", "Hierarchy", "Different values, level by level", "State"):
                parts.tag("th", name, scope="col")
        with parts.tag("tbody"):
            for place, (name, use) in enumerate(columns.items()):
                _draw_line(screen, place, name, use=use, fit=fits[name])


def _draw_line(screen: Screen, place: int, name: str, *, use: str, fit: Fit) -> None:
    chosen, hierarchy = screen.choices[COLUMN] == name, screen.policy.hierarchies.get(name)
    told = remark(screen.policy.algorithm, hierarchy, kind=fit.kind, quasi=name in screen.policy.schema.quasi)
    with parts.tag("tr", classes="marked" if chosen else ""):
        with parts.tag("th", scope="row"):
            box = parts.button(name, screen.on(lambda: _choose(screen, name), at=f"column-{place}"))
            box.props["id"], box.props["aria-pressed"] = f"column-{place}", "true" if chosen else "false"
        parts.tag("td", use)
        parts.tag("td", describe_hierarchy(hierarchy))
        parts.tag("td", " → ".join(map(number, fit.sizes or (fit.distinct,))))
        if fit.message:
            parts.tag(
                "td", f"{plural(fit.uncovered, 'value')} not covered" if fit.uncovered else "wrong", classes="bad"
            )
        else:
            parts.tag("td", "not published" if told and hierarchy is not None else "")


def _choose(screen: Screen, column: str) -> None:
    screen.choices = {COLUMN: column}


async def _draw_column(screen: Screen, column: str, fit: Fit, *, quasi: bool) -> None:
    hierarchy = screen.policy.hierarchies.get(column)
    parts.tag("h2", column, id="chosen")
    told = remark(screen.policy.algorithm, hierarchy, kind=fit.kind, quasi=quasi)
    if told:
        parts.notice(told)
    with parts.tag("div", classes="sides builder"):
        with parts.tag("div"):
            await _draw_builder(screen, column, fit)
        with parts.tag("div"):
            await _draw_preview(screen, column, fit)
    table = table_of_values(hierarchy)
    if table is not None:
        draw_tree(screen, column, table)


async def _draw_builder(screen: Screen, column: str, fit: Fit) -> None:
    hierarchy = screen.policy.hierarchies.get(column)
    chosen = builder_of(hierarchy)
    screen.choice(
        "Kind of hierarchy",
        builders_for(fit.kind, chosen),
        chosen,
        lambda kind: _begin(screen, column, kind),
        name="builder",
        hint=BUILDERS[chosen].meaning,
    )
    draw_fields(screen, column, hierarchy)
    advice = await screen.session.ask(suggest_hierarchy, screen.policy, column)
    with parts.tag("div", classes="actions"):
        if advice != hierarchy:
            screen.button(
                f"Use the suggestion: {describe_hierarchy(advice)}",
                lambda: decide(screen, column, advice),
                name="suggestion",
                at="builder",
            )
        else:
            parts.tag("span", "This is what is suggested.", classes="hint")
        if hierarchy is not None:
            screen.button("Export as CSV", lambda: _export(screen, column), name="export")
    screen.problem("export")
    _draw_import(screen, column)


async def _begin(screen: Screen, column: str, kind: str) -> None:
    made = None if kind == NONE else await screen.session.ask(begin_hierarchy, screen.policy, column, kind=kind)
    decide(screen, column, made)


async def _draw_preview(screen: Screen, column: str, fit: Fit) -> None:
    if fit.message:
        _draw_wrong(screen, column, fit)
    shown = await screen.session.ask(preview, screen.policy, column)
    headings = [
        "Value",
        "Why",
        "Rows",
        *(f"Level {level}: {told}" for level, told in enumerate(shown.meanings, start=1)),
    ]
    rows = [
        (
            value or MISSING,
            why,
            number(count),
            *("not covered" if label is None else label or MISSING for label in labels),
        )
        for why, value, count, labels in shown.values
    ]
    some = "" if len(rows) == fit.distinct else ", some of them"
    parts.table(f"What becomes of {plural(fit.distinct, 'value')}{some}", headings, rows, right=["Rows"])


def _draw_wrong(screen: Screen, column: str, fit: Fit) -> None:
    with parts.notice(fit.message, kind="bad", hint=fit.hint) as box:
        box.props["id"] = "fit-error"
        if fit.strangers:
            more = f" and {fit.uncovered - len(fit.strangers):,} more" if fit.uncovered > len(fit.strangers) else ""
            parts.tag("p", "Not covered: " + ", ".join(fit.strangers) + more)
    if fit.uncovered and builder_of(screen.policy.hierarchies.get(column)) in ("tree", "order"):

        async def complete() -> None:
            decide(screen, column, await screen.session.ask(complete_hierarchy, screen.policy, column))

        screen.button("Add these values, each as it is", complete, name="complete")


def _draw_import(screen: Screen, column: str) -> None:
    parts.upload(
        "Import a hierarchy from a CSV file",
        screen.on(lambda told: _import(screen, column, told), at="import"),
        name="import",
        kind="hierarchy",
        most=screen.session.settings.largest_upload,
        hint="A line a value: the value, then its coarser values, separated by semicolons; a first line with names of "
        "the levels is found. It is written into the policy.",
        error=screen.errors.get("import"),
        accept=".csv,.txt,.tsv",
    )
    for told in screen.choices.get(TOLD, ()):
        parts.notice(told, kind="good")


async def _import(screen: Screen, column: str, told: dict[str, Any]) -> None:
    path = uploaded_path(screen.session, "hierarchy", told)
    found: Imported = await screen.session.ask(import_hierarchy, screen.policy, column, path)
    decide(screen, column, found.hierarchy)
    screen.choices[TOLD] = (f"{plural(len(found.hierarchy.rows), 'value')} imported.", *found.notes)


async def _export(screen: Screen, column: str) -> None:
    session = screen.session
    path = session.folder / "hierarchies" / f"{safe_name(column)}.csv"
    await session.ask(export_hierarchy, screen.policy, column, path)
    rests_on = key_of_downloads(session)
    others = session.result(DOWNLOADS) if session.is_fresh(DOWNLOADS, rests_on) else {}
    session.keep(DOWNLOADS, {**others, "hierarchy": path}, rests_on=rests_on)
    ui.navigate.to("/download/hierarchy")
