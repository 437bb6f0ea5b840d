"""A taxonomy: a hierarchy bound to a column's domain, as the codes that algorithms use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.machine.arrays import Codes, Counts
from indistinct.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Taxonomy:
    """A hierarchy bound to a column's domain.

    `ancestors[code, level]` is the node of a value on a level; level 0 is raw, the last level is the top.
    Nodes are numbered per level by their first value in canonical order. `labels[level][node]` is the published label
    (None for missing) and `leaves[level][node]` the number of raw values below the node, including those that do not
    occur in the data.
    """

    column: str
    ancestors: Codes
    labels: tuple[tuple[str | None, ...], ...]
    leaves: tuple[Counts, ...]

    @property
    def height(self) -> int:
        """The number of generalization steps from raw to top."""
        return int(self.ancestors.shape[1]) - 1

    @property
    def size(self) -> int:
        """The number of raw values of the whole hierarchy."""
        return int(self.leaves[-1].sum())

    @property
    def rooted(self) -> bool:
        """Whether the top level has one node."""
        return len(self.labels[-1]) == 1

    def ranks(self) -> Codes:
        """The rank of each code in depth-first order, in which every node is one contiguous run."""
        order = np.lexsort(tuple(self.ancestors[:, level] for level in range(self.height + 1)))
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        return ranks


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
    for index, level in enumerate(levels, start=1):
        ancestors[missing:, index] = level.nodes + missing
        labels.append((None, *level.labels) if missing else tuple(level.labels))
        leaves.append(np.bincount(ancestors[:, index], minlength=len(labels[-1])))
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
    positions = np.empty(len(order), dtype=np.int32)
    positions[order] = np.arange(len(order))
    return positions[inverse], firsts[order]
