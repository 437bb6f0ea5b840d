"""Slicing at its edges: exactly 1 / l, sizes, several sensitive columns or none, and what it refuses."""

import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.bucket.diversity import DiversityCheck, TupleLinks
from indistinct.algorithms.bucket.slicing import Slicing
from indistinct.errors import InfeasibleError, ParameterError, SchemaError
from indistinct.frequencies.value import Histogram
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.testing import bucket_reference as reference

AGES = [22, 22, 33, 52, 54, 60, 60, 64]
DISEASES = ["dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia", "gastritis"]
TABLE = pa.table(
    {
        "age": AGES,
        "sex": list("MFFFMMMF"),
        "zip": [47906, 47906, 47905, 47905, 47302, 47302, 47304, 47304],
        "disease": DISEASES,
    }
)
SCHEMA = ind.Schema(quasi=["age", "sex", "zip"], sensitive=["disease"])


def bucket_rows(release):
    found = {}
    for row in release.table.to_pylist():
        found.setdefault(row["bucket"], []).append(row)
    return list(found.values())


def test_exactly_one_in_l_passes_and_one_row_more_fails():
    values = ["flu"] * 3 + list("abcdef")
    table = pa.table({"age": [30] * 9, "disease": values})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm="slicing:l=3,columns=whole")
    assert release.certificate.achieved["p"] == pytest.approx(1 / 3)
    more = pa.table({"age": [30] * 10, "disease": [*values, "flu"]})
    with pytest.raises(InfeasibleError) as caught:
        ind.anonymize(more, schema, algorithm="slicing:l=3,columns=whole")
    assert re.search(r"allows? is 2\b", caught.value.hint)
    assert "flu" not in str(caught.value)


@pytest.mark.parametrize(
    ("young", "old", "buckets"),
    [("fc", "cf", 2), ("ff", "cc", 1), ("fcf", "cfc", 1), ("fcfc", "ccff", 2), ("fcfx", "ccfx", 2)],
)
def test_a_split_at_exactly_one_in_l_is_made_and_not_beyond(young, old, buckets):
    table = pa.table({"age": [20] * len(young) + [70] * len(old), "disease": list(young + old)})
    release = ind.anonymize(
        table, ind.Schema(quasi=["age"], sensitive=["disease"]), algorithm="slicing:l=2,columns=whole"
    )
    assert release.certificate.classes == buckets


@pytest.mark.parametrize(
    "columns", ["each", "whole", "2", "3", "4", "auto", "age+sex|zip+disease", "sex|age+zip+disease"]
)
def test_l_of_one_always_passes(columns):
    release = ind.anonymize(TABLE, SCHEMA, algorithm=f"slicing:l=1,columns={columns}")
    vectors = {(row["age"], row["sex"], row["zip"]) for row in TABLE.to_pylist()}
    assert release.certificate.classes == len(vectors), "nothing stops a split before tuples are apart"


def test_a_bucket_is_tried_once_along_its_widest_attribute_unless_all_are_asked_for():
    once, every = (
        ind.anonymize(TABLE, SCHEMA, algorithm=f"slicing:l=2,columns=age+sex|zip+disease,try_all_dims={word}")
        for word in ("false", "true")
    )
    assert (once.certificate.classes, every.certificate.classes) == (2, 4)
    assert once.counters["checks"] < every.counters["checks"]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_buckets_have_at_least_the_size_asked_for(size):
    release = ind.anonymize(TABLE, SCHEMA, algorithm=f"slicing:l=1,columns=each,size={size}")
    sizes = [len(rows) for rows in bucket_rows(release)]
    assert min(sizes) >= size
    assert sum(sizes) == 8
    assert max(sizes) == 8 or size <= 4


@pytest.mark.parametrize("k", [3, 5])
def test_k_anonymity_is_honoured_with_buckets_as_classes(k):
    table = pa.concat_tables([TABLE] * 3)
    release = ind.anonymize(table, SCHEMA, model=f"k-anonymity:k={k}", algorithm="slicing:l=1,columns=each")
    assert min(len(rows) for rows in bucket_rows(release)) >= k
    assert release.certificate.classes > 1
    (verdict,) = [verdict for verdict in release.certificate.verdicts if verdict.model.startswith(f"k-anonymity:k={k}")]
    assert verdict.holds
    assert release.recoding.promise == f"l-diverse-links:l=1,sensitive=disease & k-anonymity:k={k}"


def test_k_above_the_rows_is_infeasible():
    with pytest.raises(InfeasibleError, match="9 rows are asked for"):
        ind.anonymize(TABLE, SCHEMA, model="k-anonymity:k=9", algorithm="slicing:l=2,columns=each")


def test_distinct_diversity_is_honoured_among_rows_that_agree():
    table = pa.concat_tables([TABLE] * 2)
    model = "distinct-l-diversity:sensitive=disease,l=3"
    without = ind.anonymize(table, SCHEMA, algorithm="slicing:l=2,columns=each,try_all_dims=true")
    release = ind.anonymize(table, SCHEMA, model=model, algorithm="slicing:l=2,columns=each,try_all_dims=true")
    assert min(len({row["disease"] for row in rows}) for rows in bucket_rows(without)) == 2
    assert min(len({row["disease"] for row in rows}) for rows in bucket_rows(release)) >= 3
    with pytest.raises(InfeasibleError, match="the whole table as one bucket"):
        ind.anonymize(table, SCHEMA, model=model, algorithm="slicing:l=2,columns=age+sex|zip+disease")


def test_several_sensitive_columns_are_all_protected():
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["zip", "disease"])
    release = ind.anonymize(TABLE, schema, algorithm="slicing:l=2,columns=age|sex+zip|disease,try_all_dims=true")
    slices = [["age"], ["sex", "zip"], ["disease"]]
    shown = reference.read_sliced(release.table.to_pylist(), slices=slices, sensitive=["zip", "disease"])
    assert shown.strongest(TABLE.to_pylist()) <= Fraction(1, 2)
    spelled = [verdict.model for verdict in release.certificate.verdicts if verdict.model.startswith("l-diverse")]
    assert len(spelled) == 2
    assert {row["zip"] for row in TABLE.to_pylist()} == set(release.table["zip"].to_pylist())


def test_one_of_several_sensitive_columns_can_stop_a_split():
    table = pa.table({"age": [1, 1, 9, 9], "s": list("xyxy"), "z": list("ppqq")})
    both = ind.Schema(quasi=["age"], sensitive=["s", "z"])
    release = ind.anonymize(table, both, algorithm="slicing:l=2,columns=each")
    assert release.certificate.classes == 1
    one = ind.Schema(quasi=["age", "z"], sensitive=["s"])
    assert ind.anonymize(table, one, algorithm="slicing:l=2,columns=each").certificate.classes == 2


def test_without_a_sensitive_column_links_are_broken_in_buckets_by_size():
    schema = ind.Schema(quasi=["age", "sex", "zip", "disease"])
    release = ind.anonymize(TABLE, schema, algorithm="slicing:size=3,columns=age+sex|zip+disease")
    assert [len(rows) for rows in bucket_rows(release)] == [4, 4]
    assert release.recoding.l is None
    assert not any(verdict.model.startswith("l-diverse") for verdict in release.certificate.verdicts)


def test_insensitive_columns_count_as_known():
    schema = ind.Schema(quasi=["age", "sex"], insensitive=["zip"], sensitive=["disease"])
    release = ind.anonymize(TABLE, schema, algorithm="slicing:l=2,columns=age+sex|zip+disease")
    slices = [["age", "sex"], ["zip", "disease"]]
    shown = reference.read_sliced(release.table.to_pylist(), slices=slices, sensitive=["disease"])
    assert shown.strongest(TABLE.to_pylist()) == Fraction(1, 2)


def test_identifiers_are_dropped():
    table = TABLE.append_column("name", pa.array([f"person {place}" for place in range(8)]))
    schema = ind.Schema(identifiers=["name"], quasi=["age", "sex", "zip"], sensitive=["disease"])
    release = ind.anonymize(table, schema, algorithm="slicing:l=2,columns=each")
    assert release.table.column_names == ["bucket", *TABLE.column_names]


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("generalizer", ["mondrian", "single-dimensional"])
def test_generalized_columns_repeat_and_recoding_round_trips(k, generalizer):
    algorithm = f"slicing:l=1,generalize={k},generalizer={generalizer},columns=age+sex|zip+disease"
    release = ind.anonymize(TABLE, SCHEMA, algorithm=algorithm)
    rows = release.table.to_pylist()
    assert min(Counter((row["age"], row["sex"]) for row in rows).values()) >= k
    assert min(Counter(row["zip"] for row in rows).values()) >= k
    stored = recoding_from_json(recoding_to_json(release.recoding))
    assert stored == release.recoding
    again = ind.apply(stored, TABLE).table.to_pylist()
    for names in (["age", "sex"], ["zip", "disease"]):
        first, second = (Counter(tuple(row[name] for name in names) for row in some) for some in (rows, again))
        assert first == second


def test_a_generalized_release_that_passes_the_check_is_published():
    table = pa.table({"a": [0, None, None, 0], "b": ["p", None, None, None], "s": list("uuvv")})
    schema = ind.Schema(quasi=["a", "b"], sensitive=["s"])
    assert ind.anonymize(table, schema, algorithm="slicing:l=2,generalize=2,columns=whole").certificate.holds


def test_the_check_remembers_weights_far_below_those_that_go():
    """A tuple matches one bucket strongly and its own hardly; a split takes the strong one away."""
    slices, many = 10, 100
    values = [[1] * slices, [0] * slices, [1] * 5 + [0] * 5, [0] * 5 + [1] * 5]
    counts = [{0: 1}, {1: many // 2, 2: many // 2}, {1: many // 2, 2: many // 2}, {0: 40, 1: 30, 2: 30}]
    rows = []
    for vector, histogram in zip(values, counts, strict=True):
        for s, often in histogram.items():
            rows += [{**{f"k{j}": v for j, v in enumerate(vector)}, "s": s}] * often
    known = [[f"k{j}"] for j in range(slices - 1)] + [[f"k{slices - 1}", "s"]]
    starts = np.concatenate([[0], np.cumsum([len(histogram) for histogram in counts])])
    codes = np.concatenate([list(histogram) for histogram in counts]).astype(np.int32)
    often = np.concatenate([list(histogram.values()) for histogram in counts])
    links = TupleLinks(
        np.array([sum(histogram.values()) for histogram in counts]),
        np.asfortranarray(np.array(values, dtype=np.int32)),
        (slices - 1,),
        (Histogram(starts, codes, often, np.bincount(codes, weights=often).astype(np.int64)),),
    )
    check = DiversityCheck(links, 2)
    _, other = check.split(check.start(), np.array([0, 1]), np.array([2, 3]))
    ranges = [range(101), range(101, 201), range(201, 301)]
    united = [ranges[0], [*ranges[1], *ranges[2]]]
    assert reference.in_buckets(rows, united, slices=known, sensitive=["s"]).is_diverse(rows, 2)
    after = reference.in_buckets(rows, ranges, slices=known, sensitive=["s"])
    assert after.probabilities(rows[0], "s") == {0: 1}, "nobody else is like the first row any more"
    assert check.split(other, np.array([2]), np.array([3])) is None


def test_the_check_sees_tuples_of_very_many_slices():
    rng = np.random.default_rng(5)
    values = np.stack([rng.permutation(200) for _ in range(150)] + [np.zeros(200)], axis=1).astype(np.int32)
    codes = np.array([0] * 199 + [1], dtype=np.int32)
    histogram = Histogram(np.arange(201), codes, np.ones(200, dtype=np.int64), np.array([199, 1]))
    links = TupleLinks(np.ones(200, dtype=np.int64), np.asfortranarray(values), (150,), (histogram,))
    check = DiversityCheck(links, 2)
    assert not check.within(check.probabilities(np.arange(200), [check.start()]))


REFUSED = [
    ("slicing:l=2,columns=age|zip+disease", ParameterError, "missing: 'sex'"),
    ("slicing:l=2,columns=age+sex|zip", ParameterError, "missing: 'disease'"),
    ("slicing:l=2,columns=age+age|sex+zip+disease", ParameterError, "repeated: 'age'"),
    ("slicing:l=2,columns=age+sex|sex+zip+disease", ParameterError, "repeated: 'sex'"),
    ("slicing:l=2,columns=agee+sex|zip+disease", ParameterError, "no attribute 'agee'"),
    ("slicing:l=2,columns=age+sex||zip+disease", ParameterError, "no attribute ''"),
    ("slicing:l=2,columns=age+sex+zip+disease", ParameterError, "at least two columns; got 1"),
    ("slicing:l=2,columns=1", ParameterError, "must be at least 2; got 1"),
    ("slicing:l=2,columns=0", ParameterError, "must be at least 2; got 0"),
    ("slicing:l=2,columns=5", ParameterError, "at most the number of attributes, 4"),
    ("slicing:l=0", ParameterError, "`l` of Slicing must be at least 1; got 0"),
    ("slicing:l=2,size=0", ParameterError, "`size` of Slicing"),
    ("slicing:l=2,generalize=0", ParameterError, "`generalize` of Slicing"),
    ("slicing:l=2,alpha=0", ParameterError, "`alpha` of Slicing"),
    ("slicing:l=2,bins=1", ParameterError, "`bins` of Slicing"),
    ("slicing:l=2,alpha=2,clustered=true", ParameterError, "cannot be used together"),
    ("slicing:l=2,generalize=2,generalizer=kaca", ParameterError, "`generalizer` of Slicing must be one of"),
    ("slicing", ParameterError, "needs l"),
    ("slicing:size=4", ParameterError, "needs l"),
    ("slicing:l=2,size=9", InfeasibleError, "buckets of 9 rows"),
    ("slicing:l=2,generalize=9", InfeasibleError, "9 times"),
    ("slicing:l=3,columns=age+sex|zip+disease", InfeasibleError, "l = 3 cannot hold"),
    ("slicing:l=2,columns=zip|age+sex+disease", InfeasibleError, "l = 2 cannot hold"),
]


@pytest.mark.parametrize(("algorithm", "error", "said"), REFUSED, ids=[case[0] for case in REFUSED])
def test_bad_input_is_refused_without_a_cell_in_the_message(algorithm, error, said):
    with pytest.raises(error) as caught:
        ind.anonymize(TABLE, SCHEMA, algorithm=algorithm)
    assert said in caught.value.message
    for value in {*map(str, AGES), "47906", "47905", *DISEASES}:
        assert value not in str(caught.value)


def test_a_misspelled_attribute_gets_a_hint():
    with pytest.raises(ParameterError) as caught:
        ind.anonymize(TABLE, SCHEMA, algorithm="slicing:l=2,columns=agee+sex|zip+disease")
    assert caught.value.hint == "did you mean 'age'?"


@pytest.mark.parametrize("largest", [1, 2, 4])
def test_the_largest_l_that_is_named_is_true(largest):
    table = pa.table(
        {"age": list(range(8)), "disease": ["x"] * (8 // largest) + [f"v{n}" for n in range(8 - 8 // largest)]}
    )
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    with pytest.raises(InfeasibleError) as caught:
        ind.anonymize(table, schema, algorithm=Slicing(l=largest + 1))
    assert re.search(rf"allows? is {largest}\b", caught.value.hint)
    assert ind.anonymize(table, schema, algorithm=Slicing(l=largest)).certificate.achieved["l"] >= largest


@pytest.mark.parametrize(
    ("schema", "algorithm", "error", "said"),
    [
        (ind.Schema(quasi=["age"]), "slicing:size=2", SchemaError, "at least two published columns"),
        (ind.Schema(quasi=["age", "sex"]), "slicing", ParameterError, "needs the size of its buckets"),
        (ind.Schema(quasi=["age", "sex"]), "slicing:l=2,size=2", ParameterError, "the schema names none"),
        (ind.Schema(quasi=["age", "sex"]), "slicing:size=2,columns=whole", ParameterError, "needs a sensitive column"),
        (ind.Schema(sensitive=["disease"]), "slicing:l=2", SchemaError, "no quasi-identifier"),
        (ind.Schema(identifiers=["zip"], quasi=["age"]), "slicing:size=2", SchemaError, "at least two published"),
    ],
)
def test_too_few_columns_or_parameters(schema, algorithm, error, said):
    with pytest.raises(error) as caught:
        ind.anonymize(TABLE.select(list(schema.columns)), schema, algorithm=algorithm)
    assert said in caught.value.message


@pytest.mark.parametrize("algorithm", ["slicing:l=2", "multiset:l=2"])
def test_a_column_called_bucket_is_refused(algorithm):
    table = TABLE.rename_columns(["bucket", "sex", "zip", "disease"])
    with pytest.raises(SchemaError, match="'bucket'"):
        ind.anonymize(table, ind.Schema(quasi=["bucket", "sex", "zip"], sensitive=["disease"]), algorithm=algorithm)


def test_columns_from_python_may_be_lists_numbers_or_text():
    named = [["age", "sex"], ["zip", "disease"]]
    assert Slicing(l=2, columns=named) == Slicing(l=2, columns="age+sex|zip+disease")
    assert Slicing(l=2, columns=3) == Slicing(l=2, columns="3")


@pytest.mark.parametrize("names", [["a+", "b"], ["a", "+b"], ["a+b", "c"], ["+", "++"]])
def test_names_with_a_plus_can_share_a_column(names):
    table = pa.table({names[0]: [1, 1, 2, 2], names[1]: [1, 1, 2, 2], "s": list("xyxy")})
    schema = ind.Schema(quasi=names, sensitive=["s"])
    release = ind.anonymize(table, schema, algorithm=Slicing(l=2, columns=[names, ["s"]]))
    assert release.certificate.columns == (tuple(names), ("s",))
