"""Background knowledge: whoever can rule some values out may be left with one (Machanavajjhala et al. 2006)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.errors import ParameterError
from indistinct.figures import percent
from indistinct.machine.arrays import Codes
from indistinct.study.attack.attributes import TOLERANCE, AttributeAttack, Column
from indistinct.study.attack.matching import Belief


@dataclass(frozen=True, slots=True)
class BackgroundKnowledge(AttributeAttack):
    """An attacker who knows `excluded` values that a person does not have: the worst ones, for that person.

    It succeeds where the person's own value then has at least a `share`; 1 is certainty. `sensitive` names one column,
    else all are attacked.
    """

    name: ClassVar[str] = "background-knowledge"
    excluded: int = 1
    share: float = 1.0
    sensitive: str = ""

    def __post_init__(self) -> None:
        if self.excluded < 0:
            raise ParameterError.of("BackgroundKnowledge", "excluded", f"must be at least 0; got {self.excluded}")
        require_share(self.share, "BackgroundKnowledge")

    def learns(self, known: Belief, own: Codes, column: Column) -> Codes:
        """Return where the own value has the share, once the most frequent other values are ruled out."""
        return own_share_without(known, own, self.excluded) >= self.share - TOLERANCE

    def claim(self) -> str:
        """Return what is learnt."""
        return f"and can rule {self.excluded} other value(s) out {share_told(self.share)}"

    @property
    def defence(self) -> str:
        """Return the option that closes the hole."""
        return f"ask for at least {self.excluded + 2} values in every class: distinct-l-diversity:l={self.excluded + 2}"


def own_share_without(known: Belief, own: Codes, excluded: int) -> Codes:
    """Return the share of each row's own value when the `excluded` most frequent other values are ruled out."""
    owners, vectors = known.owners(), len(known.indptr) - 1
    order = np.lexsort((-known.shares, owners))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(known.indptr[:-1], known.number)

    def largest(number: int) -> Codes:
        chosen = ranks < number
        return np.bincount(owners[chosen], weights=known.shares[chosen], minlength=vectors)

    entries = known.entries_of(own)
    mine = np.where(entries < 0, 0.0, np.append(known.shares, 0.0)[entries])
    among = np.append(ranks, excluded)[entries] < excluded
    others = np.where(among, largest(excluded + 1)[known.vector_of_row] - mine, largest(excluded)[known.vector_of_row])
    left = np.maximum(1 - others, mine)
    return np.divide(mine, left, out=np.zeros(len(own)), where=left > TOLERANCE)


def require_share(share: float, where: str) -> None:
    """Raise unless a share can be reached and says something."""
    if not 0 < share <= 1:
        raise ParameterError.of(where, "share", f"must be above 0 and at most 1; got {share}")


def share_told(share: float) -> str:
    """Return how sure an attacker is, in words."""
    return f"learns {'for certain' if share == 1 else f'with a confidence of {percent(share)}'} the sensitive value"
