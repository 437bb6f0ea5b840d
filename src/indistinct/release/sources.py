"""Tables as verbs meet them: opened, counted, grouped and closed, whichever engine does it."""

from indistinct.engines import closes_sources, count_source, open_source
from indistinct.engines.base import Engine, Source, close_source
from indistinct.engines.finding import CellFinder
from indistinct.engines.groups import groups_of

__all__ = [
    "CellFinder",
    "Engine",
    "Source",
    "close_source",
    "closes_sources",
    "count_source",
    "groups_of",
    "open_source",
]
