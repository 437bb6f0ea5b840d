"""Which groups may hold a person, and what they tell, against a plain reading of labels and of slicing's formula."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.evaluation.attack import matching
from indistinct.evaluation.attack.attack import target_of
from indistinct.evaluation.attack.attributes import own_share_without
from indistinct.evaluation.attack.crowd import original_crowd
from indistinct.evaluation.attack.matching import belief, groups_of, match

SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
rows = st.lists(st.tuples(st.integers(20, 30), st.sampled_from("mf"), st.sampled_from("abc")), min_size=6, max_size=25)


def table_of(people):
    ages, sexes, diseases = zip(*people, strict=True)
    return pa.table({"age": list(ages), "sex": list(sexes), "disease": list(diseases)})


def shares(known, row, texts):
    """Return the belief about one row: value to share."""
    vector = known.vector_of_row[row]
    entries = slice(known.indptr[vector], known.indptr[vector + 1])
    pairs = zip(known.codes[entries].tolist(), known.shares[entries].tolist(), strict=True)
    return {texts[code]: share for code, share in pairs}


def by_hand(published, age, sex):
    """Return the values of the rows whose labels cover a person, by reading the labels."""
    found = []
    for row in published.to_pylist():
        low, _, high = str(row["age"]).strip("[]").partition("-")
        covers = int(low) <= age <= int(high or low)
        if covers and sex in row["sex"]:  # one of m and f, or a set of both
            found.append(row["disease"])
    return Counter(found)


@settings(max_examples=20, deadline=None)
@given(rows, st.booleans())
def test_beliefs_are_the_shares_among_covering_rows(people, by_keys) -> None:
    table = table_of(people)
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=3", algorithm="mondrian")
    target = target_of(release, original=table)
    crowd, groups = original_crowd(target), groups_of(target, "disease")
    usual, matching.MAX_CELLS = matching.MAX_CELLS, 0 if by_keys else matching.MAX_CELLS
    try:
        matches = match(groups, crowd)
    finally:
        matching.MAX_CELLS = usual
    texts = sorted(set(table["disease"].to_pylist()))
    known = belief(groups, matches, size=len(texts))
    for row, (age, sex, _) in enumerate(people):
        wanted = by_hand(release.table, age, sex)
        size = sum(wanted.values())
        assert matches.sums(groups.sizes)[matches.vector_of_row[row]] == size
        assert shares(known, row, texts) == pytest.approx({value: n / size for value, n in wanted.items()})


@settings(max_examples=20, deadline=None)
@given(rows, st.integers(0, 2))
def test_ruling_values_out_is_ruling_the_worst_out(people, excluded) -> None:
    table = table_of(people)
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=3", algorithm="mondrian")
    target = target_of(release, original=table)
    crowd, groups = original_crowd(target), groups_of(target, "disease")
    texts = sorted(set(table["disease"].to_pylist()))
    known = belief(groups, match(groups, crowd), size=len(texts))
    found = own_share_without(known, crowd.values["disease"], excluded)
    for row, (_, _, own) in enumerate(people):
        told = shares(known, row, texts)
        others = sorted((share for value, share in told.items() if value != own), reverse=True)
        left = told[own] + sum(others[excluded:])
        assert found[row] == pytest.approx(told[own] / left)


SLICED = pa.table(
    {
        "age": [22, 22, 33, 52, 54, 60, 60, 64],
        "sex": ["M", "F", "F", "F", "M", "M", "M", "F"],
        "zipcode": ["47906", "47906", "47905", "47905", "47302", "47302", "47304", "47304"],
        "disease": ["dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia", "gastritis"],
    }
)
EIGHT = ind.Schema(quasi=["age", "sex", "zipcode"], sensitive=["disease"])


def link_probability(rows, slices, person, value):
    """Return p(t, s) of Li et al. (2012) from published rows, as the spec writes it (8.3 d)."""
    buckets = {}
    for row in rows:
        buckets.setdefault(row["bucket"], []).append(row)
    weights, parts = [], []
    for own in buckets.values():
        weight, share = Fraction(1), Fraction(0)
        for names in slices:
            known = [name for name in names if name != "disease"]
            agreeing = [row for row in own if all(row[name] == person[name] for name in known)]
            weight *= Fraction(len(agreeing), len(own))
            if "disease" in names and agreeing:
                share = Fraction(sum(row["disease"] == value for row in agreeing), len(agreeing))
        weights.append(weight)
        parts.append(weight * share)
    return sum(parts) / sum(weights)


@pytest.mark.parametrize(
    "algorithm", ["slicing:l=2,columns=age+sex|zipcode+disease", "slicing:l=2", "anatomy:l=2,form=permuted"]
)
def test_beliefs_about_buckets_are_the_probabilities_of_links(algorithm) -> None:
    release = ind.anonymize(SLICED, EIGHT, algorithm=algorithm)
    target = target_of(release, original=SLICED)
    crowd, groups = original_crowd(target), groups_of(target, "disease")
    texts = sorted(set(SLICED["disease"].to_pylist()))
    known = belief(groups, match(groups, crowd), size=len(texts))
    published, slices = release.table.to_pylist(), release.buckets.slices
    for row, person in enumerate(SLICED.to_pylist()):
        told = shares(known, row, texts)
        wanted = {value: float(link_probability(published, slices, person, value)) for value in texts}
        assert told == pytest.approx({value: share for value, share in wanted.items() if share})
        assert max(told.values()) <= 0.5 + 1e-9


def test_bits_and_keys_agree_on_slices(monkeypatch) -> None:
    table = pa.table({name: SLICED[name].take(pa.array(np.arange(200) * 7 % 8)) for name in SLICED.column_names})
    release = ind.anonymize(table, EIGHT, algorithm="slicing:l=2")
    first = target_of(release, original=table)
    by_bits = match(groups_of(first, "disease"), original_crowd(first))
    monkeypatch.setattr(matching, "MAX_CELLS", 0)
    by_keys = match(groups_of(first, "disease"), original_crowd(first))
    assert by_bits.groups.tolist() == by_keys.groups.tolist()
    assert by_bits.indptr.tolist() == by_keys.indptr.tolist()
    assert by_bits.weights.tolist() == pytest.approx(by_keys.weights.tolist())
