"""The public functions that publish: each builds a job, and runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.algorithms.base import Algorithm, Progress
from indistinct.budget import AnyBudget
from indistinct.hierarchy import Hierarchy
from indistinct.job.job import Changes, Job, job_of_policy
from indistinct.job.policy.reading import read_policy
from indistinct.job.policy.value import Policy
from indistinct.job.running import run_job
from indistinct.machine.arguments import with_checked_arguments
from indistinct.metrics.importance import importance_of
from indistinct.models import Model
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.levels import levels_of
from indistinct.recoding.outputs import RangeForm
from indistinct.recoding.range_columns import check_form
from indistinct.recoding.storage import recoding_of
from indistinct.recoding.transformations import Transformation
from indistinct.release.certificate import SMALLEST
from indistinct.release.history.overlap import History
from indistinct.release.promise import promise_of, reading_again
from indistinct.release.pseudonyms.making import Pseudonym
from indistinct.release.release import Release
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.places import Destination, Place
from indistinct.schema import Schema, require_schema


@with_checked_arguments
def anonymize(
    table: Any,
    schema: Schema,
    *,
    model: Model | str | None = None,
    algorithm: Algorithm | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: AnyBudget = 0.0,
    target: str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    output: Place | None = None,
    overwrite: bool = False,
    save_recoding: str | Path | None = None,
    previous: Recoding | str | Path | None = None,
    previous_input: Any = None,
    ledger: str | Path | None = None,
    accept_overlap: bool = False,
    fresh: Sequence[str] = (),
    smallest_count: int = SMALLEST,
    writing: Writing | None = None,
    population: Any = None,
    sample: float | None = None,
    transformations: Mapping[str, Transformation] | None = None,
    pseudonyms: Mapping[str, Pseudonym] | None = None,
    ranges: RangeForm = "labels",
    importance: Mapping[str, float] | None = None,
    levels: Mapping[str, tuple[int, int | None]] | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Release:
    """Return a release of a table that satisfies a model, verified on the published rows.

    What is published: a `table`, its roles in `schema`, and `hierarchies` of its columns. `transformations` say what is
    published of columns that are not recoded, and `pseudonyms` what stands in place of identifiers. `target` is a
    column whose classification is measured, `population` everybody from whom the table was drawn. Of a `sample`, such
    as 0.1, only that share of rows is published, drawn by the operating system; the table is its population then.

    How it is published: `ranges` of numbers and dates are labels such as [18-21], or columns of their ends such as
    age_from and age_to; labels that are no ranges stay.

    What must hold, and how it is searched: the `model`; `suppression`, how many rows, or people, may be
    dropped, as a share (0.05, "4/30") or as a number ("4 rows", "4 people"); the `algorithm`. Without one several are
    tried; one with a promise of its own needs no model. `seed` is for tests. `importance` says which columns matter
    more than others ({"age": 3}), and `levels` between which levels of its hierarchy a column is published
    ({"zipcode": (1, 3)}; level 0 is the column as it is, None the coarsest).

    Where it goes: with `output`, a file or a `DatabaseTable`, the release is verified as written there, may `overwrite`
    an earlier one, hides counts below `smallest_count`, looks as `writing` says, and its recoding is kept at
    `save_recoding`. Without, it stays in memory.

    Which releases came before: one's recoding `previous` and table `previous_input`, or all of a private `ledger`. A
    release is refused if it and they together let anybody stand among fewer people than was ever promised, unless
    `accept_overlap`; `fresh` are columns that were measured anew.

    Where it runs: `engine` is auto, memory, postgres, spark, or duckdb for tables larger than `memory`, such as "1GB".
    `progress` is called with the share that is done.

    Raises `InfeasibleError` if there is no such release.
    """
    require_schema(schema)
    job = Job(table, schema, model=model, algorithm=algorithm, hierarchies=hierarchies or {}, suppression=suppression)
    job = replace(job, engine=engine, memory=memory, seed=seed, progress=progress)
    return run_job(
        replace(
            job,
            target=target,
            transformations=transformations or {},
            pseudonyms=pseudonyms or {},
            population=population,
            sample=sample,
            destination=Destination(output, overwrite, save_recoding, smallest_count, writing or Writing()),
            history=History(previous, previous_input, ledger, accept_overlap, fresh),
            importance=importance_of(importance),
            levels=levels_of(levels),
            ranges=check_form(ranges),
        )
    )


@with_checked_arguments
def apply(
    recoding: Recoding | str | Path,
    table: Any,
    *,
    model: Model | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: AnyBudget | None = None,
    seed: int | None = None,
    output: Place | None = None,
    overwrite: bool = False,
    previous: Recoding | str | Path | None = None,
    previous_input: Any = None,
    ledger: str | Path | None = None,
    accept_overlap: bool = False,
    fresh: Sequence[str] = (),
    hold_back: bool = False,
    smallest_count: int = SMALLEST,
    writing: Writing | None = None,
    population: Any = None,
    pseudonyms: Mapping[str, Pseudonym] | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Release:
    """Return the release of another table under a recoding that was found before, or the path where it was kept.

    Values that it does not know are published where its hierarchies, ranges or regions cover them, never raw. The
    release satisfies `model`, or what the first one promised, and may drop `suppression`, or what the first one
    might: first rows that nothing covers, then classes that break the promise. Other columns are transformed as in
    the first one; identifiers are dropped unless `pseudonyms` stand in their place again. With `hold_back` people whom
    earlier releases would leave among too few are left out first, within the same budget.

    Where it goes, which releases came before and where it runs are said as to `anonymize`.
    """
    found = recoding_of(recoding)
    schema, _ = promise_of(found, model)
    return run_job(
        Job(
            table,
            schema,
            model=model,
            recoding=found,
            hierarchies=hierarchies or {},
            suppression=suppression,
            pseudonyms=pseudonyms or {},
            population=population,
            reading=reading_again(found),
            destination=Destination(output, overwrite, None, smallest_count, writing or Writing()),
            history=History(previous, previous_input, ledger, accept_overlap, fresh),
            hold_back=hold_back,
            engine=engine,
            memory=memory,
            seed=seed,
        )
    )


@with_checked_arguments
def run(
    policy: Policy | str | Path,
    *,
    input: Any = None,  # noqa: A002 (as the policy and the command line call it)
    output: Place | None = None,
    overwrite: bool = False,
    save_recoding: str | Path | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Return the release that a policy describes, written where the policy says.

    `policy` is one, or the path of its file (.toml). `input` takes the place of its table and is read in the same way,
    `output` that of its output; where neither names an output the release stays in memory. `overwrite` lets it replace
    an earlier release, never a file that the policy reads. All other keywords are those of `anonymize`. A report is
    not written: `report(release, policy=policy, original=…)` makes one.
    """
    written = policy if isinstance(policy, Policy) else read_policy(policy)
    changes: Changes = {"overwrite": overwrite, "save_recoding": save_recoding, "seed": seed, "progress": progress}
    changes |= {"engine": engine, "memory": memory}
    if input is not None:
        changes |= {"table": input, "reading": written.input.with_version(None).reading}
    if output is not None:
        changes["output"] = output
    job = job_of_policy(written, **changes)
    read = [Path(each) for each in (policy, input) if isinstance(each, str | Path)]
    job.destination.check_free([*written.files, *read])
    return run_job(job)
