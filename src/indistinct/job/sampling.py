"""A sample as protection: some rows are drawn before anything else, and nobody outside knows who is in.

The operating system draws, whatever seed a job has: a sample that can be drawn again protects nobody.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from indistinct.engines.base import Source
from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.frequencies.encode import group_rows
from indistinct.machine.arrays import Codes
from indistinct.machine.randomness import random_order
from indistinct.models import Model
from indistinct.schema import Schema
from indistinct.tables.value import is_table


def check_share(share: Any) -> float:
    """Return the share of rows that is drawn; raise `ParameterError` unless it is above 0 and at most 1.

    >>> check_share(0.1)
    0.1
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ParameterError(
            "`sample` must be a number above 0 and at most 1",
            parameter="sample",
            problem="must be a number above 0 and at most 1",
            hint="0.1 draws one row in ten",
        )
    return float(share)


def draw_sample(source: Source, share: float, *, schema: Schema, engine: str) -> Source:
    """Return a source with a share of the rows of a table, each set of so many rows being equally likely.

    Where people have several rows, a share of the people is drawn, each with all rows.
    """
    if not is_table(source):
        raise ParameterError(
            f"the engine {engine} cannot draw a sample: rows stay where they lie",
            hint="use engine=memory (--engine memory), or draw by a query of the database",
        )
    people = _people(source, schema)
    size = source.rows if people is None else int(people.max(initial=-1)) + 1
    drawn = np.zeros(size, dtype=bool)
    drawn[random_order(size, None, stream=0)[: _count(share, size)]] = True
    kept = np.flatnonzero(drawn if people is None else drawn[people])
    return replace(source, data=source.data.take(kept), learned={})


def require_enough(sampled: Source, share: float, model: Model) -> None:
    """Raise `InfeasibleError` where a sample has fewer rows than every class, or combination of values, must have."""
    least = model.in_classes().smallest
    if sampled.rows < least:
        raise InfeasibleError(
            f"a sample of {share:g} has {sampled.rows} row(s); {model.spec()} needs at least {least}",
            hint="draw a larger sample, or ask for smaller classes",
            feasible=Feasible({"k": sampled.rows}) if sampled.rows else None,
        )


def _count(share: float, size: int) -> int:
    """Return how many of so many are drawn: the nearest whole number, one half upward."""
    return int(Fraction(str(share)) * size + Fraction(1, 2))


def _people(source: Any, schema: Schema) -> Codes | None:
    """Return the number of the person of every row, None where a row is a person."""
    if not schema.person:
        return None
    codes = []
    for name in schema.person:
        column = source.data[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes.append(column.indices.to_numpy(zero_copy_only=False).astype(np.uint32))
    return group_rows(codes, [int(each.max(initial=0)) + 1 for each in codes]).group_ids()
