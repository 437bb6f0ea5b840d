"""The people table: classes of people by an algorithm for one table, and the dates that the labels of a class allow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.budget import Budget
from indistinct.errors import InfeasibleError, InputError
from indistinct.evaluation.measure.measure import measure
from indistinct.job.publishing import anonymize
from indistinct.linked.calendar import OPEN, ClassDates
from indistinct.linked.declared import LinkedPolicy, LinkedTable
from indistinct.linked.opened import OpenTables, window_days
from indistinct.linked.view import number_rows
from indistinct.machine.arrays import Codes
from indistinct.models import AlphaK, KAnonymity, Model
from indistinct.models.registry import all_of
from indistinct.recoding.label_spans import span_of
from indistinct.recoding.outputs import OR_MISSING
from indistinct.schema import Schema
from indistinct.tables.domain import Kind

EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class PeopleClasses:
    """The people who are published and their labels.

    `kept` are their rows of the original people table, `classes` their class numbers, `labels` the published
    quasi-identifiers of each, and `loss` the mean loss of the original values, 1 for a person who is dropped.
    """

    kept: Codes
    classes: Codes
    labels: pa.Table
    loss: float

    @property
    def size(self) -> int:
        """Return the number of classes."""
        return int(self.classes.max(initial=-1)) + 1


def classes_of_people(opened: OpenTables, k: int, dropped: int) -> PeopleClasses | None:
    """Return classes of at least `k` people by the algorithm of the policy, dropping at most `dropped`; None without.

    With l no sensitive value of the people table is too frequent in a class.
    """
    policy, table = opened.policy, opened.people
    schema = policy.people.schema
    if k > table.num_rows:
        return None
    if not schema.quasi:
        return PeopleClasses(np.arange(len(table)), np.zeros(len(table), dtype=np.int64), pa.table({}), 0.0)
    row = _free_name(table.column_names)
    models: list[Model] = [KAnonymity(k)]
    ratio = policy.model.ratio
    if ratio is not None:
        models += [AlphaK(name, alpha=Fraction(ratio[1], ratio[0]), k=k) for name in schema.sensitive]
    data = table.select([*schema.quasi, *schema.sensitive]).append_column(row, pa.array(np.arange(len(table))))
    try:
        release = anonymize(
            data,
            Schema(quasi=schema.quasi, sensitive=schema.sensitive, insensitive=[row]),
            model=all_of(models),
            algorithm=policy.algorithm,
            hierarchies={name: each for name, each in policy.people.hierarchies.items() if name in schema.quasi},
            suppression=Budget(dropped, "rows"),
        )
    except InfeasibleError:
        return None
    published = release.table
    order = np.argsort(published[row].to_numpy(), kind="stable")
    published = published.take(pa.array(order))
    labels = pa.table({name: published[name].cast(pa.string()) for name in schema.quasi})
    classes, _ = number_rows([text_codes(labels[name]) for name in schema.quasi], len(labels))
    return PeopleClasses(published[row].to_numpy(), classes, labels, measure(release, ["loss"])["loss"])


def _free_name(names: Sequence[str]) -> str:
    name = "row"
    while name in names:
        name += "_"
    return name


def text_codes(column: pa.ChunkedArray) -> Codes:
    """Return a number for each distinct text, missing included."""
    codes = column.combine_chunks().dictionary_encode(null_encoding="encode").indices
    found: Codes = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def class_dates(
    policy: LinkedPolicy, labels: Mapping[str, Sequence[str | None]], *, anchors_inside: bool
) -> ClassDates:
    """Return the dates that the labels of each class allow; `labels` has one label a class for each date column.

    A star means any day; of an anchor it means the declared windows, if all anchors lie inside them.
    """
    size = len(next(iter(labels.values()), ()))
    anchor_low, anchor_high = np.full(size, -OPEN), np.full(size, OPEN)
    birth_high, death_low = np.full(size, -OPEN), np.full(size, OPEN)
    if policy.time is not None:
        whole = window_of_all(policy) if anchors_inside else (-OPEN, OPEN)
        ends = [day_ends(policy.people, policy.time.anchor, text, star=whole) for text in labels[policy.time.anchor]]
        anchor_low, anchor_high = (np.array([end[i] for end in ends], dtype=np.int64) for i in (0, 1))
    for name, told in policy.people.tells.items():
        ends = [day_ends(policy.people, name, text, star=(-OPEN, OPEN)) for text in labels[name]]
        missing = np.array([text is None for text in labels[name]], dtype=bool)
        if told == "birth":
            high = np.array([end[1] for end in ends], dtype=np.int64)
            birth_high = np.maximum(birth_high, np.where(missing, -OPEN, high))
        else:
            low = np.array([end[0] for end in ends], dtype=np.int64)
            death_low = np.minimum(death_low, np.where(missing, OPEN, low))
    return ClassDates(anchor_low, anchor_high, birth_high, death_low)


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
            f"a label of column {name!r} of table {table.name!r} is no date, so one calendar cannot be checked",
            hint='give the column a hierarchy of dates: hierarchy = { dates = ["year", "decade"] }',
            values=[text],
        )
    low = -OPEN if not isinstance(span.low, datetime) else (span.low - EPOCH).days
    if not isinstance(span.high, datetime):
        return low, OPEN
    last = span.high if span.closed else span.high - timedelta(microseconds=1)
    return low, (last - EPOCH).days


def label_of_each_class(classes: PeopleClasses, name: str) -> list[str | None]:
    """Return the label that a column has in each class."""
    first = np.zeros(classes.size, dtype=np.int64)
    first[classes.classes] = np.arange(len(classes.classes))
    found: list[str | None] = pc.take(classes.labels[name], pa.array(first)).to_pylist()
    return found


def anchors_inside(opened: OpenTables) -> bool:
    """Return whether every anchor lies in the declared windows, so that a star says no more than they do."""
    if opened.anchor is None or not len(opened.anchor):
        return False
    first, last = window_of_all(opened.policy)
    return bool((opened.anchor >= first).all() and (opened.anchor <= last).all())


def dates_of_classes(opened: OpenTables, classes: PeopleClasses) -> ClassDates:
    """Return the dates that the labels of each class of a search allow."""
    policy = opened.policy
    names = [*policy.people.tells, *([] if policy.time is None else [policy.time.anchor])]
    if not names:
        return ClassDates(*(np.full(classes.size, end) for end in (-OPEN, OPEN, -OPEN, OPEN)))
    labels = {name: label_of_each_class(classes, name) for name in dict.fromkeys(names)}
    return class_dates(policy, labels, anchors_inside=anchors_inside(opened))
