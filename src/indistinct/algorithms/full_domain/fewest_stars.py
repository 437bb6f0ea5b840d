"""The smallest weighted number of suppressed cells, with proof: an integer program over the patterns of classes.

A *pattern* shows values in some columns and `*` in the others. A class of at least k rows shows a pattern that all of
them match. Patterns with `*` in a column in which all their rows agree are left out, because the pattern without it is
better. `docs/theory/cell-suppression.md` has the program, its bounds, and why the omissions lose nothing.
"""

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np

from indistinct.algorithms.base import LOG, Algorithm, Problem
from indistinct.algorithms.explanation import Attempt, Explanation, Proof
from indistinct.algorithms.full_domain.nodes import FullDomain, recoded_column
from indistinct.algorithms.full_domain.stars import (
    Placement,
    Units,
    group_published,
    place_units,
    repair,
)
from indistinct.errors import MissingExtraError
from indistinct.frequencies.compatible_rows import compare_counts, group_shown
from indistinct.frequencies.pieces import Pieces
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.machine.stages import enter
from indistinct.models.base import Model
from indistinct.recoding.columns import Importance
from indistinct.recoding.kinds import ByRow, Recoding
from indistinct.text_form import spell

# Default limits of nodes of the integer program: in general, and where the answer cannot be proven.
DEFAULT_NODES, DEFAULT_NODES_UNPROVEN = 1000, 1
# Limits of a proof: visits of a cell, and pairs of a cell and a pattern. Larger tables are searched without proof.
MAX_CELL_VISITS, MAX_CELL_PATTERN_PAIRS = 40_000_000, 30_000
# Up to this number of cells, the distance of each to its nearest others gives a lower bound for any release.
MAX_CELLS_COMPARED = 20_000
# Cells that are compared with all others at a time.
CELLS_PER_BLOCK = 256
# Weights are rounded to fractions with at most this denominator, so that sums of them are exact.
MAX_WEIGHT_DENOMINATOR = 1000


def why_not_proven(model: Model) -> str | None:
    """Return why the optimum cannot be proven for a model, None where it can."""
    if model.traits.sizes_only:
        return None
    return "it asks for more than a number of rows, and the proof of the fewest stars counts rows alone"


@dataclass(frozen=True, slots=True, eq=False)
class StarSolution:
    """`counts[i]` rows of cell `cells[i]` have `*` in the columns `stars[i]`; a row with `dropped[i]` is removed."""

    cells: Codes
    counts: Codes
    stars: Mask
    dropped: Codes


@dataclass(frozen=True, eq=False)
class StarTable:
    """The cells of a table, the whole-number cost of `*` in each column, and the rows that a class needs.

    A star of weight 1 costs `scale`. Up to `budget` rows may be removed; each costs as much as a row of stars.
    """

    values: Codes
    counts: Codes
    costs: Codes
    scale: int
    k: int
    budget: int

    @property
    def whole(self) -> int:
        """Return the cost of a row of stars."""
        return int(self.costs.sum())

    def cost(self, solution: StarSolution) -> int:
        """Return the cost of the stars and removed rows of a solution."""
        each = np.where(solution.dropped, self.whole, solution.stars @ self.costs)
        return int(solution.counts @ each)

    @cached_property
    def floors(self) -> Codes:
        """The least cost of each row of a cell: its distance to its (k - 1)-th nearest other row.

        Rows in one class with it show `*` wherever they differ.
        """
        floors = np.zeros(len(self.values), dtype=np.int64)
        open_cells = np.flatnonzero(self.counts < self.k)
        for start in range(0, len(open_cells), CELLS_PER_BLOCK):
            block = open_cells[start : start + CELLS_PER_BLOCK]
            distance = np.zeros((len(block), len(self.values)), dtype=np.int64)
            for j, cost in enumerate(self.costs.tolist()):
                distance += cost * (self.values[block, j][:, None] != self.values[:, j][None, :])
            for row, cell in enumerate(block.tolist()):
                order = np.argsort(distance[row], kind="stable")
                reached = np.searchsorted(np.cumsum(self.counts[order]), self.k)
                floors[cell] = distance[row, order[reached]] if reached < len(order) else self.whole
        return floors

    @property
    def bound(self) -> int:
        """Return a lower bound of the cost of any solution."""
        return int(self.floors @ self.counts) if len(self.values) <= MAX_CELLS_COMPARED else 0


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Patterns: pattern `p` stars the columns `stars[p]` and matches the cells `cells[starts[p]:starts[p + 1]]`."""

    stars: Mask
    starts: Codes
    cells: Codes

    def __len__(self) -> int:
        return len(self.stars)


def patterns_of(table: StarTable, start: StarSolution) -> tuple[Patterns, bool]:
    """Return the patterns that a solution better than the start may use, and whether these are all of them.

    Of too many patterns, those with the fewest stars and those of the start are taken.
    """
    width = table.values.shape[1]
    stars: list[tuple[int, ...]] = []
    members: list[Codes] = []
    pairs, looks, slack = 0, 0, table.cost(start) - 1 - table.bound
    for mask in chain.from_iterable(combinations(range(width), size) for size in range(width + 1)):
        extra = np.maximum(int(table.costs[list(mask)].sum()) - table.floors, 0)
        useful = np.flatnonzero(extra <= slack)
        looks += len(table.values)
        groups = _groups(table, useful, mask) if len(useful) else []
        groups = [cells for cells in groups if _least_extra(extra[cells], table.counts[cells], table.k) <= slack]
        pairs += sum(map(len, groups))
        if pairs > MAX_CELL_PATTERN_PAIRS or looks > MAX_CELL_VISITS:
            return _with_classes(table, stars, members, start), False
        stars += [mask] * len(groups)
        members += groups
    return _patterns(stars, members, width), True


def _with_classes(
    table: StarTable, stars: list[tuple[int, ...]], members: list[Codes], start: StarSolution
) -> Patterns:
    """Return the given patterns together with those of the classes of a solution."""
    ids, size = group_published(table.values[start.cells], start.stars)
    for group in range(size):
        inside = np.flatnonzero((ids == group) & ~start.dropped)
        if len(inside):
            stars.append(tuple(np.flatnonzero(start.stars[inside[0]]).tolist()))
            members.append(np.unique(start.cells[inside]))
    return _patterns(stars, members, table.values.shape[1])


def _patterns(stars: list[tuple[int, ...]], members: list[Codes], width: int) -> Patterns:
    """Collect the possible sets of starred columns with their cells."""
    starred = np.zeros((len(stars), width), dtype=bool)
    for index, mask in enumerate(stars):
        starred[index, list(mask)] = True
    starts = np.concatenate([[0], np.cumsum([len(cells) for cells in members])]).astype(np.int64)
    return Patterns(starred, starts, np.concatenate(members) if members else np.zeros(0, dtype=np.int64))


def _groups(table: StarTable, useful: Codes, mask: tuple[int, ...]) -> list[Codes]:
    """Return the cells of every pattern with this mask that k rows match and that needs each of its stars."""
    width = table.values.shape[1]
    ids, groups = group_shown(table.values[useful], [j for j in range(width) if j not in mask])
    rows = np.bincount(ids, weights=table.counts[useful], minlength=groups)
    order = np.argsort(ids, kind="stable")
    ends = np.cumsum(np.bincount(ids, minlength=groups))
    cells_by_set = []
    for group in np.flatnonzero(rows >= table.k).tolist():
        cells = useful[order[ends[group - 1] if group else 0 : ends[group]]]
        inside = table.values[cells]
        if all((inside[:, j] != inside[0, j]).any() for j in mask):
            cells_by_set.append(cells)
    return cells_by_set


def _least_extra(extra: Codes, counts: Codes, k: int) -> int:
    """Return the least amount by which k rows of a pattern raise the lower bound."""
    order = np.argsort(extra, kind="stable")
    taken = np.minimum(counts[order], np.maximum(k - (np.cumsum(counts[order]) - counts[order]), 0))
    return int(taken @ extra[order])


def find_fewest_stars(
    problem: Problem, importance: Importance, *, nodes: int, seconds: float | None, spec: Algorithm
) -> Recoding:
    """Return the recoding with the fewest stars found, and report how far it may be from the optimum."""
    space = FullDomain(problem)
    space.require_roots()
    problem.require_possible()
    table = _table_of(space, importance)
    start = _start_of(table, space)
    problem.progress(0.3)
    best, proof = solve(table, start, nodes=nodes, seconds=seconds)
    problem.progress(0.9)
    _explain(problem, table, start, best, proof, spec)
    return _recoding(space, best)


def _table_of(space: FullDomain, importance: Importance) -> StarTable:
    """Return the cells with whole-number costs of a star in each column."""
    weights = [
        Fraction(str(importance.of(column.name))).limit_denominator(MAX_WEIGHT_DENOMINATOR) for column in space.columns
    ]
    scale = math.lcm(*(weight.denominator for weight in weights))
    # A hierarchy without a step leaves its column unmodified: its top is the value itself.
    costs = np.array([max(int(weight * scale), 1) for weight in weights], dtype=np.int64)
    frequencies = space.problem.frequencies
    return StarTable(
        frequencies.vectors.astype(np.int64),
        frequencies.counts.astype(np.int64),
        costs,
        scale,
        space.problem.model.smallest,
        space.allowed,
    )


def _start_of(table: StarTable, space: FullDomain) -> StarSolution:
    """Return the better of two greedy solutions after repair: with whole cells, or with rows lent by large cells."""
    problem = space.problem
    weights, free = tuple((table.costs / table.scale).tolist()), tuple(range(table.values.shape[1]))

    def units_of(cells: Codes, counts: Codes) -> Units:
        return Units(table.values[cells], Classes(counts), free, weights, problem.model)

    whole = np.arange(len(table.values))
    stars, dropped = np.zeros(table.values.shape, dtype=bool), np.zeros(len(whole), dtype=bool)
    small = np.flatnonzero(table.counts < table.k)
    if not len(small):
        return StarSolution(whole, table.counts, stars, dropped)
    placement = place_units(
        units_of(small, table.counts[small]),
        counters=problem.counters,
        progress=lambda share: problem.progress(0.2 * share),
    )
    stars[small], dropped[small] = placement.stars, ~placement.placed
    if int(table.counts[dropped].sum()) > table.budget:
        stars, dropped = _join_rest(table, stars, dropped), np.zeros_like(dropped)
    starts = [StarSolution(whole, table.counts, stars, dropped)]
    lent = lend_rows(table)
    if lent is not None:
        units = units_of(lent.cells, lent.counts)
        placement = repair(units, Placement(lent.stars, ~lent.dropped), counters=problem.counters)
        starts.append(_join_equal_pieces(StarSolution(lent.cells, lent.counts, placement.stars, lent.dropped)))
    return min((each for each in starts if is_valid(table, each)), key=table.cost)


def lend_rows(table: StarTable) -> StarSolution | None:
    """Return a greedy solution in which cells of more than k rows lend rows to patterns that have too few.

    Each step uses the pattern with the least cost per row of small cells, borrowed rows included. None where there are
    too many patterns.
    """
    width = table.values.shape[1]
    if len(table.values) << width > MAX_CELL_VISITS // 4:
        return None
    spare, small = np.maximum(table.counts - table.k, 0), table.counts < table.k
    queue: list[tuple[float, int, int]] = []
    members: list[Codes] = []
    masks = [mask for size in range(1, width + 1) for mask in combinations(range(width), size)]
    costs = [int(table.costs[list(mask)].sum()) for mask in masks]
    used = np.flatnonzero(small | (spare > 0))
    for index, mask in enumerate(masks):
        ids, groups = group_shown(table.values[used], [j for j in range(width) if j not in mask])
        order, ends = np.argsort(ids, kind="stable"), np.cumsum(np.bincount(ids, minlength=groups))
        some = np.bincount(ids, weights=small[used], minlength=groups) > 0
        for group in np.flatnonzero(some).tolist():
            cells: Codes = used[order[ends[group - 1] if group else 0 : ends[group]]]
            queue.append((0.0, len(members), index))
            members.append(cells)
    heapq.heapify(queue)
    pieces: list[tuple[Codes, Codes, int]] = []
    while queue:
        known, group, index = heapq.heappop(queue)
        cells = members[group][small[members[group]]]
        rows = int(table.counts[cells].sum())
        wanted = max(table.k - rows, 0)
        lenders = members[group][spare[members[group]] > 0] if wanted else cells[:0]
        if not rows or int(spare[lenders].sum()) < wanted:
            continue
        cost = costs[index] * (rows + wanted) / rows
        if cost > known and queue and (cost, group, index) > queue[0]:
            heapq.heappush(queue, (cost, group, index))
            continue
        lenders = lenders[np.argsort(-spare[lenders], kind="stable")]
        given = np.minimum(spare[lenders], np.maximum(wanted - (np.cumsum(spare[lenders]) - spare[lenders]), 0))
        pieces.append((np.concatenate([cells, lenders]), np.concatenate([table.counts[cells], given]), index))
        spare[lenders] -= given
        small[cells] = False
    return _pieces_of(table, pieces, masks, small)


def _pieces_of(
    table: StarTable, pieces: list[tuple[Codes, Codes, int]], masks: list[tuple[int, ...]], left: Mask
) -> StarSolution | None:
    """Return a solution: these pieces show patterns, other rows their values, and `left` rows are removed."""
    if int(table.counts[left].sum()) > table.budget or not pieces:
        return None
    cells = np.concatenate([piece[0] for piece in pieces])
    counts = np.concatenate([piece[1] for piece in pieces])
    stars = np.zeros((len(cells), table.values.shape[1]), dtype=bool)
    ends = np.cumsum([len(piece[0]) for piece in pieces])
    for (own, _, index), end in zip(pieces, ends.tolist(), strict=True):
        stars[end - len(own) : end, list(masks[index])] = True
    home = table.counts - np.bincount(cells, weights=counts, minlength=len(table.values)).astype(np.int64)
    rest, given = np.flatnonzero(home), np.flatnonzero(counts)
    return StarSolution(
        np.concatenate([cells[given], rest]),
        np.concatenate([counts[given], home[rest]]),
        np.concatenate([stars[given], np.zeros((len(rest), stars.shape[1]), dtype=bool)]),
        np.concatenate([np.zeros(len(given), dtype=bool), left[rest]]),
    )


def _join_equal_pieces(solution: StarSolution) -> StarSolution:
    """Return the solution with pieces of one cell that show the same stars joined."""
    keys = np.column_stack([solution.cells, solution.dropped, solution.stars])
    distinct, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    counts = np.bincount(inverse.reshape(-1), weights=solution.counts, minlength=len(distinct)).astype(np.int64)
    return StarSolution(solution.cells[first], counts, solution.stars[first], solution.dropped[first])


def _join_rest(table: StarTable, stars: Mask, left: Codes) -> Mask:
    """Add the cells that are left, too few for a class, to the class where that costs least; return the new stars."""
    ids = group_published(table.values, stars)[0]
    rest, home = np.flatnonzero(left), ~left
    best, least = None, math.inf
    for group in np.unique(ids[home]).tolist():
        cells = np.concatenate([np.flatnonzero(home & (ids == group)), rest])
        mask = (table.values[cells] != table.values[cells[0]]).any(axis=0) | stars[cells[0]]
        cost = int(table.counts[cells] @ np.full(len(cells), mask @ table.costs)) - int(
            table.counts[cells[: -len(rest)]] @ (stars[cells[: -len(rest)]] @ table.costs)
        )
        if cost < least:
            best, least = (cells, mask), cost
    joined = stars.copy()
    if best is None:  # no cell could be placed: all rows become one class
        joined[:] = (table.values != table.values[0]).any(axis=0)
        return joined
    joined[best[0]] = best[1]
    return joined


def solve(table: StarTable, start: StarSolution, *, nodes: int, seconds: float | None) -> tuple[StarSolution, Proof]:
    """Return the best solution found, never worse than the start, and how far it may be from the optimum."""
    best, bound = table.cost(start), table.bound
    if bound >= best:
        return start, _proof(table, best, best, 0)
    patterns, complete = patterns_of(table, start)
    if not complete:
        enter("searching: too large for a proof")
        nodes = min(nodes, DEFAULT_NODES_UNPROVEN) if nodes else DEFAULT_NODES_UNPROVEN
    solution, reached, count = _solve_program(table, patterns, bound, nodes=nodes, seconds=seconds)
    if solution is not None and table.cost(solution) < best:
        start, best = solution, table.cost(solution)
    return start, _proof(table, best, min(reached, best) if complete else bound, count)


def _proof(table: StarTable, best: int, bound: int, nodes: int) -> Proof:
    """Return the proof in the unit of a star."""

    def weigh(cost: int) -> float:
        return cost // table.scale if cost % table.scale == 0 else cost / table.scale

    return Proof(weigh(best), weigh(bound), nodes)


def _solve_program(
    table: StarTable, patterns: Patterns, bound: int, *, nodes: int, seconds: float | None
) -> tuple[StarSolution | None, int, int]:
    """Return the best solution of the integer program, a lower bound of its optimum, and the number of its nodes.

    Variables, in this order: rows of a cell that show a pattern, for each pair; rows of a cell that are removed;
    whether a pattern is used.
    """
    milp, constraints, bounds = _import_solver()
    from scipy.sparse import coo_array

    owners = np.repeat(np.arange(len(patterns)), np.diff(patterns.starts))
    pairs, cells, count = len(owners), len(table.values), len(patterns)
    total = pairs + cells + count
    rows = np.arange(pairs)
    matrix: list[tuple[Codes, Codes, Codes | Floats]] = [
        # Every row shows a pattern or is removed.
        (patterns.cells, rows, np.ones(pairs)),
        (np.arange(cells), pairs + np.arange(cells), np.ones(cells)),
        # A pattern that is used has at least k rows.
        (cells + owners, rows, np.ones(pairs)),
        (cells + np.arange(count), pairs + cells + np.arange(count), np.full(count, -table.k)),
        # Rows show only patterns that are used.
        (cells + count + rows, rows, np.ones(pairs)),
        (cells + count + rows, pairs + cells + owners, -table.counts[patterns.cells]),
        # The number of removed rows is within the limit.
        (np.full(cells, cells + count + pairs), pairs + np.arange(cells), np.ones(cells)),
    ]
    at, column, value = (np.concatenate(parts) for parts in zip(*matrix, strict=True))
    height = cells + count + pairs + 1
    low = np.concatenate([table.counts, np.zeros(count), np.full(pairs + 1, -np.inf)])
    high = np.concatenate([table.counts, np.full(count, np.inf), np.zeros(pairs), [table.budget]])
    cost = np.concatenate([(patterns.stars @ table.costs)[owners], np.full(cells, table.whole), np.zeros(count)])
    upper = np.concatenate([table.counts[patterns.cells], table.counts, np.ones(count)])
    options = {"mip_rel_gap": 0.0} | ({"node_limit": nodes} if nodes else {})
    answer = milp(
        cost,
        integrality=np.ones(total),
        bounds=bounds(np.zeros(total), upper),
        constraints=constraints(coo_array((value, (at, column)), shape=(height, total)).tocsc(), low, high),
        options=options | ({"time_limit": seconds} if seconds else {}),
    )
    LOG.info("searched %d patterns of %d pairs: %s", count, pairs, answer.message)
    return _read_answer(table, patterns, answer, bound)


def _read_answer(table: StarTable, patterns: Patterns, answer: Any, bound: int) -> tuple[StarSolution | None, int, int]:
    """Read the answer of the solver: solution, lower bound and number of nodes."""
    count = int(getattr(answer, "mip_node_count", 0) or 0)
    dual = getattr(answer, "mip_dual_bound", None)
    if answer.status == 2:  # nothing costs less than the start: patterns that cannot cost less were left out
        return None, int(np.iinfo(np.int64).max), count
    if dual is not None and np.isfinite(dual):
        bound = max(bound, math.ceil(dual - 1e-6))
    if answer.x is None:
        return None, bound, count
    pairs, cells = len(patterns.cells), len(table.values)
    owners = np.repeat(np.arange(len(patterns)), np.diff(patterns.starts))
    rows_of_stars, dropped = np.rint(answer.x[:pairs]).astype(np.int64), np.rint(answer.x[pairs : pairs + cells])
    used, gone = np.flatnonzero(rows_of_stars), np.flatnonzero(dropped)
    solution = StarSolution(
        np.concatenate([patterns.cells[used], gone]),
        np.concatenate([rows_of_stars[used], dropped[gone].astype(np.int64)]),
        np.concatenate([patterns.stars[owners[used]], np.zeros((len(gone), table.values.shape[1]), dtype=bool)]),
        np.concatenate([np.zeros(len(used), dtype=bool), np.ones(len(gone), dtype=bool)]),
    )
    return (solution if is_valid(table, solution) else None), bound, count


def is_valid(table: StarTable, solution: StarSolution) -> bool:
    """Return whether every row occurs once, every class has at least k rows, and the suppression limit is kept."""
    rows = np.bincount(solution.cells, weights=solution.counts, minlength=len(table.values))
    ids, size = group_published(table.values[solution.cells], solution.stars)
    sizes = np.bincount(ids[~solution.dropped], weights=solution.counts[~solution.dropped], minlength=size)
    return bool(
        (rows == table.counts).all()
        and ((sizes == 0) | (sizes >= table.k)).all()
        and solution.counts[solution.dropped].sum() <= table.budget
    )


def _import_solver() -> tuple[Any, Any, Any]:
    """Import the solver; raise `MissingExtraError` if it is not installed."""
    try:
        from scipy.optimize import Bounds, LinearConstraint, milp
    except ImportError:
        purpose = "cell-suppression:search=optimal"
        raise MissingExtraError("scipy", extra="optimal", purpose=purpose) from None
    return milp, LinearConstraint, Bounds


def _explain(
    problem: Problem, table: StarTable, start: StarSolution, best: StarSolution, proof: Proof, spec: Algorithm
) -> None:
    """Record the proof and the attempts."""
    problem.counters.update(nodes=proof.nodes, proven=int(proof.proven))
    problem.counters["bound"], problem.counters["gap"] = proof.bound, proof.gap  # type: ignore[assignment]
    problem.counters["stars"] = int(best.counts[~best.dropped] @ best.stars[~best.dropped].sum(axis=1))
    name, published = spell(spec), ~best.dropped
    notes = compare_counts(table.values[best.cells[published]], best.stars[published], best.counts[published])
    attempts = [_attempt(name, table, best), _attempt("cell-suppression", table, start)]
    problem.explain(Explanation("stars", "min", name, proof.best, tuple(attempts), {}, proof=proof, notes=notes))


def _attempt(name: str, table: StarTable, solution: StarSolution) -> Attempt:
    """Describe a solution as an attempt."""
    ids = group_published(table.values[solution.cells], solution.stars)[0]
    classes = len(np.unique(ids[~solution.dropped]))
    dropped = int(solution.counts[solution.dropped].sum())
    return Attempt(name, table.cost(solution) / table.scale, classes, dropped)


def _recoding(space: FullDomain, solution: StarSolution) -> Recoding:
    """Return the recoding of a solution by row, because equal rows may be split."""
    frequencies = space.problem.frequencies
    columns, published = [], frequencies.vectors[solution.cells].astype(np.int32)
    for j, column in enumerate(space.columns):
        starred = solution.stars[:, j] & ~solution.dropped
        recoded, groups = recoded_column(column, 0, starred=bool(starred.any()))
        columns.append(recoded)
        published[:, j] = groups[published[:, j]]
        published[starred, j] = len(recoded.summary.published) - 1
    values, inverse = np.unique(published[~solution.dropped], axis=0, return_inverse=True)
    class_ids = np.full(len(published), -1, dtype=np.int32)
    class_ids[~solution.dropped] = inverse.reshape(-1)
    vectors = np.ascontiguousarray(frequencies.vectors)
    pieces = Pieces(solution.cells, None, solution.counts, class_ids).divided(frequencies)
    return ByRow(tuple(columns), vectors, pieces.cells, pieces.joint, pieces.class_ids, pieces.counts, values)
