"""A recoding without the values of its table publishes what the whole one does, of its own rows and of others."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.recoding.forgetting import forget_values
from indistinct.recoding.kinds import ByCell
from indistinct.recoding.storage import recoding_from_json, recoding_to_json

CITIES = ind.Hierarchy.from_rows([[city, "low" if city < "e" else "high", "*"] for city in "abcdefgh"])
SETS = {
    "none": {},
    "declared": {
        "age": ind.Hierarchy.intervals([10, 50]),
        "pay": ind.Hierarchy.intervals([10**6, 10**8]),
        "day": ind.Hierarchy.dates(),
        "zip": ind.Hierarchy.masking(),
        "city": CITIES,
    },
    "stars": {"city": ind.Hierarchy.suppression(), "zip": ind.Hierarchy.masking()},
}
ALGORITHMS = (
    "mondrian:extent=region",
    "mondrian",
    "optimal",
    "tds",
    "single-dimensional",
    "single-dimensional:extent=region",
    "value-suppression",
)


def people(seed, *, missing, rows=200):
    rng = np.random.default_rng(seed)
    drawn = {
        "age": [float(each) for each in rng.normal(50, 20, rows)],
        "pay": [int(each) for each in rng.integers(-5000, 10**9, rows)],
        "day": [date(1990, 1, 1) + timedelta(days=int(each)) for each in rng.integers(0, 9000, rows)],
        "zip": [f"{each:05d}" for each in rng.integers(2000, 2300, rows)],
        "city": [str(each) for each in rng.choice(list("abcdefgh"), rows)],
    }
    if missing:
        drawn = {name: [None if rng.random() < 0.05 else each for each in cells] for name, cells in drawn.items()}
    return pa.table({**drawn, "row": range(rows)})


def apply(recoding, table):
    try:
        made = ind.apply(recoding, table, model=ind.KAnonymity(1), engine="memory", suppression=0)
    except ind.UnseenValueError:
        return "not covered"
    return made.table.sort_by("row").to_pydict()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("hierarchies", SETS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_publishes_what_the_whole_recoding_does(algorithm, hierarchies, missing):
    compared = 0
    for columns in (["age", "city"], ["pay", "day"], ["zip", "age"], ["city"]):
        schema = ind.Schema(quasi=columns, insensitive=["row"])
        own, other = (people(seed, missing=missing).select([*columns, "row"]) for seed in (1, 2))
        given = {name: each for name, each in SETS[hierarchies].items() if name in columns}
        whole = ind.anonymize(
            own, schema, model=ind.KAnonymity(4), algorithm=algorithm, hierarchies=given, engine="memory"
        ).recoding
        try:
            small = forget_values(whole)
        except ind.ParameterError:
            continue  # a label stands for values that it does not name, and not for all of a node
        compared += 1
        assert small.nonce != whole.nonce
        again = recoding_from_json(recoding_to_json(small))
        assert apply(small, own) == apply(again, own) == apply(whole, own)
        assert apply(small, other) == apply(whole, other)
    assert compared > 0


def test_a_recoding_that_lists_cells_is_refused():
    table = people(1, missing=False).select(["age", "city", "row"])
    schema = ind.Schema(quasi=["age", "city"], insensitive=["row"])
    recoding = ind.anonymize(table, schema, model=ind.KAnonymity(4), algorithm="auto", engine="memory").recoding
    assert isinstance(recoding, ByCell)
    with pytest.raises(ind.ParameterError, match="lists combinations of values"):
        forget_values(recoding)
