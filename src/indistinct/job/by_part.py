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

from indistinct.algorithms.partition.by_levels import Judge
from indistinct.algorithms.partition.level_columns import LevelColumn
from indistinct.engines.base import Engine, Sink
from indistinct.engines.levels import Levels
from indistinct.engines.part_rows import Finish, Parting
from indistinct.errors import Feasible, InfeasibleError, OutOfMemoryError, ParameterError
from indistinct.figures import Sentence, share_above
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.levels import KeyColumn, KeyTree
from indistinct.frequencies.value import FrequencySet, Key
from indistinct.hierarchy import Hierarchy
from indistinct.job.job import Job
from indistinct.job.part import PartPlan, PartSummary, apply_part, publish_part
from indistinct.job.parts import LevelPlan, count_whole, level_domain
from indistinct.machine.arrays import Codes
from indistinct.machine.memory import give_memory_back, needs_memory
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.models import Model
from indistinct.recoding.by_part import ByPart, PartColumn, PartWriter
from indistinct.recoding.columns import columns_of
from indistinct.recoding.outputs import MAIN
from indistinct.recoding.storage import files_of_parts
from indistinct.recoding.transformations import Transformation
from indistinct.release.certificate import About
from indistinct.release.release import Release, labels_of
from indistinct.release.verification.check import Check
from indistinct.release.writing.places import WrittenTables
from indistinct.spelling import spell
from indistinct.tables.domain import Domain

# How far a run is when parts are cut, and when all of them are finished, and so when they are merged and verified.
CUT, FINISHED = 0.4, 0.7
# A part that cannot be cut may have so many times the rows of one that fits.
MOST = 4


def check_by_part(job: Job, plan: LevelPlan) -> None:
    """Raise before any further work for what is not made part by part."""
    most = plan.judge.fits * MOST
    largest = max((plan.top.rows[leaf] for leaf in plan.top.whole), default=0)
    refused = {
        "extent=region": plan.mondrian.extent == "region",
        "levels and a recoding that is kept": bool(job.levels) and job.destination.save_recoding is not None,
        f"a class of {largest:,} rows that cannot be cut": largest > most,
        **_refused(job, plan.judge.model),
    }
    for what, is_asked in refused.items():
        if is_asked:
            raise OutOfMemoryError(
                f"the release may have more than {plan.levels.room.classes:,} classes, whose values do not fit in "
                f"`memory`: it would be made part by part, but not with {what}",
                hint=f"leave out {what}, ask for larger classes (k), or allow more `memory`"
                if largest <= most
                else "allow more `memory`, or give a quasi-identifier that tells these rows apart",
            )


def _refused(job: Job, model: Model) -> dict[str, bool]:
    """Return what a release cannot have that is made part by part, and whether it was asked for."""
    return {
        f"the model {model.name}, which judges all classes together": not model.traits.class_wise,
        "a population": model.needs_population or job.population is not None,
        "people (role person)": bool(job.schema.person),
        "a ledger or an earlier release": bool(job.history.ledger or job.history.previous),
        "holding people back": job.hold_back,
        "pseudonyms": bool(job.pseudonyms),
        "ranges=columns": job.ranges == "columns",
        "a release without an output": job.destination.place is None,
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Making:
    """A release in the making: where rows come from, how they find their part, what finishes a part and what is kept.

    `reference` is what was counted of the whole table; `digest` gives that of the recoding when all parts are there,
    and `warnings` what readers must know then.
    """

    levels: Levels
    parting: Parting
    finish: Finish
    keep: Callable[[PartSummary], None]
    done: Callable[[], None]
    about: About
    model: Model
    reference: Counted
    transformations: Mapping[str, Transformation]
    digest: Callable[[], str]
    sums: "_Sums"
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Sums:
    """What adds up over parts: rows, their width times their number, and squares of class sizes."""

    rows: int = 0
    width: float = 0.0
    squares: int = 0

    def add(self, part: PartSummary) -> None:
        """Take a part."""
        self.rows, self.width = self.rows + part.rows, self.width + part.width * part.rows
        self.squares += part.squares

    def metrics(self, whole: int) -> dict[str, float]:
        """Return metrics of a table of so many rows; one that is not published costs as much as everybody."""
        hidden = whole - self.rows
        gcp = (self.width + hidden) / max(whole, 1)
        return {"discernibility": float(self.squares + hidden * whole), "gcp": gcp}


@needs_memory("publishing part by part")
def publish_by_part(
    job: Job,
    engine: Engine,
    source: Any,
    plan: LevelPlan,
    recoding: ByPart,
    *,
    transformations: Mapping[str, Transformation],
    warnings: tuple[str, ...],
    counters: Mapping[str, float],
) -> Release:
    """Return the verified release of a table that was cut into parts, written where the job says."""
    keeps_cuts = job.destination.save_recoding is not None
    finish = PartPlan(
        plan.columns,
        plan.keys,
        plan.judge,
        plan.search.hierarchies,
        plan.style,
        job.schema,
        tuple(source.columns),
        keeps_cuts=keeps_cuts,
    )
    leaves = plan.top.leaves()
    tree = plan.top.keyed(leaves)
    sizes = np.array([plan.top.rows[leaf] for leaf in leaves])
    recoding = replace(recoding, quasi=tuple(map(_stored_column, plan.columns)), top=tree, style=plan.style)
    recoding = replace(recoding, parts=len(leaves))
    state, found = hashlib.sha256(recoding.nonce.encode()), Counter[str]()
    writer, sums = PartWriter() if keeps_cuts else None, _Sums()

    def keep(part: PartSummary) -> None:
        state.update(part.digest)
        if writer is not None and part.cuts is not None:
            writer.add(part.cuts)
        found.update(part.counters)
        sums.add(part)
        plan.search.progress(CUT + (FINISHED - CUT) * sums.rows / plan.judge.whole.rows)

    made = _Making(
        plan.levels,
        _parting(tree, tuple(c.keys for c in plan.columns), sizes, job, source),
        partial(publish_part, finish),
        keep,
        lambda: None,
        _about(job, source, warnings, algorithm=spell(plan.mondrian)),
        plan.judge.model,
        _reference(plan.judge, plan.keys),
        transformations,
        state.hexdigest,
        sums,
    )

    @cache
    def stored() -> ByPart:
        return recoding if writer is None else replace(recoding, store=writer.stored(len(plan.columns)))

    return _write(job, engine, source, made, stored, lambda: {**counters, **found})


def apply_by_part(
    job: Job,
    engine: Any,
    source: Any,
    recoding: ByPart,
    model: Model,
    *,
    hierarchies: Mapping[str, Hierarchy],
    warnings: tuple[str, ...] = (),
    counters: Mapping[str, float],
) -> Release:
    """Return the verified release of another table under a recoding by parts."""
    for what, is_asked in _refused(job, model).items():
        if is_asked:
            raise ParameterError(f"a recoding by parts is not applied with {what}", hint=f"leave out {what}")
    store, top = recoding.store, recoding.top
    if store is None or top is None:
        raise ParameterError(
            "the parts of this recoding were not kept", hint="give the path that it was saved to (save_recoding)"
        )
    columns = _level_columns(recoding)
    levels: Levels = engine.levels(source, len(columns))
    judged = tuple(dict.fromkeys(name for key in model.table_keys for name in key))
    request = Request(recoding.names, model.table_keys, {k: v for k, v in hierarchies.items() if (k,) in model.keys})
    values = levels.values(judged, named=judged) if judged else {}
    domains = {key: level_domain(values[key[0]], request) for key in model.table_keys}
    keys = tuple(column.keys for column in columns)
    whole = count_whole(levels.passes(keys, domains), domains, request)
    judge = Judge(model.sampled(whole.rows), whole, levels.room.cells)
    budget = job.budget.allows(whole.rows, whole.unit)
    finish = PartPlan(columns, domains, judge, recoding.declared, recoding.style, job.schema, tuple(source.columns))
    told: list[str] = []
    total, sums = Counter[str](), _Sums()

    def keep(part: PartSummary) -> None:
        sums.add(part)
        total.update(part.counters)

    def done() -> None:
        told.extend(_suppressed(total, budget, whole.rows))

    made = _Making(
        levels,
        _parting(top, keys, levels.rows_of_parts(top, keys, recoding.parts), job, source),
        partial(apply_part, finish, store.for_others() if levels.by_others else store),
        keep,
        done,
        _about(job, source, warnings),
        judge.model,
        _reference(judge, domains),
        recoding.transformations or {},
        recoding_digest(recoding),
        sums,
        told,
    )
    return _write(job, engine, source, made, lambda: recoding, lambda: dict(counters))


def recoding_digest(recoding: ByPart) -> Callable[[], str]:
    """Return what gives the digest of a recoding that is stored, part by part."""

    def digest() -> str:
        state = hashlib.sha256(recoding.nonce.encode())
        for part in range(recoding.parts):
            state.update(recoding.store.read(part).digest() if recoding.store is not None else b"")
        return state.hexdigest()

    return digest


def _suppressed(total: Counter[str], budget: int, rows: int) -> list[str]:
    """Return what readers must know of rows that are not published; raise where these are more than may be."""
    suppressed = total["uncovered"] + total["dropped"]
    if suppressed > budget:
        share = share_above(suppressed, rows)
        raise InfeasibleError(
            f"the recoding would suppress {suppressed:,} of {rows:,} rows, of which it does not cover "
            f"{total['uncovered']:,}; {budget:,} may be suppressed",
            hint=f"`suppression={share}` (--suppression {share}) allows them; or search a new recoding on this table",
            feasible=Feasible(share=share),
        )
    told: list[str] = []
    if total["uncovered"]:
        words = "{rows_suppressed} row(s) that the recoding does not cover are suppressed"
        told.append(Sentence(words, rows_suppressed=total["uncovered"]))
    if total["broken"]:
        words = "{classes} class(es) with {rows_suppressed} row(s) break the promise on this table and are suppressed"
        told.append(Sentence(words, classes=total["broken"], rows_suppressed=total["dropped"]))
    return told


def _about(job: Job, source: Any, warnings: tuple[str, ...], *, algorithm: str | None = None) -> About:
    about = About(algorithm, "", seeded=job.seed is not None, warnings=warnings, sample=job.sample)
    return replace(about, table_version=source.reading.version)


def _parting(tree: KeyTree, columns: tuple[KeyColumn, ...], sizes: Codes, job: Job, source: Any) -> Parting:
    published = tuple(name for name in source.columns if name in job.schema.published)
    return Parting(tree, columns, sizes, published, published)


def _reference(judge: Judge, keys: Mapping[Key, Domain]) -> Counted:
    """Return the whole table as one class, beside which a release is judged."""
    whole = FrequencySet((), np.zeros((1, 0), dtype=np.int32), judge.whole)
    return Counted((), whole, {domain.column: domain for domain in keys.values()})


def _stored_column(column: LevelColumn) -> PartColumn:
    return PartColumn(column.quasi.domain, not column.has_domain, int(column.low), int(column.high))


def _level_columns(recoding: ByPart) -> tuple[LevelColumn, ...]:
    """Return the quasi-identifiers of a stored recoding."""
    columns = []
    for quasi, stored in zip(
        columns_of([each.domain for each in recoding.quasi], recoding.declared), recoding.quasi, strict=True
    ):
        kind = stored.domain.values.type
        keys = KeyColumn(quasi.name, kind)
        if not stored.keyed:
            between = quasi.ranged and not quasi.textual
            keys = KeyColumn(quasi.name, kind, quasi.domain, quasi.ranks, strange=True, between=between)
        columns.append(LevelColumn(quasi, keys, stored.low, stored.high))
    return tuple(columns)


def _write(
    job: Job,
    engine: Engine,
    source: Any,
    made: _Making,
    recoding: Callable[[], ByPart],
    counters: Callable[[], dict[str, float]],
) -> Release:
    """Let parts be finished and merged, and return the release as it was written and verified."""
    enter("publishing")
    place, labels = job.destination.place, labels_of(source, job.schema)
    if place is None:
        raise AssertionError("what is made part by part has an output")
    for read in source.files or (source.path,):
        place.require_other(read)
    secret = Secret(job.seed)
    check = Check(
        engine,
        job.schema,
        made.model,
        None,
        made.reference,
        about=made.about,
        transformations=made.transformations,
        by_class=True,
        later=lambda: replace(
            made.about, recoding_digest=made.digest(), warnings=(*made.about.warnings, *made.warnings)
        ),
    )

    def fill(sink: Sink) -> None:
        give_memory_back(source.rows)
        made.levels.publish_parts(made.parting, made.finish, made.keep, made.done, sink, secret=secret)
        give_memory_back(source.rows)

    saved = job.destination.save_recoding
    certificate = place.write(
        fill,
        check,
        tables=(MAIN,),
        private={} if saved is None else files_of_parts(recoding, saved),
        overwrite=job.destination.overwrite,
        smallest_count=job.destination.smallest_count,
        writing=replace(job.destination.writing, labels=labels),
    )
    lies, sums = WrittenTables(place, (MAIN,)), made.sums.metrics(source.rows)
    return Release(certificate, recoding(), check, counters(), lies, source.path, labels=labels, sums=sums)
