"""TopDown: specialize the whole table step by step as long as the model allows it (Wong, Li, Fu, Wang 2006).

A part is divided into the children of its node in one column. Rows of children that break the model go back to the
remainder; if the remainder breaks it, other children give rows or are dissolved until it holds.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.cluster.top_down_parts import (
    Children,
    ClusterParts,
    from_the_front,
    specialize,
    specialize_by_size,
)
from indistinct.algorithms.cluster.tree_space import ClusterSpace, recoding_of, traits_of_joining
from indistinct.frequencies.pieces import Pieces
from indistinct.frequencies.value import Key
from indistinct.machine.arrays import Codes, Mask
from indistinct.models.base import Model
from indistinct.parameters import Parameter
from indistinct.recoding.kinds import Recoding


@dataclass(frozen=True, slots=True)
class TopDown(Algorithm):
    """Specialize parts by the column that keeps most rows in its children, then by the one with fewest children.

    Rows that cannot be specialized stay behind as a class of their own; with `respecialize_remainder` other columns
    are tried on them. For (α,k)-anonymity rows move to the remainder by the rarest protected value.

    Guarantees: every class satisfies the model and no row is suppressed.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44], "disease": ["flu", "cold", "flu", "cold", "flu", "cold"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> ages = {"age": ind.Hierarchy.intervals([10, 20])}
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), algorithm=ind.TopDown(), hierarchies=ages)
    >>> release.classes().to_pylist()
    [{'age': '20-29', 'rows': 3}, {'age': '40-49', 'rows': 3}]
    """

    name: ClassVar[str] = "top-down"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Groups along hierarchies", "Parts the table along hierarchies as long as it can."
    )
    traits: ClassVar[AlgorithmTraits] = traits_of_joining(stub=True)
    respecialize_remainder: Annotated[
        bool,
        Parameter(
            "Respecialize the remainder",
            "Try other columns on the rows that a split leaves over; slower, may lose less.",
        ),
    ] = False

    def search(self, problem: Problem) -> Recoding:
        """Return the recoding of the most specialized parts."""
        space = ClusterSpace(problem)
        self.require_whole(problem)
        if problem.model.traits.sizes_only:
            parts = specialize_by_size(space, k=problem.model.smallest, again=self.respecialize_remainder)
        else:
            parts = specialize_by_model(space, again=self.respecialize_remainder)
        problem.progress(0.7)
        return recoding_of(space, parts.pieces, by_row=True)


def specialize_by_model(space: ClusterSpace, *, again: bool = False) -> ClusterParts:
    """Return the most specialized parts that satisfy the problem's model.

    Rows leave children by their sensitive values.
    """
    model, whole = space.problem.model, Pieces.of(space.problem.frequencies)
    return specialize(space, whole, Leaving(space, model), least=model.smallest, again=again)


@dataclass(frozen=True, eq=False)
class Leaving:
    """The rule of Wong et al. (2006) by which rows leave a child, for any model.

    A row leaves if its child still satisfies the model without it: the one whose sensitive value is rarest in the
    remainder, then of the largest child, then the first. If none can leave, the smallest child is dissolved.
    """

    space: ClusterSpace
    model: Model

    def __call__(self, parts: ClusterParts, children: Children) -> Codes:
        """Return how many rows of each piece go back to the remainder of their part."""
        size, pieces, frequencies = len(children.values), parts.pieces, self.space.problem.frequencies
        broken = self.model.violations(replace(pieces, class_ids=children.groups).classes(frequencies, size))
        self.space.problem.counters["checks"] += size
        taken = np.where(broken[children.groups], pieces.counts, 0)
        remainder = replace(pieces, counts=taken).take(taken > 0).classes(frequencies, len(parts))
        for part in np.flatnonzero(self.model.violations(remainder) & (remainder.sizes > 0)).tolist():
            inside = slice(int(parts.starts[part]), int(parts.starts[part + 1]))
            taken[inside] = self._repair_remainder(parts, children, part, broken)
        return taken

    def _repair_remainder(self, parts: ClusterParts, children: Children, part: int, broken: Mask) -> Codes:
        """Return how many rows of each piece leave, so that the part's remainder satisfies the model or is all rows."""
        inside = slice(int(parts.starts[part]), int(parts.starts[part + 1]))
        start, stop = int(children.bounds[part]), int(children.bounds[part + 1])
        counts, child, joint = parts.pieces.counts[inside], children.groups[inside] - start, parts.pieces.joint
        kinds, kind = np.unique(np.zeros(len(counts)) if joint is None else joint[inside], return_inverse=True)
        cell = child * len(kinds) + kind
        rows_of_kinds = np.bincount(cell, weights=counts, minlength=(stop - start) * len(kinds)).astype(np.int64)
        first = np.full(len(rows_of_kinds), len(cell))
        np.minimum.at(first, cell, np.arange(len(cell)))
        table = _Table(
            self, kinds.astype(np.int32), rows_of_kinds.reshape(-1, len(kinds)), first.reshape(-1, len(kinds))
        )
        gone = table.leave(broken[start:stop], children.values[start:stop])
        return from_the_front(counts, cell, gone.ravel())

    def broken(self, kinds: Codes, rows: Codes) -> Mask:
        """Return which classes break the model; a class is given by its rows of each joint code."""
        which, index = np.nonzero(rows)
        self.space.problem.counters["checks"] += len(rows)
        pieces = Pieces(which, kinds[index], rows[which, index], which)
        return self.model.violations(pieces.classes(self.space.problem.frequencies, len(rows)))

    @cached_property
    def codes(self) -> dict[Key, Codes]:
        """Each key's component of every joint code."""
        joint = self.space.problem.frequencies.joint
        return {} if joint is None else dict(joint.codes)

    @cached_property
    def watched(self) -> dict[Key, Mask]:
        """For each key, which codes the model protects."""
        masks: dict[Key, Mask] = {}
        histograms = self.space.problem.frequencies.classes.histograms
        for part in self.model.parts():
            for key in part.keys:
                masks[key] = masks.get(key, False) | part.protects(histograms[key])
        return masks

    def rarity(self, kinds: Codes, rest: Codes) -> Codes:
        """Return how often the protected values of each joint code already occur in the remainder."""
        total = np.zeros(len(kinds), dtype=np.int64)
        for key, watched in self.watched.items():
            codes = self.codes[key][kinds]
            seen = np.bincount(codes, weights=rest, minlength=len(watched)).astype(np.int64)
            total += np.where(watched[codes], seen[codes], 0)
        return total


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """The rows of one part: `held[child, kind]`, and the position of the first row of each."""

    rule: Leaving
    kinds: Codes
    held: Codes
    first: Codes

    def leave(self, broken: Mask, values: Codes) -> Codes:
        """Return how many rows leave, by child and kind."""
        left = self.held.copy()
        left[broken] = 0
        able = np.stack([self._able(row) for row in left])
        while True:
            rest = (self.held - left).sum(axis=0)
            if rest.sum() >= self.rule.model.smallest and not self.rule.broken(self.kinds, rest[None])[0]:
                break
            sizes = left.sum(axis=1)
            child, kind = np.nonzero(able)
            if len(child):
                rare = self.rule.rarity(self.kinds, rest)
                pick = np.lexsort((self.first[child, kind], -sizes[child], rare[kind]))[0]
                left[child[pick], kind[pick]] -= 1
                able[child[pick]] = self._able(left[child[pick]])
            elif sizes.any():
                standing = np.flatnonzero(sizes)
                smallest = standing[np.lexsort((values[standing], sizes[standing]))[0]]
                left[smallest] = 0
            else:
                break
        return self.held - left

    def _able(self, row: Codes) -> Mask:
        """Mark the kinds of rows that can leave a child without breaking the model."""
        able = np.zeros(len(row), dtype=bool)
        kinds = np.flatnonzero(row)
        if row.sum() > self.rule.model.smallest:
            without = np.tile(row, (len(kinds), 1))
            without[np.arange(len(kinds)), kinds] -= 1
            able[kinds] = ~self.rule.broken(self.kinds, without)
        return able
