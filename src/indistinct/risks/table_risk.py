"""The figures of one table: every measure of risk, over the classes that were counted on it."""

from collections.abc import Mapping
from fractions import Fraction

from indistinct.arrays import Codes
from indistinct.frequencies.value import Classes
from indistinct.hierarchy import Hierarchy
from indistinct.hierarchy.value import Taxonomy
from indistinct.models.base import Model
from indistinct.models.uniqueness_estimators import estimate_uniques
from indistinct.risks.assessed_tables import AssessedTable, class_namer
from indistinct.risks.assessment import COUNTED, ESTIMATED, PopulationRisk, TableRisk
from indistinct.risks.attribute_disclosure import AttributeDisclosure, disclosure_of
from indistinct.risks.column_contribution import Contribution, contributions
from indistinct.risks.known_population import KnownPopulation
from indistinct.risks.reidentification import (
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


def risk_of(
    table: AssessedTable,
    population: KnownPopulation,
    *,
    threshold: Fraction,
    hierarchies: Mapping[str, Hierarchy],
    taxonomies: Mapping[str, Taxonomy],
    show_values: bool = False,
) -> TableRisk:
    """Return every figure of a table; `taxonomies` lie over the values that it shows.

    The worst classes are named by their values where these are published; `show_values` names them of any table.
    """
    classes = table.classes
    alone = prosecutor(classes, threshold=threshold)
    look_alikes = population.look_alikes(table, hierarchies)
    risk, beyond = _beyond(classes, population, look_alikes, threshold=threshold)
    return TableRisk(
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
        population=PopulationRisk() if table.in_buckets else beyond,
        columns=() if table.in_buckets else _columns(table, classes, taxonomies, threshold),
        sensitive=tuple(_disclosure(table, name, show_values) for name in table.schema.sensitive)
        if len(classes)
        else (),
    )


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


def _columns(
    table: AssessedTable, classes: Classes, taxonomies: Mapping[str, Taxonomy], threshold: Fraction
) -> tuple[Contribution, ...]:
    return contributions(
        table.cells(classes),
        table.evidence.counted.domains,
        columns=table.columns,
        taxonomies=taxonomies,
        threshold=threshold,
    )


def _disclosure(table: AssessedTable, column: str, show_values: bool) -> AttributeDisclosure:
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
        name_class=class_namer(table) if (table.published or show_values) and not table.in_buckets else None,
    )
