"""Several files as one table, text larger than memory, DuckDB files: what engines open, and what they refuse."""

import gzip
import logging
import os
from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.cli import main
from indistinct.engines import chosen_engine
from indistinct.engines.duckdb import DuckDB
from indistinct.errors import InputError, ParameterError
from indistinct.tables import Reading

SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "zip"], sensitive=["disease"])
JOB = {"model": "k-anonymity:k=4", "algorithm": "mondrian", "seed": 1}
ENGINES = ("memory", "duckdb")


@pytest.fixture(scope="module")
def table():
    rng, rows = np.random.default_rng(3), 1200
    return pa.table(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": rng.integers(0, 90, rows),
            "zip": pa.array(rng.integers(10, 40, rows)).cast(pa.string()),
            "disease": rng.choice(["flu", "asthma", "gout"], rows),
        }
    )


@pytest.fixture
def parts(table, tmp_path):
    """Return a folder of twelve Parquet files, whose rows are those of the table."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    for number in range(12):
        pq.write_table(table.slice(100 * number, 100), folder / f"part-{number:02}.parquet")
    return folder


@pytest.fixture
def text(table, tmp_path):
    path = tmp_path / "patients.csv"
    pacsv.write_csv(table, path)
    return path


def rows_of(table):
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_folder_of_files_gives_the_release_of_one_file(table, parts, tmp_path, engine):
    whole = tmp_path / "whole.parquet"
    pq.write_table(table, whole)
    expected = ind.anonymize(whole, SCHEMA, **JOB)
    for source in (parts, f"{parts}/*.parquet", sorted(parts.glob("*.parquet"), reverse=True)):
        release = ind.anonymize(source, SCHEMA, engine=engine, **JOB)
        assert release.recoding == expected.recoding
        assert rows_of(release.table) == rows_of(expected.table)


@pytest.mark.parametrize("engine", ENGINES)
def test_types_of_text_are_decided_over_all_files(tmp_path, engine):
    (tmp_path / "b.csv").write_text("zip,age\n02138,1\n")
    (tmp_path / "a.csv").write_text("age,zip\n2,10115\n3.5,10117\n")
    with gzip.open(tmp_path / "c.csv.gz", "wt") as file:
        file.write("age;zip\n4;1\n")
    opened = ind.open(tmp_path, engine=engine)
    found = pa.table(opened.data if engine == "memory" else opened)
    assert found.to_pydict() == {"age": [2.0, 3.5, 1.0, 4.0], "zip": ["10115", "10117", "02138", "1"]}
    assert [path.name for path in opened.files] == ["a.csv", "b.csv", "c.csv.gz"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("files", "named", "message"),
    [
        ({}, "", "has no file"),
        ({"a.csv": "x\n1\n"}, "*.parquet", "has no file"),
        ({"a.csv": "x\n1\n", "b.tsv": "x\n1\n"}, "", r"several kinds: \.csv \(a\.csv\), \.tsv"),
        ({"a.csv": "x,y\n1,2\n", "b.csv": "x,z\n1,2\n"}, "", r"b\.csv has no column 'y', which .*a\.csv has"),
        ({"a.csv": "x,y\n1,2\n", "b.csv": "x,y,z\n1,2,3\n"}, "", r"b\.csv has the column 'z', which .*a\.csv has not"),
        ({"a.csv": "x\n1\n", "b/a.csv": "x\n1\n"}, "", "has folders in it, such as 'b'"),
    ],
)
def test_files_that_are_no_table_together_are_refused(tmp_path, files, named, message, engine):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        ind.open(f"{tmp_path}/{named}", engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_parquet_files_of_other_types_are_refused(tmp_path, engine):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1.5]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"column 'x' has the type double in .*b\.parquet, and int64 in .*a\.parquet"):
        ind.open(tmp_path, engine=engine)
    with pytest.raises(InputError, match=r"the list has the file 'a\.parquet' twice"):
        ind.open([tmp_path / "a.parquet"] * 2, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cell_that_does_not_fit_is_found_in_its_file(tmp_path, engine):
    (tmp_path / "a.csv").write_text("visit,n\n31.01.2024,1\n")
    (tmp_path / "b.csv").write_text("visit,n\n01.02.2024,1\n,\nlater,2\n")
    with pytest.raises(InputError, match=r"1 of 3 cells do not fit it, on line 4 of b\.csv") as raised:
        ind.open(tmp_path, dates={"visit": "%d.%m.%Y"}, engine=engine)
    assert "later" not in str(raised.value)


def test_text_is_published_by_duckdb_as_by_memory(text, tmp_path):
    made = {
        engine: ind.anonymize(text, SCHEMA, engine=engine, output=tmp_path / f"{engine}.csv", **JOB)
        for engine in ENGINES
    }
    assert made["duckdb"].recoding == made["memory"].recoding
    read = [ind.open(tmp_path / f"{engine}.csv").data for engine in ENGINES]
    assert rows_of(read[0]) == rows_of(read[1])
    for engine in ENGINES:
        told = ind.verify(tmp_path / "duckdb.csv", SCHEMA, JOB["model"], original=text, engine=engine)
        assert told.holds
    figures = [ind.assess(text, SCHEMA, engine=engine).to_json() for engine in ENGINES]
    assert figures[0] == figures[1]
    schema = ind.Schema(identifiers=["name", "zip"], quasi=["age"], sensitive=["disease"])
    nodes = [ind.explore(text, schema, model=JOB["model"], engine=engine).to_json() for engine in ENGINES]
    assert nodes[0] == nodes[1]
    # The kinds that were found belong to the recoding: next month's file is read alike.
    assert made["duckdb"].recoding.reading.types["age"] == "number"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_notation_that_nobody_declared_is_refused(tmp_path, engine):
    path = tmp_path / "visits.csv"
    path.write_text("visit,n\n" + "31.01.2024,1\n01.02.2024,1\n" * 4)
    with pytest.raises(InputError, match="column 'visit' looks like dates in a notation that was not declared"):
        ind.anonymize(path, ind.Schema(quasi=["visit", "n"]), model="k-anonymity:k=2", engine=engine)


def test_a_large_text_is_left_to_duckdb(text, monkeypatch):
    assert chosen_engine(text).name == "memory"
    monkeypatch.setattr("indistinct.engines.free_bytes", lambda: 3 * text.stat().st_size)
    assert chosen_engine(text).name == "duckdb"
    assert chosen_engine([text]).name == "duckdb"
    assert chosen_engine(text.parent / "none.csv").name == "memory"


def test_converted_cells_go_when_their_table_does(text, tmp_path):
    opened = DuckDB(1 << 28).open(text, Reading())
    (spool,) = opened.parquet
    assert spool.is_file()
    assert spool.parent.stat().st_mode & 0o077 == 0
    del opened
    assert not spool.exists()


def test_a_duckdb_file_is_free_when_its_table_is_and_read_as_it_is_then(table, tmp_path):
    path = tmp_path / "clinic.duckdb"
    for rows in (100, 300, 200):
        with duckdb.connect(str(path)) as clinic:
            clinic.sql("DROP TABLE IF EXISTS visits")
            clinic.from_arrow(table.slice(0, rows)).create("visits")
        assert ind.anonymize(ind.open(path, table="visits"), SCHEMA, **JOB).certificate.rows == rows


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("sensitive", "algorithm", "model"),
    [
        ("disease", "slicing:l=2", None),
        ("at", "anatomy:l=2", None),
        ("at", "mondrian", "distinct-l-diversity:sensitive=at,l=2"),
    ],
)
def test_moments_of_a_release_are_in_the_zone_that_they_had(form, sensitive, algorithm, model, tmp_path):
    hours = [1_729_987_200 + 1800 * (row % 6) for row in range(40)]
    table = pa.table(
        {
            "age": [row % 3 for row in range(40)],
            "at": pa.array(hours, pa.timestamp("s", "Asia/Tokyo")),
            "disease": ["flu", "cold"] * 20,
        }
    )
    kept = [name for name in ("at", "disease") if name != sensitive]
    schema = ind.Schema(quasi=["age"], sensitive=[sensitive], insensitive=kept)
    pq.write_table(table, tmp_path / "visits.parquet")
    made = [
        ind.anonymize(
            tmp_path / "visits.parquet",
            schema,
            model=model,
            algorithm=algorithm,
            engine=engine,
            seed=1,
            output=tmp_path / f"{engine}.{form}",
        )
        for engine in ENGINES
    ]
    assert made[0].certificate.verdicts == made[1].certificate.verdicts
    assert made[1].certificate.holds


def test_tables_of_a_duckdb_file_are_opened_for_reading_only(table, tmp_path):
    path = tmp_path / "clinic's.duckdb"
    with duckdb.connect(str(path)) as made:
        made.sql("CREATE SCHEMA clinic")
        made.from_arrow(table).create("clinic.visits")
        made.sql("CREATE VIEW old AS SELECT * FROM clinic.visits WHERE age > 80")
    before = path.read_bytes()
    visits = ind.open(path, table="clinic.visits")
    assert (visits.rows, visits.columns, visits.path) == (table.num_rows, tuple(table.column_names), path)
    assert ind.open(path, table="OLD").rows < table.num_rows
    release = ind.anonymize(visits, SCHEMA, **JOB)
    assert rows_of(release.table) == rows_of(ind.anonymize(table, SCHEMA, **JOB).table)
    assert ind.inspect(visits).rows == table.num_rows
    assert path.read_bytes() == before
    with pytest.raises(InputError, match=r"has no table 'clinic\.visit'") as raised:
        ind.open(path, table="clinic.visit")
    assert raised.value.hint == "did you mean 'clinic.visits'?"
    with pytest.raises(ParameterError, match="has 2 tables: name one"):
        ind.open(path)
    with pytest.raises(ParameterError, match="is not the name of a table"):
        ind.open(path, table='visits"; DROP TABLE x')
    assert ind.open(path, table="clinic.visits", columns=["age"]).columns == ("age",)
    (tmp_path / "broken.duckdb").write_text("nothing")
    with pytest.raises(InputError, match="cannot be opened for reading"):
        ind.open(tmp_path / "broken.duckdb", table="x")
    with pytest.raises(InputError, match="there is no file"):
        ind.open(tmp_path / "none.duckdb", table="x")


def test_an_address_never_shows_its_password(text):
    for options in ({}, {"engine": "duckdb"}, {"engine": "duckdb", "table": "x"}):
        with pytest.raises(InputError) as raised:
            ind.open("mysql://me:secret@host/db", **options)
        assert "secret" not in f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_that_changes_while_it_is_read_is_not_published(table, text, tmp_path, suffix):
    source = text if suffix == ".csv" else tmp_path / "patients.parquet"
    if suffix == ".parquet":
        pq.write_table(table, source)
    opened = ind.open(source, engine="duckdb")
    os.utime(source, ns=(1, 1))
    with pytest.raises(InputError, match=r"has changed while it was read, so nothing is published"):
        ind.anonymize(opened, SCHEMA, output=tmp_path / "out.parquet", **JOB)
    assert not (tmp_path / "out.parquet").exists()


def test_a_file_that_changes_while_memory_reads_it_is_refused(text, monkeypatch):
    from indistinct.tables import opening

    read = opening.read_delimited

    def changed(files, *given, **options):
        found = read(files, *given, **options)
        text.write_text("age\n1\n")
        return found

    monkeypatch.setattr(opening, "read_delimited", changed)
    with pytest.raises(InputError, match="has changed while it was read"):
        ind.open(text)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_without_a_number_are_counted_as_rows(engine):
    table = pa.table({"age": [1.0, float("nan"), float("nan"), float("inf")], "zip": ["a"] * 4})
    with pytest.raises(InputError, match="column 'age' holds 2 NaN and 1 infinite"):
        ind.anonymize(table, ind.Schema(quasi=["age", "zip"]), model="k-anonymity:k=2", engine=engine)


def test_stages_and_rows_are_told(text, tmp_path, caplog):
    with caplog.at_level(logging.DEBUG, "indistinct.stage"):
        ind.anonymize(text, SCHEMA, engine="duckdb", output=tmp_path / "out.parquet", **JOB)
    told = [vars(record) for record in caplog.records if record.name == "indistinct.stage"]
    stages = list(dict.fromkeys(each["stage"] for each in told if each["stage"]))
    assert stages == ["reading", "counting", "searching", "publishing", "verifying"]
    assert (1200, 1200) in [each["rows"] for each in told]


def test_the_command_line_takes_folders_and_tables(table, parts, tmp_path, capsys):
    roles = ["--identifier", "name", "--quasi", "age,zip", "--sensitive", "disease", "--model", JOB["model"]]
    path, out = tmp_path / "clinic.duckdb", tmp_path / "out.parquet"
    with duckdb.connect(str(path)) as made:
        made.from_arrow(table).create("visits")
    for source in ([str(parts / "*.parquet"), "--engine", "duckdb"], [str(path), "--table", "visits"]):
        command = ["anonymize", *source, *roles, "--algorithm", "mondrian", "-o", str(out), "--overwrite"]
        assert main(command) == 0, capsys.readouterr().err
    command = ["verify", str(out), *roles, "--original", str(parts), "--engine", "duckdb", "--memory", "500MB"]
    assert main(command) == 0, capsys.readouterr().err
