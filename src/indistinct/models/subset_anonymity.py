"""Subset anonymity: every combination of values of a few quasi-identifiers is shared by enough rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np

from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.frequencies.slices import Links
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Counts, Mask
from indistinct.models.base import FOUND, Judgement, Model, ModelTraits, ModelWords
from indistinct.models.k_anonymity import K_OF_SEVERAL, KAnonymity
from indistinct.models.subset_groups import SubsetGroups
from indistinct.parameters import Parameter, Whole, check_parameters

HINT = "give size=2 for every pair of quasi-identifiers, or sets=age+sex|age+occupation for some"


@dataclass(frozen=True, slots=True)
class SubsetAnonymity(Model):
    """Every combination of published values on each of some sets of columns has at least `k` rows.

    The sets are all sets of `size` quasi-identifiers, which implies all smaller ones, or those that `sets` names. It is
    weaker than k-anonymity on all quasi-identifiers together: an attacker who knows more columns than a set has may
    find fewer rows. A star is a value as any other.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> SubsetAnonymity(k=5, sets=[["age", "sex"], ["age", "occupation"]]).spec()
    'subset-anonymity:k=5,sets=age+sex|age+occupation'
    """

    name: ClassVar[str] = "subset-anonymity"
    words: ClassVar[ModelWords] = ModelWords(
        "No person is singled out by a few columns (subset anonymity)",
        FOUND,
        "An attacker who knows a few of the columns finds at least k rows; weaker than k-anonymity on all of them.",
        "An attacker who knows {subset} of a person is left with at least {k} {unit}.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("k", "size")
    # Whether a group is small depends only on its classes. Generalizing all values of a column unites groups, and
    # dropping a class makes groups of other classes smaller.
    traits: ClassVar[ModelTraits] = ModelTraits(stable=False, absorbing=True, class_wise=False)
    needs_labels: ClassVar[bool] = True
    row_counts: ClassVar[tuple[str, ...]] = ("k",)
    counts_rows: ClassVar[bool] = False
    k: Annotated[int, K_OF_SEVERAL]
    size: Annotated[
        int | None,
        Parameter(
            "Number of known columns",
            "Number of quasi-identifiers that an attacker knows: every set of this size is protected. Give size=2 "
            "for every pair, or name sets.",
            Whole(),
            start="2",
        ),
    ] = None
    sets: Annotated[
        tuple[tuple[str, ...], ...],
        Parameter(
            "Sets of known columns",
            "Sets of quasi-identifiers that an attacker knows, such as age+sex|age+occupation, instead of size.",
        ),
    ] = ()

    def __post_init__(self) -> None:
        check_parameters(self)
        object.__setattr__(self, "sets", _check_sets(self.sets))
        if (self.size is None) != bool(self.sets):
            came = "both" if self.sets else "neither"
            raise ParameterError.of("SubsetAnonymity", "size", f"or `sets` must be given; got {came}", hint=HINT)

    @property
    def caution(self) -> str | None:
        """The limit of the guarantee: what an attacker with more columns may find."""
        known = f"{self.size} quasi-identifiers" if self.size else "the named sets of quasi-identifiers"
        return (
            f"subset-anonymity guarantees nothing against an attacker who knows more than {known}: all "
            "quasi-identifiers together may single a row out"
        )

    @property
    def people_traits(self) -> ModelTraits:
        """United groups have at least as many people as each of them, as with rows."""
        return self.traits

    @property
    def quasi(self) -> tuple[str, ...]:
        """The columns of all named sets."""
        return tuple(dict.fromkeys(name for columns in self.sets for name in columns))

    def in_classes(self) -> Model:
        """Return k-anonymity, which implies this model because every group is a union of classes."""
        return KAnonymity(self.k)

    def require_quasi(self, quasi: Sequence[str]) -> None:
        """Raise where a set names a column that is no quasi-identifier, or has more columns than there are."""
        Model.require_quasi(self, quasi)
        if self.size is not None and self.size > len(quasi):
            raise ParameterError.of(
                "SubsetAnonymity",
                "size",
                f"must be at most the number of quasi-identifiers, {len(quasi)}; got {self.size}",
                hint=f"size={len(quasi)} is k-anonymity on all of them together",
            )

    def column_sets(self, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Return the indices of the columns of each set; sets that are part of another one are implied and left out.

        >>> SubsetAnonymity(k=2, sets=[["b"], ["c", "a"], ["b", "c"]]).column_sets(["a", "b", "c"])
        ((0, 2), (1, 2))
        """
        if self.size is not None:
            return tuple(combinations(range(len(names)), min(self.size, len(names))))
        index_of = {name: index for index, name in enumerate(names)}
        named = {frozenset(index_of[name] for name in columns) for columns in self.sets}
        return tuple(sorted(tuple(sorted(one)) for one in named if not any(one < other for other in named)))

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes in a group of fewer than `k` rows, or people."""
        groups = self._groups(classes)
        if groups is None:
            return np.asarray((classes.sizes > 0) & (classes.members < self.k))
        return groups.below(self.k)

    def outside(self, classes: Classes, enough: int | None = None) -> Mask:
        """Return a mask of the classes to drop until no group of the others is too small."""
        groups = self._groups(classes)
        return self.violations(classes) if groups is None else groups.outside(self.k, enough=enough)

    def judge(self, classes: Classes, links: Links | None = None) -> Judgement:
        """Return the verdict; groups are counted only once where none of them is small."""
        achieved = self.achieved(classes)
        if achieved.get("k", self.k) >= self.k:
            return Judgement(holds=True, achieved=achieved)
        return Model.judge(self, classes, links)  # `super()` does not know a class with slots

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the size of the smallest group as `k`; nothing where there are no rows."""
        if not classes.rows:
            return {}
        groups = self._groups(classes)
        return {"k": int(classes.members[0]) if groups is None else groups.smallest()}

    def inevitable(self, classes: Classes) -> Counts:
        """Return zeros: whether a row must go depends on all classes together."""
        return 0 * classes.sizes

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if the table has fewer than `k` rows."""
        members = int(whole.members.sum())
        if 0 < members < self.k:
            raise InfeasibleError(
                f"k = {self.k} but the table has {members} {whole.unit}",
                hint=f"choose a k of at most {members}",
                feasible=Feasible({"k": members}),
            )

    def _groups(self, classes: Classes) -> SubsetGroups | None:
        """Return the groups of classes by each set of columns; None for one class, whatever it publishes."""
        if classes.labels is not None:
            return SubsetGroups(classes, self.column_sets(classes.labels.names))
        if len(classes) > 1:
            raise AssertionError("subset-anonymity judges classes whose labels are known")
        return None


def _check_sets(given: Any) -> tuple[tuple[str, ...], ...]:
    """Return sets of names as tuples; raise `ParameterError` for anything else."""
    several = None if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    fine = several is not None and all(
        isinstance(columns, Iterable) and not isinstance(columns, str) and list(columns) for columns in several
    )
    sets = tuple(tuple(columns) for columns in several or ()) if fine else None
    if sets is None or not all(isinstance(name, str) and name for columns in sets for name in columns):
        raise ParameterError.of(
            "SubsetAnonymity",
            "sets",
            f"must be lists of names of columns; got {given!r}",
            hint='for example sets=[["age", "sex"], ["age", "occupation"]]',
        )
    twice = next((columns for columns in sets if len(set(columns)) < len(columns)), None)
    if twice is not None:
        raise ParameterError.of(
            "SubsetAnonymity", "sets", f"must name a column once in a set; got {'+'.join(twice)}", hint="name it once"
        )
    return sets
