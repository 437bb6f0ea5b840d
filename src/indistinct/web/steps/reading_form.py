"""How a table is read, in the step `open`: what was found or proposed, in fields that can be changed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from indistinct.errors import ParameterError
from indistinct.settings import settings_under
from indistinct.tables import Reading
from indistinct.tables.dialect import DELIMITERS
from indistinct.tables.reading import TYPES
from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.reading_fields import STRUCTURE, find_changes, reading_of, texts_of
from indistinct.web.worker import TaskError

MARKS = {
    ",": "comma ,",
    ";": "semicolon ;",
    "\t": "tab",
    "|": "bar |",
    ".": "point .",
    " ": "space",
    "'": "apostrophe '",
}
NAMELESS = {"": "are refused", "drop": "are left out", "name": "are called column 1, column 2 …"}
ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "cp932")
BUTTON = "read-again"
WITHOUT_NAME = "Columns without a name"
FILES_ALONE = "the page reads files again, not tables of databases"
HINTS = {
    "dates": "How dates are written, a line each: %d.%m.%Y is 31.01.2024 (day, month, year); or column = %d/%m/%Y "
    "for one column.",
    "missing": "Texts that stand for missing, a line each, such as -99; or column = 999 for one column. Empty cells "
    "are always missing.",
    "text": "Columns that are text although they look like numbers, a name on each line: codes, postal codes.",
    "types": f"column = type, a line each; a type is one of {', '.join(TYPES)}.",
    "columns": "The columns to read, a name on each line; all of them if nothing is said.",
}
LABELS = {key: str(each.label) for key, each in settings_under("input.reading").items() if key in HINTS}


def draw_form(screen: Screen, *, columns: Sequence[str], begin: Callable[..., None]) -> None:
    """Draw the fields; `begin` opens a file with a reading."""
    reading, form = screen.policy.input.reading, screen.session.result("form") or {}
    about = (screen.policy.source, reading)
    if screen.choices.get("reading of") != about:  # what was typed was about another reading
        screen.choices |= {"reading of": about, "reading": {}}
    values = {**texts_of(reading), **screen.choices["reading"]}
    wrong = any(name.startswith("reading-") or name == BUTTON for name in screen.errors)
    with parts.details("How it is read", screen.choices, name="how-read", start=wrong):
        parts.say(
            "What the file shows was found when it was opened. Change what is wrong, and read it again: roles that you "
            "decided stay.",
            kind="hint",
        )
        with parts.tag("div", classes="fields"):
            _structure(screen, values, form)
            known = {"": "found by itself", ".": MARKS["."], ",": MARKS[","]}
            _choose(screen, "Decimal mark", "decimal", known, values)
            marks = {"": "none, or found by itself", **{mark: MARKS[mark] for mark in (",", ".", " ", "'")}}
            _choose(screen, "Mark between thousands", "thousands", marks, values)
            for key, label in LABELS.items():
                _field(screen, label, key, values, kind="area", hint=HINTS[key], rows="3")
        with parts.tag("div", classes="actions"):
            screen.button("Read it again", lambda: _again(screen, columns, begin), name=BUTTON)
        screen.problem(BUTTON)


def _structure(screen: Screen, values: dict[str, Any], form: dict[str, Any]) -> None:
    """Draw the fields that only some kinds of files have."""
    match form.get("kind"):
        case "text":
            found = MARKS.get(form["delimiter"], form["delimiter"])
            known = {"": f"found by itself: {found}", **{mark: MARKS[mark] for mark in DELIMITERS}}
            _choose(screen, "Mark between fields", "delimiter", known, values)
            names = {"": f"found by itself: {form['encoding']}", **{name: name for name in ENCODINGS}}
            _choose(screen, "Encoding of letters such as ä", "encoding", names, values)
            _tick(screen, "The first line holds the names of columns, even if it looks like data", "header", values)
            _field(screen, "Lines above the names", "skip_rows", values, hint="A title or comments: how many lines.")
            _field(screen, "Comment lines begin with", "comment", values, hint="Such lines are left out: #, for one.")
            _tick(screen, "Take blanks off around names and fields", "trim", values)
            _choose(screen, WITHOUT_NAME, "nameless", NAMELESS, values)
        case "workbook":
            sheets = {"": "the only one with cells", **{name: name for name in form["sheets"]}}
            _choose(screen, "Sheet", "sheet", sheets, values)
            _field(screen, "Rows above the names", "skip_rows", values, hint="A title: how many rows with cells.")
            _choose(screen, WITHOUT_NAME, "nameless", NAMELESS, values)
        case "lake":
            _field(screen, "Version", "version", values, hint="The newest one if it is empty.")
        case "statistics":
            _tick(screen, "Keep codes, in place of the texts that label them", "codes", values)


def _keep(screen: Screen, key: str) -> Callable[[Any], None]:
    return lambda value: screen.choices["reading"].__setitem__(key, value)


def _choose(screen: Screen, label: str, key: str, known: dict[str, str], values: dict[str, Any]) -> None:
    value, name = values[key], f"reading-{key}"
    options = known if value in known else {**known, value: value}
    parts.choice(label, options, value, _keep(screen, key), name=name, error=screen.errors.get(name))


def _field(screen: Screen, label: str, key: str, values: dict[str, Any], **more: Any) -> None:
    name = f"reading-{key}"
    parts.field(label, values[key], _keep(screen, key), name=name, error=screen.errors.get(name), **more)


def _tick(screen: Screen, label: str, key: str, values: dict[str, Any]) -> None:
    parts.tick(label, values[key], _keep(screen, key), name=f"reading-{key}")


def _again(screen: Screen, columns: Sequence[str], begin: Callable[..., None]) -> None:
    """Read the file as the fields say; a mistake is shown at its field."""
    policy = screen.policy
    before = policy.input.reading
    if not isinstance(policy.source, Path):
        raise TaskError(FILES_ALONE)
    try:
        after = reading_of({**texts_of(before), **screen.choices["reading"]}, columns)
    except ParameterError as error:
        screen.errors[f"reading-{error.details['field']}"] = TaskError(error.message, hint=error.hint)
        return
    different = find_changes(before, after)
    if not different:
        raise TaskError("nothing is different from how the table was read")
    anew = any(key in STRUCTURE for key in different)
    if anew:  # other columns may be there, of which nothing is known yet
        after = Reading(**{key: getattr(after, key) for key in STRUCTURE})
    at = f"reading-{different[0]}" if len(different) == 1 else BUTTON
    begin(screen.session, policy.source, after, at=at, exact=not anew)
