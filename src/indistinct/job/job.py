"""A job: everything that a run needs to make a release, and whether its table, roles, model and hierarchies fit."""

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from indistinct.algorithms.base import Algorithm, Problem, Progress
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines import closes_sources, open_source
from indistinct.engines.base import DatabaseTable, Source
from indistinct.errors import InputError, SchemaError, did_you_mean
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.population import with_population
from indistinct.frequencies.value import PERSON, Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.policy.value import Policy
from indistinct.machine.arguments import with_checked_arguments
from indistinct.models import Model
from indistinct.models.of_people import people_as_rows
from indistinct.recoding.columns import INTERVALS, NO_IMPORTANCE, Importance, LevelBounds, NumericForms, columns_of
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import RangeForm
from indistinct.recoding.transformations import Transformation
from indistinct.release.certificate import SMALLEST
from indistinct.release.history.histories import History
from indistinct.release.promise import check_kinds, check_notations, judging, reading_again
from indistinct.release.pseudonyms.making import Pseudonym
from indistinct.release.verification.population import count_beside, using_population
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.places import Destination, Place
from indistinct.schema import Schema
from indistinct.suppression_limit import NO_BUDGET, AnyBudget, Budget, parse_budget
from indistinct.tables.addresses import address_of, is_elsewhere
from indistinct.tables.value import Reading


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Everything that a run needs.

    `table` and `population` are anything that can be opened; a table that is not open yet is read as `reading` says. A
    job with a `recoding` applies it; any other searches with its `algorithm`. A `suppression` of None is what the
    recoding allowed. `ranges` says whether ranges are published as labels or as columns of their ends. A `sample` is
    the share of rows that is drawn first. `numeric` has the forms of single columns of numbers and dates. With
    `hold_back` people whom earlier releases would leave among too few are left out first.

    >>> job = Job("people.csv", Schema(quasi=["age"]), model="k-anonymity:k=5")
    >>> job.engine, job.destination.output, job.budget
    ('auto', None, Budget(amount=0.0, unit=None))
    """

    table: Any
    schema: Schema
    model: Model | str | None = None
    algorithm: Algorithm | str | None = None
    recoding: Recoding | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: AnyBudget | None = None
    target: str | None = None
    transformations: Mapping[str, Transformation] = field(default_factory=dict)
    pseudonyms: Mapping[str, Pseudonym] = field(default_factory=dict)
    population: Any = None
    sample: float | None = None
    reading: Reading | None = None
    destination: Destination = Destination()  # noqa: RUF009 (a frozen value)
    history: History = History()  # noqa: RUF009 (a frozen value)
    hold_back: bool = False
    importance: Importance = NO_IMPORTANCE
    levels: LevelBounds = LevelBounds()  # noqa: RUF009 (a frozen value)
    numeric: NumericForms = INTERVALS
    engine: str = "auto"
    memory: str | int | None = None
    seed: int | None = None
    progress: Progress | None = None
    ranges: RangeForm = "labels"

    @property
    def budget(self) -> Budget:
        """Return how many rows, or people, may be dropped."""
        if self.suppression is not None:
            return parse_budget(self.suppression)
        return NO_BUDGET if self.recoding is None else self.recoding.budget

    @property
    def keeps_recoding(self) -> bool:
        """Return whether the recoding is of use after the release: it is stored, or compared with other releases."""
        history = self.history
        return any(each is not None for each in (self.destination.save_recoding, history.previous, history.ledger))

    def report(self, share: float) -> None:
        """Say how much of the job is done."""
        if self.progress is not None:
            self.progress(share)


class Changes(TypedDict, total=False):
    """What replaces or supplements a policy's settings; omitted parts keep the policy's."""

    table: Any
    reading: Reading | None
    recoding: Recoding
    model: Model | str | None
    suppression: AnyBudget | None
    output: Place | None
    overwrite: bool
    save_recoding: str | Path | None
    smallest_count: int | None
    writing: Writing
    previous: Recoding | str | Path | None
    previous_input: Any
    ledger: str | Path | None
    accept_overlap: bool
    fresh: Sequence[str]
    hold_back: bool
    engine: str
    memory: str | int | None
    seed: int | None
    progress: Progress | None
    ranges: RangeForm | None
    partition_by: Sequence[str] | None


def job_of_policy(policy: Policy, **changes: Unpack[Changes]) -> Job:
    """Return the job that a policy describes, but for some `changes`.

    Another `table` is open, or read as `reading` says. An `output` of None leaves the release in memory.

    >>> from indistinct.job.policy.value import Input, Output
    >>> policy = Policy(Input(Path("a.csv")), Schema(quasi=["age"]), (), output=Output(Path("b.csv")))
    >>> job = job_of_policy(policy, overwrite=True)
    >>> job.table.name, job.destination.output.name, job.destination.overwrite
    ('a.csv', 'b.csv', True)
    """
    if "table" not in changes:
        check_input(policy)
    return Job(
        changes.get("table", source_of_policy(policy)),
        policy.schema,
        model=changes.get("model", policy.model),
        algorithm=policy.algorithm,
        recoding=changes.get("recoding"),
        hierarchies=policy.hierarchies,
        suppression=changes.get("suppression", policy.suppression),
        target=policy.target,
        transformations=policy.transformations,
        pseudonyms=policy.located_pseudonyms,
        population=None if policy.input.population is None else policy.locate(policy.input.population),
        sample=policy.input.sample,
        reading=_reading(policy, changes),
        destination=_destination(policy, changes),
        history=_history(policy, changes),
        hold_back=changes.get("hold_back", False),
        importance=policy.importance,
        levels=policy.levels,
        numeric=policy.numeric,
        engine=changes.get("engine", "auto"),
        memory=changes.get("memory"),
        seed=changes.get("seed"),
        progress=changes.get("progress"),
        ranges=changes.get("ranges") or policy.output.ranges or "labels",
    )


def check_input(policy: Policy, path: str | Path | None = None) -> None:
    """Raise `InputError` if the table that a policy names does not exist; not checked where `path` replaces it."""
    source = policy.source
    if path is not None or policy.name is None or not isinstance(source, Path) or is_elsewhere(source):
        return
    if not source.exists() and not glob.has_magic(str(source)) and "\0" not in str(source):
        raise InputError(
            f"there is no file {source}, which the policy {policy.name} names",
            hint=f"paths in a policy start at its folder, {policy.base.absolute()}: correct `path` under [input], or "
            "name another table with --input (`input` in Python)",
        )


def source_of_policy(policy: Policy) -> str | Path | DatabaseTable:
    """Return the input of a policy: an address, the path of a file, or a table of a database."""
    source = policy.source
    return address_of(source) or source if isinstance(source, Path) else source


def ledger_of_policy(policy: Policy) -> Path | None:
    """Return the path of a policy's ledger, None if it has none."""
    named = policy.output.ledger
    return None if named is None else policy.locate(named)


def _reading(policy: Policy, changes: Changes) -> Reading | None:
    """Return the reading options: the given ones, those of a given recoding, or those of the policy."""
    if "reading" in changes:
        return changes["reading"]
    if "recoding" in changes:
        return reading_again(changes["recoding"])
    return None if "table" in changes else policy.input.reading


def _destination(policy: Policy, changes: Changes) -> Destination:
    """Return the destination: the policy's, with the changes applied."""
    given = (changes.get("smallest_count"), policy.output.smallest_count, SMALLEST)
    return Destination(
        changes.get("output", policy.place),
        overwrite=changes.get("overwrite", False),
        save_recoding=changes.get("save_recoding"),
        smallest_count=next(count for count in given if count is not None),
        writing=changes.get("writing", policy.output.writing),
        partition_by=changes.get("partition_by") or policy.output.partition_by,
    )


def _history(policy: Policy, changes: Changes) -> History:
    """Return the earlier releases to compare with: the policy's, with the changes applied."""
    return History(
        previous=changes.get("previous"),
        previous_input=changes.get("previous_input"),
        ledger=changes.get("ledger") or ledger_of_policy(policy),
        accept_overlap=changes.get("accept_overlap", False),
        fresh=changes.get("fresh") or policy.fresh,
    )


def check_job(
    table: Source,
    schema: Schema,
    model: Model,
    hierarchies: Mapping[str, Hierarchy],
    *,
    extra: Sequence[Key] = (),
    decided: bool = False,
) -> None:
    """Raise unless table, schema, model and hierarchies name the same columns; `extra` are further columns in use.

    Roles that are `decided` come with a recoding.
    """
    schema.check(table.columns, decided=decided)
    if not table.rows:
        raise InputError("the table has no rows", hint="check that this is the right file")
    check_notations(table, (*schema.quasi, *schema.sensitive), hierarchies=hierarchies)
    for name in hierarchies:
        if name not in schema.columns:
            raise SchemaError(
                f"a hierarchy is given for column {name!r}, which the schema does not name",
                hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
            )
    for name in dict.fromkeys(name for key in extra for name in key):
        if name not in schema.columns:
            raise SchemaError(
                f"column {name!r} is to be predicted, but the schema does not name it",
                hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
            )
    for name in dict.fromkeys(name for key in model.table_keys for name in key if name != PERSON):
        if name not in schema.columns:
            raise SchemaError(
                f"the model {model.spec()} needs column {name!r}, which the schema does not name",
                hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
            )
        if name in schema.quasi:
            raise SchemaError(
                f"the model {model.spec()} protects column {name!r}, which is a quasi-identifier and will be recoded",
                hint="give the column the role sensitive",
            )


def problem_of(
    counted: Counted,
    model: Model,
    hierarchies: Mapping[str, Hierarchy],
    *,
    suppression: Budget,
    parts_rows: bool = False,
) -> Problem:
    """Build the search problem; algorithms that split equal rows (`parts_rows`) count rows, others may count people."""
    frequencies = counted.frequencies
    cells, judge = (frequencies, model) if parts_rows else people_as_rows(frequencies, model)
    everybody, everywhere = frequencies, None
    if counted.population is not None:
        everybody = with_population(frequencies, counted.population, absent=True)
        everywhere, _ = people_as_rows(everybody, model)
    unit = frequencies.classes.unit
    allowed = suppression.allows(frequencies.members, unit)
    if judge is not model and (not allowed or model.traits.absorbing):
        # What a search says of cells that hold people it would say of rows.
        model.check(everybody.classes.regroup(np.zeros(len(everybody), dtype=np.int32), 1))
    columns = columns_of(counted.domains, hierarchies)
    return Problem(cells, columns, judge, suppression=allowed, unit=unit, with_absent=everywhere, known=counted.known)


@with_checked_arguments
@closes_sources
def problem(
    table: Any,
    schema: Schema,
    *,
    model: Model | str,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: AnyBudget = 0.0,
    algorithm: Algorithm | str | None = None,
    population: Any = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Problem:
    """Return the input of a search: the cells of a table, its columns, the model and the suppression limit.

    This is for studying algorithms, as in `Incognito().rounds(problem)` and `KACA().search(problem)`. To publish, call
    `anonymize`, which also applies and verifies the recoding.

    Parameters
    ----------
    table
        Path, frame, or what `open` returned.
    schema
        Role of every column.
    model
        Privacy model that the recoding must satisfy.
    hierarchies
        Generalization hierarchy of each column that has one.
    suppression
        Suppression limit: a share, or a number such as ``"4 rows"``.
    algorithm
        Algorithm to be studied, needed only where it counts more than the model does: one that splits rows with equal
        values, or predicts a column.
    population
        Table of the population, for models that compare with it.
    engine, memory
        Where rows are counted, and the memory that this may use, as in `anonymize`.

    Returns
    -------
    Problem
        The value that an algorithm's `search` takes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 20, 30, 30], "ill": ["flu", "cold", "flu", "flu"]})
    >>> found = problem(people, Schema(quasi=["age"], sensitive=["ill"]), model="k-anonymity:k=2", suppression="1 row")
    >>> len(found.frequencies), found.model.spec(), found.suppression
    (2, 'k-anonymity:k=2', 1)
    """
    searching = parse_algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    keys = () if searching is None else searching.keys
    counted, judge, declared = count_for_search(
        table,
        schema,
        model=judging(model, schema),
        hierarchies=hierarchies,
        keys=keys,
        joint=searching is not None and searching.traits.splits,
        population=population,
        engine=engine,
        memory=memory,
    )
    parts_rows = searching is not None and searching.traits.splits
    made = problem_of(counted, judge, declared, suppression=parse_budget(suppression), parts_rows=parts_rows)
    return made if searching is None else made.seen_by(searching)


def count_for_search(
    table: Any,
    schema: Schema,
    *,
    model: Model,
    hierarchies: Mapping[str, Hierarchy] | None,
    keys: Sequence[Key] = (),
    joint: bool = False,
    population: Any = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> tuple[Counted, Model, dict[str, Hierarchy]]:
    """Return the cells of a table, the model that judges them, and the hierarchies; raise where they do not fit.

    `keys` are histograms beyond those of the model, and `joint` ones are of rows.
    """
    (where, source), declared = open_source(table, engine=engine, memory=memory), dict(hierarchies or {})
    check_job(source, schema, model, declared, extra=keys)
    every = tuple(dict.fromkeys([*model.table_keys, *keys]))
    request = Request(schema.quasi, every, declared, joint=joint, person=schema.person)
    with using_population(population, model, where, source, schema=schema) as others:
        counted = count_beside(others, where, source, request=request, schema=schema)
    judge = model.sampled(counted.frequencies.members)
    check_kinds(counted, judge, known=(*declared, *source.reading.text))
    return counted, judge, declared
