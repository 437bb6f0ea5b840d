"""Assess the risk of a table or a release: who could be found in it, and what could be learned of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack, get_args

from indistinct.errors import ParameterError, SchemaError, did_you_mean
from indistinct.evaluation.assess.assessed_tables import (
    AssessedTable,
    appearance_notes,
    class_namer,
    identifiers_shown,
    original_of_release,
    plain_table,
    published_table,
    release_table,
)
from indistinct.evaluation.assess.assessment import COUNTED, ESTIMATED, Assessment, PopulationRisk, TableRisk
from indistinct.evaluation.assess.attribute_disclosure import AttributeDisclosure, disclosure_of
from indistinct.evaluation.assess.column_contribution import contributions, taxonomies_of_labels, taxonomies_of_values
from indistinct.evaluation.assess.column_sets import smallest_combinations
from indistinct.evaluation.assess.identifying_values import identifying_values
from indistinct.evaluation.assess.individual import IndividualRisk, individual_risk, sums_of_weights, weight_keys
from indistinct.evaluation.assess.population import KnownPopulation, check_known, known_population
from indistinct.evaluation.assess.profiles import Attacker, Profile, parse_profile
from indistinct.evaluation.assess.published_columns import (
    own_values,
    people_in_several,
    published_columns,
    published_rows,
)
from indistinct.evaluation.assess.regulators import PracticeFinding, ShownTable, findings
from indistinct.evaluation.assess.reidentification import (
    Reidentification,
    class_sizes,
    expected_journalist,
    expected_marketer,
    journalist,
    marketer,
    prosecutor,
    share_of_members,
    uniques,
)
from indistinct.evaluation.assess.special_uniques import special_uniques
from indistinct.evaluation.attack.attack import Outcomes
from indistinct.evaluation.attack.base import Outcome
from indistinct.evaluation.verdict import AttackFigures, Figures, subsets_promised, verdict_of
from indistinct.frequencies.compatible_rows import fewest_compatible
from indistinct.frequencies.value import Classes
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.hierarchy.value import Hierarchy
from indistinct.inspection.unique_sets import Progress, minimal_uniques
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import Codes
from indistinct.machine.memory import needs_memory
from indistinct.metrics.buckets import rows_alone
from indistinct.models.base import Model
from indistinct.models.subset_anonymity import SubsetAnonymity
from indistinct.models.uniqueness_estimators import estimate_uniques
from indistinct.parameters import exact
from indistinct.release.certificate import certificate_path
from indistinct.release.promise import judging, reading_again, settle_reading
from indistinct.release.pseudonyms.making import kinds_of
from indistinct.release.published import NO_SCHEMA, Knowledge, Published, describe_release, is_release
from indistinct.release.sources import Source, closes_sources, open_source
from indistinct.schema import Schema, require_schema
from indistinct.tables.frames import is_frame
from indistinct.tables.value import Reading

NOT_KEPT = (
    "the release keeps no original of sensitive columns that the model does not look at: give the original to compare "
    "both"
)
ONCE = "a person in several classes counts once, with the highest risk of these"
ROWS_OF = "the sensitive values of {} were counted in rows: which people have them is known with the original alone"


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What is asked of every table.

    A person is at risk above `threshold`. `show_values` names classes of any table by their values, and not only those
    of published ones. `weights` is a column of survey weights. Special uniques and minimal unique column sets are
    looked for in sets of up to that number of columns, if given.
    """

    threshold: Fraction
    hierarchies: Mapping[str, Hierarchy]
    show_values: bool = False
    weights: str | None = None
    suda: int | None = None
    unique_sets: int | None = None
    progress: Progress | None = None


@with_checked_arguments
@closes_sources
@needs_memory("assessing the risk")
def assess(
    table: Any,
    schema: Schema | None = None,
    *,
    population_size: int | None = None,
    sampling_fraction: float | None = None,
    weights: str | None = None,
    threshold: float = 0.09,
    profile: Profile | str | None = None,
    show_values: bool = False,
    suda: int | None = None,
    unique_sets: int | None = None,
    progress: Progress | None = None,
    attacks: Any = None,
    **known: Unpack[Knowledge],
) -> Assessment:
    """Assess the re-identification and attribute disclosure risk of a table or a release.

    The assessment has the highest and average risk for the prosecutor, journalist and marketer attacker. It counts
    unique rows, and shows what classes reveal about sensitive columns. Give ``population`` for figures of a population,
    and ``original`` to see the risk before and after publishing.

    Parameters
    ----------
    table
        An original table, a published table, a `Release`, a `Published` or a `BucketTable`.
    schema
        Roles of the columns of the original; not needed for a `Release` or a `Published`.
    population_size
        Number of people in the population that the table was drawn from.
    sampling_fraction
        Share of the population that is in the table, above 0 and at most 1. At most one of this, `population_size` and
        a ``population`` table is given.
    weights
        Column of survey weights, for individual risk in the population.
    threshold
        Risk above which a person counts as at risk, above 0 and at most 1.
    profile
        Limits that make the assessment a gate: ``"public"``, ``"licensed"``, ``"internal"``, one with other limits such
        as ``"public:highest=0.05"``, or a `Profile`.
    show_values
        Whether equivalence classes are named by their values where these are not published.
    suda
        Largest number of columns in the search for special uniques; by default it is not done.
    unique_sets
        Largest number of columns in the search for sets that single people out; by default it is not done.
    progress
        Called with the share of the work that is done.
    attacks
        Outcomes of `attack` or `attack_all` on the same table, which enter the verdict. Attacks that were not run are
        reported as not checked, never as passed.
    **known
        Further facts, as `published` takes them: ``original``, ``population``, ``hierarchies``, ``recoding``,
        ``pseudonyms`` …

    Returns
    -------
    Assessment
        Risk, figures, verdict and notes. A limit of a profile that is not met is no exception.

    Raises
    ------
    ParameterError
        If the roles are not known, or a parameter is not possible.
    SchemaError
        If roles and columns do not fit each other.
    InputError
        If a table cannot be read, or the population is smaller than the table.
    OriginalError
        If ``original`` cannot be the original of the release.
    OutOfMemoryError
        If a step needs more memory than there is.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["20-29", "20-29", "30-39"], "disease": ["flu", "cold", "flu"]})
    >>> assessment = ind.assess(table, ind.Schema(quasi=["age"], sensitive=["disease"]))
    >>> assessment.risk.prosecutor.highest, assessment.risk.classes
    (1.0, 2)
    """
    check_known(known.get("population"), population_size, sampling_fraction)
    limit, chosen = _share(threshold), parse_profile(profile) if isinstance(profile, str) else profile
    _check_sizes(suda=suda, unique_sets=unique_sets)
    release = describe_release(table, schema, **known) if _is_release(table, known) else None
    declared = dict(known.get("hierarchies") or {}) if release is None else dict(release.used_hierarchies)
    wanted = Wanted(limit, declared, show_values, weights, suda, unique_sets, progress)
    if release is None:
        after, before = _plain(table, schema, wanted, known), None
    else:
        after, before = _count_release(release, wanted)
    sample = before or after
    sized = population_size is not None or sampling_fraction is not None
    others = known_population(
        known.get("population") if release is None or sized else release.population,
        population_size,
        sampling_fraction,
        sample=sample,
        hierarchies=declared,
        reading=_reading(release, sample),
    )
    above = taxonomies_of_values(sample.evidence.counted.domains, declared)
    first = None if before is None else risk_of(before, others, wanted, taxonomies=above)
    own = above if before is None else taxonomies_of_labels(after.evidence.counted.domains, above)
    pseudonyms = kinds_of(known.get("pseudonyms") or (), after.schema) if release is None else release.pseudonyms
    notes = _notes(after, first, weights=weights, pseudonyms=tuple(pseudonyms))
    rows = published_rows(after, original=None if before is None else before.source)
    risk = replace(
        risk_of(after, others, wanted, taxonomies=own),
        published=published_columns(after, rows),
        own_values=own_values(after, rows),
        identifying=identifying_values(after),
    )
    figures = _figures(after, risk, release, pseudonyms=tuple(pseudonyms))
    verdict = verdict_of(figures, chosen, attacks=attack_figures(attacks))
    return Assessment(
        risk, float(limit), figures, verdict, first, _practice(after, risk), notes, after.evidence.structure.form
    )


def _is_release(table: Any, known: Knowledge) -> bool:
    """Return whether a table is a release: by its type, a given original, or a certificate next to it."""
    if is_release(table) or known.get("original") is not None:
        return True
    if is_frame(table):
        return False
    path = Path(table) if isinstance(table, str | Path) else open_source(table)[1].path
    return path is not None and certificate_path(path).is_file()


def _reading(release: Published | None, sample: AssessedTable) -> Callable[[Sequence[str]], Reading]:
    """Return a function that gives the reading options for columns of a population: those of the original."""
    source = sample.source
    if source is not None and not sample.published:
        return lambda names: settle_reading(source, [name for name in names if name in source.columns]).about(names)
    recoding = None if release is None else release.recoding
    return Reading().about if recoding is None else reading_again(recoding).about


def attack_figures(attacks: Any) -> list[AttackFigures] | None:
    """Convert attack outcomes to the figures that a verdict uses; None where no attack was run."""
    if attacks is None:
        return None
    left: tuple[str, ...] = ()
    match attacks:
        case Outcomes(outcomes=outcomes):
            several, left = list(outcomes), attacks.left_out
        case list() | tuple():
            several = list(attacks)
        case _:
            several = [attacks]
    if not all(isinstance(each, Outcome) for each in several):
        raise ParameterError(
            f"`attacks` of assess must be outcomes of attacks; got {type(attacks).__name__}",
            hint='pass what ind.attack("all", …) returned',
        )
    done = [AttackFigures.of(each.to_json()) for each in several]
    return [*done, *(AttackFigures(name, None) for name in left)]


def _practice(table: AssessedTable, risk: TableRisk) -> tuple[PracticeFinding, ...]:
    """Check the table against published rules of practice."""
    return findings(
        ShownTable(table.schema, table.kinds, table.evidence.domains),
        smallest=risk.smallest,
        uniques=risk.uniques,
        homogeneous=risk.homogeneous,
        alone=None if table.evidence.links is None else rows_alone(table.evidence.links),
        published=risk.published,
        own_values=risk.own_values,
        identifying=risk.identifying or {},
    )


def _figures(
    table: AssessedTable, risk: TableRisk, release: Published | None, *, pseudonyms: tuple[str, ...]
) -> Figures:
    """Collect the figures for the verdict."""
    return Figures(
        risk.unit,
        risk.members,
        risk.smallest,
        risk.uniques,
        {attacker: risk.figures(attacker) for attacker in get_args(Attacker)},
        risk.published,
        risk.own_values,
        identifiers_shown(table, pseudonyms=pseudonyms),
        None if release is None else _holds(release),
        people_in_several(table),
        table.evidence.structure.unit,
        () if release is None else _subsets(release),
        identifying=risk.identifying,
    )


def _subsets(release: Published) -> tuple[SubsetAnonymity, ...]:
    """Return the guarantees on sets of quasi-identifiers, from the certificate if there is one."""
    promised = [str(each["model"]) for each in release.certificate.get("verdicts") or ()]
    known = () if release.promise is None else (part.spec() for part in release.promise.parts())
    return subsets_promised(promised or known)


def _holds(release: Published) -> bool | None:
    """Return whether the certificate states that the guarantee is satisfied; None without a certificate."""
    holds = release.certificate.get("holds")
    return holds if isinstance(holds, bool) else None


def _count_release(release: Published, wanted: Wanted) -> tuple[AssessedTable, AssessedTable | None]:
    """Count the release and, if it is known, its original."""
    hierarchies, weights, schema = wanted.hierarchies, wanted.weights, release.schema
    before = None
    if release.original is not None:
        engine, whole = open_source(release.original)
        before = plain_table(whole, engine, schema, hierarchies=hierarchies, weights=weights, called="original")
    if release.release is not None:
        after = release_table(release.release, before=before, hierarchies=hierarchies, weights=weights)
        _require_weights(weights, after.source, None if before is None else before.source)
        return after, before or original_of_release(release.release)
    _require_weights(weights, release.main if before is None else before.source)
    made = release.recoding
    after = published_table(
        release.tables,
        schema,
        before=before,
        recoding=None if made is None or before is None else (made, _promise(made.promise, schema)),
        hierarchies=hierarchies,
        weights=weights,
    )
    return after, before


def _plain(table: Any, schema: Schema | None, wanted: Wanted, known: Knowledge) -> AssessedTable:
    """Count a table that is not a release."""
    if schema is None:
        raise ParameterError(NO_SCHEMA, hint="pass schema=…")
    require_schema(schema)
    engine, source = open_source(table, engine=known.get("engine") or "auto", memory=known.get("memory"))
    _require_weights(wanted.weights, source)
    return plain_table(source, engine, schema, hierarchies=wanted.hierarchies, weights=wanted.weights)


def _promise(promise: str | None, schema: Schema) -> Model:
    if promise is None:
        raise ParameterError(
            "the recoding does not state which privacy models it satisfies", hint="use a release's recoding"
        )
    return judging(promise, schema)


def _require_weights(column: str | None, *sources: Source | None) -> None:
    """Raise unless a table has the column of survey weights."""
    present = [name for source in sources if source is not None for name in source.columns]
    if column is not None and column not in present:
        raise SchemaError(
            f"the table has no column {column!r}, which is named for survey weights",
            hint=did_you_mean(column, present) or "a weight says how many people of the population a row represents",
        )


def _check_sizes(**sizes: Any) -> None:
    for name, size in sizes.items():
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
            raise ParameterError(f"`{name}` must be a whole number of at least 1; got {size!r}", hint="4 is usual")


def _share(threshold: Any) -> Fraction:
    """Check the threshold of risk and return it as a fraction."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float | Fraction) or not 0 < threshold <= 1:
        raise ParameterError(
            f"`threshold` must be above 0 and at most 1; got {threshold!r}",
            hint="with 0.09, rows with a risk above 9 % count as at risk",
        )
    return exact(threshold)


def _notes(
    after: AssessedTable, before: TableRisk | None, *, weights: str | None, pseudonyms: Sequence[str]
) -> tuple[str, ...]:
    """Return the notes that explain the figures."""
    notes = list(after.notes)
    notes += appearance_notes(after, weights=weights, pseudonyms=pseudonyms)
    notes += after.evidence.notes
    if after.people:
        notes.append(ONCE)
        in_rows = [name for name in after.schema.sensitive if not after.counts_people_of(name)]
        notes += [ROWS_OF.format(", ".join(map(repr, in_rows)))] if in_rows else []
    if before is not None and len(before.sensitive) < len(after.schema.sensitive):
        notes.append(NOT_KEPT)
    hidden = after.evidence.hidden_warnings((name,) for name in after.schema.sensitive)
    return tuple(dict.fromkeys((*notes, *hidden)))


def risk_of(
    table: AssessedTable, population: KnownPopulation, wanted: Wanted, *, taxonomies: Mapping[str, Taxonomy]
) -> TableRisk:
    """Compute all risk figures of a table; `taxonomies` have the values that it shows."""
    classes = table.classes
    alone = prosecutor(classes, threshold=wanted.threshold)
    look_alikes = population.look_alikes(table, wanted.hierarchies)
    risk, beyond = _risk_beyond_table(classes, population, look_alikes, threshold=wanted.threshold)
    figures = TableRisk(
        unit=classes.unit,
        rows=table.evidence.rows,
        members=table.members,
        classes=len(classes),
        smallest=int(classes.members.min()) if len(classes) else 0,
        uniques=uniques(classes),
        prosecutor=alone,
        journalist=alone if risk is None or not table.labeled else risk,
        marketer=alone.average if look_alikes is None else marketer(classes, look_alikes),
        sizes=class_sizes(classes),
        sensitive=tuple(_disclosure(table, name, wanted) for name in table.schema.sensitive) if len(classes) else (),
    )
    if not table.labeled or not len(classes):
        return figures
    cells, fraction = table.cells(classes), 0.01 if beyond.estimates is None else beyond.estimates.sampling_fraction
    tell = wanted.progress
    return replace(
        figures,
        population=beyond,
        columns=contributions(
            cells,
            table.evidence.counted.domains,
            columns=table.columns,
            taxonomies=taxonomies,
            threshold=wanted.threshold,
        ),
        column_sets=smallest_combinations(classes, table.labels),
        fewest_compatible=fewest_compatible(table.labels.codes, table.stars, classes.sizes),
        individual=_individual(table, wanted.weights),
        special=special_uniques(cells, size=wanted.suda, fraction=fraction, progress=tell) if wanted.suda else None,
        unique_sets=minimal_uniques(cells, size=wanted.unique_sets, progress=tell) if wanted.unique_sets else None,
    )


def _individual(table: AssessedTable, column: str | None) -> IndividualRisk | None:
    """Return the individual risks under survey weights, None if the table does not show the weights."""
    if column is None or not table.has_weights(column):
        return None
    histograms = {key: table.evidence.histogram(key) for key in weight_keys(column, people=table.people)}
    classes = Classes(table.evidence.sizes, histograms)
    return individual_risk(classes, sums_of_weights(classes, table.evidence.domains[column]))


def _risk_beyond_table(
    classes: Classes, population: KnownPopulation, look_alikes: Codes | None, *, threshold: Fraction
) -> tuple[Reidentification | None, PopulationRisk]:
    """Return the journalist risk, None without a known population, and the risk of being unique in that population.

    `look_alikes` is the number of people in the population who match each class; with None only the size is known, and
    both are estimated. A record whose risk is above `threshold` is at risk.
    """
    members = int(classes.members.sum())
    if population.size is None or not members:
        return None, PopulationRisk()
    estimates = estimate_uniques(classes.members, max(population.size, members))
    if look_alikes is not None:
        counted = share_of_members(classes, look_alikes == 1)
        return journalist(classes, look_alikes, threshold=threshold), PopulationRisk(COUNTED, estimates, counted)
    fraction, share = min(members / population.size, 1.0), estimates.dankar
    expected = expected_marketer(classes, fraction, unique_share=share)
    return (
        expected_journalist(classes, fraction, unique_share=share, threshold=threshold),
        PopulationRisk(ESTIMATED, estimates, expected_marketer=expected),
    )


def _disclosure(table: AssessedTable, column: str, wanted: Wanted) -> AttributeDisclosure:
    """Compute attribute disclosure of one sensitive column."""
    known: dict[tuple[object, ...], Classes] = {}

    def classes_for(model: Model) -> Classes:
        # Every figure asks for the same histograms, and each of them is translated into the codes of the original.
        if model.keys not in known:
            known[model.keys] = table.evidence.classes_for(model)
        return known[model.keys]

    return disclosure_of(
        column,
        classes_for,
        ordered=table.is_ordered(column),
        people=table.counts_people_of(column),
        name_class=class_namer(table) if (table.published or wanted.show_values) and table.labeled else None,
    )
