"""What metrics say of one recoding, as a value: name to number."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from indistinct.errors import ParameterError
from indistinct.metrics.base import Metric
from indistinct.metrics.people import counted_in_people
from indistinct.recoding.outputs import Assignment

LOG = logging.getLogger("indistinct.measure")


@dataclass(frozen=True, slots=True, eq=False)
class Measurements(Mapping[str, float]):
    """Metric values by registered name, in the order in which they were asked for; an immutable mapping.

    >>> Measurements((("discernibility", 12.0), ("gcp", 0.2)))["gcp"]
    0.2
    """

    pairs: tuple[tuple[str, float], ...] = ()

    def __getitem__(self, name: str) -> float:
        return dict(self.pairs)[name]

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def to_json(self) -> dict[str, float | None]:
        """Return plain JSON values; a value that is not finite, which JSON cannot spell, becomes None."""
        return {key: value if math.isfinite(value) else None for key, value in self.pairs}


def measure_all(assignment: Assignment, metrics: Sequence[Metric]) -> Measurements:
    """Return the value of each metric of a recoded table, in people where they were counted."""
    names = [metric.name for metric in metrics]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(
            f"each metric is measured once; asked for twice: {', '.join(twice)}",
            hint="measure the same metric with other parameters in a second call",
        )
    LOG.info("measuring %d metrics of %d rows", len(metrics), assignment.rows)
    people = counted_in_people(assignment)
    values = [metric.value(assignment if metric.counts_rows else people) for metric in metrics]
    return Measurements(tuple(zip(names, values, strict=True)))
