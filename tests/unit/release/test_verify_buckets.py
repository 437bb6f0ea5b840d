"""Verification of releases in buckets: it equals the slow reference, and no tampering gets past it."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.errors import InputError, SchemaError, VerificationError
from indistinct.frequencies.slices import KNOWN, Slice
from indistinct.models import LDiverseLinks
from indistinct.models.link_probability import bound_of, link
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.release.opening import BucketTable
from indistinct.testing import bucket_reference as reference
from references.publishing import bucket_table

quick = settings(max_examples=80, deadline=None)
NAMES = ["age", "sex", "zip", "disease"]
TABLE = pa.table(
    {
        "age": [22, 22, 33, 52, 54, 60, 60, 64],
        "sex": list("MFFFMMMF"),
        "zip": [47906, 47906, 47905, 47905, 47302, 47302, 47304, 47304],
        "disease": ["dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia", "gastritis"],
    }
)
SCHEMA = ind.Schema(quasi=["age", "sex", "zip"], sensitive=["disease"])
SLICES = (("age", "sex"), ("zip", "disease"))
WHOLE = (("age", "sex", "zip"), ("disease",))
ALGORITHMS = [
    "slicing:l=2,columns=age+sex|zip+disease",
    "slicing:l=2,columns=each",
    "slicing:l=1,generalize=2,columns=age+sex|zip+disease",
    "anatomy:l=2",
    "anatomy:l=2,form=permuted",
    "multiset:l=2",
]


def verdicts_of(certificate, name):
    return [verdict for verdict in certificate.verdicts if verdict.model.startswith(name)]


def verdict_of(certificate, name):
    (verdict,) = verdicts_of(certificate, name)
    return verdict


def bound(shown, name):
    """Return the largest share of a value among entries of a bucket that agree."""
    home = next(place for place, names in enumerate(shown.slices) if name in names)
    return max(
        share
        for bucket in shown.buckets
        for entry in bucket[home]
        for share in shown.distribution(entry, bucket, name).values()
    )


@st.composite
def published_tables(draw):
    """Return any table in any buckets, its slices, and an original with the same values."""
    sensitive = ["s", "z"][: draw(st.integers(1, 2))]
    names = [*["a", "b", "c"][: draw(st.integers(1, 3))], *sensitive]
    size = draw(st.integers(1, 10))
    vectors = st.tuples(*[st.integers(0, 2)] * len(names))
    original = draw(st.lists(vectors, min_size=size, max_size=12))
    shown = draw(st.lists(st.sampled_from(original), min_size=size, max_size=size))
    kept = shown if draw(st.booleans()) else original
    homes = draw(st.lists(st.integers(0, 2), min_size=len(names), max_size=len(names)))
    slices = [[name for name, home in zip(names, homes, strict=True) if home == place] for place in sorted(set(homes))]
    buckets = draw(st.lists(st.integers(1, 3), min_size=len(kept), max_size=len(kept)))
    rows = [{"bucket": b, **dict(zip(names, row, strict=True))} for b, row in zip(buckets, kept, strict=True)]
    return rows, slices, sensitive, [dict(zip(names, row, strict=True)) for row in original]


@quick
@given(published_tables(), st.integers(1, 4))
def test_verdicts_equal_the_reference(data, l):
    rows, slices, sensitive, original = data
    schema = ind.Schema(quasi=[name for name in original[0] if name not in sensitive], sensitive=sensitive)
    shown = reference.read_sliced(rows, slices=slices, sensitive=sensitive)
    table = BucketTable(pa.Table.from_pylist(rows), tuple(map(tuple, slices)))
    alone = ind.verify(table, schema, LDiverseLinks(l))
    beside = ind.verify(table, schema, LDiverseLinks(l), original=pa.Table.from_pylist(original))
    pairs = zip(verdicts_of(alone, "l-diverse"), verdicts_of(beside, "l-diverse"), sensitive, strict=True)
    for without, verdict, name in pairs:
        # Of a tuple that matches no bucket nothing better than the bound is known.
        linked = [max(shown.probabilities(t, name).values(), default=bound(shown, name)) for t in original]
        exceeding = [t for t, p in zip(original, linked, strict=True) if p * l > 1]
        assert verdict.achieved["p"] == pytest.approx(float(max(linked)))
        assert verdict.holds == (not exceeding)
        assert verdict.violating_rows == len(exceeding)
        assert verdict.violating_classes == len(shown.distinct(exceeding))
        assert verdict.achieved["l"] == (int(1 / max(linked)) if max(linked) else 0)
        assert verdict.needs_original == (bound(shown, name) * l > 1)
        assert without.achieved["p"] == pytest.approx(float(bound(shown, name)))
        assert without.holds == (bound(shown, name) * l <= 1)
        assert not without.needs_original
    counts = [[Counter(tuple(row[n] for n in names) for row in some) for names in slices] for some in (rows, original)]
    assert verdict_of(beside, "columns-preserved").holds == (counts[0] == counts[1])
    assert not verdicts_of(alone, "columns-preserved")


@quick
@given(st.data())
def test_linking_equals_the_reference(data):
    size, slices = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 3))
    column = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    buckets, known, values = data.draw(column), [data.draw(column) for _ in range(slices)], data.draw(column)
    home, l = data.draw(st.integers(0, slices - 1)), data.draw(st.integers(1, 4))
    tuples = data.draw(st.lists(st.tuples(*[st.integers(-1, 4)] * slices), min_size=1, max_size=6))
    entries = []
    for place in range(slices):
        hidden = values if place == home else [0] * size
        counted = Counter(zip(buckets, known[place], hidden, strict=True))
        counted = [(key, 1) for key in counted.elements()] if data.draw(st.booleans()) else list(counted.items())
        columns = [np.array(part) for part in zip(*(key for key, _ in counted), strict=True)]
        sensitive = {"s": columns[2]} if place == home else {}
        counts = np.array([count for _, count in counted])
        entries.append(Slice(columns[0], {KNOWN: columns[1], **sensitive}, counts))
    rows = [
        {"bucket": b, **{f"k{j}": known[j][i] for j in range(slices)}, "s": values[i]} for i, b in enumerate(buckets)
    ]
    names = [[f"k{j}", *(["s"] if j == home else [])] for j in range(slices)]
    shown = reference.read_sliced(rows, slices=names, sensitive=["s"])
    linked = link(entries, np.array(tuples), home=home, name="s")
    for place, codes in enumerate(tuples):
        t = {f"k{j}": code for j, code in enumerate(codes)}
        strongest = max(shown.probabilities(t, "s").values(), default=Fraction(0))
        assert linked.strongest[place] == pytest.approx(float(strongest))
        assert linked.matches[place] == shown.matches(t)
        expected = sum(len(bucket[0]) * shown.weight(t, bucket) for bucket in shown.buckets)
        assert linked.expected[place] == pytest.approx(float(expected))
    found = bound_of(entries[home], "s", l=l)
    assert Fraction(found.count, found.rows) == bound(shown, "s")
    groups = {(row["bucket"], row[f"k{home}"]) for row in rows}
    inside = {group: Counter(r["s"] for r in rows if (r["bucket"], r[f"k{home}"]) == group) for group in groups}
    broken = [count.total() for count in inside.values() if max(count.values()) * l > count.total()]
    assert (found.broken_groups, found.broken_rows) == (len(broken), sum(broken))


def test_the_original_is_needed_exactly_where_the_bound_does_not_show_it():
    """Equal people in two buckets of one value each: who knows them still has two values to choose from."""
    rows = pa.table({"bucket": [1, 1, 2, 2], "age": [30] * 4, "disease": ["flu", "flu", "cold", "cold"]})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    published = BucketTable(rows, (("age",), ("disease",)))
    alone = verdict_of(ind.verify(published, schema, LDiverseLinks(2)), "l-diverse")
    assert (alone.holds, alone.needs_original, alone.achieved["p"]) == (False, False, 1)
    beside = verdict_of(
        ind.verify(published, schema, LDiverseLinks(2), original=rows.drop_columns("bucket")), "l-diverse"
    )
    assert (beside.holds, beside.needs_original, beside.achieved["p"]) == (True, True, 0.5)
    mixed = rows.set_column(2, "disease", pa.array(["flu", "cold", "flu", "cold"]))
    shown = ind.verify(
        BucketTable(mixed, published.slices), schema, LDiverseLinks(2), original=rows.drop_columns("bucket")
    )
    assert not verdict_of(shown, "l-diverse").needs_original


def test_very_many_columns_hide_nothing_from_the_check():
    rng = np.random.default_rng(5)
    known = {f"c{place}": rng.permutation(200) for place in range(70)}
    table = pa.table({**known, "disease": ["flu"] * 199 + ["cold"]})
    published = BucketTable(
        table.append_column("bucket", pa.array([1] * 200)), tuple((name,) for name in table.column_names)
    )
    schema = ind.Schema(quasi=list(known), sensitive=["disease"])
    verdict = verdict_of(ind.verify(published, schema, LDiverseLinks(2), original=table), "l-diverse")
    assert not verdict.holds
    assert verdict.achieved["p"] == pytest.approx(199 / 200)


def release_of(algorithm=ALGORITHMS[0], **options):
    return ind.anonymize(TABLE, SCHEMA, algorithm=algorithm, **options)


def checked(release, *, table=None, sensitive=None, l=2):
    """Verify a release again, with other tables in the place of its own."""
    return ind.verify(bucket_table(release, table=table, sensitive=sensitive), SCHEMA, LDiverseLinks(l), original=TABLE)


def with_column(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def test_sensitive_values_moved_to_another_bucket_are_caught():
    """Two values change places: every column is preserved, and three of four have flu in one bucket."""
    release = release_of("slicing:l=2,columns=whole")
    rows = release.table.to_pylist()
    young = next(row["bucket"] for row in rows if row["age"] == 22)
    flu = next(i for i, row in enumerate(rows) if row["bucket"] != young and row["disease"] == "flu")
    other = next(i for i, row in enumerate(rows) if row["bucket"] == young and row["disease"] == "bronchitis")
    diseases = [row["disease"] for row in rows]
    diseases[flu], diseases[other] = diseases[other], diseases[flu]
    certificate = checked(release, table=with_column(release.table, "disease", diseases))
    verdict = verdict_of(certificate, "l-diverse")
    assert (verdict.holds, verdict.achieved, verdict.violating_rows) == (False, {"l": 1, "p": 0.75}, 4)
    assert verdict_of(certificate, "columns-preserved").holds
    assert not certificate.holds


def test_a_row_that_is_missing_is_caught():
    release = release_of()
    verdict = verdict_of(checked(release, table=release.table.slice(1)), "columns-preserved")
    assert (verdict.holds, verdict.violating_rows, verdict.needs_original) == (False, 2, True)


@pytest.mark.parametrize(("name", "value"), [("age", 64), ("zip", 47905), ("sex", "M"), ("disease", "gastritis")])
def test_a_cell_that_has_changed_is_caught(name, value):
    release = release_of("slicing:l=1,columns=each,size=8")
    values = release.table[name].to_pylist()
    values[next(place for place, own in enumerate(values) if own != value)] = value
    certificate = checked(release, table=with_column(release.table, name, values), l=1)
    assert not verdict_of(certificate, "columns-preserved").holds
    assert not certificate.holds


@pytest.mark.parametrize(("name", "value"), [("age", 99), ("zip", 11111), ("sex", "X"), ("disease", "plague")])
def test_a_value_that_the_original_does_not_have_is_caught(name, value):
    release = release_of()
    values = release.table[name].to_pylist()
    certificate = checked(release, table=with_column(release.table, name, [value, *values[1:]]), l=1)
    assert not verdict_of(certificate, "columns-preserved").holds


def test_rows_that_were_not_permuted_are_caught():
    ages = pa.array(range(400))
    table = pa.table({"age": ages, "disease": [f"v{place}" for place in range(400)]})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm="slicing:l=2,size=10")
    assert verdict_of(release.certificate, "links-broken").holds
    buckets = [place // 10 for place in range(400)]
    published = BucketTable(table.append_column("bucket", pa.array(buckets)), (("age",), ("disease",)))
    certificate = ind.verify(published, schema, LDiverseLinks(2), original=table)
    assert not verdict_of(certificate, "links-broken").holds
    assert verdict_of(certificate, "l-diverse").holds


@pytest.mark.parametrize("name", ["bucket", "age", "disease"])
def test_a_missing_column_is_an_error(name):
    release = release_of()
    with pytest.raises(SchemaError, match=f"'{name}'"):
        checked(release, table=release.table.drop_columns(name))


@pytest.mark.parametrize("name", ["bucket", "disease", "count"])
def test_both_tables_of_anatomy_are_needed_whole(name):
    release = release_of("anatomy:l=2")
    with pytest.raises(InputError) as caught:
        checked(release, sensitive=release.others["sensitive"].drop_columns(name))
    assert "flu" not in str(caught.value)
    with pytest.raises(SchemaError, match="'disease'"):
        ind.verify(BucketTable(release.table, WHOLE, "tables"), SCHEMA, LDiverseLinks(2))


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("count", [2, 1, 1, 1, 1, 1, 1, 1]),
        ("count", [0] + [1] * 7),
        ("count", [-1] + [1] * 7),
        ("count", [None] + [1] * 7),
        ("count", [1.5] + [1.0] * 7),
        ("count", ["many"] * 8),
        ("bucket", [None] + [1] * 7),
        ("bucket", list("abcdefgh")),
        ("bucket", [9, 9, 1, 1, 2, 2, 3, 3]),
    ],
)
def test_a_table_of_sensitive_values_that_does_not_fit_is_an_error(name, cells):
    release = release_of("anatomy:l=2")
    with pytest.raises(InputError):
        checked(release, sensitive=with_column(release.others["sensitive"], name, cells))


def test_values_of_anatomy_moved_between_groups_are_caught():
    release = release_of("anatomy:l=2")
    sensitive = release.others["sensitive"]
    grouped = with_column(sensitive, "disease", sorted(sensitive["disease"].to_pylist()))
    certificate = checked(release, sensitive=grouped)
    assert not verdict_of(certificate, "l-diverse").holds
    assert verdict_of(certificate, "columns-preserved").holds


def test_slices_must_name_every_attribute():
    release = release_of()
    with pytest.raises(SchemaError, match="'zip'"):
        ind.verify(BucketTable(release.table, (("age", "sex"), ("disease",))), SCHEMA, LDiverseLinks(2))


def test_a_release_without_rows_is_an_error():
    with pytest.raises(InputError, match="no rows"):
        checked(release_of(), table=release_of().table.slice(0, 0))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_release_verifies_again_with_and_without_its_original(algorithm):
    release = release_of(algorithm)
    l = release.recoding.l
    again = checked(release, l=l)
    assert again.verdicts == release.certificate.verdicts
    public = ind.verify(bucket_table(release), SCHEMA, LDiverseLinks(l))
    assert public.holds
    assert not any(verdict.needs_original for verdict in public.verdicts)
    assert public.classes == release.certificate.classes


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_stored_recoding_is_equal_and_fits_the_same_table(algorithm):
    release = release_of(algorithm)
    stored = recoding_from_json(recoding_to_json(release.recoding))
    assert stored == release.recoding
    shuffled = TABLE.take(pa.array([3, 1, 7, 0, 2, 6, 5, 4]))
    for table in (TABLE, shuffled, TABLE.select(NAMES[::-1])):
        again = ind.apply(stored, table)
        assert again.certificate.holds
        assert again.certificate.classes == release.certificate.classes
        assert again.certificate.achieved == release.certificate.achieved


OTHERS = {
    "a row less": TABLE.slice(1),
    "a row more": pa.concat_tables([TABLE, TABLE.slice(0, 1)]),
    "an unknown age": with_column(TABLE, "age", [99, *TABLE["age"].to_pylist()[1:]]),
    "ages of each other": with_column(TABLE, "age", TABLE["age"].to_pylist()[::-1]),
    "diseases of each other": with_column(TABLE, "disease", TABLE["disease"].to_pylist()[::-1]),
    "fewer diseases": with_column(TABLE, "disease", ["flu", "dyspepsia"] * 4),
    "an unknown disease": with_column(TABLE, "disease", ["plague", *TABLE["disease"].to_pylist()[1:]]),
}


@pytest.mark.parametrize("other", list(OTHERS.values()), ids=OTHERS)
@pytest.mark.parametrize("algorithm", [ALGORITHMS[0], "anatomy:l=2"])
def test_a_recoding_into_buckets_fits_no_other_table(algorithm, other):
    release = release_of(algorithm)
    with pytest.raises(InputError) as caught:
        ind.apply(release.recoding, other)
    for value in ("99", "plague", "flu", "dyspepsia", "22"):
        assert value not in str(caught.value)


def test_a_recoding_with_a_declared_order_fits_its_own_table():
    order = {"sex": ind.Hierarchy.order(["M", "F"])}
    release = release_of(hierarchies=order)
    assert ind.apply(release.recoding, TABLE, hierarchies=order).certificate.holds


def test_a_release_that_breaks_its_promise_is_not_handed_out():
    release = release_of("anatomy:l=2")
    with pytest.raises(VerificationError, match="k-anonymity:k=5") as caught:
        ind.apply(release.recoding, TABLE, model="k-anonymity:k=5")
    assert not caught.value.details["certificate"].holds
