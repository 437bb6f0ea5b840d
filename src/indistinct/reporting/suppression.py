"""What is not there: suppressed rows by subgroup, and cells that are published as `*`, column by column."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from indistinct.recoding.outputs import Assignment
from indistinct.reporting.columns import MOST_BARS, Shares, texts_of
from indistinct.reporting.subject import Subject


def suppression_facts(
    subject: Subject, *, assignment: Assignment | None, shares: Mapping[str, Shares]
) -> dict[str, Any]:
    """Return starred cells by column, and of every subgroup how many rows it had and how many are not published.

    Subgroups are the values of columns with few values: as the recoding sent them where it is known, and else of
    columns that are published as they are.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    if assignment is not None and len(assignment.cells):
        found = _by_recoding(assignment)
    for name, each in shares.items():
        if name not in found and each.counts:
            pairs = zip(each.values, each.counts, strict=True)
            found[name] = [_line(value, rows, rows - left) for value, (rows, left) in pairs if rows]
    return {"starred": _count_stars(subject), "subgroups": found}


def _by_recoding(assignment: Assignment) -> dict[str, list[dict[str, Any]]]:
    """Return what became of the rows of every value of quasi-identifiers with few values."""
    found: dict[str, list[dict[str, Any]]] = {}
    vectors, dropped = assignment.frequencies.vectors, assignment.class_ids < 0
    for place, domain in enumerate(assignment.domains):
        if len(domain) > MOST_BARS:
            continue
        codes = vectors[assignment.cells, place]
        every, lost = (
            np.bincount(codes, weights=assignment.counts * mask, minlength=len(domain)).astype(int).tolist()
            for mask in (np.ones(len(codes)), dropped)
        )
        lines = zip(texts_of(domain), every, lost, strict=True)
        found[domain.column] = [_line(text, rows, gone) for text, rows, gone in lines if rows]
    return found


def _line(value: str, rows: int, suppressed: int) -> dict[str, Any]:
    return {"value": value, "rows": rows, "suppressed": suppressed, "share": suppressed / rows if rows else 0.0}


def _count_stars(subject: Subject) -> dict[str, int]:
    """Return how many cells of each quasi-identifier are published as a star."""
    shown = subject.published.main.columns
    return {name: subject.stars(name) for name in subject.published.roles.quasi if name in shown}
