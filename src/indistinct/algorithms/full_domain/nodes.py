"""What all full-domain searches share: the lattice of a problem, the check of a node, and its recoding."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from indistinct.algorithms.base import LOG, TreeProblem
from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.figures import share_above
from indistinct.frequencies.lattice import Cells, Lattice, Node, RolledUp, down_set
from indistinct.frequencies.value import Classes, ClassLabels
from indistinct.hierarchy.explicit import check_rooted
from indistinct.machine.arrays import Codes, Mask, starts_of
from indistinct.machine.stages import enter
from indistinct.models.dropping import classes_to_drop
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.kinds import ByColumn, RecodedColumn
from indistinct.recoding.summary import ColumnSummary, floor_of, node_summary

# Above this many nodes not even one byte per node is kept.
MAX_LATTICE_NODES = 50_000_000
# A check that takes longer than this (seconds) is announced.
LONG_CHECK_S = 2.0
# Up to this many nodes, all are checked to find the smallest sufficient suppression.
MAX_NODES_FOR_ADVICE = 5_000


@dataclass(frozen=True, eq=False)
class FullDomain(TreeProblem):
    """A problem seen as a lattice; a column without a hierarchy is published unmodified or suppressed."""

    @cached_property
    def level_starts(self) -> tuple[Codes, ...]:
        """For each column, where each level begins when the nodes of all levels are numbered consecutively."""
        return tuple(starts_of(taxonomy.ancestors.max(axis=0, initial=0) + 1) for taxonomy in self.taxonomies)

    @cached_property
    def lattice(self) -> Lattice:
        """The lattice of the problem."""
        return Lattice(tuple(taxonomy.height for taxonomy in self.taxonomies))

    @cached_property
    def cells(self) -> Cells:
        """The original cells, from which every roll-up starts."""
        return Cells(self.problem.frequencies, self.taxonomies)

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The attribute weight of each column."""
        return tuple(self.problem.importance.of(column.name) for column in self.columns)

    def precision(self, levels: Sequence[int]) -> Fraction:
        """Return Sweeney's precision of a node without suppression, as an exact fraction, because it decides ties.

        It is a mean over columns with attribute weights. Levels are those of whole hierarchies.
        """
        weights = [Fraction(str(weight)) for weight in self.weights]
        heights, least = self.lattice.heights, [0] * len(levels)
        if self.problem.lifting is not None:
            whole = self.problem.lifting.original
            heights = tuple(column.height for column in whole.columns)
            least = [whole.levels.least(column.name) for column in whole.columns]
        steps = zip(levels, least, heights, weights, strict=True)
        climbed = [weight * Fraction(level + low, height) for level, low, height, weight in steps if height]
        return 1 - sum(climbed, Fraction(0)) / sum(weights)

    @property
    def allowed(self) -> int:
        """The number of rows or people that may be suppressed: the limit, but never all of them."""
        return min(self.problem.suppression, self.problem.frequencies.members - 1)

    def roll_up(self, finer: RolledUp, levels: Sequence[int]) -> RolledUp:
        """Return the classes of a coarser node from those of a finer one, and count a roll-up."""
        self.problem.counters["rollups"] += 1
        return self.cells.roll_up(finer, levels)

    def scan(self, levels: Sequence[int]) -> RolledUp:
        """Return the classes of a node from the original cells, and count a scan."""
        self.problem.counters["scans"] += 1
        return self.cells.roll_up(self.cells.base, levels)

    def outside(self, rolled: RolledUp, *, enough: int | None = None) -> Mask:
        """Return which classes of a node must be suppressed so that the rest satisfies the model.

        With `enough`, the answer may stop early: once more than `enough` rows must go, a mask of at least that many
        rows suffices.
        """
        if not self.problem.model.needs_labels:
            return classes_to_drop(self.problem.model, rolled.classes, enough=enough)
        if rolled.levels in self._dropped:
            return self._dropped[rolled.levels]
        began = time.perf_counter()
        dropped = classes_to_drop(self.problem.model, self.judged(rolled), enough=enough)
        self._announce(time.perf_counter() - began)
        if enough is None or rolled.classes.members_of(dropped) <= enough:
            self._dropped.clear()
            self._dropped[rolled.levels] = dropped
        return dropped

    @cached_property
    def _dropped(self) -> dict[Node, Mask]:
        """The suppressed classes of the last node checked, because a search asks again for the node that it returns.

        Classes of a node are in the order of their first cells, whichever node they were rolled up from.
        """
        return {}

    @cached_property
    def _announced(self) -> list[float]:
        """The duration that was announced, if any."""
        return []

    def _announce(self, seconds: float) -> None:
        """Announce once how long checks of many sets of columns take; nothing is decided by the clock."""
        if seconds > LONG_CHECK_S and not self._announced:
            self._announced.append(seconds)
            steps = sum(self.lattice.heights) + 1
            whole = seconds * steps
            long = f"{whole / 60:,.0f} min" if whole > 120 else f"{whole:.0f} s"
            announced = f"a check takes about {seconds:.0f} s, {steps:,} of them, from raw to top, about {long}"
            LOG.info("%s; the lattice has %d nodes", announced, self.lattice.size)
            enter(f"searching ({announced})")

    def judged(self, rolled: RolledUp) -> Classes:
        """Return the classes of a node with their labels, for a model that needs labels."""
        codes = np.stack([self.cells.field(rolled, j) for j in range(len(self.columns))], axis=1)
        return replace(rolled.classes, labels=ClassLabels(self.problem.frequencies.names, codes))

    def check(self, rolled: RolledUp) -> bool:
        """Return whether a node satisfies the model once rows within the suppression limit are suppressed."""
        return not self.exceeds(rolled, self.allowed)

    def exceeds(self, rolled: RolledUp, allowed: int) -> bool:
        """Return whether more rows, or people, than allowed are in classes that break the model, and count a check."""
        self.problem.counters["checks"] += 1
        return rolled.classes.members_of(self.outside(rolled, enough=allowed)) > allowed

    def suppressed_rows(self, rolled: RolledUp) -> int:
        """Return the number of rows, or people, in classes that break the model."""
        return rolled.classes.members_of(self.outside(rolled))

    def require_roots(self) -> None:
        """Raise `HierarchyError` unless every hierarchy has one root or was cut off below it."""
        for taxonomy in self.taxonomies:
            if taxonomy.column not in self.problem.forest:
                check_rooted(taxonomy)

    def require_size(self, limit: int = MAX_LATTICE_NODES) -> None:
        """Raise `ParameterError` for a lattice that is too large for any search."""
        if self.lattice.size > limit:
            raise ParameterError(
                f"the lattice has {self.lattice.size:,} nodes, more than the {limit:,} that a search can hold",
                hint="use datafly or mondrian, leave out a quasi-identifier, or give hierarchies fewer levels",
            )

    def infeasible(self) -> InfeasibleError:
        """Return the error for a lattice without a satisfying node, with the suppression that would suffice."""
        members, absorbing = self.problem.frequencies.members, self.problem.model.traits.absorbing
        least = self._least_suppressed_rows()
        using = "" if absorbing else ", with the algorithm optimal"
        unit, share = self.problem.unit, share_above(least, members)
        hint = f"suppression of {least} of {members} {unit} would do{using}: suppression={share}"
        return InfeasibleError(
            f"no node of the lattice satisfies {self.problem.model.spec()} "
            f"with at most {self.problem.suppression} suppressed {unit}",
            hint=hint if least < members else "choose a weaker model, or leave out a quasi-identifier",
            feasible=Feasible(share=share if least < members else None),
            least_suppressed_rows=least,
        )

    def went_too_far(self, name: str) -> InfeasibleError:
        """Return the error of a greedy search that found no satisfying node although one may exist."""
        return InfeasibleError(
            f"{name} finds no node that satisfies {self.problem.model.spec()} with at most {self.problem.suppression} "
            f"suppressed {self.problem.unit}: even the whole table as one class violates the model",
            hint="use the algorithm optimal, which also checks nodes that a greedy search skips, or a weaker model",
        )

    def _least_suppressed_rows(self) -> int:
        """Return the least number of rows that a node suppresses; in a large lattice only the top is checked.

        Unless the model is absorbing, a finer node may suppress fewer rows than the top. Generalizations are checked
        before their specializations, and a node is skipped if one of them shows that it cannot suppress fewer.
        """
        every = not self.problem.model.traits.absorbing and self.lattice.size <= MAX_NODES_FOR_ADVICE
        if not every:
            return self.suppressed_rows(self.cells.roll_up(self.cells.base, self.lattice.top))
        least, bounds = self.problem.frequencies.members, np.zeros(self.lattice.shape, dtype=np.int64)
        for node in map(tuple, self.lattice.nodes()[::-1].tolist()):
            if bounds[node] < least:
                rolled = self.cells.roll_up(self.cells.base, node)
                least = min(least, self.suppressed_rows(rolled))
                below = bounds[down_set(node)]
                np.maximum(below, self.inevitable_rows(rolled), out=below)
        return least

    def inevitable_rows(self, rolled: RolledUp) -> int:
        """Return a lower bound of the rows that a node and all its specializations suppress.

        Rows add up over classes. People do not, because a person may have rows in several classes.
        """
        traits = self.problem.model.traits
        if not (traits.monotone and traits.stable) or rolled.classes.unit != "rows":
            return 0
        return int(self.problem.model.inevitable(rolled.classes).sum())

    def recoding(self, levels: Node) -> ByColumn:
        """Return the recoding of a node; rows of classes that break the model are suppressed."""
        rolled = self.cells.roll_up(self.cells.base, levels)
        return self.recoding_without(rolled, np.flatnonzero(self.outside(rolled)))

    def recoding_without(self, rolled: RolledUp, broken: Codes, *, starred: bool = False) -> ByColumn:
        """Return the recoding of a node with some classes suppressed, or published as rows of `*` if `starred`."""
        starred = starred and len(broken) > 0
        levels = {column.name: level for column, level in zip(self.columns, rolled.levels, strict=True)}
        recoded = [recoded_column(column, levels[column.name], starred=starred) for column in self.columns]
        columns, groups = zip(*recoded, strict=True)
        vectors = np.stack([self.cells.field(rolled, j)[broken] for j in range(len(columns))], axis=1).astype(np.int32)
        star = np.array([len(column.summary.published) - 1 for column in columns], dtype=np.int32) if starred else None
        return ByColumn(columns, groups, vectors, levels, star)


def recoded_column(column: QuasiColumn, level: int, *, starred: bool = False) -> tuple[RecodedColumn, Codes]:
    """Return a column at a level of its hierarchy, and each value's published code; the code of `*` comes last."""
    taxonomy = column.taxonomy
    if taxonomy is None:
        raise ValueError(f"column {column.name!r} has no hierarchy")
    nodes = np.arange(np.count_nonzero(np.bincount(taxonomy.ancestors[:, level])), dtype=np.int32)
    levels = np.full(len(nodes), level, dtype=np.int32)
    if starred:
        nodes, levels = np.append(nodes, 0).astype(np.int32), np.append(levels, taxonomy.height).astype(np.int32)
    summary: ColumnSummary = node_summary(column, levels, nodes)
    return RecodedColumn(column.domain, column.ranks, floor_of(column), summary), taxonomy.ancestors[:, level]
