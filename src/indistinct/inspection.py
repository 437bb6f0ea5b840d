"""A first look at a table: what each column is like, which role it may have, and how many people stand out.

The suggestions are where to begin, not a judgement: whoever publishes decides the roles before any algorithm
runs. In doubt the safer role is suggested, and nothing here tells a value unless it is asked for.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.arrays import Codes
from indistinct.domain import Domain, Kind, kind_of
from indistinct.errors import InputError
from indistinct.frequencies.grouping import group_rows
from indistinct.frequencies.person_columns import CodedColumn, likely_person
from indistinct.frequencies.uniqueness import is_nearly_unique
from indistinct.hierarchy import Hierarchy, suggest
from indistinct.release.verify import nearly_unique
from indistinct.schema import Role, Schema
from indistinct.tables import Reading, open_table
from indistinct.tables.proposals import propose
from indistinct.tables.reading import to_options
from indistinct.tables.shapes import FREE_TEXT, folded, identifying_shape


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFYING = _words("""
    account address email forename guid iban id identifier ip login mail mobile mrn name passport person phone
    ssn street surname telephone url user username uuid
""")
SENSITIVE = _words("""
    balance charge condition conviction cost credit crime debt diagnoses diagnosis disease drug grade hiv icd
    illness income loan medication offence orientation party pay politics procedure religion result salary
    score symptom treatment wage
""")
KNOWN_TO_OTHERS = _words("""
    admission admitted age birth birthdate birthday born children citizenship city class country county date
    discharge district dob education employer ethnicity eye family gender hair height hours household housing
    job language marital marriage municipality nationality native occupation place postal postcode profession
    province race region school sex state status town visit weight workclass year zip zipcode
""")
# Words for people, who may have several rows; and for what is counted instead of them.
PEOPLE = _words("""
    beneficiary citizen client customer employee insured member mrn participant patient patientid pid person proband
    pseudonym respondent ssn student subject user versicherter versichertennummer patienten patientennummer assuré
    bénéficiaire
""")
# Share of rows with a value of their own from which a column points at people, and the rows to judge it by.
NEARLY_UNIQUE = 0.9
ENOUGH_ROWS = 20


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column is like, in numbers, and the role that is suggested for it.

    `unique_share` is the share of all rows whose value nobody else has; `smallest_group` the fewest rows that
    share a value. `frequent` holds the most frequent values with their counts: show them only to those who
    may see the table.
    """

    name: str
    kind: Kind
    distinct: int
    missing: int
    unique_share: float
    smallest_group: int
    role: Role
    reason: str
    hierarchy: Hierarchy | None
    findings: tuple[str, ...] = field(default=(), kw_only=True)
    frequent: tuple[tuple[Any, int], ...] = field(repr=False)

    def points_at_rows(self, rows: int) -> bool:
        """Return whether the column is published as it is although it is nearly unique in a table of so many rows."""
        kept = self.role in (Role.SENSITIVE, Role.INSENSITIVE)
        return kept and is_nearly_unique(round(self.unique_share * rows), rows)


@dataclass(frozen=True, slots=True)
class Inspection:
    """The profile of a table, and how people stand out on the suggested quasi-identifiers together.

    `reading` declares what the table shows: notations of numbers and dates, marks for missing. `people` is how many
    there are, where a column tells them apart and somebody has several rows. `left_out` says which empty lines and
    columns of a text file were skipped.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    classes: int
    smallest_class: int
    unique_rows: int
    reading: Reading = Reading()  # noqa: RUF009 (a frozen value)
    people: int | None = None
    left_out: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """Return the suggested roles."""
        return Schema.from_roles({column.name: column.role for column in self.columns})

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return which columns would point at single rows, if they were published under the suggested roles."""
        pointing = [column for column in self.columns if column.points_at_rows(self.rows)]
        told = [nearly_unique([c.name], round(c.unique_share * self.rows), self.rows) for c in pointing]
        return tuple(f"under the suggested role, {text}" for text in told)

    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]:
        """Return the suggested hierarchies by column."""
        return {column.name: column.hierarchy for column in self.columns if column.hierarchy is not None}

    def to_json(self, *, values: bool = False) -> dict[str, Any]:
        """Return the profile as plain JSON values; `values` adds the most frequent ones of each column."""
        return {
            "rows": self.rows,
            "columns": [_plain(column, values=values) for column in self.columns],
            "quasi_identifiers": list(self.schema.quasi),
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "unique_rows": self.unique_rows,
            "unique_share": self.unique_share,
            "warnings": list(self.warnings),
            "people": self.people,
            "left_out": list(self.left_out),
            "reading": to_options(self.reading),
        }

    @property
    def unique_share(self) -> float:
        """Return the share of rows that nobody else equals on the suggested quasi-identifiers."""
        return self.unique_rows / self.rows if self.rows else 0.0


def inspect(table: Any) -> Inspection:
    """Return the profile of a table, with suggested roles and hierarchies: a path, a frame, whatever `open` takes.

    All of it is read into memory, also what lives elsewhere, because every cell is looked at.

    The suggestions are where a decision begins: whoever publishes decides the roles. Notations of numbers and dates,
    marks for missing values and columns of codes that the values show are declared first; `reading` says which.

    >>> found = inspect(pa.table({"zipcode": [4351, 4352, 4351], "disease": ["flu", "flu", "HIV"]}))
    >>> found.schema.quasi, found.schema.sensitive, found.unique_rows
    (('zipcode',), ('disease',), 1)
    """
    opened = open_table(table)
    if not opened.rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    proposal = propose(opened)
    table = proposal.table
    encoded = {name: _encode(table.data[name]) for name in table.columns}
    columns = tuple(_profile(name, table.data[name], *encoded[name]) for name in table.columns)
    columns = tuple(replace(column, findings=proposal.findings.get(column.name, ())) for column in columns)
    columns = tuple(_by_values(column, encoded[column.name][0], table.rows) for column in columns)
    person = _person(columns, encoded)
    if person is not None:
        columns = tuple(_beside_person(column, person, encoded) for column in columns)
    columns = tuple(_as_identifier(column, encoded[column.name][0], table.rows, person) for column in columns)
    quasi = [column.name for column in columns if column.role is Role.QUASI]
    codes = [encoded[name][1] for name in quasi] or [np.zeros(table.rows, dtype=np.int32)]
    counts = group_rows(codes, [int(column.max()) + 1 for column in codes]).counts
    return Inspection(
        rows=table.rows,
        columns=columns,
        classes=len(counts),
        smallest_class=int(counts.min()),
        unique_rows=int((counts == 1).sum()),
        reading=table.reading,
        left_out=table.left_out,
        people=next((column.distinct for column in columns if column.role is Role.PERSON), None),
    )


def _person(columns: Sequence[ColumnProfile], encoded: Mapping[str, tuple[pa.Array, Codes]]) -> str | None:
    """Return the column that tells people apart who have several rows."""
    coded = {name: CodedColumn(codes, len(values)) for name, (values, codes) in encoded.items()}
    named = [column.name for column in columns if _meets(words_of(column.name), PEOPLE)]
    candidates = [
        column.name
        for column in columns
        if (column.kind is Kind.TEXT or pa.types.is_integer(encoded[column.name][0].type))
        and not _meets(words_of(column.name), KNOWN_TO_OTHERS | SENSITIVE)
    ]
    return likely_person(coded, candidates, named=named)


def _by_values(column: ColumnProfile, values: pa.Array, rows: int) -> ColumnProfile:
    """Return a column whose values have the shape of what points at people as an identifier."""
    if column.kind is not Kind.TEXT or column.role not in (Role.QUASI, Role.INSENSITIVE):
        return column
    shape = identifying_shape(_texts(values), rows=rows)
    if shape is None or (_meets(words_of(column.name), KNOWN_TO_OTHERS) and shape == FREE_TEXT):
        return column
    return replace(column, role=Role.IDENTIFIER, reason=f"it points at a person: {shape}", hierarchy=None)


def _texts(values: pa.Array) -> pa.Array:
    """Return values as texts; bytes have none."""
    binary = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)
    return pa.array([], pa.string()) if binary else values.cast(pa.string())


def _beside_person(column: ColumnProfile, person: str, encoded: Mapping[str, tuple[pa.Array, Codes]]) -> ColumnProfile:
    """Return the column that tells people apart as such, and another that has one value for each of them."""
    (people, codes), (values, others) = encoded[person], encoded[column.name]
    if column.name == person:
        reason = f"{column.distinct:,} people in {len(codes):,} rows"
        return replace(column, role=Role.PERSON, reason=reason, hierarchy=None)
    if column.role is not Role.QUASI or column.missing or len(values) != len(people) or column.kind is Kind.DATE:
        return column
    known = _meets(words_of(column.name), KNOWN_TO_OTHERS)
    pairs = group_rows([codes, others], [int(codes.max()) + 1, int(others.max()) + 1]).counts
    if known or len(pairs) != len(people) or pa.types.is_floating(values.type):
        return column
    reason = "it points at a person: one value for each person"
    return replace(column, role=Role.IDENTIFIER, reason=reason, hierarchy=None)


def _as_identifier(column: ColumnProfile, values: pa.Array, rows: int, person: str | None) -> ColumnProfile:
    """Return an identifier with what its owner should know: that it repeats, or is spelled in several ways."""
    if column.role not in (Role.IDENTIFIER, Role.PERSON):
        return column
    alike = folded(values) if pa.types.is_string(values.type) else 0
    if alike:
        said = f"{alike:,} value{'s differ' if alike > 1 else ' differs'} from others only by case or spaces around"
        column = replace(column, findings=(*column.findings, f"{said}: correct them, or people are counted twice"))
    repeats = ENOUGH_ROWS <= column.distinct < rows - column.missing
    if person is not None or not repeats or column.reason.endswith(FREE_TEXT):
        return column
    count = f"{column.distinct:,} values in {rows:,} rows"
    return replace(column, reason=f"{column.reason}; {count}: if these are people, give it the role person")


def _encode(column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """Return the distinct values and each cell's place among them; missing comes last."""
    if pa.types.is_nested(column.type):
        raise InputError(
            f"a column has the type {column.type}, which cannot be grouped",
            hint="turn it into text, numbers or dates first",
        )
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    found = whole.dictionary_encode()
    values = found.dictionary
    return values, found.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)


def _profile(name: str, column: pa.ChunkedArray, values: pa.Array, codes: Codes) -> ColumnProfile:
    counts = np.bincount(codes, minlength=len(values))[: len(values)]
    rows, alone = len(column), int((counts == 1).sum())
    kind = kind_of(column.type)
    whole = pa.types.is_integer(values.type) or kind is Kind.TEXT
    pointing = rows >= ENOUGH_ROWS and alone >= NEARLY_UNIQUE * rows and whole
    role, reason = suggest_role(name, distinct=len(values), pointing=pointing)
    order = np.argsort(-counts, kind="stable")[:3].tolist()
    return ColumnProfile(
        name=name,
        kind=kind,
        distinct=len(values),
        missing=int(column.null_count),
        unique_share=alone / rows,
        smallest_group=int(counts.min()) if len(counts) else 0,
        role=role,
        reason=reason,
        hierarchy=_hierarchy(name, values) if role is Role.QUASI else None,
        frequent=tuple((values[place].as_py(), int(counts[place])) for place in order),
    )


def suggest_role(name: str, *, distinct: int, pointing: bool) -> tuple[Role, str]:
    """Return a role for a column and why; `pointing` says that nearly every row has a value of its own.

    >>> suggest_role("zip_code", distinct=700, pointing=False)
    (<Role.QUASI: 'quasi'>, 'others often know it')
    """
    words = words_of(name)
    known = _meets(words, KNOWN_TO_OTHERS)
    if _meets(words, IDENTIFYING) and (pointing or not known):
        return Role.IDENTIFIER, "it points at a person"
    if distinct <= 1:
        return Role.INSENSITIVE, "the same for everybody"
    if _meets(words, SENSITIVE):
        return Role.SENSITIVE, "must not be learnt about a person"
    if known:
        return Role.QUASI, "others often know it"
    if _meets(words, PEOPLE) and distinct >= ENOUGH_ROWS:
        return Role.IDENTIFIER, "it points at a person"
    if pointing:
        return Role.IDENTIFIER, "nearly every value is unique"
    return Role.QUASI, "in doubt: others may know it"


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, in lower case.

    >>> words_of("dateOfBirth"), words_of("ZIP-Code_2")
    (('date', 'of', 'birth'), ('zip', 'code'))
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return tuple(word.lower() for word in re.findall(r"[^\W\d_]+", parted))


def _meets(words: Sequence[str], known: frozenset[str]) -> bool:
    return any(word in known or word.removesuffix("s") in known for word in words)


def _hierarchy(name: str, values: pa.Array) -> Hierarchy | None:
    """Return a hierarchy unless the only one is suppression: without any, sets of values are published."""
    kept = values.drop_null()
    if pa.types.is_floating(kept.type):
        kept = kept.filter(pc.is_finite(kept))
    if not len(kept) or pa.types.is_binary(kept.type) or pa.types.is_large_binary(kept.type):
        return None
    if kind_of(kept.type) is Kind.TEXT:
        kept = kept.cast(pa.string())
    hierarchy = suggest(Domain(name, kept))
    return None if hierarchy == Hierarchy.suppression() else hierarchy


def _plain(column: ColumnProfile, *, values: bool) -> dict[str, Any]:
    about = {
        "name": column.name,
        "type": str(column.kind),
        "distinct": column.distinct,
        "missing": column.missing,
        "unique_share": column.unique_share,
        "smallest_group": column.smallest_group,
        "role": str(column.role),
        "reason": column.reason,
        "hierarchy": None if column.hierarchy is None else column.hierarchy.to_json(),
        "findings": list(column.findings),
    }
    frequent = [{"value": str(value), "rows": rows} for value, rows in column.frequent]
    return {**about, "frequent": frequent} if values else about
