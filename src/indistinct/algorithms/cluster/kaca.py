"""KACA: clustering by attribute hierarchies (Li, Wong, Fu, Pei 2006 and 2008).

Every class that does not satisfy the model yet is merged with its nearest class, by the distance that the rows climb in
the hierarchies.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.cluster.merge_nearest import forest_of, merge_by_model, merge_by_size
from indistinct.algorithms.cluster.tree_space import ClusterSpace, recoding_of, traits_of_joining
from indistinct.algorithms.parameters import BETA, IMPORTANCE, SCHEME, STUB
from indistinct.metrics.loss import Scheme
from indistinct.parameters import check_parameters
from indistinct.recoding.columns import NO_IMPORTANCE, Importance, importance_of
from indistinct.recoding.kinds import Recoding
from indistinct.schema import Schema


@dataclass(frozen=True, slots=True)
class KACA(Algorithm):
    """Clustering in attribute hierarchies: merge each class that violates the model with its nearest class.

    With `stub` a class with enough rows for two gives only the rows that the other one lacks (the stub) and keeps the
    rest (the trunk) unchanged. Models of more than class sizes always merge whole classes. `scheme` and `beta` weight
    the steps up a hierarchy, and `importance` the columns ({"age": 3}), as in the metric `distortion`.

    The nearest class is searched among all classes, so time grows with the square of the number of cells: use
    `top-down-kaca` or `two-level` for large tables.

    Guarantees: every class satisfies the model, including one that gave rows away, and no row is suppressed.

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
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.KACA(), hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "kaca"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Near people joined", "Joins each small group with its nearest one. Slow for large tables."
    )
    spelled: ClassVar[tuple[str, ...]] = ("importance",)
    stub: Annotated[bool, STUB] = True
    scheme: Annotated[Scheme, SCHEME] = "uniform"
    beta: Annotated[float, BETA] = 1.0
    importance: Annotated[Importance, IMPORTANCE] = NO_IMPORTANCE

    def __post_init__(self) -> None:
        check_parameters(self)
        object.__setattr__(self, "importance", importance_of(self.importance))

    def require_columns(self, schema: Schema) -> None:
        """Raise `SchemaError` if a column with a weight is not a quasi-identifier."""
        self.importance.check(schema.quasi)

    @property
    def traits(self) -> AlgorithmTraits:  # type: ignore[override]
        """With `stub`, rows with equal values may be split, so that recodings fit one table only."""
        return traits_of_joining(stub=self.stub)

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the merged classes."""
        space = ClusterSpace(problem, scheme=self.scheme, beta=self.beta, importance=self.importance)
        self.require_whole(problem)
        frequencies, model, forest = problem.frequencies, problem.model, forest_of(space)
        cells, nodes = np.arange(len(frequencies)), space.cells + forest.offsets

        def progress(share: float) -> None:
            problem.progress(0.7 * share)

        if model.traits.sizes_only:
            pieces, merges = merge_by_size(
                forest, cells, frequencies.counts, nodes=nodes, k=model.smallest, stub=self.stub, progress=progress
            )
        else:
            pieces, merges = merge_by_model(
                forest, cells, nodes=nodes, classes=frequencies.classes, model=model, progress=progress
            )
        problem.counters["merges"] += merges
        problem.progress(0.7)
        return recoding_of(space, pieces, by_row=self.stub)
