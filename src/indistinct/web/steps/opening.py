"""The step `open`: a table by upload or by its path, a saved job or a policy; two questions, and a look at rows."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.figures import plural
from indistinct.inspection.arx_project import SUFFIX as ARX_SUFFIX
from indistinct.job.policy import Policy
from indistinct.tables import Reading
from indistinct.tables.value import EVERY
from indistinct.web import parts
from indistinct.web.deciding import LEAST, SAME, read_anew, shape_of, with_answers
from indistinct.web.files import allowed_path, uploaded_path
from indistinct.web.frame import SAVED_JOBS, Screen
from indistinct.web.language import Own, shown_value
from indistinct.web.project import UPLOADED, open_project, open_saved, take_told
from indistinct.web.saving import SUFFIX, new_key
from indistinct.web.sessions import OUTCOMES, SAVED, Session
from indistinct.web.standing import INSPECTED, STARTER
from indistinct.web.steps.reading_form import FILES_ALONE, draw_form
from indistinct.web.tables_following import take_tables
from indistinct.web.tables_job import TablesJob, known_rows
from indistinct.web.tables_standing import LOOK as TABLES_LOOK
from indistinct.web.tasks.columns import warm
from indistinct.web.tasks.looking import (
    Allowed,
    Look,
    MissingTable,
    Sheets,
    look_at_invented,
    look_at_project,
    preview,
)
from indistinct.web.tasks.several import TablesLook, look_at_files, look_at_tables, look_by_any_policy
from indistinct.web.worker import TaskError

NAME = "open"
ROWS = 12
TO_COLUMNS = "Go on to columns"
FROM_LIST = "choose one of the list"
NOTES, FORM, WAITING, SHEETS = "notes", "form", "waiting", "sheets"
"""Under these names a session keeps the notes on each column, how the file is written, a
policy whose table must still be uploaded, and a workbook whose sheet must still be chosen."""
ANSWERS, KEEPS_ROWS, NOT_TAKEN_OVER = "answers", "keeps-rows", "not-taken-over"
TABLES_REASONS, TABLES_LEFT_OUT, TABLES_NAME = "tables-reasons", "tables-left-out", "several tables"
"""Under these names a session keeps why several tables are linked so, and which were left out; and how they are called
without a folder of their own."""
# An archive may inflate to this multiple of the largest upload.
MAX_TIMES = 4
WHO = {
    "public": ("Everybody", "It is published, and people may look for others in it: no person is found with a risk "
               "above 9 %."),
    "licensed": ("Recipients under contract", "Researchers or partners, who promised not to look for people."),
    "internal": ("Colleagues", "It stays inside the organisation."),
}  # fmt: skip
SHAPES = {
    SAME: ("The same groups for everybody", "One level for a whole column, such as ages in tens. Easy to read and to "
           "analyze; it loses more, and up to 5 % of the rows are suppressed as outliers."),
    LEAST: ("The least loss", "Ranges that fit the table: they differ from group to group, and may overlap. Most "
            "detail stays; harder to analyze."),
}  # fmt: skip


async def draw(screen: Screen) -> None:
    """Draw the ways to open a table or, once one is open, the questions about it and its first rows."""
    session = screen.session
    if session.settings.demo and session.policy is None and session.work is None:
        _demo(session)
    _waiting(screen)
    _which_sheet(screen)
    if session.policy is None:
        _ways_in(screen)
    else:
        await _draw_opened(screen)
        draw_other_ways(screen)


def draw_other_ways(screen: Screen) -> None:
    """Draw how another table or job is opened, folded."""
    wrong = {"file", "path", "policy-file"} & set(screen.errors) or screen.session.result(WAITING) is not None
    with parts.details("Open another table, or a saved job", screen.choices, name="another", start=bool(wrong)):
        _ways_in(screen)


def _ways_in(screen: Screen) -> None:
    """Draw the ways to open a table: upload, demo, path, saved jobs."""
    session = screen.session
    hint = (
        "CSV, Parquet, Excel, SPSS, Stata or SAS. Several files together: parts of one table, or several tables about "
        "the same people. They stay on this machine."
    )
    _upload(screen, "Drop a table here, or choose its file", "file", "table", hint, several=True)
    if session.settings.demo or session.policy is None:
        first = session.settings.demo and session.policy is None and session.result(WAITING) is None
        with parts.tag("div", classes="actions"):
            parts.button("Try it with invented patients", screen.on(lambda: _demo(session)), name="demo", main=first)
    _saved_jobs(screen)
    with parts.details("Or name a file or folder on this machine", screen.choices, name="by-path", start=True):
        _path(screen)
    title, wrong = "Or go on with a policy, a saved job or an ARX project", "policy-file" in screen.errors
    with parts.details(title, screen.choices, name="with-policy", start=wrong):
        hint = (
            f"A policy.toml, or a file that ends in {SUFFIX} or {ARX_SUFFIX}: its table is opened, and all that it "
            "decides is kept."
        )
        _upload(screen, "Policy, saved job or ARX project", "policy-file", "policy", hint)


def _upload(screen: Screen, label: str, name: str, kind: str, hint: str, *, several: bool = False) -> None:
    """Draw one upload."""
    parts.upload(
        label,
        screen.on(lambda event: _take_upload(screen.session, event, kind, name), at=name),
        name=name,
        kind=kind,
        most=screen.session.settings.largest_upload,
        hint=hint,
        error=screen.errors.get(name),
        several=several,
    )


def _path(screen: Screen) -> None:
    """Draw the field for a path on the server."""
    open_it = screen.on(lambda: _open_path(screen), at="path")

    async def entered(value: str) -> None:
        screen.choices["path"] = value
        await open_it()

    box = parts.field(
        "Path",
        screen.choices.get("path", ""),
        lambda value: screen.choices.__setitem__("path", value),
        name="path",
        hint=f"A table, a folder with the files of one table, or a policy, inside {screen.session.settings.folder}",
        error=screen.errors.get("path"),
    )
    box.on("keydown.enter", lambda event: entered(event.args), js_handler="(e) => emit(e.target.value)")
    parts.button("Open this path", open_it, name="open-path")


def _waiting(screen: Screen) -> None:
    """Say which table a policy waits for."""
    waiting = screen.session.result(WAITING)
    if waiting is not None:
        parts.notice(
            f"{waiting['title']} reads {waiting['table']}, which is not there.",
            kind="warning",
            hint="Give that file below: it is opened as was decided.",
        )
        with parts.tag("div", classes="actions"):
            without = screen.on(lambda: screen.session.forget(WAITING))
            parts.button("Go on without it", without, name="no-policy")


def _which_sheet(screen: Screen) -> None:
    """Draw the choice of the sheet of a workbook."""
    session, several = screen.session, screen.session.result(SHEETS)
    if several is None:
        return
    path, at = several["path"], several["at"]
    parts.notice(f"{path.name} has {len(several['names'])} sheets. Which one is the table?", kind="warning outcome")
    with parts.tag("div", classes="actions", role="group", aria_label="Sheets"):
        for index, name in enumerate(several["names"]):
            take = screen.on(lambda name=name: begin_look(session, path, Reading(sheet=name), at=at), at=at)
            parts.button(Own(name), take, name=f"sheet-{index}", disabled=session.working)


# Saved jobs


def _saved_jobs(screen: Screen) -> None:
    """List saved jobs, for the browser that opened the server first."""
    session = screen.session
    entries = [each for each in session.settings.shelf.entries() if each.key != session.key] if session.first else []
    if not entries:
        return
    with parts.tag("section", classes="card", id="saved", aria_label="Saved jobs"):
        parts.heading(SAVED_JOBS, level=2)
        with parts.tag("ul", classes="takes"):
            for index, each in enumerate(entries):
                with parts.tag("li", classes="actions"):
                    go_on = screen.on(lambda key=each.key, name=each.name: _open_saved(session, key, name), at="saved")
                    parts.button(Own(each.name), go_on, name=f"saved-{index}", label=f"Go on with {each.name}")
                    rows = "with a copy of its table" if each.rows else "without its rows"
                    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.saved))
                    parts.tag("span", f"{when}, {rows}", classes="hint")
                    remove = screen.on(lambda key=each.key: session.settings.shelf.remove(key), at="saved")
                    parts.button("Remove", remove, name=f"unsave-{index}", label=f"Remove the saved job {each.name}")
        screen.problem("saved")


def _open_saved(session: Session, key: str, name: str) -> None:
    path, results = open_saved(session, key)
    begin_policy(session, path, at="saved", told=results, title=f"The saved job {name}", key=key)


# What opens


def _take_upload(session: Session, event: dict[str, Any], kind: str, at: str) -> None:
    """Open an uploaded file: a table, a policy, or the table that a policy waits for."""
    _forget_failure(session)
    path, waiting = uploaded_path(session, kind, event), session.result(WAITING)
    there = path.is_dir() and waiting is not None and (path / waiting["table"]).is_file()
    if waiting is not None and kind == "table" and (there or path.name == waiting["table"]):
        begin_policy(
            session, waiting["policy"], at=at, told=waiting["told"], title=waiting["title"], key=waiting["key"],
            files=path if there else None,
        )  # fmt: skip
    elif path.suffix.lower() == SUFFIX:
        policy, decided = open_project(session, path)
        begin_policy(session, policy, at=at, told=decided, title=path.name)
    else:
        _begin(session, path, at=at, policy=kind == "policy")


def _forget_failure(session: Session) -> None:
    """Forget how the last attempt to open something failed: this is another one."""
    if not session.working:
        session.work = None
        session.forget(SHEETS)


def _open_path(screen: Screen) -> None:
    """Open the typed path."""
    _forget_failure(screen.session)
    path = allowed_path(screen.session, screen.choices.get("path", ""), folders=True)
    folder = screen.session.settings.folder
    if not path.exists():
        raise TaskError(f"there is no file {path.name}", hint=f"check the path; it starts at {folder}")
    _begin(screen.session, path, at="path")


def _begin(session: Session, path: Path, *, at: str, policy: bool = False) -> None:
    """Begin to open a file as what its suffix says: a project of ARX, a policy or a table."""
    suffix = path.suffix.lower()
    if suffix == ARX_SUFFIX:
        _begin_project(session, path, at=at)
    elif policy or suffix == ".toml":
        begin_policy(session, path, at=at)
    else:
        begin_look(session, path, Reading(), at=at)


def _begin_project(session: Session, path: Path, *, at: str) -> None:
    """Begin to take over a project of ARX; what could not be taken over is shown with its table."""
    folder = session.folder / UPLOADED / "table" / new_key()
    folder.mkdir(mode=0o700, parents=True)

    async def then(found: tuple[Look, tuple[str, ...]]) -> None:
        look_at, lost = found
        await _take(session, look_at, decided=True)
        session.keep(NOT_TAKEN_OVER, lost)

    session.begin(
        f"Opening {path.name}",
        look_at_project,
        path,
        folder / f"{path.stem}.toml",
        then=then,
        options={"most": MAX_TIMES * session.settings.largest_upload},
        at=(NAME, at),
        polite=False,
        action=None,
    )


def _demo(session: Session) -> None:
    """Open the invented patients."""
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
    """Open a table in the background as the job; decisions about columns that are still there stay for the same file.

    An error is shown at the field `at`. With `exact` the file is read as `reading` says and found results stay;
    without, the layout that the file shows is added to `reading`.
    """

    async def then(found: Look | Sheets | TablesLook) -> None:
        if isinstance(found, TablesLook):
            _take_tables(session, found, name=path.name, key=None)
        elif isinstance(found, Sheets):
            session.keep(SHEETS, {"path": path, "names": found.names, "at": at})
        else:
            await _take(session, found, again=exact)

    session.begin(
        f"Opening {path.name}",
        look_at_files,
        path,
        reading,
        then=then,
        options={"exact": exact},
        at=(NAME, at),
        polite=False,
        action=None,
    )


def begin_policy(
    session: Session,
    path: Path,
    *,
    at: str,
    told: dict[str, Any] | None = None,
    title: str | None = None,
    key: str | None = None,
    files: Path | None = None,
) -> None:
    """Begin to open a policy with its table; if that is not there, the policy waits for it.

    `told` is what a saved job has in addition to its policy, and `key` the one under which it is saved. `files` is the
    folder of several tables that were uploaded.
    """
    allowed = Allowed(session.settings.folder.resolve(), (session.folder / UPLOADED / "table").resolve())

    async def then(found: Look | TablesLook | MissingTable) -> None:
        if isinstance(found, TablesLook):
            _take_tables(session, found, name=_name_of_policy(path, found), key=key)
        elif isinstance(found, MissingTable):
            waiting = {"policy": path, "table": found.table, "told": told, "title": title or path.name, "key": key}
            session.keep(WAITING, waiting)
        else:
            await _take(session, found, decided=True, key=key)
            take_told(session, told or {})

    session.begin(
        f"Opening {title or path.name}",
        look_by_any_policy,
        path,
        allowed,
        files or allowed.uploaded,
        then=then,
        at=(NAME, at),
        polite=False,
        action=None,
    )


def begin_tables(
    session: Session, files: dict[str, Path] | Path, *, at: str, title: str, people: str | None = None
) -> None:
    """Begin to open several tables about the same people again, with the people table that was chosen."""
    session.begin(
        f"Opening {title}",
        look_at_tables,
        files,
        then=lambda found: _take_tables(session, found, name=title, key=session.key),
        options={"people": people},
        at=(NAME, at),
        polite=False,
        action=None,
    )


def _name_of_policy(path: Path, look: TablesLook) -> str:
    """Return the title of a job on several tables: their folder, or a default for uploads."""
    folder = look.policy.base.resolve().name
    return folder if path.suffix == ".toml" and folder not in (UPLOADED, "table", "policy") else TABLES_NAME


def _take_tables(session: Session, look: TablesLook, *, name: str, key: str | None) -> None:
    """Start a job on several tables."""
    every = frozenset(known_rows(look.policy)) if look.decided else frozenset[str]()
    take_tables(session, TablesJob(look.policy, every), name=name, key=key or new_key())
    session.keep(TABLES_LOOK, dict(look.inspections))
    session.keep(TABLES_REASONS, look.reasons)
    session.keep(TABLES_LEFT_OUT, look.left_out)
    session.forget(WAITING, SHEETS, NOT_TAKEN_OVER, *SAVED)


async def _take(
    session: Session, found: Look, *, again: bool = False, decided: bool = False, key: str | None = None
) -> None:
    """Make what was found the job; it is shown when the process that answers quickly has the table as well.

    Another table has a key of its own, so that the saved job of the one before stays.
    """
    old, policy = session.policy, found.policy
    if is_another_job(session, policy) or decided:
        key = key or new_key()
    else:
        policy = read_anew(old, policy, looked=found.inspection) if old is not None else policy
    await session.ask(warm, policy)
    session.change(policy, name=Path(policy.input.path).name, key=key)
    if not again:
        session.forget(*OUTCOMES, "exploration", "downloads", ANSWERS)
    if key is not None:
        session.forget(*SAVED)
    session.keep(INSPECTED, found.inspection)
    session.keep(NOTES, found.notes)
    session.keep(STARTER, found.starter)
    session.keep(FORM, found.form)
    session.forget(WAITING, SHEETS, NOT_TAKEN_OVER)


def is_another_job(session: Session, policy: Policy) -> bool:
    """Return whether a policy is about another table than the one that is open, or several are open."""
    return session.tables is not None or is_another_table(session.policy, policy)


def is_another_table(old: Policy | None, new: Policy) -> bool:
    """Return whether a policy is about another table: another file, or one of the same name without its columns."""
    if old is None:
        return False
    return old.source != new.source or not set(old.schema.columns) & set(new.schema.columns)


# What is open


async def _draw_opened(screen: Screen) -> None:
    """Draw the opened table: its size, questions, and how it is read."""
    looked = screen.session.result(INSPECTED)
    width, rows = len(looked["columns"]), looked["rows"]
    parts.heading(f"{screen.session.name}: {plural(rows, 'row')}, {plural(width, 'column')}")
    _not_taken_over(screen)
    _found_in_file(screen, looked)
    _questions(screen)
    with parts.tag("div", classes="actions"):
        parts.link(TO_COLUMNS, "/columns", classes="main")
    await _rows(screen)
    if screen.session.settings.shelf.keeps:
        _keeping(screen)
    draw_form(screen, columns=[each["name"] for each in looked["columns"]], begin=begin_look)


def _questions(screen: Screen) -> None:
    """Draw the questions on recipients and groups; profile, hierarchies and algorithm follow from the answers."""
    given = screen.session.result(ANSWERS) or {}
    parts.heading("Two questions first")
    parts.say("What is asked of the release, the levels and the algorithm follow. You can change all of it later.",
              kind="hint")  # fmt: skip
    with parts.tag("div", classes="sides"):
        for key, legend, options in (
            ("who", "Who gets the table?", WHO),
            ("shape", "Which groups shall it have?", SHAPES),
        ):
            now = given.get(key) or (screen.policy.about.profile if key == "who" else None)
            parts.choices(legend, options, now, screen.on(_answering(screen, key), at=key), name=key)
            screen.problem(key)


def _answering(screen: Screen, key: str) -> Any:
    """Return the handler of an answer to one of the first questions."""

    def answer(value: str) -> None:
        session = screen.session
        if value not in (WHO if key == "who" else SHAPES):
            raise TaskError("this is no answer", hint=FROM_LIST)
        answers = {"shape": shape_of(screen.policy.algorithm), **(session.result(ANSWERS) or {}), key: value}
        looked, starter = session.result(INSPECTED), session.result(STARTER)
        screen.change(with_answers(screen.policy, answers, looked=looked, starter=starter))
        session.keep(ANSWERS, {**(session.result(ANSWERS) or {}), key: value})

    return answer


def _keeping(screen: Screen) -> None:
    """Draw that decisions are saved, and the choice whether rows are saved too."""
    session = screen.session
    screen.tick(
        "Save a copy of the table with the job",
        bool(session.result(KEEPS_ROWS)),
        lambda value: session.keep(KEEPS_ROWS, bool(value)),
        name=KEEPS_ROWS,
        hint="What you decide is saved on this machine, readable by you alone. Rows are saved only if you tick this.",
    )


def _not_taken_over(screen: Screen) -> None:
    """List what of an ARX project could not be taken over."""
    lost = screen.session.result(NOT_TAKEN_OVER)
    if lost:
        parts.say("Not taken over from the ARX project:")
        with parts.tag("ul", classes="found", id="not-taken-over"):
            for each in lost:
                parts.tag("li", each)


def _found_in_file(screen: Screen, looked: Any) -> None:
    """Draw how the file is read, with buttons to change it."""
    reading, form = screen.policy.input.reading, screen.session.result(FORM) or {}
    marks = [(EVERY, mark) for mark in reading.missing if mark]
    marks += [(name, mark) for name, given in reading.missing_in.items() for mark in given if mark]
    lines = [f"Left out: {each}." for each in looked["left_out"]]
    if form.get("kind") == "text" and (reading.decimal == "," or form["delimiter"] == ";"):
        lines.append("Read with semicolons and decimal commas, and written so again." if reading.decimal == ","
                    else "Read with semicolons, and written so again.")  # fmt: skip
    if not marks and not lines:
        return
    with parts.tag("ul", classes="found", id="found-in-file"):
        for each in lines:
            parts.tag("li", each)
        for index, (name, mark) in enumerate(marks):
            with parts.tag("li"):
                where = "" if name == EVERY else f" in {name}"
                parts.tag("span", f"{mark} is read as missing{where}. ")
                keep = screen.on(lambda name=name, mark=mark: _keep_value(screen, name, mark), at="how-read")
                parts.button("It is a value", keep, name=f"is-value-{index}", label=f"Read {mark}{where} as a value")


def _keep_value(screen: Screen, column: str, mark: str) -> None:
    """Read the table again with an NA string as an ordinary value."""
    source, reading = screen.policy.source, screen.policy.input.reading
    if not isinstance(source, Path):
        raise TaskError(FILES_ALONE)
    if column == EVERY:
        fewer = replace(reading, missing=tuple(each for each in reading.missing if each != mark))
    else:
        left = tuple(each for each in reading.missing_in[column] if each != mark)
        others = {name: given for name, given in reading.missing_in.items() if name != column}
        fewer = replace(reading, missing_in={**others, **({column: left} if left else {})})
    begin_look(screen.session, source, fewer, at="how-read", exact=True)


async def _rows(screen: Screen) -> None:
    """Draw some rows of the table, with buttons to others."""
    policy = screen.policy
    first = screen.choices.setdefault("first", 0)
    page = await screen.session.ask(preview, policy.source, policy.input.reading, first=first, rows=ROWS)
    if not page["rows"] and first:
        screen.choices["first"] = 0
        return await _rows(screen)
    last = first + len(page["rows"])
    written = [map(shown_value, row, page["kinds"]) for row in page["rows"]]
    numbered = [(f"{first + index:,}", *row) for index, row in enumerate(written, start=1)]
    headings = ["row", *map(Own, page["columns"])]
    parts.table(f"Rows {first + 1:,} to {last:,} of {page['of']:,}", headings, numbered).classes("cells")
    if page["width"] > len(page["columns"]):
        parts.say(f"The first {len(page['columns'])} columns are shown.", kind="hint")
    with parts.tag("div", classes="actions"):
        for text, name, to in (("Previous rows", "rows-back", max(0, first - ROWS)), ("Next rows", "rows-on", last)):
            off = to >= page["of"] if name == "rows-on" else not first
            screen.button(text, lambda to=to: screen.choices.update(first=to), name=name, disabled=off)
    return None
