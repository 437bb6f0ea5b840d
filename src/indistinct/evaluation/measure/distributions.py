"""What a release keeps of distributions: every column and every two of them, before and after.

A published label is spread evenly over the values that it covers. Inside a bucket, values of different slices are
taken for independent. Suppressed rows are not there: shares are of published rows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from indistinct.as_json import AsJson
from indistinct.document.blocks import ABSENT, Cell, Document, Grid, JsonValues, Paragraph, document, grid
from indistinct.document.result import Result
from indistinct.drawing.charts import Chart, altair, draw
from indistinct.figures import plural, short
from indistinct.frequencies.encode import Encoded, group_rows
from indistinct.frequencies.slices import Slice
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.machine.stages import Progress
from indistinct.metrics.distributions import (
    correlation_of,
    cramers_v,
    hellinger,
    kullback_leibler,
    middle_ranks,
    total_variation,
    wasserstein,
)
from indistinct.tables.domain import Domain
from indistinct.view.cover import Cover
from indistinct.view.value import View, unmodified

if TYPE_CHECKING:
    import altair as alt


GROUPS = 100
"""Groups by which pairs are compared in a column with more values."""
# Entries to multiply at a time.
BLOCK = 1 << 14
# Most pairs of published values to count in a table; more are sorted.
COUNTED_DIRECTLY = 1 << 22

BeforeAfter = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class ColumnDistance(AsJson):
    """How far the distribution of a column is from that of the original.

    `wasserstein` is in the unit of the column (days of dates, ranks of a declared order), and `wasserstein_share` in
    its span; both are None for columns without an order. Kullback-Leibler is in bits, smoothed by half a row a value.
    """

    column: str
    total_variation: float
    hellinger: float
    kullback_leibler: float
    wasserstein: float | None
    wasserstein_share: float | None


@dataclass(frozen=True, slots=True)
class PairDistance:
    """How far the joint distribution of two columns is from that of the original, and how they depend on each other.

    Each measure of dependence is a pair, before and after; Pearson's and Spearman's correlations are None unless
    both columns have an order. `together` says that the release shows both in one row, and not in slices apart.
    """

    columns: tuple[str, str]
    together: bool
    total_variation: float
    hellinger: float
    cramers_v: BeforeAfter
    pearson: BeforeAfter | None
    spearman: BeforeAfter | None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; figures before and after are mappings."""
        twice = ("cramers_v", "pearson", "spearman")
        distances = {name: getattr(self, name) for name in ("together", "total_variation", "hellinger")}
        associations = {name: getattr(self, name) for name in twice}
        return {
            "columns": list(self.columns),
            **distances,
            **{
                name: None if each is None else {"before": each[0], "after": each[1]}
                for name, each in associations.items()
            },
        }


@dataclass(frozen=True, slots=True, repr=False)
class Distributions(Result):
    """The distances of all columns and of all pairs of them; `rows` are the original's, `published_rows` are left."""

    in_json: ClassVar[str] = "rows published_rows columns pairs"
    columns: tuple[ColumnDistance, ...]
    pairs: tuple[PairDistance, ...]
    rows: int
    published_rows: int

    def document(self) -> Document:
        """Return a line for each column, and for each pair, the furthest from the original first."""
        compared = f"{plural(len(self.columns), 'column')} and {plural(len(self.pairs), 'pair')}"
        worst = max((each.total_variation for each in self.columns), default=0.0)
        title = f"Distributions of {compared}: total variation of a column at most {short(worst)}"
        kept = f"{self.published_rows:,} of {plural(self.rows, 'row')} are published."
        values = JsonValues("distributions", self.to_json())
        return document(title, Paragraph(kept), distance_grid(values), *pair_grids(values))

    def chart(self) -> Chart:
        """Return two heat maps: distances, and dependence before and after; needs the extra `report`."""
        return Chart(draw_distributions(self, title="Distances from the original"))


def distance_grid(values: JsonValues) -> Grid:
    """Return the table of distances from the original by column."""
    keys = ("total_variation", "hellinger", "kullback_leibler", "wasserstein", "wasserstein_share")
    headings = ("total variation", "Hellinger", "Kullback-Leibler, bits", "Wasserstein", "of the span")
    rows = [
        (each["column"], *(values.figure("columns", index, key) for key in keys))
        for index, each in enumerate(values.at("columns"))
    ]
    caption = "Distances of distributions from the original"
    return grid(caption, ("column", *headings), rows, right=headings, most=len(rows))


def pair_grids(values: JsonValues) -> list[Grid]:
    """Return the tables of distances of pairs of columns, and of their dependence before and after."""
    pairs = values.at("pairs")
    if not pairs:
        return []
    order = sorted(range(len(pairs)), key=lambda index: -pairs[index]["total_variation"])
    rows: list[tuple[Cell, ...]] = [
        (
            *pairs[index]["columns"],
            values.figure("pairs", index, "total_variation"),
            *(values.figure("pairs", index, key, words=_before_after) for key in ("cramers_v", "spearman")),
        )
        for index in order
    ]
    headings = ("column", "with", "total variation", "Cramér's V", "Spearman")
    return [grid("Pairs of columns, the furthest from the original first", headings, rows, right=headings[2:])]


def _before_after(both: Mapping[str, float | None]) -> str:
    """Return a measure of dependence before and after, such as 0.58 → 0.28."""
    return " → ".join(ABSENT if both[side] is None else f"{both[side]:.2f}" for side in ("before", "after"))


def compare_distributions(
    original: Mapping[str, Encoded], view: View, *, progress: Progress | None = None
) -> Distributions:
    """Compare a release with its original in every column and every pair of columns."""
    before, domains = unmodified(original).joined(), {name: column.domain for name, column in original.items()}
    view = view.joined()
    shares = {name: (marginal(before, name, len(d)), marginal(view, name, len(d))) for name, d in domains.items()}
    columns = tuple(_column(domain, *shares[name], rows=before.rows) for name, domain in domains.items())
    views = {}
    for name, domain in domains.items():
        was, now = shares[name]
        views[name] = _view(domain, was, was, shown=before), _view(domain, was, now, shown=view)
    names, pairs = list(combinations(domains, 2)), []
    for done, (one, other) in enumerate(names):
        pairs.append(_pair(views[one], views[other], before, view))
        if progress is not None:
            progress((done + 1) / len(names))
    return Distributions(columns, tuple(pairs), before.rows, view.rows)


def marginal(view: View, name: str, size: int) -> Floats:
    """Return the share of each of a column's `size` values, labels spread evenly over what they cover."""
    home, cover = view.home(name), view.columns[name].cover
    rows, lengths = np.bincount(home.codes[name], weights=home.counts, minlength=len(cover)), cover.lengths
    each = np.divide(rows, lengths, where=lengths > 0, out=np.zeros(len(rows)))
    return cover.spread(each, size) / view.rows


def _column(domain: Domain, before: Floats, after: Floats, *, rows: int) -> ColumnDistance:
    """Compute the distances of one column."""
    moved = share = None
    if domain.ordered and len(domain.values):
        # What is missing has no place on the line.
        kept = [shares[int(domain.missing) :] for shares in (before, after)]
        if all(each.sum() > 0 for each in kept):
            line = domain.positions()[int(domain.missing) :]
            moved = wasserstein(*(each / each.sum() for each in kept), positions=line)
            span = float(line[-1] - line[0])
            share = moved / span if span else 0.0
    return ColumnDistance(
        domain.column,
        total_variation(before, after),
        hellinger(before, after),
        kullback_leibler(before, after, rows=rows),
        moved,
        share,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """A column as pairs look at it: what each published value is on average, in groups of values and on two lines.

    On a line there are three numbers a value: the share that is not missing, and the first two moments of that.
    """

    name: str
    ordered: bool
    groups: "_Averages"
    line: "_Averages"
    ranks: "_Averages"


@dataclass(frozen=True, slots=True, eq=False)
class _Averages:
    """Some numbers a published value; of values that are in one of `width` groups each, `codes` say in which."""

    width: int
    table: Codes | None = None
    codes: Codes | None = None

    def of(self, values: Codes) -> Floats:
        """Return the numbers of some published values, a row each."""
        if self.table is not None:
            return np.asarray(self.table[values])
        assert self.codes is not None  # noqa: S101  (one of both is there)
        averages = np.zeros((len(values), self.width))
        averages[np.arange(len(values)), self.codes[values]] = 1
        return averages


def _view(domain: Domain, original: Floats, own: Floats, *, shown: View) -> _View:
    """Return the moments of a column whose values have the shares `original` before and `own` where it is published."""
    cover, missing = shown.columns[domain.column].cover, int(domain.missing)
    present = np.ones(len(original))
    present[:missing] = 0
    positions = domain.positions() if domain.ordered and len(domain.values) else np.zeros(len(original))
    ranks = np.concatenate([np.zeros(missing), middle_ranks(own[missing:])])
    # Moments about the middle: those of years around 2000 would lose digits.
    line, ordered_by = (
        _averages(cover, [present, present * x, present * x * x])
        for x in (positions - float(original @ positions), ranks - 0.5)
    )
    return _View(domain.column, domain.ordered, _in_groups(cover, _group_values(domain, original)), line, ordered_by)


def _group_values(domain: Domain, shares: Floats) -> Codes:
    """Return the group of each value: itself where there are few, else those with close ranks, or rare ones."""
    if len(shares) <= GROUPS:
        return np.arange(len(shares))
    if domain.ordered:
        return np.minimum((middle_ranks(shares) * GROUPS).astype(np.int64), GROUPS - 1)
    groups = np.full(len(shares), GROUPS - 1)
    groups[np.argsort(-shares, kind="stable")[: GROUPS - 1]] = np.arange(GROUPS - 1)
    return groups


def _in_groups(cover: Cover, groups: Codes) -> _Averages:
    """Return which part of each published value is in each group of values."""
    width = int(groups.max(initial=0)) + 1
    if cover.exact:
        return _Averages(width, codes=groups[cover.low])
    return _averages(cover, (groups == group for group in range(width)))


def _averages(cover: Cover, columns: Iterable[Floats | Mask]) -> _Averages:
    """Return the means of some numbers of each value over the values that each published one covers."""
    lengths = np.maximum(cover.lengths, 1)
    means = [cover.sums(column) / lengths for column in columns]
    return _Averages(len(means), table=np.stack(means, axis=1))


def _pair(one: tuple[_View, _View], other: tuple[_View, _View], before: View, view: View) -> PairDistance:
    """Compute the distances and associations of a pair of columns."""
    tables, pearson, spearman = [], [], []
    for first, second, values in zip(one, other, (before, view), strict=True):
        product = _products(values, (first.name, second.name))
        tables.append(product(first.groups, second.groups) / values.rows)
        if first.ordered and second.ordered:
            pearson.append(correlation_of(product(first.line, second.line)))
            spearman.append(correlation_of(product(first.ranks, second.ranks)))
    names = one[0].name, other[0].name
    # Rounding may leave a share just below nothing.
    was, now = (np.maximum(table, 0.0) for table in tables)
    return PairDistance(
        names,
        view.home(names[0]) is view.home(names[1]),
        total_variation(was, now),
        hellinger(was, now),
        (cramers_v(was), cramers_v(now)),
        (pearson[0], pearson[1]) if pearson else None,
        (spearman[0], spearman[1]) if spearman else None,
    )


def _products(values: View, names: tuple[str, str]) -> Callable[[_Averages, _Averages], Floats]:
    """Return a function that sums the products of two columns over rows; across slices by bucket means.

    Rows that are alike in both columns are grouped once, for all that is asked of the pair.
    """
    one, other = (values.home(name) for name in names)
    if one is not other:
        return lambda first, second: _apart((one, other), names, (first, second), values.sizes)
    left, right, counts = _pairs_of_values(one, names, [len(values.columns[name]) for name in names])

    def together(first: _Averages, second: _Averages) -> Floats:
        shape = (first.width, second.width)
        if first.codes is not None and second.codes is not None:  # counted, which no product does faster
            both = first.codes[left] * second.width + second.codes[right]
            sums: Floats = np.bincount(both, weights=counts, minlength=shape[0] * shape[1]).astype(
                np.float64, copy=False
            )
            return sums.reshape(shape)
        total = np.zeros(shape)
        for start in range(0, len(left), BLOCK):
            some = slice(start, start + BLOCK)
            total += (first.of(left[some]) * counts[some, None]).T @ second.of(right[some])
        return total

    return together


def _pairs_of_values(home: Slice, names: tuple[str, str], sizes: Sequence[int]) -> tuple[Codes, Codes, Codes]:
    """Return the distinct pairs of published values of two columns, and the rows of each."""
    codes = [home.codes[name] for name in names]
    if sizes[0] * sizes[1] <= COUNTED_DIRECTLY:
        words = codes[0] * sizes[1] + codes[1]
        rows = np.bincount(words, weights=home.counts, minlength=1)
        present = np.flatnonzero(rows)
        return *np.divmod(present, sizes[1]), rows[present]
    grouping = group_rows(codes, sizes)
    rows = np.bincount(grouping.group_ids(), weights=home.counts, minlength=len(grouping))
    return codes[0][grouping.first], codes[1][grouping.first], rows


def _apart(
    slices: tuple[Slice, Slice],
    names: tuple[str, str],
    parts: tuple[_Averages, _Averages],
    sizes: Codes,
) -> Floats:
    """Return the sum over rows of the products of two columns in different slices of a bucket."""
    total = np.zeros((parts[0].width, parts[1].width))
    for start in range(0, len(sizes), BLOCK):
        end = min(start + BLOCK, len(sizes))
        sums = [
            _by_bucket(each, each.codes[name], part, range(start, end))
            for each, name, part in zip(slices, names, parts, strict=True)
        ]
        total += (sums[0] / sizes[start:end, None]).T @ sums[1]
    return total


def _by_bucket(each: Slice, values: Codes, part: _Averages, buckets: range) -> Codes:
    """Return the sums over the rows of each of some buckets."""
    some = (each.units >= buckets.start) & (each.units < buckets.stop)
    owners, weighted = each.units[some] - buckets.start, part.of(values[some]) * each.counts[some, None]
    return np.stack([np.bincount(owners, weights=column, minlength=len(buckets)) for column in weighted.T], axis=1)


# Side of a square in pixels; tables with many columns get smaller squares.
LARGEST, SMALLEST, WIDTH = 44, 20, 420


def draw_distributions(distances: Distributions, *, title: str) -> str:
    """Return two heat maps as an SVG document: distances, and dependence before and after.

    On the left is total variation, of single columns on the diagonal. On the right is Cramér's V: of the
    original below the diagonal, of the release above.
    """
    chart = altair().hconcat(
        _map(distances, _distances(distances), heading="total variation"),
        _map(distances, _dependence(distances), heading="Cramér's V: original below, release above"),
        spacing=40,
    )
    notes = [f"{distances.published_rows:,} of {distances.rows:,} rows are published; the diagonal is one column alone"]
    return draw(chart.resolve_scale(color="independent"), title=title, notes=notes)


def _distances(distances: Distributions) -> list[dict[str, Any]]:
    """Return the cells of the map of distances."""
    cells = [_cell(each.column, each.column, each.total_variation) for each in distances.columns]
    for pair in distances.pairs:
        one, other = pair.columns
        cells += [_cell(one, other, pair.total_variation), _cell(other, one, pair.total_variation)]
    return cells


def _dependence(distances: Distributions) -> list[dict[str, Any]]:
    """Return the cells of the map of dependence: before above the diagonal, after below it."""
    cells = []
    for pair in distances.pairs:
        (one, other), (before, after) = pair.columns, pair.cramers_v
        cells += [_cell(one, other, before), _cell(other, one, after)]
    return cells


def _cell(column: str, row: str, value: float | None) -> dict[str, Any]:
    figure = value or 0.0
    return {"column": column, "row": row, "value": figure, "text": f"{100 * figure:.0f}"}


def _map(distances: Distributions, cells: list[dict[str, Any]], *, heading: str) -> "alt.LayerChart":
    """Draw a map with a colored square for each pair of columns."""
    alt = altair()
    names = [each.column for each in distances.columns]
    side = min(LARGEST, max(SMALLEST, WIDTH // max(len(names), 1)))
    base = alt.Chart(alt.Data(values=cells), width=side * len(names), height=side * len(names)).encode(
        x=alt.X("column:N", sort=names, title=None).axis(labelAngle=-45, labelLimit=120).scale(domain=names),
        y=alt.Y("row:N", sort=names, title=None).axis(labelLimit=120).scale(domain=names),
    )
    colour = alt.Color("value:Q").scale(domain=[0, 1], scheme="blues").legend(None)
    texts = alt.condition("datum.value > 0.55", alt.value("white"), alt.value("#333"))
    layers = base.mark_rect().encode(color=colour) + base.mark_text(fontSize=10).encode(text="text:N", color=texts)
    return layers.properties(title=alt.TitleParams(f"{heading}, in hundredths", fontSize=12))
