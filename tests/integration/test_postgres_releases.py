"""Releases in a PostgreSQL database: whole or not at all, one publisher at a time, with few rights and little room."""

import json
import os
import subprocess
import threading

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines.base import further_table
from indistinct.engines.postgres import session as sessions
from indistinct.engines.postgres.tables import staged_release
from indistinct.release.verification.check import Check
from indistinct.samples import generate_patients
from references.clinic import SCHEMA, publish, sessions_of, tables_of, with_visits


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


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_is_told_of_all_that_is_told_of_one_from_memory(server, form, tmp_path):
    table = pa.table({"age": [row % 4 for row in range(40)], "visit": [f"v{row}" for row in range(40)]})
    source = ind.DatabaseTable(server.url, server.upload(table))
    schema = ind.Schema(quasi=["age"], insensitive=["visit"])
    told = [
        ind.anonymize(
            each, schema, model="k-anonymity:k=5", algorithm="mondrian", output=tmp_path / f"{number}.{form}"
        ).certificate.warnings
        for number, each in enumerate((table, source))
    ]
    assert told[0] == told[1]
    assert "40 of 40 rows" in told[1][0]


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


# Room


@pytest.fixture(scope="module")
def many(server):
    """More visits than a small disk holds."""
    server.upload(generate_patients(30_000, seed=2), "clinic.many")
    return ind.DatabaseTable(server.url, "clinic.many")


@pytest.fixture
def small_disk(server):
    """A disk of two megabytes with a tablespace."""
    folder = server.folder / "small"
    folder.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0777", "tmpfs", folder], check=False, capture_output=True
        ).returncode
    )
    if not mounted:
        folder.rmdir()
        pytest.skip("a small disk can be made by the root of a system alone")
    try:
        owner = server.folder.stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
        server.run(f"CREATE TABLESPACE small LOCATION '{folder}'")
        yield folder
        server.run("DROP TABLE IF EXISTS clinic.release", "DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


def bytes_used(folder):
    told = os.statvfs(folder)
    return (told.f_blocks - told.f_bfree) * told.f_frsize


def address_with(server, **settings):
    """Return the address of the database for sessions with some settings."""
    return server.address(options="%20".join(f"-c%20{name}%3D{value}" for name, value in settings.items()))


def test_a_full_disk_of_the_server_leaves_the_old_release_and_nothing_else(server, visits, many, small_disk):
    there = ind.DatabaseTable(address_with(server, default_tablespace="small"), "clinic.release")
    server.run("DROP TABLE IF EXISTS clinic.release, clinic.release_sensitive")
    before = tables_of(server)
    with pytest.raises(ind.OutputError, match="the disk of the server is full"):
        publish(many, there)
    assert tables_of(server) == before
    first = publish(visits, there)
    used = bytes_used(small_disk)
    with pytest.raises(ind.OutputError, match="the disk of the server is full"):
        publish(many, there, overwrite=True)
    assert ind.verify(there, SCHEMA, "k-anonymity:k=5").rows == first.certificate.rows == 400
    assert tables_of(server) == {*before, "release"}
    assert sessions_of(server) == 0
    server.run("CHECKPOINT")  # files of tables that came to nothing go then at the latest
    assert bytes_used(small_disk) <= used


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"temp_tablespaces": "small"}, "the disk of the server is full"),
        ({"temp_file_limit": "512"}, "writes more to disk for a while than it may"),
    ],
)
def test_what_is_sorted_on_disk_finds_no_room_there(server, many, place, small_disk, settings, words, monkeypatch):
    """A view that sorts a large table does so on disk; our sessions give it far more memory than this."""
    monkeypatch.setitem(sessions.SETTINGS, "work_mem", "64kB")
    before = tables_of(server)
    source = ind.DatabaseTable(
        address_with(server, **settings), None, "SELECT * FROM clinic.many ORDER BY name || repeat('-', 90)"
    )
    with pytest.raises(ind.InputError, match=words) as told:
        publish(source, place)
    assert "person" not in str(told.value)
    assert tables_of(server) == before
    assert sessions_of(server) == 0
    server.run("CHECKPOINT")
    assert bytes_used(small_disk) < 1 << 16


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
