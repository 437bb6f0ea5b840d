"""The step `open`: a table by upload or by its path, a look at its first rows, and how it is read."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.figures import plural
from indistinct.tables import Reading
from indistinct.web import parts
from indistinct.web.files import UPLOADED
from indistinct.web.frame import Screen, Step
from indistinct.web.sessions import Session
from indistinct.web.standing import INSPECTED
from indistinct.web.tasks.looking import Look, invent_patients, look, preview
from indistinct.web.worker import TaskError

ROWS = 12
NOTES = "notes"
"""Under this name a session keeps what a first look told about each column."""


async def draw(screen: Screen) -> None:
    """Draw the ways to open a table and, once one is open, its first rows."""
    session = screen.session
    with parts.tag("div", classes="sides"):
        with parts.tag("section", classes="card"):
            parts.heading("Upload a file", level=3)
            _upload(screen)
        with parts.tag("section", classes="card"):
            parts.heading("Or name a file on this machine", level=3)
            parts.field(
                "Path",
                screen.choices.get("path", ""),
                lambda value: screen.choices.__setitem__("path", value),
                name="path",
                hint=f"Inside {session.settings.folder}",
                error=screen.errors.get("path"),
            )
            parts.button("Open this path", screen.on(lambda: _open_path(screen), at="path"), name="open-path")
    if session.settings.demo or session.policy is None:
        with parts.tag("div", classes="actions"):
            parts.button("Try it with invented patients", screen.on(lambda: _demo(session)), name="demo")
    if session.policy is not None:
        await _first_rows(screen)


def _upload(screen: Screen) -> None:
    most = screen.session.settings.largest_upload
    refused = f"the file is larger than {most / 10**9:,g} GB, the most that may be uploaded: open it by its path"
    parts.tag("label", "File", for_="file")
    box = parts.tag(
        "input",
        id="file",
        type="file",
        data_upload="table",
        data_most=str(most),
        data_refused=refused,
        aria_describedby="file-hint",
    )
    box.on(
        "uploaded",
        screen.on(lambda event: _uploaded(screen.session, event.args), at="file"),
        js_handler="(e) => emit(e.detail)",
    )
    parts.tag("progress", id="file-progress", hidden=True, aria_label="Upload")
    parts.tag(
        "p", "CSV, Parquet, Excel, SPSS, Stata or SAS. It goes to this machine only.", classes="hint", id="file-hint"
    )
    if "file" in screen.errors:
        parts.problem(screen.errors["file"], at="file")


def _uploaded(session: Session, told: dict[str, Any]) -> None:
    if "name" not in told:
        raise TaskError(told.get("message") or "the upload was refused")
    begin_look(session, session.folder / UPLOADED / "table" / told["name"], Reading())


def _open_path(screen: Screen) -> None:
    session = screen.session
    begin_look(session, allowed_path(session, screen.choices.get("path", "")), Reading())


def allowed_path(session: Session, given: str) -> Path:
    """Return where a path leads that a steward typed; it must stay inside the folder of the server."""
    folder = session.settings.folder
    if not given.strip():
        raise TaskError("name a file", hint="a path from the folder in which the server was started")
    path = (folder / given.strip().replace("\0", "")).resolve()
    if not path.is_relative_to(folder):
        raise TaskError(
            "this path leads out of the folder that the server may read",
            hint=f"it may read {folder}; start it with --folder for another one",
        )
    return path


def _demo(session: Session) -> None:
    path = session.folder / UPLOADED / "table" / "patients.csv"

    def then(made: Path) -> None:
        session.work = None
        begin_look(session, made, Reading())

    session.begin("Inventing patients", invent_patients, path, then=then)


def begin_look(session: Session, path: Path, reading: Reading) -> None:
    """Begin to open a table; what was decided about columns that are still there is kept if it is the same file."""

    def then(found: Look) -> None:
        session.find(INSPECTED, found.inspection)
        session.find(NOTES, found.notes)
        old = session.policy
        same = old is not None and old.source == path and set(old.schema.columns) == set(found.policy.schema.columns)
        if old is None or not same:
            session.forget("release", "exploration", "risk", "attacks", "downloads")
            session.change(found.policy, name=path.name)
        else:
            session.change(replace(old, input=found.policy.input), name=path.name)

    session.begin(f"Opening {path.name}", look, path, reading, then=then)


async def _first_rows(screen: Screen) -> None:
    policy, looked = screen.policy, screen.session.found(INSPECTED)
    shown = await screen.session.ask(preview, policy.source, policy.input.reading, rows=ROWS)
    columns = len(shown["columns"])
    parts.heading(f"{screen.session.name}: {plural(shown['of'], 'row')}, {plural(columns, 'column')}")
    parts.table("First rows", ["", *shown["columns"]], [(str(i + 1), *row) for i, row in enumerate(shown["rows"])])
    for told in looked["left_out"]:
        parts.say(f"Left out: {told}.")
    with parts.tag("div", classes="actions"):
        parts.link("Go on to columns", "/columns", classes="main")


STEP = Step(
    "open",
    "Open a table",
    "Choose the table that shall be published; it stays on this machine.",
    draw,
)
