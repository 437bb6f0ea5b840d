"""The tables of a release that was made here: opened when they are used, in memory or where they were written."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from indistinct.engines import chosen_engine, memory_engine, open_source
from indistinct.engines.base import PublishedFile, Source
from indistinct.frequencies.structure import Structure
from indistinct.release.certificate import table_path
from indistinct.release.opening import OpenedTables
from indistinct.release.writing.places import FilePlace, WrittenTables


@dataclass(frozen=True, slots=True, eq=False)
class SourcesOnDemand(Mapping[str, Source]):
    """Sources by name, each opened when it is first used."""

    names: tuple[str, ...]
    open_one: Callable[[str], Source]
    opened: dict[str, Source]

    def __getitem__(self, name: str) -> Source:
        if name not in self.names:
            raise KeyError(name)
        if name not in self.opened:
            self.opened[name] = self.open_one(name)
        return self.opened[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def published_tables(tables: Mapping[str, pa.Table], structure: Structure) -> OpenedTables:
    """Return the tables of a release that was made here, each opened when it is first used.

    Written files that are too large for memory are read where they lie; all others are in memory.
    """
    engine = memory_engine()
    open_one: Callable[[str], Source] = partial(_open_in_memory, tables)
    if isinstance(tables, WrittenTables) and isinstance(tables.place, FilePlace):
        where = chosen_engine(tables.place.path)
        if where.name != engine.name:
            engine, open_one = where, partial(_open_written, tables.place, where.name)
    return OpenedTables(engine, SourcesOnDemand(tuple(tables), open_one, {}), structure)


def _open_in_memory(tables: Mapping[str, pa.Table], name: str) -> Source:
    return open_source(tables[name])[1]


def _open_written(place: FilePlace, engine: str, name: str) -> Source:
    return open_source(PublishedFile(table_path(place.path, name)), engine=engine)[1]
