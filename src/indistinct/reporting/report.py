"""The public function `report`: a page about a release on which people can base a decision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

import indistinct
from indistinct.document.blocks import ABSENT, Document, Section
from indistinct.document.catalogue import ENGLISH, read_catalogue, require_language
from indistinct.document.html import page_html
from indistinct.document.translation import Translation
from indistinct.drawing.charts import require_extra
from indistinct.engines import closes_sources
from indistinct.errors import ParameterError
from indistinct.job.policy.value import Policy
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.memory import needs_memory
from indistinct.release.published import Knowledge
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.staging import filled
from indistinct.reporting import beginning, closing, risk, utility
from indistinct.reporting.editions import (
    EDITIONS,
    Edition,
    edition_of,
    for_readers,
    plain_documents,
    without_hollow,
)
from indistinct.reporting.facts import Facts, gather
from indistinct.reporting.originals import require_original
from indistinct.reporting.subject import Questions, file_name_of, policy_of, subject_of
from indistinct.schema import Schema

ABOUT: dict[Edition, str] = {
    "internal": "For the people who answer for the release. It names classes and counts: do not pass it on.",
    "external": "For readers of the data: what was done, what is guaranteed, and what is not.",
}


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The content of an edition: its sections, and the JSON documents of its figures."""

    title: str
    edition: Edition
    made: str
    sections: tuple[Section, ...]
    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """A report: its page as `html`, and the content of the page.

    `content` has the sections as plain values, in English, and the JSON documents with its figures. `untranslated` are
    sentences of the page without a translation.
    """

    content: Content
    html: str
    untranslated: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Report, {self.content.edition} edition, {len(self.content.sections)} sections>"

    @property
    def edition(self) -> str:
        """The readers of the report: internal or external."""
        return self.content.edition

    @property
    def holds(self) -> bool:
        """Whether every guarantee is satisfied, as far as the report knows."""
        return bool(self.content.documents.get("certificate", {}).get("holds"))

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page atomically and return the path; an internal one is readable by its owner alone."""
        write_atomically(path, filled(self.html), overwrite=overwrite, private=self.edition == "internal")
        return Path(path)

    def to_json(self) -> dict[str, Any]:
        """Return the edition, the sections and every document with figures, as plain JSON values."""
        return {
            "edition": self.edition,
            "holds": self.holds,
            "made": self.content.made,
            "sections": [section.title for section in self.content.sections],
            "documents": {name: dict(each) for name, each in self.content.documents.items()},
        }


@with_checked_arguments
@closes_sources
@needs_memory("reporting")
def report(
    release: Any,
    schema: Schema | None = None,
    *,
    edition: str = "internal",
    language: str = ENGLISH,
    policy: Policy | str | Path | None = None,
    workload: Any = None,
    target: str | None = None,
    classifiers: Sequence[str] | None = None,
    seconds: float = 6.0,
    seed: int | None = None,
    smallest_count: int | None = None,
    profile: str | None = None,
    path: str | Path | None = None,
    **known: Unpack[Knowledge],
) -> Report:
    """Report on a release in one HTML page: privacy guarantee, risk, attacks, utility and a verdict.

    Parameters
    ----------
    release
        A `Release`, a `Published`, a `BucketTable`, or a published table: a path or a frame.
    schema
        Roles of the columns of the original; not needed for a `Release` or with a `policy`.
    edition
        ``"internal"`` for the data steward, or ``"external"`` for readers of the data, which shows nothing of the
        original but what the certificate for others shows.
    language
        Language of the page: ``"en"``, or ``"de"`` for an external edition in German.
    policy
        Policy that made the release, or its path. Its table [about] is quoted in the report.
    workload
        Queries whose answers are compared with those of the original: a `Workload`, or the path of one.
    target
        Column that classifiers learn from the release and from the original.
    classifiers
        Names of the classifiers; by default all of them.
    seconds
        Time limit for all attacks together.
    seed
        Fixes what attacks draw at random.
    smallest_count
        Counts below this are hidden in the external edition.
    profile
        Limits for the verdict, such as ``"public"``; by default those of the policy.
    path
        Where a `Release` was written.
    **known
        Further facts, as `published` takes them. Sections that need ``original`` or ``population`` say so where these
        are not given.

    Returns
    -------
    Report
        The page as ``html``, and its content; `Report.write` writes it.

    Raises
    ------
    MissingExtraError
        If the extra ``report`` is not installed.
    ParameterError
        If the roles are not known, or a parameter is not possible.
    PolicyError
        If the policy cannot be read.
    OriginalError
        If ``original`` cannot be the original of the release.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["20-29", "20-29", "30-39"], "disease": ["flu", "cold", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> ind.report(table, schema, model="k-anonymity:k=2").edition
    'internal'
    """
    chosen = edition_of(edition)
    require_edition_in(language, chosen)
    require_extra()
    job, digest = policy_of(policy)
    questions = Questions(workload, target, classifiers, seconds, seed, smallest_count, profile=profile)
    written = None if path is None else Path(path)
    subject = subject_of(release, schema, job, questions, written=written, **known)
    require_original(subject)
    return _report_of(gather(subject, internal=chosen == "internal"), chosen, digest, language=language)


@closes_sources
@needs_memory("reporting")
def report_editions(
    release: Any,
    *,
    policy: Policy,
    seconds: float = 6.0,
    attacks: Mapping[str, Any] | None = None,
    language: str = ENGLISH,
) -> dict[Edition, Report]:
    """Return both editions of a report from facts computed once; `attacks` are outcomes of earlier attacks, as JSON.

    The edition for readers is in `language`, the internal one in English.
    """
    require_extra()
    job, digest = policy_of(policy)
    subject = subject_of(release, None, job, Questions(seconds=seconds, attacks=attacks), written=None)
    require_original(subject)
    facts = gather(subject)
    return {
        edition: _report_of(facts, edition, digest, language=language if edition == "external" else ENGLISH)
        for edition in EDITIONS
    }


def require_edition_in(language: str, edition: str) -> None:
    """Raise `ParameterError` unless an edition is available in a language."""
    require_language(language)
    if language != ENGLISH and edition == "internal":
        raise ParameterError(
            f"the internal edition of a report is in English alone; got `language` {language!r}",
            hint='edition="external" (--edition external) is there in German, for readers of the data',
        )


def _report_of(facts: Facts, edition: Edition, digest: str | None, *, language: str = ENGLISH) -> Report:
    """Build the report of one edition."""
    internal = edition == "internal"
    chosen = facts if internal else for_readers(facts)
    made = datetime.now(UTC).date().isoformat()
    sections = _sections(chosen, made=made, digest=digest, internal=internal)
    sections = sections if internal else without_hollow(sections)
    title = f"Report on the release {file_name_of(facts.subject) or 'of a table'}"
    content = Content(title, edition, made, sections, plain_documents(chosen))
    translation = None if language == ENGLISH else Translation(read_catalogue(language), _own_words(chosen))
    html = html_of(content, translation)
    return Report(content, html, () if translation is None else tuple(translation.missing))


def _own_words(facts: Facts) -> frozenset[str]:
    """Return the words of the table and of its publisher, which are never translated."""
    subject, columns = facts.subject, facts.json("columns")
    stated, reasons = subject.statement, {} if subject.policy is None else subject.policy.reasons
    statements = (getattr(stated, each.name) for each in fields(stated))
    lines = (each for one in statements for each in ((one,) if isinstance(one, str) else one or ()))
    labels = beginning.labelled_columns({} if columns is None else columns.content)
    return frozenset(
        (*subject.schema.columns, *subject.published.columns, *reasons.values(), *lines, *map(str, chain(*labels)))
    ) - {ABSENT}


def html_of(content: Content, translation: Translation | None = None) -> str:
    """Return a report as an HTML document, translated if requested: no script, no external resources."""
    byline = f"{content.edition.capitalize()} edition, {content.made}. {ABOUT[content.edition]}"
    footer = f"Written by indistinct {indistinct.__version__}. One file: no script, nothing fetched."
    return page_html(Document(content.title, content.sections), byline=byline, footer=footer, translation=translation)


def _sections(facts: Facts, *, made: str, digest: str | None, internal: bool) -> tuple[Section, ...]:
    """Return the sections of a report in their order."""
    return (
        beginning.verdict(facts, internal=internal),
        beginning.summary(facts),
        beginning.purpose(facts, internal=internal),
        beginning.columns(facts, internal=internal),
        risk.found_again(facts),
        risk.attributes(facts, internal=internal),
        risk.membership(facts),
        risk.attacks(facts, internal=internal),
        utility.suppression(facts, internal=internal),
        utility.utility(facts, internal=internal),
        closing.why(facts, internal=internal),
        risk.thresholds(facts),
        closing.earlier(facts),
        closing.limits(facts),
        beginning.identity(facts, made=made, policy_digest=digest, internal=internal),
        closing.glossary(facts),
    )
