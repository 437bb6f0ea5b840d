"""A tool that rounds a risk before it compares lets classes of 11 pass for 0.09: 1/11 is above it."""

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind

SCHEMA = ind.Schema(quasi=["age"], sensitive=["disease"])


def table(size):
    """Return two classes of so many people."""
    return pa.table({"age": np.repeat([30, 40], size), "disease": ["flu", "gout"] * size})


@pytest.mark.parametrize(("size", "strict"), [(11, "failed"), (12, "passed")])
def test_a_rounded_threshold_is_told_from_a_strict_one(size, strict):
    assert round(1 / size, 2) <= 0.09  # what the planted mistake compares
    told = {line["rule"]: line["status"] for line in ind.assess(table(size), SCHEMA).to_json()["practice"]}
    assert (told["ema-0.09-strict"], told["ema-0.09-rounded"]) == (strict, "passed")


def test_a_gate_does_not_round():
    found = [ind.assess(table(size), SCHEMA, profile="public:highest=0.09") for size in (11, 12)]
    verdicts = [{line["figure"]: line["passed"] for line in each.to_json()["profile"]["lines"]} for each in found]
    assert [verdict["highest"] for verdict in verdicts] == [False, True]
