"""A model as arrays for the kernels of a search: the tests of a class, and the histograms of cells."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from indistinct.frequencies.value import PERSON, Classes, Histogram, Key
from indistinct.machine.arrays import Codes, starts_of
from indistinct.models.base import DISTINCT, SIZE, HistogramTest, Model


class CompiledTest(NamedTuple):
    """The arrays by which kernels test classes made of cells; shared by all threads.

    `least` is the smallest size that passes; with `growing`, a class that passes still does whatever joins it. A row of
    `tests` is one test (the columns are named in `_test_kernels.py`), `limits` what it compares with. `tables` and
    `nodes` belong to tests that need more. Cell `i` has `entries[indptr[i]:indptr[i + 1]]`, pairs of code and count;
    the codes of all keys are numbered consecutively.
    """

    least: int
    growing: bool
    tests: Codes
    limits: Codes
    tables: Codes
    nodes: Codes
    indptr: Codes
    entries: Codes
    codes: int


class Scratch(NamedTuple):
    """Scratch arrays of one thread: zeros and lists of codes, for two classes at once."""

    tally: Codes
    touched: Codes
    sums: Codes
    order: Codes


def compile_test(model: Model, classes: Classes) -> CompiledTest | None:
    """Return the test of a model for classes made of these, None if only the model itself can judge them."""
    tests = _tests_of(model, classes)
    if tests is None or any(PERSON in key for key in classes.histograms):
        return None
    of_counts = [test for test in tests if test.kind != SIZE]
    keys = list(dict.fromkeys(test.key for test in of_counts if test.key is not None))
    histograms = [classes.histograms[key] for key in keys]
    bases = starts_of([len(histogram.reference) for histogram in histograms])
    spans = dict(zip(keys, pairwise(bases.tolist()), strict=True))
    tables = starts_of([len(test.table) for test in of_counts])
    nodes = starts_of([test.nodes.size for test in of_counts])
    indptr, entries = _merge_histograms(histograms, bases, len(classes))
    return CompiledTest(
        least=max([1, *(test.least for test in tests if test.kind == SIZE)]),
        growing=all(test.kind == DISTINCT for test in of_counts),
        tests=_rows(of_counts, spans, tables, nodes),
        limits=np.array([test.limit for test in of_counts], dtype=np.float64),
        tables=np.concatenate([np.zeros(0), *(test.table.astype(np.float64) for test in of_counts)]),
        nodes=np.concatenate([np.zeros(0, np.int64), *(test.nodes.astype(np.int64).ravel() for test in of_counts)]),
        indptr=indptr,
        entries=entries,
        codes=int(bases[-1]),
    )


def scratch_of(test: CompiledTest) -> Scratch:
    """Return scratch arrays for one thread."""
    most = max([test.codes, len(test.tables), *(test.tests[:, 3].tolist())], default=1) + 1
    zeros, lists = np.zeros(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    both = (2, test.codes + 1)
    return Scratch(np.zeros(both, dtype=np.int64), np.empty(both, dtype=np.int64), zeros, lists)


def _tests_of(model: Model, classes: Classes) -> tuple[HistogramTest, ...] | None:
    """Return the tests of all parts of a model, None if one of them has none."""
    tests: list[HistogramTest] = []
    for part in model.parts():
        # A subclass may judge differently, so inherited tests are not used.
        own = part.histogram_tests(classes) if "histogram_tests" in vars(type(part)) else None
        if own is None:
            return None
        tests += own
    return tuple(tests)


def _rows(tests: Sequence[HistogramTest], spans: dict[Key, tuple[int, int]], tables: Codes, nodes: Codes) -> Codes:
    """Write the tests as rows of numbers for a kernel."""
    rows = [
        (test.kind, *spans[test.key or ()], test.least, *test.ratio, table, node, test.nodes.shape[1])
        for test, table, node in zip(tests, tables.tolist()[:-1], nodes.tolist()[:-1], strict=True)
    ]
    return np.array(rows, dtype=np.int64).reshape(len(rows), 9)


def _merge_histograms(histograms: Sequence[Histogram], bases: Codes, cells: int) -> tuple[Codes, Codes]:
    """Return several histograms of the same cells merged into one, as pairs of code and count."""
    sizes = [np.diff(histogram.indptr) for histogram in histograms]
    indptr = starts_of(np.sum([np.zeros(cells, dtype=np.int64), *sizes], axis=0))
    entries = np.empty((int(indptr[-1]), 2), dtype=np.int64)
    first = indptr[:-1].copy()
    for histogram, base, size in zip(histograms, bases.tolist(), sizes, strict=False):
        at = np.arange(len(histogram.codes)) + np.repeat(first - histogram.indptr[:-1], size)
        entries[at, 0], entries[at, 1] = histogram.codes + np.int64(base), histogram.counts
        first += size
    return indptr, entries
