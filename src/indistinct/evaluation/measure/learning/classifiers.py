"""Classifiers that learn from a release, each by its usual name; scikit-learn, the extra `ml`, fits them."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import numpy as np

from indistinct.errors import MissingExtraError
from indistinct.machine.arguments import CheckedArguments
from indistinct.machine.arrays import Codes, Floats
from indistinct.parameters import Number, Parameter, Whole, WithDocumentedParameters, check_parameters
from indistinct.text_form import parse

ABOVE_0 = Number("above 0", low=math.ulp(0.0))


class Classifier(WithDocumentedParameters, CheckedArguments, ABC):
    """A way to learn a column from others: a frozen value with its parameters.

    `binned` says that numbers are given to it in bins, as every other column is: a share for each possible value.
    """

    __slots__ = ()
    name: ClassVar[str]
    binned: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_parameters(self)

    @abstractmethod
    def estimator(self, seed: int) -> Any:
        """Return an estimator of scikit-learn that has learned nothing yet."""

    def predictions(self, features: Floats, targets: Codes, *, about: Floats, seed: int) -> Codes:
        """Learn targets from the features of some rows, and return what is predicted of others."""
        values, counts = np.unique(targets, return_counts=True)
        if len(values) < 2 or not features.shape[1]:  # nothing to tell apart, or nothing to tell it by
            return np.full(len(about), values[counts.argmax()])
        from sklearn.exceptions import ConvergenceWarning
        from threadpoolctl import threadpool_limits

        # Threads of boosting wait for each other in a loop: on a busy machine one is many times faster than two.
        with threadpool_limits(1), warnings.catch_warnings():
            # Not quite the best coefficients predict as well; they are not shown.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(self.estimator(seed).fit(features, targets).predict(about))


@dataclass(frozen=True, slots=True)
class LogisticRegression(Classifier):
    """Logistic regression with a quadratic penalty; `strength` is the inverse of the penalty's weight."""

    name: ClassVar[str] = "logistic-regression"
    strength: Annotated[float, Parameter("Strength", "Inverse of the penalty's weight.", ABOVE_0)] = 1.0

    def estimator(self, seed: int) -> Any:
        """Return the estimator; it draws nothing."""
        del seed
        from sklearn import linear_model

        return linear_model.LogisticRegression(C=self.strength, max_iter=300)


@dataclass(frozen=True, slots=True)
class RandomForest(Classifier):
    """A random forest of `trees` trees, whose leaves have at least `leaf` rows (Breiman 2001)."""

    name: ClassVar[str] = "random-forest"
    trees: Annotated[int, Parameter("Trees", "Number of trees.", Whole())] = 100
    leaf: Annotated[int, Parameter("Rows of a leaf", "Least number of rows in a leaf.", Whole())] = 3

    def estimator(self, seed: int) -> Any:
        """Return the estimator; the seed decides which rows and columns a tree sees."""
        from sklearn import ensemble

        return ensemble.RandomForestClassifier(n_estimators=self.trees, min_samples_leaf=self.leaf, random_state=seed)


@dataclass(frozen=True, slots=True)
class GradientBoosting(Classifier):
    """Gradient boosting of small trees over histograms, `rounds` times (Friedman 2001)."""

    name: ClassVar[str] = "gradient-boosting"
    rounds: Annotated[int, Parameter("Rounds", "Number of trees, one after the other.", Whole())] = 100

    def estimator(self, seed: int) -> Any:
        """Return the estimator; no row is set aside to stop early."""
        from sklearn import ensemble

        return ensemble.HistGradientBoostingClassifier(max_iter=self.rounds, early_stopping=False, random_state=seed)


@dataclass(frozen=True, slots=True)
class NaiveBayes(Classifier):
    """Naive Bayes over the values of every column, numbers in ten bins, with `smoothing` rows more of each value."""

    name: ClassVar[str] = "naive-bayes"
    binned: ClassVar[bool] = True
    smoothing: Annotated[float, Parameter("Smoothing", "Rows that are added for each value.", ABOVE_0)] = 1.0

    def estimator(self, seed: int) -> Any:
        """Return the estimator; it draws nothing."""
        del seed
        from sklearn import naive_bayes

        return naive_bayes.MultinomialNB(alpha=self.smoothing)


CLASSIFIERS: Mapping[str, type[Classifier]] = MappingProxyType(
    {kind.name: kind for kind in (LogisticRegression, RandomForest, GradientBoosting, NaiveBayes)}
)
"""Every classifier by its name."""


def parse_classifier(text: str) -> Classifier:
    """Parse the name and parameters of a classifier.

    >>> parse_classifier("random-forest:trees=50")
    RandomForest(trees=50, leaf=3)
    """
    return parse(text, CLASSIFIERS, what="classifier")


def require_extra() -> None:
    """Raise `MissingExtraError` unless scikit-learn is installed."""
    try:
        import sklearn  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError("scikit-learn", extra="ml", purpose="learning from a release") from None
