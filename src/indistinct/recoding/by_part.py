"""A recoding whose cuts are too many to be held: the upper ones lead to parts, and each part lies on disk."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from indistinct.hierarchy import Hierarchy
from indistinct.recoding.kinds import Recoding


@dataclass(frozen=True, eq=False, repr=False)
class ByPart(Recoding):
    """Parts of a table, each with a tree of cuts of its own."""

    quasi: tuple[str, ...] = ()
    declared: Mapping[str, Hierarchy] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the quasi-identifiers."""
        return self.quasi

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """Return the hierarchies that published labels come from."""
        return dict(self.declared)
