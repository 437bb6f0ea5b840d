"""Stored recodings into buckets that somebody changed: refused, never trusted by the loops that move rows."""

import json

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.recoding.json import recoding_from_json, recoding_to_json

RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "a": RNG.integers(0, 9, 200),
        "b": [f"t{place}" for place in RNG.integers(0, 3, 200)],
        "s": [f"d{place}" for place in RNG.integers(0, 8, 200)],
    }
)
SCHEMA = ind.Schema(quasi=["a", "b"], sensitive=["s"])
ALGORITHMS = ("anatomy:l=3", "slicing:l=3,columns=each", "multiset:l=3")


def longer(key, more):
    return lambda data: data[key].extend([data[key][0]] * more)


def shorter(key):
    return lambda data: data.__setitem__(key, data[key][:-3])


def first(key, value):
    return lambda data: data[key].__setitem__(0, value)


def whole(key, value):
    return lambda data: data.__setitem__(key, value)


FORGERIES = {
    **{f"{key} longer": longer(key, 1000) for key in ("class_ids", "counts", "cells", "joint")},
    **{f"{key} shorter": shorter(key) for key in ("class_ids", "counts", "cells", "joint")},
    **{f"{key} negative": first(key, -5) for key in ("class_ids", "counts", "cells", "joint")},
    **{f"{key} huge": first(key, 2**31 - 1) for key in ("class_ids", "counts", "cells", "joint")},
    **{f"{key} a number": whole(key, 3) for key in ("class_ids", "counts", "cells", "joint")},
    **{f"{key} empty": whole(key, []) for key in ("class_ids", "counts", "cells", "joint")},
    "labels nested": lambda data: data.__setitem__("class_ids", [[label] for label in data["class_ids"]]),
    "a count of none": first("counts", 0),
    "an unknown form": whole("form", "circles"),
    "an unknown attribute": lambda data: data["slices"][0].append("salary"),
    "an attribute twice": lambda data: data["slices"][0].append("s"),
    "an attribute nowhere": lambda data: data["slices"].pop(),
    "l in words": whole("l", "three"),
    "a size in words": whole("size", "three"),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_forged_recoding_is_refused(algorithm, forge):
    recoding = ind.anonymize(TABLE, SCHEMA, algorithm=algorithm, seed=1).recoding
    data = json.loads(recoding_to_json(recoding))
    forge(data)
    with pytest.raises(InputError):
        ind.apply(recoding_from_json(json.dumps(data)), TABLE)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_untouched_recoding_is_not(algorithm):
    recoding = ind.anonymize(TABLE, SCHEMA, algorithm=algorithm).recoding
    assert ind.apply(recoding_from_json(recoding_to_json(recoding)), TABLE).certificate.holds
