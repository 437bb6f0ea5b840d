"""Membership disclosure: how well a release hides which full tuples an algorithm was given.

A tuple *matches* a bucket if every column of the bucket holds the tuple's value of that column; columns that share
attributes are joined first. All tuples that match
some bucket are candidates: the distinct tuples of the original table among them, and the *fake* tuples, which no person
is behind. Many fake tuples, and as many matching buckets for fake as for original ones, protect membership
(Li, Li, Zhang and Molloy 2012). A class is a bucket with a column for each quasi-identifier.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from indistinct.drawing.charts import COLOURS, GREY, altair, draw
from indistinct.errors import InputError, OutOfMemoryError, ParameterError
from indistinct.evaluation.assess import _membership_kernels as kernels
from indistinct.figures import percent
from indistinct.frequencies.count import Request
from indistinct.frequencies.encode import group_rows, pack
from indistinct.frequencies.slices import KNOWN, Slice, join_slices
from indistinct.frequencies.structure import Unit
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.arrays import Codes, Floats, run_starts, starts_of
from indistinct.machine.memory import bytes_of
from indistinct.machine.ordering import distinct, distinct_with_places, sort_words
from indistinct.recoding.columns import columns_of
from indistinct.release.opening import require_original
from indistinct.release.published import Knowledge, Published, describe_release
from indistinct.release.sources import open_source
from indistinct.schema import Schema
from indistinct.view.cover import Cover, cover_of_codes, cover_of_each
from indistinct.view.read_back import cover_of, output_names

if TYPE_CHECKING:
    import altair as alt


# A group's last number of matching buckets and its label, as the paper groups them.
GROUPS = ((10, "1 to 10"), (20, "11 to 20"), (math.inf, "over 20"))
WORDS = 1 << 64
# The buckets of each value are listed for one column, whose lists have at most these entries together if possible.
MAX_LISTED = 1 << 22
# Deviations within which a normal estimate lies in 95 % of cases; what n draws never met has a share below 3 / n.
DEVIATIONS_OF_95_PERCENT = 1.96
DRAWS_FOR_UNSEEN_SHARE = 3.0
# Share of the allowed memory for enumerated candidates, and bytes for each.
FOR_TUPLES, TUPLE = 0.2, 24
# What a class and a combination of the original take for each column while they are matched, about, in bytes.
CLASS, CELL = 150, 50

KINDS: Mapping[Unit, Mapping[str, bool]] = {
    "class": {"quasi-identifiers": True},
    "bucket": {"all attributes": False, "without sensitive ones": True},
}
"""The kinds of tuples that an attacker may know, and whether these are of quasi-identifiers only."""

Histogram = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Membership:
    """How many tuples a release makes possible, how many of them are fake, and how many buckets match them.

    `originals` are the distinct original tuples that match a bucket. Unless `exact`, `candidates` and all figures
    of fake tuples are estimates, and `interval` holds the number of candidates with a confidence of 95 %. Means are 0
    where there is no such tuple.
    """

    candidates: float
    originals: int
    fake: float
    exact: bool
    interval: tuple[float, float]
    matching_original: Histogram
    matching_fake: Histogram
    unique_original: int
    mean_matching_original: float
    mean_matching_fake: float

    @property
    def fake_per_original(self) -> float:
        """Return how many fake tuples there are for each original one."""
        if not self.originals:
            return math.inf if self.fake else 0.0
        return self.fake / self.originals

    @property
    def unique_share(self) -> float:
        """Return the share of the originals that match exactly one bucket."""
        return self.unique_original / self.originals if self.originals else 0.0

    def to_json(self) -> Mapping[str, Any]:
        """Return the figures as plain JSON values."""
        ratio = self.fake_per_original
        return asdict(self) | {
            "interval": list(self.interval),
            "matching_original": dict(self.matching_original),
            "matching_fake": dict(self.matching_fake),
            "fake_per_original": ratio if math.isfinite(ratio) else None,
        }


def membership(
    slices: Sequence[Slice],
    originals: Codes,
    *,
    limit: int = 20_000_000,
    samples: int = 200_000,
    seed: int | None = None,
) -> Membership:
    """Return how many candidates, originals and fake tuples a release has, and how many buckets match them.

    The column `KNOWN` of each of the `slices` numbers the vectors of all its attributes; its units are buckets.
    Row i of `originals` has the code of the original row's vector in each slice, or -1 if it is published nowhere.
    Up to `limit` tuples over all buckets, candidates are enumerated; above, their number is estimated from `samples`
    draws (Karp and Luby 1983), in floating point, because products of columns exceed every integer type. The seed
    decides about the estimate alone; nothing that is published depends on it.

        >>> buckets, letters, digits = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2]), np.array([0, 1, 1, 2])
        >>> slices = [Slice(buckets, {KNOWN: codes}, np.ones(4, dtype=int)) for codes in (letters, digits)]
        >>> found = membership(slices, np.stack([letters, digits], axis=1))
        >>> found.candidates, found.originals, found.fake
        (6, 4, 2)
    """
    covers = _covers(slices)
    return membership_by_covers(covers, originals, limit=limit, samples=samples, seed=seed)


def membership_by_covers(
    covers: Sequence[Cover],
    originals: Codes,
    *,
    limit: int = 20_000_000,
    samples: int = 200_000,
    seed: int | None = None,
) -> Membership:
    """Return the same of buckets that are given by what each covers of every column; there are as many in each."""
    if limit < 0:
        raise ParameterError.of("membership", "limit", f"must be at least 0; got {limit}")
    if samples < 2:
        raise ParameterError.of("membership", "samples", f"must be at least 2; got {samples}")
    index = _index(covers)
    tuples = _distinct(originals, index)
    matching = _matching(tuples, index)
    tuples, matching = tuples[matching > 0], matching[matching > 0]
    total = index.total()
    if total <= limit:
        return _exact(index, matching)
    return _estimate(index, tuples, matching, total=total, draws=_draw(index, samples, np.random.default_rng(seed)))


def random_buckets(rows: int, size: int, *, rng: np.random.Generator) -> Codes:
    """Return a random bucket for every row, each bucket of `size` rows and the last one smaller."""
    if rows < 0:
        raise ParameterError.of("random_buckets", "rows", f"must be at least 0; got {rows}")
    if size < 1:
        raise ParameterError.of("random_buckets", "size", f"must be at least 1; got {size}")
    buckets = np.empty(rows, dtype=np.int64)
    buckets[rng.permutation(rows)] = np.arange(rows) // size
    return buckets


@dataclass(frozen=True, slots=True, eq=False)
class _Index:
    """What every bucket covers by column, and the buckets of every value of one column.

    `covers[j]` has the codes of column j in each bucket. `order` has the columns, first that whose values have the
    fewest buckets each: value v of it is covered by `holders[holder_starts[v]:holder_starts[v + 1]]`.
    """

    covers: tuple[Cover, ...]
    sizes: Codes
    order: Codes
    holder_starts: Codes
    holders: Codes

    def products(self) -> Codes:
        """Return the number of tuples that match each bucket, in floating point."""
        with np.errstate(over="ignore"):
            return np.prod([cover.lengths.astype(np.float64) for cover in self.covers], axis=0)

    def total(self) -> float:
        """Return the number of pairs of a bucket and a tuple that matches it."""
        total = float(self.products().sum())
        if not math.isfinite(total):
            raise InputError("the buckets make more tuples possible than a number can hold", hint="take fewer columns")
        return total


def _covers(slices: Sequence[Slice]) -> tuple[Cover, ...]:
    """Return the distinct values of each bucket, slice by slice."""
    _require_codes(slices)
    names, covers = distinct(np.concatenate([each.units for each in slices])), []
    for each in slices:
        column = each.codes[KNOWN]
        buckets, size = np.searchsorted(names, each.units), int(column.max()) + 1 if len(column) else 1
        owners, codes = np.divmod(distinct(buckets * size + column.astype(np.int64)), size)
        covers.append(cover_of_codes(np.searchsorted(owners, np.arange(len(names) + 1)), codes))
    return tuple(covers)


def _require_codes(slices: Sequence[Slice]) -> None:
    """Raise unless slices can be those of buckets, in codes, each joined into one column."""
    if not slices:
        raise ParameterError("a release of buckets must have at least one column; got none")
    for each in slices:
        column = each.codes[KNOWN]
        if len(column) != len(each.units):
            raise ParameterError(f"every column must have a code for each of the {len(each.units)} published rows")
        if any(len(codes) and codes.min() < 0 for codes in (each.units, column)):
            raise ParameterError("the codes of published rows must be at least 0")


def _index(covers: Sequence[Cover]) -> _Index:
    """Index classes by the codes of the most selective column."""
    sizes = np.array([int(cover.high.max(initial=-1)) + 1 for cover in covers])
    lengths = np.array([int(cover.lengths.sum()) for cover in covers])
    shared = lengths / np.maximum(sizes, 1)
    # Lists that are too long to be written out are not: of all columns at most the shortest is.
    first = int(np.argmin(np.where(lengths <= max(MAX_LISTED, lengths.min()), shared, np.inf)))
    order = np.array(sorted(range(len(covers)), key=lambda j: (j != first, shared[j])))
    owners, codes = covers[first].written_out()
    buckets = owners[np.argsort(codes, kind="stable")].astype(np.int64)
    return _Index(tuple(covers), sizes, order, starts_of(np.bincount(codes, minlength=int(sizes[first]))), buckets)


def _distinct(originals: Codes, index: _Index) -> Codes:
    """Return the distinct rows of a matrix of codes, without rows that have an unknown code."""
    columns = len(index.sizes)
    if originals.ndim != 2 or originals.shape[1] != columns:
        raise ParameterError(f"originals must be a matrix with a row for each tuple and {columns} columns")
    codes = originals[((originals >= 0) & (originals < index.sizes)).all(axis=1)].astype(np.int64)
    return codes[group_rows(list(codes.T), [int(size) for size in index.sizes]).first]


def _matching(tuples: Codes, index: _Index) -> Codes:
    """Return the number of buckets that match each tuple of known values.

    Tuples are sorted, so that those with the same first values share the buckets that match these.
    """
    arranged = np.ascontiguousarray(tuples[:, index.order])
    rows = np.lexsort(arranged.T[::-1])
    covers = [index.covers[j] for j in index.order]
    before = starts_of([len(cover.low) for cover in covers])
    runs = np.stack([cover.indptr + start for cover, start in zip(covers, before, strict=False)])
    low, high = (np.concatenate([getattr(cover, end) for cover in covers]) for end in ("low", "high"))
    counts = np.zeros(len(tuples), dtype=np.int64)
    lists = (index.holder_starts, index.holders)
    kernels.count_matching(np.ascontiguousarray(arranged[rows]), *lists, runs, low, high, counts)
    matching = np.empty_like(counts)
    matching[rows] = counts
    return matching


def _exact(index: _Index, matching: Codes) -> Membership:
    """Enumerate the candidates; what is not original is fake, in every group of the histogram."""
    words = sort_words(_products(index))
    counts = np.diff(run_starts(words))
    candidates, originals, fake = len(counts), len(matching), len(counts) - len(matching)
    every, original = _histogram(counts), _histogram(matching)
    return Membership(
        candidates,
        originals,
        fake,
        exact=True,
        interval=(float(candidates), float(candidates)),
        matching_original=original,
        matching_fake=tuple((label, n - m) for (label, n), (_, m) in zip(every, original, strict=True)),
        unique_original=int((matching == 1).sum()),
        mean_matching_original=float(matching.mean()) if originals else 0.0,
        mean_matching_fake=float((len(words) - matching.sum()) / fake) if fake else 0.0,
    )


def _products(index: _Index) -> Codes:
    """Return a word for every tuple of every bucket; equal tuples have equal words.

    Where a further column does not fit a word, words are replaced by their dense rank. There are no more of them than
    tuples, so the next column always fits.
    """
    words, span = np.zeros(len(index.covers[0]), dtype=np.uint64), 1
    starts = np.arange(len(words) + 1)
    for cover, size in zip(index.covers, index.sizes, strict=True):
        value_starts, (_, values) = starts_of(cover.lengths), cover.written_out()
        if span * int(size) > WORDS:
            products, ranks = distinct_with_places(words)
            words, span = ranks.astype(np.uint64), len(products)
        lengths = np.diff(starts) * np.diff(value_starts)
        out = np.empty(int(lengths.sum()), dtype=np.uint64)
        kernels.extend_products(words, starts, values.astype(np.uint64), value_starts, np.uint64(size), out)
        words, span, starts = out, span * int(size), np.concatenate([[0], np.cumsum(lengths)])
    return words


def _draw(index: _Index, samples: int, rng: np.random.Generator) -> Codes:
    """Draw pairs of a bucket and a tuple that matches it, all pairs alike; return the tuples."""
    sums = np.cumsum(index.products())
    buckets = np.searchsorted(sums, rng.random(samples) * sums[-1], side="right")
    buckets = np.minimum(buckets, len(sums) - 1)
    columns = [cover.code_at(buckets, rng.integers(0, cover.lengths[buckets])) for cover in index.covers]
    return np.stack(columns, axis=1)


def _estimate(index: _Index, tuples: Codes, matching: Codes, *, total: float, draws: Codes) -> Membership:
    """Estimate the number of fake tuples; originals are known and are counted, not drawn.

    A fake tuple with m matching buckets is in m of the pairs that hold no original, whose number is known, so that each
    draw of it counts 1/m of a pair.
    """
    words, _ = pack(list(np.concatenate([tuples, draws]).T), [int(size) for size in index.sizes])
    fakes = draws[~np.isin(words[len(tuples) :], words[: len(tuples)])]
    matches = _matching(fakes, index)
    shares, originals = 1.0 / matches, len(matching)
    most = max(total - float(matching.sum()), 0.0)
    fake = most * float(shares.mean()) if len(shares) else 0.0
    error = (
        DEVIATIONS_OF_95_PERCENT * most * float(shares.std(ddof=1)) / math.sqrt(len(shares))
        if len(shares) > 1
        else most
    )
    if not len(shares):
        low, high = 0.0, min(total * DRAWS_FOR_UNSEEN_SHARE / len(draws), most)
    else:  # where no draw had another number of buckets, a few pairs in as many still may
        low = max(fake - max(error, fake * DRAWS_FOR_UNSEEN_SHARE / len(shares)), 0.0)
        high = max(min(fake + error, most), fake)
    return Membership(
        originals + fake,
        originals,
        fake,
        exact=False,
        interval=(originals + low, originals + high),
        matching_original=_histogram(matching),
        matching_fake=_histogram(matches, shares * (most / max(len(shares), 1))),
        unique_original=int((matching == 1).sum()),
        mean_matching_original=float(matching.mean()) if originals else 0.0,
        mean_matching_fake=float(len(shares) / shares.sum()) if len(shares) else 0.0,
    )


def _histogram(matching: Codes, weights: Floats | None = None) -> Histogram:
    """Return the number of tuples in each group, or the sum of their weights."""
    groups = np.searchsorted([last for last, _ in GROUPS], matching)
    counts = np.bincount(groups, weights=weights, minlength=len(GROUPS)).tolist()
    return tuple((label, count) for (_, label), count in zip(GROUPS, counts, strict=True))


@with_checked_arguments
def membership_of(
    published: Any,
    schema: Schema | None = None,
    *,
    quasi_only: bool = False,
    limit: int = 20_000_000,
    samples: int = 200_000,
    seed: int | None = None,
    **known: Unpack[Knowledge],
) -> Membership:
    """Measure membership disclosure: how many original tuples a release allows, and how many of them are fake.

    A candidate is a combination of quasi-identifier values that is possible under the release: one that the published
    values of a class cover, read with their `hierarchies`. Fake candidates are not in the original; the more of them,
    the better people are hidden. In a release in buckets, candidates are combinations of all attributes. Where `memory`
    is bounded, fewer candidates are enumerated, and more are estimated.

    Parameters
    ----------
    published
        A `Release`, a `Published`, a `BucketTable`, or a table of classes of any tool.
    schema
        Roles of the columns of the original; not needed for a `Release`.
    quasi_only
        Whether candidates of buckets are combinations of quasi-identifiers alone, without sensitive attributes.
    limit
        Largest number of candidates that is enumerated; larger numbers are estimated.
    samples
        Number of samples of an estimate.
    seed
        Fixes the random draws.
    **known
        What `published` takes, such as the `original` and the `hierarchies` of the labels.

    Returns
    -------
    Membership
        Numbers of candidates, original and fake ones among them, and how many classes or buckets these match.

    Raises
    ------
    ParameterError
        If the original or the roles are not known.
    InputError
        If a table cannot be read.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44]})
    >>> release = ind.anonymize(table, ind.Schema(quasi=["age"]), model=ind.KAnonymity(k=3))
    >>> members = ind.membership_of(release, original=table)
    >>> members.candidates, members.originals, members.fake
    (6, 6, 0)
    """
    opened = describe_release(published, schema, **known)
    if opened.memory is not None:
        limit = min(limit, int(FOR_TUPLES * bytes_of(opened.memory) / TUPLE))
    rows, originals = _READERS[opened.structure.unit](opened, quasi_only, limit)
    return membership_by_covers(rows, originals, limit=limit, samples=samples, seed=seed)


def membership_by_kind(opened: Published) -> dict[str, Membership]:
    """Measure membership disclosure for each kind of tuple that an attacker may know."""
    return {kind: membership_of(opened, quasi_only=alone) for kind, alone in KINDS[opened.structure.unit].items()}


def _buckets(opened: Published, quasi_only: bool, limit: int) -> tuple[tuple[Cover, ...], Codes]:
    """Return the values that each bucket shows by column, and the original rows."""
    schema, structure = opened.schema, opened.structure
    engine, whole = open_source(opened.require_original("membership_of"), memory=opened.memory)
    require_original(structure, whole.columns)
    keys = tuple((name,) for name in schema.sensitive)
    known = (*schema.quasi, *schema.insensitive)
    reference = engine.count(whole, Request(known, keys, joint=bool(keys), published=True))
    evidence = opened.tables.in_buckets(schema, reference=reference, light=False)
    hidden = schema.sensitive if quasi_only else ()
    kept = [each.without(hidden) for each in evidence.slices if set(each.names) - set(hidden)]
    slices, originals = [], []
    for each in join_slices(kept, most=limit):
        wanted = each.names
        mine, theirs = evidence.compared(each, wanted, whole=not quasi_only)
        if (theirs < 0).any() or set(wanted) & set(structure.generalized):
            raise InputError(
                f"the column of {', '.join(map(repr, wanted))} does not show the values of the original",
                hint="membership can be measured where values are published unmodified",
            )
        slices.append(each.known_by(mine))
        originals.append(theirs)
    return _covers(slices), np.stack(originals, axis=1)


def _classes(opened: Published, _quasi_only: bool, _limit: int) -> tuple[tuple[Cover, ...], Codes]:
    """Return classes as buckets with a column for each quasi-identifier, and the distinct vectors of the original."""
    source, schema, hierarchies = opened.main, opened.schema, opened.used_hierarchies
    counted = opened.cells_of_original("membership_of")
    if not source.rows:  # every row is suppressed: nothing matches anything
        nothing = cover_of_each(np.zeros(0, dtype=np.int64))
        return (nothing,) * len(counted.domains), np.full_like(counted.frequencies.vectors, -1)
    columns = columns_of(counted.domains, hierarchies)
    names = [name for each in columns for name in output_names(source.columns, each.name, schema)]
    groups = opened.groups(tuple(names))
    if source.in_memory is None and opened.memory is not None:
        _require_room(len(groups.counts), len(counted.frequencies), len(columns), bytes_of(opened.memory))
    covers = cover_of(groups.table, columns, schema=schema)
    return covers, counted.frequencies.vectors


_READERS: Mapping[Unit, Callable[[Published, bool, int], tuple[tuple[Cover, ...], Codes]]] = {
    "class": _classes,
    "bucket": _buckets,
}
"""What matches tuples, and the tuples of the original in the same codes, by what a release consists of."""


def _require_room(classes: int, cells: int, columns: int, allowed: int) -> None:
    """Raise if matching every combination of the original with every class takes more memory than is allowed."""
    needed = columns * (CLASS * classes + CELL * cells)
    if needed > allowed:
        raise OutOfMemoryError(
            f"matching {cells:,} combinations with {classes:,} classes takes about {needed // 10**6:,} MB, and "
            f"{allowed // 10**6:,} MB of `memory` are allowed",
            hint="allow more `memory`, or take fewer quasi-identifiers",
            needed=needed,
        )


SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def draw_matching(
    membership: Membership, *, title: str, matched: tuple[str, str] = ("bucket", "buckets"), kind: str = ""
) -> str:
    """Return the histograms of matching buckets of original and of fake tuples side by side, as an SVG document.

    Where the two differ much, an attacker tells original tuples from fake ones. `matched` is what tuples match, one of
    them and many, and `kind` what tuples are made of.
    """
    notes = _notes(membership, matched, kind)
    return draw(matching_chart(membership, matched=matched[1]), title=title, notes=notes)


def matching_chart(membership: Membership, *, matched: str) -> "alt.LayerChart":
    """Return both histograms as bars, each with its share and its number of tuples above."""
    alt = altair()
    names = [_legend_of(membership.originals, "original"), _legend_of(membership.fake, "fake")]
    histograms = dict(zip(names, (membership.matching_original, membership.matching_fake), strict=True))
    bars = [
        {"matching": label, "tuples": name, "share": share, "text": f"{percent(share)}\n{_short(count)}"}
        for name, histogram in histograms.items()
        for whole in [sum(count for _, count in histogram)]
        for label, count in histogram
        for share in [count / whole if whole else 0.0]
    ]
    order = [label for label, _ in membership.matching_original]
    base = alt.Chart(alt.Data(values=bars)).encode(
        x=alt.X("matching:N", sort=order, title=f"matching {matched} of a tuple").scale(paddingInner=0.25),
        xOffset=alt.XOffset("tuples:N", sort=names).scale(paddingInner=0.08),
        y=alt.Y("share:Q", title="share of tuples").scale(domain=[0, 1.15]).axis(format="%", values=SHARES, grid=False),
    )
    colour = alt.Color("tuples:N", sort=names).scale(range=COLOURS[:2])
    texts = base.mark_text(baseline="line-bottom", dy=-15, lineBreak="\n", lineHeight=13, color=GREY)
    return (base.mark_bar().encode(color=colour) + texts.encode(text="text:N")).properties(width=480, height=220)


def _notes(membership: Membership, matched: tuple[str, str], kind: str) -> list[str]:
    """Return the lines on membership disclosure for one kind of tuple."""
    one, many = matched
    candidates = f"{_short(membership.candidates)} candidates"
    if not membership.exact:
        low, high = (_short(end, digits=5) for end in membership.interval)
        candidates += f" ({low} to {high} with 95% confidence)"
    about = f"tuples of {kind}: " if kind else ""
    means = f"{many} of an original, mean: {membership.mean_matching_original:.3g}"
    if membership.fake:
        means += f", of a fake: {membership.mean_matching_fake:.3g}"
    return [f"{about}{candidates}", f"{means}; originals with one {one}: {_short(membership.unique_original)}"]


def _legend_of(count: float, kind: str) -> str:
    return f"{_short(count)} {kind} tuple" + ("" if count == 1 else "s")


def _short(value: float, *, digits: int = 3) -> str:
    """Return a number as people read it: whole while it is small, then with a letter, then as a power of ten."""
    if value < 10_000:
        return f"{value:,.0f}"
    for size, letter in ((1e12, ""), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.{digits}g}{letter}" if letter else f"{value:.{digits}g}"
    return f"{value:g}"
