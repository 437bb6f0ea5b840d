"""With `NUMBA_DISABLE_JIT=1` Python runs the kernels, so that a debugger steps through them, with the same results."""

import json
import os
import subprocess
import sys

import pytest

ALGORITHMS = ("mondrian", "mondrian:relaxed=true", "optimal", "kaca", "slicing:l=2", "anatomy:l=2")

JOBS = """
import json, random, sys
import pyarrow as pa
import indistinct as ind
from indistinct.machine.compiled import KERNELS

draw = random.Random(7)
ages = [draw.choice([None, *range(18, 90)]) for _ in range(300)]
table = pa.table({
    "age": ages,
    "sex": [draw.choice(["f", "m", "*", None]) for _ in ages],
    "zipcode": [draw.choice(["10115", "10117", "20095", "=x"]) for _ in ages],
    "disease": [draw.choice(["flu", "cold", "gout", "-0.0"]) for _ in ages],
})
schema = ind.Schema(quasi=["age", "sex", "zipcode"], sensitive=["disease"])
hierarchies = {"sex": ind.Hierarchy.suppression(), "zipcode": ind.Hierarchy.masking()}
hierarchies["age"] = ind.Hierarchy.intervals([10, 40])
answers = {}
for algorithm in sys.argv[1:]:
    model = None if ":l=" in algorithm else "k-anonymity:k=5"
    release = ind.anonymize(
        table, schema, model=model, algorithm=algorithm, hierarchies=hierarchies,
        suppression=0.1, seed=5, engine="memory",
    )
    rows = [release.table.to_pylist(), repr(release.buckets)]
    verdict = ind.verify(release.table, schema, model) if model else None
    answers[algorithm] = [rows, repr(ind.assess(release)), verdict and [verdict.holds, verdict.classes]]
print(json.dumps([len(KERNELS), answers], default=str))
"""


def run_jobs(**variables):
    """Return the number of compiled kernels, and what a process of its own answers."""
    ran = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", JOBS, *ALGORITHMS],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def runs():
    return run_jobs(), run_jobs(NUMBA_DISABLE_JIT="1")


def test_kernels_are_compiled_only_without_the_variable(runs):
    (compiled, _), (interpreted, _) = runs
    assert compiled > 0
    assert interpreted == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_interpreted_kernels_give_the_same_release_and_the_same_risks(runs, algorithm):
    (_, compiled), (_, interpreted) = runs
    assert interpreted[algorithm] == compiled[algorithm]


KERNEL = """
import numpy as np
from indistinct.machine.compiled import jit

@jit
def shift(values, pair):
    wide = values[0] << 8
    values[1] = wide
    pair[0][1] = pair[0][0] * 300
    return wide

values, others = np.array([3, 9], dtype=np.uint8), np.array([200, 0], dtype=np.uint16)
print(shift(values, (others, values)), values.tolist(), others.tolist(), values.dtype, others.dtype)
"""


def test_narrow_integers_are_computed_with_64_bits_and_stored_as_they_are_compiled():
    answers = {
        subprocess.run(
            [sys.executable, "-c", KERNEL.replace("@jit", decorator)],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for decorator, variables in (("@jit", {"NUMBA_DISABLE_JIT": "1"}), ("@__import__('numba').njit", {}))
    }
    assert answers == {"768 [3, 0] [200, 60000] uint8 uint16\n"}
