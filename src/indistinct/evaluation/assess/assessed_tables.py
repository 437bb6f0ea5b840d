"""Tables to be assessed, as what was counted on them: an original, a release in memory, or a published file.

A release is counted as published, and trusts no recoding; people, whom it does not show, come from its assignment
or are counted on the original.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from indistinct.engines import count_source
from indistinct.engines.base import Engine, Source
from indistinct.errors import InputError, OriginalError, SchemaError
from indistinct.evaluation.assess.attribute_disclosure import Shares, keys_of
from indistinct.evaluation.assess.individual import weight_keys
from indistinct.figures import plural
from indistinct.frequencies.count import Counted, Request, drop_absent_values
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.value import PERSON, Classes, ClassLabels, FrequencySet, Histogram, Key
from indistinct.hierarchy.explicit import declared_order
from indistinct.hierarchy.taxonomy import ROOT
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Mask
from indistinct.models.base import All, Model
from indistinct.models.of_people import OfPeople
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import MAIN, Assignment
from indistinct.release.opening import OpenedTables
from indistinct.release.pseudonyms.making import are_pseudonyms
from indistinct.release.published import published_tables
from indistinct.release.release import Release
from indistinct.release.verification.by_label import (
    classes_by_label,
    classes_by_recoding,
    no_people_in_buckets,
    nobody_shown,
)
from indistinct.release.verification.check import NOTHING
from indistinct.release.verification.evidence import (
    Appearance,
    Evidence,
    appearance_of,
    columns_by_quasi,
    published_schema,
    require_columns,
)
from indistinct.release.verification.in_buckets import EvidenceInBuckets
from indistinct.release.verification.population import people_by_label
from indistinct.schema import NAME_QUASI, Schema
from indistinct.tables.domain import Kind
from indistinct.view.bucket_evidence import require_in_original

# Most pairs of an original combination and a published class to compare; of more, some classes are compared.
MAX_COMPARED = 4_000_000_000


@dataclass(frozen=True, slots=True, eq=False)
class AssessedTable:
    """A table and what was counted on it.

    `schema` gives the roles in the original and `shows` those of the table's own columns. `people` says that members
    are people. `published` says that its values are published, so that classes may be named by them.
    """

    source: Source | None
    schema: Schema
    shows: Schema
    evidence: Evidence
    people: bool
    published: bool = False
    notes: tuple[str, ...] = ()

    @property
    def classes(self) -> Classes:
        """Return the classes, or buckets, with their people where people are counted."""
        evidence = self.evidence
        histograms: dict[Key, Histogram] = {}
        if self.people and evidence.rows:
            histograms[(PERSON,)] = evidence.histogram((PERSON,))
        return Classes(evidence.sizes, histograms)

    @property
    def members(self) -> int:
        """Return the number of different people, or of rows."""
        return self.classes.members_of(np.ones(len(self.evidence.sizes), dtype=bool))

    @property
    def labeled(self) -> bool:
        """Whether it was counted which label of every quasi-identifier each class shows; buckets show none."""
        return bool(self.evidence.counted.frequencies.names)

    @property
    def whole_rows(self) -> Source | None:
        """Return the table where it shows whole rows; None for buckets, and for a table that is not there or empty."""
        return self.source if self.labeled and self.evidence.rows else None

    @property
    def columns(self) -> dict[str, list[str]]:
        """Return the table's own columns for each quasi-identifier: one, one with a mean, or two bounds."""
        return {name: list(own) for name, own in columns_by_quasi(self.schema, self.shows.quasi).items()}

    @property
    def labels(self) -> ClassLabels:
        """Return the published labels of each class by quasi-identifier."""
        return replace(self.evidence, columns=self.columns).labels

    @property
    def stars(self) -> Mask:
        """Mark suppressed cells: a matrix of classes × quasi-identifiers."""
        counted, masks = self.evidence.counted, []
        for names in self.columns.values():
            index = counted.frequencies.names.index(names[0])
            star = counted.domains[index].code_of_text(ROOT) if len(names) == 1 else None
            masks.append(counted.frequencies.vectors[:, index] == (-1 if star is None else star))
        return np.stack(masks, axis=1)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the columns that are shown, and how their values are compared."""
        return {} if self.source is None else self.source.kinds

    def cells(self, classes: Classes) -> FrequencySet:
        """Return the vectors that the table shows, with its classes."""
        return replace(self.evidence.counted.frequencies, classes=classes, joint=None)

    def is_ordered(self, column: str) -> bool:
        """Return whether the order of a sensitive column's values means something."""
        reference = self.evidence.reference
        known = self.evidence.domains if reference is None or column not in reference.known else reference.known
        return column in known and known[column].ordered

    def has_weights(self, column: str) -> bool:
        """Return whether survey weights were counted on the table, of people or of rows."""
        return set(weight_keys(column, people=self.people)) <= set(self.evidence.counted.frequencies.classes.histograms)

    def counts_people_of(self, column: str) -> bool:
        """Return whether it is known which people have which values of a column."""
        if not self.people:
            return False
        counted, assignment = self.evidence.counted, self.evidence.assignment
        known = set(counted.frequencies.classes.histograms)
        known |= set() if assignment is None else set(assignment.classes.histograms)
        return {(PERSON,), (PERSON, column)} <= known


def plain_table(
    source: Source,
    engine: Engine,
    schema: Schema,
    *,
    hierarchies: Mapping[str, Hierarchy],
    weights: str | None = None,
    published: bool = False,
    called: str = "table",
) -> AssessedTable:
    """Count a table by itself: an original, or a release of another tool.

    `called` is what messages call it.
    """
    shows = replace(published_schema(schema, source.columns), person=schema.person)
    _require(shows, source.columns, called)
    people = bool(schema.person) and all(name in source.columns for name in schema.person)
    if schema.person and not people:
        raise nobody_shown()
    keys = dict.fromkeys((*keys_of(schema.sensitive, people=people), *_weight_keys_of(source, weights, people=people)))
    request = Request(shows.quasi, tuple(keys), hierarchies, person=schema.person, published=True)
    try:
        counted = engine.count(source, request)
    except InputError as error:
        column = str(error.details.get("column"))
        if column not in schema.quasi or declared_order(hierarchies.get(column)) is None:
            raise
        # A release shows labels, which no declared order names: classes are counted without it.
        known = {name: each for name, each in hierarchies.items() if name in schema.sensitive}
        counted = engine.count(source, replace(request, hierarchies=known))
    return AssessedTable(source, schema, shows, Evidence(counted, source.rows), people, published)


def original_of_release(release: Release) -> AssessedTable | None:
    """Return the counts of its original that a release keeps: cells, and the columns of its model."""
    reference = release.check.reference
    if reference is None:
        return None
    schema = release.check.schema
    counted = _in_own_values(_project_cells(reference, schema.quasi))
    known = counted.frequencies.classes.histograms
    kept = tuple(name for name in schema.sensitive if (name,) in known)
    return AssessedTable(
        None,
        replace(schema, sensitive=kept),
        replace(schema, sensitive=kept),
        Evidence(counted, counted.frequencies.rows),
        (PERSON,) in known,
    )


def release_table(
    release: Release,
    *,
    before: AssessedTable | None = None,
    hierarchies: Mapping[str, Hierarchy],
    weights: str | None = None,
) -> AssessedTable:
    """Count a release made by this library; `before` is its original if that is given again."""
    schema, check = release.check.schema, release.check
    published = published_tables(release.tables, release.structure)
    engine, source = published.engine, published.sources[MAIN]
    if release.structure.buckets is not None:
        if before is not None:
            _same_original(before.evidence.counted, check.reference)
        return bucket_table(published, schema, reference=check.reference)
    shows = release.schema
    keys = _shown_keys(source, schema, weights)
    own = {name: each for name, each in hierarchies.items() if name in schema.sensitive}
    counted = engine.count(source, Request(shows.quasi, keys, own, published=True)) if source.rows else NOTHING
    reference, assignment = check.reference, check.assignment
    if before is not None:
        reference = _same_original(before.evidence.counted, check.reference)
        assignment = _counted_again(assignment, reference)
    evidence = Evidence(counted, source.rows, reference, assignment)
    people = bool(schema.person)
    return AssessedTable(source, schema, shows, evidence, people, published=True)


def published_table(
    published: OpenedTables,
    schema: Schema,
    *,
    before: AssessedTable | None,
    recoding: tuple[Recoding, Model] | None = None,
    hierarchies: Mapping[str, Hierarchy],
    weights: str | None = None,
) -> AssessedTable:
    """Return a published file, with its original where that is given; raise if it is no release of that.

    `recoding` and its guarantee assign people to classes if labels do not.
    """
    source = published.main
    original, whole = (None, None) if before is None else (before.source, before.evidence.counted)
    if original is not None and source.rows > original.rows:
        raise OriginalError(
            f"the release has {source.rows:,} rows; the original has {original.rows:,}",
            hint="check that this is the original of this release",
        )
    if published.structure.buckets is not None:
        return bucket_table(published, schema, reference=None, original=whole)
    if original is None or whole is None:
        return plain_table(source, published.engine, schema, published=True, hierarchies=hierarchies, weights=weights)
    shows = published_schema(schema, source.columns)
    _require(shows, source.columns)
    keys = _shown_keys(source, schema, weights)
    own = {name: each for name, each in hierarchies.items() if name in schema.sensitive}
    counted = published.engine.count(source, Request(shows.quasi, keys, own, published=True))
    notes = _require_contained(counted, whole, schema, hierarchies)
    assignment = None
    if schema.person:
        whole, assignment = _by_people(source, original, schema, recoding, hierarchies)
    evidence = Evidence(counted, source.rows, whole, assignment, coarse=published.untyped)
    evidence.require_agreement([(name,) for name in schema.sensitive])
    return AssessedTable(source, schema, shows, evidence, bool(schema.person), True, notes)


def bucket_table(
    published: OpenedTables, schema: Schema, *, reference: Counted | None, original: Counted | None = None
) -> AssessedTable:
    """Count a release in buckets; raise if it has values that its `original` does not have."""
    if schema.person:
        raise no_people_in_buckets()
    source = published.sources[MAIN]
    counted = published.in_buckets(schema, reference=reference)
    if original is not None:
        require_in_original(counted, original)
    evidence = EvidenceInBuckets(NOTHING, source.rows, reference, by_slice=counted)
    return AssessedTable(source, schema, schema, evidence, people=False, published=True)


def appearance_notes(table: AssessedTable, *, weights: str | None, pseudonyms: Sequence[str] = ()) -> tuple[str, ...]:
    """Return warnings about columns: those without a role, and identifiers in a published table.

    Columns declared as `pseudonyms` are identifiers unless their values look like some.
    """
    shows = _appearance(table, weights=weights, pseudonyms=pseudonyms)
    return (shows if table.published else replace(shows, identifiers=())).warnings


def identifiers_shown(table: AssessedTable, *, pseudonyms: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the identifiers that a published table shows; an original may have some."""
    return _appearance(table, weights=None, pseudonyms=pseudonyms).identifiers if table.published else ()


def _appearance(table: AssessedTable, *, weights: str | None, pseudonyms: Sequence[str]) -> Appearance:
    """Compare the columns of a table with its roles; pseudonyms are recognized by their values."""
    if table.source is None:
        return Appearance()
    columns = [name for name in table.source.columns if name != weights or name in table.schema.columns]
    source, named = table.source, [name for name in pseudonyms if name in columns]
    domains = {name: count_source(source, Request((name,), published=True)).known[name] for name in named}
    pseudonymous = [name for name, domain in domains.items() if are_pseudonyms(domain.values)]
    return appearance_of(table.schema, {MAIN: columns}, table.evidence.structure, pseudonyms=pseudonymous)


def class_namer(table: AssessedTable) -> Callable[[int], dict[str, str | None]]:
    """Return a function that names a class by the values that it shows."""
    cells, known = table.evidence.counted.frequencies, table.evidence.counted.known
    texts: dict[str, Sequence[str | None]] = {}

    def name_class(index: int) -> dict[str, str | None]:
        for name in cells.names:
            texts.setdefault(name, known[name].texts())
        vector = cells.vectors[index].tolist()
        return {name: texts[name][code] for name, code in zip(cells.names, vector, strict=True)}

    return name_class


def _weight_keys_of(source: Source, weights: str | None, *, people: bool) -> tuple[Key, ...]:
    return () if weights is None or weights not in source.columns else weight_keys(weights, people=people)


def _shown_keys(source: Source, schema: Schema, weights: str | None) -> tuple[Key, ...]:
    """Return the keys to count on a release: sensitive columns and, if published, survey weights."""
    weighed = () if schema.person else _weight_keys_of(source, weights, people=False)
    return tuple(dict.fromkeys((*((name,) for name in schema.sensitive), *weighed)))


def _by_people(
    source: Source,
    original: Source,
    schema: Schema,
    recoding: tuple[Recoding, Model] | None,
    hierarchies: Mapping[str, Hierarchy],
) -> tuple[Counted, Assignment]:
    """Count the people of the original by published class."""
    if recoding is None:
        keys = keys_of(schema.sensitive, people=True)
        return classes_by_label(source, original, schema, keys, hierarchies=hierarchies)
    made, promise = recoding
    model = All((*promise.parts(), *(OfPeople(Shares(name)) for name in schema.sensitive)))
    return classes_by_recoding(source, original, schema, model, recoding=made)


def _require(shows: Schema, columns: Sequence[str], called: str = "table") -> None:
    if not shows.quasi:
        raise SchemaError("the schema names no quasi-identifier", hint=NAME_QUASI)
    require_columns((*shows.quasi, *shows.sensitive), columns, table=called)


def _require_contained(
    counted: Counted, original: Counted, schema: Schema, hierarchies: Mapping[str, Hierarchy]
) -> tuple[str, ...]:
    """Raise unless published classes cover enough rows of the original: all of them or, of very many, some throughout.

    Return a note where not all were compared.
    """
    cells, released = replace(original.frequencies, classes=Classes(original.frequencies.counts)), counted.frequencies
    every, most = len(released), max(MAX_COMPARED // max(len(cells), 1), 1)
    positions = np.linspace(0, every - 1, min(most, every)).astype(np.int64)
    some = FrequencySet(released.names, released.vectors[positions], Classes(released.counts[positions]))
    whole, part = replace(original, frequencies=cells), replace(counted, frequencies=some)
    rows = people_by_label(whole, part, schema, hierarchies=hierarchies).counts
    empty, few = int((rows == 0).sum()), int((rows < some.counts).sum())
    if few:
        which = f"{empty:,} of them cover no row of the original" if empty else "more rows than they cover there"
        raise OriginalError(
            f"the original does not contain the release: {plural(few, 'published combination')} with rows that it "
            "does not have, "
            f"{which}",
            hint="check that this is the original of this release, with its hierarchies; means do not say what they "
            "cover, so leave the original out where numbers are published as means",
        )
    return () if most >= every else (f"of {every:,} classes {len(positions):,} were compared with the original",)


def _same_original(given: Counted, known: Counted | None) -> Counted:
    """Raise if a table given as the original of a release is another one; return its counts."""
    if known is not None:
        mine, cells = given.frequencies, _in_own_values(_project_cells(known, given.frequencies.names)).frequencies
        if not (np.array_equal(mine.vectors, cells.vectors) and np.array_equal(mine.counts, cells.counts)):
            raise OriginalError(
                f"the table of {mine.rows:,} rows is not the original of this release, which has other values",
                hint="leave `original` out: the release knows what was counted on its own",
            )
    return given


def _counted_again(assignment: Assignment | None, given: Counted) -> Assignment | None:
    """Complete an assignment by a new count of the original, which has all histograms.

    Where equal rows went to different classes, cells do not tell whose rows went where: what was known stays.
    """
    cells = given.frequencies
    if assignment is None or assignment.split or assignment.joint is not None:
        return assignment
    if not np.array_equal(drop_absent_values(assignment.domains, assignment.frequencies)[1].vectors, cells.vectors):
        return assignment
    class_ids = np.full(len(cells), -1, dtype=np.int32)
    class_ids[assignment.cells] = assignment.class_ids
    return replace(assignment, classes=cells.classes.regroup(class_ids, len(assignment.values)))


def _in_own_values(counted: Counted) -> Counted:
    """Remove values that only a population has from the domains of a count."""
    domains, cells = drop_absent_values(counted.domains, counted.frequencies)
    known = {**counted.known, **{domain.column: domain for domain in domains}}
    return replace(counted, domains=domains, frequencies=cells, known=known)


def _project_cells(counted: Counted, names: Sequence[str]) -> Counted:
    """Project the cells of a count to some of their columns."""
    cells = counted.frequencies
    if tuple(cells.names) == tuple(names):
        return counted
    indices = [cells.names.index(name) for name in names]
    columns = [cells.vectors[:, index] for index in indices]
    grouping = group_rows(columns, [len(counted.domains[index]) for index in indices])
    vectors = np.stack([column[grouping.first] for column in columns], axis=1)
    classes = cells.classes.regroup(grouping.group_ids().astype(np.int32), len(grouping))
    domains = tuple(counted.domains[index] for index in indices)
    return replace(counted, domains=domains, frequencies=FrequencySet(tuple(names), vectors, classes))
