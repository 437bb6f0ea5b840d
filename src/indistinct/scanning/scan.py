"""Scan a published file, whichever algorithm or tool made it, for what it betrays beside its cells."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from indistinct.errors import InputError
from indistinct.hierarchy import Hierarchy
from indistinct.memory import needs_memory
from indistinct.recoding.outputs import SENSITIVE
from indistinct.release.files import table_path
from indistinct.scanning.arrow import open_frame
from indistinct.scanning.base import Finding, NotChecked, Severity, Subject
from indistinct.scanning.opening import open_file
from indistinct.scanning.plain_types import in_plain_types
from indistinct.scanning.registry import CHECKS
from indistinct.schema import Schema, require_schema
from indistinct.tables import open_table
from indistinct.tables.fetched import fetched
from indistinct.tables.value import Reading

WANTED = {
    "table": "the cells of the file are not read",
    "original": "the original is not given",
    "schema": "the roles of the columns are not given",
}


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found, the worst first, which checks were made, and what was not looked at."""

    kind: str
    rows: int | None
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    not_checked: tuple[NotChecked, ...]

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """Return the findings that betray somebody."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.LEAK)

    @property
    def clean(self) -> bool:
        """Whether no leak was found; suspicions and notes may be there."""
        return not self.leaks

    @property
    def cells_read(self) -> bool:
        """Whether cells were looked at; those of a pickle are not, for that would run it."""
        return self.rows is not None

    def to_json(self) -> dict[str, Any]:
        """Return the scan as plain JSON values."""
        return {
            "kind": self.kind,
            "rows": self.rows,
            "cells_read": self.cells_read,
            "clean": self.clean,
            "findings": [finding.to_json() for finding in self.findings],
            "checked": list(self.checked),
            "not_checked": [each.to_json() for each in self.not_checked],
        }


@needs_memory("scanning")
def scan(
    published: Any,
    *,
    original: Any = None,
    schema: Schema | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    reading: Reading | None = None,
) -> Scan:
    """Return what a published file betrays beside its cells: leaks, suspicions and notes, the worst first.

    `published` is a path to delimited text, Parquet, Arrow or Feather, an Excel workbook, a zip archive or a pickle,
    which is not run; or a frame. With the `original` and the `schema` of its roles more can be told; `hierarchies` are
    those that its labels come from. `reading` says how a text file is read. Raises `InputError` for a file that is
    encrypted or cannot be read.

        >>> import pyarrow as pa
        >>> found = scan(pa.table({"index": range(12), "age": ["20-29"] * 12}))
        >>> found.clean, [finding.check for finding in found.leaks]
        (False, ['invented-columns'])
    """
    path = Path(published) if isinstance(published, str | Path) else None
    if path is not None:
        path, *others = fetched(path) or (path,)
        if others:
            raise InputError("a scan takes one file; got several", hint="scan each file by itself")
    if schema is not None:
        require_schema(schema)
    file = open_frame(published) if path is None else open_file(path, reading or Reading())
    if file.table is not None:
        file = replace(file, table=in_plain_types(file.table))
    whole = None if original is None else open_table(original)
    subject = Subject(file, path, whole, schema, dict(hierarchies or {}))
    findings: list[Finding] = []
    checked: list[str] = []
    untold = [*file.not_checked, *_beside(path)]
    for check in CHECKS.values():
        if not check.applies(subject):
            continue
        missing = check.missing(subject)
        if missing:
            untold.append(NotChecked(check.purpose, " and ".join(WANTED[name] for name in missing)))
            continue
        checked.append(check.name)
        for each in check.run(subject):
            (findings if isinstance(each, Finding) else untold).append(each)  # type: ignore[arg-type]
    order = list(Severity)
    findings.sort(key=lambda finding: order.index(finding.severity))
    rows = None if file.table is None else file.table.num_rows
    return Scan(file.kind, rows, tuple(findings), tuple(checked), tuple(untold))


def _beside(path: Path | None) -> list[NotChecked]:
    """Return the second table of a release, which is a file of its own."""
    if path is None:
        return []
    second = table_path(path, SENSITIVE)
    return [NotChecked(second.name, "it is a file of its own: scan it too")] if second.is_file() else []
