"""Addresses of PostgreSQL databases: which texts are one, and how one is shown without what must stay secret."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

SCHEMES = ("postgresql://", "postgres://")
# Of what stands behind the question mark only these are shown; a password may stand there too.
SHOWN = ("host", "port", "dbname", "user", "service")


def is_address(source: Any) -> bool:
    """Return whether a text is the address of a PostgreSQL database.

    >>> is_address("postgresql://host/clinic"), is_address("clinic.csv")
    (True, False)
    """
    return isinstance(source, str) and source.startswith(SCHEMES) and not isinstance(source, Path)


def shown(address: str) -> str:
    """Return an address that leads to the same database and holds no password, nor options.

    >>> shown("postgresql://ann:se%40cret@host:5433/clinic?sslpassword=x&user=bob")
    'postgresql://ann@host:5433/clinic?user=bob'
    """
    try:
        parts = urlsplit(address)
        user, _, place = parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        options = [f"{key}={value}" for key, value in parse_qsl(parts.query) if key in SHOWN]
    except ValueError:
        return "postgresql://"
    if "@" in address.replace(parts.netloc, "", 1):
        return "postgresql://"  # a password with a bare mark in it was cut in the wrong place
    netloc = f"{name}@{place}" if name else place
    return f"postgresql://{netloc}{parts.path}" + (f"?{'&'.join(options)}" if options else "")
