"""What every engine offers: it opens sources, counts them, and publishes what an assignment says. It knows no recoding.

A *source* is a table where it lives: in memory, in files, in a database, on a cluster. A *sink* takes the tables of a
release, batch by batch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from indistinct.domain import Domain, Kind
from indistinct.frequencies.count import Counted
from indistinct.frequencies.value import Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.randomness import Secret
from indistinct.recoding.outputs import Assignment
from indistinct.tables.value import Reading


class Source(Protocol):
    """A table where it lives, original or published."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return how the values of each column are compared."""

    @property
    def rows(self) -> int:
        """Return the number of rows."""

    @property
    def reading(self) -> Reading:
        """Return how the source was read, so that another one can be read alike."""


class Sink(Protocol):
    """Where the tables of a release go."""

    def accept(self, name: str, batches: Iterable[pa.Table]) -> None:
        """Take one table, in batches that share a schema; `MAIN` is the name of the first."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be counted: the cells of the quasi-identifiers, and inside each cell a histogram for each key.

    `hierarchies` give declared orders and the taxonomies of sensitive columns. `joint` asks for the vectors of all
    keys together, which algorithms that split equal vectors need. `person` names the columns that tell people apart;
    who stands in which cell, with which value of each key, is then counted as well. `population` is a second source,
    counted in the same domains, which hold the values of both. `groupings` are further lists of columns to be counted.
    `domains` fix what the codes of some columns mean: a value outside is an `UnseenValueError`. A column without any
    value is an error unless it is `published`, where missing is its only value.
    """

    quasi: Sequence[str]
    keys: Sequence[Key] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    joint: bool = False
    person: Sequence[str] = ()
    population: Source | None = None
    groupings: Sequence[Key] = ()
    domains: Mapping[str, Domain] = field(default_factory=dict)
    published: bool = False


class Engine(Protocol):
    """Where tables live, and what can be done with them there."""

    @property
    def name(self) -> str:
        """Return the engine's name."""

    def open(self, source: Any, reading: Reading) -> Source | None:
        """Return a source that this engine can count and publish, None for one that is not its own."""

    def count(self, source: Any, request: Request) -> Counted:
        """Return the cells of a source: one GROUP BY, the only read that a search needs."""

    def publish(self, source: Any, assignment: Assignment, sink: Sink, *, secret: Secret) -> None:
        """Give a sink the published tables: rows regrouped by class, in an order inside it that `secret` decides."""
