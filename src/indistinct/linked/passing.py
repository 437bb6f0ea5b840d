"""Streamed tables in published form: pseudonyms, offsets and sorted rows, one partition of people at a time.

Rows of suppressed people are removed, the others go to partitions on disk by the order of their pseudonyms. Each
partition is then sorted in memory, so that the output is sorted as a whole.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np
import pyarrow as pa

from indistinct.engines.stored_rows import GROUP, Partitions
from indistinct.linked.calendar import OPEN, OffsetLabels, Unit, label_offsets, spell_offsets, units_of_days
from indistinct.linked.opened import OpenTables, PassedEvents, window_days
from indistinct.linked.opening import people_and_days
from indistinct.linked.order import sort_columns, sort_ranks
from indistinct.linked.people import PeopleClasses
from indistinct.machine.arrays import Codes, starts_of
from indistinct.machine.memory import give_memory_back
from indistinct.machine.ordering import distinct_with_places, order_numbers, text_order
from indistinct.machine.randomness import shuffle_runs
from indistinct.tables.several import require_unchanged

PARTITION_BYTES = 1 << 27
"""Approximate number of bytes of rows that are sorted together."""
UNITS = "\0units"
"""The column of offsets that is stored with rows; no column of a table begins with this character."""
MAX_WORD = 1 << 62


def passed_rows(
    opened: OpenTables, classes: PeopleClasses, names: pa.Array, events: PassedEvents
) -> Iterator[pa.Table]:
    """Yield the published rows of a streamed table in their order; `names` are the pseudonyms of published people.

    At least one table comes, without rows if there are none.
    """
    order = text_order(names)
    rank = np.full(opened.size, -1, dtype=np.int64)
    rank[classes.kept[order]] = np.arange(len(order))
    starts = starts_of(events.persons.counts[classes.kept[order]])
    labels = _Labels(opened, classes, events) if events.table.time is not None else None
    sorted_names, sorted_classes = names.take(pa.array(order)), classes.classes[order]
    with closing(Partitions(starts, PARTITION_BYTES)) as partitions:
        for rows, owners in _kept_rows(opened, events, rank):
            partitions.add(rows, owners, None)
        if partitions.kinds is None:
            partitions.add(_kept_columns(events, events.stream.schema.empty_table()), np.zeros(0, dtype=np.int64), None)
        for first, last, part in partitions.read():
            people = range(first, last)
            yield _publish(events, part, people, sorted_names, sorted_classes, labels)
            give_memory_back(part.num_rows)


def _kept_rows(opened: OpenTables, events: PassedEvents, rank: Codes) -> Iterator[tuple[pa.Table, Codes]]:
    """Yield the rows of published people, and the rank of each person's pseudonym."""
    table, policy = events.table, opened.policy
    needed = [table.person, *([] if table.time is None else [table.time.column]), *events.names]
    unit: Unit = "days" if policy.time is None else policy.time.unit
    with require_unchanged(events.stream.stamps):
        for block in events.stream.read(needed):
            person, days = people_and_days(policy, table, block, opened.ids, opened.dates)
            owners = rank[person]
            kept = np.flatnonzero(owners >= 0)
            rows = _kept_columns(events, block, None if days is None else units_of_days(days, unit))
            if len(kept) < len(owners):
                rows, owners = rows.take(pa.array(kept)), owners[kept]
            yield rows, owners


def _kept_columns(events: PassedEvents, block: pa.Table, units: Codes | None = None) -> pa.Table:
    """Return the published columns and the offsets (0 without dates), so that there is at least one column."""
    kept = {name: block[name] for name in events.names}
    return pa.table({**kept, UNITS: np.zeros(block.num_rows, dtype=np.int64) if units is None else units})


class _Labels:
    """The offsets of a streamed table: the labels of a class follow from its first and last offset."""

    def __init__(self, opened: OpenTables, classes: PeopleClasses, events: PassedEvents) -> None:
        self.unit: Unit = "days" if opened.policy.time is None else opened.policy.time.unit
        self.limits = classes.dates.limits(window_days(opened.policy, events.name))
        counted = np.flatnonzero(events.persons.counts[classes.kept] > 0)
        first, last = np.full(classes.size, OPEN), np.full(classes.size, -OPEN)
        own = classes.classes[counted]
        np.minimum.at(first, own, events.persons.first[classes.kept[counted]])
        np.maximum.at(last, own, events.persons.last[classes.kept[counted]])
        filled = np.unique(own)
        ends = np.concatenate([first[filled], last[filled]])
        self.ends, self.classes_of_ends = units_of_days(ends, self.unit), np.concatenate([filled, filled])

    def texts(self, units: Codes, classes: Codes) -> tuple[pa.Array, Codes]:
        """Return the distinct published texts in their order, and which of them each row shows."""
        labels = label_offsets(
            np.concatenate([units, self.ends]),
            np.concatenate([classes, self.classes_of_ends]),
            1,
            self.limits,
            self.unit,
        )
        return offset_texts(OffsetLabels(labels.low[: len(units)], labels.high[: len(units)]), self.unit)


def offset_texts(offsets: OffsetLabels, unit: Unit) -> tuple[pa.Array, Codes]:
    """Return the distinct texts of offsets in their order, and which of them each row shows."""
    if not len(offsets.low):
        return pa.array([], pa.string()), np.zeros(0, dtype=np.int64)
    lows, low = distinct_with_places(offsets.low)
    highs, high = distinct_with_places(offsets.high)
    words, inverse = distinct_with_places(low * len(highs) + high)
    texts = pa.array(spell_offsets(lows[words // len(highs)], highs[words % len(highs)], unit), pa.string())
    order = text_order(texts)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return texts.take(pa.array(order)), ranks[inverse]


def _publish(
    events: PassedEvents,
    part: pa.Table,
    people: range,
    names: pa.Array,
    classes: Codes,
    labels: _Labels | None,
) -> pa.Table:
    """Return the published rows of some people, sorted."""
    owner = part[GROUP].to_numpy().astype(np.int64)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    ranks = [owner - people.start]
    owners = pa.array(owner - people.start, pa.int32())
    columns[events.table.person] = pa.DictionaryArray.from_arrays(owners, names.slice(people.start, len(people)))
    if labels is not None and events.table.time is not None:
        texts, positions = labels.texts(part[UNITS].to_numpy(), classes[owner])
        columns[events.table.time.column] = pa.DictionaryArray.from_arrays(pa.array(positions, pa.int32()), texts)
        ranks.append(positions)
    for name in events.names:
        columns[name] = part[name]
    shown_names = sort_columns(events.table, list(columns))
    ranks += [own_ranks for name in shown_names if name in events.names
              if (own_ranks := sort_ranks(part[name], text=False)) is not None]  # fmt: skip
    order = pa.array(sorted_rows(ranks, part.num_rows))
    return pa.table({name: columns[name].take(order) for name in shown_names})


def sorted_rows(ranks: Sequence[Codes], rows: int) -> Codes:
    """Return rows in the lexicographic order of their ranks; rows that agree in all of them are shuffled.

    >>> sorted_rows([np.array([1, 0, 1]), np.array([0, 5, 2])], 3).tolist()
    [1, 0, 2]
    """
    size = 1
    word: Codes = np.zeros(rows, dtype=np.int64)
    for each in ranks:
        width = int(each.max(initial=0)) + 1
        if size * width >= MAX_WORD:
            known, word = distinct_with_places(word)
            size = len(known)
        word = word * width + each
        size *= width
    order, starts = order_numbers(word)
    order = np.array(order)
    shuffle_runs(order, starts, None, stream=0)
    return order
