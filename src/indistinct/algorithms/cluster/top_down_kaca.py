"""TopDown-KACA: parts by specialization, classes inside each part by merging (Yu, Han, Chen, Xia 2009)."""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.cluster._merge_nearest_kernels import Forest
from indistinct.algorithms.cluster.merge_nearest import Merged, forest_of, merge_by_model, merge_by_size
from indistinct.algorithms.cluster.top_down_parts import ClusterParts, specialize_by_size
from indistinct.algorithms.cluster.tree_space import ClusterSpace, recoding_of, traits_of_joining
from indistinct.algorithms.parameters import BETA, SCHEME, STUB
from indistinct.errors import ParameterError
from indistinct.frequencies.pieces import Pieces, join_pieces
from indistinct.machine.arrays import Codes
from indistinct.machine.threads import spread, workers
from indistinct.metrics.loss import Scheme
from indistinct.parameters import Parameter, Whole
from indistinct.recoding.kinds import Recoding


@dataclass(frozen=True, slots=True)
class TopDownKACA(Algorithm):
    """Merge classes as KACA does, but only inside parts of at least `part` rows, which TopDown finds first.

    By default `part` is ten times the model's smallest class, and at least 200; with the number of rows of the table
    the result is that of KACA. Merging inside small parts is much faster and costs some detail. `stub`, `scheme` and
    `beta` are those of KACA.

    Guarantees: every class satisfies the model and no row is suppressed.

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
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.TopDownKACA(), hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "top-down-kaca"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Near people joined, in parts",
        "Parts the table first, and joins near groups inside the parts. Faster than kaca.",
    )
    traits: ClassVar[AlgorithmTraits] = traits_of_joining(stub=True)
    part: Annotated[
        int | None,
        Parameter(
            "Rows of a part",
            "Rows in each part, at least; by default ten times the smallest class, and at least 200.",
            Whole(),
        ),
    ] = None
    stub: Annotated[bool, STUB] = True
    scheme: Annotated[Scheme, SCHEME] = "uniform"
    beta: Annotated[float, BETA] = 1.0

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the classes of all parts."""
        least = problem.model.smallest
        if self.part is not None and self.part < least:
            raise ParameterError.of(
                "TopDownKACA",
                "part",
                f"must be at least {least}, the smallest class of {problem.model.spec()}; got {self.part}",
                hint=f"part={max(10 * least, 200)} is what it would be if it were left out",
            )
        space = ClusterSpace(problem, scheme=self.scheme, beta=self.beta)
        self.require_whole(problem)
        size = min(self.part or max(10 * least, 200), problem.frequencies.rows)
        parts, forest = specialize_by_size(space, k=size), forest_of(space)
        problem.progress(0.3)
        if problem.model.traits.sizes_only:
            return self._by_size(space, forest, parts)
        return _by_model(space, forest, parts.pieces.divided(problem.frequencies))

    def _by_size(self, space: ClusterSpace, forest: Forest, parts: ClusterParts) -> Recoding:
        """Merge the cells of each part by class sizes alone, in threads."""
        nodes, k = space.cells + forest.offsets, space.problem.model.smallest
        cells, counts, starts = parts.pieces.cells, parts.pieces.counts, parts.starts

        def merged(some: Codes) -> list[Merged]:
            merges = []
            for start, stop in zip(starts[some].tolist(), starts[some + 1].tolist(), strict=True):
                chosen, rows = cells[start:stop], counts[start:stop]
                merges.append(merge_by_size(forest, chosen, rows, nodes=nodes[chosen], k=k, stub=self.stub))
            return merges

        # Time: every cell is compared with all cells of its part.
        shares = np.array_split(np.arange(len(parts)), workers())
        merged_parts = list(chain(*spread(merged, shares, rows=len(cells), weight=256)))
        space.problem.counters["merges"] += sum(merges for _, merges in merged_parts)
        return recoding_of(space, join_pieces(pieces for pieces, _ in merged_parts), by_row=True)


def _by_model(space: ClusterSpace, forest: Forest, pieces: Pieces) -> Recoding:
    """Merge whole cells inside parts; a part that breaks the model as a whole joins the nearest class of any part."""
    model, nodes = space.problem.model, space.cells + forest.offsets
    groups, group_ids = np.unique(pieces.class_ids.astype(np.int64) * len(nodes) + pieces.cells, return_inverse=True)
    classes = replace(pieces, class_ids=group_ids).classes(space.problem.frequencies, len(groups))
    owner, cell = np.divmod(groups, len(nodes))
    starts = np.searchsorted(owner, np.arange(int(owner.max()) + 2))

    merged_classes = [
        merge_by_model(forest, inside, nodes=nodes[cell[inside]], classes=classes.take(inside), model=model)
        for inside in np.split(np.arange(len(owner)), starts[1:-1])
    ]
    first = _class_of_each(join_pieces(some for some, _ in merged_classes))
    size = int(first.max()) + 1
    tuples = space.tuples_of(cell, class_ids=first, classes=size) + forest.offsets
    last, merges = merge_by_model(
        forest, np.arange(size), nodes=tuples, classes=classes.regroup(first, size), model=model
    )
    space.problem.counters["merges"] += sum(merges for _, merges in merged_classes) + merges
    return recoding_of(space, replace(pieces, class_ids=_class_of_each(last)[first[group_ids]]), by_row=True)


def _class_of_each(pieces: Pieces) -> Codes:
    """Return the class of every cell; each cell is one piece."""
    class_ids = np.empty(len(pieces), dtype=np.int32)
    class_ids[pieces.cells] = pieces.class_ids
    return class_ids
