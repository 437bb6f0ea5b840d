"""The public function that verifies: a published table is counted again, and a model judges what was counted."""

from dataclasses import replace
from typing import Any, Unpack

from indistinct.errors import ParameterError
from indistinct.machine.arguments import with_checked_arguments
from indistinct.models import Model
from indistinct.release.certificate import About, Certificate
from indistinct.release.pseudonyms.unkeyed import without_hashes
from indistinct.release.published import Making, Published, describe_release
from indistinct.release.sources import closes_sources, open_source
from indistinct.release.verification.by_label import people_by_class, reference_of
from indistinct.release.verification.check import Check
from indistinct.release.verification.evidence import RowComparison
from indistinct.release.verification.population import Population, count_people, using_population
from indistinct.release.verification.row_comparison import compare_rows
from indistinct.schema import Schema

ROWS_COUNTED = (
    "rows were counted, but the certificate next to the file counts people: name the columns that identify people "
    "(role person), and give the original"
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
    """Verify a published table: count its equivalence classes again and check a privacy model on them.

    The table may come from any tool. Without an original only the published rows are checked.

    Parameters
    ----------
    table
        A `Release`, a `Published`, a `BucketTable`, or a published table: a path or a frame.
    schema
        Roles of the columns of the original; not needed for a `Release` or a `Published`.
    model
        Privacy model to check. By default the model that the release guaranteed.
    original
        Table before publishing, unmodified. With it suppressed rows are counted, the distribution of sensitive values
        is compared, and published rows are compared with the original ones.
    **known
        Further facts, as `published` takes them: ``recoding`` where labels do not identify the rows that they cover,
        ``population`` for models that compare with it, ``hierarchies``, ``transformations``, ``pseudonyms``,
        ``reading``, ``engine``, ``memory`` …

    Returns
    -------
    Certificate
        What was counted. `Certificate.holds` says whether every model is satisfied; a model that is not satisfied is no
        exception.

    Raises
    ------
    ParameterError
        If neither the call nor the release names a model, or the roles are not known.
    SchemaError
        If roles and columns do not fit each other.
    InputError
        If the table cannot be read.
    VerificationError
        If the release does not show the equivalence classes that its recoding gives.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["20-29", "20-29", "30-39"], "disease": ["flu", "cold", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> certificate = ind.verify(table, schema, ind.KAnonymity(k=2))
    >>> certificate.holds, certificate.smallest_class, certificate.verdicts[0].violating_classes
    (False, 1, 1)
    """
    given = describe_release(table, schema, trusting=False, model=model, original=original, **known)
    wanted = given.promise
    if wanted is None:
        raise ParameterError("no model is given", hint="say what must hold, for example model=KAnonymity(5)")
    if given.release is not None and given.raw is None and given.model is given.release.check.model:
        return given.release.check.where_tables_are(given.tables.sources).certify(given.tables.sources)
    return _verify(given, wanted)


def _verify(given: Published, asked: Model) -> Certificate:
    """Verify a described release under a model."""
    tables, schema, main, kept = given.tables, given.schema, given.main, given.used_hierarchies
    compared = _compare_rows(given)
    declared = {name: h for name, h in kept.items() if any(name in key for key in asked.keys)}
    kinds, warnings = without_hashes(dict(given.pseudonyms), main, given.original, hidden=schema.hidden)
    about = About(pseudonyms=kinds)
    check = Check(tables.engine, schema, asked, tables.structure, about=about)
    reference, assignment = None, None
    if schema.person:
        by, with_people = given.recoding, check.shows_people(main.columns)
        reference, assignment = people_by_class(
            tables, schema, asked, given.original, recoding=by, hierarchies=kept, shown=with_people
        )
    elif given.original is not None:
        reference = reference_of(given.original, schema, asked, structure=tables.structure, hierarchies=declared)
    wanted = asked.sampled(main.rows if reference is None else reference.frequencies.members)
    warnings += [SAMPLE_SHOWN] if reference is None and wanted != asked else []
    read_as = main if given.raw is None else given.raw  # labels in a text file are text, whatever they mean
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
    if given.original is None or not given.structure.whole_rows or not given.main.rows:
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
