"""A release that is made part by part, where neither cells nor classes fit in memory.

Parts are cut by passes over rows (`parts.py`) or by a recoding that was found before; each is finished by itself
(`part.py`), and the release is verified as it was written, some classes at a time. Nothing that grows with rows or
classes is held by this process.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from indistinct.algorithms.base import Progress
from indistinct.algorithms.partition.by_passes import Judge
from indistinct.algorithms.partition.keyed_columns import KeyedColumn
from indistinct.algorithms.partition.recode_part import PartPlan, PartSummary, apply_part, boxes_of, publish_part
from indistinct.algorithms.within_levels import ColumnWithin, bounded_columns
from indistinct.engines.base import Engine, Sink
from indistinct.engines.part_rows import Finish, Parting
from indistinct.engines.passes import TablePasses
from indistinct.errors import Feasible, InfeasibleError, OutOfMemoryError, ParameterError
from indistinct.figures import Sentence, share_above
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.passes import KeyColumn, KeyTree
from indistinct.frequencies.value import FrequencySet, Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.job import Job
from indistinct.job.parts import CutTable, count_whole, known_domain
from indistinct.machine.arrays import Array, Codes
from indistinct.machine.memory import give_memory_back, needs_memory
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.metrics.registry import SUMMED_BY_PART
from indistinct.models import Model
from indistinct.recoding.columns import columns_of
from indistinct.recoding.kinds import ByPart, PartColumn
from indistinct.recoding.outputs import MAIN
from indistinct.recoding.storage import files_of_parts
from indistinct.recoding.stored_parts import PartWriter
from indistinct.recoding.transformations import Transformation
from indistinct.release.certificate import About
from indistinct.release.release import Draft, Release, make_release
from indistinct.release.verification.check import Check
from indistinct.tables.domain import Domain
from indistinct.text_form import spell

# How far a run is when parts are cut, and when all of them are finished, and so when they are merged and verified.
CUT, FINISHED = 0.4, 0.7
# A part that cannot be cut may have this many times the rows of one that fits.
MAX_ROWS_OF_FITTING_PARTS = 4


def check_by_part(job: Job, plan: CutTable) -> None:
    """Raise before any further work for what is not made part by part."""
    most = plan.judge.fits * MAX_ROWS_OF_FITTING_PARTS
    largest = max((plan.top.rows[leaf] for leaf in plan.top.whole), default=0)
    if largest > most:
        raise _beyond_memory(
            plan,
            f"a class of {largest:,} rows that cannot be cut",
            hint="allow more `memory`, or give a quasi-identifier that tells these rows apart",
        )
    for what, reason in {**_refused(job, plan.judge.model), **_refused_regions(job, plan)}.items():
        raise _beyond_memory(
            plan,
            f"{what}: {reason}",
            hint=f"leave out {what}, ask for larger classes (k), or allow more `memory`",
        )


def _refused_regions(job: Job, plan: CutTable) -> dict[str, str]:
    """Return what regions cannot have part by part, with the reason."""
    if plan.mondrian.extent != "region":
        return {}
    refused = {
        f"extent=region, as not all values of column {column.quasi.name!r} fit": (
            "a region ends before the next value behind its cut, which may lie in any part"
        )
        for column in plan.columns
        if not column.has_domain
    }
    if job.destination.save_recoding is not None:
        between = "regions take new values between known ones, and rows find their part by known values alone"
        refused["extent=region and save_recoding"] = between
    return refused


def _beyond_memory(plan: CutTable, what: str, *, hint: str) -> OutOfMemoryError:
    """Return the error of a release made part by part that cannot be combined with `what`."""
    return OutOfMemoryError(
        f"the release may have more than {plan.passes.room.classes:,} classes, whose values do not fit in `memory`: it "
        f"would be made part by part, but not with {what}",
        hint=hint,
    )


def _refused(job: Job, model: Model) -> dict[str, str]:
    """Return the settings of a job that cannot be combined with a release made part by part, each with the reason."""
    by_cell = "it is counted by the combinations of values of both tables, which do not fit in memory"
    apart = "the rows of a person may lie in several parts, and numbers of people do not add up"
    asked = {
        f"the model {model.name}": (not model.traits.class_wise, "it judges all classes together"),
        "a population": (model.needs_population or job.population is not None, by_cell),
        "people (role person)": (bool(job.schema.person), apart),
        "a ledger or an earlier release": (bool(job.history.ledger or job.history.previous), by_cell),
        "holding people back": (job.hold_back, by_cell),
        "pseudonyms": (bool(job.pseudonyms), apart),
        "ranges=columns": (job.ranges == "columns", "parts are merged in the order of their labels"),
        "a release without an output": (job.destination.place is None, "its rows would have to fit in memory"),
    }
    return {what: reason for what, (is_asked, reason) in asked.items() if is_asked}


@dataclass(frozen=True, slots=True, eq=False)
class _Making:
    """A release in the making: where rows come from, how they find their part, and what recodes a part.

    `reference` is what was counted of the whole table; `recoding` and its `digest` are called when all parts are there,
    and `warnings` is what readers must know then. `kept` adds up what parts have, and `done` checks it before
    anything is written.
    """

    passes: TablePasses
    parting: Parting
    finish: Finish
    kept: "_KeptSums"
    about: About
    model: Model
    reference: Counted
    transformations: Mapping[str, Transformation]
    recoding: Callable[[], ByPart]
    digest: Callable[[], str]
    done: Callable[[], None] = lambda: None
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _KeptSums:
    """What adds up over parts: published rows, totals of metrics, and counters; `progress` takes a share of the run.

    Where cuts are kept, `writer` gets those of each part; `state` is the digest of all of them.
    """

    whole: int
    progress: Progress
    state: Any
    writer: PartWriter | None = None
    rows: int = 0
    totals: tuple[Array, ...] = ()
    counters: Counter[str] = field(default_factory=Counter)

    def add(self, part: PartSummary) -> None:
        """Take a part, in the order of parts."""
        self.state.update(part.digest)
        if self.writer is not None and part.cuts is not None:
            self.writer.add(part.cuts)
        self.rows += part.rows
        pairs = zip(self.totals, part.totals, strict=True)
        self.totals = tuple(one + more for one, more in pairs) if self.totals else part.totals
        self.counters.update(part.counters)
        self.progress(CUT + (FINISHED - CUT) * self.rows / max(self.whole, 1))

    def metrics(self) -> dict[str, float]:
        """Return the metrics that add up over parts."""
        pairs = zip(SUMMED_BY_PART, self.totals, strict=True)
        return {metric.name: metric.of_totals(totals, rows=self.whole) for metric, totals in pairs}


@needs_memory("publishing part by part")
def publish_by_part(
    job: Job,
    engine: Engine,
    source: Any,
    plan: CutTable,
    recoding: ByPart,
    *,
    transformations: Mapping[str, Transformation],
    warnings: tuple[str, ...],
    counters: Mapping[str, float],
) -> Release:
    """Return the verified release of a table that was cut into parts, written where the job says."""
    keeps_cuts = job.destination.save_recoding is not None
    leaves = plan.top.leaves()
    tree = plan.top.keyed(leaves)
    finish = PartPlan(
        plan.columns,
        plan.keys,
        plan.judge,
        plan.search.hierarchies,
        plan.style,
        job.schema,
        tuple(source.columns),
        keeps_cuts=keeps_cuts,
        boxes=boxes_of(tree, plan.columns) if plan.style.extent == "region" else None,
    )
    sizes = np.array([plan.top.rows[leaf] for leaf in leaves])
    recoding = replace(recoding, quasi=tuple(map(_stored_column, plan.columns)), top=tree, style=plan.style)
    recoding = replace(recoding, parts=len(leaves), levels=job.levels)
    writer = PartWriter() if keeps_cuts else None
    kept = _KeptSums(source.rows, plan.search.progress, hashlib.sha256(recoding.nonce.encode()), writer)

    @cache
    def stored() -> ByPart:
        return recoding if writer is None else replace(recoding, store=writer.stored(len(plan.columns)))

    made = _Making(
        plan.passes,
        _parting(tree, tuple(c.keys for c in plan.columns), sizes, job, source),
        partial(publish_part, finish),
        kept,
        _about(job, source, warnings, algorithm=spell(plan.mondrian)),
        plan.judge.model,
        _reference(plan.judge, plan.keys),
        transformations,
        stored,
        kept.state.hexdigest,
    )
    return _release_parts(job, engine, source, made, lambda: {**counters, **kept.counters})


def apply_by_part(
    job: Job,
    engine: Any,
    source: Any,
    recoding: ByPart,
    model: Model,
    *,
    hierarchies: Mapping[str, Hierarchy],
    counters: Mapping[str, float],
) -> Release:
    """Return the verified release of another table under a recoding by parts."""
    for what, reason in _refused(job, model).items():
        raise ParameterError(f"a recoding by parts is not applied with {what}: {reason}", hint=f"leave out {what}")
    store, top = recoding.store, recoding.top
    if store is None or top is None:
        raise ParameterError(
            "the parts of this recoding were not kept", hint="give the path that it was saved to (save_recoding)"
        )
    columns = _columns_of_parts(recoding)
    passes: TablePasses = engine.passes(source, len(columns))
    judged = tuple(dict.fromkeys(name for key in model.table_keys for name in key))
    request = Request(recoding.names, model.table_keys, {k: v for k, v in hierarchies.items() if (k,) in model.keys})
    values = passes.values(judged, named=judged) if judged else {}
    domains = {key: known_domain(values[key[0]], request) for key in model.table_keys}
    keys = tuple(column.keys for column in columns)
    whole = count_whole(passes.over_keys(keys, domains), domains, request)
    judge = Judge(model.sampled(whole.rows), whole, passes.room.cells)
    budget = job.budget.allows(whole.rows, whole.unit)
    finish = PartPlan(columns, domains, judge, recoding.declared, recoding.style, job.schema, tuple(source.columns))
    kept, warned = _KeptSums(source.rows, job.report, hashlib.sha256()), list[str]()
    made = _Making(
        passes,
        _parting(top, keys, passes.rows_of_parts(top, keys, recoding.parts), job, source),
        partial(apply_part, finish, store.for_others() if passes.by_others else store),
        kept,
        _about(job, source, ()),
        judge.model,
        _reference(judge, domains),
        recoding.transformations or {},
        lambda: recoding,
        recoding_digest(recoding),
        lambda: warned.extend(_suppressed(kept.counters, budget, whole.rows)),
        warned,
    )
    return _release_parts(job, engine, source, made, lambda: counters)


def recoding_digest(recoding: ByPart) -> Callable[[], str]:
    """Return a function that computes the digest of a stored recoding, part by part."""

    def digest() -> str:
        state = hashlib.sha256(recoding.nonce.encode())
        for part in range(recoding.parts):
            state.update(recoding.store.read(part).digest() if recoding.store is not None else b"")
        return state.hexdigest()

    return digest


def _suppressed(total: Counter[str], budget: int, rows: int) -> list[str]:
    """Return the warnings about suppressed rows; raise if they exceed the suppression limit."""
    suppressed = total["uncovered"] + total["dropped"]
    if suppressed > budget:
        share = share_above(suppressed, rows)
        raise InfeasibleError(
            f"the recoding would suppress {suppressed:,} of {rows:,} rows, of which it does not cover "
            f"{total['uncovered']:,}; {budget:,} may be suppressed",
            hint=f"`suppression={share}` (--suppression {share}) allows them; or search a new recoding on this table",
            feasible=Feasible(share=share),
        )
    sentences: list[str] = []
    if total["uncovered"]:
        words = "{rows_suppressed:row|rows} suppressed, which the recoding does not cover"
        sentences.append(Sentence(words, rows_suppressed=total["uncovered"]))
    if total["broken"]:
        words = "{classes:class|classes} with {rows_suppressed:row|rows} suppressed: the model is not satisfied there"
        sentences.append(Sentence(words, classes=total["broken"], rows_suppressed=total["dropped"]))
    return sentences


def _about(job: Job, source: Any, warnings: tuple[str, ...], *, algorithm: str | None = None) -> About:
    """Collect what the certificate states about the run."""
    about = About(algorithm, "", seeded=job.seed is not None, warnings=warnings, sample=job.sample)
    return replace(about, table_version=source.reading.version)


def _parting(tree: KeyTree, columns: tuple[KeyColumn, ...], sizes: Codes, job: Job, source: Any) -> Parting:
    """Return how rows are dealt to parts."""
    published = tuple(name for name in source.columns if name in job.schema.published)
    return Parting(tree, columns, sizes, published, published)


def _reference(judge: Judge, keys: Mapping[Key, Domain]) -> Counted:
    """Return the whole table as one class, with which a release is compared."""
    whole = FrequencySet((), np.zeros((1, 0), dtype=np.int32), judge.whole)
    return Counted((), whole, {domain.column: domain for domain in keys.values()})


def _stored_column(column: KeyedColumn) -> PartColumn:
    return PartColumn(column.original.domain, not column.has_domain, int(column.low), int(column.high))


def _columns_of_parts(recoding: ByPart) -> tuple[KeyedColumn, ...]:
    """Return the quasi-identifiers of a stored recoding."""
    bound = columns_of([each.domain for each in recoding.quasi], recoding.declared)
    columns = []
    for quasi, stored in zip(bounded_columns(bound, recoding.levels), recoding.quasi, strict=True):
        kind = stored.domain.values.type
        if stored.keyed:
            columns.append(KeyedColumn(quasi, KeyColumn(quasi.name, kind), stored.low, stored.high))
            continue
        between = quasi.ranged and not quasi.textual
        keys = KeyColumn(quasi.name, kind, quasi.domain, quasi.ranks, strange=True, between=between)
        if quasi.name in recoding.levels.columns:
            columns.append(KeyedColumn.bounded(ColumnWithin.of(quasi, recoding.levels), keys, 1.0))
        else:
            columns.append(KeyedColumn(quasi, keys, stored.low, stored.high))
    return tuple(columns)


def _release_parts(
    job: Job, engine: Engine, source: Any, made: _Making, counters: Callable[[], Mapping[str, float]]
) -> Release:
    """Let parts be recoded and merged, and return the release as it was written and verified."""
    enter("publishing")
    secret, kept = Secret(job.seed), made.kept
    check = Check(
        engine,
        job.schema,
        made.model,
        reference=made.reference,
        about=made.about,
        transformations=made.transformations,
        by_class=True,
        later=lambda: replace(
            made.about, recoding_digest=made.digest(), warnings=(*made.about.warnings, *made.warnings)
        ),
    )

    def fill(sink: Sink) -> None:
        give_memory_back(source.rows)
        made.passes.publish_parts(made.parting, made.finish, kept.add, made.done, sink, secret=secret)
        give_memory_back(source.rows)

    draft = Draft(
        source,
        check,
        (MAIN,),
        fill,
        recoding=made.recoding,
        files=partial(files_of_parts, made.recoding),
        counters=counters,
        sums=kept.metrics,
    )
    return make_release(draft, job.destination)
