"""Multiset-based generalization: every value of a bucket becomes the multiset of the bucket's values.

It reveals as much as slicing with one attribute per column (after an idea of Kifer and Gehrke 2006).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from indistinct.algorithms.base import AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.bucket.breaking_links import BreaksLinks
from indistinct.algorithms.bucket.slicing import Slicing
from indistinct.algorithms.parameters import BUCKET_SIZE, DIVERSITY, TRY_ALL_COLUMNS
from indistinct.errors import SchemaError
from indistinct.frequencies.structure import CLASSES, Buckets, Structure
from indistinct.models.base import Model
from indistinct.recoding.kinds import ByBucket
from indistinct.schema import Schema


@dataclass(frozen=True, slots=True)
class Multiset(BreaksLinks):
    """Buckets as slicing finds them, published as multisets such as `22:2,33:1,52:1`.

    `size` is the least number of rows in a bucket; `try_all_dims` tries all attributes for a split and not only the
    widest.

    Guarantees: every bucket is l-diverse, and its multisets are exact.
    """

    name: ClassVar[str] = "multiset"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Values of each group, counted", "Publishes which values each bucket has, and how often."
    )
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(local=True, reusable=False, buckets=True)
    l: Annotated[int, DIVERSITY]
    size: Annotated[int, BUCKET_SIZE] = 1
    try_all_dims: Annotated[bool, TRY_ALL_COLUMNS] = False

    def promise(self) -> Model:
        """The promise: buckets are l-diverse and have at least `size` rows."""
        return self._slicing().promise()

    def structure(self, schema: Schema, certified: Structure = CLASSES) -> Buckets:
        """Return one slice for each attribute."""
        names = (*schema.quasi, *schema.insensitive, *schema.sensitive)
        return Buckets("multiset", tuple((name,) for name in names))

    def _slicing(self) -> Slicing:
        return Slicing(l=self.l, columns=("each",), size=self.size, try_all_dims=self.try_all_dims)

    def search(self, problem: Problem) -> ByBucket:
        """Return the recoding that publishes multisets."""
        if not problem.sensitive:
            raise SchemaError(
                "multiset generalization needs a sensitive column", hint="slicing works without one: slicing:size=10"
            )
        return self._slicing().bucketed(problem, form="multiset")
