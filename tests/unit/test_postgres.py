"""The engine postgres at its edges: types, encodings, rights, sessions beside each other, and secrets."""

import datetime
import json
import threading
from decimal import Decimal

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.datasets import generate_patients
from indistinct.engines.postgres import session as sessions
from indistinct.engines.postgres.address import shown
from indistinct.engines.postgres.tables import staged_release
from indistinct.release.database import further_table

SCHEMA = ind.Schema(
    identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"], insensitive=["admitted", "cost"]
)
SECRET = "sw0rdfish"  # noqa: S105


@pytest.fixture(scope="module")
def server(postgres):
    postgres.run("DROP SCHEMA IF EXISTS clinic CASCADE", "CREATE SCHEMA clinic")
    postgres.upload(generate_patients(400, seed=1), "clinic.visits")
    return postgres


@pytest.fixture
def visits(server):
    return ind.DatabaseTable(server.url, "clinic.visits")


@pytest.fixture
def place(server):
    server.run("DROP TABLE IF EXISTS clinic.release, clinic.release_sensitive")
    return ind.DatabaseTable(server.url, "clinic.release")


def publish(source, place, *, k=5, **options):
    options = {"algorithm": "mondrian", "model": f"k-anonymity:k={k}", **options}
    return ind.anonymize(source, SCHEMA, output=place, **options)


def tables_of(server):
    return {name for (name,) in server.run("SELECT tablename::text AS t FROM pg_tables WHERE schemaname = 'clinic'")}


def sessions_of(server):
    sql = "SELECT count(*) AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    return server.run(sql)[0][0]


# Types


def test_every_type_is_read_or_refused_by_name(server):
    server.run(
        "DROP TABLE IF EXISTS kinds",
        "DROP TYPE IF EXISTS mood",
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "DROP DOMAIN IF EXISTS price",
        "CREATE DOMAIN price AS numeric(6, 2)",
        """CREATE TABLE kinds (i2 int2, i8 int8, f4 real, f8 float8, n numeric(10, 2), free numeric,
        wide numeric(50, 3), round numeric(5, -2), cost price, flag boolean, day date, moment timestamp, instant timestamptz, clock time,
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


# Writing


def test_a_release_and_its_certificate_come_together(server, visits, place):
    release = publish(visits, place)
    ((comment,),) = server.run("SELECT obj_description('clinic.release'::regclass, 'pg_class') AS c")
    assert json.loads(comment)["verdicts"][0]["achieved"]["k"] == release.certificate.achieved["k"] >= 5
    assert release.table.num_rows == 400
    assert ind.verify(place, SCHEMA, "k-anonymity:k=5").holds
    assert not ind.verify(place, SCHEMA, "k-anonymity:k=399").holds
    with pytest.raises(ind.OutputError, match=r"clinic\.release exists already"):
        publish(visits, place)
    assert publish(visits, place, k=50, overwrite=True).certificate.classes < release.certificate.classes
    assert ind.verify(place, SCHEMA, "k-anonymity:k=50", original=visits).holds
    assert not {name for name in tables_of(server) if name.startswith("indistinct")}


def test_types_that_are_published_as_they_are_stay_what_they_were(server, visits, place):
    publish(visits, place)
    sql = "SELECT column_name::text AS c, data_type::text AS t FROM information_schema.columns WHERE table_name = $1"
    with server.session() as connection, connection.cursor() as cursor:
        cursor.execute(sql.replace("$1", "'release'"))
        kinds = dict(cursor.fetchall())
    assert kinds == {
        "age": "text",
        "sex": "text",
        "zipcode": "text",
        "disease": "text",
        "admitted": "date",
        "cost": "double precision",
    }


def test_the_second_table_of_anatomy_comes_and_goes_with_the_first(server, visits, place):
    release = publish(visits, place, model=None, algorithm="anatomy:l=2")
    assert {"release", "release_sensitive"} <= tables_of(server)
    assert release.tables["sensitive"].num_rows == 400
    published = ind.BucketTable(place, release.buckets.slices, "tables", further_table(place, "sensitive"))
    assert ind.verify(published, SCHEMA, "l-diverse-links:l=2").holds
    publish(visits, place, overwrite=True)
    assert "release_sensitive" not in tables_of(server)


def test_a_table_of_somebody_else_is_left_alone(server, visits, place):
    server.run("CREATE TABLE clinic.release_sensitive (x int)")
    publish(visits, place)
    publish(visits, place, overwrite=True)
    assert "release_sensitive" in tables_of(server)


def test_a_failed_verification_leaves_nothing(server, visits, place, monkeypatch):
    from indistinct.release.check import Check

    def fail(*_):
        raise ind.VerificationError("it does not hold", hint="nothing was written")

    monkeypatch.setattr(Check, "certify_sources", fail)
    before, open_before = tables_of(server), sessions_of(server)
    with pytest.raises(ind.VerificationError):
        publish(visits, place)
    assert tables_of(server) == before
    assert sessions_of(server) == open_before


def test_files_and_frames_go_to_a_table_and_tables_to_a_file(server, visits, place, tmp_path):
    ind.anonymize(generate_patients(50, seed=2), SCHEMA, model="k-anonymity:k=5").write(place)
    assert server.run("SELECT count(*) AS n FROM clinic.release") == [(50,)]
    publish(visits, tmp_path / "release.parquet")
    assert ind.verify(tmp_path / "release.parquet", SCHEMA, "k-anonymity:k=5").holds


def test_a_recoding_is_kept_only_with_its_release(server, visits, place, tmp_path):
    kept = tmp_path / "recoding.json"
    publish(visits, place, save_recoding=kept)
    assert ind.apply(kept, visits).certificate.holds
    with pytest.raises(ind.OutputError):
        publish(visits, place, save_recoding=tmp_path / "other.json")
    assert [path.name for path in tmp_path.iterdir()] == ["recoding.json"]


def test_a_name_or_a_text_that_the_database_cannot_hold(server, visits, place):
    long = ind.DatabaseTable(server.url, "clinic." + "x" * 70)
    with pytest.raises(ind.OutputError, match="longer than 63 bytes"):
        publish(visits, long)
    zero = pa.table({"a": ["x\0"] * 4, "b": ["y"] * 4})
    with pytest.raises(ind.OutputError, match="character that the database cannot hold"):
        ind.anonymize(zero, ind.Schema(quasi=["b"], insensitive=["a"]), model="k-anonymity:k=2", output=place)
    with pytest.raises(ind.OutputError, match="has no schema nowhere"):
        publish(visits, ind.DatabaseTable(server.url, "nowhere.release"))
    assert "release" not in tables_of(server)


# Sessions beside each other


def test_two_sessions_publish_to_one_table_and_one_wins(server, visits, place):
    ready, results = threading.Barrier(2), []

    def run(k):
        ready.wait()
        try:
            results.append(publish(visits, place, k=k))
        except ind.OutputError as error:
            results.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in (5, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (won,) = [each for each in results if not isinstance(each, Exception)]
    (lost,) = [each for each in results if isinstance(each, Exception)]
    assert "another session is publishing" in lost.message or "exists already" in lost.message
    assert server.run("SELECT count(*) AS n FROM clinic.release")[0][0] == won.certificate.rows
    assert ind.verify(place, SCHEMA, won.certificate.verdicts[0].model).holds


def test_a_table_that_is_being_published_is_not_published_again(server, visits, place):
    busy = pytest.raises(ind.OutputError, match="another session is publishing")
    with staged_release(place, tables=("main",), overwrite=True), busy:
        publish(visits, place, overwrite=True)
    publish(visits, place)


def test_a_table_that_is_read_cannot_be_replaced(server, visits, monkeypatch):
    monkeypatch.setitem(sessions.SETTINGS, "lock_timeout", "100ms")
    with pytest.raises(ind.OutputError, match="another session is using the table"):
        publish(visits, visits, overwrite=True)
    assert server.run("SELECT count(*) AS n FROM clinic.visits") == [(400,)]


def test_a_source_that_changes_is_read_in_one_snapshot(server, place):
    server.run("DROP TABLE IF EXISTS clinic.moving", "CREATE TABLE clinic.moving AS SELECT * FROM clinic.visits")
    with ind.open(server.url, table="clinic.moving") as source:
        assert source.rows == 400
        server.run("DELETE FROM clinic.moving WHERE age > 30", "UPDATE clinic.moving SET age = 999, sex = 'changed'")
        release = publish(source, place)
    assert release.certificate.original_rows == 400
    assert server.run("SELECT count(*) AS n FROM clinic.release WHERE sex = 'changed'") == [(0,)]


def test_no_session_is_left_open(server, visits, place):
    before = sessions_of(server)
    publish(visits, place)
    with pytest.raises(ind.InfeasibleError):
        publish(visits, place, k=1000, overwrite=True)
    assert sessions_of(server) == before


# Rights


def test_the_rights_to_read_and_to_create_are_enough(server, place):
    server.run(
        "DROP SCHEMA IF EXISTS wide CASCADE",
        "CREATE SCHEMA wide",
        "DROP ROLE IF EXISTS steward",
        "CREATE ROLE steward LOGIN",
        "REVOKE ALL ON SCHEMA public FROM PUBLIC",
    )
    steward = server.address(user="steward")
    source, target = (ind.DatabaseTable(steward, name) for name in ("clinic.visits", "wide.release"))
    try:
        with pytest.raises(ind.InputError, match=r"lacks the right|has no table"):
            publish(source, target)
        server.run("GRANT USAGE ON SCHEMA clinic TO steward")
        with pytest.raises(ind.InputError, match=r"may not read clinic\.visits"):
            publish(source, target)
        server.run("GRANT SELECT ON clinic.visits TO steward")
        with pytest.raises(ind.OutputError, match="may not create tables in the schema wide"):
            publish(source, target)
        server.run("GRANT USAGE, CREATE ON SCHEMA wide TO steward")
        publish(source, target)
        publish(source, target, overwrite=True)
        assert ind.verify(target, SCHEMA, "k-anonymity:k=5").holds
    finally:
        server.run("DROP OWNED BY steward", "DROP ROLE steward", "GRANT ALL ON SCHEMA public TO PUBLIC")


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
    ],
)
def test_a_password_is_never_shown(address, tmp_path, caplog):
    caplog.set_level("DEBUG", logger="indistinct")
    table = ind.DatabaseTable(address, "clinic.visits")
    assert SECRET not in shown(address) + repr(table) + str(table)
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
    import sys

    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(ind.MissingExtraError, match=r'pip install "indistinct\[postgres\]"'):
        ind.open("postgresql://host/db", table="t")


# The other functions


def test_a_table_of_a_database_is_inspected_measured_explored_and_assessed(server, visits, place):
    publish(visits, place)
    with ind.open(server.url, table="clinic.visits") as source, ind.open(server.url, table="clinic.release") as made:
        assert ind.inspect(source).rows == 400
        theirs = ind.measure_table(made, SCHEMA, original=source)
        assert theirs.to_json() == ind.measure_table(made.table(), SCHEMA, original=source.table()).to_json()
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
