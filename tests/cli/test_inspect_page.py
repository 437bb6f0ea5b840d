"""`inspect --html`: the page of a hospital's export, bad targets, and no value that was not asked for."""

import json

import pytest


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("c1,c2,c3\n" + "".join(f"SECRET{i % 7},{i % 5},{i % 11}\n" for i in range(40)), encoding="utf-8")
    return path


def test_one_row_has_no_figures_that_contradict_each_other(tmp_path, run):
    path = tmp_path / "one.csv"
    path.write_text("age,city\n34,Oslo\n", encoding="utf-8")
    ran = run("inspect", path)
    assert ran.code == 0, ran.err
    assert "inspect a table with more rows" in ran.out
    assert "No sets of columns were searched: no column has more than one value." in ran.out
    assert "up to 0 columns" not in ran.out
    assert "the same value in every row" not in ran.out


def test_the_page_is_written_and_told(data, run):
    page = data.with_name("page.html")
    ran = run("inspect", data, "--html", page, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["page"] == str(page)
    assert document["policy"] is None
    text = page.read_text(encoding="utf-8")
    best = document["combinations"]["sets"][0]
    assert " + ".join(best["columns"]) in text
    assert "SECRET" not in text + ran.out + ran.err
    assert run("inspect", data, "--html", page).code == 1, "what exists is not replaced"
    shown = run("inspect", data, "--html", page, "--overwrite", "--show-values")
    assert shown.code == 0
    assert f"page    {page}" in shown.out
    assert "SECRET" in page.read_text(encoding="utf-8")


def test_the_screen_tells_the_riskiest_columns_and_why(data, run):
    ran = run("inspect", data)
    assert "columns together" in ran.out
    assert "unique rows" in ran.out
    assert "in doubt: others may know it; 0 % of the rows are unique" in ran.out
    small = json.loads(run("inspect", data, "--unique-sets", 1, "--json").out)
    assert small["combinations"]["size"] == 1


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--unique-sets", "0"], 2, "`unique_sets` must be a whole number of at least 1; got 0"),
        (["--html", "data.csv", "--overwrite"], 1, "is also read"),
        (["--html", "both", "-o", "both"], 1, "is named for two outputs"),
        (["--html", "nowhere/page.html"], 1, "nowhere"),
    ],
)
def test_bad_input(data, run, monkeypatch, flags, code, words):
    monkeypatch.chdir(data.parent)
    before = data.read_bytes()
    ran = run("inspect", data, *flags)
    assert ran.code == code
    assert words in ran.err
    assert data.read_bytes() == before
    assert [path.name for path in data.parent.iterdir()] == ["data.csv"]


def test_a_sample_is_said(data, run, monkeypatch):
    monkeypatch.setattr("indistinct.inspection.inspect.MEMORY_SHARE_FOR_ROWS", 2e-6)
    monkeypatch.setattr("indistinct.engines.SHARE_OF_FREE", 0.0)
    ran = run("inspect", data, "--memory", "1GB", "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert told["rows"] < told["sampled_from"] == 40
    assert "drawn by chance" in " ".join(ran.err.split())
