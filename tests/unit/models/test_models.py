import dataclasses
import math
import operator
from fractions import Fraction

import numpy as np
import pytest

import indistinct.models as models
from indistinct.errors import InfeasibleError, ParameterError
from indistinct.frequencies.value import Classes
from indistinct.models import (
    All,
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    Model,
    RecursiveLDiversity,
    TCloseness,
    XYAnonymity,
)
from indistinct.models.arithmetic import cross_multiplied, per_class
from indistinct.models.registry import MODELS
from indistinct.testing.reference import violating_classes
from references.classes import classes_of

EVERY: dict[str, Model] = {
    "k-anonymity": KAnonymity(3),
    "alpha-k": AlphaK("s", 0.5, 3),
    "xy-anonymity": XYAnonymity("s", 3),
    "distinct-l-diversity": DistinctLDiversity("s", 3),
    "entropy-l-diversity": EntropyLDiversity("s", 2.5),
    "recursive-l-diversity": RecursiveLDiversity("s", 2, 3),
    "t-closeness": TCloseness("s", 0.2, "ordered"),
}
PATHS = {"a": ("AB", "*"), "b": ("AB", "*"), "c": ("C", "*")}


def broken(model: Model, groups, **more) -> list[bool]:
    return model.violations(classes_of(groups, **more)).tolist()


@pytest.mark.parametrize("name", EVERY)
class TestEvery:
    def test_has_its_registered_name_and_a_spec(self, name):
        model = EVERY[name]
        assert model.name == name
        assert model.spec().startswith(f"{name}:")

    def test_is_a_frozen_value(self, name):
        model = EVERY[name]
        assert model == dataclasses.replace(model)
        assert hash(model) == hash(dataclasses.replace(model))
        assert not hasattr(model, "__dict__")
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(model, dataclasses.fields(model)[0].name, 1)

    def test_an_empty_class_breaks_nothing(self, name):
        model = EVERY[name]
        full = ["a", "b", "c"] * 2
        classes = classes_of([[], full, [], ["a"], []])
        assert model.violations(classes).tolist() == [False, False, False, True, False]
        assert model.violations(classes_of([[], []], original=full)).tolist() == [False, False]

    def test_no_rows_have_no_level_and_are_feasible(self, name):
        model = EVERY[name]
        for classes in (classes_of([]), classes_of([[], []])):
            assert model.achieved(classes) == {}
            model.check(classes)

    def test_its_level_is_named_like_its_parameters(self, name):
        model = EVERY[name]
        level = model.achieved(classes_of([["a", "b", "c"]]))
        assert set(level) <= {field.name for field in dataclasses.fields(model)}
        assert all(type(value) in (int, float) for value in level.values())

    def test_merging_and_dropping_classes_keep_it(self, name):
        assert EVERY[name].traits.monotone
        assert EVERY[name].traits.stable
        assert EVERY[name].traits.sizes_only == (name == "k-anonymity")

    def test_its_keys_are_the_columns_it_reads(self, name):
        assert EVERY[name].keys == (() if name == "k-anonymity" else (("s",),))

    def test_its_smallest_class(self, name):
        assert EVERY[name].smallest == (1 if name == "t-closeness" else 3)


def test_every_model_is_exported():
    assert models.__all__ == sorted(models.__all__)
    assert set(models.__all__) == {*(m.__name__ for m in MODELS.values()), "All", "Judgement", "Model", "ModelTraits"}


class TestAlphaK:
    def test_alpha_is_compared_exactly(self):
        tenth = ["a"] * 1 + ["b"] * 1 + [str(i) for i in range(8)]
        assert broken(AlphaK("s", 0.1, 1), [tenth, tenth[:-1]]) == [False, True]
        third = ["a", "b", "c"]
        assert broken(AlphaK("s", "1/3", 1), [third]) == [False]
        assert broken(AlphaK("s", 0.3333, 1), [third]) == [True]

    def test_only_protected_values_count(self):
        groups = [["flu", "flu", "flu", "HIV"], ["flu", "HIV"], ["flu", "flu"], [None, None]]
        model = AlphaK("s", 0.25, 1, protected="HIV")
        assert broken(model, groups) == [False, True, False, False]
        assert model.achieved(classes_of(groups)) == {"alpha": 0.5, "k": 2}

    def test_missing_is_protected_when_everything_is(self):
        assert broken(AlphaK("s", 0.5, 1), [[None, None, "flu"], [None, "flu"]]) == [True, False]

    def test_a_misspelt_protected_value_is_an_error(self):
        with pytest.raises(ParameterError, match="must be values of column 's'; got 'Hiv'") as caught:
            broken(AlphaK("s", 0.5, 1, protected=("HIV", "Hiv")), [["HIV", "flu"]])
        assert caught.value.hint

    def test_huge_counts_do_not_overflow(self):
        sizes = np.array([3 * 10**9, 3 * 10**9])
        thin, wide = classes_of([["a", "b"], ["a", "b"]]), AlphaK("s", "333333333333/1000000000000", 1)
        histogram = dataclasses.replace(thin.histograms[("s",)], counts=np.array([10**9, 2 * 10**9, 10**8, 29 * 10**8]))
        lone = dataclasses.replace(wide, protected=("a",))
        assert lone.violations(Classes(sizes, {("s",): histogram})).tolist() == [True, False]


class TestRecursive:
    def test_the_inequality_is_strict(self):
        assert broken(RecursiveLDiversity("s", 3, 2), [list("aaab")]) == [True]
        assert broken(RecursiveLDiversity("s", 3.01, 2), [list("aaab")]) == [False]
        assert broken(RecursiveLDiversity("s", 0.1, 2), [list("a" + "bcdefghijk")]) == [True]
        assert broken(RecursiveLDiversity("s", 0.1, 2), [list("a" + "bcdefghijkl")]) == [False]

    def test_the_tail_starts_at_rank_l_wherever_the_codes_lie(self):
        groups = [list("abbbcc"), list("aaabbc"), list("abbccc")]
        for group in groups:
            assert RecursiveLDiversity("s", 9, 3).achieved(classes_of([group])) == {"c": 3.0, "l": 3}
            assert RecursiveLDiversity("s", 9, 2).achieved(classes_of([group])) == {"c": 1.0, "l": 2}
            assert RecursiveLDiversity("s", 9, 1).achieved(classes_of([group])) == {"c": 0.5, "l": 1}

    def test_too_few_values_have_no_finite_c(self):
        assert broken(RecursiveLDiversity("s", 1000, 3), [list("ab"), list("abc")]) == [True, False]
        assert RecursiveLDiversity("s", 1, 3).achieved(classes_of([list("ab")]))["c"] == math.inf


@pytest.mark.parametrize("values", range(1, 60))
def test_a_uniform_class_satisfies_entropy_diversity_exactly(values):
    group = [value for value in range(values) for _ in range(7)]
    assert broken(EntropyLDiversity("s", values), [group]) == [False]
    assert broken(EntropyLDiversity("s", values + 1e-6), [group]) == [True]


class TestTCloseness:
    @pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
    def test_the_distribution_of_the_table_is_at_distance_zero(self, distance):
        groups = [list("abbccc"), list("abbccc") * 7, list("abbccc") * 3]
        level = TCloseness("s", 0, distance).achieved(classes_of(groups, paths=PATHS))
        assert level == {"t": 0.0}

    def test_equal_is_half_the_sum_of_differences(self):
        level = TCloseness("s", 0).achieved(classes_of([["a"]], original=list("aabc")))
        assert level == {"t": 0.5}

    def test_ordered_counts_missing_as_the_first_value(self):
        far = TCloseness("s", 0, "ordered").achieved(classes_of([[None]], original=[None, 1, 2]))
        near = TCloseness("s", 0, "ordered").achieved(classes_of([[1]], original=[None, 1, 2]))
        assert far["t"] == pytest.approx((1 / 3 + 2 / 3) / 2)
        assert near["t"] == pytest.approx(1 / 3)

    def test_one_value_is_at_distance_zero(self):
        for distance in ("equal", "ordered"):
            assert TCloseness("s", 0, distance).achieved(classes_of([["a"], ["a", "a"]])) == {"t": 0.0}

    def test_hierarchical_moves_within_a_group_cost_less(self):
        model = TCloseness("s", 0, "hierarchical")
        near = model.achieved(classes_of([["a"]], original=["a", "b"], paths=PATHS))
        far = model.achieved(classes_of([["a"]], original=["a", "c"], paths=PATHS))
        assert (near["t"], far["t"]) == (0.25, 0.5)

    def test_hierarchical_keeps_neighbouring_classes_apart(self):
        # The first class ends in the node in which the second begins.
        model, original = TCloseness("s", 0, "hierarchical"), list("abcc")
        alone = [model.achieved(classes_of([g], original=original, paths=PATHS))["t"] for g in (["b"], ["a", "c"])]
        assert alone == [0.625, 0.125]
        classes = classes_of([["b"], ["a", "c"]], original=original, paths=PATHS)
        assert TCloseness("s", 0.125, "hierarchical").violations(classes).tolist() == [True, False]
        assert model.achieved(classes) == {"t": 0.625}

    def test_hierarchical_without_a_hierarchy_is_refused(self):
        with pytest.raises(ParameterError, match="column 's' has no hierarchy") as caught:
            broken(TCloseness("s", 0.5, "hierarchical"), [["a", "b"]])
        assert "ordered" in caught.value.hint

    def test_hierarchical_without_one_top_is_refused(self):
        with pytest.raises(ParameterError, match="ends in 2 values"):
            broken(TCloseness("s", 0.5, "hierarchical"), [["a", "b"]], paths={"a": ("A",), "b": ("B",)})

    def test_exactly_t_is_accepted(self):
        assert broken(TCloseness("s", 0.3), [list("a" * 8 + "b" * 2)], original=list("ab")) == [False]
        assert broken(TCloseness("s", 0.2999), [list("a" * 8 + "b" * 2)], original=list("ab")) == [True]


class TestCheck:
    @pytest.mark.parametrize(
        ("model", "sentence", "hint"),
        [
            (
                KAnonymity(50),
                "k = 50 but the table has only 12 rows",
                "choose a k of at most 12; with 12 all rows form one class",
            ),
            (
                AlphaK("s", 1, 50),
                "k = 50 but the table has only 12 rows",
                "choose a k of at most 12; with 12 all rows form one class",
            ),
            (
                AlphaK("s", 0.5, 2),
                "alpha = 0.5 but one protected value of column 's' takes 7 of the table's 12 rows",
                "alpha at least 7/12 (about 0.5833)",
            ),
            (
                XYAnonymity("s", 5),
                "k = 5 but 's' has only 3 distinct values",
                "choose a k of at most 3; with 3 every class has all values",
            ),
            (
                DistinctLDiversity("s", 5),
                "l = 5 but column 's' has only 3 distinct values",
                "choose an l of at most 3; with 3 every class has all values",
            ),
            (
                RecursiveLDiversity("s", 3, 5),
                "l = 5 but column 's' has only 3 distinct values",
                "choose an l of at most 3; with 3 every class has all values",
            ),
            (
                RecursiveLDiversity("s", 3.5, 3),
                "c = 3.5 but in the whole table the most frequent value of column 's' "
                "is not rarer than c times all from number 3 on",
                "c above 3.5",
            ),
            (
                EntropyLDiversity("s", 3),
                "entropy-l-diversity:sensitive=s,l=3.0 cannot hold: the whole table as one class does not satisfy it",
                "the whole table as one class achieves l = 2.6106",
            ),
        ],
    )
    def test_an_infeasible_model_says_what_would_be_feasible(self, model, sentence, hint):
        whole = classes_of([["zebra"] * 7 + ["yak"] * 3 + ["xerus"] * 2])
        with pytest.raises(InfeasibleError) as caught:
            model.check(whole)
        assert caught.value.message == sentence
        assert caught.value.hint.startswith(hint)
        assert not any(value in str(caught.value) for value in ("zebra", "yak", "xerus"))

    @pytest.mark.parametrize(
        "model",
        [
            KAnonymity(12),
            AlphaK("s", "7/12", 12),
            XYAnonymity("s", 3),
            DistinctLDiversity("s", 3),
            RecursiveLDiversity("s", 3.6, 3),
            EntropyLDiversity("s", 2.6),
            TCloseness("s", 0),
        ],
    )
    def test_the_hinted_value_is_feasible(self, model):
        model.check(classes_of([["zebra"] * 7 + ["yak"] * 3 + ["xerus"] * 2]))


class TestAll:
    model = KAnonymity(3) & DistinctLDiversity("s", 2) & AlphaK("s", 0.5, 1)

    def test_asks_for_every_part(self):
        assert isinstance(self.model, All)
        assert self.model.keys == (("s",),)
        assert self.model.smallest == 3
        assert not self.model.traits.sizes_only
        groups = [list("ab"), list("aaa"), list("aabb"), list("aaab")]
        assert broken(self.model, groups) == [True, True, False, True]

    def test_checks_every_part(self):
        with pytest.raises(InfeasibleError, match="l = 2"):
            self.model.check(classes_of([list("aaaa")]))


class TestArithmetic:
    def test_empty_segments_are_zero(self):
        indptr = np.array([0, 0, 2, 2, 3, 3])
        assert per_class(np.add, np.array([1, 2, 4]), indptr=indptr).tolist() == [0, 3, 0, 4, 0]
        assert per_class(np.add, np.array([], dtype=int), indptr=np.array([0, 0])).tolist() == [0]

    def test_no_classes_at_all(self):
        assert per_class(np.add, np.array([], dtype=int), indptr=np.array([0])).tolist() == []

    @pytest.mark.parametrize("compare", [operator.lt, operator.gt, operator.ge])
    @pytest.mark.parametrize("ratio", [Fraction(1, 3), Fraction(10**18 + 1, 10**18), Fraction(7, 1)])
    def test_comparison_is_exact_at_any_size(self, compare, ratio):
        left = np.array([1, 10**9, 3 * 10**18, 7], dtype=np.int64)
        right = np.array([3, 3 * 10**9, 3 * 10**18, 1], dtype=np.int64)
        expected = [compare(int(a), ratio * int(b)) for a, b in zip(left, right, strict=True)]
        assert compare(*cross_multiplied(left, right, ratio=ratio)).tolist() == expected


class TestReference:
    rows = [{"q": q, "s": s} for q, s in zip("xxxyyz", "abcaaa", strict=True)]  # noqa: RUF012

    def test_names_the_offending_classes(self):
        assert violating_classes(self.rows, ["q"], model=KAnonymity(2)) == [("z",)]
        assert violating_classes(self.rows, ["q"], model=DistinctLDiversity("s", 2)) == [("y",), ("z",)]
        assert violating_classes(self.rows, ["q"], model=KAnonymity(3) & DistinctLDiversity("s", 3)) == [
            ("y",),
            ("z",),
        ]
        assert violating_classes([], ["q"], model=KAnonymity(2)) == []

    def test_missing_and_not_a_number_are_one_value(self):
        rows = [{"q": math.nan, "s": "a"}, {"q": None, "s": "b"}, {"q": math.nan, "s": "c"}]
        assert violating_classes(rows, ["q"], model=KAnonymity(3)) == []

    def test_a_model_it_does_not_know_is_an_error(self):
        class Unknown(KAnonymity):
            pass

        class Foreign(Model):
            name = "foreign"

            def violations(self, classes):
                return classes.sizes < 0

            def achieved(self, classes):
                return {}

        assert violating_classes(self.rows, ["q"], model=Unknown(2)) == [("z",)]
        with pytest.raises(TypeError, match="does not know Foreign"):
            violating_classes(self.rows, ["q"], model=Foreign())
