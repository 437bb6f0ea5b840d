"""The step `release`: what is given away, for whom, in which form; checked once more, then taken or written."""

import secrets
import shutil
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from indistinct.figures import number, plural
from indistinct.job.policy import Policy
from indistinct.markup import Document, grid_html
from indistinct.release.certificate import counted_grid, verdict_grid
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.formats import is_text_file
from indistinct.web import parts
from indistinct.web.as_code import portable
from indistinct.web.blocks import draw_list
from indistinct.web.files import DOWNLOADS, key_of_downloads
from indistinct.web.frame import Screen
from indistinct.web.sessions import Session
from indistinct.web.standing import RELEASED, verdict_on
from indistinct.web.steps.found_release import as_sentence
from indistinct.web.steps.opening import allowed_path
from indistinct.web.steps.risk import draw_verdict, release_of
from indistinct.web.tasks.releasing import ALL, PACKAGE, prepare, write_into
from indistinct.web.tasks.searching import release_name
from indistinct.web.worker import TaskError

PREPARED, CHOICES = "prepared", "release-choices"
ABOUT = {
    "purpose": ("Purpose", "What the table is published for.", "text"),
    "recipient": ("Recipient", "For whom: everybody, a research group, a ministry.", "text"),
    "operator": ("Operator", "Who made the release.", "text"),
    "reviewer": ("Reviewer", "Who looked at it before it went out.", "text"),
    "reassess": ("Look at the risk again on", "Data that appear later may change it.", "date"),
}
FORMATS = {
    ".csv": "CSV: text, for everything",
    ".tsv": "TSV: text between tabs",
    ".parquet": "Parquet: for programs, with types",
    ".arrow": "Arrow",
}
STATISTICS = {".sav": "SPSS (.sav)", ".dta": "Stata (.dta)", ".xpt": "SAS transport file (.xpt)"}
DELIMITERS = {"": "comma, or a tab in TSV", ";": "semicolon ;", "\t": "tab", "|": "bar |"}
ENCODINGS = {"": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
# Every file that can be taken: its name here, and what it is for.
FOR_OTHERS = {
    "table": ("The table", "what is published"),
    "second": ("Its second table", "sensitive values, by bucket; it goes with the first"),
    "certificate": ("The certificate", "what was verified; small counts are hidden. Keep it beside the table"),
    "report": ("The report for readers", "what was done, what is promised, and what is not"),
    PACKAGE: ("All of these in one .zip", "for the recipient"),
}
FOR_STEWARD = {
    "policy": (
        "The policy",
        "makes the release again: put it beside the original table, and run indistinct anonymize policy.toml",
    ),
    "report-internal": ("The internal report", "names classes and counts of the original: do not pass it on"),
    "recoding": (
        "The recoding",
        "private: it holds original values. Keep it as safe as the table; it publishes next month's table alike",
    ),
    "recoding-arrays": ("The recoding's second file", "private: it belongs to the recoding"),
    ALL: ("Everything in one .zip", "private: recoding and internal report are in it"),
}


async def draw(screen: Screen) -> None:
    """Draw what is released, what is stated about it, its form, and what can be taken."""
    made = release_of(screen)
    if made is None:
        return
    parts.say(sentence(made))
    if made["form"] is None:
        parts.say("A class is a group of rows that look alike in all that others may know.", kind="hint")
    for warning in made["warnings"]:
        parts.notice(as_sentence(warning), kind="warning")
    with parts.tag("div", classes="sides"):
        with parts.tag("section", classes="card"):
            _about(screen)
        with parts.tag("section", classes="card"):
            _form(screen, made)
    session = screen.session
    ready = session.is_fresh(DOWNLOADS, key_of_downloads(session)) and not session.refusals()
    with parts.tag("div", classes="actions"):
        screen.button(
            "Prepare again" if ready else "Check and prepare the files",
            lambda: begin_prepare(session),
            main=not ready,
            name="prepare",
            disabled=screen.cannot_begin("prepare"),
        )
    screen.problem("prepare")
    if ready:
        _take(screen)
        _write(screen)
    elif session.result(DOWNLOADS) is not None and not session.refusals():
        parts.notice("Something was changed since the files were prepared: prepare them again.", kind="warning")
    else:
        parts.say("The file is verified once more as it was written, and reports are made. It can be stopped.")


def sentence(made: Any) -> str:
    """Return what is released, in a sentence."""
    groups = ("class", "classes") if made["form"] is None else ("bucket", "buckets")
    told = made["certificate"]
    people = told["people"]
    whose = "" if people is None else f" of {plural(people['published'], 'person', 'people')}"
    unit = "people" if people else "rows"
    said = f"{plural(made['rows'], 'row')}{whose} in {plural(made['classes'], *groups)}, the smallest of "
    said += f"{number(made['k'])} {unit}"
    dropped = made["suppressed_rows"]
    return f"{said}; {plural(dropped, 'row')} left out." if dropped else f"{said}; no row is left out."


# What is stated


def _about(screen: Screen) -> None:
    parts.heading("What people state", level=3)
    parts.say("It stands in the reports and in the policy, not in the table.", kind="hint")
    for key, (label, hint, kind) in ABOUT.items():
        screen.field(
            label,
            getattr(screen.policy.about, key) or "",
            partial(_state, screen, key),
            name=f"about-{key}",
            part=partial(_statement_of, key),
            hint=hint,
            kind=kind,
        )


def _statement_of(key: str, policy: Policy) -> Any:
    return getattr(policy.about, key)


def _state(screen: Screen, key: str, value: str) -> None:
    said: dict[str, Any] = {key: " ".join(value.split()) or None}
    screen.change(replace(screen.policy, about=replace(screen.policy.about, **said)))


# How it is written


def formats() -> dict[str, str]:
    """Return the formats that can be written here, by their suffix."""
    return {**FORMATS, **(STATISTICS if find_spec("pyreadstat") else {})}


def _form(screen: Screen, made: Any) -> None:
    policy = screen.policy
    name, writing = release_name(policy), policy.output.writing
    suffix = Path(name).suffix.lower()
    parts.heading("How the table is written", level=3)
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
    def change(**changed: Any) -> None:
        output = screen.policy.output
        screen.change(replace(screen.policy, output=replace(output, writing=replace(output.writing, **changed))))

    def field(label: str, key: str, options: dict[str, str]) -> None:
        now = getattr(writing, key) or ""
        screen.choice(
            label,
            options if now in options else {now: now, **options},
            now,
            lambda value: change(**{key: value or None}),
            name=f"writing-{key}",
        )

    field("Between fields", "delimiter", DELIMITERS)
    field("Decimal mark", "decimal", {"": "point .", ",": "comma ,"})
    field("Encoding", "encoding", ENCODINGS)
    ticks = {
        "bom": ("Begin with a byte order mark", "By it spreadsheets know UTF-8."),
        "spreadsheet": ("For a spreadsheet", "An apostrophe stands before texts that it would run or change."),
    }
    for key, (label, hint) in ticks.items():
        name = f"writing-{key}"
        screen.tick(
            label, getattr(writing, key), lambda value, key=key: change(**{key: bool(value)}), name=name, hint=hint
        )


def in_format(policy: Policy, suffix: str) -> Policy:
    """Return a policy whose release has another suffix; how text looks goes with text files alone."""
    if suffix not in {**FORMATS, **STATISTICS}:
        raise TaskError("this format cannot be written", hint="choose one of the list")
    path = (policy.output.path or Path()).parent / Path(release_name(policy)).with_suffix(suffix).name
    writing = policy.output.writing if is_text_file(path) else Writing()
    return replace(policy, output=replace(policy.output, path=path, database=None, writing=writing))


def writes_again(policy: Policy, made: Any) -> bool:
    """Return whether the table must be written otherwise than the search wrote it, or a ledger be told of it."""
    before, output = made["output"], policy.output
    same = made["files"]["table"].suffix.lower() == Path(release_name(policy)).suffix.lower()
    same = same and (before.writing, before.smallest_count) == (output.writing, output.smallest_count)
    return not same or output.ledger is not None


# What is taken


def begin_prepare(session: Session) -> None:
    """Begin to make everything that may leave; what was prepared before goes once the new files are there."""
    made, policy = session.result(RELEASED), session.policy
    if policy is None or made is None:
        raise TaskError("there is no release yet", hint="search for one first")
    rests_on = key_of_downloads(session)
    folder = session.folder / PREPARED / secrets.token_hex(4)

    def then(found: Any) -> None:
        session.keep(PREPARED, found, rests_on=rests_on)
        session.keep(DOWNLOADS, found["downloads"], rests_on=rests_on)

    def tidy() -> None:
        now = session.result(DOWNLOADS)
        kept = None if not now else now["table"].parent
        for each in (session.folder / PREPARED).glob("*"):
            if each != kept:
                shutil.rmtree(each, ignore_errors=True)

    options = {"shipped": portable(policy, session.folder), "again": writes_again(policy, made)}
    at = ("release", "prepare")
    session.begin("Preparing", prepare, policy, made, folder, then=then, options=options, lastly=tidy, at=at)


def _take(screen: Screen) -> None:
    found, files = screen.session.result(PREPARED), screen.session.result(DOWNLOADS)
    told = Document("certificate", found["verdict"])
    verdict = verdict_on(screen.session, screen.session.result(RELEASED))
    kind = "warning" if verdict.open else "good"  # nothing is good beside something that is open
    parts.notice("The file was verified again, as it was written: every promise holds.", kind=f"{kind} outcome")
    draw_verdict(screen.session, screen.session.result(RELEASED))
    parts.html(grid_html(verdict_grid(told)))
    with parts.tag("details", id="counted"):
        parts.tag("summary", "What was counted")
        parts.html(grid_html(counted_grid(told)))
    told_above = screen.session.result(RELEASED)["warnings"]
    for warning in found["verdict"]["warnings"]:
        if warning not in told_above:
            parts.notice(as_sentence(warning), kind="warning")
    for note in found["notes"]:
        parts.notice(as_sentence(note), kind="warning")
    with parts.tag("div", classes="sides"):
        _links("For the recipient", FOR_OTHERS, files)
        _links("For you", FOR_STEWARD, files)


def _links(title: str, kinds: dict[str, tuple[str, str]], files: dict[str, Path]) -> None:
    with parts.tag("section", classes="card"):
        parts.heading(title, level=3)
        with parts.tag("ul", classes="takes"):
            for kind, (label, hint) in kinds.items():
                if kind in files:
                    with parts.tag("li"):
                        link = parts.link(label, f"/download/{kind}", download=True)
                        link.props["id"] = f"take-{kind}"
                        parts.tag("p", f"{files[kind].name}: {hint}.", classes="hint")


# What is written


def _write(screen: Screen) -> None:
    session = screen.session
    chosen = _choices(session)
    parts.heading("Or write them to a folder of this machine")
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
        parts.notice(f"Written to {written['folder']}:", kind="good")
        draw_list(written["names"])


def identity_of_files(session: Session) -> Any:
    """Return what tells the prepared files from all others."""
    files = session.result(DOWNLOADS)
    return None if not files else files["table"]


def _choices(session: Session) -> dict[str, Any]:
    first: dict[str, Any] = {"folder": "", "overwrite": False}
    return first | (session.result(CHOICES) or {})


def _choose(session: Session, **changed: Any) -> None:
    session.keep(CHOICES, _choices(session) | changed)


def _begin_write(session: Session) -> None:
    policy, files, chosen = session.policy, session.result(DOWNLOADS), _choices(session)
    if policy is None or not files:
        raise TaskError("nothing is prepared", hint="prepare the files first")
    if not chosen["folder"].strip():
        raise TaskError("name a folder", hint="a path from the folder in which the server was started")
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
