"""Cell suppression (Fung et al. 2010): outlier rows have single cells suppressed instead of being removed.

A full-domain search with a suppression limit leaves rows whose classes break the model. Here such a row is published
with `*` in a few columns, so that it shares a class with other outliers, and only rows for which that fails are
removed. The optimal search suppresses cells of raw values instead, and proves how many it takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.explanation import Attempt, Explanation
from indistinct.algorithms.full_domain.bottom_up import BottomUp
from indistinct.algorithms.full_domain.datafly import Datafly
from indistinct.algorithms.full_domain.fewest_stars import DEFAULT_NODES, find_fewest_stars, why_not_proven
from indistinct.algorithms.full_domain.incognito import Incognito
from indistinct.algorithms.full_domain.nodes import FullDomain, recoded_column
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.algorithms.full_domain.samarati import Samarati
from indistinct.algorithms.full_domain.starred_sets import place_by_sets
from indistinct.algorithms.full_domain.stars import Units, group_published, place_units
from indistinct.algorithms.full_domain.subtrees import SubtreeCut
from indistinct.algorithms.parameters import IMPORTANCE, NODE_LIMIT, START, TIME_LIMIT
from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.figures import plural, share_above
from indistinct.frequencies.compatible_rows import compare_counts
from indistinct.frequencies.lattice import Node
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes, Mask
from indistinct.models.base import Model
from indistinct.parameters import Parameter, check_parameters
from indistinct.recoding.columns import NO_IMPORTANCE, Importance, importance_of
from indistinct.recoding.kinds import ByCell, Recoding
from indistinct.schema import Schema
from indistinct.text_form import parse, spell

STARTS: Mapping[str, type[Algorithm]] = MappingProxyType(
    {kind.name: kind for kind in (Optimal, Samarati, BottomUp, Incognito, Datafly)}
)
StarSearch = Literal["greedy", "optimal"]


@dataclass(frozen=True, slots=True)
class CellSuppression(Algorithm):
    """Star single cells of the rows that another full-domain search, `start`, would suppress.

    Sets of columns are tried by what they cost, and among equally costly ones those first that place most rows. A local
    search then takes away stars, and both are done again from other orders. Never drops more rows than `start`, and
    never has a larger loss. `importance` weighs stars by column ({"age": 3}): a column of importance 3 is starred only
    where that saves three stars of others.

    With `search="optimal"` raw values are published or starred, whatever `start` says, and the stars are the fewest by
    weight; the suppression limit bounds the rows that are dropped, and a dropped row counts as one full of stars. Equal
    rows may be split. That search is stopped after `nodes` nodes of an integer program (0 sets no limit) or after
    `seconds`, and returns the best stars so far. The explanation of the release, and the counters `proven`, `bound` and
    `gap`, say how good they are at least.

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
    >>> search = ind.CellSuppression()
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=search, hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "cell-suppression"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Single cells hidden", "Hides single cells of the rows that would otherwise be left out."
    )
    spelled: ClassVar[tuple[str, ...]] = ("importance",)
    start: Annotated[str, START] = "optimal:metric=loss"
    search: Annotated[
        StarSearch, Parameter("Search", "greedy suits tables of any size; optimal is proven, for some hundred rows.")
    ] = "greedy"  # type: ignore[assignment]
    importance: Annotated[Importance, IMPORTANCE] = NO_IMPORTANCE
    nodes: Annotated[int, NODE_LIMIT] = DEFAULT_NODES
    seconds: Annotated[float | None, TIME_LIMIT] = None

    def __post_init__(self) -> None:
        self.beginning()
        object.__setattr__(self, "importance", importance_of(self.importance))
        check_parameters(self)
        for limit, is_set in (("nodes", self.nodes != DEFAULT_NODES), ("seconds", self.seconds is not None)):
            if is_set and not self._optimal:
                raise ParameterError.of(
                    "CellSuppression",
                    limit,
                    "limits the search for the optimum alone",
                    hint="add search=optimal, or leave it out",
                )

    @property
    def _optimal(self) -> bool:
        return self.search == "optimal"

    def beginning(self) -> Algorithm:
        """Return the search that finds the node."""
        return parse(self.start, STARTS, what="full-domain algorithm")

    def require_columns(self, schema: Schema) -> None:
        """Raise `SchemaError` if a column with a weight is not a quasi-identifier."""
        self.importance.check(schema.quasi)

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """The same value may be shown in one row and suppressed in another; the optimal search may split equal rows."""
        if self._optimal:
            return AlgorithmTraits(
                local=True, hierarchies=True, monotone=True, splits=True, suppresses=True, reusable=False
            )
        monotone = self.beginning().traits.monotone
        return AlgorithmTraits(local=True, hierarchies=True, monotone=monotone, suppresses=True, column_sets=True)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms of the search that finds the node."""
        return () if self._optimal else self.beginning().keys

    def refusal(self, model: Model, *, suppression: bool) -> str | None:
        """Return why the search cannot work for a model: the optimal search needs a model of class sizes."""
        reason = Algorithm.refusal(self, model, suppression=suppression)
        return reason or (why_not_proven(model) if self._optimal else None)

    def find(self, problem: Problem) -> Recoding:
        """Return the recoding of the node with suppressed cells in outliers, by column if none is suppressed.

        Or the optimum.
        """
        self.require(problem)
        if self._optimal:
            importance = self.importance or problem.importance
            return find_fewest_stars(problem, importance, nodes=self.nodes, seconds=self.seconds, spec=self)
        recoding = self.beginning().find(problem)
        if recoding.node is None:
            raise ParameterError.of(
                "CellSuppression",
                "start",
                f"must find a node of the lattice; {self.start!r} does not",
                hint=f"use one of {', '.join(STARTS)}",
            )
        space = FullDomain(problem)
        levels = tuple(recoding.node[column.name] for column in space.columns)
        outliers = Outliers(space, levels, self.importance or problem.importance)
        outliers.place()
        dropped = outliers.dropped_members()
        if dropped > problem.suppression:
            raise InfeasibleError(
                f"{plural(dropped, 'row')} would have to be suppressed whichever cells are; {problem.suppression} "
                "may be suppressed",
                hint="allow more suppression, or use start=optimal, which keeps to the suppression limit",
                feasible=Feasible(share=share_above(dropped, problem.frequencies.members)),
            )
        if not outliers.stars.any():
            return space.recoding(levels)
        problem.explain(outliers.explain(spell(self)))
        return outliers.recoding()


class Outliers:
    """The classes of a node that break the model, and the columns that are suppressed in each.

    `values` are the published nodes of every class and `stars` which of them are suppressed, both classes × columns;
    `kept` marks the classes that are published.
    """

    def __init__(self, space: FullDomain, levels: Node, importance: Importance) -> None:
        self.space, self.levels, self.importance = space, levels, importance
        lengths = [len(column.domain) for column in space.columns]
        self.cut = SubtreeCut(
            space, tuple(np.full(n, level, dtype=np.int32) for n, level in zip(lengths, levels, strict=True))
        )
        self.values = self.cut.values
        self.stars: Mask = np.zeros(self.values.shape, dtype=bool)
        self.kept = ~self.cut.broken
        self.remaining: Codes = np.flatnonzero(self.cut.broken)
        self.rest = self.cut.classes.take(self.remaining)

    def place(self) -> None:
        """Suppress cells of the outliers until they share classes that satisfy the model.

        Drop those for which that fails.
        """
        problem = self.space.problem
        if problem.model.needs_labels:
            place_by_sets(self)
            self.kept[:] = True
            self.kept[self.remaining] = False
            return
        outside = self.remaining
        units = Units(
            self.values[outside],
            self.rest,
            tuple(self.free),
            tuple(self.importance.of(column.name) for column in self.space.columns),
            problem.model,
        )
        placement = place_units(units, counters=problem.counters, progress=problem.progress)
        self.stars[outside], self.kept[outside] = placement.stars & placement.placed[:, None], placement.placed

    @property
    def free(self) -> list[int]:
        """Return the columns that may be suppressed.

        Those published below the root, unless a maximum level forbids it.
        """
        heights, forest = self.space.lattice.heights, self.space.problem.forest
        tops = zip(self.levels, heights, self.space.columns, strict=True)
        return [j for j, (level, top, column) in enumerate(tops) if level < top and column.name not in forest]

    def dropped_members(self) -> int:
        """Return the number of rows, or people, that are removed."""
        return self.cut.classes.members_of(~self.kept)

    def explain(self, algorithm: str) -> Explanation:
        """Return how many cells are suppressed, and what other programs would count."""
        counts, stars = self.cut.classes.sizes[self.kept], self.stars[self.kept]
        values = self.values[self.kept]
        starred, dropped = float(counts @ stars.sum(axis=1)), int(self.cut.classes.sizes[~self.kept].sum())
        made = Attempt(algorithm, starred, group_published(values, stars)[1], dropped)
        notes = compare_counts(values, stars, counts)
        self.space.problem.counters["stars"] = int(starred)
        return Explanation("stars", "min", algorithm, starred, (made,), {}, notes=notes)

    def recoding(self) -> ByCell:
        """Return the recoding: the node, outliers with suppressed cells, and the remaining outliers removed."""
        columns, published = [], self.values.astype(np.int32)
        for j, (column, level) in enumerate(zip(self.space.columns, self.levels, strict=True)):
            starred = self.stars[:, j]
            columns.append(recoded_column(column, level, starred=bool(starred.any()))[0])
            published[starred, j] = len(columns[-1].summary.published) - 1
        values, inverse = np.unique(published[self.kept], axis=0, return_inverse=True)
        classes = np.full(len(published), -1, dtype=np.int32)
        classes[self.kept] = inverse.reshape(-1)
        vectors = np.ascontiguousarray(self.space.problem.frequencies.vectors)
        return ByCell(tuple(columns), vectors, classes[self.cut.class_ids], values)
