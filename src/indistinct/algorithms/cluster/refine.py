"""Local search that improves the classes of any algorithm.

The loss falls while every class keeps satisfying the model.

Members move between classes or are swapped, and whole classes are dissolved or split, as long as that lowers the loss.
Neighbors are found along orders of all cells, with a new order of columns in every round.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, ClassVar

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.cluster.kaca import KACA
from indistinct.algorithms.cluster.mdav import MDAV
from indistinct.algorithms.cluster.refine_search import LocalSearch
from indistinct.algorithms.cluster.top_down import TopDown
from indistinct.algorithms.cluster.top_down_kaca import TopDownKACA
from indistinct.algorithms.cluster.two_level import TwoLevel, cell_metric
from indistinct.algorithms.parameters import METRIC, START
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.frequencies.value import Key
from indistinct.metrics.weighted import weigh_metric
from indistinct.parameters import Number, Parameter, Whole, check_parameters
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import Recoding
from indistinct.text_form import parse

STARTS: Mapping[str, type[Algorithm]] = MappingProxyType(
    {kind.name: kind for kind in (KACA, TopDown, TopDownKACA, TwoLevel, Mondrian, MDAV)}
)
"""The algorithms that a local search can start from."""
BEST = "best"
"""The better start of two-level clustering and Mondrian by loss."""


@dataclass(frozen=True, slots=True)
class Refine(Algorithm):
    """Improve the classes of another algorithm by local search, within a limit of time or rounds.

    `start` is that algorithm, such as ``"mondrian:choose=loss"``; ``"best"`` is two-level clustering or Mondrian by
    loss, whichever loses less. `metric` is minimized: gcp, ncp, loss, iloss or distortion; precision is maximized. Two-
    level clustering starts with the same metric unless it names its own. The search ends early when no move helps in a
    whole cycle of rounds, or after `rounds`. With `seconds=0` it never depends on the clock.

    Guarantees: every class satisfies the model, no row is suppressed, and the metric is not worse than the start's.

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
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.Refine(seconds=0))
    >>> release.classes().to_pylist()
    [{'age': '[21-23]', 'rows': 3}, {'age': '[41-44]', 'rows': 3}]
    """

    name: ClassVar[str] = "refine"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Groups improved step by step",
        "Improves the groups of another algorithm step by step. The least loss, if you give it time.",
    )
    start: Annotated[str, START] = BEST
    metric: Annotated[str, METRIC] = "gcp"
    seconds: Annotated[
        float,
        Parameter(
            "Time limit in seconds",
            "Seconds that the search may take; 0 sets no limit, so that rounds alone decide.",
            Number("0 or above", low=0),
        ),
    ] = 10.0
    rounds: Annotated[int, Parameter("Round limit", "Rounds that the search may take, at least 1.", Whole())] = 1000

    def __post_init__(self) -> None:
        check_parameters(self)
        cell_metric(self.metric)
        self._starters()

    def _starters(self) -> tuple[Algorithm, ...]:
        """Return the algorithms whose results are refined."""
        if self.start == BEST:
            return TwoLevel(metric=self.metric), Mondrian(choose="loss")
        starter = parse(self.start, STARTS, what="start")
        if isinstance(starter, TwoLevel) and "metric=" not in self.start:
            return (replace(starter, metric=self.metric),)
        return (starter,)

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """Rows with equal values may be split where the start does so.

        Columns without a hierarchy are treated as in Mondrian.
        """
        starts = [starter.traits for starter in self._starters()]
        splits = any(start.splits for start in starts)
        monotone = all(start.monotone for start in starts)
        return AlgorithmTraits(
            local=True, monotone=monotone, splits=splits, ranges=True, reusable=not splits, tight=True
        )

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms that the start needs."""
        return tuple(dict.fromkeys(key for starter in self._starters() for key in starter.keys))

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the improved classes, or the start's recoding where that has less loss.

        Numbers, dates and declared orders are published as ranges, as Mondrian does, whatever the start publishes.
        """
        started = replace(problem, progress=lambda share: problem.progress(0.2 * share))
        starters, suppresses = self._starters(), problem.suppression > 0
        if len(starters) > 1:
            starters = tuple(s for s in starters if s.refusal(problem.model, suppression=suppresses) is None)
        return self.improve(problem, *(starter.find(started) for starter in starters))

    def improve(self, problem: Problem, *starts: Recoding) -> Recoding:
        """Run the local search from the start with the least loss, the first of equals, and return its recoding."""
        metric, begun = weigh_metric(cell_metric(self.metric), problem.importance, problem.frequencies.names), []
        for each in starts:
            assignment = assign(problem.frequencies, each)
            begun.append((each, assignment, LocalSearch(problem, assignment, metric=metric)))
        start, before, search = min(begun, key=lambda each: each[2].cost())
        search.run(seconds=self.seconds, rounds=self.rounds)
        refined = search.recoding()
        after = assign(problem.frequencies, refined)
        sign = 1 if metric.goal == "min" else -1
        good = sign * metric.value(after) <= sign * metric.value(before)
        return refined if good and not problem.model.violations(after.classes).any() else start
