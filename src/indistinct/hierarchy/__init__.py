"""Hierarchies: to which coarser values a recoding may go, declared by hand, by rule or by a file."""

from indistinct.hierarchy.builders import Dates, Masking, Order, Suppression
from indistinct.hierarchy.explicit import Explicit, check_rooted
from indistinct.hierarchy.intervals import CutPoints, Intervals
from indistinct.hierarchy.readers import hierarchy_from_json, read_hierarchy
from indistinct.hierarchy.suggestions import suggest
from indistinct.hierarchy.trees import flatten
from indistinct.hierarchy.value import Hierarchy, Taxonomy, declare

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

# What `Hierarchy.name(…)` builds: the kinds know the value, and only this module knows all of them.
declare("from_rows", Explicit)
declare("read_csv", read_hierarchy)
declare("tree", lambda nested, rooted: Explicit(flatten(nested), rooted=rooted, form="tree"))
declare("intervals", Intervals)
declare("cuts", CutPoints)
declare("dates", Dates)
declare("masking", Masking)
declare("order", Order)
declare("suppression", Suppression)
