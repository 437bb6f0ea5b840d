"""Homogeneity: everybody who may be the person has the same sensitive value (Machanavajjhala et al. 2006)."""

from dataclasses import dataclass
from typing import ClassVar

from indistinct.machine.arrays import Codes
from indistinct.study.attack.attributes import TOLERANCE, AttributeAttack, Column
from indistinct.study.attack.background_knowledge import require_share, share_told
from indistinct.study.attack.matching import Belief


@dataclass(frozen=True, slots=True)
class Homogeneity(AttributeAttack):
    """An attacker who reads a sensitive value off the class of a person.

    It succeeds where the person's own value has at least a `share` there; 1 is certainty. `sensitive` names one column,
    else all are attacked.
    """

    name: ClassVar[str] = "homogeneity"
    share: float = 1.0
    sensitive: str = ""

    def __post_init__(self) -> None:
        require_share(self.share, "Homogeneity")

    def learns(self, known: Belief, own: Codes, column: Column) -> Codes:
        """Return where the own value has the share."""
        return known.own_shares(own) >= self.share - TOLERANCE

    def claim(self) -> str:
        """Return what is learnt."""
        return share_told(self.share)

    @property
    def defence(self) -> str:
        """Return the option that closes the hole."""
        if self.share == 1:
            return "ask for several values in every class: distinct-l-diversity:l=2 or more, or entropy-l-diversity"
        return f"bound the share of a value in every class: alpha-k:alpha={self.share}, or entropy-l-diversity"
