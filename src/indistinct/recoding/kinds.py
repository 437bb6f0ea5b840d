"""The closed union of recodings.

A *recoding* says what to publish for each combination of quasi-identifier values. An *algorithm* finds one, an
*engine* applies it, a *model* judges the result.

    ByColumn   each column on its own: full-domain levels, single-dimensional cuts, subtrees
    ByRegion   a tree of cuts over vectors: strict multidimensional partitioning
    ByCell     a list of vectors, each with its class: clustering
    ByRow      equal vectors may go to different classes: relaxed partitioning, stubs
    ByBucket   rows go to buckets, inside which the links between columns are broken: anatomy, multisets, slicing

Recodings hold the original values, so a stored recoding is as confidential as the table.
"""

import secrets
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field

from indistinct.budget import Budget, parse_budget
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes
from indistinct.recoding.outputs import Form
from indistinct.recoding.parts import LATER, same_parts
from indistinct.recoding.regions import Cuts
from indistinct.recoding.summary import ColumnSummary
from indistinct.recoding.transformations.value import Transformation
from indistinct.schema import Schema
from indistinct.tables.domain import Domain
from indistinct.tables.value import Reading


@dataclass(frozen=True, slots=True, eq=False)
class RecodedColumn:
    """A quasi-identifier in a recoding: the values it knows, the order they are cut in, and what is published.

    `hierarchy` is the declaration that labels come from, where it gives labels to values that the column does not know.
    """

    domain: Domain
    ranks: Codes
    floor: int
    summary: ColumnSummary
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Recoding(ABC):
    """What to publish for each combination of quasi-identifier values.

    `schema` gives the roles of all columns of the table and `promise` the model that the search satisfied; both are
    there once a recoding belongs to a release, so that it can be applied to another table with the same care.
    `suppression` is what the search was allowed to drop, as a `Budget` spells it: a share, or a text such as "4 rows".
    `reading` is how the table was read, so that another one can be read alike.
    `transformations` are those of columns that are not recoded, None where there are none.
    `nonce` makes the digest in a certificate a commitment: without it nobody can test guesses about the table.
    Two recodings are equal when they publish the same, whatever their nonces.
    """

    columns: tuple[RecodedColumn, ...]
    schema: Schema | None = field(default=None, kw_only=True)
    promise: str | None = field(default=None, kw_only=True)
    suppression: float | str = field(default=0.0, kw_only=True)
    reading: Reading | None = field(default=None, kw_only=True, compare=False)
    transformations: Mapping[str, Transformation] | None = field(default=None, kw_only=True, metadata=LATER)
    nonce: str = field(default_factory=lambda: secrets.token_hex(16), kw_only=True, compare=False)

    def __eq__(self, other: object) -> bool:
        return same_parts(self, other) if isinstance(other, Recoding) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:  # what is in it are original values
        return f"<{type(self).__name__} of {', '.join(self.names)}>"

    @property
    def budget(self) -> Budget:
        """Return what the search was allowed to drop."""
        return parse_budget(self.suppression)

    @property
    def reusable(self) -> bool:
        """Return whether it speaks of vectors, so that it fits other tables too, and not of the rows of one table."""
        return True

    @property
    def not_covered(self) -> str:
        """Return why known values beside each other may have no class, in words."""
        return "lie outside the published ranges"

    @property
    def of_slices(self) -> "tuple[Recoding, ...]":
        """Return the recodings of single slices, where links are broken and values recoded before."""
        return ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the quasi-identifiers."""
        return tuple(column.domain.column for column in self.columns)

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """Return the hierarchies that published labels come from."""
        return {each.domain.column: each.hierarchy for each in self.columns if each.hierarchy is not None}


@dataclass(frozen=True, eq=False, repr=False)
class ByColumn(Recoding):
    """Each column on its own: `groups[j][code]` is the published code of a value, -1 for one that nothing covers.

    Rows whose published vector is one of `suppressed` are not published, or published as the vector `star` if there
    is one. `levels` is there for full-domain recodings: column -> level.
    """

    groups: tuple[Codes, ...]
    suppressed: Codes
    levels: Mapping[str, int] | None = None
    star: Codes | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ByRegion(Recoding):
    """A tree of cuts: `values[class, j]` is the published code of a region."""

    cuts: Cuts
    values: Codes


@dataclass(frozen=True, eq=False, repr=False)
class ByCell(Recoding):
    """Listed vectors: vector `i` goes to class `class_ids[i]`, negative for suppression."""

    vectors: Codes
    class_ids: Codes
    values: Codes

    @property
    def not_covered(self) -> str:
        """Return that only what is listed is covered."""
        return "are not in the recoding"


@dataclass(frozen=True, eq=False, repr=False)
class ByRow(Recoding):
    """Rows of equal vectors may part: piece `i` sends `counts[i]` rows of cell `cells[i]` to class `class_ids[i]`.

    Pieces ascend by cell. `joint` (or None) is the code of the sensitive values that a piece's rows have. Such a
    recoding speaks of the rows of one table and fits no other.
    """

    vectors: Codes
    cells: Codes
    joint: Codes | None
    class_ids: Codes
    counts: Codes
    values: Codes

    @property
    def budget(self) -> Budget:
        """Return what the search was allowed to drop."""
        return parse_budget(self.suppression)

    @property
    def reusable(self) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True, eq=False, repr=False)
class ByBucket(Recoding):
    """Rows go to buckets: piece `i` sends `counts[i]` rows of cell `cells[i]` to bucket `class_ids[i]`.

    A cell is a vector of every column that is not sensitive; `joint` (or None) is the code of a piece's sensitive
    values. `slices` are the columns of the release, each some attributes whose values stay together: inside a bucket
    each slice is permuted on its own. `generalized` recodes the attributes of some slices first, by class of the slice.
    `form` says what is published: one table with a bucket column (sliced), a table of the sensitive values beside it
    (tables), or every value as the multiset of its bucket (multiset). No sensitive value has a probability above
    1 / `l`, and a bucket has at least `size` rows. Such a recoding speaks of the rows of one table and fits no other.
    """

    domains: tuple[Domain, ...]
    vectors: Codes
    cells: Codes
    joint: Codes | None
    class_ids: Codes
    counts: Codes
    slices: tuple[tuple[str, ...], ...]
    generalized: tuple[Recoding, ...] = ()
    form: Form = "sliced"
    l: int | None = None
    size: int = 1

    @property
    def budget(self) -> Budget:
        """Return what the search was allowed to drop."""
        return parse_budget(self.suppression)

    @property
    def reusable(self) -> bool:
        """Return False."""
        return False

    @property
    def of_slices(self) -> tuple[Recoding, ...]:
        """Return `generalized`."""
        return self.generalized

    @property
    def names(self) -> tuple[str, ...]:
        """Return the attributes that are not sensitive."""
        return tuple(domain.column for domain in self.domains)
