"""Laws of engines: they count and publish alike, whatever a table looks like inside Arrow."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.engines.duckdb import DuckDB
from indistinct.engines.memory.columns import compact
from indistinct.engines.memory.count import count_table
from indistinct.errors import InfeasibleError, ParameterError, SchemaError
from indistinct.frequencies.request import Request
from indistinct.frequencies.value import PERSON
from indistinct.models import KAnonymity
from indistinct.promise import promised_model
from indistinct.randomness import Secret
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import QuasiColumn, columns_of
from indistinct.registry import parse_algorithm, parse_model
from indistinct.release.check import Check
from indistinct.tables import Reading, Table
from indistinct.testing.strategies import recodings, samples
from references.publishing import MEMORY, Kept, publish
from references.toy_engine import Toy

quick = settings(deadline=None, max_examples=60)
ENGINES = {"memory": MEMORY, "toy": Toy(), "duckdb": DuckDB(memory=1 << 28)}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
KEYS = (("disease",), ("key",), ("disease", "key"))
PEOPLE = ((PERSON,), (PERSON, "disease"))


def rows_of(table):
    return Counter(tuple(row.values()) for row in table.to_pylist())


def arrays_of(value):
    """Return everything that was counted as plain values."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, pa.Array):
        return value.to_pylist()
    if isinstance(value, dict):
        return {key: arrays_of(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [arrays_of(part) for part in value]
    names = getattr(value, "__dataclass_fields__", None)
    return value if names is None else {name: arrays_of(getattr(value, name)) for name in names if name != "taxonomy"}


@quick
@given(st.data())
def test_engines_count_alike(data):
    """Cells, histograms, joint vectors, people, further groupings and the population: the same on every engine."""
    sample, others = data.draw(samples()), data.draw(st.booleans())
    some = st.lists(st.integers(0, sample.table.num_rows - 1), min_size=1, max_size=8)
    population = sample.table.take(pa.array(data.draw(some))) if others else None
    person = data.draw(st.sampled_from([(), ("name",), ("key",), ("name", "key")]))
    fixed = {
        "keys": (*KEYS[: data.draw(st.integers(0, 3))], *(PEOPLE if person else ())),
        "hierarchies": sample.hierarchies,
        "joint": data.draw(st.booleans()),
        "person": person,
        "groupings": data.draw(st.sampled_from([(), (("disease",),), (("disease", "key"), sample.schema.quasi)])),
        "published": True,
    }
    counted = []
    for engine in ENGINES.values():
        second = None if population is None else engine.open(population, Reading())
        request = Request(sample.schema.quasi, population=second, **fixed)
        counted.append(arrays_of(engine.count(engine.open(sample.table, Reading()), request)))
    for each in counted[1:]:
        assert each == counted[0]


@engines
@quick
@given(data=st.data())
def test_engines_publish_alike(engine, data):
    """Equal rows in every class, for every recoding that splits no cell."""
    sample = data.draw(samples())
    recoding = data.draw(recodings(sample))
    mine, theirs = (publish(recoding, sample.table, schema=sample.schema, engine=each) for each in (engine, MEMORY))
    assert mine.table.column_names == theirs.table.column_names
    assert rows_of(mine.table) == rows_of(theirs.table)


JOBS = [
    ("mondrian", "k-anonymity:k=2 & t-closeness:sensitive=disease,t=0.7", True),
    ("mondrian:relaxed=true", "distinct-l-diversity:sensitive=disease,l=2", True),
    ("optimal", "k-anonymity:k=2", True),
    ("kaca:stub=true", "alpha-k:sensitive=disease,alpha=0.9,k=2", False),
    ("anatomy:l=2", None, False),
    ("anatomy:l=2,form=permuted", None, False),
    ("multiset:l=2", None, False),
    ("slicing:l=2", None, False),
    ("slicing:l=1,generalize=2,columns=whole", "k-anonymity:k=2", False),
    ("mondrian", "alpha-k:sensitive=disease,alpha=0.9,k=2", True),
    ("kaca", "k-anonymity:k=2", True),
]


def run(engine, sample, algorithm, model, *, people, seed):
    """Count, search, publish and verify on one engine."""
    search, schema = parse_algorithm(algorithm), sample.schema
    if people:
        schema = replace(schema, identifiers=(), person=schema.identifiers)
    wanted = promised_model(model, search, schema)
    source = engine.open(sample.table, Reading())
    known = (*schema.quasi, *schema.insensitive) if search.traits.buckets else schema.quasi
    keys = tuple((name,) for name in schema.sensitive) if search.traits.buckets else wanted.keys
    joint = search.traits.buckets or search.traits.splits
    others = engine.open(sample.table, Reading())
    hierarchies = {**{n: ind.Hierarchy.suppression() for n in schema.quasi}, **sample.hierarchies}
    request = Request(known, keys, hierarchies, joint=joint, person=schema.person, population=others)
    counted = engine.count(source, request)
    hidden = schema.sensitive if search.traits.buckets else ()
    sensitive = tuple(QuasiColumn(counted.known[name]) for name in hidden)
    columns = columns_of(counted.domains, hierarchies)
    problem = Problem(counted.frequencies, columns, wanted, sensitive=sensitive, seed=seed)
    recoding = replace(search.search(problem), schema=schema)
    assignment = assign(counted.frequencies, recoding)
    sink = Kept()
    engine.publish(source, assignment, sink, secret=Secret(seed))
    check = Check(engine, schema, wanted, assignment.layout.buckets, counted, assignment)
    tables = {name: engine.open(table, Reading()) for name, table in sink.tables.items()}
    certificate = check.certify(tables)
    return recoding, sink.tables, certificate


@pytest.mark.parametrize(("algorithm", "model", "people"), JOBS)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_engines_give_the_same_answer(algorithm, model, people, data):
    """The same recoding, rows under a fixed seed, and certificate, with people and a population counted."""
    sample = data.draw(samples())
    assume(sample.table["disease"].null_count < sample.table.num_rows)
    try:
        first = run(MEMORY, sample, algorithm, model, people=people, seed=5)
    except (InfeasibleError, ParameterError, SchemaError):
        assume(False)
    for engine in ENGINES.values():
        recoding, tables, certificate = run(engine, sample, algorithm, model, people=people, seed=5)
        assert recoding == first[0]
        assert certificate == first[2]
        assert {name: rows_of(table) for name, table in tables.items()} == {n: rows_of(t) for n, t in first[1].items()}


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
