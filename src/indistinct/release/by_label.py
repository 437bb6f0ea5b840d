"""Which original rows stand behind a published class, for checks that a published table cannot answer: people.

People are counted on the original, by what was published of their rows. That takes the recoding, or labels that leave
no doubt: every original combination of values lies in one published label, or in none if its rows were suppressed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from indistinct.arrays import Codes
from indistinct.engines import open_source
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import FrequencySet, Key
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.assign import assign, domains_of, parts_rows
from indistinct.recoding.columns import columns_of
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.layout import class_layout
from indistinct.recoding.outputs import Assignment
from indistinct.recoding.read_back import Cover, cover_of, read_back
from indistinct.schema import Schema
from indistinct.tables import open_table

# So many pairs of an original combination and a published class are compared at most, and so many at a time.
MOST_PAIRS, BLOCK = 4_000_000_000, 1 << 24


def original_by_class(
    published: Any,
    original: Any,
    schema: Schema,
    keys: Sequence[Key],
    *,
    recoding: Recoding | None = None,
    hierarchies: Mapping[str, Hierarchy],
) -> tuple[Counted, Assignment]:
    """Return what was counted on an original, and the published class of each of its cells."""
    engine, source = open_source(original)
    if recoding is not None:
        return _by_recoding(recoding, schema, lambda request: engine.count(source, request), keys)
    request = Request(schema.quasi, tuple(keys), hierarchies, person=schema.person)
    counted = engine.count(source, request)
    columns = columns_of(counted.domains, {name: h for name, h in hierarchies.items() if name in schema.quasi})
    table = open_table(published).data
    shows = read_back(table, columns, frequencies=counted.frequencies, schema=schema)
    class_ids = classes_of_cells(counted.frequencies, cover_of(table, columns, schema=schema))
    assignment = replace(
        shows,
        cells=np.arange(len(class_ids), dtype=np.int32),
        class_ids=class_ids,
        counts=counted.frequencies.counts,
        classes=counted.frequencies.classes.regroup(class_ids, len(shows.values)),
    )
    return counted, replace(assignment, layout=class_layout(assignment, schema))


def _by_recoding(recoding: Recoding, schema: Schema, count: Any, keys: Sequence[Key]) -> tuple[Counted, Assignment]:
    if parts_rows(recoding):
        raise InputError(
            "this recoding parts rows with equal values, so that people were verified at publication only",
            hint="the certificate beside the release says what held; strict partitioning can be verified again",
        )
    domains = {domain.column: domain for domain in domains_of(recoding)}
    counted = count(Request(tuple(domains), tuple(keys), domains=domains, person=schema.person))
    return counted, assign(counted.frequencies, replace(recoding, schema=schema))


def nobody_shown() -> InputError:
    """Return the error of a check that must count people on a release alone."""
    return InputError(
        "people cannot be counted on a release, which does not show who they are",
        hint="give the original (--original, or original=…); to count rows, give the column the role identifier",
    )


def classes_of_cells(frequencies: FrequencySet, covers: Sequence[Cover]) -> Codes:
    """Return the one class whose published values cover each cell, -1 for a cell that none covers."""
    cells, classes = len(frequencies), len(covers[0].indptr) - 1
    if cells * classes > MOST_PAIRS:
        raise _in_doubt(f"{cells:,} combinations and {classes:,} published ones are too many to compare")
    covered = []
    for j, cover in enumerate(covers):
        inside = np.zeros((int(frequencies.vectors[:, j].max(initial=0)) + 1, classes), dtype=bool)
        known = cover.codes < len(inside)
        inside[cover.codes[known], np.repeat(np.arange(classes), np.diff(cover.indptr))[known]] = True
        covered.append(inside)
    class_ids, doubtful = np.empty(cells, dtype=np.int32), 0
    step = max(BLOCK // max(classes, 1), 1)
    for start in range(0, cells, step):
        vectors = frequencies.vectors[start : start + step]
        fits = np.logical_and.reduce([inside[vectors[:, j]] for j, inside in enumerate(covered)])
        number = fits.sum(axis=1)
        doubtful += int((number > 1).sum())
        class_ids[start : start + step] = np.where(number == 1, fits.argmax(axis=1), -1)
    if doubtful:
        raise _in_doubt(f"{doubtful:,} combination(s) of original values lie in several published labels")
    return class_ids


def _in_doubt(reason: str) -> InputError:
    return InputError(
        f"people cannot be counted by published labels alone: {reason}",
        hint="give the recoding of the release (--recoding, or recoding=…), which says where each row went",
    )
