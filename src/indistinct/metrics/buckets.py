"""What metrics say of a recoding into buckets, whose values stay as they are and whose links are lost."""

from collections.abc import Sequence

import numpy as np

from indistinct.arrays import Codes
from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.metrics.classes import AverageClassSize, Discernibility
from indistinct.metrics.measurements import Measurements
from indistinct.recoding.outputs import Assignment


def reconstruction_error(buckets: Classes) -> float:
    """Return the mean squared error with which a row's sensitive values can be rebuilt from its bucket.

    A bucket tells of each of its rows the distribution of its values; the error of a row is the squared distance of
    that from what the row really has, Σ_s (p(s) - [s is its value])². Xiao and Tao (2006) show that no l-diverse
    grouping is below 1 - 1/l. It is averaged over rows and over sensitive attributes; 0 without any.
    """
    errors = []
    for histogram in buckets.histograms.values():
        squares = np.bincount(histogram.owners(), weights=histogram.counts.astype(np.float64) ** 2)
        # Σ over rows of (1 - 2 p(own) + Σ p²), with p = count / size: size - Σ count² / size.
        errors.append(float((buckets.sizes - squares / buckets.sizes).sum()) / buckets.rows)
    return float(np.mean(errors)) if errors else 0.0


def unique_values(columns: Sequence[Codes]) -> float:
    """Return the share of rows whose value in some column is like no other: it shows that a person is in the table.

    A column's value is the vector of its attributes that are not sensitive. Of several columns it is the largest share.
    """
    shares = [float((np.bincount(codes)[codes] == 1).mean()) for codes in columns if len(codes)]
    return max(shares, default=0.0)


def measure_buckets(buckets: Classes, columns: Sequence[Codes], *, k: int) -> Measurements:
    """Return the metrics that speak of buckets, given the known values of every column.

    These are sizes, in units of `k`, how well sensitive values can be rebuilt, and how many rows show a unique value.
    """
    every = np.arange(len(buckets), dtype=np.int32)
    nothing = np.zeros((len(buckets), 0), dtype=np.int32)
    assignment = Assignment(FrequencySet((), nothing, buckets), (), nothing, every, every, buckets.sizes, buckets)
    return Measurements(
        (
            ("buckets", float(len(buckets))),
            ("discernibility", Discernibility().value(assignment)),
            ("average-class-size", AverageClassSize(k).value(assignment)),
            ("reconstruction-error", reconstruction_error(buckets)),
            ("unique-values", unique_values(columns)),
        )
    )
