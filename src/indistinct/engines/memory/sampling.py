"""A sample of a table in memory: some rows, or some people with all of their rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from indistinct.engines.memory.count import encode_people
from indistinct.frequencies.count import join_columns
from indistinct.machine.randomness import count_drawn, draw_next
from indistinct.tables.value import Table


def draw_table(source: Table, share: float, *, person: Sequence[str]) -> Table:
    """Draw a share of a table's rows, or of the people that the columns `person` identify."""
    people = join_columns(encode_people(source.data, person)) if person else None
    size = source.rows if people is None else len(people.domain)
    drawn = draw_next(size, left=size, wanted=count_drawn(share, size))
    kept = np.flatnonzero(drawn if people is None else drawn[people.codes])
    return replace(source, data=source.data.take(kept))
