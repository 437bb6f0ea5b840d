"""Laws of engines: they count and publish alike, whatever a table looks like inside Arrow."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines.memory.count import count_table
from indistinct.engines.memory.publish import compact
from indistinct.errors import InfeasibleError, ParameterError, SchemaError
from indistinct.frequencies.count import Request
from indistinct.models import KAnonymity
from indistinct.models.registry import parse_model
from indistinct.tables import Reading, Table
from indistinct.testing.strategies import recodings, samples
from references.engine_runs import (
    ENGINES,
    JOBS,
    KEYS,
    PEOPLE,
    arrays_of,
    require_forms_alike,
    require_stars_alike,
    rows_of,
    run,
)
from references.publishing import MEMORY, publish

quick = settings(deadline=None, max_examples=60)
engines = pytest.mark.parametrize("compared", ENGINES.values(), ids=ENGINES)


@engines
def test_engines_count_alike(compared):
    """Cells, histograms, joint vectors, people, further groupings and the population: the same on every engine."""
    engine = compared.start()

    @settings(deadline=None, max_examples=compared.tables)
    @given(st.data())
    def check(data):
        sample = data.draw(samples())
        fixed = data.draw(requests(sample.schema.quasi))
        some = st.lists(st.integers(0, sample.table.num_rows - 1), min_size=1, max_size=8)
        population = sample.table.take(pa.array(data.draw(some))) if data.draw(st.booleans()) else None
        counted = []
        for each in (MEMORY, engine):
            others = None if population is None else each.open(population, Reading())
            request = Request(
                sample.schema.quasi, hierarchies=sample.hierarchies, population=others, published=True, **fixed
            )
            counted.append(arrays_of(each.count(each.open(sample.table, Reading()), request)))
        assert counted[1] == counted[0]

    check()


@st.composite
def requests(draw, quasi):
    """Draw what is counted beside the cells."""
    person = draw(st.sampled_from([(), ("name",), ("key",), ("name", "key")]))
    return {
        "keys": (*KEYS[: draw(st.integers(0, 3))], *(PEOPLE if person else ())),
        "joint": draw(st.booleans()),
        "person": person,
        "groupings": draw(st.sampled_from([(), (("disease",),), (("disease", "key"), quasi)])),
    }


@engines
def test_engines_publish_alike(compared):
    """Equal rows in every class, for every recoding that splits no cell."""
    engine = compared.start()

    @settings(deadline=None, max_examples=compared.tables)
    @given(st.data())
    def check(data):
        sample = data.draw(samples())
        recoding = data.draw(recodings(sample))
        mine, theirs = (publish(recoding, sample.table, schema=sample.schema, engine=each) for each in (engine, MEMORY))
        assert mine.table.column_names == theirs.table.column_names
        assert rows_of(mine.table) == rows_of(theirs.table)

    check()


@engines
@pytest.mark.parametrize(("algorithm", "model", "people"), JOBS)
def test_engines_give_the_same_answer(compared, algorithm, model, people):
    """The same recoding, rows under a fixed seed, and certificate, with people and a population counted."""
    engine = compared.start()
    if not parse_algorithm(algorithm).traits.recodings <= engine.supports:
        pytest.skip("it does not publish such recodings, and says so")

    @settings(deadline=None, max_examples=compared.jobs)
    @given(samples())
    def check(sample):
        assume(sample.table["disease"].null_count < sample.table.num_rows)
        try:
            theirs = run(MEMORY, sample, algorithm, model, people=people, seed=5)
        except (InfeasibleError, ParameterError, SchemaError):
            assume(False)
        recoding, tables, certificate = run(engine, sample, algorithm, model, people=people, seed=5)
        assert recoding == theirs[0]
        assert certificate == theirs[2]
        assert {n: rows_of(t) for n, t in tables.items()} == {n: rows_of(t) for n, t in theirs[1].items()}

    check()


@engines
def test_engines_star_the_same_cells(compared):
    require_stars_alike(MEMORY, compared.start())


@engines
def test_engines_publish_each_column_in_its_form(compared):
    require_forms_alike(MEMORY, compared.start())


@quick
@given(st.data())
def test_chunks_and_dictionaries_do_not_matter(data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    cut = data.draw(st.integers(0, sample.table.num_rows))
    pieces = pa.concat_tables([sample.table.slice(0, cut), sample.table.slice(cut)])
    coded = pa.table(
        {
            name: pieces[name].dictionary_encode() if pa.types.is_string(pieces[name].type) else pieces[name]
            for name in pieces.column_names
        }
    )
    published = [publish(recoding, t, schema=sample.schema).table for t in (sample.table, pieces, coded)]
    assert rows_of(published[0]) == rows_of(published[1]) == rows_of(published[2])


@quick
@given(st.data())
def test_every_published_row_keeps_its_own_cells(data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    published = publish(recoding, sample.table, schema=sample.schema).table.to_pylist()
    diseases = {row["key"]: row["disease"] for row in sample.table.to_pylist()}
    assert all(diseases[row["key"]] == row["disease"] for row in published)
    assert len({row["key"] for row in published}) == len(published)


@quick
@given(st.data())
def test_suppressed_rows_leave_no_trace(data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    place = sample.table.column_names.index("disease")
    coded = sample.table.set_column(place, "disease", sample.table["disease"].dictionary_encode())
    published = publish(recoding, coded, schema=sample.schema)
    assert not published.table.schema.metadata
    for column in published.table.columns:
        if isinstance(column.type, pa.DictionaryType):
            for chunk in column.chunks:
                assert chunk.dictionary.to_pylist() == sorted(set(chunk.to_pylist()) - {None})


@quick
@given(st.data())
def test_large_tables_are_counted_as_small_ones(as_if_large, data):
    sample = data.draw(samples())
    cut = data.draw(st.integers(0, sample.table.num_rows))
    pieces = pa.concat_tables([sample.table.slice(0, cut), sample.table.slice(cut)])
    keys = KEYS[: data.draw(st.integers(0, 3))]
    request = Request(sample.schema.quasi, keys, sample.hierarchies, joint=data.draw(st.booleans()))
    small, small_rows = count_table(Table(pieces), request)
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch)
        large, large_rows = count_table(Table(pieces), request)
    assert arrays_of(large) == arrays_of(small)
    assert large_rows.starts.tolist() == small_rows.starts.tolist()
    assert large_rows.order.tolist() == small_rows.order.tolist()


@quick
@given(st.data())
def test_large_tables_are_published_as_small_ones(as_if_large, data):
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    small = publish(recoding, sample.table, schema=sample.schema, seed=3)
    with pytest.MonkeyPatch.context() as patch:
        as_if_large(patch)
        large = publish(recoding, sample.table, schema=sample.schema, seed=3)
    assert large.table.equals(small.table)


def test_a_secret_is_no_seed_and_orders_differ():
    model = parse_model("k-anonymity:k=2")
    table = pa.table({"age": [1] * 40, "key": list(range(40))})
    schema = ind.Schema(quasi=["age"], insensitive=["key"])
    orders = [ind.anonymize(table, schema, model=model).table["key"].to_pylist() for _ in range(3)]
    assert len({tuple(order) for order in orders}) == 3
    seeded = [ind.anonymize(table, schema, model=KAnonymity(2), seed=s).table["key"].to_pylist() for s in (1, 1, 2)]
    assert seeded[0] == seeded[1] != seeded[2]


@quick
@given(st.lists(st.one_of(st.none(), st.sampled_from(["b", "a", "", "c"])), min_size=1, max_size=8), st.data())
def test_compact_keeps_values_and_forgets_the_rest(values, data):
    codes = data.draw(st.lists(st.integers(0, len(values)), max_size=10))
    known = [*values, None]
    found = compact(pa.array(values, pa.string()), np.array(codes, dtype=np.int32))
    assert found.to_pylist() == [known[code] for code in codes]
    assert found.dictionary.to_pylist() == sorted({known[code] for code in codes} - {None})
    assume(codes)
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=len(codes), max_size=len(codes)))
    repeated = compact(pa.array(values, pa.string()), np.array(codes, dtype=np.int32), np.array(sizes))
    assert repeated.to_pylist() == [known[c] for c, n in zip(codes, sizes, strict=True) for _ in range(n)]
