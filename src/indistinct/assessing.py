"""Assess the risk of a table or a release: who could be found in it, and what could be learned of them."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from indistinct.engines import open_source
from indistinct.engines.base import Engine, Source
from indistinct.errors import ParameterError, SchemaError
from indistinct.hierarchy import Hierarchy
from indistinct.memory import needs_memory
from indistinct.metrics.buckets import rows_alone
from indistinct.models.base import Model
from indistinct.models.parameters import exact
from indistinct.promise import judging
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import MAIN
from indistinct.recoding.storage import read_recoding
from indistinct.release.files import certificate_path
from indistinct.release.kinds import reading_again, settled
from indistinct.release.pseudonym_columns import Pseudonym, kinds_of
from indistinct.release.published import BucketTable, Published, open_published
from indistinct.release.release import Release
from indistinct.risks.assessed_tables import (
    AssessedTable,
    appearance_notes,
    bucket_table,
    original_of_release,
    plain_table,
    published_table,
    release_table,
)
from indistinct.risks.assessment import Assessment, TableRisk
from indistinct.risks.column_contribution import taxonomies_of_labels, taxonomies_of_values
from indistinct.risks.known_population import check_known, known_population
from indistinct.risks.practice import Shown, findings
from indistinct.risks.profiles import Profile, judge, parse_profile
from indistinct.risks.table_risk import Wanted, risk_of
from indistinct.risks.unique_sets import Progress
from indistinct.schema import Schema, did_you_mean, require_schema
from indistinct.tables.value import Reading

IN_BUCKETS = (
    "classes are buckets: what is told is how many rows a person may be among. Quasi-identifiers stand in a release in "
    "buckets as they are, so look-alikes in a population and the part of single columns do not apply"
)
NOT_KEPT = (
    "of sensitive columns that the model does not look at the release has not kept the original: give it to have both "
    "side by side"
)
ONCE = "whoever stands in several classes counts once, with the highest risk of these"
ROWS_OF = "the sensitive values of {} were counted in rows: which people have them is known with the original alone"


@needs_memory("assessing the risk")
def assess(
    table: Any,
    schema: Schema | None = None,
    *,
    original: Any = None,
    population: Any = None,
    population_size: int | None = None,
    sampling_fraction: float | None = None,
    weights: str | None = None,
    threshold: float = 0.09,
    profile: Profile | str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    recoding: Recoding | str | Path | None = None,
    pseudonyms: Mapping[str, Pseudonym] | Sequence[str] = (),
    show_values: bool = False,
    suda: int | None = None,
    unique_sets: int | None = None,
    progress: Progress | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
) -> Assessment:
    """Return the risk that people in a table are found, and what would be learned of them.

    `table` is a `Release`, or a table from anywhere with the `schema` of its original: an original, a published table,
    or a `BucketTable`. With `original`, or for a `Release`, both are assessed side by side. What lies beyond the table
    is known by one of `population`, a table with the same quasi-identifiers, `population_size` and `sampling_fraction`.
    Somebody is at risk above `threshold`. A `profile` such as "public" or "public:highest=0.05" makes it a gate.
    `recoding` says where people went if labels do not. Columns that `pseudonyms` name are no identifiers that leaked.
    Classes are named by their values only where these are published; `show_values` names them of any table. `weights`
    is a column of survey weights; `suda` and `unique_sets` are how many columns together are looked at for special
    uniques, and for sets of columns that single people out.
    `engine` and `memory` are as in `anonymize`.
    """
    check_known(population, population_size, sampling_fraction)
    limit, chosen = _share(threshold), parse_profile(profile) if isinstance(profile, str) else profile
    declared = {**(table.hierarchies if isinstance(table, Release) else {}), **(hierarchies or {})}
    _check_sizes(suda=suda, unique_sets=unique_sets)
    wanted = Wanted(limit, declared, show_values, weights, suda, unique_sets, progress)
    where: dict[str, Any] = {"engine": engine, "memory": memory}
    whole = None if original is None else open_source(original, **where)
    after, before = _opened(table, schema, wanted, original=whole, recoding=recoding, where=where)
    sample = before or after
    known = known_population(
        population,
        population_size,
        sampling_fraction,
        sample=sample,
        hierarchies=declared,
        reading=_reading(table, sample),
    )
    above = taxonomies_of_values(sample.evidence.counted.domains, declared)
    first = None if before is None else risk_of(before, known, wanted, taxonomies=above)
    own = above if before is None else taxonomies_of_labels(after.evidence.counted.domains, above)
    shown = table.certificate.pseudonyms if isinstance(table, Release) else kinds_of(pseudonyms, after.schema)
    notes = _notes(after, first, weights=weights, pseudonyms=tuple(shown))
    return _judged(after, risk_of(after, known, wanted, taxonomies=own), first, chosen, wanted, notes)


def _reading(table: Any, sample: AssessedTable) -> Callable[[Sequence[str]], Reading]:
    """Return how columns of a population are read: as those of the original were, where it is known how."""
    source = sample.source
    if source is not None and not sample.published:
        return lambda names: settled(source, [name for name in names if name in source.columns]).about(names)
    return reading_again(table.recoding).about if isinstance(table, Release) else Reading().about


def _judged(
    table: AssessedTable,
    risk: TableRisk,
    before: TableRisk | None,
    profile: Profile | None,
    wanted: Wanted,
    notes: tuple[str, ...],
) -> Assessment:
    """Return an assessment: figures, and what rules of practice and a profile say of them."""
    shown = Shown(table.schema, table.kinds, table.evidence.known)
    return Assessment(
        risk,
        float(wanted.threshold),
        before,
        findings(
            shown,
            smallest=risk.smallest,
            uniques=risk.uniques,
            homogeneous=risk.homogeneous,
            alone=None if table.evidence.links is None else rows_alone(table.evidence.links),
        ),
        None if profile is None else judge(profile, risk.figures(profile.attacker)),
        notes,
        None if table.evidence.buckets is None else table.evidence.buckets.buckets.form,
    )


def _opened(
    table: Any,
    schema: Schema | None,
    wanted: Wanted,
    *,
    original: tuple[Engine, Source] | None,
    recoding: Recoding | str | Path | None,
    where: Mapping[str, Any],
) -> tuple[AssessedTable, AssessedTable | None]:
    """Return what was counted on a table and, where it is known, on the original that it is a release of."""
    hierarchies, weights = wanted.hierarchies, wanted.weights
    if isinstance(table, Release):
        before = original_of_release(table)
        if original is not None:
            engine, whole = original
            before = _original(whole, engine, table.check.schema, wanted)
        given = None if original is None else before
        after = release_table(table, before=given, hierarchies=hierarchies, weights=weights)
        _require_weights(weights, after.source, None if given is None else given.source)
        return after, before
    if schema is None:
        raise ParameterError("the roles of the columns are not known", hint="pass schema=…")
    require_schema(schema)
    if original is None:
        return _alone(table, schema, wanted, where=where), None
    published = open_published(table, schema, **where)
    engine, whole = original
    _require_weights(weights, whole)
    before = _original(whole, engine, schema, wanted)
    made = read_recoding(recoding) if isinstance(recoding, str | Path) else recoding
    after = published_table(
        published,
        schema,
        original=whole,
        before=before,
        recoding=None if made is None else (made, _promise(made, schema)),
        hierarchies=hierarchies,
        weights=weights,
    )
    return after, before


def _original(source: Source, engine: Engine, schema: Schema, wanted: Wanted) -> AssessedTable:
    """Return the table that is given as the original of another."""
    return plain_table(
        source, engine, schema, hierarchies=wanted.hierarchies, weights=wanted.weights, called="original"
    )


def _alone(table: Any, schema: Schema, wanted: Wanted, *, where: Mapping[str, Any]) -> AssessedTable:
    """Return a table of which no original is known; one beside its certificate is a release."""
    if isinstance(table, BucketTable):
        return bucket_table(open_published(table, schema), schema, reference=None)
    hierarchies, weights = wanted.hierarchies, wanted.weights
    path = Path(table) if isinstance(table, str | Path) else getattr(table, "path", None)
    if path is None or not certificate_path(path).is_file():
        engine, source = open_source(table, **where)
        _require_weights(weights, source)
        return plain_table(source, engine, schema, hierarchies=hierarchies, weights=weights)
    published: Published = open_published(table, schema, **where)
    source = published.sources[MAIN]
    _require_weights(weights, source)
    return plain_table(source, published.engine, schema, published=True, hierarchies=hierarchies, weights=weights)


def _promise(recoding: Recoding, schema: Schema) -> Model:
    if recoding.promise is None:
        raise ParameterError("the recoding does not say what it promised", hint="use a release's recoding")
    return judging(recoding.promise, schema)


def _require_weights(column: str | None, *sources: Source | None) -> None:
    """Raise unless a table has the column of survey weights."""
    present = [name for source in sources if source is not None for name in source.columns]
    if column is not None and column not in present:
        raise SchemaError(
            f"the table has no column {column!r}, which is named for survey weights",
            hint=did_you_mean(column, present) or "a weight says for how many people of the population a row stands",
        )


def _check_sizes(**sizes: Any) -> None:
    for name, size in sizes.items():
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
            raise ParameterError(f"`{name}` must be a whole number of at least 1; got {size!r}", hint="4 is usual")


def _share(threshold: Any) -> Fraction:
    if isinstance(threshold, bool) or not isinstance(threshold, int | float | Fraction) or not 0 < threshold <= 1:
        raise ParameterError(
            f"`threshold` must be above 0 and at most 1; got {threshold!r}",
            hint="0.09 says that somebody is at risk who is found with a higher probability than that",
        )
    return exact(threshold)


def _notes(
    after: AssessedTable, before: TableRisk | None, *, weights: str | None, pseudonyms: Sequence[str]
) -> tuple[str, ...]:
    """Return what a reader must know beside the figures."""
    told = list(after.notes)
    told += appearance_notes(after, weights=weights, pseudonyms=pseudonyms)
    if after.in_buckets:
        told.append(IN_BUCKETS)
    if after.people:
        told.append(ONCE)
        in_rows = [name for name in after.schema.sensitive if not after.counts_people_of(name)]
        told += [ROWS_OF.format(", ".join(map(repr, in_rows)))] if in_rows else []
    if before is not None and len(before.sensitive) < len(after.schema.sensitive):
        told.append(NOT_KEPT)
    return tuple(dict.fromkeys((*told, *after.evidence.warnings)))
