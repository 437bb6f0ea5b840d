"""The public functions that publish: each builds a job, and runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.algorithms.base import Algorithm, Progress
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.job import Changes, Job, job_of_policy
from indistinct.job.policy.reading import read_policy
from indistinct.job.policy.value import Policy
from indistinct.job.running import run_job
from indistinct.machine.arguments import with_checked_arguments
from indistinct.models import Model
from indistinct.recoding.columns import importance_of, levels_of, numeric_forms
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import RangeForm, check_range_form
from indistinct.recoding.storage import recoding_of
from indistinct.recoding.transformations import Transformation
from indistinct.release.certificate import SMALLEST
from indistinct.release.history.histories import History
from indistinct.release.promise import promise_of, reading_again
from indistinct.release.pseudonyms.making import Pseudonym, with_declared_knowledge
from indistinct.release.release import Release
from indistinct.release.writing.delimited import Writing
from indistinct.release.writing.places import Destination, Place
from indistinct.schema import Schema, require_schema
from indistinct.suppression_limit import AnyBudget


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
    partition_by: Sequence[str] = (),
    population: Any = None,
    sample: float | None = None,
    transformations: Mapping[str, Transformation] | None = None,
    pseudonyms: Mapping[str, Pseudonym] | None = None,
    knows: str | None = None,
    ranges: RangeForm = "labels",
    importance: Mapping[str, float] | None = None,
    levels: Mapping[str, tuple[int, int | None]] | None = None,
    numeric: Mapping[str, str] | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Release:
    """Anonymize a table: return a release that satisfies a privacy model, verified on its published rows.

    Quasi-identifiers are generalized until every equivalence class (the rows that share one published combination of
    quasi-identifier values) satisfies `model`. Identifiers are removed, other columns are unmodified unless they are
    masked. What is published is counted again before it is returned or written.

    Parameters
    ----------
    table
        Path, frame, Arrow table, database table, Spark frame, or what `open` returned.
    schema
        Role of every column.
    model
        Privacy model, such as ``KAnonymity(k=5)`` or ``"k-anonymity:k=5"``. An algorithm with a privacy guarantee of
        its own, such as `Anatomy`, needs none.
    algorithm
        Algorithm that searches for the generalization, such as ``Mondrian()`` or ``"mondrian"``. By default several are
        tried and the one that loses least is taken (``auto``).
    hierarchies
        Generalization hierarchy of each column that has one, by column name.
    suppression
        Suppression limit: how many rows, or people where the schema has a person ID, may be removed. A share (``0.05``,
        ``"4/30"``) or a number (``"4 rows"``, ``"4 people"``).
    target
        Column that readers want to predict from the release: measured by the metric ``classification``, and the target
        of algorithms that have one.
    seed
        Fixes what is drawn at random, for tests; the certificate then says that the release is seeded. By default
        randomness comes from the operating system.
    progress
        Called with the share of the work that is done, from 0 to 1.
    output
        File, folder or `DatabaseTable` to write to, verified as written there. By default the release stays in memory.
    overwrite
        Whether `output` may replace an earlier release.
    save_recoding
        File for the recoding, with which `apply` publishes later tables. It is private: it is no part of the release.
    previous
        Recoding of an earlier release about the same people, or its path.
    previous_input
        Table that the earlier release was made from; it is used together with `previous`.
    ledger
        Private file with all releases about the same people. The release is compared with all of them, then added.
    accept_overlap
        Publish, with a warning, although the releases together leave some people among fewer than was guaranteed.
    fresh
        Columns that are re-measured for every release, so that earlier releases do not show their values.
    smallest_count
        The certificate written with `output` withholds counts below this that the release itself does not show; 0
        withholds none.
    writing
        How a text file is written: delimiter, decimal mark, encoding, protection from formulas.
    partition_by
        Columns by whose values the output becomes a folder of Hive partitions (Parquet).
    population
        Table of the population from which `table` was drawn, with the same quasi-identifiers, for models such as
        `KMap`.
    sample
        Share of the rows, such as 0.1, that is drawn at random and published; the table is then its population.
    transformations
        Masking of columns that are not generalized, such as rounding or top-coding, by column name.
    pseudonyms
        Pseudonyms that replace the values of identifiers, by column name.
    knows
        What attackers know of people under pseudonyms: ``"classes"`` states that they do not know the number of rows of
        a person. By default each pseudonym keeps what it declares itself.
    ranges
        Form of ranges of numbers and dates: ``"labels"`` such as [18-21], or ``"columns"`` with their ends, such as
        ``age_from`` and ``age_to``.
    importance
        Attribute weight of each quasi-identifier that matters more or less than others, such as ``{"age": 3}``; the
        default is 1.
    levels
        Minimum and maximum generalization of quasi-identifiers, such as ``{"zipcode": (1, 3)}``. Level 0 is the
        original value; None is the top of the hierarchy.
    numeric
        Form of single columns of numbers or dates, such as ``{"age": "mean"}``; others have the algorithm's own form.
    engine
        ``"auto"``, ``"memory"``, ``"duckdb"`` for tables larger than memory, ``"postgres"`` or ``"spark"``.
    memory
        Memory that a table or the engine duckdb may use, such as ``"8GB"``.

    Returns
    -------
    Release
        The published table with its certificate and its recoding.

    Raises
    ------
    InfeasibleError
        If no release of this table satisfies the model within the suppression limit.
    SchemaError
        If roles and columns do not fit each other.
    HierarchyError
        If a hierarchy is broken or does not cover the values of its column.
    ParameterError
        If a parameter, or a combination of parameters, is not possible.
    InputError
        If the table cannot be read.
    OutputError
        If the release cannot be written, for example because the file exists.
    VerificationError
        If the published rows do not pass the check, or the release and earlier ones together leave people among too
        few. Nothing is published then.
    OutOfMemoryError
        If a step needs more memory than there is.
    MissingExtraError
        If an optional package is not installed.

    Examples
    --------
    >>> import indistinct as ind
    >>> from indistinct.samples import generate_patients
    >>> patients = generate_patients(400, seed=1)
    >>> schema = ind.Schema(
    ...     identifiers=["name"],
    ...     quasi=["age", "sex", "zipcode", "admitted"],
    ...     sensitive=["disease"],
    ...     insensitive=["cost"],
    ... )
    >>> release = ind.anonymize(patients, schema, model=ind.KAnonymity(k=5), algorithm=ind.Mondrian())
    >>> release.certificate.holds, release.certificate.smallest_class >= 5
    (True, True)
    >>> release.table.column_names
    ['age', 'sex', 'zipcode', 'admitted', 'disease', 'cost']
    """
    require_schema(schema)
    where = Destination(output, overwrite, save_recoding, smallest_count, writing or Writing(), partition_by)
    job = Job(table, schema, model=model, algorithm=algorithm, hierarchies=hierarchies or {}, suppression=suppression)
    job = replace(job, engine=engine, memory=memory, seed=seed, progress=progress)
    return run_job(
        replace(
            job,
            target=target,
            transformations=transformations or {},
            pseudonyms=with_declared_knowledge(pseudonyms or {}, knows),
            population=population,
            sample=sample,
            destination=where,
            history=History(previous, previous_input, ledger, accept_overlap, fresh),
            importance=importance_of(importance),
            levels=levels_of(levels),
            numeric=numeric_forms(numeric),
            ranges=check_range_form(ranges),
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
    partition_by: Sequence[str] = (),
    population: Any = None,
    pseudonyms: Mapping[str, Pseudonym] | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Release:
    """Publish another table with the recoding of an earlier release, such as next month's table.

    Values that the recoding does not know are published where its hierarchies, ranges or regions cover them, and never
    unmodified. Within the suppression limit, rows that it does not cover are suppressed first, then equivalence classes
    that do not satisfy the model. Other columns are masked as in the earlier release.

    Parameters
    ----------
    recoding
        Recoding of the earlier release (`Release.recoding`), or the path that `save_recoding` wrote.
    table
        Table to publish: whatever `anonymize` takes, with the columns of the earlier one.
    model
        Privacy model that the release must satisfy; by default that of the earlier release.
    hierarchies
        Generalization hierarchies for columns whose hierarchies the recoding does not hold itself.
    suppression
        Suppression limit, as a share or a number; by default that of the earlier release.
    seed
        Makes the release repeatable, for tests only.
    output
        File, folder or `DatabaseTable` to write to; by default the release stays in memory.
    overwrite
        Whether `output` may replace an earlier release.
    previous, previous_input
        Recoding of an earlier release about the same people, and the table that it was made from.
    ledger
        Private file with all releases about the same people. The release is compared with all of them, then added.
    accept_overlap
        Publish, with a warning, although the releases together leave some people among fewer than was guaranteed.
    fresh
        Columns that are re-measured for every release, so that earlier releases do not show their values.
    hold_back
        Withhold first, within the suppression limit, people whom the releases together would leave among too few.
    smallest_count
        The certificate written with `output` withholds counts below this that the release itself does not show.
    writing
        How a text file is written.
    partition_by
        Columns by whose values the output becomes a folder of Hive partitions (Parquet).
    population
        Table of the population from which `table` was drawn, for models that compare with it.
    pseudonyms
        Pseudonyms that replace the values of identifiers; identifiers without one are removed.
    engine, memory
        Where the work is done, and the memory that it may use, as in `anonymize`.

    Returns
    -------
    Release
        The published table with its certificate.

    Raises
    ------
    UnseenValueError
        If the recoding does not cover more rows than may be suppressed.
    InfeasibleError
        If more rows or people must be suppressed or withheld than the suppression limit allows.
    VerificationError
        If the recoded table does not satisfy the model within the suppression limit, or the release and earlier ones
        together leave people among too few.
    SchemaError
        If the table does not have the columns of the recoding.
    InputError
        If the recoding or the table cannot be read.
    ParameterError
        If a parameter, or a combination of parameters, is not possible.
    OutputError
        If the release cannot be written.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> may = pa.table({"age": [21, 22, 41, 42], "disease": ["flu", "cold", "flu", "flu"]})
    >>> june = pa.table({"age": [22, 22, 42, 41], "disease": ["flu", "flu", "cold", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> first = ind.anonymize(may, schema, model="k-anonymity:k=2", algorithm="mondrian")
    >>> ind.apply(first.recoding, june).classes().to_pylist()
    [{'age': '[21-22]', 'rows': 2}, {'age': '[41-42]', 'rows': 2}]
    """
    known = recoding_of(recoding)
    schema, _ = promise_of(known, model)
    return run_job(
        Job(
            table,
            schema,
            model=model,
            recoding=known,
            hierarchies=hierarchies or {},
            suppression=suppression,
            pseudonyms=pseudonyms or {},
            population=population,
            reading=reading_again(known),
            destination=Destination(output, overwrite, None, smallest_count, writing or Writing(), partition_by),
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
    r"""Anonymize as a policy describes, and write the release where the policy says.

    No report is written: ``report(release, policy=policy, original=…)`` makes one. Further errors are those of
    `anonymize`.

    Parameters
    ----------
    policy
        A policy, or the path of its file (.toml).
    input
        Table in place of the one that the policy names, read in the same way.
    output
        Where to write in place of the policy's output. If neither names an output, the release stays in memory.
    overwrite
        Whether the output may replace an earlier release. A file that the policy reads is never replaced.
    save_recoding
        File for the recoding, with which `apply` publishes later tables.
    engine, memory, seed, progress
        As in `anonymize`.

    Returns
    -------
    Release
        The published table with its certificate and its recoding.

    Raises
    ------
    PolicyError
        If the policy cannot be read.
    InfeasibleError
        If no release satisfies the model within the suppression limit.
    OutputError
        If the release cannot be written, for example because the file exists.
    ParameterError
        If no model is given, or a parameter is not possible.

    Examples
    --------
    >>> import indistinct as ind
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     policy = Path(folder, "policy.toml")
    ...     _ = Path(folder, "people.csv").write_text("age,disease\n21,flu\n22,cold\n41,flu\n42,flu\n")
    ...     _ = policy.write_text('''
    ... [input]
    ... path = "people.csv"
    ... [columns]
    ... age = "quasi"
    ... disease = "sensitive"
    ... [privacy]
    ... models = ["k-anonymity:k=2"]
    ... ''')
    ...     ind.run(policy).certificate.smallest_class
    2
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
