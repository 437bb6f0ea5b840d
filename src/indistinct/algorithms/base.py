"""What an algorithm receives (`Problem`) and what it guarantees (`AlgorithmTraits`).

An algorithm searches cells for a recoding; it sees no rows and no engine.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from indistinct.algorithms.explanation import Explanation
from indistinct.errors import IndistinctError, ParameterError
from indistinct.figures import Sentence
from indistinct.frequencies.count import Request
from indistinct.frequencies.structure import CLASSES, Structure
from indistinct.frequencies.structure import Unit as UnitOfRelease
from indistinct.frequencies.value import Classes, FrequencySet, Key
from indistinct.hierarchy.builders import Suppression
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arguments import CheckedArguments, call_of, with_checked_arguments
from indistinct.machine.memory import needs_memory
from indistinct.machine.stages import Progress as Progress
from indistinct.metrics.loss import GeneralizedTuple
from indistinct.models.base import Model
from indistinct.parameters import WithDocumentedParameters, check_parameters
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import NO_IMPORTANCE, Importance, LevelBounds, NumericForms, QuasiColumn, numeric_forms
from indistinct.recoding.kinds import RecodedColumn, Recoding
from indistinct.recoding.outputs import Assignment, PublishedColumn
from indistinct.schema import Schema
from indistinct.suppression_limit import NO_BUDGET, Budget, Unit
from indistinct.tables.domain import Domain
from indistinct.text_form import arguments_of, spell

LOG = logging.getLogger("indistinct.search")


def _silent(_told: object) -> None:
    """Discard progress or an explanation."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A table as cells, and what its release must satisfy.

    `suppression` is the number of rows that may be suppressed, or of people where `unit` is people. `sensitive` has the
    sensitive columns where a search puts rows into buckets; `columns` then has all others, and every sensitive column
    has a histogram. A search that draws at random uses the operating system's generator, or `seed` if it is given. It
    reports its progress as a share from 0 to 1 and adds what it did to `counters` (checks, scans, rollups, merges). A
    search that chooses among algorithms reports why through `explain`. `with_absent` is set where a population is
    counted: the cells plus one cell without rows for every combination of values that only the population has; searches
    with the trait `whole_domain` receive these. `importance` has the attribute weights. `levels` has the minimum and
    maximum generalization of columns; `forest` names the columns whose hierarchy was cut off at the maximum, so that it
    has several top nodes. `lifting` is set where values were united by a minimum level: it translates a recoding back
    to the table's values. `known` has the domains of all columns that were counted.
    """

    frequencies: FrequencySet
    columns: tuple[QuasiColumn, ...]
    model: Model
    suppression: int = 0
    progress: Progress = _silent
    explain: Callable[[Explanation], None] = _silent
    counters: Counter[str] = field(default_factory=Counter)
    sensitive: tuple[QuasiColumn, ...] = ()
    seed: int | None = None
    unit: str = "rows"
    with_absent: FrequencySet | None = None
    importance: Importance = NO_IMPORTANCE
    levels: LevelBounds = LevelBounds()  # noqa: RUF009 (a frozen value)
    forest: frozenset[str] = frozenset()
    lifting: "Lifting | None" = None
    known: Mapping[str, Domain] = field(default_factory=dict)

    def seen_by(self, algorithm: "Algorithm") -> "Problem":
        """Return the problem with or without the population's cells that no row has, as the algorithm requires."""
        if self.with_absent is None or not algorithm.traits.whole_domain:
            return self
        return replace(self, frequencies=self.with_absent)

    def require_possible(self) -> None:
        """Raise `InfeasibleError` if the whole table as one class breaks the model and nothing finer can satisfy it.

        A model that is not monotone may hold for parts of a class that breaks it, and one that is not absorbing for
        some of its rows; both are left to the search.
        """
        traits = self.model.traits
        if traits.monotone and (traits.absorbing or not self.suppression):
            self.model.check(self.whole())

    def tree_columns(self) -> tuple[QuasiColumn, ...]:
        """The columns as hierarchies; a column without one is published unmodified or suppressed."""
        return tuple(QuasiColumn(c.domain, c.taxonomy or Suppression().bind(c.domain), tree=True) for c in self.columns)

    @property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """The hierarchies in the order of the columns; a column without one has its values and `*`."""
        return tuple(column.taxonomy for column in self.tree_columns() if column.taxonomy is not None)

    @with_checked_arguments
    def tuple_of(self, values: Mapping[str, Any]) -> GeneralizedTuple:
        """Return a tuple of nodes, given a value or a hierarchy label for each column.

        Metrics compute distances from it.
        """
        missing = [column.name for column in self.columns if column.name not in values]
        if missing:
            raise ParameterError(f"a tuple has a value for every column; missing: {', '.join(missing)}")
        nodes = [
            _find_node(taxonomy, column.domain, values[column.name])
            for taxonomy, column in zip(self.taxonomies, self.columns, strict=True)
        ]
        codes, levels = zip(*nodes, strict=True)
        return GeneralizedTuple(codes, levels)

    def published(self, j: int, column: RecodedColumn) -> PublishedColumn:
        """Return what a recoded column publishes, in the form that metrics measure."""
        lifted = column if self.lifting is None else self.lifting.lift_column(j, column)
        return lifted.summary.published

    def assigned(self, recoding: Recoding) -> Assignment:
        """Return the classes that a recoding makes of the table, in the form that metrics measure."""
        if self.lifting is None:
            return assign(self.frequencies, recoding)
        return assign(self.lifting.original.frequencies, self.lifting.lift(recoding))

    def whole(self) -> Classes:
        """Return the whole table as one class."""
        return self.frequencies.classes.regroup(np.zeros(len(self.frequencies), dtype=np.int32), 1)


class Lifting(Protocol):
    """How a recoding of united values is turned into one of the table's own values."""

    @property
    def original(self) -> Problem:
        """The problem before values were united."""

    def lift(self, recoding: Recoding) -> Recoding:
        """Return the recoding expressed in the values of the table."""

    def lift_column(self, j: int, column: RecodedColumn) -> RecodedColumn:
        """Return column `j` of a recoding expressed in the values of the table, measured by its whole hierarchy."""


def _find_node(taxonomy: Taxonomy, domain: Domain, value: Any) -> tuple[int, int]:
    """Return the lowest node that a value or label names, as (raw code below the node, level of the node)."""
    wanted = None if value is None else str(value)
    for level, labels in enumerate([domain.texts(), *taxonomy.labels[1:]]):
        if wanted in labels:
            return int(np.argmax(taxonomy.ancestors[:, level] == labels.index(wanted))), level
    raise ParameterError(
        f"column {taxonomy.column!r} has no such value, and its hierarchy no such label",
        hint="give values as the table has them, or labels as the hierarchy shows them",
    )


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """A problem all of whose columns are cut and published through hierarchies."""

    problem: Problem

    @cached_property
    def columns(self) -> tuple[QuasiColumn, ...]:
        """The quasi-identifiers, each with a hierarchy and cut through it."""
        return self.problem.tree_columns()

    @cached_property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """The hierarchies in quasi-identifier order."""
        return tuple(column.taxonomy for column in self.columns if column.taxonomy is not None)


@dataclass(frozen=True, slots=True)
class AlgorithmTraits:
    """What an algorithm guarantees and needs.

    - `optimal`: its answer is proven best.
    - `local`: equal values may be published differently.
    - `hierarchies`: every quasi-identifier needs one.
    - `monotone`: the model must be monotone, and also absorbing where rows are suppressed, because the search concludes
      from classes to their unions.
    - `splits`: rows with equal values may fall into different classes.
    - `suppresses`: it uses the suppression limit.
    - `ranges`: numbers, dates and declared orders become ranges of its own, whatever intervals are declared.
    - `reusable`: its recodings can be applied to other tables.
    - `buckets`: it publishes buckets of exact values instead of generalized ones, and has its own guarantee.
    - `own_promise`: it searches for its own guarantee only; any other model is only verified.
    - `release_wide`: it checks all classes of a candidate together, as models of the whole release need.
    - `whole_domain`: a candidate maps every combination of values, so that people of a population can be counted whose
      values no row has.
    - `tight`: every published range, set or node is the narrowest that covers the rows of its class, which a downcoding
    attack uses.
    - `tight_columns`: every published range is the narrowest that covers all rows that show it, across all classes.
    - `draws`: it draws random numbers, so that the table alone does not determine the release.
    - `column_sets`: it knows the labels of every class of a candidate, so that a model may group classes by some
      columns; `release_wide` searches do.
    - `one_level`: each column is published on one level of its hierarchy, so that a search above some levels needs no
      cells below them.
    """

    optimal: bool = False
    local: bool = False
    hierarchies: bool = False
    monotone: bool = False
    splits: bool = False
    suppresses: bool = False
    ranges: bool = False
    reusable: bool = True
    buckets: bool = False
    own_promise: bool = False
    release_wide: bool = False
    whole_domain: bool = False
    tight: bool = False
    tight_columns: bool = False
    draws: bool = False
    column_sets: bool = False
    one_level: bool = False

    @property
    def unit(self) -> UnitOfRelease:
        """What releases consist of: classes, or buckets."""
        return "bucket" if self.buckets else "class"

    @property
    def keeps_values(self) -> bool:
        """Whether values stay unmodified because links are broken in their place: a search offers no coarser ones."""
        return self.buckets

    @property
    def own_guarantee(self) -> bool:
        """Whether a release is worth something without a model."""
        return self.buckets

    @property
    def recodings(self) -> frozenset[str]:
        """The kinds of recodings that the search may return, by the names under which they are stored."""
        if self.buckets:
            return frozenset({"by-bucket"})
        if self.splits:
            return frozenset({"by-cell", "by-row"})
        return frozenset({"by-region", "by-cell"} if self.local else {"by-column"})


ONE_COLUMN = "one column"
"""Marks a parameter of an algorithm that applies only to tables with one quasi-identifier."""


@dataclass(frozen=True, slots=True)
class AlgorithmWords:
    """How an algorithm is presented to people who do not know its name: a title, and what it does."""

    title: str
    about: str


class Algorithm(WithDocumentedParameters, CheckedArguments, ABC):
    """A search for a recoding: a frozen value with its parameters."""

    __slots__ = ()
    name: ClassVar[str]
    words: ClassVar[AlgorithmWords | None] = None
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits()

    def __post_init__(self) -> None:
        check_parameters(self)

    @classmethod
    def advise(cls, given: object) -> str | None:
        """Return a hint for an argument that is not an algorithm, or None."""
        if isinstance(given, type) and issubclass(given, Algorithm):
            return f"give an algorithm with its parameters: {call_of(given)}"
        return "give one; `compare` tries several" if isinstance(given, list | tuple) else None

    @property
    def keys(self) -> tuple[Key, ...]:
        """The histograms that the search needs beyond those of the model."""
        return ()

    @property
    def chooses(self) -> bool:
        """Whether it chooses among other algorithms, so that its name does not identify the one that was used."""
        return False

    @property
    def weighs_columns(self) -> bool:
        """Whether attribute weights influence the search; a release notes where they do not."""
        return True

    @property
    def numeric_forms(self) -> NumericForms:
        """The forms in which classes publish numbers and dates; intervals unless there is a parameter `numeric`."""
        return numeric_forms(arguments_of(self).get("numeric"))

    def with_numeric(self, forms: NumericForms) -> "Algorithm":
        """Return the search with other forms for some columns; raise `ParameterError` if it makes no ranges."""
        if not forms.by_column:
            return self
        if "numeric" not in arguments_of(self):
            raise ParameterError(
                f"`numeric` of a column needs an algorithm that makes ranges of its own; {self.name} does not",
                parameter="numeric",
                hint="use mondrian, single-dimensional or mdav, or leave out `numeric`",
            )
        return type(self)(**arguments_of(self) | {"numeric": self.numeric_forms.with_columns(forms)})

    def with_target(self, target: str | None) -> "Algorithm":
        """Return the search with the job's target, where it uses a target and has none of its own."""
        return self

    def for_reuse(self) -> "Algorithm":
        """Return the search adjusted so that its recodings can be applied to other tables, as far as it can."""
        return self

    def by_passes(self) -> "Algorithm | None":
        """Return the Mondrian search that replaces this one where cells do not fit in memory; None if there is none."""
        return None

    def explain_fallback(self, problem: Problem, recoding: Recoding, algorithm: "Algorithm") -> Explanation | None:
        """Explain why another algorithm was used where cells do not fit in memory; None if this one was used."""
        return None

    def require_columns(self, schema: Schema) -> None:
        """Raise `SchemaError` where a parameter names a column that is not published."""

    def chosen_node(self, heights: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the lattice node chosen by hand, given the heights of the hierarchies.

        None where the node is searched for.
        """
        return None

    def promise(self) -> Model | None:
        """Return the model that every release of this algorithm satisfies by construction; None if there is none."""
        return None

    def own_budget(self, model: Model, unit: Unit) -> Budget:
        """Return the suppression limit of the algorithm's own rule, used where the job sets none."""
        return NO_BUDGET

    def structure(self, schema: Schema, certified: Structure = CLASSES) -> Structure:
        """Return the structure of releases: classes, or buckets.

        `certified` is the structure in a certificate; it has the columns that the search found, which are not in the
        parameters.
        """
        return CLASSES

    def require_classes(self, otherwise: IndistinctError) -> None:
        """Raise an error, which gives the reason, where releases are in buckets."""

    def require_roles(self, schema: Schema, model: Model) -> None:
        """Raise for columns that a release cannot have, and for a model that looks at what it does not show."""

    def separated(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that a release separates from the others, so that the search must know their values."""
        return ()

    def request(
        self, schema: Schema, keys: Sequence[Key], hierarchies: Mapping[str, Hierarchy], *, to_publish: Sequence[str]
    ) -> Request:
        """Return what is counted for the search: the cells of quasi-identifiers, with the histograms of `keys`."""
        joint = self.traits.splits
        return Request(schema.quasi, keys, hierarchies, joint=joint, person=schema.person, to_publish=to_publish)

    def publishes_hierarchy(self, column: QuasiColumn) -> bool:
        """Return whether a release shows hierarchy labels for a column that has a hierarchy."""
        return not (self.traits.ranges and column.ranged)

    def refusal(self, model: Model, *, suppression: bool) -> str | None:
        """Return why the search cannot work for a model, or None if it can.

        The support matrix is generated from this.

        `suppression` says whether rows may be suppressed.
        """
        wanted, given = self.traits, model.traits
        if model.needs_labels and wanted.buckets:
            return "it counts combinations of published values, and buckets remove the links between them"
        apart = [part for part in model.parts() if not part.traits.class_wise]
        if any(not part.needs_labels for part in apart) and not wanted.release_wide and not wanted.own_promise:
            return "it judges all classes of a release together, and the search judges them one by one"
        if apart and not wanted.release_wide and not wanted.column_sets and not wanted.own_promise:
            return "it groups classes by a few columns each, and the search judges classes one by one"
        if model.needs_population and (wanted.splits or wanted.buckets):
            return "rows with equal values may be in different classes, so those of people of a population are unknown"
        if model.needs_population and not given.partial_population and not wanted.whole_domain:
            return "it also judges people whose values no row has, and the search does not know where they would be"
        if wanted.monotone and not given.monotone:
            return "it is not monotone, and the search concludes from classes to their unions"
        if wanted.monotone and wanted.suppresses and suppression and not given.absorbing:
            return "once rows may be suppressed, a class that satisfies it may break it when rows join"
        return None

    def require(self, problem: Problem) -> None:
        """Raise `ParameterError` if the search cannot work for the problem's model."""
        reason = self.refusal(problem.model, suppression=problem.suppression > 0)
        if reason is not None:
            keeping = self.refusal(problem.model, suppression=False) is None
            raise ParameterError(
                f"{self.name} cannot search for {problem.model.spec()}: {reason}",
                hint=f"use {'suppression=0, or ' if keeping else ''}the algorithm optimal",
            )
        self.numeric_forms.require_numbers(problem.columns)

    def require_whole(self, problem: Problem) -> None:
        """Raise where the search cannot work for a model, or the whole table as one class does not satisfy it."""
        self.require(problem)
        problem.model.check(problem.whole())

    @with_checked_arguments
    def find(self, problem: Problem) -> Recoding:
        """Return a recoding whose classes satisfy the model; raise `InfeasibleError` if there is none.

        Callers use this method. It calls `search`, except where an algorithm has a parameter of that name.
        """
        return self.search(problem)

    @abstractmethod
    def search(self, problem: Problem) -> Recoding:
        """Return the recoding; each algorithm implements this method."""


def fewest_rows(model: Model) -> int:
    """Return the least number of rows of a class, as far as the model implies one.

    Conditions such as a number of distinct values are judged by the model on every change, so that a table in which
    every row occurs twice is searched in the same way.
    """
    return max((part.smallest for part in model.parts() if part.row_counts or part.traits.sizes_only), default=1)


@needs_memory("searching")
def run_search(
    algorithm: Algorithm, problem: Problem, find: Callable[[Algorithm, Problem], Recoding] = Algorithm.find
) -> Recoding:
    """Run the search and log counters and seconds; no cell value is logged."""
    algorithm.require(problem)
    problem = problem.seen_by(algorithm)
    began, size = time.perf_counter(), problem.frequencies
    LOG.info("searching with %s: %d cells, %d rows", algorithm.name, len(size), size.rows)
    recoding = find(algorithm, problem)
    problem.progress(1.0)
    counts = ", ".join(f"{name} {count:g}" for name, count in sorted(problem.counters.items()))
    LOG.info("searched with %s: %s; %.3f s", algorithm.name, counts or "nothing counted", time.perf_counter() - began)
    return recoding


def unused_settings(
    algorithm: Algorithm, problem: Problem, *, hierarchies: Collection[str] = (), suppression: Budget = NO_BUDGET
) -> tuple[str, ...]:
    """Return a warning for each setting that the search ignores: hierarchies by column, or a suppression limit."""
    by_name = {column.name: column for column in problem.columns}
    judged = {name for key in problem.model.keys for name in key}
    strange = [name for name in hierarchies if name not in by_name and name not in judged]
    hidden = [by_name[name] for name in hierarchies if name in by_name and not by_name[name].domain.declared]
    hidden = [column for column in hidden if not algorithm.publishes_hierarchy(column)]
    unused = []
    if hidden:
        why = (
            "keeps values unmodified"
            if algorithm.traits.keeps_values
            else "makes ranges of its own, and metrics alone look at them"
        )
        what = "the hierarchy" if algorithm.traits.keeps_values else "the bands"
        unused.append(
            f"{what} of {_list_names([column.name for column in hidden])} will not be published: "
            f"{algorithm.name} {why}; "
            "a full-domain algorithm, such as optimal, publishes what is declared"
        )
    if strange:
        unused.append(
            f"the hierarchy of {_list_names(strange)} is not used: neither the search nor the model looks at it"
        )
    if problem.importance and not algorithm.weighs_columns:
        unused.append(
            f"importance is not used: {spell(algorithm)} weighs no columns; optimal:metric=loss, datafly, mondrian and "
            "cell-suppression do"
        )
    if suppression and not algorithm.traits.suppresses:
        unused.append(f"suppression = {suppression} is not used: {algorithm.name} drops no rows")
    elif suppression and not problem.suppression:
        unused.append(
            Sentence(
                f"suppression = {suppression} allows none of {{{problem.unit}}} {problem.unit} to be dropped",
                **{problem.unit: problem.frequencies.members},
            )
        )
    return tuple(unused)


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
