"""Metrics of releases in buckets, whose values are unmodified and whose links are hidden."""

import numpy as np

from indistinct.frequencies.slices import Links
from indistinct.machine.ordering import distinct_with_places
from indistinct.metrics.information import AverageClassSize, Discernibility
from indistinct.metrics.registry import Measurements


def reconstruction_error(links: Links) -> float:
    """Return the mean squared error of reconstructing a row's sensitive values from its bucket.

    A bucket shows the distribution of its values; the error of a row is the squared distance of that distribution from
    the row's true value, Σ_s (p(s) - [s is its value])². Xiao and Tao (2006) show that no l-diverse grouping is below 1
    - 1/l. It is averaged over rows and over sensitive attributes; 0 without any.
    """
    errors = []
    for name in links.sensitive:
        home = links.slices[links.home(name)]
        width = int(home.codes[name].max(initial=0)) + 1
        words, owners = distinct_with_places(home.units.astype(np.int64) * width + home.codes[name])
        counts = np.bincount(owners, weights=home.counts)
        # Σ over rows of (1 - 2 p(own) + Σ p²), with p = count / size: size - Σ count² / size.
        squares = np.bincount(words // width, weights=counts**2, minlength=len(links.sizes))
        errors.append(float((links.sizes - squares / links.sizes).sum()) / links.sizes.sum())
    return float(np.mean(errors)) if errors else 0.0


def unique_values(links: Links) -> float:
    """Return the share of rows whose value in some slice is unique, which reveals that a person is in the table.

    A slice's value is the vector of its attributes that are not sensitive. With several slices it is the largest share.
    """
    return float(rows_alone(links) / links.sizes.sum())


def rows_alone(links: Links) -> int:
    """Return how many rows have a unique value in a slice; with several slices the largest number."""
    unique_counts = [0]
    for index, each in enumerate(links.slices):
        if not set(each.names) <= set(links.sensitive):
            rows = np.bincount(links.codes_without_sensitive(index)[0], weights=each.counts)
            unique_counts.append(int((rows == 1).sum()))
    return max(unique_counts)


def measure_buckets(links: Links, *, k: int) -> Measurements:
    """Return the metrics of buckets: their sizes, the reconstruction error of sensitive values, and unique values.

    The mean size is in units of `k`.
    """
    sizes, rows = links.sizes.astype(np.int64), int(links.sizes.sum())
    return Measurements(
        (
            ("buckets", float(len(links.sizes))),
            ("discernibility", Discernibility().of_sizes(sizes, rows=rows)),
            ("average-class-size", AverageClassSize(k).of_sizes(sizes, rows=rows)),
            ("reconstruction-error", reconstruction_error(links)),
            ("unique-values", unique_values(links)),
        )
    )
