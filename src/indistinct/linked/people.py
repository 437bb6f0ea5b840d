"""The people table: classes of people by an algorithm for one table, and the dates that the labels of a class allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.budget import Budget
from indistinct.errors import InfeasibleError
from indistinct.evaluation.measure.measure import measure
from indistinct.job.publishing import anonymize
from indistinct.linked.calendar import OPEN, ClassDates
from indistinct.linked.label_dates import class_dates, window_of_all
from indistinct.linked.opening import OpenTables
from indistinct.linked.view import number_rows
from indistinct.machine.arrays import Codes
from indistinct.models import AlphaK, KAnonymity, Model
from indistinct.models.registry import all_of
from indistinct.schema import Schema


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
