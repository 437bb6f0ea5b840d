"""Folders such as year=2024 hold columns, which every engine reads alike."""

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.duckdb import DuckDB
from indistinct.errors import InputError
from indistinct.tables import Reading
from references.hive_tables import PARTED, hive_table, sources_of, write_partitions
from references.nasty_tables import rows_of

TYPES = {"year": pa.int64(), "month": pa.string(), "day": pa.date32(), "place": pa.string()}


def read_by(engine, source, **declared):
    if engine == "memory":
        return ind.open(source, **declared).data
    return pa.table(DuckDB(memory=1 << 28).open(source, Reading(**declared)))


def plain(kind):
    return kind.value_type if isinstance(kind, pa.DictionaryType) else kind


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "a b=c" / "clinic"  # the folder above names no column of the table
    place.parent.mkdir()
    write_partitions(hive_table(), place)
    return place


@pytest.mark.parametrize("named", ["folder", "pattern", "list"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_folders_are_columns(folder, named, engine):
    found = read_by(engine, sources_of(folder)[named])
    assert rows_of(found.select(hive_table().column_names)) == rows_of(hive_table())
    assert {name: plain(found.schema.field(name).type) for name in TYPES} == TYPES


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_columns_of_folders_are_chosen_like_others(folder, engine):
    found = read_by(engine, folder, columns=("month", "age"))
    assert found.column_names == ["month", "age"]
    assert rows_of(found) == rows_of(hive_table().select(["month", "age"]))
    only = read_by(engine, folder, columns=("place",))
    assert rows_of(only) == rows_of(hive_table().select(["place"]))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_columns_of_folders_are_declared_like_others(folder, engine):
    found = read_by(engine, folder, text=("year",))
    assert sorted(set(found["year"].to_pylist()), key=str) == ["2023", "2024", None]
    assert plain(found.schema.field("year").type) == pa.string()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_release_of_partitions_is_that_of_one_file(folder, engine):
    schema = ind.Schema(quasi=["age", *PARTED], sensitive=["illness"])
    how = {"model": "k-anonymity:k=3", "algorithm": "mondrian", "seed": 1}
    parted = ind.anonymize(folder, schema, engine=engine, **how)
    assert rows_of(parted.table) == rows_of(
        ind.anonymize(hive_table(), schema, **how).table.select(parted.table.column_names)
    )


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_column_that_files_hold_themselves_is_read_from_them(tmp_path, engine):
    for year in (1, 2):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"age": [year], "year": [2020 + year]}), tmp_path / f"year={year}" / "a.parquet")
    assert rows_of(read_by(engine, tmp_path)) == [("1", "2021"), ("2", "2022")]


def test_one_partition_alone_adds_no_column(folder):
    one = next(folder.rglob("*.parquet"))
    assert ind.open(one).columns == ("age", "illness")
    assert ind.open(one.parent).columns == ("age", "illness")
    assert ind.open([one]).columns == ("age", "illness")
    assert ind.open(f"{one.parents[1]}/*/*.parquet").columns == ("age", "illness", "place")


def test_arrow_files_have_partitions_too(tmp_path):
    for place in ("x", "y"):
        (tmp_path / f"place={place}").mkdir()
        pyarrow.feather.write_feather(pa.table({"age": [1]}), tmp_path / f"place={place}" / "a.feather")
    assert rows_of(ind.open(tmp_path).data) == [("1", "'x'"), ("1", "'y'")]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_text_files_in_partitions_are_refused(tmp_path, engine):
    """Their column would be lost without a word."""
    for year in (1, 2):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "a.csv").write_text("age\n1\n")
    with pytest.raises(InputError, match="no Parquet or Arrow file"):
        read_by(engine, f"{tmp_path}/**/*.csv")


def test_folders_that_name_different_columns_are_refused(tmp_path):
    for place in ("year=1", "month=1"):
        (tmp_path / place).mkdir()
        pq.write_table(pa.table({"age": [1]}), tmp_path / place / f"{place[0]}.parquet")
    with pytest.raises(InputError, match="name other columns"):
        ind.open(tmp_path)


def test_other_folders_are_still_refused(tmp_path):
    for place in ("year=1", "old"):
        (tmp_path / place).mkdir()
        pq.write_table(pa.table({"age": [1]}), tmp_path / place / "a.parquet")
    with pytest.raises(InputError, match="has folders in it"):
        ind.open(tmp_path)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-2", "0"], pa.int64()),
        (["01", "2"], pa.string()),
        (["-0"], pa.string()),
        (["99999999999999999999"], pa.string()),
        (["2024-02-29"], pa.date32()),
        (["2024-02-30"], pa.string()),
        (["__HIVE_DEFAULT_PARTITION__"], pa.string()),
    ],
)
def test_types_of_folders(tmp_path, texts, kind):
    for number, text in enumerate(texts):
        (tmp_path / f"v={text}").mkdir()
        pq.write_table(pa.table({"age": [number]}), tmp_path / f"v={text}" / "a.parquet")
    found = ind.open(tmp_path).data
    assert plain(found.schema.field("v").type) == kind
    spelled = [None if text.startswith("__") else text for text in texts]
    assert sorted(map(str, found["v"].to_pylist())) == sorted(map(str, spelled))
