"""A release as a workbook: what is written is read back, nothing is run, and the file tells nothing but its cells."""

import datetime as dt
import zipfile

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import OutputError
from indistinct.release.writing.formats import producer_for, read_as_written
from indistinct.samples import generate_patients

CELLS = pa.table(
    {
        "age": pa.array(["[1-5]", "1-5", "=1+1", None]),
        "city": pa.array(["Oslo", " Köln & <Bonn>", "007", "x"]).dictionary_encode(),
        "weight": pa.array([70.5, None, -3.25, 1e-7]),
        "visits": pa.array([1, 2, None, 2**53 - 1]),
        "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1999, 12, 31), dt.date(1900, 3, 1)]),
        "ill": pa.array([True, False, None, True]),
    }
)


def written(tmp_path, data):
    place = tmp_path / "release.xlsx"
    producer_for([data], place)(place)
    return place


def test_what_is_written_is_read_back_and_by_other_readers_too(tmp_path):
    place = written(tmp_path, CELLS)
    back = read_as_written(place, place, CELLS.column_names, CELLS.schema).data
    for name in CELLS.column_names:
        assert back[name].to_pylist() == CELLS[name].to_pylist(), name
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_excel(place, engine="calamine", keep_default_na=False)
    assert frame["age"][2] == "=1+1"
    assert frame["city"][2] == "007"


def test_whole_numbers_beyond_those_of_a_sheet_are_texts(tmp_path):
    place = written(tmp_path, pa.table({"number": [2**60 + 1, 5]}))
    assert ind.open(place).data["number"].to_pylist() == [str(2**60 + 1), "5"]


def test_the_file_holds_nothing_that_could_be_run_and_nobody_s_name(tmp_path):
    with zipfile.ZipFile(written(tmp_path, CELLS)) as archive:
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        text = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert "<f>" not in text
    assert not {"creator", "lastModifiedBy", "calcChain", "externalLink"} & set(text.replace("<", " ").split())
    with zipfile.ZipFile(written(tmp_path, CELLS)) as archive:
        assert {name.partition("/")[0] for name in archive.namelist()} == {"[Content_Types].xml", "_rels", "xl"}


@pytest.mark.parametrize("text", ["a\x00b", "a\x0bb", "x" * 40_000, "a\rb"])
def test_a_text_that_no_sheet_can_hold_is_an_error_without_the_text(tmp_path, text):
    with pytest.raises(OutputError) as told:
        written(tmp_path, pa.table({"note": [text]}))
    assert text not in str(told.value)


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "anatomy:l=2"])
def test_a_release_is_verified_as_a_workbook(tmp_path, algorithm):
    roles = ind.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive=["disease"])
    data = generate_patients(200, seed=6).select(["name", "age", "sex", "disease"])
    model = None if algorithm.startswith("anatomy") else "k-anonymity:k=5"
    release = ind.anonymize(data, roles, model=model, algorithm=algorithm)
    assert release.write(tmp_path / "release.xlsx").holds
    assert ind.open(tmp_path / "release.xlsx").rows == release.table.num_rows


@pytest.mark.parametrize("text", ["_x0041_", "a_x000D_b", "_x005F_x0041_", "_x0041", "_xZZZZ_", "x_x00e9__x0041_"])
def test_texts_that_look_like_the_number_of_a_sign_stay_texts(tmp_path, text):
    table = pa.table({text: [1, 1, 1, 1], "ill": [text, "b", text, "b"]})
    schema = ind.Schema(quasi=[text], sensitive=["ill"])
    path = tmp_path / "release.xlsx"
    ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian", output=path)
    shown = ind.open(path).data
    assert shown.column_names == [text, "ill"]
    assert sorted(shown["ill"].to_pylist()) == sorted([text, "b"] * 2)


@pytest.mark.parametrize("blank", [None, ""])
@pytest.mark.parametrize("coded", [False, True])
def test_a_row_without_any_value_is_refused_because_readers_leave_it_out(tmp_path, blank, coded):
    texts = pa.array(["a", "a", blank, blank])
    table = pa.table({"city": texts, "ill": texts.dictionary_encode() if coded else texts})
    schema = ind.Schema(quasi=["city"], sensitive=["ill"])
    path = tmp_path / "release.xlsx"
    with pytest.raises(ind.OutputError, match="a row has no value in any column"):
        ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian", output=path)
    assert list(tmp_path.iterdir()) == []
    table = table.append_column("count", pa.array([1, 1, 2, 2]))
    schema = ind.Schema(quasi=["count"], sensitive=["ill"], insensitive=["city"])
    ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="mondrian", output=path)
    assert ind.open(path).data.num_rows == 4
