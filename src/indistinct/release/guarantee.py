"""What a certificate says as a whole: whether models are satisfied, and which checks of the file fail."""

from collections.abc import Iterable, Mapping
from typing import Any

SETS_SHARED = "class-sets-shared"
MATCHES = "matches-original"
NO_IDENTIFIER = "no-identifier"
ROLES_COMPLETE = "every-column-has-a-role"
OWN_CERTIFICATE = "own-certificate"
NO_ADDED_ROWS = "no-added-rows"
TRANSFORMED = "transformed-as-declared"
CHECKS = (NO_IDENTIFIER, ROLES_COMPLETE, OWN_CERTIFICATE, NO_ADDED_ROWS, TRANSFORMED)
"""Verdicts that are about the file, and not a privacy model."""

# What is checked in addition to the models that were asked for.
CHECKED = {
    SETS_SHARED: "No person is alone with all their rows together",
    TRANSFORMED: "Columns are rounded or cleared as declared",
    NO_IDENTIFIER: "No identifier is published",
    ROLES_COMPLETE: "Every column has a role",
    OWN_CERTIFICATE: "The file is the one of its certificate",
    NO_ADDED_ROWS: "No row was added",
    MATCHES: "The table shows what the original had",
}


def failed_checks(verdicts: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the checks that fail where every privacy model is satisfied; none where a model is not.

    >>> failed_checks([{"model": "k-anonymity:k=2", "holds": True}, {"model": "own-certificate", "holds": False}])
    ('own-certificate',)
    """
    failed = tuple(str(each["model"]) for each in verdicts if not each["holds"])
    return failed if set(failed) <= set(CHECKS) else ()


def guarantee_in_words(*, holds: bool, checks: tuple[str, ...] = ()) -> str:
    """Return whether a privacy guarantee is satisfied, as a clause; `checks` fail although models are satisfied.

    >>> guarantee_in_words(holds=False, checks=("no-added-rows",))
    'every privacy model is satisfied, but not every check of the file: no-added-rows failed'
    """
    if holds:
        return "the privacy guarantee is satisfied"
    if not checks:
        return "the privacy guarantee is NOT satisfied"
    if checks == (OWN_CERTIFICATE,):
        return (
            "every privacy model is satisfied, but this file is not the one that its certificate describes: "
            f"{OWN_CERTIFICATE} failed"
        )
    return f"every privacy model is satisfied, but not every check of the file: {', '.join(checks)} failed"


def guarantee_sentence(*, holds: bool, checks: tuple[str, ...] = ()) -> str:
    """Return whether a privacy guarantee is satisfied, and what to do where only the file is another one.

    >>> guarantee_sentence(holds=False)
    'The privacy guarantee is NOT satisfied.'
    """
    words = guarantee_in_words(holds=holds, checks=checks)
    advice = " Verify the file as it was written, or anonymize again." if checks == (OWN_CERTIFICATE,) else ""
    return f"{words[0].upper()}{words[1:]}.{advice}"
