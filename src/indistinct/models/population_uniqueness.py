"""Population uniqueness: few people of the population are estimated to be unique in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from indistinct.errors import ParameterError
from indistinct.frequencies.value import Classes
from indistinct.models.base import THRESHOLD, ModelTraits, ModelWords
from indistinct.models.release_wide import ReleaseModel, everybody
from indistinct.models.sample_uniqueness import uniques
from indistinct.models.uniqueness_estimators import estimate_by
from indistinct.parameters import ExactNumber, Parameter, Whole

Estimator = Literal["dankar", "pitman", "zayatz", "snb"]


@dataclass(frozen=True, slots=True)
class PopulationUniqueness(ReleaseModel):
    """At most the share `share` of a population is estimated to be unique in it, on what is published.

    The release is a sample of `population_size` people; `estimator` says how their uniques are estimated from the sizes
    of its classes: by the model of Zayatz (1991), Pitman (Hoshino 2001) or sliding negative binomial distributions
    (Chen and Keller-McNulty 1998), or as Dankar et al. (2012) choose among them. Where an estimator has no solution all
    sample uniques count as population uniques, which is the most there can be.

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> PopulationUniqueness(share=0.01, population_size=10**6).spec()
    'population-uniqueness:share=0.01,population_size=1000000'
    """

    name: ClassVar[str] = "population-uniqueness"
    words: ClassVar[ModelWords] = ModelWords(
        "Few are alone in the population (population uniqueness)",
        THRESHOLD,
        "For a sample: of those who are alone in it, few are estimated to be so in the population.",
        "{share %} of a population of {population_size} people at most are estimated to be alone with {quasi}.",
    )
    traits: ClassVar[ModelTraits] = ModelTraits(monotone=False, stable=False, class_wise=False)
    share: Annotated[
        float | Fraction,
        Parameter(
            "Largest share",
            "Largest share of unique people, from 0 to 1, for example share=0.01; 0 allows none.",
            ExactNumber("from 0 to 1", high=1, zero=True),
            start="0.01",
        ),
    ]
    population_size: Annotated[
        int, Parameter("Size of the population", "Number of people from whom the table was drawn.", Whole())
    ]
    estimator: Annotated[
        Estimator, Parameter("Estimator", "dankar chooses among the others by the sampling fraction.")
    ] = "dankar"

    @property
    def people_traits(self) -> ModelTraits:
        """No trait that concludes from rows to people: nothing is known even for rows."""
        return self.traits

    def holds(self, classes: Classes) -> bool:
        """Return whether few enough people are estimated to be unique."""
        self._require(classes)
        most = uniques(classes) / max(everybody(classes), 1)
        return most <= float(self.share) or self._estimate(classes) <= float(self.share)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the estimated share of the population that is unique as `share`; nothing where there are no rows."""
        self._require(classes)
        return {"share": self._estimate(classes)} if classes.rows else {}

    def _require(self, classes: Classes) -> None:
        """Raise if the population is smaller than the table."""
        if everybody(classes) > self.population_size:
            raise ParameterError.of(
                "PopulationUniqueness",
                "population_size",
                f"is {self.population_size:,}, and the table has {everybody(classes):,} {classes.unit}",
                hint="the population is smaller than the sample: count all people from whom the table was drawn",
            )

    def _estimate(self, classes: Classes) -> float:
        """Estimate the share of rows that are unique in the population."""
        if not uniques(classes):
            return 0.0
        # A person in several classes counts several times, so the sample can be larger than the number of people.
        population = max(self.population_size, int(classes.members.sum()))
        estimate = estimate_by(classes.members, population, estimator=self.estimator)
        most = uniques(classes) / everybody(classes)
        return most if estimate is None else min(float(estimate), most)
