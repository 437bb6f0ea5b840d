"""Hierarchies: to which coarser values a recoding may go, declared by hand, by rule or by a file."""

from indistinct.hierarchy.builders import Dates, Masking, Order, Suppression, suggest, suggest_intervals
from indistinct.hierarchy.explicit import Explicit, check_rooted, move_file, table_of_values
from indistinct.hierarchy.intervals import CutPoints, Intervals
from indistinct.hierarchy.readers import hierarchy_from_json, read_hierarchy
from indistinct.hierarchy.trees import flatten
from indistinct.hierarchy.value import BUILDERS, Hierarchy, Taxonomy

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
    "move_file",
    "suggest",
    "suggest_intervals",
    "table_of_values",
]

# The kinds know the value, and only this module knows all of them.
BUILDERS.update(
    from_rows=Explicit,
    read_csv=read_hierarchy,
    tree=lambda nested, rooted: Explicit(flatten(nested), rooted=rooted, form="tree"),
    intervals=Intervals,
    cuts=CutPoints,
    dates=Dates,
    masking=Masking,
    order=Order,
    suppression=Suppression,
)
