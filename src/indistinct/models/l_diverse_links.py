"""l-diverse links: no sensitive value can be linked to a person with a probability above 1/l, also in buckets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import Feasible, InfeasibleError, SchemaError
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.slices import Links, Slice
from indistinct.frequencies.value import Classes, Key
from indistinct.machine.arrays import Codes, Counts, Floats, Mask
from indistinct.models.arithmetic import per_class
from indistinct.models.base import LEARNED, Judgement, Model, ModelWords
from indistinct.models.link_probability import Bound, bound_of, link
from indistinct.parameters import Parameter, SeveralTexts, Whole

# p(t, s) is a sum of floating-point products: above 1 / l by less than this is rounding.
PROBABILITY_TOLERANCE = 1e-9
# Up to this number of rows p(t, s) is computed even where its bound suffices.
MAX_ROWS_COMPUTED_EXACTLY = 2_000_000


@dataclass(frozen=True, slots=True)
class LDiverseLinks(Model):
    """No tuple is linked to a sensitive value with a probability above 1 / `l` (Li, Li, Zhang and Molloy 2012).

    In a release in buckets, p(t, s) is the probability that a person with the known values t has the sensitive value s,
    given the buckets that match t. In a release in classes it is the share of s in the class of t. Without `sensitive`
    it is about every sensitive column on its own. l = 1 guarantees nothing.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> LDiverseLinks(l=3, sensitive="disease").spec()
    'l-diverse-links:l=3,sensitive=disease'
    """

    name: ClassVar[str] = "l-diverse-links"
    words: ClassVar[ModelWords] = ModelWords(
        "No likely link to a value (l-diverse links)",
        LEARNED,
        "No person is linked to a sensitive value with a probability above 1/l; also for releases in buckets.",
        "An attacker who knows {quasi} of a person links any value of {sensitive} to them with at most {1/l}.",
    )
    larger_is_stronger: ClassVar[tuple[str, ...]] = ("l",)
    of_links: ClassVar[bool] = True
    l: Annotated[
        int,
        Parameter(
            "One in l",
            "No sensitive value is linked to a person with a probability above 1/l, for example l=5.",
            Whole(),
            start="3",
        ),
    ]
    sensitive: Annotated[
        tuple[str, ...],
        Parameter(
            "Protected columns",
            "Sensitive columns that are protected; none means all of them.",
            SeveralTexts("names of columns"),
        ),
    ] = ()

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms of the sensitive columns."""
        return tuple((name,) for name in self.sensitive)

    @property
    def smallest(self) -> int:
        """A class needs `l` rows to hold `l` values."""
        return self.l

    @property
    def caution(self) -> str | None:
        """One value for certain is no protection."""
        return "l = 1 guarantees nothing: a release may reveal sensitive values for certain" if self.l == 1 else None

    def resolved(self, sensitive: Sequence[str]) -> Model:
        """Return a conjunction with a model for each sensitive column."""
        names = self.sensitive or tuple(sensitive)
        each: list[Model] = [LDiverseLinks(self.l, (name,)) for name in names]
        if not each:
            raise SchemaError(
                f"{self.spec()} applies to sensitive columns, but the schema names none",
                hint="give the columns that must not be learned the role sensitive",
            )
        return reduce(lambda one, other: one & other, each)

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes in which a value takes more than one row in `l`."""
        broken = np.zeros(len(classes), dtype=bool)
        for key in self.keys:
            broken |= self.l * _most_frequent(classes, key) > classes.sizes
        return broken & (classes.sizes > 0)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the largest share of a value as `p`, and the `l` that it allows; nothing where there are no rows."""
        if not classes.rows or not self.sensitive:
            return {}
        occupied = classes.sizes > 0
        most = max((_most_frequent(classes, key)[occupied] / classes.sizes[occupied]).max() for key in self.keys)
        return _levels(float(most))

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if one value takes too many of the table's rows."""
        if self.violations(whole).any():
            allowed = int(self.achieved(whole)["l"])
            columns = " or ".join(map(repr, self.sensitive))
            raise InfeasibleError(
                f"l = {self.l} cannot hold: a value of {columns} has more than one in {self.l} of the table's rows",
                hint=f"the largest l that this table allows is {allowed}",
                feasible=Feasible({"l": allowed}, of_algorithm=True),
            )

    def judge(self, classes: Classes, links: Links | None = None) -> Judgement:
        """Return the verdict for the original's tuples; the bound that the release shows is used where it suffices."""
        if links is None:
            return Model.judge(self, classes)  # `super()` does not know a class with slots
        judged = [self._linked(links, name) for name in self.sensitive]
        return max(judged, key=lambda each: (not each.holds, each.achieved["p"]))

    def _linked(self, links: Links, name: str) -> Judgement:
        """Judge the links of one sensitive column: by bound first, then by tuple."""
        home = links.home(name)
        bound = bound_of(_entries(links, home, links.codes_without_sensitive(home)[0]), name, l=self.l)
        shows = bound.broken_groups == 0
        broken, strongest = (bound.broken_groups, bound.broken_rows), bound.share
        if (
            links.tuples is not None
            and links.weights is not None
            and (not shows or links.sizes.sum() <= MAX_ROWS_COMPUTED_EXACTLY)
        ):
            probabilities, weights = _probabilities(links, name, bound)
            strongest = float(probabilities.max(initial=0.0))
            exceeding = probabilities > (1 + PROBABILITY_TOLERANCE) / self.l
            broken = int(exceeding.sum()), int(weights[exceeding].sum())
        return Judgement(
            holds=shows or broken[0] == 0,
            achieved=_levels(strongest),
            violating_classes=0 if shows else broken[0],
            violating_rows=0 if shows else broken[1],
            needs_original=not shows and links.tuples is not None and not links.public,
        )


def _entries(links: Links, index: int, known: Codes) -> Slice:
    """Return a slice with its known part as one column."""
    each = links.slices[index]
    return each.known_by(known, [name for name in each.names if name in links.sensitive])


def _probabilities(links: Links, name: str, bound: Bound) -> tuple[Floats, Codes | Floats]:
    """Return the largest p(t, s) of every distinct tuple of the original, and how often the tuple occurs."""
    joins = [join for join in links.joins if join.shared]
    parts = [links.codes_without_sensitive(index) for index in range(len(links.slices))]
    parts += [links.codes_of(join.parent, join.shared) for join in joins]
    weights = np.zeros(0) if links.weights is None else links.weights
    columns = [np.zeros(len(weights), dtype=np.int64) if t is None or not len(t) else t for _, t in parts]
    tuples = np.stack(columns, axis=1)
    if links.public:  # a tuple may be in several buckets
        grouping = group_rows(columns, [int(column.max(initial=0)) + 1 for column in columns])
        tuples, weights = tuples[grouping.first], np.bincount(grouping.group_ids(), weights=weights)
    indices = [*range(len(links.slices)), *(join.parent for join in joins)]
    entries = [_entries(links, index, known) for index, (known, _) in zip(indices, parts, strict=True)]
    linked = link(entries, tuples, home=links.home(name), name=name, shared=len(joins))
    # For a tuple that is nowhere in the release only the bound is known.
    return np.where(linked.matches > 0, linked.strongest, bound.share), weights


def _most_frequent(classes: Classes, key: Key) -> Counts:
    histogram = classes.histograms[key]
    return per_class(np.maximum, histogram.counts, indptr=histogram.indptr)


def _levels(strongest: float) -> dict[str, float]:
    """Return the achieved l, and the largest probability."""
    return {"l": int((1 + PROBABILITY_TOLERANCE) / strongest) if strongest else 0, "p": round(strongest, 12)}
