"""What a recoding publishes: labels of single values, classes of cells, and the tables of a release.

How published values are written: one raw value, a range, a set, or an ancestor.

    25              every row of the class has this value
    [25-30]         a range of numbers; both ends belong to it
    [-5 .. 12]      a range whose ends hold a hyphen (negative numbers, dates)
    [ .. 24], [85-] a range without a lower or an upper end; [-] has neither, but excludes missing
    [0.5-1.5)       a range without its upper end
    {flu, measles}  a set of values
    [flu .. polio]  everything between two texts by code points, in regions of text; ends that could be mistaken
                    are quoted: ["a .. b" .. c]
    22:2,33:1       a multiset: how often each value occurs in the bucket
    [25-30] or missing, {missing, flu}    some rows may have no value; a class without any publishes null

`written_ranges` and `written_members` read them back; tables of other tools may also say 25-30, [25, 30], [25, 31),
[-24], <18 or >=85.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import ParameterError
from indistinct.frequencies.structure import CLASSES, Structure
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Key
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.machine.arrays import Array, Codes, Mask
from indistinct.schema import Schema
from indistinct.tables.domain import Domain

RangeForm = Literal["labels", "columns"]
RANGE_FORMS: tuple[RangeForm, ...] = get_args(RangeForm)
MAIN = ""
"""The name of the table that every release has; others are named by what they hold."""
SENSITIVE = "sensitive"
"""The name of the table in which Anatomy publishes sensitive values apart."""
ENDS = (("_from", "_to"), ("_min", "_max"))
"""The endings of the names of two columns that publish one: the ends of ranges, or the bounds of classes."""


def check_range_form(form: object) -> RangeForm:
    """Check the form of ranges; raise `ParameterError` for an unknown word."""
    for known in RANGE_FORMS:
        if form == known:
            return known
    raise ParameterError(
        f"`ranges` must be one of {', '.join(RANGE_FORMS)}; got {form!r}",
        hint="labels are texts such as [18-21]; columns are two numbers, age_from and age_to",
    )


@dataclass(frozen=True, slots=True, eq=False)
class PublishedColumn:
    """The values that a release shows for one quasi-identifier, and how much of its domain each one covers.

    Every array has one entry a published value. `outputs` are the columns of the release (one, or two where bounds
    or a mean are published). `low` and `high` are places on the column's line, `leaves` the raw values covered,
    `levels` the steps above raw in the hierarchy. `span`, `size` and `height` are the same for the whole domain; a
    column without a hierarchy has height 1: raw, or not. `ranged` says that loss is measured along the line.
    """

    column: str
    outputs: tuple[tuple[str, pa.Array], ...]
    low: Array
    high: Array
    leaves: Codes
    levels: Codes
    span: float
    size: int
    height: int
    ranged: bool

    def __len__(self) -> int:
        return len(self.low)


@dataclass(frozen=True, slots=True, eq=False)
class OutputColumn:
    """One column of a published table, and where its values come from.

    `of` is the original column. A row shows its own cell where `values` is None. Otherwise it shows `values[codes[i]]`,
    where `i` is the row's class, or its cell if the values are `by_cell`.
    """

    name: str
    of: str
    values: pa.Array | None = None
    codes: Codes | None = None
    by_cell: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class OutputTable:
    """One table of a release: its slices, each some columns whose values stay together.

    Rows are in the order of their classes. Inside a class every slice has a random order of its own. Where `bucket`
    names a column, it shows the number of the class, and classes are numbered at random. Where `count` names a column,
    equal rows of a class occur once, with their number. `shared[j]` names the columns of earlier slices with which the
    rows of slice `j` agree; it is empty where slices share none.
    """

    slices: tuple[tuple[OutputColumn, ...], ...]
    bucket: str | None = None
    count: str | None = None
    shared: tuple[tuple[str, ...], ...] = ()

    @property
    def outputs(self) -> tuple[OutputColumn, ...]:
        """Return the columns of all slices."""
        return tuple(output for outputs in self.slices for output in outputs)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Return the column with the number of each row's class, as far as there is one."""
        return () if self.bucket is None else (self.bucket,)

    @property
    def names(self) -> tuple[str, ...]:
        """Return all columns of the table, in their order."""
        return (*self.numbers, *(output.name for output in self.outputs), *([self.count] if self.count else []))

    @property
    def needs_whole_classes(self) -> bool:
        """Return whether all rows of a class must be written together: slices are permuted, or classes numbered."""
        return len(self.slices) > 1 or bool(self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The tables of a release by name, and the roles of the columns of the first.

    `in_source_order` says that columns have the order of the original. `structure` says whether links between
    columns are broken inside buckets.
    """

    tables: Mapping[str, OutputTable]
    schema: Schema
    in_source_order: bool = True
    structure: Structure = CLASSES


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assignment:
    """Where a recoding sends the rows of each cell, what each class shows, and so all that an engine must know.

    Piece `i` sends `counts[i]` rows of cell `cells[i]` to class `class_ids[i]`; a negative class is suppression. Where
    `joint` is there, the rows of piece `i` are those whose `keys` have the joint code `joint[i]`. Rows that a release
    cannot tell apart are one class: the rows of `values` (c × d codes into `columns`) are distinct and ascend
    lexicographically. `hidden` has the published codes that suppressed pieces would have had, where the recoding knows
    them. `domains` say what the codes of cells mean. `split` says that equal rows may go to different classes.
    """

    frequencies: FrequencySet
    columns: tuple[PublishedColumn, ...]
    values: Codes
    cells: Codes
    class_ids: Codes
    counts: Codes
    classes: Classes
    hidden: Codes | None = None
    joint: Codes | None = None
    domains: tuple[Domain, ...] = ()
    split: bool = False
    layout: Layout = field(default_factory=lambda: Layout({}, Schema()))

    @property
    def rows(self) -> int:
        """Return the number of original rows."""
        return self.frequencies.rows

    @property
    def suppressed(self) -> int:
        """Return the number of rows that are not published."""
        return self.rows - self.classes.rows

    @property
    def suppressed_members(self) -> int:
        """Return the number of people with a suppressed row, or of suppressed rows if people are not counted."""
        cells = self.frequencies.classes
        if (PERSON,) not in cells.histograms:
            return self.suppressed
        dropped = np.zeros(len(self.frequencies), dtype=bool)
        dropped[self.cells[self.class_ids < 0]] = True
        return cells.members_of(dropped)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return the keys that the joint codes of pieces contain."""
        return () if self.frequencies.joint is None else tuple(self.frequencies.joint.codes)


MISSING = "missing"
OR_MISSING = f" or {MISSING}"
# Ends of ranges of texts that could be mistaken for others, or for two of them.
_MARKED = r'"|(^| )\.\.( |$)|^\s|\s$|^$'
# A bare member starts with no space, so that there is one way to read a label and no backtracking.
_MEMBER = r'"(?:[^"]|"")*"|[^,{}"\s][^,{}"]*'
_SET = re.compile(rf"\{{(?:{_MEMBER})(?:, ?(?:{_MEMBER}))*\}}")

_COUNTED = re.compile(r'("(?:[^"]|"")*"|[^,:{}"\s][^,:{}"]*):([1-9][0-9]{0,17})')
_MULTISET = re.compile(rf"{_COUNTED.pattern}(?:,{_COUNTED.pattern})*")


# A label is read in at most this many ways by each separator, so that a long one is read in linear time.
MAX_READINGS = 100


class WrittenRange(NamedTuple):
    """One way to read a label as a range: its ends as written, empty if open, and whether the upper one is inside."""

    first: str
    last: str
    closed: bool = True


def range_labels(texts: pa.Array, low: Codes, high: Codes, absent: Mask) -> pa.Array:
    """Return the label of each range `texts[low]` to `texts[high]`; if `low > high`, nothing is known."""
    empty = low > high
    first, last = np.where(empty, 0, low), np.where(empty, 0, high)
    hyphens = pc.match_substring(texts, "-").to_numpy(zero_copy_only=False)
    starts, ends = texts.take(pa.array(first)), texts.take(pa.array(last))
    separators = pa.array(["-", " .. "]).take(pa.array((hyphens[first] | hyphens[last]).astype(np.int8)))
    labels = pc.binary_join_element_wise("[", starts, separators, ends, "]", "")
    if (low == high).any():
        labels = pc.if_else(pa.array(low == high), starts, labels)
    if absent.any():
        labels = pc.if_else(pa.array(absent), pc.binary_join_element_wise(labels, OR_MISSING, ""), labels)
    return pc.if_else(pa.array(empty), pa.scalar(None, pa.string()), labels) if empty.any() else labels


def text_range_labels(texts: pa.Array, low: Codes, high: Codes, absent: Mask) -> pa.Array:
    """Return the label of each range of texts without a declared order, as `range_labels` does for others.

    >>> none = np.zeros(2, bool)
    >>> text_range_labels(pa.array(["a", "b .. c"]), np.array([0, 0]), np.array([0, 1]), none).to_pylist()
    ['a', '[a .. "b .. c"]']
    """
    marked = pc.match_substring_regex(texts, _MARKED)
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
    ends, empty = pc.if_else(marked, quoted, texts), low > high
    first, last = (pa.array(np.where(empty, 0, ranks)) for ranks in (low, high))
    labels = pc.binary_join_element_wise("[", ends.take(first), " .. ", ends.take(last), "]", "")
    labels = pc.if_else(pa.array(low == high), texts.take(first), labels)
    labels = pc.if_else(pa.array(absent), pc.binary_join_element_wise(labels, OR_MISSING, ""), labels)
    return pc.if_else(pa.array(empty), pa.scalar(None, pa.string()), labels)


def region_labels(first: pa.Array, last: pa.Array, *, closed: bool, absent: Mask) -> pa.Array:
    """Return the label of each range between two ends, null for one that is open; `closed` if upper ends belong to it.

    >>> region_labels(pa.array([None, "25"]), pa.array(["24", None]), closed=True, absent=np.zeros(2, bool)).to_pylist()
    ['[ .. 24]', '[25-]']
    """
    low, high = pc.fill_null(first, ""), pc.fill_null(last, "")
    hyphen = pc.or_(pc.match_substring(low, "-"), pc.match_substring(high, "-"))
    below = pc.and_(first.is_null(), last.is_valid())  # [-24] looks like the number -24
    separator = pc.if_else(pc.or_(hyphen, below), " .. ", "-")
    closing = pc.if_else(pc.or_(last.is_null(), pa.scalar(closed)), "]", ")")
    joined = pc.binary_join_element_wise("[", low, separator, high, closing, "")
    single = pc.and_(pc.fill_null(pc.equal(first, last), False), pa.scalar(closed))
    plain = pc.if_else(single, low, joined)
    return pc.if_else(pa.array(absent), pc.binary_join_element_wise(plain, OR_MISSING, ""), plain)


def set_labels(texts: Sequence[str | None], indptr: Codes, members: Codes) -> pa.Array:
    """Return the label of each set of values, given as compressed sparse rows of codes."""
    spelled = pa.array([MISSING if text is None else _quote_member(text) for text in texts], pa.string())
    lists = pa.ListArray.from_arrays(pa.array(indptr, pa.int32()), spelled.take(pa.array(members)))
    joined = pc.binary_join_element_wise("{", pc.binary_join(lists, ", "), "}", "")
    single = pa.array(texts, pa.string()).take(pa.array(members[indptr[:-1]]))
    return pc.if_else(pa.array(np.diff(indptr) == 1), single, joined)


def node_labels(taxonomy: Taxonomy, levels: Codes | Mask, codes: Codes, *, sizes: Codes, others: pa.Array) -> pa.Array:
    """Return the label of each set of several values that is all of a node, the ancestor of a code; `others` else."""
    nodes = list(zip(levels.tolist(), taxonomy.ancestors[codes, levels].tolist(), strict=True))
    leaves = np.array([taxonomy.leaves[level][node] for level, node in nodes], dtype=np.int64)
    names = pa.array([taxonomy.labels[level][node] for level, node in nodes], pa.string())
    return pc.if_else(pa.array((leaves == sizes) & (sizes > 1)), names, others)


def multiset_labels(texts: Sequence[str | None], indptr: Codes, members: Codes, counts: Codes) -> pa.Array:
    """Return the label of each multiset of values, given as compressed sparse rows of codes and their counts.

    >>> multiset_labels(("22", "33"), np.array([0, 2]), np.array([0, 1]), np.array([2, 1])).to_pylist()
    ['22:2,33:1']
    """
    spelled = pa.array([MISSING if text is None else _quote_member(text, ',:{}"') for text in texts], pa.string())
    pairs = pc.binary_join_element_wise(
        spelled.take(pa.array(members)), pa.array(counts, pa.int64()).cast(pa.string()), ":"
    )
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(indptr, pa.int32()), pairs), ",")


def written_ranges(label: str) -> Iterator[WrittenRange]:
    """Yield every way to read a label as a range; a hyphen may separate the ends or be a minus sign.

    >>> list(written_ranges("[25-30]"))
    [WrittenRange(first='25', last='30', closed=True)]
    """
    if label[:1] == "<" or label[:2] == ">=":
        yield WrittenRange(label[2:], "") if label[0] == ">" else WrittenRange("", label[1:], closed=False)
        return
    bracketed = label[:1] == "[" and label[-1:] in ("]", ")", "[")
    inside = label[1:-1] if bracketed else label
    closed = not bracketed or label[-1] == "]"
    for separator in (" .. ", "-", ", ") if bracketed else ("-",):
        start = inside.find(separator)
        for _ in range(MAX_READINGS):
            if start < 0:
                break
            first, last = inside[:start], inside[start + len(separator) :]
            if bracketed or (first and last):  # -5 is a number
                yield WrittenRange(first, last, closed)
            start = inside.find(separator, start + 1)


def written_members(label: str) -> tuple[str | None, ...] | None:
    """Return the members of a label that is a set, None among them for missing; None for any other label.

    >>> written_members('{missing, flu, "cold, mild"}')
    (None, 'flu', 'cold, mild')
    """
    if not _SET.fullmatch(label):
        return None
    return tuple(_unquote_member(member) for member in re.findall(_MEMBER, label[1:-1]))


def written_multiset(label: str) -> tuple[tuple[str | None, int], ...] | None:
    """Return the values of a label that is a multiset and how often each occurs; None for any other label.

    >>> written_multiset('22:2,"a, b":1,missing:3')
    (('22', 2), ('a, b', 1), (None, 3))
    """
    if not _MULTISET.fullmatch(label):
        return None
    return tuple((_unquote_member(member), int(count)) for member, count in _COUNTED.findall(label))


def written_end(text: str) -> str:
    """Return the text at an end of a range of texts.

    >>> written_end('"b .. c"')
    'b .. c'
    """
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


def written_text_range(label: str) -> tuple[str, str] | None:
    """Return the ends of a label that is a range of texts; None for any other label.

    >>> written_text_range('["a .. b" .. c]')
    ('a .. b', 'c')
    """
    if label[:1] != "[" or label[-1:] != "]":
        return None
    for first, last, _ in written_ranges(label):
        if f"[{first} .. {last}]" == label and all(_is_whole_end(end) for end in (first, last)):
            return written_end(first), written_end(last)
    return None


def _is_whole_end(text: str) -> bool:
    """Return whether a text can be an end of a range of texts without quotes; ambiguous ones are quoted."""
    if text.startswith('"'):
        return len(text) > 1 and text.endswith('"') and '"' not in text[1:-1].replace('""', "")
    return re.search(_MARKED, text) is None


def _unquote_member(member: str) -> str | None:
    if member == MISSING:
        return None
    return member[1:-1].replace('""', '"') if member.startswith('"') else member


def _quote_member(text: str, marks: str = ',{}"') -> str:
    """Quote a member that could be mistaken for several."""
    if not text or text == MISSING or any(mark in text for mark in marks) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text
