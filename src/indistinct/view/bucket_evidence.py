"""A release in buckets, counted: its slices, whatever its form, and what only the original shows of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError, OriginalError, SchemaError
from indistinct.figures import plural
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.singled_out import vectors_alone
from indistinct.frequencies.slices import (
    Links,
    Slice,
    find_contained,
    joined_components,
    joins_of,
    share_attributes,
    sharing_problem,
    together,
)
from indistinct.frequencies.structure import Buckets
from indistinct.frequencies.value import Classes, FrequencySet, Histogram, Key
from indistinct.machine.arrays import Codes
from indistinct.models.base import Model
from indistinct.models.l_diverse_links import MAX_ROWS_COMPUTED_EXACTLY
from indistinct.models.link_probability import expected_rows
from indistinct.recoding.outputs import MAIN, SENSITIVE, written_multiset
from indistinct.schema import BUCKET, COUNT, Schema
from indistinct.tables.domain import Domain

# Up to this number of rows times slices squared, links of every two slices are tested.
ALL_PAIRS = 20_000_000
# From this number of deviations above chance on, rows are not permuted.
MAX_DEVIATIONS_BY_CHANCE = 6

Count = Callable[[str, Request], Counted]


def count_buckets(
    count: Count,
    buckets: Buckets,
    schema: Schema,
    *,
    rows: int,
    reference: Counted | None,
    light: bool | None = None,
) -> "BucketEvidence":
    """Count the tables of a release in buckets, by `count(table, request)`.

    Of two large tables it is not counted at first which bucket shows which known values: `light` evidence suffices for
    the bound on links, and to compare with the original.
    """
    _require(buckets, schema)
    light = buckets.form == "tables" and rows > MAX_ROWS_COMPUTED_EXACTLY if light is None else light
    match buckets.form:
        case "tables":
            slices, known = _of_tables(count, buckets, rows, light=light)
        case "multiset":
            slices, known = _of_multisets(count, buckets, schema)
        case _:
            first, *others = [(BUCKET, *names) for names in buckets.slices]
            counted = count(MAIN, Request(first, groupings=others, published=True))
            frequencies = {first: counted.frequencies, **counted.groupings}
            slices = [_slice(names, frequencies[(BUCKET, *names)]) for names in buckets.slices]
            known = counted.known
    last = slices[-1] if light else max(slices, key=lambda each: len(each.units))
    sizes = np.bincount(last.units, weights=last.counts).astype(np.int64)
    return BucketEvidence(buckets, schema, tuple(slices), known, sizes, reference, count, light)


def _slice(names: tuple[str, ...], frequencies: FrequencySet, *, bucketed: bool = True) -> Slice:
    """Return the entries of a slice; one that is not `bucketed` was counted over all buckets."""
    vectors = frequencies.vectors
    buckets = vectors[:, 0] if bucketed else np.zeros(len(vectors), dtype=np.int64)
    codes = {name: vectors[:, index + bucketed] for index, name in enumerate(names)}
    return Slice(buckets, codes, frequencies.counts)


def _of_tables(count: Count, buckets: Buckets, rows: int, *, light: bool) -> tuple[list[Slice], Mapping[str, Domain]]:
    """Return the slices of a release in two tables: the known columns, and the separate sensitive values."""
    known, hidden = buckets.slices
    wanted = known if light else (BUCKET, *known)
    main = count(MAIN, Request((BUCKET,), groupings=[wanted], published=True))
    apart = count(SENSITIVE, Request((BUCKET, *hidden, COUNT), published=True))
    amounts, vectors = apart.known[COUNT], apart.frequencies
    try:
        numbers = amounts.values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        numbers = np.zeros(0, dtype=np.int64)
    if amounts.missing or len(numbers) != len(amounts.values) or numbers.min(initial=1) < 1 or numbers.max() > rows:
        raise InputError(
            "the counts of sensitive values must be whole numbers from 1, and no more than the rows of the other table",
            hint="give both tables of one release, as they were written",
        )
    counts = numbers[vectors.vectors[:, -1]] * vectors.counts
    numbering = _translation(apart.known[BUCKET], main.known[BUCKET])
    own = numbering[vectors.vectors[:, 0]]
    strange = own.min(initial=0) < 0
    sizes = np.zeros(0) if strange else np.bincount(own, weights=counts, minlength=len(main.frequencies))
    if not np.array_equal(sizes, main.frequencies.counts):
        raise InputError(
            "the two tables do not have the same buckets with the same numbers of rows",
            hint="give the tables of one release",
        )
    codes = {name: vectors.vectors[:, index + 1] for index, name in enumerate(hidden)}
    slices = [_slice(known, main.groupings[wanted], bucketed=not light), Slice(own, codes, counts)]
    return slices, {**apart.known, **main.known}


def _of_multisets(count: Count, buckets: Buckets, schema: Schema) -> tuple[list[Slice], Mapping[str, Domain]]:
    """Return the slices of a release with multisets: rows with the same multisets are a bucket."""
    attributes = [name for names in buckets.slices for name in names if name not in schema.sensitive]
    keys = tuple((name,) for name in schema.sensitive)
    counted = count(MAIN, Request(tuple(attributes), keys, published=True))
    frequencies, known = counted.frequencies, dict(counted.known)
    slices = {}
    for index, name in enumerate(attributes):
        slices[name], known[name] = _unfolded(name, counted.domains[index], frequencies, index)
    for name in schema.sensitive:
        histogram = frequencies.classes.histograms[(name,)]
        slices[name] = Slice(histogram.owners(), {name: histogram.codes}, histogram.counts)
    return [slices[name] for names in buckets.slices for name in names], known


def _unfolded(name: str, domain: Domain, frequencies: FrequencySet, index: int) -> tuple[Slice, Domain]:
    """Return the values of a column of multisets, bucket by bucket, as the published text."""
    multisets = [None if text is None else written_multiset(text) for text in domain.texts()]
    totals = [0 if pairs is None else sum(number for _, number in pairs) for pairs in multisets]
    rows: list[tuple[int, str | None, int]] = []
    pairs_of = zip(frequencies.vectors[:, index].tolist(), frequencies.counts.tolist(), strict=True)
    for bucket, (code, size) in enumerate(pairs_of):
        if not totals[code] or size % totals[code]:
            raise InputError(
                f"column {name!r} holds a value that is not a multiset of its bucket",
                hint="values look like 22:2,33:1 and their counts add up to the rows of the bucket",
            )
        rows += [(bucket, value, number * (size // totals[code])) for value, number in multisets[code] or ()]
    distinct = sorted({value for _, value, _ in rows if value is not None})
    missing = any(value is None for _, value, _ in rows)
    code_of: dict[str | None, int] = {value: code + missing for code, value in enumerate(distinct)}
    code_of[None] = 0
    owners, values, counts = (np.array(part) for part in zip(*((b, code_of[v], n) for b, v, n in rows), strict=True))
    grouping = group_rows([owners, values], [len(frequencies), len(distinct) + 1])
    summed = np.bincount(grouping.group_ids(), weights=counts).astype(np.int64)
    first = grouping.first
    return (
        Slice(owners[first], {name: values[first]}, summed),
        Domain(name, pa.array(distinct, pa.string()), missing=missing),
    )


@dataclass(frozen=True, eq=False)
class BucketEvidence:
    """The slices of a release in the codes of its own domains, and the original's cells where these are at hand."""

    structure: Buckets
    schema: Schema
    slices: tuple[Slice, ...]
    known: Mapping[str, Domain]
    sizes: Codes
    reference: Counted | None
    count: Count
    light: bool = False

    def full(self) -> "BucketEvidence":
        """Return the same release with everything counted."""
        return count_buckets(
            self.count, self.structure, self.schema, rows=int(self.sizes.sum()), reference=self.reference, light=False
        )

    @cached_property
    def links(self) -> Links:
        """What links people to sensitive values."""
        tuples, weights, public = self._tuples()
        return Links(self.slices, self.sizes, tuple(self.schema.sensitive), tuples, weights, public)

    def _tuples(self) -> tuple[Mapping[str, Codes] | None, Codes | None, bool]:
        """Return the tuples of non-sensitive attributes, how often each occurs, and whether the release shows them.

        They are those of the original; without one, those that a release in two tables shows. They are None for `light`
        evidence, and where there is nothing to compare: no original, or generalized values.
        """
        if self.light:
            return None, None, False
        if self.reference is None and self.structure.form == "tables":  # it shows the tuples themselves
            whole_rows = self.slices[0]
            return whole_rows.codes, whole_rows.counts, True
        if self.reference is None or self.structure.generalized:
            return None, None, False
        cells = self.reference.frequencies
        columns = {name: cells.vectors[:, index] for index, name in enumerate(cells.names)}
        return {name: self._translated(name)[codes] for name, codes in columns.items()}, cells.counts, False

    def _translated(self, name: str) -> Codes:
        """Return the release's code of every value that the original has in an attribute, -1 where it shows none."""
        assert self.reference is not None  # noqa: S101
        theirs, mine = self.reference.known[name], self.known[name]
        codes = np.full(len(theirs), -1, dtype=np.int64)
        back = _translation(mine, theirs)
        codes[back[back >= 0]] = np.flatnonzero(back >= 0)
        return codes

    def classes_for(self, model: Model, histogram: Callable[[Key, Histogram], Histogram]) -> Classes:
        """Return the classes that a model looks at: buckets, or rows of a bucket that agree on what is known."""
        if model.needs_labels:
            raise SchemaError(
                f"{model.spec()} counts combinations of published values, and buckets remove the links between them",
                hint="check it on a release in classes",
            )
        if model.traits.sizes_only or not model.keys:
            return Classes(self.sizes)
        names = {name for key in model.keys for name in key}
        homes = [each for each in self.slices if names & set(each.names)]
        if len(homes) > 1:
            raise SchemaError(
                f"{model.spec()} looks at columns whose links are removed",
                hint="name columns of one slice, or one column",
            )
        home = homes[0]
        partners = [name for name in home.names if name not in self.schema.sensitive]
        columns = [home.units, *(home.codes[name] for name in partners)]
        owners = group_rows(columns, [int(column.max(initial=0)) + 1 for column in columns]).group_ids()
        sizes = np.bincount(owners, weights=home.counts).astype(np.int64)
        histograms = {}
        for key in model.keys:
            values, _ = together([home.codes[name] for name in key], None, rows=len(owners))
            if len(key) == 1:
                values = home.codes[key[0]]
            width = len(self.known[key[0]]) if len(key) == 1 else int(values.max(initial=0)) + 1
            texts = self.known[key[0]].texts() if len(key) == 1 else ()
            one = Histogram(
                np.arange(len(values) + 1),
                values.astype(np.int32),
                home.counts,
                np.bincount(values, weights=home.counts, minlength=width).astype(np.int64),
                None,
                texts,
            )
            histograms[key] = histogram(key, one.regroup(owners, len(sizes)))
        return Classes(sizes, histograms)

    def rejoined(self) -> dict[tuple[str, ...], int]:
        """Return, for shared attributes of two slices, the number of rows that are unique on them in their bucket."""
        alone_rows = {}
        for join in self.links.joins if share_attributes(self.structure.slices) else ():
            parent = self.slices[join.parent]
            ids, _ = together([parent.units, *(parent.codes[name] for name in join.shared)], None, rows=0)
            alone = int((np.bincount(ids, weights=parent.counts) == 1).sum())
            if join.shared and alone:
                alone_rows[join.shared] = alone
        return alone_rows

    def row_slices(self) -> tuple[Slice, ...]:
        """Return slices that share no attribute: of those that do, the published rows, which agree with all of them.

        These rows were drawn among all that agree, so that what is estimated from them has no bias.
        """
        slices = []
        for group in joined_components(self.structure.slices):
            if len(group) == 1:
                slices.append(self.slices[group[0].index])
                continue
            names = tuple(dict.fromkeys(name for join in group for name in self.structure.slices[join.index]))
            counted = self.count(MAIN, Request((BUCKET, *names), published=True))
            slices.append(_slice(names, counted.frequencies))
        return tuple(slices)

    def alone(self) -> dict[Key, int]:
        """Return how many rows have a value of their own in a slice, for each attribute and for all of it together.

        It is 0 where they are clearly few.
        """
        counts: dict[Key, int] = {}
        for each in self.slices:
            names = [name for name in each.names if name not in self.structure.generalized]
            for name in names:
                counts[(name,)] = vectors_alone([each.codes[name]], each.counts, missing=self.known[name].missing)
            if len(names) > 1:
                counts[tuple(names)] = vectors_alone([each.codes[name] for name in names], each.counts)
        return counts

    def preserved(self) -> int:
        """Return the number of rows of slices that differ from the original; generalized values are not compared."""
        changed = 0
        for each in self.slices:
            names = [name for name in each.names if name not in self.structure.generalized]
            if not names:
                continue
            whole, weights = self._originals(names)
            mine, theirs = together([each.codes[name] for name in names], whole, rows=0)
            assert theirs is not None  # noqa: S101
            lost = theirs < 0
            size = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
            counts = np.bincount(mine, weights=each.counts, minlength=size)
            wanted = np.bincount(theirs[~lost], weights=weights[~lost], minlength=size)
            changed += int(np.abs(counts - wanted).sum() + weights[lost].sum())
        return changed

    def _originals(self, names: Sequence[str], *, whole: bool | None = None) -> tuple[list[Codes], Codes]:
        """Return the original's vectors of some attributes in the codes of the release, and how often each occurs."""
        assert self.reference is not None  # noqa: S101
        cells, joint = self.reference.frequencies, self.reference.frequencies.joint
        if whole is None:
            whole = bool(set(names) & set(self.schema.sensitive))
        if joint is None or not whole:
            index: Codes = np.arange(len(cells))
            weights = cells.counts
        else:
            index, weights = joint.histogram.owners(), joint.histogram.counts
        columns = []
        for name in names:
            if name in cells.names:
                codes = cells.vectors[:, cells.names.index(name)][index]
            else:
                codes = joint.codes[(name,)][joint.histogram.codes]  # type: ignore[union-attr]
            columns.append(self._translated(name)[codes])
        return columns, weights

    def compared(self, each: Slice, names: Sequence[str], *, whole: bool) -> tuple[Codes, Codes]:
        """Return some attributes of a slice as one code: of its entries, and of the original's distinct tuples.

        Tuples have every attribute where they are `whole`, else those that are not sensitive.
        """
        columns, _ = self._originals(names, whole=whole)
        mine, theirs = together([each.codes[name] for name in names], columns, rows=0)
        assert theirs is not None  # noqa: S101
        return mine, theirs

    def permuted(self) -> bool | None:
        """Return whether published rows are in the original no more often than permutations leave them by chance.

        Compared are whole rows, every slice with a sensitive attribute together with each other slice and, up to a
        limit of rows and slices, every other two. Where slices share attributes, the two slices that are joined are
        compared: others depend on each other through those between them. An unpermuted table has all its rows in the
        original; where chance alone could leave that many, the answer is None. The numbers stay here: they would tell
        how many rows are true ones.
        """
        every = range(len(self.slices))
        homes = [j for j in every if set(self.slices[j].names) & set(self.schema.sensitive)] or [0]
        if self.sizes.sum() * len(self.slices) ** 2 <= ALL_PAIRS:
            homes = list(every)
        pairs = [tuple(sorted((home, other))) for home in homes for other in every if other != home]
        if share_attributes(self.structure.slices):
            pairs = [(join.parent, join.index) for join in self.links.joins[1:] if join.shared]
        chosen = dict.fromkeys([tuple(every), *pairs])
        verdicts = [verdict for some in chosen if (verdict := self._by_chance(some)) is not None]
        return all(verdicts) if verdicts else None

    def _by_chance(self, some: Sequence[int]) -> bool | None:
        """Return whether rows of some slices are true ones by chance; None if chance could make all of them so."""
        names = list(dict.fromkeys(name for index in some for name in self.slices[index].names))
        whole = bool(set(names) & set(self.schema.sensitive))
        expected = self._expected(some, whole=whole)
        allowed = expected + MAX_DEVIATIONS_BY_CHANCE * math.sqrt(2 * expected) + MAX_DEVIATIONS_BY_CHANCE
        if allowed >= self.sizes.sum():
            return None
        true = find_contained([self._rows[0][name] for name in names], self._originals(names, whole=whole)[0])
        return int(self._rows[1][true].sum()) <= allowed

    @cached_property
    def _rows(self) -> tuple[Mapping[str, Codes], Codes]:
        """The distinct rows that are published, without their bucket, and how often each occurs."""
        names = tuple(dict.fromkeys(name for each in self.slices for name in each.names))
        frequencies = self.count(MAIN, Request(names, published=True)).frequencies
        return {name: frequencies.vectors[:, index] for index, name in enumerate(names)}, frequencies.counts

    def _expected(self, some: Sequence[int], *, whole: bool) -> float:
        """Return the expected number of rows equal to an original row after a new permutation of the slices."""
        joins = joins_of([self.slices[index].names for index in some])
        parts = [(index, self.slices[index].names) for index in some]
        parts += [(some[join.parent], join.shared) for join in joins if join.shared]
        coded = [self._coded(index, names, whole=whole) for index, names in parts]
        columns = [of_tuples for _, of_tuples in coded]
        grouping = group_rows([c + 1 for c in columns], [int(c.max(initial=0)) + 2 for c in columns])
        tuples = np.stack([column[grouping.first] for column in columns], axis=1)
        entries = [self.slices[index].known_by(known) for (index, _), (known, _) in zip(parts, coded, strict=True)]
        return expected_rows(entries, tuples, shared=len(parts) - len(some))

    def _coded(self, index: int, names: Sequence[str], *, whole: bool) -> tuple[Codes, Codes]:
        """Return some attributes of a slice as one code, as `compared` does, once for all slices compared with it."""
        key = (index, tuple(names), whole)
        if key not in self._codes:
            self._codes[key] = self.compared(self.slices[index], names, whole=whole)
        return self._codes[key]

    @cached_property
    def _codes(self) -> dict[tuple[int, tuple[str, ...], bool], tuple[Codes, Codes]]:
        return {}


def _translation(mine: Domain, theirs: Domain) -> Codes:
    """Return the code in another domain of every value of one; mostly both are the same, and nothing is looked up."""
    same = mine.missing == theirs.missing and mine.values.equals(theirs.values)
    return np.arange(len(mine)) if same else mine.translate(theirs)


def _require(buckets: Buckets, schema: Schema) -> None:
    """Raise unless form and columns of the buckets can be read."""
    named = [name for names in buckets.slices for name in names]
    if buckets.form not in ("sliced", "tables", "multiset") or (
        share_attributes(buckets.slices) and (buckets.form != "sliced" or buckets.generalized)
    ):
        raise SchemaError(
            "a release in buckets is sliced, tables or multiset, and only values that are sliced and not generalized "
            "may be in several columns",
            hint="give form and columns as the certificate has them",
        )
    problem = sharing_problem(buckets.slices, schema.sensitive)
    if problem is not None:
        raise SchemaError(problem, hint="such columns guarantee nothing; publish the table anew")
    missing = [name for name in schema.published if name not in named]
    if missing:
        raise SchemaError(
            f"no column of the release holds {', '.join(map(repr, missing))}",
            hint="the columns of a release in buckets name every attribute",
        )
    if buckets.form == "tables" and buckets.slices != (buckets.slices[0], tuple(schema.sensitive)):
        raise SchemaError("the second table of a release holds the sensitive columns", hint="give the roles it had")


def require_in_original(evidence: BucketEvidence, original: Counted) -> None:
    """Raise unless the original has every published value as often: quasi-identifiers of a slice are taken together.

    Columns that were not counted on the original, and generalized ones, are not looked at.
    """
    cells = original.frequencies
    for each in evidence.slices:
        names = [name for name in each.names if name not in evidence.structure.generalized]
        quasi = [name for name in names if name in cells.names]
        if quasi:
            columns = [cells.vectors[:, cells.names.index(name)] for name in quasi]
            _require_vectors(evidence, original, each, quasi, whole=(columns, cells.counts))
        for name in names:
            if (name,) in cells.classes.histograms:
                often = cells.classes.histograms[(name,)].reference
                _require_vectors(evidence, original, each, [name], whole=([np.arange(len(often))], often))


def _require_vectors(
    evidence: BucketEvidence,
    original: Counted,
    each: Slice,
    names: Sequence[str],
    *,
    whole: tuple[Sequence[Codes], Codes],
) -> None:
    """Raise unless each vector of some columns of a slice is there no more often than in the `whole` original."""
    columns, often = whole
    mine = [evidence.known[name].translate(original.known[name], empty=True)[each.codes[name]] for name in names]
    own_ids, theirs = together([codes + 1 for codes in mine], [codes + 1 for codes in columns], rows=0)
    if theirs is None:
        raise AssertionError("both sides were given")
    size = int(max(own_ids.max(initial=0), theirs.max(initial=0))) + 2
    there = np.bincount(theirs[theirs >= 0], weights=often[theirs >= 0], minlength=size)
    surplus = int(np.maximum(np.bincount(own_ids, weights=each.counts, minlength=size) - there, 0).sum())
    if surplus:
        raise OriginalError(
            f"the original does not contain the release: {plural(surplus, 'published row')} with values of "
            f"{', '.join(map(repr, names))} that it does not have, or not so often",
            hint="give the table that the release was made from, with the roles that it had",
        )
