"""The engine postgres gives the same answer as memory: every table is put into a real database, and counted there."""

import datetime
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from indistinct.engines import groups
from indistinct.engines.base import DatabaseTable
from indistinct.engines.postgres import Postgres
from indistinct.errors import InfeasibleError, ParameterError, SchemaError
from indistinct.frequencies.count import Request
from indistinct.tables import Reading
from indistinct.testing.strategies import Sample, recodings, samples
from references.engine_runs import JOBS, KEYS, PEOPLE, arrays_of, require_forms_alike, require_stars_alike, rows_of, run
from references.publishing import MEMORY, publish

few = settings(deadline=None, max_examples=8)
MOMENT = datetime.datetime(2024, 10, 27, 0, 30, tzinfo=datetime.UTC)  # clocks in Oslo show the next hour twice
TYPED = {
    pa.decimal128(10, 2): [Decimal("1.50"), Decimal("-0.05"), Decimal("12345678.90"), Decimal(0)],
    pa.timestamp("us", "Europe/Oslo"): [MOMENT + datetime.timedelta(minutes=30 * step) for step in range(4)],
    pa.timestamp("us"): [datetime.datetime(2020, 1, 1, 12, 0, 0, part) for part in (0, 1, 500)],
    pa.time64("us"): [datetime.time(0), datetime.time(23, 59, 59, 999999)],
    pa.float32(): [0.1, -0.0, 0.0, 1e-7],
    pa.int16(): [-1, 0, 7],
    pa.string(): ["É", "e\u0301", "\u00e9", " a", "a", "A", "ß", "𝔘", "\t", "'"],
}


@dataclass(frozen=True)
class Uploading:
    """The engine, given tables that are in memory: they are put into the database first."""

    server: object
    engine: Postgres = field(default_factory=Postgres)

    def open(self, table, reading):
        address = self.server.address(options="-cTimeZone%3DEurope/Oslo")
        return self.engine.open(DatabaseTable(address, self.server.upload(pa.table(table))), reading)

    count = property(lambda self: self.engine.count)
    publish = property(lambda self: self.engine.publish)


@pytest.fixture(scope="module")
def database(postgres):
    return Uploading(postgres)


@st.composite
def typed_samples(draw):
    """Return samples with one more quasi-identifier, of a type that databases have and text files do not."""
    sample = draw(samples())
    kind = draw(st.sampled_from(list(TYPED)))
    rows = sample.table.num_rows
    cells = draw(st.lists(st.sampled_from([None, *TYPED[kind]]), min_size=rows, max_size=rows))
    column = pa.array([TYPED[kind][0], *cells][:rows], kind)
    schema = replace(sample.schema, quasi=(*sample.schema.quasi, "typed"))
    return Sample(sample.table.append_column("typed", column), schema, sample.hierarchies)


@few
@given(data=st.data())
def test_it_counts_as_memory_does(database, data):
    sample, others = data.draw(typed_samples()), data.draw(st.booleans())
    person = data.draw(st.sampled_from([(), ("name",), ("name", "key")]))
    fixed = {
        "keys": (*KEYS[: data.draw(st.integers(0, 3))], *(PEOPLE if person else ())),
        "hierarchies": sample.hierarchies,
        "joint": data.draw(st.booleans()),
        "person": person,
        "groupings": data.draw(st.sampled_from([(), (("disease", "key"), sample.schema.quasi)])),
        "published": True,
        "alone": ("disease", "key"),
        "to_publish": data.draw(st.sampled_from([(), tuple(sample.table.column_names)])),
    }
    counted = []
    for engine in (MEMORY, database):
        second = engine.open(sample.table.slice(1), Reading()) if others and sample.table.num_rows > 1 else None
        request = Request(sample.schema.quasi, population=second, **fixed)
        counted.append(arrays_of(engine.count(engine.open(sample.table, Reading()), request)))
    assert counted[0] == counted[1]


@few
@given(data=st.data())
def test_it_counts_who_is_singled_out_as_memory_does(database, data):
    sample, person = data.draw(typed_samples()), data.draw(st.sampled_from([(), ("name",)]))
    first, *names = (name for name in sample.table.column_names if name != "name")
    request = Request((), person=person, published_columns=names, class_columns=(first,), published=True)
    exact, found = (
        engine.count(engine.open(sample.table, Reading()), request).singled_out for engine in (MEMORY, database)
    )
    assert found == exact
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "MAX_CELLS_AT_ONCE", 0)
        apart = database.count(database.open(sample.table, Reading()), request).singled_out
    assert apart.least <= exact.least <= apart.most
    assert (apart.least == 0) <= (exact.least == 0 or bool(person))


@few
@given(data=st.data())
def test_it_publishes_as_memory_does(database, data):
    sample = data.draw(typed_samples())
    recoding = data.draw(recodings(sample))
    with pytest.MonkeyPatch.context() as patch:  # rows that cannot be held are read again
        patch.setattr("indistinct.engines.postgres.FOR_ROWS", data.draw(st.sampled_from([0.0, 0.1])))
        mine = publish(recoding, sample.table, schema=sample.schema, engine=database)
    theirs = publish(recoding, sample.table, schema=sample.schema, engine=MEMORY)
    assert mine.table.column_names == theirs.table.column_names
    assert rows_of(mine.table) == rows_of(theirs.table)


def test_it_stars_the_same_cells(database):
    require_stars_alike(MEMORY, database)


def test_it_publishes_each_column_in_its_form(database):
    require_forms_alike(MEMORY, database)


@pytest.mark.parametrize(("algorithm", "model", "people"), JOBS)
@settings(deadline=None, max_examples=2)
@given(data=st.data())
def test_it_gives_the_same_answer(database, algorithm, model, people, data):
    sample = data.draw(samples())
    assume(sample.table["disease"].null_count < sample.table.num_rows)
    try:
        first = run(MEMORY, sample, algorithm, model, people=people, seed=5)
    except (InfeasibleError, ParameterError, SchemaError):
        assume(False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("indistinct.engines.postgres.FOR_ROWS", data.draw(st.sampled_from([0.0, 0.1])))
        recoding, tables, certificate = run(database, sample, algorithm, model, people=people, seed=5)
    assert recoding == first[0]
    assert certificate == first[2]
    assert {name: rows_of(pa.table(table)) for name, table in tables.items()} == {
        name: rows_of(table) for name, table in first[1].items()
    }
