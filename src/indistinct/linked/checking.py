"""Verification of a release in a folder: its certificate, its files, its tables and, on request, its originals."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.linked.certificate import (
    FILE_NAME,
    assumptions_of,
    bounds_of,
    declared_knowledge,
    declared_roles,
    declared_time,
    labels_of_people,
)
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.folder import ReleaseFolder, open_folder
from indistinct.linked.opening import open_linked
from indistinct.linked.originals import compare_with_originals
from indistinct.linked.people import anchors_inside as are_anchors_inside
from indistinct.linked.verify import MEMORY, LinkedCheck, LinkedVerdict, verify_tables


def check_release(
    folder: Path, policy: LinkedPolicy, *, originals: bool = False, memory: int = MEMORY
) -> LinkedVerdict:
    """Verify a release in a folder, made by any tool; with `originals` also compare it with these.

    Rows take about `memory` bytes while they are judged; to be compared with the originals all of them are in memory.
    """
    contents = open_folder(folder, policy)
    tables = contents.read()
    certificate = contents.certificate
    time = (certificate or {}).get("time")
    inside = bool(time.get("anchors_inside")) if isinstance(time, dict) else False
    opened = None
    if originals:
        opened = open_linked(policy)
        inside = are_anchors_inside(opened)
    verdict = verify_tables(policy, tables, anchors_inside=inside, memory=memory)
    verdict = verdict.with_checks(_check_certificate(contents, policy, verdict, tables))
    if opened is None or verdict.judgement is None:
        return verdict
    return verdict.with_checks(compare_with_originals(opened, tables, levels_in(certificate)))


def _check_certificate(
    opened: ReleaseFolder, policy: LinkedPolicy, verdict: LinkedVerdict, tables: Mapping[str, pa.Table]
) -> LinkedCheck:
    """Compare the certificate of a folder with its files, the policy and the counts."""
    changed = opened.digests_match()
    if opened.certificate is None:
        return LinkedCheck("certificate", False, f"there is no {FILE_NAME}")
    if changed is not None:
        return LinkedCheck("certificate", False, f"{changed} was changed after it was certified")
    if set(opened.certificate["tables"]) != {table.name for table in policy.tables}:
        return LinkedCheck("certificate", False, "it is about other tables")
    if verdict.judgement is not None:
        labels = labels_of_people(policy, tables[policy.people.name])
        wrong = _different_claims(opened.certificate, policy, verdict, labels)
        if wrong:
            words = f"it says something else than the policy and the files: {', '.join(wrong)}"
            return LinkedCheck("certificate", False, words)
    return LinkedCheck("certificate", True, "every file is what was certified")


def _different_claims(
    document: Mapping[str, Any], policy: LinkedPolicy, verdict: LinkedVerdict, labels: Mapping[str, set[str | None]]
) -> list[str]:
    """Return the claims of a certificate that differ from the policy or from the counts on the tables.

    `labels` are those of the people table.
    """
    judgement = verdict.judgement
    if judgement is None:
        return []
    time = document.get("time")
    inside = bool(time.get("anchors_inside")) if isinstance(time, dict) else False
    wanted: dict[str, Any] = {
        "model": policy.model.spec(),
        "holds": True,
        "smallest_group": judgement.k,
        "largest_share": judgement.largest_share,
        "people": verdict.people,
        **declared_knowledge(policy),
        "bounds": json.loads(json.dumps(bounds_of(policy, labels, anchors_inside=inside))),
        "assumptions": list(assumptions_of(policy)),
    }
    claimed = {**document, "time": _some_of(time, wanted["time"])}
    wrong = [name for name, value in wanted.items() if claimed.get(name) != value]
    for table in policy.tables:
        entry = document["tables"][table.name]
        declared: dict[str, Any] = {
            "rows": verdict.rows[table.name],
            "person": table.person,
            "people": table.people,
            "knows": table.knows,
            "roles": declared_roles(table),
            "time": declared_time(policy, table),
        }
        known = {**entry, "time": _some_of(entry.get("time"), declared["time"])}
        wrong += [f"{name} of {table.name}" for name, value in declared.items() if known.get(name) != value]
    return wrong


def _some_of(claimed: Any, wanted: Mapping[str, Any] | None) -> Any:
    """Return those members of an object that are compared; others say how labels came about."""
    if not isinstance(claimed, dict) or wanted is None:
        return claimed
    return {name: claimed.get(name) for name in wanted}


def levels_in(certificate: object) -> dict[str, dict[str, int]]:
    """Return the levels in a certificate, ignoring its other content."""
    tables = certificate.get("tables", {}) if isinstance(certificate, dict) else {}
    return {
        name: {column: level for column, level in entry.get("levels", {}).items() if type(level) is int}
        for name, entry in tables.items()
        if isinstance(entry, dict) and isinstance(entry.get("levels", {}), dict)
    }
