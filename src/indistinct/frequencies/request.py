"""What is asked of an engine: the cells that a search or a check needs to see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from indistinct.errors import InputError
from indistinct.frequencies.value import Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be counted: the cells of the quasi-identifiers, and inside each cell a histogram for each key.

    `hierarchies` give declared orders and the taxonomies of sensitive columns. `joint` asks for the vectors of all
    keys together, which algorithms that split equal vectors need. `person` names the columns that tell people apart,
    for keys that begin with `PERSON`; no row may leave them out. `population` is a second source, counted in the same
    domains, which hold the values of both. `groupings` are further lists of columns to be counted, and `alone` columns
    of which it is asked how many rows have a value of their own, unless these are clearly few. `published_columns` are
    those of which it is asked whom one or two of them single out, in people where `person` is given.
    `domains` fix what the codes of some columns mean: a value outside is an `UnseenValueError`. A column without any
    value is an error unless it is `published`, where missing is its only value.
    """

    quasi: Sequence[str]
    keys: Sequence[Key] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    joint: bool = False
    person: Sequence[str] = ()
    population: Any = None
    groupings: Sequence[Key] = ()
    alone: Sequence[str] = ()
    published_columns: Sequence[str] = ()
    domains: Mapping[str, Domain] = field(default_factory=dict)
    published: bool = False


def nobody(column: str, rows: int) -> InputError:
    """Return the error of a table in which some rows do not say whom they are about."""
    return InputError(
        f"column {column!r} tells people apart, and {rows:,} row(s) have no value there: they are about nobody",
        hint="fill the column or leave these rows out; to count rows, give it the role identifier instead",
        column=column,
    )
