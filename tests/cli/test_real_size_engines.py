"""Every engine at real size, once, by the command that a user types: 300,000 rows in a process of its own, no settings.

Small tables do not show what ends at a limit: of a message, a buffer, a file. Nothing here waits for a time.
"""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from references.spark_session import needs_java

ROWS = 300_000
QUASI = "age,sex,race,marital,education,country"
ROLES = ["--quasi", QUASI, "--sensitive", "occupation", "--insensitive", "workclass,salary"]
MODEL = ["--model", "k-anonymity:k=5"]
# In Python, as in a notebook: a release in memory, which is then written, and read back by whoever gets it.
WRITTEN_AFTERWARDS = f"""
import json, sys
import indistinct as ind
source, engine, folder = sys.argv[1:]
schema = ind.Schema(quasi="{QUASI}".split(","), sensitive=["occupation"], insensitive=["workclass", "salary"])
if __name__ == "__main__":
    release = ind.anonymize(source, schema, model="k-anonymity:k=5", algorithm="mondrian", engine=engine)
    files = [f"{{folder}}/release{{suffix}}" for suffix in (".parquet", ".csv")]
    rows = [release.write(file).rows for file in files]
    holds = [ind.verify(file, schema, "k-anonymity:k=5").holds for file in files]
    print(json.dumps({{"holds": holds, "rows": rows, "classes": release.classes().num_rows}}))
"""


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one table of people, as text and as Parquet; processes that share out tests share it."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "census"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "census.csv").exists():
            indistinct("generate", "census", "--rows", ROWS, "--seed", 1, "-o", folder / "census.parquet")
            pyarrow.csv.write_csv(pq.read_table(folder / "census.parquet"), folder / "census.csv")
    return folder


def indistinct(*arguments: object) -> str:
    """Run a command in a process of its own; return what it prints."""
    return ran(sys.executable, "-m", "indistinct", *arguments)


def ran(*command: object) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INDISTINCT_")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def database(census: Path, postgres) -> str:
    """Return the address of a database that has the table as well."""
    postgres.run("DROP TABLE IF EXISTS real_size")
    postgres.upload(pq.read_table(census / "census.parquet"), "real_size")
    return postgres.url


def source_of(engine: str, census: Path, request: pytest.FixtureRequest) -> list[object]:
    """Return where an engine reads the table: text where it can, which is the harder way."""
    if engine == "postgres":
        return [request.getfixturevalue("database"), "--table", "real_size"]
    return [census / ("census.parquet" if engine == "spark" else "census.csv")]


@pytest.mark.parametrize(
    "engine",
    ["memory", "duckdb", "postgres", pytest.param("spark", marks=[needs_java, pytest.mark.xdist_group("spark")])],
)
def test_an_engine_publishes_and_verifies(
    engine: str, census: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    source, out = source_of(engine, census, request), tmp_path / "release.parquet"
    job = [*ROLES, *MODEL, "--algorithm", "mondrian", "--json"]
    made = json.loads(indistinct("anonymize", *source, *job, "--engine", engine, "-o", out))
    assert made["holds"]
    assert made["rows"] == made["original_rows"] == ROWS
    assert made["classes"] > 10_000
    checked = json.loads(indistinct("verify", out, *ROLES, *MODEL, "--json"))
    assert checked["holds"]
    assert checked["classes"] == made["classes"]


def test_a_release_of_another_engine_is_written_afterwards(
    census: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Of the other engines small releases are, with every format, among the integration tests."""
    source = source_of("duckdb", census, request)[0]
    told = json.loads(ran(sys.executable, "-c", WRITTEN_AFTERWARDS, source, "duckdb", tmp_path))
    assert told["holds"] == [True, True]
    assert told["rows"] == [ROWS, ROWS]
    assert told["classes"] > 10_000
