"""Verification of a release in a folder: its certificate, its files, its tables and, on request, its originals."""

from pathlib import Path

from indistinct.linked.certificate import FILE_NAME
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.folder import ReleaseFolder, open_folder
from indistinct.linked.opening import open_linked
from indistinct.linked.originals import compare_with_originals
from indistinct.linked.people import anchors_inside as are_anchors_inside
from indistinct.linked.verify import LinkedCheck, LinkedVerdict, verify_tables


def check_release(folder: Path, policy: LinkedPolicy, *, originals: bool = False) -> LinkedVerdict:
    """Return the verdict on a release of any tool in a folder; with `originals` it is also compared with these."""
    found = open_folder(folder, policy)
    tables = found.read()
    certificate = found.certificate
    time = (certificate or {}).get("time")
    inside = bool(time.get("anchors_inside")) if isinstance(time, dict) else False
    opened = None
    if originals:
        opened = open_linked(policy)
        inside = are_anchors_inside(opened)
    verdict = verify_tables(policy, tables, anchors_inside=inside).with_checks(_check_certificate(found, policy))
    if opened is None or verdict.judgement is None:
        return verdict
    return verdict.with_checks(compare_with_originals(opened, tables, levels_in(certificate)))


def _check_certificate(found: ReleaseFolder, policy: LinkedPolicy) -> LinkedCheck:
    changed = found.digests_match()
    if found.certificate is None:
        return LinkedCheck("certificate", False, f"there is no {FILE_NAME}")
    if changed is not None:
        return LinkedCheck("certificate", False, f"{changed} was changed after it was certified")
    if set(found.certificate["tables"]) != {table.name for table in policy.tables}:
        return LinkedCheck("certificate", False, "it is about other tables")
    return LinkedCheck("certificate", True, "every file is what was certified")


def levels_in(certificate: object) -> dict[str, dict[str, int]]:
    """Return the levels in a certificate, ignoring its other content."""
    tables = certificate.get("tables", {}) if isinstance(certificate, dict) else {}
    return {
        name: {column: level for column, level in entry.get("levels", {}).items() if type(level) is int}
        for name, entry in tables.items()
        if isinstance(entry, dict) and isinstance(entry.get("levels", {}), dict)
    }
