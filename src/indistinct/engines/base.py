"""What every engine offers: it counts a table for a search and applies a recoding to its rows, without algorithms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from indistinct.arrays import Codes
from indistinct.frequencies.count import Counted
from indistinct.frequencies.value import Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import Assignment
from indistinct.schema import Schema


@dataclass(frozen=True, slots=True)
class Request:
    """What a search needs to be counted: the quasi-identifiers, and a histogram for each key.

    `hierarchies` give declared orders and the taxonomies of sensitive columns. `joint` asks for the vectors of all
    keys together, which algorithms that split equal vectors need.
    """

    quasi: Sequence[str]
    keys: Sequence[Key] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    joint: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A table after a recoding: what may be seen, and privately which rows stand where.

    `schema` names the published columns. `order[i]` is the original row of published row `i`, None in buckets, where
    the columns have different orders: it never leaves the process. `others` are further tables of the release, by what
    they hold.
    """

    table: pa.Table
    schema: Schema
    order: Codes | None
    assignment: Assignment
    others: Mapping[str, pa.Table] = field(default_factory=dict)


class Engine(Protocol):
    """Where tables live."""

    name: str

    def count(self, table: pa.Table, request: Request) -> Counted:
        """Return the cells of a table: one GROUP BY, the only read that a search needs."""

    def apply(
        self,
        recoding: Recoding,
        table: pa.Table,
        *,
        schema: Schema,
        seed: int | None = None,
        counted: Counted | None = None,
    ) -> Published:
        """Return the published table: rows regrouped by class and shuffled inside it."""

    def supports(self, recoding: Recoding) -> bool:
        """Return whether this engine can apply a recoding."""
