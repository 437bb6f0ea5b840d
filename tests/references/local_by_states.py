"""Local recoding by states, as ARX does it: at each state cells of at least k remaining rows are published."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

from indistinct.hierarchy.taxonomy import Taxonomy

Row = tuple[int, ...]


def recode_by_states(rows: Sequence[Row], taxonomies: Sequence[Taxonomy], *, k: int) -> list[tuple[str, ...] | None]:
    """Return the labels of every row, None for one that no state publishes; states go by their sum of levels."""
    published: list[tuple[str, ...] | None] = [None] * len(rows)
    states = sorted(
        product(*(range(taxonomy.height + 1) for taxonomy in taxonomies)), key=lambda state: (sum(state), state)
    )
    for state in states:
        cells = defaultdict(list)
        for place, row in enumerate(rows):
            if published[place] is None:
                cells[_cell(row, state, taxonomies)].append(place)
        for cell, places in cells.items():
            if len(places) >= k:
                labels = tuple(
                    str(t.labels[level][node]) for t, level, node in zip(taxonomies, state, cell, strict=True)
                )
                for place in places:
                    published[place] = labels
    return published


def _cell(row: Row, state: tuple[int, ...], taxonomies: Sequence[Taxonomy]) -> Row:
    return tuple(int(t.ancestors[code, level]) for t, code, level in zip(taxonomies, row, state, strict=True))
