"""A ledger: one private file that remembers every release of the same people, by pseudonyms under a key of its own.

It is a SQLite database of mode 0600, whose journal has the same mode. An entry is there before a release gets its name
and is marked as published afterwards. So a kill at any moment leaves no release that the ledger does not know; it may
leave an entry of a release that never appeared, with which later ones are compared all the same.
"""

import hmac
import json
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from indistinct.errors import IndistinctError, InputError, OutputError, ParameterError
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.locks import UNFOLLOWED, turn
from indistinct.models.registry import parse_model
from indistinct.release.certificate import Certificate
from indistinct.release.history.histories import Standing
from indistinct.release.pseudonyms.making import KEY_BYTES, KIND, new_key

APPLICATION, FORMAT = 0x696E6469, 2
# The first format kept digests of values, and neither k nor whether a release was fresh. It is read, and becomes the
# second one when a release is recorded.
FIRST_FORMAT = 1
# Seconds to wait for another run that writes at this moment.
PATIENCE = 30
# What a database of SQLite begins with.
SQLITE = b"SQLite format 3\0"
# What the system refuses, of a ledger that may be whole.
REFUSALS = {
    sqlite3.SQLITE_BUSY: "another run is using it",
    sqlite3.SQLITE_LOCKED: "another run is using it",
    sqlite3.SQLITE_READONLY: "it cannot be written",
    sqlite3.SQLITE_IOERR: "the disk refused it",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_PERM: "it may not be opened",
}
UNREADABLE = (sqlite3.Error, ValueError, KeyError, TypeError, AttributeError, OverflowError)
TABLES = """
CREATE TABLE ledger (key BLOB NOT NULL);
CREATE TABLE releases (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    token TEXT NOT NULL UNIQUE,
    about TEXT NOT NULL,
    content BLOB NOT NULL,
    seal BLOB NOT NULL
);
CREATE TABLE published (number INTEGER PRIMARY KEY REFERENCES releases ON DELETE CASCADE);
"""
# The mark of a published release is a row of its own, so that setting it does not write the release again.
RELEASES = """
SELECT number, token, about, content, seal, published.number IS NOT NULL
FROM releases LEFT JOIN published USING (number) ORDER BY number
"""
STRANGE_NUMBERS = """
SELECT (SELECT count(*) FROM published WHERE number NOT IN (SELECT number FROM releases))
    + (SELECT count(*) FROM releases WHERE number < 1 OR number > (SELECT max(seq) FROM sqlite_sequence))
"""
SETTINGS = (
    "secure_delete = ON",
    "temp_store = MEMORY",
    "trusted_schema = OFF",
    "synchronous = FULL",
    "foreign_keys = ON",
)
FORGET = "DELETE FROM releases WHERE number = ?"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An entry of a ledger: figures and digests of a release, without names or values.

    `published` is False if a run ended after writing the entry and before the release had its name. `pseudonyms` are
    the columns with keyed pseudonyms, which link it with later releases. `k` is the smallest class that its models
    allow, and `fresh` is True if all its unmodified columns were re-measured.
    """

    number: int
    made: str
    published: bool
    people: int
    classes: int
    k: int
    models: tuple[str, ...]
    certificate_digest: str
    output_digest: str | None
    recoding_digest: str | None
    recoding: str | None
    pseudonyms: tuple[str, ...] = ()
    fresh: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Ledger:
    """An opened ledger: where it is, its key, and the releases that it remembers."""

    path: Path
    key: bytes
    entries: tuple[LedgerEntry, ...] = ()

    @property
    def newest(self) -> int:
        """Return the number of the last release, 0 where there is none."""
        return self.entries[-1].number if self.entries else 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Record:
    """What a ledger is to remember of a release as soon as that is published; `newest` was the last one before it."""

    ledger: Ledger
    standing: Standing
    recoding: Path | None = None
    newest: int = 0
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    @contextmanager
    def remember(self, certificate: Certificate, *, digest: str) -> Iterator[None]:
        """Make the entry, let the block publish the release, and take the entry back if it does not."""
        number = self._begun(certificate, digest)
        try:
            yield
        except BaseException:
            if number is not None:
                with suppress(InputError, OutputError):
                    _change(self.ledger.path, FORGET, number)
            raise
        if number is not None:
            # The entry counts whatever it is marked with: a release that is out is never taken back for the mark.
            with suppress(InputError, OutputError):
                _change(self.ledger.path, "INSERT INTO published (number) VALUES (?)", number)

    def _begun(self, certificate: Certificate, digest: str) -> int | None:
        """Return the number of the new entry, None if the same release was published before at another path."""
        about = json.dumps(_about(certificate, self.standing, digest, self.recoding))
        content = packed(self.standing)
        sealed = _seal(self.ledger.key, FORMAT, self.token, about, content)
        with _writing(self.ledger.path) as connection:
            _upgrade(connection, self.ledger)
            rows = connection.execute("SELECT number FROM releases WHERE token = ?", (self.token,)).fetchall()
            if rows:
                marked = connection.execute("SELECT 1 FROM published WHERE number = ?", rows[0]).fetchone()
                return None if marked else int(rows[0][0])
            if (connection.execute("SELECT max(number) FROM releases").fetchone()[0] or 0) != self.newest:
                raise OutputError(
                    f"another release was recorded in {self.ledger.path} since this one was compared with it",
                    hint="nothing was written; run again, so that it is compared with that one too",
                )
            made = connection.execute(
                "INSERT INTO releases (token, about, content, seal) VALUES (?, ?, ?, ?)",
                (self.token, about, content, sealed),
            )
            return made.lastrowid


def open_ledger(path: str | Path, *, create: bool = False) -> Ledger:
    """Open a ledger; with `create` a missing one is created, readable by its owner alone.

    Raises `InputError` for a file that others may read, that is no ledger, or that was changed.
    """
    file = Path(path)
    created = create and _create_file(file)
    _require_private(file)
    if created or (create and not file.stat().st_size):
        _create_tables(file)
    with _reading(file) as connection:
        form, key = _format(connection, file), _key(connection, file)
        _require_numbers(connection, file)
        entries = []
        for number, token, about, content, sealed, published in connection.execute(RELEASES):
            _require_seal(sealed, _seal(key, form, token, about, content), file, number)
            document = json.loads(about)
            head = {"k": _k_of(document), "fresh": False} if form == FIRST_FORMAT else head_of(content)
            entries.append(_entry(number, document, head, published=bool(published)))
    return Ledger(file, key, tuple(entries))


def _require_numbers(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if the number of a release was changed, or an entry refers to a release that does not exist."""
    if connection.execute(STRANGE_NUMBERS).fetchone()[0]:
        raise _broken(path, "the number of a release was changed")


def standings(ledger: Ledger) -> list[Standing]:
    """Return the classes of each person in every recorded release, the first one first."""
    with _reading(ledger.path) as connection:
        form = _format(connection, ledger.path)
        rows = connection.execute("SELECT about, content FROM releases ORDER BY number").fetchall()
        return [_standing(form, about, content) for about, content in rows]


@with_checked_arguments
def read_ledger(path: str | Path) -> tuple[LedgerEntry, ...]:
    """Return the releases that a ledger records: number, time, digests, numbers of people and classes; no values.

    Parameters
    ----------
    path
        The ledger.

    Returns
    -------
    tuple of LedgerEntry
        The releases, oldest first.

    Raises
    ------
    InputError
        If the path is no ledger, or other users may read it.

    Examples
    --------
    >>> import tempfile
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"id": [1, 2, 3, 4, 5, 6], "age": [21, 22, 23, 41, 42, 44]})
    >>> schema = ind.Schema(person=["id"], quasi=["age"])
    >>> folder = Path(tempfile.mkdtemp())
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), ledger=folder / "people.ledger")
    >>> _ = release.write(folder / "release.csv")
    >>> [(each.number, each.people, each.classes) for each in read_ledger(folder / "people.ledger")]
    [(1, 6, 2)]
    """
    return open_ledger(path).entries


@with_checked_arguments
def forget_release(path: str | Path, number: int) -> LedgerEntry:
    """Remove a release from a ledger, so that later releases are not compared with it.

    This is for releases that were never published, or were withdrawn before a recipient got them.

    Parameters
    ----------
    path
        The ledger.
    number
        Number of the release in the ledger.

    Returns
    -------
    LedgerEntry
        The removed entry.

    Raises
    ------
    InputError
        If the path is no ledger, or has no release of this number.

    Examples
    --------
    >>> import tempfile
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"id": [1, 2, 3, 4, 5, 6], "age": [21, 22, 23, 41, 42, 44]})
    >>> schema = ind.Schema(person=["id"], quasi=["age"])
    >>> folder = Path(tempfile.mkdtemp())
    >>> release = ind.anonymize(table, schema, model=ind.KAnonymity(k=3), ledger=folder / "people.ledger")
    >>> _ = release.write(folder / "release.csv")
    >>> forget_release(folder / "people.ledger", 1).number, len(read_ledger(folder / "people.ledger"))
    (1, 0)
    """
    with reserve(path):
        entries = {entry.number: entry for entry in read_ledger(path)}
        if number not in entries:
            raise ParameterError(
                f"the ledger {path} has no release {number}",
                hint=f"it has {', '.join(map(str, entries)) or 'none'}: see `indistinct ledger show {path}`",
            )
        _change(Path(path), FORGET, number)
    return entries[number]


@contextmanager
def reserve(path: str | Path) -> Iterator[None]:
    """Wait until no other run compares with a ledger and publishes."""
    file = Path(path)
    with turn(file.with_name(f".{file.name}.lock")):
        yield


def _create_file(path: Path) -> bool:
    """Create an empty file readable by its owner alone; return whether it is new."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | UNFOLLOWED, 0o600))
    except FileExistsError:
        return False
    except OSError as error:
        raise OutputError(
            f"the ledger {path} cannot be created: {os.strerror(error.errno or 0)}",
            hint="check that its directory is there and yours",
        ) from None
    return True


def _require_private(path: Path) -> None:
    """Raise `InputError` unless a path is a ledger that only this user can read."""
    try:
        status = path.stat()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise InputError(
            f"there is no ledger {path}"
            if missing
            else f"the ledger {path} cannot be read: {os.strerror(error.errno or 0)}",
            hint="check the path; `anonymize` and `apply` with --ledger make a new one",
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path} is not a file, so not a ledger", hint="name the file that --ledger made")
    if not _begins_as_database(path):
        raise InputError(f"{path} is not a ledger", hint="name the file that --ledger made")
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
        raise InputError(
            f"the ledger {path}, which shows who was in which release, can be read by other users",
            hint=f"find out who has read it, then make it private: chmod 600 {path}",
        )


def _begins_as_database(path: Path) -> bool:
    """Return whether a file is empty, as a new ledger, or begins as SQLite writes it."""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) in (b"", SQLITE)
    except OSError:
        return True  # reading it says what is wrong


def _create_tables(path: Path) -> None:
    """Make the tables of a new ledger and draw its key."""
    with _writing(path) as connection:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return
        for statement in filter(str.strip, TABLES.split(";")):
            connection.execute(statement)
        connection.execute("INSERT INTO ledger (key) VALUES (?)", (new_key(),))
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def _format(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format of a ledger that this version can read."""
    mark, form = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if mark != APPLICATION or form not in (FIRST_FORMAT, FORMAT):
        raise _broken(path, "it is no ledger that this version can read")
    return int(form)


def _upgrade(connection: sqlite3.Connection, ledger: Ledger) -> None:
    """Bring a ledger of the first format into the second, inside the transaction that records a release."""
    if _format(connection, ledger.path) == FORMAT:
        return
    rows = connection.execute("SELECT number, token, about, content, seal FROM releases").fetchall()
    for number, token, about, content, sealed in rows:
        _require_seal(sealed, _seal(ledger.key, FIRST_FORMAT, token, about, content), ledger.path, number)
        again = packed(_standing(FIRST_FORMAT, about, content))
        connection.execute(
            "UPDATE releases SET content = ?, seal = ? WHERE number = ?",
            (again, _seal(ledger.key, FORMAT, token, about, again), number),
        )
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _standing(form: int, about: str, content: bytes) -> Standing:
    """Read the classes of each person in a stored release."""
    return unpacked_of_format_1(content, k=_k_of(json.loads(about))) if form == FIRST_FORMAT else unpacked(content)


def _k_of(about: dict[str, Any]) -> int:
    """Return the k of a release in the first format: that of its models, or its smallest class if none is known."""
    known = [0]
    for verdict in about["certificate"]["verdicts"]:
        with suppress(IndistinctError):
            known.append(parse_model(verdict["model"]).smallest)
    return max(known) or int(about["certificate"]["smallest_class"])


def _key(connection: sqlite3.Connection, path: Path) -> bytes:
    """Return the key of a ledger; raise if it is missing."""
    rows = connection.execute("SELECT key FROM ledger").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], bytes) or len(rows[0][0]) != KEY_BYTES:
        raise _broken(path, "it has no key")
    return rows[0][0]


def _about(certificate: Certificate, standing: Standing, digest: str, recoding: Path | None) -> dict[str, Any]:
    """Return the description of a release that the ledger stores."""
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "people": len(standing),
        "classes": standing.size,
        "certificate_digest": digest,
        "recoding": None if recoding is None else str(recoding),
        "certificate": certificate.to_json(),
    }


def _entry(number: int, about: dict[str, Any], head: dict[str, Any], *, published: bool) -> LedgerEntry:
    """Convert a stored description to a ledger entry."""
    certificate = about["certificate"]
    return LedgerEntry(
        number,
        about["made"],
        published,
        about["people"],
        about["classes"],
        int(head["k"]),
        tuple(verdict["model"] for verdict in certificate["verdicts"]),
        about["certificate_digest"],
        certificate["output_digest"],
        certificate["recoding_digest"],
        about["recoding"],
        tuple(name for name, kind in certificate.get("pseudonyms", {}).items() if kind.startswith("keyed")),
        bool(head["fresh"]),
    )


def _seal(key: bytes, form: int, token: str, about: str, content: bytes) -> bytes:
    """Return the message authentication code of an entry under this key and format."""
    kind = b"entry" if form == FIRST_FORMAT else f"entry of format {form}".encode()
    parts = (kind, token.encode(), about.encode(), content)
    return hmac.digest(key, b"".join(len(part).to_bytes(8, "big") + part for part in parts), "sha256")


def _require_seal(content: bytes, expected: bytes, path: Path, number: int) -> None:
    if not hmac.compare_digest(content, expected):
        raise _broken(path, f"release {number} was changed, or belongs to another key")


def _change(path: Path, statement: str, number: int) -> None:
    """Change one entry of a ledger."""
    with _writing(path) as connection:
        connection.execute(statement, (number,))


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection inside one transaction: all of it is on disk afterwards, or nothing."""
    with _reading(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database of a ledger for one block; errors name the ledger."""
    try:
        address = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
            # What is forgotten is overwritten, nothing goes to other files than the journal, and what a file brings
            # along is not run.
            for setting in SETTINGS:
                connection.execute(f"PRAGMA {setting}")
            yield connection
    except UNREADABLE as error:
        reason = REFUSALS.get(getattr(error, "sqlite_errorcode", -1) & 0xFF)  # the first byte is the kind of error
        if reason is not None:
            raise OutputError(
                f"the ledger {path} cannot be used: {reason}",
                hint="check its permissions and the free space, run again",
            ) from None
        # What SQLite says may quote what it read.
        raise _broken(path, "it is not a ledger, or it was changed") from None


def _broken(path: Path, reason: str) -> InputError:
    return InputError(
        f"the ledger {path} cannot be read: {reason}",
        hint="use the file that --ledger made, as it was, or its last backup; a new ledger knows no earlier release",
    )


COUNTS, CODES = "<u4", "<i4"


def packed(standing: Standing) -> bytes:
    """Return a standing as bytes."""
    arrays = [standing.people, np.diff(standing.indptr).astype(COUNTS), standing.classes.astype(CODES)]
    head = {
        "person": dict(standing.person),
        "size": standing.size,
        "k": standing.k,
        "fresh": standing.fresh,
        "lengths": [len(array) for array in arrays],
    }
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(4, "big"), text, *(array.tobytes() for array in arrays)])


def unpacked(content: bytes) -> Standing:
    """Return the standing that was packed; raise `ValueError`, `KeyError` or `TypeError` for anything else."""
    head, arrays = _read(content, [KIND, COUNTS, CODES])
    people, counts, classes = arrays
    return Standing(
        head["person"], people, starts_of(counts), classes, head["size"], int(head["k"]), bool(head["fresh"])
    )


def unpacked_of_format_1(content: bytes, *, k: int) -> Standing:
    """Return the standing that a ledger of the first format packed, with digests of values; nothing in it was fresh."""
    end = 4 + int.from_bytes(content[:4], "big")
    columns = len(json.loads(content[4:end])["signatures"])
    head, arrays = _read(content, [KIND, KIND, COUNTS, CODES, *([KIND, COUNTS, CODES] * columns)])
    people, _, counts, classes = arrays[:4]
    return Standing(head["person"], people, starts_of(counts), classes, head["size"], k)


def head_of(content: bytes) -> dict[str, Any]:
    """Return the header before the arrays: the person columns, `k`, and whether values were re-measured."""
    head: dict[str, Any] = json.loads(content[4 : 4 + int.from_bytes(content[:4], "big")])
    return head


def _read(content: bytes, kinds: Sequence[str]) -> tuple[dict[str, Any], list[Codes]]:
    """Read the header and the arrays of a stored release."""
    end = 4 + int.from_bytes(content[:4], "big")
    head = head_of(content)
    rest, arrays, at = memoryview(content)[end:], [], 0
    for kind, length in zip(kinds, head["lengths"], strict=True):
        arrays.append(np.frombuffer(rest, dtype=kind, count=length, offset=at) if length else np.zeros(0, kind))
        at += length * np.dtype(kind).itemsize
    return head, arrays
