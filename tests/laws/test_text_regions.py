"""Laws of regions of text: they are ranges by code points, true of every row, and read back as they were written."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.partition import layout
from indistinct.errors import IndistinctError
from indistinct.evaluation.measure.measure import measure_table
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.outputs import text_range_labels
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.tables.domain import Domain, Kind
from indistinct.view.meanings import Members, Span, meaning_of, vocabulary_of

laws = settings(deadline=None, max_examples=60)
words = st.sampled_from(["", "a", "b", "b .. c", "c", 'd"', "[e", "f]", " g", "..", "h-i", "missing", "ü", "z"])
cells = st.one_of(st.none(), words)
ALGORITHMS = st.sampled_from(["mondrian:extent=region", "single-dimensional:extent=region"])
SCHEMA = ind.Schema(quasi=["q", "r"], sensitive=["s"], insensitive=["key"])
END = r'"(?:[^"]|"")*"|[^"]*?'


@st.composite
def tables(draw, rows=None):
    rows = draw(st.integers(2, 14)) if rows is None else rows
    columns = {name: ["a", *draw(st.lists(cells, min_size=rows, max_size=rows))] for name in ("q", "r")}
    return pa.table({**columns, "s": ["x"] * (rows + 1), "key": list(range(rows + 1))})


def covers(label, value, known):
    """Return whether a label is true of a value, by rules of its own."""
    if label is None or value is None:
        return value is None and (label is None or label.endswith(" or missing"))
    if label == value or label == f"{value} or missing":
        return True
    inside = label.removesuffix(" or missing")
    for first, last in re.findall(rf"(?=^\[({END}) \.\. ({END})\]$)", inside):
        low, high = (end[1:-1].replace('""', '"') if end.startswith('"') else end for end in (first, last))
        if low in known and high in known and low <= value <= high:
            return True
    return False


@laws
@given(first=tables(), second=tables(), algorithm=ALGORITHMS, k=st.integers(1, 4))
def test_labels_are_true_this_month_and_the_next(first, second, algorithm, k):
    assume(first.num_rows >= k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "LISTED", 0)
        release = ind.anonymize(first, SCHEMA, model=ind.KAnonymity(k), algorithm=algorithm)
    for name in ("q", "r"):
        known = set(first[name].to_pylist())
        original = dict(zip(first["key"].to_pylist(), first[name].to_pylist(), strict=True))
        for row in release.table.to_pylist():
            assert covers(row[name], original[row["key"]], known), (row[name], original[row["key"]])
    try:
        later = ind.apply(recoding_from_json(recoding_to_json(release.recoding)), second, suppression=1.0)
    except IndistinctError:
        return
    for name in ("q", "r"):
        known = set(first[name].to_pylist())
        original = dict(zip(second["key"].to_pylist(), second[name].to_pylist(), strict=True))
        for row in later.table.to_pylist():
            assert covers(row[name], original[row["key"]], known), (row[name], original[row["key"]])


@laws
@given(table=tables(), algorithm=ALGORITHMS, k=st.integers(1, 4))
def test_a_published_range_measures_as_its_release_and_as_a_list(table, algorithm, k):
    assume(table.num_rows >= k)
    options = {"model": ind.KAnonymity(k), "algorithm": algorithm}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "LISTED", 0)
        release = ind.anonymize(table, SCHEMA, **options)
    released = dict(ind.measure(release))
    assert released == pytest.approx(dict(ind.measure(ind.anonymize(table, SCHEMA, **options))))
    measured = measure_table(release.table, SCHEMA, original=table, k=k)
    assert {name: measured[name] for name in released if name in measured} == pytest.approx(
        {name: value for name, value in released.items() if name in measured}
    )


@laws
@given(st.sets(words, min_size=2), st.data())
def test_a_range_of_texts_is_read_as_it_was_written(values, data):
    ordered = sorted(values)
    low = data.draw(st.integers(0, len(ordered) - 2))
    high = data.draw(st.integers(low + 1, len(ordered) - 1))
    missing = data.draw(st.booleans())
    column = QuasiColumn(Domain("q", pa.array(ordered), missing=True))
    ends = np.array([low]), np.array([high])
    (label,) = text_range_labels(pa.array(ordered), *ends, np.array([missing])).to_pylist()
    assert meaning_of(vocabulary_of(column, Kind.TEXT), label) == Span(low + 1, high + 1, absent=missing)


def test_few_values_stay_a_list_and_many_become_a_range():
    few = pa.table({"q": [f"v{place:02}" for place in range(20)]})
    many = pa.table({"q": [f"v{place:02}" for place in range(60)]})
    schema, options = ind.Schema(quasi=["q"]), {"model": "k-anonymity:k=10", "algorithm": "mondrian:extent=region"}
    assert set(ind.anonymize(few, schema, **options).table["q"].to_pylist()) == {
        "{" + ", ".join(f"v{place:02}" for place in part) + "}" for part in (range(10), range(10, 20))
    }
    release = ind.anonymize(many, schema, **options)
    assert set(release.table["q"].to_pylist()) == {
        "[v00 .. v14]", "[v15 .. v29]", "[v30 .. v44]", "[v45 .. v59]"
    }  # fmt: skip
    later = pa.table({"q": ["v03", "v14 and a half"] + ["v075"] * 12})
    told = ind.apply(release.recoding, later, suppression=0.2)
    assert told.table["q"].to_pylist() == ["[v00 .. v14]"] * 13


def test_a_set_of_text_is_still_a_set():
    column = QuasiColumn(Domain("q", pa.array(["a", "b", "c"])))
    assert meaning_of(vocabulary_of(column, Kind.TEXT), "{a, c}") == Members((0, 2))
