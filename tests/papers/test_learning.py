"""The figures about learning from slices: releases with one promise, and claims that numbers may refute."""

import numpy as np
import pytest

from indistinct.evaluation.measure.learning.scores import ORIGINAL, estimate
from indistinct.samples import generate_census
from indistinct.schema import Schema
from indistinct_papers import high_dimensional
from indistinct_papers.slicing import BUCKETS_KEEP, EFFECTIVE, UTILITY
from indistinct_papers.slicing_classification import (
    ANATOMIZED,
    BUCKETIZED,
    FINELY,
    GENERALIZED,
    QUASI_TARGET,
    SENSITIVE,
    SLICED,
    EntropyTree,
    Learned,
    compare_kinds,
    learned_from,
)
from indistinct_papers.slicing_classification import claims as claims_of_sentences


def learned(target: str, kind: str, *by_fold: float) -> Learned:
    return Learned(2, target, kind, "naive-bayes", estimate(by_fold, folds=3), 0.1, by_fold)


def test_every_kind_is_learned_from_the_same_folds() -> None:
    table = generate_census(400, seed=3)
    found, told = learned_from(table, 2, QUASI_TARGET, classifiers=("naive-bayes",), folds=3)
    assert [each.kind for each in found] == [ORIGINAL, GENERALIZED, BUCKETIZED, ANATOMIZED, SLICED, FINELY]
    assert told == []
    assert len({each.majority for each in found}) == 1
    assert all(len(each.by_fold) == 3 and np.mean(each.by_fold) == pytest.approx(each.accuracy.mean) for each in found)
    trees, _ = learned_from(table, 2, QUASI_TARGET, classifiers=(EntropyTree(leaf=5),), folds=3)
    assert {each.classifier for each in trees} == {"tree-by-entropy:leaf=5"}
    nothing, sentences = learned_from(table, 15, SENSITIVE, classifiers=("naive-bayes",), folds=3)
    assert nothing == []
    assert len(sentences) == 5


def test_claims_are_decided_by_intervals_of_differences() -> None:
    better = (0.5, 0.52, 0.48)
    found = compare_kinds(
        [
            learned(SENSITIVE, SLICED, *better),
            learned(SENSITIVE, BUCKETIZED, 0.3, 0.321, 0.279),
            learned(SENSITIVE, ANATOMIZED, 0.6, 0.621, 0.579),
            learned(QUASI_TARGET, SLICED, *better),
            learned(QUASI_TARGET, GENERALIZED, 0.52, 0.5, 0.48),
            learned(QUASI_TARGET, BUCKETIZED, 0.72, 0.701, 0.68),
        ]
    )
    claims = [each.claim() for each in found]
    assert [claim.verdict for claim in claims] == [
        *("not tested", "confirmed", "not confirmed", "not tested", "not confirmed", "not tested", "confirmed"),
        *["not tested"] * 4,
    ]
    assert [claim.own for claim in claims] == [*[False] * 7, *[True] * 4]
    assert claims[1].figures.startswith("above in 1 of 1 settings: occupation from sliced, l = 2, naive-bayes +20.")
    assert claims[2].figures.startswith("above in 0 of 1 settings, below in 1: ")
    assert claims[4].figures == "above in 0 of 1 settings, not decided in 1"
    _, effective, useful, buckets, *_ = claims_of_sentences(found)
    assert (effective.text, effective.held, effective.tested, effective.verdict) == (EFFECTIVE, 1, 2, "depends")
    assert (useful.text, useful.held, useful.tested) == (UTILITY, 0, 1)
    assert (buckets.text, buckets.held, buckets.tested, buckets.place) == (
        BUCKETS_KEEP,
        1,
        1,
        "Sonawane and Rahinj, II",
    )
    assert useful.place != buckets.place
    assert len(claims_of_sentences(found)) == 4 + 4  # one for each sentence, and our own
    assert found[1].to_json()[0]["low"] > 0


def test_one_experiment_confirms_a_claim_about_some() -> None:
    made = [
        learned(SENSITIVE, ORIGINAL, 0.5, 0.52, 0.48),
        learned(SENSITIVE, SLICED, 0.3, 0.321, 0.279),
        learned(QUASI_TARGET, ORIGINAL, 0.5, 0.52, 0.48),
    ]
    assert compare_kinds(made)[0].claim().verdict == "not confirmed"
    claim = compare_kinds([*made, learned(QUASI_TARGET, SLICED, 0.6, 0.621, 0.579)])[0].claim()
    assert claim.verdict == "confirmed"
    assert claim.figures.startswith("above in 1 of 2 settings, below in 1: education from sliced")


def test_many_columns() -> None:
    table = high_dimensional.generate_table(300, 4)
    rows = [
        dict(zip(high_dimensional.HEADINGS, row, strict=True))
        for row in high_dimensional.measure_releases(table, folds=3)
    ]
    assert [row["algorithm"] for row in rows] == ["generalized", "distinct l", "bucketized", "sliced"]
    assert [row["gcp"] > 0 for row in rows] == [True, True, False, False]
    # To ask for less is to lose less.
    assert rows[1]["gcp"] < rows[0]["gcp"]
    assert {row["columns"] for row in rows} == {4}
    assert len({row["majority"] for row in rows}) == 1
    assert all(0 < row["pairs"] < 1 and row["queries"] > 0 for row in rows)


def test_queries_of_many_columns_link_two_of_them_to_a_condition() -> None:
    table = high_dimensional.generate_table(300, 4)
    schema = Schema(quasi=["x1", "x2", "x3", "x4"], sensitive=["condition"])
    asked = high_dimensional.questions(table, schema)
    assert {len(query.columns) for query in asked.queries} == {3}
    assert all(query.columns[-1] == "condition" for query in asked.queries)


def test_claims_about_many_columns_name_where_they_fail() -> None:
    def row(columns: int, kind: str, loss: float, pairs: float, queries: float, accuracy: float):
        return (columns, kind, loss, pairs, queries, accuracy, 0.01, 0.5, 0.1)

    buckets = [("bucketized", 0, 0.1, 0.2, 0.35), ("sliced", 0, 0.2, 0.3, 0.4)]
    few = [("generalized", 0.2, 0.3, 0.4, 0.3), ("distinct l", 0.1, 0.1, 0.2, 0.3), *buckets]
    many = [("generalized", 0.3, 0.1, 0.1, 0.5), ("distinct l", 0.1, 0.3, 0.4, 0.3), *buckets]
    rows = [*(row(5, *each) for each in few), *(row(9, *each) for each in many)]
    found = high_dimensional.claims(rows)
    nine, five = "not for 9 columns", "not for 5 columns"
    loses, better, buckets, effective = found
    assert (loses.held, loses.tested, better.held, better.tested) == (1, 2, 7, 12)
    assert (buckets.text, buckets.held, buckets.tested) == (BUCKETS_KEEP, 7, 12)
    assert (buckets.place, effective.place) == ("Sonawane and Rahinj, II", better.place)
    assert [claim.verdict for claim in found] == ["depends", "depends", "depends", "confirmed"]
    assert "GCP 0.2000, 0.3000; " in loses.figures
    assert loses.figures.endswith(nine)
    assert (better.figures.count(nine), better.figures.count(five)) == (3, 2)
    assert high_dimensional.claims([*rows[4:], *rows[:4]])[0].held == 0
