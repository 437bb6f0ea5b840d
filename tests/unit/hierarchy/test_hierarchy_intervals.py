"""Intervals of numbers: ends, labels and nesting, exactly, for integers and for floats."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.errors import HierarchyError
from indistinct.hierarchy import CutPoints, Hierarchy, Intervals, Taxonomy
from indistinct.tables.domain import Domain


def numbers(*values: float, kind: pa.DataType | None = None, missing: bool = False) -> Domain:
    return Domain("age", pa.array(sorted(values), kind), missing=missing)


def path(taxonomy: Taxonomy, code: int) -> list[str | None]:
    return [labels[node] for labels, node in zip(taxonomy.labels, taxonomy.ancestors[code], strict=True)]


class TestWidths:
    def test_integers_get_closed_labels(self) -> None:
        bound = Hierarchy.intervals([5, 10, 20]).bind(numbers(20, 24, 25, 39))
        assert path(bound, 0) == ["20", "20-24", "20-29", "20-39", "*"]
        assert path(bound, 1) == ["24", "20-24", "20-29", "20-39", "*"]
        assert path(bound, 2) == ["25", "25-29", "20-29", "20-39", "*"]
        assert path(bound, 3) == ["39", "35-39", "30-39", "20-39", "*"]
        assert [leaves.tolist() for leaves in bound.leaves] == [[1, 1, 1, 1], [2, 1, 1], [3, 1], [4], [4]]

    def test_floats_get_half_open_labels(self) -> None:
        bound = Hierarchy.intervals([5, 10]).bind(numbers(20.0, 24.99, 25.0))
        assert path(bound, 1) == ["24.99", "[20, 25)", "[20, 30)", "*"]
        assert path(bound, 2) == ["25", "[25, 30)", "[20, 30)", "*"]

    def test_negative_numbers_round_down(self) -> None:
        bound = Hierarchy.intervals([5, 10]).bind(numbers(-6, -5, -1, 0))
        assert bound.labels[1] == ("[-10, -6]", "[-5, -1]", "0-4")
        assert bound.labels[2] == ("[-10, -1]", "0-9")
        assert Hierarchy.intervals([0.5]).bind(numbers(-0.25, 0.0)).labels[1] == ("[-0.5, 0)", "[0, 0.5)")

    def test_origin_shifts_the_ends(self) -> None:
        bound = Hierarchy.intervals([5, 10], origin=1).bind(numbers(0, 1, 5, 6))
        assert bound.labels[1] == ("[-4, 0]", "1-5", "6-10")
        assert bound.labels[2] == ("[-9, 0]", "1-10")
        assert Hierarchy.intervals([1], origin=0.5).bind(numbers(0.4, 0.5)).labels[1] == (
            "[-0.5, 0.5)",
            "[0.5, 1.5)",
        )

    def test_missing_is_a_leaf_of_the_root(self) -> None:
        bound = Hierarchy.intervals([5, 10]).bind(numbers(3, 7, missing=True))
        assert path(bound, 0) == [None, None, None, "*"]
        assert path(bound, 1) == ["3", "0-4", "0-9", "*"]
        assert [leaves.tolist() for leaves in bound.leaves] == [[1, 1, 1], [1, 1, 1], [1, 2], [3]]

    def test_one_integer_needs_no_dash(self) -> None:
        assert Hierarchy.intervals([1, 2]).bind(numbers(4, 5)).labels[1] == ("4", "5")

    def test_fractional_widths_over_integers(self) -> None:
        assert Hierarchy.intervals([2.5, 5]).bind(numbers(20, 22, 23, 24)).labels[1:] == (
            ("20-22", "23-24"),
            ("20-24",),
            ("*",),
        )

    @pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64(), pa.decimal128(5, 2)])
    def test_ends_belong_to_the_interval_above_despite_rounding(self, kind: pa.DataType) -> None:
        tenths = [i / 10 for i in range(-20, 21)]
        domain = Domain("x", pa.array(tenths).cast(kind))
        bound = Hierarchy.intervals([0.1, 0.2]).bind(domain)
        assert len(bound.labels[1]) == len(tenths)
        assert all(
            label is not None and label.startswith(f"[{text},")
            for label, text in zip(bound.labels[1], (f"{tenth:g}" for tenth in tenths), strict=True)
        )
        assert len(bound.labels[2]) == 21

    def test_integers_beyond_64_bits_are_exact(self) -> None:
        big = 2**64 - 1
        bound = Hierarchy.intervals([10, 100]).bind(numbers(0, big - 1, big, kind=pa.uint64()))
        assert bound.labels[1] == ("0-9", "18446744073709551610-18446744073709551619")
        low = Hierarchy.intervals([10]).bind(numbers(-(2**63), 0, 2**63 - 1, kind=pa.int64()))
        assert low.labels[1] == (
            "[-9223372036854775810, -9223372036854775801]",
            "0-9",
            "9223372036854775800-9223372036854775809",
        )

    def test_widths_wider_than_everything(self) -> None:
        bound = Hierarchy.intervals([10**30, 10**31]).bind(numbers(-1, 1))
        assert bound.labels[1] == (f"[-{10**30}, -1]", f"0-{10**30 - 1}")
        assert Hierarchy.intervals([1e300]).bind(numbers(1.5)).rooted

    def test_floats_that_cannot_be_told_apart_are_refused(self) -> None:
        with pytest.raises(HierarchyError, match=r"'age'.*too large"):
            Hierarchy.intervals([0.001]).bind(numbers(1.5, 1e20))

    @pytest.mark.parametrize("strange", [float("nan"), float("inf"), -float("inf")])
    def test_numbers_that_are_not_finite_are_refused(self, strange: float) -> None:
        for hierarchy in (Hierarchy.intervals([5]), Hierarchy.intervals(cuts=[[5]])):
            with pytest.raises(HierarchyError, match="'age' holds values that are not finite"):
                hierarchy.bind(Domain("age", pa.array([1.0, strange])))

    @pytest.mark.parametrize("values", [pa.array(["1", "2"]), pa.array([0, 1], pa.date32())])
    def test_other_kinds_are_refused(self, values: pa.Array) -> None:
        with pytest.raises(HierarchyError, match="need numbers"):
            Hierarchy.intervals([5]).bind(Domain("age", values))

    def test_columns_without_values_keep_the_height(self) -> None:
        bound = Hierarchy.intervals([5, 10]).bind(Domain("age", pa.nulls(0), missing=True))
        assert (bound.height, bound.size) == (3, 1)
        assert Hierarchy.intervals([5, 10]).bind(Domain("age", pa.array([], pa.float64()))).labels[-1] == ("*",)

    @pytest.mark.parametrize(
        ("widths", "message"),
        [
            ([5, 12], "levels do not nest: width 12"),
            ([10, 5], "levels do not nest"),
            ([5, 5], "levels do not nest"),
            ([0.1, 0.25], "levels do not nest"),
            ([0, 5], "positive"),
            ([-5], "positive"),
            ([], "list of numbers"),
            (5, "list of numbers"),
            ("5", "list of numbers"),
            (["5"], "finite numbers"),
            ([True], "finite numbers"),
            ([float("nan")], "finite numbers"),
            ([float("inf")], "finite numbers"),
        ],
    )
    def test_impossible_widths(self, widths: object, message: str) -> None:
        with pytest.raises(HierarchyError, match=message) as caught:
            Hierarchy.intervals(widths)  # type: ignore[arg-type]
        assert caught.value.hint

    def test_decimal_digits_decide_nesting(self) -> None:
        assert Hierarchy.intervals([0.1, 0.3, 0.6]).to_json() == {"intervals": [0.1, 0.3, 0.6]}

    def test_either_widths_or_cuts(self) -> None:
        with pytest.raises(HierarchyError, match="either"):
            Hierarchy.intervals()
        with pytest.raises(HierarchyError, match="either"):
            Hierarchy.intervals([5], cuts=[[5]])
        with pytest.raises(HierarchyError, match="either"):
            Hierarchy.intervals(origin=3, cuts=[[5]])


class TestCutPoints:
    def test_integers(self) -> None:
        bound = Hierarchy.intervals(cuts=[[18, 40, 65], [40]]).bind(numbers(17, 18, 39, 40, 64, 65))
        assert bound.labels[1:] == (("<18", "18-39", "40-64", ">=65"), ("<40", ">=40"), ("*",))
        assert bound.ancestors[:, 1].tolist() == [0, 1, 1, 2, 2, 3]
        assert bound.ancestors[:, 2].tolist() == [0, 0, 0, 1, 1, 1]

    def test_floats_and_missing(self) -> None:
        bound = Hierarchy.intervals(cuts=[[-1.5, 0.1]]).bind(numbers(-2.0, -1.5, 0.1, missing=True))
        assert bound.labels[1] == (None, "<-1.5", "[-1.5, 0.1)", ">=0.1")
        assert path(bound, 0) == [None, None, "*"]

    def test_fractional_cuts_over_integers(self) -> None:
        bound = Hierarchy.intervals(cuts=[[17.5, 20.5, 21.5]]).bind(numbers(17, 18, 20, 21, 22))
        assert bound.labels[1] == ("<17.5", "18-20", "21", ">=21.5")

    def test_single_precision_cuts(self) -> None:
        bound = Hierarchy.intervals(cuts=[[0.7]]).bind(numbers(0.7, kind=pa.float32()))
        assert bound.labels[1] == (">=0.7",)

    def test_huge_cuts(self) -> None:
        bound = Hierarchy.intervals(cuts=[[0, 10**30]]).bind(numbers(-(2**63), 2**63 - 1, kind=pa.int64()))
        assert bound.labels[1] == ("<0", f"0-{10**30 - 1}")

    @pytest.mark.parametrize(
        ("cuts", "message"),
        [
            ([[18, 40], [30]], "levels do not nest: cuts of level 2"),
            ([[40, 18]], "level 1 must ascend"),
            ([[18, 18]], "level 1 must ascend"),
            ([18, 40], "list of lists"),
            ([], "list of lists"),
            ("18", "list of lists"),
            ([[]], "list of numbers"),
            ([[None]], "finite numbers"),
        ],
    )
    def test_impossible_cuts(self, cuts: object, message: str) -> None:
        with pytest.raises(HierarchyError, match=message) as caught:
            Hierarchy.intervals(cuts=cuts)  # type: ignore[arg-type]
        assert caught.value.hint


def test_numbers_stay_ordered() -> None:
    assert not Hierarchy.intervals([5]).categorical
    assert not Hierarchy.intervals(cuts=[[5]]).categorical


def test_declarations_are_values() -> None:
    assert Hierarchy.intervals([5.0, np.int64(10)]) == Intervals((5, 10))
    assert hash(Hierarchy.intervals([5])) == hash(Intervals([5.0]))
    assert Hierarchy.intervals([5]) != Hierarchy.intervals([5], origin=1)
    assert Hierarchy.intervals(cuts=[[5, 7], [7]]) == CutPoints(((5, 7), (7,)))


@settings(deadline=None, max_examples=60)
@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30, unique=True),
    width=st.sampled_from([0.1, 0.25, 0.7, 1, 3, 12.5]),
    origin=st.sampled_from([0, 0.3, -7, 100]),
)
def test_every_float_lies_in_its_interval(values: list[float], width: float, origin: float) -> None:
    domain = Domain("x", pa.array(sorted({value + 0.0 for value in values})))
    bound = Hierarchy.intervals([width], origin=origin).bind(domain)
    for code, value in enumerate(domain.values.to_pylist()):
        label = bound.labels[1][bound.ancestors[code, 1]]
        assert label is not None
        low, high = label[1:-1].split(", ")
        assert float(low) <= value < float(high)
        assert Fraction(high) - Fraction(low) == Fraction(str(width))


@settings(deadline=None, max_examples=60)
@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30, unique=True),
    width=st.integers(2, 2**40),
    origin=st.integers(-(2**40), 2**40),
)
def test_every_integer_lies_in_its_interval(values: list[int], width: int, origin: int) -> None:
    bound = Hierarchy.intervals([width, 3 * width], origin=origin).bind(numbers(*values, kind=pa.int64()))
    for code, value in enumerate(sorted(values)):
        for level, span in ((1, width), (2, 3 * width)):
            label = bound.labels[level][bound.ancestors[code, level]]
            assert label is not None
            low, high = map(int, label[1:-1].split(", ") if label.startswith("[") else label.split("-"))
            assert low <= value <= high
            assert high - low + 1 == span
            assert (low - origin) % span == 0
