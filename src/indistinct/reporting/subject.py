"""What a report is about: a release, ours or from anywhere, and everything that is known beside it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm
from indistinct.api import transform
from indistinct.attacking import require_time
from indistinct.engines import open_source
from indistinct.engines.base import DatabaseTable, Source
from indistinct.errors import IndistinctError, InputError, ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct.models.base import Model
from indistinct.policy.reading import read_policy
from indistinct.policy.value import Policy, Statement
from indistinct.policy.writing import policy_to_toml
from indistinct.promise import promised_model
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import MAIN, SENSITIVE
from indistinct.registry import parse_algorithm, parse_model
from indistinct.release.columns import appearance_of, published_schema
from indistinct.release.pseudonym_columns import Pseudonym, kinds_of
from indistinct.release.published import BucketTable, Published, belongs_to, open_published, read_certificate
from indistinct.release.reading import read_release
from indistinct.release.release import Release
from indistinct.release.small_counts import SMALLEST, check_smallest
from indistinct.release.staging import digest_of
from indistinct.release.transformed import not_shown
from indistinct.schema import Schema, require_schema
from indistinct.tables import open_table
from indistinct.transformations import Transformation, check_transformations, kept_hierarchies

STAR = "*"


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """What a caller knows beside a release; everything may be left out.

    `policy` gives roles, model, hierarchies, algorithm, transformations, pseudonyms and what people state. `original`
    and `population` are tables, as they are. `workload` are queries to compare, and `target` a column to learn. Attacks
    take up to `seconds`, and `seed` fixes what they draw at random. `path` is where a release of ours was written.
    """

    policy: Policy | None = None
    model: Model | str | None = None
    algorithm: Algorithm | str | None = None
    hierarchies: Mapping[str, Hierarchy] | None = None
    transformations: Mapping[str, Transformation] | None = None
    pseudonyms: Mapping[str, Pseudonym] | Sequence[str] = ()
    original: Any = None
    population: Any = None
    recoding: Recoding | None = None
    workload: Any = None
    target: str | None = None
    classifiers: Sequence[str] | None = None
    seconds: float = 6.0
    seed: int | None = None
    smallest_count: int | None = None
    path: Path | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A release that is opened, with its roles, its promise and where it came from.

    `table` is what readers have: the published table alone, or a `BucketTable`. `release` is there where we made it,
    and `path` where it is a file. `changes` are the transformations of the release, of which it does not show those of
    the columns `not_changed`; `original` is transformed as the release is, and `given` is as it was.
    """

    table: Any
    opened: Published
    schema: Schema
    model: Model | None
    algorithm: Algorithm | None
    hierarchies: Mapping[str, Hierarchy]
    beside: Beside
    original: Source | None = None
    release: Release | None = None
    path: Path | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    given: Source | None = None
    changes: Mapping[str, Transformation] = field(default_factory=dict)
    not_changed: frozenset[str] = frozenset()

    @property
    def policy(self) -> Policy | None:
        """The policy, if there is one."""
        return self.beside.policy

    @property
    def statement(self) -> Statement:
        """What people state about the release."""
        return Statement() if self.policy is None else self.policy.about

    @property
    def smallest(self) -> int:
        """Counts below this are hidden from readers of the data."""
        named = None if self.policy is None else self.policy.output.smallest_count
        return next(each for each in (self.beside.smallest_count, named, SMALLEST) if each is not None)

    @property
    def asked(self) -> Any:
        """What the public functions take: the release where we made it, else the published table."""
        return self.table if self.release is None else self.release

    @property
    def pseudonyms(self) -> Mapping[str, str]:
        """Columns that are shown as pseudonyms, and of which kind these are."""
        made = None if self.release is None else self.release.certificate.pseudonyms
        shown = self.opened.sources[MAIN].columns
        declared = {name: kind for name, kind in kinds_of(self.declared, self.schema).items() if name in shown}
        return made or self.told.get("pseudonyms") or declared

    @property
    def declared(self) -> Mapping[str, Pseudonym] | Sequence[str]:
        """The pseudonyms that the release is said to show."""
        return self.beside.pseudonyms or ({} if self.policy is None else self.policy.pseudonyms)

    @property
    def shows_people(self) -> bool:
        """Whether everybody has a pseudonym, by which people are counted where there is no original."""
        person, shown = self.schema.person, self.opened.sources[MAIN].columns
        return bool(person) and all(name in self.declared and name in shown for name in person)

    @property
    def recoding(self) -> Recoding | None:
        """How the release was made, where that is known."""
        return self.beside.recoding if self.release is None else self.release.recoding

    @property
    def applied(self) -> bool:
        """Whether a stored recoding made the release, so that nothing was searched for this table."""
        told = self.told if self.release is None else self.release.certificate.to_json()
        return bool(told.get("recoding_digest")) and not told.get("algorithm")

    @property
    def made_by(self) -> Algorithm | None:
        """The algorithm that made the release, as it is given or as the certificate beside the file tells it."""
        given = self.algorithm
        if given is not None and given.name != Auto.name:
            return given
        return _found_by(self.told.get("algorithm"))

    @property
    def transformations(self) -> Mapping[str, str]:
        """What is published of columns that are not recoded, as flags spell it."""
        return {name: each.spec() for name, each in self.changes.items()}

    @property
    def tells_transformations(self) -> bool:
        """Whether it is known which columns were transformed, and so which were not."""
        return self.policy is not None or self.recoding is not None or self.beside.transformations is not None

    @property
    def in_buckets(self) -> bool:
        """Whether links are broken inside buckets."""
        return self.opened.buckets is not None

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that the release shows, in all of its tables."""
        return tuple(name for source in self.opened.sources.values() for name in source.columns)

    @property
    def roles(self) -> Schema:
        """The roles of the columns that the release shows."""
        return published_schema(self.schema, self.shown)

    @property
    def data(self) -> pa.Table:
        """The published table, in memory."""
        return open_table(self.opened.sources[MAIN], published=True).data

    def stars(self, name: str) -> int:
        """Return how many cells of a column are published as a star."""
        data = self.data
        if name not in data.column_names:
            return 0
        column = data[name]
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        text = pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)
        return int(pc.sum(pc.equal(plain, STAR)).as_py() or 0) if text else 0

    def notes(self, told: Sequence[str], roles: Schema) -> list[str]:
        """Return the notes of an assessment by some roles; it takes pseudonyms for identifiers that were left."""
        if not self.pseudonyms:
            return list(told)
        tables, buckets = {MAIN: self.shown}, self.opened.buckets
        taken = appearance_of(roles, tables, buckets).warnings
        known = appearance_of(self.schema, tables, buckets, pseudonyms=tuple(self.pseudonyms)).warnings
        return [*known, *(note for note in told if note not in taken)]

    def schema_digest(self) -> str:
        """Return the SHA-256 of the columns and roles of the original, in their order."""
        roles = [[name, str(self.schema.role(name))] for name in self.schema.columns]
        return hashlib.sha256(json.dumps(roles).encode()).hexdigest()


def subject_of(release: Any, schema: Schema | None, beside: Beside) -> Subject:
    """Open a release and check that what is given with it fits; raise `InputError` for a foreign certificate."""
    if beside.smallest_count is not None:
        check_smallest(beside.smallest_count)
    require_time(beside.seconds)
    if isinstance(release, Release):
        return _ours(release, beside)
    policy = beside.policy
    roles = schema or (None if policy is None else policy.schema)
    if roles is None:
        raise ParameterError("the roles of the columns are not known", hint="pass schema=… or policy=…")
    require_schema(roles)
    algorithm = _algorithm(beside)
    table = release
    if isinstance(release, str | Path) and algorithm is not None:
        table = read_release(Path(release), roles, algorithm=algorithm)
    opened = open_published(table, roles)
    told = None if opened.path is None else read_certificate(opened.path)
    if opened.path is not None and not belongs_to(told, opened.path, apart=opened.apart):
        raise InputError(
            f"the certificate beside {opened.path} is that of another file",
            hint="give the release as it was written, with its own certificate, or move the certificate away",
        )
    declared = {**({} if policy is None else policy.hierarchies), **(beside.hierarchies or {})}
    changes = _changes(beside, roles, declared)
    given = None if beside.original is None else open_source(beside.original)[1]
    strange = not_shown(opened, changes)
    original, known = _compared(given, changes, roles, declared, strange=strange)
    model, says = _model(beside, algorithm, roles, told), told or {}
    made = Subject(table, opened, roles, model, algorithm, known, beside, original, None, opened.path, says, given)
    return replace(made, changes=changes, not_changed=strange)


def _compared(
    given: Source | None,
    changes: Mapping[str, Transformation],
    schema: Schema,
    declared: Mapping[str, Hierarchy],
    *,
    strange: frozenset[str] = frozenset(),
) -> tuple[Source | None, Mapping[str, Hierarchy]]:
    """Return the original with its columns transformed as in the release, and the hierarchies that still hold."""
    kept = kept_hierarchies(declared, changes)
    if given is None or not changes:
        return given, kept
    present = {name: each for name, each in changes.items() if name in given.columns and name not in strange}
    return transform(given, schema, present, hierarchies=declared), kept


def _changes(beside: Beside, schema: Schema, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Transformation]:
    """Return how columns of a release were transformed, as is said here, or as policy and recoding say."""
    known = {} if beside.policy is None else dict(beside.policy.transformations)
    made = {**known, **((beside.recoding and beside.recoding.transformations) or {})}
    return check_transformations(beside.transformations or made, schema, hierarchies)


def _ours(release: Release, beside: Beside) -> Subject:
    table: Any = release.table
    if release.buckets is not None:
        buckets, second = release.buckets, release.others.get(SENSITIVE)
        table = BucketTable(release.table, buckets.slices, buckets.form, second, buckets.generalized)
    algorithm = _algorithm(beside) or _found_by(release.certificate.algorithm)
    declared = {**release.hierarchies, **(beside.hierarchies or {})}
    given = None if beside.original is None else open_source(beside.original)[1]
    changes = release.recoding.transformations or {}
    original, known = _compared(given, changes, release.check.schema, declared)
    opened, check = open_published(table, release.check.schema), release.check
    told = _beside_file(beside.path)
    roles, model, path = check.schema, check.model, beside.path
    made = Subject(table, opened, roles, model, algorithm, known, beside, original, release, path, told, given)
    return replace(made, changes=changes)


def _beside_file(path: Path | None) -> Mapping[str, Any]:
    """Return the certificate of a file that was written, nothing where there is none of its own."""
    told = None if path is None or not path.is_file() else read_certificate(path)
    return told if told is not None and path is not None and belongs_to(told, path) else {}


def _found_by(named: str | None) -> Algorithm | None:
    """Return the algorithm that a certificate names; None where it needs something that is not there any more."""
    try:
        return None if named is None else parse_algorithm(named)
    except IndistinctError:  # a workload that was made in Python, or a file elsewhere
        return None


def _algorithm(beside: Beside) -> Algorithm | None:
    named = beside.algorithm
    if named is None:
        return None if beside.policy is None else beside.policy.algorithm
    return parse_algorithm(named) if isinstance(named, str) else named


def _model(beside: Beside, algorithm: Algorithm | None, schema: Schema, told: Mapping[str, Any] | None) -> Model | None:
    """Return what the release must keep: as is said here, by the policy or the algorithm, or by the certificate."""
    given = parse_model(beside.model) if isinstance(beside.model, str) else beside.model
    if given is None and beside.policy is not None:
        given = beside.policy.model
    if given is not None or (algorithm is not None and algorithm.promise() is not None):
        return promised_model(given, algorithm or Auto(), schema)
    return None


def policy_of(policy: Policy | str | Path | None) -> tuple[Policy | None, str | None]:
    """Return a policy, and the SHA-256 of its file, or of the text that it would be."""
    if policy is None:
        return None, None
    if isinstance(policy, Policy):
        return policy, hashlib.sha256(policy_to_toml(policy).encode()).hexdigest()
    return read_policy(policy), digest_of(Path(policy))


def place_of(subject: Subject) -> str | None:
    """Return the name of the file that a release lies in."""
    source = subject.opened.sources[MAIN]
    return None if subject.path is None or isinstance(source, DatabaseTable) else subject.path.name
