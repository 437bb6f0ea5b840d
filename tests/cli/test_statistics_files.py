"""The command line writes files of statistics programs, for which it lets pandas in."""

import subprocess
import sys

import pytest
from pyarrow import csv

from indistinct.datasets import generate_patients


@pytest.mark.parametrize("suffix", ["dta", "sav", "xpt"])
def test_a_process_of_its_own_writes_them(tmp_path, suffix):
    csv.write_csv(generate_patients(60, seed=1), tmp_path / "p.csv")
    roles = [
        "--identifier",
        "name,cost,admitted",
        "--quasi",
        "age,sex",
        "--sensitive",
        "disease",
        "--insensitive",
        "zipcode",
    ]
    asked = ["anonymize", str(tmp_path / "p.csv"), *roles, "--model", "k-anonymity:k=3", "--algorithm", "mondrian"]
    command = [sys.executable, "-m", "indistinct", *asked, "-o", str(tmp_path / f"r.{suffix}")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / f"r.{suffix}").stat().st_size > 0
