"""How a hierarchy that was decided gets into the policy."""

from collections.abc import Collection
from dataclasses import replace

from indistinct.hierarchy import Hierarchy
from indistinct.web.frame import Screen
from indistinct.web.steps.hierarchies.declarations import with_hierarchy

COLUMN = "column"
"""Under this name a tab keeps which column it shows."""


def decide(screen: Screen, column: str, hierarchy: Hierarchy | None, *, keep: Collection[str] = ()) -> None:
    """Put a hierarchy into the policy; what the tab had chosen about the old one is gone but for what it shall keep."""
    screen.change(replace(screen.policy, hierarchies=with_hierarchy(screen.policy.hierarchies, column, hierarchy)))
    kept = {name: value for name, value in screen.choices.items() if name in keep}
    screen.choices = {**kept, COLUMN: column}
