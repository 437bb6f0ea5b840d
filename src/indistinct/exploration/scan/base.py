"""What checks of a published file receive and report.

A check sees a file as its readers do, independent of the algorithm and engine that made it; the original and the roles
of its columns, if known, show what should not be there. No finding contains a cell's value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa

from indistinct.as_json import AsJson
from indistinct.figures import plural
from indistinct.hierarchy.value import Hierarchy
from indistinct.release.verification.evidence import BOUNDS, COMPANIONS
from indistinct.schema import Schema
from indistinct.tables.value import Table

Kind = Literal["delimited", "parquet", "arrow", "excel", "statistics", "pickle", "zip", "frame"]
STORED: tuple[Kind, ...] = ("parquet", "arrow", "frame")
"""The kinds of sources, by what they store apart from their cells."""

NAMELESS = ""
"""The name of a column without a name."""


class Severity(StrEnum):
    """The certainty of a finding: a leak identifies a person, a suspicion may, a note reports other content."""

    LEAK = "leak"
    SUSPICION = "suspicion"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding(AsJson):
    """The finding of a check: how bad it is, where, how often, a sentence, and a remedy.

    `place` is a column or a part of the file, `count` the number of rows, values or bytes. `check` is the name of the
    check, which the scan fills in.
    """

    in_json: ClassVar[str] = "check severity place count sentence remedy"
    severity: Severity
    place: str
    count: int
    sentence: str
    remedy: str
    check: str = ""


def leak(location: str, count: int, sentence: str, remedy: str) -> Finding:
    """Return a finding that identifies a person."""
    return Finding(Severity.LEAK, location, count, sentence, remedy)


def suspicion(location: str, count: int, sentence: str, remedy: str) -> Finding:
    """Return a finding that may identify a person."""
    return Finding(Severity.SUSPICION, location, count, sentence, remedy)


def note(location: str, count: int, sentence: str, remedy: str) -> Finding:
    """Return a finding about other content."""
    return Finding(Severity.NOTE, location, count, sentence, remedy)


def bytes_behind(count: int, what: str) -> Iterator[Finding]:
    """Yield a leak if bytes follow the end of a file's content."""
    if count:
        sentence = f"{plural(count, 'byte')} follow the end of the {what}, which readers do not show"
        yield leak("the end of the file", count, sentence, "write the published rows into a new file")


def unused_ranges(used: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the first `size` bytes of a file that none of the used ranges covers.

    >>> list(unused_ranges([(6, 8), (0, 4), (1, 3)], 10))
    [(4, 6), (8, 10)]
    """
    last = 0
    for start, end in sorted(used):
        if min(start, size) > last:
            yield last, min(start, size)
        last = max(last, end)
    if size > last:
        yield last, size


@dataclass(frozen=True, slots=True)
class NotChecked(AsJson):
    """Something that was not checked, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class FilePart:
    """Bytes of a file, decompressed; if `words`, they are text, in which short values can be recognized."""

    place: str
    content: bytes
    words: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A published file, read without running anything.

    `table` has every column with its metadata and dictionaries as stored, None where cells are not read. `inside` is
    for the checks of this kind of file. `unread` are cells that were not read, `not_checked` is everything else that
    was not checked. `rows` is the number of rows of the file, where `table` has only some of them. `gzip` is the header
    of a compressed file, and `strays` are the bytes of an archive that belong to no entry.
    """

    kind: Kind
    table: pa.Table | None
    parts: tuple[FilePart, ...] = ()
    inside: Any = None
    gzip: Any = None
    strays: Any = None
    not_checked: tuple[NotChecked, ...] = ()
    unread: tuple[NotChecked, ...] = ()
    rows: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ScannedFile:
    """A published file under scan, and what is known about it: its original, the roles there, the hierarchies.

    `transformed` is the original with its columns masked as in the release, where that is known. `suggested` are the
    columns without a declared role that identify people according to an inspection, each with the reason.
    `suggested_schema` and `suggested_hierarchies` are suggestions for the original, where no roles are declared.
    """

    file: Opened
    path: Path | None = None
    original: Table | None = None
    schema: Schema | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    transformed: Table | None = None
    suggested: Mapping[str, str] = field(default_factory=dict)
    suggested_schema: Schema | None = None
    suggested_hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)

    @property
    def roles(self) -> Schema | None:
        """The declared roles of the original's columns, or those that its inspection suggests."""
        return self.suggested_schema if self.schema is None else self.schema

    @property
    def compared(self) -> Table | None:
        """The original in the form in which it can be compared: masked as in the release, where that is known."""
        return self.original if self.transformed is None else self.transformed

    @property
    def table(self) -> pa.Table:
        """The table of the file; checks that use it declare that they need it."""
        if self.file.table is None:
            raise AssertionError("a check looks at cells that were not read")
        return self.file.table

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the published columns, none where cells are not read."""
        return () if self.file.table is None else tuple(self.file.table.column_names)

    @property
    def expected_columns(self) -> frozenset[str]:
        """The columns that a release of the original may show: those with a role, or of the original."""
        declared = () if self.schema is None else self.schema.published
        before = () if self.original is None else self.original.columns
        names = [name for name in dict.fromkeys((*declared, *before)) if name not in self.hidden]
        beside = (name + end for name in names for end in (*COMPANIONS, *BOUNDS))
        return frozenset((*names, *beside))

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that no release may show: those that identify people."""
        declared = () if self.schema is None else self.schema.hidden
        return tuple(dict.fromkeys((*declared, *self.suggested)))

    def called(self, name: str) -> str:
        """Return the name of a column in findings: its number where the name may be personal data."""
        if name == NAMELESS:
            return f"the nameless column number {self.columns.index(name) + 1}"
        expected = [each for each in self.expected_columns if each in self.columns]
        strange = (self.schema is not None or self.original is not None) and 2 * len(expected) < len(self.columns)
        declared = () if self.schema is None else self.schema.hidden
        if strange and name not in self.expected_columns and name not in declared:
            return f"column number {self.columns.index(name) + 1}"
        return f"column {name!r}"


@dataclass(frozen=True, slots=True)
class ScanCheck:
    """One check of a published file.

    `needs` names the parts of a subject without which it cannot run: `table`, `original`, `schema`, `roles`. `kinds`
    are the kinds of files it applies to, all if empty. `run` yields findings and what was not checked.
    """

    name: str
    purpose: str
    run: Callable[[ScannedFile], Iterable[Finding | NotChecked]]
    needs: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()

    def applies(self, subject: ScannedFile) -> bool:
        """Return whether the check applies to files of this kind."""
        return not self.kinds or subject.file.kind in self.kinds

    def missing(self, subject: ScannedFile) -> tuple[str, ...]:
        """Return the inputs that the check needs and does not have; without cells only the table is named."""
        missing = tuple(name for name in self.needs if _is_absent(subject, name))
        return ("table",) if "table" in missing else missing


def _is_absent(subject: ScannedFile, name: str) -> bool:
    return (subject.file.table if name == "table" else getattr(subject, name)) is None
