"""The bound of overlapping slicing by brute force: all ways in which the rows of a bucket may be put together.

Attributes are numbered, and columns are tuples of numbers; the sensitive attribute is the last one. A way gives each
row one entry of every column such that entries agree on the attributes that they share. All ways are equally likely.
"""

import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.errors import InputError, ParameterError, SchemaError
from indistinct.evaluation.assess.membership import membership_of
from indistinct.evaluation.attack.attack import target_of
from indistinct.evaluation.attack.crowd import original_crowd
from indistinct.evaluation.attack.matching import belief, groups_of, match
from indistinct.models import LDiverseLinks
from indistinct.recoding.validation import check_recoding
from indistinct.release.opening import BucketTable
from indistinct.testing.bucket_reference import read_sliced
from references.publishing import bucket_table

NAMES = ("x", "y", "z", "s")
SENSITIVE = 3
SCHEMA = ind.Schema(quasi=["x", "y", "z"], sensitive=["s"])


def ways(rows, columns):
    """Yield the rows of every way."""
    entries = [[tuple(row[attribute] for attribute in column) for row in rows] for column in columns]
    for orders in product(*(permutations(own) for own in entries[1:])):
        made = []
        for parts in zip(entries[0], *orders, strict=True):
            row = {}
            for column, part in zip(columns, parts, strict=True):
                if any(row.setdefault(a, value) != value for a, value in zip(column, part, strict=True)):
                    break
            else:
                made.append(tuple(row[attribute] for attribute in range(SENSITIVE + 1)))
                continue
            break
        else:
            yield made


def beliefs(rows, columns):
    """Return how likely each sensitive value is for each known tuple that some row has, over all ways.

    The attacker knows that a row of the bucket has the tuple: of each way, any row that shows it may be the person's.
    """
    weights = defaultdict(Counter)
    for made in ways(rows, columns):
        for *known, value in made:
            weights[tuple(known)][value] += 1
    return {
        known: {value: Fraction(count, sum(values.values())) for value, count in values.items()}
        for known, values in weights.items()
    }


def shares(rows, column):
    """Return the share of each sensitive value among the entries of its column that agree with a known tuple."""
    found = {}
    for known in {row[:SENSITIVE] for row in rows}:
        own = [row for row in rows if all(row[a] == known[a] for a in column if a != SENSITIVE)]
        values = Counter(row[SENSITIVE] for row in own)
        found[known] = {value: Fraction(count, len(own)) for value, count in values.items()}
    return found


few = st.integers(0, 1)
buckets = st.lists(st.tuples(few, few, few, st.sampled_from("abc")), min_size=2, max_size=4)
layouts = st.sampled_from(
    [
        ((0, 1), (1, 2), (2, 3)),
        ((0, 1), (0, 2), (0, 3)),
        ((0, 1), (1, 2), (1, 2, 3)),
        ((0, 1, 2), (0, 1), (3,)),
        ((0, 1), (1, 2, 3)),
    ]
)


@settings(deadline=None, max_examples=40)
@given(buckets, layouts)
def test_known_attributes_in_several_columns_leave_the_bound_as_it_was(rows, columns):
    (sensitive,) = [column for column in columns if SENSITIVE in column]
    expected = shares(rows, sensitive)
    found = beliefs(rows, columns)
    for known, wanted in expected.items():
        assert found[known] == wanted


@settings(deadline=None, max_examples=40)
@given(buckets, layouts)
def test_the_most_frequent_value_of_an_entry_bounds_what_is_believed(rows, columns):
    (sensitive,) = [column for column in columns if SENSITIVE in column]
    bound = max(share for values in shares(rows, sensitive).values() for share in values.values())
    assert max(share for values in beliefs(rows, columns).values() for share in values.values()) == bound


def test_a_sensitive_attribute_in_two_columns_may_be_certain():
    rows = [(0, 0, 0, "a"), (0, 0, 1, "b"), (1, 0, 0, "c"), (1, 0, 1, "d")]
    columns = ((0, 3), (2, 3), (1,))
    for column in columns[:2]:
        assert {share for values in shares(rows, column).values() for share in values.values()} == {Fraction(1, 2)}
    assert beliefs(rows, columns)[0, 0, 0] == {"a": 1}


@pytest.mark.parametrize("columns", [((0, 1), (2, 3)), ((0, 1, 2), (3,))])
def test_plain_slicing_is_the_case_without_shared_attributes(columns):
    rows = [(0, 0, 0, "a"), (0, 1, 0, "b"), (1, 0, 1, "a"), (1, 1, 1, "c")]
    (sensitive,) = [column for column in columns if SENSITIVE in column]
    found = beliefs(rows, columns)
    assert all(found[known] == wanted for known, wanted in shares(rows, sensitive).items())


trees = st.sampled_from(
    [
        ((0, 1), (1, 2), (2, 3)),
        ((0, 1), (0, 2), (0, 3)),
        ((2, 3), (0, 1), (1, 2)),
        ((0, 1), (0, 2, 3)),
        ((0, 1, 2), (2, 3)),
    ]
)
several = st.lists(buckets, min_size=1, max_size=3)


def table_of(rows_by_bucket):
    """Return rows of buckets as a table with a bucket column."""
    rows = [
        {"bucket": number, **dict(zip(NAMES, row, strict=True))}
        for number, rows in enumerate(rows_by_bucket)
        for row in rows
    ]
    return pa.Table.from_pylist(rows)


def named(columns):
    return tuple(tuple(NAMES[a] for a in column) for column in columns)


def opened(rows_by_bucket, columns):
    return BucketTable(table_of(rows_by_bucket), named(columns))


def expected_rows(rows, columns):
    """Return how many rows of a bucket have each known tuple, on average over all ways."""
    counts, number = Counter(), 0
    for made in ways(rows, columns):
        counts.update(row[:SENSITIVE] for row in made)
        number += 1
    return {known: Fraction(count, number) for known, count in counts.items()}


def linked_by_ways(rows_by_bucket, columns, known):
    """Return p(t, s) by definition: the weight of a bucket is the share of its rows that have the tuple on average."""
    (home,) = [column for column in columns if SENSITIVE in column]
    total, values = Fraction(0), Counter()
    for rows in rows_by_bucket:
        weight = expected_rows(rows, columns).get(known, Fraction(0)) / len(rows)
        own = [row for row in rows if all(row[a] == known[a] for a in home if a != SENSITIVE)]
        total += weight
        for value, count in Counter(row[SENSITIVE] for row in own).items() if weight else ():
            values[value] += weight * Fraction(count, len(own))
    return {value: share / total for value, share in values.items()}


@settings(deadline=None, max_examples=30)
@given(several, trees)
def test_verdicts_are_those_of_all_ways(rows_by_bucket, columns):
    original = pa.Table.from_pylist(table_of(rows_by_bucket).drop_columns(["bucket"]).to_pylist())
    tuples = {row[:SENSITIVE] for rows in rows_by_bucket for row in rows}
    wanted = max(max(linked_by_ways(rows_by_bucket, columns, known).values()) for known in tuples)
    found = ind.verify(opened(rows_by_bucket, columns), SCHEMA, LDiverseLinks(2), original=original)
    verdict = next(each for each in found.verdicts if each.model.startswith("l-diverse"))
    assert verdict.achieved["p"] == pytest.approx(float(wanted))
    assert verdict.holds == (2 * wanted <= 1)


def test_the_verifier_weighs_buckets_by_what_columns_share():
    """Without the shared attribute p would be 3/5 here."""
    rows_by_bucket = [
        [(1, 0, 0, "c"), (0, 0, 0, "b"), (0, 1, 0, "a"), (0, 0, 1, "a")],
        [(1, 0, 0, "b"), (0, 0, 0, "b"), (0, 0, 1, "c"), (0, 1, 1, "b")],
    ]
    columns = ((0, 1), (1, 2), (2, 3))
    tuples = {row[:SENSITIVE] for rows in rows_by_bucket for row in rows}
    assert max(max(linked_by_ways(rows_by_bucket, columns, known).values()) for known in tuples) == Fraction(2, 3)
    original = table_of(rows_by_bucket).drop_columns(["bucket"])
    found = ind.verify(opened(rows_by_bucket, columns), SCHEMA, LDiverseLinks(1), original=original)
    verdict = next(each for each in found.verdicts if each.model.startswith("l-diverse"))
    assert verdict.achieved["p"] == pytest.approx(2 / 3)


@settings(deadline=None, max_examples=30)
@given(several, trees)
def test_the_reference_weighs_buckets_as_all_ways_do(rows_by_bucket, columns):
    assume(columns[0] != (2, 3))  # the reference takes columns in an order in which they are joined
    shown = read_sliced(table_of(rows_by_bucket).to_pylist(), slices=named(columns), sensitive=["s"])
    for known in {row[:SENSITIVE] for rows in rows_by_bucket for row in rows}:
        t = dict(zip(NAMES, known, strict=False))
        for rows, bucket in zip(rows_by_bucket, shown.buckets, strict=True):
            assert shown.weight(t, bucket) == expected_rows(rows, columns).get(known, 0) / len(rows)


@settings(deadline=None, max_examples=30)
@given(several, trees)
def test_candidates_are_the_tuples_of_some_way(rows_by_bucket, columns):
    table = table_of(rows_by_bucket)
    possible = [{row for made in ways(rows, columns) for row in made} for rows in rows_by_bucket]
    known = [{row[:SENSITIVE] for row in rows} for rows in possible]
    given_table = opened(rows_by_bucket, columns)
    for quasi_only, wanted in ((False, possible), (True, known)):
        found = membership_of(given_table, SCHEMA, original=table.drop_columns(["bucket"]), quasi_only=quasi_only)
        everything = set().union(*wanted)
        true = {row if not quasi_only else row[:SENSITIVE] for rows in rows_by_bucket for row in rows}
        assert (found.candidates, found.fake) == (len(everything), len(everything - true))
        assert found.unique_original == sum(sum(row in some for some in wanted) == 1 for row in true)


CONDITIONS = {
    "x = 1 AND y = 0": lambda row: row[0] == 1 and row[1] == 0,
    "x = 1 AND z = 0": lambda row: row[0] == 1 and row[2] == 0,
    "y = 1": lambda row: row[1] == 1,
    "x = 0 AND y = 1 AND s = 'a'": lambda row: row[0] == 0 and row[1] == 1 and row[3] == "a",
    "z = 1 AND s IN ('a', 'b')": lambda row: row[2] == 1 and row[3] in "ab",
    "x = 0 OR s = 'c'": lambda row: row[0] == 0 or row[3] == "c",
}


@settings(deadline=None, max_examples=30)
@given(several, trees, st.sampled_from(sorted(CONDITIONS)))
def test_counts_are_the_mean_of_all_ways_and_bounds_hold_in_each(rows_by_bucket, columns, condition):
    meant = CONDITIONS[condition]
    counts = [[sum(map(meant, made)) for made in ways(rows, columns)] for rows in rows_by_bucket]
    found = ind.query(opened(rows_by_bucket, columns), f"SELECT COUNT(*) WHERE {condition}", SCHEMA)
    assert found.value == pytest.approx(sum(np.mean(each) for each in counts))
    assert found.low <= sum(map(min, counts)) <= sum(map(max, counts)) <= found.high
    if any(set(condition) & set("xyzs") - {"s"} <= set(names) for names in named(columns)) and "s" not in condition:
        assert found.low == found.high  # one column has the whole condition


@settings(deadline=None, max_examples=40)
@given(several, trees)
def test_means_of_groups_are_those_of_all_ways(rows_by_bucket, columns):
    found = ind.query(opened(rows_by_bucket, columns), "SELECT SUM(x) WHERE z = 1", SCHEMA)
    wanted = [np.mean([sum(row[0] for row in made if row[2] == 1) for made in ways(rows, columns)]) for rows in rows_by_bucket]  # fmt: skip  # noqa: E501
    assert (found.value or 0) == pytest.approx(sum(wanted))


ROWS = [(0, 0, 0, "a"), (0, 1, 0, "b"), (1, 0, 1, "c"), (1, 0, 0, "a"), (1, 1, 1, "b")]


@pytest.mark.parametrize("columns", ["x+y|y+z|z+s", "x+y|x+z|x+s", "z+s|x+y|y+z"])
def test_each_way_is_published_as_often_as_another(columns):
    """Draw many releases of one bucket: rows form each multiset of rows as often as ways form it."""
    layout = tuple(tuple(NAMES.index(name) for name in part.split("+")) for part in columns.split("|"))
    table = pa.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in ROWS])
    wanted = Counter(tuple(sorted(made)) for made in ways(ROWS, layout))
    total, draws = sum(wanted.values()), 600
    algorithm = ind.Slicing(l=1, columns=columns, overlap=1, size=len(ROWS))
    found = Counter()
    for _ in range(draws):
        release = ind.anonymize(table, SCHEMA, algorithm=algorithm)
        found[tuple(sorted(tuple(row[name] for name in NAMES) for row in release.table.to_pylist()))] += 1
    assert set(found) <= set(wanted)
    for made, count in wanted.items():
        share = count / total
        assert abs(found[made] - draws * share) <= 6 * math.sqrt(draws * share * (1 - share)) + 1


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(few, few, few, st.sampled_from("abcd")), min_size=4, max_size=9), st.data())
def test_no_release_links_a_tuple_too_strongly_in_any_way(rows, data):
    """What the algorithm publishes, judged by all ways of its buckets."""
    columns = data.draw(st.sampled_from(["x+y|y+z|z+s", "x+y|x+z|s", "x+y|y+z+s"]))
    assume(2 * max(Counter(row[SENSITIVE] for row in rows).values()) <= len(rows))
    table = pa.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in rows])
    try:
        release = ind.anonymize(
            table, SCHEMA, algorithm=ind.Slicing(l=2, columns=columns, overlap=1, try_all_dims=True)
        )
    except ind.InfeasibleError:
        return
    layout = tuple(tuple(NAMES.index(name) for name in part.split("+")) for part in columns.split("|"))
    by_bucket = defaultdict(list)
    for row in release.table.to_pylist():
        by_bucket[row["bucket"]].append(tuple(row[name] for name in NAMES))
    assume(max(map(len, by_bucket.values())) <= 5)
    for known in {row[:SENSITIVE] for row in rows}:
        assert max(linked_by_ways(list(by_bucket.values()), layout, known).values()) * 2 <= 1
    assert ind.verify(bucket_table(release), SCHEMA, LDiverseLinks(2), original=table).holds


@settings(deadline=None, max_examples=30)
@given(several, st.sampled_from([((0, 1), (1, 2), (2, 3)), ((0, 1), (1, 2, 3))]))
def test_analyzed_tables_are_the_mean_of_all_ways(rows_by_bucket, columns):
    """Two columns whose slices have one in common; those connected by others alone are refused."""
    given_table, table = opened(rows_by_bucket, columns), table_of(rows_by_bucket).drop_columns(["bucket"])
    texts = pa.table({name: table[name].cast(pa.string()) for name in NAMES})
    shown = BucketTable(texts.add_column(0, "bucket", given_table.table["bucket"]), given_table.slices)
    (found,) = ind.analyze(shown, tables="x, z", original=texts, schema=SCHEMA).analyses
    total = sum(map(len, rows_by_bucket))
    assert found.terms
    for term in found.terms:
        x, z = (int(part.split("=")[1]) for part in term.name.split(", "))
        each = [np.mean([sum((r[0], r[2]) == (x, z) for r in made) for made in ways(rows, columns)]) for rows in rows_by_bucket]  # fmt: skip  # noqa: E501
        assert 0.0 if term.after is None else term.after.estimate * total == pytest.approx(sum(each))


@settings(deadline=None, max_examples=20)
@given(several, trees)
def test_an_attacker_believes_what_all_ways_say(rows_by_bucket, columns):
    table = table_of(rows_by_bucket).drop_columns(["bucket"])
    target = target_of(opened(rows_by_bucket, columns), SCHEMA, original=table)
    crowd, groups = original_crowd(target), groups_of(target, "s")
    texts = sorted(set(table["s"].to_pylist()))
    known = belief(groups, match(groups, crowd), size=len(texts))
    for row, each in enumerate(row for rows in rows_by_bucket for row in rows):
        wanted = linked_by_ways(rows_by_bucket, columns, each[:SENSITIVE])
        vector = known.vector_of_row[row]
        entries = slice(known.indptr[vector], known.indptr[vector + 1])
        pairs = zip(known.codes[entries].tolist(), known.shares[entries].tolist(), strict=True)
        assert {texts[code]: share for code, share in pairs} == pytest.approx(
            {value: float(share) for value, share in wanted.items()}
        )


def test_columns_that_others_connect_are_not_taken_for_independent():
    rows, columns = [(0, 0, 0, "a"), (1, 1, 1, "b"), (1, 0, 0, "b")], ((0, 1), (1, 2), (2, 3))
    table = pa.table({name: values.cast(pa.string()) for name, values in zip(NAMES, table_of([rows]).drop_columns(["bucket"]), strict=True)})  # fmt: skip  # noqa: E501
    shown = BucketTable(table.add_column(0, "bucket", pa.array([1, 1, 1])), named(columns))
    with pytest.raises(ParameterError, match="cannot be taken for independent"):
        ind.analyze(shown, tables="x, s", original=table, schema=SCHEMA)


TAMPERED = pa.table(
    {
        "bucket": [1 + (row % 200) // 100 for row in range(400)],
        "age": [row % 37 for row in range(400)],
        "sex": ["mf"[row % 3 == 0] for row in range(400)],
        "zip": [row % 10 for row in range(400)],
        "ill": [f"d{row % 7}" for row in range(400)],
    }
)
ROLES = ind.Schema(quasi=["age", "sex", "zip"], sensitive=["ill"])
SHARING = (("age", "sex"), ("sex", "zip"), ("zip", "ill"))


def verdicts_on(table, slices=SHARING):
    original = TAMPERED.drop_columns(["bucket"])
    found = ind.verify(BucketTable(table, slices), ROLES, LDiverseLinks(1), original=original)
    return {each.model: each.holds for each in found.verdicts}


def test_rows_that_were_not_permuted_are_found():
    assert verdicts_on(TAMPERED)["links-broken"] is False


def test_one_slice_that_was_not_permuted_is_found():
    """The sensitive slice is right beside its own zip codes, but ages stand in their own rows."""
    released = ind.anonymize(
        TAMPERED.drop_columns(["bucket"]),
        ROLES,
        algorithm=ind.Slicing(l=2, columns="age+sex|sex+zip|zip+ill", overlap=1, size=400),
    ).table
    assert verdicts_on(released)["links-broken"] is True
    by_zip = pa.Table.from_pylist(sorted(TAMPERED.to_pylist(), key=lambda row: row["zip"]))
    shown = released.sort_by("zip")
    broken = by_zip.set_column(by_zip.column_names.index("ill"), "ill", shown["ill"].cast(pa.string()))
    told = verdicts_on(broken.set_column(0, "bucket", shown["bucket"]))
    assert told["columns-preserved"] is True
    assert told["links-broken"] is False


def test_values_that_no_column_has_together_are_found():
    turned = TAMPERED["sex"].to_pylist()
    changed = TAMPERED.set_column(2, "sex", pa.array(turned[1:] + turned[:1]))
    assert verdicts_on(changed)["columns-preserved"] is False


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ((("age", "ill"), ("sex", "ill"), ("zip",)), "a sensitive attribute is in one column"),
        ((("age", "sex"), ("sex", "zip"), ("zip", "age"), ("ill",)), "form a circle"),
        ((("age", "sex"), ("sex",), ("zip", "ill")), "are in another column"),
        ((("age", "sex", "sex"), ("zip", "ill")), "names each of its attributes once"),
    ],
)
def test_columns_that_guarantee_nothing_are_refused_by_search_verification_and_files(slices, message):
    with pytest.raises(SchemaError, match=message):
        verdicts_on(TAMPERED, slices)
    table = TAMPERED.drop_columns(["bucket"])
    with pytest.raises(ParameterError, match=message):
        ind.anonymize(table, ROLES, algorithm=ind.Slicing(l=2, columns=slices, overlap=2))
    recoding = ind.anonymize(table, ROLES, algorithm=ind.Slicing(l=2, columns=SHARING, overlap=1)).recoding
    with pytest.raises(InputError):
        check_recoding(replace(recoding, slices=slices))
    check_recoding(recoding)


def test_columns_share_no_more_than_was_allowed():
    table = TAMPERED.drop_columns(["bucket"])
    for columns, most in (("age+sex+zip|sex+zip+ill", 1), ("age+sex|sex+zip|zip+ill", 0)):
        with pytest.raises(ParameterError, match="overlap"):
            ind.anonymize(table, ROLES, algorithm=ind.Slicing(l=2, columns=columns, overlap=most))
    for overlap in ({"generalize": 2}, {"columns": "each"}, {"columns": "whole"}):
        with pytest.raises(ParameterError, match="overlap"):
            ind.Slicing(l=2, overlap=1, **overlap)


def test_a_shared_attribute_that_tells_rows_apart_is_warned_of():
    """Sharing a key joins both columns again; the sensitive value stays apart."""
    table = TAMPERED.drop_columns(["bucket"]).append_column("key", pa.array(range(400)))
    roles = ind.Schema(quasi=["age", "sex", "zip", "key"], sensitive=["ill"])
    told = {}
    for columns in ("age+key|key+sex|zip|ill", "age+sex|sex+key|zip|ill"):
        release = ind.anonymize(table, roles, algorithm=ind.Slicing(l=2, columns=columns, overlap=1, size=400))
        told[columns] = " ".join(release.certificate.warnings)
        assert release.certificate.holds
    keyed, fine = told.values()
    assert "400 rows with a value of 'key' like no other in their bucket" in keyed
    assert "like no other in their bucket" not in fine
    found = ind.anonymize(table, roles, algorithm=ind.Slicing(l=2, overlap=2, size=400)).buckets.slices
    assert sum("key" in names for names in found) == 1
    assert sum("zip" in names for names in found) + sum("sex" in names for names in found) > 2
