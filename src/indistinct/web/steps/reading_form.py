"""How a table is read, in the step `open`: what was found or proposed, in fields that can be changed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from indistinct.errors import ParameterError
from indistinct.settings import BY_COLUMN, COLUMNS, TABLE, settings_under
from indistinct.tables import Reading
from indistinct.tables.dialect import DELIMITERS
from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.reading_fields import LISTS, STRUCTURE, find_changes, reading_of, texts_of
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
ENCODINGS = tuple(map(Own, ("utf-8", "utf-16", "cp1252", "latin-1", "cp932")))
BUTTON = "read-again"
FILES_ALONE = "the page reads files again, not tables of databases"
SETTINGS = settings_under("input.reading")
LINES = {
    COLUMNS: "A name on each line.",
    BY_COLUMN: "A line each; column = … for one column.",
    TABLE: "A line each: column = type.",
}
"""How a field of several lines is written, by what a setting takes."""


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
            _choose(screen, "decimal", known, values)
            marks = {"": "none, or found by itself", **{mark: MARKS[mark] for mark in (",", ".", " ", "'")}}
            _choose(screen, "thousands", marks, values)
            for key in LISTS:
                _field(screen, key, values, kind="area", rows="3")
        with parts.tag("div", classes="actions"):
            screen.button("Read it again", lambda: _again(screen, columns, begin), name=BUTTON)
        screen.problem(BUTTON)


def _structure(screen: Screen, values: dict[str, Any], form: dict[str, Any]) -> None:
    """Draw the fields that only some kinds of files have."""
    match form.get("kind"):
        case "text":
            separator = MARKS.get(form["delimiter"], form["delimiter"])
            known: dict[str, str] = {"": f"found by itself: {separator}", **{mark: MARKS[mark] for mark in DELIMITERS}}
            _choose(screen, "delimiter", known, values)
            names: dict[str, str] = {"": f"found by itself: {form['encoding']}", **{name: name for name in ENCODINGS}}
            _choose(screen, "encoding", names, values)
            _tick(screen, "header", values)
            _field(screen, "skip_rows", values)
            _field(screen, "comment", values)
            _tick(screen, "trim", values)
            _choose(screen, "nameless", NAMELESS, values)
        case "workbook":
            sheets: dict[str, str] = {"": "the only one with cells", **{name: Own(name) for name in form["sheets"]}}
            _choose(screen, "sheet", sheets, values)
            _field(screen, "skip_rows", values)
            _choose(screen, "nameless", NAMELESS, values)
        case "lake":
            _field(screen, "version", values)
        case "statistics":
            _tick(screen, "codes", values)


def _keep(screen: Screen, key: str) -> Callable[[Any], None]:
    return lambda value: screen.choices["reading"].__setitem__(key, value)


def _choose(screen: Screen, key: str, known: dict[str, str], values: dict[str, Any]) -> None:
    value, name = values[key], f"reading-{key}"
    options = known if value in known else {**known, value: Own(value)}
    label, error = SETTINGS[key].label or key, screen.errors.get(name)
    parts.choice(label, options, value, _keep(screen, key), name=name, error=error)


def _field(screen: Screen, key: str, values: dict[str, Any], **more: Any) -> None:
    name, setting = f"reading-{key}", SETTINGS[key]
    hint = f"{setting.help} {LINES.get(setting.kind, '')}".strip()
    label, error = setting.label or key, screen.errors.get(name)
    parts.field(label, values[key], _keep(screen, key), name=name, error=error, hint=hint, **more)


def _tick(screen: Screen, key: str, values: dict[str, Any]) -> None:
    setting = SETTINGS[key]
    parts.tick(setting.label or key, values[key], _keep(screen, key), name=f"reading-{key}", hint=setting.help)


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
    if anew:  # there may be other columns, which were not inspected yet
        after = Reading(**{key: getattr(after, key) for key in STRUCTURE})
    at = f"reading-{different[0]}" if len(different) == 1 else BUTTON
    begin(screen.session, policy.source, after, at=at, exact=not anew)
