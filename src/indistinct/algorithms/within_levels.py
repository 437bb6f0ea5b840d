"""Searches within level bounds: each column is published between its minimum and maximum generalization.

The minimum level is applied before the search: values that it does not distinguish are united, and cells with equal
values are merged. The levels above the maximum are removed from the hierarchy, so that its top may have several nodes.
A search over levels handles these itself. Any other search runs separately on the cells below each combination of top
nodes, and the results are joined; a part that breaks the model as a whole is suppressed, within the limit. The recoding
is then translated back to the table's values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.algorithms.base import Algorithm, Problem
from indistinct.algorithms.full_domain.nodes import FullDomain
from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.figures import share_above
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.value import FrequencySet, Joint
from indistinct.hierarchy.builders import Suppression
from indistinct.hierarchy.taxonomy import ROOT, Taxonomy
from indistinct.machine.arrays import Codes, run_starts
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import LevelBounds, QuasiColumn
from indistinct.recoding.kinds import ByCell, ByColumn, ByRegion, ByRow, Cuts, RecodedColumn, Recoding
from indistinct.recoding.outputs import PublishedColumn
from indistinct.recoding.summary import ColumnSummary
from indistinct.tables.domain import Domain


def bounded_problem(problem: Problem, levels: LevelBounds) -> Problem:
    """Return the problem with level bounds, whose bounded columns are published through their hierarchies."""
    return replace(problem, columns=bounded_columns(problem.columns, levels), levels=levels)


def bounded_columns(columns: Sequence[QuasiColumn], levels: LevelBounds) -> tuple[QuasiColumn, ...]:
    """Return the columns with those that have bounds published through their hierarchies.

    Raises where a bound is above the top of the hierarchy; a column without one has two levels, its values and the
    star.
    """
    through = tuple(
        QuasiColumn(column.domain, _taxonomy_of(column), tree=True) if column.name in levels.columns else column
        for column in columns
    )
    levels.check({column.name: column.height for column in through})
    return through


def find_within(algorithm: Algorithm, problem: Problem) -> Recoding:
    """Return the algorithm's result within the level bounds of a problem, if it has any.

    Raises `InfeasibleError` that names the bounds, and sufficient ones, where the bounds cannot be satisfied.
    """
    if not problem.levels:
        return algorithm.find(problem)
    coarse = _Coarse.of(problem)
    try:
        recoding = find_in_parts(algorithm, replace(coarse.problem, lifting=coarse))
    except InfeasibleError as error:
        raise _name_bounds(error, problem) from None
    return coarse.lift(recoding)


def find_in_parts(algorithm: Algorithm, problem: Problem) -> Recoding:
    """Run an algorithm below each combination of top nodes of cut-off hierarchies, and return the joined results."""
    traits = algorithm.traits
    if not problem.forest or algorithm.chooses or traits.column_sets or (traits.hierarchies and not traits.local):
        return algorithm.find(problem)
    if not traits.local:
        raise ParameterError(
            f"{algorithm.name} cannot keep to the most level of {', '.join(sorted(problem.forest))}: it cuts columns "
            "as wholes",
            hint="use optimal, datafly, mondrian or kaca, or leave the most level out",
        )
    parts, cells = _parts_of(problem), problem.frequencies
    whole = cells.classes.regroup(parts, int(parts.max(initial=-1)) + 1)
    hopeless = problem.model.violations(whole) if problem.model.traits.monotone else np.zeros(len(whole), dtype=bool)
    lost = whole.members_of(hopeless)
    if lost > problem.suppression or hopeless.all():
        raise InfeasibleError(
            f"{problem.model.spec()} cannot hold: {lost:,} {problem.unit} are below {int(hopeless.sum()):,} "
            f"combinations of the coarsest labels that are too small, and {problem.suppression:,} may be suppressed",
            hint="allow more suppression, or coarser labels",
            feasible=Feasible(share=share_above(lost, cells.members)),
        )
    left, recodings = problem.suppression - lost, []
    rooted = tuple(_with_root(column) if column.name in problem.forest else column for column in problem.columns)
    for part in np.flatnonzero(~hopeless).tolist():
        mine = np.flatnonzero(parts == part)
        budget = left * int(whole.members[part]) // max(cells.members, 1)
        some = replace(problem, frequencies=_take(cells, mine), columns=rooted, suppression=budget, with_absent=None)
        alone = replace(some, forest=frozenset(), lifting=None)
        recodings.append((mine, _below_tops(algorithm.find(alone), some, problem)))
    return _unite(cells, problem.columns, recodings)


def _parts_of(problem: Problem) -> Codes:
    """Return, for each cell, the number of its combination of top nodes."""
    cells = problem.frequencies
    tops = [
        column.taxonomy.ancestors[cells.vectors[:, j], -1]
        for j, column in enumerate(problem.columns)
        if column.name in problem.forest and column.taxonomy is not None
    ]
    return group_rows(tops, [int(top.max(initial=0)) + 1 for top in tops]).group_ids().astype(np.int32)


def _below_tops(recoding: Recoding, part: Problem, problem: Problem) -> Recoding:
    """Return the recoding of a part with its top node in place of the root, in a tree without cuts."""
    columns, vector = list(recoding.columns), part.frequencies.vectors[0]
    for j, column in enumerate(problem.columns):
        taxonomy = _taxonomy_of(column)
        published = columns[j].summary.published
        high = published.levels > taxonomy.height
        if column.name in problem.forest and high.any():
            node = int(taxonomy.ancestors[vector[j], -1])
            label, outputs = pa.scalar(taxonomy.labels[-1][node], pa.string()), published.outputs
            texts = [(name, pc.if_else(pa.array(high), label, values.cast(pa.string()))) for name, values in outputs]
            inside = np.flatnonzero(taxonomy.ancestors[column.by_rank, -1] == node)
            summary = replace(
                columns[j].summary,
                published=replace(
                    published,
                    outputs=tuple(texts),
                    levels=np.minimum(published.levels, taxonomy.height),
                    leaves=np.where(high, taxonomy.leaves[-1][node], published.leaves),
                ),
                low=np.where(high, inside[0], columns[j].summary.low).astype(np.int32),
                high=np.where(high, inside[-1], columns[j].summary.high).astype(np.int32),
            )
            columns[j] = replace(columns[j], summary=summary)
    return replace(recoding, columns=tuple(columns))


def _with_root(column: QuasiColumn) -> QuasiColumn:
    """Return a column with a root above its top nodes, which no class below a single top node reaches."""
    taxonomy = _taxonomy_of(column)
    ancestors = np.append(taxonomy.ancestors, np.zeros((len(taxonomy.ancestors), 1), dtype=np.int32), axis=1)
    leaves = (*taxonomy.leaves, taxonomy.leaves[-1].sum(keepdims=True))
    return replace(column, taxonomy=Taxonomy(column.name, ancestors, (*taxonomy.labels, (ROOT,)), leaves))


def _take(cells: FrequencySet, some: Codes) -> FrequencySet:
    """Return the selected cells."""
    joint = cells.joint
    inner = None if joint is None else Joint(joint.histogram.take(some), joint.codes)
    return FrequencySet(cells.names, cells.vectors[some], cells.classes.take(some), inner)


def _unite(cells: FrequencySet, columns: Sequence[QuasiColumn], found: Sequence[tuple[Codes, Recoding]]) -> Recoding:
    """Return one recoding that applies to every cell the recoding of its part; cells of no part are suppressed."""
    united = [_join_summaries([recoding.columns[j].summary for _, recoding in found]) for j in range(len(columns))]
    recoded = tuple(
        replace(found[0][1].columns[j], domain=column.domain, summary=united[j][0]) for j, column in enumerate(columns)
    )
    values, pieces, first = [], [], 0
    for number, (mine, recoding) in enumerate(found):
        made = assign(_take(cells, mine), recoding)
        offsets = np.array([starts[number] for _, starts in united], dtype=np.int32)
        values.append(made.values + offsets)
        joint = np.full(len(made.cells), -1) if made.joint is None else made.joint
        pieces.append((mine[made.cells], np.where(made.class_ids < 0, -1, made.class_ids + first), made.counts, joint))
        first += len(made.values)
    every = np.concatenate(values).astype(np.int32)
    for j, (summary, _) in enumerate(united):  # equal labels are the same published value, whichever part has them
        texts = list(zip(*(array.cast(pa.string()).to_pylist() for _, array in summary.published.outputs), strict=True))
        first_of: dict[tuple[str | None, ...], int] = {}
        same = np.array([first_of.setdefault(text, code) for code, text in enumerate(texts)], dtype=np.int32)
        every[:, j] = same[every[:, j]]
    owners, class_ids, counts, joint = (np.concatenate(each) for each in zip(*pieces, strict=True))
    if all(recoding.reusable for _, recoding in found):
        classes = np.full(len(cells), -1, dtype=np.int32)
        classes[owners] = class_ids
        return ByCell(recoded, np.ascontiguousarray(cells.vectors), classes, every)
    rest = np.setdiff1d(np.arange(len(cells)), owners)
    if len(rest):
        inner = None if cells.joint is None else cells.joint.histogram.take(rest)
        there = rest if inner is None else np.repeat(rest, np.diff(inner.indptr))
        owners = np.concatenate([owners, there])
        class_ids = np.concatenate([class_ids, np.full(len(there), -1)])
        counts = np.concatenate([counts, cells.counts[rest] if inner is None else inner.counts])
        joint = np.concatenate([joint, np.full(len(there), -1) if inner is None else inner.codes])
    order = np.argsort(owners, kind="stable")
    codes = None if (joint < 0).all() else joint[order].astype(np.int32)
    parts = (owners[order].astype(np.int32), codes, class_ids[order].astype(np.int32), counts[order])
    return ByRow(recoded, np.ascontiguousarray(cells.vectors), *parts, every)


def _join_summaries(summaries: Sequence[ColumnSummary]) -> tuple[ColumnSummary, list[int]]:
    """Return the published values of all parts of a column concatenated, and where those of each part begin."""
    starts = np.cumsum([0, *(len(each.published) for each in summaries)]).tolist()
    published = [each.published for each in summaries]
    arrays = [dict(each.outputs) for each in published]
    outputs = tuple((name, _concatenate([each[name] for each in arrays])) for name in arrays[0])
    kinds = ("low", "high", "leaves", "levels")
    parts: dict[str, Any] = {part: np.concatenate([getattr(each, part) for each in published]) for part in kinds}
    joined = replace(published[0], outputs=outputs, **parts)
    ends: dict[str, Any] = {
        part: np.concatenate([getattr(each, part) for each in summaries]) for part in ("low", "high", "absent")
    }
    members = None
    if any(each.members is not None for each in summaries):
        sets = [each.members or _as_sets(each) for each in summaries]
        sizes = np.concatenate([np.diff(indptr) for indptr, _ in sets])
        members = (np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([kept for _, kept in sets]))
    return replace(summaries[0], published=joined, members=members, **ends), starts


def _as_sets(summary: ColumnSummary) -> tuple[Codes, Codes]:
    """Return the ranks of each published range as compressed sparse rows."""
    sizes = summary.high - summary.low + 1
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return starts, np.arange(starts[-1]) - np.repeat(starts[:-1] - summary.low, sizes)


def _concatenate(arrays: Sequence[pa.Array]) -> pa.Array:
    """Return the concatenated arrays, converted to text if their types differ."""
    alike = len({array.type for array in arrays}) == 1
    return pa.concat_arrays([array if alike else array.cast(pa.string()) for array in arrays])


@dataclass(frozen=True, slots=True, eq=False)
class ColumnWithin:
    """A column between two levels of its hierarchy: `coarse` for the search, `original` for the table.

    `codes` is the coarse value of each value, and `least` the level of the coarse values. Without bounds, both columns
    are the same.
    """

    original: QuasiColumn
    coarse: QuasiColumn
    codes: Codes
    least: int
    bounded: bool

    @classmethod
    def of(cls, column: QuasiColumn, levels: LevelBounds) -> "ColumnWithin":
        """Return a column within its bounds."""
        coarse, codes = _column_within(column, levels.of(column.name, column.height))
        return cls(column, coarse, codes, levels.least(column.name), column.name in levels.columns)

    @property
    def cut_off(self) -> bool:
        """Whether the hierarchy was cut off below its root, so that it has several top nodes."""
        return self.bounded and self.coarse.taxonomy is not None and not self.coarse.taxonomy.rooted

    @property
    def rooted(self) -> QuasiColumn:
        """The coarse column with a root above its top nodes, which no class below a single top node reaches."""
        return _with_root(self.coarse) if self.cut_off else self.coarse

    def ranks(self) -> tuple[Codes, Codes]:
        """Return the first and the last rank of the values that each coarse value covers."""
        by_rank = self.codes[self.original.by_rank]
        numbers = np.arange(int(by_rank.max(initial=-1)) + 1)
        first, last = (np.searchsorted(by_rank, numbers, side=side) for side in ("left", "right"))
        return first.astype(np.int32), (last - 1).astype(np.int32)

    def lift(self, recoded: RecodedColumn) -> RecodedColumn:
        """Return a column of a recoding expressed in the table's values and measured by its whole hierarchy."""
        if not self.bounded:
            return recoded
        column, own = self.original, recoded.summary.published
        if not self.least:
            levels: PublishedColumn = replace(own, size=column.size, height=column.height)
            return replace(recoded, summary=replace(recoded.summary, published=levels))
        first, last = self.ranks()
        low, high = first[recoded.summary.low], last[recoded.summary.high]
        ends = (column.positions[column.by_rank[low]], column.positions[column.by_rank[high]])
        whole: tuple[Any, ...] = (column.span, column.size, column.height, False)
        published = PublishedColumn(column.name, own.outputs, *ends, own.leaves, own.levels + self.least, *whole)
        members = recoded.summary.members
        if members is not None:
            members = _expand_sets(*members, first, last)
        summary = replace(recoded.summary, published=published, low=low, high=high, members=members)
        return replace(recoded, domain=column.domain, ranks=column.ranks, summary=summary)


def lift_cuts(cuts: Cuts, columns: Mapping[int, ColumnWithin]) -> Cuts:
    """Return cuts between coarse values as cuts between the values that these are made of.

    A cut lies between the last value of one coarse value and the first of the next. `columns` are those that may have
    bounds, by their axes.
    """
    cut, sets = cuts.cut.copy(), [] if cuts.members is None else np.split(cuts.members[1], cuts.members[0][1:-1])
    for j, column in columns.items():
        if column.least:
            first, last = column.ranks()
            here = cuts.axis == j
            cut[here & (cut >= 0)] = last[cut[here & (cut >= 0)]]
            for number in (-1 - cut[here & (cut < 0)]).tolist():
                sets[number] = _expand_sets(np.array([0, len(sets[number])]), sets[number], first, last)[1]
    members = cuts.members
    if members is not None:
        members = (np.concatenate([[0], np.cumsum([len(each) for each in sets])]), np.concatenate(sets))
    return replace(cuts, cut=cut, members=members)


@dataclass(frozen=True, slots=True, eq=False)
class _Coarse:
    """A problem on its minimum levels; `ids` is the coarse cell of each cell of the original problem."""

    original: Problem
    problem: Problem
    columns: tuple[ColumnWithin, ...]
    ids: Codes

    @classmethod
    def of(cls, problem: Problem) -> "_Coarse":
        """Return a problem within its level bounds."""
        columns = tuple(ColumnWithin.of(column, problem.levels) for column in problem.columns)
        codes = tuple(column.codes for column in columns)
        cells, ids = _merge_cells(problem.frequencies, codes)
        everywhere = None if problem.with_absent is None else _merge_cells(problem.with_absent, codes)[0]
        bare = replace(
            problem,
            frequencies=cells,
            columns=tuple(column.coarse for column in columns),
            with_absent=everywhere,
            forest=frozenset(column.coarse.name for column in columns if column.cut_off),
        )
        return cls(problem, bare, columns, ids)

    def lift(self, recoding: Recoding) -> Recoding:
        """Return a recoding of coarse values expressed in the table's values."""
        columns = tuple(column.lift(coarse) for column, coarse in zip(self.columns, recoding.columns, strict=True))
        cells = self.original.frequencies
        match recoding:
            case ByColumn():
                levels = None
                if recoding.levels is not None:
                    least = self.original.levels.least
                    levels = {name: level + least(name) for name, level in recoding.levels.items()}
                groups = tuple(group[own.codes] for group, own in zip(recoding.groups, self.columns, strict=True))
                return replace(recoding, columns=columns, groups=groups, levels=levels)
            case ByRegion():
                return replace(recoding, columns=columns, cuts=lift_cuts(recoding.cuts, dict(enumerate(self.columns))))
            case ByCell():
                class_ids = _class_of_each(recoding, self.problem.frequencies)[self.ids]
                return replace(recoding, columns=columns, vectors=cells.vectors, class_ids=class_ids)
            case ByRow():
                return replace(recoding, columns=columns, vectors=cells.vectors, **self._lift_pieces(recoding))
            case _:
                raise AssertionError("buckets have no levels")

    def lift_column(self, j: int, column: RecodedColumn) -> RecodedColumn:
        """Return a column of a recoding expressed in the table's values and measured by its whole hierarchy."""
        return self.columns[j].lift(column)

    def _lift_pieces(self, recoding: ByRow) -> dict[str, Any]:
        """Return the pieces of coarse cells as pieces of the original cells, in the order of their rows."""
        cells, joint = self.original.frequencies, recoding.joint
        inner = None if joint is None or cells.joint is None else cells.joint.histogram
        owners = np.arange(len(cells)) if inner is None else inner.owners()
        counts = cells.counts if inner is None else inner.counts
        kinds = np.zeros(len(owners), dtype=np.int64) if inner is None else inner.codes.astype(np.int64)
        own = np.zeros(len(recoding.cells), dtype=np.int64) if joint is None else joint.astype(np.int64)
        width = int(max(kinds.max(initial=0), own.max(initial=0))) + 1
        theirs = np.argsort(self.ids[owners] * width + kinds, kind="stable")
        mine = np.argsort(recoding.cells * np.int64(width) + own, kind="stable")
        # Both orders cover the same rows: wherever a piece or a cell ends, a new piece begins.
        ends = np.union1d(np.cumsum(counts[theirs]), np.cumsum(recoding.counts[mine]))
        from_cell = theirs[np.searchsorted(np.cumsum(counts[theirs]), ends)]
        from_piece = mine[np.searchsorted(np.cumsum(recoding.counts[mine]), ends)]
        order = np.argsort(owners[from_cell], kind="stable")
        return {
            "cells": owners[from_cell][order].astype(np.int32),
            "joint": None if joint is None else joint[from_piece][order],
            "class_ids": recoding.class_ids[from_piece][order],
            "counts": np.diff(ends, prepend=0)[order],
        }


def _column_within(column: QuasiColumn, bounds: tuple[int, int]) -> tuple[QuasiColumn, Codes]:
    """Return a column between two levels of its hierarchy, and the coarse value of each of its values."""
    least, most = bounds
    same = np.arange(len(column.domain), dtype=np.int32)
    if bounds == (0, column.height):
        return column, same
    taxonomy = _taxonomy_of(column)
    if not least:
        upper = Taxonomy(
            taxonomy.column, taxonomy.ancestors[:, : most + 1], taxonomy.labels[: most + 1], taxonomy.leaves[: most + 1]
        )
        return QuasiColumn(column.domain, upper, tree=True), same
    ancestors = taxonomy.ancestors[column.by_rank]
    coarse = np.cumsum(np.diff(ancestors[:, least], prepend=ancestors[:1, least]) != 0)
    firsts = np.searchsorted(coarse, np.arange(coarse[-1] + 1 if len(coarse) else 0))
    nodes, labels, leaves = [], [], []
    for level in range(least, most + 1):
        own = ancestors[firsts, level]
        begins = run_starts(own)[:-1]
        nodes.append(np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(own)))))
        labels.append(tuple(taxonomy.labels[level][node] for node in own[begins].tolist()))
        leaves.append(taxonomy.leaves[level][own[begins]])
    missing = bool(labels[0]) and labels[0][0] is None
    domain = Domain(column.name, pa.array(labels[0][int(missing) :], pa.string()), missing)
    trimmed = Taxonomy(column.name, np.stack(nodes, axis=1).astype(np.int32), tuple(labels), tuple(leaves))
    return QuasiColumn(domain, trimmed, tree=True), coarse[column.ranks].astype(np.int32)


def _taxonomy_of(column: QuasiColumn) -> Taxonomy:
    return column.taxonomy or Suppression().bind(column.domain)


def _expand_sets(indptr: Codes, members: Codes, first: Codes, last: Codes) -> tuple[Codes, Codes]:
    """Return sets of coarse values as sets of the values that these are made of."""
    sizes = last[members] - first[members] + 1
    ends = np.concatenate([[0], np.cumsum(sizes)])
    kept = np.arange(ends[-1]) - np.repeat(ends[:-1] - first[members], sizes)
    return ends[indptr], kept.astype(members.dtype)


def _merge_cells(cells: FrequencySet, codes: Sequence[Codes]) -> tuple[FrequencySet, Codes]:
    """Return the cells of coarse values, and the coarse cell of each cell."""
    columns = [own[cells.vectors[:, j]] for j, own in enumerate(codes)]
    grouping = group_rows(columns, [int(own.max(initial=0)) + 1 for own in codes])
    ids = grouping.group_ids().astype(np.int32)
    vectors = np.stack([column[grouping.first] for column in columns], axis=1).astype(np.int32)
    joint = cells.joint
    inner = None if joint is None else Joint(joint.histogram.regroup(ids, len(grouping)), joint.codes)
    return FrequencySet(cells.names, vectors, cells.classes.regroup(ids, len(grouping)), inner), ids


def _class_of_each(recoding: ByCell, cells: FrequencySet) -> Codes:
    """Return the class that a recoding gives to each cell."""
    if np.array_equal(recoding.vectors, cells.vectors):
        return recoding.class_ids
    both = [np.concatenate([recoding.vectors[:, j], cells.vectors[:, j]]) for j in range(cells.vectors.shape[1])]
    ids = group_rows(both, [int(column.max(initial=0)) + 1 for column in both]).group_ids()
    class_of = np.full(int(ids.max(initial=-1)) + 1, -1, dtype=np.int32)
    class_of[ids[: len(recoding.vectors)]] = recoding.class_ids
    return class_of[ids[len(recoding.vectors) :]]


def _name_bounds(error: InfeasibleError, problem: Problem) -> InfeasibleError:
    """Return a search's error extended by the level bounds and, if there is one, by a maximum that would suffice."""
    levels = problem.levels
    heights = {column.name: column.height for column in problem.columns}
    tight = [name for name in levels.columns if levels.of(name, heights[name])[1] < heights[name]]
    if not tight:
        return error
    enough = [least for name in tight if (least := _enough(problem, name, heights[name])) is not None]
    if enough:
        advice = " or ".join(f"{name} up to level {level}" for name, level in enough)
    elif _holds_at_top(replace(problem, levels=LevelBounds())):
        advice = f"no most level for {', '.join(tight)}"
    else:
        return error
    return InfeasibleError(
        f"within the levels {levels}: {error.message}",
        hint=f"allow {advice}; {error.hint}",
        **{**error.details, "levels": str(levels)},
    )


def _enough(problem: Problem, name: str, height: int) -> tuple[str, int] | None:
    """Return the finest maximum level of one column with which the model can hold, as (name, level).

    None if there is none.
    """
    low, high = problem.levels.of(name, height)
    for level in range(high + 1, height + 1):
        if _holds_at_top(replace(problem, levels=problem.levels.with_bounds(name, (low, level)))):
            return name, level
    return None


def _holds_at_top(problem: Problem) -> bool:
    """Return whether the model holds within the suppression limit with every column at its maximum level."""
    space = FullDomain(_Coarse.of(problem).problem)
    top = space.cells.roll_up(space.cells.base, space.lattice.top)
    return space.suppressed_rows(top) <= space.allowed
