"""A first look at a table: what `inspect` says of it, how it is written, and the policy to begin with."""

import codecs
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from indistinct.errors import IndistinctError, InputError, PolicyError
from indistinct.frequencies.singled_out import is_nearly_unique
from indistinct.inspection.inspect import inspect, inspect_as_read
from indistinct.inspection.roles import identifying_pattern
from indistinct.inspection.starter import starter_notes, starter_policy
from indistinct.inspection.taking_over import take_over
from indistinct.inspection.value import ColumnProfile, Inspection
from indistinct.job.policy import Policy, policy_from_toml, read_policy
from indistinct.job.policy.reading import LARGEST_POLICY, parse_toml
from indistinct.job.policy.value import move_files
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.formats import FORMATS, is_text_file
from indistinct.samples import generate_patients
from indistinct.schema import Role
from indistinct.tables import Reading, Table
from indistinct.tables.addresses import is_elsewhere, read_ordinary
from indistinct.tables.dialect import encodings, find_dialect
from indistinct.tables.domain import Kind
from indistinct.tables.lakes import kind_of_lake
from indistinct.tables.opening import delimited_reading
from indistinct.tables.several import DELIMITED, LABELLED, SHEETS, files_of, kind_of_file
from indistinct.tables.sheets import MAX_INFLATED_BYTES, open_workbook
from indistinct.web.tasks.tables import open_kept
from indistinct.web.tasks.treatments import suggest_coarser
from indistinct.web.worker import Desk

DEMO_ROWS, DEMO_SEED = 5_000, 2026
"""The invented patients are always the same; what is published of them is shuffled anew each time."""
LONGEST_CELL, MAX_SHOWN = 80, 40
"""Letters of a cell and columns that a preview shows."""
NEWER = "if a newer version of indistinct wrote it, run that one"
WHERE = "put it where the server may read, or write what it says into the policy"


@dataclass(frozen=True, slots=True)
class Look:
    """What was found at a path: the job, the notes on each column, and all figures as JSON values.

    `starter` is the first policy that would be suggested, `form` how the file is written.
    """

    policy: Policy
    notes: dict[str, str]
    inspection: dict[str, Any]
    starter: Policy
    form: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MissingTable:
    """A policy was read whose table is not there: the name of the file that must be uploaded."""

    table: str


@dataclass(frozen=True, slots=True)
class Sheets:
    """The names of a workbook's sheets with cells: one must be chosen."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Allowed:
    """The folders in which files of a policy may lie: that of the server, and that of the uploaded tables."""

    folder: Path
    uploaded: Path

    def has(self, path: Path) -> bool:
        """Return whether a path leads into one of these folders; an address or standard input does not."""
        resolved = path.resolve()
        return not is_elsewhere(path) and (
            resolved.is_relative_to(self.folder) or resolved.is_relative_to(self.uploaded)
        )

    def require(self, path: Path, what: str) -> None:
        """Raise `PolicyError` if a path leads somewhere else."""
        if not self.has(path):
            raise PolicyError(
                f"{what} leads out of the folder that the server may read",
                hint=f"it may read {self.folder}; {WHERE}",
            )


def look(desk: Desk, path: Path, reading: Reading, *, exact: bool = False) -> Look | Sheets:
    """Open a table and inspect it, or say which sheets there are to choose from.

    `exact` reads it as declared, else what it shows is declared as well.
    """
    desk.enter("reading")
    with without_folder(path):
        try:
            table = open_kept(desk, path, reading)
        except InputError as error:
            if error.details.get("undecided") == "sheet":
                return Sheets(tuple(error.values))
            layout = None if exact else layout_shown(error, reading)
            if layout is None:
                raise
            return look(desk, path, layout)
        desk.report(0.3)
        desk.enter("looking at columns", f"{table.rows:,} rows")
        inspection = inspect_as_read(table) if exact else inspect(table)
        desk.report(0.9)
        policy = starter_policy(inspection, path, path.parent, reading=inspection.reading)
        policy = replace(policy, output=replace(policy.output, writing=writing_like(path, inspection.reading)))
        read = table if inspection.reading == table.reading else open_kept(desk, path, inspection.reading)
        return _look_of(inspection, policy, policy, path, read)


def layout_shown(error: InputError, reading: Reading) -> Reading | None:
    """Return a reading with the layout that an error found in a file, to be shown; None for other errors."""
    if (lines := error.details.get("skip_rows")) is not None and lines > reading.skip_rows:
        return replace(reading, skip_rows=lines)
    if error.details.get("nameless") and reading.nameless is None:
        return replace(reading, nameless="name")
    return None


def look_by_policy(desk: Desk, path: Path, allowed: Allowed) -> Look | MissingTable:
    """Read a policy and inspect its table as it says; or say which table must be uploaded first."""
    desk.enter("reading the policy")
    with without_folder(path):
        policy = _policy_at(path, allowed)
        table_path = policy.source
        if not isinstance(table_path, Path):
            raise PolicyError(
                "the policy reads a table of a database, and the web app reads files",
                hint="run it on the command line with `indistinct anonymize`, or save the table in a file",
            )
        if not allowed.has(table_path) or not (table_path.is_file() or kind_of_lake(table_path)):
            return MissingTable(table_path.name)
    with without_folder(table_path):
        desk.enter("reading")
        table = open_kept(desk, table_path, policy.input.reading)
        policy.schema.check(table.columns)
        desk.report(0.3)
        desk.enter("looking at columns", f"{table.rows:,} rows")
        inspection = inspect_as_read(table)
        starter = starter_policy(inspection, table_path, policy.base, reading=inspection.reading)
        return _look_of(inspection, policy, starter, table_path, table)


def look_at_project(desk: Desk, path: Path, policy: Path, *, most: int) -> tuple[Look, tuple[str, ...]]:
    """Take over an ARX project into the folder of a policy, and inspect its table; return what could not be taken over.

    `most` bounds the bytes to which the archive may inflate.
    """
    desk.enter("reading the project")
    with without_folder(path), without_folder(policy):
        taken = take_over(path, policy, overwrite=True, most=min(most, MAX_INFLATED_BYTES))
        desk.report(0.5)
        made = read_policy(policy)
        job = move_files(made, made.locate, base=policy.parent, move_hierarchy=lambda _: None)
        table = open_kept(desk, taken.data, job.input.reading)
        inspection = inspect_as_read(table)
        starter = starter_policy(inspection, taken.data, job.base, reading=inspection.reading)
        return _look_of(inspection, job, starter, taken.data, table), taken.lost


def inspection_with_warnings(found: Inspection) -> dict[str, Any]:
    """Return an inspection as JSON values, and for each column what of its values points at people."""
    inspection = found.to_json(values=True)
    for column, profile in zip(inspection["columns"], found.columns, strict=True):
        column["points_at"] = points_at_people(profile)
    return inspection


def _look_of(profile: Inspection, policy: Policy, starter: Policy, path: Path, table: Table) -> Look:
    """Collect what the app shows of an opened table."""
    inspection = inspection_with_warnings(profile)
    for column in inspection["columns"]:
        if is_nearly_unique(round(column["unique_share"] * profile.rows), profile.rows):
            column["coarser"] = suggest_coarser(table.data[column["name"]])
            column["whole"] = pa.types.is_integer(table.data[column["name"]].type)
    return Look(policy, starter_notes(profile), inspection, starter, form_of(path, profile.reading))


def points_at_people(profile: ColumnProfile) -> dict[str, str]:
    """Return the identifying pattern of a column's values, as a quasi-identifier and in other roles."""
    roles = {"quasi": Role.QUASI, "other": None}
    patterns = {key: identifying_pattern(profile.name, profile.patterns, role) for key, role in roles.items()}
    return {key: "" if each is None else each.meaning for key, each in patterns.items()}


def _policy_at(path: Path, allowed: Allowed) -> Policy:
    """Return the policy in a file; that of an upload is read as if it lay in the folder of the server."""
    try:
        text = read_ordinary(path, most=LARGEST_POLICY).decode("utf-8-sig")
    except OSError as error:
        raise PolicyError(f"cannot read the policy {path}: {error.strerror or 'unreadable'}") from None
    except UnicodeDecodeError:
        raise PolicyError(f"the policy {path} is not UTF-8 text", hint="save the file as UTF-8") from None
    uploaded = path.resolve().is_relative_to(allowed.uploaded.parent)
    base = allowed.folder if uploaded else path.parent
    try:
        _check_paths(parse_toml(text), base, allowed)
        policy = policy_from_toml(text, base=base)
    except PolicyError as error:
        newer = "unknown" in error.details
        hint = f"{error.hint}; {NEWER}" if newer and error.hint else NEWER if newer else error.hint
        raise PolicyError(f"{path.name}, {error.message}", hint=hint, values=error.values) from None
    if policy.input.database is not None:
        return policy
    lying, named_one = allowed.uploaded / policy.input.path.name, policy.locate(policy.input.path)
    there = allowed.has(named_one) and (named_one.is_file() or bool(kind_of_lake(named_one))) and not uploaded
    return _with_table(policy, lying) if lying.is_file() and not there else policy


def _check_paths(document: dict[str, Any], base: Path, allowed: Allowed) -> None:
    """Raise `PolicyError` for a file that may not be read, before any is."""
    columns = document.get("columns")
    for name, column in (columns if isinstance(columns, dict) else {}).items():
        for key, inside in (("hierarchy", "file"), ("pseudonym", "key")):
            given = column.get(key) if isinstance(column, dict) else None
            if isinstance(given, dict) and isinstance(given.get(inside), str):
                allowed.require(base / given[inside], f"[columns] {name}: the {key} file")
    for section, key in (("input", "population"), ("output", "ledger"), ("output", "report")):
        fields = document.get(section)
        given = fields.get(key) if isinstance(fields, dict) else None
        if isinstance(given, str):
            allowed.require(base / given, f"[{section}] {key}")


def _with_table(policy: Policy, table: Path) -> Policy:
    """Return a policy that reads an uploaded table; all other files stay where they are."""
    moved = move_files(
        policy, lambda path: policy.locate(path).resolve(), base=table.parent, move_hierarchy=lambda _path: None
    )
    return replace(moved, input=moved.input.of_other_table(Path(table.name)))


@contextmanager
def without_folder(path: Path) -> Iterator[None]:
    """Remove the folder of a file from error messages: it may be the private one of a session."""
    try:
        yield
    except IndistinctError as error:
        error.message = error.message.replace(str(path), path.name)
        error.hint = error.hint and error.hint.replace(str(path), path.name)
        raise


def form_of(path: Path, reading: Reading) -> dict[str, Any]:
    """Return how a file, or the first of several, is written: its kind, encoding and delimiter."""
    if kind_of_lake(path) is not None:
        return {"kind": "lake"}
    path = (files_of(path) or (path,))[0]
    kind = kind_of_file(path)
    if kind in DELIMITED:
        how = delimited_reading(path, reading)
        for candidate in encodings(path, reading.encoding):
            with suppress(UnicodeError):
                dialect = find_dialect(path, candidate, how)
                return {"kind": "text", "delimiter": dialect.delimiter, "encoding": dialect.encoding}
    if kind in SHEETS:
        with open_workbook(path) as book:
            return {"kind": "workbook", "sheets": list(book.sheet_names)}
    return {"kind": "statistics" if kind in LABELLED else "typed"}


def writing_like(path: Path, reading: Reading) -> Writing:
    """Return options to write a text file like another one, with formulas guarded from spreadsheets."""
    form = form_of(path, reading)
    if form["kind"] != "text":
        return Writing(formulas=writes_text(path))
    encoding = codecs.lookup(form["encoding"]).name
    delimiter = form["delimiter"] if form["delimiter"] in (";", "|", "\t") else None
    return Writing(
        delimiter=None if kind_of_file(path) == ".tsv" else delimiter,
        decimal="," if reading.decimal == "," else None,
        encoding=None if encoding in ("ascii", "utf-8", "utf-8-sig") else encoding,
        bom=encoding == "utf-8-sig",
        formulas=True,
    )


def writes_text(path: Path) -> bool:
    """Return whether the release of a file is text by default; a format that cannot be written becomes text."""
    return kind_of_file(path) not in FORMATS or is_text_file(path)


def look_at_invented(desk: Desk, path: Path) -> Look | Sheets:
    """Write a table of invented patients to a path, and look at it."""
    desk.enter("inventing patients")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pyarrow.csv.write_csv(generate_patients(DEMO_ROWS, seed=DEMO_SEED), path)
    return look(desk, path, Reading())


def preview(desk: Desk, path: Any, reading: Reading, *, first: int = 0, rows: int = 20) -> dict[str, Any]:
    """Return some rows of a table as texts, for users who may see them."""
    data = open_kept(desk, path, reading).data
    names = data.column_names[:MAX_SHOWN]
    part = data.select(names).slice(first, rows)
    columns = [[_shorten_cell(value) for value in column.to_pylist()] for column in part.columns]
    return {
        "columns": names,
        "kinds": [_kind_of(each) for each in part.schema.types],
        "rows": [list(row) for row in zip(*columns, strict=True)],
        "of": data.num_rows,
        "width": data.num_columns,
    }


def _kind_of(type_: pa.DataType) -> Kind:
    """Return how values of a type are written: with a decimal mark, as days, or otherwise."""
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return Kind.NUMBER
    return Kind.DATE if pa.types.is_date(type_) or pa.types.is_timestamp(type_) else Kind.TEXT


def _shorten_cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"
