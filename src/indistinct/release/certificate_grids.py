"""A certificate as tables to read: what each model asked for, what was achieved, and what was counted."""

from indistinct.figures import number
from indistinct.markup import Cell, Document, Grid, grid

COUNTED = "What was promised, and what was counted on the published table"
COUNTED_PEOPLE = "What was promised, and what was counted: people, by what is published of their rows"


def verdict_grid(told: Document, *, caption: str | None = None) -> Grid:
    """Return what each model asked for and what was achieved; `told` is a certificate as JSON values."""
    caption = caption or (COUNTED_PEOPLE if told.at("people") else COUNTED)
    groups = groups_of(told)
    rows: list[tuple[Cell, ...]] = []
    for index, verdict in enumerate(told.at("verdicts") or ()):
        achieved = ", ".join(f"{key} = {_achieved(value)}" for key, value in verdict["achieved"].items())
        rows.append(
            (
                verdict["model"],
                told.figure("verdicts", index, "holds", words=yes_or_no),
                achieved or "–",
                told.figure("verdicts", index, "violating_classes"),
            )
        )
    headings = ("promise", "holds", "achieved", f"{groups} that break it")
    return grid(caption, headings, rows, right=headings[3:])


def counted_grid(told: Document) -> Grid:
    """Return how many rows, classes and people were counted."""
    groups = groups_of(told)
    smallest = "people in the smallest" if told.at("people") else "rows in the smallest"
    rows: list[tuple[Cell, Cell]] = [
        ("published rows", told.figure("rows")),
        (groups, told.figure("classes")),
        (f"{smallest} of the {groups}", told.figure("smallest_class")),
        ("rows of the original", told.figure("original_rows", absent=_unknown(told, "original_rows"))),
        ("suppressed rows", told.figure("suppressed_rows", absent=_unknown(told, "suppressed_rows"))),
    ]
    if told.at("people"):
        for key, words in (("published", "published people"), ("original", "people of the original")):
            rows.append((words, told.figure("people", key, absent=_unknown(told, f"people.{key}"))))
        rows.append(
            ("people who lost a row", told.figure("people", "suppressed", absent=_unknown(told, "people.suppressed")))
        )
    if told.at("population_size"):
        rows.append(("people of the population", told.figure("population_size")))
    return grid("What was counted", ("counted", "number"), rows, right=("number",))


def groups_of(told: Document) -> str:
    """Return what rows of a release stand together in."""
    return "classes" if told.at("form") is None else "buckets"


def yes_or_no(value: bool) -> str:
    """Return a truth in a word."""
    return "yes" if value else "NO"


def _achieved(value: float | None) -> str:
    return "hidden" if value is None else number(value)


def _unknown(told: Document, name: str) -> str:
    return "hidden" if name in (told.at("hidden") or ()) else "not known"
