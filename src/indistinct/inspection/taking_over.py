"""A project of ARX becomes a policy, the table and the hierarchies that it names, and a list of what was lost."""

import csv
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from zipfile import ZipFile

from indistinct.errors import HierarchyError, OutputError
from indistinct.figures import percent
from indistinct.hierarchy.explicit import Explicit
from indistinct.hierarchy.value import Hierarchy
from indistinct.inspection.arx_project import (
    ArxColumn,
    ArxProject,
    open_archive,
    read_arx_project,
    read_rows,
)
from indistinct.inspection.inspect import inspect
from indistinct.inspection.starter import CAREFUL_K, starter_notes, starter_policy
from indistinct.inspection.value import Inspection
from indistinct.job.policy.value import Policy, relative_path
from indistinct.job.policy.writing import write_policy
from indistinct.models import KAnonymity, TCloseness
from indistinct.recoding.columns import LevelBounds, importance_of
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.places import check_targets
from indistinct.release.writing.staging import filled
from indistinct.schema import Role, Schema
from indistinct.suppression_limit import parse_budget
from indistinct.tables.opening import open_table
from indistinct.tables.sheets import MAX_INFLATED_BYTES
from indistinct.tables.value import Reading, declare

HEADING = """\
Taken over from the ARX project {name}. Read it before you run it: indistinct anonymize {policy}"""
ROOT = "*"


@dataclass(frozen=True, slots=True)
class TakenOver:
    """The files that a project became, what was seen in its table, and what could not be taken over."""

    policy: Path
    data: Path
    population: Path | None
    hierarchies: Mapping[str, Path]
    inspection: Inspection
    lost: tuple[str, ...]


def take_over(path: Path, policy: Path, *, overwrite: bool = False, most: int = MAX_INFLATED_BYTES) -> TakenOver:
    """Write the policy, the table and the hierarchies of an ARX project; return where they are and what was lost.

    The files are next to the policy and begin with its name. The table can be read by its owner alone.
    """
    project = read_arx_project(path, most=most)
    data = policy.with_name(f"{policy.stem}-data.csv")
    population = None if project.population is None else policy.with_name(f"{policy.stem}-population.csv")
    hierarchies = _hierarchy_paths(project, policy)
    tables = {data: project.data} | ({} if population is None else {population: project.population or ""})
    check_targets([policy, *tables], sources=[path], overwrite=overwrite)
    _make_folders(hierarchies.values())
    check_targets(hierarchies.values(), sources=[path], overwrite=overwrite)
    with open_archive(path, most=most) as archive:
        for index, entry in tables.items():
            _extract(archive, entry, index, overwrite=overwrite)
        taken, lost = _write_hierarchies(project, archive, hierarchies, policy.parent, overwrite=overwrite)
    inspection = inspect(open_table(data, reading=_reading(project, taken)))
    policy_of_project, more = _policy(project, inspection, data, policy.parent, hierarchies=taken)
    if population is not None:
        with_population = replace(policy_of_project.input, population=relative_path(population, policy.parent))
        policy_of_project = replace(policy_of_project, input=with_population)
    lost = [*project.lost, *lost, *more]
    heading = "\n".join([HEADING.format(name=path.name, policy=policy.name), *_listed(lost)])
    write_policy(policy_of_project, policy, overwrite=overwrite, heading=heading, notes=starter_notes(inspection))
    written = {name: index for name, index in hierarchies.items() if name in taken}
    return TakenOver(policy, data, population, written, inspection, tuple(lost))


def _listed(lost: Sequence[str]) -> list[str]:
    return ["", "Not taken over:", *(f"  - {each}" for each in lost)] if lost else []


def _hierarchy_paths(project: ArxProject, policy: Path) -> dict[str, Path]:
    """Return the path of each column's hierarchy; column names are made safe for files."""
    folder = policy.with_name(f"{policy.stem}-hierarchies")
    paths: dict[str, Path] = {}
    for number, column in enumerate(project.columns, start=1):
        if _needs_hierarchy(project, column):
            plain = re.sub(r"[^\w-]+", "_", column.name)[:60].strip("_")
            paths[column.name] = folder / f"{number:02}-{plain or 'column'}.csv"
    return paths


def _make_folders(paths: Iterable[Path]) -> None:
    """Create the folders of some paths."""
    for folder in {path.parent for path in paths}:
        try:
            folder.mkdir(exist_ok=True)
        except OSError:
            raise OutputError(f"{folder} cannot be a folder of hierarchies", hint="name another policy") from None


def _needs_hierarchy(project: ArxProject, column: ArxColumn) -> bool:
    """Return whether the hierarchy of a column is used: to generalize it, or for the distance of its values."""
    if column.hierarchy is None:
        return False
    distances = {each.sensitive for each in project.models if isinstance(each, TCloseness)}
    return column.role is Role.QUASI or (column.role is Role.SENSITIVE and column.name in distances)


def _extract(archive: ZipFile, entry: str, path: Path, *, overwrite: bool) -> None:
    """Write an entry of the archive to a file readable by its owner alone."""

    def produce(to: Path) -> None:
        with archive.open(entry) as source, to.open("wb") as target:
            shutil.copyfileobj(source, target)

    write_atomically(path, produce, overwrite=overwrite, private=True)


def _write_hierarchies(
    project: ArxProject, archive: ZipFile, paths: Mapping[str, Path], base: Path, *, overwrite: bool
) -> tuple[dict[str, Hierarchy], list[str]]:
    """Write the hierarchies that are sound, and return them with what is wrong with the others."""
    taken: dict[str, Hierarchy] = {}
    lost = []
    for column in project.columns:
        if column.hierarchy is None or column.name not in paths:
            continue
        rows = read_rows(archive, column.hierarchy, project.delimiter, project.path)
        if not rows or max(map(len, rows)) < 2:
            continue  # ARX writes the values alone for a column without a hierarchy
        rows, roots = _with_root(rows)
        path = paths[column.name]
        try:
            declared = Explicit(tuple(rows), form="file", path=path.relative_to(base).as_posix(), delimiter=";")
        except HierarchyError as error:
            lost.append(f"column {column.name!r}: its hierarchy, {error.message}")
            continue
        if roots > 1:
            lost.append(f"column {column.name!r}: its hierarchy ended in {roots:,} values; a level {ROOT} was added")
        write_atomically(path, filled(_as_csv(rows)), overwrite=overwrite)
        taken[column.name] = declared
    return taken, lost


def _with_root(rows: list[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], int]:
    """Return a hierarchy with one value at its top, and how many it had there."""
    roots = len({row[-1] for row in rows})
    return (rows if roots == 1 else [(*row, ROOT) for row in rows]), roots


def _as_csv(rows: Iterable[Sequence[str]]) -> str:
    text = StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


def _reading(project: ArxProject, hierarchies: Mapping[str, Hierarchy]) -> Reading:
    """Return the reading options of the project's table; columns with hierarchies of texts are texts."""
    dates = {each.name: each.dates for each in project.columns if each.dates and each.name not in hierarchies}
    texts = [each.name for each in project.columns if each.name in hierarchies and not each.numeric]
    return declare(delimiter=project.delimiter, dates=dates or None, text=texts or None)


def _policy(
    project: ArxProject, inspection: Inspection, data: Path, base: Path, *, hierarchies: Mapping[str, Hierarchy]
) -> tuple[Policy, list[str]]:
    """Return the policy of a project for its table, and what of the project the table does not have."""
    known = {column.name: column for column in project.columns}
    names = [column.name for column in inspection.columns]
    roles = {name: known[name].role if name in known else Role.IDENTIFIER for name in names}
    quasi = [name for name in names if roles[name] is Role.QUASI]
    bounds = {name: known[name].bounds for name in quasi if name in hierarchies}
    limited = tuple((name, each) for name, each in bounds.items() if each is not None)
    policy = replace(
        starter_policy(inspection, data, base, reading=inspection.reading),
        schema=Schema.from_roles(roles),
        models=project.models or (KAnonymity(min(CAREFUL_K, inspection.rows)),),
        hierarchies={name: each for name, each in hierarchies.items() if name in names},
        suppression=parse_budget(project.suppression or 0),
        importance=importance_of({name: each for name, each in project.weights.items() if name in quasi}),
        levels=LevelBounds(limited),
    )
    return policy, list(_differences(project, inspection, roles))


def _differences(project: ArxProject, inspection: Inspection, roles: Mapping[str, Role]) -> Iterator[str]:
    """Yield the differences between table and project, and roles that the values make doubtful."""
    profiles = {each.name: each for each in inspection.columns}
    known = {column.name for column in project.columns}
    for name in sorted(known - set(profiles)):
        yield f"column {name!r}: the table does not have it"
    for name, profile in profiles.items():
        if name not in known:
            yield f"column {name!r} has no role in the project: it is an identifier, and dropped"
        elif roles[name] is Role.INSENSITIVE and profile.role in (Role.IDENTIFIER, Role.QUASI):
            yield f"column {name!r} is insensitive in ARX; its values suggest the role {profile.role}: look again"
        elif profile.role is Role.PERSON:
            yield f'column {name!r} identifies people with several rows: with the role "person", people are counted'
    if project.suppression == 1:
        yield f"a suppression limit of {percent(1)} allows every row to be suppressed: choose a smaller one"
