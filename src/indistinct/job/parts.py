"""The search for a recoding where the cells of a table do not fit in memory: strict Mondrian, round by round over rows.

The result is that of counting and searching in memory: a recoding, and what was counted, with one cell for
every class in place of those of the table.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Algorithm, Problem, Progress
from indistinct.algorithms.explanation import Explanation
from indistinct.algorithms.partition.by_passes import Judge, Top, TopsBreakError, cut_by_passes
from indistinct.algorithms.partition.by_sample import cut_by_sample
from indistinct.algorithms.partition.finish_parts import (
    Assembled,
    FinishedPart,
    FinishLeaves,
    assemble_parts,
    cuts_of,
    require_rooted,
)
from indistinct.algorithms.partition.keyed_columns import KeyedColumn
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.algorithms.partition.weighed_cuts import WeighedCuts
from indistinct.algorithms.within_levels import ColumnWithin, bounded_columns
from indistinct.engines.base import COARSER, BeyondMemory
from indistinct.engines.finding import FoundRows
from indistinct.engines.memory.count import encoded_column
from indistinct.engines.passes import KeyPasses, RegionFinder, TablePasses, share_files
from indistinct.errors import IndistinctError, InfeasibleError, OutOfMemoryError
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.passes import MISSING_KEY, NO_PART, KeyColumn, KeyTree, KnownValues, Segments
from indistinct.frequencies.value import PERSON, Classes, FrequencySet, Histogram, Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.memory import give_memory_back, needs_memory
from indistinct.models import Model
from indistinct.recoding.columns import NO_IMPORTANCE, NO_LEVELS, Importance, LevelBounds, columns_of
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.summary import Style
from indistinct.suppression_limit import Budget
from indistinct.tables.domain import Domain

# How far a run is when parts are cut by passes over rows, and when all of them are finished.
CUT, FINISHED = 0.4, 0.6
MONDRIAN = "the algorithm mondrian needs no more, it goes over the rows round by round"
# Files of rows that are open at the same time at most; further ones are written by a further pass.
MAX_FILES = 400


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """What a search found, with which algorithm and why that one; what was counted; and the model for such a table.

    `warnings` are about the table.
    """

    counted: Counted
    problem: Problem
    recoding: Recoding
    algorithm: Algorithm
    model: Model
    warnings: tuple[str, ...] = ()
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What is searched for, and how: `suppression` says how many rows, or people, may be dropped.

    `check` returns warnings about a counted table, or raises; `progress` is called with a share from 0 to 1.
    `importance` and `levels` say which columns matter more, and how coarse each must and may be.
    """

    algorithm: Algorithm
    model: Model
    hierarchies: Mapping[str, Hierarchy]
    suppression: Budget
    check: Callable[[Counted], tuple[str, ...]]
    progress: Progress
    importance: Importance = NO_IMPORTANCE
    levels: LevelBounds = NO_LEVELS


@dataclass(frozen=True, slots=True, eq=False)
class CutTable:
    """A table whose cells are beyond memory, cut by passes over its rows into parts that fit.

    `problem` has no cells, and `columns`, `keys`, `judge` and `style` are what finishing a part needs.
    """

    passes: TablePasses
    key_passes: KeyPasses
    columns: tuple[KeyedColumn, ...]
    keys: Mapping[Key, Domain]
    judge: Judge
    top: Top
    mondrian: Mondrian
    problem: Problem
    warnings: tuple[str, ...]
    search: Search

    @property
    def style(self) -> Style:
        """Return how classes are summarized: extent, numeric form and trees."""
        return Style(self.mondrian.extent, self.mondrian.numeric, self.mondrian.trees)

    @property
    def goes_by_part(self) -> bool:
        """Whether there may be more classes than fit together, so that every part is published by itself."""
        most = self.judge.whole.rows // max(self.judge.model.smallest, 1)
        return most > self.passes.room.classes

    @property
    def counted(self) -> Counted:
        """Return the values of the whole table, without any cell."""
        domains = tuple(column.original.domain for column in self.columns)
        return Counted(domains, self.problem.frequencies, {each.column: each for each in self.keys.values()})


@needs_memory("searching round by round")
def cut_table(beyond: BeyondMemory, request: Request, search: Search) -> CutTable:
    """Make the upper cuts of strict Mondrian on a table whose cells do not fit into memory.

    Raises where another search was asked for, or something that passes over rows cannot count.
    """
    passes, mondrian = _required(beyond, request, search)
    judged = [name for key in request.keys for name in key]
    names = [*judged, *search.levels.columns]
    names += [name for name, hierarchy in search.hierarchies.items() if hierarchy.categorical]
    known = passes.values(tuple(dict.fromkeys([*request.quasi, *judged])), named=names)
    domains = {key: known_domain(known[key[0]], request) for key in request.keys}
    columns = keyed_columns(
        [known[name] for name in request.quasi],
        request,
        search.hierarchies,
        importance=search.importance,
        levels=search.levels,
    )
    key_passes = passes.over_keys(tuple(column.keys for column in columns), domains)
    whole = count_whole(key_passes, domains, request)
    wanted, counters = search.model.sampled(whole.rows), Counter(scans=1)
    nothing = FrequencySet(tuple(request.quasi), np.zeros((0, len(columns)), dtype=np.int32), Classes(np.zeros(0, int)))
    problem = Problem(
        nothing, (), wanted, suppression=search.suppression.allows(whole.rows, whole.unit), counters=counters
    )
    judge = Judge(wanted, whole, passes.room.cells)
    plan = CutTable(passes, key_passes, columns, domains, judge, Top(), mondrian, problem, (), search)
    plan = replace(plan, warnings=search.check(plan.counted))
    mondrian.require(replace(problem, columns=tuple(column.original for column in columns)))
    require_rooted(columns)
    wanted.check(whole)
    if mondrian.weighs_cuts:
        known_targets = {key[0]: domain for key, domain in domains.items()}
        choice = WeighedCuts(mondrian, whole.rows, known_targets)
        top, judge = cut_by_sample(key_passes, columns, judge, choice, counters=counters)
        search.progress(CUT)
        return replace(plan, top=top, judge=judge)
    try:
        top = cut_by_passes(key_passes, columns, judge, counters=counters)
    except TopsBreakError as error:
        raise _tops_break(error, plan, beyond) from None
    search.progress(CUT)
    return replace(plan, top=top)


@needs_memory("searching round by round")
def search_parts(plan: CutTable) -> SearchResult:
    """Run strict Mondrian below the upper cuts, part by part, with all classes in memory."""
    search, passes, columns = plan.search, plan.key_passes, plan.columns
    rows, parts = plan.judge.whole.rows, []
    for part in _finished(passes, plan.top, columns, plan.judge, counters=plan.problem.counters):
        parts.append(part)
        _require_room(plan.passes, sum(len(each.classes) for each in parts))
        search.progress(CUT + (FINISHED - CUT) * len(parts) / len(plan.top.rows))
    cuts = cuts_of(plan.top, parts, columns)
    behind = passes.behind(cuts) if plan.mondrian.extent == "region" else cuts
    give_memory_back(rows)
    made = assemble_parts(plan.top, parts, columns, hierarchies=search.hierarchies, style=plan.style, behind=behind)
    del parts, cuts, behind
    give_memory_back(rows)
    counted = _counted(made, plan.keys, columns)
    quasi = bounded_columns(columns_of(counted.domains, search.hierarchies), search.levels)
    problem = replace(plan.problem, frequencies=counted.frequencies, columns=quasi)
    why = search.algorithm.explain_fallback(problem, made.recoding, plan.mondrian)
    return SearchResult(counted, problem, made.recoding, plan.mondrian, plan.judge.model, plan.warnings, why)


def _required(beyond: BeyondMemory, request: Request, search: Search) -> tuple[TablePasses, Mondrian]:
    """Return the passes over the table and the form of Mondrian that uses them; raise for settings it cannot have."""
    mondrian: Any = search.algorithm.by_passes()
    if mondrian is None:
        raise beyond.error(hint=f"{COARSER}; {MONDRIAN}")
    by_top = "cuts are weighed below one top node of each hierarchy"
    population = request.population is not None or search.model.needs_population
    refused = {
        "relaxed=true": (mondrian.relaxed, "it deals rows with equal values to several classes"),
        "missing=pattern": (mondrian.missing == "pattern", "it searches the rows of each pattern on their own"),
        f"numeric={mondrian.numeric}": (mondrian.numeric.has_means, "a mean needs every value of a class"),
        "extent=region and most levels": (
            mondrian.extent == "region" and search.levels.has_most,
            "a region may reach over top nodes without rows, which have no common label",
        ),
        f"choose={mondrian.choose} and most levels": (mondrian.weighs_cuts and search.levels.has_most, by_top),
        "people (role person)": (
            any(PERSON in key for key in request.keys),
            "the rows of a person may lie in several parts, and numbers of people do not add up",
        ),
        "a population": (population, "it is counted by combinations of values, which do not fit in memory"),
        "a model of several columns together": (
            any(len(key) > 1 for key in request.keys),
            "a pass over rows counts the values of one column at a time",
        ),
    }
    for what, (is_asked, reason) in refused.items():
        if is_asked:
            raise beyond.error(
                f"; mondrian could go over the rows round by round, but not with {what}: {reason}",
                hint=f"leave out {what}; or round these columns, leave them out, or allow more `memory`",
            )
    passes: TablePasses = beyond.passes
    return passes, mondrian


def _require_room(passes: TablePasses, classes: int) -> None:
    """Raise if the classes of the release do not fit in memory."""
    if classes > passes.room.classes:
        raise OutOfMemoryError(
            f"the release would have more than {passes.room.classes:,} classes, whose values do not fit in `memory`",
            hint="ask for larger classes (k), leave out quasi-identifiers, or allow more `memory`",
        )


def known_domain(values: KnownValues, request: Request) -> Domain:
    """Return the values of a column as a domain; raise where they do not fit."""
    if values.distinct is None:
        raise OutOfMemoryError(
            f"column {values.name!r} has more than {values.most:,} distinct values, which do not fit in `memory`",
            hint="give it coarser values, leave it out, or allow more `memory`",
            column=values.name,
        )
    return encoded_column(pa.table({values.name: values.distinct}), values.name, request).domain


def keyed_columns(
    known: Sequence[KnownValues],
    request: Request,
    hierarchies: Mapping[str, Hierarchy],
    *,
    importance: Importance = NO_IMPORTANCE,
    levels: LevelBounds = NO_LEVELS,
) -> tuple[KeyedColumn, ...]:
    """Return quasi-identifiers: with all their values if these are few, by keys if they have some."""
    domains = [_ends(each) if _by_keys(each) else known_domain(each, request) for each in known]
    columns = []
    bounded = bounded_columns(columns_of(domains, hierarchies), levels)
    for quasi, values in zip(bounded, known, strict=True):
        weight = importance.of(values.name)
        if _by_keys(values):
            low = MISSING_KEY if values.missing else values.low
            columns.append(KeyedColumn(quasi, KeyColumn(values.name, values.kind), low, values.high, weight))
            continue
        keys = KeyColumn(values.name, values.kind, quasi.domain, quasi.ranks)
        if values.name in levels.columns:
            columns.append(KeyedColumn.bounded(ColumnWithin.of(quasi, levels), keys, weight))
        else:
            columns.append(KeyedColumn(quasi, keys, 0, len(quasi.domain) - 1, weight))
    return tuple(columns)


def _tops_break(error: TopsBreakError, plan: CutTable, beyond: BeyondMemory) -> IndistinctError:
    """Return the error for rows that would have to be suppressed because maximum generalization leaves too few."""
    problem = plan.problem
    if error.rows <= problem.suppression and problem.model.traits.monotone:
        return beyond.error(
            f"; {error.combinations:,} combinations of the coarsest labels that `levels` allow are too small, and a "
            "search that goes round by round cannot suppress their rows",
            hint="allow a coarser most level, or more `memory`",
        )
    return InfeasibleError(
        f"within the levels {plan.search.levels}: {problem.model.spec()} cannot hold: {error.rows:,} rows are below "
        f"{error.combinations:,} combinations of the coarsest labels that are too small, and {problem.suppression:,} "
        "may be suppressed",
        hint="allow coarser labels",
    )


def _by_keys(values: KnownValues) -> bool:
    """Return whether a column has too many numbers or dates to know them all, and need not know them."""
    return values.distinct is None and values.keyed


def _ends(values: KnownValues) -> Domain:
    """Return a domain that contains only the smallest and the largest value."""
    ends = np.unique(np.array([values.low, values.high], dtype=np.uint64))
    return Domain(values.name, KeyColumn(values.name, values.kind).values(ends), missing=values.missing)


def count_whole(passes: KeyPasses, domains: Mapping[Key, Domain], request: Request) -> Classes:
    """Return the whole table as one class."""
    leaf = np.zeros(1, dtype=np.int64)
    root = KeyTree(leaf - 1, leaf.astype(np.uint64), leaf, leaf)
    counted = passes.segments(root, Segments(leaf, np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.uint64)))
    histograms = {}
    for key, tally in counted.tallies.items():
        domain, codes = domains[key], tally.values.astype(np.int32)
        reference = np.bincount(codes, weights=tally.counts, minlength=len(domain)).astype(np.int64)
        hierarchy = request.hierarchies.get(key[0])
        taxonomy = None if hierarchy is None else hierarchy.bind(domain)
        indptr = np.array([0, len(codes)])
        histograms[key] = Histogram(indptr, codes, tally.counts, reference, taxonomy, domain.texts())
    return Classes(counted.sizes, histograms)


def _finished(
    passes: KeyPasses, top: Top, columns: Sequence[KeyedColumn], judge: Judge, *, counters: Counter[str]
) -> Iterator[FinishedPart]:
    """Yield the parts of a tree from left to right, each cut to its end."""
    leaves = top.leaves()
    numbered, files = top.keyed(leaves), share_files([top.rows[leaf] for leaf in leaves], judge.fits)
    for first in range(0, len(files), MAX_FILES):
        some = files[first : first + MAX_FILES]
        work = FinishLeaves(numbered, some, [leaves[own[0]] in top.whole for own in some], columns, judge)
        with passes.parted(_by_file(numbered, some), len(some)) as rows:
            for parts, tried in rows.finish(work):
                counters.update(tried)
                yield from parts


def _by_file(numbered: KeyTree, files: Sequence[Sequence[int]]) -> KeyTree:
    """Return the tree that maps rows to the file of their leaf, or to no file."""
    inner = numbered.axis >= 0
    of_leaf = np.full(int((~inner).sum()), NO_PART, dtype=np.int64)
    for file, own in enumerate(files):
        of_leaf[list(own)] = file
    return replace(numbered, left=np.where(inner, numbered.left, of_leaf[np.where(inner, 0, numbered.left)]))


def _counted(made: Assembled, keys: Mapping[Key, Domain], columns: Sequence[KeyedColumn]) -> Counted:
    """Return the classes as cells, and how rows find their class when they are published."""
    domains = tuple(column.domain for column in made.recoding.columns)
    known = {domain.column: domain for domain in (*domains, *keys.values())}
    finder = RegionFinder(domains, tuple(column.table_keys for column in columns), made.some, made.recoding.cuts)
    row_index = FoundRows(made.frequencies.vectors, finder, made.cells)
    return Counted(domains, made.frequencies, known, row_index=row_index)
