"""Bind a hierarchy to a column's domain, so that its nodes have numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.errors import HierarchyError
from indistinct.hierarchy.value import Taxonomy
from indistinct.machine.arrays import Codes, Counts
from indistinct.tables.domain import Domain, Kind

ROOT = "*"
"""The label of the top of a built hierarchy."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One level between raw and top: the node of each value except missing, and the label of each node."""

    nodes: Codes
    labels: Sequence[str]


def taxonomy_from_levels(domain: Domain, levels: Sequence[Level]) -> Taxonomy:
    """Return the taxonomy of given levels: the data's values are its leaves, and missing is below the root."""
    size, missing = len(domain), int(domain.missing)
    ancestors = np.zeros((size, len(levels) + 2), dtype=np.int32)
    ancestors[:, 0] = np.arange(size)
    labels: list[tuple[str | None, ...]] = [domain.texts()]
    leaves: list[Counts] = [np.ones(size, dtype=np.int64)]
    for place, level in enumerate(levels, start=1):
        ancestors[missing:, place] = level.nodes + missing
        labels.append((None, *level.labels) if missing else tuple(level.labels))
        leaves.append(np.bincount(ancestors[:, place], minlength=len(labels[-1])))
    labels.append((ROOT,))
    leaves.append(np.array([size], dtype=np.int64))
    return Taxonomy(domain.column, ancestors, tuple(labels), tuple(leaves))


def level(keys: Codes, label: Callable[[Any], str]) -> Level:
    """Return the level on which values with equal keys are one node, labeled by their key."""
    return level_of_keys(keys, lambda distinct: [label(key) for key in distinct.tolist()])


def level_of_keys(keys: Codes, labels: Callable[[Codes], Sequence[str]]) -> Level:
    """Return the level on which values with equal keys are one node; `labels` writes all keys at once."""
    nodes, firsts = number(keys)
    return Level(nodes, labels(keys[firsts]))


def number(keys: Codes) -> tuple[Codes, Codes]:
    """Number equal keys by first occurrence; return each key's number, and the first index of each number."""
    later = keys[1:] != keys[:-1]
    if len(keys) and (keys[1:] >= keys[:-1]).all():  # numbers are sorted, and so are their intervals
        firsts = np.flatnonzero(np.concatenate([[True], later]))
        return np.concatenate([[0], np.cumsum(later)]).astype(np.int32), firsts
    _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order))
    return places[inverse], firsts[order]


def require(domain: Domain, kind: Kind, *, builder: str) -> None:
    """Raise unless a builder supports a column's kind of values; a column without values has any kind."""
    if len(domain.values) and domain.kind is not kind:
        raise HierarchyError(
            f"{builder} need a column of kind {kind}; column {domain.column!r} is read as {domain.kind}",
            hint="masking, tables, trees and suppression work on any column",
            column=domain.column,
        )
