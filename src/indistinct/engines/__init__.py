"""Engines open sources, count them and publish what an assignment says; they know no algorithm and no recoding."""

import functools
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from indistinct.engines.base import (
    MEANINGS,
    DatabaseTable,
    Engine,
    Source,
    bytes_in_memory,
    close_source,
    home_of,
    is_read_in_place,
    place_of,
)
from indistinct.errors import InputError, ParameterError, did_you_mean
from indistinct.frequencies.count import Counted, Request
from indistinct.machine.memory import bytes_of, free_bytes
from indistinct.machine.spill import remove_leftovers
from indistinct.machine.stages import enter
from indistinct.tables.addresses import address_of, named_as_given, no_file
from indistinct.tables.opening import is_out_of_proportion
from indistinct.tables.snapshots import settle_snapshot
from indistinct.tables.value import Reading

__all__ = [
    "MEANINGS",
    "NAMES",
    "check_support",
    "chosen_engine",
    "closes_sources",
    "count_source",
    "every_engine",
    "home_of",
    "lives_elsewhere",
    "make_engine",
    "memory_engine",
    "open_source",
    "using_source",
]

LOG = logging.getLogger("indistinct.open")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
# What the function that is running has opened, and closes when it ends.
_OPENED: ContextVar[list[Any] | None] = ContextVar("opened", default=None)

# Share of free memory for a table: counting and publishing need as much again.
SHARE_OF_FREE = 0.5
DEFAULT_MEMORY = 1 << 30


CLASSES: Mapping[str, str] = {"memory": "Memory", "duckdb": "DuckDB", "postgres": "Postgres", "spark": "Spark"}
"""The class of every engine, in the folder of its name."""
NAMES = ("auto", *CLASSES)


def make_engine(name: str, memory: int = DEFAULT_MEMORY, *, allowed: int | None = None) -> Engine:
    """Return an engine that may take `memory` bytes; its modules are loaded when it is first needed.

    What is read into memory is bounded by `allowed`, or in proportion to its file.
    """
    kind = getattr(import_module(f"{__name__}.{name}"), CLASSES[name])
    made: Engine = kind(allowed if name == "memory" else memory)
    return made


@functools.cache
def every_engine() -> Mapping[str, Engine]:
    """Return every engine by name; the support matrix, `indistinct list` and refusals are made of this."""
    return MappingProxyType({name: make_engine(name) for name in CLASSES})


def open_source(
    source: Any,
    reading: Reading | None = None,
    *,
    engine: str = "auto",
    memory: str | int | None = None,
    table: str | None = None,
    query: str | None = None,
) -> tuple[Engine, Source]:
    """Return a source and the engine that it belongs to: the one that is named, or the one that suits it.

    `table` names a table of the database that `source` leads to, or `query` says what is read of it.
    """
    enter("reading")
    remove_leftovers()
    wanted, how = settle_snapshot(source, reading or Reading())
    wanted = wanted if table is None and query is None else DatabaseTable(source, table, query)
    chosen = chosen_engine(wanted, engine, memory)
    with named_as_given():
        opened = chosen.open(wanted, how)
    if opened is None:
        raise _not_opened(wanted, chosen)
    LOG.info("opened %d rows of %d columns in the engine %s", opened.rows, len(opened.columns), chosen.name)
    recent = _OPENED.get()
    if recent is not None and opened is not source:
        recent.append(opened)
    return chosen, opened


def closes_sources(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function that gives back no source: the sessions of those that it opens end with it, also if it fails.

    An error that is kept, as in a notebook, keeps everything that the failed function had.
    """

    @functools.wraps(function)
    def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        opened: list[Any] = []
        token = _OPENED.set(opened)
        try:
            return function(*arguments, **options)
        finally:
            _OPENED.reset(token)
            for source in opened:
                close_source(source, given=None)

    return run


@contextmanager
def using_source(
    source: Any, reading: Reading | None = None, *, engine: str = "auto", memory: str | int | None = None
) -> Iterator[tuple[Engine, Source]]:
    """Give a source and its engine for a while; a connection that is made for that ends with the block."""
    where, opened = open_source(source, reading, engine=engine, memory=memory)
    try:
        yield where, opened
    finally:
        close_source(opened, given=source)


def chosen_engine(source: Any, name: str = "auto", memory: str | int | None = None) -> Engine:
    """Return the engine of a name; `auto` is the one where a source lives.

    What lives nowhere, such as a file, is memory's while it fits in half of what is free, and else belongs to duckdb,
    which reads it where it lies.
    """
    if name not in NAMES:
        raise ParameterError(
            f"there is no engine {name!r}",
            hint=did_you_mean(name, NAMES) or f"choose among {', '.join(NAMES)}",
        )
    limit = None if memory is None else bytes_of(memory)
    chosen = name if name != "auto" else home_of(source) or _home_by_size(source, limit)
    return make_engine(chosen, DEFAULT_MEMORY if limit is None else limit, allowed=limit)


def memory_engine() -> Engine:
    """Return the engine of tables that are in memory, whichever engine made them."""
    return make_engine("memory")


def lives_elsewhere(source: Any) -> bool:
    """Return whether a source belongs to another engine than memory, as a relation does, and is left where it is."""
    return home_of(source) not in (None, "memory")


def _home_by_size(source: Any, limit: int | None) -> str:
    """Return the engine of what lives nowhere: memory, or duckdb for files that would take too much of it."""
    if not is_read_in_place(source):
        return "memory"
    memory = free_bytes() if limit is None else limit
    is_too_large = memory is not None and bytes_in_memory(source) > SHARE_OF_FREE * memory
    return "duckdb" if is_too_large or is_out_of_proportion(place_of(source), limit) else "memory"


def _not_opened(source: Any, engine: Engine) -> InputError:
    """Return the error of a source that is not the engine's; an address is never shown, it may hold a password."""
    if isinstance(source, DatabaseTable):
        return InputError(
            f"the engine {engine.name} knows no database of this kind, of which a table was named",
            hint="leave out the table if this is a file, or the engine to have it found",
        )
    source = place_of(source)
    if not isinstance(source, str | Path):
        return InputError(
            f"the engine {engine.name} cannot read a {type(source).__name__}",
            hint="leave out the engine to have it found",
        )
    if address_of(source) is not None:
        return InputError(
            f"the engine {engine.name} reads no addresses that begin with {str(source).partition(':')[0]}://",
            hint="of a database, name the table; of anything else, save it in a file",
        )
    if not Path(source).exists():
        return no_file(source)
    what = f"a file that ends in {Path(source).suffix}" if Path(source).suffix else "a file or folder of this kind"
    if engine.name == "postgres":
        return InputError(
            f"the engine postgres cannot read {what}: it reads tables of a database",
            hint="leave out the engine to have it found",
        )
    return InputError(f"the engine {engine.name} cannot read {what}", hint="give Parquet, or use the engine memory")


def check_support(engine: Engine, recodings: Collection[str]) -> None:
    """Raise `ParameterError` unless an engine publishes recodings of every kind that a search may find."""
    missing = [kind for kind in MEANINGS if kind in recodings and kind not in engine.supports]
    if not missing:
        return
    able = [name for name, kind in every_engine().items() if kind.supports.issuperset(recodings)]
    raise ParameterError(
        f"the engine {engine.name} cannot publish {' or '.join(MEANINGS[kind] for kind in missing)}",
        hint=f"use the engine {' or '.join(able)}, or an algorithm of another kind; see the support matrix",
    )


def count_source(source: Any, request: Request) -> Counted:
    """Return the cells of anything that can be opened."""
    engine, opened = open_source(source)
    return engine.count(opened, request)
