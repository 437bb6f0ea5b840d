"""Work on several tables of the same people: a first look, the risk by known rows, a release, and what it is worth."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.errors import PolicyError, VerificationError
from indistinct.inspection.inspect import inspect_as_read
from indistinct.job.policy.reading import LARGEST_POLICY, is_linked_policy, parse_toml
from indistinct.linked.assess import assess_originals
from indistinct.linked.certificate import FILE_NAME
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.folder import targets_of
from indistinct.linked.pictures import draw_known_rows
from indistinct.linked.policy import linked_policy_from_toml
from indistinct.linked.proposing import propose_linked, tables_in
from indistinct.linked.publishing import publish_linked
from indistinct.linked.report import report_folder
from indistinct.linked.writing import move_linked
from indistinct.tables import Reading
from indistinct.tables.addresses import read_ordinary
from indistinct.tables.lakes import kind_of_lake
from indistinct.web.tasks.looking import (
    Allowed,
    Look,
    MissingTable,
    Sheets,
    inspection_with_warnings,
    look,
    look_by_policy,
    without_folder,
)
from indistinct.web.tasks.published import MUST_NOT_HAPPEN, PACKAGE, zip_files
from indistinct.web.tasks.tables import open_kept
from indistinct.web.worker import Desk

CERTIFICATE, REPORT, POLICY = "certificate", "report-internal", "policy"
"""Kinds of files that are published in addition to the tables."""
KNOWN = (1, 2, 3)
"""Known rows for which the risk of the originals is shown."""


@dataclass(frozen=True, slots=True)
class TablesLook:
    """What was found in several files: a first policy, the figures of each table as JSON values, and the reasons.

    `left_out` are tables without a person ID; `decided` says that a policy was read, which decides about all others.
    """

    policy: LinkedPolicy
    inspections: Mapping[str, dict[str, Any]]
    reasons: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    decided: bool = False


def look_at_files(desk: Desk, path: Path, reading: Reading, *, exact: bool = False) -> Look | Sheets | TablesLook:
    """Open a path: several tables if it is a folder of files with different columns, else one table."""
    files = tables_in(path) if path.is_dir() and kind_of_lake(path) is None else None
    return look(desk, path, reading, exact=exact) if files is None else look_at_tables(desk, files)


def look_by_any_policy(desk: Desk, path: Path, allowed: Allowed, files: Path) -> Look | TablesLook | MissingTable:
    """Read a policy of one table or of several, and look at what it reads."""
    if is_linked_policy(path):
        return look_by_linked_policy(desk, path, allowed, files)
    return look_by_policy(desk, path, allowed)


def look_at_tables(desk: Desk, files: Mapping[str, Path], *, people: str | None = None) -> TablesLook:
    """Inspect several files, and propose the people table, person IDs, roles and the calendar."""
    desk.enter("looking at columns", f"{len(files)} tables")
    with without_folder(next(iter(files.values())).parent):
        proposal = propose_linked(files, people=people)
    inspections = {name: inspection_with_warnings(each) for name, each in proposal.inspections.items()}
    return TablesLook(proposal.policy, inspections, proposal.reasons, proposal.left_out)


def look_by_linked_policy(desk: Desk, path: Path, allowed: Allowed, files: Path) -> TablesLook | MissingTable:
    """Read a policy of several tables and inspect them as it says; or say which table must be uploaded first.

    Tables that are not where the policy says are looked for among `files`, which were uploaded.
    """
    desk.enter("reading the policy")
    with without_folder(path):
        text = read_ordinary(path, most=LARGEST_POLICY).decode("utf-8-sig", "replace")
        base = allowed.folder if path.resolve().is_relative_to(allowed.uploaded.parent) else path.parent
        _check_paths(parse_toml(text), base, allowed)
        policy = linked_policy_from_toml(text, base=base)
        missing = [index for index in _places(policy) if not allowed.has(index) or not index.is_file()]
        if missing and all((files / index.name).is_file() for index in _places(policy)):
            policy, missing = move_linked(policy, lambda given: Path(given.name), base=files,
                                          move_hierarchy=lambda given: (base / given).resolve()), []  # fmt: skip
        if missing:
            return MissingTable(missing[0].name)
    inspections = {}
    for table, index in zip(policy.tables, _places(policy), strict=True):
        with without_folder(index):
            desk.enter("reading", index.name)
            inspections[table.name] = inspection_with_warnings(inspect_as_read(open_kept(desk, index, table.reading)))
    return TablesLook(policy, inspections, decided=True)


def _places(policy: LinkedPolicy) -> list[Path]:
    return [policy.locate(table.path or Path(table.name)) for table in policy.tables]


def _check_paths(document: Mapping[str, Any], base: Path, allowed: Allowed) -> None:
    """Raise `PolicyError` for a file that may not be read, before any is."""
    tables = document.get("tables")
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise PolicyError(
            "this is not a policy of several tables", hint="it has a section [tables.NAME] for each table"
        )
    for name, table in tables.items():
        columns = table.get("columns")
        for column, given in (columns if isinstance(columns, dict) else {}).items():
            declared = given.get("hierarchy") if isinstance(given, dict) else None
            hierarchy: dict[str, Any] = declared if isinstance(declared, dict) else {}
            for key in ("file", "parents"):
                if isinstance(hierarchy.get(key), str):
                    allowed.require(base / hierarchy[key], f"[tables.{name}] {column}: the hierarchy file")


def assess_known_rows(desk: Desk, policy: LinkedPolicy) -> dict[str, Any]:
    """Return how many people are left among fewer than k by the number of known rows: a picture, and figures."""
    desk.enter("counting known rows")
    with without_folder(policy.base):
        risks = assess_originals(policy, KNOWN)
    return {"picture": draw_known_rows(risks), "found": risks.to_json(), "people": risks.people}


def publish_tables(desk: Desk, policy: LinkedPolicy, folder: Path) -> dict[str, Any]:
    """Publish several tables into a folder of their own, verified as written; return the certificate and the files."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    desk.enter("searching")
    with without_folder(policy.base):
        release = publish_linked(policy, folder=folder, progress=desk.report)
    folder.chmod(0o700)
    return {
        "certificate": release.certificate.to_json(),
        "folder": folder,
        "files": {name: path for name, path in targets_of(folder, policy).items() if name},
    }


def judge_tables(desk: Desk, policy: LinkedPolicy, folder: Path, policy_text: str) -> dict[str, Any]:
    """Verify a release against its originals, assess, attack and measure it; write the files that may leave.

    `policy_text` is the policy for recipients. Files are put next to the folder of the release.
    """
    desk.enter("verifying, assessing and attacking")
    with without_folder(policy.base):
        made = report_folder(folder, policy)
    if not made.holds:
        raise VerificationError(
            "the published files do not satisfy their privacy guarantee, so they cannot be downloaded",
            hint=MUST_NOT_HAPPEN,
        )
    desk.report(0.9)
    released = {f"table-{name}": path for name, path in targets_of(folder, policy).items() if name}
    released[CERTIFICATE] = folder / FILE_NAME
    own = {REPORT: (folder.parent / "report.html", made.html), POLICY: (folder.parent / "policy.toml", policy_text)}
    for path, text in own.values():
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
    archive = zip_files(folder.parent / "release.zip", released.values())
    files = {**released, **{kind: path for kind, (path, _) in own.items()}, PACKAGE: archive}
    return {"verdict": made.verdict, "files": files, "picture": made.picture, **made.documents}
