"""Visits in a database for tests: where they lie, what their columns are, and a release of them."""

import time

import indistinct as ind
from indistinct.samples import generate_patients

SCHEMA = ind.Schema(
    identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"], insensitive=["admitted", "cost"]
)


def with_visits(server, schema="clinic", rows=400):
    """Return a server that has visits in a fresh schema."""
    server.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE", f"CREATE SCHEMA {schema}")
    server.upload(generate_patients(rows, seed=1), f"{schema}.visits")
    return server


def publish(source, place, *, k=5, **options):
    """Anonymize visits, quickly."""
    options = {"algorithm": "mondrian", "model": f"k-anonymity:k={k}", **options}
    return ind.anonymize(source, SCHEMA, output=place, **options)


def tables_of(server):
    """Return the tables of the schema."""
    return {name for (name,) in server.run("SELECT tablename::text AS t FROM pg_tables WHERE schemaname = 'clinic'")}


def sessions_of(server):
    """Return how many sessions there are besides the one that asks; one whose client has left takes a moment to end."""
    sql = "SELECT count(*) AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    for _ in range(100):
        count = server.run(sql)[0][0]
        if not count:
            break
        time.sleep(0.1)
    return count
