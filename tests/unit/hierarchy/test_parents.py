"""Hierarchies from tables of parents: what they give, and every broken table with its error."""

from pathlib import Path

import pyarrow as pa
import pytest

from indistinct.errors import HierarchyError
from indistinct.hierarchy import Hierarchy, hierarchy_from_json
from indistinct.hierarchy.parents import rows_of_parents
from indistinct.tables.domain import Domain

CODES = [("I", None), ("I10", "I"), ("I10.1", "I10"), ("I10.2", "I10"), ("I20", "I")]


def write(folder, rows):
    path = folder / "codes.csv"
    path.write_text("code,parent\n" + "".join(f"{code},{parent or ''}\n" for code, parent in rows), encoding="utf-8")
    return path


def test_inner_codes_are_values_too(tmp_path):
    hierarchy = Hierarchy.read_parents(write(tmp_path, CODES))
    taxonomy = hierarchy.bind(Domain("code", pa.array(["I10", "I10.1", "I20"]), missing=True))
    assert taxonomy.labels[0] == (None, "I10", "I10.1", "I20")
    assert [taxonomy.labels[1][node] for node in taxonomy.ancestors[1:, 1]] == ["I10", "I10", "I20"]
    assert taxonomy.labels[2] == ("I",)


def test_it_is_written_as_it_is_read(tmp_path):
    write(tmp_path, [*CODES, ("J", None)])
    told = {"parents": "codes.csv", "code": "code", "parent": "parent", "root": "*"}
    hierarchy = hierarchy_from_json(told, base=tmp_path)
    assert hierarchy.to_json() == told
    assert {row[-1] for row in hierarchy.rows} == {"*"}
    assert hierarchy.complete_for(Domain("code", pa.array(["I10"]))).to_json().keys() == {"rows"}


BROKEN = {
    "3 codes have no parent": [("a", None), ("b", None), ("c", None)],
    "parents without a row of their own: 1": [("a", None), ("b", "x")],
    "a cycle of 2 codes": [("a", None), ("b", "c"), ("c", "b")],
    "a cycle of 1 code:": [("a", None), ("b", "b")],
    "codes with several parents: 1": [("a", None), ("b", "a"), ("c", "a"), ("c", "b")],
    "no code": [("a", None), (None, "a")],
    "no row": [],
}


@pytest.mark.parametrize("words", BROKEN)
def test_a_broken_table_says_what_is_wrong(words):
    with pytest.raises(HierarchyError, match=words):
        rows_of_parents(BROKEN[words])


def test_a_missing_column_names_the_file(tmp_path):
    with pytest.raises(HierarchyError, match=r"codes\.csv: .*no column 'above'"):
        Hierarchy.read_parents(write(tmp_path, CODES), parent="above")


def test_an_unknown_key_is_an_error(tmp_path):
    write(tmp_path, CODES)
    with pytest.raises(HierarchyError, match="does not go with 'parents'"):
        hierarchy_from_json({"parents": "codes.csv", "header": True}, base=tmp_path)
    with pytest.raises(HierarchyError, match="must be texts"):
        hierarchy_from_json({"parents": 5}, base=Path())
