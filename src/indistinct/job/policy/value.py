"""A policy as a value: which table, which roles, which model, which algorithm, and where the release goes."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm
from indistinct.engines.base import DatabaseTable
from indistinct.errors import ParameterError, SchemaError, did_you_mean
from indistinct.hierarchy.explicit import move_file, table_of_values
from indistinct.hierarchy.value import Hierarchy
from indistinct.metrics.base import Metric
from indistinct.models import Model
from indistinct.models.base import name_protected_column
from indistinct.models.registry import all_of
from indistinct.recoding.columns import INTERVALS, NO_IMPORTANCE, Importance, LevelBounds, NumericForms
from indistinct.recoding.outputs import RangeForm
from indistinct.recoding.transformations import Transformation, kept_hierarchies
from indistinct.release.pseudonyms.making import Pseudonym, with_declared_knowledge
from indistinct.release.writing.delimited import Writing
from indistinct.schema import Schema
from indistinct.suppression_limit import NO_BUDGET, Budget, parse_budget
from indistinct.tables.addresses import is_elsewhere
from indistinct.tables.value import Reading


@dataclass(frozen=True, slots=True)
class Input:
    """The file that is read, and how; `population` is a table of all people from whom it was drawn, read alike.

    Where a table of a `database` is read, there is no path. Of a `sample` only that share of rows is published.
    """

    path: Path
    reading: Reading = Reading()  # noqa: RUF009 (a frozen value)
    population: Path | None = None
    database: DatabaseTable | None = None
    sample: float | None = None

    def with_version(self, version: int | None) -> "Input":
        """Return the same with the version of its table that is read."""
        return replace(self, reading=replace(self.reading, version=version))

    def of_other_table(self, path: Path) -> "Input":
        """Return the input of another file with the same reading options, without the version of the first table."""
        return replace(self.with_version(None), path=path, database=None)


@dataclass(frozen=True, slots=True)
class Output:
    """Where the release and its report are written; the certificate is next to the release.

    `ledger` remembers all releases of the same people. The certificate hides smaller counts than `smallest_count`. A
    release may go to a table of a `database` instead of a path. `writing` is how a text file looks, and `ranges`
    whether ranges are labels or columns. `partition_by` are the columns of a folder of partitions.
    """

    path: Path | None = None
    report: Path | None = None
    ledger: Path | None = None
    smallest_count: int | None = None
    database: DatabaseTable | None = None
    writing: Writing = Writing()  # noqa: RUF009 (a frozen value)
    ranges: RangeForm | None = None
    partition_by: tuple[str, ...] = ()

    @property
    def paths(self) -> dict[str, Path]:
        """Return the paths that are named, by their keys."""
        named = {"path": self.path, "report": self.report, "ledger": self.ledger}
        return {key: path for key, path in named.items() if path is not None}

    def moved(self, move: Callable[[Path], Path]) -> "Output":
        """Return the same with other paths."""
        paths = {key: move(path) for key, path in self.paths.items()}
        return replace(self, path=paths.get("path"), report=paths.get("report"), ledger=paths.get("ledger"))


@dataclass(frozen=True, slots=True)
class Statement:
    """What people state about a release, for its report: what for and for whom, and who answers for it.

    `profile` is the text of the profile with which the release is compared, such as public. `reassess` is when the risk
    is looked at again. `assumed` and `not_assumed` are attackers, in words.
    """

    profile: str | None = None
    purpose: str | None = None
    recipient: str | None = None
    operator: str | None = None
    reviewer: str | None = None
    reassess: str | None = None
    assumed: tuple[str, ...] = ()
    not_assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnalysisPlan:
    """Analyses of a study, run on the original and on the release by `analyze`; the fields are its parameters."""

    formulas: tuple[str, ...] = ()
    family: str | None = None
    tables: tuple[str, ...] = ()
    means: tuple[str, ...] = ()
    medians: tuple[str, ...] = ()
    correlations: tuple[str, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict)
    weights: str | None = None

    @property
    def asks(self) -> bool:
        """Return whether any analysis is named."""
        return bool(self.formulas or any(self.questions.values()))

    @property
    def questions(self) -> dict[str, tuple[str, ...]]:
        """The tables, means, medians and correlations that are named."""
        return {"table": self.tables, "mean": self.means, "median": self.medians, "correlation": self.correlations}

    @property
    def arguments(self) -> dict[str, Any]:
        """The analyses as arguments of `analyze`."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


RELEASE_MODELS = ("public", "controlled", "internal")


@dataclass(frozen=True, slots=True)
class Context:
    """The circumstances of a release, as a form asks for them.

    `attempt_probability` is how likely an attack is tried: 1 for public release, otherwise a number with its
    `attempt_source`. `grades` are the replicability, availability and distinguishability of columns.
    """

    release_model: str | None = None
    purpose: str | None = None
    recipients: str | None = None
    controls: tuple[str, ...] = ()
    contract: bool = False
    decides: str | None = None
    retention: str | None = None
    review: str | None = None
    threshold: str | None = None
    attempt_probability: float | None = None
    attempt_source: str | None = None
    grades: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        public = self.release_model == "public"
        if self.release_model is not None and self.release_model not in RELEASE_MODELS:
            raise ParameterError(
                f"`release_model` must be one of {', '.join(RELEASE_MODELS)}; got {self.release_model!r}",
                hint=did_you_mean(self.release_model, RELEASE_MODELS),
            )
        if public and self.contract:
            raise ParameterError(
                "a public release has no contract: everybody receives it",
                hint='release_model = "controlled", or leave out contract',
            )
        if public and self.attempt_probability not in (None, 1, 1.0):
            raise ParameterError(
                "for a public release an attempt is certain: attempt_probability is 1", hint="leave it out"
            )
        if self.attempt_probability is not None and not 0 < self.attempt_probability <= 1:
            raise ParameterError(
                f"`attempt_probability` must be above 0 and at most 1; got {self.attempt_probability:g}"
            )
        if not public and (self.attempt_probability is None) != (self.attempt_source is None):
            raise ParameterError(
                "`attempt_probability` and `attempt_source` go together",
                hint='attempt_probability = 0.3, attempt_source = "the study that the number comes from"',
            )
        if any(len(each) != 3 for each in self.grades.values()):
            raise ParameterError(
                "`grades` has three words for a column: replicability, availability, distinguishability",
                hint='grades = { age = ["high", "high", "medium"] }',
            )

    @property
    def attempt(self) -> float | None:
        """The probability that an attack is tried: 1 for public release, None if it is not stated."""
        return 1.0 if self.release_model == "public" else self.attempt_probability

    def text_of(self, name: str) -> str | None:
        """Return the text of a field for display, None if it is empty."""
        if name == "attempt_probability":
            source = f" ({self.attempt_source})" if self.attempt_source else ""
            return None if self.attempt is None else f"{self.attempt:g}{source}"
        if name == "controls":
            return ", ".join((*self.controls, *(["a contract"] if self.contract else []))) or None
        value: str | None = getattr(self, name)
        return value


@dataclass(frozen=True, slots=True)
class Policy:
    """The whole job.

    Paths are kept as written and start at `base`, the folder of the policy; `locate` resolves one. `suppression` says
    how many of the original rows, or people, may be dropped, `target` the column of the classification metric, and no
    `metrics` means the standard ones. `transformations` are those of columns that are not recoded, and `pseudonyms`
    replace identifiers, with paths as written. `fresh` are columns that are measured anew for every release.
    `importance` says which quasi-identifiers matter more than others, and `levels` between which levels of their
    hierarchy they are published. `numeric` has the forms of single columns of numbers and dates. `analysis` names the
    study's own analyses, and `context` the circumstances that forms ask for. `reasons` say why a column has its role,
    and `about` is what people state about the release. `name` is that of its file, where it is in one.
    """

    input: Input
    schema: Schema
    models: tuple[Model, ...]
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: Budget = NO_BUDGET
    algorithm: Algorithm = Auto()  # noqa: RUF009 (a frozen value)
    target: str | None = None
    metrics: tuple[Metric, ...] = ()
    output: Output = Output()
    transformations: Mapping[str, Transformation] = field(default_factory=dict)
    pseudonyms: Mapping[str, Pseudonym] = field(default_factory=dict)
    knows: str | None = None
    fresh: tuple[str, ...] = ()
    importance: Importance = NO_IMPORTANCE
    levels: LevelBounds = LevelBounds()  # noqa: RUF009 (a frozen value)
    numeric: NumericForms = INTERVALS
    about: Statement = Statement()
    analysis: AnalysisPlan = field(default_factory=AnalysisPlan)
    context: Context = field(default_factory=Context)
    reasons: Mapping[str, str] = field(default_factory=dict)
    base: Path = field(default=Path(), compare=False)
    name: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "suppression", parse_budget(self.suppression))
        sensitive = self.schema.sensitive
        object.__setattr__(self, "models", tuple(name_protected_column(each, sensitive) for each in self.models))

    @property
    def model(self) -> Model | None:
        """Return the conjunction of the policy's models; None where the algorithm has a guarantee of its own."""
        return all_of(self.models) if self.models else None

    @property
    def population(self) -> Path | None:
        """Return the file of the population, if there is one; a sample is drawn from its own file."""
        sampled = self.input.path if self.input.sample is not None and self.input.database is None else None
        named = self.input.population or sampled
        return None if named is None else self.locate(named)

    @property
    def used_hierarchies(self) -> dict[str, Hierarchy]:
        """Return the hierarchies of published columns; that of a transformed one knows other values."""
        return kept_hierarchies(self.hierarchies, self.transformations)

    @property
    def located_pseudonyms(self) -> dict[str, Pseudonym]:
        """Return the pseudonyms with the paths of their keys resolved."""
        return {name: _moved_key(each, self.locate) for name, each in self.declared_pseudonyms.items()}

    @property
    def declared_pseudonyms(self) -> dict[str, Pseudonym]:
        """Return the pseudonyms with what attackers are declared to know about rows."""
        return with_declared_knowledge(self.pseudonyms, self.knows)

    @property
    def source(self) -> Path | DatabaseTable:
        """Return the input: a table of a database, or the resolved path of a file."""
        return self.input.database or self.locate(self.input.path)

    def reading_at(self, path: str | Path | None) -> Reading:
        """Return the reading options for a path; the version applies only to the policy's own input."""
        known = self.source
        same = path is None or (isinstance(known, Path) and Path(path).absolute() == known.absolute())
        return self.input.reading if same else self.input.with_version(None).reading

    @property
    def place(self) -> Path | DatabaseTable | None:
        """Return where the release is written, None if the policy does not say it."""
        path = self.output.path
        return self.output.database or (None if path is None else self.locate(path))

    @property
    def files(self) -> tuple[Path, ...]:
        """Return every file that the policy reads."""
        tables = map(table_of_values, self.hierarchies.values())
        named = [each.path for each in tables if each is not None and each.path is not None]
        keys = [each.key for each in self.pseudonyms.values() if each.key is not None]
        read = [*([] if self.input.database else [self.input.path]), *map(Path, named), *map(Path, keys)]
        return tuple(map(self.locate, read if self.input.population is None else [*read, self.input.population]))

    def locate(self, path: Path) -> Path:
        """Resolve a path relative to the policy's folder."""
        return path if is_elsewhere(path) else self.base / path


def rebased(policy: Policy, base: Path) -> Policy:
    """Return a policy that leads to the same files from another folder."""
    if base.resolve() == policy.base.resolve():
        return replace(policy, base=base)

    def move(path: Path) -> Path:
        return path if path.is_absolute() or is_elsewhere(path) else relative_path(policy.locate(path), base)

    return move_files(policy, move, base=base)


def move_files(
    policy: Policy,
    move: Callable[[Path], Path],
    *,
    base: Path,
    move_hierarchy: Callable[[Path], Path | None] | None = None,
) -> Policy:
    """Return a policy for another folder, whose paths are changed by `move`.

    `move_hierarchy` says so of the files of hierarchies; where it says None, a hierarchy is written out.
    """
    read, how = policy.input, move_hierarchy or move
    return replace(
        policy,
        input=replace(
            read,
            path=read.path if read.database else move(read.path),
            population=None if read.population is None else move(read.population),
        ),
        hierarchies={column: move_file(each, how) for column, each in policy.hierarchies.items()},
        output=policy.output.moved(move),
        pseudonyms={name: _moved_key(each, move) for name, each in policy.pseudonyms.items()},
        base=base,
    )


def _moved_key(pseudonym: Pseudonym, move: Callable[[Path], Path]) -> Pseudonym:
    """Return a pseudonym with the path of its key moved, if it has one."""
    return pseudonym if pseudonym.key is None else replace(pseudonym, key=move(Path(pseudonym.key)))


def relative_path(path: Path, base: Path) -> Path:
    """Return a path relative to a folder, also where it has to climb up; an address is unchanged."""
    return path if is_elsewhere(path) else Path(os.path.relpath(path.resolve(), base.resolve()))


def predicted_column(target: str | None, metrics: tuple[Metric, ...], *, schema: Schema) -> str | None:
    """Return the column that the classification metric predicts, which a metric may name as well."""
    named = {name for metric in metrics for key in metric.keys for name in key} | ({target} if target else set())
    if len(named) > 1:
        raise SchemaError(
            f"one column can be predicted; named: {', '.join(sorted(named))}", hint="name one column in both places"
        )
    for name in named:
        if name not in schema.published:
            raise SchemaError(
                f"{name!r} is not a published column, so it cannot be predicted",
                hint=did_you_mean(name, schema.published) or f"published: {', '.join(schema.published)}",
            )
    return next(iter(named), None)
