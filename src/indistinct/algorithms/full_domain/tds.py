"""Top-down specialization (Fung et al. 2005): from the roots downwards, one node of one hierarchy at a time."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, get_args

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.subtrees import SubtreeCut, group_equal
from indistinct.errors import ParameterError
from indistinct.frequencies.encode import distinct_codes
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes, Mask
from indistinct.metrics.information import igpl, information_gain, information_gain_per_loss, privacy_loss
from indistinct.metrics.loss import step_costs
from indistinct.parameters import Parameter, check_parameters
from indistinct.recoding.kinds import Recoding

Score = Literal["igpl", "igpl-original", "ig", "distortion"]
SCORES = get_args(Score)


@dataclass(frozen=True, slots=True)
class TopDownSpecialization(Algorithm):
    """Subtree generalization for classification: while the model allows it, replace a node by all of its children.

    The specialization with the best `score` goes first: the information gain about the column `target` divided by the
    loss of anonymity plus one (`igpl`; `igpl-original` omits the plus one), or the gain alone (`ig`). Without a target
    the gain is that about the column's own values. With `distortion` the gain is the decrease of distortion, divided by
    the loss of anonymity; then there is no target. With `siblings` a single child may leave its parent, which then
    represents the other children.

    Each node of a hierarchy that is specialized or ruled out takes one pass over all cells: time grows with the number
    of nodes times that of cells, and with the square of the rows where nearly every row has values of its own.

    The result is minimal: no further specialization satisfies the model. Rows are never suppressed.

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
    >>> ages = {"age": ind.Hierarchy.intervals([10, 20])}
    >>> release = ind.anonymize(
    ...     table, schema, model=ind.KAnonymity(k=3), algorithm=ind.TopDownSpecialization(), hierarchies=ages
    ... )
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "tds"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Levels that help to predict a column", "Begins coarse and refines what helps most to predict a column."
    )
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(
        hierarchies=True, monotone=True, release_wide=True, whole_domain=True
    )
    target: Annotated[str | None, Parameter("Target", "Column that the release should help to predict.")] = None
    score: Annotated[
        Score,
        Parameter(
            "Score",
            "How a specialization is judged; igpl divides the information gain by the loss of anonymity plus one.",
        ),
    ] = "igpl"
    siblings: Annotated[
        bool,
        Parameter("Specialize single values", "A value may be specialized while its siblings keep the coarser one."),
    ] = False

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.score == "distortion" and self.target is not None:
            raise ParameterError.of(
                "TopDownSpecialization",
                "target",
                "is not looked at where the score is distortion",
                hint="leave out the target, or score=distortion",
            )

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histogram of the target."""
        return ((self.target,),) if self.target else ()

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding by column in which no node can be specialized any more."""
        if self.target in problem.frequencies.names:
            raise ParameterError.of(
                "TopDownSpecialization",
                "target",
                f"must not be a quasi-identifier; {self.target!r} is one",
                hint="give the column that is to be predicted the role sensitive or insensitive",
            )
        self.require_whole(problem)
        space = FullDomain(replace(problem, suppression=0))
        space.require_roots()
        search = Specialization(space, self)
        if problem.forest and SubtreeCut(space, tuple(search.levels)).broken.any():
            raise space.infeasible()
        search.run()
        return SubtreeCut(space, tuple(search.levels)).recoding()


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A specialization: the values under `child` (under all children if None) leave `node` on `level`."""

    column: int
    level: int
    node: int
    child: int | None
    gain: float

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Return the sort key among equals: columns in order, coarse nodes first."""
        return self.column, -self.level, self.node, -1 if self.child is None else self.child


class Specialization:
    """The state of a search: the level of each value, the class of each cell, and the open candidates.

    A candidate that is not valid stays invalid: with it, the classes of every later cut refine the classes that it
    would make now, and under a monotone model a class that breaks it has a part that breaks it.
    """

    def __init__(self, space: FullDomain, algorithm: TopDownSpecialization) -> None:
        self.space, self.algorithm = space, algorithm
        frequencies = space.problem.frequencies
        self.vectors, self.counts = frequencies.vectors, frequencies.counts
        self.ancestors = [taxonomy.ancestors for taxonomy in space.taxonomies]
        self.levels = [np.full(len(a), a.shape[1] - 1, dtype=np.int32) for a in self.ancestors]
        # Hierarchies that were cut off below their root have several top nodes, and classes for each combination of
        # them.
        self.class_ids = SubtreeCut(space, tuple(self.levels)).class_ids.copy()
        self.sizes = np.bincount(self.class_ids, self.counts).astype(np.int64)
        self.marginals = [self._marginal(j) for j in range(len(self.ancestors))]
        self.candidates = [
            c
            for j, a in enumerate(self.ancestors)
            for node in range(int(a[:, -1].max(initial=0)) + 1)
            for c in self._of_node(j, a.shape[1] - 1, node)
        ]

    def run(self) -> None:
        """Specialize until no candidate is left; each candidate is applied or ruled out once."""
        total = sum(len(np.unique(a[:, level])) for a in self.ancestors for level in range(a.shape[1]))
        settled = 0
        while self.candidates:
            scores = self.scores()
            best = min(range(len(scores)), key=lambda i: (-scores[i], self.candidates[i].order))
            candidate = self.candidates.pop(best)
            if self._valid(candidate):
                self._specialize(candidate)
            settled += 1
            self.space.problem.progress(min(settled / total, 1.0))

    def _carrying(self, column: int, level: int, node: int) -> Mask:
        """Return which values of a column are published as a node."""
        return (self.levels[column] == level) & (self.ancestors[column][:, level] == node)

    def _of_node(self, column: int, level: int, node: int) -> list[Candidate]:
        """Return the candidates of a node of the cut."""
        if level == 0:
            return []
        children = np.where(self._carrying(column, level, node), self.ancestors[column][:, level - 1], -1)
        present = np.unique(children[children >= 0])
        if not self.algorithm.siblings or len(present) < 2:
            return [Candidate(column, level, node, None, self._gain(column, level, children, moving=children >= 0))]
        parts = [np.where(children == child, 1, np.minimum(children, 0)) for child in present]
        return [
            Candidate(column, level, node, int(child), self._gain(column, level, part, moving=part == 1))
            for child, part in zip(present, parts, strict=True)
        ]

    def _gain(self, column: int, level: int, parts: Codes, *, moving: Mask) -> float:
        """Return the gain of distinguishing parts of a column's values: information, or the decrease of distortion.

        `parts` is -1 for values in no part. The values of `moving` go down from `level`.
        """
        marginal = self.marginals[column]
        if self.algorithm.score == "distortion":
            steps = step_costs(self.ancestors[column].shape[1] - 1)
            return float(marginal[moving].sum() * (steps[level] - steps[level - 1]))
        wanted, inverse = np.unique(parts[parts >= 0], return_inverse=True)
        counts = np.zeros((len(wanted), marginal.shape[1]))
        np.add.at(counts, inverse, marginal[parts >= 0])
        if not counts.any():  # values that only the population has
            return 0.0
        if self.algorithm.target:
            return information_gain(counts)
        shares = counts[counts > 0] / counts.sum()
        return float(shares @ np.log2(1 / shares))

    def _marginal(self, column: int) -> Codes:
        """Return rows by value and target value, or rows by value if there is no target."""
        size, codes = len(self.ancestors[column]), self.vectors[:, column].astype(np.int64)
        if not self.algorithm.target:
            return np.bincount(codes, self.counts, size).reshape(-1, 1)
        histogram = self.space.problem.frequencies.classes.histograms[(self.algorithm.target,)]
        width = len(histogram.reference)
        keys = codes[histogram.owners()] * width + histogram.codes
        return np.bincount(keys, histogram.counts, size * width).reshape(size, width)

    def scores(self) -> list[float]:
        """Return the score of every candidate, rounded so that equal scores are exactly equal."""
        weights = self.space.weights
        if self.algorithm.score == "ig":
            return [round(weights[candidate.column] * candidate.gain, 12) for candidate in self.candidates]
        anonymity = int(self.sizes[self.sizes > 0].min())
        after = np.full(len(self.candidates), anonymity)
        for column in range(len(self.ancestors)):
            self._lower(column, after)
        trade = information_gain_per_loss if self.algorithm.score == "igpl-original" else igpl
        losses = [privacy_loss([anonymity], [int(smallest)]) for smallest in after]
        pairs = zip(self.candidates, losses, strict=True)
        return [round(trade(weights[c.column] * c.gain, loss), 12) for c, loss in pairs]

    def _lower(self, column: int, after: Codes) -> None:
        """Lower `after` to the smallest class that each candidate of a column would make, with one grouping for all."""
        ancestors, levels = self.ancestors[column], self.levels[column]
        finer = ancestors[np.arange(len(levels)), np.maximum(levels - 1, 0)]
        owner = np.full(len(levels), -1)
        for index, candidate in enumerate(self.candidates):
            if candidate.column == column:
                owner[self._moving(candidate)] = index
        codes = self.vectors[:, column]
        cells = np.flatnonzero(owner[codes] >= 0)
        if not len(cells):
            return
        # A child is identified by its number and the candidate, because nodes of different levels share numbers.
        _, parts = np.unique(owner.astype(np.int64) << 32 | finer, return_inverse=True)
        owners = np.empty(int(parts.max()) + 1, dtype=np.int64)
        owners[parts] = owner
        words = self.class_ids[cells].astype(np.int64) * len(owners) + parts[codes[cells]]
        _, labels, sizes = group_equal(words, self.counts[cells])
        # Combinations that only the population has are no class of the release.
        labels, sizes = labels[sizes > 0], sizes[sizes > 0]
        positions = owners[labels % len(owners)]
        np.minimum.at(after, positions, sizes)
        if self.algorithm.siblings:
            rest = self.sizes[labels // len(owners)] - sizes
            alone = np.array([candidate.child is None for candidate in self.candidates])[positions]
            kept = (rest > 0) & ~alone
            np.minimum.at(after, positions[kept], rest[kept])

    def _moving(self, candidate: Candidate) -> Mask:
        """Return which values of a candidate's column go one level down."""
        moving = self._carrying(candidate.column, candidate.level, candidate.node)
        if candidate.child is None:
            return moving
        return moving & (self.ancestors[candidate.column][:, candidate.level - 1] == candidate.child)

    def _parts(self, candidate: Candidate) -> Codes:
        """Return the class of every cell after a specialization, numbered from 0."""
        finer = self.ancestors[candidate.column][:, candidate.level - 1]
        parts = np.where(self._moving(candidate), finer + 1, 0)[self.vectors[:, candidate.column]]
        words = self.class_ids.astype(np.int64) * (int(finer.max()) + 2) + parts
        return group_equal(words, self.counts)[0]

    def _valid(self, candidate: Candidate) -> bool:
        """Return whether the classes that a specialization changes still satisfy the model."""
        problem = self.space.problem
        problem.counters["checks"] += 1
        if problem.model.needs_labels:
            levels = [each.copy() for each in self.levels]
            levels[candidate.column][self._moving(candidate)] = candidate.level - 1
            return not SubtreeCut(self.space, tuple(levels)).broken.any()
        changed = self._carrying(candidate.column, candidate.level, candidate.node)[self.vectors[:, candidate.column]]
        if not problem.model.traits.class_wise:
            changed[:] = True
        class_ids = self._parts(candidate)
        _, dense = distinct_codes(class_ids[changed])
        class_ids[~changed], class_ids[changed] = -1, dense
        classes = problem.frequencies.classes.regroup(class_ids, int(dense.max(initial=-1)) + 1)
        return not problem.model.violations(classes).any()

    def _specialize(self, candidate: Candidate) -> None:
        """Apply a specialization: the children become candidates, and the remaining siblings are scored again."""
        column, level, node = candidate.column, candidate.level, candidate.node
        self.class_ids = self._parts(candidate)
        self.sizes = np.bincount(self.class_ids, self.counts).astype(np.int64)
        moving = self._moving(candidate)
        self.levels[column][moving] = level - 1
        for child in np.unique(self.ancestors[column][moving, level - 1]).tolist():
            self.candidates += self._of_node(column, level - 1, child)
        if candidate.child is not None:
            self._score_siblings(column, level, node)

    def _score_siblings(self, column: int, level: int, node: int) -> None:
        """Replace the candidates of a node that lost a child by those of the remaining children.

        Ruled-out ones stay so.
        """
        mine = [c for c in self.candidates if (c.column, c.level, c.node) == (column, level, node)]
        open_children = {c.child for c in mine}
        self.candidates = [c for c in self.candidates if c not in mine]
        again = self._of_node(column, level, node)
        self.candidates += [c for c in again if c.child is None or c.child in open_children]
