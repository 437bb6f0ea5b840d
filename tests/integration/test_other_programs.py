"""The page for those who receive a release, in the programs that they use: R and PSPP, which reads SPSS's language."""

import re
import shutil
import subprocess

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

from references.documentation import DOCS, blocks_of, run_shell_examples

PAGE = DOCS / "guides" / "working-with-a-release.md"


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    """The folder in which the commands of the page were run, and the means of the ends of ages in it."""
    folder = tmp_path_factory.mktemp("received")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run_shell_examples(PAGE, folder)
    table = pa.csv.read_csv(folder / "columns.csv")
    return folder, [pc.mean(table[name]).as_py() for name in ("age_from", "age_to")]


def run_in(folder, *command):
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_r_reads_a_release(received):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed (r-base-core, r-cran-survival)")
    folder, means = received
    [code] = blocks_of(PAGE, "r")
    checks = "stopifnot(identical(low, as.numeric(release$age_from)), identical(high, as.numeric(release$age_to)))\n"
    (folder / "page.R").write_text(code + checks, encoding="utf-8")
    printed = run_in(folder, "Rscript", "page.R")
    assert [float(text) for text in re.findall(r"^\[1\] (\S+)$", printed, re.M)] == pytest.approx(means, rel=1e-5)
    assert "Loglik(model)=" in printed


def test_the_language_of_spss_reads_a_release(received):
    if shutil.which("pspp") is None:
        pytest.skip("PSPP is not installed (pspp)")
    folder, (low, high) = received
    [code] = blocks_of(PAGE, "text")
    (folder / "page.sps").write_text(code, encoding="utf-8")
    printed = run_in(folder, "pspp", "page.sps")
    found = {name: float(mean) for name, mean in re.findall(r"^\|(age_\w+) *\| *\d+\| *([\d.]+)\|$", printed, re.M)}
    assert found == pytest.approx({"age_from": low, "age_mid": (low + high) / 2, "age_to": high}, abs=0.006)
    assert "disease × perhaps" in printed
