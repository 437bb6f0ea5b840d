"""The closed union of recodings: their values, how two are compared, and what a digest commits to."""

import hashlib
import json
import secrets
from abc import ABC
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.frequencies.passes import KeyTree
from indistinct.frequencies.structure import Form
from indistinct.frequencies.value import Key
from indistinct.hierarchy.builders import Suppression
from indistinct.hierarchy.explicit import declared_order
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes, Mask
from indistinct.machine.threads import blocks, is_large, spread
from indistinct.recoding import _kernels
from indistinct.recoding.columns import NO_LEVELS, LevelBounds
from indistinct.recoding.outputs import RangeForm
from indistinct.recoding.stored_parts import PartStore
from indistinct.recoding.summary import ColumnSummary, Style
from indistinct.recoding.transformations import Transformation
from indistinct.schema import Schema
from indistinct.suppression_limit import Budget, parse_budget
from indistinct.tables.domain import Domain
from indistinct.tables.value import Reading

LATER = {"later": True}
"""Metadata of a field that came after the first release: where it is None, digests stay what they were before."""


# Relative cost of one cell, in counted rows: it goes down the tree step by step.
STEPS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """A binary tree over ranks. Node 0 is the root; an inner node sends ranks up to `cut` to its left child.

    Where `cut` is negative it names a set: -1 the first, -2 the second. Ranks of that set go to the left child, all
    others to the right. `members` has the sets as compressed sparse rows of ranks, which ascend inside a set.
    A leaf has axis -1 and its class in `left`; classes are numbered from left to right.
    """

    axis: Codes
    cut: Codes
    left: Codes
    right: Codes
    members: tuple[Codes, Codes] | None = field(default=None, metadata=LATER)

    @property
    def classes(self) -> int:
        """Return the number of leaves."""
        return int((self.axis < 0).sum())

    def numbered(self) -> "Cuts":
        """Return the tree of a finished search, whose leaves hold in `left` where their rows begin, not yet a class.

        Classes are numbered in the order of these beginnings.
        """
        leaves = np.flatnonzero(self.axis < 0)
        left, right = self.left.copy(), self.right.copy()
        left[leaves[np.argsort(self.left[leaves], kind="stable")]] = np.arange(len(leaves))
        right[leaves] = -1
        cut = np.where(self.axis < 0, 0, self.cut).astype(np.int32)
        return Cuts(self.axis, cut, left.astype(np.int32), right.astype(np.int32), self.members)

    def locate(self, ranks: Codes) -> Codes:
        """Return the class of every row of a matrix of ranks."""
        if not is_large(STEPS * len(ranks)):
            return self._descend(ranks)
        class_ids = np.empty(len(ranks), dtype=np.int32)
        # One row a node keeps the four numbers of a step in one cache line.
        nodes = np.stack([self.axis, self.cut, self.left, self.right], axis=1).astype(np.int32)
        starts, members = self._sets()
        spread(
            lambda block: _kernels.locate(nodes, starts, members, ranks[block], class_ids[block]),
            blocks(len(ranks), least=1),
        )
        return class_ids

    def _descend(self, ranks: Codes) -> Codes:
        """Return the class of every row, all rows one step down the tree at a time."""
        nodes, moving = np.zeros(len(ranks), dtype=np.intp), np.arange(len(ranks))
        moving = moving[self.axis[nodes] >= 0]
        while len(moving):
            here = nodes[moving]
            goes_left = self._goes_left(here, ranks[moving, self.axis[here]])
            nodes[moving] = np.where(goes_left, self.left[here], self.right[here])
            moving = moving[self.axis[nodes[moving]] >= 0]
        return self.left[nodes].astype(np.int32)

    def _goes_left(self, nodes: Codes, ranks: Codes) -> Mask:
        """Return whether each inner node sends its rank to the left."""
        cut = self.cut[nodes]
        goes_left = ranks <= cut
        by_set = cut < 0
        if by_set.any():
            starts, members = self._sets()
            size = 1 + max(int(members.max(initial=0)), int(ranks.max(initial=0)))
            known = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * size + members
            wanted = (-1 - cut[by_set].astype(np.int64)) * size + ranks[by_set]
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            goes_left[by_set] = known[at] == wanted
        return goes_left

    def _sets(self) -> tuple[Codes, Codes]:
        """Return the sets as compiled loops take them."""
        starts, members = self.members or (np.zeros(1), np.zeros(0))
        return starts.astype(np.int64), members.astype(np.int32)

    def bounds(self, sizes: tuple[int, ...], box: tuple[Codes, Codes] | None = None) -> tuple[Codes, Codes]:
        """Return the lowest and highest rank of every class's region; a tree that is cut at sets has none.

        `box` has the lowest and highest ranks of the part that the tree cuts, None where it cuts the whole table.
        """
        low = np.zeros((self.classes, len(sizes)), dtype=np.int32)
        high = np.zeros((self.classes, len(sizes)), dtype=np.int32)
        low[0], high[0] = (0, np.array(sizes) - 1) if box is None else box
        _kernels.region_bounds(self.axis, self.cut, self.left, self.right, low, high)
        return low, high


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
    """The generalization of a release, to be saved: the label published for each value, or combination of values.

    `release.recoding` has that of a release, and `anonymize` saves it with ``save_recoding="recoding.json"``. `apply`
    publishes another table with it. Keep it private: it holds original values.

    `columns` are the quasi-identifiers. `schema` gives the roles of all columns of the table and `promise` the model
    that the release satisfies, None before a recoding belongs to a release. `suppression` is the suppression limit: a
    share, or a text such as "4 rows". `reading` is how the table was read, so that another one is read alike.
    `transformations` are the masking of other columns, None where there is none. `ranges` says that ranges are
    published as columns of their ends; None where they are labels. `nonce` makes the digest in a certificate a
    commitment: without it guesses about the table cannot be tested. Two recodings are equal when they publish the same,
    whatever their nonces.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 41, 42]})
    >>> release = ind.anonymize(table, ind.Schema(quasi=["age"]), model="k-anonymity:k=2", algorithm="mondrian")
    >>> release.recoding.names, release.recoding.promise
    (('age',), 'k-anonymity:k=2')
    """

    columns: tuple[RecodedColumn, ...]
    schema: Schema | None = field(default=None, kw_only=True)
    promise: str | None = field(default=None, kw_only=True)
    suppression: float | str = field(default=0.0, kw_only=True)
    reading: Reading | None = field(default=None, kw_only=True, compare=False)
    transformations: Mapping[str, Transformation] | None = field(default=None, kw_only=True, metadata=LATER)
    ranges: RangeForm | None = field(default=None, kw_only=True, metadata=LATER)
    nonce: str = field(default_factory=lambda: secrets.token_hex(16), kw_only=True, compare=False)

    def __eq__(self, other: object) -> bool:
        return same_parts(self, other) if isinstance(other, Recoding) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:  # what is in it are original values
        return f"<{type(self).__name__} of {', '.join(self.names)}>"

    @property
    def budget(self) -> Budget:
        """Return the suppression limit."""
        return parse_budget(self.suppression)

    @property
    def reusable(self) -> bool:
        """Return whether it can be applied to other tables: it maps values, and not the rows of one table."""
        return True

    @property
    def not_covered(self) -> str:
        """Return in words why a combination of known values may have no class."""
        return "lie outside the published ranges"

    @property
    def of_slices(self) -> "tuple[Recoding, ...]":
        """Return the recodings that generalized the slices of a sliced release."""
        return ()

    @property
    def recoded_domains(self) -> tuple[Domain, ...]:
        """Return the domains in whose codes it is written."""
        return tuple(column.domain for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns that it recodes: the quasi-identifiers."""
        return tuple(domain.column for domain in self.recoded_domains)

    @property
    def splits_by_sensitive(self) -> bool:
        """Return whether rows of a cell part by their sensitive values, which must be counted inside each cell."""
        return False

    @property
    def counted_keys(self) -> tuple[Key, ...]:
        """Return the keys that must be counted together with its cells, whatever the model."""
        return ()

    def recoded_roles(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that it must recode, by their roles."""
        return tuple(schema.quasi)

    @property
    def node(self) -> Mapping[str, int] | None:
        """Return the node of the lattice, column -> level; None unless each column is published on one level."""
        return None

    def level_of(self, column: str) -> int | None:
        """Return the level of its hierarchy on which a column is published, None where levels differ between rows."""
        return (self.node or {}).get(column)

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

    @property
    def node(self) -> Mapping[str, int] | None:
        """Return `levels`."""
        return self.levels


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
        """Return the end of the error message for values that are not listed."""
        return "are not in the recoding"


@dataclass(frozen=True, eq=False, repr=False)
class ByRow(Recoding):
    """Rows of equal vectors may part: piece `i` sends `counts[i]` rows of cell `cells[i]` to class `class_ids[i]`.

    Pieces ascend by cell. `joint` (or None) is the code of the sensitive values that a piece's rows have. Such a
    recoding is about the rows of one table and fits no other.
    """

    vectors: Codes
    cells: Codes
    joint: Codes | None
    class_ids: Codes
    counts: Codes
    values: Codes

    @property
    def reusable(self) -> bool:
        """Return False."""
        return False

    @property
    def splits_by_sensitive(self) -> bool:
        """Return whether pieces have sensitive values."""
        return self.joint is not None


@dataclass(frozen=True, eq=False, repr=False)
class ByBucket(Recoding):
    """Rows go to buckets: piece `i` sends `counts[i]` rows of cell `cells[i]` to bucket `class_ids[i]`.

    A cell is a vector of every column that is not sensitive; `joint` (or None) is the code of a piece's sensitive
    values. `slices` are the columns of the release, each some attributes whose values stay together: inside a bucket
    each slice is permuted on its own. `generalized` recodes the attributes of some slices first, by class of the slice.
    `form` says what is published: one table with a bucket column (sliced), a further table of the sensitive values
    (tables), or every value as the multiset of its bucket (multiset). No sensitive value has a probability above 1 /
    `l`, and a bucket has at least `size` rows. Such a recoding is about the rows of one table and fits no other.
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
    def reusable(self) -> bool:
        """Return False."""
        return False

    @property
    def of_slices(self) -> tuple[Recoding, ...]:
        """Return `generalized`."""
        return self.generalized

    @property
    def recoded_domains(self) -> tuple[Domain, ...]:
        """Return the domains of the attributes that are not sensitive."""
        return self.domains

    @property
    def splits_by_sensitive(self) -> bool:
        """Return whether pieces have sensitive values."""
        return self.joint is not None

    @property
    def counted_keys(self) -> tuple[Key, ...]:
        """Return the sensitive attributes, whose links to others it breaks."""
        return () if self.schema is None else tuple((name,) for name in self.schema.sensitive)

    def recoded_roles(self, schema: Schema) -> tuple[str, ...]:
        """Return all attributes that are not sensitive."""
        return (*schema.quasi, *schema.insensitive)


def with_hierarchies(recoding: Recoding, hierarchies: Mapping[str, Hierarchy]) -> Recoding:
    """Attach hierarchies to the columns of a recoding, so that further values get labels.

    Listed vectors and rows need none: no label is true of a vector that is not listed.
    """
    if not isinstance(recoding, ByColumn | ByRegion):
        return recoding
    columns = []
    for column in recoding.columns:
        declared = hierarchies.get(column.domain.column)
        if is_tree(column.summary):
            declared = declared or Suppression()
        elif declared_order(declared) is None:
            declared = None
        labelling = None if declared is None else declared.complete_for(column.domain)
        columns.append(replace(column, hierarchy=labelling))
    return replace(recoding, columns=tuple(columns))


def is_tree(summary: ColumnSummary) -> bool:
    """Return whether the published values of a column are nodes of a hierarchy."""
    return not summary.published.ranged and summary.members is None and not summary.regions


def digest(recoding: Recoding) -> str:
    """Return a SHA-256 commitment to a recoding, nonce included."""
    return digest_parts(recoding, nonce=recoding.nonce)


# Rows of an array that are hashed at a time: a whole array would be copied.
BLOCK = 1 << 16
# What JSON writes in another way than it is.
ESCAPED = r'["\\\x00-\x1f\x7f]'


def parts_of(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the path and the content of every array, text and number inside a dataclass, in the order of its fields.

    A field that takes no part in comparisons is left out, and so is a later one that is None.
    """
    if is_dataclass(value):
        yield path, type(value).__name__
        for field in fields(value):
            if field.compare and not ("later" in field.metadata and getattr(value, field.name) is None):
                yield from parts_of(getattr(value, field.name), f"{path}/{field.name}")
    elif isinstance(value, Mapping):
        yield path, sorted(value)
        for key in sorted(value):
            yield from parts_of(value[key], f"{path}/{key}")
    elif isinstance(value, tuple | list):
        yield path, len(value)
        for index, each in enumerate(value):
            yield from parts_of(each, f"{path}/{index}")
    else:
        yield path, value


def same_parts(one: object, other: object) -> bool:
    """Return whether two dataclasses have the same parts; the width of integers does not matter."""
    pairs = zip_longest(parts_of(one), parts_of(other), fillvalue=("", None))
    return all(path == where and _same(mine, theirs) for (path, mine), (where, theirs) in pairs)


def digest_parts(value: object, *, nonce: str) -> str:
    """Return a SHA-256 commitment to the parts of a dataclass; the width of integers does not matter."""
    state = hashlib.sha256(nonce.encode())
    for path, part in parts_of(value):
        state.update(f"\n{path}:".encode())
        match part:
            case np.ndarray():
                kind = _width(part)
                state.update(f"{part.shape}{kind}".encode())
                for start in range(0, len(part), BLOCK):
                    state.update(np.ascontiguousarray(part[start : start + BLOCK], dtype=kind).tobytes())
            case pa.Array():
                blocks = [part.slice(start, BLOCK) for start in range(0, len(part), BLOCK)]
                inside = b", ".join(spread(_json_items, blocks))
                state.update(b"[%s, [%s]]" % (json.dumps(str(part.type)).encode(), inside))
            case _:
                state.update(json.dumps(part, ensure_ascii=False).encode())
    return state.hexdigest()


def _json_items(block: pa.Array) -> bytes:
    """Return values as items of a JSON list of texts, `"a", null, "b"`; only what people have written needs escapes."""
    texts = block.cast(pa.string())
    if pa.types.is_string(block.type) and pc.any(pc.match_substring_regex(texts, ESCAPED)).as_py():
        return json.dumps(texts.to_pylist(), ensure_ascii=False)[1:-1].encode()
    quoted = pc.fill_null(pc.binary_join_element_wise('"', texts, '"', ""), "null")
    return bytes(pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)]), quoted), ", ")[0].as_buffer())


def _same(mine: object, theirs: object) -> bool:
    """Compare two fields of recodings, which may be arrays."""
    if isinstance(mine, np.ndarray):
        return isinstance(theirs, np.ndarray) and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    if isinstance(mine, pa.Array):
        return isinstance(theirs, pa.Array) and mine.equals(theirs)
    return bool(mine == theirs) if not isinstance(theirs, np.ndarray) else False


def _width(part: Codes) -> str:
    """Return the narrowest type that holds the numbers of an array, whatever type they have."""
    if part.dtype.kind == "f":
        return "<f8"
    low, high = (int(part.min()), int(part.max())) if part.size else (0, 0)
    kinds = ("<i1", "<i2", "<i4", "<i8")
    return next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


@dataclass(frozen=True, slots=True, eq=False)
class PartColumn:
    """A quasi-identifier of a recoding by parts: all its values or, where it is `keyed`, the smallest and the largest.

    All keys of the table that it was found on lie from `low` to `high`.
    """

    domain: Domain
    keyed: bool
    low: int
    high: int


@dataclass(frozen=True, eq=False, repr=False)
class ByPart(Recoding):
    """Parts of a table, each with a tree of cuts of its own; `top` leads to them.

    `store` has the parts, None where they are not kept: then there is nothing to apply. Of columns with `levels`, keys
    are ranks of the values on their least level.
    """

    quasi: tuple[PartColumn, ...] = ()
    top: KeyTree | None = None
    style: Style = field(default_factory=Style)
    declared: Mapping[str, Hierarchy] = field(default_factory=dict)
    parts: int = 0
    levels: LevelBounds = NO_LEVELS
    store: PartStore | None = field(default=None, compare=False)

    @property
    def recoded_domains(self) -> tuple[Domain, ...]:
        """Return the domains of the quasi-identifiers."""
        return tuple(column.domain for column in self.quasi)

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """Return the hierarchies that published labels come from."""
        return dict(self.declared)
