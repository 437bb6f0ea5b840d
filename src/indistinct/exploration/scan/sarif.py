"""Scans as SARIF 2.1.0, which code hosts show next to files: which check found what and where, never a cell's value."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import indistinct
from indistinct.exploration.scan.base import Severity
from indistinct.exploration.scan.scan import CHECKS, Scan

VERSION = "2.1.0"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.LEAK: "error", Severity.SUSPICION: "warning", Severity.NOTE: "note"}


def sarif_of(scans: Mapping[str, Scan], failures: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return scans by the path of their file as one SARIF log; `failures` are files that could not be scanned.

    Sentences of findings have names of columns and counts, no values. What was not read is a notification, so that a
    file whose cells were not checked does not look clean.
    """
    rules = [_rule(name) for name in CHECKS]
    results = [result for path, scan in scans.items() for result in _results(path, scan)]
    notes = [note for path, scan in scans.items() for note in _unread(path, scan)]
    notes += [_notification(path, words, "error") for path, words in (failures or {}).items()]
    driver = {"name": "indistinct", "version": indistinct.__version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "artifacts": [{"location": {"uri": _uri(path)}} for path in (*scans, *(failures or {}))],
        "invocations": [{"executionSuccessful": not failures, "toolExecutionNotifications": notes}],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(name: str) -> dict[str, Any]:
    """Return a check as a rule of SARIF."""
    return {
        "id": name,
        "shortDescription": {"text": CHECKS[name].purpose},
        "help": {"text": f"indistinct looks for {CHECKS[name].purpose}: see the guide on scanning a file."},
    }


def _results(path: str, scan: Scan) -> list[dict[str, Any]]:
    """Return the findings of a file as results of SARIF."""
    order = list(CHECKS)
    return [
        {
            "ruleId": finding.check,
            "ruleIndex": order.index(finding.check),
            "level": LEVELS[finding.severity],
            "message": {"text": f"{finding.sentence}. To do: {finding.remedy}."},
            "locations": [_location(path, finding.place)],
            "partialFingerprints": {"indistinct/v1": _fingerprint(path, finding.check, finding.place)},
            "properties": {"count": finding.count, "severity": str(finding.severity)},
        }
        for finding in scan.findings
    ]


def _location(path: str, location: str) -> dict[str, Any]:
    """Return the location of a finding: a file, and a column or a part of it."""
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": 1}},
        "logicalLocations": [{"name": location, "kind": "member"}],
    }


def _unread(path: str, scan: Scan) -> Sequence[dict[str, Any]]:
    return [_notification(path, f"{each.what} was not read: {each.reason}", "warning") for each in scan.unread]


def _notification(path: str, words: str, level: str) -> dict[str, Any]:
    """Return a message about a file as a notification of SARIF."""
    return {
        "level": level,
        "message": {"text": words},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(path)}}}],
    }


def _uri(path: str) -> str:
    """Return a path as a relative reference with forward slashes, or a file address where it is absolute."""
    pure = PurePath(path)
    return pure.as_uri() if pure.is_absolute() else quote(pure.as_posix())


def _fingerprint(path: str, check: str, location: str) -> str:
    """Return an identifier that recognizes a finding in the next scan; it is made of names, not of cells."""
    return hashlib.sha256("\n".join((PurePath(path).as_posix(), check, location)).encode()).hexdigest()
