"""How many threads work, and that nothing but time depends on it."""

import threading
from collections import Counter

import pytest

import indistinct as ind
from indistinct.errors import ParameterError
from indistinct.machine.threads import blocks, is_large, spread, workers
from indistinct.samples import generate_patients, patients_hierarchies

SCHEMA = ind.Schema(identifiers=["name", "admitted", "cost"], quasi=["age", "sex", "zipcode"], sensitive=["disease"])
LADDERS = {name: ladder for name, ladder in patients_hierarchies().items() if name in SCHEMA.quasi}


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_is_what_the_environment_says(monkeypatch, threads):
    monkeypatch.setenv("INDISTINCT_THREADS", str(threads))
    assert workers() == threads
    # Every thread waits for the others: fewer of them would never get past the barrier.
    barrier, seen = threading.Barrier(threads, timeout=300), set()

    def meet(part):
        barrier.wait()
        seen.add(threading.get_ident())
        return part

    assert spread(meet, range(threads)) == list(range(threads))
    assert len(seen) == threads


@pytest.mark.parametrize("nonsense", ["", "0", "-1", "two", "1.5", "²"])
def test_a_number_of_threads_that_is_none_is_an_error(monkeypatch, nonsense):
    monkeypatch.setenv("INDISTINCT_THREADS", nonsense)
    with pytest.raises(ParameterError, match="INDISTINCT_THREADS must be a whole number from 1") as caught:
        workers()
    assert "unset" in caught.value.hint


def test_without_the_variable_every_core_works(monkeypatch):
    monkeypatch.delenv("INDISTINCT_THREADS", raising=False)
    assert workers() >= 1


def test_blocks_cover_all_rows_once(monkeypatch):
    monkeypatch.setenv("INDISTINCT_THREADS", "3")
    assert [list(range(10))[block] for block in blocks(10, least=1)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    assert blocks(10) == [slice(0, 10)]
    assert blocks(0, least=1) == [slice(0, 0)]
    assert len(blocks(1 << 20)) == 3
    assert is_large(1 << 20)


@pytest.mark.parametrize(
    "algorithm",
    ["mondrian", "mondrian:relaxed=true", "optimal:metric=discernibility", "top-down-kaca", "two-level", "anatomy:l=2"],
)
def test_the_recoding_does_not_depend_on_the_number_of_threads(monkeypatch, as_if_large, algorithm):
    table = generate_patients(400, seed=3)

    def search():
        model = None if algorithm.startswith("anatomy") else ind.KAnonymity(4)
        return ind.anonymize(table, SCHEMA, model=model, algorithm=algorithm, hierarchies=LADDERS, seed=1)

    small = search()
    for threads in (1, 2, 5):
        as_if_large(monkeypatch, threads=threads)
        release = search()
        assert release.recoding == small.recoding
        assert Counter(map(repr, release.table.to_pylist())) == Counter(map(repr, small.table.to_pylist()))
