"""Weighed cuts of tables that do not fit in memory: how parts are cut, and which upper cuts of a sample are kept.

Rothko-S of LeFevre, DeWitt and Ramakrishnan (2008) chooses upper cuts on a sample of the rows. The model is always
judged on all rows: a cut after which a part of the whole table breaks it is undone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from indistinct.algorithms.base import Problem
from indistinct.algorithms.partition.by_workload import WholeTable, count_queries
from indistinct.algorithms.partition.layout import KernelLayout, Partition
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.machine.arrays import Codes
from indistinct.metrics.queries.workload import boxes_of_workload
from indistinct.models.base import Model
from indistinct.recoding.columns import QuasiColumn
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class WeighedCuts:
    """How Mondrian weighs the cuts of the parts of a table with `rows` rows.

    `known` has the domains of targets. `queries` estimates from a sample how many rows each query of a workload counts
    in the table.
    """

    mondrian: Mondrian
    rows: int
    known: Mapping[str, Domain] = field(default_factory=dict)
    queries: Codes | None = None

    def partition(
        self,
        columns: Sequence[QuasiColumn],
        layout: KernelLayout,
        ranks: Codes,
        classes: Classes,
        model: Model,
        *,
        counters: Counter[str],
        fits: int = 0,
    ) -> Partition:
        """Return the partition of some cells; parts of at most `fits` rows are not divided."""
        nothing = FrequencySet((), np.zeros((0, len(columns)), dtype=np.int32), Classes(np.zeros(0, dtype=np.int64)))
        problem = Problem(nothing, tuple(columns), model, counters=counters, known=self.known)
        whole = None if self.queries is None else WholeTable(self.rows, self.queries, fits)
        return self.mondrian.partition_cells(problem, layout, ranks, classes, rows=self.rows, fits=fits, whole=whole)

    def count_queries(self, columns: Sequence[QuasiColumn], ranks: Codes, counts: Codes) -> Codes | None:
        """Return how many of these rows each query of the workload counts, None where there is no workload."""
        if self.mondrian.workload is None:
            return None
        boxes = boxes_of_workload(self.mondrian.workload, [column.domain for column in columns])
        return count_queries(ranks, counts, boxes, columns)
