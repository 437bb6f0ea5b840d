"""What the levels of a hierarchy mean, in words: no value of the table is quoted, raw or recoded."""

from indistinct.hierarchy.builders import Dates, Masking
from indistinct.hierarchy.intervals import CutPoints, Intervals
from indistinct.hierarchy.taxonomy import Taxonomy
from indistinct.hierarchy.value import Hierarchy


def level_meanings(taxonomy: Taxonomy, hierarchy: Hierarchy | None = None) -> tuple[str, ...]:
    """Return what each level of a column publishes: by its declaration where that has words, and how many values.

    >>> from indistinct.tables.domain import Domain
    >>> import pyarrow as pa
    >>> ages = Hierarchy.intervals([5, 10])
    >>> level_meanings(ages.bind(Domain("age", pa.array([21, 22, 38, 40]))), ages)
    ('as it is (4 values)', 'width 5 (3)', 'width 10 (3)', 'one value')
    """
    meanings = []
    for level, labels in enumerate(taxonomy.labels):
        if level and level == taxonomy.height and len(labels) == 1:
            meanings.append("one value")
        elif level == 0:
            meanings.append(f"as it is ({_values(len(labels))})")
        else:
            words = _words(hierarchy, level)
            meanings.append(f"{words} ({len(labels):,})" if words else f"{_values(len(labels))}")
    return tuple(meanings)


def _words(hierarchy: Hierarchy | None, level: int) -> str:
    """Return the words of a declaration for a level between raw and top."""
    match hierarchy:
        case Intervals():
            return f"width {hierarchy.widths[level - 1]:g}"
        case CutPoints():
            return f"{len(hierarchy.cuts[level - 1])} cuts"
        case Dates():
            return hierarchy.levels[level - 1]
        case Masking():
            return f"{level} character{'s' if level > 1 else ''} masked"
        case _:
            return ""


def _values(count: int) -> str:
    return f"{count:,} value{'' if count == 1 else 's'}"
