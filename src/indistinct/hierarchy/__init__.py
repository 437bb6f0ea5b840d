"""Hierarchies: to which coarser values a recoding may go, declared by hand, by rule or by a file."""

from indistinct.hierarchy.builders import Dates, Masking, Order, Suppression
from indistinct.hierarchy.explicit import Explicit, check_rooted
from indistinct.hierarchy.intervals import CutPoints, Intervals
from indistinct.hierarchy.readers import hierarchy_from_json
from indistinct.hierarchy.suggestions import suggest
from indistinct.hierarchy.value import Hierarchy, Taxonomy

__all__ = [
    "CutPoints",
    "Dates",
    "Explicit",
    "Hierarchy",
    "Intervals",
    "Masking",
    "Order",
    "Suppression",
    "Taxonomy",
    "check_rooted",
    "hierarchy_from_json",
    "suggest",
]
