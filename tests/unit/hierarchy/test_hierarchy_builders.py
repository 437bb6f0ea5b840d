"""Dates, masking, declared order and suppression over small columns."""

import datetime as dt

import pyarrow as pa
import pytest

from indistinct.errors import HierarchyError
from indistinct.hierarchy import Dates, Hierarchy, Masking, Order, Suppression, Taxonomy, suggest
from indistinct.tables.domain import Domain


def texts(*values: str | None) -> Domain:
    return Domain(
        "code",
        pa.array(sorted(value for value in values if value is not None), pa.string()),
        missing=None in values,
    )


def path(taxonomy: Taxonomy, code: int) -> list[str | None]:
    return [labels[node] for labels, node in zip(taxonomy.labels, taxonomy.ancestors[code], strict=True)]


class TestDates:
    days = (dt.date(1969, 12, 31), dt.date(2024, 3, 5), dt.date(2024, 4, 1), dt.date(2029, 1, 1))

    @pytest.mark.parametrize(
        "kind", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns")]
    )
    def test_the_calendar(self, kind: pa.DataType) -> None:
        bound = Hierarchy.dates().bind(Domain("day", pa.array(self.days).cast(kind)))
        assert path(bound, 0)[1:] == ["1969-12", "1969-Q4", "1969", "1960s", "*"]
        assert path(bound, 1)[1:] == ["2024-03", "2024-Q1", "2024", "2020s", "*"]
        assert path(bound, 2)[1:] == ["2024-04", "2024-Q2", "2024", "2020s", "*"]
        assert path(bound, 3)[1:] == ["2029-01", "2029-Q1", "2029", "2020s", "*"]
        assert bound.leaves[4].tolist() == [1, 3]

    def test_days_of_timestamps_and_missing(self) -> None:
        moments = pa.array([dt.datetime(2024, 3, 5, 1), dt.datetime(2024, 3, 5, 23), dt.datetime(2024, 3, 6)])
        bound = Hierarchy.dates(["day", "year"]).bind(Domain("at", moments, missing=True))
        assert bound.labels[1:] == ((None, "2024-03-05", "2024-03-06"), (None, "2024"), ("*",))
        assert bound.ancestors[:, 1].tolist() == [0, 1, 1, 2]

    def test_time_zones_decide_the_day(self) -> None:
        late = pa.array([dt.datetime(2023, 12, 31, 23, 30)], pa.timestamp("us", "UTC"))
        berlin = late.cast(pa.timestamp("us", "Europe/Berlin"))
        assert Hierarchy.dates(["year"]).bind(Domain("at", late)).labels[1] == ("2023",)
        assert Hierarchy.dates(["year"]).bind(Domain("at", berlin)).labels[1] == ("2024",)

    def test_iso_texts(self) -> None:
        bound = Hierarchy.dates(["month"]).bind(texts("2024-03-05", "2024-03-09 10:00:00", None))
        assert bound.labels[1] == (None, "2024-03")

    def test_texts_that_are_not_dates(self) -> None:
        with pytest.raises(HierarchyError, match=r"'code' holds values that are not ISO dates \(2\)") as caught:
            Hierarchy.dates().bind(texts("2024-03-05", "yesterday", "2024-13-01"))
        assert set(caught.value.values) == {"yesterday", "2024-13-01"}
        assert "yesterday" not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_numbers_are_refused(self) -> None:
        with pytest.raises(HierarchyError, match="need dates"):
            Hierarchy.dates().bind(Domain("day", pa.array([2024])))

    def test_columns_without_values(self) -> None:
        assert Hierarchy.dates().bind(Domain("day", pa.nulls(0), missing=True)).height == 5
        assert Hierarchy.dates().bind(Domain("day", pa.array([], pa.int64()))).height == 5

    @pytest.mark.parametrize("levels", [[], "month", ["year", "month"], ["month", "month"], ["week"], 3, [None]])
    def test_impossible_levels(self, levels: object) -> None:
        with pytest.raises(HierarchyError) as caught:
            Hierarchy.dates(levels)  # type: ignore[arg-type]
        assert caught.value.hint

    def test_a_misspelled_level(self) -> None:
        with pytest.raises(HierarchyError, match="did you mean 'quarter'"):
            Hierarchy.dates(["quater"])


class TestMasking:
    def test_from_the_right(self) -> None:
        bound = Hierarchy.masking().bind(texts("4351", "4352", "4360", "5000"))
        assert path(bound, 0) == ["4351", "435*", "43**", "4***", "*"]
        assert path(bound, 2) == ["4360", "436*", "43**", "4***", "*"]
        assert path(bound, 3) == ["5000", "500*", "50**", "5***", "*"]
        assert [leaves.tolist() for leaves in bound.leaves] == [[1] * 4, [2, 1, 1], [3, 1], [3, 1], [4]]

    def test_from_the_left(self) -> None:
        bound = Hierarchy.masking("left", char="x").bind(texts("4351", "9951"))
        assert path(bound, 0) == ["4351", "x351", "xx51", "xxx1", "*"]
        assert bound.ancestors.tolist() == [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0]]

    def test_unequal_lengths_keep_equal_beginnings_together(self) -> None:
        bound = Hierarchy.masking().bind(texts("12", "123", "1234", "13"))
        assert path(bound, 0) == ["12", "12*", "12**", "1***", "*"]
        assert path(bound, 1) == ["123", "123*", "12**", "1***", "*"]
        assert path(bound, 2) == ["1234", "123*", "12**", "1***", "*"]
        assert path(bound, 3) == ["13", "13*", "13**", "1***", "*"]

    def test_unequal_lengths_from_the_left(self) -> None:
        bound = Hierarchy.masking("left").bind(texts("21", "4321"))
        assert path(bound, 0) == ["21", "*21", "**21", "***1", "*"]
        assert path(bound, 1) == ["4321", "*321", "**21", "***1", "*"]

    def test_limited_levels(self) -> None:
        assert path(Hierarchy.masking(levels=2).bind(texts("4351")), 0) == ["4351", "435*", "43**", "*"]
        assert path(Hierarchy.masking(levels=9).bind(texts("43")), 0) == ["43", "4*", "*"]

    def test_numbers_are_masked_as_written(self) -> None:
        bound = Hierarchy.masking().bind(Domain("zip", pa.array([-5, 7, 53715])))
        assert path(bound, 2) == ["53715", "5371*", "537**", "53***", "5****", "*"]
        assert path(bound, 0) == ["-5", "-5*", "-5**", "-5***", "-****", "*"]

    def test_missing_empty_and_wide_characters(self) -> None:
        bound = Hierarchy.masking().bind(texts(None, "", "é1", "é2"))
        assert [path(bound, code) for code in range(4)] == [
            [None, None, "*"],
            ["", "", "*"],
            ["é1", "é*", "*"],
            ["é2", "é*", "*"],
        ]

    @pytest.mark.parametrize("domain", [texts(), texts(None), texts(""), texts("a"), Domain("code", pa.nulls(0))])
    def test_nothing_to_mask(self, domain: Domain) -> None:
        bound = Hierarchy.masking().bind(domain)
        assert (bound.height, bound.labels[-1], bound.size) == (1, ("*",), len(domain))

    @pytest.mark.parametrize(
        "options",
        [
            {"side": "top"},
            {"side": None},
            {"char": ""},
            {"char": "**"},
            {"char": 1},
            {"levels": 0},
            {"levels": "2"},
            {"levels": True},
        ],
    )
    def test_impossible_masks(self, options: dict[str, object]) -> None:
        with pytest.raises(HierarchyError) as caught:
            Hierarchy.masking(**options)  # type: ignore[arg-type]
        assert caught.value.hint


class TestOrder:
    def test_one_step_to_the_top(self) -> None:
        domain = Domain("size", pa.array(["S", "M", "L"]), missing=True, declared=True)
        bound = Hierarchy.order(["S", "M", "L", "XL"]).bind(domain)
        assert bound.labels == ((None, "S", "M", "L"), ("*",))
        assert (bound.height, bound.size) == (1, 5)

    def test_values_outside(self) -> None:
        with pytest.raises(HierarchyError, match="1 value") as caught:
            Hierarchy.order(["S", "M"]).bind(texts("M", "XXL"))
        assert caught.value.values == ("XXL",)

    @pytest.mark.parametrize("values", [[], "SML", 3, ["S", "S"], [["S"]]])
    def test_impossible_orders(self, values: object) -> None:
        with pytest.raises(HierarchyError) as caught:
            Hierarchy.order(values)  # type: ignore[arg-type]
        assert caught.value.hint

    def test_values_are_texts(self) -> None:
        assert Hierarchy.order([1, True, "x"]).values == ("1", "true", "x")


def test_suppression() -> None:
    bound = Hierarchy.suppression().bind(texts(None, "a", "b"))
    assert bound.labels == ((None, "a", "b"), ("*",))
    assert (bound.height, bound.size, bound.rooted) == (1, 3, True)
    assert Hierarchy.suppression().bind(texts()).labels == ((), ("*",))


def test_which_hierarchies_make_names() -> None:
    assert not Hierarchy.dates().categorical
    assert not Hierarchy.order(["a"]).categorical
    assert Hierarchy.masking().categorical
    assert Hierarchy.suppression().categorical


def test_declarations_are_values() -> None:
    assert Hierarchy.dates(["month", "year"]) == Dates(("month", "year"))
    assert Hierarchy.masking("left", levels=2) == Masking("left", levels=2)
    assert Hierarchy.order(["a", "b"]) == Order(("a", "b"))
    assert Hierarchy.order(["a", "b"]) != Hierarchy.order(["b", "a"])
    assert Hierarchy.suppression() == Suppression()
    assert len({Hierarchy.dates(), Hierarchy.masking(), Hierarchy.suppression(), Hierarchy.order(["a"])}) == 4


class TestSuggestions:
    @pytest.mark.parametrize(
        ("values", "widths"),
        [
            ([17, 90], [5, 10, 20]),
            ([0, 1000], [50, 100, 200]),
            ([0, 30_000], [2000, 10_000, 20_000]),
            ([0.0, 1.0], [0.05, 0.1, 0.2]),
            ([-0.001, 0.001], [0.0001, 0.0005, 0.001]),
            ([1, 9], [2]),
            ([0, 1], [2]),
        ],
    )
    def test_numbers(self, values: list[float], widths: list[float]) -> None:
        domain = Domain("x", pa.array(values))
        suggested = suggest(domain)
        assert suggested.to_json() == {"intervals": widths}
        assert suggested.bind(domain).height == len(widths) + 1

    @pytest.mark.parametrize("values", [[5], [5.0], [], [float("nan")], [1.0, float("inf")]])
    def test_numbers_without_a_range(self, values: list[float]) -> None:
        assert suggest(Domain("x", pa.array(values, pa.float64()))) == Hierarchy.suppression()

    def test_dates(self) -> None:
        assert suggest(Domain("day", pa.array([dt.date(2024, 1, 1)]))) == Hierarchy.dates()

    def test_texts(self) -> None:
        assert suggest(texts("53715", "53710")) == Hierarchy.masking()
        assert suggest(texts("53715", "5371")) == Hierarchy.suppression()
        assert suggest(texts("1", "2")) == Hierarchy.suppression()
        assert suggest(texts("Lyon", "Nice")) == Hierarchy.suppression()
        assert suggest(texts()) == Hierarchy.suppression()
        assert suggest(Domain("x", pa.nulls(0), missing=True)) == Hierarchy.suppression()
        assert suggest(Domain("x", pa.array([False, True]))) == Hierarchy.suppression()
