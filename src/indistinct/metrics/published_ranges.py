"""Where published numbers, dates and ranges lie on the line of their column, for estimates inside a class."""

from collections.abc import Sequence

import numpy as np

from indistinct.hierarchy.binding import ROOT
from indistinct.machine.arrays import Codes
from indistinct.metrics.queries.published_rows import Ranges
from indistinct.recoding.labels import OR_MISSING, WrittenRange, written_ranges
from indistinct.recoding.read_back_texts import Texts, parse_value, place_on_line
from indistinct.tables.domain import Kind


def ranges_of(shown: Sequence[Texts], kind: Kind, line: Codes) -> Ranges:
    """Return where published ranges lie; open ends are those of the line, and so are both of a star."""
    whole = bool((line == np.floor(line)).all())
    low, high = np.full(len(shown), np.nan), np.full(len(shown), np.nan)
    for place, texts in enumerate(shown):
        ends = written_span(texts, kind)
        if ends is not None:
            start, end, closed = ends
            low[place] = line[0] if start is None else start
            high[place] = line[-1] if end is None else (end if closed or not whole else np.ceil(end) - 1)
    return Ranges(low, high, whole)


def written_span(texts: Texts, kind: Kind) -> tuple[float | None, float | None, bool] | None:
    """Return the ends of a published number, range or star, None for an open one, and whether the last is inside.

    >>> written_span(("[25-30]",), Kind.NUMBER), written_span(("[-24] or missing",), Kind.NUMBER)
    ((25.0, 30.0, True), (None, 24.0, True))
    """
    if texts[0] is None:
        return None
    if len(texts) > 1:
        ways = [WrittenRange(texts[0], texts[1] or "")]
    elif texts[0] == ROOT:
        return None, None, True
    else:
        inside = texts[0].removesuffix(OR_MISSING)
        ways = [WrittenRange(inside, inside), *written_ranges(inside)]
    for way in ways:
        ends = [parse_value(text, kind) for text in way[:2]]
        if all(end is not None or not text for end, text in zip(ends, way[:2], strict=True)):
            if way.first and way.first == way.last and not way.closed:
                continue
            start, end = (None if each is None else place_on_line(each) for each in ends)
            if start is None or end is None or start <= end:
                return start, end, way.closed
    return None
