"""Anatomy and multisets: eligibility to the row, leftovers, forms, and what they refuse."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.bucket import anatomy
from indistinct.algorithms.bucket.anatomy import Anatomy, anatomize
from indistinct.algorithms.bucket.slicing import Multiset
from indistinct.errors import InfeasibleError, InputError, ParameterError, SchemaError
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.testing.bucket_reference import read_multisets, read_sliced

SCHEMA = ind.Schema(quasi=["age"], sensitive=["disease"])


def table_of(diseases, ages=None):
    return pa.table({"age": ages or [20 + place for place in range(len(diseases))], "disease": diseases})


def groups_of(release):
    """Return the values of every group."""
    groups = {}
    for row in release.others["sensitive"].to_pylist():
        groups.setdefault(row["bucket"], Counter())[row["disease"]] += row["count"]
    return list(groups.values())


@pytest.mark.parametrize(("l", "often"), [(2, 6), (3, 4), (4, 3), (6, 2)])
def test_exactly_one_in_l_is_eligible_and_one_row_more_is_not(l, often):
    rest = 12 - often
    values = ["flu"] * often + [f"rare {place}" for place in range(rest)]
    release = ind.anonymize(table_of(values), SCHEMA, algorithm=Anatomy(l))
    assert len(groups_of(release)) == often
    assert all(group["flu"] == 1 for group in groups_of(release))
    more = [*values, "flu"]
    with pytest.raises(InfeasibleError) as caught:
        ind.anonymize(table_of(more), SCHEMA, algorithm=Anatomy(l))
    largest = len(more) // (often + 1)
    assert caught.value.hint == f"the largest l that this table allows is {largest}"
    assert ind.anonymize(table_of(more), SCHEMA, algorithm=Anatomy(largest)).certificate.holds
    assert "flu" not in str(caught.value)
    assert "rare" not in str(caught.value)


def test_groups_that_are_too_small_for_the_model_are_not_even_drawn(monkeypatch):
    values = [f"v{place % 5}" for place in range(20)]
    monkeypatch.setattr(anatomy, "_draw", None)
    with pytest.raises(InfeasibleError, match=r"groups of 2 rows, and k-anonymity:k=3 asks for 3") as caught:
        ind.anonymize(table_of(values), SCHEMA, model=ind.KAnonymity(3), algorithm=Anatomy(2))
    assert "l = 3" in caught.value.hint


@pytest.mark.parametrize(("rows", "l", "k"), [(20, 3, 3), (20, 5, 3), (5, 3, 5)])
def test_groups_that_are_large_enough_for_the_model_are_published(rows, l, k):
    values = [f"v{place % 6}" for place in range(rows)]
    release = ind.anonymize(table_of(values), SCHEMA, model=ind.KAnonymity(k), algorithm=Anatomy(l))
    assert all(group.total() >= k for group in groups_of(release))


@pytest.mark.parametrize(
    "model", ["t-closeness:sensitive=disease,t=0.01", "distinct-l-diversity:sensitive=disease,l=3"]
)
def test_groups_that_break_the_model_are_infeasible(model):
    """Groups of two of five values are neither close to the table nor three values."""
    values = [f"v{place % 5}" for place in range(20)]
    with pytest.raises(InfeasibleError, match="sensitive=disease") as caught:
        ind.anonymize(table_of(values), SCHEMA, model=model, algorithm=Anatomy(2))
    assert caught.value.hint
    assert "v1" not in str(caught.value)


def test_a_model_of_a_column_that_others_know_is_infeasible():
    """Who knows somebody's job finds those rows of the group alone, and they have one job."""
    data = table_of(list("wxyz") * 2).append_column("job", pa.array(list("abababab")))
    schema = ind.Schema(quasi=["age"], sensitive=["disease"], insensitive=["job"])
    with pytest.raises(InfeasibleError, match="sensitive=job"):
        ind.anonymize(data, schema, model="distinct-l-diversity:sensitive=job,l=2", algorithm=Anatomy(4))


@pytest.mark.parametrize("rows", range(9, 18))
def test_leftovers_go_to_groups_without_their_value(rows):
    values = [f"v{place % 5}" for place in range(rows)]
    groups = groups_of(ind.anonymize(table_of(values), SCHEMA, algorithm=Anatomy(3)))
    assert len(groups) == rows // 3
    assert all(3 <= group.total() == len(group) <= 5 for group in groups)
    assert sum(groups, Counter()) == Counter(values)
    assert sum(group.total() - 3 for group in groups) == rows % 3


def test_a_leftover_skips_the_groups_that_have_its_value():
    """The last value is in the first two groups already when one row of it is left."""
    values = [0, 0, 1, 1, 2, 2, 2]
    labels = anatomize(np.array(values), 2)
    groups = [np.flatnonzero(labels == group).tolist() for group in range(3)]
    assert groups == [[0, 4], [2, 5], [1, 3, 6]]


def test_equal_people_may_go_to_different_groups():
    release = ind.anonymize(table_of(list("xyzw") * 2, [30] * 8), SCHEMA, algorithm=Anatomy(4))
    assert Counter(release.table["bucket"].to_pylist()) == {1: 4, 2: 4}
    assert release.table["age"].to_pylist() == [30] * 8
    assert groups_of(release) == [dict.fromkeys("xyzw", 1)] * 2


def test_one_group_of_everybody():
    release = ind.anonymize(table_of(list("uvwxyz")), SCHEMA, algorithm=Anatomy(6))
    assert set(release.table["bucket"].to_pylist()) == {1}
    assert ind.measure(release)["reconstruction-error"] == pytest.approx(5 / 6)


def test_l_of_one_hides_nothing_and_says_so():
    release = ind.anonymize(table_of(["flu", "flu", "cold"]), SCHEMA, algorithm=Anatomy(1))
    assert release.certificate.achieved["p"] == 1
    assert any("guarantees nothing" in warning for warning in release.certificate.warnings)
    assert ind.measure(release)["reconstruction-error"] == 0


def test_missing_values_are_values():
    release = ind.anonymize(table_of(["flu", None, "flu", None], [1, None, 3, 3]), SCHEMA, algorithm=Anatomy(2))
    assert groups_of(release) == [{"flu": 1, None: 1}] * 2
    assert Counter(release.table["age"].to_pylist()) == {1: 1, None: 1, 3: 2}


def test_reconstruction_error_by_its_definition():
    release = ind.anonymize(table_of(list("aabbcdef")), SCHEMA, algorithm=Anatomy(3))
    squares = []
    for group in groups_of(release):
        size = group.total()
        squares += [
            sum((count / size - (value == own)) ** 2 for value, count in group.items()) for own in group.elements()
        ]
    found = ind.measure(release)["reconstruction-error"]
    assert found == pytest.approx(sum(squares) / 8)
    assert found > 1 - 1 / 3, "eight rows are no multiple of three"


def test_groups_do_not_depend_on_the_order_of_rows():
    table = table_of(list("aabbccdde"), [5, 3, 8, 8, 1, 9, 2, 2, 7])
    shuffled = table.take(pa.array([4, 8, 0, 2, 6, 1, 7, 3, 5]))

    def groups(source):
        release = ind.anonymize(source, SCHEMA, algorithm=Anatomy(3, form="permuted"), seed=1)
        found = {}
        for row in release.table.to_pylist():
            ages, diseases = found.setdefault(row["bucket"], ([], []))
            ages.append(row["age"])
            diseases.append(row["disease"])
        return sorted((sorted(ages), sorted(diseases)) for ages, diseases in found.values())

    assert groups(table) == groups(shuffled)


@pytest.mark.parametrize("algorithm", ["anatomy:l=2,form=permuted", "slicing:l=2,columns=each", "multiset:l=2"])
def test_buckets_do_not_depend_on_the_order_of_the_tables_columns(algorithm):
    rng = np.random.default_rng(4)
    table = pa.table(
        {"a": rng.integers(0, 5, 40), "b": rng.integers(0, 5, 40), "s": [f"v{v}" for v in rng.integers(0, 5, 40)]}
    )
    schema = ind.Schema(quasi=["a", "b"], sensitive=["s"])

    def buckets(source):
        found = {}
        for row in ind.anonymize(source, schema, algorithm=algorithm, seed=1).table.to_pylist():
            found.setdefault(row.get("bucket", (row["a"], row["b"])), []).append(row)
        return sorted([sorted(row[name] for row in rows) for name in "abs"] for rows in found.values())

    assert buckets(table) == buckets(table.select(["b", "s", "a"]))


def test_which_of_a_values_rows_go_to_which_group_is_drawn():
    """In the order of ages the old would always be with the old: the groups would tell what ages do."""
    table = table_of(["flu", "cold"] * 20)
    found = set()
    for _ in range(5):
        rows = ind.anonymize(table, SCHEMA, algorithm=Anatomy(2)).table.to_pylist()
        groups = {}
        for row in rows:
            groups.setdefault(row["bucket"], []).append(row["age"])
        found.add(frozenset(map(frozenset, groups.values())))
    assert len(found) == 5


def test_a_stored_recoding_of_anatomy_says_the_same():
    table = table_of(list("aabbccdd"))
    release = ind.anonymize(table, SCHEMA, algorithm=Anatomy(2))
    stored = recoding_from_json(recoding_to_json(release.recoding))
    assert stored == release.recoding
    again = ind.apply(stored, table)
    assert sorted(map(sorted, groups_of(again))) == sorted(map(sorted, groups_of(release)))
    assert again.certificate.recoding_digest == release.certificate.recoding_digest


@pytest.mark.parametrize("name", ["bucket", "count"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_column_with_the_name_of_an_added_one_is_refused(name, place):
    names = ["age", "disease"]
    names[place] = name
    table = table_of(list("aabb")).rename_columns(names)
    with pytest.raises(SchemaError, match=f"'{name}'"):
        ind.anonymize(table, ind.Schema(quasi=names[:1], sensitive=names[1:]), algorithm="anatomy:l=2")


@pytest.mark.parametrize("l", [0, -1, True, 2.0, "2", None])
@pytest.mark.parametrize("algorithm", [Anatomy, Multiset])
def test_l_is_a_whole_number_from_one(algorithm, l):
    with pytest.raises(ParameterError, match=r"`l` of (Anatomy|Multiset) must be (a whole number|at least 1)"):
        algorithm(l=l)


@pytest.mark.parametrize("spelled", ["anatomy", "multiset", "anatomy:form=tables"])
def test_l_is_needed(spelled):
    with pytest.raises(ParameterError, match="needs the parameter l"):
        ind.anonymize(table_of(list("ab")), SCHEMA, algorithm=spelled)


def test_the_form_is_one_of_two():
    with pytest.raises(ParameterError, match="one of tables, permuted") as caught:
        ind.anonymize(table_of(list("ab")), SCHEMA, algorithm="anatomy:l=2,form=sliced")
    assert "permuted" in caught.value.hint


def test_anatomy_needs_a_sensitive_column():
    with pytest.raises(SchemaError, match="needs a sensitive column") as caught:
        ind.anonymize(table_of(list("ab")), ind.Schema(quasi=["age", "disease"]), algorithm=Anatomy(2))
    assert "slicing" in caught.value.hint


@pytest.mark.parametrize("form", ["tables", "permuted"])
def test_several_sensitive_columns_stay_together_and_are_all_diverse(form):
    table = table_of(list("abcdabcd")).append_column("drug", pa.array(["p", "q"] * 4))
    schema = ind.Schema(quasi=["age"], sensitive=["disease", "drug"])
    release = ind.anonymize(table, schema, algorithm=Anatomy(2, form=form))
    apart = release.others["sensitive"].to_pylist() if form == "tables" else None
    slices = [["age"], ["disease", "drug"]]
    shown = read_sliced(release.table.to_pylist(), slices=slices, sensitive=["disease", "drug"], apart=apart)
    assert shown.strongest(table.to_pylist()) <= Fraction(1, 2)
    pairs = Counter(tuple(entry.values()) for _, entries in shown.buckets for entry in entries)
    assert pairs == Counter(zip(table["disease"].to_pylist(), table["drug"].to_pylist(), strict=True))


def test_a_second_sensitive_column_that_follows_the_groups_is_refused():
    table = table_of(list("abcd")).append_column("drug", pa.array(["secret"] * 3 + ["other"]))
    schema = ind.Schema(quasi=["age"], sensitive=["disease", "drug"])
    with pytest.raises(InfeasibleError) as caught:
        ind.anonymize(table, schema, algorithm=Anatomy(2))
    assert "secret" not in str(caught.value)


def test_multisets_need_a_sensitive_column():
    with pytest.raises(SchemaError, match="needs a sensitive column"):
        ind.anonymize(table_of(list("ab")), ind.Schema(quasi=["age", "disease"]), algorithm=Multiset(2))


def test_a_column_without_any_value_is_refused():
    table = pa.table({"age": pa.array([None, None], pa.int64()), "disease": ["flu", "cold"]})
    with pytest.raises(InputError, match="column 'age' holds no value: every cell is missing"):
        ind.anonymize(table, SCHEMA, algorithm=Anatomy(2))


def test_multisets_keep_the_values_of_every_bucket():
    ages = [20, 21, 22, 23, 40, 41, 42, 43]
    table = table_of(["flu", "cold"] * 4, ages)
    release = ind.anonymize(table, SCHEMA, algorithm="multiset:l=2,size=3")
    shown = read_multisets(release.table.to_pylist(), sensitive=["disease"])
    found = sorted(sorted(int(entry["age"]) for entry in bucket[0]) for bucket in shown.buckets)
    assert found == [ages[:4], ages[4:]]
    assert release.certificate.form == "multiset"
