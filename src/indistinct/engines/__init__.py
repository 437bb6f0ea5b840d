"""Engines open sources, count them and publish what an assignment says; they know no algorithm and no recoding."""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from indistinct.engines.base import Engine, Source
from indistinct.engines.duckdb import DuckDB
from indistinct.engines.memory import Memory
from indistinct.engines.postgres import Postgres
from indistinct.errors import InputError, ParameterError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.schema import did_you_mean
from indistinct.tables import Reading

__all__ = ["NAMES", "bytes_of", "chosen_engine", "count_source", "open_source", "using_source"]

LOG = logging.getLogger("indistinct.open")

NAMES = ("auto", "memory", "duckdb", "postgres")
# Of what is free a table may take so much: counting and publishing need as much again.
SHARE_OF_FREE = 0.5
SMALLEST_MEMORY = 200 * 10**6
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def open_source(
    source: Any, reading: Reading | None = None, *, engine: str = "auto", memory: str | int | None = None
) -> tuple[Engine, Source]:
    """Return a source and the engine that it belongs to: the one that is named, or the one that suits it."""
    chosen = chosen_engine(source, engine, memory)
    opened = chosen.open(source, reading or Reading())
    if opened is None and isinstance(source, str | Path) and not Path(source).exists():
        raise InputError(
            f"there is no file {source}", hint="check the path; a relative one starts at the working directory"
        )
    if opened is None:
        raise InputError(
            f"the engine {chosen.name} cannot read a {type(source).__name__}"
            + (f" that ends in {Path(source).suffix}" if isinstance(source, str | Path) else ""),
            hint="give a path or a frame" if chosen.name == "memory" else "give Parquet, or use the engine memory",
        )
    LOG.info("opened %d rows of %d columns in the engine %s", opened.rows, len(opened.columns), chosen.name)
    return chosen, opened


@contextmanager
def using_source(
    source: Any, reading: Reading | None = None, *, engine: str = "auto", memory: str | int | None = None
) -> Iterator[tuple[Engine, Source]]:
    """Give a source and its engine for a while; a connection that is made for that ends with the block."""
    where, opened = open_source(source, reading, engine=engine, memory=memory)
    try:
        yield where, opened
    finally:
        if opened is not source and hasattr(opened, "close"):
            opened.close()


def chosen_engine(source: Any, name: str = "auto", memory: str | int | None = None) -> Engine:
    """Return the engine of a name; `auto` is memory while a table fits in half of what is free, else DuckDB."""
    if name not in NAMES:
        raise ParameterError(
            f"there is no engine {name!r}",
            hint=did_you_mean(name, NAMES) or f"choose among {', '.join(NAMES)}",
        )
    limit = None if memory is None else bytes_of(memory)
    postgres = Postgres() if limit is None else Postgres(limit)
    if name == "postgres" or (name == "auto" and postgres.owns(source)):
        return postgres
    duckdb = DuckDB() if limit is None else DuckDB(limit)
    if name == "duckdb" or (name == "auto" and (duckdb.owns(source) or _is_too_large(source, duckdb, limit))):
        return duckdb
    return Memory()


def _is_too_large(source: Any, duckdb: DuckDB, limit: int | None) -> bool:
    """Return whether a source that DuckDB can read takes more than half of the memory there is."""
    room = free_bytes() if limit is None else limit
    return duckdb.can_open(source) and room is not None and duckdb.size_of(source) > SHARE_OF_FREE * room


def bytes_of(memory: str | int) -> int:
    """Return an amount of memory in bytes.

    >>> bytes_of("1GB"), bytes_of("512 MB")
    (1000000000, 512000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", str(memory), re.IGNORECASE)
    if found is None:
        raise ParameterError(f"`memory` must be an amount such as 1GB; got {memory!r}", hint="for example 512MB or 4GB")
    amount = int(float(found[1]) * UNITS[found[2].upper()])
    if amount < SMALLEST_MEMORY:
        raise ParameterError(
            f"`memory` must be at least {SMALLEST_MEMORY // 10**6} MB; got {memory!r}",
            hint="the libraries alone take that",
        )
    return amount


def free_bytes() -> int | None:
    """Return how much memory is free, None where the system does not tell."""
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
        found = re.search(r"MemAvailable:\s+(\d+) kB", told)
        return 1024 * int(found[1]) if found else None
    except OSError:
        try:
            return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
        except (ValueError, OSError, AttributeError):
            return None


def count_source(source: Any, request: Request) -> Counted:
    """Return the cells of anything that can be opened."""
    engine, opened = open_source(source)
    return engine.count(opened, request)
