"""The loaders of the Adult table, as it is published and as one file, and its hierarchies."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from indistinct.errors import InputError, ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct_papers.adult import ADULT_COLUMNS, ADULT_QUASI, adult_hierarchies, load_adult, load_adult_arx
from references.generated import distinct_vectors, heights_of

DATA = Path(os.environ.get("INDISTINCT_DATA") or Path(__file__).parents[3] / "shared" / "data")
needs_adult = pytest.mark.skipif(
    not (DATA / "adult.csv").is_file(),
    reason="the Adult table is not there; set INDISTINCT_DATA to its folder",
)


def test_absence_is_an_input_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("INDISTINCT_DATA", str(tmp_path))
    for load in (load_adult, load_adult_arx, lambda: adult_hierarchies("arx")):
        with pytest.raises(InputError) as caught:
            load()
        assert "Becker & Kohavi 1996" in caught.value.hint
        assert "INDISTINCT_DATA" in caught.value.hint


def test_the_folder_defaults_to_shared_data_beside_the_current_one(tmp_path, monkeypatch):
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "shared" / "data" / "adult.csv").write_text("age,sex\n17,x\n18,?\n")
    (tmp_path / "here").mkdir()
    monkeypatch.delenv("INDISTINCT_DATA", raising=False)
    monkeypatch.chdir(tmp_path / "here")
    assert load_adult().to_pydict() == {"age": [17], "sex": ["x"]}
    assert load_adult(drop_missing=False)["sex"].to_pylist() == ["x", None]


def test_a_broken_table_shows_no_cell(tmp_path):
    (tmp_path / "adult.csv").write_text("age,sex\nsecret,x\n")
    with pytest.raises(InputError, match="cannot be read") as caught:
        load_adult(tmp_path)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_published_files_are_read_as_they_are(tmp_path):
    """No names, a space behind commas, a comment and dots in the second one, an empty line at the end."""
    middle = "12345, HS-grad, 9, Divorced"
    (tmp_path / "adult.data").write_text(
        f"31, Private, {middle}, Sales, Unmarried, White, Male, 0, 0, 40, United-States, <=50K\n"
        f"44, ?, {middle}, ?, Unmarried, White, Female, 0, 0, 38, United-States, >50K\n\n"
    )
    (tmp_path / "adult.test").write_text(
        "|1x3 Cross validator\n"
        f"25, Private, {middle}, Craft-repair, Own-child, Black, Male, 0, 0, 40, "
        "Outlying-US(Guam-USVI-etc), <=50K.\r\n\n"
    )
    both = load_adult(tmp_path, drop_missing=False)
    assert both["age"].to_pylist() == [31, 44, 25]
    assert both["workclass"].to_pylist() == ["Private", None, "Private"]
    assert both["native-country"].to_pylist()[2] == "Outlying-US(Guam-USVI-etc)"
    assert both["salary-class"].to_pylist() == ["<=50K", ">50K", "<=50K"]
    assert both.schema.field("fnlwgt").type == pa.int64()
    assert load_adult(tmp_path)["age"].to_pylist() == [31, 25]
    assert load_adult(tmp_path, training_only=True)["age"].to_pylist() == [31]
    heights_of(adult_hierarchies(), load_adult(tmp_path).select(ADULT_COLUMNS))
    (tmp_path / "adult.test").unlink()
    assert load_adult(tmp_path, training_only=True).num_rows == 1
    with pytest.raises(InputError, match=r"adult\.test") as caught:
        load_adult(tmp_path)
    assert "archive.ics.uci.edu" in caught.value.hint
    assert "CC BY 4.0" in caught.value.hint


def test_a_published_file_with_other_rows_shows_no_cell(tmp_path):
    (tmp_path / "adult.data").write_text("31, secret\n")
    with pytest.raises(InputError, match="cannot be read") as caught:
        load_adult(tmp_path, training_only=True)
    assert "secret" not in str(caught.value)


@needs_adult
def test_both_forms_of_the_table_are_one(tmp_path):
    whole = load_adult(DATA, drop_missing=False)
    rows = [", ".join("?" if cell is None else str(cell) for cell in row.values()) for row in whole.to_pylist()]
    (tmp_path / "adult.data").write_text("\n".join(rows[:32_561]) + "\n\n")
    (tmp_path / "adult.test").write_text("|1x3 Cross validator\n" + "".join(f"{row}.\n" for row in rows[32_561:]))
    assert load_adult(tmp_path, drop_missing=False).equals(whole)


@needs_adult
def test_the_reference_taxonomy_is_that_of_the_files():
    for name, hierarchy in adult_hierarchies().items():
        stored = Hierarchy.read_csv(DATA / "adult-reference" / f"{name}.csv")
        assert sorted(hierarchy.rows) == sorted(stored.rows)


def test_an_unknown_kind_of_hierarchies_is_refused():
    with pytest.raises(ParameterError, match="reference, arx"):
        adult_hierarchies("other")


@needs_adult
@pytest.mark.parametrize(
    ("training_only", "drop_missing", "rows"),
    [(True, True, 30_162), (False, True, 45_222), (True, False, 32_561), (False, False, 48_842)],
)
def test_rows(training_only, drop_missing, rows):
    table = load_adult(DATA, training_only=training_only, drop_missing=drop_missing)
    assert table.num_rows == rows
    assert len(table.column_names) == 15


@needs_adult
def test_distinct_values_and_vectors():
    table = load_adult(DATA)
    found = [len(table[column].unique()) for column in ADULT_COLUMNS]
    assert found == [74, 2, 5, 7, 16, 41, 7, 14, 2]
    published = {3: 561, 4: 1_900, 5: 7_478, 6: 9_880, 7: 14_668, 8: 24_766, 9: 26_912}
    assert {q: distinct_vectors(table, ADULT_COLUMNS[:q]) for q in published} == published
    assert ADULT_COLUMNS[:8] == ADULT_QUASI


@needs_adult
def test_the_training_file_has_only_72_ages():
    assert len(load_adult(DATA, training_only=True)["age"].unique()) == 72


@needs_adult
def test_the_arx_sample_is_the_training_file():
    order = [(column, "ascending") for column in ADULT_COLUMNS]
    ours = load_adult(DATA, training_only=True).select(ADULT_COLUMNS).sort_by(order)
    assert load_adult_arx(DATA).select(ADULT_COLUMNS).sort_by(order).equals(ours)


@needs_adult
def test_reference_hierarchies_cover_with_the_published_heights():
    heights = heights_of(adult_hierarchies(folder=DATA), load_adult(DATA))
    assert heights == dict(zip(ADULT_COLUMNS, (4, 1, 1, 2, 3, 2, 2, 2, 1), strict=True))


@needs_adult
def test_arx_hierarchies_cover_the_arx_sample():
    heights = heights_of(adult_hierarchies("arx", folder=DATA), load_adult_arx(DATA))
    assert heights["age"] == 4
    assert tuple(heights) == ADULT_COLUMNS
