"""Where published numbers, dates and ranges lie on the line of their column, for estimates inside a class."""

from collections.abc import Sequence

import numpy as np

from indistinct.machine.arrays import Floats
from indistinct.recoding.label_spans import Texts, written_span
from indistinct.tables.domain import Kind
from indistinct.view.value import Ranges


def ranges_of(shown: Sequence[Texts], kind: Kind, line: Floats) -> Ranges:
    """Return published ranges as floats; open ends and stars get the ends of the line."""
    whole = bool((line == np.floor(line)).all())
    low, high = np.full(len(shown), np.nan), np.full(len(shown), np.nan)
    for index, texts in enumerate(shown):
        ends = written_span(texts, kind, moments=not whole)
        if ends is not None:
            start, end, closed = ends
            low[index] = line[0] if start is None else start
            high[index] = line[-1] if end is None else (end if closed or not whole else np.ceil(end) - 1)
    return Ranges(low, high, whole)
