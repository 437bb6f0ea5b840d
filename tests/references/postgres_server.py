"""A PostgreSQL server for tests: the real one that the package pgserver carries, started in a folder of its own.

The package's own way to start it would make a user on the system where tests run as root; this one runs the programs
as `nobody` there, listens on a socket alone, and never syncs.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa

from indistinct.engines.postgres.tables import sql_type

SETTINGS = "-h '' -c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=40"


class NoServerError(Exception):
    """The server cannot be started here; the words say why."""


@dataclass(frozen=True)
class Server:
    """A running server; `url` is that of its first database, for a user who may do everything."""

    folder: Path

    @property
    def url(self):
        return self.address()

    def address(self, database="postgres", user="postgres", **options):
        """Return where a database lies."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{user}@/{database}?host={self.folder}{more}"

    def computed(self):
        """Return the seconds of computing of the server and of all its sessions that have ended (Linux alone)."""
        number = (self.folder / "data" / "postmaster.pid").read_text().split()[0]
        told = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, told[11:15])) / os.sysconf("SC_CLK_TCK")

    @contextmanager
    def session(self, database="postgres", user="postgres"):
        """Give a connection that commits each statement."""
        address = self.address(database, user, client_encoding="UTF8")
        with closing(adbc.connect(address, autocommit=True)) as connection:
            yield connection

    def run(self, *statements, database="postgres", user="postgres"):
        """Run statements; return the rows of the last one."""
        with self.session(database, user) as connection:
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                    rows = cursor.fetchall() if cursor.description else []
        return rows

    def upload(self, table, name=None, database="postgres"):
        """Put an Arrow table into a new table of the database; return its name."""
        name = name or f"t_{secrets.token_hex(6)}"
        plain = pa.schema([pa.field(f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in table.schema])
        columns = ", ".join(f'"{each.name}" {sql_type(each.type)}' for each in plain)
        with self.session(database) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {name} ({columns})")
            *schema, bare = name.split(".")
            cursor.adbc_ingest(bare, table.cast(plain), mode="append", db_schema_name=schema[0] if schema else None)
        return name


def programs():
    """Return the folder of the server's programs; raise `NoServerError` with the reason where there is none."""
    found = importlib.util.find_spec("pgserver")
    if found is None or found.origin is None:
        raise NoServerError("the package pgserver is not installed")
    folder = Path(found.origin).parent / "pginstall" / "bin"
    if not os.access(folder / "initdb", os.X_OK):
        raise NoServerError("the package pgserver carries no server for this system")
    return folder


@contextmanager
def running_server():
    """Start a server, and stop it in the end; raise `NoServerError` with the reason where there is none."""
    found = programs()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path has at most 100 characters
    user = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def program(name, *arguments):
        log = (folder / "log.txt").open("ab")
        with log:
            subprocess.run(
                [found / name, "-D", folder / "data", *arguments],
                check=True, cwd=folder, timeout=300, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **user,
            )  # fmt: skip

    try:
        try:
            program("initdb", "-U", "postgres", "--no-sync", "--auth=trust", "-E", "UTF8", "--locale=C", "-N")
            program("pg_ctl", "-w", "-o", f"{SETTINGS} -k {folder}", "-l", folder / "server.log", "start")
        except (OSError, subprocess.SubprocessError) as error:
            raise NoServerError(f"the server does not start: {type(error).__name__}") from None
        try:
            yield Server(folder)
        finally:
            program("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
