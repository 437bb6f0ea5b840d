"""What a certificate says as a whole: whether models are satisfied, and which checks of the file fail."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from indistinct.models.registry import MODELS, parse_model_or_none
from indistinct.models.words import words_of
from indistinct.spelling import arguments_of, name_of

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

# Where a parameter begins in a specification.
PARAMETER = re.compile(r"[:,](?=[a-z_]+=)")
# What k = 1 leaves of guarantees about classes: no class is empty.
OF_ONE = {"k-anonymity": "No protection", "k-map": "No protection", "alpha-k": "No value is too likely"}


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


def promise_in_words(spelled: str) -> str:
    """Return a promise as a few words with its name and figures; one without words has these alone.

    >>> promise_in_words("k-anonymity:k=11")
    'No person is singled out (k-anonymity, k = 11)'
    >>> promise_in_words("k-anonymity:k=1")
    'No protection (k-anonymity, k = 1)'
    """
    name, model = name_of(spelled), parse_model_or_none(spelled)
    plain = ", ".join([name, *(each.replace("=", " = ", 1) for each in PARAMETER.split(spelled)[1:])])
    if model is not None and name in OF_ONE and arguments_of(model)["k"] == 1:
        return f"{OF_ONE[name]} ({plain})"
    words = CHECKED.get(name) or (words_of(MODELS[name]).title.partition(" (")[0] if name in MODELS else "")
    return f"{words} ({plain})" if words else plain
