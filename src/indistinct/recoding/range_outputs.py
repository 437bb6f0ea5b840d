"""The published columns of ranges: the values between two ranks as raw values, intervals, bounds or means.

Intervals are tight, or regions that reach from one cut to the next.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.hierarchy.binding import ROOT
from indistinct.machine.arrays import Codes
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.labels import range_labels, region_labels, text_range_labels
from indistinct.tables.domain import Domain, Kind

if TYPE_CHECKING:
    from indistinct.recoding.summary import Bounds, NumericForm


def range_outputs(
    column: QuasiColumn, bounds: "Bounds", form: "NumericForm", means: Codes | None, region: "Region | None"
) -> tuple[tuple[str, pa.Array], ...]:
    """Return the published columns of a range in the form that was asked for."""
    name, domain = column.name, column.domain
    interval = region.labels if region else interval_labels(domain, bounds)
    low, high = (np.where(bounds.low > bounds.high, 0, ranks) for ranks in (bounds.low, bounds.high))
    if domain.kind is Kind.TEXT or form == "interval":
        raw = bool((bounds.low >= bounds.high).all()) and not (bounds.absent & (bounds.low <= bounds.high)).any()
        raw = raw and region is None
        return ((name, raw_values(domain, low) if raw else interval),)
    missing = ((f"{name}_missing", pa.array(bounds.absent)),) if domain.missing else ()
    match form:
        case "bounds":
            return ((f"{name}_min", raw_values(domain, low)), (f"{name}_max", raw_values(domain, high)), *missing)
        case "mean":
            return ((name, _mean(domain, means)), *missing)
        case "interval+mean":
            return ((name, interval), (f"{name}_mean", _mean(domain, means)))
        case _:
            raise AssertionError(form)


def interval_labels(domain: Domain, bounds: "Bounds") -> pa.Array:
    """Return the label of each range; only values that are an end of one are spelled."""
    places, low, high = np.zeros(len(domain), dtype=np.int32), *(ends.copy() for ends in (bounds.low, bounds.high))
    known = low <= high
    places[low[known]] = places[high[known]] = 1
    ends = np.flatnonzero(places)
    places[ends] = np.arange(len(ends))
    low[known], high[known] = places[low[known]], places[high[known]]
    texts = pc.fill_null(raw_values(domain, ends).cast(pa.string()), "") if len(ends) else pa.array([""])
    return (range_labels if domain.ordered else text_range_labels)(texts, low, high, bounds.absent)


def _mean(domain: Domain, means: Codes | None) -> pa.Array:
    """Return means as published: numbers, or dates; a class without any value has none."""
    values = pa.array(means, pa.float64(), from_pandas=True)
    if domain.kind is Kind.NUMBER or means is None:
        return values
    days = pa.array(np.floor(np.nan_to_num(means)).astype(np.int32), pa.int32(), mask=np.isnan(means))
    return days.cast(pa.date32())


def raw_values(domain: Domain, codes: Codes) -> pa.Array:
    """Return values of the domain in their own type; code 0 of a domain with missing is null."""
    places = pa.array(codes - domain.missing, pa.int64(), mask=(codes < domain.missing))
    return domain.values.take(places)


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Ranges between cuts: their labels, where they end on the line, and how many steps above raw they are at least."""

    labels: pa.Array
    high: Codes
    levels: Codes


def region_of(column: QuasiColumn, bounds: "Bounds") -> Region:
    """Return ranges that reach to the next cut, so that they cover what lies between known values and beyond them.

    A range ends before the first value behind the cut. Whole numbers and days name the last one before it.
    """
    domain, floor, end = column.domain, int(column.domain.missing), len(column.domain)
    empty = bounds.low > bounds.high
    low, after = np.where(empty, floor, bounds.low), np.where(empty, end, bounds.high + 1)
    closed = pa.types.is_integer(domain.values.type) or pa.types.is_date32(domain.values.type)
    first = raw_values(domain, np.where(low == floor, -1, low))
    last = domain.values.take(pa.array(np.minimum(after, end - 1) - floor, mask=after == end))
    high = column.positions[np.minimum(after, end - 1)]
    if closed:
        whole = last if pa.types.is_integer(last.type) else last.cast(pa.int32())
        whole = pc.subtract(whole, pa.scalar(1, whole.type))
        line = whole.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        last, high = whole.cast(last.type), np.where(after == end, high, line)
    labels = region_labels(first.cast(pa.string()), last.cast(pa.string()), closed=closed, absent=bounds.absent)
    everything = (low == floor) & (after == end) & ~empty & (bounds.absent == domain.missing)
    everything &= end - floor > 1  # of one value a line has no length, while * would cost all of it
    labels = pc.if_else(pa.array(everything), ROOT, labels)
    labels = pc.if_else(pa.array(empty), pa.scalar(None, pa.string()), labels)
    single = pc.fill_null(pc.equal(first, last), False).to_numpy(zero_copy_only=False)
    wide = ~empty & ~(closed & single & ~bounds.absent)
    return Region(labels, high, np.where(everything, column.height, wide))
