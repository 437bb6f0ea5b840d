"""The step `release`: what is given away, for whom, in which form; checked once more, then taken or written."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from indistinct.document.blocks import JsonValues
from indistinct.evaluation.verdict import Verdict
from indistinct.figures import number, plural
from indistinct.job.policy import Policy
from indistinct.release.certificate import counted_grid, verdict_grid
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.formats import is_text_file
from indistinct.settings import DAY, TRUTH, settings_under
from indistinct.web import parts
from indistinct.web.as_code import portable
from indistinct.web.blocks import draw_list
from indistinct.web.files import DOWNLOADS, FROM_FOLDER, allowed_path, key_of_downloads
from indistinct.web.following import (
    PREPARED,
    files_to_take,
    fresh_release,
    key_of_files,
    prepare_chore,
    writes_again,
)
from indistinct.web.frame import Screen
from indistinct.web.language import Own
from indistinct.web.sessions import Session
from indistinct.web.steps.found_release import as_sentence, count_units
from indistinct.web.steps.opening import FROM_LIST
from indistinct.web.steps.verdict_box import draw_verdict, release_of
from indistinct.web.tasks.published import ALL, PACKAGE
from indistinct.web.tasks.releasing import write_into
from indistinct.web.tasks.searching import release_name
from indistinct.web.worker import TaskError

CHOICES = "release-choices"
JOB_TO_GO_ON = "The job, to go on another day"
WAITS = "The download appears when every check has an answer."
ABOUT = {key: each for key, each in settings_under("about").items() if each.label is not None}
ASKED = ("purpose", "recipient")
ASKED_TITLE = "What is it for, and who gets it?"
WRITING = settings_under("output.writing")
FORMATS = {
    ".csv": "CSV: text, for everything",
    ".xlsx": "Excel (.xlsx)",
    ".tsv": "TSV: text between tabs",
    ".parquet": "Parquet: for programs, with types",
    ".arrow": "Arrow",
}
STATISTICS = {".sav": "SPSS (.sav)", ".dta": "Stata (.dta)", ".xpt": "SAS transport file (.xpt)"}
DELIMITERS = {"": "comma, or a tab in TSV", ";": "semicolon ;", "\t": "tab", "|": "bar |"}
ENCODINGS = {"": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
# Every file that can be taken: its name here, and what it is for.
FOR_OTHERS = {
    "second": ("Its second table", "sensitive values, by bucket; it goes with the first"),
    "certificate": ("The certificate", "what was verified; small counts are hidden. Keep it with the table"),
    "report": ("The report for readers", "what was done, what is promised, and what is not"),
}
FOR_STEWARD = {
    "policy": (
        "The policy",
        "makes the release again: put it next to the original table, and run indistinct anonymize policy.toml",
    ),
    "report-internal": ("The internal report", "names classes and counts of the original: do not pass it on"),
    "recoding": (
        "The recoding",
        "private: it holds original values. Keep it as safe as the table; it publishes next month's table alike",
    ),
    "recoding-arrays": ("The recoding's second file", "private: it belongs to the recoding"),
    "project": (
        JOB_TO_GO_ON,
        "policy and decisions; no rows, unless you ticked in the step open that they are saved",
    ),
    ALL: ("Everything in one .zip", "private: recoding and internal report are in it"),
}


async def draw(screen: Screen) -> None:
    """Draw the verdict, what can be taken now, and what is stated about it and how it is written."""
    made = release_of(screen)
    if made is None:
        return
    verdict = draw_verdict(screen, made)
    parts.say(sentence(made))
    for warning in made["warnings"]:
        if not told_by_verdict(warning):
            parts.notice(as_sentence(warning))  # no second verdict: open lines are above
    session = screen.session
    files = _offer(session)
    _ask_statement(screen)
    _take(screen, files, verdict)
    with parts.details(f"How the table is written: {form_in_words(screen.policy)}", screen.choices, name="form"):
        _form(screen, made)
    with parts.details("What else the reports say: who made it, and when to look again", screen.choices, name="stated"):
        _about(screen, [key for key in ABOUT if key not in ASKED])
    if files and session.is_fresh(PREPARED, key_of_files(session, made)):
        _write(screen)
        _checked(session.result(PREPARED), screen)


def _offer(session: Session) -> dict[str, Path]:
    """Return the files that may be taken now, and let them be downloaded."""
    files, rests_on = files_to_take(session), key_of_downloads(session)
    if not session.is_fresh(DOWNLOADS, rests_on) or session.result(DOWNLOADS) != files:
        session.keep(DOWNLOADS, files, rests_on=rests_on)
    return files


def told_by_verdict(warning: str) -> bool:
    """Return whether a warning of the library says what the verdict says already."""
    phrases = ("have a unique value", "have a unique combination", "are in several classes")
    return any(words in warning for words in phrases)


def sentence(made: Any) -> str:
    """Describe the release in a sentence."""
    certificate = made["certificate"]
    people = certificate["people"]
    whose = "" if people is None else f" of {plural(people['published'], 'person', 'people')}"
    unit = "people" if people else "rows"
    words = f"{plural(made['rows'], 'row')}{whose} in {count_units(made)}, the smallest of "
    words += f"{number(made['k'])} {unit}"
    dropped = made["suppressed_rows"]
    return f"{words}; {plural(dropped, 'row')} suppressed." if dropped else f"{words}; no row is suppressed."


# What is stated


def _ask_statement(screen: Screen) -> None:
    """Draw the fields for purpose and recipients, which readers of the report need first."""
    missing = [key for key in ASKED if not getattr(screen.policy.about, key)]
    with parts.tag("section", classes="card", id="asked-first", aria_label=ASKED_TITLE):
        parts.heading(ASKED_TITLE, level=3)
        with parts.tag("div", classes="fields"):
            _state_fields(screen, ASKED)
        if missing:
            parts.say(f"The report for readers still says: {' and '.join(missing)} not stated.", kind="hint")


def _about(screen: Screen, keys: Sequence[str]) -> None:
    parts.say("It is in the reports and in the policy, not in the table.", kind="hint")
    _state_fields(screen, keys)


def _state_fields(screen: Screen, keys: Sequence[str]) -> None:
    """Draw the fields of the statement on the release."""
    for key in keys:
        setting = ABOUT[key]
        screen.field(
            setting.label or key,
            getattr(screen.policy.about, key) or "",
            partial(_state, screen, key),
            name=f"about-{key}",
            part=partial(_statement_of, key),
            hint=setting.help,
            kind="date" if setting.kind is DAY else "text",
        )


def _statement_of(key: str, policy: Policy) -> Any:
    return getattr(policy.about, key)


def _state(screen: Screen, key: str, value: str) -> None:
    """Set a field of the statement on the release."""
    statement: dict[str, Any] = {key: " ".join(value.split()) or None}
    screen.change(replace(screen.policy, about=replace(screen.policy.about, **statement)))


# How it is written


def formats() -> dict[str, str]:
    """Return the formats that can be written here, by their suffix."""
    return {**FORMATS, **(STATISTICS if find_spec("pyreadstat") else {})}


def form_in_words(policy: Policy) -> str:
    """Return the format of the written table in a few words.

    >>> from indistinct.job.policy.value import Input, Output
    >>> from indistinct.schema import Schema
    >>> output = Output(Path("b.csv"), writing=Writing(delimiter=";", decimal=","))
    >>> form_in_words(Policy(Input(Path("a.csv")), Schema(), (), output=output))
    'CSV with semicolons and decimal commas'
    """
    name, writing = Path(release_name(policy)), policy.output.writing
    title = formats().get(name.suffix.lower(), name.suffix).partition(":")[0]
    between = {";": "semicolons", "\t": "tabs", "|": "bars"}.get(writing.delimiter or "", "")
    marks = [each for each in (between, "decimal commas" if writing.decimal == "," else "") if each]
    return f"{title} with {' and '.join(marks)}" if marks and is_text_file(name) else title


def _form(screen: Screen, made: Any) -> None:
    """Draw the format of the released table."""
    policy = screen.policy
    name, writing = release_name(policy), policy.output.writing
    suffix = Path(name).suffix.lower()
    known = formats()
    screen.choice(
        "Format",
        known if suffix in known else {suffix: suffix, **known},
        suffix,
        lambda value: screen.change(in_format(screen.policy, value)),
        name="format",
    )
    if is_text_file(Path(name)):
        _text_form(screen, writing)
    if writes_again(policy, made):
        parts.say(
            "The search wrote it otherwise, so that it is published anew under the same recoding: the same rows, "
            "shuffled afresh. Give one of both to a recipient; two of them tell no more than one.",
            kind="hint",
        )


def _text_form(screen: Screen, writing: Writing) -> None:
    """Draw the form for delimiter, decimal mark, encoding and switches of a text file."""

    def change(**changed: Any) -> None:
        output = screen.policy.output
        screen.change(replace(screen.policy, output=replace(output, writing=replace(output.writing, **changed))))

    def field(key: str, options: dict[str, str]) -> None:
        now = getattr(writing, key) or ""
        screen.choice(
            WRITING[key].label or key,
            options if now in options else {now: now, **options},
            now,
            lambda value: change(**{key: value or None}),
            name=f"writing-{key}",
        )

    field("delimiter", DELIMITERS)
    field("decimal", {"": "point .", ",": "comma ,"})
    field("encoding", ENCODINGS)
    for key, setting in WRITING.items():
        if setting.kind is TRUTH:
            screen.tick(
                setting.label or key,
                getattr(writing, key),
                lambda value, key=key: change(**{key: bool(value)}),
                name=f"writing-{key}",
                hint=setting.help,
            )


def in_format(policy: Policy, suffix: str) -> Policy:
    """Change the suffix of the release; settings of text files are kept only for text files."""
    if suffix not in {**FORMATS, **STATISTICS}:
        raise TaskError("this format cannot be written", hint=FROM_LIST)
    path = (policy.output.path or Path()).parent / Path(release_name(policy)).with_suffix(suffix).name
    was_text = is_text_file(Path(release_name(policy)))
    writing = (policy.output.writing if was_text else Writing(formulas=True)) if is_text_file(path) else Writing()
    return replace(policy, output=replace(policy.output, path=path, database=None, writing=writing))


# What is taken


def begin_prepare(session: Session) -> None:
    """Start preparing the files of the release, and record it in the ledger; this happens only on request."""
    made = fresh_release(session)
    if made is None:
        raise TaskError("there is no release yet", hint="search for one first")
    chore = prepare_chore(session, made)

    def then(found: Any) -> None:
        session.keep(PREPARED, found, rests_on=chore.rests_on)

    options = {**chore.options, **chore.later()}
    session.begin("Preparing", chore.task, *chore.arguments, then=then, options=options, at=("release", "prepare"))


def reservation(verdict: Verdict) -> str:
    """Return the caution on a button for a release that did not pass every check, else an empty text."""
    if verdict.tone == "bad":
        return ", although it fails"
    return "" if not verdict.unanswered else ", although not everything was checked"


def _take(screen: Screen, files: dict[str, Path], verdict: Verdict) -> None:
    """Draw one large button for the table, and everything else that can be taken."""
    session = screen.session
    if session.policy is not None and session.policy.output.ledger is not None and PACKAGE not in files:
        parts.say("A ledger remembers this release once its files are made.", kind="hint")
        with parts.tag("div", classes="actions"):
            screen.button(
                "Enter it into the ledger, and make the files",
                lambda: begin_prepare(session),
                main=True,
                name="prepare",
                disabled=screen.cannot_begin("prepare") or verdict.running,
            )
        screen.problem("prepare")
    with parts.tag("div", classes="actions take"):
        if "table" in files:
            reserved = reservation(verdict)
            text = f"Download {files['table'].name}{reserved}"
            draw_download(text, "table", classes="button large" if reserved else "main large")
        elif verdict.running:
            parts.say(WAITS, kind="hint").props["id"] = "waits"
        elif not session.refusals() and (session.policy is None or session.policy.output.ledger is None):
            parts.say("The table is being written in this form …", kind="hint")
        if PACKAGE in files:
            draw_download("With certificate and report, as .zip", PACKAGE, classes="button")
    if "table" in files:
        parts.say("It was verified as it was written. The policy and a saved job let you make it again.", kind="hint")
    with parts.tag("div", classes="sides"):
        draw_links("For the recipient", FOR_OTHERS, files)
        draw_links("For you alone", FOR_STEWARD, files, also="project")


def draw_download(text: str, kind: str, *, classes: str) -> None:
    """Draw a link to a file that may leave."""
    link = parts.link(text, f"/download/{kind}", download=True, classes=classes)
    link.props["id"] = f"take-{kind}"


def draw_links(title: str, kinds: dict[str, tuple[str, str]], files: dict[str, Path], *, also: str = "") -> None:
    """Draw the files of some kinds that exist, each with its purpose."""
    there = [kind for kind in kinds if kind in files or kind == also]
    if not there:
        return
    with parts.tag("section", classes="card"):
        parts.heading(title, level=3)
        with parts.tag("ul", classes="takes"):
            for kind in there:
                label, hint = kinds[kind]
                with parts.tag("li"):
                    draw_download(label, kind, classes="button")
                    with parts.tag("p", classes="hint"):
                        if kind in files:
                            parts.tag("span", Own(f"{files[kind].name}: "))
                        parts.tag("span", f"{hint}.")


def _checked(found: Any, screen: Screen) -> None:
    """Draw the counts of the final verification."""
    certificate = JsonValues("certificate", found["verdict"])
    for note in found["notes"]:
        parts.notice(as_sentence(note), kind="warning")
    with parts.details("What was promised, and what was counted on the file", screen.choices, name="counted"):
        parts.document_table(verdict_grid(certificate))
        parts.document_table(counted_grid(certificate))


# What is written


def _write(screen: Screen) -> None:
    session = screen.session
    start = "write-folder" in screen.errors or session.result("written") is not None
    with parts.details("Write the files to a folder of this machine", screen.choices, name="to-folder", start=start):
        _draw_folder(screen)


def _draw_folder(screen: Screen) -> None:
    """Draw the fields to write the release into a folder."""
    session = screen.session
    chosen = _choices(session)
    parts.field(
        "Folder",
        chosen["folder"],
        screen.on(lambda value: _choose(session, folder=value), at="write-folder"),
        name="write-folder",
        hint=f"Inside {session.settings.folder}. Files that are for you alone can be read by you alone.",
        error=screen.errors.get("write-folder"),
    )
    screen.tick(
        "Replace files that are there",
        chosen["overwrite"],
        lambda value: _choose(session, overwrite=bool(value)),
        name="write-overwrite",
    )
    with parts.tag("div", classes="actions"):
        screen.button("Write them there", lambda: _begin_write(session), name="write", at="write-folder")
    written = session.result("written")
    if written is not None and session.is_fresh("written", identity_of_files(session)):
        parts.notice(f"Written to {written['folder']}:")
        draw_list([Own(name) for name in written["names"]])


def identity_of_files(session: Session) -> Any:
    """Return a value that identifies the prepared files."""
    files = session.result(DOWNLOADS)
    return None if not files else files["table"]


def _choices(session: Session) -> dict[str, Any]:
    first: dict[str, Any] = {"folder": "", "overwrite": False}
    return first | (session.result(CHOICES) or {})


def _choose(session: Session, **changed: Any) -> None:
    session.keep(CHOICES, _choices(session) | changed)


def _begin_write(session: Session) -> None:
    """Start writing the release into a folder."""
    policy, files, chosen = session.policy, session.result(DOWNLOADS), _choices(session)
    if policy is None or not files:
        raise TaskError("nothing is prepared", hint="prepare the files first")
    if not chosen["folder"].strip():
        raise TaskError("name a folder", hint=FROM_FOLDER)
    folder = allowed_path(session, chosen["folder"])
    if folder.exists() and not folder.is_dir():
        raise TaskError("this is a file", hint="name a folder")
    names = [each.name for kind, each in files.items() if kind not in (ALL, PACKAGE)]
    there = [name for name in names if (folder / name).exists()]
    if there and not chosen["overwrite"]:
        raise TaskError(
            f"{plural(len(there), 'file')} would be replaced: {', '.join(there)}",
            hint="name another folder, or tick that files may be replaced",
        )
    rests_on = identity_of_files(session)

    def then(names: list[str]) -> None:
        session.keep("written", {"folder": str(folder), "names": names}, rests_on=rests_on)

    options = {
        "policy": portable(policy, session.folder, base=folder),
        "sources": policy.files,
        "overwrite": chosen["overwrite"],
    }
    at = ("release", "write-folder")
    session.begin("Writing", write_into, folder, files, then=then, options=options, at=at)
