"""Hierarchies: the coarser values to which a recoding may generalize, declared by hand, by rule or by file."""

from indistinct.hierarchy.builders import Dates, Masking, Suppression
from indistinct.hierarchy.explicit import Explicit, Order, check_rooted, move_file, table_of_values
from indistinct.hierarchy.intervals import CutPoints, Intervals
from indistinct.hierarchy.registry import builder_call, hierarchy_from_json, hierarchy_from_spec, spec_of_hierarchy
from indistinct.hierarchy.suggest import suggest, suggest_intervals
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.hierarchy.value import KINDS, Hierarchy, HierarchyKind

__all__ = [
    "KINDS",
    "CutPoints",
    "Dates",
    "Explicit",
    "Hierarchy",
    "HierarchyKind",
    "Intervals",
    "Masking",
    "Order",
    "Suppression",
    "Taxonomy",
    "builder_call",
    "check_rooted",
    "hierarchy_from_json",
    "hierarchy_from_spec",
    "move_file",
    "spec_of_hierarchy",
    "suggest",
    "suggest_intervals",
    "table_of_values",
]
