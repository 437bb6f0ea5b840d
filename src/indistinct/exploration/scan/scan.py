"""Scan a published file, whichever algorithm or tool made it, for what it reveals apart from its cells."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from indistinct.document.blocks import Document, Section, listing
from indistinct.document.result import Result
from indistinct.engines.base import transformed_source
from indistinct.errors import InputError
from indistinct.exploration.scan import (
    archives,
    arrow,
    columns,
    order,
    origin,
    parquet,
    pickles,
    statistics,
    text,
    values,
    workbook_entries,
    workbooks,
)
from indistinct.exploration.scan.base import FilePart, Finding, NotChecked, Opened, ScanCheck, ScannedFile, Severity
from indistinct.exploration.scan.compared import in_plain_types
from indistinct.exploration.scan.suggested import Suggestion, suggest_roles, with_suggested_roles
from indistinct.figures import plural
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.memory import Allowance, bytes_of, needs_memory
from indistinct.recoding.outputs import SENSITIVE
from indistinct.recoding.transformations import Transformation, check_transformations
from indistinct.release.certificate import table_path
from indistinct.release.published import describe_release, is_release
from indistinct.schema import Schema, require_schema
from indistinct.tables.addresses import fetch_files, no_file, read_ordinary
from indistinct.tables.opening import open_table
from indistinct.tables.several import (
    ARROW,
    DELIMITED,
    LABELLED,
    PARQUET,
    HivePartitions,
    constant_column,
    files_of,
    find_partitions,
    folder_texts,
    kind_of_file,
)
from indistinct.tables.value import Reading, Table

_FAMILIES = (
    *(columns, origin, order, values, arrow, parquet, text, archives, workbooks, workbook_entries),
    *(statistics, pickles),
)
CHECKS: Mapping[str, ScanCheck] = MappingProxyType(
    {check.name: check for family in _FAMILIES for check in family.CHECKS}
)
"""Every check of a published file by name; the common tests run on each of them."""

MAX_FILE_BYTES = 2 << 30
PICKLE = (".pkl", ".pickle", ".p")
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".ods")
OTHERS = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "RAR",
}
BESIDE = "a scan only covers the files of the table: look at these, and remove them unless they may be published"
WANTED = {
    "table": "the cells of the file are not read",
    "original": "the original is not given",
    "schema": "the roles of the columns are not given",
    "roles": "the roles of the columns are neither given nor suggested",
}


class ScanVerdict(StrEnum):
    """The verdict of a scan: the file leaks, it was not fully scanned, or no leak was found."""

    LEAK = "leak"
    NOT_SCANNED = "not scanned"
    NO_LEAK = "no leak found"


@dataclass(frozen=True, slots=True, repr=False)
class Scan(Result):
    """The findings of a scan, the worst first, which checks were made, and what was not checked.

    `unread` are cells of the file that were not read, `unseen` are other parts of it; `not_checked` has both, and the
    checks that lack an input.
    """

    in_json: ClassVar[str] = "kind rows cells_read verdict clean findings checked not_checked unread"
    kind: str
    rows: int | None
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    not_checked: tuple[NotChecked, ...]
    unread: tuple[NotChecked, ...] = ()
    unseen: tuple[NotChecked, ...] = ()

    def document(self) -> Document:
        """Return the verdict, each finding, and what was not checked."""
        return scan_document(self)

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """Return the findings that are leaks."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.LEAK)

    @property
    def suspicions(self) -> tuple[Finding, ...]:
        """Return the findings that may identify a person: the steward must look at them."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.SUSPICION)

    @property
    def verdict(self) -> ScanVerdict:
        """Return the verdict; a file with cells that were not read is never called free of leaks."""
        if self.leaks:
            return ScanVerdict.LEAK
        return ScanVerdict.NOT_SCANNED if self.unread else ScanVerdict.NO_LEAK

    @property
    def clean(self) -> bool:
        """Whether all cells were read and no leak was found; suspicions and notes may be there."""
        return self.verdict is ScanVerdict.NO_LEAK

    @property
    def cells_read(self) -> bool:
        """Whether all cells were checked; those of a pickle are not, because that would run it."""
        return not self.unread


def scan_document(scanned: Scan, *, name: str = "") -> Document:
    """Return the verdict, each finding with its remedy, and what was not checked; `name` is the file's."""
    what = "frame" if scanned.kind == "frame" else f"{scanned.kind} file"
    rows = "" if scanned.rows is None else f", {plural(scanned.rows, 'row')}"
    start = f"{name}: {what}" if name else f"Scan of a {what}"
    title = f"{start}{rows}; {plural(len(scanned.checked), 'check')}; {_verdict_in_words(scanned)}"
    times = Counter((each.severity, each.check, each.sentence, each.remedy) for each in scanned.findings)
    findings = [
        f"{severity}: {_with_full_stop(sentence)} To do: {_with_full_stop(remedy)} ({check}"
        f"{'' if count == 1 else f'; {count:,} times'})"
        for (severity, check, sentence, remedy), count in times.items()
    ]
    sections = [Section("findings", "", listing(findings))]
    reasons = dict.fromkeys(each.reason for each in scanned.not_checked)
    missed = [
        f"{'; '.join(each.what for each in scanned.not_checked if each.reason == reason)}: {reason}"
        for reason in reasons
    ]
    if missed:
        sections.append(Section("not-checked", "Not checked", listing(missed)))
    return Document(title, tuple(sections))


def _with_full_stop(text: str) -> str:
    """Return a text that ends with punctuation."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _verdict_in_words(scanned: Scan) -> str:
    """Return the verdict in words; parts that were not read are named."""
    if scanned.leaks:
        leaks = plural(len(scanned.leaks), "LEAK")
        return leaks.upper() if scanned.cells_read else f"{leaks.upper()}; NOT ALL CELLS WERE READ"
    if scanned.unread:
        parts = "; ".join(each.what for each in scanned.unread)
        return f"{'NOT SCANNED' if scanned.rows is None else 'NOT ALL SCANNED'}; not read: {parts}"
    suspicions = f", {plural(len(scanned.suspicions), 'suspicion')}" if scanned.suspicions else ""
    return f"no leak found{' in what was read' if scanned.unseen else ''}{suspicions}"


@with_checked_arguments
@needs_memory("scanning")
def scan(
    published: Any,
    *,
    original: Any = None,
    schema: Schema | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    transformations: Mapping[str, Transformation] | None = None,
    reading: Reading | None = None,
    memory: str | int | None = None,
) -> Scan:
    """Scan a published file for leaks outside its cells, such as metadata, row order, hidden sheets and an index.

    A pickle is not run. A file whose cells were not all read is not called clean.

    Parameters
    ----------
    published
        A path: delimited text, Parquet, Arrow or Feather, an Excel workbook, an open document, a file of SPSS, Stata or
        SAS, a zip archive or a pickle; a folder or a pattern of such files; a frame; a `Release` or a `Published`.
    original
        Table before publishing, unmodified; with it more checks are possible.
    schema
        Roles of the columns of the original.
    hierarchies
        Hierarchies that the labels come from, by column name.
    transformations
        Masking of columns in the release, which the comparison with the original applies.
    reading
        How a text file is read.
    memory
        Memory that the file may take, such as ``"8GB"``. Of a Parquet file as many row groups as fit are read, evenly
        chosen, and the scan names the rows that were not.

    Returns
    -------
    Scan
        Leaks, suspicions and notes, the worst first, and what was not checked.

    Raises
    ------
    InputError
        If a file is encrypted or cannot be read.
    OutOfMemoryError
        If a file holds more than ten times its size and 2 GB, or more than `memory`.
    SchemaError
        If `schema` is no `Schema`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> leaky = scan(pa.table({"index": range(12), "age": ["20-29"] * 12}))
    >>> leaky.clean, [finding.check for finding in leaky.leaks]
    (False, ['invented-columns'])
    """
    if schema is not None:
        require_schema(schema)
    allowed = None if memory is None else bytes_of(memory)
    if is_release(published):
        given = describe_release(
            published,
            schema,
            original=original,
            hierarchies=hierarchies,
            transformations=transformations,
            memory=memory,
        )
        original, schema, hierarchies = given.raw, schema or given.schema, given.used_hierarchies
        transformations = given.transformations
        published = given.path or open_table(given.main, published=True).data
    files = fetch_files(published) or files_of(published) if isinstance(published, str | Path) else None
    whole = None if original is None else open_table(original, memory=allowed)
    as_published = _transform(whole, transformations or {}, schema, hierarchies or {})

    of_original = suggest_roles(whole.data) if whole is not None and schema is None else Suggestion()

    partitions = _partitions_of(published, files or ())
    of_folders = Suggestion() if partitions is None else suggest_roles(partitions.distinct())

    def scan_one(path: Path | None) -> Scan:
        file = arrow.open_frame(published) if path is None else open_file(path, reading or Reading(), memory=allowed)
        if path is not None:
            file = _with_folders(file, path, published, partitions)
        if file.table is not None:
            file = replace(file, table=in_plain_types(file.table))
        subject = ScannedFile(file, path, whole, schema, dict(hierarchies or {}), transformed=as_published)
        return _run_checks(with_suggested_roles(subject, of_original, of_folders))

    if files is None or len(files) == 1:
        return scan_one(files[0] if files else None)
    folder = Path(published) if Path(published).is_dir() else None
    return _unite({path: scan_one(path) for path in files}, folder)


def _partitions_of(published: Any, files: Sequence[Path]) -> HivePartitions | None:
    """Return the columns in folder names; folder names of files of other kinds are only searched as text."""
    if not files or any(kind_of_file(path) not in (*PARQUET, *ARROW) for path in files):
        return None
    return find_partitions(published, files)


def _with_folders(file: Opened, path: Path, published: Any, partitions: HivePartitions | None) -> Opened:
    """Return an opened file with the columns of its folders added, and their names among the searched texts."""
    texts = folder_texts(published, path)
    parts = (*file.parts, FilePart("the path", texts.encode())) if texts else file.parts
    table = file.table
    if partitions is not None and table is not None:
        for field, value in zip(partitions.schema, partitions.values[path], strict=True):
            if field.name not in table.column_names:
                table = table.append_column(field.name, constant_column(value, field.type, len(table)))
    return replace(file, table=table, parts=parts)


def _transform(
    whole: Table | None,
    transformations: Mapping[str, Transformation],
    schema: Schema | None,
    hierarchies: Mapping[str, Hierarchy],
) -> Table | None:
    """Return the original with its columns masked as in the release, None where nothing is known about that."""
    if whole is None or not transformations:
        return None
    known = check_transformations(transformations, schema, hierarchies) if schema else transformations
    return open_table(transformed_source(whole, known)[0])


def _unite(scans: Mapping[Path, Scan], folder: Path | None) -> Scan:
    """Return the scans of several files as one; places name the file."""

    def located(path: Path, several: Iterable[NotChecked]) -> list[NotChecked]:
        return [replace(each, what=f"{path.name}: {each.what}") for each in several]

    every = list(scans.values())
    findings = [replace(f, place=f"{p.name}: {f.place}") for p, scan in scans.items() for f in scan.findings]
    worst_first = list(Severity)
    findings.sort(key=lambda finding: worst_first.index(finding.severity))
    unread = [each for path, scan in scans.items() for each in located(path, scan.unread)]
    unseen = [each for path, scan in scans.items() for each in located(path, scan.unseen)]
    if folder is not None:
        beside = [each for each in folder.rglob("*") if not each.is_dir() and each not in scans]
        unseen += [NotChecked(f"{plural(len(beside), 'other file')} in the folder", BESIDE)] if beside else []
    # Missing inputs are the same for all files.
    both = [each for scan in every for each in scan.not_checked if each not in (*scan.unread, *scan.unseen)]
    return Scan(
        every[0].kind,
        None if any(scan.rows is None for scan in every) else sum(scan.rows or 0 for scan in every),
        tuple(findings),
        tuple(dict.fromkeys(name for scan in every for name in scan.checked)),
        (*unread, *unseen, *dict.fromkeys(both)),
        tuple(unread),
        tuple(unseen),
    )


def _run_checks(subject: ScannedFile) -> Scan:
    """Run every check for files of this kind, and collect findings and what was not checked."""
    file = subject.file
    findings: list[Finding] = []
    checked: list[str] = []
    not_checked = [*file.unread, *file.not_checked, *_unscanned_table(subject.path)]
    for check in CHECKS.values():
        if not check.applies(subject):
            continue
        missing = check.missing(subject)
        if missing:
            not_checked.append(NotChecked(check.purpose, " and ".join(WANTED[name] for name in missing)))
            continue
        checked.append(check.name)
        for each in check.run(subject):
            match each:
                case Finding():
                    findings.append(replace(each, check=check.name))
                case NotChecked():
                    not_checked.append(each)
    worst_first = list(Severity)
    findings.sort(key=lambda finding: worst_first.index(finding.severity))
    rows = None if file.table is None else file.table.num_rows if file.rows is None else file.rows
    return Scan(file.kind, rows, tuple(findings), tuple(checked), tuple(not_checked), file.unread, file.not_checked)


def _unscanned_table(path: Path | None) -> list[NotChecked]:
    """Return a note on the second table of a release, which is a file of its own."""
    if path is None:
        return []
    second = table_path(path, SENSITIVE)
    return [NotChecked(second.name, "it is a file of its own: scan it too")] if second.is_file() else []


def open_file(path: Path, reading: Reading, *, memory: int | None = None) -> Opened:
    """Open a published file; raise `InputError` for one that is encrypted, broken, or of an unknown kind."""
    try:
        if memory is not None and path.is_file():
            size = path.stat().st_size
            Allowance(size, memory).require(
                size, str(path), "its bytes, which are searched", otherwise=parquet.IN_PARTS
            )
        content = read_ordinary(path, most=MAX_FILE_BYTES)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) or not isinstance(error, OSError):
            raise no_file(path) from None
        raise InputError(
            f"cannot read {path}: {error.strerror}", hint="give one file, whose permissions let you read it"
        ) from None
    if not content:
        raise InputError(f"{path} is empty", hint="check that this is the right file")
    allowance = Allowance(len(content), memory)
    if not content.startswith(text.GZIP):
        return _open_by_kind(path, content, reading, allowance)
    inner, header = text.inflate(content, str(path), allowance)
    return replace(_open_by_kind(path, inner, reading, allowance), gzip=header)


def _open_by_kind(path: Path, content: bytes, reading: Reading, allowance: Allowance) -> Opened:
    """Open a file by its content, or by its suffix."""
    name = str(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if content.startswith(parquet.ENCRYPTED):
        raise parquet.encrypted_error(name)
    if content.startswith(parquet.MAGIC) or suffix in PARQUET:
        return parquet.open_parquet(content, name, allowance)
    if content.startswith((arrow.MAGIC, arrow.FIRST_FEATHER)) or suffix in ARROW:
        return arrow.open_arrow(content, name)
    if content.startswith(workbooks.OLE):
        raise workbooks.refuse_old_office(content, name)
    if content.startswith(text.ZIP) or suffix in EXCEL:
        archive = text.open_archive(content, name)
        if workbooks.is_workbook(archive, name, allowance):
            return workbooks.open_workbook(archive, content, name, allowance)
        return text.open_zip(archive, content, name)
    program = statistics.suffix_of(content, suffix if suffix in LABELLED else "")
    if program is not None:
        return statistics.open_statistics(content, name, program, reading)
    if suffix in PICKLE or pickles.is_pickle(content):
        return pickles.open_pickle(content, name)
    packed = next((what for start, what in OTHERS.items() if content.startswith(start)), None)
    if packed is not None:
        raise InputError(f"{path} is compressed with {packed}", hint="decompress it, and scan what is inside")
    if suffix not in DELIMITED:
        known = (*DELIMITED, *PARQUET, *ARROW, *EXCEL, *LABELLED, *PICKLE)
        raise InputError(
            f"{path} cannot be scanned: its kind of file is not known",
            hint=f"its name should end in one of {', '.join(known)}",
        )
    how = replace(reading, delimiter="\t") if reading.delimiter is None and suffix == ".tsv" else reading
    return text.open_delimited(path, content, how)
