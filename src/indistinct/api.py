"""The public functions: open, anonymize, apply, verify."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, overload

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm, Progress, run_search, unused_settings
from indistinct.algorithms.explanation import Explanation
from indistinct.engines import lives_elsewhere, open_source, using_source
from indistinct.engines.base import Source
from indistinct.engines.levels import CellsBeyondMemoryError
from indistinct.engines.support import check_support
from indistinct.engines.transformed import transformed_source
from indistinct.errors import InfeasibleError, ParameterError, VerificationError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.hierarchy import Hierarchy
from indistinct.jobs import budget, check_job, problem_of
from indistinct.level_search import Found, Search, search_by_levels
from indistinct.models import Model
from indistinct.promise import judging, promise_of, promised_model
from indistinct.randomness import Secret
from indistinct.recoding.assign import keys_of
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.extend import with_hierarchies
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import MAIN
from indistinct.recoding.storage import NAMES as KIND_NAMES
from indistinct.recoding.storage import read_recoding
from indistinct.registry import parse_algorithm
from indistinct.release.certificate import About, Certificate
from indistinct.release.check import Check
from indistinct.release.database import Place
from indistinct.release.fit import explained, fit, suppressed_within, within_budget
from indistinct.release.form import Writing
from indistinct.release.kinds import (
    check_kinds,
    check_orders,
    check_same_kinds,
    reading_again,
    settled,
)
from indistinct.release.originals import people_by_class, reference_of
from indistinct.release.overlap import earlier_releases, publish_beside
from indistinct.release.pipeline import Job, destination_of
from indistinct.release.population import Population, count_beside, fit_beside, open_population, unused
from indistinct.release.pseudonym_columns import Pseudonym, check_pseudonyms, kinds_of, require_rows_here
from indistinct.release.published import belongs_to, certificate_of, open_published
from indistinct.release.release import Release
from indistinct.release.small_counts import SMALLEST
from indistinct.release.transformed import transformed_alike
from indistinct.release.unkeyed import without_hashes
from indistinct.schema import Schema
from indistinct.spelling import spell
from indistinct.stages import enter
from indistinct.tables import Reading, Table, open_table
from indistinct.tables.reading import Declarations, declare
from indistinct.transformations import Transformation, Transformed, check_transformations, kept_hierarchies

ROWS_COUNTED = (
    "rows were counted, while the certificate beside the file speaks of people: name the columns that tell people "
    "apart (role person), and give the original"
)
SAMPLE_SHOWN = (
    "the published rows were taken for the whole sample: if others were suppressed, every class needs more rows than "
    "this check asked for; give the original, or sample_size in the model"
)
COUNTERS = ("checks", "scans", "rollups", "merges")


@overload
def open(  # noqa: A001
    source: str | Path | Sequence[str | Path],
    *,
    columns: Sequence[str] | None = None,
    reading: Reading | None = None,
    **declared: Unpack[Declarations],
) -> Table: ...
@overload
def open(  # noqa: A001
    source: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    engine: str | None = None,
    memory: str | int | None = None,
    **options: Any,
) -> Any: ...
def open(  # noqa: A001
    source: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    engine: str | None = None,
    memory: str | int | None = None,
    **options: Any,
) -> Any:
    """Return the table at a path or in a frame, read as it is declared; what is not declared is found or stays text.

    `delimiter` and `encoding` of a text file; `decimal` and `thousands` marks; `dates`, a format such as "%d.%m.%Y" for
    all columns of text that fit, or {column: format}; `missing`, texts for all columns or {column: texts}; `text`,
    columns that are text whatever they spell; `types`, {column: number, plain-number, integer, date, datetime, text};
    `header=True` for a first line of names that looks like data; `columns` chooses some; `reading` is how another table
    was read.

    What lives elsewhere stays there and is read whenever it is needed: a relation, a table of a database, of which
    `table` is the name, or what a `query` gives there, and a file whose `engine` is not memory, or which is too large
    for `memory`, such as "1GB". A database is read in one snapshot until the source is closed or forgotten.
    """
    named = table is not None or query is not None
    if not named and engine in (None, "memory") and memory is None and not lives_elsewhere(source):
        return open_table(source, **options)
    if options.pop("columns", None) is not None:
        raise ParameterError(
            "`columns` chooses among those of a table in memory, and this one is left where it lies",
            hint="select them in a relation or a view, or give the others the role of identifiers",
        )
    reading = declare(options.pop("reading", None), **options)
    return open_source(source, reading, engine=engine or "auto", memory=memory, table=table, query=query)[1]


def anonymize(
    table: Any,
    schema: Schema,
    *,
    model: Model | str | None = None,
    algorithm: Algorithm | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: float = 0.0,
    target: str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    output: Place | None = None,
    overwrite: bool = False,
    save_recoding: str | Path | None = None,
    previous: Recoding | str | Path | None = None,
    previous_input: Any = None,
    ledger: str | Path | None = None,
    accept_overlap: bool = False,
    smallest_count: int = SMALLEST,
    writing: Writing | None = None,
    population: Any = None,
    transformations: Mapping[str, Transformation] | None = None,
    pseudonyms: Mapping[str, Pseudonym] | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Release:
    """Return a release of a table that satisfies a model, verified on the published rows.

    Without an `algorithm` several are tried; one with a promise of its own needs no model. `suppression` is the share
    of rows, or people, that may be dropped, `target` a column whose classification is measured, `population` everybody
    from whom the table was drawn. `engine` is auto, memory, postgres, spark, or duckdb for tables larger than `memory`,
    such as "1GB". `seed` is for tests. With `output`, a file or a `DatabaseTable`, the release is verified as written
    there, hides counts below `smallest_count`, and its recoding is kept at `save_recoding`. It is refused if people of
    earlier releases (one's recoding `previous` and table `previous_input`, or all of a private `ledger`) are among
    fewer than promised in all together, unless `accept_overlap`. `transformations` say what is published of columns
    that are not recoded, `pseudonyms` what stands in place of identifiers. Raises `InfeasibleError` if there is none.
    """
    report, shown = progress or (lambda _share: None), check_pseudonyms(pseudonyms, schema)
    began = time.perf_counter()
    with using_source(table, engine=engine, memory=memory) as (where, opened):
        require_rows_here(opened, shown)
        source, made = _transformed(opened, schema, hierarchies or {}, transformations)
        declared = kept_hierarchies(hierarchies or {}, made.declared)
        search = _chosen(algorithm, reuse=any(each is not None for each in (save_recoding, previous, ledger)))
        check_support(where, search.traits.recodings)
        asked = promised_model(model, search, schema)
        request = _request(source, schema, asked, search, declared, target=target)
        earlier = earlier_releases(previous, previous_input, ledger, schema=schema, suppression=suppression)
        others = open_population(population, asked, where, source, schema=schema)

        def check(counted: Counted) -> tuple[str, ...]:
            return (*check_kinds(counted, asked, known=(*declared, *source.reading.text)), *unused(population, asked))

        wanted = Search(search, asked, declared, suppression, check, report)
        try:
            counted = count_beside(others, where, source, request=request, schema=schema)
            found = _searched(wanted, counted, schema=schema, seed=seed)
        except CellsBeyondMemoryError as beyond:
            found = search_by_levels(beyond, request, wanted)
        problem, chosen = found.problem, found.algorithm
        reading = settled(opened, (*schema.published, *shown))
        recoding = replace(with_hierarchies(found.recoding, declared), schema=schema, promise=asked.spec())
        recoding = replace(recoding, suppression=suppression, reading=reading, transformations=made.declared or None)
        did = {**dict.fromkeys(COUNTERS, 0), **problem.counters, "seconds": time.perf_counter() - began}
        told = (*found.warnings, *unused_settings(chosen, problem, hierarchies=declared, suppression=suppression))
        allowed, named = problem.suppression, spell(chosen)
        job = Job(where, source, found.counted, recoding, found.model, schema, allowed, Secret(seed), named, told)
        place = destination_of(output, overwrite, save_recoding, recoding, smallest_count, writing)
        job = job.beside(others, shown)
        release = publish_beside(earlier, job, accept=accept_overlap, destination=place, counters=did)
    report(1.0)
    return replace(release, explanation=found.explanation, declared=declared)


def _chosen(algorithm: Algorithm | str | None, *, reuse: bool) -> Algorithm:
    """Return the algorithm that was named; what is chosen by itself must be of use if its recoding is kept."""
    search = parse_algorithm(algorithm) if isinstance(algorithm, str) else algorithm or Auto()
    return replace(search, reuse=True) if reuse and isinstance(search, Auto) else search


def _searched(search: Search, counted: Counted, *, schema: Schema, seed: int | None) -> Found:
    """Return what a search found, and with which algorithm, and why that one if it chose among several."""
    model, warnings, algorithm = (
        search.model.sampled(counted.frequencies.members),
        search.check(counted),
        search.algorithm,
    )
    search.progress(0.2)
    problem = problem_of(
        counted, model, search.hierarchies, suppression=search.suppression, parts_rows=algorithm.traits.splits
    )
    sensitive = _sensitive(schema, counted, algorithm)
    problem = replace(problem, sensitive=sensitive, counters=Counter(scans=1), seed=seed)
    enter("searching")
    told: list[Explanation] = []
    heard = replace(problem, progress=lambda share: search.progress(0.2 + 0.4 * share), explain=told.append)
    found = run_search(algorithm, heard)
    chosen, why = (parse_algorithm(told[-1].algorithm), told[-1]) if told else (algorithm, None)
    return Found(counted, problem, found, chosen, model, warnings, why)


def apply(
    recoding: Recoding | str | Path,
    table: Any,
    *,
    model: Model | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: float | None = None,
    seed: int | None = None,
    output: Place | None = None,
    overwrite: bool = False,
    previous: Recoding | str | Path | None = None,
    previous_input: Any = None,
    ledger: str | Path | None = None,
    accept_overlap: bool = False,
    smallest_count: int = SMALLEST,
    writing: Writing | None = None,
    population: Any = None,
    pseudonyms: Mapping[str, Pseudonym] | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Release:
    """Return the release of another table under a recoding that was found before, or the path where it was kept.

    Values that it does not know are published where its hierarchies, ranges or regions cover them, never raw. The
    release satisfies `model`, or what the first one promised, and may drop `suppression`, or the share that the first
    one might: first rows that nothing covers, then classes that break the promise. Other columns are transformed as in
    the first one; identifiers are dropped unless `pseudonyms` stand in their place again.
    """
    began, secret = time.perf_counter(), Secret(seed)
    recoding = recoding if isinstance(recoding, Recoding) else read_recoding(recoding)
    with using_source(table, reading_again(recoding), engine=engine, memory=memory) as (where, opened):
        check_support(where, [KIND_NAMES[type(recoding)]])
        schema, wanted = promise_of(recoding, model)
        shown = check_pseudonyms(pseudonyms, schema)
        declared = kept_hierarchies(hierarchies or {}, recoding.transformations)
        check_job(opened, schema, wanted, declared, decided=True)
        check_same_kinds(recoding, opened)
        require_rows_here(opened, shown)
        source, _ = _transformed(opened, schema, declared, recoding.transformations)
        earlier = earlier_releases(previous, previous_input, ledger, schema=schema, suppression=suppression)
        others = open_population(population, wanted, where, source, schema=schema)
        keys = tuple(dict.fromkeys([*keys_of(recoding), *wanted.table_keys]))
        sensitive = {name: hierarchy for name, hierarchy in declared.items() if (name,) in keys}
        found = fit(where, source, recoding, keys=keys, hierarchies=sensitive)
        wanted = wanted.sampled(found.members)
        found = found if others is None else fit_beside(found, Population(where, others, schema, recoding))
        allowed = budget(recoding.suppression if suppression is None else suppression, found.members)
        assignment, told = suppressed_within(found, wanted, budget=allowed)
        counters = {**dict.fromkeys(COUNTERS, 0), "scans": 1, "seconds": time.perf_counter() - began}
        warnings = (*check_orders(found.counted, wanted), *unused(population, wanted), *told)
        job = Job(where, source, found.counted, recoding, wanted, schema, allowed, secret, warnings=warnings)
        job = replace(job, assignment=assignment).beside(others, shown)
        place = destination_of(output, overwrite, None, recoding, smallest_count, writing)
        try:
            release = publish_beside(earlier, job, accept=accept_overlap, destination=place, counters=counters)
        except VerificationError as error:
            raise explained(error, found, wanted) from None
        except InfeasibleError as error:
            raise within_budget(error, found, wanted) from None
    return replace(release, declared=declared)


def verify(
    table: Any,
    schema: Schema,
    model: Model | str,
    *,
    original: Any = None,
    recoding: Recoding | str | Path | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    population: Any = None,
    transformations: Mapping[str, Transformation] | None = None,
    pseudonyms: Mapping[str, Pseudonym] | Sequence[str] = (),
    engine: str = "auto",
    memory: str | int | None = None,
) -> Certificate:
    """Return what a published table from anywhere achieves under a model.

    `schema` gives the roles in the original. A release in buckets is given as a `BucketTable`. With `original` the
    check compares with that table: its distribution, suppressed rows, broken links. People, where the schema tells
    them apart, are counted on the original; `recoding` is needed where labels do not say which rows they stand for.
    `population` is a table of everybody from whom the original was drawn, for models that compare with it: its people
    are counted again, by what the labels cover, or by the recoding. `transformations` are those of the release, by
    default the recoding's: the published columns must show them, and the original is transformed alike. Columns that
    `pseudonyms` name are judged by what they link, and people are counted by them where there is no original. The
    certificate beside a file must be its own. `engine` and `memory` are as in `anonymize`, for both tables.
    """
    wanted = judging(model, schema)
    published = open_published(table, schema, engine=engine, memory=memory)
    by = read_recoding(recoding) if isinstance(recoding, str | Path) else recoding
    changes = transformations if transformations is not None or by is None else by.transformations
    changes = check_transformations(changes or {}, schema, hierarchies or {})
    if original is not None:
        how = reading_again(by) if by is not None and schema.person else None
        original = open_source(original, how, engine=engine, memory=memory)[1]
        original, changes = transformed_alike(original, changes, release=published)
    kept = kept_hierarchies(hierarchies or {}, changes)
    declared = {name: h for name, h in kept.items() if any(name in key for key in wanted.keys)}
    reference, assignment, main = None, None, published.sources[MAIN]
    kinds, told = without_hashes(kinds_of(pseudonyms, schema), main, original, hidden=schema.hidden)
    about = About(pseudonyms=kinds)
    check = Check(published.engine, schema, wanted, published.buckets, about=about)
    if schema.person:
        shown = check.shows_people(main.columns)
        reference, assignment = people_by_class(
            published, schema, wanted, original, recoding=by, hierarchies=kept, shown=shown
        )
    elif original is not None:
        reference = reference_of(original, schema, wanted, buckets=published.buckets, hierarchies=declared)
    asked = wanted
    wanted = asked.sampled(main.rows if reference is None else reference.frequencies.members)
    told += [SAMPLE_SHOWN] if reference is None and wanted != asked else []
    others = open_population(population, wanted, published.engine, main, schema=schema)
    beside = None if others is None else Population(published.engine, others, schema, by, kept)
    check = replace(check, model=wanted, reference=reference, assignment=assignment, hierarchies=declared)
    check = replace(check, population=beside, transformations=changes)
    says = certificate_of(published)
    foreign = published.path is not None and not belongs_to(says, published.path, apart=published.apart)
    told += [ROWS_COUNTED] if says and says.get("people") and not schema.person else []
    about = replace(about, seeded=bool(says and says.get("seeded")), warnings=tuple(told))
    return check.certify(published.sources, coarse=published.text, about=about, foreign_certificate=foreign)


def _request(
    source: Source,
    schema: Schema,
    model: Model,
    algorithm: Algorithm,
    hierarchies: Mapping[str, Hierarchy],
    *,
    target: str | None,
) -> Request:
    """Return what a search needs; whoever breaks links needs every column, and the sensitive ones together.

    Raises where source, roles, model and hierarchies do not fit each other.
    """
    extra = (*algorithm.keys, *([(target,)] if target else []))
    check_job(source, schema, model, hierarchies, extra=extra)
    algorithm.require_columns(schema)
    keys = tuple(dict.fromkeys([*model.table_keys, *extra]))
    if not algorithm.traits.buckets:
        return Request(schema.quasi, keys, hierarchies, joint=algorithm.traits.splits, person=schema.person)
    keys = tuple(dict.fromkeys([*((name,) for name in schema.sensitive), *keys]))
    return Request((*schema.quasi, *schema.insensitive), keys, hierarchies, joint=bool(keys))


def transform(
    table: Any,
    schema: Schema,
    transformations: Mapping[str, Transformation],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Any:
    """Return a table with its columns transformed as in a release, so that both can be compared.

    `anonymize`, `apply` and `verify` do so themselves, and want the table as it is.
    """
    return _transformed(open_source(table)[1], schema, hierarchies or {}, transformations)[0]


def _transformed(
    source: Source,
    schema: Schema,
    hierarchies: Mapping[str, Hierarchy],
    transformations: Mapping[str, Transformation] | None,
) -> tuple[Source, Transformed]:
    """Return a source whose columns are transformed as it is declared, and what was done to them."""
    return transformed_source(source, check_transformations(transformations or {}, schema, hierarchies))


def _sensitive(schema: Schema, counted: Counted, algorithm: Algorithm) -> tuple[QuasiColumn, ...]:
    names = schema.sensitive if algorithm.traits.buckets else ()
    return tuple(QuasiColumn(counted.known[name]) for name in names)
