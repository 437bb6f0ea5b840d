"""Laws of samples: each set of rows is equally likely, on every engine, and nobody who was not drawn leaves a trace."""

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines.duckdb import DuckDB
from indistinct.engines.memory import Memory
from indistinct.engines.passes import Room
from indistinct.engines.postgres.columns import PostgresColumn
from indistinct.engines.postgres.source import PostgresTable
from indistinct.engines.sampling import PeopleWords, draw_of, drawn_rows, unite_words
from indistinct.machine import _randomness_kernels, randomness
from indistinct.machine.randomness import count_drawn, draw_next
from indistinct.tables import Reading
from references.pass_runs import by_passes

quick = settings(deadline=None, max_examples=50)
ENGINES = [Memory(), DuckDB(memory=1 << 28)]
each_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


@quick
@given(st.integers(0, 60), st.data())
def test_so_many_are_drawn_however_rows_come(size, data):
    wanted = data.draw(st.integers(0, size))
    left, drawn = (size, wanted), []
    while left[0]:
        step = data.draw(st.integers(1, left[0]))
        some = draw_next(step, left=left[0], wanted=left[1])
        left = (left[0] - step, left[1] - int(some.sum()))
        drawn += some.tolist()
    assert sum(drawn) == wanted


@pytest.mark.parametrize("together", [1, 2, 1 << 20])
def test_each_set_has_its_turn(together, monkeypatch):
    monkeypatch.setattr(randomness, "ROWS_DRAWN_TOGETHER", together)
    seen = Counter(tuple(np.flatnonzero(draw_next(5, left=5, wanted=2)).tolist()) for _ in range(5000))
    assert set(seen) == set(combinations(range(5), 2))
    assert max(seen.values()) - min(seen.values()) < 300  # of 500 each; more than ten times the spread of chance


@pytest.mark.parametrize("size", [3, 5, 6, 7])
def test_a_word_that_would_favour_a_number_is_replaced(size):
    """Of 2**64 words, 2**64 mod size are too many, and the last is among them unless the size is a power of two."""
    last, spare = np.full(1, 2**64 - 1, dtype=np.uint64), np.zeros(1, dtype=np.uint64)
    drawn = np.zeros(1, dtype=bool)
    _randomness_kernels.draw(drawn, last, spare, size, 1)
    assert drawn[0], "the spare word is 0, which is drawn"
    _randomness_kernels.draw(drawn, last, spare[:0], size, 1)
    assert drawn[0] == ((2**64 - 1) % size < 1)


def test_the_last_word_is_as_good_as_any_for_a_power_of_two():
    last, drawn = np.full(1, 2**64 - 1, dtype=np.uint64), np.ones(1, dtype=bool)
    _randomness_kernels.draw(drawn, last, np.zeros(1, dtype=np.uint64), 8, 1)
    assert not drawn[0]


@each_engine
def test_engines_draw_rows_alike(engine):
    """Equal rows are drawn one by one: of twenty that are two times ten, any number of the first kind may come."""
    source = engine.open(pa.table({"kind": ["a"] * 10 + ["b"] * 10}), Reading())
    seen = Counter()
    for _ in range(60):
        drawn = engine.draw(source, 0.5, person=())
        assert drawn.rows == 10
        seen[column_of(engine, drawn, "kind").count("a")] += 1
    assert len(seen) > 2, "a hash of the content would give 0 or 10 of a kind"
    assert 3 < sum(key * count for key, count in seen.items()) / 60 < 7


@each_engine
def test_engines_draw_people_with_all_their_rows(engine):
    who = [1.0, 0.0, -0.0, 1.5] * 5 + [float(n) for n in range(2, 18)] * 2
    rows = pa.table({"who": who, "place": ["a", "b"] * 26, "row": list(range(52))})
    source = engine.open(rows, Reading())
    people = Counter(zip(column_of(engine, source, "who"), column_of(engine, source, "place"), strict=True))
    kept = set()
    for _ in range(10):
        drawn = engine.draw(source, 0.25, person=("who", "place"))
        found = Counter(zip(column_of(engine, drawn, "who"), column_of(engine, drawn, "place"), strict=True))
        assert len(found) == count_drawn(0.25, len(people))
        assert all(people[each] == count for each, count in found.items())
        kept.add(frozenset(found))
    assert len(kept) > 5, "nobody can say who comes next"


@each_engine
def test_a_row_is_somebodys_before_anybody_is_drawn(engine):
    source = engine.open(pa.table({"who": ["a", "b", None, "c"] * 5}), Reading())
    with pytest.raises(ind.InputError, match="in 5 rows"):
        engine.draw(source, 0.25, person=("who",))


def column_of(engine, source, name):
    data = source.data if engine.name == "memory" else pa.concat_tables(source.batches([name]))
    return data[name].to_pylist()


@quick
@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=6), max_size=6))
def test_words_are_united(several):
    found = unite_words([np.array(each, dtype=np.uint64) for each in several])
    assert found.tolist() == sorted({word for each in several for word in each})


@quick
@given(st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=3)), st.integers(0, 2)), min_size=1, max_size=20))
def test_the_same_person_has_the_same_word_in_any_batch(people):
    table = pa.table({"name": pa.array([n for n, _ in people], pa.string()), "ward": [w for _, w in people]})
    words = PeopleWords.keyed(["name", "ward"])
    alone = [int(words.words(table.slice(row, 1))[0]) for row in range(len(table))]
    assert words.words(table).tolist() == alone
    assert len(set(alone)) == len(set(people))
    assert PeopleWords.keyed(["name", "ward"]).words(table).tolist() != alone


SCHEMA = ind.Schema(quasi=["x", "y"], sensitive=["disease"], insensitive=["note"])


@pytest.fixture
def file(tmp_path):
    """Return a file whose every row has a text of its own, in codes."""
    rng = np.random.default_rng(4)
    note = pa.array([f"note-{row:05}" for row in range(2000)]).dictionary_encode()
    columns = {"x": rng.normal(size=2000), "y": rng.normal(size=2000), "disease": ["flu", "cold"] * 1000, "note": note}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


def notes_in(path):
    """Return the texts of a file, and with them those that its dictionaries hold and no row has."""
    with pq.ParquetFile(path, read_dictionary=["note"]) as file:
        return {text for chunk in file.read(["note"])["note"].chunks for text in chunk.dictionary.to_pylist()}


@pytest.mark.parametrize("way", ["memory", "memory of people", "duckdb", "duckdb of people", "levels", "parts"])
def test_counting_and_publishing_see_one_draw(way, file, monkeypatch):
    person = way.endswith("people")
    if way in ("levels", "parts"):
        by_passes(Room(100, 10, 3000, 10_000 if way == "levels" else 0), monkeypatch)
    schema = ind.Schema(quasi=["x", "y"], sensitive=["disease"], person=["note"]) if person else SCHEMA
    place = file.with_name("release.parquet")
    release = ind.anonymize(
        file,
        schema,
        model="k-anonymity:k=5",
        algorithm="mondrian",
        sample=0.3,
        engine="memory" if way.startswith("memory") else "duckdb",
        output=place,
    )
    written = pq.read_table(place)
    assert release.certificate.rows == release.certificate.original_rows == len(written) == 600
    assert release.certificate.sample == 0.3
    assert release.certificate.smallest_class >= 5
    if not person:
        assert len(set(written["note"].to_pylist())) == 600
        assert notes_in(place) == set(written["note"].to_pylist()), "nobody else's text is in the file"


def test_the_table_is_the_population_of_its_sample_on_duckdb(tmp_path):
    table = pa.table({"age": [20 + i % 10 for i in range(100)], "key": list(range(100))})
    schema = ind.Schema(quasi=["age"], insensitive=["key"])
    options = {"model": "k-map:k=10", "algorithm": "optimal", "sample": 0.3}
    pq.write_table(table, tmp_path / "table.parquet")
    release = ind.anonymize(tmp_path / "table.parquet", schema, engine="duckdb", **options)
    assert release.certificate.population_size == 100
    assert release.certificate.smallest_class < 10


def test_a_sample_of_fewer_than_k_rows_says_so_on_duckdb(file):
    with pytest.raises(ind.InfeasibleError, match=r"a sample of 0.001 has 2 rows"):
        ind.anonymize(file, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", sample=0.001, engine="duckdb")


def test_a_file_that_changes_while_it_is_drawn_is_not_published(file, monkeypatch):
    def change(batches, draw):
        pq.write_table(pq.read_table(file).slice(0, 1000), file)
        return drawn_rows(batches, draw)

    monkeypatch.setattr("indistinct.engines.duckdb.opening.drawn_rows", change)
    with pytest.raises(ind.InputError, match="has changed while it was read"):
        ind.anonymize(file, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", sample=0.3, engine="duckdb")


def test_rows_that_a_database_gives_are_held():
    """A sample of a database reads what was drawn, and never the database again."""
    table = pa.table({"ward": ["a", "b", "c", "d"] * 25, "bed": list(range(100))})
    draw = draw_of(0.2, 100, lambda: iter(()), person=())
    drawn = tuple(drawn_rows([table.slice(0, 30), table.slice(30)], draw))
    fields = (PostgresColumn("ward", "text", "ward", pa.string()), PostgresColumn("bed", "bigint", "bed", pa.int64()))
    held = PostgresTable(None, "(no relation)", fields, 20, drawn=drawn)
    assert sum(map(len, held.batches(["bed"]))) == 20
    groups = held.groups(["ward"])
    assert groups.counts.sum() == 20
    assert held.once(["bed"]) == held.alone("bed") == 20
