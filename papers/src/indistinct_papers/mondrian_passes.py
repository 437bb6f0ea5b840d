"""How often rows are read and written where a table is larger than memory: a bound of LeFevre et al. (2006).

The paper partitions such a table level by level: at each level of the tree of cuts it reads the rows at most twice,
once for medians and once to part them, and writes them once. Here rows are counted in place, level after level, and
written by part once, at the end. A source that counts how often it is read says how often that is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.algorithms.partition.by_passes import Judge, Passes, cut_by_passes
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.engines.base import BeyondMemory
from indistinct.engines.passes import KeyPassesHere, Room, RowPasses
from indistinct.frequencies.count import Request
from indistinct.frequencies.passes import KeyRanges, KeyTree, Scale, Segmented, Segments, Survey, Within
from indistinct.hierarchy import Hierarchy
from indistinct.job.parts import Search, count_whole, cut_table, keyed_columns, known_domain, search_parts
from indistinct.models import DistinctLDiversity, KAnonymity, Model
from indistinct.suppression_limit import NO_BUDGET
from indistinct_papers.base import Cell, Claim, Reproduction

K, L, SEED, BATCH = 5, 2, 1, 1 << 13
FITS = 2_000
HEADINGS = (
    *("times memory", "rows", "columns", "model", "levels", "medians", "segments", "reads a level"),
    *("reads", "writes", "paper reads", "paper writes"),
)
NUMBERS, NAMES = "numbers", "numbers and names"
# Which columns are cut, and what is asked for: first the paper's setting, then two of ours.
CASES: tuple[tuple[str, Model], ...] = (
    (NUMBERS, KAnonymity(K)),
    (NAMES, KAnonymity(K)),
    (NUMBERS, DistinctLDiversity("disease", L)),
)
PAPER = (NUMBERS, KAnonymity(K).spec())
SHORT_SOURCE = "LeFevre et al. (2006)"
TREE = Hierarchy.tree({"*": {f"group {g}": [f"name {g}{n}" for n in range(4)] for g in range(4)}})


@dataclass(slots=True)
class CountedRows:
    """A table that is read in batches, and counts how often."""

    table: pa.Table
    reads: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""
        return tuple(self.table.column_names)

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow types of the columns."""
        return self.table.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of some columns, all of them once."""
        self.reads += 1
        for start in range(0, self.table.num_rows, BATCH):
            yield self.table.select(list(columns)).slice(start, BATCH)


@dataclass(frozen=True, slots=True)
class CountedPasses:
    """Passes over rows that are counted by their kind."""

    rows: Passes
    counts: Counter[str] = field(default_factory=Counter)

    def survey(self, tree: KeyTree, scale: Scale) -> Survey:
        """Return the survey of every open part: one for each level."""
        self.counts["surveys"] += 1
        return self.rows.survey(tree, scale)

    def within(self, tree: KeyTree, ranges: KeyRanges) -> Within:
        """Return what lies around medians."""
        self.counts["medians"] += 1
        return self.rows.within(tree, ranges)

    def segments(self, tree: KeyTree, segments: Segments) -> Segmented:
        """Return what a model looks at, of the sides of cuts."""
        self.counts["segments"] += 1
        return self.rows.segments(tree, segments)


def reproduce_mondrian_passes(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Partition tables that are larger than what fits by a factor, and count reads and writes of their rows."""
    rows = list[tuple[Cell, ...]]()
    for index, times in enumerate(sizes):
        rows += [count_passes(times, columns, model) for columns, model in CASES]
        progress((index + 1) / len(sizes))
    return Reproduction(
        title="Reads and writes of a table that is larger than memory",
        source="K. LeFevre, D. DeWitt, R. Ramakrishnan (2006). Mondrian multidimensional k-anonymity. ICDE. A bound in "
        "a sentence; no numbers.",
        data=f"generated: two columns of distinct numbers, for some rows a column of names below a tree; {FITS:,} rows "
        "fit in memory",
        headings=HEADINGS,
        rows=tuple(rows),
        findings=(
            *_describe_others(rows),
            "reads counts everything: one pass that learns the values of columns, one that counts the whole table, the "
            "levels, and the one that writes rows by part, each of which then fits",
        ),
        facts={},
        claims=claims(rows),
        differs=(
            "the paper writes the rows of every part to disk at every level; here parts are conditions on the rows, "
            "which stay where they are, so that a database or a file that is read-only can be the source",
            "a pass answers for all open parts and all columns at once; the paper reads for the column that it cuts",
        ),
    )


def count_passes(times: int, columns: str, model: Model) -> tuple[Cell, ...]:
    """Return a row of the figure: passes of each kind over one table, and reads and writes in all."""
    source = CountedRows(generate_measurements(times * FITS, names=columns == NAMES))
    quasi = tuple(name for name in source.table.column_names if name != "disease")
    hierarchies: Mapping[str, Hierarchy] = {"name": TREE} if columns == NAMES else {}
    request = Request(quasi, model.keys, hierarchies)
    room = Room(FITS, FITS // 4, FITS, source.table.num_rows)
    counts = _count_rounds(RowPasses(source, room), request, hierarchies, model)
    source.reads = 0
    beyond = BeyondMemory(source.table.num_rows, 0, 0, {}, RowPasses(source, room))
    search = Search(Mondrian(), model, hierarchies, NO_BUDGET, lambda _: (), lambda _: None)
    search_parts(cut_table(beyond, request, search))
    levels, passes = counts["surveys"], sum(counts.values())
    # One read learns the values of columns and one counts the whole table; the rest of the reads write as well.
    writes = source.reads - passes - 2
    kinds = (levels, counts["medians"], counts["segments"], round(passes / levels, 2))
    return (times, source.table.num_rows, columns, model.spec(), *kinds, source.reads, writes, 2 * levels, levels)


def _count_rounds(
    table: RowPasses, request: Request, hierarchies: Mapping[str, Hierarchy], model: Model
) -> Counter[str]:
    """Return the passes of each kind that cutting takes: one survey for each round."""
    judged = [name for key in request.keys for name in key]
    known = table.values((*request.quasi, *judged), named=[*judged, *hierarchies])
    domains = {key: known_domain(known[key[0]], request) for key in request.keys}
    columns = keyed_columns([known[name] for name in request.quasi], request, hierarchies)
    rows = KeyPassesHere(tuple(column.keys for column in columns), domains, table.source)
    passes = CountedPasses(rows)
    judge_of = Judge(model, count_whole(rows, domains, request), table.room.cells)
    cut_by_passes(passes, columns, judge_of, counters=Counter())
    return passes.counts


def generate_measurements(rows: int, *, names: bool) -> pa.Table:
    """Return two columns of distinct numbers, perhaps one of names, and a disease."""
    generator = np.random.default_rng([SEED, rows])
    made: dict[str, Any] = {f"x{index + 1}": generator.normal(size=rows) for index in range(2)}
    if names:
        places = generator.integers(0, 16, size=rows)
        made["name"] = [f"name {place // 4}{place % 4}" for place in places]
    made["disease"] = np.array(["flu", "cold", "asthma", "cancer"])[generator.integers(0, 4, size=rows)]
    return pa.table(made)


def claims(rows: Sequence[tuple[Cell, ...]]) -> tuple[Claim, ...]:
    """Return the bound of the paper, for reads and for writes, judged in its setting: numbers, and k-anonymity."""
    ours = [row for row in _name_cells(rows) if (row["columns"], row["model"]) == PAPER]
    rates = [float(row["reads a level"] or 0) for row in ours]
    writes = [int(row["writes"] or 0) for row in ours]
    levels = [int(row["levels"] or 0) for row in ours]
    within = sum(rate <= 2 and own <= level for rate, own, level in zip(rates, writes, levels, strict=True))
    return (
        Claim(
            "a table larger than memory is read at most twice, and written once, for each level of the tree of cuts",
            SHORT_SOURCE,
            within,
            len(ours),
            f"{min(rates):.1f} to {max(rates):.1f} reads a level, and {max(writes)} write in all for {min(levels)} to "
            f"{max(levels)} levels; as stated for {within} of {len(ours)} tables",
            "rows are counted in place and written by part once, when every part fits; a column below a tree or a "
            "model of values, which the paper does not have, are findings of the figure",
            place="Murthy and Srinivas, 2.3.1",
            setting="numbers, k-anonymity, the worst case",
            ours="tables of 2 to 64 times what fits, two columns of distinct numbers",
        ),
    )


def _name_cells(rows: Sequence[tuple[Cell, ...]]) -> list[dict[str, Cell]]:
    return [dict(zip(HEADINGS, row, strict=True)) for row in rows]


def _describe_others(rows: Sequence[tuple[Cell, ...]]) -> Iterator[str]:
    """Yield how often rows are read in settings that the paper does not have."""
    rates: dict[tuple[Cell, Cell], list[float]] = {}
    for row in _name_cells(rows):
        rates.setdefault((row["columns"], row["model"]), []).append(float(row["reads a level"] or 0))
    for (columns, model), own in rates.items():
        if (columns, model) != PAPER:
            yield (
                f"{columns}, {model}: {min(own):.1f} to {max(own):.1f} reads a level, because the sides of a cut are "
                "counted once it is known"
            )
