"""What warm-up compiled is all that runs on an engine call."""

import json
import subprocess
import sys
from pathlib import Path

from references.clinic import with_visits

# Which kernels an engine calls, and with which types, that the runs of warm-up did not: each would be compiled.
RUN = """
import json, sys
import pyarrow.parquet as pq
import indistinct as ind
from indistinct.cli import kernels
from indistinct.machine.compiled import KERNELS
from indistinct.samples import generate_patients

def called():
    return {f"{kernel.py_func.__name__}{each}" for kernel in KERNELS for each in kernel.signatures}

kernels._run_commands()
kernels.compile_kernels("mondrian")
before, folder, server = called(), *sys.argv[1:]
source = folder + "/patients.parquet"
pq.write_table(generate_patients(3000, seed=1), source, row_group_size=700)
for number, (roles, model) in enumerate(
    [
        ({"identifiers": ["name"], "sensitive": ["disease", "cost"], "insensitive": ["admitted"]},
         "k-anonymity:k=5 & distinct-l-diversity:sensitive=disease,l=2 & t-closeness:sensitive=cost,t=0.5"),
        ({"person": ["name"], "insensitive": ["disease", "cost", "admitted"]}, "k-anonymity:k=5"),
    ]
):
    schema = ind.Schema(quasi=["age", "sex", "zipcode"], **roles)
    for algorithm in ("mondrian", "mondrian:choose=loss"):
        if server:
            table = ind.DatabaseTable(server, "clinic.visits")
            output = ind.DatabaseTable(server, "clinic.release")
        else:
            table, output = ind.open(source, engine="duckdb"), folder + "/release.parquet"
        ind.anonymize(table, schema, model=model, algorithm=algorithm, output=output, overwrite=True)
        ind.assess(output, schema, original=table)
print(json.dumps([len(before), *sorted(called() - before)]))
"""


def run_after_warm_up(folder: Path, server: str = "") -> list[str]:
    ran = subprocess.run([sys.executable, "-c", RUN, str(folder), server], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    called, *new = json.loads(ran.stdout.splitlines()[-1])
    assert called > 10
    return new


def test_an_engine_compiles_nothing_after_warm_up(tmp_path: Path) -> None:
    assert run_after_warm_up(tmp_path) == []


def test_postgres_compiles_nothing_after_warm_up(tmp_path: Path, postgres) -> None:
    server = with_visits(postgres, rows=3000)
    assert run_after_warm_up(tmp_path, server.url) == []
