"""A certificate for others: without small counts that the published file does not tell by itself.

A count of fewer people than the threshold points at them, and so does the difference of two counts: of the rows of a
table and of those that were published, say. What a reader counts on the file, and what a model achieves, stays.
"""

import json
import re
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Any

from indistinct.errors import ParameterError
from indistinct.figures import counts_of, hide_counts, unit_of
from indistinct.release.certificate import Certificate

SMALLEST = 11
"""Smaller counts are hidden unless something else is asked for: the usual limit for tables of health data."""
UNITS = ("rows", "people", "classes")
# The figures of a certificate that only the original shows, by what they count.
FIGURES = {
    ("original_rows",): "rows",
    ("suppressed_rows",): "rows",
    ("people", "published"): "people",
    ("people", "original"): "people",
    ("people", "suppressed"): "people",
    ("overlap", "shared_people"): "people",
    ("overlap", "people_below"): "people",
    ("overlap", "people_joined"): "people",
    ("overlap", "people_left"): "people",
    ("overlap", "people_before"): "people",
}
# Sizes of the smallest group: nobody takes them from anything, so that each stands for itself.
SMALLEST_GROUPS = (("overlap", "smallest_history"),)
# What a model achieves that a reader computes on the file in rows. Where people are counted only k and l are told.
SHOWN_BY_ROWS = frozenset({"k", "l", "alpha", "c", "threshold", "share", "low", "high"})
ALWAYS_SHOWN = frozenset({"k", "l"})
SUPPRESSED = "rows_suppressed"
"""How the name of a count begins that is a part of the suppressed rows."""
# The spec of a model that estimates from a sample has the size of the original.
SAMPLE_SIZE = re.compile(r"(?<=[:,]sample_size=)[0-9]+")
HIDDEN = "[hidden]"


def check_smallest(smallest: int) -> int:
    """Return a threshold; raise unless it is a whole number from 0, which hides nothing."""
    if isinstance(smallest, bool) or not isinstance(smallest, int) or smallest < 0:
        raise ParameterError(
            f"`smallest_count` must be a whole number from 0; got {smallest!r}",
            hint="11 hides counts up to 10, and 0 hides none",
        )
    return smallest


def text_for_others(certificate: Certificate, *, smallest: int = SMALLEST) -> str:
    """Return the certificate that lies beside a release, as a JSON document."""
    document = for_others(certificate, smallest=smallest)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def for_others(certificate: Certificate, *, smallest: int = SMALLEST) -> dict[str, Any]:
    """Return a certificate as JSON values without small counts; `hidden` names what is null for that reason.

    All counts of rows are hidden as soon as one of them is small, or two differ by so little, or by so little from what
    a reader counts; and so are all counts of people, and of classes. A count of 0 stays. What a model achieves over
    people goes with them, and what it achieves beside the original as soon as a row was suppressed: with the shares of
    the file such a ratio tells, value by value, how many of the suppressed rows had it.
    """
    document = certificate.to_json()
    hidden: list[str] = []
    units = {unit for unit in UNITS if _tells(certificate, document, unit, smallest)}
    for path, unit in FIGURES.items():
        if unit in units and _at(document, path):
            hidden.append(_hide(document, path))
    hidden += [_hide(document, path) for path in SMALLEST_GROUPS if 0 < (_at(document, path) or 0) < smallest]
    stays = _achieved_shown(certificate, units)
    for verdict in document["verdicts"]:
        if {"rows", "people"} & units and SAMPLE_SIZE.search(verdict["model"]):
            verdict["model"] = SAMPLE_SIZE.sub(HIDDEN, verdict["model"])
            hidden.append(f"sample_size of {verdict['model']}")
        if "rows" in units and verdict["needs_original"] and verdict["violating_rows"]:
            verdict["violating_rows"] = None
            hidden.append(f"violating_rows of {verdict['model']}")
        beside = bool(smallest and certificate.suppressed_rows and verdict["compared_with_original"])
        for key in (key for key, value in verdict["achieved"].items() if value and (beside or key not in stays)):
            verdict["achieved"][key] = None
            hidden.append(f"{key} of {verdict['model']}")
    warnings = [str(hide_counts(warning, units)) for warning in certificate.warnings]
    if warnings != document["warnings"]:
        hidden.append("counts in warnings")
    return document | {"warnings": warnings, "hidden": hidden, "smallest_count": smallest if hidden else None}


def _achieved_shown(certificate: Certificate, units: Collection[str]) -> Collection[str]:
    """Return the achieved values that tell nothing of what is hidden."""
    if "people" in units and certificate.people is not None:
        return ALWAYS_SHOWN
    every = {key for verdict in certificate.verdicts for key in verdict.achieved}
    return SHOWN_BY_ROWS if "rows" in units else every


def _tells(certificate: Certificate, document: dict[str, Any], unit: str, smallest: int) -> bool:
    """Return whether the counts of a unit tell something small, each alone or two together."""
    figures = [*_counts(certificate, document, unit), *_rest(certificate, unit)]
    known = {"rows": certificate.rows, "people": certificate.rows, "classes": certificate.classes}[unit]
    if any(0 < figure < smallest for figure in figures):
        return True
    return any(0 < abs(one - two) < smallest for one, two in combinations([known, *figures], 2) if one and two)


def _counts(certificate: Certificate, document: dict[str, Any], unit: str) -> Iterator[int]:
    """Yield the counts of a unit that the published file does not show."""
    for path, own in FIGURES.items():
        value = _at(document, path)
        if own == unit and value is not None:
            yield value
    for warning in certificate.warnings:
        yield from (count for name, count in counts_of(warning).items() if unit_of(name) == unit)
    if unit == "rows":
        yield from (verdict.violating_rows for verdict in certificate.verdicts if verdict.needs_original)


def _rest(certificate: Certificate, unit: str) -> Iterator[int]:
    """Yield what follows from several counts: whoever adds up knows it.

    Rows that were suppressed for no reason that a warning gives, people who lost some of their rows only, and rows
    beyond the first of each person, in the original and of those suppressed.
    """
    people = certificate.people
    if unit == "people" and people is not None and people.original is not None and people.suppressed is not None:
        yield max(people.suppressed - (people.original - people.published), 0)
        rows = (certificate.original_rows, certificate.suppressed_rows)
        yield from (
            max(more - own, 0)
            for more, own in zip(rows, (people.original, people.suppressed), strict=True)
            if more is not None
        )
    if unit == "rows" and certificate.suppressed_rows is not None:
        parts = [counts_of(warning).get(SUPPRESSED, 0) for warning in certificate.warnings]
        yield max(certificate.suppressed_rows - sum(parts), 0)


def _at(document: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = document
    for key in path:
        value = None if value is None else value[key]
    return value


def _hide(document: dict[str, Any], path: tuple[str, ...]) -> str:
    _at(document, path[:-1])[path[-1]] = None
    return ".".join(path)
