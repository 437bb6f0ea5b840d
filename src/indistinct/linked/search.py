"""The search: classes of people, levels of event columns, one calendar, and labels suppressed for whole classes.

For each people table that is tried, two descents change one level of one event column at a time: from the coarsest
levels down, and from the finest up. Nodes are compared on a sample of whole classes; the release is computed on all of
them.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa

from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.evaluation.measure.measure import measure
from indistinct.job.publishing import anonymize
from indistinct.linked.calendar import OPEN, OffsetLabels, Unit, label_offsets, units_of_days
from indistinct.linked.declared import LinkedTable
from indistinct.linked.guarantee import KnownRows
from indistinct.linked.judge import subset_bound
from indistinct.linked.opened import OpenEvents, OpenTables, StoredEvents, window_days
from indistinct.linked.people import PeopleClasses, dates_of_labels, text_codes
from indistinct.linked.runs import class_runs, rows_of_classes, rows_of_each_class
from indistinct.linked.suppress import LabelRows, suppressed_rows
from indistinct.linked.view import number_rows
from indistinct.machine.arrays import Codes, Floats
from indistinct.models import AlphaK, KAnonymity, Model
from indistinct.models.registry import all_of
from indistinct.schema import Schema
from indistinct.suppression_limit import Budget

LOG = logging.getLogger("indistinct.linked")
SAMPLED_ROWS = 20_000
"""Approximate number of event rows on which nodes are compared, in whole classes."""
MAX_COMBINATIONS = 4_000_000_000
"""Upper limit of the combinations of known rows of all people, above which a job is refused."""
LOSS_DIGITS = 12
"""Digits of a loss that are compared."""
LARGER_K = (1, 4, 16)
"""Multiples of k with which the people table is divided into classes: larger classes delete fewer event rows."""

Node = tuple[tuple[int, ...], ...]
"""The level of each column of each event table that has labels."""
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class LinkedRows:
    """What is published of one event table, before pseudonyms: which rows, the offsets, and the level of each column.

    `kept` are numbers of rows of the table, or of the run of it that is in memory, `person` numbers of published
    people, and `loss` is the sum of the losses of the rows that are kept.
    """

    kept: Codes
    person: Codes
    levels: tuple[int, ...]
    offsets: OffsetLabels | None
    loss: float
    deleted: int


@dataclass(slots=True)
class TableTotals:
    """What becomes of an event table: its levels, and how many rows are kept, are deleted, or go with their person.

    `sum` is that of the losses of the rows that are kept.
    """

    levels: tuple[int, ...] = ()
    kept: int = 0
    deleted: int = 0
    lost: int = 0
    sum: float = 0.0

    @property
    def loss(self) -> float:
        """Return the mean loss of the original rows; a row that is not published loses 1."""
        size = self.kept + self.deleted + self.lost
        return (self.sum + size - self.kept) / size if size else 0.0

    def add(self, rows: LinkedRows) -> None:
        """Count some rows."""
        self.levels, self.kept = rows.levels, self.kept + len(rows.kept)
        self.deleted, self.sum = self.deleted + rows.deleted, self.sum + rows.loss


@dataclass(frozen=True, slots=True, eq=False)
class LinkedSolution:
    """The best release that a search found; `rows` is None where they are not all in memory: see `solved_runs`."""

    people: PeopleClasses
    node: Node
    totals: dict[str, TableTotals]
    loss: float
    nodes: int
    rows: dict[str, LinkedRows] | None


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Rows of kept people of one event table in a search, whole or of a sample of classes.

    `person` is the place of each row's person among those kept, and `units` its offset in whole units, None without a
    time. `limits` has, by class, the days that an offset's upper end must reach and its lower end must not exceed.
    `widths` has the width of each level of offsets, None where none is published.
    """

    events: OpenEvents
    rows: Codes
    person: Codes
    units: Codes | None
    limits: tuple[Codes, Codes]
    widths: tuple[int | None, ...]


@dataclass(slots=True)
class _LinkedSearch:
    opened: OpenTables
    tried: int = 0
    progress: Progress | None = None
    seen: dict[Node, tuple[float, ...]] = field(default_factory=dict)


def estimate_combinations(opened: OpenTables) -> int:
    """Return how many combinations of known rows all people have, at most."""
    total = np.zeros(opened.size, dtype=np.int64)
    known = opened.policy.knowledge
    for events in opened.judged:
        if events.name in known.tables and known.tables[events.name] not in ("all", 0):
            total += events.counts(opened.size)
    return int(subset_bound(total, known.rows).sum())


def search_linked(opened: OpenTables, *, progress: Progress | None = None) -> LinkedSolution:
    """Return the release with the smallest loss within the limits.

    Raises `InfeasibleError` with the nearest sufficient limits.
    """
    combinations = estimate_combinations(opened)
    LOG.info("about %s combinations of known rows are counted for each release that is compared", f"{combinations:,}")
    if combinations > MAX_COMBINATIONS:
        raise ParameterError(
            f"attackers who know {opened.policy.knowledge.rows} rows have {combinations:,} combinations; at most "
            f"{MAX_COMBINATIONS:,} are counted",
            hint="declare fewer known rows, or replace codes by coarser ones that repeat less within a person",
        )
    policy = opened.policy
    solutions: list[LinkedSolution] = []
    budget = policy.suppression.allows(opened.size, "people")
    for index, times in enumerate(LARGER_K):
        classes = classes_of_people(opened, times * policy.model.k, budget)
        if classes is not None and not any(_same_classes(classes, other.people) for other in solutions):
            search = _LinkedSearch(opened, progress=_part_of(progress, index, len(LARGER_K)))
            solution = _best_of(search, classes)
            if solution is not None:
                solutions.append(solution)
        if progress is not None:
            progress((index + 1) / (len(LARGER_K) + 1))
    if not solutions:
        raise InfeasibleError(
            f"no release of the people table satisfies {policy.model.spec()} within the suppression limit of "
            f"{policy.suppression}",
            hint="allow a higher suppression limit, a smaller k or l, or give coarser hierarchies",
        )
    within = [each for each in solutions if _excess(opened, each) == 0]
    if not within:
        nearest = min(solutions, key=lambda each: _excess(opened, each))
        share = max(_shares(opened, nearest).values())
        raise InfeasibleError(
            f"no release deletes at most {policy.rows:.1%} of the rows of each event table; the nearest deletes "
            f"{share:.1%} of one",
            hint="allow more (rows), fewer known rows, or give coarser hierarchies",
            feasible=Feasible(share=share),
        )
    return min(
        within,
        key=lambda each: (each.loss, -len(each.people.kept), sum(t.deleted for t in each.totals.values()), each.node),
    )


def _same_classes(one: PeopleClasses, other: PeopleClasses) -> bool:
    return one.labels.equals(other.labels) and np.array_equal(one.kept, other.kept)


def _part_of(progress: Progress | None, index: int, parts: int) -> Progress | None:
    return None if progress is None else lambda share: progress((index + share) / (parts + 1))


def _shares(opened: OpenTables, solution: LinkedSolution) -> dict[str, float]:
    """Return the share of deleted rows of each event table."""
    return {
        events.name: solution.totals[events.name].deleted / max(events.rows, 1)
        for events in opened.judged
        if events.name in solution.totals
    }


def _excess(opened: OpenTables, solution: LinkedSolution) -> float:
    """Return by how much the share of deleted rows exceeds the limit, in the worst table."""
    return max(0.0, *(share - opened.policy.rows for share in _shares(opened, solution).values()), 0.0)


def _best_of(search: _LinkedSearch, classes: PeopleClasses) -> LinkedSolution | None:
    """Return the best release for one partition of the people, None if there is none.

    Nodes of the lattice are compared on a sample of the classes; the best one is computed on all rows.
    """
    opened = search.opened
    sampled = _sampled_classes(opened, classes)
    sample = _parts(opened, rows_of_classes(opened, classes, sampled), classes, sampled)
    sample = [part for part in sample if _is_judged(opened, part.events)]
    counted = [part for part in sample if _is_counted(part.events)]
    tops: Node = tuple(tuple(height - 1 for height in _heights(part)) for part in counted)
    best = tops
    if counted:
        top, bottom = (
            _descend(search, classes, sample, start, down) for start, down in ((tops, True), (_zero(tops), False))
        )
        best = min((top, bottom), key=lambda node: (*search.seen[node], node))
    return _solve_whole(search, classes, best)


def _solve_whole(search: _LinkedSearch, classes: PeopleClasses, node: Node) -> LinkedSolution | None:
    """Return the release of a node on all rows, a run of whole classes after the other."""
    opened = search.opened
    totals = {events.name: TableTotals() for events in opened.judged}
    rows = None
    for run in class_runs(opened, classes, data=False):
        rows = _solve(opened, classes, _parts(opened, run, classes, None), node)
        if rows is None:
            return None
        for name, each in rows.items():
            totals[name].add(each)
    for events in opened.judged:
        totals[events.name].lost = events.rows - totals[events.name].kept - totals[events.name].deleted
    loss = _mean_loss(classes, [totals[events.name].loss for events in opened.judged if _is_counted(events)])
    return LinkedSolution(classes, node, totals, loss, search.tried, None if opened.stored else rows)


def _mean_loss(classes: PeopleClasses, tables: Sequence[float]) -> float:
    """Return the mean loss of all tables; sums of other runs of rows differ in the last digits, which say nothing."""
    return round(float(np.mean([classes.loss, *tables])), LOSS_DIGITS)


def solved_runs(
    opened: OpenTables, solution: LinkedSolution
) -> Iterator[tuple[Sequence[OpenEvents], dict[str, LinkedRows]]]:
    """Yield runs of event rows, and what is published of them; all together where they are in memory."""
    if solution.rows is not None:
        yield opened.events, solution.rows
        return
    for run in class_runs(opened, solution.people, data=True):
        parts = _parts(opened, run, solution.people, None)
        rows = _solve(opened, solution.people, parts, solution.node)
        if rows is None:
            raise AssertionError("a release that was found is found again")
        yield run, rows


def _zero(node: Node) -> Node:
    """Return the node of the finest levels."""
    return tuple(tuple(0 for _ in levels) for levels in node)


def _descend(search: _LinkedSearch, classes: PeopleClasses, sample: Sequence[_Part], start: Node, down: bool) -> Node:
    """Return the best node of a descent that changes one level of one column at a time, also to nodes of equal loss."""
    most = search.opened.policy.nodes // 2
    node, visited, tried = start, {start}, 0
    best, best_loss = start, _loss_of(search, classes, sample, start)
    while tried < most:
        ahead = [each for each in _neighbours(node, sample, down) if each not in visited]
        losses = {}
        for each in ahead[: most - tried]:
            losses[each] = _loss_of(search, classes, sample, each)
            tried += 1
            if search.progress is not None:
                search.progress(min(tried / most, 1.0) / 2 + (0.0 if down else 0.5))
        if not losses:
            break
        following = min(losses, key=lambda each: (*losses[each], each))
        if losses[following] > best_loss:
            break
        node, best, best_loss = following, following, losses[following]
        visited.add(node)
    return best


def _neighbours(node: Node, sample: Sequence[_Part], down: bool) -> Iterator[Node]:
    """Yield the nodes one level finer (`down`) or coarser."""
    counted = [part for part in sample if _is_counted(part.events)]
    for i, part in enumerate(counted):
        for j, height in enumerate(_heights(part)):
            level = node[i][j] + (-1 if down else 1)
            if 0 <= level < height:
                changed = (*node[i][:j], level, *node[i][j + 1 :])
                yield (*node[:i], changed, *node[i + 1 :])


def _loss_of(search: _LinkedSearch, classes: PeopleClasses, sample: Sequence[_Part], node: Node) -> tuple[float, ...]:
    """Return the loss of a node on the sample and its deleted rows; nodes beyond the limit come last."""
    if node not in search.seen:
        search.tried += 1
        solved = _solve(search.opened, classes, sample, node)
        if solved is None:
            search.seen[node] = (np.inf, np.inf)
        else:
            counted = [(part, solved[part.events.name]) for part in sample if _is_counted(part.events)]
            shares = [rows.deleted / max(len(part.rows), 1) for part, rows in counted]
            over = max([0.0, *(share - search.opened.policy.rows for share in shares)])
            loss = _mean_loss(classes, [(r.loss + r.deleted) / max(len(part.rows), 1) for part, r in counted])
            deleted = sum(rows.deleted for rows in solved.values())
            search.seen[node] = (loss + (1.0 if over > 0 else 0.0), float(deleted))
    return search.seen[node]


def _is_counted(events: OpenEvents | StoredEvents) -> bool:
    """Return whether the rows of a table have labels that attackers can know."""
    return events.table.is_counted if isinstance(events.table, LinkedTable) else True


def _is_judged(opened: OpenTables, events: OpenEvents | StoredEvents) -> bool:
    """Return whether rows of a table may be deleted: for their labels or, with l, for their sensitive values."""
    return _is_counted(events) or (opened.policy.model.l is not None and bool(events.sensitive))


def _heights(part: _Part) -> list[int]:
    """Return the number of levels of each column of a table, of a known time last."""
    heights = [column.taxonomy.height + 1 for column in part.events.quasi]
    return [*heights, len(part.widths)] if part.widths else heights


def _parts(
    opened: OpenTables, events_in_memory: Sequence[OpenEvents], classes: PeopleClasses, sampled: Codes | None
) -> list[_Part]:
    """Return the rows of the people who are kept, or of those in sampled classes, table by table."""
    number = np.full(opened.size, -1, dtype=np.int64)
    number[classes.kept] = np.arange(len(classes.kept))
    chosen = np.ones(classes.size, dtype=bool) if sampled is None else sampled
    unit: Unit = "days" if opened.policy.time is None else opened.policy.time.unit
    parts = []
    for events in events_in_memory:
        person = number[events.person]
        inside = person >= 0
        inside[inside] = chosen[classes.classes[person[inside]]]
        rows = np.flatnonzero(inside)
        table = events.table
        time = table.time if isinstance(table, LinkedTable) else None
        units = None if events.days is None else units_of_days(events.days[rows], unit)
        limits = (classes.dates.anchor_low,) * 2
        if time is not None:
            limits = classes.dates.limits(window_days(opened.policy, events.name))
        widths = () if time is None or time.unknown else time.levels(unit)
        parts.append(_Part(events, rows, person[rows], units, limits, widths))
    return parts


def _sampled_classes(opened: OpenTables, classes: PeopleClasses) -> Codes | None:
    """Return which classes are sampled, evenly by their numbers; None where there are few rows."""
    rows = np.zeros(classes.size, dtype=np.int64)
    for events in opened.judged:
        if _is_counted(events):
            rows += rows_of_each_class(classes, events.counts(opened.size))
    total = int(rows.sum())
    if total <= 2 * SAMPLED_ROWS:
        return None
    # Weyl's sequence spreads the chosen classes evenly, and equally in every run.
    order = np.argsort((np.arange(classes.size) * 0.6180339887498949) % 1.0, kind="stable")
    chosen = np.zeros(classes.size, dtype=bool)
    chosen[order[: int(np.searchsorted(np.cumsum(rows[order]), SAMPLED_ROWS)) + 1]] = True
    return chosen


def _solve(
    opened: OpenTables, classes: PeopleClasses, parts: Sequence[_Part], node: Node
) -> dict[str, LinkedRows] | None:
    """Return the labels, calendar and suppressed rows of a node; None if the model cannot be satisfied."""
    unit: Unit = "days" if opened.policy.time is None else opened.policy.time.unit
    levels = iter(node)
    labelled: dict[str, tuple[_Part, Codes, OffsetLabels | None, tuple[int, ...], Floats]] = {}
    for part in parts:
        own = next(levels) if _is_counted(part.events) else ()
        offsets = _label_times(part, classes, own, unit)
        label, loss = _label_rows(part, own, offsets, opened, unit)
        labelled[part.events.name] = (part, label, offsets, own, loss)
    tables = {
        name: LabelRows(part.person, label, tuple(codes[part.rows] for codes in part.events.sensitive))
        for name, (part, label, _, _, _) in labelled.items()
        if _is_judged(opened, part.events)
    }
    own_values = [codes[classes.kept] for codes in opened.sensitive]
    known = opened.policy.knowledge
    gone = suppressed_rows(classes.classes, tables, own_values, _with_every_table(known, tables), opened.policy.model)
    if gone is None:
        return None
    rows = {}
    for name, (part, _, offsets, own, loss) in labelled.items():
        kept = np.flatnonzero(~gone[name]) if name in gone else np.arange(len(part.rows))
        labels = None if offsets is None else OffsetLabels(offsets.low[kept], offsets.high[kept])
        lost = len(part.rows) - len(kept)
        rows[name] = LinkedRows(part.rows[kept], part.person[kept], own, labels, float(loss[kept].sum()), lost)
    return rows


def _with_every_table(known: KnownRows, names: Iterable[str]) -> KnownRows:
    """Return the knowledge with 0 known rows of tables without labels."""
    return KnownRows({name: known.tables.get(name, 0) for name in names}, known.rows)


def _label_times(part: _Part, classes: PeopleClasses, own: tuple[int, ...], unit: Unit) -> OffsetLabels | None:
    if part.units is None:
        return None
    width = part.widths[own[-1]] if part.widths else 1
    return label_offsets(part.units, classes.classes[part.person], width, part.limits, unit)


def _label_rows(
    part: _Part, own: tuple[int, ...], offsets: OffsetLabels | None, opened: OpenTables, unit: Unit
) -> tuple[Codes, Floats]:
    """Return the label of each row as a number, and the mean loss of its values."""
    losses: list[Floats] = []
    label: Codes = np.zeros(len(part.rows), dtype=np.int64)
    if not _is_counted(part.events):
        return label, np.zeros(len(part.rows))
    size = 1
    for column, level in zip(part.events.quasi, own, strict=False):
        taxonomy, codes = column.taxonomy, column.codes[part.rows]
        nodes = taxonomy.ancestors[codes, level].astype(np.int64)
        label, size = _pack(label, size, nodes, len(taxonomy.labels[level]))
        losses.append((taxonomy.leaves[level][nodes] - 1) / max(taxonomy.size - 1, 1))
    if part.widths and offsets is not None:
        open_low, open_high = offsets.low <= -OPEN, offsets.high >= OPEN
        word = np.where(open_low, offsets.high, offsets.low) * 4 + open_low * 2 + open_high
        distinct, number = np.unique(word, return_inverse=True)
        label, size = _pack(label, size, number, len(distinct))
        losses.append(_loss_of_offsets(offsets, opened, part.events.name, unit))
    label = np.unique(label, return_inverse=True)[1].astype(np.int64)
    return label, np.mean(losses, axis=0) if losses else np.zeros(len(part.rows))


def _pack(label: Codes, size: int, number: Codes, more: int) -> tuple[Codes, int]:
    """Combine two codes to one; codes are renumbered before they overflow."""
    if size * more >= 1 << 62:
        distinct, label = np.unique(label, return_inverse=True)
        size = len(distinct)
    return label * more + number, size * more


def _loss_of_offsets(offsets: OffsetLabels, opened: OpenTables, name: str, unit: Unit) -> Floats:
    """Return the width of each label as a share of the window, less one unit."""
    first, last = window_days(opened.policy, name)
    span = int(units_of_days(np.array([last - first]), unit)[0]) or 1
    width = np.where(offsets.high >= OPEN, span, offsets.high) - np.where(offsets.low <= -OPEN, 0, offsets.low)
    open_ended = (offsets.high >= OPEN) | (offsets.low <= -OPEN)
    return np.where(open_ended, 1.0, np.clip(width / span, 0.0, 1.0))


def classes_of_people(opened: OpenTables, k: int, dropped: int) -> PeopleClasses | None:
    """Return classes of at least `k` people by the policy's algorithm, suppressing at most `dropped`.

    None if impossible.

    With l, no sensitive value of the people table is too frequent in a class.
    """
    policy, table = opened.policy, opened.people
    schema = policy.people.schema
    if k > table.num_rows:
        return None
    if not schema.quasi:
        one = np.zeros(len(table), dtype=np.int64)
        return PeopleClasses(np.arange(len(table)), one, pa.table({}), 0.0, dates_of_labels(opened, pa.table({}), one))
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
    dates = dates_of_labels(opened, labels, classes)
    return PeopleClasses(published[row].to_numpy(), classes, labels, measure(release, ["loss"])["loss"], dates)


def _free_name(names: Sequence[str]) -> str:
    name = "row"
    while name in names:
        name += "_"
    return name
