"""Shared by models that compare a release with a population: the people of each class in both."""

from indistinct.errors import ParameterError
from indistinct.frequencies.population import require_population
from indistinct.frequencies.value import Classes
from indistinct.machine.arrays import Counts
from indistinct.models.base import Model


def sample_and_population(model: Model, classes: Classes) -> tuple[Counts, Counts]:
    """Return the number of people of the table, and of the population, in each class.

    Raises `InputError` where the population has fewer: then it does not contain the people of the table.
    """
    population = classes.population
    if population is None:
        raise no_population(model)
    require_population(classes.members, population)
    return classes.members, population


def no_population(model: Model) -> ParameterError:
    """Return the error of a model that needs a population where none is given."""
    return ParameterError(
        f"{model.spec()} compares the release with a population, and none is given",
        hint="give a table of everybody from whom the sample was drawn: population=…, --population FILE, or "
        "`population` under [input] of a policy",
    )
