"""Cells that are not like the others: errors say where they are and what helps, and first policies run."""

import pytest

import indistinct as ind
from indistinct.errors import InputError
from indistinct.inspection import inspect
from indistinct.policy.starter import write_starter

SCHEMA = ind.Schema(quasi=["q"], sensitive=["s"])


def write(tmp_path, cells, *, lines=None):
    path = tmp_path / "a.csv"
    path.write_text("q;s\n" + "".join(f"{cell};{'xyz'[i % 3]}\n" for i, cell in enumerate(cells)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("cells", "marks"),
    [
        ([f"{60 + i},5" for i in range(30)], {"decimal": ","}),
        ([f"{1 + i}.200,5" for i in range(30)], {"decimal": ",", "thousands": "."}),
    ],
)
def test_a_stray_cell_among_declared_numbers_is_told_by_its_line(tmp_path, cells, marks):
    path = write(tmp_path, [*cells[:7], "environ 70", *cells[7:], "environ 80"])
    with pytest.raises(InputError) as caught:
        ind.anonymize(ind.open(path, **marks), SCHEMA, model="k-anonymity:k=2")
    assert "2 cells of column 'q', on lines 9, 33, are no numbers" in str(caught.value)
    assert "not declared" not in str(caught.value)
    assert "marks for missing" in caught.value.hint
    assert "environ" not in f"{caught.value}{caught.value.hint}"


def test_a_stray_cell_in_a_frame_is_told_by_its_row():
    import pyarrow as pa

    frame = pa.table({"q": [f"{60 + i},5" for i in range(30)] + ["environ"], "s": ["x", "y"] * 15 + ["x"]})
    with pytest.raises(InputError, match="1 cell of column 'q', on row 31, is no number"):
        ind.anonymize(ind.open(frame, decimal=","), SCHEMA, model="k-anonymity:k=2")


@pytest.mark.parametrize("cells", [["75 011", "69 003", "13 001", "31 000"], ["+5 ", " 6", " 7", " 8"]])
def test_numbers_that_are_all_written_otherwise_are_no_mixture(tmp_path, cells):
    with pytest.raises(InputError) as caught:
        ind.anonymize(write(tmp_path, cells * 4), SCHEMA, model="k-anonymity:k=2")
    assert "mixes" not in str(caught.value)
    assert "none of its 4 distinct values" in str(caught.value)
    assert "--text" in caught.value.hint


@pytest.mark.parametrize(
    "cells",
    [
        ["75 011", "69 003", "13 001", "31 000"],
        ["12", "13", "14", "about 15", "16"],
        ["12,5", "13,5", "14,5", "about 15", "16,5", "1,5", "2,5"],
        ["12%", "13%", "x%", "15 %"],
        ["2024-01-01", "2024-01-02", "soon", "2024-01-03", "2024-01-04"],
        ["31.01.2024", "30.01.2024", "soon", "15.01.2024", "16.02.2024"],
        ["$5", "€6", "7", "8", "9"],
        ["18h23", "20h13", "02h38"],
    ],
)
def test_the_first_policy_runs(tmp_path, cells):
    path = write(tmp_path, cells * 8)
    found = inspect(path)
    policy = write_starter(found, path, tmp_path / "p.toml", reading=found.reading)
    assert ind.anonymize(
        ind.open(path, reading=policy.input.reading),
        ind.Schema(quasi=["q", "s"]),
        model="k-anonymity:k=2",
        suppression=1.0,
    )
    assert "q" not in found.reading.text or found.columns[0].findings
