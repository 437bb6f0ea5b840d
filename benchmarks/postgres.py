"""PostgreSQL: a release from table to table, against copying the same table out of the database and in again."""

import importlib.util
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best

SERVER = Path(__file__).parent.parent / "tests" / "references" / "postgres_server.py"


def postgres_lines(rows: int) -> Iterator[Line]:
    """A verified release of census-like rows, table to table, by a server that is started for it."""
    server_of = _loaded()
    with server_of.running_server() as server:
        server.upload(pq.read_table(census(rows)), "census")
        server.run("ANALYZE census")

        def copy() -> None:
            server.run("DROP TABLE IF EXISTS copied", "CREATE TABLE copied (LIKE census)")
            with tempfile.TemporaryDirectory() as folder:
                for statement in (f"\\copy census TO '{folder}/rows'", f"\\copy copied FROM '{folder}/rows'"):
                    subprocess.run([server_of.programs() / "psql", "-q", server.url, "-c", statement], check=True)

        def computed() -> float:
            time.sleep(0.2)  # a session is counted when the server has seen its end
            own = resource.getrusage(resource.RUSAGE_CHILDREN)
            return time.process_time() + own.ru_utime + own.ru_stime + float(server.computed())

        _release(server.url)  # compiles what is compiled once
        what = f"PostgreSQL table to verified table, {rows:,} rows"
        for words, clock in (("", time.perf_counter), (", CPU of both sides", computed)):
            theirs, ours = best(copy, clock=clock), best(lambda: _release(server.url), clock=clock)
            yield Line(what + words, ours, "COPY out and COPY in", theirs, 2.5)
        driver = best(lambda: _by_driver(server), clock=computed)
        yield Line(f"driver alone, rows out and in, {rows:,} rows, CPU", driver, "COPY out and COPY in", theirs, None)


def _by_driver(server: Any) -> None:
    """Read the table into Arrow and write it again: what no release by this driver can do without."""
    with server.session() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM census")
        rows = cursor.fetch_arrow_table()
    server.run("DROP TABLE IF EXISTS copied", "CREATE TABLE copied (LIKE census)")
    with server.session() as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("copied", rows, mode="append")


def _release(url: str) -> None:
    ind.anonymize(
        ind.DatabaseTable(url, "census"),
        ind.Schema(quasi=QUASI, insensitive=["salary"]),
        model=ind.KAnonymity(k=5),
        algorithm="mondrian",
        output=ind.DatabaseTable(url, "release"),
        overwrite=True,
    )


def _loaded() -> Any:
    """Return the module that starts a server for tests."""
    spec = importlib.util.spec_from_file_location("postgres_server", SERVER)
    if spec is None or spec.loader is None:
        raise AssertionError(f"{SERVER} is part of this repository")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
