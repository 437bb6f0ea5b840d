"""Single-dimensional partitioning: every column has its own cuts, the same for all rows (LeFevre et al. 2006, 2005).

The baseline that multidimensional partitioning is compared with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, Problem
from indistinct.algorithms.partition import _single_dimensional_kernels as _kernels
from indistinct.algorithms.partition.layout import ranks_of, summarize
from indistinct.errors import InfeasibleError, ParameterError
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Codes, starts_of
from indistinct.models.base import Model
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.kinds import ByColumn, RecodedColumn, Recoding
from indistinct.recoding.summary import Extent, NumericForm, Style


@dataclass(frozen=True, slots=True)
class SingleDimensional(Algorithm):
    """Cuts per column, applied to all rows.

    Greedy: again and again the allowable cut with the largest decrease of discernibility (ties: column order, smaller
    value); a cut is allowable if no class falls into two of which one breaks the model. With `exact` the cuts of a
    single quasi-identifier have the smallest discernibility possible.
    """

    name: ClassVar[str] = "single-dimensional"
    exact: bool = False
    extent: Extent = "range"
    numeric: NumericForm = "interval"

    def __post_init__(self) -> None:
        Style(self.extent, self.numeric)

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """The exact form is optimal for one column."""
        return AlgorithmTraits(optimal=self.exact, ranges=True)

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the cuts found."""
        problem.model.check(problem.whole())
        ranks = ranks_of(problem.columns, problem.frequencies.vectors).astype(np.int64)
        if self.exact:
            cuts = [_exact_cuts(ranks, problem)]
        elif problem.model.traits.sizes_only:
            cuts = greedy_by_size(ranks, problem)
        else:
            cuts = greedy_by_rounds(ranks, problem)
        return _recoding(problem, ranks, cuts, Style(self.extent, self.numeric))


def greedy_by_size(ranks: Codes, problem: Problem) -> list[Codes]:
    """Return the cuts of `greedy_by_rounds` for a model that looks at class sizes alone, by a kernel.

    A cut changes the gains only where it crosses a class, and what breaks a class is known from its first and last k
    rows, so that no cut is tried in vain.
    """
    sizes, counts = [len(column.domain) for column in problem.columns], problem.frequencies.counts.astype(np.int64)
    bases, cells, k = starts_of(sizes), len(ranks), problem.model.smallest
    total, most = int(bases[-1]), min(cells, int(counts.sum()) // k) + 2
    order = np.sort(ranks.T << 32 | np.arange(cells), axis=1)
    classes, edges = np.zeros((most, 3), dtype=np.int64), np.zeros((len(sizes), 2, most), dtype=np.int64)
    classes[0] = 0, cells, counts.sum()
    after, chosen = np.arange(total + 1), np.zeros(total, dtype=bool)
    steps, gains, owners = (np.zeros(size, dtype=np.int64) for size in (total, total, max(sizes)))
    best = np.full(total // _kernels.BLOCK + 1, -1, dtype=np.int64)
    spare, goes_left = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=bool)
    buffers = (owners, steps, gains, after, best, spare, goes_left, chosen)
    _kernels.greedy_cuts(counts, order, bases[:-1], k, classes, edges, *buffers)
    # What is still open crosses no class: such cuts change none, and narrow what is published.
    free = after[:-1] == np.arange(total)
    free[bases[1:] - 1] = False
    problem.counters["checks"] += total - len(sizes) - int(free.sum())
    return np.split(chosen | free, bases[1:-1])


def greedy_by_rounds(ranks: Codes, problem: Problem) -> list[Codes]:
    """Return each column's cuts as a mask over ranks: a cut after rank `r` where the mask is set.

    Every cut is weighed anew in every round, in time that is quadratic in the number of values.
    """
    sizes = [len(column.domain) for column in problem.columns]
    cuts = [np.zeros(size, dtype=bool) for size in sizes]
    # A cut that breaks a class breaks one of its parts as well, so it need never be tried again.
    open_ = [np.arange(size) < size - 1 for size in sizes]
    class_ids = np.zeros(len(ranks), dtype=np.int64)
    total = sum(map(int, map(np.sum, open_))) or 1
    while True:
        gains = [
            np.where(o, _gains(ranks[:, j], class_ids, problem.frequencies.counts, len(o)), 0)
            for j, o in enumerate(open_)
        ]
        best = _first_allowable(ranks, class_ids, gains, open_, problem)
        if best is None:
            # What is still open crosses no class: such cuts change none, and narrow what is published.
            return [cut | free for cut, free in zip(cuts, open_, strict=True)]
        column, cut = best
        cuts[column][cut], open_[column][cut] = True, False
        pairs = 2 * class_ids + (ranks[:, column] > cut)
        class_ids = np.unique(pairs, return_inverse=True)[1]
        problem.progress(0.7 * (1 - sum(map(int, map(np.sum, open_))) / total))


def _gains(ranks: Codes, class_ids: Codes, counts: Codes, size: int) -> Codes:
    """Return by how much the discernibility falls with a cut after each rank: twice left times right, summed."""
    order = np.lexsort((ranks, class_ids))
    at, owners = ranks[order], class_ids[order]
    before = starts_of(counts[order])
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    totals = np.add.reduceat(counts[order], first)
    left = (before[1:] - before[first][owners]).astype(np.float64)
    product = 2 * left * (totals[owners] - left)
    # Between two of its values a class gives every cut the same product: add differences, then sum up.
    last = np.concatenate([(owners[1:] != owners[:-1]) | (at[1:] != at[:-1]), [True]])
    at, owners, product = at[last], owners[last], product[last]
    steps = np.bincount(at, weights=product, minlength=size + 1)
    follows = np.concatenate([owners[1:] == owners[:-1], [False]])
    steps -= np.bincount(at[1:][follows[:-1]], weights=product[:-1][follows[:-1]], minlength=size + 1)
    return np.round(np.cumsum(steps)[:size])


def _first_allowable(
    ranks: Codes, class_ids: Codes, gains: list[Codes], open_: list[Codes], problem: Problem
) -> tuple[int, int] | None:
    """Return the allowable cut with the largest gain; cuts that are not allowable are closed for good."""
    candidates = [(-gain[r], j, r) for j, gain in enumerate(gains) for r in np.flatnonzero(gain > 0).tolist()]
    for _, column, cut in sorted(candidates):
        problem.counters["checks"] += 1
        if _allowable(ranks[:, column] > cut, class_ids, problem.frequencies.classes, problem.model):
            return column, int(cut)
        open_[column][cut] = False
    return None


def _allowable(right: Codes, class_ids: Codes, classes: Classes, model: Model) -> bool:
    pairs = 2 * class_ids + right
    size = 2 * (int(class_ids.max()) + 1)
    sizes = np.bincount(pairs, weights=classes.sizes, minlength=size)
    if (sizes[sizes > 0] < model.smallest).any():
        return False
    return model.traits.sizes_only or not model.violations(classes.regroup(pairs.astype(np.int32), size)).any()


def _exact_cuts(ranks: Codes, problem: Problem) -> Codes:
    """Return the cuts of one column with the smallest sum of squared class sizes, by dynamic programming."""
    if len(problem.columns) != 1:
        raise ParameterError.of(
            "SingleDimensional",
            "exact",
            f"needs one quasi-identifier; the schema names {len(problem.columns)}",
            hint="leave out exact=true to search greedily",
        )
    # One column: the cells are its values in code order, which is rank order unless it is cut as a tree.
    order = np.argsort(ranks[:, 0])
    classes, running = problem.frequencies.classes.take(order), starts_of(problem.frequencies.counts[order])
    if problem.model.traits.sizes_only:
        last = np.zeros(len(running), dtype=np.int64)
        feasible = bool(_kernels.shortest_segments(running, problem.model.smallest, last))
    else:
        last, feasible = segments_by_rounds(classes, running, problem.model, progress=problem.progress)
    if not feasible:
        raise InfeasibleError(f"no cuts of one column satisfy {problem.model.spec()}")
    cuts = np.zeros(len(problem.columns[0].domain), dtype=bool)
    stop = len(classes)
    while last[stop] > 0:
        stop = int(last[stop])
        cuts[ranks[order[stop - 1], 0]] = True
    return cuts


def segments_by_rounds(
    classes: Classes, running: Codes, model: Model, *, progress: Callable[[float], None] = lambda share: None
) -> tuple[Codes, bool]:
    """Return for every end where the last of its segments begins, and whether all values can be covered.

    Every segment is judged by the model: their number is quadratic in the number of values.
    """
    size = len(classes)
    cost, last = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=np.int64)
    cost[0] = 0
    for stop in range(1, size + 1):
        fits = _segments_fit(classes, running, stop, model)
        total = np.where(fits, cost[:stop] + (running[stop] - running[:stop]).astype(np.float64) ** 2, np.inf)
        # The earliest start wins ties, which gives the fewest classes.
        last[stop] = int(np.argmin(total))
        cost[stop] = total[last[stop]]
        progress(0.7 * stop / size)
    return last, bool(np.isfinite(cost[size]))


def _segments_fit(classes: Classes, running: Codes, stop: int, model: Model) -> Codes:
    """Return which segments `start:stop` of values satisfy the model, for every start."""
    fits = running[stop] - running[:stop] >= model.smallest
    if model.traits.sizes_only or not fits.any():
        return fits
    starts = np.flatnonzero(fits)
    sizes = stop - starts
    bases = starts_of(sizes)
    members = np.arange(bases[-1]) - np.repeat(bases[:-1] - starts, sizes)
    segments = classes.take(members).regroup(np.repeat(np.arange(len(starts)), sizes).astype(np.int32), len(starts))
    fits[starts] = ~model.violations(segments)
    return fits


def _recoding(problem: Problem, ranks: Codes, cuts: list[Codes], style: Style) -> Recoding:
    """Return the recoding that publishes, for each column, the interval between two cuts."""
    recoded = [
        _interval_column(column, starts_of(cut)[:-1].astype(np.int32), ranks[:, j], problem.frequencies.counts, style)
        for j, (column, cut) in enumerate(zip(problem.columns, cuts, strict=True))
    ]
    columns, groups = zip(*recoded, strict=True)
    return ByColumn(columns, groups, np.zeros((0, len(columns)), dtype=np.int32))


def _interval_column(
    column: QuasiColumn, interval: Codes, ranks: Codes, counts: Codes, style: Style
) -> tuple[RecodedColumn, Codes]:
    grouping = group_rows([ranks], [len(column.domain)])
    present = ranks[grouping.first]
    rows = np.add.reduceat(counts[grouping.order], grouping.starts[:-1])
    low = np.searchsorted(interval, np.arange(interval[-1] + 1))
    high = np.searchsorted(interval, np.arange(interval[-1] + 1), side="right") - 1
    (assignment,), values = summarize(
        (column,),
        present[:, None],
        class_ids=interval[present],
        counts=rows,
        classes=int(interval[-1]) + 1,
        style=style,
        regions=(low[:, None].astype(np.int32), high[:, None].astype(np.int32)),
    )
    return assignment, values[interval[column.ranks], 0]
