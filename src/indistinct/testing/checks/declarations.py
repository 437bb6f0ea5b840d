"""Checks that the declared traits of models and metrics hold on small tables."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.frequencies.population import with_population
from indistinct.frequencies.value import Classes, ClassLabels, FrequencySet
from indistinct.job.publishing import anonymize
from indistinct.machine.arrays import Codes
from indistinct.metrics.base import Metric
from indistinct.models.base import Model
from indistinct.models.dropping import classes_to_drop
from indistinct.recoding.outputs import Assignment
from indistinct.testing.checks.case import Case, count_table, expect, turn_rows

TRIALS = 40
NOISE = 1e-9


def check_model_traits(case: Case) -> None:
    """The traits of a model hold for random classes when they are merged, joined or dropped."""
    model, dice = case.model.sampled(case.table.num_rows), np.random.default_rng(1)
    traits = model.traits
    counted = count_table(
        case.table, case.schema, hierarchies=case.hierarchies, model=model, population=case.population
    )
    cells = counted.frequencies.classes
    if counted.population is not None:
        cells = with_population(counted.frequencies, counted.population, absent=True).classes
    if model.needs_labels:
        _check_column_sets(model, counted.frequencies, dice)
        return
    for trial in range(TRIALS):
        size = 1 + trial % 8
        classes = cells.regroup(dice.integers(0, size, len(cells)).astype(np.int32), size)
        if counted.population is None:
            classes = classes.take(np.flatnonzero(classes.sizes))
        broken = model.violations(classes)
        if traits.class_wise:
            small = (classes.sizes > 0) & (classes.sizes < model.smallest)
            expect(broken[small].all(), "a class smaller than `smallest` satisfies the model")
        if traits.sizes_only:
            expect((broken == (classes.sizes < model.smallest)).all(), "not `sizes_only`: more than `smallest` matters")
        if traits.stable:
            kept = np.flatnonzero(dice.random(len(classes)) < 0.5)
            expect((model.violations(classes.take(kept)) == broken[kept]).all(), "not `stable`: dropped classes matter")
        if broken.all() or not traits.class_wise:
            _check_dropping(model, classes, dice.integers(0, size, size).astype(np.int32))
            continue
        united = classes.regroup(np.where(broken, -1, 0).astype(np.int32), 1)
        if traits.monotone:
            expect(not model.violations(united).any(), "not `monotone`: good classes break the model together")
        joined = np.where(dice.random(len(classes)) < 0.5, 0, -1).astype(np.int32)
        joined[np.flatnonzero(~broken)[0]] = 0
        if traits.absorbing:
            together = classes.regroup(joined, 1)
            expect(not model.violations(together).any(), "not `absorbing`: a good class breaks the model with others")
        _check_dropping(model, classes, dice.integers(0, size, size).astype(np.int32))


def _check_column_sets(model: Model, cells: FrequencySet, dice: np.random.Generator) -> None:
    """The traits of a model of column sets hold when all equal values of a column are published as another one."""
    for _ in range(TRIALS):
        finer = cells.vectors % dice.integers(1, 6, cells.vectors.shape[1])
        coarser = finer % dice.integers(1, 4, finer.shape[1])
        before, after = _shown_as(cells, finer), _shown_as(cells, coarser)
        dropped = classes_to_drop(model, before)
        kept = before.take(np.flatnonzero(~dropped))
        expect(not model.violations(kept).any(), "what is left once classes are dropped breaks the model")
        if model.traits.monotone and not model.violations(before).any():
            expect(not model.violations(after).any(), "not `monotone`: generalizing a column breaks the model")
        if model.traits.absorbing:
            rows, fewer = (each.sizes[classes_to_drop(model, each)].sum() for each in (before, after))
            expect(fewer <= rows, "not `absorbing`: generalizing a column lets more rows be dropped")


def _shown_as(cells: FrequencySet, codes: Codes) -> Classes:
    """Return the classes of cells that show some codes."""
    values, ids = np.unique(codes, axis=0, return_inverse=True)
    merged = cells.classes.regroup(ids.reshape(-1).astype(np.int32), len(values))
    return replace(merged, labels=ClassLabels(cells.names, values))


def _check_dropping(model: Model, classes: Classes, merged: Codes) -> None:
    """Dropping classes lets the rest satisfy the model; merging keeps it satisfied and, if declared, drops no more."""
    size, dropped = len(merged), classes_to_drop(model, classes)
    kept = classes.take(np.flatnonzero(~dropped))
    expect(not model.violations(kept).any(), "what is left once classes are dropped breaks the model")
    expect(model.traits.suppressible or dropped.all() or not dropped.any(), "not `suppressible`: only some are dropped")
    coarser = classes.regroup(merged[: len(classes)], size)
    if coarser.population is None:
        coarser = coarser.take(np.flatnonzero(coarser.sizes))
    if model.traits.monotone and not model.violations(classes).any():
        expect(not model.violations(coarser).any(), "not `monotone`: merging classes breaks the model")
    if model.traits.absorbing:
        rows, fewer = (each.sizes[classes_to_drop(model, each)].sum() for each in (classes, coarser))
        expect(fewer <= rows, "not `absorbing`: merging classes lets more rows be dropped")


def check_metric_values(metric: Metric, case: Case) -> None:
    """A metric stays within its bounds, ignores the order of rows and, if monotone, is never better where coarser."""
    least, most = metric.bounds
    finer = None
    for node in _upwards(case):
        given = replace(case, algorithm=node)
        value, again = (metric.value(_assignment(each)) for each in (given, turn_rows(given)))
        expect(math.isclose(value, again, rel_tol=NOISE, abs_tol=NOISE), "it depends on the order of rows")
        expect(least is None or value >= least - NOISE, f"{value} is below its bound {least}")
        expect(most is None or value <= most + NOISE, f"{value} is above its bound {most}")
        if metric.monotone and finer is not None:
            gain = value - finer if metric.goal == "max" else finer - value
            expect(gain <= NOISE * max(1.0, abs(finer)), f"not `monotone`: {node.levels} is better than a finer node")
        finer = value


def _upwards(case: Case) -> Iterator[ChosenNode]:
    """Yield the nodes of one path from the finest to the coarsest, column by column."""
    whole = replace(case, algorithm=ChosenNode())
    heights = [int(column.height) for column in _assignment(whole).columns]
    levels = [0] * len(heights)
    yield ChosenNode(tuple(levels))
    for index, height in enumerate(heights):
        for level in range(1, height + 1):
            levels[index] = level
            yield ChosenNode(tuple(levels))


def _assignment(case: Case) -> Assignment:
    """Return the recoded table, with a histogram of the sensitive column for metrics of classification."""
    (target,) = case.schema.sensitive
    return anonymize(
        case.table,
        case.schema,
        model=case.model,
        algorithm=case.algorithm,
        hierarchies=case.hierarchies,
        target=target,
    ).assignment
