"""A release that is made part by part, where neither cells nor classes fit in memory.

Parts are cut by passes over rows (`parts.py`), each is finished by itself (`part.py`), and the release is verified as
it was written, some classes at a time. Nothing that grows with rows or classes is held by this process.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from indistinct.engines.base import Engine, Sink
from indistinct.engines.part_rows import Parting
from indistinct.errors import OutOfMemoryError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.value import FrequencySet
from indistinct.job.job import Job
from indistinct.job.part import PartPlan, PublishedPart, publish_part
from indistinct.job.parts import LevelPlan
from indistinct.machine.memory import give_memory_back, needs_memory
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.recoding.by_part import ByPart
from indistinct.recoding.outputs import MAIN
from indistinct.recoding.transformations import Transformation
from indistinct.release.certificate import About
from indistinct.release.release import Release, labels_of
from indistinct.release.verification.check import Check
from indistinct.release.writing.places import WrittenTables
from indistinct.spelling import spell

# How far a run is when all parts are finished, and so when they are merged and verified.
CUT, FINISHED = 0.4, 0.7
# A part that cannot be cut may have so many times the rows of one that fits.
MOST = 4


def check_by_part(job: Job, plan: LevelPlan) -> None:
    """Raise before any further work for what is not made part by part."""
    model, most = plan.judge.model, plan.judge.fits * MOST
    largest = max((plan.top.rows[leaf] for leaf in plan.top.whole), default=0)
    refused = {
        "extent=region": plan.mondrian.extent == "region",
        f"the model {model.name}, which judges all classes together": not model.traits.class_wise,
        "a ledger or an earlier release": bool(job.history.ledger or job.history.previous),
        "pseudonyms": bool(job.pseudonyms),
        "a release without an output": job.destination.place is None,
        f"a class of {largest:,} rows that cannot be cut": largest > most,
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


@dataclass(slots=True)
class _Summary:
    """What is kept of finished parts."""

    state: "hashlib._Hash"
    rows: int = 0
    counters: Counter[str] = field(default_factory=Counter)


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
    enter("publishing")
    secret, summary = Secret(job.seed), _Summary(hashlib.sha256(recoding.nonce.encode()))
    parts = PartPlan(
        plan.columns, plan.keys, plan.judge, plan.search.hierarchies, plan.style, job.schema, tuple(source.columns)
    )
    leaves = plan.top.leaves()
    sizes = np.array([plan.top.rows[leaf] for leaf in leaves])
    published = tuple(name for name in source.columns if name in job.schema.published)
    parting = Parting(plan.top.keyed(leaves), tuple(c.keys for c in plan.columns), sizes, published, published)

    def keep(part: PublishedPart) -> None:
        summary.rows += int(part.classes.sizes.sum())
        summary.state.update(part.digest)
        summary.counters.update(part.counters)
        plan.search.progress(CUT + (FINISHED - CUT) * summary.rows / plan.judge.whole.rows)

    def fill(sink: Sink) -> None:
        give_memory_back(source.rows)
        plan.levels.publish_parts(parting, partial(publish_part, parts), keep, sink, secret=secret)
        give_memory_back(source.rows)

    about = About(spell(plan.mondrian), "", seeded=secret.seed is not None, warnings=warnings)
    whole = FrequencySet((), np.zeros((1, 0), dtype=np.int32), plan.judge.whole)
    reference = Counted((), whole, {domain.column: domain for domain in plan.keys.values()})
    check = Check(engine, job.schema, plan.judge.model, None, reference, None, about=about, by_class=True)
    check = replace(check, transformations=transformations, recoding_digest=summary.state.hexdigest)
    place, labels = job.destination.place, labels_of(source, job.schema)
    if place is None:
        raise AssertionError("what is made part by part has an output")
    for read in source.files or (source.path,):
        place.require_other(read)
    certificate = place.write(
        fill,
        check,
        tables=(MAIN,),
        overwrite=job.destination.overwrite,
        smallest_count=job.destination.smallest_count,
        writing=replace(job.destination.writing, labels=labels),
    )
    every = {**counters, **summary.counters}
    return Release(certificate, recoding, check, every, WrittenTables(place, (MAIN,)), source.path, labels=labels)
