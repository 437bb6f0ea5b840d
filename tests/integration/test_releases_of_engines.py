"""Whatever engine made a release, the release does all that a release does: it is read, measured, verified, written."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.release.writing.formats import FORMATS
from indistinct.tables import open_table
from references.engine_runs import rows_of
from references.spark_session import QUIET, needs_java, spark

pytestmark = [*QUIET, pytest.mark.xdist_group("spark")]
ENGINES = ["memory", "duckdb", "postgres", pytest.param("spark", marks=needs_java)]
ROWS = 90
TABLE = pa.table(
    {
        "name": [f"person {row}" for row in range(ROWS)],
        "age": [20 + row % 30 for row in range(ROWS)],
        "sex": [("f", "m")[row // 3 % 2] for row in range(ROWS)],
        "disease": [("flu", "cold", "HIV")[row % 3] for row in range(ROWS)],
    }
)
SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "sex"], sensitive=["disease"])
MODEL = "k-anonymity:k=5"


@pytest.fixture(scope="module")
def source_of(request, tmp_path_factory):
    """Return what puts a table where an engine reads it."""

    def source(engine, table=TABLE):
        if engine == "postgres":
            server = request.getfixturevalue("postgres")
            return ind.DatabaseTable(server.url, server.upload(table))
        if engine == "spark":
            spark()  # the one of all tests: the product would start its own
        path = tmp_path_factory.mktemp("engines") / "patients.parquet"
        pq.write_table(table, path)
        return path

    return source


@pytest.fixture(scope="module")
def release_of(source_of):
    """Return what gives the release of an engine: every one is made once, from where that engine reads."""
    made = {}

    def release(engine, algorithm="mondrian"):
        if (engine, algorithm) not in made:
            model = MODEL if algorithm == "mondrian" else None
            options = {"model": model, "algorithm": algorithm, "engine": engine, "seed": 1}
            made[engine, algorithm] = ind.anonymize(source_of(engine), SCHEMA, **options)
        return made[engine, algorithm]

    return release


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_is_written_in_every_format(release_of, engine, suffix, tmp_path):
    release, path = release_of(engine), tmp_path / f"release{suffix}"
    certificate = release.write(path)
    assert certificate.holds
    assert certificate.verdicts == release.certificate.verdicts
    assert rows_of(open_table(path, published=True).data.cast(texts(release.table))) == rows_of(in_text(release.table))
    assert ind.verify(path, SCHEMA, MODEL).holds


def texts(table):
    return pa.schema([(name, pa.string()) for name in table.column_names])


def in_text(table):
    return table.cast(texts(table))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_in_buckets_is_written_with_both_tables(release_of, engine, suffix, tmp_path):
    release = release_of(engine, "anatomy:l=2")
    certificate = release.write(tmp_path / f"release{suffix}")
    assert certificate.holds
    assert certificate.verdicts == release.certificate.verdicts
    assert (tmp_path / f"release.sensitive{suffix}").is_file()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_is_written_in_another_notation_and_to_a_database(release_of, engine, tmp_path, postgres):
    release = release_of(engine)
    assert release.write(tmp_path / "r.csv", writing=ind.Writing(delimiter=";", encoding="latin-1")).holds
    assert b";" in (tmp_path / "r.csv").read_bytes()
    place = ind.DatabaseTable(postgres.url, f"release_of_{engine}")
    assert release.write(place, overwrite=True).holds
    assert ind.verify(place, SCHEMA, MODEL).holds


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_answers_as_that_of_memory_does(release_of, engine, tmp_path):
    mine, memory = release_of(engine), release_of("memory")
    assert mine.recoding == memory.recoding
    assert rows_of(mine.table) == rows_of(memory.table)
    assert mine.classes().to_pylist() == memory.classes().to_pylist()
    assert mine.schema == memory.schema
    assert mine.others == {}
    assert mine.buckets is None
    assert mine.hierarchies == memory.hierarchies
    assert mine.certificate.verdicts == memory.certificate.verdicts
    assert len(mine.to_pandas()) == mine.to_polars().height == mine.table.num_rows == ROWS
    assert mine._repr_html_() == memory._repr_html_()
    assert repr(mine) == repr(memory)
    assert ind.measure(mine).to_json() == ind.measure(memory).to_json()
    assert ind.verify(mine.table, SCHEMA, MODEL, original=TABLE).holds
    assert ind.assess(mine).to_json() == ind.assess(memory).to_json()
    assert ind.distributions(mine, TABLE).to_json() == ind.distributions(memory, TABLE).to_json()
    asked = "SELECT COUNT(*) WHERE sex = 'f'"
    assert ind.query(mine, asked) == ind.query(memory, asked)
    mine.write_recoding(tmp_path / "recoding.json")
    assert ind.apply(tmp_path / "recoding.json", TABLE, seed=1).certificate.holds


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_ranges_are_the_columns_that_memory_publishes(source_of, engine, tmp_path):
    weights = pa.array([None if row % 11 == 0 else row * 7 % 13 / 2 - 3 for row in range(ROWS)])
    days = pa.array([10_000 + row * 37 % 400 for row in range(ROWS)], pa.int32()).cast(pa.date32())
    table = TABLE.append_column("weight", weights).append_column("born", days)
    schema = ind.Schema(identifiers=["name"], quasi=["age", "weight", "born", "sex"], sensitive=["disease"])
    options = {"model": MODEL, "algorithm": "mondrian:extent=region", "ranges": "columns", "seed": 1}
    mine, memory = (
        ind.anonymize(source_of(each, table), schema, **options, engine=each, output=tmp_path / f"{each}.parquet")
        for each in (engine, "memory")
    )
    ends = {f"{name}_{end}" for name in ("age", "weight", "born") for end in ("from", "to")}
    assert {*ends, "weight_missing"} <= set(mine.table.column_names)
    assert mine.recoding == memory.recoding
    assert mine.certificate.verdicts == memory.certificate.verdicts
    assert rows_of(mine.table) == rows_of(memory.table)
    written = [open_table(tmp_path / f"{each}.parquet", published=True).data for each in (engine, "memory")]
    assert written[0].schema.equals(written[1].schema)
    assert rows_of(written[0]) == rows_of(written[1])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_that_was_written_by_its_engine_is_written_again(source_of, engine, tmp_path):
    options = {"model": MODEL, "algorithm": "mondrian", "engine": engine}
    release = ind.anonymize(source_of(engine), SCHEMA, **options, output=tmp_path / "first.parquet")
    assert release.write(tmp_path / "second.csv").holds
    assert rows_of(open_table(tmp_path / "second.csv", published=True).data.cast(texts(release.table))) == rows_of(
        in_text(release.table)
    )
