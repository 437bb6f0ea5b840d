"""A form as its data file declares it: sections of fields, and the sources that the form follows.

A field is filled with a figure of a report, with a statement of the policy in [context], or by a person. What a form
says about a law is in its data file, with the source and how far it was read.
"""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

from indistinct.errors import ParameterError, did_you_mean
from indistinct.figures import plural

FORMS = ("gdpr", "hipaa", "ontario", "ico", "ema")
FigureStyle = Literal["share", "count", "text", "list", "truth", "number"]
TableName = Literal["models", "columns", "techniques", "attacks", "unmodified", "grades", "thresholds", "identifiers"]


@dataclass(frozen=True, slots=True)
class FormSource:
    """A document that a form follows, and how far it was read."""

    name: str
    edition: str
    read_on: str
    read: str


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """One field: a figure at `path` of the report, a key of [context], a table, or a text that a person writes.

    `write` is the sentence that helps the person, also where a figure or a statement is missing. `missing` says why a
    field cannot be filled from a release. A table of attacks has `only` some of them.
    """

    label: str
    path: tuple[str, ...] = ()
    style: FigureStyle = "text"
    context: str | None = None
    write: str | None = None
    missing: str | None = None
    table: TableName | None = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormSection:
    """Fields under a heading; `note` explains what is asked."""

    title: str
    note: str
    fields: tuple[DeclaredField, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A form: its sections and sources."""

    name: str
    title: str
    note: str
    sources: tuple[FormSource, ...]
    sections: tuple[FormSection, ...] = field(default=())


@cache
def read_form(name: str) -> Form:
    """Return a form by its name.

    >>> read_form("gdpr").title
    'Assessment of anonymization under the GDPR'
    """
    if name not in FORMS:
        raise ParameterError(
            f"there is no form {name!r}", hint=did_you_mean(str(name), FORMS) or f"known: {', '.join(FORMS)}"
        )
    text = resources.files("indistinct.reporting.forms").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(text)
    sources = tuple(FormSource(**each) for each in declared["sources"])
    sections = tuple(
        FormSection(each["title"], each.get("note", ""), tuple(map(_field, each["fields"])))
        for each in declared["sections"]
    )
    return Form(name, declared["title"], declared["note"], sources, sections)


def _field(declared: dict[str, Any]) -> DeclaredField:
    path = tuple(declared.get("path", "").split(".")) if declared.get("path") else ()
    return DeclaredField(**{**declared, "path": path, "only": tuple(declared.get("only", ()))})


@dataclass(frozen=True, slots=True)
class FilledField:
    """A field with its text; `value` is the figure at `path`, and `help` is for the person who has to write it."""

    label: str
    text: str | None
    path: tuple[str, ...] = ()
    value: Any = None
    help: str | None = None


@dataclass(frozen=True, slots=True)
class FilledTable:
    """A table of a form; empty cells in `open_columns` are for a person to fill in, and `nothing` is for no rows."""

    label: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    open_columns: tuple[str, ...] = ()
    nothing: str = "Nothing to list."

    @property
    def open_cells(self) -> int:
        """Number of cells that a person has to fill in."""
        positions = [index for index, name in enumerate(self.headings) if name in self.open_columns]
        return sum(not row[index] for row in self.rows for index in positions)


@dataclass(frozen=True, slots=True)
class FilledSection:
    """A filled section."""

    title: str
    note: str
    parts: tuple[FilledField | FilledTable, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FormContent:
    """A form that was filled as far as figures and the policy go.

    Attributes
    ----------
    form
        The form with its sources.
    sections
        Its sections with figures, statements and open fields.
    edition
        Whose figures these are: ``internal`` or ``external``.
    made
        The day on which the report was made.
    """

    form: Form
    sections: tuple[FilledSection, ...]
    edition: str
    made: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.form.name}, {plural(self.open_fields, 'field')} to write>"

    @property
    def open_fields(self) -> int:
        """Number of fields that a person has to write."""
        fields = sum(isinstance(part, FilledField) and part.text is None for part in self._parts)
        tables = (part for part in self._parts if isinstance(part, FilledTable))
        return fields + sum(part.open_cells for part in tables)

    @property
    def _parts(self) -> list[FilledField | FilledTable]:
        return [part for section in self.sections for part in section.parts]

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values; figures have the path of the report's document that they come from."""
        fields = [part for part in self._parts if isinstance(part, FilledField)]
        return {
            "form": self.form.name,
            "edition": self.edition,
            "made": self.made,
            "open_fields": self.open_fields,
            "figures": [
                {"label": each.label, "path": list(each.path), "value": each.value, "text": each.text}
                for each in fields
                if each.path and each.text is not None
            ],
            "to_write": [each.label for each in fields if each.text is None],
        }
