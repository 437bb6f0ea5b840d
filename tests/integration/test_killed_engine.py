"""A release that is killed or stopped, or whose disk is full: old or new, whole, and nothing of its rows stays.

`make kills` tries fifty moments; without `INDISTINCT_KILLS` there are a few.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import indistinct as ind
from indistinct.machine import spill
from indistinct.samples import generate_census

MOMENTS = int(os.environ.get("INDISTINCT_KILLS", "6"))
QUASI = ("age", "sex", "race", "marital", "education")
OTHERS = ("country", "workclass", "occupation", "salary")
SCHEMA = ind.Schema(quasi=QUASI, insensitive=OTHERS)
MODEL = "k-anonymity:k=5"
# Forks a run, kills it after each of some shares of the time that a whole run takes, and waits to go on.
DRIVER = f"""
import os, signal, sys, time
import duckdb
import indistinct as ind
import indistinct.job.publishing, indistinct.engines.duckdb as engine
from indistinct.algorithms.partition import mondrian
engine.FOR_PARTITION = 1e-4  # a few rows would fit otherwise
source, target = sys.argv[1:]
schema = ind.Schema(quasi={QUASI!r}, insensitive={OTHERS!r})

def run():
    ind.anonymize(source, schema, model={MODEL!r}, algorithm="mondrian", engine="duckdb", memory="300MB",
                  output=target, overwrite=True)
    import atexit
    atexit._run_exitfuncs()
    os._exit(0)

def fork():
    child = os.fork()
    if not child:
        run()
    return child

for _ in range(2):  # kernels are loaded the first time
    began = time.perf_counter()
    assert os.waitpid(fork(), 0)[1] == 0
    whole = time.perf_counter() - began
print(whole, flush=True)
for line in sys.stdin:
    child = fork()
    if line != "whole\\n":
        time.sleep(float(line))
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    print("killed" if os.WIFSIGNALED(status) else "done", flush=True)
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("census") / "census.parquet"
    pq.write_table(generate_census(20_000, seed=1), path)
    return path


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


def check(target):
    """Check that a release is whole: a table that holds what it promises, and its own certificate if it has one."""
    assert ind.verify(target, SCHEMA, MODEL).holds
    assert pq.read_metadata(target).num_rows == 20_000
    seal = target.with_name(f"{target.name}.certificate.json")
    if seal.exists():
        assert json.loads(seal.read_text())["output_digest"] == hashlib.sha256(target.read_bytes()).hexdigest()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver forks")
def test_a_release_that_is_killed_is_old_or_new_and_leaves_nothing_for_long(source, tmp_path):
    places = {name: tmp_path / name for name in ("out", "spill")}
    for place in places.values():
        place.mkdir(mode=0o700)
    target = places["out"] / "release.parquet"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(source), str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "INDISTINCT_SPILL": str(places["spill"])},
    )
    assert driver.stdin is not None
    assert driver.stdout is not None
    with driver:
        whole, versions, outcomes, left = float(driver.stdout.readline()), set(), [], []
        for number in range(10 * MOMENTS):
            if number >= MOMENTS and any(left):
                break  # on a busy machine the first moments may all miss the time in which rows are on disk
            moment = whole * (number % MOMENTS + random.random()) / MOMENTS  # noqa: S311
            driver.stdin.write(f"{moment}\n")
            driver.stdin.flush()
            outcomes.append(driver.stdout.readline().strip())
            check(target)
            versions.add(target.read_bytes())
            left.append(len(files_of(places["spill"])))
            assert left[-1] <= 1  # the run before has removed what was there
        driver.stdin.write("whole\n")
        driver.stdin.close()
        assert driver.stdout.readline().strip() == "done"
    assert "killed" in outcomes
    assert max(left) == 1  # some were killed with rows on disk
    assert files_of(places["spill"]) == []
    assert files_of(places["out"]) == ["release.parquet", "release.parquet.certificate.json"]
    check(target)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_release_that_is_stopped_leaves_nothing_at_once(source, tmp_path, number):
    places = {name: tmp_path / name for name in ("out", "spill")}
    for place in places.values():
        place.mkdir(mode=0o700)
    command = [sys.executable, "-m", "indistinct", "anonymize", str(source), "--quasi", ",".join(QUASI)]
    command += ["--insensitive", ",".join(OTHERS), "--model", MODEL, "--algorithm", "mondrian", "--engine", "duckdb"]
    run = subprocess.Popen(
        [*command, "-o", str(places["out"] / "release.parquet")],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "INDISTINCT_SPILL": str(places["spill"])},
    )
    with run:
        while run.poll() is None and not any(spill.PREFIX in name for name in files_of(places["spill"])):
            time.sleep(0.001)
        run.send_signal(number)
        _, told = run.communicate()
    assert run.returncode == 130, told
    assert "Traceback" not in told
    assert files_of(places["spill"]) == []
    assert files_of(places["out"]) == []


# A command whose process is killed when it first calls a function, at which rows lie on disk.
KILLED = """
import importlib, os, signal, sys
from indistinct.cli import main
module, _, name = sys.argv[1].partition(":")
owner = importlib.import_module(module)
*classes, name = name.split(".")
for each in classes:
    owner = getattr(owner, each)
setattr(owner, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
if sys.argv[2] == "levels":
    import indistinct.engines.duckdb as engine
    engine.FOR_CELLS = 1e-6
main(sys.argv[3:])
"""
NAMES = ("name", "age", "sex", "zipcode", "disease")
ROLES = ["--identifier", "name", "--quasi", "age,zipcode", "--sensitive", "disease"]
ROLES += ["--insensitive", "sex", "--model", MODEL, "--algorithm", "mondrian", "--engine", "duckdb"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A text file whose names and numbers are found again wherever they lie."""
    path = tmp_path_factory.mktemp("people") / "people.csv"
    lines = (f"planted-secret {i},{i * 104_729 % 90},f,{7_000_000 + i * 7},flu" for i in range(3000))
    path.write_text("\n".join([",".join(NAMES), *lines]) + "\n")
    return path


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "spill"
    folder.mkdir(mode=0o700)
    return folder


def contents(folder):
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="files have names where no path leads to an open one")
@pytest.mark.parametrize(
    ("moment", "source", "how"),
    [
        ("indistinct.engines.duckdb.opening:_check_doubtful", "file", "cells"),  # text became a Parquet file
        ("indistinct.engines.duckdb:publish_rows", "file", "cells"),
        ("indistinct.tables.several:_of_one_kind", "-", "cells"),  # standard input was copied
        ("indistinct.engines.passes:PartedRows.read", "file", "levels"),
    ],
)
def test_a_kill_leaves_no_plain_rows_and_any_command_takes_away_the_rest(table, folder, tmp_path, moment, source, how):
    environment = {**os.environ, "INDISTINCT_SPILL": str(folder)}
    command = ["anonymize", str(table) if source == "file" else "-", *ROLES, "-o", str(tmp_path / "out.parquet")]
    with table.open("rb") as piped:
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, moment, how, *command], stdin=piped, env=environment, check=False
        )
    assert killed.returncode == -signal.SIGKILL
    if moment != "indistinct.engines.passes:PartedRows.read":
        assert len(files_of(folder)) == 1
    assert not [content for content in contents(folder) if b"planted" in content or content.startswith(b"PAR1")]
    assert [content for content in contents(folder) if content] == []
    listed = subprocess.run([sys.executable, "-m", "indistinct", "list"], env=environment, capture_output=True)
    assert listed.returncode == 0, listed.stderr
    assert files_of(folder) == []


FULL = """
import resource, sys
from indistinct.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
if sys.argv[1] == "levels":
    import indistinct.engines.duckdb as engine
    engine.FOR_CELLS = 1e-6
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(("source", "how"), [("file", "cells"), ("-", "cells"), ("parquet", "levels")])
def test_a_full_disk_is_told_with_what_helps_and_nothing_stays(table, folder, tmp_path, source, how):
    place = {"file": table, "-": "-", "parquet": tmp_path / "people.parquet"}[source]
    if source == "parquet":
        pq.write_table(csv.read_csv(table), place)
    command = ["anonymize", str(place), *ROLES, "-o", str(tmp_path / "out.parquet")]
    with table.open("rb") as piped:
        done = subprocess.run(
            [sys.executable, "-c", FULL, how, *command],
            stdin=piped,
            env={**os.environ, "INDISTINCT_SPILL": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert (
        f"error: rows must be stored on disk for a while, and in {folder} there is not enough room for them"
        in done.stderr
    )
    assert "INDISTINCT_SPILL" in done.stderr
    assert "--memory" in done.stderr
    assert "planted" not in done.stderr
    assert "Traceback" not in done.stderr
    assert files_of(folder) == []
    assert not (tmp_path / "out.parquet").exists()
