"""The figures of one table: every measure of risk, over the classes that were counted on it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from indistinct.frequencies.value import Classes
from indistinct.hierarchy import Hierarchy
from indistinct.hierarchy.value import Taxonomy
from indistinct.machine.arrays import Codes
from indistinct.models.base import Model
from indistinct.models.uniqueness_estimators import estimate_uniques
from indistinct.study.assess.assessed_tables import AssessedTable, class_namer
from indistinct.study.assess.assessment import COUNTED, ESTIMATED, PopulationRisk, TableRisk
from indistinct.study.assess.attribute_disclosure import AttributeDisclosure, disclosure_of
from indistinct.study.assess.column_contribution import contributions
from indistinct.study.assess.individual import IndividualRisk, individual_risk
from indistinct.study.assess.known_population import KnownPopulation
from indistinct.study.assess.minimal_uniques import minimal_uniques
from indistinct.study.assess.reidentification import (
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
from indistinct.study.assess.special_uniques import special_uniques
from indistinct.study.assess.survey_weights import sums_of_weights, weight_keys
from indistinct.study.assess.unique_sets import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What is asked of every table.

    Somebody is at risk above `threshold`. `show_values` names classes of any table by their values, and not only those
    of published ones. `weights` is a column of survey weights. Special uniques and minimal unique column sets are
    looked for in sets of up to so many columns, where that is asked for.
    """

    threshold: Fraction
    hierarchies: Mapping[str, Hierarchy]
    show_values: bool = False
    weights: str | None = None
    suda: int | None = None
    unique_sets: int | None = None
    progress: Progress | None = None


def risk_of(
    table: AssessedTable, population: KnownPopulation, wanted: Wanted, *, taxonomies: Mapping[str, Taxonomy]
) -> TableRisk:
    """Return every figure of a table; `taxonomies` lie over the values that it shows."""
    classes = table.classes
    alone = prosecutor(classes, threshold=wanted.threshold)
    look_alikes = population.look_alikes(table, wanted.hierarchies)
    risk, beyond = _beyond(classes, population, look_alikes, threshold=wanted.threshold)
    figures = TableRisk(
        unit=classes.unit,
        rows=table.evidence.rows,
        members=table.members,
        classes=len(classes),
        smallest=int(classes.members.min()) if len(classes) else 0,
        uniques=uniques(classes),
        prosecutor=alone,
        journalist=alone if risk is None or table.in_buckets else risk,
        marketer=alone.average if look_alikes is None else marketer(classes, look_alikes),
        sizes=class_sizes(classes),
        sensitive=tuple(_disclosure(table, name, wanted) for name in table.schema.sensitive) if len(classes) else (),
    )
    if table.in_buckets or not len(classes):
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
        individual=_individual(table, wanted.weights),
        special=special_uniques(cells, size=wanted.suda, fraction=fraction, progress=tell) if wanted.suda else None,
        unique_sets=minimal_uniques(cells, size=wanted.unique_sets, progress=tell) if wanted.unique_sets else None,
    )


def _individual(table: AssessedTable, column: str | None) -> IndividualRisk | None:
    """Return the risk of everybody under survey weights, where the table shows these."""
    if column is None or not table.has_weights(column):
        return None
    histograms = {key: table.evidence.histogram(key) for key in weight_keys(column, people=table.people)}
    classes = Classes(table.evidence.sizes, histograms)
    return individual_risk(classes, sums_of_weights(classes, table.evidence.domains[column]))


def _beyond(
    classes: Classes, population: KnownPopulation, look_alikes: Codes | None, *, threshold: Fraction
) -> tuple[Reidentification | None, PopulationRisk]:
    """Return a journalist's risk, where a population is known, and what is known of its uniqueness."""
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
        name_class=class_namer(table) if (table.published or wanted.show_values) and not table.in_buckets else None,
    )
