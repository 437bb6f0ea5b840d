"""Datafly (Sweeney 2002): generalize the column with the most distinct values until few rows break the model."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.errors import InfeasibleError, ParameterError
from indistinct.figures import share_above
from indistinct.frequencies.lattice import RolledUp
from indistinct.machine.arrays import Codes
from indistinct.models.base import Model
from indistinct.parameters import Parameter, check_parameters
from indistinct.recoding.kinds import Recoding
from indistinct.suppression_limit import NO_BUDGET, Budget, Unit

SuppressedRows = Literal["drop", "star"]


@dataclass(frozen=True, slots=True)
class Datafly(Algorithm):
    """Greedy full-domain generalization.

    While more than `outliers` rows are in classes that violate the model, the column with the most distinct values is
    generalized by one level. The remaining rows are suppressed: removed, or published as rows of ``*``, joined by whole
    classes, smallest first, until these rows satisfy the model too.

    `outliers` is by default the suppression limit. If rows are removed, a number must be within the suppression limit.
    ``"k"`` is the rule of the paper: up to as many rows as a class must have, without a suppression limit. It never
    removes all rows, but generalizes further. The result is neither minimal nor optimal.

    Sweeney (2002). Achieving k-anonymity privacy protection using generalization and suppression. International
    Journal on Uncertainty, Fuzziness and Knowledge-based Systems 10(5), 571-588.

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
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.Datafly(), hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "datafly"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Levels, quickly",
        "Coarsens the column with most values, level by level, until it is enough. Fast, and loses much.",
    )
    outliers: Annotated[
        int | Literal["k"] | None,
        Parameter(
            "Outliers allowed",
            "Rows that may be left in classes that are too small when the search stops: a number, or k; by default "
            "the suppression limit.",
        ),
    ] = None
    suppressed_rows: Annotated[
        SuppressedRows,
        Parameter("Suppressed rows", "drop: leave them out; star: publish them with * in every quasi-identifier."),
    ] = "drop"

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.outliers in (None, "k"):
            return
        if not isinstance(self.outliers, int) or isinstance(self.outliers, bool) or self.outliers < 0:
            raise ParameterError.of(
                "Datafly",
                "outliers",
                f"must be k, or a whole number of at least 0; got {self.outliers!r}",
                hint="leave it out to allow as many as the suppression limit",
            )

    def own_budget(self, model: Model, unit: Unit) -> Budget:
        """Return a limit of k rows, or people, with `outliers="k"` where rows are removed."""
        drops = self.outliers == "k" and self.suppressed_rows == "drop"
        return Budget(model.smallest, unit) if drops else NO_BUDGET

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """With `suppressed_rows="star"`, the starred rows are one more class, which must satisfy the model."""
        drops = self.suppressed_rows == "drop"
        return AlgorithmTraits(
            hierarchies=True, suppresses=True, release_wide=drops, whole_domain=drops, one_level=True
        )

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the node where the loop stops."""
        problem.require_possible()
        space = FullDomain(problem)
        space.require_roots()
        allowed = self._allowed(problem)
        rolled = space.cells.base
        while space.exceeds(rolled, allowed):
            column = _most_distinct(space, rolled)
            if column is None:
                raise space.went_too_far(self.name)
            levels = list(rolled.levels)
            levels[column] += 1
            rolled = space.roll_up(rolled, levels)
            problem.progress(sum(levels) / max(sum(space.lattice.heights), 1))
        broken = np.flatnonzero(space.outside(rolled))
        if self.suppressed_rows == "drop":
            return space.recoding_without(rolled, broken)
        return space.recoding_without(rolled, _hidden(space, rolled, broken), starred=True)

    def _allowed(self, problem: Problem) -> int:
        """Return how many rows may break the model when the search stops: never more than may be suppressed."""
        budget, rows = problem.suppression, problem.frequencies.members
        named = problem.model.smallest if self.outliers == "k" else self.outliers
        chosen = budget if named is None else named
        if self.suppressed_rows == "star":
            return chosen
        if self.outliers == "k":
            chosen = min(chosen, rows)
        if chosen > budget:
            more = "" if chosen > rows else f" (suppression={share_above(chosen, rows)})"
            raise ParameterError.of(
                "Datafly",
                "outliers",
                f"is {chosen}, and {budget} of {rows} rows may be suppressed",
                hint=f"allow more suppression{more}, or leave `outliers` out, which keeps to the suppression limit",
            )
        return min(chosen, rows - 1)


def _most_distinct(space: FullDomain, rolled: RolledUp) -> int | None:
    """Return the column with the most distinct values among those below their top; the first of equals.

    The number of values is divided by the column's weight.
    """
    counts = [
        np.count_nonzero(np.bincount(space.cells.field(rolled, j))) / weight if level < height else -1
        for j, (level, height, weight) in enumerate(
            zip(rolled.levels, space.lattice.heights, space.weights, strict=True)
        )
    ]
    best = int(np.argmax(counts))
    return best if counts[best] >= 0 else None


def _hidden(space: FullDomain, rolled: RolledUp, broken: Codes) -> Codes:
    """Return the classes to suppress.

    These are the classes that break the model, and further ones until the suppressed rows satisfy it together.
    """
    if not len(broken):
        return broken
    hidden = np.zeros(len(rolled), dtype=bool)
    hidden[broken] = True
    others = np.flatnonzero(~hidden)
    for further in (None, *others[np.argsort(rolled.classes.sizes[others], kind="stable")].tolist()):
        if further is not None:
            hidden[further] = True
        together = rolled.classes.regroup(np.where(hidden, 0, -1).astype(np.int32), 1)
        if not space.problem.model.violations(together).any():
            return np.flatnonzero(hidden)
    raise InfeasibleError(
        "no whole classes can join the suppressed rows so that these satisfy the model",
        hint="use suppressed_rows=drop, or a weaker model",
    )
