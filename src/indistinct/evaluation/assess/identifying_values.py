"""Published columns whose values look like free text, names or numbers of people, whatever their role.

The patterns are those by which `inspect` suggests roles. All values are looked at; of a table beyond memory, those of a
random sample of rows.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError
from indistinct.evaluation.assess.assessed_tables import AssessedTable
from indistinct.inspection.inspect import encode
from indistinct.inspection.patterns.base import MAX_TEXTS_JUDGED, PatternShare
from indistinct.inspection.roles import identifying_pattern, patterns_of, texts_of
from indistinct.machine.arrays import Codes
from indistinct.release.sources import Source, groups_of
from indistinct.schema import Role
from indistinct.tables.domain import Kind, kind_of
from indistinct.view.meanings import count_named_values

SAMPLED_ROWS = 200_000
"""Rows of a table beyond memory whose values are looked at."""
MAX_LABELS = 20_000
"""Distinct labels of a quasi-identifier that are read; of more, evenly chosen ones."""


def identifying_values(table: AssessedTable) -> dict[str, PatternShare] | None:
    """Return the published columns whose values look identifying, with the pattern; None if not checked.

    Columns with the role identifier or person are left out: another line judges that they are published.
    """
    shares = {}
    try:
        for name, values, counts in _distinct_values(table):
            role, kind = Role.QUASI if name in table.shows.quasi else None, kind_of(values.type)
            labelled = role is Role.QUASI and kind is Kind.TEXT
            texts, weights = _values_in_labels(values, counts) if labelled else (values, counts)
            patterns = patterns_of(kind, texts, weights, rows=int(counts.sum()))
            pattern = identifying_pattern(name, patterns, role)
            if pattern is not None:
                shares[name] = pattern
    except InputError:  # a column with more distinct values than an engine gives
        return None
    return shares


def _values_in_labels(labels: pa.Array, counts: Codes) -> tuple[pa.Array, Codes]:
    """Return the values that labels of a quasi-identifier show: members of sets and ends of ranges of texts.

    Ranges of numbers and dates, whose labels have several words, show none that points at people.
    """
    step = 1 + len(labels) // MAX_LABELS
    named = count_named_values(texts_of(labels)[::step].to_pylist(), counts[::step].tolist())
    return pa.array(list(named), pa.string()), np.array(list(named.values()), dtype=np.int64)


def _distinct_values(table: AssessedTable) -> Iterator[tuple[str, pa.Array, Codes]]:
    """Yield the distinct values of each published column of texts or whole numbers, with the number of their rows."""
    for each in table.evidence.slices:
        for name in each.names:
            domain = table.evidence.domains[name]
            counts: Codes = np.bincount(each.codes[name], weights=each.counts, minlength=len(domain)).astype(np.int64)
            yield name, domain.values, counts[int(domain.missing) :]
    source = table.whole_rows
    if source is not None:
        names = [name for name in _columns_that_may_point(source) if name not in table.schema.hidden]
        counted = {} if source.in_memory is None else _counted_values(table, names)
        for name, (values, counts) in counted.items():
            yield name, values, counts
        for name, column, weights in _columns_of(source, [name for name in names if name not in counted]):
            values, codes = encode(column)
            counts = np.bincount(codes, weights=weights, minlength=len(values))[: len(values)]
            yield name, values, counts.astype(np.int64)


def _counted_values(table: AssessedTable, names: Sequence[str]) -> dict[str, tuple[pa.Array, Codes]]:
    """Return the distinct values of columns that were counted already, where they are few enough to look at all."""
    counted = table.evidence.counted
    values: dict[str, tuple[pa.Array, Codes]] = {}
    cells, histograms = counted.frequencies, counted.frequencies.classes.histograms
    for name in names:
        if name in cells.names:
            codes, weights = cells.vectors[:, cells.names.index(name)], cells.counts
        elif (name,) in histograms:
            codes, weights = histograms[(name,)].codes, histograms[(name,)].counts
        else:
            continue
        domain = counted.known[name]
        if len(domain) <= MAX_TEXTS_JUDGED:
            rows = np.bincount(codes, weights=weights, minlength=len(domain)).astype(np.int64)[int(domain.missing) :]
            values[name] = domain.values.filter(pa.array(rows > 0)), rows[rows > 0]
    return values


def _columns_that_may_point(source: Source) -> Iterator[str]:
    """Yield the columns that may contain identifying values: texts and whole numbers."""
    types = source.arrow
    for name, kind in source.kinds.items():
        own = types.field(name).type
        if not pa.types.is_nested(own) and (kind is Kind.TEXT or pa.types.is_integer(own)):
            yield name


def _columns_of(source: Source, names: Sequence[str]) -> Iterator[tuple[str, pa.ChunkedArray, Codes | None]]:
    """Yield columns with the rows of each entry: whole, of a random sample of rows, or by distinct value."""
    whole = source.in_memory
    if whole is None and names and isinstance(source, Streamed):
        whole = _sample_of_rows(source, names)
    for name in names:
        if whole is not None:
            yield name, whole[name], None
        else:
            groups = groups_of(source, (name,))
            yield name, groups.table[name], groups.counts


@runtime_checkable
class Streamed(Protocol):
    """A source whose rows come in batches."""

    rows: int

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield rows, a batch at a time."""


def _sample_of_rows(source: Streamed, names: Sequence[str]) -> pa.Table:
    """Return a random sample of rows, the same each time."""
    share, chance = SAMPLED_ROWS / max(source.rows, 1), np.random.default_rng(0)
    kept = [
        batch if share >= 1 else batch.filter(pa.array(chance.random(len(batch)) < share))
        for batch in source.batches(names)
    ]
    return pa.concat_tables(kept)
