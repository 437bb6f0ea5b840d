"""The step `open`: a table by upload or by its path, or with a policy; a look at its rows, and how it is read."""

from pathlib import Path
from typing import Any

from indistinct.figures import plural
from indistinct.tables import Reading
from indistinct.web import parts
from indistinct.web.deciding import read_anew
from indistinct.web.files import UPLOADED, uploaded_path
from indistinct.web.frame import Screen
from indistinct.web.sessions import Session
from indistinct.web.standing import INSPECTED
from indistinct.web.steps.reading_form import draw_form
from indistinct.web.tasks.columns import warm
from indistinct.web.tasks.looking import (
    Allowed,
    Look,
    Sheets,
    Wanted,
    look,
    look_at_invented,
    look_by_policy,
    preview,
)
from indistinct.web.worker import TaskError

NAME = "open"
ROWS = 12
NOTES, STARTER, FORM, WAITING, SHEETS = "notes", "starter", "form", "waiting", "sheets"
"""Under these names a session keeps what was told about each column, the first policy, how the file is written, a
policy whose table must still be uploaded, and a workbook of which a sheet must still be chosen."""


async def draw(screen: Screen) -> None:
    """Draw the ways to open a table and, once one is open, its first rows."""
    session = screen.session
    if session.settings.demo and session.policy is None and session.work is None:
        _demo(session)
    _waiting(screen)
    _which_sheet(screen)
    with parts.tag("div", classes="sides"):
        with parts.tag("section", classes="card"):
            parts.heading("Upload a file", level=2)
            _upload(
                screen, "File", "file", "table", "CSV, Parquet, Excel, SPSS, Stata or SAS. It stays on this machine."
            )
        with parts.tag("section", classes="card"):
            parts.heading("Or name a file on this machine", level=2)
            _path(screen)
    told, wrong = "Or go on with a policy, a file that says what was decided before", "policy-file" in screen.errors
    with parts.details(told, screen.choices, name="with-policy", start=wrong):
        hint = (
            "A policy.toml of this page or of the command line: its table is opened, and all that it decides is kept."
        )
        _upload(screen, "Policy", "policy-file", "policy", hint)
    if session.settings.demo or session.policy is None:
        first = session.settings.demo and session.policy is None and session.result(WAITING) is None
        with parts.tag("div", classes="actions"):
            parts.button("Try it with invented patients", screen.on(lambda: _demo(session)), name="demo", main=first)
    if session.policy is not None:
        await _rows(screen)


def _upload(screen: Screen, label: str, name: str, kind: str, hint: str) -> None:
    parts.upload(
        label,
        screen.on(lambda told: _take_upload(screen.session, told, kind, name), at=name),
        name=name,
        kind=kind,
        most=screen.session.settings.largest_upload,
        hint=hint,
        error=screen.errors.get(name),
    )


def _path(screen: Screen) -> None:
    open_it = screen.on(lambda: _open_path(screen), at="path")

    async def entered(value: str) -> None:
        screen.choices["path"] = value
        await open_it()

    box = parts.field(
        "Path",
        screen.choices.get("path", ""),
        lambda value: screen.choices.__setitem__("path", value),
        name="path",
        hint=f"A table or a policy inside {screen.session.settings.folder}",
        error=screen.errors.get("path"),
    )
    box.on("keydown.enter", lambda event: entered(event.args), js_handler="(e) => emit(e.target.value)")
    parts.button("Open this path", open_it, name="open-path")


def _waiting(screen: Screen) -> None:
    """Say which table a policy waits for."""
    waiting = screen.session.result(WAITING)
    if waiting is not None:
        parts.notice(
            f"{waiting['policy'].name} reads {waiting['table']}, which is not there.",
            kind="warning",
            hint="Upload that file below: it is opened as the policy says.",
        )
        with parts.tag("div", classes="actions"):
            without = screen.on(lambda: screen.session.forget(WAITING))
            parts.button("Go on without this policy", without, name="no-policy")


def _which_sheet(screen: Screen) -> None:
    """Ask which sheet of a workbook is the table."""
    session, several = screen.session, screen.session.result(SHEETS)
    if several is None:
        return
    path, at = several["path"], several["at"]
    parts.notice(f"{path.name} has {len(several['names'])} sheets. Which one is the table?", kind="warning outcome")
    with parts.tag("div", classes="actions", role="group", aria_label="Sheets"):
        for place, name in enumerate(several["names"]):
            take = screen.on(lambda name=name: begin_look(session, path, Reading(sheet=name), at=at), at=at)
            parts.button(name, take, name=f"sheet-{place}", disabled=session.working)


def _take_upload(session: Session, told: dict[str, Any], kind: str, at: str) -> None:
    _forget_failure(session)
    path, waiting = uploaded_path(session, kind, told), session.result(WAITING)
    if waiting is not None and kind == "table" and path.name == waiting["table"]:
        begin_policy(session, waiting["policy"], at=at)
    elif kind == "policy" or path.suffix.lower() == ".toml":
        begin_policy(session, path, at=at)
    else:
        begin_look(session, path, Reading(), at=at)


def _forget_failure(session: Session) -> None:
    """Forget how the last attempt to open something failed: this is another one."""
    if not session.working:
        session.work = None
        session.forget(SHEETS)


def _open_path(screen: Screen) -> None:
    _forget_failure(screen.session)
    path = allowed_path(screen.session, screen.choices.get("path", ""))
    folder = screen.session.settings.folder
    if not path.exists():
        raise TaskError(f"there is no file {path.name}", hint=f"check the path; it starts at {folder}")
    if path.suffix.lower() == ".toml":
        begin_policy(screen.session, path, at="path")
    else:
        begin_look(screen.session, path, Reading(), at="path")


def allowed_path(session: Session, given: str) -> Path:
    """Return where a path leads that a steward typed; it must be a file inside the folder of the server."""
    folder = session.settings.folder
    if not given.strip():
        raise TaskError("name a file", hint="a path from the folder in which the server was started")
    try:
        path = (folder / given.strip()).resolve()
    except (OSError, ValueError, RuntimeError):
        raise TaskError("this is no path of a file", hint="check how it is written") from None
    if not path.is_relative_to(folder):
        raise TaskError(
            "this path leads out of the folder that the server may read",
            hint=f"it may read {folder}; start it with --folder for another one",
        )
    if path.is_dir():
        raise TaskError("this is a folder", hint="name one file in it")
    return path


def _demo(session: Session) -> None:
    path = session.folder / UPLOADED / "table" / "patients.csv"
    session.begin(
        "Opening invented patients",
        look_at_invented,
        path,
        then=lambda found: _take(session, found),
        at=(NAME, ""),
        polite=False,
        action=None,
    )


def begin_look(session: Session, path: Path, reading: Reading, *, at: str = "file", exact: bool = False) -> None:
    """Begin to open a table; what was decided about columns that are still there is kept if it is the same file.

    An error is shown at a field. `exact` reads the file as declared; else what it shows is declared as well.
    """

    async def then(found: Look | Sheets) -> None:
        if isinstance(found, Sheets):
            session.keep(SHEETS, {"path": path, "names": found.names, "at": at})
        else:
            await _take(session, found, again=exact)

    session.begin(
        f"Opening {path.name}",
        look,
        path,
        reading,
        then=then,
        options={"exact": exact},
        at=(NAME, at),
        polite=False,
        action=None,
    )


def begin_policy(session: Session, path: Path, *, at: str) -> None:
    """Begin to open a policy with its table; if that is not there, the policy waits for it."""
    allowed = Allowed(session.settings.folder.resolve(), (session.folder / UPLOADED / "table").resolve())

    async def then(found: Look | Wanted) -> None:
        if isinstance(found, Wanted):
            session.keep(WAITING, {"policy": path, "table": found.table})
        else:
            await _take(session, found, decided=True)

    session.begin(
        f"Opening {path.name}", look_by_policy, path, allowed, then=then, at=(NAME, at), polite=False, action=None
    )


async def _take(session: Session, found: Look, *, again: bool = False, decided: bool = False) -> None:
    """Make what was found the job; it is shown when the process that answers quickly has the table as well."""
    old, policy = session.policy, found.policy
    if old is not None and old.source == policy.source and not decided:
        policy = read_anew(old, policy, looked=found.inspection)
    await session.ask(warm, policy)
    if not again:
        session.forget("release", "exploration", "risk", "attacks", "downloads")
    session.change(policy, name=Path(policy.input.path).name)
    session.keep(INSPECTED, found.inspection)
    session.keep(NOTES, found.notes)
    session.keep(STARTER, found.starter)
    session.keep(FORM, found.form)
    session.forget(WAITING, SHEETS)


async def _rows(screen: Screen) -> None:
    policy, looked = screen.policy, screen.session.result(INSPECTED)
    first = screen.choices.setdefault("first", 0)
    shown = await screen.session.ask(preview, policy.source, policy.input.reading, first=first, rows=ROWS)
    if not shown["rows"] and first:
        screen.choices["first"] = 0
        return await _rows(screen)
    last = first + len(shown["rows"])
    parts.heading(f"{screen.session.name}: {plural(shown['of'], 'row')}, {plural(shown['width'], 'column')}")
    with parts.tag("div", classes="actions"):
        parts.link("Go on to columns", "/columns", classes="main")
    numbered = [(f"{first + place:,}", *row) for place, row in enumerate(shown["rows"], start=1)]
    parts.table(f"Rows {first + 1:,} to {last:,} of {shown['of']:,}", ["row", *shown["columns"]], numbered).classes(
        "cells"
    )
    if shown["width"] > len(shown["columns"]):
        parts.say(f"The first {len(shown['columns'])} columns are shown.", kind="hint")
    with parts.tag("div", classes="actions"):
        for text, name, to in (("Previous rows", "rows-back", max(0, first - ROWS)), ("Next rows", "rows-on", last)):
            off = to >= shown["of"] if name == "rows-on" else not first
            screen.button(text, lambda to=to: screen.choices.update(first=to), name=name, disabled=off)
    for told in looked["left_out"]:
        parts.say(f"Left out: {told}.")
    draw_form(screen, columns=[each["name"] for each in looked["columns"]], begin=begin_look)
    return None
