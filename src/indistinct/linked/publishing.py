"""Publish several tables about the same people: search, pseudonyms, files, verification of the files, certificate."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct import __version__
from indistinct.algorithms.base import Algorithm, Progress
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines import DEFAULT_MEMORY, chosen_engine
from indistinct.errors import MissingExtraError, ParameterError, SchemaError, VerificationError, did_you_mean
from indistinct.figures import percent
from indistinct.hierarchy import Hierarchy
from indistinct.job.policy.reading import is_linked_policy
from indistinct.job.policy.value import Policy
from indistinct.job.publishing import run as run_one_table
from indistinct.linked.certificate import (
    LinkedCertificate,
    TableEntry,
    assumptions_of,
    bounds_of,
    declared_knowledge,
    declared_roles,
    declared_time,
    hide_small,
    labels_of_people,
)
from indistinct.linked.declared import MANY_ROWS_DELETED, LinkedPolicy, LinkedTable, TimeRules, list_name
from indistinct.linked.folder import (
    ReleasedTables,
    check_folder,
    is_streamed,
    outdated_files,
    stage_table,
    targets_of,
)
from indistinct.linked.guarantee import Known, LinkedAnonymity, parse_linked_model
from indistinct.linked.opened import OpenEvents, OpenTables, PassedEvents, StoredEvents
from indistinct.linked.opening import open_linked, source_of
from indistinct.linked.people import anchors_inside
from indistinct.linked.policy import read_linked_policy
from indistinct.linked.search import LinkedSolution, TableTotals, search_linked
from indistinct.linked.tables import published_tables
from indistinct.linked.verify import MEMORY, LinkedVerdict, verify_tables
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.memory import bytes_of
from indistinct.release.release import Release
from indistinct.release.writing.formats import publishable
from indistinct.release.writing.places import Place
from indistinct.release.writing.staging import Staged, filled, publish, stage, staging
from indistinct.schema import Schema
from indistinct.suppression_limit import AnyBudget, parse_budget

ENGINES = ("auto", "memory", "duckdb")
LOSS_DIGITS = 2
"""Digits of the loss in a certificate: more would reveal the number of deleted rows where it is hidden."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinkedRelease:
    """A release of several tables about the same people.

    Attributes
    ----------
    tables
        The published tables by name, as Arrow tables.
    certificate
        The guarantee, and the counts on the published tables.
    folder
        Where its files lie; None for a release in memory.
    """

    tables: Mapping[str, pa.Table]
    certificate: LinkedCertificate
    folder: Path | None = None

    def __repr__(self) -> str:
        return f"<LinkedRelease of {self.certificate.people:,} people: {', '.join(self.tables)}>"


@with_checked_arguments
def run(
    policy: LinkedPolicy | Policy | str | Path,
    *,
    input: Any = None,  # noqa: A002 (as the policy and the command line call it)
    output: Place | None = None,
    overwrite: bool = False,
    save_recoding: str | Path | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release | LinkedRelease:
    r"""Return the release that a policy describes, and write it where the policy says.

    A policy with `[tables.NAME]` publishes several tables into a folder and returns a `LinkedRelease`. A report is not
    written: `report(release, policy=policy, original=…)` makes one.

    Parameters
    ----------
    policy
        The policy, or the path of its file (.toml).
    input
        Table in place of the policy's input; it is read in the same way.
    output
        Path or database table in place of the policy's output. Without any output the release stays in memory.
    overwrite
        Whether an earlier release may be replaced; a file that the policy reads never is.
    save_recoding
        File for the recoding, which `apply` reads.
    engine, memory
        Where rows are counted and published, and the memory that this may use, as in `anonymize`.
    seed
        Fixes the order of published rows, for tests; the certificate records it.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    Release
        The verified release; a `LinkedRelease` for several tables.

    Raises
    ------
    PolicyError
        If the policy cannot be read or contradicts itself.
    InfeasibleError
        If no release satisfies the model within the suppression limit.
    InputError
        If the table cannot be read, or does not fit the policy.
    OutputError
        If the output exists and `overwrite` is not set, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "people.csv").write_text("age,ill\n21,flu\n22,cold\n23,flu\n", encoding="utf-8")
    >>> policy = folder / "policy.toml"
    >>> columns = '[columns]\nage = { role = "quasi" }\nill = { role = "sensitive" }\n'
    >>> _ = policy.write_text(
    ...     f'[input]\npath = "people.csv"\n{columns}[privacy]\nmodels = ["k-anonymity:k=3"]\n',
    ...     encoding="utf-8",
    ... )
    >>> run(policy).classes().to_pylist()
    [{'age': '[21-23]', 'rows': 3}]
    """
    if isinstance(policy, LinkedPolicy) or (isinstance(policy, str | Path) and is_linked_policy(policy)):
        refuse_options(input=input, save_recoding=save_recoding, seed=seed)
        written = policy if isinstance(policy, LinkedPolicy) else read_linked_policy(policy)
        if output is not None and not isinstance(output, str | Path):
            raise ParameterError("several tables are written to a folder", hint='[output] folder = "release/"')
        folder = written.output if output is None else Path(output)
        return publish_linked(
            written, folder=folder, overwrite=overwrite, engine=engine, memory=memory, progress=progress
        )
    return run_one_table(
        policy,
        input=input,
        output=output,
        overwrite=overwrite,
        save_recoding=save_recoding,
        engine=engine,
        memory=memory,
        seed=seed,
        progress=progress,
    )


def refuse_options(**given: Any) -> None:
    """Raise if an option is given that releases of several tables do not have."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                f"`{name}` is not possible with several tables", hint="leave it out; it belongs to a job on one table"
            )


def memory_of_stored(
    policy: LinkedPolicy, sources: Mapping[str, Any] | None, engine: str, memory: str | int | None
) -> int | None:
    """Return the memory for tables on disk, None where all event tables are read into memory.

    `auto` leaves them on disk where one of them is too large for memory, as it does for a single table.
    """
    if engine not in ENGINES:
        raise ParameterError(
            f"several tables are not published on the engine {engine}",
            hint=f"choose among {', '.join(ENGINES)}",
        )
    limit = DEFAULT_MEMORY if memory is None else bytes_of(memory)
    if engine == "memory" or not policy.judged:
        return None
    if engine == "duckdb":
        if find_spec("duckdb") is None:
            raise MissingExtraError("duckdb", extra="duckdb", purpose="the engine duckdb")
        return limit
    given = sources or {}
    homes = [
        chosen_engine(source_of(policy, table, given.get(table.name)), memory=memory).name for table in policy.judged
    ]
    return limit if "duckdb" in homes else None


@with_checked_arguments
def anonymize_tables(
    tables: Mapping[str, Any],
    schemas: Mapping[str, Schema],
    *,
    people: str,
    knows: Mapping[str, Any],
    model: LinkedAnonymity | str,
    hierarchies: Mapping[str, Mapping[str, Hierarchy]] | None = None,
    time: TimeRules | None = None,
    times: Mapping[str, Any] | None = None,
    tells: Mapping[str, Any] | None = None,
    lists: Any = (),
    knows_together: int | None = None,
    suppression: AnyBudget = 0.0,
    rows: float = 1.0,
    algorithm: Algorithm | str | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    engine: str = "auto",
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> LinkedRelease:
    """Return a release of several tables about the same people, verified on the published rows.

    Parameters
    ----------
    tables
        The tables by name: anything that `open` takes.
    schemas
        The roles of each table's columns; `person` names the column of the person ID.
    people
        Name of the table with one row per person.
    knows
        Largest number of rows of one person that an attacker knows, by event table: 0, 1, 2, 3 or "all".
    model
        Such as `LinkedAnonymity(k=5, l=2)` or "linked-anonymity:k=5,l=2".
    hierarchies
        Hierarchies of the quasi-identifiers of each table.
    time, times
        The day from which times are counted (`TimeRules`), and the `TimeColumn` of each event table that has one.
    tells
        Columns of the people table that are dates of "birth" or "death".
    lists
        The list columns of the people table (`ListColumn`).
    knows_together
        Largest number of rows of all tables together that an attacker knows; required where the numbers of `knows`
        add up to more than 3.
    suppression
        People who may be suppressed: a share, or a number such as "4 people".
    rows
        Share of the rows of each event table that may be deleted.
    algorithm
        Algorithm for the people table, by default mondrian.
    output
        Folder for the release; without it the release stays in memory.
    overwrite
        Whether an earlier release in the folder may be replaced.
    engine, memory
        ``"memory"``, or ``"duckdb"`` for event tables larger than memory, which then wait on disk, and the limit of
        memory, such as "4GB". ``"auto"`` chooses by their size.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    LinkedRelease
        The published tables with their certificate.

    Raises
    ------
    InfeasibleError
        If no release satisfies the model within the limits.
    InputError
        If the tables do not fit together, for example events of unknown people.
    OutputError
        If the folder exists and `overwrite` is not set, or cannot be written.

    Examples
    --------
    >>> patients = {"id": [1, 2, 3, 4], "sex": ["f", "f", "m", "m"]}
    >>> stays = {"id": [1, 2, 3, 4, 4], "ward": ["a", "a", "b", "b", "b"]}
    >>> schemas = {"patients": Schema(quasi=["sex"], person=["id"]), "stays": Schema(quasi=["ward"], person=["id"])}
    >>> tables = {"patients": pa.table(patients), "stays": pa.table(stays)}
    >>> made = anonymize_tables(tables, schemas, people="patients", knows={"stays": 1}, model="linked-anonymity:k=2")
    >>> made.certificate.smallest_group, made.tables["stays"].num_rows
    (2, 5)
    """
    chosen = parse_algorithm(algorithm) if isinstance(algorithm, str) else algorithm or Mondrian()
    policy = LinkedPolicy(
        tuple(
            LinkedTable(
                name,
                schemas[name],
                hierarchies=(hierarchies or {}).get(name, {}),
                people=name == people,
                knows=knows.get(name),
                time=(times or {}).get(name),
                lists=tuple(lists) if name == people else (),
                tells=dict(tells or {}) if name == people else {},
            )
            for name in _same_names(tables, schemas, people, knows)
        ),
        parse_linked_model(model),
        time,
        knows_together,
        parse_budget(suppression),
        rows,
        chosen,
    )
    folder = None if output is None else Path(output)
    return publish_linked(
        policy, sources=tables, folder=folder, overwrite=overwrite, engine=engine, memory=memory, progress=progress
    )


def _same_names(
    tables: Mapping[str, Any], schemas: Mapping[str, Schema], people: str, knows: Mapping[str, Known]
) -> list[str]:
    """Return the names of the tables; raise if roles, people or knowledge name other tables."""
    for name in (*tables, *schemas, people, *knows):
        if name not in tables or name not in schemas:
            raise SchemaError(
                f"there is no table {name!r} with a schema", hint=did_you_mean(name, [*tables, *schemas]) or "give both"
            )
    return list(tables)


def publish_linked(
    policy: LinkedPolicy,
    *,
    sources: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    overwrite: bool = False,
    engine: str = "auto",
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> LinkedRelease:
    """Return the release of a policy, verified as written; nothing is written unless everything is satisfied."""
    _ = policy.knowledge
    if folder is not None:
        check_folder(folder, policy, overwrite=overwrite)
    opened = open_linked(policy, sources, memory=memory_of_stored(policy, sources, engine, memory))
    solution = search_linked(opened, progress=progress)
    parts = published_tables(opened, solution)
    tables: Mapping[str, pa.Table]
    if folder is None:
        tables = {name: _whole(policy.table(name), each) for name, each in parts.items()}
        certificate = _certify(opened, solution, tables, {})
    else:
        tables, certificate = _write(opened, solution, parts, folder, overwrite=overwrite)
    if progress is not None:
        progress(1.0)
    return LinkedRelease(tables, certificate, folder)


def _whole(table: LinkedTable, parts: Iterator[pa.Table]) -> pa.Table:
    """Return a table that comes in parts."""
    whole = publishable(pa.concat_tables(list(parts)))
    return whole.cast(_types_of(table, whole.schema))


def _types_of(table: LinkedTable, made: pa.Schema) -> pa.Schema:
    """Return the types of a published table: pseudonyms and times are plain text, though they may come as codes."""
    plain = (table.person, None if table.time is None else table.time.column)
    return pa.schema([each.with_type(pa.string()) if each.name in plain else each for each in made])


def _noting_types(table: LinkedTable, parts: Iterator[pa.Table], types: dict[str, pa.Schema]) -> Iterator[pa.Table]:
    """Yield the parts of a table, recording their types."""
    for part in parts:
        types[table.name] = _types_of(table, part.schema)
        yield part


def _write(
    opened: OpenTables,
    solution: LinkedSolution,
    parts: Mapping[str, Iterator[pa.Table]],
    folder: Path,
    *,
    overwrite: bool,
) -> tuple[Mapping[str, pa.Table], LinkedCertificate]:
    """Write all files to staged places, verify them as written, and give all of them their names, or none.

    Tables that are judged stay in memory as they were made; streamed ones are read on access.
    """
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    targets = targets_of(folder, opened.policy)
    read_in_blocks = [*(each.name for each in opened.passed), *(each.name for each in opened.stored)]
    in_parts = [name for name in read_in_blocks if is_streamed(targets[name])]
    made = {name: _whole(opened.policy.table(name), each) for name, each in parts.items() if name not in in_parts}
    types: dict[str, pa.Schema] = {}
    try:
        with staging() as staged:
            files: dict[str, Staged] = {}
            for name, each in parts.items():
                rows = [made[name]] if name in made else _noting_types(opened.policy.table(name), each, types)
                files[name] = stage_table(rows, targets[name])
                staged.append(files[name])
            schemas = {name: table.schema for name, table in made.items()} | types
            written = ReleasedTables({n: (each.temporary, each.target, schemas[n]) for n, each in files.items()})
            certificate = _certify(
                opened, solution, written, {name: (e.target.name, e.digest) for name, e in files.items()}
            )
            staged.append(stage(targets[""], filled(certificate.to_text())))
            outdated = outdated_files(folder, list(targets.values())) if overwrite else []
            publish(staged, overwrite=overwrite, outdated=outdated)
    except BaseException:
        if is_new:
            with suppress(OSError):  # a folder that is not empty has something that is not ours
                folder.rmdir()
        raise
    return ReleasedTables({name: (targets[name], targets[name], None) for name in parts}, made, types), certificate


def _certify(
    opened: OpenTables,
    solution: LinkedSolution,
    tables: Mapping[str, pa.Table],
    files: Mapping[str, tuple[str, str]],
) -> LinkedCertificate:
    """Return the certificate of published tables; raise `VerificationError` where anything is not satisfied."""
    policy, inside = opened.policy, anchors_inside(opened)
    verdict = verify_tables(policy, tables, anchors_inside=inside, memory=opened.memory or MEMORY)
    if not verdict.holds:
        broken = [f"{check.name} ({check.words})" for check in verdict.checks if not check.holds]
        raise VerificationError(
            f"the published tables do not satisfy {', '.join(broken)}",
            hint="nothing was written; change the policy, or report this as a fault of the program",
        )
    return _certificate(opened, solution, tables, files, verdict)


def _certificate(
    opened: OpenTables,
    solution: LinkedSolution,
    tables: Mapping[str, pa.Table],
    files: Mapping[str, tuple[str, str]],
    verdict: LinkedVerdict,
) -> LinkedCertificate:
    """Build the certificate of a release."""
    policy, judgement = opened.policy, verdict.judgement
    if judgement is None:
        raise AssertionError("tables that are satisfied were counted")
    dropped, declared = opened.size - verdict.people, declared_knowledge(policy)
    labels = labels_of_people(policy, tables[policy.people.name])
    return LinkedCertificate(
        version=__version__,
        model=policy.model.spec(),
        holds=verdict.holds,
        smallest_group=judgement.k,
        largest_share=judgement.largest_share,
        people=verdict.people,
        tables={
            table.name: _entry(opened, solution, table, verdict.rows[table.name], files.get(table.name, ("", "")))
            for table in policy.tables
        },
        knows=declared["knows"],
        knows_together=declared["knows_together"],
        original_people=None if hide_small(dropped) is None else opened.size,
        suppressed_people=hide_small(dropped),
        time=None if declared["time"] is None else {**declared["time"], "anchors_inside": anchors_inside(opened)},
        bounds=bounds_of(policy, labels, anchors_inside=anchors_inside(opened)),
        assumptions=assumptions_of(policy),
        warnings=(*opened.warnings, *_deletion_warnings(opened, solution)),
        loss=round(solution.loss, LOSS_DIGITS),
    )


def _deletion_warnings(opened: OpenTables, solution: LinkedSolution) -> list[str]:
    """Return warnings about event tables that lost many of their rows."""
    shares = {each.name: 1 - solution.totals[each.name].kept / each.rows for each in opened.judged if each.rows}
    return [
        f"{percent(share)} of the rows of table {name} are deleted"
        for name, share in shares.items()
        if share > MANY_ROWS_DELETED
    ]


def _entry(
    opened: OpenTables, solution: LinkedSolution, table: LinkedTable, rows: int, file: tuple[str, str]
) -> TableEntry:
    """Build the entry of a table in the certificate."""
    policy = opened.policy
    roles = declared_roles(table)
    if table.people:
        lists = {
            column.column: solution.totals[list_name(table.name, column.column)].levels[0] for column in table.lists
        }
        return TableEntry(file[0], file[1], rows, table.person, people=True, roles=roles, levels=lists)
    own = opened.events_of(table)
    totals = solution.totals.get(table.name)
    lost = own.rows - rows
    time = declared_time(policy, table)
    if time is not None and table.time is not None and policy.time is not None:
        widths = table.time.levels(policy.time.unit)
        time["width"] = 1 if totals is None or table.time.unknown else widths[totals.levels[-1]]
    return TableEntry(
        file[0],
        file[1],
        rows,
        table.person,
        knows=table.knows,
        original_rows=None if hide_small(lost) is None else own.rows,
        suppressed_rows=hide_small(lost),
        roles=roles,
        levels=_levels(own, totals),
        time=time,
    )


def _levels(own: OpenEvents | StoredEvents | PassedEvents, totals: TableTotals | None) -> dict[str, int]:
    """Return the level of each generalized column of an event table."""
    if totals is None or isinstance(own, PassedEvents):
        return {}
    return {column.name: level for column, level in zip(own.quasi, totals.levels, strict=False)}
