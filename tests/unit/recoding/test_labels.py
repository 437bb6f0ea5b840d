"""How published values are written."""

import numpy as np
import pyarrow as pa
import pytest

from indistinct.recoding.outputs import range_labels, set_labels
from indistinct.testing.checks.reading import members, stands_for


def ranges(texts, *triples):
    low, high, absent = zip(*triples, strict=True)
    return range_labels(pa.array(texts), np.array(low), np.array(high), np.array(absent)).to_pylist()


def test_ranges():
    assert ranges(["25", "30", "35"], (0, 2, False), (1, 1, False), (0, 1, True), (2, 2, True)) == [
        "[25-35]",
        "30",
        "[25-30] or missing",
        "35 or missing",
    ]


def test_a_hyphen_in_an_end_changes_the_separator():
    assert ranges(["-5", "12"], (0, 1, False)) == ["[-5 .. 12]"]
    assert ranges(["2020-01-01", "2020-01-31"], (0, 1, False)) == ["[2020-01-01 .. 2020-01-31]"]
    assert ranges(["1e-7", "2"], (0, 1, False)) == ["[1e-7 .. 2]"]


def test_a_range_of_nothing_is_null():
    assert ranges(["", "1"], (2, -1, True)) == [None]


def sets(texts, *groups):
    indptr = np.cumsum([0, *map(len, groups)])
    return set_labels(texts, indptr, np.array([code for group in groups for code in group])).to_pylist()


def test_sets():
    assert sets([None, "flu", "measles"], [1, 2], [0, 1], [2], [0]) == [
        "{flu, measles}",
        "{missing, flu}",
        "measles",
        None,
    ]


def test_members_that_could_be_mistaken_are_quoted():
    texts = ["a, b", "{x}", 'say "hi"', "missing", "", " padded "]
    (label,) = sets(texts, list(range(6)))
    assert label == '{"a, b", "{x}", "say ""hi""", "missing", "", " padded "}'
    assert [member for member, _ in members(label)] == texts


@pytest.mark.parametrize(
    ("shown", "original", "expected"),
    [
        ("[25-30]", 25, True),
        ("[25-30]", 24, False),
        ("[-5 .. 12]", -5, True),
        ("[-5 .. 12]", 13, False),
        ("30", 30, True),
        ("30 or missing", 30, True),
        ("30 or missing", None, True),
        ("30 or missing", 31, False),
        ("{missing, flu}", None, True),
        ('{"missing", flu}', None, False),
        ('{"missing", flu}', "missing", True),
        ("{flu, measles}", "measl", False),
        (None, None, True),
        (None, 3, False),
        (7, 7, True),
        (7, 8, False),
    ],
)
def test_labels_are_read_as_they_are_written(shown, original, expected):
    assert stands_for(shown, original) is expected
