"""The engine spark gives the same answer as memory, on few examples: each is several jobs on four partitions."""

import datetime
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines.spark import Spark
from indistinct.frequencies.count import Request
from indistinct.tables import Reading
from indistinct.testing.strategies import Sample, recodings, samples
from references.engine_runs import JOBS, KEYS, PEOPLE, arrays_of, require_forms_alike, require_stars_alike, rows_of, run
from references.publishing import MEMORY, publish
from references.spark_session import QUIET, needs_java, spark

pytestmark = [needs_java, *QUIET, pytest.mark.xdist_group("spark")]
SPARK = Spark()
# Each is half a dozen jobs of Spark: one for every way in which rows are found, dealt out and written.
SOME = [each for each in JOBS if each[:2] not in (("kaca", "k-anonymity:k=2"), ("anatomy:l=2,form=permuted", None))]


@pytest.fixture(autouse=True, scope="module")
def session():
    return spark()


@settings(deadline=None, max_examples=3)
@given(st.data())
def test_it_counts_as_memory_does(data):
    sample, others = data.draw(samples()), data.draw(st.booleans())
    person = data.draw(st.sampled_from([(), ("name",), ("name", "key")]))
    fixed = {
        "keys": (*KEYS[: data.draw(st.integers(0, 3))], *(PEOPLE if person else ())),
        "hierarchies": sample.hierarchies,
        "joint": data.draw(st.booleans()),
        "person": person,
        "groupings": data.draw(st.sampled_from([(), (("disease", "key"), sample.schema.quasi)])),
        "published": True,
    }
    counted = []
    for engine in (MEMORY, SPARK):
        second = engine.open(sample.table.slice(1), Reading()) if others and sample.table.num_rows > 1 else None
        request = Request(sample.schema.quasi, population=second, **fixed)
        counted.append(arrays_of(engine.count(engine.open(sample.table, Reading()), request)))
    assert counted[0] == counted[1]


def test_it_counts_who_is_singled_out_as_memory_does(monkeypatch):
    table = hours_and_decimals(3)
    first, *names = [name for name in table.column_names if name != "name"][:3]
    request = Request((), person=("name",), published_columns=names, class_columns=(first,), published=True)
    exact, found = (engine.count(engine.open(table, Reading()), request).singled_out for engine in (MEMORY, SPARK))
    assert found == exact
    rows = replace(request, person=())
    exact = MEMORY.count(MEMORY.open(table, Reading()), rows).singled_out
    monkeypatch.setattr("indistinct.engines.groups.MAX_CELLS_AT_ONCE", 0)
    apart = SPARK.count(SPARK.open(table, Reading()), rows).singled_out
    assert apart.least <= exact.least <= apart.most


@settings(deadline=None, max_examples=3)
@given(data=st.data())
def test_it_publishes_as_memory_does(data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    mine, theirs = (publish(recoding, sample.table, schema=sample.schema, engine=each) for each in (SPARK, MEMORY))
    assert mine.table.column_names == theirs.table.column_names
    assert rows_of(mine.table) == rows_of(theirs.table)


def hours_and_decimals(seed, rows=48):
    """Return a table with all that engines read differently: zones, decimals, zeros of both signs, empty text."""
    rng = np.random.default_rng(seed)

    def some(values, kind, missing=0.1):
        cells = [values[i] for i in rng.integers(0, len(values), rows)]
        return pa.array([None if rng.random() < missing else cell for cell in cells], kind)

    winter = datetime.datetime(2020, 10, 25, 0, 30, tzinfo=datetime.UTC)
    hours = [winter + datetime.timedelta(hours=i) for i in range(3)]  # in Oslo one hour comes twice
    return pa.table(
        {
            "name": [f"person {i // 2}" for i in range(rows)],
            "at": some(hours, pa.timestamp("us", tz="Europe/Oslo")),
            "day": some([datetime.date(1582, 10, 10), datetime.date(2020, 2, 29)], pa.date32(), 0),
            "share": some([-0.0, 0.0, 0.25], pa.float64()),
            "place": some(["", "é", "e\u0301", "日本"], pa.string()),
            "price": some([Decimal("0.10"), Decimal("0.1"), Decimal("-7.25")], pa.decimal128(6, 2)),
            "disease": some(["flu", "gout", "asthma"], pa.string(), 0),
            "key": pa.array(range(rows)),
        }
    )


def test_it_stars_the_same_cells():
    require_stars_alike(MEMORY, SPARK)


def test_it_publishes_each_column_in_its_form():
    require_forms_alike(MEMORY, SPARK)


@pytest.mark.parametrize(("algorithm", "model", "people"), SOME)
def test_it_gives_the_same_answer(algorithm, model, people):
    quasi = ["day", "share", "place"] if people else ["at", "price", "place"]
    table = hours_and_decimals(JOBS.index((algorithm, model, people))).select(["name", *quasi, "disease", "key"])
    roles = {"identifiers": ["name"], "quasi": quasi, "sensitive": ["disease"], "insensitive": ["key"]}
    sample = Sample(table, ind.Schema(**roles))
    recoding, tables, certificate = run(SPARK, sample, algorithm, model, people=people, seed=5)
    first = run(MEMORY, sample, algorithm, model, people=people, seed=5)
    assert recoding == first[0]
    assert certificate == first[2]
    assert {name: rows_of(table) for name, table in tables.items()} == {n: rows_of(t) for n, t in first[1].items()}
