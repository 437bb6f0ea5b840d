"""Seeded draws in blocks, with which the generators make tables large enough to time engines and algorithms.

Every share is rounded to `RESOLUTION` parts, so that a dependent draw is a lookup in a table. Each whole block of rows
has its own random generator, and the last block is cut: the first rows of a longer table are the rows of a shorter one
with the same seed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import ParameterError

Numbers = np.ndarray[Any, np.dtype[Any]]

BLOCK = 1 << 16
RESOLUTION = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalShares:
    """The probability of each value, given the code of the values on which it depends."""

    table: Numbers

    @classmethod
    def of(cls, weights: Sequence[Any] | Numbers) -> "ConditionalShares":
        """Build from weights: the last axis has the values, the axes before it the conditions."""
        grid = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        flat = grid.reshape(-1, grid.shape[-1])
        bounds = np.cumsum(flat, axis=1) / flat.sum(axis=1, keepdims=True)
        points = (np.arange(RESOLUTION) + 0.5) / RESOLUTION
        rows = [np.searchsorted(bound[:-1], points, side="right") for bound in bounds]
        # the smallest type keeps the table in the processor's cache
        return cls(np.concatenate(rows).astype(np.min_scalar_type(flat.shape[1] - 1)))

    def draw(self, generator: np.random.Generator, given: Numbers | int = 0) -> Numbers:
        """Return one block of codes; `given` is the code of what they depend on, one per row."""
        ticks = generator.integers(0, RESOLUTION, size=BLOCK, dtype=np.uint16)
        return self.table[np.asarray(given, dtype=np.int64) * RESOLUTION + ticks].astype(np.int32)


def happens(generator: np.random.Generator, *, chances: Numbers | float) -> Numbers:
    """Return one block of 0 and 1; `chances` is the probability of 1, one per row or one for all."""
    return (generator.random(BLOCK, dtype=np.float32) < chances).astype(np.int32)


def blocks(rows: int, *, seed: int) -> Iterator[tuple[slice, np.random.Generator]]:
    """Yield the range of each block of rows and the random generator to draw it with; at least one block."""
    check_size(rows, seed=seed)
    for number, start in enumerate(range(0, max(rows, 1), BLOCK)):
        yield slice(start, min(start + BLOCK, rows)), np.random.default_rng((seed, number))


def check_size(rows: int, *, seed: int) -> None:
    """Raise unless a table with this number of rows can be drawn from this seed."""
    for name, value in (("rows", rows), ("seed", seed)):
        if value < 0:
            raise ParameterError(f"`{name}` must be at least 0; got {value}")


def encoded_text(codes: Numbers, labels: Sequence[str]) -> pa.DictionaryArray:
    """Return the labels of codes as a dictionary column; the codes are not copied."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(labels, pa.string()))


def plain_text(codes: Numbers, labels: Sequence[str], *, missing: Numbers | None = None) -> pa.StringArray:
    """Return the labels of codes as a text column, null where `missing` is 1."""
    absent = None if missing is None else missing.astype(np.bool_)
    return pa.array(labels, pa.string()).take(pa.array(codes, pa.int32(), mask=absent))
