"""Hierarchies from files and policies, and the files of the reference data."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct.errors import HierarchyError, IndistinctError
from indistinct.hierarchy import (
    Hierarchy,
    check_rooted,
    hierarchy_from_json,
    hierarchy_from_spec,
    spec_of_hierarchy,
)
from indistinct.tables.domain import Domain

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("INDISTINCT_DATA", ROOT.parent / "shared" / "data"))
needs_data = pytest.mark.skipif(not (DATA / "adult.csv").exists(), reason="INDISTINCT_DATA does not hold adult.csv")


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def to_file(content: str | bytes) -> Path:
        place = tmp_path / "hierarchy.csv"
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return place

    return to_file


class TestReadCsv:
    @pytest.mark.parametrize(
        "content",
        [
            "a;A;*\nb;B;*\n",
            "a,A,*\r\nb,B,*",
            "a\tA\t*\n\nb\tB\t*\n",
            '"a";"A";*\n"b";B;*\n',
            b"\xef\xbb\xbfa;A;*\nb;B;*\n",
        ],
    )
    def test_delimiters_quotes_and_byte_order_marks(self, write: Any, content: str | bytes) -> None:
        assert Hierarchy.read_csv(write(content)).rows == (("a", "A", "*"), ("b", "B", "*"))

    def test_values_hold_other_delimiters_quotes_and_line_breaks(self, write: Any) -> None:
        rows = Hierarchy.read_csv(write('a,b;"x;y";*\n"say ""no""";"two\nlines";*\nc,d;e\u2028f;*\n')).rows
        assert rows == (("a,b", "x;y", "*"), ('say "no"', "two\nlines", "*"), ("c,d", "e\u2028f", "*"))

    def test_a_given_delimiter(self, write: Any) -> None:
        assert Hierarchy.read_csv(write("a;b|*\nc;d|*\n"), delimiter="|").rows == (("a;b", "*"), ("c;d", "*"))

    @pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n"])
    def test_an_impossible_delimiter(self, write: Any, delimiter: str) -> None:
        with pytest.raises(HierarchyError, match="delimiter"):
            Hierarchy.read_csv(write("a;*\n"), delimiter=delimiter)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "cp932"])
    def test_encodings_are_found_or_given(self, write: Any, encoding: str) -> None:
        word = "東京" if encoding == "cp932" else "café"
        place = write(f"{word};*\nthé;*\n".replace("thé", "x" if encoding == "cp932" else "thé").encode(encoding))
        assert Hierarchy.read_csv(place).rows[0] == (word, "*")
        given = Hierarchy.read_csv(place, encoding=encoding)
        assert given.rows[0] == (word, "*")
        assert given.to_json() == {"file": str(place), "encoding": encoding}
        assert hierarchy_from_json(given.to_json(), base=Path()) == given
        with pytest.raises(HierarchyError, match="not known"):
            Hierarchy.read_csv(place, encoding="no-such")
        if encoding != "utf-16":
            with pytest.raises(HierarchyError, match="not text"):
                Hierarchy.read_csv(place, encoding="ascii")

    def test_a_header_is_left_out_if_it_is_declared(self, write: Any) -> None:
        place = write("value;group;all\nflu;infection;*\nulcer;stomach;*\n")
        read = Hierarchy.read_csv(place, header=True)
        assert read.rows == (("flu", "infection", "*"), ("ulcer", "stomach", "*"))
        assert hierarchy_from_json(read.to_json(), base=Path()) == read
        assert hierarchy_from_spec("ill", f"header:{place}").rows == read.rows
        with pytest.raises(HierarchyError, match="expected one root") as caught:
            Hierarchy.read_csv(place)
        assert "header" in str(caught.value.hint)
        with pytest.raises(HierarchyError, match="no rows"):
            Hierarchy.read_csv(write("value;group;all\n"), header=True)
        for wrong in ({"header": "yes"}, {"encoding": 1}):
            with pytest.raises(HierarchyError):
                hierarchy_from_json({"file": str(place), **wrong}, base=Path())

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "is empty"),
            ("\n\n", "is empty"),
            ("a;A;*\nb;*\n", r"line 2 .* 2 levels; the first row has 3"),
            ("secret;A;*\n" * 200 + "b;B;C;*\n", "line 201"),
            ('a;*\n"b;*\n', "quote"),
            ('a;*\n"b"c;*\n', "quote"),
            ("secret\n", "coarser"),
            ("a;A;*\nb;A;+\n", "levels do not nest"),
            ("a;A\nb;B\n", "expected one root"),
            ("a;A;*\na;B;*\n", "several rows"),
        ],
    )
    def test_broken_files(self, write: Any, content: str | bytes, message: str) -> None:
        place = write(content)
        with pytest.raises(HierarchyError, match=message) as caught:
            Hierarchy.read_csv(place)
        assert str(place) in str(caught.value)
        assert "secret" not in str(caught.value).replace(str(place), "")
        assert caught.value.hint
        assert caught.value.__cause__ is None

    def test_files_that_cannot_be_opened(self, tmp_path: Path) -> None:
        with pytest.raises(HierarchyError, match=r"there is no file .*absent\.csv, which a hierarchy names"):
            Hierarchy.read_csv(tmp_path / "absent.csv")
        with pytest.raises(HierarchyError, match="cannot read the hierarchy"):
            Hierarchy.read_csv(tmp_path)

    def test_several_roots_on_demand(self, write: Any) -> None:
        forest = Hierarchy.read_csv(write("a;A\nb;B\n"), rooted=False)
        assert forest.to_json()["rooted"] is False
        with pytest.raises(HierarchyError, match="2 roots"):
            check_rooted(forest.bind(Domain("x", pa.array(["a", "b"]))))

    def test_the_policy_keeps_the_path(self, write: Any, tmp_path: Path) -> None:
        write("a;A;*\n")
        data = {"file": "hierarchy.csv", "delimiter": ";"}
        read = hierarchy_from_json(data, base=tmp_path)
        assert read.to_json() == data
        assert hierarchy_from_json(read.to_json(), base=tmp_path) == read
        whole = Hierarchy.read_csv(tmp_path / "hierarchy.csv")
        assert hierarchy_from_json(whole.to_json(), base=Path("elsewhere")) == whole


class TestPolicy:
    @pytest.mark.parametrize(
        "data",
        [
            {"intervals": [5, 10, 20]},
            {"intervals": [0.5, 1], "origin": 0.25},
            {"cuts": [[18, 40, 65], [40]]},
            {"dates": ["month", "year"]},
            {"mask": "right"},
            {"mask": "left", "char": "x", "levels": 2},
            {"order": ["low", "middle", "high"]},
            {"suppression": True},
            {"rows": [["a", "A", "*"], ["b", "B", "*"]]},
            {"rows": [["a", "A"], ["b", "B"]], "rooted": False},
            {"tree": {"*": {"A": ["a", "b"], "c": []}}},
            {"tree": {"A": ["a"], "B": ["b"]}, "rooted": False},
        ],
    )
    def test_the_inverse_is_exact(self, data: dict[str, Any]) -> None:
        read = hierarchy_from_json(data, base=Path())
        assert read.to_json() == data
        assert hierarchy_from_json(json.loads(json.dumps(read.to_json())), base=Path()) == read

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({"interval": [5]}, "'interval'.*did you mean 'intervals'"),
            ({"mask": "right", "chars": "x"}, "did you mean 'char'"),
            ({"zebra": 1}, "'zebra'.*known: intervals"),
            ({}, "got none"),
            ({"origin": 3}, "got none"),
            ({"intervals": [5], "cuts": [[5]]}, "got intervals, cuts"),
            ({"dates": ["year"], "origin": 3}, "'origin' does not go with 'dates'"),
            ({"suppression": False}, "must be true"),
            ({"file": 3}, "must be texts"),
            ({"file": "a.csv", "delimiter": 3}, "must be texts"),
            ({"rows": [["a", "*"]], "rooted": "no"}, "true or false"),
            ({"intervals": None}, "list of numbers"),
            ({"dates": "month"}, "must be a list"),
            ({"order": "abc"}, "list of values"),
            ({"tree": ["a"]}, "nested mapping"),
            ("suppression", "table of keys"),
        ],
    )
    def test_what_a_policy_may_not_say(self, data: Any, message: str) -> None:
        with pytest.raises(HierarchyError, match=f"(?s){message}"):
            hierarchy_from_json(data, base=Path())

    @pytest.mark.parametrize(
        ("spec", "data"),
        [
            ("intervals:5,10,20", {"intervals": [5, 10, 20]}),
            ("intervals:0.5,1,origin=0.25", {"intervals": [0.5, 1], "origin": 0.25}),
            ("cuts:18,40,65|40", {"cuts": [[18, 40, 65], [40]]}),
            ("dates:month,year", {"dates": ["month", "year"]}),
            ("mask:left", {"mask": "left"}),
            ("mask:right,char=#,levels=2,length=7", {"mask": "right", "char": "#", "levels": 2, "length": 7}),
            ('mask:right,char=","', {"mask": "right", "char": ","}),
            ('mask:right,char=""""', {"mask": "right", "char": '"'}),
            ("order:low|a=b,c|high", {"order": ["low", "a=b,c", "high"]}),
            ("suppression", {"suppression": True}),
        ],
    )
    def test_a_flag_declares_what_a_policy_does(self, spec: str, data: dict[str, Any]) -> None:
        read = hierarchy_from_spec("x", spec)
        assert read.to_json() == data
        assert spec_of_hierarchy(read) == spec

    @pytest.mark.parametrize(
        ("spec", "usual"),
        [
            ("mask", Hierarchy.masking()),
            ("mask:levels=2", Hierarchy.masking(levels=2)),
            ("dates", Hierarchy.dates()),
        ],
    )
    def test_a_flag_without_a_value(self, spec: str, usual: Hierarchy) -> None:
        assert hierarchy_from_spec("x", spec) == usual

    @pytest.mark.parametrize(
        "declared",
        [Hierarchy.from_rows([["a", "*"]]), Hierarchy.tree({"*": ["a"]}), Hierarchy.order(["a|b", "c"])],
    )
    def test_what_no_flag_declares(self, declared: Hierarchy) -> None:
        assert spec_of_hierarchy(declared) is None

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("intervals:five", "must be numbers"),
            ("intervals:", "must be numbers"),
            ("intervals:5,origin=x", "must be a number"),
            ("mask:up", "one of right, left"),
            ("mask:right,levels=0", "at least 1"),
            ("mask:right,level=2", "one of right, left"),
            ("dates:quater", "did you mean 'quarter'"),
            ("suppression:no", "must be true"),
            ("maks", "neither a file nor one of"),
            ("intervals:5,7", "hierarchy of 'x': levels do not nest: width 7"),
        ],
    )
    def test_impossible_flags(self, spec: str, message: str) -> None:
        with pytest.raises(IndistinctError, match=f"(?s){message}"):
            hierarchy_from_spec("x", spec)

    def test_paths_start_at_the_policy(self, tmp_path: Path) -> None:
        with pytest.raises(HierarchyError, match=r"nowhere\.csv"):
            hierarchy_from_json({"file": "nowhere.csv"}, base=tmp_path)


LABELS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
TREES = st.recursive(
    st.lists(LABELS, max_size=3),
    lambda below: st.dictionaries(LABELS, below, min_size=1, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=80)
@given(tree=st.dictionaries(LABELS, TREES, min_size=1, max_size=2), rooted=st.booleans())
def test_trees_survive_their_policy_form(tree: dict[str, Any], rooted: bool) -> None:
    try:
        hierarchy = Hierarchy.tree(tree, rooted=rooted)
    except HierarchyError:
        return
    assert hierarchy_from_json(hierarchy.to_json(), base=Path()) == hierarchy


@settings(deadline=None, max_examples=50)
@given(
    leaves=st.lists(LABELS, min_size=1, max_size=8, unique=True),
    digits=st.lists(st.integers(0, 3), min_size=8, max_size=8),
)
def test_tables_survive_their_policy_form(leaves: list[str], digits: list[int]) -> None:
    rows = [[leaf, f"g{digit}", f"h{digit // 2}", "*"] for leaf, digit in zip(leaves, digits, strict=False)]
    hierarchy = Hierarchy.from_rows(rows)
    assert hierarchy_from_json(hierarchy.to_json(), base=Path()) == hierarchy


@needs_data
@pytest.mark.parametrize("folder", ["adult-reference", "adult-arx"])
def test_the_files_of_adult_cover_the_sample(folder: str) -> None:
    table = pa.csv.read_csv(DATA / "adult-arx" / "adult.csv", parse_options=pa.csv.ParseOptions(delimiter=";"))
    for name in table.column_names:
        values = table[name].unique().sort()
        hierarchy = Hierarchy.read_csv(DATA / folder / f"{name}.csv")
        bound = hierarchy.bind(Domain(name, values))
        check_rooted(bound)
        assert bound.size == len(hierarchy.rows)
        assert bound.height == len(hierarchy.rows[0]) - 1


@needs_data
@pytest.mark.parametrize(("folder", "size", "lowest"), [("adult-reference", 74, "15-19"), ("adult-arx", 100, "15-19")])
def test_ages_that_do_not_occur_are_leaves(folder: str, size: int, lowest: str) -> None:
    table = pa.csv.read_csv(DATA / "adult-arx" / "adult.csv", parse_options=pa.csv.ParseOptions(delimiter=";"))
    ages = table["age"].unique().sort()
    bound = Hierarchy.read_csv(DATA / folder / "age.csv").bind(Domain("age", ages))
    assert len(ages) == 72
    assert (bound.height, bound.size, bound.leaves[-1].tolist()) == (4, size, [size])
    assert bound.labels[1][0] == lowest
    assert len(bound.labels[0]) == 72
