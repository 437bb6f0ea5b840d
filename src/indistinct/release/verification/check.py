"""How a release is checked: its published tables are counted again, and a model judges what was counted."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa

from indistinct.engines import memory_engine
from indistinct.engines.base import Engine, Source, transformed_source
from indistinct.engines.class_batches import judge_in_order
from indistinct.errors import InputError, SchemaError, VerificationError
from indistinct.figures import kind_of
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.structure import CLASSES, Buckets, Structure
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Mask
from indistinct.machine.stages import enter
from indistinct.machine.threads import both
from indistinct.models.base import Model
from indistinct.models.of_population import no_population
from indistinct.recoding.outputs import MAIN, Assignment, written_multiset
from indistinct.recoding.transformations import Transformation
from indistinct.recoding.transformed_values import may_come_of
from indistinct.release.certificate import About, Certificate, table_path
from indistinct.release.opening import OpenedTables
from indistinct.release.pseudonyms.linked import Linked, linked_rows
from indistinct.release.pseudonyms.making import are_pseudonyms, rows_are_unknown
from indistinct.release.verification.evidence import (
    Evidence,
    JudgedClasses,
    NotTransformed,
    RowComparison,
    appearance_of,
    columns_by_quasi,
    published_schema,
    require_columns,
    require_rows,
)
from indistinct.release.verification.in_buckets import EvidenceInBuckets
from indistinct.release.verification.population import CountedPopulation, population_by_class
from indistinct.release.verification.verify import AMBIGUOUS, LINKED, add_judged, judge_classes, verify
from indistinct.release.writing.files import StagedTables
from indistinct.release.writing.formats import is_text_file, read_as_written
from indistinct.release.writing.partitioned import check_partitioning
from indistinct.release.writing.staging import digest_of
from indistinct.schema import Schema
from indistinct.tables.value import Table
from indistinct.text_form import name_of
from indistinct.view.bucket_evidence import count_buckets

NOTHING = Counted((), FrequencySet((), np.zeros((0, 0), dtype=np.int32), Classes(np.zeros(0, dtype=np.int64))))
"""What is counted on a table without rows."""
UNLINK = (
    "nothing was written; leave the pseudonyms out, or give quasi-identifiers that differ between the rows of a person "
    "the role sensitive or insensitive, with a transformation"
)

LOG = logging.getLogger("indistinct.verify")
# Rows from which on the classes of a file that lists them in order are judged some at a time.
MANY_ROWS = 1 << 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Check:
    """What a release must satisfy, and what it is compared with.

    `schema` gives the roles in the original, `reference` what was counted there, and `assignment` what was meant to be
    published; the last two where they are known. `hierarchies` are those of columns that the model looks at, and
    `population` whom it compares with. `transformations` are those that the published columns must show, and `compared`
    says how their rows differ from the original's, where these were compared. `by_class` says that a file lists classes
    in the order of what they show, so that some are judged at a time. `later` gives the statements of the certificate
    once all rows are written, where that is not known before.
    """

    engine: Engine
    schema: Schema
    model: Model
    structure: Structure = CLASSES
    reference: Counted | None = None
    assignment: Assignment | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    about: About = field(default_factory=About)
    population: CountedPopulation | None = None
    transformations: Mapping[str, Transformation] = field(default_factory=dict)
    compared: RowComparison | None = None
    by_class: bool = False
    later: Callable[[], About] | None = None

    def __repr__(self) -> str:  # what is in it are original values
        return f"<Check of {self.model.name}>"

    @property
    def pseudonyms(self) -> tuple[str, ...]:
        """Return the identifiers that may be shown as pseudonyms."""
        return tuple(self.about.pseudonyms)

    def check_partitioning(self, columns: Sequence[str]) -> None:
        """Raise unless the names of folders may hold the values of some published columns."""
        check_partitioning(
            columns, self.schema, require_classes=self.structure.require_classes, pseudonyms=self.pseudonyms
        )

    def shows_people(self, columns: Sequence[str]) -> bool:
        """Return whether a table has pseudonyms of all people."""
        person = self.schema.person
        return bool(person) and all(name in columns and name in self.about.pseudonyms for name in person)

    def certify(
        self,
        sources: Mapping[str, Source],
        *,
        coarse: bool = False,
        about: About | None = None,
        foreign_certificate: bool = False,
        whole: Mapping[str, Source] | None = None,
    ) -> Certificate:
        """Verify published tables and return the certificate; `coarse` marks text files.

        `whole` has the tables with every column, where the others have those alone that the model looks at.
        """
        about, rows = about or self.about, sources[MAIN].rows
        if self.assignment is None:  # of nothing everything is true, but a release may suppress every row
            require_rows(rows)
        schema, evidence = self._evidence(sources, whole or sources, rows=rows, coarse=coarse)
        pseudonyms: tuple[str, ...] = ()
        if rows:
            pseudonyms, linked = self._linked(sources[MAIN], schema)
            strange = not_transformed(self.engine, whole or sources, self.transformations, structure=self.structure)
            evidence = replace(evidence, linked=linked, not_transformed=strange)
        evidence = replace(evidence, transformed=bool(self.transformations), compared=self.compared)
        columns = {name: source.columns for name, source in sources.items()}
        appearance = appearance_of(
            self.schema, columns, self.structure, pseudonyms=pseudonyms if rows else self.pseudonyms
        )
        appearance = replace(appearance, foreign_certificate=foreign_certificate)
        certificate = verify(evidence, self.model, schema=schema, appearance=appearance, about=about)
        _log(certificate)
        return certificate

    def certify_promise(
        self,
        sources: Mapping[str, Source],
        *,
        coarse: bool = False,
        about: About | None = None,
        whole: Mapping[str, Source] | None = None,
    ) -> Certificate:
        """Verify published tables; raise `VerificationError` unless all guarantees are satisfied."""
        certificate = self.certify(sources, coarse=coarse, about=about, whole=whole)
        if certificate.holds:
            return certificate
        broken = [verdict.model for verdict in certificate.verdicts if not verdict.holds]
        reasons = [warning for warning in certificate.warnings if kind_of(warning) in (AMBIGUOUS, LINKED)]
        raise VerificationError(
            f"the published table does not satisfy {', '.join(broken)}"
            + (f": {'; '.join(reasons)}" if reasons else ""),
            hint=UNLINK
            if any(kind_of(warning) == LINKED for warning in reasons)
            else "nothing was written; search a new recoding on this table, or ask for less",
            certificate=certificate,
        )

    def certify_tables(self, tables: Mapping[str, pa.Table]) -> Certificate:
        """Return the certificate of a release in memory."""
        return self.certify_sources(memory_engine(), {name: Table(table) for name, table in tables.items()})

    def where_tables_are(self, sources: Mapping[str, Source]) -> "Check":
        """Return the check that counts tables in memory if they are all there, by whichever engine they were made."""
        here = all(source.in_memory is not None for source in sources.values())
        return replace(self, engine=memory_engine()) if here else self

    def certify_sources(self, engine: Engine, sources: Mapping[str, Source]) -> Certificate:
        """Verify a release stored in an engine, which counts it."""
        about = self.about if self.later is None else self.later()
        return replace(self, engine=engine).certify_promise(sources, about=about)

    def certify_files(self, staged: StagedTables) -> Certificate:
        """Return the certificate of a release as it was written to files that have no name yet."""
        files = staged.names
        digests = {name: each.digest for name, each in files.items()}
        others = {name: digest for name, digest in digests.items() if name != MAIN}
        current = self.about if self.later is None else self.later()
        warnings = (*current.warnings, *staged.warnings)
        about = replace(current, output_digest=digests[MAIN], other_digests=others, warnings=warnings)
        sources = {name: self._read_back(staged, name) for name in files}
        enter("verifying")
        judge = self.where_tables_are(sources)
        coarse = is_text_file(staged.path)
        whole = {name: Table(table) for name, table in staged.tables.items()} or None
        certificate, comparison = both(
            lambda: judge.certify_promise(sources, coarse=coarse, about=about, whole=whole),
            lambda: {name: digest_of(each.temporary) for name, each in files.items()},
        )
        if comparison != digests:
            raise VerificationError(
                f"{staged.path} does not hold what was written to it", hint="nothing was published; check the disk"
            )
        return certificate

    def _read_back(self, staged: StagedTables, name: str) -> Source:
        """Return a table as it was written: where the engine reads it back, or in memory."""
        file, target, schema = staged.names[name].temporary, table_path(staged.path, name), staged.schemas[name]
        if name in staged.tables:  # other columns are looked at there
            return read_as_written(file, target, self._needed(name), schema, staged.writing)
        if staged.writing.plain or not is_text_file(target):
            source = self.engine.written(file, name=target, schema=schema)
            if source is not None:
                return source
        return read_as_written(file, target, schema.names, schema, staged.writing)

    def _needed(self, name: str) -> list[str]:
        """Return the columns of a table that the check looks at."""
        if self.assignment is None:
            raise AssertionError("only a release that was made here is read as it was written")
        layout = self.assignment.layout
        every = list(layout.tables[name].names)
        if not layout.structure.whole_rows:
            return every
        wanted = {*layout.schema.quasi, *self.pseudonyms, *(column for key in self.model.keys for column in key)}
        return [column for column in every if column in wanted]

    def _evidence(
        self, sources: Mapping[str, Source], whole: Mapping[str, Source], *, rows: int, coarse: bool
    ) -> tuple[Schema, Evidence]:
        """Return the roles of the published columns, and what was counted; `whole` tables have every column."""
        buckets = self.structure.buckets
        if buckets is not None:
            return self.schema, self._bucket_evidence(sources, buckets, rows=rows, coarse=coarse)
        schema, evidence = self._class_evidence(sources[MAIN], rows=rows, coarse=coarse)
        return schema, replace(evidence, alone=self._alone(schema, whole[MAIN])) if rows else evidence

    def _class_evidence(self, main: Source, *, rows: int, coarse: bool) -> tuple[Schema, Evidence]:
        """Count the classes of a published table, and combine them with the known facts about the original."""
        schema = (
            published_schema(self.schema, main.columns) if self.assignment is None else self.assignment.layout.schema
        )
        require_columns(schema.quasi, main.columns)
        people = self.assignment is None and self.shows_people(main.columns)
        keys = self._shown_keys(main.columns, people=people)
        hidden = [name for key in self.model.table_keys if key not in keys for name in key]
        if self.assignment is None:
            require_columns(hidden, main.columns)
        person = self.schema.person if people else ()
        request = Request(schema.quasi, tuple(keys), self._orders(keys), person=person, published=True)
        if rows and self._judges_some_at_a_time(keys, rows):
            judge = partial(_judge_some, self.reference, self.model, coarse)
            judged = judge_in_order(main, request, judge, partial(add_judged, self.model))
            if judged is not None:
                return schema, Evidence(NOTHING, rows, self.reference, coarse=coarse, judged=judged)
        counted = self.engine.count(main, request) if rows else NOTHING
        columns = columns_by_quasi(self.schema, schema.quasi)
        evidence = Evidence(counted, rows, self.reference, self.assignment, coarse=coarse, columns=columns)
        if rows:
            evidence.require_agreement(keys)
        if not self.model.needs_population:
            return schema, evidence
        if self.population is None:
            raise no_population(self.model)
        return schema, replace(evidence, population=population_by_class(self.population, counted))

    def _judges_some_at_a_time(self, keys: Sequence[Key], rows: int) -> bool:
        """Return whether classes are judged as a large table lists them, without all of them in memory."""
        alone = self.assignment is None and self.model.traits.class_wise and not self.model.needs_population
        return self.by_class or (alone and rows >= MANY_ROWS and not any(PERSON in key for key in keys))

    def _shown_keys(self, columns: Sequence[str], *, people: bool) -> list[Key]:
        """Return the keys of the model that a table shows, including people if it has their pseudonyms."""
        available = {*columns, *([PERSON] if people else [])}
        return [key for key in self.model.keys if all(name in available for name in key)]

    def _linked(self, main: Source, schema: Schema) -> tuple[tuple[str, ...], Linked | None]:
        """Return the pseudonyms that a table shows, and what they link."""
        names = tuple(name for name in self.pseudonyms if name in main.columns)
        if not names or not self.structure.whole_rows:
            return (), None
        people = self.shows_people(main.columns)
        keys, person = self._shown_keys(main.columns, people=people), self.schema.person if people else ()
        request = Request((*schema.quasi, *names), tuple(keys), self._orders(keys), person=person, published=True)
        counted = self.engine.count(main, request)
        pseudonymous = tuple(name for name in names if are_pseudonyms(counted.known[name].values))
        return pseudonymous, linked_rows(
            counted,
            schema.quasi,
            names,
            schema=self.schema,
            rows_unknown=rows_are_unknown(self.about.pseudonyms, self.schema.person),
        )

    def _alone(self, schema: Schema, main: Source) -> dict[Key, int]:
        """Return how many rows have a unique value in unmodified columns."""
        names = [name for name in main.columns if name not in (*schema.quasi, *self.schema.hidden)]
        counted = self.engine.count(main, Request((), alone=names, published=True))
        return {(name,): alone for name, alone in counted.alone.items()}

    def _bucket_evidence(self, sources: Mapping[str, Source], buckets: Buckets, *, rows: int, coarse: bool) -> Evidence:
        """Count the buckets of a release, and combine them with the known facts about the original."""

        def count(name: str, request: Request) -> Counted:
            asked = dict.fromkeys([*request.quasi, *(c for k in (*request.keys, *request.groupings) for c in k)])
            if name not in sources:
                columns = ", ".join(map(repr, asked))
                raise SchemaError(f"the table of {columns} is missing", hint="give both tables of the release")
            require_columns(tuple(asked), sources[name].columns)
            return self.engine.count(sources[name], request)

        evidence = count_buckets(count, buckets, self.schema, rows=rows, reference=self.reference)
        alone = evidence.alone() if rows else {}
        known = (self.reference, self.assignment)
        return EvidenceInBuckets(NOTHING, rows, *known, coarse=coarse, alone=alone, by_slice=evidence)

    def _orders(self, keys: Sequence[Key]) -> Mapping[str, Hierarchy]:
        return {name: hierarchy for name, hierarchy in self.hierarchies.items() if (name,) in keys}


def _judge_some(reference: Counted | None, model: Model, coarse: bool, counted: Counted) -> JudgedClasses:
    """Judge some classes of a release by a model, with its original."""
    return judge_classes(Evidence(counted, counted.frequencies.rows, reference, coarse=coarse), model)


def _log(certificate: Certificate) -> None:
    """Log what was verified; a model is named without its parameters, which may be values of the table."""
    holds = "holds" if certificate.holds else "does not hold"
    LOG.info("verified %d rows in %d classes: %s", certificate.rows, certificate.classes, holds)
    for verdict in certificate.verdicts:
        LOG.debug("%s: %d violating classes", name_of(verdict.model), verdict.violating_classes)


def not_transformed(
    engine: Engine,
    sources: Mapping[str, Source],
    transformations: Mapping[str, Transformation],
    *,
    structure: Structure,
) -> list[NotTransformed]:
    """Return the published columns that hold values which their transformations do not make.

    A column that is not published has nothing to show, and one that was generalized afterwards cannot be judged.
    """
    mismatches = []
    for source in sources.values():
        for name, given in transformations.items():
            if name not in source.columns or name in structure.generalized:
                continue
            values, rows = _strange(engine, source, name, given, multisets=structure.multisets)
            if values:
                mismatches.append(NotTransformed(name, given.spec(), values, rows))
    return mismatches


def not_shown(release: OpenedTables, transformations: Mapping[str, Transformation]) -> frozenset[str]:
    """Return the columns of a release that do not show their transformations."""
    mismatches = not_transformed(release.engine, release.sources, transformations, structure=release.structure)
    return frozenset(each.column for each in mismatches)


def transformed_alike(
    original: Source, transformations: Mapping[str, Transformation], *, release: OpenedTables
) -> tuple[Source, Mapping[str, Transformation]]:
    """Return an original that is transformed as its release was, and the transformations with what they learnt of it.

    A column without visible masking in the release stays unmodified: both can then still be compared.
    """
    whole, made = transformed_source(original, transformations)
    strange = not_shown(release, made.declared)
    if strange:
        others = {name: each for name, each in transformations.items() if name not in strange}
        whole, _ = transformed_source(original, others)
    return whole, made.declared


def _strange(engine: Engine, source: Source, name: str, given: Transformation, *, multisets: bool) -> tuple[int, int]:
    """Return the numbers of distinct values, and of their rows, that a masking cannot have produced."""
    if source.in_memory is not None and source.in_memory[name].null_count == source.rows:
        return 0, 0
    try:
        counted = engine.count(source, Request((name,), published=True))
    except InputError:  # of a type that cannot be counted, which no transformation makes
        return source.rows, source.rows
    domain, cells = counted.known[name], counted.frequencies
    fits = _fitting(given, domain.values, multisets=multisets)
    every = np.concatenate([np.ones(int(domain.missing), dtype=bool), fits])
    strange = ~every[cells.vectors[:, 0]]
    return int(strange.sum()), int(cells.counts[strange].sum())


def _fitting(given: Transformation, values: pa.Array, *, multisets: bool) -> Mask:
    """Return which values a masking can have produced; multisets are checked member by member."""
    if not multisets or not pa.types.is_string(values.type):
        return may_come_of(given, values)
    members = [written_multiset(text) for text in values.to_pylist()]
    texts = [
        [text] if parts is None else [part for part, _ in parts if part is not None]
        for text, parts in zip(values.to_pylist(), members, strict=True)
    ]
    known = sorted({text for several in texts for text in several})
    fits = dict(zip(known, may_come_of(given, pa.array(known, pa.string())).tolist(), strict=True))
    return np.array([all(fits[text] for text in several) for several in texts], dtype=bool)
