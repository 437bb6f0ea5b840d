"""A DuckDB release that is killed or stopped: old or new, whole, and nothing of its rows stays.

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

import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct import spill
from indistinct.datasets import generate_census

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
import indistinct.api, indistinct.engines.duckdb as engine
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
        for number in range(MOMENTS):
            moment = whole * (number + random.random()) / MOMENTS  # noqa: S311
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
