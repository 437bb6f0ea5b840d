"""The public function that verifies: a published table is counted again, and a model judges what was counted."""

from dataclasses import replace
from typing import Any, Unpack

from indistinct.engines import closes_sources, open_source
from indistinct.errors import ParameterError
from indistinct.machine.arguments import with_checked_arguments
from indistinct.models import Model
from indistinct.release.certificate import About, Certificate
from indistinct.release.pseudonyms.unkeyed import without_hashes
from indistinct.release.published import Making, Published, describe_release
from indistinct.release.verification.by_label import people_by_class, reference_of
from indistinct.release.verification.check import Check
from indistinct.release.verification.evidence import RowComparison
from indistinct.release.verification.population import Population, count_people, using_population
from indistinct.release.verification.row_comparison import compare_rows
from indistinct.schema import Schema

ROWS_COUNTED = (
    "rows were counted, while the certificate beside the file speaks of people: name the columns that tell people "
    "apart (role person), and give the original"
)
SAMPLE_SHOWN = (
    "the published rows were taken for the whole sample: if others were suppressed, every class needs more rows than "
    "this check asked for; give the original, or sample_size in the model"
)


@with_checked_arguments
@closes_sources
def verify(
    table: Any,
    schema: Schema | None = None,
    model: Model | str | None = None,
    *,
    original: Any = None,
    **known: Unpack[Making],
) -> Certificate:
    """Return what a published table from anywhere achieves under a model.

    `table` is a `Release` or a `Published`, or a published table with the `schema` of its original and what is `known`
    of it, as `published` takes it; a release in buckets is a `BucketTable`, or a file beside its certificate. Without a
    `model` the release must keep what it promised. With `original` the check compares with that table: its rows, its
    distribution, suppressed rows, broken links. People, where the schema tells them apart, are counted on the original;
    `recoding` is needed where labels do not say which rows they stand for. `population` is a table of everybody from
    whom the original was drawn, for models that compare with it: its people are counted again, by what the labels
    cover, or by the recoding. The published columns must show the `transformations` of the release. Columns that
    `pseudonyms` name are judged by what they link, and people are counted by them where there is no original. The
    certificate beside a file must be its own.
    """
    given = describe_release(table, schema, trusting=False, model=model, original=original, **known)
    wanted = given.promise
    if wanted is None:
        raise ParameterError("no model is given", hint="say what must hold, for example model=KAnonymity(5)")
    if given.release is not None and given.raw is None and given.model is given.release.check.model:
        return given.release.check.certify(given.tables.sources)
    return _verify(given, wanted)


def _verify(given: Published, asked: Model) -> Certificate:
    tables, schema, main, kept = given.tables, given.schema, given.main, given.used_hierarchies
    compared = _compare_rows(given)
    declared = {name: h for name, h in kept.items() if any(name in key for key in asked.keys)}
    kinds, warnings = without_hashes(dict(given.pseudonyms), main, given.original, hidden=schema.hidden)
    about = About(pseudonyms=kinds)
    check = Check(tables.engine, schema, asked, tables.buckets, about=about)
    reference, assignment = None, None
    if schema.person:
        by, shown = given.recoding, check.shows_people(main.columns)
        reference, assignment = people_by_class(
            tables, schema, asked, given.original, recoding=by, hierarchies=kept, shown=shown
        )
    elif given.original is not None:
        reference = reference_of(given.original, schema, asked, buckets=tables.buckets, hierarchies=declared)
    wanted = asked.sampled(main.rows if reference is None else reference.frequencies.members)
    warnings += [SAMPLE_SHOWN] if reference is None and wanted != asked else []
    read_as = main if given.raw is None else given.raw  # labels in a text file are text, whatever they stand for
    with using_population(given.population, wanted, tables.engine, read_as, schema=schema) as others:
        people = Population(tables.engine, others, schema, given.recoding, kept) if others is not None else None
        counted = None if people is None else count_people(people)
    check = replace(check, model=wanted, reference=reference, assignment=assignment, hierarchies=declared)
    check = replace(check, population=counted, transformations=given.changes, compared=compared)
    warnings += [ROWS_COUNTED] if given.certificate.get("people") and not schema.person else []
    about = replace(about, seeded=bool(given.certificate.get("seeded")), warnings=tuple(warnings))
    foreign = given.foreign_certificate
    return check.certify(tables.sources, coarse=tables.text, about=about, foreign_certificate=foreign)


def _compare_rows(given: Published) -> RowComparison | None:
    """Compare the rows of a release in classes with those of its original; None where there is nothing to compare."""
    if given.original is None or given.buckets is not None or not given.main.rows:
        return None
    tables, original = given.tables, open_source(given.original)
    return compare_rows(
        (tables.engine, given.main),
        original,
        given.schema,
        recoding=given.recoding,
        hierarchies=given.used_hierarchies,
        lenient=tables.untyped,
    )
