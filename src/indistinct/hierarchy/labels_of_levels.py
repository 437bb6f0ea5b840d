"""Which texts are labels of a level, by the hierarchy alone, for published columns without their recoding.

Every kind of hierarchy labels some value with each of its labels. So a text is a label of a level if the value read
from it gets that label on the level; a mask is such a value itself.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from indistinct.errors import HierarchyError
from indistinct.hierarchy.builders import Dates, Masking, Suppression
from indistinct.hierarchy.explicit import Explicit, Order, value_key
from indistinct.hierarchy.intervals import CutPoints, Intervals
from indistinct.hierarchy.taxonomy import ROOT
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Mask
from indistinct.tables.domain import Domain, Kind

# The form of labels of dates on a level.
CALENDAR = {
    "day": r"-?\d{4,}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
    "month": r"-?\d{4,}-(0[1-9]|1[0-2])",
    "quarter": r"-?\d{4,}-Q[1-4]",
    "year": r"-?\d{4,}",
    "decade": r"-?\d{3,}0s",
}
NUMBER = r"-?\d+(?:\.\d+)?"
# The lower end of an interval of integers or of other numbers, or an end with an open side.
INTERVAL = re.compile(
    rf"\[(?P<from>{NUMBER}), {NUMBER}[\])]|(?P<first>-?\d+)(?:-\d+)?|<(?P<below>{NUMBER})|>=(?P<least>{NUMBER})"
)


def are_labels(hierarchy: Hierarchy, texts: Sequence[str], *, level: int) -> Mask | None:
    """Return which texts may be labels of a level of a hierarchy; None where its kind is not supported.

    >>> are_labels(Hierarchy.intervals([5, 10]), ["20-24", "22", "20-29", "*"], level=1).tolist()
    [True, False, False, False]
    """
    match hierarchy:
        case Explicit():
            known = {row[level] for row in hierarchy.rows} if level < len(hierarchy.rows[0]) else set()
            # A reader of a text file may have read labels as numbers, such as 007 as 7.
            numbers = {value_key(label, Kind.NUMBER) for label in known}
            return _mark_texts(lambda text: text in known or value_key(text, Kind.NUMBER) in numbers, texts)
        case Order() | Suppression():
            return _mark_texts(lambda text: level == 1 and text == ROOT, texts)
        case Dates():
            forms = [*(CALENDAR[name] for name in hierarchy.levels), re.escape(ROOT)]
            form = forms[level - 1] if level <= len(forms) else r"(?!)"
            return _mark_texts(lambda text: re.fullmatch(form, text) is not None, texts)
        case Masking():
            return _find_masks(hierarchy, texts, level)
        case Intervals() | CutPoints():
            height = len(hierarchy.widths if isinstance(hierarchy, Intervals) else hierarchy.cuts) + 1
            if level >= height:
                return _mark_texts(lambda text: level == height and text == ROOT, texts)
            return _between(hierarchy, texts, level)
    return None


def _find_masks(hierarchy: Masking, texts: Sequence[str], level: int) -> Mask:
    """Return which texts are masks: one masked character for each level, and at least one other character.

    Without a declared length, the longest text gives it, unless all texts are the root. The empty text is not masked.
    """
    if hierarchy.length is None and set(texts) <= {ROOT}:
        return np.ones(len(texts), dtype=bool)
    longest = hierarchy.length if hierarchy.length is not None else max(map(len, texts))
    known = replace(hierarchy, length=longest)
    if level >= _height(known):
        return _mark_texts(lambda text: level == _height(known) and text == ROOT, texts)
    mask, right = hierarchy.char * level, hierarchy.side == "right"
    return _mark_texts(
        lambda text: (
            not text or (level < len(text) <= longest and (text.endswith(mask) if right else text.startswith(mask)))
        ),
        texts,
    )


def _height(hierarchy: Masking) -> int:
    steps = max((hierarchy.length or 0) - 1, 0)
    return (steps if hierarchy.levels is None else min(hierarchy.levels, steps)) + 1


def _between(hierarchy: Intervals | CutPoints, texts: Sequence[str], level: int) -> Mask:
    """Return which texts are intervals, of integers or of other numbers."""
    matches = [(text, INTERVAL.fullmatch(text)) for text in dict.fromkeys(texts)]
    ends = [(text, match.lastgroup, match[match.lastgroup]) for text, match in matches if match and match.lastgroup]
    whole = [(text, math.ceil(Decimal(end)) - (name == "below")) for text, name, end in ends]
    parted = [(text, _just(float(end), below=name == "below")) for text, name, end in ends]
    marks = np.zeros(len(texts), dtype=bool)
    for pairs, kind in ((whole, pa.int64()), (parted, pa.float64())):
        with suppress(OverflowError, HierarchyError):  # an end beyond all numbers belongs to no interval
            marks |= _same(hierarchy, [text for text, _ in pairs], pa.array([n for _, n in pairs], kind), texts, level)
    return marks


def _just(end: float, *, below: bool) -> float:
    """Return the largest float below an end that is excluded."""
    return math.nextafter(end, -math.inf) if below else end


def _same(hierarchy: Hierarchy, labels: Sequence[str], values: pa.Array, texts: Sequence[str], level: int) -> Mask:
    """Return which texts are among the labels of their own value on a level."""
    taxonomy = hierarchy.bind(Domain("", values))
    names, nodes = taxonomy.labels[level], taxonomy.ancestors[:, level].tolist()
    known = {label for label, node in zip(labels, nodes, strict=True) if names[node] == label}
    return _mark_texts(known.__contains__, texts)


def _mark_texts(test: Callable[[str], bool], texts: Iterable[str]) -> Mask:
    return np.array([test(text) for text in texts], dtype=bool)
