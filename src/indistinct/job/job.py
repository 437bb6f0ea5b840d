"""A job: everything that a run needs to make a release, from the table to where the release goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

from indistinct.algorithms.base import Algorithm, Progress
from indistinct.budget import NO_BUDGET, AnyBudget, Budget, parse_budget
from indistinct.engines.base import DatabaseTable
from indistinct.hierarchy import Hierarchy
from indistinct.job.policy.value import Policy
from indistinct.models import Model
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.transformations import Transformation
from indistinct.release.history.overlap import History
from indistinct.release.kinds import reading_again
from indistinct.release.pipeline import Destination
from indistinct.release.pseudonyms.columns import Pseudonym
from indistinct.release.writing.database import Place
from indistinct.release.writing.form import Writing
from indistinct.release.writing.small_counts import SMALLEST
from indistinct.schema import Schema
from indistinct.tables import Reading
from indistinct.tables.addresses import address_of


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Everything that a run needs.

    `table` and `population` are anything that can be opened; a table that is not open yet is read as `reading` says. A
    job with a `recoding` applies it; any other searches with its `algorithm`. A `suppression` of None is what the
    recoding allowed. With `hold_back` people whom earlier releases would leave among too few are left out first.

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
    reading: Reading | None = None
    destination: Destination = Destination()  # noqa: RUF009 (a frozen value)
    history: History = History()  # noqa: RUF009 (a frozen value)
    hold_back: bool = False
    engine: str = "auto"
    memory: str | int | None = None
    seed: int | None = None
    progress: Progress | None = None

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
    """What takes the place of what a policy says, or is said beside it; what is left out is as the policy says."""

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


def job_of_policy(policy: Policy, **changes: Unpack[Changes]) -> Job:
    """Return the job that a policy describes, but for some `changes`.

    Another `table` is open, or read as `reading` says. An `output` of None leaves the release in memory.

    >>> from indistinct.job.policy.value import Input, Output
    >>> policy = Policy(Input(Path("a.csv")), Schema(quasi=["age"]), (), output=Output(Path("b.csv")))
    >>> job = job_of_policy(policy, overwrite=True)
    >>> job.table.name, job.destination.output.name, job.destination.overwrite
    ('a.csv', 'b.csv', True)
    """
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
        population=policy.population,
        reading=_reading(policy, changes),
        destination=_destination(policy, changes),
        history=_history(policy, changes),
        hold_back=changes.get("hold_back", False),
        engine=changes.get("engine", "auto"),
        memory=changes.get("memory"),
        seed=changes.get("seed"),
        progress=changes.get("progress"),
    )


def source_of_policy(policy: Policy) -> str | Path | DatabaseTable:
    """Return what a policy reads: an address, the path of a file, or a table of a database."""
    source = policy.source
    return address_of(source) or source if isinstance(source, Path) else source


def ledger_of_policy(policy: Policy) -> Path | None:
    """Return where the ledger of a policy lies, if it has one."""
    named = policy.output.ledger
    return None if named is None else policy.locate(named)


def _reading(policy: Policy, changes: Changes) -> Reading | None:
    if "reading" in changes:
        return changes["reading"]
    if "recoding" in changes:
        return reading_again(changes["recoding"])
    return None if "table" in changes else policy.input.reading


def _destination(policy: Policy, changes: Changes) -> Destination:
    given = (changes.get("smallest_count"), policy.output.smallest_count, SMALLEST)
    return Destination(
        changes.get("output", policy.place),
        overwrite=changes.get("overwrite", False),
        save_recoding=changes.get("save_recoding"),
        smallest_count=next(count for count in given if count is not None),
        writing=changes.get("writing", policy.output.writing),
    )


def _history(policy: Policy, changes: Changes) -> History:
    return History(
        previous=changes.get("previous"),
        previous_input=changes.get("previous_input"),
        ledger=changes.get("ledger") or ledger_of_policy(policy),
        accept_overlap=changes.get("accept_overlap", False),
        fresh=changes.get("fresh") or policy.fresh,
    )
