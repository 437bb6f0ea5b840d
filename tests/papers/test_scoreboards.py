"""Scoreboards: what is counted as a star or a range, and that the programs of others are given the same settings."""

import stat
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks import lighthouse_child, scoreboards, sdnist_child

import indistinct as ind
from indistinct_papers.scoreboards import (
    GUIDE_COLUMNS,
    LIGHTHOUSE_NAMES,
    NIST_ALGORITHMS,
    NIST_COLUMNS,
    NIST_TABLES,
    SDCMICRO,
    SDNIST,
    LighthouseFigures,
    NistScores,
    exact_rows,
    mean_width,
    share_of_stars,
    stars_with_dropped,
)


def test_the_programs_of_others_get_our_settings() -> None:
    assert (sdnist_child.FEATURES, sdnist_child.TABLES) == (NIST_COLUMNS, NIST_TABLES)
    assert sdnist_child.ALGORITHMS == NIST_ALGORITHMS
    assert (lighthouse_child.NAMES, lighthouse_child.EXAMPLE) == (LIGHTHOUSE_NAMES, GUIDE_COLUMNS)
    measured = {(table, k, algorithm) for table in NIST_TABLES for k in (6, 12) for algorithm in NIST_ALGORITHMS}
    assert set(SDNIST) == {*measured, ("national2019", 6, SDCMICRO)}


def test_missing_cells_are_neither_stars_nor_ranges() -> None:
    table = pa.table({"a": ["1", None, "[1-2]", "*"], "b": ["p", "q", "q", "(x)y"]})
    assert exact_rows(table, ["a", "b"]).to_pylist() == [{"a": "1", "b": "p"}, {"a": None, "b": "q"}]
    assert share_of_stars(table, ["a", "b"]) == 1 / 8


def test_the_width_of_an_age_is_the_mean_over_rows() -> None:
    table = pa.table({"age": [20, 22, 40, 45, 45, 45]})
    release = ind.anonymize(table, ind.Schema(quasi=["age"]), model="k-anonymity:k=2", algorithm="mondrian")
    assert sorted(release.table["age"].to_pylist()) == ["45"] * 3 + ["[20-40]"] * 3
    assert mean_width(release, "age") == 3 * 20 / 6


def test_a_dropped_row_counts_as_a_row_of_stars() -> None:
    assert stars_with_dropped(0.0, 0, rows=10) == 0
    assert stars_with_dropped(0.0, 1, rows=10) == 0.1
    assert stars_with_dropped(1.0, 5, rows=10) == 1


@pytest.fixture
def environment(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(scoreboards, "ROOT", tmp_path)

    def make(name: str, printed: str) -> None:
        (tmp_path / "printed").write_text(printed)
        program = tmp_path / name / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\ncat {tmp_path / 'printed'}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    return make


def test_figures_of_lighthouse_are_read_where_its_environment_is(environment) -> None:
    assert scoreboards.run_lighthouse() == {}
    environment(".venv-lighthouse", "adult-8 2 0.0392 295 15850 28.3 4.10\nguide-5 5 0.0111 349 17698 8.1 2.50\n")
    assert scoreboards.run_lighthouse() == {
        ("adult-8", 2): LighthouseFigures(0.0392, 295, 15_850, 28.3, 4.1),
        ("guide-5", 5): LighthouseFigures(0.0111, 349, 17_698, 8.1, 2.5),
    }


def test_figures_of_sdnist_are_read_where_its_environment_is(environment) -> None:
    assert scoreboards.run_sdnist() == {}
    assert all("as recorded" in line.text() for line in scoreboards.nist_lines())
    values = ("national2019", 6, "auto", 27253, 5387, 0.1259, 606, 762, 0, 14918, 0.043, 1.38, -6.15, 0.63, -0.1)
    lines = (sdnist_child.HEADINGS, values)
    environment(".venv-sdnist", "".join("\t".join(map(str, line)) + "\n" for line in lines))
    expected = NistScores(5387, 606, 762, 0, 0.043, 1.38, -6.15)
    assert scoreboards.run_sdnist() == {("national2019", 6, "auto"): expected}
    assert SDNIST["national2019", 6, "auto"] == expected
    assert not any("as recorded" in line.text() for line in scoreboards.nist_lines())
