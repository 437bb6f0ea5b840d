"""Skewness: a class makes a value far more likely than it is among all people (Li, Li and Venkatasubramanian 2007)."""

from dataclasses import dataclass
from typing import ClassVar

from indistinct.errors import ParameterError
from indistinct.figures import percent
from indistinct.machine.arrays import Codes
from indistinct.study.attack.attributes import TOLERANCE, AttributeAttack, Column
from indistinct.study.attack.matching import Belief


@dataclass(frozen=True, slots=True)
class Skewness(AttributeAttack):
    """An attacker who compares the share of a value in the class of a person with its share in the whole release.

    It succeeds where the person's own value gained at least `gain`: 0.3 is from one in ten to four in ten. `sensitive`
    names one column, else all are attacked.
    """

    name: ClassVar[str] = "skewness"
    gain: float = 0.3
    sensitive: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.gain <= 1:
            raise ParameterError.of("Skewness", "gain", f"must be above 0 and at most 1; got {self.gain}")

    def learns(self, known: Belief, own: Codes, column: Column) -> Codes:
        """Return where the own value is so much more likely than before."""
        return (own >= 0) & (known.own_shares(own) - known.prior[own] >= self.gain - TOLERANCE)

    def claim(self) -> str:
        """Return what is learnt."""
        return (
            f"rightly finds a share that is {percent(self.gain)} or more above that of the whole release, for the value"
        )

    @property
    def defence(self) -> str:
        """Return the option that closes the hole."""
        return f"bound the distance from the whole table: t-closeness with t below {self.gain:g}"
