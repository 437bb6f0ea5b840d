"""MDAV, microaggregation: classes of a fixed number of nearest rows (Domingo-Ferrer and Mateo-Sanz 2002).

The generic form for mixed columns (Domingo-Ferrer and Torra 2005): numbers are standardized by their deviation, names
are as far apart as in their hierarchy. The mean of a class may be published, or the range of its rows.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem, Progress, fewest_rows
from indistinct.algorithms.cluster import _mdav_kernels as _kernels
from indistinct.algorithms.cluster._mdav_kernels import PIECES, ROWS, Space
from indistinct.algorithms.parameters import IMPORTANCE, NUMERIC
from indistinct.algorithms.partition.layout import ranks_of, summarize
from indistinct.frequencies.pieces import Pieces, join_pieces
from indistinct.frequencies.value import Classes
from indistinct.hierarchy.builders import Suppression
from indistinct.hierarchy.explicit import check_rooted
from indistinct.machine.arrays import Codes, Floats, starts_of
from indistinct.machine.ordering import distinct_with_places
from indistinct.parameters import Parameter, check_parameters
from indistinct.recoding.columns import INTERVALS, NO_IMPORTANCE, Importance, NumericForms, QuasiColumn, importance_of
from indistinct.recoding.kinds import ByCell, ByRow, Recoding
from indistinct.recoding.summary import Style
from indistinct.schema import Schema

# Tables with more rows are divided into blocks of at most this size, because time grows with the square of the rows.
MAX_BLOCK_ROWS = 50_000
# Number of pairs of classes between two reports of progress.
PAIRS_PER_REPORT = 64
# Squared distance between a missing number and any number, in deviations: the average over pairs of rows.
DISTANCE_TO_MISSING = 2.0


@dataclass(frozen=True, slots=True)
class MDAV(Algorithm):
    """Microaggregation by maximum distance to average vector.

    Repeatedly take the row farthest from the mean and the row farthest from that one, and make a class of each with its
    nearest rows. `numeric` is the form of numbers and dates in a class: their range (`interval`, `bounds`), their
    `mean`, or both (`interval+mean`). `importance` weights columns. Rows with equal values may be split; with
    `split=false` they stay together, and the recoding fits other tables, too.

    Every class is compared with all rows, so time grows with the square of their number. Above 50,000 rows the table is
    first cut into blocks at medians, and classes are made inside each block.

    Guarantees: every class satisfies the model, no row is suppressed, and under k-anonymity alone classes have k to
    2k - 1 rows where rows may be split.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44], "disease": ["flu", "cold", "flu", "cold", "flu", "cold"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.MDAV())
    >>> release.classes().to_pylist()
    [{'age': '[21-23]', 'rows': 3}, {'age': '[41-44]', 'rows': 3}]
    """

    name: ClassVar[str] = "mdav"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Groups around outlying rows",
        "Groups the row farthest from the mean with the rows nearest to it, again and again.",
    )
    spelled: ClassVar[tuple[str, ...]] = ("importance", "numeric")
    numeric: Annotated[NumericForms, NUMERIC] = INTERVALS
    split: Annotated[
        bool,
        Parameter(
            "Split rows with equal values",
            "Rows with equal values may fall into different classes; the recoding then fits this table only.",
        ),
    ] = True
    importance: Annotated[Importance, IMPORTANCE] = NO_IMPORTANCE

    def __post_init__(self) -> None:
        check_parameters(self)
        object.__setattr__(self, "importance", importance_of(self.importance))

    def require_columns(self, schema: Schema) -> None:
        """Raise `SchemaError` if a column with a weight is not a quasi-identifier."""
        self.importance.check(schema.quasi)

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """Classes are merged until a model holds, so it must be monotone; split rows fit one table only."""
        return AlgorithmTraits(
            local=True, monotone=True, splits=self.split, ranges=True, reusable=not self.split, tight=True
        )

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the classes of nearest rows."""
        self.require_whole(problem)
        points = Points.of(problem, self.importance or problem.importance)
        k, counts = fewest_rows(problem.model), problem.frequencies.counts.astype(np.int64)
        made, done = [], 0
        for block in points.blocks(counts, k):
            share = counts[block].sum() / counts.sum()

            def progress(part: float, before: float = done, share: float = share) -> None:
                problem.progress(0.8 * (before + share * part))

            made.append(points.classes_of(block, counts[block], k=k, whole=not self.split, progress=progress))
            done += share
        pieces = unite_with_nearest(problem, points, join_pieces(made), split=self.split)
        problem.progress(0.9)
        return self._recoding(problem, pieces)

    def _recoding(self, problem: Problem, pieces: Pieces) -> Recoding:
        """Summarize the clusters to a recoding."""
        distinct, class_ids = distinct_with_places(pieces.class_ids)
        pieces = replace(pieces, class_ids=class_ids.astype(np.int32))
        columns, values = summarize(
            problem.columns,
            ranks_of(problem.columns, problem.frequencies.vectors)[pieces.cells],
            class_ids=pieces.class_ids,
            counts=pieces.counts,
            classes=len(distinct),
            style=Style("range", self.numeric),
        )
        vectors = np.ascontiguousarray(problem.frequencies.vectors)
        if not self.split:
            by_cell = np.empty(len(vectors), dtype=np.int32)
            by_cell[pieces.cells] = pieces.class_ids
            return ByCell(columns, vectors, by_cell, values)
        ordered = pieces.in_order()
        return ByRow(columns, vectors, ordered.cells, ordered.joint, ordered.class_ids, ordered.counts, values)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The cells of a problem as points: numbers, category codes, rows per cell, and the distance between points."""

    numbers: Floats
    codes: Codes
    sizes: Codes
    space: Space

    @classmethod
    def of(cls, problem: Problem, importance: Importance) -> "Points":
        """Return the cells as points; a column is numeric where it would be published as a range."""
        vectors, counts = problem.frequencies.vectors, problem.frequencies.counts
        ranged = [j for j, column in enumerate(problem.columns) if column.ranged]
        others = [j for j in range(len(problem.columns)) if j not in ranged]
        numbers = np.empty((len(vectors), len(ranged)))
        weights = [importance.of(problem.columns[j].name) for j in ranged]
        scale, unknown = np.zeros(len(ranged)), DISTANCE_TO_MISSING * np.array(weights) ** 2
        for index, j in enumerate(ranged):
            numbers[:, index] = _numbers(problem.columns[j])[vectors[:, j]]
            deviation = _deviation(numbers[:, index], counts)
            scale[index] = weights[index] / deviation if deviation else 0.0
        tables = [_ancestors(problem.columns[j]) for j in others]
        steps = np.zeros((len(others), max((table.shape[1] for table in tables), default=1)))
        for index, (j, table) in enumerate(zip(others, tables, strict=True)):
            height = max(table.shape[1] - 1, 1)
            steps[index, : table.shape[1]] = importance.of(problem.columns[j].name) * np.arange(table.shape[1]) / height
        flat = np.concatenate([table.ravel() for table in tables]) if tables else np.zeros(0, dtype=np.int32)
        offsets = starts_of([table.size for table in tables])[:-1].astype(np.int64)
        strides = np.array([table.shape[1] for table in tables], dtype=np.int64)
        space = Space(scale, unknown, flat.astype(np.int32), offsets, strides, steps)
        sizes = np.array([len(problem.columns[j].domain) for j in others], dtype=np.int64)
        return cls(numbers, np.ascontiguousarray(vectors[:, others], dtype=np.int32), sizes, space)

    def blocks(self, counts: Codes, k: int) -> list[Codes]:
        """Return the cells in blocks of at most 50,000 rows, each divided at the median of its widest number.

        Without numbers a block is halved in the order of its vectors. Cells stay whole, and a block of fewer than 6k
        rows is not cut.
        """
        made: list[Codes] = []
        waiting: list[Codes] = [np.arange(len(counts))]
        while waiting:
            block = waiting.pop()
            cut = self._cut_block(block, counts[block]) if counts[block].sum() > max(MAX_BLOCK_ROWS, 6 * k) else None
            if cut is None or min(counts[side].sum() for side in cut) < 3 * k:
                made.append(block)
            else:
                waiting += cut[::-1]
        return made

    def _cut_block(self, block: Codes, counts: Codes) -> tuple[Codes, Codes] | None:
        """Divide a large block of points at the middle of its widest column, None if that is impossible."""
        spreads = [
            _deviation(self.numbers[block, j], counts) * self.space.scale[j] for j in range(self.numbers.shape[1])
        ]
        order = np.arange(len(block))
        if spreads and max(spreads) > 0:
            order = np.argsort(self.numbers[block, int(np.argmax(spreads))], kind="stable")
        running = np.cumsum(counts[order])
        at = int(np.searchsorted(running, running[-1] / 2)) + 1
        if at >= len(block):
            at = len(block) - 1
        return None if at < 1 else (np.sort(block[order[:at]]), np.sort(block[order[at:]]))

    def classes_of(self, block: Codes, counts: Codes, *, k: int, whole: bool, progress: Progress) -> Pieces:
        """Return the classes of the rows of a block of cells."""
        if k == 1:
            return Pieces(block, None, counts, np.arange(len(block), dtype=np.int32))
        numbers, codes = np.ascontiguousarray(self.numbers[block]), np.ascontiguousarray(self.codes[block])
        left, cells = counts.copy(), len(block)
        known = ~np.isnan(numbers)
        tally, nodes = self._scratch()
        for j in range(len(self.sizes)):
            np.add.at(tally[j], codes[:, j], counts)
        state = (
            (np.where(known, numbers, 0.0) * counts[:, None]).sum(axis=0),
            (known * counts[:, None]).sum(axis=0),
            tally,
            nodes,
            np.arange(cells),
            np.empty(cells),
            np.empty(cells + 1, dtype=np.int64),
            np.empty(cells + 1),
            np.empty((1, numbers.shape[1])),
            np.empty((1, codes.shape[1]), dtype=np.int32),
        )
        marks = np.array([cells, counts.sum(), 0, 0], dtype=np.int64)
        pieces = np.empty((3, cells + 2 * int(counts.sum()) // k + 2), dtype=np.int64)
        total = int(counts.sum())
        while marks[ROWS]:
            _kernels.make_classes(
                self.space, numbers, codes, self.sizes, left, k, whole, state, marks, pieces, PAIRS_PER_REPORT
            )
            progress(1 - marks[ROWS] / total)
        labels = pieces[:, : marks[PIECES]]
        return Pieces(block[labels[0]], None, labels[1].copy(), labels[2].astype(np.int32))

    def _scratch(self) -> tuple[Codes, Codes]:
        """Return scratch arrays for rows by column and category, and by level and node."""
        most = int(self.sizes.max(initial=1))
        return np.zeros((len(self.sizes), most), np.int64), np.zeros((self.space.steps.shape[1], most), np.int64)

    def nearest_classes(self, pieces: Pieces, some: Codes) -> Codes:
        """Return, for each of the classes `some`, the class with the nearest center."""
        order = np.argsort(pieces.class_ids, kind="stable")
        size = pieces.size
        starts = np.searchsorted(pieces.class_ids[order], np.arange(size + 1)).astype(np.int64)
        tally, nodes = self._scratch()
        centres = np.empty((size, self.numbers.shape[1]))
        codes = np.empty((size, self.codes.shape[1]), dtype=np.int32)
        cells, counts = pieces.cells[order].astype(np.int64), pieces.counts[order].astype(np.int64)
        _kernels.centres_of(
            self.space, self.numbers, self.codes, self.sizes, cells, counts, starts, tally, nodes, centres, codes
        )
        nearest = np.empty(len(some), dtype=np.int64)
        _kernels.find_nearest_classes(self.space, centres, codes, some.astype(np.int64), nearest)
        return nearest


def unite_with_nearest(problem: Problem, points: Points, pieces: Pieces, *, split: bool) -> Pieces:
    """Merge each class that breaks the model with the class of the nearest center, in rounds, until all satisfy it."""
    if split:
        pieces = pieces.divided(problem.frequencies)
    while True:
        broken = np.flatnonzero(problem.model.violations(_classes(problem, pieces, split=split)))
        problem.counters["checks"] += 1
        if not len(broken) or pieces.size < 2:
            return pieces
        nearest = points.nearest_classes(pieces, broken)
        problem.counters["merges"] += len(broken)
        root = np.arange(pieces.size)
        for one, other in zip(broken.tolist(), nearest.tolist(), strict=True):
            first, second = _root(root, one), _root(root, other)
            root[max(first, second)] = min(first, second)
        united = np.array([_root(root, each) for each in range(pieces.size)])
        pieces = replace(pieces, class_ids=np.unique(united[pieces.class_ids], return_inverse=True)[1].astype(np.int32))


def _root(parent: Codes, node: int) -> int:
    """Return the root of a node in a union-find forest, and halve the path to it."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = int(parent[node])
    return node


def _classes(problem: Problem, pieces: Pieces, *, split: bool) -> Classes:
    """Return the classes of clusters with their histograms."""
    if split and problem.frequencies.joint is not None:
        return pieces.classes(problem.frequencies, pieces.size)
    if split:
        sizes = np.bincount(pieces.class_ids, weights=pieces.counts, minlength=pieces.size)
        return Classes(sizes.astype(np.int64))
    class_ids = np.empty(len(problem.frequencies), dtype=np.int32)
    class_ids[pieces.cells] = pieces.class_ids
    return problem.frequencies.classes.regroup(class_ids, pieces.size)


def _numbers(column: QuasiColumn) -> Floats:
    """Return the number of every code of a column, NaN for missing."""
    numbers = column.positions.astype(np.float64).copy()
    if column.domain.missing:
        numbers[0] = np.nan
    return numbers


def _deviation(numbers: Floats, counts: Codes) -> float:
    """Return the standard deviation of the known numbers, weighted by their rows."""
    known = ~np.isnan(numbers)
    rows = counts[known].sum()
    if not rows:
        return 0.0
    mean = (numbers[known] * counts[known]).sum() / rows
    return float(np.sqrt((counts[known] * (numbers[known] - mean) ** 2).sum() / rows))


def _ancestors(column: QuasiColumn) -> Codes:
    """Return the ancestor of every code on each level; without a hierarchy the levels are the value and the star."""
    taxonomy = column.taxonomy or Suppression().bind(column.domain)
    check_rooted(taxonomy)
    return taxonomy.ancestors
