"""How a job runs: its sources are opened, a recoding is searched or applied, and the release is published."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm, run_search, unused_settings
from indistinct.algorithms.explanation import Explanation
from indistinct.algorithms.registry import parse_algorithm
from indistinct.algorithms.within_levels import bounded_problem, find_within
from indistinct.engines import check_support, closes_sources, using_source
from indistinct.engines.base import Engine, Source, close_source, transform_source
from indistinct.errors import IndistinctError, InfeasibleError, OutputError, ParameterError, VerificationError
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.structure import CLASSES
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.above_levels import can_search_above, search_above_levels
from indistinct.job.by_part import apply_by_part, check_by_part, publish_by_part
from indistinct.job.job import Job, check_job, problem_of
from indistinct.job.parts import CutTable, Search, SearchResult, cut_table, search_parts
from indistinct.job.sampling import check_share, require_enough
from indistinct.machine.randomness import Secret
from indistinct.machine.stages import enter
from indistinct.models import Model
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.kinds import ByPart, Recoding, with_hierarchies
from indistinct.recoding.outputs import check_range_form
from indistinct.recoding.range_columns import require_free_names
from indistinct.recoding.storage import NAMES as KIND_NAMES
from indistinct.recoding.transformations import Transformation, kept_hierarchies
from indistinct.release.fit import Fit, explain_failure, fit, suppressed_within, within_budget
from indistinct.release.history.overlap import (
    Earlier,
    earlier_releases,
    held_within,
    hold_people_back,
    publish_beside,
)
from indistinct.release.promise import (
    check_kinds,
    check_orders,
    check_same_kinds,
    promise_of,
    promised_model,
    settle_reading,
)
from indistinct.release.pseudonyms.making import check_pseudonyms, require_rows_here
from indistinct.release.release import Publication, Release
from indistinct.release.verification.population import Population, count_beside, fit_beside, unused, using_population
from indistinct.release.writing.partitioned import check_partitioning
from indistinct.tables.addresses import address_of, scheme_of
from indistinct.text_form import spell

COUNTERS = ("checks", "scans", "rollups", "merges")


@closes_sources
def run_job(job: Job) -> Release:
    """Return the release of a job, verified on the published rows.

    Raises `InfeasibleError` if there is none, and `VerificationError` where a recoding does not satisfy its guarantee.
    """
    began = time.perf_counter()
    job = replace(job, pseudonyms=check_pseudonyms(job.pseudonyms, job.schema))
    with using_source(job.table, job.reading, engine=job.engine, memory=job.memory) as (engine, table):
        _check_place(job, engine)
        with _using_sample(job, engine, table) as (job, source):
            if job.recoding is None:
                release = _publish_by_search(job, engine, source, began=began)
            else:
                release = _publish_by_recoding(job, job.recoding, engine, source, began=began)
    job.report(1.0)
    return release


def _check_place(job: Job, engine: Engine) -> None:
    """Raise before any work where a release cannot be written.

    Workers of a cluster do not write to an address: they rename files by their paths.
    """
    output = job.destination.output
    address = None if output is None else address_of(output)
    if engine.writes_by_workers and address is not None:
        raise OutputError(
            f"workers of {engine.name} write a release to a path, and not to an address that begins with "
            f"{scheme_of(address)}://",
            hint="choose a path that driver and workers share, and copy the folder and its certificate from there; a "
            "small release may go without an output, and then release.write(address)",
        )
    job.destination.check_free(())


@contextmanager
def _using_sample(job: Job, engine: Engine, table: Source) -> Iterator[tuple[Job, Source]]:
    """Yield a job and its sample if it requests one, else its table; the sample is closed at the end of the block.

    The table is the population of its sample where one is needed and none is given.
    """
    if job.sample is None:
        yield job, table
        return
    share = check_share(job.sample)
    job.schema.check(table.columns)
    sampled = engine.draw(table, share, person=job.schema.person)
    try:
        model = promised_model(job.model, _algorithm_of(job), job.schema)
        require_enough(sampled, share, model)
        whole = table if job.population is None and model.needs_population else job.population
        yield replace(job, population=whole), sampled
    finally:
        close_source(sampled, given=table)


@dataclass(frozen=True, slots=True, eq=False)
class _OpenJob:
    """A job with its sources open: the table with its columns transformed, and the population if the model needs one.

    `hierarchies` are those of published columns.
    """

    job: Job
    engine: Engine
    source: Source
    model: Model
    hierarchies: Mapping[str, Hierarchy]
    population: Source | None = None


def _publish_by_search(job: Job, engine: Engine, table: Source, *, began: float) -> Release:
    """Search a recoding for a table, and make the release."""
    require_rows_here(table, job.pseudonyms)
    source, transformed = transform_source(table, job.schema, job.hierarchies, job.transformations)
    hierarchies = kept_hierarchies(job.hierarchies, transformed.declared)
    algorithm = _algorithm_of(job)
    check_support(engine, algorithm.traits.recodings)
    _check_ranges(job, algorithm)
    _check_partitioning(job, algorithm.require_classes)
    model = promised_model(job.model, algorithm, job.schema)
    if not job.budget:
        job = replace(job, suppression=algorithm.own_budget(model, "people" if job.schema.person else "rows"))
    opened = _OpenJob(job, engine, source, model, hierarchies)
    request = _request(opened, algorithm)
    earlier = earlier_releases(job.history, schema=job.schema, suppression=job.suppression)
    with using_population(job.population, model, engine, source, schema=job.schema) as population:
        opened = replace(opened, population=population)
        search, plan = _plan(opened, algorithm, request)
        if isinstance(plan, CutTable) and plan.goes_by_part:
            release = _publish_by_part(opened, plan, table, transformed.declared, began=began)
            return replace(release, declared=hierarchies)
        result = _search(opened, search, plan, request)
        recoding = _recoding_to_keep(opened, result, table, transformed.declared)
        publication = _publication(opened, result, recoding)
        counters = {**result.problem.counters, "seconds": time.perf_counter() - began}
        release = _publish(job, earlier, publication, counters)
    return replace(release, explanation=result.explanation, declared=hierarchies)


def _publish(job: Job, earlier: Earlier | None, publication: Publication, counters: Mapping[str, float]) -> Release:
    """Verify and publish a prepared release, compared with earlier ones."""
    every = {**dict.fromkeys(COUNTERS, 0), **counters}
    accept, destination = job.history.accept_overlap, job.destination
    return publish_beside(earlier, publication, accept=accept, destination=destination, counters=every)


def _algorithm_of(job: Job) -> Algorithm:
    """Return the algorithm that a job names; one that chooses by itself must suit other tables if its recoding is kept.

    >>> from indistinct.schema import Schema
    >>> spell(_algorithm_of(Job("people.csv", Schema(quasi=["age"]), algorithm="mondrian")))
    'mondrian'
    """
    named = job.algorithm
    algorithm = parse_algorithm(named) if isinstance(named, str) else named or Auto()
    algorithm = algorithm.with_numeric(job.numeric).with_target(job.target)
    return algorithm.for_reuse() if job.keeps_recoding else algorithm


def _check_partitioning(job: Job, require_classes: Callable[[IndistinctError], None]) -> None:
    """Raise before any work where names of folders may not hold the values of the columns of `partition_by`."""
    columns, pseudonyms = job.destination.partition_by, job.pseudonyms
    check_partitioning(columns, job.schema, require_classes=require_classes, pseudonyms=pseudonyms)


def _check_ranges(job: Job, algorithm: Algorithm) -> None:
    """Raise if ranges cannot be published as columns: in buckets, or with another form of numbers."""
    if check_range_form(job.ranges) == "labels":
        return
    require_free_names(job.schema)
    forms, hint = algorithm.numeric_forms, "leave out `ranges` (--ranges), or use numeric=interval"
    needed = f"ranges=columns needs ranges; {algorithm.name} publishes"
    algorithm.require_classes(ParameterError(f"{needed} unmodified values", hint=hint))
    if any("interval" not in form for form in forms.used):
        raise ParameterError(f"{needed} numbers as numeric={forms}", hint=hint)


def _request(opened: _OpenJob, algorithm: Algorithm) -> Request:
    """Return the request for counting: columns, keys and hierarchies of the job.

    Raises where source, roles, model and hierarchies do not fit each other.
    """
    schema, target, hierarchies = opened.job.schema, opened.job.target, opened.hierarchies
    extra = (*algorithm.keys, *([(target,)] if target else []))
    check_job(opened.source, schema, opened.model, hierarchies, extra=extra)
    algorithm.require_columns(schema)
    opened.job.importance.check(schema.quasi)
    algorithm.numeric_forms.check(schema.quasi)
    opened.job.levels.require_columns(schema.quasi)
    if opened.job.levels:
        algorithm.require_classes(
            ParameterError(
                f"{algorithm.name} publishes unmodified values, so that no levels bound them",
                hint="leave out levels, or use an algorithm that recodes",
            )
        )
    keys = tuple(dict.fromkeys([*opened.model.table_keys, *extra]))
    names = (*schema.published, *opened.job.pseudonyms)
    return algorithm.request(schema, keys, hierarchies, to_publish=names)


def _plan(opened: _OpenJob, algorithm: Algorithm, request: Request) -> tuple[Search, CutTable | SearchResult | None]:
    """Return the search, and the parts if the cells of the table do not fit in memory.

    A search that publishes each column on one level is through then, above the levels whose cells fit.
    """
    job, source, model = opened.job, opened.source, opened.model
    known = (*opened.hierarchies, *source.reading.text)

    def check(counted: Counted) -> tuple[str, ...]:
        return (*check_kinds(counted, model, known=known), *unused(job.population, model))

    wanted = (job.importance, job.levels)
    search = Search(algorithm, model, opened.hierarchies, job.budget, check, job.report, *wanted)
    beyond = opened.engine.cells_beyond_memory(source, request)
    if beyond is None:
        return search, None
    if can_search_above(search):
        return search, search_above_levels(beyond, request, search)
    return search, cut_table(beyond, request, search)


def _search(opened: _OpenJob, search: Search, plan: CutTable | SearchResult | None, request: Request) -> SearchResult:
    """Search in cells, or below the upper cuts where the cells do not fit in memory."""
    if isinstance(plan, SearchResult):
        return plan
    if plan is not None:
        return search_parts(plan)
    job = opened.job
    counted = count_beside(opened.population, opened.engine, opened.source, request=request, schema=job.schema)
    return _search_cells(search, counted, job)


def _publish_by_part(
    opened: _OpenJob, plan: CutTable, table: Source, declared: Mapping[str, Transformation], *, began: float
) -> Release:
    """Return a release that is made part by part."""
    job = opened.job
    check_by_part(job, plan)
    problem = replace(plan.problem, columns=tuple(column.original for column in plan.columns))
    unused_ones = unused_settings(plan.mondrian, problem, hierarchies=opened.hierarchies, suppression=job.budget)
    recoding = ByPart(
        (),
        declared={name: each for name, each in opened.hierarchies.items() if name in plan.problem.frequencies.names},
        schema=job.schema,
        promise=opened.model.spec(),
        suppression=job.budget.plain,
        reading=settle_reading(table, job.schema.published),
        transformations=declared or None,
    )
    return publish_by_part(
        job,
        opened.engine,
        opened.source,
        plan,
        recoding,
        transformations=declared,
        warnings=(*plan.warnings, *unused_ones),
        counters={**dict.fromkeys(COUNTERS, 0), **plan.problem.counters, "seconds": time.perf_counter() - began},
    )


def _search_cells(search: Search, counted: Counted, job: Job) -> SearchResult:
    """Search a recoding for counted cells; return it with the algorithm used, and the reason if it was chosen."""
    model, algorithm = search.model.sampled(counted.frequencies.members), search.algorithm
    warnings = search.check(counted)
    search.progress(0.2)
    problem = problem_of(
        counted, model, search.hierarchies, suppression=search.suppression, parts_rows=algorithm.traits.splits
    )
    sensitive = tuple(QuasiColumn(counted.known[name]) for name in algorithm.separated(job.schema))
    problem = replace(problem, sensitive=sensitive, counters=Counter(scans=1), seed=job.seed, importance=job.importance)
    problem = bounded_problem(problem, job.levels) if job.levels else problem
    enter("searching")
    explanations: list[Explanation] = []
    watched = replace(problem, progress=lambda share: search.progress(0.2 + 0.4 * share), explain=explanations.append)
    recoding = run_search(algorithm, watched, find_within)
    why = explanations[-1] if explanations else None
    chosen = algorithm if why is None else parse_algorithm(why.algorithm)
    return SearchResult(counted, problem, recoding, chosen, model, warnings, why)


def _recoding_to_keep(
    opened: _OpenJob, result: SearchResult, table: Source, transformations: Mapping[str, Transformation]
) -> Recoding:
    """Add to the recoding all that applying it to another table needs: roles, guarantee, limit and reading options."""
    job = opened.job
    return replace(
        with_hierarchies(result.recoding, opened.hierarchies),
        schema=job.schema,
        promise=opened.model.spec(),
        suppression=job.budget.plain,
        reading=settle_reading(table, (*job.schema.published, *job.pseudonyms)),
        transformations=transformations or None,
        ranges="columns" if job.ranges == "columns" else None,
    )


def _publication(opened: _OpenJob, result: SearchResult, recoding: Recoding) -> Publication:
    """Collect the result of a search for publishing, with its warnings."""
    job, problem, algorithm = opened.job, result.problem, result.algorithm
    unused_ones = unused_settings(algorithm, problem, hierarchies=opened.hierarchies, suppression=job.budget)
    unused_ones += suppressed_columns(recoding, opened.hierarchies)
    return Publication(
        opened.engine,
        opened.source,
        result.counted,
        recoding,
        result.model,
        job.schema,
        problem.suppression,
        Secret(job.seed),
        spell(algorithm),
        (*result.warnings, *unused_ones),
        population=opened.population,
        sample=job.sample,
        pseudonyms=job.pseudonyms,
    )


def suppressed_columns(recoding: Recoding, hierarchies: Mapping[str, Hierarchy]) -> tuple[str, ...]:
    """Return a warning that names the columns which show * in every row, because they have no hierarchy."""
    levels = recoding.node or {}
    names = [name for name, level in levels.items() if level and name not in hierarchies]
    if not names:
        return ()
    example = f"--hierarchy {names[0]}=mask:right, or intervals:5,10 for numbers"
    have = "has no hierarchy and is" if len(names) == 1 else "have no hierarchies and are"
    return (f"{', '.join(map(repr, names))} {have} published as * in every row; give one, such as {example}",)


def _publish_by_recoding(job: Job, recoding: Recoding, engine: Engine, table: Source, *, began: float) -> Release:
    """Make a release of a table by an existing recoding."""
    check_support(engine, [KIND_NAMES[type(recoding)]])
    schema, model = promise_of(recoding, job.model)
    hierarchies = kept_hierarchies(job.hierarchies, recoding.transformations)
    check_job(table, schema, model, hierarchies, decided=True)
    check_same_kinds(recoding, table)
    _check_partitioning(replace(job, schema=schema), CLASSES.require_classes)
    require_rows_here(table, job.pseudonyms)
    source, _ = transform_source(table, schema, hierarchies, recoding.transformations)
    if isinstance(recoding, ByPart):
        counters = {**dict.fromkeys(COUNTERS, 0), "scans": 1, "seconds": time.perf_counter() - began}
        job = replace(job, schema=schema)
        made = apply_by_part(job, engine, source, recoding, model, hierarchies=hierarchies, counters=counters)
        return replace(made, declared=hierarchies)
    earlier = earlier_releases(job.history, schema=schema, suppression=job.suppression)
    with using_population(job.population, model, engine, source, schema=schema) as population:
        opened = _OpenJob(replace(job, schema=schema), engine, source, model, hierarchies, population)
        secret = Secret(job.seed)  # one for all attempts, as people are held back

        def prepare(rows: Source, withheld: int) -> tuple[Fit, Publication]:
            return _fit(replace(opened, source=rows), recoding, secret, withheld=withheld)

        fitted, publication = prepare(source, 0)
        if job.hold_back:
            fitted, publication = hold_people_back(fitted, publication, earlier, prepare)
        try:
            release = _publish(job, earlier, publication, {"scans": 1, "seconds": time.perf_counter() - began})
        except VerificationError as error:
            raise explain_failure(error, fitted, publication.model) from None
        except InfeasibleError as error:
            raise within_budget(error, fitted, publication.model) from None
    return replace(release, declared=hierarchies)


def _fit(opened: _OpenJob, recoding: Recoding, secret: Secret, *, withheld: int) -> tuple[Fit, Publication]:
    """Apply a recoding to a source and prepare its publication.

    `withheld` people were removed already, because earlier releases would expose them; they count towards the
    suppression limit.
    """
    job, engine, others = opened.job, opened.engine, opened.population
    keys = tuple(dict.fromkeys([*recoding.counted_keys, *opened.model.table_keys]))
    sensitive = {name: hierarchy for name, hierarchy in opened.hierarchies.items() if (name,) in keys}
    fitted = fit(engine, opened.source, recoding, keys=keys, hierarchies=sensitive)
    model = opened.model.sampled(fitted.members)
    if others is not None:
        fitted = fit_beside(fitted, Population(engine, others, job.schema, recoding))
    allowed = held_within(
        withheld, job.budget.allows(fitted.members + withheld, fitted.unit), fitted.members + withheld
    )
    assignment, dropped = suppressed_within(fitted, model, budget=allowed)
    warnings = (*check_orders(fitted.counted, model), *unused(job.population, model), *dropped)
    return fitted, Publication(
        engine,
        opened.source,
        fitted.counted,
        recoding,
        model,
        job.schema,
        allowed,
        secret,
        warnings=warnings,
        assignment=assignment,
        population=others,
        sample=job.sample,
        pseudonyms=job.pseudonyms,
    )
