"""Delta, Iceberg and Hudi tables: one version is read, and never their files one by one."""

import builtins
import os
import shutil

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import indistinct as ind
from indistinct.errors import InputError, MissingExtraError, OutputError, ParameterError
from indistinct.job.policy import policy_from_toml, policy_to_toml
from indistinct.job.policy.writing import write_policy
from indistinct.tables.addresses import fence_reading
from indistinct.tables.value import declare
from indistinct.web.reading_fields import reading_of, texts_of
from references import lakes

ENGINES = ("memory", "duckdb")
YOUNG = "age <= 50"
SCHEMA = ind.Schema(quasi=["age", "sex"], identifiers=["name", "height", "insured", "born", "seen", "cost", "ward"])


def rows_of(source):
    data = source.data if source.in_memory is not None else pa.table(source)
    return sorted(data.to_pylist(), key=repr)


def live(data, keep):
    return sorted((row for row in data.to_pylist() if keep(row)), key=repr)


def is_young(row):
    return row["age"] is None or row["age"] <= 50


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("partition_by", [None, ["ward"], ["sex", "born"]])
def test_a_delta_table_has_its_live_rows_alone(tmp_path, engine, partition_by):
    data = lakes.people()
    folder = lakes.delta(tmp_path / "delta", data, deleted="age > 50", partition_by=partition_by)
    table = ind.open(folder, engine=engine)
    assert table.reading.version == 2
    assert table.columns == tuple(data.column_names)
    assert rows_of(table) == live(data, is_young)
    assert rows_of(ind.open(folder, engine=engine, version=1)) == live(data, lambda row: True)
    assert ind.open(folder, engine=engine, version=0).rows == 20


@pytest.mark.parametrize("engine", ENGINES)
def test_an_iceberg_table_has_its_live_rows_alone(tmp_path, engine):
    data = lakes.people()
    folder = lakes.iceberg(tmp_path / "lake", data, deleted="age > 50")
    table = ind.open(folder, engine=engine)
    assert rows_of(table) == live(data, is_young)
    assert table.reading.version > 0
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)  # its metadata name the old folder
    assert rows_of(ind.open(moved, engine=engine, version=table.reading.version)) == live(data, is_young)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_under_a_deletion_vector_are_gone(tmp_path, engine):
    data = lakes.people()
    folder = lakes.delta_with_vector(tmp_path / "delta", data, [1, 7, 39])
    kept = [row for number, row in enumerate(data.to_pylist()) if number not in (1, 7, 39)]
    assert rows_of(ind.open(folder, engine=engine)) == sorted(kept, key=repr)
    assert ind.open(folder, engine=engine, version=0).rows == 40


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_have_the_names_of_the_log(tmp_path, engine):
    data = lakes.people().select(["age", "sex"])
    folder = lakes.delta_with_other_names(tmp_path / "delta", data)
    assert rows_of(ind.open(folder, engine=engine)) == live(data, lambda row: True)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_that_was_added_is_missing_in_old_rows(tmp_path, engine):
    folder = tmp_path / "delta"
    write_deltalake(str(folder), pa.table({"age": [1, 2]}))
    write_deltalake(str(folder), pa.table({"age": [3], "city": ["Oslo"]}), mode="append", schema_mode="merge")
    found = rows_of(ind.open(folder, engine=engine))
    assert found == [{"age": 1, "city": None}, {"age": 2, "city": None}, {"age": 3, "city": "Oslo"}]
    assert ind.open(folder, engine=engine, version=0).columns == ("age",)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", [0, 1])
def test_tables_with_few_rows_are_read(tmp_path, engine, rows):
    data = lakes.people().slice(0, rows)
    for folder in (lakes.delta(tmp_path / "delta", data), lakes.iceberg(tmp_path / "lake", data)):
        table = ind.open(folder, engine=engine)
        assert (table.rows, table.columns) == (rows, tuple(data.column_names))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_that_urls_would_write_otherwise_is_read(tmp_path, engine):
    folder = lakes.delta(tmp_path / "a b=c#d é", lakes.people(), deleted="age > 50", partition_by=["name"])
    assert ind.open(folder, engine=engine).rows == 21
    assert ind.open(os.path.relpath(folder), engine=engine).rows == 21


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_files_of_a_table_are_never_read_one_by_one(tmp_path, monkeypatch, engine, kind):
    data = lakes.people()
    made = {"delta": lakes.delta, "iceberg": lakes.iceberg}[kind]
    folder = made(tmp_path / "lake", data, deleted="age > 50")
    file = next(folder.rglob("*.parquet"))
    link = tmp_path / "link.parquet"
    link.symlink_to(file)
    monkeypatch.chdir(tmp_path)
    every = (f"{folder}/**/*.parquet", f"{tmp_path}/**/*.parquet", "lake/**/*.parquet", file.parent / "*.parquet")
    for source in (*every, file, str(file), link, [file], [str(file)], [link, file], [folder], f"file://{file}"):
        with pytest.raises(InputError, match=rf"{kind.title()} table") as caught:
            ind.open(source if not isinstance(source, list) else list(source), engine=engine)
        assert "folder" in f"{caught.value}"
    with pytest.raises(InputError, match="one by one"):
        ind.open(f"file://{folder}", engine=engine)
    for read in (ind.scan, lambda path: ind.verify(path, SCHEMA, model="k-anonymity:k=2")):
        for source in (folder, file):
            with pytest.raises(InputError, match="deleted rows"):
                read(source)


def test_paths_of_partitions_are_not_told(tmp_path):
    folder = lakes.delta(tmp_path / "delta", lakes.people(), partition_by=["name"])
    for source in (f"{folder}/**/*.parquet", next(folder.rglob("*.parquet"))):
        with pytest.raises(InputError) as caught:
            ind.open(source)
        assert "person" not in f"{caught.value}"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hudi_table_is_refused_by_name(tmp_path, engine):
    (tmp_path / "hudi" / ".hoodie").mkdir(parents=True)
    file = tmp_path / "hudi" / "a.parquet"
    pa.parquet.write_table(lakes.people(), file)
    for source in (tmp_path / "hudi", file, tmp_path / "hudi" / "*.parquet"):
        with pytest.raises(InputError, match=r"Hudi table, which cannot be read: .* its log is not applied"):
            ind.open(source, engine=engine)


def test_text_files_beside_a_table_are_read(tmp_path):
    folder = lakes.delta(tmp_path / "delta", lakes.people())
    (folder / "notes.csv").write_text("a,b\n1,2\n")
    assert ind.open(folder / "notes.csv").rows == 1


def test_without_the_extra_nothing_is_read(tmp_path, monkeypatch):
    folders = lakes.delta(tmp_path / "delta", lakes.people()), lakes.iceberg(tmp_path / "lake", lakes.people())
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name.startswith(("deltalake", "pyiceberg")):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    for folder in folders:
        with pytest.raises(MissingExtraError) as caught:
            ind.open(folder)
        assert caught.value.hint == 'pip install "indistinct[lake]"'


@pytest.mark.parametrize("engine", ENGINES)
def test_the_version_is_settled_once(tmp_path, engine):
    folder = lakes.delta(tmp_path / "delta", lakes.people(), deleted="age > 50")
    table = ind.open(folder, engine=engine)
    DeltaTable(str(folder)).delete("age > 40")
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=2", output=tmp_path / "out.parquet", overwrite=True)
    assert release.certificate.rows == 21
    assert release.certificate.table_version == 2
    assert f'"table_version": {2}' in (tmp_path / "out.parquet.certificate.json").read_text()
    shutil.rmtree(folder)
    lakes.delta(folder, lakes.people(6), deleted="age > 34")  # another table, with the same number of its version
    assert ind.open(folder, engine=engine, version=2).rows == 5


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_release_of_a_path_says_its_version(tmp_path, engine):
    folder = lakes.delta(tmp_path / "delta", lakes.people(), deleted="age > 50")
    certificate = ind.anonymize(folder, SCHEMA, model="k-anonymity:k=2", engine=engine).certificate
    assert (certificate.rows, certificate.table_version) == (21, 2)


def test_versions_that_are_none_are_refused(tmp_path):
    folder = lakes.delta(tmp_path / "delta", lakes.people())
    with pytest.raises(InputError, match="has no version 7") as caught:
        ind.open(folder, version=7)
    assert caught.value.hint == "its newest version is 1"
    with pytest.raises(InputError, match="has no version 7"):
        ind.open(lakes.iceberg(tmp_path / "lake", lakes.people()), version=7)
    for value in (-1, True, "1", 1.5):
        with pytest.raises(ParameterError, match="`version` must be a whole number"):
            ind.open(folder, version=value)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    for source in (tmp_path / "a.csv", pa.table({"a": [1]})):
        for engine in ENGINES:
            with pytest.raises(ParameterError, match="a version is one of a Delta or Iceberg table"):
                ind.open(source, version=1, engine=engine)


def test_files_outside_of_the_folder_are_not_read(tmp_path):
    folder = lakes.delta(tmp_path / "delta", lakes.people())
    file = next(folder.glob("*.parquet"))
    file.rename(tmp_path / file.name)
    for each in folder.glob("_delta_log/*.json"):
        each.write_text(each.read_text().replace(file.name, (tmp_path / file.name).as_uri()))
    with pytest.raises(InputError, match=r"outside of its folder|cannot be read"):
        ind.open(folder)


def test_a_table_that_is_not_whole_is_refused_without_its_values(tmp_path):
    folder = lakes.delta(tmp_path / "delta", lakes.people(), partition_by=["name"])
    next(folder.rglob("*.parquet")).unlink()
    with pytest.raises(InputError, match="cannot be read") as caught:
        ind.open(folder)
    assert "person" not in f"{caught.value}"
    lake = lakes.iceberg(tmp_path / "lake", lakes.people())
    next(lake.rglob("*.parquet")).unlink()
    with pytest.raises(InputError, match="cannot be read"):
        ind.open(lake)


def test_a_table_without_its_log_is_refused(tmp_path):
    folder = lakes.delta(tmp_path / "delta", lakes.people())
    for each in (folder / "_delta_log").glob("*"):
        each.unlink()
    with pytest.raises(InputError, match=r"the log of the Delta table .* is empty"):
        ind.open(folder)


def test_only_its_catalog_knows_which_of_two_metadata_is_current(tmp_path):
    folder = lakes.iceberg(tmp_path / "lake", lakes.people())
    newest = max((folder / "metadata").glob("*.metadata.json"))
    newest.with_name(newest.name[:6] + "other.metadata.json").write_bytes(newest.read_bytes())
    with pytest.raises(InputError, match="2 newest metadata files"):
        ind.open(folder)


def test_nothing_is_written_into_the_folder(tmp_path):
    folder = lakes.delta(tmp_path / "delta", lakes.people())
    before = sorted(folder.rglob("*"))
    for place in (folder / "out.csv", folder / "_delta_log" / "out.parquet"):
        with pytest.raises(OutputError, match="lies in the folder of the Delta table"):
            ind.anonymize(folder, SCHEMA, model="k-anonymity:k=2", output=place)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fenced_process_reads_tables_of_its_folder(tmp_path, engine):
    folder = lakes.delta(tmp_path / "in" / "delta", lakes.people())
    with fence_reading(tmp_path / "in"):
        assert ind.open(folder, engine=engine).rows == 40
    with fence_reading(tmp_path / "other"), pytest.raises(InputError):
        ind.open(lakes.delta(tmp_path / "in" / "second", lakes.people()), engine=engine)


def test_a_policy_and_the_page_keep_the_version(tmp_path):
    folder = lakes.delta(tmp_path / "delta", lakes.people(), deleted="age > 50")
    roles = '[columns]\nage = { role = "quasi" }\n[privacy]\nmodels = ["k-anonymity:k=2"]\n'
    text = f'[input]\npath = "delta"\nversion = 0\n{roles}'
    policy = policy_from_toml(text, base=tmp_path)
    assert policy.input.reading.version == 0
    assert policy_from_toml(policy_to_toml(policy), base=tmp_path) == policy
    write_policy(policy, tmp_path / "policy.toml")
    assert "version = 0" in (tmp_path / "policy.toml").read_text()
    assert reading_of(texts_of(declare(version=0))).version == 0
    assert reading_of(texts_of(declare())).version is None
    assert policy.reading_at(folder).version == 0
    assert policy.reading_at(tmp_path / "other").version is None


def test_a_recoding_goes_to_another_version(tmp_path):
    folder = lakes.delta(tmp_path / "delta", lakes.people(), deleted="age > 50")
    path = tmp_path / "recoding.json"
    first = ind.anonymize(folder, SCHEMA, model="k-anonymity:k=2", algorithm="mondrian", save_recoding=path,
                          output=tmp_path / "a.csv")  # fmt: skip
    assert first.certificate.table_version == 2
    DeltaTable(str(folder)).delete("age > 45")
    second = ind.apply(path, folder, suppression=0.5)
    assert second.certificate.table_version == 3
    assert second.certificate.original_rows == 16
