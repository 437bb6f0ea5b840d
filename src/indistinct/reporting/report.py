"""The public function that reports: one page about a release that people can decide by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

from indistinct.engines import closes_sources
from indistinct.job.policy.value import Policy
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.memory import needs_memory
from indistinct.release.published import Knowledge
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.staging import filled
from indistinct.reporting import beginning, closing, risk, utility
from indistinct.reporting.content import EDITIONS, Content, Edition, Section
from indistinct.reporting.editions import edition_of, for_readers, plain_documents, without_hollow
from indistinct.reporting.facts import Facts, gather
from indistinct.reporting.originals import require_original
from indistinct.reporting.render import html_of, require_extra
from indistinct.reporting.subject import Questions, file_name_of, policy_of, subject_of
from indistinct.schema import Schema


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """A report: its page as `html`, and what it was made of.

    `content` has the sections as plain values, and the JSON documents in which its figures stand.
    """

    content: Content
    html: str

    def __repr__(self) -> str:
        return f"<Report, {self.content.edition} edition, {len(self.content.sections)} sections>"

    @property
    def edition(self) -> str:
        """For whom the report is: internal or external."""
        return self.content.edition

    @property
    def holds(self) -> bool:
        """Whether every promise holds, as far as the report knows one."""
        return bool(self.content.documents.get("certificate", {}).get("holds"))

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page, whole or not at all; an internal one can be read by its owner alone. Return the path."""
        write_atomically(path, filled(self.html), overwrite=overwrite, private=self.edition == "internal")
        return Path(path)

    def to_json(self) -> dict[str, Any]:
        """Return the edition, the sections and every document that figures stand in, as plain JSON values."""
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
    """Return a report about a release: one HTML page, `internal` for the steward or `external` for readers of the data.

    `release` is a `Release` or a `Published`, or a published table from anywhere with the `schema` of its original and
    what is `known` of it, as `published` takes it, or with a `policy`, which says these and what people state in its
    table [about]. What needs the `original`, a `population` or a `workload` says so where that is not given. The
    original is given as it is, and transformed as the release was. With a `target` classifiers learn that column.
    Attacks take up to `seconds`, and `seed` fixes what they draw at random. The verdict holds the release against a
    `profile`, or the one that the policy states. `path` is where a `Release` was written.
    The external edition shows nothing of the original but what the certificate for others tells, and no count below
    `smallest_count`. Needs the extra `report`.
    """
    chosen = edition_of(edition)
    require_extra()
    job, digest = policy_of(policy)
    questions = Questions(workload, target, classifiers, seconds, seed, smallest_count, profile=profile)
    written = None if path is None else Path(path)
    subject = subject_of(release, schema, job, questions, written=written, **known)
    require_original(subject)
    return _report_of(gather(subject, internal=chosen == "internal"), chosen, digest)


@closes_sources
@needs_memory("reporting")
def report_editions(
    release: Any, *, policy: Policy, seconds: float = 6.0, attacks: Mapping[str, Any] | None = None
) -> dict[Edition, Report]:
    """Return every edition of a report, of facts that are gathered once; `attacks` are outcomes of before, as JSON."""
    require_extra()
    job, digest = policy_of(policy)
    subject = subject_of(release, None, job, Questions(seconds=seconds, attacks=attacks), written=None)
    require_original(subject)
    facts = gather(subject)
    return {edition: _report_of(facts, edition, digest) for edition in EDITIONS}


def _report_of(facts: Facts, edition: Edition, digest: str | None) -> Report:
    internal = edition == "internal"
    shown = facts if internal else for_readers(facts)
    made = datetime.now(UTC).date().isoformat()
    sections = _sections(shown, made=made, digest=digest, internal=internal)
    sections = sections if internal else without_hollow(sections)
    title = f"Report on the release {file_name_of(facts.subject) or 'of a table'}"
    content = Content(title, edition, made, sections, plain_documents(shown))
    return Report(content, html_of(content))


def _sections(facts: Facts, *, made: str, digest: str | None, internal: bool) -> tuple[Section, ...]:
    return (
        beginning.verdict(facts, internal=internal),
        beginning.summary(facts),
        beginning.identity(facts, made=made, policy_digest=digest, internal=internal),
        beginning.purpose(facts, internal=internal),
        beginning.columns(facts, internal=internal),
        risk.thresholds(facts),
        risk.found_again(facts),
        risk.attributes(facts, internal=internal),
        risk.membership(facts),
        risk.attacks(facts, internal=internal),
        utility.suppression(facts, internal=internal),
        utility.utility(facts, internal=internal),
        closing.why(facts, internal=internal),
        closing.earlier(facts),
        closing.limits(facts),
        closing.glossary(facts),
    )
