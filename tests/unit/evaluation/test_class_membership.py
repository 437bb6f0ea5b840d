"""Membership disclosure of classes: what a published value covers decides which tuples could have been in the table."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.errors import InputError

ORIGINAL = pa.table({"age": [20, 21, 22, 30, 31, 40], "city": ["a", "b", "a", "c", "c", "b"]})
SCHEMA = ind.Schema(quasi=["age", "city"])
CITIES = ind.Hierarchy.tree({"*": {"west": ["a", "b"], "east": ["c"]}})


def test_candidates_are_what_classes_cover():
    """Two classes: ages 20 to 22 in a or b, and 30 to 40 in b or c; there are three values in either range."""
    published = pa.table({"age": ["[20-22]"] * 3 + ["[30-40]"] * 3, "city": ["{a, b}"] * 3 + ["{b, c}"] * 3})
    found = ind.membership_of(published, SCHEMA, original=ORIGINAL)
    assert (found.candidates, found.originals, found.fake) == (12, 6, 6)
    assert found.unique_share == 1
    assert found.exact


def test_overlapping_classes_match_the_same_tuples():
    """The vector (22, a) is covered by both classes, and so are the fakes (22, b) and (22, c)."""
    published = pa.table({"age": ["[20-22]"] * 3 + ["[22-40]"] * 3, "city": ["west"] * 3 + ["*"] * 3})
    found = ind.membership_of(published, SCHEMA, original=ORIGINAL, hierarchies={"city": CITIES})
    assert (found.candidates, found.originals) == (3 * 2 + 4 * 3 - 2, 6)
    assert found.unique_original == 5
    assert found.mean_matching_original == pytest.approx(7 / 6)


def test_suppressed_vectors_are_no_originals_of_the_release():
    published = pa.table({"age": ["20", "20"], "city": ["a", "a"]})
    found = ind.membership_of(published, SCHEMA, original=ORIGINAL)
    assert (found.candidates, found.originals, found.fake) == (1, 1, 0)


def test_a_release_without_rows_makes_nothing_possible():
    empty = pa.table({"age": pa.array([], pa.string()), "city": pa.array([], pa.string())})
    found = ind.membership_of(empty, SCHEMA, original=ORIGINAL)
    assert (found.candidates, found.originals, found.fake, found.unique_share) == (0, 0, 0, 0)


def test_missing_is_a_value():
    original = pa.table({"age": [20, None, 30, 31], "city": ["a", "a", "b", "b"]})
    published = pa.table({"age": ["[20-30] or missing"] * 3 + ["31"], "city": ["*"] * 3 + ["b"]})
    found = ind.membership_of(published, SCHEMA, original=original)
    assert (found.candidates, found.originals, found.fake) == (3 * 2 + 1, 4, 3)


def test_values_that_cannot_be_read_are_an_error():
    with pytest.raises(InputError, match="'city'") as caught:
        ind.membership_of(pa.table({"age": ["20"], "city": ["secret"]}), SCHEMA, original=ORIGINAL)
    assert "secret" not in str(caught.value)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 500), st.sampled_from(["mondrian", "kaca", "two-level", "top-down"]), st.integers(2, 4))
def test_candidates_equal_enumerated_ranges(seed, algorithm, k):
    """Every published range or set is read here once more, by a parser of its own."""
    rng = np.random.default_rng(seed)
    table = pa.table({"a": rng.integers(0, 6, 30), "b": rng.integers(0, 4, 30)})
    schema = ind.Schema(quasi=["a", "b"])
    release = ind.anonymize(table, schema, model=ind.KAnonymity(k), algorithm=algorithm)
    values = {name: sorted(set(table[name].to_pylist())) for name in table.column_names}

    def covered(name, text):
        text = str(text)
        if text == "*":
            return values[name]
        ends = [int(end) for end in text.strip("[]{}").replace("-", ",").split(",")]
        return [value for value in values[name] if ends[0] <= value <= ends[-1]]

    matches = {}
    for row in {tuple(row.values()) for row in release.table.to_pylist()}:
        for candidate in product(*(covered(name, text) for name, text in zip(values, row, strict=True))):
            matches[candidate] = matches.get(candidate, 0) + 1
    originals = {tuple(row.values()) for row in table.to_pylist()}
    found = ind.membership_of(release.table, schema, original=table)
    assert found.candidates == len(matches)
    assert found.fake == len(set(matches) - originals)
    assert found.unique_original == sum(matches[x] == 1 for x in originals)
