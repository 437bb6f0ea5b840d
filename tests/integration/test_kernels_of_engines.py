"""What warm-up compiled is all that runs on an engine call."""

import json
import subprocess
import sys
from pathlib import Path

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
before, source = called(), sys.argv[1] + "/patients.parquet"
pq.write_table(generate_patients(3000, seed=1), source, row_group_size=700)
for number, (roles, model) in enumerate(
    [
        ({"identifiers": ["name"], "sensitive": ["disease", "cost"], "insensitive": ["admitted"]},
         "k-anonymity:k=5 & distinct-l-diversity:sensitive=disease,l=2 & t-closeness:sensitive=cost,t=0.5"),
        ({"person": ["name"], "insensitive": ["disease", "cost", "admitted"]}, "k-anonymity:k=5"),
    ]
):
    schema = ind.Schema(quasi=["age", "sex", "zipcode"], **roles)
    table = ind.open(source, engine="duckdb")
    ind.anonymize(table, schema, model=model, algorithm="mondrian", output=f"{sys.argv[1]}/{number}.parquet")
print(json.dumps([len(before), *sorted(called() - before)]))
"""


def test_an_engine_compiles_nothing_after_warm_up(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    called, *new = json.loads(ran.stdout.splitlines()[-1])
    assert called > 10
    assert new == []
