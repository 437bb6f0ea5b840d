"""Which column plays which role: what a recoding changes, keeps and drops.

>>> Schema(identifiers=["name"], quasi=["age", "sex"], sensitive=["disease"]).role("age")
<Role.QUASI: 'quasi'>
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from indistinct.errors import SchemaError, did_you_mean
from indistinct.machine.arguments import NamedArguments

BUCKET, COUNT = "bucket", "count"
"""Columns of a release in buckets: the bucket of a row and, in a table of sensitive values, the count of each."""


class Role(StrEnum):
    """What a column is to the person behind the row."""

    IDENTIFIER = "identifier"
    PERSON = "person"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


# The field of a schema that holds the columns of a role.
ROLES = {
    Role.IDENTIFIER: "identifiers",
    Role.PERSON: "person",
    Role.QUASI: "quasi",
    Role.SENSITIVE: "sensitive",
    Role.INSENSITIVE: "insensitive",
}


@dataclass(frozen=True, slots=True)
class Schema(NamedArguments):
    """Roles of a table's columns; every column has exactly one.

    Parameters
    ----------
    identifiers
        Columns that name a person, such as a name or an e-mail address; removed, unless pseudonyms replace their
        values.
    quasi
        Quasi-identifiers: columns that an attacker may know about a person, such as age; generalized.
    sensitive
        Columns whose values must not be learned about a person, such as a diagnosis; unmodified, and protected by the
        models that name them.
    insensitive
        Columns that no model protects; unmodified, or masked. No column is insensitive by default.
    person
        Person ID: the columns that identify a person who may have several rows. They are removed, and everything that
        is counted is then people.

    Raises
    ------
    SchemaError
        If a column has two roles, or columns are not given as a list of names.

    Examples
    --------
    >>> schema = Schema(identifiers=["name"], quasi=["age", "sex"], sensitive=["disease"])
    >>> schema.published
    ('age', 'sex', 'disease')
    >>> Schema.from_roles({"age": "quasi", "disease": "sensitive"}).quasi
    ('age',)
    """

    identifiers: Sequence[str] = ()
    quasi: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    insensitive: Sequence[str] = ()
    _: KW_ONLY
    person: Sequence[str] = ()

    def __post_init__(self) -> None:
        for field in ROLES.values():
            names = getattr(self, field)
            if isinstance(names, str):
                listed = [name.strip() for name in names.split(",")]
                raise SchemaError(
                    f"`{field}` must be a list of column names; got one string", hint=f"write {field}={listed!r}"
                )
            if not hasattr(names, "__iter__"):
                raise SchemaError(
                    f"`{field}` must be a list of column names; got {type(names).__name__}",
                    hint=f'for example {field}=["age", "sex"]',
                )
            others = dict.fromkeys(type(name).__name__ for name in names if not isinstance(name, str))
            if others:
                raise SchemaError(
                    f"`{field}` must be a list of column names; got {type(names).__name__} of {', '.join(others)}",
                    hint=f'columns are named, not numbered: for example {field}=["age", "sex"]',
                )
            object.__setattr__(self, field, tuple(names))
        twice = sorted(name for name, count in Counter(self.columns).items() if count > 1)
        if twice:
            raise SchemaError(
                f"a column has exactly one role; named twice: {', '.join(twice)}",
                hint=f"name each column once, in one of {', '.join(ROLES.values())}",
            )

    @classmethod
    def from_roles(cls, roles: Mapping[str, str]) -> "Schema":
        """Build a schema from `column -> role`, in the mapping's order."""
        known = [role.value for role in Role]
        for column, role in roles.items():
            if role not in known:
                raise SchemaError(
                    f"the role of column {column!r} must be one of {', '.join(known)}; got {role!r}",
                    hint=f"did you mean {near!r}?" if (near := _role_in(role)) else did_you_mean(role, known),
                )
        return cls(**{field: [c for c, r in roles.items() if r == role] for role, field in ROLES.items()})

    @staticmethod
    def refuse_other(given: object) -> None:
        """Raise `SchemaError` for anything that is no schema, such as a dictionary of roles."""
        if not isinstance(given, Schema):
            raise SchemaError(
                f"the schema must be a Schema; got {type(given).__name__}",
                hint='ind.Schema.from_roles({"age": "quasi", "disease": "sensitive"}), or ind.Schema(quasi=["age"], …)',
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """Every named column, role by role."""
        return (*self.hidden, *self.published)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Every column that points at a person, which no release shows."""
        return (*self.identifiers, *self.person)

    @property
    def published(self) -> tuple[str, ...]:
        """Every column that a release shows."""
        return (*self.quasi, *self.sensitive, *self.insensitive)

    def role(self, column: str) -> Role:
        """Return the role of a column that the schema names."""
        for role, field in ROLES.items():
            if column in getattr(self, field):
                return role
        raise SchemaError(f"the schema does not name column {column!r}")

    def check(self, columns: Iterable[str], *, decided: bool = False) -> None:
        """Raise unless the schema names exactly these columns.

        A column that the schema does not name is an error, not a guess. Roles that are `decided` belong to a recoding,
        and no other column can get one.
        """
        present = list(columns)
        for name in self.columns:
            if name not in present:
                raise SchemaError(
                    f"the table has no column {name!r}",
                    hint=where_is(name, present, expected=self.columns),
                )
        unnamed = [name for name in present if name not in self.columns]
        if unnamed:
            raise SchemaError(
                f"no role is given to {'column' if len(unnamed) == 1 else 'columns'} {', '.join(map(repr, unnamed))}",
                hint="remove the column from the table: the recoding was found without it; or anonymize the table anew"
                if decided
                else "give each a role: identifier or person (dropped), quasi (generalized), sensitive or insensitive "
                "(unmodified), by a flag such as --quasi, under [columns] of a policy, or in ind.Schema; "
                "`indistinct inspect` suggests roles",
            )
        if not self.quasi:
            raise SchemaError("the schema names no quasi-identifier", hint=NAME_QUASI)


NAME_QUASI = "name the columns that others may know about a person: --quasi age,sex, or --policy policy.toml"


def where_is(name: str, present: Sequence[str], *, expected: Sequence[str], table: str = "table") -> str:
    """Return a hint for a column that a table does not have.

    The first line is shown only if most of the expected columns are in it: else it may be a person's row.
    """
    words = name.split()
    if len(words) > 1 and all(word in present for word in words):
        return f"separate columns with commas: {','.join(words)}"
    near = did_you_mean(name, present)
    if near is not None:
        return near
    if 2 * sum(each in present for each in expected) < len(expected):
        return (
            "few of the expected columns are there: check that it is the right file, and that its first line has names"
        )
    return f"the {table} has: {', '.join(present)}"


def require_schema(given: object) -> None:
    """Raise `SchemaError` for anything that is no schema, such as a dictionary of roles."""
    Schema.refuse_other(given)


def _role_in(text: str) -> str | None:
    """Return the role that a longer name begins with, such as quasi of quasi-identifier."""
    return next((role.value for role in Role if text.casefold().startswith(role.value)), None)
