"""The classes of the people table, and the dates that their labels allow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.errors import InputError
from indistinct.linked.calendar import OPEN, ClassDates
from indistinct.linked.declared import LinkedPolicy, LinkedTable
from indistinct.linked.opened import OpenTables, window_days
from indistinct.machine.arrays import Codes
from indistinct.recoding.label_spans import span_of
from indistinct.recoding.outputs import OR_MISSING
from indistinct.tables.domain import Kind

EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class PeopleClasses:
    """The people who are published and their labels.

    `kept` are their rows of the original people table, `classes` their class numbers, `labels` the published
    quasi-identifiers of each, and `loss` the mean loss of the original values, 1 for a person who is dropped. `dates`
    are those that the labels of each class allow.
    """

    kept: Codes
    classes: Codes
    labels: pa.Table
    loss: float
    dates: ClassDates

    @property
    def size(self) -> int:
        """Return the number of classes."""
        return int(self.classes.max(initial=-1)) + 1


def text_codes(column: pa.ChunkedArray) -> Codes:
    """Return a number for each distinct text, missing included."""
    codes = column.combine_chunks().dictionary_encode(null_encoding="encode").indices
    numbers: Codes = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def class_dates(
    policy: LinkedPolicy, labels: Mapping[str, Sequence[str | None]], *, anchors_inside: bool
) -> ClassDates:
    """Return the dates that the labels of each class allow; `labels` has one label per class for each date column.

    A star means any day; for an anchor it means the declared windows, if all anchors are inside them.
    """
    size = len(next(iter(labels.values()), ()))
    anchor_low, anchor_high = np.full(size, -OPEN), np.full(size, OPEN)
    birth_high, death_low = np.full(size, -OPEN), np.full(size, OPEN)
    if policy.time is not None:
        whole = window_of_all(policy) if anchors_inside else (-OPEN, OPEN)
        anchor_low, anchor_high = _ends_of(policy.people, policy.time.anchor, labels, star=whole)
    for name, event in policy.people.tells.items():
        low, high = _ends_of(policy.people, name, labels, star=(-OPEN, OPEN))
        missing = np.array([text is None for text in labels[name]], dtype=bool)
        if event == "birth":
            birth_high = np.maximum(birth_high, np.where(missing, -OPEN, high))
        else:
            death_low = np.minimum(death_low, np.where(missing, OPEN, low))
    return ClassDates(anchor_low, anchor_high, birth_high, death_low)


def _ends_of(
    table: LinkedTable, name: str, labels: Mapping[str, Sequence[str | None]], *, star: tuple[int, int]
) -> tuple[Codes, Codes]:
    """Return the first and the last day that each label of a column allows; each distinct label is read once."""
    known = {text: day_ends(table, name, text, star=star) for text in dict.fromkeys(labels[name])}
    ends = np.array([known[text] for text in labels[name]], dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def window_of_all(policy: LinkedPolicy) -> tuple[int, int]:
    """Return the first and the last day that any window declares."""
    windows = [window_days(policy, name) for name in (policy.time.windows if policy.time else ())]
    return min(first for first, _ in windows), max(last for _, last in windows)


def day_ends(table: LinkedTable, name: str, text: str | None, *, star: tuple[int, int]) -> tuple[int, int]:
    """Return the first and the last day that a published date allows; a missing one allows every day."""
    if text is None:
        return -OPEN, OPEN
    if text == "*":
        return star
    span = span_of((text.removesuffix(OR_MISSING),), Kind.DATE, moments=True)
    if span is None or any(end is not None and not isinstance(end, datetime) for end in span[:2]):
        raise InputError(
            f"a label of column {name!r} of table {table.name!r} is not a date, so one calendar cannot be checked",
            hint='give the column a hierarchy of dates: hierarchy = { dates = ["year", "decade"] }',
            values=[text],
        )
    low = -OPEN if not isinstance(span.low, datetime) else (span.low - EPOCH).days
    if not isinstance(span.high, datetime):
        return low, OPEN
    last = span.high if span.closed else span.high - timedelta(microseconds=1)
    return low, (last - EPOCH).days


def anchors_inside(opened: OpenTables) -> bool:
    """Return whether every anchor is inside the declared windows, so that a star reveals no more than they do."""
    if opened.anchor is None or not len(opened.anchor):
        return False
    first, last = window_of_all(opened.policy)
    return bool((opened.anchor >= first).all() and (opened.anchor <= last).all())


def dates_of_labels(opened: OpenTables, labels: pa.Table, classes: Codes) -> ClassDates:
    """Return the dates that each class allows; `labels` are those of each person."""
    policy, size = opened.policy, int(classes.max(initial=-1)) + 1
    names = [*policy.people.tells, *([] if policy.time is None else [policy.time.anchor])]
    if not names:
        return ClassDates(*(np.full(size, end) for end in (-OPEN, OPEN, -OPEN, OPEN)))
    first = np.zeros(size, dtype=np.int64)
    first[classes] = np.arange(len(classes))
    dates = {name: pc.take(labels[name], pa.array(first)).to_pylist() for name in dict.fromkeys(names)}
    return class_dates(policy, dates, anchors_inside=anchors_inside(opened))
