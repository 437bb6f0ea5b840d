"""Whether a recoding is consistent: every array has the shape, the type and the range that its kind asks for.

Recodings come from untrusted files, and from Python. The loops that assign cells and move rows
trust their arrays, so that every recoding is checked first, in time that is linear in its size.
"""

from collections import Counter
from collections.abc import Sequence
from math import isfinite
from typing import assert_never, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError, ParameterError
from indistinct.frequencies.encode import pack
from indistinct.frequencies.slices import share_attributes, sharing_problem
from indistinct.frequencies.structure import Form
from indistinct.machine.arrays import Array, Codes
from indistinct.recoding.columns import levels_of
from indistinct.recoding.kinds import (
    BLOCK,
    ByBucket,
    ByCell,
    ByColumn,
    ByPart,
    ByRegion,
    ByRow,
    Cuts,
    RecodedColumn,
    Recoding,
    same_parts,
)
from indistinct.recoding.summary import ColumnSummary
from indistinct.suppression_limit import parse_budget
from indistinct.tables.domain import Domain, ascends
from indistinct.tables.value import Reading, check_reading

# Codes, ranks, classes and thresholds have 32 bits; numbers of rows are exact in a float.
MAX_CODE, MAX_ROWS = 2**31 - 1, 2**53


def check_recoding(recoding: Recoding) -> None:
    """Raise `InputError` unless a recoding is consistent. Verification judges its privacy guarantee."""
    _check_roles(recoding)
    for column in recoding.columns:
        _check_column(column)
    sizes = [len(column.domain) for column in recoding.columns]
    published = [len(column.summary.published) for column in recoding.columns]
    match recoding:
        case ByColumn():
            _check_groups(recoding, sizes, published)
        case ByRegion():
            _check_cuts(recoding.cuts, sizes)
            _check_rows("values", recoding.values, published, rows=recoding.cuts.classes)
        case ByCell():
            _check_vectors("vectors", recoding.vectors, sizes)
            _check_rows("values", recoding.values, published)
            least, below = -1, len(recoding.values)
            _check_codes("class_ids", recoding.class_ids, len(recoding.vectors), below=below, least=least)
        case ByRow():
            _check_rows("values", recoding.values, published)
            _check_pieces(recoding, sizes, least=-1, classes=len(recoding.values))
        case ByBucket():
            _check_buckets(recoding)
        case ByPart():
            _check_top(recoding)
            _require(_are_levels(recoding), "`levels` must be those of columns with a domain")
        case _:
            assert_never(recoding)  # type: ignore[arg-type]


def _require(holds: object, what: str) -> None:
    if not holds:
        raise InputError(f"the recoding is inconsistent: {what}", hint="use the file that was written, or search again")


def _check_roles(recoding: Recoding) -> None:
    """Raise unless the schema gives the recoded columns the role that they were recoded in."""
    names, schema = recoding.names, recoding.schema
    _require(names and len(set(names)) == len(names), "it must recode some columns, each once")
    _require(_is_budget(recoding.suppression), "`suppression` must be a share, or a number of rows or people")
    if recoding.reading is not None:
        _check_reading(recoding.reading)
    for name in recoding.transformations or ():
        known = () if schema is None else (*schema.sensitive, *schema.insensitive)
        _require(name in known, "transformations are of columns that are published and not recoded")
    if schema is not None:
        _require(
            Counter(recoding.recoded_roles(schema)) == Counter(names),
            "the schema must name exactly the columns that are recoded",
        )


def _is_budget(given: float | str) -> bool:
    try:
        return parse_budget(given).plain == given
    except ParameterError:
        return False


def _are_levels(recoding: ByPart) -> bool:
    """Return whether the level bounds of a recoding are valid and name its columns."""
    try:
        levels_of({name: list(bounds) for name, bounds in recoding.levels.bounds})
    except ParameterError:
        return False
    known = {column.domain.column for column in recoding.quasi if not column.keyed}
    return known.issuperset(recoding.levels.columns)


def _check_reading(reading: Reading) -> None:
    try:
        check_reading(reading)
    except ParameterError:
        _require(False, "`reading` does not say how a table is read")


def _check_column(column: RecodedColumn) -> None:
    """Raise unless the domain, ranks and summary of a column are consistent."""
    size, name = len(column.domain), column.domain.column
    _check_domain(column.domain)
    _check_codes(f"ranks of {name!r}", column.ranks, size, below=size)
    _require((np.bincount(column.ranks) == 1).all(), f"the ranks of {name!r} must be a permutation")
    _require(0 <= column.floor <= column.domain.missing, f"the floor of {name!r} must be the ranks of missing")
    _require(column.summary.published.column == name, f"{name!r} must be published as itself")
    _check_summary(column.summary, size, name)


def _check_domain(domain: Domain) -> None:
    """Raise unless the values of a domain are distinct, finite numbers, dates or texts."""
    values, name = domain.values, domain.column
    _require(_plain(values.type) and values.null_count == 0, f"the values of {name!r} must be numbers, dates or text")
    _require(0 < len(domain) <= MAX_CODE, f"{name!r} must have some values")
    if pa.types.is_floating(values.type):
        _require(pc.all(pc.is_finite(values)).as_py() is not False, f"the values of {name!r} must be finite")
    differ = ascends(values) or pc.count_distinct(values).as_py() == len(values)
    _require(differ, f"the values of {name!r} must be distinct")


def _plain(kind: pa.DataType) -> bool:
    """Return whether domains are made of values of an Arrow type."""
    known = (pa.string(), pa.float32(), pa.float64(), pa.date32(), pa.timestamp("us"))
    return kind in known or pa.types.is_integer(kind) or pa.types.is_decimal128(kind) or pa.types.is_decimal256(kind)


def _check_summary(summary: ColumnSummary, size: int, name: str) -> None:
    """Raise unless every published value has its outputs, its extent and the ranks that it covers."""
    published, count = summary.published, len(summary.published)
    outputs = [values for _, values in published.outputs]
    names = {name, *(f"{name}_{form}" for form in ("mean", "missing", "min", "max"))}
    _require(all(output in names for output, _ in published.outputs), f"{name!r} must be published under its name")
    _require(outputs and all(len(values) == count for values in outputs), f"{name!r} must have its published values")
    plain = all(_plain(values.type) or pa.types.is_boolean(values.type) for values in outputs)
    _require(plain, f"the published values of {name!r} must be numbers, dates or text")
    for part in (published.low, published.high):
        _check_shape(f"extent of {name!r}", part, (count,), kinds="f")
        _require(np.isfinite(part).all(), f"the extent of {name!r} must be finite")
    _require((published.low <= published.high).all(), f"the extent of {name!r} must not end before it begins")
    _require(0 <= published.size <= MAX_ROWS, f"{name!r} must have a size")
    _require(0 <= published.height <= MAX_CODE, f"{name!r} must have a height")
    _require(isfinite(published.span) and published.span >= 0, f"the span of {name!r} must be a length")
    _check_codes(f"leaves of {name!r}", published.leaves, count, below=MAX_ROWS)
    _check_codes(f"levels of {name!r}", published.levels, count, below=max(published.height, 1) + 1)
    for part in (summary.low, summary.high):
        _check_codes(f"covered ranks of {name!r}", part, count, below=size + 1, least=-1)
    _check_shape(f"covered ranks of {name!r}", summary.absent, (count,), kinds="b")
    if summary.members is not None:
        starts, members = summary.members
        _check_codes(f"members of {name!r}", members, len(members), below=size)
        _check_codes(f"members of {name!r}", starts, count + 1, below=len(members) + 1)
        ends = starts[0] == 0 and starts[-1] == len(members) and (starts[1:] >= starts[:-1]).all()
        _require(ends, f"the members of {name!r} must be in runs")


def _check_groups(recoding: ByColumn, sizes: Sequence[int], shown: Sequence[int]) -> None:
    """Raise unless each value has a published value of its column."""
    _require(len(recoding.groups) == len(sizes), "every column must have its groups")
    for group, size, count in zip(recoding.groups, sizes, shown, strict=True):
        _check_codes("groups", group, size, below=count, least=-1)
    _check_rows("suppressed", recoding.suppressed, shown)
    if recoding.star is not None:
        _check_shape("star", recoding.star, (len(shown),))
        _check_rows("star", recoding.star.reshape(1, -1), shown)
    if recoding.levels is not None:
        _require(recoding.levels.keys() == set(recoding.names), "`levels` must name every column")
        _require(all(0 <= level <= MAX_CODE for level in recoding.levels.values()), "`levels` must be levels")


def _check_cuts(cuts: Cuts, sizes: Sequence[int]) -> None:
    """Raise unless the nodes are one binary tree whose leaves are numbered from 0.

    Children come after their parents, and every node but the first has one parent: so every node is below the first.
    """
    nodes = len(cuts.axis)
    _require(nodes, "the tree of cuts must have a root")
    _check_codes("axis", cuts.axis, nodes, below=len(sizes), least=-1)
    inner = np.flatnonzero(cuts.axis >= 0)
    sets = 0 if cuts.members is None else len(cuts.members[0]) - 1
    for name, part in (("cut", cuts.cut), ("left", cuts.left), ("right", cuts.right)):
        _check_shape(name, part, (nodes,))
        least, below = (-sets, MAX_CODE) if name == "cut" else (0, nodes)
        _check_codes(name, part[inner], len(inner), below=below, least=least)
    _require((cuts.cut[inner] < np.array(sizes)[cuts.axis[inner]]).all(), "cuts must be ranks of their columns")
    if cuts.members is not None:
        _check_sets(cuts, np.array(sizes), inner)
    children = np.concatenate([cuts.left[inner], cuts.right[inner]])
    _require((children > np.concatenate([inner, inner])).all(), "nodes of the tree must come after their parents")
    parents = np.bincount(children, minlength=nodes)
    _require(parents[0] == 0 and (parents[1:] == 1).all(), "every node of the tree must have one parent")
    leaves = cuts.left[cuts.axis < 0]
    _check_codes("left", leaves, len(leaves), below=len(leaves))
    _require((np.bincount(leaves) == 1).all(), "the leaves of the tree must be numbered from 0, each once")


def _check_sets(cuts: Cuts, sizes: Codes, inner: Codes) -> None:
    """Raise unless every set belongs to one node and has some ranks of the node's column, which ascend."""
    starts, members = cuts.members or (np.zeros(1, np.int64), np.zeros(0, np.int32))
    _check_shape("members", members, (len(members),))
    _check_codes("members", starts, len(starts), below=len(members) + 1)
    members = members.astype(np.int64)
    ends = len(starts) > 0 and starts[0] == 0 and starts[-1] == len(members) and (starts[1:] > starts[:-1]).all()
    _require(ends, "the sets of cuts must be in runs, none of them empty")
    owners = inner[cuts.cut[inner] < 0]
    used = -1 - cuts.cut[owners].astype(np.int64)
    _require((np.bincount(used, minlength=len(starts) - 1) == 1).all(), "every set of a cut must belong to one node")
    most = np.empty(len(starts) - 1, dtype=np.int64)
    most[used] = sizes[cuts.axis[owners]]
    inside = (members >= 0) & (members < np.repeat(most, np.diff(starts)))
    rises = np.diff(members, prepend=-1) > 0
    rises[starts[:-1]] = True
    _require(inside.all() and rises.all(), "the sets of cuts must be ascending ranks of their columns")


def _check_pieces(recoding: ByRow | ByBucket, sizes: Sequence[int], *, least: int, classes: int) -> None:
    """Raise unless pieces ascend by cell and each sends some rows to a class."""
    _check_vectors("vectors", recoding.vectors, sizes)
    pieces = len(recoding.cells)
    _require(pieces, "there must be some pieces")
    _check_codes("cells", recoding.cells, pieces, below=len(recoding.vectors))
    _require((recoding.cells[1:] >= recoding.cells[:-1]).all(), "`cells` must ascend")
    _check_codes("class_ids", recoding.class_ids, pieces, below=classes, least=least)
    _check_codes("counts", recoding.counts, pieces, below=MAX_ROWS, least=1)
    _require(recoding.counts.sum(dtype=np.float64) <= MAX_ROWS, "`counts` must add up to a number of rows")
    if recoding.joint is not None:
        _check_codes("joint", recoding.joint, pieces, below=MAX_CODE)


def _check_buckets(recoding: ByBucket) -> None:
    """Raise unless the buckets, slices and sensitive columns are consistent."""
    names, slices = recoding.names, recoding.slices
    _require(not recoding.columns, "a recoding into buckets recodes no column")
    for domain in recoding.domains:
        _check_domain(domain)
    _check_pieces(recoding, [len(domain) for domain in recoding.domains], least=0, classes=len(recoding.class_ids))
    _require(np.bincount(recoding.class_ids).all(), "buckets must be numbered from 0, without gaps")
    _require(recoding.form in get_args(Form), f"`form` must be one of {', '.join(get_args(Form))}")
    _require(recoding.l is None or 1 <= recoding.l <= MAX_CODE, "`l` must be at least 1")
    _require(1 <= recoding.size <= MAX_CODE, "`size` must be at least 1")
    attributes = {name for slice_ in slices for name in slice_}
    alone = not share_attributes(slices) or (recoding.form == "sliced" and not recoding.generalized)
    _require(alone, "only values that are sliced and not generalized may be in several slices")
    if recoding.schema is not None:
        sensitive = tuple(recoding.schema.sensitive)
        _require(attributes == {*names, *sensitive}, "every attribute must be in a slice")
        two = recoding.form != "tables" or slices == (names, sensitive)
        _require(two, "two tables must be one of what is known and one of what is sensitive")
    else:
        _require(attributes >= set(names), "every attribute must be in a slice")
        sensitive = tuple(attributes - set(names))
    problem = sharing_problem(slices, sensitive)
    _require(problem is None, problem or "")
    _check_generalized(recoding)


def _check_generalized(recoding: ByBucket) -> None:
    """Raise unless each slice is generalized at most once, by a recoding of its own values that suppresses nothing."""
    domains, used = {domain.column: domain for domain in recoding.domains}, set()
    for part in recoding.generalized:
        _require(not isinstance(part, ByRow | ByBucket), "slices are generalized by recodings of values")
        check_recoding(part)
        own = [names for names in recoding.slices if set(part.names) <= set(names)]
        _require(own and own[0] not in used, "a slice must be generalized by one recoding")
        used.add(own[0])
        for column in part.columns:
            name = column.domain.column
            same = name in domains and same_parts(column.domain, domains[name])
            _require(same, "slices must be generalized by recodings of the same values")
        kept = part.star is not None or not len(part.suppressed) if isinstance(part, ByColumn) else True
        _require(kept and not (isinstance(part, ByCell) and (part.class_ids < 0).any()), "slices suppress nothing")


def _check_vectors(name: str, vectors: Codes, sizes: Sequence[int]) -> None:
    """Raise unless a matrix has distinct rows of codes, and at least one."""
    _check_rows(name, vectors, sizes)
    _require(len(vectors), f"`{name}` must not be empty")
    # Vectors that were counted ascend. A block and the row behind it stay in the cache.
    blocks = (vectors[start : start + BLOCK + 1] for start in range(0, len(vectors), BLOCK))
    if not all(_ascend(pack(list(block.T), sizes)[0]) for block in blocks):
        _require(_ascend(np.sort(pack(list(vectors.T), sizes)[0])), f"`{name}` must be distinct")


def _ascend(words: Codes) -> bool:
    return bool((words[1:] > words[:-1]).all())


def _check_rows(name: str, matrix: Codes, sizes: Sequence[int], *, rows: int | None = None) -> None:
    """Raise unless a matrix has a column of codes below each size."""
    _check_shape(name, matrix, (len(matrix) if rows is None else rows, len(sizes)))
    for column, size in zip(matrix.T, sizes, strict=True):
        _check_codes(name, column, len(matrix), below=size)


def _check_codes(name: str, codes: Codes, size: int, *, below: int, least: int = 0) -> None:
    """Raise unless there are `size` codes, each of them from `least` to `below` - 1."""
    _check_shape(name, codes, (size,))
    if size:
        inside = least <= codes.min() and codes.max() < below
        _require(inside, f"`{name}` must be numbers from {least} to {below - 1}")


def _check_shape(name: str, part: Array, shape: tuple[int, ...], *, kinds: str = "iu") -> None:
    """Raise unless an array has a shape and one of some kinds of numbers; 64 bits without a sign mix with no other."""
    _require(part.dtype.kind in kinds and part.dtype != np.uint64, f"`{name}` must be numbers of another type")
    _require(part.shape == shape, f"`{name}` must have the shape {shape}; got {part.shape}")


def _check_top(recoding: ByPart) -> None:
    """Raise unless the upper cuts of a recoding by parts form a tree with the parts as its leaves."""
    top = recoding.top
    if top is None:
        return
    nodes, inner = len(top.axis), top.axis >= 0
    positions = np.arange(nodes)
    sound = nodes == len(top.cut) == len(top.left) == len(top.right) and nodes % 2 == 1
    sound = sound and bool(((top.axis >= -1) & (top.axis < len(recoding.quasi))).all())
    children = np.concatenate([top.left[inner], top.right[inner]])
    sound = sound and bool((children > np.tile(positions[inner], 2)).all())
    sound = sound and np.array_equal(np.sort(children), positions[1:])
    sound = sound and np.array_equal(np.sort(top.left[~inner]), np.arange(recoding.parts))
    sizes = [None if column.keyed else len(column.domain) for column in recoding.quasi]
    sound = sound and (top.sets is None or top.sets.is_sound(top.axis, sizes))
    if not sound:
        raise InputError("the recoding cannot be read", hint="it must be a file that indistinct wrote")
