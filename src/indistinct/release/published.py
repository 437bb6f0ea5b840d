"""A described release: its tables, and everything else that the caller gave.

A `Published` is what every question about a release begins with. It opens tables, transforms the original as the
release was and counts each thing once, on any engine; models, attacks and metrics judge. No other module opens
originals.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines import chosen_engine, memory_engine, open_source
from indistinct.engines.base import DatabaseTable, PublishedFile, Source
from indistinct.engines.groups import ValueGroups, groups_of
from indistinct.errors import IndistinctError, ParameterError
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.encode import Encoded
from indistinct.frequencies.structure import Buckets, Structure
from indistinct.hierarchy.value import Hierarchy
from indistinct.models.base import Model
from indistinct.models.registry import MODELS, all_of, parse_model
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.storage import read_recoding
from indistinct.recoding.transformations import Transformation, check_transformations, kept_hierarchies
from indistinct.release.certificate import table_path
from indistinct.release.opening import (
    BucketTable,
    OpenedTables,
    belongs_to,
    certificate_of,
    open_release,
)
from indistinct.release.promise import judging, promised_model, reading_again
from indistinct.release.pseudonyms.making import Pseudonym, kinds_of
from indistinct.release.release import Release
from indistinct.release.verification.check import not_shown, transformed_alike
from indistinct.release.verification.evidence import published_schema
from indistinct.release.views import encoded_original, view_of
from indistinct.release.writing.places import FilePlace, WrittenTables
from indistinct.schema import Schema, require_schema
from indistinct.suppression_limit import NO_BUDGET, AnyBudget, Budget, parse_budget
from indistinct.tables.frames import is_frame
from indistinct.tables.opening import open_table
from indistinct.tables.value import Reading
from indistinct.view.value import View

Value = TypeVar("Value")
NO_SCHEMA = "the roles of the columns are not known"


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A release with everything known about how it was made.

    `published` returns it, and `verify`, `assess`, `attack`, `measure`, `query` and `report` take it. It counts when
    asked, and never judges.

    `schema` has the roles in the original. `raw` is the original before masking; `original` is masked like the release.
    `certificate` is that of the file, or the release's own, as JSON; one of another file is a `foreign_certificate` and
    is not used. `form_by_certificate`: only the certificate shows that the file is in buckets. `hierarchies` are those
    of the labels and of sensitive values. `model` and `algorithm` are as the caller stated them. `release` is the
    release if it was made in this process, and `sums` are the metrics of one that was made part by part. `suppression`
    is the suppression limit, and `population` the table from which the original was drawn.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> original = pa.table({"age": [21, 22, 41, 42]})
    >>> table = pa.table({"age": ["20-29", "20-29", "40-49", "40-49"]})
    >>> ages = {"age": ind.Hierarchy.intervals([10])}
    >>> release = ind.published(table, ind.Schema(quasi=["age"]), original=original, hierarchies=ages)
    >>> release.roles.quasi, ind.measure(release, ["discernibility"])["discernibility"]
    (('age',), 8.0)
    """

    tables: OpenedTables
    schema: Schema
    certificate: Mapping[str, Any] = field(default_factory=dict)
    foreign_certificate: bool = False
    raw: Source | None = None
    model: Model | None = None
    algorithm: Algorithm | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    recoding: Recoding | None = None
    transformations: Mapping[str, Transformation] = field(default_factory=dict)
    pseudonyms: Mapping[str, str] = field(default_factory=dict)
    suppression: Budget = NO_BUDGET
    population: Any = None
    release: Release | None = None
    sums: Mapping[str, float] = field(default_factory=dict)
    form_by_certificate: bool = False
    engine: str = "auto"
    memory: str | int | None = None
    learned: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, compute: Callable[[], Value]) -> Value:
        """Compute a value on the first call and return the stored one afterwards."""
        if name not in self.learned:
            self.learned[name] = compute()
        value: Value = self.learned[name]
        return value

    @property
    def main(self) -> Source:
        """The published table; of a release in several tables, the first."""
        return self.tables.main

    @property
    def buckets(self) -> Buckets | None:
        """How the release shows its buckets, None where it is in classes."""
        return self.structure.buckets

    @property
    def structure(self) -> Structure:
        """Whether the release is in classes or in buckets, and what follows of that."""
        return self.tables.structure

    @property
    def recoded(self) -> tuple[str, ...]:
        """The recoded columns: quasi-identifiers, or those generalized before bucketization."""
        return self.structure.recoded(self.schema)

    @property
    def path(self) -> Path | None:
        """The path of the release, if it is a file."""
        return self.tables.path

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the release shows, in all of its tables."""
        return tuple(name for source in self.tables.sources.values() for name in source.columns)

    @property
    def roles(self) -> Schema:
        """The roles of the columns that the release shows."""
        return published_schema(self.schema, self.columns)

    @property
    def original(self) -> Source | None:
        """The original with its columns transformed as in the release, None where it is not known."""
        return None if self.raw is None else self._transformed[0]

    @property
    def changes(self) -> Mapping[str, Transformation]:
        """The transformations of the release, with what they learned of the original where that is known."""
        return self.transformations if self.raw is None else self._transformed[1]

    @property
    def _transformed(self) -> tuple[Source, Mapping[str, Transformation]]:
        """Return the original masked as in the release, with the masking used."""
        raw = self.raw
        assert raw is not None  # noqa: S101  (asked by the properties)
        return self.once("original", lambda: transformed_alike(raw, self.transformations, release=self.tables))

    @property
    def untransformed(self) -> frozenset[str]:
        """The columns that do not show their declared transformations."""
        return self.once("untransformed", lambda: not_shown(self.tables, self.changes))

    @property
    def used_hierarchies(self) -> Mapping[str, Hierarchy]:
        """The hierarchies of columns that were not transformed: a transformed one has other values."""
        return kept_hierarchies(self.hierarchies, self.transformations)

    @property
    def promise(self) -> Model | None:
        """The privacy guarantee: the given model, that of the recoding, or those of the certificate."""
        return self.once("promise", self._find_promise)

    def _find_promise(self) -> Model | None:
        """Return the guarantee: the given model, that of the recoding, or those of the certificate."""
        if self.release is not None and self.model is self.release.check.model:
            return self.model
        if self.algorithm is not None and (self.model is not None or self.algorithm.promise() is not None):
            return promised_model(self.model, self.algorithm, self.schema)
        if self.model is not None:
            return judging(self.model, self.schema)
        named = [self.recoding.promise] if self.recoding is not None and self.recoding.promise else []
        verdicts = self.certificate.get("verdicts")
        if not named and isinstance(verdicts, list):
            specs = (each.get("model") for each in verdicts if isinstance(each, dict))
            named = [spec for spec in specs if isinstance(spec, str) and spec.partition(":")[0] in MODELS]
        try:
            parts = [judging(each, self.schema) for each in named]
        except IndistinctError:  # a model that needs what is not here any more
            return None
        return all_of(parts) if parts else None

    @property
    def made_by(self) -> Algorithm | None:
        """The algorithm that made the release: as the caller states, or else as the certificate does."""
        return self.algorithm or self.certified_algorithm

    @property
    def certified_algorithm(self) -> Algorithm | None:
        """The algorithm that the certificate names; None where an existing recoding was applied."""
        return _parse_or_none(self.certificate.get("algorithm"))

    @property
    def k(self) -> int:
        """The guaranteed minimum class size, 1 without a guarantee."""
        return 1 if self.promise is None else self.promise.smallest

    def groups(self, columns: Sequence[str]) -> ValueGroups:
        """Return the distinct combinations of some published columns with their rows, counted once."""
        return self.once(f"groups of {tuple(columns)}", lambda: groups_of(self.main, columns))

    def values_of_original(self, verb: str) -> Mapping[str, Encoded]:
        """Return the original's columns in codes, encoded once; raise where it is not known."""
        return self.once("values of the original", lambda: self._encode_original(verb))

    def _encode_original(self, verb: str) -> Mapping[str, Encoded]:
        whole = open_table(self.require_original(verb)).data
        return encoded_original(whole, self.schema, hierarchies=self.used_hierarchies)

    def view(self, verb: str) -> View:
        """Return the published values over those of the original; raise if they are not known."""
        return self.once("view", lambda: self._view(self.values_of_original(verb)))

    def _view(self, columns: Mapping[str, Encoded]) -> View:
        domains = {name: column.domain for name, column in columns.items()}
        return view_of(self.tables, self.schema, domains=domains, hierarchies=self.used_hierarchies)

    def cells_of_original(self, verb: str) -> Counted:
        """Return the cells of the original, counted once; raise where it is not known."""
        return self.once("cells of the original", lambda: self._count_original(verb))

    def _count_original(self, verb: str) -> Counted:
        engine, whole = open_source(self.require_original(verb), memory=self.memory)
        counted = engine.count(whole, Request(self.schema.quasi, (), self.used_hierarchies))
        return replace(counted, row_index=None)

    def require_original(self, verb: str) -> Source:
        """Return the original, transformed; raise where it is not known."""
        if self.original is None:
            raise ParameterError(
                f"{verb} compares a release with its original, which is not known",
                hint="pass original=… (--original), the table before it was published, as it was",
            )
        return self.original


class Making(TypedDict, total=False):
    """How a release was made and is read; what is left out comes from the release or its certificate."""

    algorithm: Algorithm | str | None
    hierarchies: Mapping[str, Hierarchy] | None
    recoding: Recoding | str | Path | None
    transformations: Mapping[str, Transformation] | None
    pseudonyms: Mapping[str, Pseudonym] | Sequence[str]
    suppression: AnyBudget | None
    population: Any
    reading: Reading | None
    engine: str
    memory: str | int | None
    database_table: str | None


class Beside(Making, total=False):
    """Facts about a release that may be given, without its original."""

    model: Model | str | None


class Knowledge(Beside, total=False):
    """Facts about a release that may be given, with its unmodified original."""

    original: Any


def describe_release(
    release: Any, schema: Schema | None = None, *, trusting: bool = True, **known: Unpack[Knowledge]
) -> Published:
    """Describe a release made here or by another tool, with the known facts about it.

    `release` is a `Release`, a path, a table, a `BucketTable`, or a `Published`, to which `known` is added. The
    certificate next to a file is trusted with whether the file is in buckets, but for a verifier, who is not
    `trusting`: it may have been forged to have raw rows judged by their buckets.
    """
    if isinstance(release, Published):
        if release.form_by_certificate and not trusting:
            raise ParameterError(
                "only the certificate next to the file says that the file is in buckets, and a check does not trust it",
                hint="name the algorithm that made it: algorithm=… (--algorithm)",
            )
        return _add(release, known)
    if isinstance(release, Release):
        return _add(_of_release(release), known)
    _require_release(release)
    if schema is None:
        raise ParameterError(NO_SCHEMA, hint="pass schema=… or policy=…")
    require_schema(schema)
    algorithm = _parse(known.get("algorithm"), parse_algorithm)
    where: dict[str, Any] = {"engine": known.get("engine") or "auto", "memory": known.get("memory")}
    where["table"] = known.get("database_table")
    tables = open_release(release, schema, algorithm, known.get("reading"), where, by_certificate=trusting)
    certificate, foreign = _read_certificate(tables)
    bare = Published(
        tables,
        schema,
        {} if foreign else certificate,
        foreign_certificate=foreign,
        form_by_certificate=tables.only_certified,
        engine=str(where["engine"]),
        memory=known.get("memory"),
    )
    return _add(bare, known)


def _require_release(value: Any) -> None:
    """Raise for what cannot be opened, before its roles are asked for."""
    several = isinstance(value, list | tuple) and bool(value) and all(isinstance(each, str | Path) for each in value)
    named = isinstance(value, str | Path | DatabaseTable | BucketTable) or several
    if not named and not is_frame(value) and not hasattr(value, "columns"):
        raise ParameterError(
            f"a release is a Release, a path, a table or a BucketTable; got {type(value).__name__}",
            hint="give what `anonymize` returned, the path of a published file, or a frame",
        )


def is_release(value: Any) -> bool:
    """Return whether a value says by itself that it is a release."""
    return isinstance(value, Release | Published | BucketTable)


def _of_release(release: Release) -> Published:
    # Of a release that was made part by part no more is known than its file shows, and the metrics that add up.
    """Describe a release made by this process."""
    made = release.check.assignment is not None
    return Published(
        published_tables(release.tables, release.structure),
        release.check.schema,
        release.certificate.to_json(),
        model=release.check.model,
        hierarchies=release.hierarchies,
        recoding=release.recoding if made else None,
        transformations=release.recoding.transformations or {},
        pseudonyms=release.certificate.pseudonyms,
        suppression=release.recoding.budget,
        release=release if made else None,
        sums=release.sums,
    )


def _add(published: Published, known: Knowledge) -> Published:
    """Return a release with further knowledge; None leaves a field unchanged."""
    if not any(map(is_given, known.values())):
        return published
    recoding = _parse(known.get("recoding"), read_recoding, paths=True) or published.recoding
    hierarchies = {
        **published.hierarchies,
        **(known.get("hierarchies") or {}),
        **({} if recoding is None else recoding.hierarchies),
    }
    changes = known.get("transformations")
    if not changes:
        changes = (recoding.transformations if recoding is not None else None) or published.transformations
    engine, memory = known.get("engine") or published.engine, known.get("memory") or published.memory
    raw, tables, original = published.raw, published.tables, known.get("original")
    if original is not None:
        again = None if recoding is None else reading_again(recoding)
        where, raw = open_source(original, again, engine=engine, memory=memory)
        tables = tables.without_guard((where, raw))
    pseudonyms, dropped = known.get("pseudonyms") or (), known.get("suppression")
    budget = published.suppression if recoding is None else recoding.budget
    return replace(
        published,
        tables=tables,
        raw=raw,
        model=_parse(known.get("model"), parse_model) or published.model,
        algorithm=_named_algorithm(known) or published.algorithm,
        hierarchies=hierarchies,
        recoding=recoding,
        transformations=check_transformations(changes, published.schema, hierarchies),
        pseudonyms=kinds_of(pseudonyms, published.schema) if pseudonyms else published.pseudonyms,
        suppression=budget if dropped is None else parse_budget(dropped),
        population=published.population if known.get("population") is None else known.get("population"),
        engine=engine,
        memory=memory,
        learned={},
    )


def is_given(value: Any) -> bool:
    """Return whether a value was given: None and an empty collection say nothing."""
    return value is not None and not (isinstance(value, tuple | list | dict) and not value)


def _read_certificate(tables: OpenedTables) -> tuple[Mapping[str, Any], bool]:
    """Return the certificate of opened tables, empty if there is none, and whether it belongs to another file."""
    certificate = certificate_of(tables) or {}
    foreign = tables.path is not None and not belongs_to(certificate or None, tables.path, apart=tables.apart)
    return certificate, foreign


def _named_algorithm(known: Knowledge) -> Algorithm | None:
    """Return the algorithm that is named; one that chooses among others does not say which it was."""
    named = _parse(known.get("algorithm"), parse_algorithm)
    return None if named is not None and named.chooses else named


def _parse(given: Any, parse: Callable[[Any], Value], *, paths: bool = False) -> Value | None:
    text = isinstance(given, str | Path) if paths else isinstance(given, str)
    return parse(given) if text else given


def _parse_or_none(named: Any) -> Algorithm | None:
    """Return the algorithm that a certificate names; None where it needs something that is not there any more."""
    try:
        return parse_algorithm(named) if isinstance(named, str) else None
    except IndistinctError:  # a workload that was made in Python, or a file elsewhere
        return None


@dataclass(frozen=True, slots=True, eq=False)
class SourcesOnDemand(Mapping[str, Source]):
    """Sources by name, each opened when it is first used."""

    names: tuple[str, ...]
    open_one: Callable[[str], Source]
    opened: dict[str, Source]

    def __getitem__(self, name: str) -> Source:
        if name not in self.names:
            raise KeyError(name)
        if name not in self.opened:
            self.opened[name] = self.open_one(name)
        return self.opened[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def published_tables(tables: Mapping[str, pa.Table], structure: Structure) -> OpenedTables:
    """Return the tables of a release that was made here, each opened when it is first used.

    Written files that are too large for memory are read where they lie; all others are in memory.
    """
    engine = memory_engine()
    open_one: Callable[[str], Source] = partial(_open_in_memory, tables)
    if isinstance(tables, WrittenTables) and isinstance(tables.place, FilePlace):
        where = chosen_engine(tables.place.path)
        if where.name != engine.name:
            engine, open_one = where, partial(_open_written, tables.place, where.name)
    return OpenedTables(engine, SourcesOnDemand(tuple(tables), open_one, {}), structure)


def _open_in_memory(tables: Mapping[str, pa.Table], name: str) -> Source:
    return open_source(tables[name])[1]


def _open_written(place: FilePlace, engine: str, name: str) -> Source:
    return open_source(PublishedFile(table_path(place.path, name)), engine=engine)[1]
