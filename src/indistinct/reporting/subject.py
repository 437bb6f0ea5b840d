"""The subject of a report: a release with what is known about it, statements of people, and options of the report."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.base import DatabaseTable
from indistinct.errors import InputError
from indistinct.evaluation.assess.profiles import Profile, parse_profile
from indistinct.evaluation.attack.attack import require_time
from indistinct.frequencies.structure import Structure
from indistinct.job.policy.reading import read_policy
from indistinct.job.policy.value import Policy, Statement
from indistinct.job.policy.writing import policy_to_toml
from indistinct.job.published import published
from indistinct.recoding.outputs import MAIN
from indistinct.release.certificate import SMALLEST, check_smallest
from indistinct.release.opening import belongs_to, read_certificate
from indistinct.release.pseudonyms.making import Pseudonym
from indistinct.release.published import Knowledge, Published, describe_release
from indistinct.release.release import Release
from indistinct.release.verification.evidence import appearance_of
from indistinct.release.writing.staging import digest_of
from indistinct.schema import Schema
from indistinct.tables import open_table

STAR = "*"


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Options of a report.

    `workload` are queries to compare, and `target` is a column to learn by `classifiers`. Attacks take up to `seconds`,
    and `seed` fixes their random draws; `attacks` are outcomes of earlier attacks, as JSON. Counts below
    `smallest_count` are hidden from external readers. The verdict compares the release with a `profile`.
    """

    workload: Any = None
    target: str | None = None
    classifiers: Sequence[str] | None = None
    seconds: float = 6.0
    seed: int | None = None
    smallest_count: int | None = None
    attacks: Mapping[str, Any] | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A release with what is known about it, the policy with statements of people, and its path.

    `declared` are the declared pseudonyms, with their keys and options, and `transformations_known` says whether the
    masking of columns was declared, so that all others are known to be unmasked.
    """

    published: Published
    policy: Policy | None = None
    questions: Questions = field(default_factory=Questions)
    declared: Mapping[str, Pseudonym] | Sequence[str] = ()
    transformations_known: bool = True
    written: Path | None = None

    @property
    def schema(self) -> Schema:
        """The roles of the columns of the original."""
        return self.published.schema

    @property
    def release(self) -> Release | None:
        """The release, if it was made in this process."""
        return self.published.release

    @property
    def path(self) -> Path | None:
        """The path of the release, if it is a file."""
        return self.published.path if self.release is None else self.written

    @property
    def file_certificate(self) -> Mapping[str, Any]:
        """The certificate next to the file, empty if there is none."""
        if self.release is None:
            return self.published.certificate
        return self.published.once("certificate of the file", lambda: _read_own_certificate(self.written))

    @property
    def statement(self) -> Statement:
        """The statements of people about the release."""
        return Statement() if self.policy is None else self.policy.about

    @property
    def profile(self) -> Profile | None:
        """The profile with which the release is compared: as given, or as stated in the policy."""
        named = self.questions.profile or self.statement.profile
        return None if named is None else parse_profile(named)

    @property
    def smallest(self) -> int:
        """Counts below this are hidden from external readers."""
        named = None if self.policy is None else self.policy.output.smallest_count
        return next(each for each in (self.questions.smallest_count, named, SMALLEST) if each is not None)

    @property
    def pseudonyms(self) -> Mapping[str, str]:
        """The columns with pseudonyms, and the kind of each."""
        columns = self.published.main.columns
        named = {name: kind for name, kind in self.published.pseudonyms.items() if name in columns}
        return self.published.certificate.get("pseudonyms") or named

    @property
    def applied(self) -> bool:
        """Whether a stored recoding made the release, so that there was no search for this table."""
        certificate = self.published.certificate
        return bool(certificate.get("recoding_digest")) and not certificate.get("algorithm")

    @property
    def transformations(self) -> Mapping[str, str]:
        """The masking of columns that are not generalized, as written in flags."""
        return {name: each.spec() for name, each in self.published.transformations.items()}

    @property
    def structure(self) -> Structure:
        """Whether the release is in classes or in buckets, and what follows of that."""
        return self.published.structure

    @property
    def data(self) -> pa.Table:
        """The published table, in memory."""
        return self.published.once("data", lambda: open_table(self.published.main, published=True).data)

    def stars(self, name: str) -> int:
        """Return how many cells of a column are published as `*`."""
        data = self.data
        if name not in data.column_names:
            return 0
        column = data[name]
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        text = pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)
        return int(pc.sum(pc.equal(plain, STAR)).as_py() or 0) if text else 0

    def notes(self, notes: Sequence[str], roles: Schema) -> list[str]:
        """Return the notes of an assessment; it takes pseudonyms for identifiers that were not removed."""
        if not self.pseudonyms:
            return list(notes)
        tables = {MAIN: self.published.columns}
        taken = appearance_of(roles, tables, self.structure).warnings
        known = appearance_of(self.schema, tables, self.structure, pseudonyms=tuple(self.pseudonyms)).warnings
        return [*known, *(note for note in notes if note not in taken)]

    def schema_digest(self) -> str:
        """Return the SHA-256 of the columns and roles of the original, in order."""
        roles = [[name, str(self.schema.role(name))] for name in self.schema.columns]
        return hashlib.sha256(json.dumps(roles).encode()).hexdigest()


def subject_of(
    release: Any,
    schema: Schema | None,
    policy: Policy | None,
    questions: Questions,
    *,
    written: Path | None,
    **known: Unpack[Knowledge],
) -> Subject:
    """Return the subject of a report; raise `InputError` for the certificate of another file.

    For a published table, the settings of the policy count as known; for a release made here, or already described,
    only its statements are used.
    """
    if questions.smallest_count is not None:
        check_smallest(questions.smallest_count)
    require_time(questions.seconds)
    described = isinstance(release, Release | Published)
    given = describe_release(release, **known) if described else published(release, schema, policy=policy, **known)
    if given.foreign_certificate:
        raise InputError(
            f"the certificate next to {given.path} is that of another file",
            hint="give the release as it was written, with its own certificate, or move the certificate away",
        )
    certified = given.certificate.get("pseudonyms")
    if certified and not given.pseudonyms:
        given = describe_release(given, pseudonyms=tuple(certified))
    declared = known.get("pseudonyms") or ({} if policy is None else policy.declared_pseudonyms)
    stated = described or policy is not None or given.recoding is not None or known.get("transformations") is not None
    return Subject(given, policy, questions, declared, stated, written)


def _read_own_certificate(path: Path | None) -> Mapping[str, Any]:
    """Return the certificate of a file, empty if there is none of its own."""
    certificate = None if path is None or not path.is_file() else read_certificate(path)
    return certificate if certificate is not None and path is not None and belongs_to(certificate, path) else {}


def policy_of(policy: Policy | str | Path | None) -> tuple[Policy | None, str | None]:
    """Return a policy and the SHA-256 of its file, or of its text if it has no file."""
    if policy is None:
        return None, None
    if isinstance(policy, Policy):
        return policy, hashlib.sha256(policy_to_toml(policy).encode()).hexdigest()
    return read_policy(policy), digest_of(Path(policy))


def file_name_of(subject: Subject) -> str | None:
    """Return the name of the file of a release."""
    if subject.path is None or isinstance(subject.published.main, DatabaseTable):
        return None
    return subject.path.name
