"""Population uniqueness: few people of the population are estimated to be unique in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from indistinct.errors import ParameterError
from indistinct.frequencies.value import Classes
from indistinct.models import parameters
from indistinct.models.base import ModelTraits
from indistinct.models.release_wide import ReleaseModel, everybody
from indistinct.models.sample_uniqueness import share_of_rows, uniques
from indistinct.models.uniqueness_estimators import estimate_by

Estimator = Literal["dankar", "pitman", "zayatz", "snb"]


@dataclass(frozen=True, slots=True)
class PopulationUniqueness(ReleaseModel):
    """At most the share `share` of a population is estimated to be unique in it, on what is published.

    The release is a sample of `population_size` people; `estimator` says how their uniques are estimated from the sizes
    of its classes: by the model of Zayatz (1991), Pitman (Hoshino 2001) or sliding negative binomial distributions
    (Chen and Keller-McNulty 1998), or as Dankar et al. (2012) choose among them. Where an estimator has no solution all
    sample uniques count as population uniques, which is the most there can be.

    >>> PopulationUniqueness(share=0.01, population_size=10**6).spec()
    'population-uniqueness:share=0.01,population_size=1000000'
    """

    name: ClassVar[str] = "population-uniqueness"
    traits: ClassVar[ModelTraits] = ModelTraits(monotone=False, stable=False, class_wise=False)
    share: float | Fraction
    population_size: int
    estimator: Estimator = "dankar"

    def __post_init__(self) -> None:
        share_of_rows(self)
        parameters.whole_number(
            self, "population_size", hint="population_size counts everybody from whom the table was drawn"
        )
        parameters.choice(
            self,
            "estimator",
            known=get_args(Estimator),
            hint="dankar chooses among the others by the sampling fraction",
        )

    @property
    def people_traits(self) -> ModelTraits:
        """Nothing is known of rows already."""
        return self.traits

    def holds(self, classes: Classes) -> bool:
        """Return whether few enough are estimated to be unique."""
        self._require(classes)
        most = uniques(classes) / max(everybody(classes), 1)
        return most <= float(self.share) or self._estimate(classes) <= float(self.share)

    def achieved(self, classes: Classes) -> Mapping[str, float]:
        """Return the estimated share of the population that is unique as `share`; nothing where there are no rows."""
        self._require(classes)
        return {"share": self._estimate(classes)} if classes.rows else {}

    def _require(self, classes: Classes) -> None:
        if everybody(classes) > self.population_size:
            raise ParameterError.of(
                "PopulationUniqueness",
                "population_size",
                f"is {self.population_size:,}, and the table has {everybody(classes):,} {classes.unit}",
                hint="the population is smaller than the sample: it counts everybody from whom the table was drawn",
            )

    def _estimate(self, classes: Classes) -> float:
        if not uniques(classes):
            return 0.0
        # Somebody in several classes would be several people: the sample is then larger than the number of people.
        population = max(self.population_size, int(classes.members.sum()))
        estimate = estimate_by(classes.members, population, estimator=self.estimator)
        most = uniques(classes) / everybody(classes)
        return most if estimate is None else min(float(estimate), most)
