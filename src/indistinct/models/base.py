"""What a privacy model is: it judges which classes break its guarantee, and what level the whole release achieves."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import Feasible, InfeasibleError, ParameterError, SchemaError, did_you_mean
from indistinct.frequencies.slices import Links
from indistinct.frequencies.value import POPULATION, Classes, Histogram, Key
from indistinct.machine.arguments import NamedArguments, call_of
from indistinct.machine.arrays import Codes, Counts, Floats, Mask
from indistinct.parameters import ColumnName, Parameter, WithDocumentedParameters, check_parameters
from indistinct.text_form import spell

# What a test compares: the size of a class, its number of distinct values, the largest share of a value, the entropy,
# the most frequent value with the rare ones, or a distance from the whole table.
SIZE, DISTINCT, SHARE, ENTROPY, RECURSIVE, EQUAL, ORDERED, HIERARCHICAL = range(8)


@dataclass(frozen=True, slots=True, eq=False)
class HistogramTest:
    """One test that a class must pass.

    `least` is the required number of rows or values, `ratio` a fraction that is compared without rounding, `limit` what
    a rounded number is compared with. `table` has a number for every code: whether it is protected, or its share of the
    whole table; for ordered values the cumulative shares and their running sum; for a hierarchy the share of every
    node, with `nodes` the nodes of every code, level by level. For an entropy it has, for each count below `least`, the
    product of the count and its logarithm.
    """

    kind: int
    key: Key | None = None
    least: int = 1
    ratio: tuple[int, int] = (0, 1)
    limit: float = 0.0
    table: Codes | Floats | Mask = field(default_factory=lambda: np.zeros(0))
    nodes: Codes = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """What a search may assume of a model.

    `monotone`: merging classes of a release that satisfies it gives a release that does, so generalizing never breaks
    it.
    `stable`: dropping whole classes never makes a remaining class break it.
    `absorbing`: a class that satisfies it still does whatever rows join it, so that generalizing never makes more rows
    break it, or be dropped. Without that, a search that suppresses must not conclude from one node to another.
    `sizes_only`: it looks at class sizes alone.
    `class_wise`: it judges every class by itself; else it judges all classes of a release together.
    `suppressible`: rows that violate it may be suppressed; else suppressing rows violates it as well.
    `partial_population`: of a population only people who share all values with a row of the table must be counted;
    others in the same class never lead to a violation.
    """

    monotone: bool = True
    stable: bool = True
    absorbing: bool = False
    sizes_only: bool = False
    class_wise: bool = True
    suppressible: bool = True
    partial_population: bool = True


# A person may have rows in both of two classes, so that nothing follows about the share of a value in their union.
NOT_OF_SHARES = {"monotone": False, "absorbing": False, "sizes_only": False}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A model's verdict on a release; `needs_original` if the published tables alone do not show it."""

    holds: bool
    achieved: Mapping[str, float]
    violating_classes: int = 0
    violating_rows: int = 0
    needs_original: bool = False


FOUND, LEARNED = "Being found", "Learning a value"
MEMBER, THRESHOLD = "Being in the table", "Risk of the whole release"
MODEL_GROUPS = (FOUND, LEARNED, MEMBER, THRESHOLD)
"""The groups of a list of models, by what people are protected from, in their order."""


@dataclass(frozen=True, slots=True)
class ModelWords:
    """How a model is presented: its title and group in a list, what it is for, and its guarantee with {figures}."""

    title: str
    group: str
    about: str
    guarantee: str


class Model(WithDocumentedParameters, NamedArguments, ABC):
    """A privacy model: a frozen value with its parameters. `a & b` asks for both.

    `row_counts` names the parameters that are numbers of rows: doubling them and all rows changes nothing; None if
    the model says nothing about a table with every row twice. `larger_is_stronger` names the parameters whose larger
    values are stronger; for all others smaller values are. `counts_rows`: the number of rows with a value matters, not
    only its presence. `splits_people`: where people are counted, a person with several values counts as a fraction for
    each. `compares_with_original`: the achieved value is measured against the whole original, so that with suppressed
    rows its digits reveal counts of the original.
    """

    __slots__ = ()
    name: ClassVar[str]
    words: ClassVar[ModelWords | None] = None
    traits: ClassVar[ModelTraits] = ModelTraits()
    # Whether it judges the links of a release in buckets instead of its classes.
    of_links: ClassVar[bool] = False
    # Whether it groups classes by their labels in some columns, so that the labels must be known.
    needs_labels: ClassVar[bool] = False
    row_counts: ClassVar[tuple[str, ...] | None] = ()
    larger_is_stronger: ClassVar[tuple[str, ...]] = ()
    counts_rows: ClassVar[bool] = True
    splits_people: ClassVar[bool] = False
    compares_with_original: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms that the model needs, as tuples of column names."""
        return ()

    @property
    def table_keys(self) -> tuple[Key, ...]:
        """The keys that are counted on the table itself: all but its population."""
        return tuple(key for key in self.keys if key != (POPULATION,))

    @property
    def needs_population(self) -> bool:
        """Whether the model compares classes with a population, so that one must be given."""
        return (POPULATION,) in self.keys

    @property
    def ordered(self) -> tuple[Key, ...]:
        """The keys whose values must be in their true order, because distances depend on it."""
        return ()

    @property
    def needs_hierarchies(self) -> tuple[str, ...]:
        """The columns whose hierarchy the model measures distances by, so that they must have one."""
        return ()

    @property
    def people_traits(self) -> ModelTraits:
        """The traits where people are counted: their number grows with every row, but a share may grow or shrink."""
        same = self.traits.sizes_only or not self.counts_rows
        return replace(self.traits, sizes_only=False) if same else replace(self.traits, **NOT_OF_SHARES)

    @property
    def smallest(self) -> int:
        """The smallest size of a class that can satisfy the model; for `sizes_only` models the exact limit."""
        return 1

    def people(self, classes: Classes) -> Counts:
        """Return how many people the model counts in each class: its rows, unless it counts something else."""
        return classes.sizes

    @property
    def inner(self) -> "Model":
        """The model that judges the counts: itself, unless it counts people instead of rows."""
        return self

    def around(self, inner: "Model") -> "Model":
        """Return a model with the condition of `inner` that counts as this one does, rows or people."""
        return inner

    def protects(self, histogram: Histogram) -> Mask:
        """Return which values of a histogram the model protects: all, unless it names some."""
        return np.ones(len(histogram.reference), dtype=bool)

    @property
    def caution(self) -> str | None:
        """A warning about the guarantee itself, where it is weaker than it looks; otherwise None."""
        return None

    @abstractmethod
    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes that break the guarantee."""

    def outside(self, classes: Classes, enough: int | None = None) -> Mask:
        """Return a mask of the classes to suppress so that the rest satisfies the model: those that break it.

        Models for which dropping one class breaks others override this. It may stop as soon as more than `enough` rows
        are dropped.
        """
        return self.violations(classes)

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers that parameters name."""
        return ()

    def require_quasi(self, quasi: Sequence[str]) -> None:
        """Raise `SchemaError` where parameters name columns that are not quasi-identifiers."""
        for name in self.quasi:
            if name not in quasi:
                raise SchemaError(
                    f"{self.spec()} names the column {name!r}, which is not a quasi-identifier",
                    hint=did_you_mean(name, quasi) or f"the quasi-identifiers are {', '.join(quasi)}",
                )

    def in_classes(self) -> "Model":
        """Return a class-wise model that implies this one, where one is known; otherwise itself."""
        return self

    def inevitable(self, classes: Classes) -> Counts:
        """Return, for each class, a lower bound of the rows that violate the model however the class is split.

        If the model is monotone (the union of satisfying parts satisfies it), every split of a violating class has a
        violating part: one row at least, and all rows if fewer than `smallest` would remain. If it is absorbing (no
        part of a violating class satisfies it), all rows. Otherwise 0. A model may return a higher bound.
        """
        broken = self.violations(classes)
        if self.traits.absorbing:
            return np.where(broken, classes.sizes, 0)
        return self._all_or_enough(classes, broken.astype(np.int64)) if self.traits.monotone else 0 * classes.sizes

    def _all_or_enough(self, classes: Classes, gone: Counts) -> Counts:
        """Return the rows that must go from each class: all of them where too few for a class would remain."""
        return np.where(classes.sizes - gone < self.smallest, classes.sizes, gone)

    @abstractmethod
    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the achieved value of each parameter over all classes, in the form in which a user would set it."""

    def histogram_tests(self, classes: Classes) -> tuple[HistogramTest, ...] | None:
        """Return tests that a class passes exactly if it satisfies the model, None if there are no such tests.

        `classes` are the cells that make up searched classes. Searches run these tests in compiled code, and
        otherwise call `violations`. A subclass has none unless it declares its own.
        """
        return None

    def judge(self, classes: Classes, links: Links | None = None) -> Judgement:
        """Return the verdict on all classes of a release; `links` is given where it is in buckets."""
        broken = self.violations(classes)
        rows = int(classes.sizes[broken].sum())
        return Judgement(not bool(broken.any()), self.achieved(classes), int(broken.sum()), rows)

    def resolved(self, sensitive: Sequence[str]) -> "Model":
        """Return the model for a table with these sensitive columns, where it applies to all of them."""
        return self

    def sampled(self, members: int) -> "Model":
        """Return the model for a table with this number of rows, or people, if it depends on it."""
        return self

    def respelled(self, texts: Mapping[str, str]) -> "Model":
        """Return the model with the new `texts` of values, if it names any."""
        return self

    def check(self, whole: Classes) -> None:
        """Raise `InfeasibleError` if even the whole table as one class breaks the guarantee."""
        if not len(whole) or not self.violations(whole).any():
            return
        best = ", ".join(f"{key} = {value:.6g}" for key, value in self.achieved(whole).items())
        raise InfeasibleError(
            f"{self.spec()} cannot hold: the whole table as one class does not satisfy it",
            hint=f"the whole table as one class achieves {best}",
            feasible=Feasible(self.achieved(whole), column=column_of(self)),
        )

    def parts(self) -> tuple["Model", ...]:
        """Return the models that this one is made of."""
        return (self,)

    def spec(self) -> str:
        """Return the model in the form of the command line: `name:key=value,key=value`."""
        return spell(self)

    @classmethod
    def advise(cls, given: object) -> str | None:
        """Return a hint for an argument that is not a model, or None."""
        if isinstance(given, type) and issubclass(given, Model):
            return f"give a model with its parameters: {call_of(given)}"
        if isinstance(given, list | tuple):
            return 'join several models with &, for example KAnonymity(5) & DistinctLDiversity("disease", l=2)'
        return f"for example model=KAnonymity({given})" if type(given) is int else None

    def __and__(self, other: "Model") -> "Model":
        given: object = other
        if not isinstance(given, Model):
            name = getattr(given, "__name__", type(given).__name__)
            advice = self.advise(given) if isinstance(given, type) else None
            raise ParameterError(
                f"& joins models; got {name}", hint=advice or 'write KAnonymity(5) & DistinctLDiversity("disease", l=3)'
            )
        return All((*self.parts(), *other.parts()))


def column_of(model: Model) -> str | None:
    """Return the single column that a model looks at, None where it looks at none or at several."""
    columns = {name for key in model.table_keys for name in key}
    return columns.pop() if len(columns) == 1 else None


@dataclass(frozen=True, slots=True)
class SensitiveModel(Model):
    """A model of one sensitive column; the base of those that judge its histogram in each class."""

    sensitive: Annotated[
        str,
        Parameter(
            "Protected column",
            "The sensitive column that is protected, for example disease; by default the only one.",
            ColumnName(optional=True),
        ),
    ] = ""

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histogram of the sensitive column."""
        return ((self.sensitive,),)

    def resolved(self, sensitive: Sequence[str]) -> Model:
        """Return the model for the only sensitive column where it names none; raise where there is not just one."""
        named = name_protected_column(self, sensitive)
        if not column_of(named):
            several = f"{len(sensitive)} of them" if sensitive else "none"
            raise SchemaError(
                f"{self.spec()} protects the only sensitive column, and the schema has {several}",
                hint=f"write {replace(self, sensitive=sensitive[0]).spec()}"
                if sensitive
                else "give the column that must not be learned the role sensitive",
            )
        return named

    def histogram(self, classes: Classes) -> Histogram:
        """Return how often each class has each value of the sensitive column."""
        return classes.histograms[(self.sensitive,)]


def name_protected_column(model: Model, sensitive: Sequence[str]) -> Model:
    """Return a model that names the only sensitive column where it named none; else the same model."""
    if isinstance(model, SensitiveModel) and not model.sensitive and len(sensitive) == 1:
        return replace(model, sensitive=sensitive[0])
    return model


@dataclass(frozen=True, slots=True)
class All(Model):
    """A conjunction: all of several models at once."""

    name: ClassVar[str] = "all"
    models: tuple[Model, ...] = field(default=())

    @property
    def traits(self) -> ModelTraits:  # type: ignore[override]
        """A conjunction has a trait if each part has it."""
        names = [trait.name for trait in fields(ModelTraits)]
        common = ModelTraits(**{name: all(getattr(m.traits, name) for m in self.models) for name in names})
        # Classes that models of the whole release drop may leave other groups of columns too small.
        wavers = self.needs_labels and not all(m.traits.class_wise or m.needs_labels for m in self.models)
        return replace(common, absorbing=common.absorbing and not wavers)

    @property
    def needs_labels(self) -> bool:  # type: ignore[override]
        """Whether a part groups classes by their labels."""
        return any(model.needs_labels for model in self.models)

    def require_quasi(self, quasi: Sequence[str]) -> None:
        """Raise for the first part that names other columns."""
        for model in self.models:
            model.require_quasi(quasi)

    def in_classes(self) -> Model:
        """Return the conjunction with each part replaced by a class-wise model that implies it, where one is known."""
        return All(tuple(model.in_classes() for model in self.models))

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms of every part, each once."""
        return tuple(dict.fromkeys(key for model in self.models for key in model.keys))

    @property
    def ordered(self) -> tuple[Key, ...]:
        """The ordered keys of every part, each once."""
        return tuple(dict.fromkeys(key for model in self.models for key in model.ordered))

    @property
    def smallest(self) -> int:
        """The largest of the parts' smallest class sizes."""
        return max((model.smallest for model in self.models), default=1)

    def violations(self, classes: Classes) -> Mask:
        """Return a mask of the classes that violate any part."""
        broken = np.zeros(len(classes), dtype=bool)
        for model in self.models:
            broken |= model.violations(classes)
        return broken

    def inevitable(self, classes: Classes) -> Counts:
        """Return the largest bound of any part: the rest of a class must satisfy each of them."""
        gone = np.zeros(len(classes), dtype=np.int64)
        for model in self.models:
            np.maximum(gone, model.inevitable(classes), out=gone)
        return self._all_or_enough(classes, gone)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the achieved values of every part, under `name.key`."""
        return {f"{m.name}.{key}": value for m in self.models for key, value in m.achieved(classes).items()}

    def resolved(self, sensitive: Sequence[str]) -> Model:
        """Return every part for a table with these sensitive columns."""
        return All(tuple(part for model in self.models for part in model.resolved(sensitive).parts()))

    def sampled(self, members: int) -> Model:
        """Return every part for a table with this number of rows, or people."""
        return All(tuple(model.sampled(members) for model in self.models))

    def people(self, classes: Classes) -> Counts:
        """Return the fewest people that a part sees in each class."""
        return np.minimum.reduce([classes.sizes, *(model.people(classes) for model in self.models)])

    def check(self, whole: Classes) -> None:
        """Raise for the first part that is infeasible."""
        for model in self.models:
            model.check(whole)

    def parts(self) -> tuple[Model, ...]:
        """Return the parts."""
        return self.models

    def spec(self) -> str:
        """Return every part's spec, joined by `&`."""
        return " & ".join(model.spec() for model in self.models)
