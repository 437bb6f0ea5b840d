"""The one way to a release: an engine publishes what a recoding assigns, and a model judges what was published."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from indistinct.engines.base import Engine, Sink, Source
from indistinct.errors import Feasible, InfeasibleError
from indistinct.figures import share_above
from indistinct.frequencies.count import Counted
from indistinct.machine.memory import needs_memory
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.models.base import Model
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import Assignment
from indistinct.recoding.storage import digest, files_of_recoding
from indistinct.release.certificate import About, Overlap
from indistinct.release.history.ledger import Record
from indistinct.release.pseudonyms.making import Pseudonym, PseudonymSink, with_pseudonyms
from indistinct.release.release import Release
from indistinct.release.verification.check import Check
from indistinct.release.verification.population import Population, count_people
from indistinct.release.writing.files import StagedTables
from indistinct.release.writing.places import IN_MEMORY, Destination, WrittenTables
from indistinct.schema import Schema
from indistinct.tables.value import Labels

LOG = logging.getLogger("indistinct.publish")


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """A table that was counted, a recoding for it, and what its release must satisfy: all that publishing needs.

    `budget` is the number of rows, or people, that may be dropped. `warnings` are what readers must know. `assignment`
    is what the recoding makes of the table, where that is known already, and `overlap` what was found beside earlier
    releases; `record` is what a ledger is to remember of it. `population` is whom the model compares with.
    `pseudonyms` are published in place of the identifiers that they name.
    """

    engine: Engine
    source: Source
    counted: Counted
    recoding: Recoding
    model: Model
    schema: Schema
    budget: int
    secret: Secret = field(default_factory=Secret)
    algorithm: str | None = None
    warnings: tuple[str, ...] = ()
    assignment: Assignment | None = None
    overlap: Overlap | None = None
    record: Record | None = None
    population: Source | None = None
    pseudonyms: Mapping[str, Pseudonym] = field(default_factory=dict)

    def publish(self, assignment: Assignment, sink: Sink) -> None:
        """Give a sink the published tables, with pseudonyms in place of identifiers that are shown."""
        around = PseudonymSink.around(sink, self.pseudonyms, secret=self.secret)
        self.engine.publish(self.source, assignment, around, secret=self.secret)


@needs_memory("verifying and writing the release")
def publish(
    job: Publication, destination: Destination = IN_MEMORY, *, counters: Mapping[str, float] | None = None
) -> Release:
    """Return a verified release: in memory, or at a destination.

    A file is verified as it was written, before it gets its name.
    """
    assignment = with_pseudonyms(job.assignment or assign(job.counted.frequencies, job.recoding), job.pseudonyms)
    LOG.info(
        "publishing %d rows in %d classes; %d rows suppressed of %d allowed",
        assignment.rows - assignment.suppressed,
        len(assignment.classes),
        assignment.suppressed,
        job.budget,
    )
    _require_budget(assignment, job.budget)
    enter("publishing")
    seeded = job.secret.seed is not None
    kinds = {name: each.kind for name, each in job.pseudonyms.items()}
    about = About(job.algorithm, digest(job.recoding), seeded=seeded, warnings=job.warnings, overlap=job.overlap)
    about = replace(about, pseudonyms=kinds)
    buckets = assignment.layout.buckets
    others = None
    if job.population is not None:
        others = count_people(Population(job.engine, job.population, job.schema, job.recoding))
    check = Check(job.engine, job.schema, job.model, buckets, job.counted, assignment, about=about, population=others)
    check = replace(check, transformations=job.recoding.transformations or {})
    origin, labels = job.source.path, _labels(job)
    place, names = destination.place, tuple(assignment.layout.tables)
    if place is None:
        kept = _Kept()
        job.publish(assignment, kept)
        certificate = check.certify_tables(kept.tables)
        made = Release(certificate, job.recoding, check, counters or {}, kept.tables, origin, labels=labels)
        return replace(made, record=job.record)
    keys = (None if each.key is None else Path(each.key) for each in job.pseudonyms.values())
    for read in (*(job.source.files or (origin,)), *keys):
        place.require_other(read)
    tables: dict[str, pa.Table] = {}

    def fill(sink: Sink) -> None:
        job.publish(assignment, sink)
        tables.update(sink.tables if isinstance(sink, StagedTables) else {})

    certificate = place.write(
        fill,
        check,
        tables=names,
        private={} if destination.save_recoding is None else files_of_recoding(job.recoding, destination.save_recoding),
        overwrite=destination.overwrite,
        record=job.record,
        smallest_count=destination.smallest_count,
        writing=replace(destination.writing, labels=labels),
    )
    lies = tables or WrittenTables(place, names)
    return Release(certificate, job.recoding, check, counters or {}, lies, origin, record=job.record, labels=labels)


def _labels(job: Publication) -> dict[str, Labels]:
    """Return what is said of the columns of a source; one that is recoded is no category any more."""
    return {
        name: replace(each, category=None) if name in job.schema.quasi else each
        for name, each in job.source.labels.items()
    }


@dataclass(slots=True)
class _Kept:
    """A sink that keeps tables in memory."""

    tables: dict[str, pa.Table] = field(default_factory=dict)

    def accept(self, name: str, batches: Iterable[pa.Table]) -> None:
        self.tables[name] = pa.concat_tables(batches)


def _require_budget(assignment: Assignment, budget: int) -> None:
    suppressed, counted = assignment.suppressed_members, assignment.frequencies
    if suppressed > budget:
        share = share_above(suppressed, counted.members)
        raise InfeasibleError(
            f"the recoding would suppress {suppressed:,} of {counted.members:,} {counted.classes.unit}; "
            f"{budget:,} may be suppressed",
            hint=f"`suppression={share}` (--suppression {share}) allows them; or search a new recoding on this table",
            feasible=Feasible(share=share),
        )
