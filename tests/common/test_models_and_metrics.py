"""What every model and metric declares holds; third parties can check theirs in the same way."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from indistinct.metrics import METRICS, Discernibility, WorkloadError
from indistinct.metrics.queries.workload import Workload
from indistinct.models import KAnonymity, Model, ModelTraits
from indistinct.models.registry import MODELS
from indistinct.testing import check_algorithm, check_metric, check_model
from indistinct.testing.checks import MODEL_EXAMPLES
from indistinct.testing.checks.examples import tables

# The small tables have no quasi-identifier in common, but all have rows.
REQUIRED = {
    "classification": "classification:target=disease",
    "workload-error": WorkloadError(Workload.of(["SELECT COUNT(*)"])),
}


@pytest.mark.parametrize("name", MODELS)
def test_model(name):
    """Algorithms meet every model in the test of algorithms."""
    for spec in MODEL_EXAMPLES[name]:
        check_model(spec, algorithms=())


@pytest.mark.parametrize("name", METRICS)
def test_metric(name):
    check_metric(REQUIRED.get(name, name))


@dataclass(frozen=True, slots=True)
class EvenSize(Model):
    """A model of a third party that is not registered: classes have an even number of rows."""

    name: ClassVar[str] = "even-size"
    traits: ClassVar[ModelTraits] = ModelTraits()

    def violations(self, classes):
        return classes.sizes % 2 == 1

    def achieved(self, classes) -> Mapping[str, float]:
        return {}


def test_a_model_that_is_not_registered_is_judged_by_its_own_definition():
    known = {f"doubling with even-size on {table}": "twice any number is even" for table in tables()}
    check_model(EvenSize(), algorithms=["mondrian"], judge=lambda rows, _original: len(rows) % 2 == 1, known=known)
    with pytest.raises(AssertionError, match=r"model_holds with even-size on numbers: .* break even-size"):
        check_model(EvenSize(), algorithms=["mondrian"], judge=lambda rows, _original: len(rows) % 4 > 0)


class ClaimsToAbsorb(EvenSize):
    __slots__ = ()
    traits: ClassVar[ModelTraits] = ModelTraits(absorbing=True)


class ClaimsToCount(KAnonymity):
    __slots__ = ()

    def violations(self, classes):
        return classes.sizes < self.k + 1


class ClaimsToBeStable(EvenSize):
    __slots__ = ()

    def violations(self, classes):
        return np.arange(len(classes)) % 2 == 1


class ClaimsToBeMonotone(EvenSize):
    __slots__ = ()

    def violations(self, classes):
        return classes.sizes > 5


@pytest.mark.parametrize(
    ("model", "trait"),
    [
        (ClaimsToAbsorb(), "absorbing"),
        (ClaimsToCount(3), "sizes_only"),
        (ClaimsToBeStable(), "stable"),
        (ClaimsToBeMonotone(), "monotone"),
    ],
)
def test_a_trait_that_does_not_hold_is_named(model, trait):
    with pytest.raises(AssertionError, match=f"traits on numbers: not `{trait}`"):
        check_model(model, algorithms=())


class Bounded(Discernibility):
    __slots__ = ()
    bounds: ClassVar[tuple[float, float]] = (0.0, 31.0)


class Reversed(Discernibility):
    __slots__ = ()
    goal: ClassVar[str] = "max"


@pytest.mark.parametrize(("metric", "why"), [(Bounded(), "above its bound"), (Reversed(), "not `monotone`")])
def test_a_metric_that_breaks_its_word_is_found(metric, why):
    with pytest.raises(AssertionError, match=f"values on numbers: .*{why}"):
        check_metric(metric)


def test_all_failures_are_told_and_known_ones_must_happen():
    with pytest.raises(AssertionError) as caught:
        check_algorithm("node", models=["k-anonymity:k=3"], known={"order with k-anonymity:k=3 on one": "invented"})
    assert str(caught.value).splitlines() == [
        "2 failure(s)",
        "k_one at the edge: k = 1 must tell all values apart",
        "order with k-anonymity:k=3 on one: passes, though it is a known failure",
    ]
