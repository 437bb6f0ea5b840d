"""A file whose texts are guarded from spreadsheets is compared with its original as if they were not."""

import random

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import indistinct as ind
from indistinct.release.writing.guard import is_guarded
from indistinct.tables import open_table

SCHEMA = ind.Schema(quasi=["age", "sex"], sensitive=["test"], insensitive=["note"])
TESTS = ["+ve", "=positiv", "-ve", "neg", "'quoted", "007", "", None]
NOTES = ["@home", "ok", "=1+1", "'=1+1", "'x"]


def raw(tests=TESTS, notes=NOTES, rows=400):
    draw = random.Random(7)  # noqa: S311
    return pa.table(
        {
            "age": [draw.randrange(20, 70) for _ in range(rows)],
            "sex": [draw.choice(["m", "f", "-x"]) for _ in range(rows)],
            "test": [draw.choice(tests) for _ in range(rows)],
            "note": [draw.choice(notes) for _ in range(rows)],
        }
    )


@pytest.fixture(params=["formulas", "spreadsheet", "nothing"])
def release(request, tmp_path):
    original, path = tmp_path / "original.csv", tmp_path / "release.csv"
    pc.write_csv(raw(), original)
    writing = ind.Writing() if request.param == "nothing" else ind.Writing(**{request.param: True})
    model = ind.KAnonymity(5) & ind.DistinctLDiversity("test", l=2)
    ind.anonymize(original, SCHEMA, model=model, output=path, writing=writing, algorithm="mondrian", seed=1)
    return path, original


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_guarded_file_matches_its_original(release, engine):
    path, original = release
    known = {"original": original, "engine": engine}
    model = ind.KAnonymity(5) & ind.DistinctLDiversity("test", l=2) & ind.TCloseness("test", t=0.9)
    assert ind.verify(path, SCHEMA, model, **known).holds
    assert ind.verify(path, SCHEMA, model, engine=engine).holds
    assert ind.assess(path, SCHEMA, **known).to_json()
    assert ind.measure(ind.published(path, SCHEMA, **known))
    published = ind.published(path, SCHEMA, **known)
    shown = open_table(published.main).data
    assert set(shown["test"].to_pylist()) == {*TESTS, None} - {""}
    assert set(shown["note"].to_pylist()) == set(NOTES)
    assert set(shown["sex"].to_pylist()) == {"m", "f", "-x"}


def test_reports_and_attacks_read_guarded_files(release):
    path, original = release
    assert ind.report(path, SCHEMA, original=original, seconds=1).html
    assert ind.attack("all", path, SCHEMA, original=original, seconds=1)


def test_a_changed_cell_of_a_guarded_file_is_found(release):
    path, original = release
    text = path.read_text()
    path.write_text(text.replace("'+ve", "'+vf").replace(",+ve", ",+vf"))
    assert not ind.verify(path, SCHEMA, ind.KAnonymity(5), original=original).holds


def test_texts_that_the_original_has_with_an_apostrophe_keep_it(tmp_path):
    original, path = tmp_path / "original.csv", tmp_path / "release.csv"
    pc.write_csv(raw(["'=1", "flu", "'+x"], ["a"]), original)
    ind.anonymize(original, SCHEMA, model=ind.KAnonymity(5), output=path, algorithm="mondrian", seed=1)
    shown = open_table(ind.published(path, SCHEMA, original=original).main).data
    assert set(shown["test"].to_pylist()) == {"'=1", "flu", "'+x"}
    assert ind.verify(path, SCHEMA, ind.KAnonymity(5), original=original).holds


def test_classes_are_never_merged_by_removing_apostrophes():
    # `'7` and `7`, `'=x` and `=x`, `'tis`: none of these can come of one guarded column.
    for texts in (["'07", "07"], ["'=x", "=x"], ["'tis", "'=x"], ["'", "x"], ["x", None], []):
        assert not is_guarded(pa.array(texts, pa.string())), texts
    for texts in (["'=x", "''=x", None], ["'07", "'=x", "7"], ["''tis", "x"]):
        assert is_guarded(pa.array(texts, pa.string())), texts
