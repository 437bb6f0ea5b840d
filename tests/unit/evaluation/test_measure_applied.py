"""Metrics of a recoding that was found with hierarchies and is applied where these are not known."""

import numpy as np
import pyarrow as pa

import indistinct as ind


def people(seed):
    rng = np.random.default_rng(seed)
    return pa.table({"age": rng.integers(18, 90, 200), "sex": rng.choice(["f", "m"], 200)})


def test_distortion_is_measured_by_the_levels_of_the_recoding():
    schema = ind.Schema(quasi=["age", "sex"])
    bands = {"age": ind.Hierarchy.intervals([5, 10, 20])}
    first = ind.anonymize(people(1), schema, model="k-anonymity:k=5", algorithm="mondrian", hierarchies=bands)
    other = people(2).slice(0, 150)  # some values of the first table are not there
    again = ind.apply(first.recoding, other, model="k-anonymity:k=1", suppression=0.5)
    measured = ind.measure(again, metrics=["distortion", "precision"])
    assert 0 <= measured["precision"] <= 1
    assert measured["distortion"] > 0
