"""Before and after: rows by class next to what is published of them, and columns by the shares of their values."""

from typing import Any

from nicegui import ui
from nicegui.element import Element

from indistinct.figures import number, percent, plural
from indistinct.job.policy import Policy
from indistinct.web import parts
from indistinct.web.blocks import draw_list
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.picking import first_of, fold_set, pages, table_html
from indistinct.web.sessions import job_of
from indistinct.web.standing import RELEASED
from indistinct.web.steps.verdict_box import NO_RELEASE
from indistinct.web.tasks.classes import ROWS, class_page
from indistinct.web.tasks.exploring import arrow
from indistinct.web.tasks.published import all_distances, column_picture
from indistinct.web.tasks.usefulness import answerable
from indistinct.web.worker import TaskError

ORDER, FIRST, COLUMN = "rows-order", "rows-page", "column"
COLUMNS_DRAWN_AT_FIRST = 3
"""Columns that are drawn after a search."""
DISTANCES = "distances"
"""Under this name a session keeps how far a release is from the original."""
ORDERS = {
    "release": "all classes, as published",
    "smallest": "the smallest classes first",
    "suppressed": "only suppressed rows",
}


def _release(screen: Screen) -> tuple[Policy, dict[str, Any]] | None:
    """Return the job of the release and its files; without one, say so and lead to the search."""
    made, policy = screen.session.result(RELEASED), screen.session.rests_on(RELEASED)
    if made is None or policy is None:
        parts.notice(NO_RELEASE, hint="Search first: then rows and columns can be seen before and after.")
        with parts.tag("div", classes="actions"):
            parts.link("Go to search", "/search", classes="main")
        return None
    if not screen.session.is_fresh(RELEASED, job_of(screen.policy)):
        parts.notice("The job was changed since the last search: this is the release of before.", kind="warning")
    return policy, made["files"]


async def draw_rows(screen: Screen) -> None:
    """Draw rows of the original by class, each next to what its class publishes."""
    release = _release(screen)
    if release is None:
        return
    order = screen.choices.get(ORDER, "release")

    def reorder(value: str) -> None:
        screen.choices.update({ORDER: value if value in ORDERS else "release", FIRST: 0})

    screen.choice("Show", ORDERS, order, reorder, name=ORDER)
    first = int(screen.choices.get(FIRST, 0))
    page = await screen.session.ask(class_page, *release, by=order, first=first)
    if page["of"] and not page["rows"]:  # there are fewer rows than in the release of before
        screen.choices[FIRST] = first_of(screen, FIRST, of=page["of"], step=ROWS)
        page = await screen.session.ask(class_page, *release, by=order, first=screen.choices[FIRST])
    least = f"{number(page['smallest'])} people" if page["people"] else plural(page["smallest"], "row")
    gone = plural(page["suppressed"], "row")
    parts.say(f"{plural(page['classes'], page['unit'], page['units'])}; the smallest has {least}; {gone} suppressed.")
    if not page["whole_rows"]:
        parts.say("Values are published by bucket. Which of them belong together inside a bucket is hidden.")
    if not page["rows"]:
        parts.say("No row is suppressed.")
        return
    parts.html(rows_html(page), classes="cells")
    pages(screen, FIRST, of=page["of"], step=ROWS)


def rows_html(shown: dict[str, Any]) -> str:
    """Return a page of rows as a table: every second class is shaded, and a suppressed row says so.

    A column that is published under its name has one cell a row, with what becomes of it.
    """
    word, unit = shown["unit"], ["people"] if shown["people"] else []
    apart = [position for position, name in enumerate(shown["after"]) if name not in shown["before"]]
    after_of = {name: position for position, name in enumerate(shown["after"]) if name in shown["before"]}
    names = [*shown["before"], *(f"{shown['after'][position]} " for position in apart)]
    headings = [word, "rows", *unit, *map(Own, names)]
    rows, marked, shaded, last = [], [], False, None
    for index, row in enumerate(shown["rows"]):
        shaded = shaded if row["class"] == last or last is None else not shaded
        last = row["class"]
        if shaded:
            marked.append(index)
        people = [] if not unit else [number(row["people"]) if row["people"] is not None else "–"]
        left_out = not row["class"]
        cells = [
            Own(before) if left_out or name not in after_of else fold_set(arrow(before, row["after"][after_of[name]]))
            for name, before in zip(shown["before"], row["before"], strict=True)
        ]
        group = "suppressed" if left_out else number(row["class"])
        size = "–" if left_out else number(row["size"])
        rows.append([group, size, *people, *cells, *(Own(row["after"][position]) for position in apart)])
    caption = f"Rows before → after, by {word}" if shown["whole_rows"] else f"Published rows by {word}"
    over = [("", 2 + len(unit) + len(shown["before"])), ("in the bucket, apart", len(apart))] if apart else []
    return table_html(caption, headings, rows, right=("rows", "people"), marked=marked, above=over)


def draw_most_changed(screen: Screen, made: dict[str, Any]) -> None:
    """Draw the columns that lose most before and after, and what the release can still answer; they come by themselves.

    Columns that are lost wholly come last. Where no column loses anything, as in buckets, there is nothing to compare.
    """
    policy = screen.session.rests_on(RELEASED)
    by_loss = sorted(made["column_losses"].items(), key=lambda item: (_is_gone(item[1]), -item[1]))
    losses = by_loss[:COLUMNS_DRAWN_AT_FIRST]
    if policy is None or not losses:
        return
    parts.heading("Before and after")
    with parts.tag("div", classes="pictures three", id="most-changed"):
        for name, loss in losses:
            with parts.tag("div", classes="column-picture"):
                box = parts.tag("div")
                parts.tag("p", loss_in_words(name, loss), classes="hint")
            _fill(screen, box, column_picture, policy, made["files"], name)
    parts.heading("What can still be answered")
    box = parts.tag("div", id="answerable", aria_live="polite")
    _fill(screen, box, answerable, policy, made["files"])
    with parts.tag("p"):
        parts.link("See each column, and rows, before and after", "/explore#columns")


def _is_gone(loss: float) -> bool:
    """Return whether not one value of a column is published, as far as figures are shown."""
    return percent(loss) == percent(1.0)


def loss_in_words(column: str, loss: float) -> str:
    """Return what a column loses, as the sentence of its picture.

    >>> loss_in_words("age", 0.151), loss_in_words("age", 1.0)
    ('age loses 15.1 % of its detail.', 'No value of age is published.')
    """
    return f"No value of {column} is published." if _is_gone(loss) else f"{column} loses {percent(loss)} of its detail."


def _fill(screen: Screen, element: Element, task: Any, *arguments: Any) -> None:
    """Draw a picture, or sentences, in their place: at once if they were found before, else once they are."""
    _, files, *column = arguments
    about = (task.__name__, str(files["table"]), *column)
    kept: dict[Any, str | list[str]] = screen.choices.setdefault("filled", {})

    def show(found: str | list[str] | TaskError) -> None:
        element.clear()
        with element:
            match found:
                case TaskError():
                    parts.problem(found)
                case str():
                    parts.picture(found, values=True)
                case _:
                    draw_list(found)

    async def fill() -> None:
        text: str | list[str] | TaskError
        try:
            text = kept[about] = await screen.session.ask(task, *arguments)
        except TaskError as error:
            text = error
        if not element.is_deleted:  # the step may be drawn anew meanwhile
            show(text)

    if about in kept:
        show(kept[about])
        return
    with element:
        parts.say("drawing …", kind="hint")
    ui.timer(0.01, fill, once=True)


def draw_column(screen: Screen) -> None:
    """Draw one column before and after, with a list to choose another one."""
    release = _release(screen)
    if release is None:
        return
    policy, files = release
    names = list(policy.schema.published)
    column = screen.choices.get(COLUMN, names[0])
    column = column if column in names else names[0]
    screen.choice("Column", names, column, lambda value: screen.choices.__setitem__(COLUMN, value), name=COLUMN)
    with parts.tag("div", classes="column-picture"):
        _fill(screen, parts.tag("div"), column_picture, policy, files, column)
        losses = screen.session.result(RELEASED)["column_losses"]
        if column in losses:
            parts.tag("p", loss_in_words(column, losses[column]), classes="hint")


def draw_comparison(screen: Screen) -> None:
    """Draw how far all columns and pairs are from the original, if that was computed."""
    release = _release(screen)
    if release is None:
        return
    policy, files = release
    parts.heading("All columns and pairs", level=3)
    parts.say("How far the release is from the original, and how columns depend on each other before and after.")
    with parts.tag("div", classes="actions"):
        screen.button(
            "Compare all columns",
            lambda: begin_distances(screen, policy, files),
            name="compare-columns",
            disabled=screen.cannot_begin(),
        )
    screen.problem("compare-columns")
    if screen.session.is_fresh(DISTANCES, str(files["table"])):
        _draw_distances(screen.session.result(DISTANCES))


def begin_distances(screen: Screen, policy: Policy, files: dict[str, Any]) -> None:
    """Begin to compare all columns and pairs with the original."""
    session = screen.session

    def then(values: dict[str, Any]) -> None:
        session.keep(DISTANCES, values, rests_on=str(files["table"]))

    session.begin("Comparing columns", all_distances, policy, files, then=then)


def _draw_distances(values: dict[str, Any]) -> None:
    """Draw the distances of columns from the original."""
    if values["picture"] is not None:
        parts.picture(values["picture"])
    parts.table(
        "How far each column is from the original",
        ("column", "total variation", "moved by"),
        [
            (
                Own(each["column"]),
                percent(each["total_variation"]),
                "–" if each["wasserstein"] is None else number(each["wasserstein"]),
            )
            for each in values["columns"]
        ],
        right=("total variation", "moved by"),
    )
