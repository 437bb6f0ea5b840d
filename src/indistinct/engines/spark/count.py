"""Counting with Spark: one groupBy on the cluster, collected once."""

from indistinct.engines import groups
from indistinct.engines.finding import Learned
from indistinct.engines.spark.source import SparkTable
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request


def count_source(source: SparkTable, request: Request) -> tuple[Counted, Learned | None]:
    """Return what was asked for, and how rows find their cell again."""
    others = request.population
    population = others.groups if isinstance(others, SparkTable) else None
    return groups.count_source(source, request, population=population, what="frame")
