"""Figures of risk for a table and, where it is a release, for its original."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from indistinct.as_json import AsJson, to_plain
from indistinct.document.blocks import Document, JsonValues, notes_section
from indistinct.document.result import Result
from indistinct.drawing.charts import Chart
from indistinct.drawing.class_sizes import draw_class_sizes
from indistinct.evaluation.assess.assess_document import assess_document
from indistinct.evaluation.assess.attribute_disclosure import AttributeDisclosure
from indistinct.evaluation.assess.column_contribution import Contribution
from indistinct.evaluation.assess.column_sets import SmallestCombination
from indistinct.evaluation.assess.individual import IndividualRisk
from indistinct.evaluation.assess.profiles import Gate
from indistinct.evaluation.assess.regulators import PracticeFinding
from indistinct.evaluation.assess.reidentification import ClassSizes, Reidentification
from indistinct.evaluation.assess.special_uniques import SpecialUniques
from indistinct.evaluation.verdict import Figures, Verdict
from indistinct.frequencies.singled_out import SingledOut
from indistinct.frequencies.structure import units_of
from indistinct.inspection.patterns.base import PatternShare
from indistinct.inspection.unique_sets import MinimalUniques
from indistinct.models.uniqueness_estimators import UniquenessEstimates

NO_POPULATION = "no population is known: all population matches are in the table itself"
ESTIMATED = "estimated: the table is taken for a random sample of the population"
COUNTED = "counted in the population table"


@dataclass(frozen=True, slots=True)
class PopulationRisk(AsJson):
    """Figures on the population beyond a table.

    `basis` says how a journalist's risk was found. `estimates` are of the share of the population that is unique in
    it, and `counted` is the share of the table's members who are unique in the population table. `expected_marketer` is
    a marketer's risk as far as a sampling fraction tells it.
    """

    in_json: ClassVar[str] = (
        "zayatz=estimates.zayatz pitman=estimates.pitman snb=estimates.snb dankar=estimates.dankar "
        "used=estimates.used converged=estimates.converged population_size=estimates.population_size "
        "sampling_fraction=estimates.sampling_fraction counted"
    )
    basis: str = NO_POPULATION
    estimates: UniquenessEstimates | None = None
    counted: float | None = None
    expected_marketer: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TableRisk:
    """The risk of one table. Counts are of people where a column tells them apart, else of rows: `unit` says which.

    A figure that does not apply, to buckets for instance, is None or empty. `published` counts the members who are
    unique on unmodified columns, `own_values` those who are unique on each sensitive column, and `identifying` has the
    columns whose values look like free text, names or numbers of people, None if they were not read; these three are of
    the table that is assessed, not of the original before it. `fewest_compatible` is the fewest rows that fit a row
    where a star matches everything, as sdcMicro counts, for comparison: no guarantee. None without stars.
    """

    unit: str
    rows: int
    members: int
    classes: int
    smallest: int
    uniques: int
    prosecutor: Reidentification
    journalist: Reidentification
    marketer: float
    sizes: ClassSizes
    population: PopulationRisk = field(default_factory=PopulationRisk)
    columns: tuple[Contribution, ...] = ()
    sensitive: tuple[AttributeDisclosure, ...] = ()
    individual: IndividualRisk | None = None
    special: SpecialUniques | None = None
    unique_sets: MinimalUniques | None = None
    published: SingledOut | None = None
    own_values: Mapping[str, int] = field(default_factory=dict)
    identifying: Mapping[str, PatternShare] | None = field(default_factory=dict)
    column_sets: tuple[SmallestCombination, ...] = ()
    fewest_compatible: int | None = None

    @property
    def largest_share(self) -> float:
        """Return the largest share of a sensitive value in a class; 0 where no column is sensitive."""
        return max((each.largest_share for each in self.sensitive), default=0.0)

    @property
    def homogeneous(self) -> float | None:
        """Return the largest share of members whose class has one value of a sensitive column, None without one."""
        return max((each.homogeneous for each in self.sensitive), default=None)

    def figures(self, attacker: str) -> dict[str, float | None]:
        """Return the figures that a profile may limit, for one kind of attacker."""
        risk = self.journalist if attacker == "journalist" else self.prosecutor
        estimates = self.population.estimates
        return {
            **risk.to_json(),
            "uniques": self.uniques / self.members if self.members else 0.0,
            "population_uniques": None if estimates is None else estimates.dankar,
            "homogeneous": self.homogeneous or 0.0,
            "largest_share": self.largest_share,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        population = self.population
        document = {
            "prosecutor": self.prosecutor,
            "journalist": {**self.journalist.to_json(), "basis": population.basis},
            "marketer": {"average": self.marketer, "expected": population.expected_marketer},
            "uniques": self.uniques,
            "classes": self.classes,
            "rows": self.rows,
            "population_uniques": population,
            "unit": self.unit,
            "members": self.members,
            "smallest_class": self.smallest,
            "class_sizes": self.sizes,
            "columns": {each.column: each for each in self.columns},
            "sensitive": {each.column: each for each in self.sensitive},
            "individual": self.individual,
            "special_uniques": self.special,
            "column_sets": self.column_sets,
            "fewest_compatible": self.fewest_compatible,
            "unique_sets": self.unique_sets,
            "published_columns": self.published,
            "own_values": self.own_values,
            "identifying_values": self.identifying,
        }
        return to_plain(document)


@dataclass(frozen=True, slots=True, eq=False)
class Assessment(Result):
    """The risk of a table, and of the original before it where the table is a release of that.

    `risk` is that of the assessed table and `before` that of its original. `verdict` judges it, by a profile if one is
    given, and `figures` are its basis. `practice` are thresholds of regulators, and `notes` remarks: how people were
    counted, what does not apply. It has no value of an original table; classes of a release are named by their labels.
    """

    risk: TableRisk
    threshold: float
    figures: Figures
    verdict: Verdict
    before: TableRisk | None = None
    practice: tuple[PracticeFinding, ...] = ()
    notes: tuple[str, ...] = ()
    form: str | None = None

    def __repr__(self) -> str:
        risk = self.risk
        return f"<Assessment of {risk.rows} rows in {risk.classes} classes: highest risk {risk.prosecutor.highest:.4g}>"

    def document(self) -> Document:
        """Return the assessment as a document; no class is named."""
        whole = assess_document(JsonValues("assess", self.to_json()), with_classes=False)
        return replace(whole, sections=(*whole.sections, *notes_section(self.notes)))

    def chart(self) -> Chart:
        """Return a chart of class sizes, before and after if both are known; needs the extra `report`."""
        sides = {} if self.before is None else {"before": self.before.sizes.histogram}
        sides["after" if sides else "table"] = self.risk.sizes.histogram
        return Chart(draw_class_sizes(sides, k=None, groups=units_of(self.form), unit=self.risk.unit))

    @property
    def gate(self) -> Gate | None:
        """Return the result of the profile, None without a profile."""
        return self.verdict.gate

    @property
    def passed(self) -> bool:
        """Whether the profile is kept; an assessment without a profile is no gate."""
        return self.gate is None or self.gate.passed

    def to_json(self) -> dict[str, Any]:
        """Return the assessment as plain JSON values."""
        names = ("threshold", "form", "before", "practice", "gate", "verdict", "notes")
        values = {"profile" if name == "gate" else name: to_plain(getattr(self, name)) for name in names}
        return {**self.risk.to_json(), **values}
