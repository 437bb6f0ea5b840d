"""Rows that lie on disk before they are published: where, in partitions of which size, and in which order they come."""

import os
import resource
import stat
import subprocess
import sys
from collections import Counter
from contextlib import closing, contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines import stored_rows
from indistinct.engines.duckdb import DuckDB
from indistinct.engines.partitions import publish_rows
from indistinct.engines.stored_rows import PartitionBounds, Partitions
from indistinct.errors import OutputError
from indistinct.frequencies.count import Request
from indistinct.machine import spill
from indistinct.machine.randomness import Secret, random_words
from indistinct.tables import Reading
from references.engine_runs import rows_of
from references.publishing import Kept

SCHEMA = ind.Schema(quasi=["age", "zip"], sensitive=["disease"], insensitive=["cost"])
ENGINE = DuckDB(1 << 28)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    rows = 3000
    return pa.table(
        {
            "age": pa.array(rng.integers(0, 90, rows), mask=rng.random(rows) < 0.05),
            "zip": pa.array(rng.integers(10, 40, rows)).cast(pa.string()).dictionary_encode(),
            "disease": pa.array(rng.choice(["flu", "asthma", "gout"], rows)).dictionary_encode(),
            "cost": rng.random(rows).round(4),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "spill"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("INDISTINCT_SPILL", str(folder))
    return folder


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


def through_partitions(table, release, *, seed=None, memory=4096):
    """Publish again what a release of memory published, through partitions of about so many bytes."""
    source, sink = ENGINE.open(table, Reading()), Kept()
    ENGINE.count(source, Request(SCHEMA.quasi))
    publish_rows(source, release.assignment, sink, secret=Secret(seed), row_index=None, memory=memory)
    return sink.tables[""]


def released(table, *, k, seed=None, algorithm="mondrian"):
    return ind.anonymize(table, SCHEMA, model=f"k-anonymity:k={k}", algorithm=algorithm, seed=seed)


def test_rows_on_disk_have_no_name_and_nothing_stays(table, folder, monkeypatch):
    release, made, create = released(table, k=4), [], stored_rows.nameless_file

    def watched():
        made.append(create())
        return made[-1]

    monkeypatch.setattr(stored_rows, "nameless_file", watched)

    class Looking(Kept):
        def accept(self, name, batches):
            seen.append((files_of(folder), os.fstat(made[0].fileno())))
            super().accept(name, batches)

    seen, source, sink = [], ENGINE.open(table, Reading()), Looking()
    publish_rows(source, release.assignment, sink, secret=Secret(), row_index=None, memory=4096)
    names, status = seen[0]
    assert [name for name in names if not name.startswith(spill.PREFIX)] == []  # the database of the process has one
    assert status.st_nlink == 0
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert made[0].closed
    assert rows_of(sink.tables[""]) == rows_of(release.table)


def test_cuts_keep_groups_together_and_divide_large_ones():
    starts = np.array([0, 3, 4, 24, 25, 30])
    cuts = PartitionBounds.of(starts, 8, divisible=True)
    assert cuts.ends.tolist() == [0, 2, 3, 5]
    assert cuts.parts.tolist() == [1, 3, 1]
    assert cuts.firsts.tolist() == [0, 1, 4, 5]
    whole = PartitionBounds.of(starts, 8, divisible=False)
    assert set(whole.parts.tolist()) == {1}
    assert len(PartitionBounds.of(starts, 100, divisible=True)) == 1


def test_a_class_larger_than_a_partition_is_divided(table, monkeypatch):
    """Everything in one class: no partition holds it, and its rows are all there."""
    release, sizes, read = released(table, k=3000), [], Partitions.read

    def watched(partitions):
        for first, last, rows in read(partitions):
            sizes.append(rows.nbytes)
            yield first, last, rows

    monkeypatch.setattr(Partitions, "read", watched)
    made = through_partitions(table, release, memory=8192)
    assert len(release.classes()) == 1
    assert len(sizes) > 5
    assert max(sizes) < 2 * 8192
    assert rows_of(made) == rows_of(release.table)
    assert made["cost"].to_pylist() != table["cost"].to_pylist()


@pytest.mark.parametrize("k", [4, 700, 3000])
def test_a_seed_gives_the_order_of_memory_whatever_is_divided(table, k):
    release = released(table, k=k, seed=7)
    made = through_partitions(table, release, seed=7)
    assert made.to_pylist() == release.table.to_pylist()


def test_equal_rows_part_as_in_memory_where_their_cell_is_divided():
    rng = np.random.default_rng(2)
    table = pa.table({"age": [1] * 900 + [2] * 100, "cost": rng.random(1000)})
    schema = ind.Schema(quasi=["age"], insensitive=["cost"])
    settings = {"model": "k-anonymity:k=200", "algorithm": "mondrian:relaxed=true", "seed": 3}
    release = ind.anonymize(table, schema, **settings)
    source, sink = ENGINE.open(table, Reading()), Kept()
    publish_rows(source, release.assignment, sink, secret=Secret(3), row_index=None, memory=2048)
    assert release.assignment.split
    assert sink.tables[""].to_pylist() == release.table.to_pylist()


def test_every_order_of_a_divided_class_has_its_turn():
    """Three rows of each of 200 classes, dealt to three parts each: all six orders are equally likely."""
    groups, seen = np.repeat(np.arange(200, dtype=np.int32), 3), Counter()
    table = pa.table({"row": np.tile(np.arange(3), 200)})
    for _ in range(3):
        with closing(
            Partitions(np.arange(0, 601, 3), 16, lambda rows: random_words(len(rows), None, stream=0))
        ) as made:
            made.add(table, groups, None)
            parts = []
            for first, last, rows in made.read():
                order = np.arange(len(rows))
                Secret().arrange(order, np.array([0, len(rows)]), None, stream=1)
                assert last - first == 1
                parts.append(rows.take(pa.array(order)))
        seen.update(map(tuple, pa.concat_tables(parts)["row"].to_numpy().reshape(-1, 3).tolist()))
    assert len(seen) == 6
    assert sum((count - 100) ** 2 / 100 for count in seen.values()) < 30  # χ² of five degrees: once in 80,000


def test_dictionaries_that_differ_between_batches_and_hold_nothing_are_united():
    cells = [pa.array(["a", None]), pa.array(["b", "a"])]
    batches = [pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 0]), each)}) for each in cells]
    with closing(Partitions(np.array([0, 4, 8]), 64)) as made:
        for batch in batches:
            made.add(batch, np.array([0, 1, 0, 1]), np.array([5, 6, 7, 8]))
        read = {first: (rows["x"].to_pylist(), rows[stored_rows.CELL].to_pylist()) for first, _, rows in made.read()}
    assert read == {0: (["a", None, "b", "a"], [5, 7, 5, 7]), 1: ([None, "a", "a", "b"], [6, 8, 6, 8])}


@contextmanager
def files_of_at_most(size):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_told_where_rows_are_published(table, folder):
    release = released(table, k=4)
    with files_of_at_most(4096), pytest.raises(OutputError, match="not enough room") as told:
        through_partitions(table, release)
    assert "INDISTINCT_SPILL" in told.value.hint
    assert [name for name in files_of(folder) if not name.startswith(spill.PREFIX)] == []


# Counts in a process of its own: the database of a process has one directory for good.
SPILLING = """
import resource, sys, threading, time
from pathlib import Path
import pyarrow as pa
from indistinct.engines.duckdb import DuckDB
from indistinct.errors import OutputError
from indistinct.frequencies.count import Request
from indistinct.tables import Reading
folder = Path(sys.argv[1])
found, done = set(), False
def look():
    while not done:
        for path in folder.glob("*/*.tmp"):
            found.add(b"planted-secret" in path.read_bytes() if path.exists() else None)
        time.sleep(0.01)
if sys.argv[2] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
table = pa.table({"name": [f"planted-secret {i}" + 200 * "x" for i in range(400_000)]})
engine = DuckDB(150_000_000)
source = engine.open(table, Reading())
watching = threading.Thread(target=look)
watching.start()
try:
    source.groups(("name",)) if sys.argv[2] == "look" else engine.count(source, Request(("name",)))
except OutputError as error:
    print(error.message)
finally:
    done = True
watching.join()
print(sorted(map(str, found - {None})))
"""


def test_what_duckdb_spills_does_not_show_values(folder):
    done = subprocess.run([sys.executable, "-c", SPILLING, str(folder), "look"], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["['False']"], done.stderr
    assert files_of(folder) == []


def test_a_full_disk_is_told_where_rows_are_counted(folder):
    done = subprocess.run([sys.executable, "-c", SPILLING, str(folder), "full"], capture_output=True, text=True)
    assert "not enough room" in done.stdout, done.stderr
    assert "planted" not in done.stdout + done.stderr
    assert files_of(folder) == []


@pytest.mark.parametrize("shown", ["/proc/{}/fd/{}", "/nowhere/{}/{}"])
def test_a_file_without_a_name_is_opened_by_a_path_until_it_is_closed(monkeypatch, shown):
    """Where the system does not show what a process has open, the file has a name in a private directory."""
    monkeypatch.setattr(spill, "OPEN_FILES", shown)
    made = spill.create_nameless("rows.parquet")
    pq.write_table(pa.table({"name": ["secret"]}), made.path)
    assert pq.read_table(made.path)["name"].to_pylist() == ["secret"]
    assert made.path.name == "rows.parquet"
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    assert os.fstat(made.file.fileno()).st_nlink == (0 if shown.startswith("/proc") else 1)
    made.close()
    assert not os.path.lexists(made.path.parent)
    left = spill.create_nameless("rows.parquet").path  # nobody holds it
    assert not os.path.lexists(left)


def test_a_directory_that_cannot_be_used_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for name, told in [("none", "not a directory"), ("file", "not a directory"), ("open", "other users may replace")]:
        monkeypatch.setenv("INDISTINCT_SPILL", str(tmp_path / name))
        for use in (spill.nameless_file, spill.private_directory().__enter__):
            with pytest.raises(OutputError, match=told):
                use()
    assert files_of(tmp_path / "open") == []


def test_a_link_to_a_directory_and_a_sticky_one_can_be_used(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "there").chmod(0o1777)
    (tmp_path / "link").symlink_to("there")
    monkeypatch.setenv("INDISTINCT_SPILL", str(tmp_path / "link"))
    with spill.private_directory() as made:
        assert made.parent == (tmp_path / "there").resolve()
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert files_of(tmp_path / "there") == []


def test_a_directory_is_removed_lock_last(tmp_path, monkeypatch):
    """A run that is killed while it clears up leaves a directory that the next one knows for abandoned."""
    left = tmp_path / f"{spill.PREFIX}left"
    (left / "below").mkdir(parents=True)
    for name in ("a.tmp", "lock", "z.tmp"):
        (left / name).write_text("x")
    names, unlink = [], type(left).unlink
    monkeypatch.setattr(
        type(left), "unlink", lambda path, **options: (names.append(path.name), unlink(path, **options))
    )
    spill.remove_abandoned(tmp_path)
    assert names[-1] == "lock"
    assert sorted(names) == ["a.tmp", "lock", "z.tmp"]
    assert files_of(tmp_path) == []


def test_an_unusable_directory_at_the_command_line(table, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet")
    command = [sys.executable, "-m", "indistinct", "anonymize", str(tmp_path / "t.parquet"), "--quasi", "age,zip"]
    command += ["--sensitive", "disease", "--insensitive", "cost", "--model", "k-anonymity:k=4", "--engine", "duckdb"]
    environment = {**os.environ, "INDISTINCT_SPILL": str(tmp_path / "none")}
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "out.parquet")], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 1
    assert "not a directory that can be written to" in done.stderr
    assert "INDISTINCT_SPILL" in done.stderr
    assert files_of(tmp_path) == ["t.parquet"]
