"""Laws of anatomy and slicing on random tables: what is published keeps every promise, and fast equals slow."""

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.algorithms.bucket.anatomy import Anatomy, anatomize
from indistinct.algorithms.bucket.diversity import DiversityCheck, largest_diversity, links_of
from indistinct.algorithms.bucket.slicing import Slicing
from indistinct.algorithms.bucket.tuples import Rules, lines_of, partition_by_check, partition_by_kernel
from indistinct.errors import InfeasibleError
from indistinct.frequencies.count import Request
from indistinct.models import KAnonymity
from indistinct.recoding.columns import QuasiColumn
from indistinct.testing import bucket_reference as reference
from indistinct.testing.reference import violating_classes
from references import buckets as plain
from references.publishing import counted_with_rows

quick = settings(max_examples=60, deadline=None)
TYPES = {"a": pa.int64(), "b": pa.string(), "c": pa.int64(), "s": pa.string(), "z": pa.int64()}
VALUES = {"a": st.integers(0, 5), "b": st.sampled_from("pqr"), "c": st.sampled_from([1, 2, 50]), "s": None, "z": None}


@dataclass(frozen=True)
class Case:
    """A small table, what of it is sensitive, and its slices."""

    rows: list
    known: list
    sensitive: list
    slices: list

    @property
    def table(self):
        names = [*self.known, *self.sensitive]
        return pa.table({name: pa.array([row[name] for row in self.rows], TYPES[name]) for name in names})

    @property
    def schema(self):
        return ind.Schema(quasi=self.known, sensitive=self.sensitive)

    def counted(self):
        keys = tuple((name,) for name in self.sensitive)
        return counted_with_rows(self.table, Request(self.known, keys, joint=True))

    def shown(self, buckets):
        return reference.in_buckets(self.rows, buckets, slices=self.slices, sensitive=self.sensitive)

    def largest(self):
        """Return the largest l for which the whole table as one bucket passes."""
        return int(1 / self.shown([range(len(self.rows))]).strongest(self.rows))


@st.composite
def cases(draw, *, most_rows=14, sensitive=("s", "z")):
    size = draw(st.integers(2, most_rows))
    known = list("abc")[: draw(st.integers(1, 3))]
    hidden = list(sensitive)[: draw(st.integers(1, len(sensitive)))]
    columns = {}
    for name in known:
        own = VALUES[name]
        cells = st.one_of(st.none(), own) if draw(st.integers(0, 3)) == 0 else own
        columns[name] = [draw(own), *draw(st.lists(cells, min_size=size - 1, max_size=size - 1))]
    for name in hidden:
        own = st.sampled_from("uvwxy"[: draw(st.integers(2, 5))] if name == "s" else [7, 8, 9])
        columns[name] = draw(st.lists(own, min_size=size, max_size=size))
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    names = [*known, *hidden]
    homes = draw(st.lists(st.integers(0, 3), min_size=len(names), max_size=len(names)))
    if len(set(homes)) == 1:
        homes[-1] += 1
    slices = [[name for name, home in zip(names, homes, strict=True) if home == place] for place in sorted(set(homes))]
    return Case(rows, known, hidden, slices)


def problem_of(counted):
    return Problem(counted.frequencies, tuple(map(QuasiColumn, counted.domains)), KAnonymity(1))


def cells_of(counted):
    """Return the cell of every row."""
    cells = np.empty(counted.frequencies.rows, dtype=np.int64)
    cells[counted.grouping.order] = np.repeat(np.arange(len(counted.frequencies)), counted.grouping.counts)
    return cells


def as_sets(labels):
    groups = {}
    for row, label in enumerate(labels):
        groups.setdefault(int(label), set()).add(row)
    return {frozenset(group) for group in groups.values()}


def generalized(draw, case, counted):
    """Return classes for the known values of some slices: as labels of cells, and as rows with these in their place."""
    cells = cells_of(counted)
    shown, labels, slices = [{} for _ in case.rows], {}, []
    for place, names in enumerate(case.slices):
        known = [name for name in names if name in case.known]
        vectors = [tuple(row[name] for name in known) for row in case.rows]
        classes = {vector: vector for vector in vectors}
        if known and draw(st.integers(0, 3)):
            classes = {vector: draw(st.integers(0, 2)) for vector in dict.fromkeys(vectors)}
            labels[place] = np.zeros(len(counted.frequencies), dtype=np.int32)
            labels[place][cells] = [classes[vector] for vector in vectors]
        own = [f"slice {place}"] if known else []
        slices.append([*own, *(name for name in names if name not in known)])
        for row, vector, new in zip(case.rows, vectors, shown, strict=True):
            new.update(dict.fromkeys(own, classes[vector]))
            new.update({name: row[name] for name in names if name not in known})
    return labels, shown, slices


@quick
@given(st.data())
def test_partitions_equal_the_naive_one(data):
    case = data.draw(cases())
    l, size, every = data.draw(st.integers(1, case.largest())), data.draw(st.integers(1, 3)), data.draw(st.booleans())
    counted = case.counted()
    links = links_of(counted.frequencies, case.slices, sensitive=case.sensitive)
    assert largest_diversity(links) == case.largest()
    problem = problem_of(counted)
    lines, rules = lines_of(problem.columns, counted.frequencies.vectors), Rules(l, size, every)
    cells = cells_of(counted)
    slow = plain.partition_tuples(
        case.rows, case.known, slices=case.slices, sensitive=case.sensitive, l=l, size=size, every=every
    )
    expected = {frozenset(bucket) for bucket in slow}
    by_check, by_kernel = partition_by_check(problem, lines, links, rules), partition_by_kernel(lines, links, rules)
    assert as_sets(by_check[0][cells]) == expected
    assert as_sets(by_kernel[0][cells]) == expected
    assert by_check[1] == by_kernel[1], "both try the same splits"


@quick
@given(st.data())
def test_partition_with_generalized_slices_equals_the_naive_one(data):
    case = data.draw(cases())
    counted = case.counted()
    labels, shown, slices = generalized(data.draw, case, counted)
    whole = reference.in_buckets(shown, [range(len(shown))], slices=slices, sensitive=case.sensitive)
    l = data.draw(st.integers(1, int(1 / whole.strongest(shown))))
    size, every = data.draw(st.integers(1, 2)), data.draw(st.booleans())
    links = links_of(counted.frequencies, case.slices, sensitive=case.sensitive, class_ids=labels)
    problem = problem_of(counted)
    lines = lines_of(problem.columns, counted.frequencies.vectors)
    found, _ = partition_by_check(problem, lines, links, Rules(l, size, every))
    slow = plain.partition_tuples(
        case.rows, case.known, slices=slices, sensitive=case.sensitive, l=l, size=size, every=every, shown=shown
    )
    assert as_sets(found[cells_of(counted)]) == {frozenset(bucket) for bucket in slow}


@quick
@given(st.data())
def test_incremental_check_equals_the_naive_one_after_every_split(data):
    """Any split of any bucket, along an attribute or not: tuples match several buckets."""
    case = data.draw(cases(most_rows=9))
    counted = case.counted()
    labels, shown, slices = generalized(data.draw, case, counted)
    links = links_of(counted.frequencies, case.slices, sensitive=case.sensitive, class_ids=labels)
    cells = cells_of(counted)

    def naive(buckets):
        rows = [np.flatnonzero(np.isin(cells, bucket)).tolist() for bucket in buckets]
        return reference.in_buckets(shown, rows, slices=slices, sensitive=case.sensitive)

    l = data.draw(st.integers(1, 3))
    check = DiversityCheck(links, l)
    buckets = [check.start()]
    assert check.within(probabilities(check)) == naive([buckets[0].cells]).is_diverse(shown, l)
    for _ in range(data.draw(st.integers(1, 5))):
        divisible = [bucket for bucket in buckets if len(bucket.cells) > 1]
        if not divisible:
            break
        bucket = data.draw(st.sampled_from(divisible))
        left = data.draw(st.sets(st.sampled_from(bucket.cells.tolist()), min_size=1, max_size=len(bucket.cells) - 1))
        sides = [np.array(sorted(left)), np.setdiff1d(bucket.cells, sorted(left))]
        others = [other for other in buckets if other is not bucket]
        after = naive([*(other.cells for other in others), *sides])
        made = check.split(bucket, *sides)
        assert (made is not None) == after.is_diverse(shown, l)
        buckets = buckets if made is None else [*others, *made]
        compare(check, buckets, naive([each.cells for each in buckets]), case, shown, cells)


def probabilities(check):
    return check.probabilities(np.arange(len(check.links.weights)), list(check.buckets.values()))


def compare(check, buckets, naive, case, shown, cells):
    """Compare every probability and every matching bucket of a check."""
    texts = {name: sorted({row[name] for row in case.rows}) for name in case.sensitive}
    for row, cell in enumerate(cells):
        for name, found in zip(case.sensitive, probabilities(check), strict=True):
            exact = naive.probabilities(shown[row], name)
            assert sum(exact.values()) == 1
            assert found[cell].tolist() == pytest.approx([float(exact.get(s, 0)) for s in texts[name]])
        for bucket, entries in zip(buckets, naive.buckets, strict=True):
            assert (cell in bucket.matching) == (naive.weight(shown[row], entries) > 0)


def contents(shown):
    """Return the buckets as multisets: for each slice how often it has each entry."""
    return Counter(
        tuple(frozenset(Counter(tuple(entry.values()) for entry in entries).items()) for entries in bucket)
        for bucket in shown.buckets
    )


@quick
@given(st.data())
def test_a_sliced_release_keeps_every_promise(data):
    case = data.draw(cases())
    l, size, every = data.draw(st.integers(1, case.largest())), data.draw(st.integers(1, 3)), data.draw(st.booleans())
    assume(size <= len(case.rows))
    algorithm = Slicing(l=l, columns=case.slices, size=size, try_all_dims=every)
    release = ind.anonymize(case.table, case.schema, algorithm=algorithm)
    published = release.table.to_pylist()
    shown = reference.read_sliced(published, slices=case.slices, sensitive=case.sensitive)
    strongest = Fraction(0)
    for t in case.rows:
        assert shown.matches(t) == 1, "every tuple matches its own bucket, and raw slices leave no other"
        for name in case.sensitive:
            linked = shown.probabilities(t, name)
            assert sum(linked.values()) == 1
            assert linked[t[name]] > 0
            strongest = max(strongest, *linked.values())
    assert strongest * l <= 1
    slow = plain.partition_tuples(
        case.rows, case.known, slices=case.slices, sensitive=case.sensitive, l=l, size=size, every=every
    )
    assert contents(shown) == contents(case.shown(slow)), "every slice keeps its values in every bucket"
    assert min(len(bucket[0]) for bucket in shown.buckets) >= size
    assert release.certificate.achieved["p"] == pytest.approx(float(strongest))
    assert release.certificate.achieved["l"] == int(1 / strongest)


@quick
@given(cases(), st.integers(1, 4))
def test_l_above_what_the_whole_table_allows_is_infeasible(case, more):
    largest = case.largest()
    with pytest.raises(InfeasibleError) as caught:
        ind.anonymize(case.table, case.schema, algorithm=Slicing(l=largest + more, columns=case.slices))
    assert re.search(rf"allows? is {largest}\b", caught.value.hint)
    assert ind.anonymize(case.table, case.schema, algorithm=Slicing(l=largest, columns=case.slices)).certificate.holds


@quick
@given(st.data())
def test_further_models_are_honoured_with_buckets_as_classes(data):
    case = data.draw(cases(sensitive=("s",)))
    model = ind.KAnonymity(data.draw(st.integers(1, 5)))
    if data.draw(st.booleans()):
        model = model & ind.DistinctLDiversity("s", l=data.draw(st.integers(1, 3)))
    algorithm = Slicing(l=data.draw(st.integers(1, case.largest())), columns=case.slices)
    home = next(names for names in case.slices if "s" in names)
    partners = [name for name in home if name != "s"]

    def broken(rows):
        of_size, *others = model.parts()
        found = violating_classes(rows, ["bucket"], model=of_size)
        return found + [c for part in others for c in violating_classes(rows, ["bucket", *partners], model=part)]

    try:
        release = ind.anonymize(case.table, case.schema, model=model, algorithm=algorithm)
    except InfeasibleError:
        assert broken([{**row, "bucket": 1} for row in case.rows]), "the whole table as one bucket satisfies the model"
        return
    assert not broken(release.table.to_pylist())


@quick
@given(st.data())
def test_without_sensitive_columns_buckets_go_by_size_alone(data):
    case = data.draw(cases(sensitive=("s",)))
    bare = Case(case.rows, [*case.known, "s"], [], case.slices)
    size = data.draw(st.integers(2, len(case.rows)))
    release = ind.anonymize(bare.table, bare.schema, algorithm=Slicing(columns=case.slices, size=size))
    shown = reference.read_sliced(release.table.to_pylist(), slices=case.slices, sensitive=[])
    slow = plain.partition_tuples(case.rows, bare.known, slices=case.slices, sensitive=[], l=1, size=size)
    assert contents(shown) == contents(bare.shown(slow))
    assert release.certificate.smallest_class >= size


@quick
@given(st.data())
def test_generalized_column_values_repeat(data):
    case = data.draw(cases())
    k, l, every = data.draw(st.integers(2, len(case.rows))), data.draw(st.integers(1, 3)), data.draw(st.booleans())
    try:
        algorithm = Slicing(l=l, columns=case.slices, generalize=k, try_all_dims=every)
        rows = ind.anonymize(case.table, case.schema, algorithm=algorithm).table.to_pylist()
    except InfeasibleError:
        assert l > 1
        return
    for names in case.slices:
        known = [name for name in names if name in case.known]
        if known:
            assert min(Counter(tuple(row[name] for name in known) for row in rows).values()) >= k
        hidden = [name for name in names if name in case.sensitive]
        assert Counter(tuple(row[name] for name in hidden) for row in rows) == Counter(
            tuple(row[name] for name in hidden) for row in case.rows
        )


@quick
@given(
    st.integers(1, 6).flatmap(lambda most: st.lists(st.integers(0, most), min_size=1, max_size=40)), st.integers(1, 5)
)
def test_anatomy_equals_the_naive_one(values, l):
    expected = plain.anatomize(values, l)
    if expected is None:
        with pytest.raises(InfeasibleError) as caught:
            anatomize(np.array(values), l)
        largest = max(each for each in range(1, l) if plain.anatomize(values, each) is not None)
        assert caught.value.hint == f"the largest l that this table allows is {largest}"
        return
    labels = anatomize(np.array(values), l)
    assert [np.flatnonzero(labels == group).tolist() for group in range(labels.max() + 1)] == [
        sorted(group) for group in expected
    ]
    sizes = [len(group) for group in expected]
    assert len(sizes) == len(values) // l
    assert l <= min(sizes) <= max(sizes) <= 2 * l - 1
    assert sum(sizes) - l * len(sizes) == len(values) % l, "only leftovers enlarge a group"
    assert all(len({values[row] for row in group}) == len(group) for group in expected)


@quick
@given(cases(sensitive=("s",), most_rows=24), st.integers(1, 4), st.sampled_from(["tables", "permuted"]))
def test_an_anatomy_release_keeps_every_promise(case, l, form):
    algorithm = Anatomy(l=l, form=form)
    count = Counter(row["s"] for row in case.rows)
    if max(count.values()) * l > len(case.rows):
        with pytest.raises(InfeasibleError):
            ind.anonymize(case.table, case.schema, algorithm=algorithm)
        return
    release = ind.anonymize(case.table, case.schema, algorithm=algorithm)
    slices = [case.known, ["s"]]
    apart = release.others["sensitive"].to_pylist() if form == "tables" else None
    shown = reference.read_sliced(release.table.to_pylist(), slices=slices, sensitive=["s"], apart=apart)
    assert len(shown.buckets) == len(case.rows) // l
    for known, values in shown.buckets:
        assert l <= len(known) == len(values) == len({entry["s"] for entry in values}) <= 2 * l - 1
    vectors = [tuple(row[name] for name in case.known) for row in case.rows]
    published = [tuple(entry.values()) for known, _ in shown.buckets for entry in known]
    assert Counter(published) == Counter(vectors), "quasi-identifiers are published as they are"
    assert Counter(entry["s"] for _, values in shown.buckets for entry in values) == count
    assert shown.strongest(case.rows) * l <= 1
    error, least = ind.measure(release)["reconstruction-error"], 1 - 1 / l
    assert error == pytest.approx(least) if len(case.rows) % l == 0 else error > least + 1e-9
