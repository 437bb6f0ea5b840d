"""Risk of several tables by the number of known rows: how many people are left among fewer than k others.

Originals are judged by their unmodified values, including dates; a release by its published labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import ParameterError
from indistinct.linked.arrays import arrays_of, owners_of
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.guarantee import ALL, MAX_ROWS_KNOWN, Known, KnownRows, LinkedAnonymity
from indistinct.linked.judge import judge
from indistinct.linked.opened import OpenTables
from indistinct.linked.opening import open_linked
from indistinct.linked.people import text_codes
from indistinct.linked.view import EventLabels, LinkedView, number_rows
from indistinct.machine.arrays import Codes

TOGETHER = "all tables"
"""The name of the line in which known rows may be from any table."""


@dataclass(frozen=True, slots=True)
class KnownRowsRisk:
    """The people who are left among fewer than k, if some rows of a table are known.

    `people_columns` says whether the attacker also knows the quasi-identifiers of the people table. `below` is None
    where there are too many combinations of known rows to count.
    """

    table: str
    known: Known
    people_columns: bool
    below: int | None
    people: int
    smallest: int | None

    @property
    def share(self) -> float | None:
        """Return the share of people below k."""
        return None if self.below is None else self.below / self.people if self.people else 0.0


@dataclass(frozen=True, slots=True)
class LinkedAssessment:
    """The risk of several tables: one entry for each table, number of known rows, and with and without people columns.

    Attributes
    ----------
    k
        The number of people below which a person counts as at risk.
    people
        The number of people in the people table.
    risks
        The entries, table by table.
    declared
        The entry of what the policy declares as known, None where that has not been asked for.
    """

    k: int
    people: int
    risks: tuple[KnownRowsRisk, ...]
    declared: KnownRowsRisk | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the assessment as plain JSON values."""
        return {
            "k": self.k,
            "people": self.people,
            "risks": [_entry(risk) for risk in self.risks],
            "declared": None if self.declared is None else _entry(self.declared),
        }


def _entry(risk: KnownRowsRisk) -> dict[str, Any]:
    """Return a risk as plain JSON values."""
    return {
        "table": risk.table,
        "known": risk.known,
        "people_columns": risk.people_columns,
        "below_k": risk.below,
        "share": risk.share,
        "smallest_group": risk.smallest,
    }


def parse_known(text: str) -> tuple[Known, ...]:
    """Return the numbers of known rows that a text lists.

    >>> parse_known("1,2,all")
    (1, 2, 'all')
    """
    limits: list[Known] = []
    for part in filter(None, map(str.strip, text.split(","))):
        if part == ALL:
            limits.append(ALL)
        elif part.isdecimal() and int(part) <= MAX_ROWS_KNOWN:
            limits.append(int(part))
        else:
            raise ParameterError(f'--knows takes 0, 1, 2, 3 and "all"; got {part!r}', hint="for example --knows 1,2,3")
    if not limits:
        raise ParameterError("--knows needs numbers of rows", hint="for example --knows 1,2,3")
    return tuple(dict.fromkeys(limits))


def assess_originals(
    policy: LinkedPolicy, known: Sequence[Known] = (1, 2, 3), sources: Mapping[str, Any] | None = None
) -> LinkedAssessment:
    """Return the risk of the original tables, as if they were published unmodified."""
    opened = open_linked(policy, sources)
    view = view_of_originals(opened)
    return _assess(policy, view, known, declared=False)


def assess_release(
    policy: LinkedPolicy, tables: Mapping[str, pa.Table], known: Sequence[Known] = (1, 2, 3)
) -> LinkedAssessment:
    """Return the risk of published tables, made by any tool."""
    arrays = arrays_of(policy, tables, owners_of(policy, tables), anchors_inside=True)
    return _assess(policy, arrays.view, known, declared=True)


def view_of_originals(opened: OpenTables) -> LinkedView:
    """Return original tables as arrays, each value as its own label."""
    policy = opened.policy
    quasi = policy.people.schema.quasi
    classes, _ = number_rows([text_codes(opened.people[name].cast(pa.string())) for name in quasi], opened.size)
    events = {}
    counted = policy.knowledge.tables
    for each in opened.events:
        if each.name not in counted:
            continue
        columns = [column.codes for column in each.quasi]
        if each.days is not None and opened.anchor is not None and _has_known_time(policy, each.name):
            columns.append(each.days + opened.anchor[each.person])
        label, size = number_rows(columns, each.rows)
        events[each.name] = EventLabels(each.person, label, max(size, 1))
    return LinkedView(classes, events)


def _has_known_time(policy: LinkedPolicy, name: str) -> bool:
    table = next((table for table in policy.events if table.name == name), None)
    return table is not None and table.time is not None and not table.time.unknown


def _assess(policy: LinkedPolicy, view: LinkedView, known: Sequence[Known], *, declared: bool) -> LinkedAssessment:
    """Compute the risk of each table by the number of known rows."""
    k, names = policy.model.k, [name for name in policy.knowledge.tables if name in view.events]
    risks = []
    for people_columns in (True, False):
        seen = view if people_columns else LinkedView(np.zeros(view.people, dtype=np.int64), view.events)
        for number in known:
            for name in names:
                knows: dict[str, Known] = dict.fromkeys(view.events, 0)
                knows[name] = number
                risks.append(_risk(seen, name, number, knows, None, k, people_columns))
            if len(names) > 1:
                knows = {table: number if table in names else 0 for table in view.events}
                together = None if number == ALL else int(number)
                risks.append(_risk(seen, TOGETHER, number, knows, together, k, people_columns))
    stated = None
    if declared:
        knowledge = policy.knowledge
        knows = {name: knowledge.tables.get(name, 0) for name in view.events}
        stated = _risk(view, "as declared", knowledge.rows, knows, knowledge.rows, k, True)
    return LinkedAssessment(k, view.people, tuple(risks), stated)


def _risk(
    view: LinkedView,
    name: str,
    number: Known,
    knows: Mapping[str, Known],
    together: int | None,
    k: int,
    people_columns: bool,
) -> KnownRowsRisk:
    """Count the people with fewer than k candidates for one number of known rows."""
    try:
        smallest = smallest_groups(view, KnownRows(knows, together), k)
    except ParameterError:
        return KnownRowsRisk(name, number, people_columns, None, view.people, None)
    below = int((smallest < k).sum())
    least = int(smallest.min(initial=np.iinfo(np.int64).max)) if view.people else 0
    return KnownRowsRisk(name, number, people_columns, below, view.people, least)


def smallest_groups(view: LinkedView, knowledge: KnownRows, k: int) -> Codes:
    """Return the size of each person's smallest group; for people below `k` only a value below k is certain.

    People who are below k with one known row are below k with more, and a set with such a row is shared with no further
    person. So these rows are left out before sets of two and three rows are counted.
    """
    model = LinkedAnonymity(k)
    if knowledge.rows < 2 or ALL in knowledge.tables.values():
        return judge(view, knowledge, model).smallest
    first = judge(view, KnownRows(knowledge.tables, 1), model).smallest
    events = {}
    for name, rows in view.events.items():
        width = rows.size
        words = view.classes[rows.person] * width + rows.label
        pairs = np.unique(rows.person * (int(words.max(initial=0)) + 1) + words) % (int(words.max(initial=0)) + 1)
        distinct, counts = np.unique(pairs, return_counts=True)
        kept = counts[np.searchsorted(distinct, words)] >= k if len(words) else np.zeros(0, dtype=bool)
        events[name] = EventLabels(rows.person[kept], rows.label[kept], width)
    rest = judge(LinkedView(view.classes, events), knowledge, model).smallest
    return np.minimum(first, rest)
