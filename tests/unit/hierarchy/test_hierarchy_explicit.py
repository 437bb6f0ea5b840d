"""Hierarchies written out value by value: what they publish, what they count, and what is refused."""

import datetime as dt

import pyarrow as pa
import pytest

from indistinct.errors import HierarchyError
from indistinct.hierarchy import Explicit, Hierarchy, Taxonomy, check_rooted
from indistinct.tables.domain import Domain

JOBS = [
    ["engineer", "professional", "*"],
    ["lawyer", "professional", "*"],
    ["writer", "artist", "*"],
    ["dancer", "artist", "*"],
]


def column(*values: object, kind: pa.DataType | None = None) -> Domain:
    present = pa.array([value for value in values if value is not None], kind)
    return Domain("job", present.take(pa.compute.sort_indices(present)), missing=None in values)


def path(taxonomy: Taxonomy, code: int) -> list[str | None]:
    return [labels[node] for labels, node in zip(taxonomy.labels, taxonomy.ancestors[code], strict=True)]


class TestBinding:
    def test_nodes_are_numbered_by_their_first_value(self) -> None:
        bound = Hierarchy.from_rows(JOBS).bind(column("dancer", "engineer", "lawyer", "writer"))
        assert bound.ancestors.tolist() == [[0, 0, 0], [1, 1, 0], [2, 1, 0], [3, 0, 0]]
        assert bound.labels == (
            ("dancer", "engineer", "lawyer", "writer"),
            ("artist", "professional"),
            ("*",),
        )
        assert [leaves.tolist() for leaves in bound.leaves] == [[1, 1, 1, 1], [2, 2], [4]]
        assert (bound.height, bound.size, bound.rooted) == (2, 4, True)

    def test_leaves_without_data_count_below_shared_nodes(self) -> None:
        bound = Hierarchy.from_rows(JOBS).bind(column("lawyer"))
        assert bound.labels == (("lawyer",), ("professional",), ("*",))
        assert [leaves.tolist() for leaves in bound.leaves] == [[1], [2], [4]]
        assert bound.size == 4

    def test_missing_is_a_leaf_of_the_root(self) -> None:
        bound = Hierarchy.from_rows(JOBS).bind(column(None, "lawyer", "writer"))
        assert path(bound, 0) == [None, None, "*"]
        assert path(bound, 1) == ["lawyer", "professional", "*"]
        assert [leaves.tolist() for leaves in bound.leaves] == [[1, 1, 1], [1, 2, 2], [5]]
        assert bound.ancestors[0].tolist() == [0, 0, 0]

    @pytest.mark.parametrize("leaf", ["", None])
    def test_the_empty_leaf_stands_for_missing(self, leaf: str | None) -> None:
        bound = Hierarchy.from_rows([*JOBS, [leaf, "unknown", "*"]]).bind(column(None, "lawyer"))
        assert path(bound, 0) == [None, "unknown", "*"]
        assert bound.size == 5

    def test_the_empty_leaf_belongs_to_empty_texts_of_the_data_first(self) -> None:
        bound = Hierarchy.from_rows([*JOBS, ["", "unknown", "*"]]).bind(column(None, "", "lawyer"))
        assert path(bound, 0) == [None, None, "*"]
        assert path(bound, 1) == ["", "unknown", "*"]
        assert bound.size == 6

    def test_empty_labels_above_missing_are_missing(self) -> None:
        bound = Hierarchy.from_rows([*JOBS, ["", "", "*"]]).bind(column(None, "lawyer"))
        assert path(bound, 0) == [None, None, "*"]
        assert bound.size == 5

    def test_a_table_without_rows_keeps_height_and_size(self) -> None:
        bound = Hierarchy.from_rows(JOBS).bind(Domain("job", pa.array([], pa.string())))
        assert (bound.height, bound.size, bound.labels[-1]) == (2, 4, ("*",))

    def test_only_missing(self) -> None:
        bound = Hierarchy.from_rows(JOBS).bind(Domain("job", pa.nulls(0), missing=True))
        assert path(bound, 0) == [None, None, "*"]
        assert bound.size == 5

    @pytest.mark.parametrize(
        "kind", [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(38, 2)]
    )
    def test_numbers_match_by_size(self, kind: pa.DataType) -> None:
        rows = [["17", "young", "*"], ["18.0", "young", "*"], [65, "old", "*"], ["unknown", "?", "*"]]
        bound = Hierarchy.from_rows(rows).bind(Domain("age", pa.array([17, 18, 65]).cast(kind)))
        assert bound.ancestors[:, 1].tolist() == [0, 0, 1]
        assert bound.size == 4

    def test_one_number_written_twice_is_one_leaf(self) -> None:
        ages = Domain("age", pa.array([17]))
        assert Hierarchy.from_rows([["17", "young", "*"], ["17.0", "young", "*"]]).bind(ages).size == 1
        with pytest.raises(HierarchyError, match="'age'"):
            Hierarchy.from_rows([["17", "young", "*"], ["17.0", "old", "*"]]).bind(ages)

    def test_texts_match_exactly(self) -> None:
        with pytest.raises(HierarchyError, match="1 value"):
            Hierarchy.from_rows([["17.0", "*"]]).bind(column("17"))

    @pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("us")])
    def test_dates_match_by_their_iso_text(self, kind: pa.DataType) -> None:
        rows = [[dt.date(2024, 3, 5), "spring", "*"], [dt.datetime(2024, 9, 5), "autumn", "*"]]
        days = Domain("day", pa.array([dt.date(2024, 3, 5), dt.date(2024, 9, 5)]).cast(kind))
        assert Hierarchy.from_rows(rows).bind(days).labels[1] == ("spring", "autumn")

    def test_booleans_match(self) -> None:
        flags = Domain("flag", pa.array([False, True]))
        assert Hierarchy.from_rows([[True, "*"], [False, "*"]]).bind(flags).size == 2

    def test_values_outside_are_counted_but_not_shown(self) -> None:
        with pytest.raises(HierarchyError) as caught:
            Hierarchy.from_rows(JOBS).bind(column("lawyer", "sailor", "spy"))
        assert "'job'" in str(caught.value)
        assert "2 values of the data" in str(caught.value)
        assert "sailor" not in str(caught.value)
        assert caught.value.values == ("sailor", "spy")
        assert caught.value.hint


class TestValidation:
    def test_a_leaf_with_two_paths(self) -> None:
        with pytest.raises(HierarchyError, match="1 value of the hierarchy has several rows") as caught:
            Hierarchy.from_rows([["a", "A", "*"], ["a", "B", "*"]])
        assert caught.value.values == ("a",)

    def test_equal_rows_are_one(self) -> None:
        assert Hierarchy.from_rows([["a", "*"], ["a", "*"]]) == Hierarchy.from_rows([["a", "*"]])

    def test_broken_nesting(self) -> None:
        rows = [["a", "other", "east", "*"], ["b", "other", "west", "*"], ["c", "C", "west", "*"]]
        with pytest.raises(HierarchyError, match=r"levels do not nest: values of level 1") as caught:
            Hierarchy.from_rows(rows)
        assert caught.value.values == ("other",)
        assert "other" not in caught.value.message

    def test_labels_of_different_levels_may_coincide(self) -> None:
        assert Hierarchy.from_rows([["a", "a", "*"], ["b", "c", "*"], ["c", "c", "*"]]).rows[0] == (
            "a",
            "a",
            "*",
        )

    def test_two_roots(self) -> None:
        rows = [["a", "east"], ["b", "west"]]
        with pytest.raises(HierarchyError, match="2 values; expected one root") as caught:
            Hierarchy.from_rows(rows)
        assert "rooted=False" in (caught.value.hint or "")
        with pytest.raises(HierarchyError, match="one root"):
            Hierarchy.tree({"east": ["a"], "west": ["b"]})

    def test_two_roots_on_demand(self) -> None:
        forest = Hierarchy.from_rows([["a", "east"], ["b", "west"], ["c", "west"]], rooted=False)
        bound = forest.bind(column(None, "c"))
        assert not bound.rooted
        assert path(bound, 0) == [None, None]
        assert bound.size == 4
        with pytest.raises(HierarchyError, match="'job' has 3 roots"):
            check_rooted(bound)
        check_rooted(Hierarchy.from_rows(JOBS).bind(column("lawyer")))

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([], "list of rows"),
            ("abc", "list of rows"),
            (["ab", "cd"], "list of rows"),
            (7, "list of rows"),
            ({"*": ["a"]}, "list of rows"),
            ([["a", ["b"], "*"]], "a text, a number or a date"),
            ([["a"]], "coarser"),
            ([[]], "coarser"),
            ([["a", "*"], ["b", "B", "*"]], r"row 2 .* 3 levels; the first row has 2"),
        ],
    )
    def test_what_is_not_a_table(self, rows: object, message: str) -> None:
        with pytest.raises(HierarchyError, match=message) as caught:
            Hierarchy.from_rows(rows)  # type: ignore[arg-type]
        assert caught.value.hint


class TestTree:
    def test_ragged_branches_repeat_their_value_upward(self) -> None:
        tree = Hierarchy.tree({"*": {"married": {"here": ["a", "b"], "away": ["c"]}, "single": [], "widowed": ["d"]}})
        assert tree.rows == (
            ("a", "here", "married", "*"),
            ("b", "here", "married", "*"),
            ("c", "away", "married", "*"),
            ("single", "single", "single", "*"),
            ("d", "d", "widowed", "*"),
        )

    def test_leaves_and_branches_may_mix(self) -> None:
        tree = Hierarchy.tree({"*": ["a", {"B": ["b", "c"]}, 7]})
        assert tree.rows == (("a", "a", "*"), ("b", "B", "*"), ("c", "B", "*"), ("7", "7", "*"))

    def test_a_branch_in_two_places_is_one(self) -> None:
        split = Hierarchy.tree({"*": [{"A": ["a"]}, {"B": ["b"]}, {"A": ["c"]}]})
        assert split == Hierarchy.tree({"*": {"A": ["a", "c"], "B": ["b"]}})

    def test_the_policy_form_leaves_padding_out(self) -> None:
        nested = {"*": {"married": ["a", "b"], "single": []}}
        assert Hierarchy.tree(nested).to_json() == {"tree": nested}

    def test_padding_that_gives_the_height_stays(self) -> None:
        nested = {"*": {"a": ["a"], "b": ["b"]}}
        assert Hierarchy.tree(nested).rows == (("a", "a", "*"), ("b", "b", "*"))
        assert Hierarchy.tree(nested).to_json() == {"tree": nested}

    @pytest.mark.parametrize("nested", [{}, [], "a", {"*": 3}, {"*": "abc"}, {"*": [["a"]]}, {"*": []}])
    def test_what_is_not_a_tree(self, nested: object) -> None:
        with pytest.raises(HierarchyError) as caught:
            Hierarchy.tree(nested)  # type: ignore[arg-type]
        assert caught.value.hint


class TestValue:
    def test_declarations_are_values(self) -> None:
        assert Hierarchy.from_rows(JOBS) == Explicit(tuple(map(tuple, JOBS)))
        assert hash(Hierarchy.from_rows(JOBS)) == hash(Hierarchy.from_rows(JOBS))
        assert Hierarchy.from_rows(JOBS) != Hierarchy.from_rows(JOBS[:3])
        with pytest.raises(AttributeError):
            Hierarchy.from_rows(JOBS).rooted = False  # type: ignore[misc]

    def test_numbers_become_names(self) -> None:
        assert Hierarchy.from_rows(JOBS).categorical


def test_values_are_read_from_any_iterable() -> None:
    assert Hierarchy.from_rows(iter(JOBS)) == Hierarchy.from_rows(JOBS)
