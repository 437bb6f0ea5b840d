"""Least and most levels: whatever the bounds, labels lie within them, or an error names them and what would do."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.errors import InfeasibleError

ROWS = 80
HIERARCHIES = {
    "zip": ind.Hierarchy.masking(),
    "age": ind.Hierarchy.intervals([5, 10, 20]),
    "job": ind.Hierarchy.tree({"*": {"art": ["dancer", "writer"], "craft": ["baker", "smith"], "care": ["nurse"]}}),
}
HEIGHTS = {"zip": 4, "age": 4, "job": 2}
SCHEMA = ind.Schema(quasi=list(HEIGHTS), sensitive=["ill"])
# A node is chosen by hand, buckets show values as they are, and whole columns are cut below no most level.
FORMS = [name for name in ALGORITHMS if name not in ("node", "anatomy", "slicing", "multiset", "single-dimensional")]
FORMS += ["kaca:stub=false", "mondrian:choose=loss", "mondrian:relaxed=true", "mondrian:extent=region"]
FORMS += ["mondrian:missing=pattern", "cell-suppression:start=datafly", "datafly:suppressed_rows=star"]
FORMS += ["optimal:metric=precision", "two-level:stub=true", "cell-suppression:search=optimal"]


def make_people():
    dice = np.random.default_rng(5)
    return pa.table(
        {
            "zip": [f"{z:04d}" for z in dice.choice([1010, 1011, 1020, 1130, 2200, 2210], ROWS)],
            "age": dice.integers(20, 60, ROWS),
            "job": dice.choice(["dancer", "writer", "baker", "smith", "nurse"], ROWS),
            "ill": dice.choice(["flu", "cold", "none"], ROWS),
        }
    )


PEOPLE = make_people()


def level_of(name, text):
    """Return the level of a published label: a star is the top of every hierarchy."""
    if text == "*":
        return HEIGHTS[name]
    if name == "zip":
        return len(text) - len(text.rstrip("*"))
    if name == "job":
        return int(text in ("art", "craft", "care"))
    if "-" not in text:
        return 0
    low, high = map(int, text.strip("[]").split("-"))
    return {5: 1, 10: 2, 20: 3}[high - low + 1]


@st.composite
def level_bounds(draw):
    found = {}
    for name in draw(st.sets(st.sampled_from(list(HEIGHTS)), min_size=1)):
        least = draw(st.integers(0, HEIGHTS[name]))
        found[name] = (least, draw(st.none() | st.integers(least, HEIGHTS[name])))
    return found


def publish(form, bounds, **options):
    """Return a release, or the error that says why there is none."""
    options |= {"algorithm": parse_algorithm(form), "hierarchies": HIERARCHIES, "levels": bounds}
    try:
        return ind.anonymize(PEOPLE, SCHEMA, seed=1, **options), None
    except InfeasibleError as error:
        return None, error


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None, max_examples=4)
@given(bounds=level_bounds(), k=st.sampled_from([2, 4, 12]), suppression=st.sampled_from([0, 0.1, 0.5]))
def test_labels_lie_within_bounds_or_an_error_names_them(form, bounds, k, suppression):
    options = {"model": f"k-anonymity:k={k}", "suppression": suppression}
    release, error = publish(form, bounds, **options)
    if error is not None:
        tight = [name for name, (_, most) in bounds.items() if most is not None and most < HEIGHTS[name]]
        assert tight, "the whole table as one class has enough rows"
        assert error.message.startswith("within the levels ")
        assert all(f"{name}=" in error.message for name in tight)
        assert error.hint.startswith("allow ")
        assert any(name in error.hint for name in tight)
        return
    rows = release.table.to_pylist()
    assert len(rows) >= (1 - suppression) * ROWS
    assert min(Counter(tuple(row[name] for name in HEIGHTS) for row in rows).values()) >= k
    for name, (least, most) in bounds.items():
        levels = {level_of(name, str(row[name])) for row in rows}
        assert min(levels) >= least, name
        assert most is None or max(levels) <= most, name
