"""A metric says how much a recoding costs: one set of metrics serves the search and the report."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from indistinct.recoding.outputs import Assignment

Goal = Literal["min", "max"]
BETTER: Mapping[Goal, str] = MappingProxyType({"min": "lower", "max": "higher"})
"""Which values of a metric are better, in a word."""


class Metric(ABC):
    """A utility metric: a frozen value with its parameters.

    `goal` is the better direction, `meaning` what a value says, in a few words, `bounds` the possible values (None:
    open), and `monotone` says that merging classes, with the same rows suppressed, never gets a better value.
    `counts_rows` says that rows count even where people are told apart, and `compares_cells` that published values are
    held against the original cells, which a file does not tell. `bare` is the field whose value may be spelled alone.
    """

    __slots__ = ()
    name: ClassVar[str]
    goal: ClassVar[Goal] = "min"
    meaning: ClassVar[str] = ""
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, None)
    monotone: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = False
    compares_cells: ClassVar[bool] = False
    bare: ClassVar[str | None] = None

    @abstractmethod
    def value(self, assignment: Assignment) -> float:
        """Return the metric of a recoded table."""

    def for_promise(self, k: int) -> Self:
        """Return the metric as it judges a release that promised classes of k; most do not look at k."""
        return self

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The histograms that the metric needs, as tuples of column names."""
        return ()
