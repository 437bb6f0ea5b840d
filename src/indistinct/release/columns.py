"""What a published table may look like, given the roles that its columns had in the original."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from indistinct.errors import InputError, SchemaError
from indistinct.recoding.outputs import Buckets
from indistinct.schema import BUCKET, COUNT, Schema, where_is

COMPANIONS = ("_mean", "_missing")
BOUNDS = ("_min", "_max", "_missing")


def published_schema(schema: Schema, columns: Sequence[str]) -> Schema:
    """Return the roles of a release's columns: a range may be two bounds, a mean may stand beside it.

    >>> published_schema(Schema(identifiers=["name"], quasi=["age"]), ["age_min", "age_max"]).quasi
    ('age_min', 'age_max')
    """
    free = [name for name in columns if name not in schema.columns]
    quasi: list[str] = []
    for name in schema.quasi:
        if name in columns:
            quasi += [name, *(name + end for end in COMPANIONS if name + end in free)]
        elif all(name + end in free for end in BOUNDS[:2]):
            quasi += [name + end for end in BOUNDS if name + end in free]
        else:
            quasi.append(name)
    return replace(schema, identifiers=(), person=(), quasi=quasi)


@dataclass(frozen=True, slots=True)
class Appearance:
    """What a release looks like: the identifiers that it shows, columns without a role, whose certificate it has.

    It is `strange` where its first line does not hold the names that are expected.
    """

    identifiers: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    foreign_certificate: bool = False
    strange: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what a reader must know about the columns."""
        told = []
        if self.identifiers:
            told.append(f"the release shows {_list(self.identifiers)}, role identifier or person: drop it")
        if self.unknown:
            which = f"{len(self.unknown)} columns" if self.strange else _list(self.unknown)
            told.append(f"no role is given to {which}: the check does not look at it")
        if self.foreign_certificate:
            told.append("the certificate beside the file is that of another file")
        return tuple(told)


def appearance_of(
    schema: Schema, tables: Mapping[str, Sequence[str]], buckets: Buckets | None, *, pseudonyms: Sequence[str] = ()
) -> Appearance:
    """Return what the columns of a release's tables tell, given the roles before it was published.

    Identifiers may be shown as `pseudonyms`.
    """
    columns = [name for names in tables.values() for name in names]
    added = () if buckets is None else (BUCKET, COUNT)
    roles = (*published_schema(schema, columns).columns, *added)
    if buckets is not None:
        roles += tuple(name + end for name in buckets.generalized for end in (*COMPANIONS, *BOUNDS))
    hidden = tuple(name for name in schema.hidden if name in columns)
    leaked = tuple(name for name in hidden if name not in pseudonyms)
    unknown = tuple(name for name in dict.fromkeys(columns) if name not in roles and name not in hidden)
    expected = published_schema(schema, columns).columns
    # Where few expected columns are there, the first line may be somebody's data, which is not told.
    return Appearance(leaked, unknown, strange=2 * sum(name in columns for name in expected) < len(expected))


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


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
