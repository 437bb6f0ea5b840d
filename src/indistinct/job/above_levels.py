"""Full-domain searches where the cells of a table do not fit in memory: above the finest levels whose cells do.

A search that publishes each column on one level of its hierarchy needs no cells below the levels that it may choose.
Rows are counted at levels of the hierarchies, in one pass. Whenever cells get too many, the column with most labels
goes one level up. Which levels come next follows from the hierarchies alone, and where that ends from the number of
cells: neither the order of rows nor the clock decides. The answer is that of memory above these levels.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Problem, run_search
from indistinct.algorithms.within_levels import find_within
from indistinct.engines.base import COARSER, BeyondMemory
from indistinct.engines.finding import CellFinder, CoarseFinder, FoundRows
from indistinct.engines.groups import ValueGroups, count_groups
from indistinct.engines.partitions import Rows
from indistinct.engines.passes import TablePasses
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.value import PERSON, Classes, FrequencySet
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.job.job import problem_of
from indistinct.job.parts import MONDRIAN, Search, SearchResult, known_domain
from indistinct.machine.arrays import Codes
from indistinct.machine.memory import needs_memory
from indistinct.machine.stages import enter
from indistinct.recoding.columns import NO_LEVELS, LevelBounds, QuasiColumn, columns_of
from indistinct.tables.domain import Domain


def can_search_above(search: Search) -> bool:
    """Return whether a search publishes every column on one level, so that it can do without finer cells."""
    return search.algorithm.traits.one_level


@needs_memory("searching above levels")
def search_above_levels(beyond: BeyondMemory, request: Request, search: Search) -> SearchResult:
    """Search above the finest hierarchy levels whose cells fit into memory; raise if the job cannot be run that way."""
    passes = _require_countable(beyond, request, search)
    enter("counting")
    keyed = tuple(dict.fromkeys(name for key in request.keys for name in key))
    names = tuple(dict.fromkeys([*request.quasi, *keyed]))
    known = passes.values(names, named=names)
    many = [name for name in names if known[name].distinct is None]
    if many:
        listed = ", ".join(map(repr, many))
        raise beyond.error(
            f"; {search.algorithm.name} could go above levels that fit if all values of {listed} did",
            hint=f"{COARSER}; {MONDRIAN}",
        )
    domains = {name: known_domain(known[name], request) for name in names}
    columns = _tree_columns([domains[name] for name in request.quasi], search)
    search.levels.check({column.name: column.height for column in columns})
    counting = Counting.of(columns, [domains[name] for name in keyed], search.levels, beyond.fits)
    cells = passes.ask(counting.names, counting.count, counting.merge, what="cells on levels", large=True)
    counting.require_fit(cells, beyond)
    counted = _as_counted(cells, columns, {name: domains[name] for name in keyed}, replace(request, domains=domains))
    vectors = counted.frequencies.vectors
    finder = CellFinder.of(counted.domains, vectors)
    entries = np.arange(len(vectors), dtype=np.int32)
    row_index = FoundRows(vectors, CoarseFinder(finder, cells.representatives(columns)), entries)
    counted = replace(counted, row_index=row_index)
    warnings = (*search.check(counted), *cells.in_words(columns, search.levels))
    return _search_coarse(search, counted, columns, cells, warnings)


def _require_countable(beyond: BeyondMemory, request: Request, search: Search) -> TablePasses:
    """Return the passes over rows; raise where cells above levels would not do."""
    quasi = [name for key in request.keys for name in key if name in request.quasi]
    refused = {
        "people (role person)": (
            any(PERSON in key for key in request.keys),
            "rows are counted before they are joined, and a person with rows in several cells would count twice",
        ),
        "a population": (
            request.population is not None or search.model.needs_population,
            "it is counted by combinations of values, which do not fit in memory",
        ),
        "a model or a target of quasi-identifiers": (bool(quasi), "it looks at values, and such cells have labels"),
    }
    for what, (is_asked, reason) in refused.items():
        if is_asked:
            raise beyond.error(
                f"; {search.algorithm.name} could go above levels that fit, but not with {what}: {reason}",
                hint=f"leave out {what}; or {COARSER}; {MONDRIAN}",
            )
    passes: TablePasses = beyond.passes
    return passes


def _tree_columns(domains: Sequence[Domain], search: Search) -> tuple[QuasiColumn, ...]:
    """Return quasi-identifiers that are published through their hierarchies."""
    names = {domain.column for domain in domains}
    bound = columns_of(domains, {name: each for name, each in search.hierarchies.items() if name in names})
    nothing = FrequencySet((), np.zeros((0, 0), dtype=np.int32), Classes(np.zeros(0, dtype=np.int64)))
    return Problem(nothing, bound, search.model).tree_columns()


@dataclass(slots=True)
class CoarseCells:
    """Rows that were counted: the nodes of their quasi-identifiers on some levels, and codes of what a model looks at.

    `vectors` has the distinct ones, as rows of a matrix, and `counts` how many rows have each. `sizes` are how many
    codes each column has.
    """

    levels: list[int]
    sizes: list[int]
    vectors: Codes
    counts: Codes
    waiting: list[tuple[Codes, Codes]] = field(default_factory=list)

    def unite(self) -> None:
        """Unite what waits with what was counted before."""
        parts = [(self.vectors, self.counts), *self.waiting]
        self.waiting = []
        vectors, counts = np.concatenate([each for each, _ in parts]), np.concatenate([each for _, each in parts])
        grouping = group_rows(list(vectors.T), self.sizes)
        self.counts = np.bincount(grouping.group_ids(), weights=counts, minlength=len(grouping)).astype(np.int64)
        self.vectors = vectors[grouping.first]

    def representatives(self, columns: Sequence[QuasiColumn]) -> tuple[Codes, ...]:
        """Return, by column, the representative of each value: the first value below the same node."""
        first_codes = []
        for column, level in zip(columns, self.levels, strict=True):
            nodes = _taxonomy(column).ancestors[:, level]
            _, firsts, inverse = np.unique(nodes, return_index=True, return_inverse=True)
            first_codes.append(firsts[inverse.reshape(-1)].astype(np.int32))
        return tuple(first_codes)

    def in_words(self, columns: Sequence[QuasiColumn], asked: LevelBounds) -> tuple[str, ...]:
        """Return the levels above which was searched, as a certificate declares them, unless they were asked for."""
        level_of = {column.name: level for column, level in zip(columns, self.levels, strict=True)}
        levels = ", ".join(f"{name}={level}" for name, level in level_of.items() if level > asked.least(name))
        words = f"the combinations of values do not fit in memory: released at or above these levels: {levels}"
        return (words,) if levels else ()


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """How rows are counted on the finest levels that fit: in one pass, and on a cluster by each task for its own rows.

    `domains` are those of quasi-identifiers and then of what the model looks at. `nodes` has the node of each value of
    a quasi-identifier on each level up to its most one, and `least` the levels to begin with. The next level follows
    from `nodes` alone, and fewer rows never need a coarser one: it does not matter which rows a task has.
    """

    domains: tuple[Domain, ...]
    nodes: tuple[Codes, ...]
    least: tuple[int, ...]
    fits: int

    @classmethod
    def of(cls, columns: Sequence[QuasiColumn], keys: Sequence[Domain], asked: LevelBounds, fits: int) -> "Counting":
        """Prepare counting within the requested level bounds; at most `fits` cells are kept."""
        bounds = [asked.of(column.name, column.height) for column in columns]
        nodes = [_taxonomy(column).ancestors[:, : most + 1] for column, (_, most) in zip(columns, bounds, strict=True)]
        domains = (*(column.domain for column in columns), *keys)
        return cls(domains, tuple(nodes), tuple(low for low, _ in bounds), fits)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(domain.column for domain in self.domains)

    def count(self, rows: Rows) -> CoarseCells:
        """Return the rows of a source, or of a task, on the finest levels that fit."""
        cells, pending = self._nothing(), 0
        for batch in rows.batches(self.names):
            codes = [domain.encode(batch[domain.column]).astype(np.int32) for domain in self.domains]
            for j, level in enumerate(cells.levels):
                codes[j] = self.nodes[j][codes[j], level]
            grouping = group_rows(codes, cells.sizes)
            vectors = np.stack([each[grouping.first] for each in codes], axis=1)
            cells.waiting.append((vectors, grouping.counts))
            pending += len(vectors)
            if pending > self.fits or len(cells.vectors) + pending > 2 * self.fits:
                self._unite_within(cells)
                pending = 0
        self._unite_within(cells)
        return cells

    def merge(self, several: Sequence[CoarseCells]) -> CoarseCells:
        """Merge the cells of several tasks on the finest levels on which all of them fit."""
        cells = self._nothing()
        for other in several:
            levels = [max(pair) for pair in zip(cells.levels, other.levels, strict=True)]
            for own in (cells, other):
                self._go_up(own, levels)
            cells.waiting.append((other.vectors, other.counts))
            self._unite_within(cells)
        return cells

    def _nothing(self) -> CoarseCells:
        """Return the state without any row."""
        width, sizes = len(self.domains), [len(domain) for domain in self.domains]
        nothing = np.zeros((0, width), dtype=np.int32), np.zeros(0, dtype=np.int64)
        return CoarseCells(list(self.least), sizes, *nothing)

    def _unite_within(self, cells: CoarseCells) -> None:
        """Merge equal cells. While there are too many, generalize the column with most labels by one level."""
        cells.unite()
        while len(cells.counts) > self.fits:
            labels = [
                int(own[:, level].max()) + 1 if level + 1 < own.shape[1] else 0
                for own, level in zip(self.nodes, cells.levels, strict=True)
            ]
            j = int(np.argmax(labels))
            if not labels[j]:
                return
            self._go_up(cells, [level + (index == j) for index, level in enumerate(cells.levels)])
            cells.unite()

    def _go_up(self, cells: CoarseCells, levels: Sequence[int]) -> None:
        """Generalize cells to coarser levels."""
        for j, level in enumerate(levels):
            nodes, own = self.nodes[j], cells.levels[j]
            above = np.zeros(int(nodes[:, own].max()) + 1, dtype=np.int32)
            above[nodes[:, own]] = nodes[:, level]
            cells.vectors[:, j] = above[cells.vectors[:, j]]
        cells.levels = list(levels)

    def require_fit(self, cells: CoarseCells, beyond: BeyondMemory) -> None:
        """Raise if there are too many cells even on the coarsest levels."""
        if len(cells.counts) > self.fits:
            bounded = any(int(own[:, -1].max()) for own in self.nodes)
            raise beyond.error(
                f"; even {'on the most levels' if bounded else 'as one combination'} the rows have more than "
                f"{self.fits:,} different values that the model looks at",
                hint="leave out sensitive columns, give them coarser values, or allow coarser levels or more `memory`",
            )


def _as_counted(
    cells: CoarseCells, columns: Sequence[QuasiColumn], keys: dict[str, Domain], request: Request
) -> Counted:
    """Convert coarse cells to a count of a table in which each node is represented by its first value."""
    arrays: dict[str, pa.Array] = {}
    for j, (column, level) in enumerate(zip(columns, cells.levels, strict=True)):
        nodes = _taxonomy(column).ancestors[:, level]
        firsts = np.zeros(int(nodes.max()) + 1, dtype=np.int64)
        firsts[nodes[::-1]] = np.arange(len(nodes))[::-1]
        arrays[column.name] = column.domain.decode(firsts[cells.vectors[:, j]])
    for j, (name, domain) in enumerate(keys.items(), start=len(columns)):
        arrays[name] = domain.decode(cells.vectors[:, j])
    groups = ValueGroups(pa.table(arrays), cells.counts)
    return count_groups(lambda _: groups, request, columns=tuple(arrays))


def _search_coarse(
    search: Search, counted: Counted, columns: Sequence[QuasiColumn], cells: CoarseCells, warnings: tuple[str, ...]
) -> SearchResult:
    """Search on the labels of some levels, and return the result expressed in the table's values."""
    model, counters = search.model.sampled(counted.frequencies.members), Counter(scans=1)
    problem = problem_of(counted, model, search.hierarchies, suppression=search.suppression, parts_rows=False)
    problem = replace(problem, columns=tuple(columns), counters=counters, importance=search.importance)
    problem = problem_above(problem, cells.levels, search.levels)
    enter("searching")
    watched = replace(problem, progress=lambda share: search.progress(0.2 + 0.4 * share))
    recoding = run_search(search.algorithm, watched, find_within)
    return SearchResult(counted, problem, recoding, search.algorithm, model, warnings)


def problem_above(problem: Problem, levels: Sequence[int], asked: LevelBounds = NO_LEVELS) -> Problem:
    """Raise the minimum levels of a problem to those given; the maximum levels stay those `asked` for."""
    for column, level in zip(problem.columns, levels, strict=True):
        if level > asked.least(column.name):
            most = asked.of(column.name, column.height)[1]
            asked = asked.with_bounds(column.name, (level, None if most == column.height else most))
    return replace(problem, levels=asked)


def _taxonomy(column: QuasiColumn) -> Taxonomy:
    if column.taxonomy is None:
        raise AssertionError(f"column {column.name!r} is published through a hierarchy")
    return column.taxonomy
