"""Which classes a release leaves out so that a model holds for the rest: what every search that suppresses asks."""

from collections.abc import Sequence

import numpy as np

from indistinct.frequencies.value import PERSON, Classes
from indistinct.machine.arrays import Codes
from indistinct.models.base import Model


def classes_to_drop(model: Model, classes: Classes) -> Codes:
    """Return a mask of the classes to drop so that the rest keeps a promise; all of them if nothing that is left does.

    Classes that break a model by themselves go. What judges all classes together then lets the smallest go, one after
    the other, until it holds. A model for which whoever is dropped breaks it as well lets all go as soon as one must.
    """
    traits = model.traits
    if traits.class_wise and traits.stable and traits.suppressible:
        return model.violations(classes)
    parts = model.parts()
    gone = _broken_alone([part for part in parts if part.traits.class_wise], classes)
    if not traits.suppressible and gone.any():
        return np.ones(len(classes), dtype=bool)
    together = [part for part in parts if not part.traits.class_wise]
    dropped = _smallest_first(together, classes, gone) if together else gone
    return dropped if traits.suppressible or not dropped.any() else np.ones(len(classes), dtype=bool)


def _broken_alone(models: Sequence[Model], classes: Classes) -> Codes:
    """Return the classes that break one of several models, in rounds unless all are stable."""
    gone = np.zeros(len(classes), dtype=bool)
    while True:
        kept = np.flatnonzero(~gone)
        rest = classes if len(kept) == len(classes) else classes.take(kept)
        broken = np.logical_or.reduce([np.zeros(len(kept), dtype=bool), *(model.violations(rest) for model in models)])
        gone[kept[broken]] = True
        if not broken.any() or all(model.traits.stable for model in models):
            return gone


def _smallest_first(models: Sequence[Model], classes: Classes, gone: Codes) -> Codes:
    """Return which classes go, the smallest first and the first of equals first, until every model holds for the rest.

    Dropping the smallest class lowers the average risk and the share of uniques, so that the fewest are found by
    bisection; a model that wavers may be left with one more than it needs, and never with one too few.
    """
    keys = {key for model in models for key in model.keys}
    plain = Classes(
        classes.sizes, {key: each for key, each in classes.histograms.items() if key in keys or PERSON in key}
    )
    candidates = np.flatnonzero(~gone & (classes.sizes > 0))
    order = candidates[np.argsort(classes.members[candidates], kind="stable")]

    def holds(dropped: int) -> bool:
        rest = plain.take(np.sort(order[dropped:]))
        return not any(model.violations(rest).any() for model in models)

    low, high = 0, len(order)
    if not holds(0):
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        low = high
    found = gone.copy()
    found[order[:low]] = True
    return found
