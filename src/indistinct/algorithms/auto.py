"""Try the searches that suit the table and keep the recoding with the least loss.

What is tried follows from counts alone (cells, columns, nodes of the lattice, the model's traits), and local search is
given a number of rounds: the clock decides nothing, so that the same table gives the same release on every machine.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.cluster.refine import Refine
from indistinct.algorithms.cluster.two_level import METRICS as REFINED
from indistinct.algorithms.cluster.two_level import TwoLevel
from indistinct.algorithms.explanation import Attempt, Change, Explanation
from indistinct.algorithms.full_domain.cell_suppression import CellSuppression
from indistinct.algorithms.full_domain.datafly import Datafly
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.algorithms.parameters import METRIC, TREES
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.algorithms.within_levels import find_in_parts
from indistinct.errors import InfeasibleError, ParameterError
from indistinct.frequencies.value import Key
from indistinct.metrics.base import Metric, counted_in_people
from indistinct.metrics.registry import parse_metric
from indistinct.metrics.weighted import weigh_metric
from indistinct.models.base import All, Model
from indistinct.parameters import Parameter, Whole, check_parameters
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import Assignment
from indistinct.recoding.summary import TreeForm
from indistinct.text_form import arguments_of, spell

# Upper limits of work for each kind of search, each some seconds at most: cells × columns² for cuts by loss, cells for
# clustering, cells × lattice nodes for the best node, cells × columns × rounds for local search.
MAX_WORK_BY_LOSS, MAX_CELLS_CLUSTERED, MAX_WORK_ON_LATTICE, MAX_WORK_OF_LOCAL_SEARCH = (
    200_000_000,
    100_000,
    500_000_000,
    500_000,
)
# Least work that checking one node is counted as, in cells, however few cells there are.
MIN_CELLS_PER_NODE = 25_000
# Work (cells × columns²) up to which `_changes` also tries easier settings.
MAX_WORK_FOR_CHANGES = 10_000_000
# Up to this number of cells, local search begins at every start: a better start does not always end better.
MAX_CELLS_FOR_ALL_STARTS = 5_000


@dataclass(frozen=True, slots=True)
class Auto(Algorithm):
    """Run several algorithms that suit the table and keep the result with the least loss.

    Tried are Mondrian, by loss and as in the paper; two-level clustering and the best node of the lattice where there
    are hierarchies; and local search from the best classes, for at most `rounds` rounds. `metric` measures the loss.
    `trees` is what Mondrian publishes of columns with a tree. With `reuse` the recoding also covers values that the
    table does not have, for next month's table. Then, and where people are counted, clustering and local search are not
    tried, because their classes overlap; and where people are counted, hierarchies are cut into children, so that the
    labels of a release determine the classes.

    Guarantees: every class satisfies the model; the answer depends on counts and rounds, not on the clock.

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
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm="auto")
    >>> release.classes().to_pylist()
    [{'age': '[21-23]', 'rows': 3}, {'age': '[41-44]', 'rows': 3}]
    """

    name: ClassVar[str] = "auto"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "What loses least of several",
        "Tries what suits this table, keeps what loses least, and says why. Take it unless you need another.",
    )
    metric: Annotated[str, METRIC] = "gcp"
    rounds: Annotated[
        int, Parameter("Rounds of improvement", "Rounds of local search after the first result; 0 skips it.", Whole(0))
    ] = 12
    reuse: Annotated[
        bool,
        Parameter(
            "Reusable",
            "Consider only generalizations that also apply to tables with other values, such as next month's.",
        ),
    ] = False
    trees: Annotated[TreeForm, TREES] = "node"

    def __post_init__(self) -> None:
        check_parameters(self)
        parse_metric(self.metric)

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """The traits that hold whichever search wins."""
        return AlgorithmTraits(local=True, ranges=True, suppresses=True)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms that the metric needs."""
        return parse_metric(self.metric).keys

    def refusal(self, model: Model, *, suppression: bool) -> str | None:
        """Return None: the best node of the lattice can be searched for every model."""
        return None

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding with the least loss, and report why it was chosen."""
        trial, cells = _Trial(problem, parse_metric(self.metric)), len(problem.frequencies)
        for number, algorithm in enumerate(self._suitable(problem, trial)):
            if not trial.perfect:
                trial.make(algorithm)
            problem.progress(min(0.1 * (number + 1), 0.5))
        rounds = (
            min(self.rounds, MAX_WORK_OF_LOCAL_SEARCH // (cells * len(problem.columns)))
            if self._clusters(problem)
            else 0
        )
        for _, starter, start, _ in trial.best(
            Mondrian, TwoLevel, number=3 if cells <= MAX_CELLS_FOR_ALL_STARTS else 1
        ):
            if rounds and not trial.perfect and not problem.forest:
                refine = Refine(start=spell(starter), metric=self.metric, rounds=rounds, seconds=0.0)
                trial.make(refine, start)
        problem.progress(0.8)
        problem.explain(trial.explanation())
        return trial.answer()

    @property
    def chooses(self) -> bool:
        """Whether it chooses among other algorithms: always."""
        return True

    def for_reuse(self) -> Algorithm:
        """Return the same search restricted to recodings that can be applied to other tables."""
        return replace(self, reuse=True)

    def by_passes(self) -> Algorithm:
        """Return the search that replaces this one where the cells do not fit in memory."""
        return Mondrian()

    def explain_fallback(self, problem: Problem, recoding: Recoding, algorithm: Algorithm) -> Explanation:
        """Explain why the fallback algorithm was used.

        It is the only one that works when the cells do not fit in memory.
        """
        trial = _Trial(problem, parse_metric(self.metric))
        trial.note(algorithm, recoding)
        reason = "was not tried: the cells of the table do not fit in memory"
        trial.attempts.append(Attempt(spell(Mondrian(choose="loss", trees=self.trees)), reason=reason))
        return trial.explanation(changes=False)

    def _suitable(self, problem: Problem, trial: "_Trial") -> Iterator[Algorithm]:
        """Yield the algorithms to try before local search, and note why each of the others is not tried."""
        cells = len(problem.frequencies)
        # Cut into children, as in the paper, labels never overlap: people can be counted by those of a release.
        if problem.unit == "rows" or not any(column.tree for column in problem.columns):
            by_loss = Mondrian(choose="loss", trees=self.trees)
            yield from trial.within(by_loss, _measure_work(problem), MAX_WORK_BY_LOSS, "steps to weigh cuts")
        yield Mondrian()
        others = Mondrian().refusal(problem.model, suppression=problem.suppression > 0)
        if any(column.taxonomy is not None for column in problem.columns) or others is not None:
            if self._clusters(problem):
                yield from trial.within(TwoLevel(metric=self.metric), cells, MAX_CELLS_CLUSTERED, "cells")
            work = FullDomain(problem).lattice.size * max(cells, MIN_CELLS_PER_NODE)
            yield from trial.within(Optimal(metric=self.metric), work, MAX_WORK_ON_LATTICE, "cells of all nodes")
            if problem.model.needs_labels:
                yield CellSuppression(start="datafly") if problem.suppression else Datafly()

    def _clusters(self, problem: Problem) -> bool:
        """Return whether clustering may be tried.

        Classes of clustering are lists of cells whose labels may overlap: they do not cover other values, and people
        could not be counted by the labels of a release.
        """
        return not self.reuse and problem.unit == "rows" and parse_metric(self.metric).name in REFINED


_Made = tuple[float, Algorithm, Recoding, Assignment]
"""An attempt that gave a release: (loss, algorithm, recoding, classes that it makes of the table)."""


class _Trial:
    """The attempts on one problem, each judged by the same metric."""

    def __init__(self, problem: Problem, metric: Metric) -> None:
        self.problem, self.given = problem, metric
        self.metric: Metric = weigh_metric(metric, problem.importance, problem.frequencies.names)
        self.attempts: list[Attempt] = []
        self.made: list[_Made] = []
        self.failure: InfeasibleError | None = None

    def within(self, algorithm: Algorithm, work: int, limit: int, unit: str) -> Iterator[Algorithm]:
        """Yield the algorithm if its `work` is at most `limit`; otherwise note that it was not tried."""
        if work <= limit:
            yield algorithm
        else:
            reason = f"was not tried: {work:,} {unit} are more than {limit:,}"
            self.attempts.append(Attempt(spell(algorithm), reason=reason))

    def make(self, algorithm: Algorithm, start: Recoding | None = None) -> None:
        """Run an algorithm, a local search from its `start`, and note the result or the reason why there is none."""
        reason, model = self._refusal(algorithm), self.problem.model
        if reason is not None and model.needs_labels:
            # A search that judges classes one by one may be given a stronger model that does the same.
            model = model.in_classes()
            reason = None if self._refusal(algorithm, model) is None else reason
        if reason is not None:
            self.attempts.append(Attempt(spell(algorithm), reason=f"was not tried: {reason}"))
            return
        try:
            problem = replace(self.problem, model=model, progress=_unheard).seen_by(algorithm)
            if start is not None and isinstance(algorithm, Refine):
                recoding = algorithm.improve(problem, start)
            else:
                recoding = find_in_parts(algorithm, problem)
        except InfeasibleError as error:
            self.failure = self.failure or error
            self.attempts.append(Attempt(spell(algorithm), reason="finds no release"))
            return
        self.note(algorithm, recoding)

    def _refusal(self, algorithm: Algorithm, model: Model | None = None) -> str | None:
        """Return why an algorithm does not suit the model, None if it does."""
        return algorithm.refusal(model or self.problem.model, suppression=self.problem.suppression > 0)

    def note(self, algorithm: Algorithm, recoding: Recoding) -> None:
        """Record the loss of an attempt."""
        assignment = self.problem.assigned(recoding)
        loss = self.metric.value(counted_in_people(assignment))
        self.made.append((loss, algorithm, recoding, assignment))
        self.attempts.append(Attempt(spell(algorithm), loss, len(assignment.classes), assignment.suppressed_members))

    def best(self, *kinds: type[Algorithm], number: int) -> list[_Made]:
        """Return up to `number` attempts made by these kinds of algorithms, least loss first; ties keep their order."""
        some = [each for each in self.made if isinstance(each[1], kinds)]
        return sorted(some, key=lambda each: self._sign * each[0])[:number]

    @property
    def perfect(self) -> bool:
        """Whether an attempt has no loss at all, so that further attempts are pointless."""
        return self.metric.goal == "min" and any(loss == 0 for loss, *_ in self.made)

    @property
    def _sign(self) -> int:
        """Return the factor that makes smaller scores better."""
        return 1 if self.metric.goal == "min" else -1

    @property
    def _winner(self) -> _Made:
        """Return the best attempt; raise if there is none."""
        if not self.made:
            raise self.failure or self._nothing_tried()
        return min(self.made, key=lambda each: self._sign * each[0])

    def _nothing_tried(self) -> ParameterError:
        """Return the error of a table for which no algorithm could be tried."""
        reasons = "; ".join(f"{attempt.algorithm} {attempt.reason}" for attempt in self.attempts)
        return ParameterError(
            f"no search that auto tries suits {self.problem.model.spec()} on this table: {reasons}",
            hint="name an algorithm, such as datafly, or give hierarchies fewer levels",
        )

    def answer(self) -> Recoding:
        """Return the recoding with the least loss."""
        return self._winner[2]

    def explanation(self, *, changes: bool = True) -> Explanation:
        """Return why the best attempt was chosen and what limits it.

        With `changes`, also what easier settings would give.
        """
        loss, algorithm, _, assignment = self._winner
        changes = changes and _measure_work(self.problem) <= MAX_WORK_FOR_CHANGES and not self.perfect
        return Explanation(
            metric=spell(self.given),
            goal=self.metric.goal,
            algorithm=spell(algorithm),
            loss=loss,
            attempts=tuple(self.attempts),
            columns=self._shares(counted_in_people(assignment)),
            changes=tuple(self._changes()) if changes else (),
        )

    def _shares(self, assignment: Assignment) -> dict[str, float]:
        """Return each column's share of the loss; empty unless the metric is a sum over cells."""
        charged = self.metric.column_totals(assignment)
        if charged is None:
            return {}
        untouched = 0.0 if self.metric.goal == "min" else float(assignment.rows)
        lost = np.abs(charged - untouched)
        names = [column.column for column in assignment.columns]
        return dict(zip(names, (lost / max(lost.sum(), 1e-300)).tolist(), strict=True))

    def _changes(self) -> Iterator[Change]:
        """Yield the loss under easier settings.

        K or l one lower, one part of the model left out, or more suppression.
        """
        first, parts = self.made[0], self.problem.model.parts()
        for index, part in enumerate(parts):
            before, after = parts[:index], parts[index + 1 :]
            for setting, eased in _ease_model(part):
                yield from self._change(first, setting, model=_all((*before, eased, *after)))
            if before or after:
                yield from self._change(first, f"without {_name_of_model(part)}", model=_all((*before, *after)))
        more = self.problem.suppression + self.problem.frequencies.members // 100
        for attempt in self.made:
            if attempt[1].traits.suppresses:
                yield from self._change(attempt, "with one percent more suppression", suppression=more)

    def _change(self, attempt: _Made, setting: str, **changed: Any) -> Iterator[Change]:
        """Search again with one setting changed, and yield what that would gain."""
        before, algorithm, *_ = attempt
        problem = replace(self.problem, progress=_unheard, counters=Counter(), **changed).seen_by(algorithm)
        if algorithm.refusal(problem.model, suppression=problem.suppression > 0) is not None:
            problem = replace(problem, model=problem.model.in_classes())
        try:
            recoding = find_in_parts(algorithm, problem)
        except InfeasibleError:
            return
        loss = self.metric.value(counted_in_people(problem.assigned(recoding)))
        yield Change(spell(algorithm), setting, before, loss)


def _measure_work(problem: Problem) -> int:
    """Return the work of weighing cuts by loss: each cut of any column looks at every column, cells × columns²."""
    return len(problem.frequencies) * len(problem.columns) ** 2


def _all(parts: tuple[Model, ...]) -> Model:
    return parts[0] if len(parts) == 1 else All(parts)


def _ease_model(part: Model) -> Iterator[tuple[str, Model]]:
    """Yield an easier model, with k or l one lower, and a description of the change."""
    inner: Any = part.inner
    for name in ("k", "l"):
        value = arguments_of(inner).get(name)
        if isinstance(value, int) and value > 2:
            eased = replace(inner, **{name: value - 1})
            yield f"with {name} = {value - 1}", part.around(eased)


def _name_of_model(part: Model) -> str:
    """Return the title of a model without its parameters, which may be cell values."""
    inner: Any = part.inner
    column = arguments_of(inner).get("sensitive")
    return f"{inner.name} of {column}" if isinstance(column, str) else str(inner.name)


def _unheard(_share: float) -> None:
    """Discard progress: all attempts share one progress bar."""
