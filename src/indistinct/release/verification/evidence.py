"""What a published release shows: its columns, and what was counted on its tables, in the codes of the original."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError, SchemaError, UnseenValueError, VerificationError
from indistinct.figures import plural
from indistinct.frequencies.count import Counted
from indistinct.frequencies.encode import encode_column, group_rows
from indistinct.frequencies.population import PopulationByClass
from indistinct.frequencies.slices import Links, Slice
from indistinct.frequencies.structure import CLASSES, Structure
from indistinct.frequencies.value import PERSON, POPULATION, Classes, ClassLabels, Histogram, Key
from indistinct.machine.arrays import Codes, narrowest
from indistinct.models.base import Judgement, Model
from indistinct.models.of_population import no_population
from indistinct.recoding.outputs import ENDS, Assignment, OutputColumn
from indistinct.release.certificate import ModelVerdict
from indistinct.release.pseudonyms.linked import Linked
from indistinct.schema import Schema, where_is
from indistinct.tables.domain import Domain

COMPANIONS = ("_mean", "_missing")
BOUNDS = (*(end for pair in ENDS for end in pair), "_missing")


def published_schema(schema: Schema, columns: Sequence[str]) -> Schema:
    """Return the roles of a release's columns: a range may be two ends, with a mean.

    >>> published_schema(Schema(identifiers=["name"], quasi=["age"]), ["age_from", "age_to"]).quasi
    ('age_from', 'age_to')
    """
    given = set(schema.columns)
    free = [name for name in columns if name not in given]
    quasi: list[str] = []
    for name in schema.quasi:
        if name in columns:
            quasi += [name, *(name + end for end in COMPANIONS if name + end in free)]
            continue
        pairs = [pair for pair in ENDS if all(name + end in free for end in pair)]
        beside = (*pairs[0], *COMPANIONS) if pairs else ()
        quasi += [name + end for end in beside if name + end in free] or [name]
    return replace(schema, identifiers=(), person=(), quasi=quasi)


def columns_by_quasi(schema: Schema, published: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the published columns of each quasi-identifier: one, one with a mean, or two bounds.

    >>> columns_by_quasi(Schema(quasi=["age", "sex"]), ["age_min", "age_max", "sex"])
    {'age': ('age_min', 'age_max'), 'sex': ('sex',)}
    """
    ends = ("", *COMPANIONS, *BOUNDS)
    names = {name: dict.fromkeys(name + end for end in ends if name + end in published) for name in schema.quasi}
    return {name: tuple(n for n in own if n == name or n not in schema.quasi) for name, own in names.items()}


@dataclass(frozen=True, slots=True)
class Appearance:
    """Problems of the published columns: identifiers, columns without a role, the certificate of another file.

    `looks_headerless` says that few expected names are in the first line, which may be a person's data.
    """

    identifiers: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    foreign_certificate: bool = False
    looks_headerless: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the columns."""
        problems = []
        if self.identifiers:
            problems.append(f"the release shows {_list(self.identifiers)}, role identifier or person: drop it")
        if self.unknown:
            which = f"{len(self.unknown)} columns" if self.looks_headerless else _list(self.unknown)
            problems.append(f"no role is given to {which}, which no privacy model protects: give it a role, or drop it")
        if self.foreign_certificate:
            problems.append("the file was changed after it was certified, or its certificate belongs to another file")
        return tuple(problems)


def appearance_of(
    schema: Schema, tables: Mapping[str, Sequence[str]], structure: Structure, *, pseudonyms: Sequence[str] = ()
) -> Appearance:
    """Check the published columns against their roles in the original: which are identifiers, which have no role.

    Identifiers may be shown as `pseudonyms`.
    """
    columns = [name for names in tables.values() for name in names]
    roles = published_schema(schema, columns).columns
    roles += structure.added_columns
    roles += tuple(name + end for name in structure.generalized for end in (*COMPANIONS, *BOUNDS))
    hidden = tuple(name for name in schema.hidden if name in columns)
    leaked = tuple(name for name in hidden if name not in pseudonyms)
    unknown = tuple(name for name in dict.fromkeys(columns) if name not in roles and name not in hidden)
    expected = published_schema(schema, columns).columns
    headerless = 2 * sum(name in columns for name in expected) < len(expected)
    return Appearance(leaked, unknown, looks_headerless=headerless)


def require_columns(names: Sequence[str], columns: Sequence[str], *, table: str = "table") -> None:
    """Raise unless a published table, or another one that is named, has the columns that a check needs."""
    for name in names:
        if name not in columns:
            raise SchemaError(
                f"the {table} has no column {name!r}, which the check needs",
                hint=where_is(name, columns, expected=names, table=table),
            )


def require_rows(rows: int) -> None:
    """Raise for a published table without rows: of nothing everything is true."""
    if not rows:
        raise InputError("the table has no rows", hint="check that this is the right file")


@dataclass(frozen=True, slots=True)
class NotTransformed:
    """A published column with what its transformation does not make: how many distinct values, in how many rows."""

    column: str
    spec: str
    values: int
    rows: int

    @property
    def warning(self) -> str:
        """Describe the mismatch without any value."""
        what = f"{plural(self.values, 'distinct value')} in {plural(self.rows, 'row')}"
        return f"column {self.column!r} was not transformed as declared: {what} cannot come of {self.spec!r}"


@dataclass(frozen=True, slots=True)
class RowComparison:
    """How the rows of a release differ from those of its original.

    `added` published rows are not in the original's class, or not so often; `lost` rows of published classes are not
    published, although the recoding sends them there. `classes` are those that differ, `columns` those by which rows
    differ where single columns tell. `whole` says why rows were compared without regard to classes, if they were;
    `unknown` are published columns that the original does not have, and `skipped` says why nothing was compared.
    """

    added: int = 0
    lost: int = 0
    classes: int = 0
    columns: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    whole: str | None = None
    unknown: tuple[str, ...] = ()
    skipped: str | None = None

    @property
    def rows(self) -> int:
        """How many rows differ; one that was changed is added as well as lost."""
        return max(self.added, self.lost)

    @property
    def matches(self) -> bool:
        """Whether every published row is one of the original's."""
        return not self.rows and not self.unknown

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know, without any value."""
        cautions = []
        where = "" if self.whole else " in their class"
        if self.added and not self.compared:
            cautions.append(f"{plural(self.added, 'published row')} more than the original has{where}")
        elif self.added:
            what = f"values of {_list(self.columns)}" if self.columns else f"combinations of {_list(self.compared)}"
            rows = f"{plural(self.added, 'published row')} with {what}"
            cautions.append(f"{rows} that the original does not have{where}, or not so often")
        if self.lost > self.added:
            cautions.append(f"{plural(self.lost, 'row')} that the recoding publishes missing from published classes")
        if self.unknown:
            cautions.append(f"the original has no column {_list(self.unknown)}, which the release shows")
        if self.whole:
            cautions.append(f"rows were compared with the original without regard to classes: {self.whole}")
        if self.skipped:
            cautions.append(f"rows were not compared with the original: {self.skipped}")
        return tuple(cautions)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedClasses:
    """Judgements of classes that were judged some at a time: how many, the smallest, and each part of a model.

    `parts` has for each part of the model its judgement and what makes it weaker than the classes alone.
    """

    classes: int = 0
    smallest: int = 0
    parts: tuple[tuple[Judgement, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, eq=False)
class Evidence:
    """A published release, counted; one in buckets is an `EvidenceInBuckets`.

    `assignment` is what was meant to be published, where that is known: what a release does not show, such as people,
    is taken from it once the classes agree. `coarse` says that the release is a text file, whose readers may take
    different sensitive values for one. `population` is who of a population matches each class. `alone` says for columns
    that are unmodified how many rows have a unique value, and `linked` what pseudonyms link. Where
    columns were to be `transformed`, `not_transformed` names those that were not. `compared` says how rows differ
    from those of the original, where these were compared. `judged` is there where classes were judged some at a time,
    and are not all `counted`. `columns` has the published columns of each quasi-identifier.
    """

    counted: Counted
    rows: int
    reference: Counted | None = None
    assignment: Assignment | None = None
    coarse: bool = False
    alone: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    population: PopulationByClass | None = None
    linked: Linked | None = None
    transformed: bool = False
    not_transformed: Sequence[NotTransformed] = ()
    compared: RowComparison | None = None
    judged: JudgedClasses | None = None
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def sizes(self) -> Codes:
        """Return the rows of each class."""
        return self.counted.frequencies.counts

    def persons(self, model: Model) -> Histogram | None:
        """Return each person's number of rows in each class, where a model counts people."""
        return self.histogram((PERSON,)) if (PERSON,) in model.keys else None

    @property
    def domains(self) -> Mapping[str, Domain]:
        """Return the domains of the published columns."""
        return self.counted.known

    @property
    def structure(self) -> Structure:
        """Return the structure of the release."""
        return CLASSES

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes that explain figures about units."""
        return ()

    @property
    def slices(self) -> tuple[Slice, ...]:
        """Return the slices of a release in buckets."""
        return ()

    @property
    def links(self) -> Links | None:
        """Return the links between people and sensitive values if the release is in buckets, else None."""
        return None

    def in_full(self) -> "Evidence":
        """Return the same evidence with everything counted that was left out at first."""
        return self

    def verdicts_beside_original(self) -> list[ModelVerdict]:
        """Return verdicts on slices that need the original."""
        return []

    def warnings_on_links(self, verdicts: Sequence[ModelVerdict]) -> list[str]:
        """Return warnings on links that were not tested."""
        return []

    def is_ambiguous(self, name: str) -> bool:
        """Return whether a lenient reader takes different published values of a column for one."""
        texts = self.domains[name].texts() if name in self.domains else ()
        return len({coarsest(text) for text in texts}) < len(texts)

    def classes_for(self, model: Model) -> Classes:
        """Return the classes that a model looks at, with the histograms that it needs."""
        classes = Classes(self.sizes, {key: self.histogram(key) for key in model.table_keys})
        if model.needs_labels and len(classes):
            classes = replace(classes, labels=self.labels)
        return self._with_population(classes, model) if model.needs_population else classes

    @property
    def labels(self) -> ClassLabels:
        """Return the labels of each class by quasi-identifier, which may be published as several columns."""
        cells = self.counted.frequencies
        codes = []
        for names in self.columns.values():
            own = [cells.vectors[:, cells.names.index(name)] for name in names]
            sizes = [int(column.max(initial=0)) + 1 for column in own]
            codes.append(own[0] if len(own) == 1 else group_rows(own, sizes).group_ids())
        return ClassLabels(tuple(self.columns), np.stack(codes, axis=1))

    def _with_population(self, classes: Classes, model: Model) -> Classes:
        """Return classes with those of the population; people who match no published class are in the last."""
        others = self.population
        if others is None:
            raise no_population(model)
        # Where more people only help, it does no harm that a person matches several classes.
        if others.several and not model.traits.absorbing:
            raise InputError(
                f"the people of the population cannot be assigned to one class each: {others.several:,} "
                "combinations of their values match several published classes",
                hint="labels of a full-domain or strict recoding do not overlap; or give the recoding of the release",
            )
        same = np.arange(len(classes), dtype=np.int32)
        wider = classes.regroup(same, len(classes) + 1)
        labels = classes.labels
        if labels is not None:  # the last class has no rows, whatever it shows
            labels = ClassLabels(labels.names, np.append(labels.codes, np.zeros_like(labels.codes[:1]), axis=0))
        return Classes(wider.sizes, {**wider.histograms, (POPULATION,): others.histogram}, labels)

    def histogram(self, key: Key, counted: Histogram | None = None) -> Histogram:
        """Return the histogram of a key over classes, in the codes of the original where that is known."""
        own = counted or self.counted.frequencies.classes.histograms.get(key)
        if not self.rows and self.reference is not None:
            return self.reference.frequencies.classes.histograms[key].take(np.zeros(0, dtype=np.int64))
        if own is None:
            return self._hidden(key)
        if self.reference is None or len(key) > 1 or key not in self.reference.frequencies.classes.histograms:
            return own
        whole = self.reference.frequencies.classes.histograms[key]
        codes = self.domains[key[0]].translate(self.reference.known[key[0]], empty=self.coarse)
        if (codes[own.codes] < 0).any():
            if self.compared is not None and not self.compared.matches:
                return own  # a verdict of its own says so
            raise UnseenValueError(
                f"column {key[0]!r} shows {plural(int((codes < 0).sum()), 'distinct value')} that the original does "
                "not have",
                hint="check that this is the original of this release",
                column=key[0],
            )
        entries = replace(whole, indptr=own.indptr, codes=codes[own.codes].astype(np.int32), counts=own.counts)
        size = len(own.indptr) - 1
        return entries.regroup(np.arange(size, dtype=np.int32), size)

    def _hidden(self, key: Key) -> Histogram:
        """Return the histogram of columns that are not published, counted on the original by published class."""
        if self.assignment is None or key not in self.assignment.classes.histograms:
            raise InputError(
                f"the release does not show {', '.join(map(repr, key))}, which the check needs",
                hint="it can be checked when the release is made, or with the original and the recoding",
            )
        return self.assignment.classes.histograms[key].take(self.matching)

    def hidden_warnings(self, keys: Iterable[Key]) -> tuple[str, ...]:
        """Return warnings on columns that the check used and the release does not publish."""
        if not self.rows or self.assignment is None:
            return ()
        published, known = self.counted.frequencies.classes.histograms, self.assignment.classes.histograms
        hidden = [key for key in keys if PERSON not in key and key not in published and key in known]
        return tuple(f"the check used column {_list(key)}, which is not published" for key in hidden)

    @cached_property
    def matching(self) -> Codes:
        """The class of the assignment that each published class is; raise unless both agree in all of them."""
        if self.assignment is None:
            raise AssertionError("there is nothing to compare with")
        wanted = self.assignment.classes.sizes
        matching = matched_classes(self.counted, self.assignment)
        same = len(wanted) == len(matching) and (matching >= 0).all() and np.array_equal(wanted[matching], self.sizes)
        if not same:
            raise VerificationError(
                "the release does not show the classes that were to be published",
                hint="nothing was written; a file that is verified needs its own original and recoding"
                + _hint_for_empty_texts(self.assignment.domains),
            )
        return matching

    def require_agreement(self, keys: Sequence[Key]) -> None:
        """Raise unless every class has the rows, and the values of each key, that were to be published."""
        if self.assignment is None:
            return
        matching = self.matching
        for key in keys:
            wanted = self.assignment.classes.histograms.get(key)
            if wanted is None or key not in self.counted.frequencies.classes.histograms:
                continue
            meant, shows = wanted.take(matching), self.histogram(key)
            if self.coarse:  # such a file does not tell empty text from missing
                meant, shows = _empty_as_missing(meant), _empty_as_missing(shows)
            if not all(np.array_equal(getattr(meant, part), getattr(shows, part)) for part in _PARTS):
                raise VerificationError(
                    f"the release does not show the values of {key[0]!r} that were to be published",
                    hint="nothing was written",
                )


def _hint_for_empty_texts(domains: Sequence[Domain]) -> str:
    """Return a hint if a quasi-identifier has empty texts, which text files and sheets show as missing."""
    named = [domain.column for domain in domains if "" in domain.texts()]
    return f"; {_list(named)} has empty texts, which this file may show as missing: write .parquet" if named else ""


def _empty_as_missing(histogram: Histogram) -> Histogram:
    """Return a histogram that counts empty texts as missing, where the column has both."""
    if None not in histogram.texts or "" not in histogram.texts:
        return histogram
    codes = np.arange(len(histogram.texts), dtype=np.int32)
    codes[histogram.texts.index("")] = histogram.texts.index(None)
    size = len(histogram.indptr) - 1
    return replace(histogram, codes=codes[histogram.codes]).regroup(np.arange(size, dtype=np.int32), size)


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


_PARTS = ("indptr", "codes", "counts")


@dataclass(frozen=True, slots=True, eq=False)
class MergedReadings:
    """A histogram in which values are one that readers of a text file may take for one.

    The mapping says how texts that were merged are written now. A merged value may be one of several leaves of a
    hierarchy: there is a histogram for each.
    """

    histograms: tuple[Histogram, ...]
    spelling: Mapping[str, str]


def merged_readings(histogram: Histogram) -> MergedReadings | None:
    """Return a histogram as the most lenient reader of a text file counts it; None if that makes no difference.

    Readers take empty text and marks such as NA for missing, and 1.50 and 1.5 for one number.
    """
    groups: dict[str | float | None, list[int]] = {}
    for code, text in enumerate(histogram.texts):
        groups.setdefault(coarsest(text), []).append(code)
    if len(groups) == len(histogram.texts):
        return None
    codes = np.zeros(len(histogram.texts), dtype=np.int32)
    for merged, members in enumerate(groups.values()):
        codes[members] = merged
    reference = np.bincount(codes, weights=histogram.reference, minlength=len(groups)).astype(np.int64)
    named = [[text for code in members if (text := histogram.texts[code]) is not None] for members in groups.values()]
    size, taxonomy = len(histogram.indptr) - 1, histogram.taxonomy
    entries = Histogram(
        histogram.indptr, codes[histogram.codes], histogram.counts, reference, None, tuple((*t, None)[0] for t in named)
    ).regroup(np.arange(size, dtype=np.int32), size)
    spelling = {text: texts[0] for texts in named for text in texts}
    if taxonomy is None:
        return MergedReadings((entries,), spelling)
    most = max(map(len, groups.values()))
    leaves = [[members[min(i, len(members) - 1)] for members in groups.values()] for i in range(most)]
    trees = [replace(taxonomy, ancestors=taxonomy.ancestors[each]) for each in leaves]
    return MergedReadings(tuple(replace(entries, taxonomy=tree) for tree in trees), spelling)


# What common readers take for missing, in small letters.
MISSING_MARKS = frozenset(
    {"", "na", "n/a", "#n/a", "#n/a n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil", "1.#ind", "-1.#ind"}
    | {"1.#qnan", "-1.#qnan"}
)


def coarsest(text: str | None) -> str | float | None:
    """Normalize a text as the most lenient reader would: missing, a number, or the text without outer spaces.

    >>> coarsest("1.50") == coarsest(" 1.5"), coarsest("NA"), coarsest("flu ")
    (True, None, 'flu')
    """
    plain = "" if text is None else text.strip()
    if plain.lower() in MISSING_MARKS:
        return None
    if plain.lower() in ("true", "false"):
        return plain.lower()
    try:
        number = float(plain)
    except ValueError:
        return plain
    return None if math.isnan(number) else number


def matched_classes(counted: Counted, assignment: Assignment) -> Codes:
    """Return the class of an assignment that shows what each class counted on a release shows, -1 where none does."""
    columns = (
        _common(counted, output.name, output.values, output.codes) for output in _generalized_outputs(assignment)
    )
    return _index(columns, classes=len(counted.frequencies))


def class_index(assignment: Assignment, other: Assignment) -> Codes:
    """Return the class of another assignment that shows what each class of an assignment shows, -1 where none does."""
    columns = []
    for mine, theirs in zip(_generalized_outputs(assignment), _generalized_outputs(other), strict=True):
        values = [pa.array(output.values).take(pa.array(output.codes)) for output in (mine, theirs)]
        codes = pa.concat_arrays(values).dictionary_encode(null_encoding="encode").indices.to_numpy()
        columns.append((codes[: len(values[0])], codes[len(values[0]) :]))
    return _index(columns, classes=len(assignment.classes))


def _index(columns: Iterable[tuple[Codes, Codes]], *, classes: int) -> Codes:
    """Return the place among vectors on the right of each one on the left, -1 for one that is not there."""
    pairs = [np.concatenate([mine, theirs]) for mine, theirs in columns]
    ids = group_rows(pairs, [int(column.max(initial=0)) + 1 for column in pairs]).group_ids()
    mine, theirs = ids[:classes], ids[classes:]
    class_of = np.full(len(ids), -1, dtype=np.int64)
    class_of[theirs] = np.arange(len(theirs))
    return np.asarray(class_of[mine])


def _generalized_outputs(assignment: Assignment) -> list[OutputColumn]:
    (table,) = assignment.layout.tables.values()
    return [output for output in table.outputs if output.values is not None]


def _common(counted: Counted, name: str, values: pa.Array, codes: Codes | None) -> tuple[Codes, Codes]:
    """Encode a published column and the expected values with common codes."""
    meant = encode_column(name, pa.chunked_array([values]), required=False)
    column = counted.frequencies.vectors[:, counted.frequencies.names.index(name)]
    translated = counted.known[name].translate(meant.domain)
    size = len(meant.domain)
    # A value that was not meant is like no other.
    own = np.where(translated < 0, size + np.arange(len(translated)), translated)
    return own.astype(narrowest(size + len(own)))[column], meant.codes[codes]
