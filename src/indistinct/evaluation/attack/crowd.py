"""People whom an attacker knows by their quasi-identifiers: those of the original, of a register, or of a control.

Their values are codes in domains that hold the values of every table at hand, so that a published label covers people
whom the original does not know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import HierarchyError, InputError, OriginalError, OutOfMemoryError, ParameterError, did_you_mean
from indistinct.evaluation.attack.base import Tally, Target
from indistinct.frequencies.encode import Encoded, encode_column, group_rows
from indistinct.frequencies.slices import together
from indistinct.hierarchy.explicit import declared_order
from indistinct.machine.arrays import Codes, Mask
from indistinct.machine.memory import needed_for, rows_words
from indistinct.machine.ordering import distinct
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.release.sources import Source
from indistinct.release.verification.evidence import require_columns
from indistinct.tables.domain import Domain

# Bytes of a cell in memory, about.
CELL = 8
# Most rows to attack; of more, some are drawn by chance.
MAX_ROWS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """Rows about people: the code of each known quasi-identifier, and whom each row is about.

    A code of -1 is a value that no published label can cover. `values` has the sensitive values in the codes of the
    original, where the table shows them. `rows` are the numbers of these rows in their table.
    """

    known: Mapping[str, Codes]
    persons: Codes
    rows: Codes
    values: Mapping[str, Codes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.persons)

    def take(self, rows: Codes) -> "Crowd":
        """Return some of the rows."""
        return replace(
            self,
            known={name: codes[rows] for name, codes in self.known.items()},
            persons=self.persons[rows],
            rows=self.rows[rows],
            values={name: codes[rows] for name, codes in self.values.items()},
        )

    def tally(self, attacked: Codes | Mask, succeeded: Codes | Mask) -> Tally:
        """Return how many people were attacked by some row, and how many with success by some row."""
        return Tally(len(distinct(self.persons[attacked])), len(distinct(self.persons[attacked & succeeded])))


def columns_known(target: Target) -> tuple[QuasiColumn, ...]:
    """Return the quasi-identifiers, each with one domain of the values of all given tables.

    Values that a hierarchy does not cover are omitted: no published label can cover them.
    """
    return target.once("columns", lambda: _columns(target))


def _columns(target: Target) -> tuple[QuasiColumn, ...]:
    if target.later is not None:
        return columns_of([column.domain for column in columns_known(target.later)], target.hierarchies)
    return tuple(_column(target, name) for name in target.schema.quasi)


def _column(target: Target, name: str) -> QuasiColumn:
    """Return a quasi-identifier over the values of all known tables."""
    hierarchy = target.hierarchies.get(name)
    order = declared_order(hierarchy)
    original = table_of(target.original, "the original")
    require_columns((name,), original.column_names)
    own = encode_column(name, original[name], order=order).domain
    wide = own
    earlier = None if target.earlier is None else target.earlier.original
    tables = {"the external table": target.external, "the control": target.control, "the earlier table": earlier}
    for what, source in tables.items():
        if source is not None and name in source.columns:
            other = encode_column(name, table_of(source, what)[name], required=False).domain
            if len(other.values) and other.kind is not own.kind:
                raise InputError(
                    f"column {name!r} is read as {other.kind} in {what}, and as {own.kind} in the original",
                    hint="read both tables with the same types",
                )
            if pa.types.is_date32(wide.values.type) and pa.types.is_timestamp(other.values.type):
                wide = replace(wide, values=wide.values.cast(other.values.type))  # hours with days
            wide = wide.union(other, order=order)
    known = {} if hierarchy is None else {name: hierarchy}
    try:
        return columns_of([wide], known)[0]
    except HierarchyError:
        return columns_of([own], known)[0]


def table_of(source: Source | None, what: str) -> pa.Table:
    """Return the rows of a source; attacks look at rows, which must be in memory.

    Raises `OutOfMemoryError`, with what they would take, for files that are read where they lie.
    """
    table = None if source is None else source.in_memory
    if source is None or (table is None and not source.files):  # a table of a database is never in memory
        raise ParameterError(f"{what} must be in memory to be attacked", hint="give a file or a frame")
    if table is None:
        needed = needed_for(source.rows, CELL * source.rows * len(source.columns))
        raise OutOfMemoryError(
            f"attacks look at every row of {what}, which has {rows_words(source.rows, len(source.columns))}: that "
            f"takes about {needed // 10**6:,} MB of memory",
            hint=f"allow more, --memory {2 * needed // 10**9 + 1}GB (memory=… in Python), for both tables together; or "
            "attack whole classes of the release in a file of their own, with all rows of the original that have "
            "these values",
            needed=needed,
        )
    return table


def original_crowd(target: Target) -> Crowd:
    """Return the people of the original in their order: all of them, or a sample where one is asked for."""
    return target.once("original", lambda: _original_crowd(target))


def _original_crowd(target: Target) -> Crowd:
    """Return the people of the original, or the sample of them to attack."""
    crowd = crowd_of(target, target.original, "the original")
    published = target.published.main.rows
    if published > len(crowd):
        raise not_contained(f"the release has {published:,} rows, and the original has {len(crowd):,}")
    sample = sample_of(target)
    return crowd if sample is None else draw_people(crowd, target, most=sample)


def sample_of(target: Target) -> int | None:
    """Return how many rows of the original are attacked, None for all.

    People with several rows, and people whom other tables tell of, cannot be judged by a part of the original.
    """
    whole = target.schema.person or target.external is not None or target.earlier is not None
    return None if whole else target.sample


def is_sampled(target: Target) -> bool:
    """Return whether only a part of the original is attacked."""
    sample = sample_of(target)
    return target.original is not None and sample is not None and sample < target.original.rows


def not_contained(reason: str) -> OriginalError:
    """Return the error of an original that the release cannot come from."""
    return OriginalError(
        f"the original does not contain the release: {reason}",
        hint="give the table that the release was made from, with the roles and hierarchies that it had",
    )


def control_crowd(target: Target) -> Crowd | None:
    """Return people who are not in the release, None where none were given.

    They must be known by every quasi-identifier: else they would be harder to find than others.
    """
    if target.control is None:
        return None
    absent = [name for name in target.schema.quasi if name not in target.control.columns]
    if absent:
        raise InputError(
            f"the control has no column {', '.join(map(repr, absent))}",
            hint="give people with the quasi-identifiers of the original, and with its sensitive columns",
        )
    return target.once("control", lambda: draw_people(crowd_of(target, target.control, "the control"), target))


def crowd_of(target: Target, source: Source | None, what: str) -> Crowd:
    """Return the people of a table, known by the quasi-identifiers that it has; raise where it has none."""
    table = table_of(source, what)
    schema = target.schema
    known = {column.name: column.domain for column in columns_known(target) if column.name in table.column_names}
    if not known:
        missing = schema.quasi[0]
        raise InputError(
            f"{what} has none of the quasi-identifiers {', '.join(map(repr, schema.quasi))}",
            hint=did_you_mean(missing, table.column_names)
            or "give a table with columns of the same names, or rename them",
        )
    codes = {name: translate_column(table, name, domain) for name, domain in known.items()}
    values = {
        name: translate_column(table, name, domain_of(target, name))
        for name in schema.sensitive
        if name in table.column_names
    }
    return Crowd(codes, persons_in(table, schema.person), np.arange(table.num_rows), values)


def domain_of(target: Target, name: str) -> Domain:
    """Return the values of a column of the original that is published unmodified."""
    return target.once(("domain", name), lambda: _domain_of_original(target, name))


def _domain_of_original(target: Target, name: str) -> Domain:
    original = table_of(target.original, "the original")
    require_columns((name,), original.column_names)
    return encode_values(original, name).domain


def translate_column(table: pa.Table, name: str, domain: Domain) -> Codes:
    """Return a column in the codes of a domain, -1 for values that it does not hold."""
    own = encode_values(table, name)
    return own.domain.translate(domain, empty=True)[own.codes].astype(np.int64)


def encode_values(table: pa.Table, name: str) -> Encoded:
    """Encode a column by itself; NaN and infinities count as missing."""
    column = table[name]
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    return encode_column(name, column, required=False)


def persons_in(table: pa.Table, names: Sequence[str]) -> Codes:
    """Number the person of each row; without person columns each row is a person."""
    if not names or any(name not in table.column_names for name in names):
        return np.arange(table.num_rows)
    columns = [encode_values(table, name) for name in names]
    return group_rows([each.codes for each in columns], [len(each.domain) for each in columns]).group_ids()


def draw_people(crowd: Crowd, target: Target, *, most: int | None = None) -> Crowd:
    """Return all people, or a random sample of about `most` rows."""
    most = MAX_ROWS if most is None else most
    if len(crowd) <= most:
        return crowd
    people = distinct(crowd.persons)
    chosen = np.random.default_rng(target.seed).permutation(people)[: max(len(people) * most // len(crowd), 1)]
    wanted = np.zeros(int(people[-1]) + 1, dtype=bool)
    wanted[chosen] = True
    return crowd.take(np.flatnonzero(wanted[crowd.persons]))


def unit_of(target: Target) -> str:
    """Return the unit that an attack counts: people or rows."""
    return "people" if target.schema.person else "rows"


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """People whom an attacker knows, and who they are in the original.

    A person may have several entries; `people` tells. `entries` and `originals` number people in the same way; -1 is a
    person who is not in the original. `by` says how they were compared: by names, by quasi-identifiers, or not at all
    since the register was made from the original.
    """

    people: Crowd
    entries: Codes
    originals: Codes
    by: str


def register_of(target: Target, *, errors: float) -> Register:
    """Return the attacker's register: the external table, or one simulated from the original with errors."""
    original = original_crowd(target)
    if target.external is None:
        some = draw_people(original, target)
        return Register(with_errors(some, target, errors), some.persons, original.persons, "simulated")
    people = crowd_of(target, target.external, "the external table")
    entries, originals, by = identities(target, people, original)
    some = draw_people(people, target)
    return Register(with_errors(some, target, errors), entries[some.rows], originals, by)


def with_errors(crowd: Crowd, target: Target, errors: float) -> Crowd:
    """Replace a random share of the cells by other values of their columns."""
    if not errors:
        return crowd
    chance = np.random.default_rng(target.seed)
    sizes = {column.name: len(column.domain) for column in columns_known(target)}
    known = {}
    for name, codes in crowd.known.items():
        wrong = (chance.random(len(codes)) < errors) & (sizes[name] > 1) & (codes >= 0)
        steps = chance.integers(1, max(sizes[name], 2), len(codes))
        known[name] = np.where(wrong, (codes + steps) % sizes[name], codes)
    return replace(crowd, known=known)


def identities(target: Target, people: Crowd, original: Crowd) -> tuple[Codes, Codes, str]:
    """Number the people of the external table and of the original alike, and say by what; -1 is absent."""
    mine, theirs = table_of(target.external, "the external table"), table_of(target.original, "the original")
    names = [name for name in target.schema.hidden if name in mine.column_names and name in theirs.column_names]
    if names:
        columns = [_texts(mine, theirs, name) for name in names]
        return (*_number_people([one for one, _ in columns], [other for _, other in columns]), "names")
    shared = list(people.known)
    entries, originals = _number_people([people.known[n] for n in shared], [original.known[n] for n in shared])
    return entries, originals, "quasi-identifiers"


def _texts(mine: pa.Table, theirs: pa.Table, name: str) -> tuple[Codes, Codes]:
    """Return a column of names in both tables, in codes of the original; -1 is a name that it does not have."""
    one, other = (encode_values(table, name) for table in (mine, theirs))
    if one.domain.kind is other.domain.kind:
        codes = one.domain.translate(other.domain)
    else:
        index_of = {text: code for code, text in enumerate(other.domain.texts())}
        codes = np.array([index_of.get(text, -1) for text in one.domain.texts()], dtype=np.int64)
    return codes[one.codes], other.codes.astype(np.int64)


def _number_people(mine: list[Codes], theirs: list[Codes]) -> tuple[Codes, Codes]:
    ids, others = together(theirs, mine, rows=0)
    assert others is not None  # noqa: S101
    return np.where(np.isin(others, ids), others, -1), ids
