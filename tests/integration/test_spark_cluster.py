"""A cluster of one master and two workers: the answer of memory, also where tasks fail, run twice, or lose a worker."""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from references.engine_runs import rows_of
from references.spark_cluster import HOSTS, await_file, end_processes, running_cluster
from references.spark_session import needs_java

pytestmark = [needs_java, pytest.mark.xdist_group("spark")]
SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "height", "town"], sensitive=["disease"])
MODEL = "k-anonymity:k=5 & distinct-l-diversity:sensitive=disease,l=2"
ROWS, PARTS = 1200, 4
# Some rows of a part of the output, so that there are several; and few combinations, where a search goes by passes.
LINES = """
from indistinct.engines.spark import publish
from hindrances import {hindrance}

publish.MAX_ROWS = {rows}
{hindrance}(folder)
schema = ind.Schema(identifiers=["name"], quasi=["age", "height", "town"], sensitive=["disease"])
release = ind.anonymize(
    folder / "people.parquet", schema, model={model!r}, algorithm="mondrian", engine="spark",
    output=folder / {output!r},
)
print("by part" if release.check.assignment is None else len(release.recoding.columns[1].domain))
"""
HINDRANCES = '''
"""What goes wrong on workers, on purpose: classes of the product with one method that does something else first."""

import json
import os
import time
from pathlib import Path

import psutil
from indistinct.engines.passes import Room
from indistinct.engines.spark import Spark, parts, passes, publish
from indistinct import engines

PASSES = Room(cells=150, numbers=20, texts=50, classes=10_000)
PARTS = Room(cells=600, numbers=20, texts=50, classes=0)


def note(path, content):
    """Write a file that is there as a whole, or not at all; return whether this was the first."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    hidden.write_text(json.dumps(content))
    try:
        os.link(hidden, path)
    except FileExistsError:
        return False
    finally:
        hidden.unlink()
    return True


def lose_power(folder):
    """Tell which processes this worker is made of, and wait to be ended with them: once."""
    me = psutil.Process()
    above = [each for each in me.parents() if "java" in each.name()]
    if note(folder / "doomed", [each.pid for each in above]):
        time.sleep(600)


class LostWriting(publish.PublishedForm):
    def write(self, batches, partition):
        if partition == 1:
            lose_power(self.folder.parents[1])
        return super().write(batches, partition)


class FailingWriting(publish.PublishedForm):
    """Fails once, after it has written its file."""

    def write(self, batches, partition):
        written = list(super().write(batches, partition))
        if partition == 1 and note(self.folder.parents[1] / "failed", os.listdir(self.folder)):
            raise RuntimeError("this attempt fails")
        return iter(written)


class SlowWriting(publish.PublishedForm):
    """Its first attempt waits for the second, and both write."""

    def write(self, batches, partition):
        folder = self.folder.parents[1]
        if partition != 1:
            yield from super().write(batches, partition)
            return
        first = note(folder / "began", os.getpid())
        yield from super().write(batches, partition)
        if not first:
            note(folder / "second", os.listdir(self.folder))
        while first and not (folder / "second").exists():
            time.sleep(0.05)


class LostParts(passes.PartsOfWorkers):
    def finish_parts(self, batches, partition):
        if partition == 1:
            lose_power(Path(os.environ["PYTHONPATH"].split(os.pathsep)[-1]))
        return super().finish_parts(batches, partition)


class LostRanges(parts.RangeWork):
    """Finished parts that lie on the disks of the worker are lost with it, and finished again."""

    def write(self, batches, partition):
        if partition == 1:
            lose_power(self.folder.parents[1])
        return super().write(batches, partition)


def nothing(folder):
    pass


def worker_is_lost(folder):
    publish.PublishedForm = LostWriting


def task_fails(folder):
    publish.PublishedForm = FailingWriting


def task_runs_twice(folder):
    publish.PublishedForm = SlowWriting


def by_passes(folder):
    engines.spark.Spark = lambda *_: Spark(room=PASSES)


def worker_is_lost_by_passes(folder):
    by_passes(folder)
    passes.PartsOfWorkers = LostParts


def worker_is_lost_part_by_part(folder):
    engines.spark.Spark = lambda *_: Spark(room=PARTS)
    parts.RangeWork = LostRanges
'''
# A Python without the package, for workers: it finds all others.
WITHOUT_PACKAGE = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "indistinct":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def people():
    rng = np.random.default_rng(8)
    return pa.table(
        {
            "name": [f"person {row}" for row in range(ROWS)],
            "age": rng.integers(18, 90, ROWS),
            "height": rng.normal(170, 9, ROWS),
            "town": rng.choice(["Oslo", "Bergen", "Ås"], ROWS),
            "disease": rng.choice(["flu", "gout", "asthma"], ROWS),
        }
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "hindrances.py").write_text(HINDRANCES)
    pq.write_table(people(), folder / "people.parquet", row_group_size=200)
    with running_cluster(folder, beside=folder) as running:
        yield running


@pytest.fixture(scope="module")
def memory():
    return ind.anonymize(people(), SCHEMA, model=MODEL, algorithm="mondrian", engine="memory")


def publish(cluster, hindrance, output, **options):
    lines = LINES.format(hindrance=hindrance, rows=-(-ROWS // PARTS), model=MODEL, output=output)
    return cluster.drive(lines, **options)


def require_release(cluster, output, memory, ended):
    """Fail unless the release is that of memory, in one file for each part, and nothing else is there.

    Where it is made part by part, files have ranges of classes, of about as many rows.
    """
    assert ended.code == 0, ended.errors[-3000:]
    place = cluster.folder / output
    names = sorted(path.name for path in place.iterdir())
    assert names == [f"part-{part:05}.parquet" for part in range(len(names))]
    assert len(names) == PARTS or (ended.output.strip() == "by part" and PARTS <= len(names) <= PARTS + 2)
    found = pa.concat_tables(pq.read_table(path) for path in sorted(place.iterdir()))
    wanted = memory.table.cast(found.schema)
    assert rows_of(found) == rows_of(wanted)
    told = json.loads((cluster.folder / f"{output}.certificate.json").read_text())
    assert told["classes"] == memory.certificate.classes
    assert leftovers(cluster) == []


def leftovers(cluster):
    """Return what lies in the folder of releases that no release is."""
    return [path.name for path in cluster.folder.iterdir() if path.name.startswith(".") or "tmp" in path.name]


def lose_worker(cluster):
    """Return what ends a worker in the middle of a task, with all its processes."""

    def watch(driver):
        doomed = await_file(cluster.folder / "doomed", driver)
        assert len(doomed) == 2, "an executor and the worker that started it"
        assert cluster.workers_alive() == len(HOSTS)
        end_processes(doomed)

    return watch


def test_the_answer_is_that_of_memory(cluster, memory):
    ended = publish(cluster, "nothing", "plain.parquet")
    require_release(cluster, "plain.parquet", memory, ended)


def test_a_driver_that_cannot_take_the_cells_goes_pass_by_pass(cluster, memory):
    ended = publish(cluster, "by_passes", "passes.parquet")
    require_release(cluster, "passes.parquet", memory, ended)
    assert int(ended.output) < len(memory.recoding.columns[1].domain)  # ends of classes alone


def test_a_task_that_fails_once_leaves_one_file(cluster, memory):
    ended = publish(cluster, "task_fails", "failed.parquet")
    assert any(name.startswith("part-00001-") for name in await_file(cluster.folder / "failed"))
    require_release(cluster, "failed.parquet", memory, ended)


def test_a_task_that_runs_twice_at_once_leaves_one_file(cluster, memory):
    settings = {"spark.speculation": "true", "spark.speculation.quantile": "0.1", "spark.speculation.multiplier": "1.1"}
    ended = publish(cluster, "task_runs_twice", "twice.parquet", settings=settings)
    both = [name for name in await_file(cluster.folder / "second") if name.startswith("part-00001-")]
    assert len(both) == 2
    require_release(cluster, "twice.parquet", memory, ended)


def test_workers_without_the_package_are_said(cluster):
    bare = cluster.folder / "bare"
    bare.mkdir()
    (bare / "sitecustomize.py").write_text(WITHOUT_PACKAGE)
    python = bare / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={bare}:"$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    ended = publish(cluster, "nothing", "bare.parquet", environment={"PYSPARK_PYTHON": str(python)})
    assert ended.code != 0
    assert "InputError: Spark's workers lack a package" in ended.errors
    assert "install indistinct where workers run" in ended.errors
    assert not (cluster.folder / "bare.parquet").exists()
    assert leftovers(cluster) == []


@pytest.mark.parametrize("hindrance", ["worker_is_lost", "worker_is_lost_by_passes", "worker_is_lost_part_by_part"])
def test_a_worker_that_is_lost_in_the_middle_changes_nothing(tmp_path, memory, hindrance):
    (tmp_path / "hindrances.py").write_text(HINDRANCES)
    pq.write_table(people(), tmp_path / "people.parquet", row_group_size=200)
    with running_cluster(tmp_path, beside=tmp_path) as cluster:
        ended = publish(cluster, hindrance, "lost.parquet", watch=lose_worker(cluster))
        require_release(cluster, "lost.parquet", memory, ended)
        assert cluster.workers_alive() < len(HOSTS)
