"""A release that somebody changed, verified by the command line at real size."""

from pathlib import Path

import pytest

ROWS = 300_000
ROLES = [
    "--identifier",
    "name",
    "--quasi",
    "age,sex",
    "--sensitive",
    "disease",
    "--insensitive",
    "zipcode,admitted,cost",
]
MODEL = ["--model", "k-anonymity:k=5"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("forged")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_one_changed_cell_of_many_rows_is_found(run, folder: Path, engine):
    original, release, forged = (folder / f"{name}.csv" for name in ("original", "release", "forged"))
    if not release.exists():
        assert run("generate", "patients", "--rows", str(ROWS), "--seed", "5", "-o", original).code == 0
        assert run("anonymize", original, *ROLES, *MODEL, "--algorithm", "mondrian", "-o", release).code == 0
        lines = release.read_text().splitlines()
        cells = lines[ROWS // 2].split(",")
        index = lines[0].split(",").index("disease")
        cells[index] = "flu" if cells[index] != "flu" else "asthma"
        lines[ROWS // 2] = ",".join(cells)
        forged.write_text("\n".join(lines) + "\n")
    beside = [*ROLES, *MODEL, "--original", original, "--engine", engine]
    honest = run("verify", release, *beside)
    assert honest.code == 0, honest.err
    found = run("verify", forged, *beside)
    assert found.code == 4, found.err
    assert "1 published row with values of 'disease' that the original does not have in their class" in found.err
