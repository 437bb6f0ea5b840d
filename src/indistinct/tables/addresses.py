"""Addresses such as s3://bucket/table.csv, from which tables are read and to which releases are written.

An address may contain a password or a token, so messages show it without.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from indistinct.errors import InputError, MissingExtraError, ParameterError

STANDARD_INPUT = "-"
"""The path that means standard input."""

SCHEME = re.compile(r"((?:[A-Za-z0-9_]+::)*[A-Za-z][A-Za-z0-9+.-]+):/{1,3}(?=[^/])")
# Schemes whose addresses begin with the root directory of a disk.
ON_DISK = ("file", "local")
# Further schemes of fsspec that are no place for a table: they wrap others, or run code.
REFUSED = ("reference", "dask", "generic", "filecache", "simplecache", "blockcache", "cached", "dir", "async_wrapper")
# Databases, whose tables are opened by name.
DATABASES = ("postgresql", "postgres", "mysql", "sqlite", "duckdb", "mssql", "oracle", "jdbc")


class Remote(NamedTuple):
    """A file system of fsspec, and a path in it."""

    system: Any
    path: str


def address_of(place: object) -> str | None:
    """Return the address in a path or text, also if `Path` removed one of its slashes; None for anything else.

    >>> address_of(Path("s3://bucket/a.csv")), address_of("folder/a.csv"), address_of("C:/a.csv")
    ('s3://bucket/a.csv', None, None)
    """
    text = str(place)
    found = SCHEME.match(text)
    if found is None:
        return None
    scheme = found[1]
    return f"{scheme}://{'/' if scheme.lower() in ON_DISK else ''}{text[found.end() :]}"


def is_elsewhere(place: str | Path) -> bool:
    """Return whether a table is not on this machine's disk: at an address, or standard input.

    >>> is_elsewhere("-"), is_elsewhere("s3://bucket/a.csv"), is_elsewhere("a.csv")
    (True, True, False)
    """
    return str(place) == STANDARD_INPUT or address_of(place) is not None


def scheme_of(address: str) -> str:
    """Return the scheme of an address.

    >>> scheme_of("S3://bucket/a.csv")
    's3'
    """
    return address.partition("://")[0].lower()


def without_credentials(place: str | Path) -> str:
    """Return an address without user, password, query and fragment, for messages.

    >>> without_credentials("https://ann:secret@host/a.csv?token=t"), without_credentials("folder/a.csv")
    ('https://***@host/a.csv?***', 'folder/a.csv')
    """
    address = address_of(place)
    if address is None:
        return str(place)
    scheme, _, rest = address.partition("://")
    plain, mark, _ = rest.partition("#")
    body, query, _ = plain.partition("?")
    # A password may contain a bare slash or question mark, so everything before the last @ is hidden.
    _, at, behind = rest.rpartition("@")
    if at:
        behind = re.split("[?#]", behind, maxsplit=1)[0]
        return f"{scheme}://***@{behind}" + ("?***" if query or mark else "")
    return f"{scheme}://{body}" + ("?***" if query or mark else "")


def name_of(address: str) -> str:
    """Return the file name of an address, whose suffix determines how it is read.

    >>> name_of("https://host/folder/a.csv?token=x/y.parquet")
    'a.csv'
    """
    path = re.split("[?#]", address.partition("://")[2], maxsplit=1)[0]
    return path.rstrip("/").rpartition("/")[2]


def remote(address: str) -> Remote:
    """Return the file system of an address; raise an error that names the scheme where there is none.

    fsspec's messages are not repeated, because they may quote the address.
    """
    scheme = scheme_of(address)
    if scheme in DATABASES:
        raise InputError(
            f"a file has a path; got an address that begins with {scheme}://",
            hint='of a database, name the table: ind.open(address, table="schema.name"), or --table',
        )
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("fsspec", extra="cloud", purpose=f"an address that begins with {scheme}://") from None
    known = sorted(set(fsspec.available_protocols()) - set(REFUSED))
    if scheme not in known or "::" in address:
        raise ParameterError(
            f"the scheme {scheme}:// is not known" if "::" not in address else "an address with :: in it is not read",
            hint="known are, among others, s3://, gs://, abfs://, https://, sftp:// and memory://; a file has a path",
        )
    try:
        system, path = fsspec.core.url_to_fs(address)
    except ImportError:
        raise InputError(
            f"addresses that begin with {scheme}:// need a further package, which is not installed",
            hint=f"install what fsspec needs for {scheme}://, such as s3fs, gcsfs, adlfs, or aiohttp and requests",
        ) from None
    except Exception:  # noqa: BLE001 (every file system has its own errors)
        raise InputError(
            f"{without_credentials(address)} cannot be reached",
            hint="check the address, and what it needs to let you in",
        ) from None
    return Remote(system, path)
