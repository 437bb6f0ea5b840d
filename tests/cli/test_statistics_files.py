"""The command line writes files of statistics programs, for which it lets pandas in."""

import subprocess
import sys

import pytest
from pyarrow import csv

from indistinct.samples import generate_patients

ROLES = ["--identifier", "name,cost,admitted", "--quasi", "age,sex", "--sensitive", "disease"]
MODEL = ["--insensitive", "zipcode", "--model", "k-anonymity:k=3", "--algorithm", "mondrian"]


@pytest.fixture
def asked(tmp_path):
    csv.write_csv(generate_patients(60, seed=1), tmp_path / "p.csv")
    return ["anonymize", str(tmp_path / "p.csv"), *ROLES, *MODEL]


def test_a_process_of_its_own_writes_them(asked, tmp_path):
    """No pandas is there before, which other tests may have let in."""
    command = [sys.executable, "-m", "indistinct", *asked, "-o", str(tmp_path / "r.sav")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "r.sav").stat().st_size > 0


@pytest.mark.parametrize("suffix", ["dta", "xpt"])
def test_all_of_them_are_written(run, asked, tmp_path, suffix):
    ran = run(*asked, "-o", tmp_path / f"r.{suffix}")
    assert ran.code == 0, ran.err
    assert (tmp_path / f"r.{suffix}").stat().st_size > 0
