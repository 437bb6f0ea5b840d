"""`codebook` on the command line: what it replaces, which columns it looks for, and what it takes from hierarchies."""

import json

import pytest

GROUPS = "flu;infection;*\nmumps;infection;*\nrare;other;*\nbroken;other;*\n"


@pytest.fixture
def release(tmp_path):
    (tmp_path / "groups.csv").write_text(GROUPS)
    path = tmp_path / "r.csv"
    path.write_text("age,ill\n[20-29],infection\n[20-29],infection\n[30-39],flu\n[30-39],flu\n")
    return path


@pytest.mark.parametrize("link", [False, True])
def test_a_release_is_not_replaced_by_its_codebook(run, release, tmp_path, link):
    before, place = release.read_text(), tmp_path / "link.csv"
    place.symlink_to(release)
    ran = run("codebook", release, "-o", place if link else release, "--overwrite")
    assert ran.code == 1
    assert "the output would replace the input" in ran.err
    assert release.read_text() == before


def test_a_column_that_is_not_published_is_named(run, release):
    ran = run("codebook", release, "--quasi", "age,town", "--sensitive", "ill")
    assert ran.code == 1
    assert "has no column 'town'" in ran.err
    assert "[20-29]" not in ran.out


def test_ranges_as_columns_are_the_column_that_they_came_from(run, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("age_from,age_to\n20,29\n30,39\n")
    ran = run("codebook", path, "--quasi", "age", "--json")
    assert ran.code == 0, ran.err
    assert [(each["low"], each["high"]) for each in json.loads(ran.out)["columns"]["age"]] == [(20, 29), (30, 39)]


def test_values_that_only_a_hierarchy_has_are_told_of(run, release, tmp_path):
    place = tmp_path / "book.csv"
    roles = ["--quasi", "age,ill", "--hierarchy", f"ill={tmp_path / 'groups.csv'}"]
    ran = run("codebook", release, *roles, "-o", place)
    assert ran.code == 0, ran.err
    assert "mumps" in place.read_text()
    assert "1 value of 'ill' is in no cell of the file: it comes from the hierarchy" in ran.err
    assert "mumps" not in ran.err
    alone = run("codebook", release, "-o", place, "--overwrite")
    assert "comes from the hierarchy" not in alone.err
    assert "2 labels of 1 column are explained" in alone.err
