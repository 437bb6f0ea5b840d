"""Similarity: the values of a class differ, and yet mean nearly the same (Li, Li and Venkatasubramanian 2007)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.errors import ParameterError
from indistinct.machine.arrays import Codes
from indistinct.models.arithmetic import per_class
from indistinct.study.attack.attributes import AttributeAttack, Column
from indistinct.study.attack.base import Target
from indistinct.study.attack.matching import Belief


@dataclass(frozen=True, slots=True)
class Similarity(AttributeAttack):
    """An attacker to whom a kind of value is enough: one node of the sensitive hierarchy, or a narrow range.

    It succeeds where all values that are possible for a person lie below one node, `level` steps above the values, or
    where numbers and dates lie within a `width`, a share of the whole range. Columns of text without a hierarchy are
    left out. `sensitive` names one column, else all are attacked.
    """

    name: ClassVar[str] = "similarity"
    level: int = 1
    width: float = 0.1
    sensitive: str = ""

    def __post_init__(self) -> None:
        if self.level < 1:
            raise ParameterError.of("Similarity", "level", f"must be at least 1; got {self.level}")
        if not 0 <= self.width < 1:
            raise ParameterError.of("Similarity", "width", f"must be at least 0 and below 1; got {self.width}")

    def columns(self, target: Target) -> tuple[str, ...]:
        """Return the columns whose values can be compared."""
        return tuple(name for name in AttributeAttack.columns(self, target) if self._compares(target, name))

    def refusal(self, target: Target) -> str | None:
        """It needs to know which values are alike."""
        reason = AttributeAttack.refusal(self, target)
        if reason is None and not self.columns(target):
            return "no sensitive column is a number or a date, or has a hierarchy of two levels"
        return reason

    def _compares(self, target: Target, name: str) -> bool:
        column = self._column(target, name)
        return column.domain.ordered if column.taxonomy is None else column.taxonomy.height > 1

    def learns(self, known: Belief, own: Codes, column: Column) -> Codes:
        """Return where all possible values, the own one among them, are alike."""
        if column.taxonomy is not None:
            level = min(self.level, column.taxonomy.height - 1)
            line, most = column.taxonomy.ancestors[:, level].astype(np.float64), 0.0
        else:
            line = column.domain.positions()
            most = self.width * float(line.max(initial=0) - line.min(initial=0))
        low, high = (per_class(end, line[known.codes], indptr=known.indptr) for end in (np.minimum, np.maximum))
        return (high - low <= most)[known.vector_of_row] & (known.entries_of(own) >= 0)

    def claim(self) -> str:
        """Return what is learnt."""
        return "learns the kind of value, or nearly the number,"

    @property
    def defence(self) -> str:
        """Return the option that closes the hole."""
        return "use a model that knows which values are alike: t-closeness with distance=hierarchical or ordered"
