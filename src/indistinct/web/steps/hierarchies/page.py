"""The step `hierarchies`: a line for each column, and for one of them its builder, a preview, and files in and out."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from nicegui import ui

from indistinct.figures import number, plural
from indistinct.hierarchy import Hierarchy, table_of_values
from indistinct.recoding.columns import spell_bounds
from indistinct.web import parts
from indistinct.web.deciding import with_levels
from indistinct.web.files import DOWNLOADS, key_of_downloads, safe_name, uploaded_path
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.steps.hierarchies.declarations import (
    NONE,
    builder_of,
    builders_for,
    columns_with_hierarchies,
    describe_hierarchy,
    helps,
    meaning_of,
    remark,
    show_path,
)
from indistinct.web.steps.hierarchies.editor import draw_tree
from indistinct.web.steps.hierarchies.fields import COLUMN, decide, draw_fields
from indistinct.web.tasks.hierarchies import (
    HierarchyFit,
    Imported,
    Outline,
    Preview,
    begin_hierarchy,
    complete_hierarchy,
    export_hierarchy,
    import_hierarchy,
    outline,
    preview,
)
from indistinct.web.worker import TaskError

MISSING = "(missing)"
IMPORT_NOTES = "import-notes"
"""Under this name a tab keeps the notes on an import."""
TO_PRIVACY = "Go on to privacy"


async def draw(screen: Screen) -> None:
    """Draw a line for each column, and everything about the one that is unfolded."""
    columns = columns_with_hierarchies(screen.policy)
    if not columns:
        parts.notice("No column is recoded.", hint="Give a column the role quasi-identifier first.")
        parts.link("Go back to columns", "/columns", classes="main")
        return
    outlines = await screen.session.ask(outline, screen.policy, tuple(columns))
    _draw_all_suggestions(screen, outlines)
    with parts.tag("div", classes="lines"):
        for index, (name, use) in enumerate(columns.items()):
            await _draw_line(screen, index, name, use=use, about=outlines[name])
    parts.say("A frequent value is shown on each level; * is a value that is not published.", kind="hint")


def _draw_all_suggestions(screen: Screen, outlines: dict[str, Outline]) -> None:
    """Offer to give every column what is suggested for it, and to go on."""
    policy = screen.policy
    others = {name: each.advice for name, each in outlines.items() if helps(each.advice, policy.hierarchies.get(name))}

    def take() -> None:
        changed = replace(policy, hierarchies={**policy.hierarchies, **others})
        for name in others:  # levels are counted anew
            changed = with_levels(changed, name, "")
        screen.change(changed)

    needed = policy.algorithm.traits.hierarchies
    if not needed:
        parts.say(
            "You asked for the least loss: the search makes ranges that fit the table. It follows levels for texts "
            "only, such as postal codes, so that nothing needs to be done here."
        )
    elif others:
        parts.say(f"{plural(len(others), 'column has', 'columns have')} not what is suggested: {', '.join(others)}.")
    else:
        parts.say(f"All {len(outlines)} columns have what is suggested. A suggestion is where to begin: you decide.")
    with parts.tag("div", classes="actions"):
        go_first = bool(others) and needed
        if others:
            screen.button("Use all suggestions", take, name="all-suggestions", main=go_first)
        parts.link(TO_PRIVACY, "/privacy", classes="button" if go_first else "main")
    screen.problem("all-suggestions")


async def _draw_line(screen: Screen, index: int, name: str, *, use: str, about: Outline) -> None:
    """Draw a column as one line with its levels in words; opened, it shows its builder and a preview."""
    at, unfolded = f"column-{index}", screen.choices.get(COLUMN) == name
    with parts.tag("section", classes="line", aria_labelledby=at):
        with parts.tag("div", classes="line-head levels"):
            box = parts.button(Own(name), screen.on(lambda: _unfold(screen, "" if unfolded else name), at=at), name=at)
            box.classes("unfolds")
            box.props["aria-expanded"] = "true" if unfolded else "false"
            _draw_words(screen, name, use=use, about=about)
            _draw_taking(screen, index, name, about)
        if unfolded:
            with parts.tag("div", classes="line-body"):
                await _draw_column(screen, name, about)


def _draw_words(screen: Screen, name: str, *, use: str, about: Outline) -> None:
    """Draw the use of a column, an example value through its levels, and their problems."""
    hierarchy, fit = screen.policy.hierarchies.get(name), about.fit
    comment = remark(screen.policy.algorithm, hierarchy, kind=fit.kind, quasi=name in screen.policy.schema.quasi)
    with parts.tag("div", classes="ladder"):
        if name not in screen.policy.schema.quasi:
            parts.tag("span", use, classes="badge")
        if hierarchy is None:
            parts.tag("span", comment or "No levels are declared.")
            if helps(about.advice, None):
                parts.tag("span", f"Suggested: {_in_words(about.advice, about.advised)}", classes="hint")
            else:
                parts.tag("span", "Unfold it to put values into groups that belong together.", classes="hint")
            return
        parts.tag("span", _in_words(hierarchy, about.now))
        for level in levels_without_effect(fit.sizes):
            parts.tag("span", f"level {level} joins nothing", classes="badge")
        if fit.message:
            wrong = f"{plural(fit.uncovered, 'value')} not covered" if fit.uncovered else fit.message
            parts.tag("span", wrong, classes="badge bad")
        elif comment:
            parts.tag("span", "not published: ranges that fit are", classes="badge")


def levels_without_effect(sizes: Sequence[int]) -> list[int]:
    """Return the levels that have as many values as the one below them; `sizes` begin with the unmodified values.

    >>> levels_without_effect([385, 385, 90, 90, 1])
    [1, 3]
    """
    return [level for level, (below, size) in enumerate(pairwise(sizes), start=1) if below == size > 1]


def _in_words(hierarchy: Hierarchy, path: Sequence[str]) -> str:
    words = describe_hierarchy(hierarchy)
    return f"{words[:1].upper()}{words[1:]}: {show_path(path)}" if len(path) > 1 else words


def _draw_taking(screen: Screen, index: int, name: str, about: Outline) -> None:
    """Offer the suggestion for one column, where it has another hierarchy, and to join its rare values."""
    joined, declared = about.joined, screen.policy.hierarchies.get(name)
    if joined is not None and declared is None and name in screen.policy.schema.quasi:
        words = f"Join {plural(about.rare, 'rare value')}"
        screen.button(words, lambda: decide(screen, name, joined), name=f"join-{index}", label=f"{words} of {name}")
        return
    if not helps(about.advice, screen.policy.hierarchies.get(name)):
        parts.tag("span", "as suggested", classes="hint")
        return

    def take() -> None:
        unfolded = screen.choices.get(COLUMN)
        decide(screen, name, about.advice)
        if unfolded != name:
            screen.choices[COLUMN] = unfolded

    screen.button("Use the suggestion", take, name=f"take-{index}", label=f"Use the suggestion for {name}")


def _unfold(screen: Screen, column: str) -> None:
    """Open the editor of a column."""
    screen.choices = {COLUMN: column}


async def _draw_column(screen: Screen, column: str, about: Outline) -> None:
    """Draw the editor of one column: builder, preview and problems."""
    hierarchy, fit = screen.policy.hierarchies.get(column), about.fit
    comment = remark(screen.policy.algorithm, hierarchy, kind=fit.kind, quasi=column in screen.policy.schema.quasi)
    if comment and hierarchy is not None:
        parts.notice(comment)
    seen = about.advice if hierarchy is None else hierarchy
    preview_of = await screen.session.ask(preview, screen.policy, column, seen)
    with parts.tag("div", classes="sides builder"):
        with parts.tag("div"):
            _draw_builder(screen, column, fit)
            if hierarchy is not None and preview_of.meanings and not comment and column in screen.policy.schema.quasi:
                _draw_bounds(screen, column, ("unmodified", *preview_of.meanings))
            _draw_files(screen, column)
        with parts.tag("div"):
            if fit.message:
                _draw_wrong(screen, column, fit)
            _draw_preview(preview_of, fit, suggested=hierarchy is None)
    table = table_of_values(hierarchy)
    if table is not None:
        draw_tree(screen, column, table)


def _draw_builder(screen: Screen, column: str, fit: HierarchyFit) -> None:
    """Draw the choice of a builder, and its fields."""
    hierarchy = screen.policy.hierarchies.get(column)
    chosen = builder_of(hierarchy)
    screen.choice(
        "How values become coarser",
        builders_for(fit.kind, chosen),
        chosen,
        lambda kind: _begin(screen, column, kind),
        name="builder",
        hint=meaning_of(chosen),
    )
    draw_fields(screen, column, hierarchy)


def _draw_bounds(screen: Screen, column: str, levels: Sequence[str]) -> None:
    """Draw the choice of minimum and maximum level."""
    top = len(levels) - 1
    least, most = screen.policy.levels.of(column, top)
    options = {str(level): f"level {level}: {words}" for level, words in enumerate(levels)}

    def take(*, finer: str | None = None, coarser: str | None = None) -> None:
        """Take one end; the other is what it is now, which may be newer than what is drawn."""
        finest, coarsest = screen.policy.levels.of(column, top)
        lowest = finest if finer is None else int(finer)
        highest = min(coarsest, top) if coarser is None else int(coarser)
        if lowest > highest:
            raise TaskError("no level is left", hint="the finest level must not be coarser than the coarsest")
        bounds = "" if (lowest, highest) == (0, top) else spell_bounds((lowest, None if highest == top else highest))
        screen.change(with_levels(screen.policy, column, bounds))

    with parts.details("Levels that may be published", screen.choices, name="bounds", start=(least, most) != (0, top)):
        screen.choice("Not finer than", options, str(least), lambda value: take(finer=value), name="finest")
        screen.choice(
            "Not coarser than", options, str(min(most, top)), lambda value: take(coarser=value), name="coarsest"
        )


def _draw_files(screen: Screen, column: str) -> None:
    """Draw import and export of hierarchies."""
    start = "import" in screen.errors or bool(screen.choices.get(IMPORT_NOTES))
    with parts.details("From a file, or to a file", screen.choices, name="files", start=start):
        _draw_import(screen, column)
        if column in screen.policy.hierarchies:
            screen.button("Export as CSV", lambda: _export(screen, column), name="export")
            screen.problem("export")


async def _begin(screen: Screen, column: str, kind: str) -> None:
    """Start a hierarchy of another kind."""
    made = None if kind == NONE else await screen.session.ask(begin_hierarchy, screen.policy, column, kind=kind)
    decide(screen, column, made)


def _draw_preview(preview: Preview, fit: HierarchyFit, *, suggested: bool) -> None:
    """Draw a preview of the levels for some values."""
    headings = [
        "Value",
        "Why",
        "Rows",
        *(f"Level {level}: {meaning}" for level, meaning in enumerate(preview.meanings, start=1)),
    ]
    rows = [
        (
            Own(value) if value else MISSING,
            why,
            number(count),
            *("not covered" if label is None else Own(label) if label else MISSING for label in labels),
        )
        for why, value, count, labels in preview.values
    ]
    some = "" if len(rows) == fit.distinct else ", some of them"
    does = "What the suggestion would make of" if suggested else "What becomes of"
    parts.table(f"{does} {plural(fit.distinct, 'value')}{some}", headings, rows, right=["Rows"])


def _draw_wrong(screen: Screen, column: str, fit: HierarchyFit) -> None:
    """Draw what is wrong with a hierarchy, with remedies."""
    with parts.notice(fit.message, kind="bad", hint=fit.hint) as box:
        box.props["id"] = "fit-error"
        if fit.strangers:
            more = f" and {fit.uncovered - len(fit.strangers):,} more" if fit.uncovered > len(fit.strangers) else ""
            parts.tag("p", "Not covered: " + ", ".join(fit.strangers) + more)
    if fit.uncovered and builder_of(screen.policy.hierarchies.get(column)) in ("tree", "order"):

        async def complete() -> None:
            decide(screen, column, await screen.session.ask(complete_hierarchy, screen.policy, column))

        screen.button("Add these values, each unmodified", complete, name="complete")


def _draw_import(screen: Screen, column: str) -> None:
    """Draw the upload of a hierarchy."""
    parts.upload(
        "Import a hierarchy from a CSV file",
        screen.on(lambda event: _import(screen, column, event), at="import"),
        name="import",
        kind="hierarchy",
        most=screen.session.settings.largest_upload,
        hint="A line a value: the value, then its coarser values, separated by semicolons; a first line with names of "
        "the levels is found. It is written into the policy.",
        error=screen.errors.get("import"),
        accept=".csv,.txt,.tsv",
    )
    for note in screen.choices.get(IMPORT_NOTES, ()):
        parts.notice(note, kind="good")


async def _import(screen: Screen, column: str, event: dict[str, Any]) -> None:
    path = uploaded_path(screen.session, "hierarchy", event)
    imported: Imported = await screen.session.ask(import_hierarchy, screen.policy, column, path)
    decide(screen, column, imported.hierarchy)
    screen.choices[IMPORT_NOTES] = (f"{plural(len(imported.hierarchy.rows), 'value')} imported.", *imported.notes)


async def _export(screen: Screen, column: str) -> None:
    """Write the hierarchy of a column to a file, and download it."""
    session = screen.session
    path = session.folder / "hierarchies" / f"{safe_name(column)}.csv"
    await session.ask(export_hierarchy, screen.policy, column, path)
    rests_on = key_of_downloads(session)
    others = session.result(DOWNLOADS) if session.is_fresh(DOWNLOADS, rests_on) else {}
    session.keep(DOWNLOADS, {**others, "hierarchy": path}, rests_on=rests_on)
    ui.navigate.to("/download/hierarchy")
