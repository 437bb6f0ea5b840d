"""Fill a form with the figures of a report and with what the policy states in [context]."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import indistinct
from indistinct.errors import ParameterError
from indistinct.figures import number, percent
from indistinct.job.policy.value import Context
from indistinct.machine.arguments import with_checked_arguments
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.staging import digest_of, filled
from indistinct.reporting.forms.docx import document_of
from indistinct.reporting.forms.form import (
    DeclaredField,
    FilledField,
    FilledSection,
    FilledTable,
    FormContent,
    read_form,
)
from indistinct.reporting.forms.page import page_of
from indistinct.reporting.report import Report

STRICT_CLASS_SIZE, ROUNDED_CLASS_SIZE = 12, 11
"""The smallest class whose risk 1/k is at most 0.09, and the one whose risk rounds to it."""
SAFE_HARBOR = (
    "names",
    "geographic subdivisions smaller than a state (with the rule for three-digit ZIP codes)",
    "dates but the year, and ages over 89",
    "telephone numbers",
    "fax numbers",
    "e-mail addresses",
    "social security numbers",
    "medical record numbers",
    "health plan numbers",
    "account numbers",
    "certificate and license numbers",
    "vehicle identifiers and license plates",
    "device identifiers and serial numbers",
    "web addresses",
    "IP addresses",
    "biometric identifiers",
    "full-face photographs",
    "any other unique number, characteristic or code",
)
"""The identifiers of 45 CFR 164.514(b)(2)(i), abbreviated."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FilledForm(FormContent):
    """A filled form that can be written as a document."""

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the form as .docx (extra `forms`) or .html: the whole file, or nothing. Return the path."""
        suffix = Path(path).suffix.lower()
        private = self.edition == "internal"
        if suffix == ".docx":
            write_atomically(path, document_of(self), overwrite=overwrite, private=private)
        elif suffix in (".html", ".htm"):
            write_atomically(path, filled(page_of(self)), overwrite=overwrite, private=private)
        else:
            raise ParameterError(
                f"a form is written as .docx or .html; got {suffix!r}", hint="for example -o form.docx"
            )
        return Path(path)


@with_checked_arguments
def fill_form(
    report: Report, name: str, *, context: Context | None = None, policy: str | Path | None = None
) -> FilledForm:
    """Fill a form with the figures of a report.

    Parameters
    ----------
    report
        What `report` returned; the form has the figures of its edition.
    name
        The form: ``gdpr``, ``hipaa``, ``ontario``, ``ico`` or ``ema``.
    context
        The statements of the policy in [context]; missing ones are marked for a person to write.
    policy
        The policy file, whose digest identifies it later.

    Returns
    -------
    FilledForm
        The form, ready to be written as .docx or .html.

    Raises
    ------
    ParameterError
        If there is no form of this name.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44], "disease": ["flu", "cold", "flu", "cold", "flu", "cold"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3))
    >>> form = fill_form(ind.report(release, seconds=0.1), "gdpr")
    >>> form.edition, form.open_fields > 0
    ('internal', True)
    """
    form, stated = read_form(name), context or Context()
    filler = _Filler(report, stated, None if policy is None else digest_of(Path(policy)))
    sections = tuple(
        FilledSection(section.title, section.note, tuple(filler.fill(each) for each in section.fields))
        for section in form.sections
    )
    return FilledForm(form, sections, report.edition, report.content.made)


@dataclass(frozen=True, slots=True)
class _Filler:
    """The documents of a report, the policy's statements, and the digest of the policy."""

    report: Report
    context: Context
    policy: str | None = None

    def fill(self, field: DeclaredField) -> FilledField | FilledTable:
        """Return a field with its figure, statement, table, or help for a person."""
        if field.table is not None:
            return _TABLES[field.table](self, field)
        if field.missing is not None:
            return FilledField(field.label, field.missing)
        if field.context is not None:
            text = self.context.text_of(field.context)
            return FilledField(field.label, text, help=field.write)
        if field.path == ("product",):
            return self._product(field)
        if field.path == ("version",):
            return FilledField(field.label, f"indistinct {indistinct.__version__}", field.path, indistinct.__version__)
        if field.path:
            value = self.policy if field.path == ("policy",) else self.at(*field.path)
            if value is None:
                reason = "not available: the report has no such figure in this edition"
                return FilledField(field.label, None if field.write else reason, help=field.write)
            return FilledField(field.label, _STYLES[field.style](value), field.path, value)
        return FilledField(field.label, None, help=field.write)

    def at(self, *path: str) -> Any:
        """Return a figure of the report, None if it is missing."""
        value: Any = self.report.content.documents
        for key in path:
            if isinstance(value, Mapping):
                value = value.get(key)
            elif isinstance(value, Sequence) and not isinstance(value, str) and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            else:
                return None
        return value

    def _product(self, field: DeclaredField) -> FilledField:
        """Return the risk times the probability of an attempt, where both are known."""
        highest, attempt = self.at("assess", "prosecutor", "highest"), self.context.attempt
        if highest is None or attempt is None:
            return FilledField(field.label, None, help=field.write)
        value = attempt * highest
        source = self.context.attempt_source or "public release: an attempt is certain"
        text = f"{percent(value)} = {attempt:g} × {percent(highest)} ({source})"
        return FilledField(field.label, text, ("assess", "prosecutor", "highest"), highest)


def _models(filler: _Filler, field: DeclaredField) -> FilledTable:
    """Return the table of privacy models."""
    rows = [
        (
            str(each.get("model")),
            "satisfied" if each.get("holds") else "NOT satisfied",
            ", ".join(
                f"{key} = {number(value)}" for key, value in (each.get("achieved") or {}).items() if value is not None
            ),
        )
        for each in filler.at("certificate", "verdicts") or ()
    ]
    return FilledTable(field.label, ("privacy model", "verified", "achieved"), tuple(rows))


def _columns(filler: _Filler, field: DeclaredField) -> FilledTable:
    """Return the table of columns and what was done to them."""
    rows = [
        (name, str(each.get("role")), str(each.get("transformation")), each.get("reason") or "")
        for name, each in (filler.at("columns") or {}).items()
    ]
    return FilledTable(field.label, ("column", "role", "what was done", "reason"), tuple(rows))


TECHNIQUES = (
    ("dropped", "redaction"),
    ("suppress", "redaction"),
    ("nothing of it is published", "redaction"),
    ("only whether it has a value", "redaction"),
    ("pseudonym", "recoding"),
    ("unmodified", "retained"),
    ("generalized", "generalization"),
    ("recoded", "generalization"),
    ("level", "generalization"),
    ("round", "generalization"),
    ("at most", "generalization"),
    ("at least", "generalization"),
    ("cut to", "generalization"),
)
"""The words of the form for each technique, by a word in the description of what was done."""


def technique_of(done: str) -> str:
    """Return the word of the form for what was done to a column.

    >>> technique_of("cut to the month"), technique_of("nothing of it is published")
    ('generalization', 'redaction')
    """
    return next((word for part, word in TECHNIQUES if part in done), "other")


def _techniques(filler: _Filler, field: DeclaredField) -> FilledTable:
    """Return the table of techniques by column."""
    rows = []
    for name, each in (filler.at("columns") or {}).items():
        done = str(each.get("transformation"))
        rows.append((name, technique_of(done), done))
    return FilledTable(field.label, ("variable", "technique", "what was done"), tuple(rows))


def _attacks(filler: _Filler, field: DeclaredField) -> FilledTable:
    """Return attacks with successes, those of chance, and the risk beyond it; for one that was not run, the reason."""
    headings = ("attack", "successes", "baseline", "control", "risk", "better than chance")

    def table(rows: Iterable[tuple[str, ...]]) -> FilledTable:
        kept = tuple(row for row in rows if not field.only or row[0] in field.only)
        return FilledTable(field.label, headings, kept, nothing="Nothing was tried.")

    tried = filler.at("attack", "tried")
    if tried is not None:  # the external edition only says which were tried, and whether any succeeded
        succeeds = "at least one of all" if filler.at("attack", "succeeds") else "no"
        return table((str(name), "tried", "", "", "", succeeds) for name in tried)
    rows = [
        (
            str(each["attack"]),
            f"{each['successes']:,} of {each['attempts']:,}",
            percent(each["baseline"]),
            "none" if each.get("control") is None else percent(each["control"]),
            percent(each["risk"]),
            "yes" if each.get("succeeds") else "no",
        )
        for each in filler.at("attack", "outcomes") or ()
    ]
    refused = {
        **dict.fromkeys(filler.at("attack", "left_out") or (), "no time was left"),
        **(filler.at("attack", "refused") or {}),
    }
    return table([*rows, *((str(name), f"not run: {reason}", "", "", "", "") for name, reason in refused.items())])


def _unmodified(filler: _Filler, field: DeclaredField) -> FilledTable:
    """Return a table of sets of unmodified columns: how many rows or people are unique on each, and their share."""
    unit = str(filler.at("assess", "unit") or "rows")
    rows = [
        (
            " + ".join([*(["equivalence class"] if each["with_class"] else []), *each["columns"]]),
            f"{each['alone']:,}",
            percent(each["share"]),
        )
        for each in filler.at("assess", "published_columns", "sets") or ()
    ]
    return FilledTable(field.label, ("unmodified columns", f"unique {unit}", "share"), tuple(rows))


def _grades(filler: _Filler, field: DeclaredField) -> FilledTable:
    """Return each column with the three grades that the data steward assigned."""
    kinds = ("replicability", "availability", "distinguishability")
    known = filler.context.grades
    names = [
        name
        for name, each in (filler.at("columns") or {}).items()
        if each.get("role") in ("quasi", "sensitive", "insensitive")
    ]
    rows = [(name, *(known.get(name, ("", "", "")))) for name in names]
    graded = all(name in known for name in names)
    return FilledTable(field.label, ("column", *kinds), tuple(rows), () if graded else kinds)


def _thresholds(filler: _Filler, field: DeclaredField) -> FilledTable:
    """Return the strict and the rounded reading of 0.09, for the highest and the average risk."""
    rows = []
    for words, path in (("highest", "highest"), ("average", "average")):
        risk = filler.at("assess", "prosecutor", path)
        if risk is not None:
            strict = "yes" if risk <= 0.09 else "no"
            rounded = "yes" if round(risk, 2) <= 0.09 else "no"
            rows.append((f"{words} risk", percent(risk), strict, rounded))
    headings = (
        "figure",
        "value",
        f"at most 0.09 (k ≥ {STRICT_CLASS_SIZE})",
        f"rounds to 0.09 (k ≥ {ROUNDED_CLASS_SIZE})",
    )
    return FilledTable(field.label, headings, tuple(rows))


def _identifiers(filler: _Filler, field: DeclaredField) -> FilledTable:
    rows = tuple((str(index), name, "", "") for index, name in enumerate(SAFE_HARBOR, 1))
    return FilledTable(
        field.label, ("no.", "identifier", "removed or not present", "checked by"), rows, ("removed or not present",)
    )


_TABLES: dict[str, Callable[[_Filler, DeclaredField], FilledTable]] = {
    "models": _models,
    "columns": _columns,
    "techniques": _techniques,
    "attacks": _attacks,
    "unmodified": _unmodified,
    "grades": _grades,
    "thresholds": _thresholds,
    "identifiers": _identifiers,
}
_STYLES: dict[str, Callable[[Any], str]] = {
    "share": percent,
    "count": lambda value: f"{value:,}",
    "number": number,
    "text": str,
    "list": lambda value: ", ".join(map(str, value)) or "none",
    "truth": lambda value: "yes" if value else "no",
}
