"""Hierarchies over the values of a column: how they fit, what each level publishes, and how to begin with one."""

import csv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.drawing.levels import level_meanings
from indistinct.errors import HierarchyError
from indistinct.figures import plural
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy import Explicit, Hierarchy, Intervals, suggest, suggest_intervals, table_of_values
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.job.policy import Policy
from indistinct.machine.arrays import Codes
from indistinct.tables.domain import Domain, Kind
from indistinct.web.tasks.tables import stamp_of, table_of
from indistinct.web.tasks.treatments import MIN_ROWS_OF_VALUE, join_values
from indistinct.web.tree_edits import Rows, add_top, add_values, rows_of_values, tree_of
from indistinct.web.worker import Desk

MAX_WRITTEN = 5_000
"""Upper limit of values with which a tree or an order begins: more cannot be sorted by hand."""
MAX_STRANGERS = 50
"""Number of uncovered values that are shown."""
FREQUENT, ENDS = 6, 3
"""Number of the most frequent values that are shown, and of the smallest and largest ones."""
MAX_SHARE_OF_RARE = 0.01
"""Share of the rows below which a value is rare."""
# Upper limits of the cached values and hierarchies of columns; three times the number of columns for others.
KEPT = 64
# Approximate number of cut points with which a hierarchy begins.
FIRST_CUTS = 8


@dataclass(frozen=True, slots=True)
class HierarchyFit:
    """How a hierarchy fits a column: how many labels each level has, or what is wrong with it.

    `uncovered` counts the values that it does not know, and `strangers` are the first of them.
    """

    kind: str
    distinct: int
    sizes: tuple[int, ...] = ()
    message: str = ""
    hint: str | None = None
    uncovered: int = 0
    strangers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """A column in short: how its hierarchy fits, what is suggested for it, and what becomes of a frequent value.

    `now` and `advised` are that value and its label on each level, as declared and as suggested. `joined` joins
    the `rare` values of a text, None where none is.
    """

    fit: HierarchyFit
    advice: Hierarchy
    now: tuple[str, ...]
    advised: tuple[str, ...]
    joined: Explicit | None = None
    rare: int = 0


@dataclass(frozen=True, slots=True)
class Preview:
    """What some values of a column become: why each is shown, the value, its rows, and its label on each level.

    `meanings` say what each level is. A label that is None does not exist, because the value is not covered.
    """

    meanings: tuple[str, ...]
    values: tuple[tuple[str, str, int, tuple[str | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """A hierarchy from a file, and what was done to it so that it is one."""

    hierarchy: Explicit
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Bound:
    """A hierarchy over those values of a domain that it covers; `codes` are the nodes' rows of each value, or -1."""

    fit: HierarchyFit
    taxonomy: Taxonomy | None
    codes: Codes


def survey(desk: Desk, policy: Policy, columns: Sequence[str]) -> dict[str, HierarchyFit]:
    """Check how the hierarchies of some columns fit; without a hierarchy return only the values."""
    return {name: _fit_column(desk, policy, name, policy.hierarchies.get(name)).fit for name in columns}


def outline(desk: Desk, policy: Policy, columns: Sequence[str]) -> dict[str, Outline]:
    """Return some columns in short."""
    return {name: _outline_column(desk, policy, name) for name in columns}


def _outline_column(desk: Desk, policy: Policy, column: str) -> Outline:
    """Return the fit, the suggestion and examples of a column's hierarchy."""
    domain, counts = _values(desk, policy, column)
    advice = suggest(domain)
    now, advised = (_fit_column(desk, policy, column, each) for each in (policy.hierarchies.get(column), advice))
    joined = _join_rare(domain, counts)
    rare = 0 if joined is None else sum(row[0] != row[1] for row in joined.rows)
    return Outline(now.fit, advice, _example(domain, counts, now), _example(domain, counts, advised), joined, rare)


def _join_rare(domain: Domain, counts: Codes) -> Explicit | None:
    """Return a hierarchy that joins the rare values of a text, None of another column or where none is rare."""
    if domain.kind is not Kind.TEXT or len(domain) > MAX_WRITTEN:
        return None
    present = int(domain.missing)
    texts = [text or "" for text in domain.texts()[present:]]
    rows = dict(zip(texts, counts[present:].tolist(), strict=True))
    return join_values(rows, least=max(MIN_ROWS_OF_VALUE, round(MAX_SHARE_OF_RARE * int(counts.sum()))))


def _example(domain: Domain, counts: Codes, bound: "_Bound") -> tuple[str, ...]:
    """Return the most frequent value and its label on each level; nothing where no value is there."""
    present = int(domain.missing)
    if present == len(domain):
        return ()
    code = present + int(np.argmax(counts[present:]))
    text = domain.decode(np.array([code], dtype=np.int64)).cast(pa.string())[0].as_py()
    taxonomy, row = bound.taxonomy, int(bound.codes[code])
    if taxonomy is None or row < 0:
        return (text,)
    return text, *(_label(taxonomy, row, level) or "" for level in _above(taxonomy))


def preview(desk: Desk, policy: Policy, column: str, hierarchy: Hierarchy | None) -> Preview:
    """Preview a hierarchy on the most frequent, smallest and largest values of a column."""
    domain, counts = _values(desk, policy, column)
    bound = _fit_column(desk, policy, column, hierarchy)
    taxonomy, chosen = bound.taxonomy, _chosen(domain, counts)
    texts = domain.decode(np.array([code for _, code in chosen], dtype=np.int64)).cast(pa.string()).to_pylist()
    meanings = () if taxonomy is None else level_meanings(taxonomy, hierarchy)[1:]
    lines = []
    for (why, code), text in zip(chosen, texts, strict=True):
        index = int(bound.codes[code])
        labels = () if taxonomy is None else tuple(_label(taxonomy, index, level) for level in _above(taxonomy))
        lines.append((why, text or "", int(counts[code]), labels))
    return Preview(meanings, tuple(lines))


def begin_hierarchy(desk: Desk, policy: Policy, column: str, *, kind: str) -> Hierarchy:
    """Return a hierarchy of a kind to begin with, which covers a column; a tree keeps the levels that there are."""
    domain, _ = _values(desk, policy, column)
    made: Hierarchy
    match kind:
        case "intervals":
            made = _intervals(domain)
        case "cuts":
            made = Hierarchy.intervals(cuts=_cuts(domain))
        case "dates":
            made = Hierarchy.dates()
        case "mask":
            made = Hierarchy.masking()
        case "order":
            made = Hierarchy.order(_few(domain))
        case "tree":
            declared = policy.hierarchies.get(column)
            made = _tree(domain, _fit_column(desk, policy, column, declared), declared)
        case _:
            made = Hierarchy.suppression()
    taxonomy = made.bind(domain)
    laid = _Bound(HierarchyFit(str(domain.kind), len(domain), _sizes(taxonomy)), taxonomy, np.arange(len(domain)))
    desk.keep(_key_of_fit(policy, column, made), lambda: laid, most=_most_kept(policy))  # it is shown next
    return made


def complete_hierarchy(desk: Desk, policy: Policy, column: str) -> Hierarchy:
    """Return the tree or the order of a column with its uncovered values added, each ungrouped."""
    hierarchy = policy.hierarchies[column]
    bound = _fit_column(desk, policy, column, hierarchy)
    texts = _values(desk, policy, column)[0].texts()
    strangers = [texts[code] or "" for code in np.flatnonzero(bound.codes < 0).tolist()]
    table = table_of_values(hierarchy)
    if table is not None:
        return tree_of(add_values(table.rows, strangers, rooted=table.rooted), rooted=table.rooted)
    return Hierarchy.order([*hierarchy.to_json()["order"], *strangers])


def import_hierarchy(desk: Desk, policy: Policy, column: str, path: Path) -> Imported:
    """Return the hierarchy of a file: a row a value, levels left to right, with or without names of the levels.

    Where there is no top it gets one.
    """
    texts = set(_values(desk, policy, column)[0].texts())
    try:
        rows, notes = _read(path, texts)
        return Imported(tree_of(rows), notes)
    except HierarchyError as error:
        message = error.message.replace(str(path), path.name)
        raise HierarchyError(message, hint=error.details.get("advice", error.hint)) from None


def export_hierarchy(desk: Desk, policy: Policy, column: str, path: Path) -> Path:
    """Write the hierarchy of a column as `import_hierarchy` reads it, and return where."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    hierarchy = policy.hierarchies[column]
    rows = _rows(_values(desk, policy, column)[0], _fit_column(desk, policy, column, hierarchy), hierarchy)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    return path


def _values(desk: Desk, policy: Policy, column: str) -> tuple[Domain, Codes]:
    """Return the domain of a column and how many rows have each value; kept, because counting reads all rows."""

    def count() -> tuple[Domain, Codes]:
        encoded = encode_column(column, table_of(desk, policy).data[column], required=False)
        return encoded.domain, np.bincount(encoded.codes, minlength=len(encoded.domain))

    key = ("column values", *stamp_of(policy.source, policy.input.reading), column)
    values: tuple[Domain, Codes] = desk.keep(key, count, most=_most_kept(policy))
    return values


def _fit_column(desk: Desk, policy: Policy, column: str, hierarchy: Hierarchy | None) -> _Bound:
    domain, _ = _values(desk, policy, column)
    key = _key_of_fit(policy, column, hierarchy)
    bound: _Bound = desk.keep(key, lambda: _fit_domain(hierarchy, domain), most=_most_kept(policy))
    return bound


def _most_kept(policy: Policy) -> int:
    """Return the size of the cache: a page shows all columns, each in three forms."""
    return KEPT + 3 * len(policy.schema.columns)


def _key_of_fit(policy: Policy, column: str, hierarchy: Hierarchy | None) -> tuple[Any, ...]:
    return ("fit", *stamp_of(policy.source, policy.input.reading), column, hierarchy)


def _fit_domain(hierarchy: Hierarchy | None, domain: Domain) -> _Bound:
    """Lay a hierarchy over a column; if it does not know some values, over the others."""
    codes = np.arange(len(domain))
    kind, size = str(domain.kind), len(domain)
    if hierarchy is None:
        return _Bound(HierarchyFit(kind, size), None, codes)
    try:
        taxonomy = hierarchy.bind(domain)
        return _Bound(HierarchyFit(kind, size, _sizes(taxonomy)), taxonomy, codes)
    except HierarchyError as error:
        wrong = HierarchyFit(kind, size, message=error.message, hint=error.hint)
        strange = {str(value) for value in error.values}
    known = np.array([text is None or text not in strange for text in domain.texts()], dtype=bool)
    missing = int(domain.missing)
    with suppress(HierarchyError):
        part = Domain(domain.column, domain.values.filter(pa.array(known[missing:])), domain.missing, domain.declared)
        if strange and not known.all():
            taxonomy = hierarchy.bind(part)
            strangers = tuple(text or "" for text, is_known in zip(domain.texts(), known, strict=True) if not is_known)
            fit = HierarchyFit(kind, size, _sizes(taxonomy), wrong.message, wrong.hint, len(strangers), strangers)
            fit = _shorten(fit)
            return _Bound(fit, taxonomy, np.where(known, np.cumsum(known) - 1, -1))
    return _Bound(wrong, None, codes)


def _shorten(fit: HierarchyFit) -> HierarchyFit:
    return HierarchyFit(
        fit.kind, fit.distinct, fit.sizes, fit.message, fit.hint, fit.uncovered, fit.strangers[:MAX_STRANGERS]
    )


def _sizes(taxonomy: Taxonomy) -> tuple[int, ...]:
    return tuple(map(len, taxonomy.labels))


def _above(taxonomy: Taxonomy) -> range:
    return range(1, taxonomy.height + 1)


def _label(taxonomy: Taxonomy, code: int, level: int) -> str | None:
    """Return the label of a value on a level, None if the value is not covered."""
    return None if code < 0 else taxonomy.labels[level][taxonomy.ancestors[code, level]] or ""


def _chosen(domain: Domain, counts: Codes) -> list[tuple[str, int]]:
    """Return which values are shown, and why."""
    first, last = ("smallest", "largest") if domain.kind is not Kind.TEXT else ("first", "last")
    present, size = int(domain.missing), len(domain)
    frequent = np.argsort(-counts, kind="stable")[:FREQUENT].tolist()
    chosen = dict.fromkeys(frequent, "frequent")
    for code in range(present, min(present + ENDS, size)):
        chosen.setdefault(code, first)
    for code in range(max(present, size - ENDS), size):
        chosen.setdefault(code, last)
    return [(why, code) for code, why in chosen.items()]


def _rows(domain: Domain, bound: _Bound, hierarchy: Hierarchy) -> Rows:
    """Return a hierarchy as rows: as declared, or what it makes of each value of the data."""
    table = table_of_values(hierarchy)
    if table is not None:
        return table.rows
    if bound.taxonomy is None:
        raise HierarchyError(bound.fit.message, hint=bound.fit.hint)
    taxonomy, texts = bound.taxonomy, domain.texts()
    columns = [[labels[node] for node in taxonomy.ancestors[:, level]] for level, labels in enumerate(taxonomy.labels)]
    paths: list[tuple[Any, ...]] = list(zip(*columns, strict=True))
    known = [code for code in range(int(domain.missing), len(domain)) if bound.codes[code] >= 0]
    return tuple((texts[code] or "", *(label or "" for label in paths[bound.codes[code]][1:])) for code in known)


def _few(domain: Domain) -> list[str]:
    """Return the values of a column, if they are few enough to be sorted by hand."""
    if len(domain.values) > MAX_WRITTEN:
        raise HierarchyError(
            f"column {domain.column!r} has {plural(len(domain.values), 'value')}; at most {MAX_WRITTEN:,} can be "
            "arranged here",
            hint="choose masking, intervals or dates, or import a file",
        )
    return [text for text in domain.texts() if text is not None]


def _tree(domain: Domain, bound: _Bound, hierarchy: Hierarchy | None) -> Explicit:
    """Convert a hierarchy to a tree of listed values that can be edited."""
    table = table_of_values(hierarchy)
    if table is not None:
        return tree_of(table.rows, rooted=table.rooted)
    values = _few(domain)
    if hierarchy is None or len(bound.fit.sizes) <= 2:
        return tree_of(rows_of_values(values))
    rows = _rows(domain, bound, hierarchy)
    known = {row[0] for row in rows}
    return tree_of(add_values(rows, [value for value in values if value not in known]))


def _intervals(domain: Domain) -> Intervals:
    return suggest_intervals(domain) or Intervals((1,))


def _cuts(domain: Domain) -> list[list[float]]:
    """Return cut points at the ends of the widest suggested intervals, and at every other one of them."""
    width, line = _intervals(domain).widths[-1], domain.positions()
    low, high = (int(line.min() // width), int(line.max() // width)) if len(line) else (0, 0)
    step = max(1, (high - low) // FIRST_CUTS)
    positions = range(low + 1, high + 1, step) or range(low, low + 1)
    ends: list[float] = [round(index * width, 12) for index in positions]
    return [ends, ends[1::2]] if len(ends) > 2 else [ends]


def _read(path: Path, texts: set[str | None]) -> tuple[Rows, tuple[str, ...]]:
    """Read the rows of a file; names of levels are left out, and a top is added where there is none."""
    named, topped = "The first line names the levels and was left out.", "A top level * was added."
    try:
        return Hierarchy.read_csv(path).rows, ()
    except HierarchyError as error:
        if error.details.get("header"):
            return Hierarchy.read_csv(path, header=True).rows, (named,)
    rows = Hierarchy.read_csv(path, rooted=False).rows
    if rows[0][0] not in texts and any(row[0] in texts for row in rows[1:]):
        return add_top(rows[1:]), (named, topped)
    return add_top(rows), (topped,)
