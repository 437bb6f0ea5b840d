"""The engine duckdb gives the same answer as memory, on fewer examples than the toy engine: each opens connections."""

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from indistinct.engines.duckdb import DuckDB
from indistinct.errors import InfeasibleError, ParameterError, SchemaError
from indistinct.frequencies.request import Request
from indistinct.tables import Reading
from indistinct.testing.strategies import recodings, samples
from references.engine_runs import JOBS, KEYS, PEOPLE, arrays_of, rows_of, run
from references.publishing import MEMORY, publish

DUCK = DuckDB(memory=1 << 28)
few = settings(deadline=None, max_examples=15)


@few
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
    for engine in (MEMORY, DUCK):
        second = engine.open(sample.table.slice(1), Reading()) if others and sample.table.num_rows > 1 else None
        request = Request(sample.schema.quasi, population=second, **fixed)
        counted.append(arrays_of(engine.count(engine.open(sample.table, Reading()), request)))
    assert counted[0] == counted[1]


@few
@given(data=st.data())
def test_it_publishes_as_memory_does(data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    mine, theirs = (publish(recoding, sample.table, schema=sample.schema, engine=each) for each in (DUCK, MEMORY))
    assert mine.table.column_names == theirs.table.column_names
    assert rows_of(mine.table) == rows_of(theirs.table)


@pytest.mark.parametrize(("algorithm", "model", "people"), JOBS)
@settings(deadline=None, max_examples=4)
@given(data=st.data())
def test_it_gives_the_same_answer(algorithm, model, people, data):
    sample = data.draw(samples())
    assume(sample.table["disease"].null_count < sample.table.num_rows)
    try:
        first = run(MEMORY, sample, algorithm, model, people=people, seed=5)
    except (InfeasibleError, ParameterError, SchemaError):
        assume(False)
    recoding, tables, certificate = run(DUCK, sample, algorithm, model, people=people, seed=5)
    assert recoding == first[0]
    assert certificate == first[2]
    assert {name: rows_of(pa.table(table)) for name, table in tables.items()} == {
        name: rows_of(table) for name, table in first[1].items()
    }
