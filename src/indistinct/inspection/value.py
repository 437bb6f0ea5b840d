"""The result of inspecting a table: a profile of each column, and the people that suggested roles single out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from indistinct.document.blocks import Document
from indistinct.document.result import Result
from indistinct.figures import percent, plural
from indistinct.frequencies.singled_out import is_nearly_unique
from indistinct.hierarchy.value import Hierarchy
from indistinct.inspection.combinations import Combinations
from indistinct.inspection.inspection_document import inspection_document
from indistinct.inspection.patterns.base import PatternShare
from indistinct.inspection.patterns.safe_harbor import SafeHarbor
from indistinct.release.verification.verify import nearly_unique
from indistinct.schema import Role, Schema
from indistinct.tables.domain import Kind
from indistinct.tables.value import Reading, to_options

MAX_LABELS = 20
"""Number of value labels of a column that are listed."""


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """The figures of a column, and the role that is suggested for it.

    `unique_share` is the share of all rows whose value no other row has; `smallest_group` the fewest rows that
    share a value. `patterns` are what its values look like, and `evidence` the one that the role rests on.
    `safe_harbor` is the identifier of the HIPAA list that it seems to hold. `label` is what a statistics program calls
    the column. `frequent` holds the most frequent values with their counts, and `value_labels` the labels of its codes:
    show them only to those who may see the table.
    """

    name: str
    kind: Kind
    distinct: int
    missing: int
    unique_share: float
    smallest_group: int
    role: Role
    reason: str
    hierarchy: Hierarchy | None
    findings: tuple[str, ...] = field(default=(), kw_only=True)
    patterns: tuple[PatternShare, ...] = field(default=(), kw_only=True)
    evidence: PatternShare | None = field(default=None, kw_only=True)
    safe_harbor: SafeHarbor | None = field(default=None, kw_only=True)
    label: str = field(default="", kw_only=True)
    value_labels: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False)
    frequent: tuple[tuple[Any, int], ...] = field(repr=False)

    def points_at_rows(self, rows: int) -> bool:
        """Return whether the column is published unmodified although it is nearly unique in a table of `rows` rows."""
        kept = self.role in (Role.SENSITIVE, Role.INSENSITIVE)
        return kept and is_nearly_unique(round(self.unique_share * rows), rows)

    @property
    def figure(self) -> str:
        """Return the figure behind the suggested role: the share of values with a pattern, or of unique rows."""
        if self.evidence is not None:
            return f"{percent(self.evidence.share)} of {self.evidence.judged:,} distinct values"
        return f"{percent(self.unique_share)} of the rows are unique"

    @property
    def partly(self) -> tuple[PatternShare, ...]:
        """Return the patterns that only some values have."""
        return tuple(each for each in self.patterns if not each.holds)

    def label_in_words(self, *, values: bool = False) -> str:
        """Return the column's label of a statistics program, with its codes if `values` may be shown."""
        labels = list(self.value_labels.items())
        codes = f"{plural(len(labels), 'code has a label', 'codes have labels')}" if labels else ""
        if labels and values:
            more = f" and {len(labels) - MAX_LABELS:,} more" if len(labels) > MAX_LABELS else ""
            codes = ", ".join(f"{code} = {label}" for code, label in labels[:MAX_LABELS]) + more
        return "; ".join(each for each in (self.label, codes) if each)

    def to_json(self, *, values: bool = False, involved: float | None = None) -> dict[str, Any]:
        """Return the profile as plain JSON values; `values` adds the most frequent ones."""
        about = {
            "name": self.name,
            "type": str(self.kind),
            "distinct": self.distinct,
            "missing": self.missing,
            "unique_share": self.unique_share,
            "smallest_group": self.smallest_group,
            "role": str(self.role),
            "reason": self.reason,
            "figure": self.figure,
            "patterns": [each.to_json() for each in self.patterns],
            "safe_harbor": None if self.safe_harbor is None else self.safe_harbor.to_json(),
            "involved_share": involved,
            "hierarchy": None if self.hierarchy is None else self.hierarchy.to_json(),
            "findings": list(self.findings),
            "label": self.label or None,
            "labelled_codes": len(self.value_labels),
        }
        frequent = [{"value": str(value), "rows": rows} for value, rows in self.frequent]
        return {**about, "frequent": frequent, "value_labels": dict(self.value_labels)} if values else about


@dataclass(frozen=True, slots=True, repr=False)
class Inspection(Result):
    """The profile of a table, and the people that the suggested quasi-identifiers together single out.

    `reading` declares notations of numbers and dates and NA strings. `people` is the number of people, if a column
    identifies people with several rows. `combinations` are sets of a few columns that single people out. `left_out`
    names skipped empty lines and columns of a text file, `notes` other remarks on reading it. From a table that does
    not fit in memory, a random sample of `rows` rows was profiled, and `sampled_from` is the number of all rows.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    classes: int
    smallest_class: int
    unique_rows: int
    combinations: Combinations
    reading: Reading = Reading()  # noqa: RUF009 (a frozen value)
    people: int | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sampled_from: int | None = None

    def document(self) -> Document:
        """Return columns, suggested roles and what singles people out; no value of the table is in it."""
        return inspection_document(self)

    @property
    def schema(self) -> Schema:
        """Return the suggested roles."""
        return Schema.from_roles({column.name: column.role for column in self.columns})

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return which columns would point at single rows, if they were published under the suggested roles.

        Before them, that only a sample was looked at.
        """
        pointing = [column for column in self.columns if column.points_at_rows(self.rows)]
        pointed_at = [nearly_unique([c.name], round(c.unique_share * self.rows), self.rows) for c in pointing]
        return (*self.sample_in_words, *(f"under the suggested role, {text}" for text in pointed_at))

    @property
    def sample_in_words(self) -> tuple[str, ...]:
        """Return a note if only a sample was inspected."""
        if self.sampled_from is None:
            return ()
        return (
            f"{self.rows:,} of {self.sampled_from:,} rows, drawn by chance, were looked at, for all do not fit in "
            "`memory`: every count is of these; among all rows fewer are unique, and rare values may be missing here",
        )

    def labels_in_words(self, *, values: bool = False) -> list[str]:
        """Return the labels of columns of a statistics program, with codes if `values` may be shown."""
        labels = {each.name: each.label_in_words(values=values) for each in self.columns}
        return [f"{name}: {words}" for name, words in labels.items() if words]

    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]:
        """Return the suggested hierarchies by column."""
        return {column.name: column.hierarchy for column in self.columns if column.hierarchy is not None}

    def to_json(self, *, values: bool = False) -> dict[str, Any]:
        """Return the profile as plain JSON values; `values` adds the most frequent ones of each column."""
        together = self.combinations
        return {
            "rows": self.rows,
            "sampled_from": self.sampled_from,
            "columns": [each.to_json(values=values, involved=together.involved(each.name)) for each in self.columns],
            "quasi_identifiers": list(self.schema.quasi),
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "unique_rows": self.unique_rows,
            "unique_share": self.unique_share,
            "combinations": together.to_json(),
            "warnings": list(self.warnings),
            "people": self.people,
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            "reading": to_options(self.reading),
        }

    @property
    def unique_share(self) -> float:
        """Return the share of rows that are unique on the suggested quasi-identifiers."""
        return self.unique_rows / self.rows if self.rows else 0.0
