"""Addresses of PostgreSQL databases: which texts are one, and how one is shown without what must stay secret."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

SCHEMES = ("postgresql://", "postgres://")
# Of what stands behind the question mark only these are shown; a password may stand there too.
SHOWN = ("host", "port", "dbname", "user", "service")
# What users, hosts and databases look like. Anything else may be a password that is in the wrong place.
NAME = r"[\w.~-]*"
HOST = rf"(?:{NAME}|\[[\da-fA-F:.]*\])(?::\d*)?"
PLACE = re.compile(rf"(?P<user>{NAME}@)?(?P<hosts>{HOST}(?:,{HOST})*)")
VALUE = re.compile(r"[\w.,:/~-]*")


def is_address(source: Any) -> bool:
    """Return whether a text is the address of a PostgreSQL database.

    >>> is_address("postgresql://host/clinic"), is_address("clinic.csv")
    (True, False)
    """
    return isinstance(source, str) and source.startswith(SCHEMES) and not isinstance(source, Path)


def without_password(address: str) -> str:
    """Return an address that leads to the same database and holds no password, nor options.

    Of one that is not well formed nothing is shown: its password may stand anywhere.

    >>> without_password("postgresql://ann:se%40cret@host:5433/clinic?sslpassword=x&user=bob")
    'postgresql://ann@host:5433/clinic?user=bob'
    >>> without_password("postgresql://ann:secret%40host/clinic")
    'postgresql://'
    """
    try:
        parts = urlsplit(address)
        user, mark, place = parts.netloc.rpartition("@")
        options = [(key, value) for key, value in parse_qsl(parts.query) if key in SHOWN]
    except ValueError:
        return "postgresql://"
    netloc, path = f"{user.partition(':')[0]}{mark}{place}", parts.path
    plain = PLACE.fullmatch(netloc) and VALUE.fullmatch(path) and all(VALUE.fullmatch(value) for _, value in options)
    if not plain or "@" in address.replace(parts.netloc, "", 1):
        return "postgresql://"  # a password with a bare mark in it was cut in the wrong place
    told = "&".join(f"{key}={value}" for key, value in options)
    return f"postgresql://{netloc.removeprefix('@')}{path}" + (f"?{told}" if told else "")
