"""A hierarchy says to which coarser values each value of a column may be recoded.

Declarations (`Hierarchy` and its builders) know nothing of a table; `bind` lays one over a column's domain and
gives a `Taxonomy`, the codes that algorithms work with.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.domain import Codes, Domain
from indistinct.errors import HierarchyError


@dataclass(frozen=True, slots=True, eq=False)
class Taxonomy:
    """A hierarchy laid over a column's domain.

    `ancestors[code, level]` is the node of a value on a level; level 0 is raw, the last level is the top. Nodes are
    numbered per level by their first value in canonical order. `labels[level][node]` is what is published
    (None for missing) and `leaves[level][node]` counts the hierarchy's raw values below the node, those that do not
    occur in the data included.
    """

    column: str
    ancestors: Codes
    labels: tuple[tuple[str | None, ...], ...]
    leaves: tuple[Codes, ...]

    @property
    def height(self) -> int:
        """Return the number of generalization steps from raw to top."""
        return self.ancestors.shape[1] - 1

    @property
    def size(self) -> int:
        """Return the number of raw values of the whole hierarchy."""
        return int(self.leaves[0].sum()) if self.height == 0 else int(self.leaves[-1].sum())

    @property
    def rooted(self) -> bool:
        """Whether the top level has one node."""
        return len(self.labels[-1]) == 1

    def ranks(self) -> Codes:
        """Return a code's place in depth-first order, in which every node is one contiguous run."""
        order = np.lexsort(tuple(self.ancestors[:, level] for level in range(self.height + 1)))
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        return ranks


class Hierarchy(ABC):
    """A declaration of coarser and coarser values; use the class methods to make one."""

    __slots__ = ()

    @abstractmethod
    def bind(self, domain: Domain) -> Taxonomy:
        """Lay the hierarchy over a column's values; raise `HierarchyError` where it does not cover or nest."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the declaration as it stands in a policy."""

    @property
    def categorical(self) -> bool:
        """Whether numbers under this hierarchy are names: partitioned through the tree, not by their median."""
        return True
