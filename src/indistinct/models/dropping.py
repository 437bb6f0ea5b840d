"""Which classes must be suppressed so that a model holds for the rest; every search that suppresses uses this."""

from collections.abc import Sequence

import numpy as np

from indistinct.frequencies.value import PERSON, Classes
from indistinct.machine.arrays import Mask
from indistinct.models.base import Model


def classes_to_drop(model: Model, classes: Classes, *, enough: int | None = None) -> Mask:
    """Return a mask of the classes to suppress so that the rest satisfies the model; all of them if none can.

    Classes that violate a model by themselves are suppressed, and those in small groups of a few columns. Models of all
    classes together then suppress the smallest class, one after the other, until they are satisfied; if that makes
    groups too small, both steps alternate. If a model is not `suppressible`, all classes go as soon as one must. With
    `enough`, the mask may stop after that many rows.
    """
    traits = model.traits
    if traits.class_wise and traits.stable and traits.suppressible:
        return model.violations(classes)
    parts = model.parts()
    alone = [part for part in parts if part.traits.class_wise or part.needs_labels]
    together = [part for part in parts if not (part.traits.class_wise or part.needs_labels)]
    dropped, gone = np.zeros(len(classes), dtype=bool), None
    while gone is None or (model.needs_labels and together and dropped.sum() > gone.sum()):
        gone = _broken_alone(alone, classes, dropped, enough=enough)
        if not traits.suppressible and gone.any():
            return np.ones(len(classes), dtype=bool)
        dropped = _smallest_first(together, classes, gone) if together else gone
    return dropped if traits.suppressible or not dropped.any() else np.ones(len(classes), dtype=bool)


def _broken_alone(models: Sequence[Model], classes: Classes, dropped: Mask, *, enough: int | None) -> Mask:
    """Return the classes that break one of several models, and those dropped before.

    In rounds unless all are stable.

    A single model that groups classes by a few columns computes itself which classes to drop.
    """
    gone, closed = dropped.copy(), len(models) == 1 and models[0].needs_labels
    while True:
        kept = np.flatnonzero(~gone)
        rest = classes if len(kept) == len(classes) else classes.take(kept)
        broken = [model.outside(rest, enough) for model in models]
        gone[kept[np.logical_or.reduce([np.zeros(len(kept), dtype=bool), *broken])]] = True
        settled = closed or not any(each.any() for each in broken) or all(model.traits.stable for model in models)
        if settled or (enough is not None and classes.members_of(gone) > enough):
            return gone


def _smallest_first(models: Sequence[Model], classes: Classes, gone: Mask) -> Mask:
    """Return which classes to drop, smallest first and the first of equals first, until every model holds for the rest.

    Dropping the smallest class lowers the average risk and the share of uniques, so that the fewest are found by
    bisection. For a model that is not monotone in this order, one class more than needed may be dropped, and never one
    too few.
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
    marked = gone.copy()
    marked[order[:low]] = True
    return marked
