"""Counting with Spark: one groupBy on the cluster, collected once."""

import numpy as np

from indistinct.engines.finding import Learned
from indistinct.engines.groups import count_groups
from indistinct.engines.spark.source import SparkTable
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import Classes, FrequencySet


def count_source(source: SparkTable, request: Request) -> tuple[Counted, Learned | None]:
    """Return what was asked for, and how rows find their cell again."""
    if not source.rows:
        raise InputError("the table has no rows", hint="check that this is the right frame")
    alone = {name: source.alone(name) for name in request.alone}
    if not request.quasi:  # the whole table is one cell
        whole = FrequencySet((), np.zeros((1, 0), dtype=np.int32), Classes(np.array([source.rows])))
        return Counted((), whole, alone=alone), None
    others = request.population
    return count_groups(
        source.groups,
        request,
        columns=source.columns,
        population=others.groups if isinstance(others, SparkTable) else None,
        alone=alone,
    )
