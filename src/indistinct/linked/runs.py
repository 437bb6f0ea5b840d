"""Event rows of published people in runs of whole classes; one run at a time is in memory.

The guarantee is about one class at a time. So what is published of a class, and whether it holds, follows from the
class's own rows, and tables on disk are searched, published and verified run by run.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing

import numpy as np
import pyarrow as pa

from indistinct.engines.stored_rows import GROUP, PartitionBounds, Partitions
from indistinct.linked.opened import PERSON, OpenEvents, OpenTables
from indistinct.linked.people import PeopleClasses
from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.memory import give_memory_back

BYTES_OF_ROW = 1 << 10
"""Bytes that an event row takes at most, about, while its class is searched or verified."""


def rows_of_each_class(classes: PeopleClasses, counts: Codes) -> Codes:
    """Return the rows of each class, from those of each original person."""
    rows = np.zeros(classes.size, dtype=np.int64)
    np.add.at(rows, classes.classes, counts[classes.kept])
    return rows


def class_of_each_person(opened: OpenTables, classes: PeopleClasses) -> Codes:
    """Return the class of each original person, -1 for one who is suppressed."""
    class_ids = np.full(opened.size, -1, dtype=np.int64)
    class_ids[classes.kept] = classes.classes
    return class_ids


def bounds_of_runs(rows: Codes, memory: int) -> PartitionBounds:
    """Divide classes into runs that take about `memory` bytes each, by their numbers of rows."""
    return PartitionBounds.of(starts_of(rows), max(memory // BYTES_OF_ROW, 1), divisible=False)


def rows_of_classes(opened: OpenTables, classes: PeopleClasses, chosen: Codes | None) -> Sequence[OpenEvents]:
    """Return the event rows of some classes, or of all; of tables in memory these may be more."""
    if not opened.stored:
        return opened.events
    inside = class_of_each_person(opened, classes) >= 0
    if chosen is not None:
        inside[classes.kept] = chosen[classes.classes]
    tables = []
    for events in opened.stored:
        blocks = [block.filter(pa.array(inside[block[PERSON].to_numpy()])) for block in events.blocks(events.sensitive)]
        tables.append(events.load(pa.concat_tables(blocks)))
    return (*tables, *opened.events)


def class_runs(opened: OpenTables, classes: PeopleClasses, *, data: bool) -> Iterator[Sequence[OpenEvents]]:
    """Yield the event rows of published people by runs of whole classes; all at once where tables are in memory.

    With `data` the unmodified columns are included, otherwise only those that are judged.
    """
    if not opened.stored:
        yield opened.events
        return
    group = class_of_each_person(opened, classes)
    rows = sum(
        (rows_of_each_class(classes, events.counts(opened.size)) for events in opened.judged),
        np.zeros(classes.size, dtype=np.int64),
    )
    cuts = bounds_of_runs(rows, opened.memory)
    with ExitStack() as stack:
        partitions = []
        for events in opened.stored:
            kept = Partitions(starts_of(rows), opened.memory // 8, cuts=cuts)
            partitions.append(stack.enter_context(closing(kept)))
            for block in events.blocks(events.names if data else events.sensitive):
                groups = group[block[PERSON].to_numpy()]
                inside = np.flatnonzero(groups >= 0)
                kept.add(block.take(pa.array(inside)), groups[inside], None)
        for run in zip(*(each.read() for each in partitions), strict=True):
            first, last, _ = run[0]
            loaded = [
                events.load(part.drop_columns([GROUP])) for events, (_, _, part) in zip(opened.stored, run, strict=True)
            ]
            inside = (group >= first) & (group < last)
            yield (*loaded, *(events.select(inside) for events in opened.events))
            give_memory_back(sum(each.rows for each in loaded))
