"""Before and after: rows by class beside what is published of them, and columns by the shares of their values."""

from typing import Any

from indistinct.figures import number, percent, plural
from indistinct.job.policy import Policy
from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.picking import first_of, pages, table_html
from indistinct.web.sessions import job_of
from indistinct.web.standing import RELEASED
from indistinct.web.steps.verdict_box import NO_RELEASE
from indistinct.web.tasks.classes import ROWS, class_page
from indistinct.web.tasks.exploring import arrow
from indistinct.web.tasks.published import all_distances, column_picture
from indistinct.web.worker import TaskError

ORDER, FIRST, COLUMN = "rows-order", "rows-page", "column"
DISTANCES = "distances"
"""Under this name a session keeps how far a release is from the original."""
ORDERS = {
    "release": "all groups, as they are published",
    "smallest": "the smallest groups first",
    "suppressed": "only rows that are left out",
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
    """Draw rows of the original by class, and beside each what its class shows."""
    found = _release(screen)
    if found is None:
        return
    order = screen.choices.get(ORDER, "release")

    def reorder(value: str) -> None:
        screen.choices.update({ORDER: value if value in ORDERS else "release", FIRST: 0})

    screen.choice("Show", ORDERS, order, reorder, name=ORDER)
    first = int(screen.choices.get(FIRST, 0))
    shown = await screen.session.ask(class_page, *found, by=order, first=first)
    if shown["of"] and not shown["rows"]:  # there are fewer rows than in the release of before
        screen.choices[FIRST] = first_of(screen, FIRST, of=shown["of"], step=ROWS)
        shown = await screen.session.ask(class_page, *found, by=order, first=screen.choices[FIRST])
    word = "bucket" if shown["buckets"] else "group"
    least = f"{number(shown['smallest'])} people" if shown["people"] else plural(shown["smallest"], "row")
    parts.say(
        f"{plural(shown['classes'], word)}; the smallest has {least}; {plural(shown['suppressed'], 'row')} left out."
    )
    if shown["buckets"]:
        parts.say("Values are published by bucket. Which of them belong together inside a bucket is hidden.")
    if not shown["rows"]:
        parts.say("No row is left out.")
        return
    parts.html(rows_html(shown, word=word), classes="cells")
    pages(screen, FIRST, of=shown["of"], step=ROWS)


def rows_html(shown: dict[str, Any], *, word: str) -> str:
    """Return a page of rows as a table: groups are shaded in turn, and what is left out says so.

    A column that is published under its name has one cell a row, with what becomes of it.
    """
    unit = ["people"] if shown["people"] else []
    apart = [place for place, name in enumerate(shown["after"]) if name not in shown["before"]]
    after_of = {name: place for place, name in enumerate(shown["after"]) if name in shown["before"]}
    headings = [word, "rows", *unit, *shown["before"], *(f"{shown['after'][place]} " for place in apart)]
    rows, marked, shaded, last = [], [], False, None
    for index, row in enumerate(shown["rows"]):
        shaded = shaded if row["class"] == last or last is None else not shaded
        last = row["class"]
        if shaded:
            marked.append(index)
        people = [] if not unit else [number(row["people"]) if row["people"] is not None else "–"]
        left_out = not row["class"]
        cells = [
            before if left_out or name not in after_of else arrow(before, row["after"][after_of[name]])
            for name, before in zip(shown["before"], row["before"], strict=True)
        ]
        group = "left out" if left_out else number(row["class"])
        size = "–" if left_out else number(row["size"])
        rows.append([group, size, *people, *cells, *(row["after"][place] for place in apart)])
    caption = f"Published rows by {word}" if shown["buckets"] else f"Rows before → after, by {word}"
    over = [("", 2 + len(unit) + len(shown["before"])), ("in the bucket, apart", len(apart))] if apart else []
    return table_html(caption, headings, rows, right=("rows", "people"), marked=marked, above=over)


async def draw_column(screen: Screen) -> None:
    """Draw one column before and after, and how far all of them are from the original if that was computed."""
    found = _release(screen)
    if found is None:
        return
    policy, files = found
    names = list(policy.schema.published)
    column = screen.choices.get(COLUMN, names[0])
    column = column if column in names else names[0]
    screen.choice("Column", names, column, lambda value: screen.choices.__setitem__(COLUMN, value), name=COLUMN)
    try:
        parts.picture(await screen.session.ask(column_picture, policy, files, column))
    except TaskError as error:
        parts.problem(error, at=COLUMN)
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

    def then(found: dict[str, Any]) -> None:
        session.keep(DISTANCES, found, rests_on=str(files["table"]))

    session.begin("Comparing columns", all_distances, policy, files, then=then)


def _draw_distances(found: dict[str, Any]) -> None:
    if found["picture"] is not None:
        parts.picture(found["picture"])
    parts.table(
        "How far each column is from the original",
        ("column", "total variation", "moved by"),
        [
            (
                each["column"],
                percent(each["total_variation"]),
                "–" if each["wasserstein"] is None else number(each["wasserstein"]),
            )
            for each in found["columns"]
        ],
        right=("total variation", "moved by"),
    )
