"""What happened to each column: its role, how it was generalized, its numbers of values, and its distribution."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.evaluation.measure.distributions import marginal
from indistinct.evaluation.measure.measure import column_losses
from indistinct.figures import number, plural
from indistinct.frequencies.encode import Encoded, encode_column
from indistinct.hierarchy import Hierarchy
from indistinct.machine.arrays import Codes, Floats
from indistinct.recoding.outputs import ENDS, SENSITIVE, Assignment
from indistinct.recoding.transformations import parse_transformation
from indistinct.reporting.subject import Subject
from indistinct.schema import Role
from indistinct.tables import open_table
from indistinct.tables.domain import Domain, Kind
from indistinct.tables.value import ColumnLabels
from indistinct.view.value import ShownColumn, View, unmodified

MAX_BARS = 12
"""Upper limit of bars; in a column with more values, close or rare ones share a bar."""
MAX_LABELS_AS_BARS, MAX_LABELS_EXAMINED = 20, 5_000
"""Upper limits of the non-overlapping labels that are used as bars, and of the labels that are examined for them."""
MAX_NAME_LETTERS = 9
"""Letters of a value in the name of a group; the name fits next to a bar then."""
MISSING = "missing"
AS_IT_IS = "unmodified"
UNKNOWN = "is not known without the original"


@dataclass(frozen=True, slots=True, eq=False)
class ColumnShares:
    """The distribution of a column before and after, in few groups; `exact` if no label covers several values.

    Where groups are bars of equal width of numbers or dates (days since 1970), `edges` are their ends, and missing
    values are the group before them. Labels at the indices of `joined` are no values but names for missing or several
    ones.
    """

    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    exact: bool
    values: tuple[str, ...] = ()
    counts: tuple[tuple[int, int], ...] = ()
    edges: tuple[float, ...] = ()
    dates: bool = False
    joined: frozenset[int] = frozenset()


def column_facts(subject: Subject, *, assignment: Assignment | None) -> dict[str, dict[str, Any]]:
    """Return role, reason, transformation, numbers of values and loss of every column of the original.

    `assignment` has the classes of the original's cells, where they are known; without it the loss of a column is
    unknown.
    """
    before = _distinct_before(subject)
    after = _distinct_after(subject)
    losses = {} if assignment is None else column_losses(assignment)
    untouched = {} if assignment is None else _find_untouched(assignment, subject)
    reasons = {} if subject.policy is None else subject.policy.reasons
    labels = _labels(subject)
    return {
        name: {
            "role": str(subject.schema.role(name)),
            "reason": reasons.get(name),
            "transformation": _transformation(subject, name, untouched=untouched.get(name)),
            "before": before.get(name),
            "after": after.get(name),
            "loss": losses.get(name),
            "label": labels[name].text or None if name in labels else None,
            "codes": labels[name].spelled_codes() if name in labels else {},
        }
        for name in subject.schema.columns
    }


def _labels(subject: Subject) -> Mapping[str, ColumnLabels]:
    """Return the labels of a statistics program for columns, from the original or otherwise the release."""
    given = subject.published.raw or subject.published.main
    return given.labels


def published_codes(subject: Subject, name: str, codes: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of the codes that a published column shows, as codes or as labels.

    The label of a value that no published cell has would reveal that a person may have had it.
    """
    data = subject.data
    if not codes or name not in data.column_names:
        return {}
    column = data[name].combine_chunks() if pa.types.is_dictionary(data[name].type) else data[name]
    values = {str(value) for value in pc.unique(column).to_pylist() if value is not None}
    return {code: label for code, label in codes.items() if code in values or label in values}


def _distinct_before(subject: Subject) -> dict[str, int]:
    """Return the numbers of distinct values of the original's columns, as far as these were counted."""
    if subject.published.raw is not None:
        data = open_table(subject.published.raw).data
        return {name: _distinct(data[name]) for name in subject.schema.columns if name in data.column_names}
    reference = None if subject.release is None else subject.release.check.reference
    if reference is not None:
        return {name: len(domain) for name, domain in reference.known.items()}
    return {}


def _distinct_after(subject: Subject) -> dict[str, int]:
    """Count the distinct published values of each column."""
    data, counts = subject.data, {}
    tables = [data]
    if SENSITIVE in subject.published.tables.sources:
        tables.append(open_table(subject.published.tables.sources[SENSITIVE], published=True).data)
    for table in tables:
        for name in subject.schema.published:
            if name in table.column_names:
                counts[name] = _distinct(table[name])
            for bounds in ([name + end for end in pair] for pair in ENDS):
                if all(each in table.column_names for each in bounds):
                    counts.setdefault(name, len(table.select(bounds).group_by(bounds).aggregate([])))
    return counts


def _distinct(column: pa.ChunkedArray) -> int:
    """Count the distinct values of a column; missing counts as one."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    try:
        return int(pc.count_distinct(plain, mode="all").as_py())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return len(set(map(str, plain.to_pylist())))


def _find_untouched(assignment: Assignment, subject: Subject) -> dict[str, bool]:
    """Return which quasi-identifiers show in every published row a value of the original, and none generalized.

    Rows that are not published do not count.
    """
    known: Mapping[str, Domain] = {domain.column: domain for domain in assignment.domains}
    if not known and subject.published.original is not None:
        data = open_table(subject.published.original).data
        known = {
            column.column: encode_column(column.column, data[column.column]).domain for column in assignment.columns
        }
    untouched = {}
    for index, column in enumerate(assignment.columns):
        used = np.flatnonzero(np.bincount(assignment.values[:, index], minlength=len(column)))
        (name, values), *others = column.outputs
        texts = values.cast(pa.string()).take(pa.array(used)).to_pylist()
        untouched[column.column] = (
            not others
            and name == column.column in known
            and bool((column.leaves[used] == 1).all())
            and set(texts) <= set(known[name].texts())
        )
    return untouched


def _transformation(subject: Subject, name: str, *, untouched: bool | None) -> str:
    """Return in words what was done to a column; `untouched` is None if it is unknown whether it was generalized."""
    role, unlinked = subject.schema.role(name), subject.structure.treatment(name)
    if name in subject.pseudonyms:
        return f"replaced by pseudonyms ({subject.pseudonyms[name]})"
    if name in subject.published.untransformed:
        return f"NOT transformed as declared ({subject.transformations[name]})"
    if name in subject.transformations:
        return _words_of_transformation(subject.transformations[name])
    if role in (Role.IDENTIFIER, Role.PERSON) and name in subject.published.columns:
        return "NOT dropped: the release shows it"
    if role is Role.IDENTIFIER:
        return "dropped"
    if role is Role.PERSON:
        return "dropped; people were counted by it"
    if unlinked is not None:
        return unlinked
    if role is not Role.QUASI:
        return AS_IT_IS if subject.published.original is not None or subject.transformations_known else UNKNOWN
    coarser = _words(subject.published.used_hierarchies.get(name))
    starred = ", and * in suppressed rows" if subject.stars(name) else ""
    recoding = subject.published.recoding
    level = None if recoding is None else recoding.level_of(name)
    if level is not None:
        return (f"level {level} of its hierarchy ({coarser})" if level else f"{AS_IT_IS} (level 0)") + starred
    if untouched is None:
        return f"recoded as far as was needed ({coarser}); how far {UNKNOWN}"
    return AS_IT_IS if untouched else f"generalized ({coarser})"


def _words_of_transformation(spelled: str) -> str:
    """Return in words how a column is masked.

    >>> _words_of_transformation("round:500,top:20000"), _words_of_transformation("truncate:month")
    ('rounded to 500, at most 20,000', 'cut to the month')
    """
    transformation = parse_transformation(spelled)
    parts = {
        "rounded to {}": transformation.round,
        "at most {}": transformation.top,
        "at least {}": transformation.bottom,
        "cut to the {}": transformation.truncate,
        "level {} of its hierarchy": transformation.level,
    }
    sentences = [
        words.format(each if isinstance(each, str) else number(each))
        for words, each in parts.items()
        if each is not None
    ]
    if transformation.clear is not None:
        sentences.append(
            "nothing of it is published" if transformation.clear == "all" else "only whether it has a value"
        )
    return ", ".join(sentences)


def _words(hierarchy: Hierarchy | None) -> str:
    """Name the kind of a hierarchy."""
    if hierarchy is None:
        return "ranges or sets of its values"
    declaration = hierarchy.to_json()
    kind = next(iter(declaration), "hierarchy") if isinstance(declaration, Mapping) else "hierarchy"
    kinds = {
        "intervals": "intervals",
        "cuts": "cut points",
        "mask": "characters masked",
        "dates": "parts of dates",
        "order": "ranges of a declared order",
        "tree": "a tree of categories",
        "file": "a hierarchy from a file",
        "suppression": "the value or nothing",
    }
    return kinds.get(str(kind), "a declared hierarchy")


def shares_of(columns: Mapping[str, Encoded], view: View) -> dict[str, ColumnShares]:
    """Return the distribution of every column before and after; a label counts evenly for the values it covers."""
    whole, shares = unmodified(columns), {}
    for name, column in columns.items():
        size, cover = len(column.domain), view.columns[name].cover
        before, after = marginal(whole, name, size), marginal(view, name, size)
        grouped = _group_values(column.domain, before, view.columns[name])
        sums = [np.bincount(grouped.of, weights=each, minlength=len(grouped.labels)) for each in (before, after)]
        few = cover.exact and size <= MAX_BARS
        counts = np.stack([before * whole.rows, after * view.rows], axis=1).round().astype(int).tolist()
        shares[name] = ColumnShares(
            grouped.labels,
            tuple(sums[0].tolist()),
            tuple(sums[1].tolist()),
            cover.exact,
            texts_of(column.domain) if few else (),
            tuple(map(tuple, counts)) if few else (),
            grouped.edges,
            bool(grouped.edges) and column.domain.kind is Kind.DATE,
            _joined(grouped.of, missing=bool(column.domain.missing)),
        )
    return shares


def _joined(groups: Codes, *, missing: bool) -> frozenset[int]:
    """Return the groups that hold missing values, which come first in a domain, or several values.

    >>> sorted(_joined(np.array([0, 1, 2, 2]), missing=True))
    [0, 2]
    """
    several = np.flatnonzero(np.bincount(groups) > 1).tolist()
    return frozenset([*several, *groups[: int(missing)].tolist()])


def texts_of(domain: Domain) -> tuple[str, ...]:
    """Return the texts of a domain's values."""
    return tuple(MISSING if text is None else text for text in domain.texts())


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The group of each value, what each group is called, and the ends of bars of equal width."""

    of: Codes
    labels: tuple[str, ...]
    edges: tuple[float, ...] = ()


def _group_values(domain: Domain, shares: Floats, column: ShownColumn) -> _Groups:
    """Return the groups of a column: its values if they are few, the published labels, or bars."""
    texts = texts_of(domain)
    size, missing = len(texts), int(domain.missing)
    if size <= MAX_BARS:
        return _Groups(np.arange(size), texts)
    published = _published_labels(column, texts)
    if published is not None:
        groups, labels = published
        return _Groups(groups, _range_labels(texts, groups) if domain.ordered else labels)
    if domain.ordered:
        if domain.declared:
            ranks = np.concatenate([np.full(missing, -1), np.arange(size - missing) * MAX_BARS // (size - missing)])
            _, groups = np.unique(ranks, return_inverse=True)
            return _Groups(groups, _range_labels(texts, groups))
        return _bars_of_equal_width(domain, missing)
    groups = np.full(size, MAX_BARS - 1)
    order = np.argsort(-shares, kind="stable")[: MAX_BARS - 1]
    groups[order] = np.arange(MAX_BARS - 1)
    return _Groups(groups, (*(texts[index] for index in order), f"{size - MAX_BARS + 1:,} others"))


def _published_labels(column: ShownColumn, texts: Sequence[str]) -> tuple[Codes, tuple[str, ...]] | None:
    """Return the published label of each value if few labels without overlap cover all values; otherwise None.

    Of nested labels the larger one counts; a label for the whole column, as in a suppressed row, does not.
    """
    cover, size = column.cover, len(texts)
    if cover.exact or len(cover) > MAX_LABELS_EXAMINED:
        return None
    lengths = cover.lengths
    groups, names = np.full(size, -1), list[str]()
    for entry in np.argsort(-lengths, kind="stable").tolist():
        if not 0 < lengths[entry] < size:
            continue
        _, codes = cover.take(np.array([entry])).written_out()
        owners = np.unique(groups[codes])
        if len(owners) > 1 or len(names) > MAX_LABELS_AS_BARS:
            return None
        if owners[0] < 0:
            groups[codes] = len(names)
            names.append(_label_of([texts[code] for code in codes.tolist()]))
    if (groups < 0).any():  # values whose rows are all suppressed
        names.append(_label_of([texts[code] for code in np.flatnonzero(groups < 0).tolist()]))
        groups[groups < 0] = len(names) - 1
    if not 1 < len(names) <= MAX_LABELS_AS_BARS:
        return None
    first = np.unique(groups, return_index=True)[1]
    order = np.argsort(first)
    return np.argsort(order)[groups], tuple(names[index] for index in order)


def _label_of(members: Sequence[str]) -> str:
    """Return a name for the values of a label: their common beginning, or the first of them.

    >>> _label_of(["17135", "17184"]), _label_of(["flu", "cold", "HIV"]), _label_of(["flu"])
    ('171… (2 values)', 'flu and 2 others', 'flu')
    >>> _label_of(["heart disease", "flu"])
    'heart dis… and 1 other'
    """
    if len(members) == 1:
        return members[0]
    low, high = min(members), max(members)  # the common beginning of these two is that of all
    same = [one == other for one, other in zip(low, high, strict=False)]
    start = low[: [*same, False].index(False)]
    others = plural(len(members) - 1, "other")
    return f"{start[:MAX_NAME_LETTERS]}… ({len(members):,} values)" if start else f"{_cut(members[0])} and {others}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_NAME_LETTERS else f"{text[:MAX_NAME_LETTERS]}…"


def _range_labels(texts: tuple[str, ...], groups: Codes) -> tuple[str, ...]:
    ends = [np.flatnonzero(groups == group)[[0, -1]] for group in range(int(groups.max()) + 1)]
    return tuple(texts[low] if low == high else f"{texts[low]} – {texts[high]}" for low, high in ends)


def _bars_of_equal_width(domain: Domain, missing: int) -> _Groups:
    """Return bars of equal width over numbers, or of calendar units over dates; missing values are the first group."""
    line = domain.positions().astype(np.float64)
    line[:missing] = np.nan
    finite = np.isfinite(line)
    if not finite.any():
        return _Groups(np.zeros(len(line), dtype=np.int64), (MISSING,))
    dates = domain.kind is Kind.DATE
    low, high = float(line[finite].min()), float(line[finite].max())
    edges = _edges_of_dates(low, high) if dates else _edges_of_numbers(low, high)
    apart = int((~finite).any())
    groups = np.zeros(len(line), dtype=np.int64)
    groups[finite] = np.searchsorted(edges, line[finite], side="right") - 1 + apart
    spell = _day if dates else number
    labels = [f"{spell(one)} to {spell(other)}" for one, other in pairwise(edges.tolist())]
    return _Groups(groups, (*([MISSING] * apart), *labels), tuple(edges.tolist()))


def _edges_of_numbers(low: float, high: float) -> Floats:
    """Return the ends of bars with round widths: 1, 2 or 5 times a power of ten.

    >>> _edges_of_numbers(3.0, 38.0).tolist()
    [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0]
    """
    rough = (high - low) / MAX_BARS
    power = 10.0 ** np.floor(np.log10(rough)) if rough > 0 else 1.0
    step = next((each * power for each in (1, 2, 5, 10) if each * power >= rough * 0.999), 1.0)
    return np.arange(np.floor(low / step), np.floor(high / step) + 2) * step


MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 12_000, 120_000)


def _edges_of_dates(low: float, high: float) -> Floats:
    """Return the ends of days, weeks, months, quarters or years, in days since 1970.

    >>> [_day(each) for each in _edges_of_dates(19_000.0, 19_500.0)][:2]
    ['2022-01-01', '2022-04-01']
    """
    rough = (high - low) / MAX_BARS
    if rough <= 7:
        step = 1.0 if rough <= 1 else 7.0
        return np.arange(np.floor(low / step), np.floor(high / step) + 2) * step
    step = next((each for each in MONTHS if each * 30 >= rough), MONTHS[-1])
    first, last = (np.datetime64(int(np.floor(day)), "D").astype("datetime64[M]").astype(int) for day in (low, high))
    months = np.arange(first // step, last // step + 2) * step
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)


def _day(days: float) -> str:
    return str(np.datetime64(int(days), "D"))


def suppression_facts(
    subject: Subject, *, assignment: Assignment | None, shares: Mapping[str, ColumnShares]
) -> dict[str, Any]:
    """Return suppressed cells by column, and for every subgroup its rows and the rows that are not published.

    Subgroups are the values of columns with few values: by the recoding if it is known, otherwise of unmodified
    columns.
    """
    subgroups: dict[str, list[dict[str, Any]]] = {}
    if assignment is not None and len(assignment.cells):
        subgroups = _by_recoding(assignment)
    for name, each in shares.items():
        if name not in subgroups and each.counts:
            pairs = zip(each.values, each.counts, strict=True)
            subgroups[name] = [_line(value, rows, rows - left) for value, (rows, left) in pairs if rows]
    return {"starred": _count_stars(subject), "subgroups": subgroups}


def _by_recoding(assignment: Assignment) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every value of quasi-identifiers with few values, and how many of them are suppressed."""
    subgroups: dict[str, list[dict[str, Any]]] = {}
    vectors, dropped = assignment.frequencies.vectors, assignment.class_ids < 0
    for index, domain in enumerate(assignment.domains):
        if len(domain) > MAX_BARS:
            continue
        codes = vectors[assignment.cells, index]
        every, lost = (
            np.bincount(codes, weights=assignment.counts * mask, minlength=len(domain)).astype(int).tolist()
            for mask in (np.ones(len(codes)), dropped)
        )
        lines = zip(texts_of(domain), every, lost, strict=True)
        subgroups[domain.column] = [_line(text, rows, gone) for text, rows, gone in lines if rows]
    return subgroups


def _line(value: str, rows: int, suppressed: int) -> dict[str, Any]:
    """Return the line of a subgroup."""
    return {"value": value, "rows": rows, "suppressed": suppressed, "share": suppressed / rows if rows else 0.0}


def _count_stars(subject: Subject) -> dict[str, int]:
    """Return how many cells of each quasi-identifier are published as `*`."""
    columns = subject.published.main.columns
    return {name: subject.stars(name) for name in subject.published.roles.quasi if name in columns}
