"""Verification of releases in buckets: no tuple may be linked to a sensitive value with more than 1 / l.

It trusts nobody upstream: it knows no algorithm, no recoding and no engine, and counts the published columns again.
What the published table alone shows is a bound: the largest share of a value among entries that agree. Only where that
is above 1 / l the tuples of the original are needed, for which p(t, s) is a mean of such shares.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import indistinct
from indistinct.arrays import Codes
from indistinct.errors import ParameterError, SchemaError
from indistinct.frequencies.grouping import group_rows
from indistinct.models.base import Model
from indistinct.release.bucket_table import BucketTable, Coded, coded, plain
from indistinct.release.certificate import Certificate, Verdict
from indistinct.release.link_probability import Bound, Entries, Linked, bound_of, link
from indistinct.release.verify import verify_table
from indistinct.schema import BUCKET, Schema
from indistinct.tables import open_table

# p(t, s) is a sum of floating-point products: above 1 / l by less than this is rounding.
TOLERANCE = 1e-9
DIVERSITY = "l-diverse-buckets"
PRESERVED = "columns-preserved"
BROKEN = "links-broken"
# Up to so many rows p(t, s) is computed even where its bound suffices.
EXACT_ROWS = 2_000_000
# Up to so many rows, times the number of slices squared, links of every two slices are tested.
ALL_PAIRS = 20_000_000
# So many deviations above what chance gives, rows are not permuted.
DEVIATIONS = 6


def verify_buckets(
    published: BucketTable,
    schema: Schema,
    *,
    l: int | None,
    size: int = 1,
    original: Any = None,
    model: Model | None = None,
) -> Certificate:
    """Return what a release in buckets achieves: `l` for every sensitive attribute, and `size` rows in every bucket.

    `schema` gives the roles in the original. The achieved p is the largest p(t, s) over the original's tuples; without
    the original, or of more than two million rows where that suffices, it is the bound. `model` is checked as well, on
    the rows of a bucket that agree on what is known of a tuple; models of class sizes alone look at whole buckets.
    """
    original = None if original is None else open_table(original).data
    rows = plain(published, schema)
    # Anatomy shows the tuples themselves.
    codes = coded(rows, rows.table if original is None and published.form == "tables" else original)
    sizes = codes.sizes
    verdicts = (
        *_sizes(int(sizes.min()), size),
        *_diversity(rows, schema, codes, l=l, public=original is None),
        *_models(rows, schema, model=model, original=original),
        *(() if original is None else _compared(rows, schema, codes, form=published.form)),
    )
    if not verdicts:
        raise ParameterError(
            "there is nothing to check: no l, no size, no model and no original",
            hint="say what was promised, such as slicing:size=10, or give the original",
        )
    return Certificate(
        version=indistinct.__version__,
        verdicts=verdicts,
        rows=rows.table.num_rows,
        classes=len(sizes),
        smallest_class=int(sizes.min()),
        original_rows=None if original is None else original.num_rows,
        suppressed_rows=None if original is None else original.num_rows - rows.table.num_rows,
        quasi_identifiers=tuple(schema.quasi),
        form=published.form,
        columns=published.slices,
        generalized=published.generalized,
        warnings=_uncompared(published, original, verdicts),
    )


def _compared(published: BucketTable, schema: Schema, codes: Coded, *, form: str) -> list[Verdict]:
    """Return what only the original shows; generalized values cannot be compared with it."""
    verdicts = [_preserved(published, codes)]
    # Only one table has rows: those of two tables, or of multisets, stand beside each other by our own choice.
    if form == "sliced" and not published.generalized:
        verdicts += _broken(published, schema, codes)
    return verdicts


def _uncompared(published: BucketTable, original: pa.Table | None, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    if original is None or published.form != "sliced":
        return ()
    if published.generalized:
        names = ", ".join(map(repr, published.generalized))
        return (f"generalized values, of {names}, were not compared with the original: links were not tested",)
    if not any(verdict.model == BROKEN for verdict in verdicts):
        return (
            "there are too few rows, or too few different values, to tell whether links are broken: chance could have "
            "left them all",
        )
    return ()


def _models(published: BucketTable, schema: Schema, *, model: Model | None, original: pa.Table | None) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for part in model.parts() if model is not None else ():
        names = {name for key in part.keys for name in key}
        partners = [
            name
            for slice_ in published.slices
            if names & set(slice_) and not part.traits.sizes_only
            for name in slice_
            if name not in schema.sensitive
        ]
        classes = Schema(quasi=[BUCKET, *partners])
        (verdict,) = verify_table(published.table, classes, model=part, original=original).verdicts
        verdicts.append(replace(verdict, model=f"{verdict.model} of buckets"))
    return verdicts


def _sizes(smallest: int, size: int) -> list[Verdict]:
    if size < 2:
        return []
    found = {"size": smallest}
    return [Verdict(f"bucket-size:size={size}", smallest >= size, found, violating_classes=0, violating_rows=0)]


def _diversity(published: BucketTable, schema: Schema, codes: Coded, *, l: int | None, public: bool) -> list[Verdict]:
    """Return the verdict on every sensitive attribute, one after the other."""
    if l is None:
        return []
    if not schema.sensitive:
        raise SchemaError(
            "l-diversity speaks of sensitive columns, but the schema names none",
            hint="give the roles that the columns had when the release was made",
        )
    homes = {name: next(j for j, names in enumerate(published.slices) if name in names) for name in schema.sensitive}
    entries = {place: _entries(published, schema, codes, place) for place in dict.fromkeys(homes.values())}
    bounds = {name: bound_of(entries[home], name, l=l) for name, home in homes.items()}
    wanted = len(codes.buckets) <= EXACT_ROWS or any(bound.broken_groups for bound in bounds.values())
    tuples, weights, every = None, None, list(entries.values())
    if wanted and codes.rows:
        whole = [codes.joined(_known(names, schema))[1] for names in published.slices]
        found = [column for column in whole if column is not None]
        if len(found) == len(whole):
            tuples, weights = _distinct(found)
            every = [_entries(published, schema, codes, place) for place in range(len(published.slices))]
    verdicts = []
    for name, bound in bounds.items():
        linked = None if tuples is None else link(every, tuples, home=homes[name], name=name)
        spelled = f"{DIVERSITY}:sensitive={name},l={l}"
        verdicts.append(_verdict(spelled, bound, linked, l=l, weights=weights, public=public))
    return verdicts


def _known(names: Sequence[str], schema: Schema) -> list[str]:
    return [name for name in names if name not in schema.sensitive]


def _entries(published: BucketTable, schema: Schema, codes: Coded, place: int) -> Entries:
    names = published.slices[place]
    hidden = {name: codes.published[name].codes for name in names if name in schema.sensitive}
    ones = np.ones(len(codes.buckets), dtype=np.uint8)
    return Entries(codes.buckets, codes.joined(_known(names, schema))[0], ones, hidden)


def _verdict(
    model: str, bound: Bound, linked: Linked | None, *, l: int, weights: Codes | None, public: bool
) -> Verdict:
    """Return what holds for one sensitive attribute: by the bound if that suffices, else for the original's tuples."""
    shown = bound.broken_groups == 0
    strongest, broken = bound.share, (bound.broken_groups, bound.broken_rows)
    if linked is not None and weights is not None:
        # Of a tuple that is nowhere in the release nothing better than the bound is known.
        found = np.where(linked.matches > 0, linked.strongest, bound.share)
        strongest = float(found.max(initial=0.0))
        exceeding = found > (1 + TOLERANCE) / l
        broken = int(exceeding.sum()), int(weights[exceeding].sum())
    return Verdict(
        model=model,
        holds=shown or broken[0] == 0,
        achieved={"l": int((1 + TOLERANCE) / strongest) if strongest else 0, "p": round(strongest, 12)},
        violating_classes=0 if shown else broken[0],
        violating_rows=0 if shown else broken[1],
        needs_original=not shown and not public,
    )


def _distinct(columns: list[Codes]) -> tuple[Codes, Codes]:
    """Return distinct rows of codes and how often each occurs."""
    grouping = group_rows(columns, [int(column.max()) + 1 for column in columns])
    return np.stack([column[grouping.first] for column in columns], axis=1), grouping.counts


def _preserved(published: BucketTable, codes: Coded) -> Verdict:
    """Return whether every slice holds exactly the rows of the original, as far as its values are not generalized."""
    changed = 0
    for slice_ in published.slices:
        names = [name for name in slice_ if name not in published.generalized]
        if not names or codes.alike(names):
            continue
        shown, whole = codes.joined(names)
        if whole is None:  # a value that the original does not have
            changed += len(shown)
            continue
        size = int(max(shown.max(), whole.max())) + 1
        changed += int(np.abs(np.bincount(shown, minlength=size) - np.bincount(whole, minlength=size)).sum())
    return Verdict(PRESERVED, changed == 0, {}, violating_classes=0, violating_rows=changed, needs_original=True)


def _broken(published: BucketTable, schema: Schema, codes: Coded) -> list[Verdict]:
    """Return whether published rows stand in the original no more often than permutations leave them by chance.

    Whole rows are looked at, every slice with a sensitive attribute beside each other slice and, up to a limit of rows
    and slices, every other two. An unpermuted table has all its rows in the original; where chance alone could leave so
    many, nothing is said. The numbers stay here: they would tell how many rows are true ones.
    """
    pairs = [codes.joined(names) for names in published.slices]
    places = range(len(pairs))
    homes = [j for j in places if set(published.slices[j]) & set(schema.sensitive)] or [0]
    if len(codes.buckets) * len(pairs) ** 2 <= ALL_PAIRS:
        homes = list(places)
    pairwise = [tuple(sorted((home, other))) for home in homes for other in places if other != home]
    chosen = [tuple(places), *pairwise]
    found = [_chance([pairs[place] for place in some], codes.buckets) for some in dict.fromkeys(chosen)]
    told = [verdict for verdict in found if verdict is not None]
    if not told:
        return []
    return [Verdict(BROKEN, all(told), {}, violating_classes=0, violating_rows=0, needs_original=True)]


def _chance(pairs: Sequence[tuple[Codes, Codes | None]], buckets: Codes) -> bool | None:
    """Return whether rows of some slices are true ones by chance alone; None if chance could make all of them true."""
    shown, whole = [pair[0] for pair in pairs], [pair[1] for pair in pairs if pair[1] is not None]
    if len(whole) < len(pairs):
        return False
    tuples, _ = _distinct(whole)
    both = [np.concatenate([mine, theirs]) for mine, theirs in zip(shown, tuples.T, strict=True)]
    joined = group_rows(both, [int(column.max()) + 1 for column in both])
    owners = np.repeat(np.arange(len(joined)), joined.counts)
    # Tuples are distinct: a group with one of them has, beside it, the published rows that equal it.
    true = np.bincount(owners, weights=joined.order >= len(buckets)) > 0
    found = int((joined.counts - 1)[true].sum())
    ones, nothing = np.ones(len(buckets), dtype=np.uint8), np.zeros(len(buckets), dtype=np.uint8)
    entries = [Entries(buckets, column, ones, {BROKEN: nothing}) for column in shown]
    expected = float(link(entries, tuples, home=0, name=BROKEN).expected.sum())
    allowed = expected + DEVIATIONS * math.sqrt(2 * expected) + DEVIATIONS
    return None if allowed >= len(buckets) else found <= allowed
