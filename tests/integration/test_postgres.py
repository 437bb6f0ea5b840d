"""The engine postgres at its edges: types, encodings, secrets, and the functions that read a table."""

import datetime
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines.base import without_password
from indistinct.engines.postgres import session
from indistinct.samples import generate_patients
from references.clinic import SCHEMA, publish, sessions_of, with_visits

SECRET = "sw0rdfish"  # noqa: S105


@pytest.fixture(scope="module")
def server(postgres):
    return with_visits(postgres)


@pytest.fixture
def visits(server):
    return ind.DatabaseTable(server.url, "clinic.visits")


@pytest.fixture
def place(server):
    server.run("DROP TABLE IF EXISTS clinic.release, clinic.release_sensitive")
    return ind.DatabaseTable(server.url, "clinic.release")


# Types


def test_every_type_is_read_or_refused_by_name(server):
    server.run(
        "DROP TABLE IF EXISTS kinds",
        "DROP TYPE IF EXISTS mood",
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "DROP DOMAIN IF EXISTS price",
        "CREATE DOMAIN price AS numeric(6, 2)",
        """CREATE TABLE kinds (i2 int2, i8 int8, f4 real, f8 float8, n numeric(10, 2), free numeric,
        wide numeric(50, 3), round numeric(5, -2), cost price, flag boolean, day date, moment timestamp,
        instant timestamptz, clock time,
        code char(5), word varchar(9), mood mood, id uuid, doc jsonb, span interval, host inet, zoned timetz,
        raw bytea, list int[], pair point, money money)""",
        """INSERT INTO kinds VALUES (1, 2, 0.5, 'NaN', 1.5, 12.345, 7.125, 12345, 9.9, true, '2024-02-29',
        '2024-01-02 03:04:05.678901', '2024-07-01 12:00+02', '23:59', 'ab', '', 'happy',
        '123e4567-e89b-12d3-a456-426614174000', '{"b": 1,"a":2}', '1 day 02:00', '10.0.0.1', '12:00+02',
        '\\x00', '{1}', '(1,2)', 3)""",
        "INSERT INTO kinds (i2) VALUES (NULL)",
    )
    address = server.address(options="-cTimeZone%3DEurope/Oslo")
    with ind.open(address, table="kinds") as source:
        readable = [name for name in source.columns if name not in ("raw", "list", "pair", "money")]
        found = next(source.batches(readable)).to_pylist()
        for name, kind in {"raw": "bytea", "list": "_int4", "pair": "point", "money": "money"}.items():
            with pytest.raises(ind.InputError, match=f"'{name}' has the type {kind}"):
                source.groups([name])
    first = found[0]
    oslo = datetime.timezone(datetime.timedelta(hours=2))
    assert first.pop("f8") != first  # NaN is NaN
    assert first["instant"] == datetime.datetime(2024, 7, 1, 12, tzinfo=oslo)
    assert first["instant"].utcoffset() == datetime.timedelta(hours=2)
    del first["instant"]
    assert first == {
        "i2": 1,
        "i8": 2,
        "f4": 0.5,
        "n": Decimal("1.50"),
        "free": Decimal("12.345"),
        "wide": Decimal("7.125"),
        "round": Decimal(12300),
        "cost": Decimal("9.90"),
        "flag": True,
        "day": datetime.date(2024, 2, 29),
        "moment": datetime.datetime(2024, 1, 2, 3, 4, 5, 678901),
        "clock": datetime.time(23, 59),
        "code": "ab",
        "word": "",
        "mood": "happy",
        "id": "123e4567-e89b-12d3-a456-426614174000",
        "doc": '{"a": 2, "b": 1}',
        "span": "1 day 02:00:00",
        "host": "10.0.0.1/32",
        "zoned": "12:00:00+02",
    }
    assert set(found[1].values()) == {None}


@pytest.mark.parametrize(
    "value",
    ["'NaN'::numeric", "'Infinity'::numeric", "'NaN'::numeric(5, 2)", "'infinity'::date", "'-infinity'::timestamp"],
)
def test_what_has_no_place_among_numbers_and_dates_is_refused(server, value):
    query = f"SELECT {value} AS x, 1 AS y"
    with ind.open(server.url, query=query) as source, pytest.raises(ind.InputError, match="column 'x' of the type"):
        source.groups(["x", "y"])


def test_missing_and_empty_text_and_blanks_stay_apart(server):
    query = "SELECT * FROM (VALUES (NULL), (''), (' '), ('a'), ('a '), ('A'), ('a')) AS t(x)"
    with ind.open(server.url, query=query) as source:
        groups = source.groups(["x"])
    counted = dict(zip(groups.table["x"].to_pylist(), groups.counts.tolist(), strict=True))
    assert counted == {None: 1, "": 1, " ": 1, "a": 2, "a ": 1, "A": 1}


def test_blanks_behind_a_text_of_fixed_length_mean_nothing(server):
    with ind.open(server.url, query="SELECT x::char(4) AS x FROM (VALUES ('a'), ('a  ')) AS t(x)") as source:
        groups = source.groups(["x"])
    assert (groups.table["x"].to_pylist(), groups.counts.tolist()) == (["a"], [2])


# Rows that are held


def test_rows_that_fit_are_read_once_and_let_go_when_they_are_published(server, visits, monkeypatch):
    statements = []
    query = session.DatabaseSession.batches
    monkeypatch.setattr(session.DatabaseSession, "batches", lambda own, sql: statements.append(sql) or query(own, sql))
    made = []
    for share in (0.1, 0.0):
        monkeypatch.setattr("indistinct.engines.postgres.FOR_ROWS", share)
        with ind.open(visits) as source:
            made.append(ind.anonymize(source, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian", seed=3))
            assert not source.held
    assert ["GROUP BY" in sql for sql in statements] == [False, True, False]
    assert made[0].recoding == made[1].recoding
    first, second = (sorted(map(str, each.table.to_pylist())) for each in made)
    assert first == second


def test_rows_are_not_held_beyond_what_they_may_take(server, visits):
    with ind.open(visits) as source:
        source.hold(source.columns, source.rows * len(source.columns) * 4)  # codes alone would fit
        assert not source.held
        source.hold(source.columns, 1 << 20)
        assert sum(map(len, source.held)) == source.rows


# Encodings


def test_a_database_that_is_not_in_utf8(server):
    server.run("DROP DATABASE IF EXISTS latin", "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    names = ["Åse", "Zoë", "zebra", "Öl"] * 3
    table = pa.table({"name": [str(i) for i in range(12)], "city": names, "größe": [1, 2] * 6})
    server.upload(table, "people", database="latin")
    told = server.run("SELECT current_setting('server_encoding') AS e", database="latin")
    assert told == [("LATIN1",)]
    schema = ind.Schema(identifiers=["name"], quasi=["city", "größe"])
    address = server.address("latin")
    release = ind.anonymize(ind.DatabaseTable(address, "people"), schema, model="k-anonymity:k=3", algorithm="mondrian")
    again = ind.anonymize(table, schema, model="k-anonymity:k=3", algorithm="mondrian")
    rows = [sorted(map(str, each.table.to_pylist())) for each in (release, again)]
    assert rows[0] == rows[1]
    ind.anonymize(table, schema, model="k-anonymity:k=3", output=ind.DatabaseTable(address, "shown"))
    beyond = table.set_column(1, "city", pa.array(["東京"] * 12))
    with pytest.raises(ind.OutputError, match="encoding of the database lacks"):
        ind.anonymize(beyond, schema, model="k-anonymity:k=3", output=ind.DatabaseTable(address, "lost"))


def test_text_of_a_database_without_an_encoding_must_be_utf8(server):
    server.run("DROP DATABASE IF EXISTS bytes", "CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0")
    address = server.address("bytes")
    with ind.open(address, query="SELECT 'Zoë'::text AS x") as source:
        assert source.groups(["x"]).table["x"].to_pylist() == ["Zoë"]
    query = "SELECT convert_from('\\xff41', 'SQL_ASCII') AS x"
    with ind.open(address, query=query) as source, pytest.raises(ind.InputError, match="not UTF-8"):
        source.groups(["x"])


# Secrets and refusals


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{SECRET}@host/db",
        f"postgresql://ann:{SECRET}%zz@host/db",
        f"postgresql://ann:a@{SECRET}@host/db",
        f"postgresql://ann:a/{SECRET}@host/db",
        f"postgresql://ann:a?{SECRET}@host/db",
        f"postgresql://ann:a#{SECRET}@host/db",
        f"postgresql://[{SECRET}@host/db",
        f"postgresql://host/db?user=ann&password={SECRET}",
        f"postgres://host/db?sslpassword={SECRET}&options={SECRET}",
        f"postgresql://ann:{SECRET}%40host/db",
        f"postgresql://ann:{SECRET}",
        f"postgresql://host/db&password={SECRET}",
        f"postgresql://host/db password={SECRET}",
        f"postgresql://host/db?user=ann:{SECRET}@host",
        f"postgresql://host/db?user=ann password={SECRET}",
    ],
)
def test_a_password_is_never_shown(address, tmp_path, caplog):
    caplog.set_level("DEBUG", logger="indistinct")
    table = ind.DatabaseTable(address, "clinic.visits")
    assert SECRET not in without_password(address) + repr(table) + str(table)
    fast = address.replace("host", "localhost:1")
    for run in (
        lambda: ind.open(fast, table="t"),
        lambda: publish(generate_patients(50, seed=1), ind.DatabaseTable(fast, "t")),
    ):
        with pytest.raises(ind.IndistinctError) as caught:
            run()
        told = caught.value
        assert SECRET not in f"{told} {told.hint} {told.values} {told.details} {told.__cause__}"
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql:/ann:{SECRET}@host/db",
        f"POSTGRESQL://ann:{SECRET}@host/db",
        f"postgresql+psycopg2://ann:{SECRET}@host/db",
        f"postgres:ann:{SECRET}@host/db",
        f"jdbc:postgresql://host/db?password={SECRET}",
        f"host=host password={SECRET}",
    ],
)
def test_what_is_nearly_an_address_is_not_shown_either(text):
    for run in (
        lambda: ind.open(text),
        lambda: ind.open(Path(text)),
        lambda: ind.open(text, table="t"),
        lambda: ind.open(text, engine="duckdb"),
        lambda: ind.verify(Path(text), SCHEMA, "k-anonymity:k=2"),
        lambda: ind.scan(Path(text)),
    ):
        with pytest.raises(ind.IndistinctError) as caught:
            run()
        assert SECRET not in f"{caught.value} {caught.value.hint} {caught.value.details}"


def test_a_server_or_a_database_that_is_not_there(server):
    for address, words in {
        "postgresql://localhost:1/db": "nothing listens there",
        server.address("nowhere"): "no such database",
        server.address(user="nobody_known"): "no such database or user",
        "postgresql://nowhere.invalid/db": "no such host",
        "postgresql:///?service=unheard": "no such service",
    }.items():
        with pytest.raises(ind.InputError, match=words):
            ind.open(address, table="t")


def test_what_the_server_says_of_a_value_is_for_those_who_ask(server):
    with pytest.raises(ind.InputError) as caught:
        ind.open(server.url, query="SELECT sex::int FROM clinic.visits ORDER BY 1")
    assert "male" not in str(caught.value)
    assert "male" in str(caught.value.values)


def test_a_query_only_reads(server):
    server.run("CREATE OR REPLACE FUNCTION clear() RETURNS int LANGUAGE sql AS 'DELETE FROM clinic.visits; SELECT 1'")
    with pytest.raises(ind.InputError, match="may only read"):
        ind.open(server.url, query="SELECT clear() AS x")
    assert server.run("SELECT count(*) AS n FROM clinic.visits") == [(400,)]


def test_a_table_or_a_query_is_named():
    with pytest.raises(ind.ParameterError, match="says nothing of a table"):
        ind.open("postgresql://host/db")
    with pytest.raises(ind.ParameterError, match="with a table or with a query"):
        ind.DatabaseTable("postgresql://host/db")
    with pytest.raises(ind.ParameterError, match="says nothing of a table"):
        publish(generate_patients(50, seed=1), "postgresql://host/db")


def test_a_missing_driver_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(ind.MissingExtraError, match=r'pip install "indistinct\[postgres\]"'):
        ind.open("postgresql://host/db", table="t")


# The other functions


def test_a_table_of_a_database_is_inspected_measured_explored_and_assessed(server, visits, place):
    publish(visits, place)
    with ind.open(server.url, table="clinic.visits") as source, ind.open(server.url, table="clinic.release") as made:
        assert ind.inspect(source).rows == 400
        theirs = ind.measure_table(made, SCHEMA, original=source, k=5)
        assert theirs.to_json() == ind.measure_table(made.table(), SCHEMA, original=source.table(), k=5).to_json()
        assert ind.assess(source, SCHEMA).to_json()["rows"] == 400
        levels = {"age": ind.Hierarchy.intervals([5, 10]), "sex": ind.Hierarchy.suppression()}
        levels["zipcode"] = ind.Hierarchy.masking()
        assert ind.explore(source, SCHEMA, model="k-anonymity:k=5", hierarchies=levels) is not None


def test_a_population_in_a_database(server, visits, place):
    model = "k-map:k=5"
    mine, theirs = (
        ind.anonymize(source, SCHEMA, model=model, algorithm="mondrian", population=population)
        for source, population in [(visits, visits), (generate_patients(400, seed=1), generate_patients(400, seed=1))]
    )
    assert mine.certificate.to_json() == {
        **theirs.certificate.to_json(),
        "recoding_digest": mine.certificate.recoding_digest,
    }


def test_no_session_outlives_what_it_was_opened_for(server, visits, place, tmp_path):
    """Whatever is kept afterwards: a release, which is written again beside its population, or an error."""
    model, before, levels = (
        "k-map:k=5",
        sessions_of(server),
        {name: ind.Hierarchy.suppression() for name in SCHEMA.quasi},
    )
    wrong = ind.Schema(quasi=["nothing"])
    release = ind.anonymize(visits, SCHEMA, model=model, algorithm="mondrian", population=visits)
    kept = [release]
    assert sessions_of(server) == before
    works = [
        lambda: release.write(tmp_path / "release.csv"),
        lambda: release.write(place),
        lambda: ind.apply(release.recoding, visits, population=visits),
        lambda: ind.verify(place, SCHEMA, model, original=visits, population=visits),
        lambda: ind.verify(place, SCHEMA, model, population=visits, recoding=release.recoding),
        lambda: ind.assess(place, SCHEMA, original=visits, population=visits),
        lambda: ind.explore(visits, SCHEMA, model=model, population=visits, hierarchies=levels),
        lambda: ind.report(release, original=visits),
    ]
    fails = [
        lambda: ind.anonymize(visits, SCHEMA, model="k-map:k=5000", population=visits),
        lambda: ind.verify(place, SCHEMA, model),
        lambda: ind.verify(place, wrong, model, original=visits, population=visits),
        lambda: ind.assess(place, wrong, original=visits, population=visits),
        lambda: ind.explore(visits, SCHEMA, model=model),
        lambda: ind.attack("record-linkage", release, original=visits),
    ]
    for work in works:
        kept.append(work())
        assert sessions_of(server) == before
    for fail in fails:
        with pytest.raises(ind.IndistinctError) as caught:
            fail()
        kept.append(caught)
        assert sessions_of(server) == before
    assert kept[1].holds
    assert kept[4].population_size == 400
