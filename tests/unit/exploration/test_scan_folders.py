"""Scans look at the names of folders: an identifier there is as readable as one in a cell."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind

NAMES = [f"Anna Schmidt{row}" for row in range(12)]
ORIGINAL = pa.table({"name": NAMES, "age": [30] * 12, "ill": ["flu", "cold"] * 6})
SCHEMA = ind.Schema(identifiers=["name"], quasi=["age"], sensitive=["ill"])


def write_folders(root, names):
    for name in names:
        (root / name).mkdir(parents=True)
        pq.write_table(pa.table({"age": ["30"], "ill": ["flu"]}), root / name / "part-00000.parquet")


@pytest.mark.parametrize("known", [{}, {"original": ORIGINAL}, {"original": ORIGINAL, "schema": SCHEMA}])
def test_an_identifier_that_names_partitions_is_a_leak(tmp_path, known):
    write_folders(tmp_path, [f"name={name.replace(' ', '%20')}" for name in NAMES])
    found = ind.scan(tmp_path, **known)
    assert {each.check for each in found.leaks} == {"identifiers"}
    assert any("'name'" in each.sentence for each in found.leaks)
    assert "Schmidt" not in str(found.to_json())


def test_an_identifier_in_any_folder_below_a_pattern_is_a_leak(tmp_path):
    write_folders(tmp_path, [f"of {NAMES[0]}", f"of {NAMES[1]}"])
    found = ind.scan(str(tmp_path / "**" / "*.parquet"), original=ORIGINAL, schema=SCHEMA)
    assert [each.check for each in found.leaks] == ["values-in-the-bytes"] * 2
    assert "Schmidt" not in str([each.sentence for each in found.leaks])


def test_published_values_in_names_are_no_leak(tmp_path):
    write_folders(tmp_path, ["age=30", "age=31"])
    for path in tmp_path.rglob("*.parquet"):
        pq.write_table(pa.table({"ill": ["flu"] * 6}), path)
    original = pa.table({"name": NAMES, "age": [30, 31] * 6, "ill": ["flu"] * 12})
    assert not ind.scan(tmp_path, original=original, schema=SCHEMA).leaks


def test_what_is_found_in_many_files_is_shown_once_with_its_number(tmp_path):
    write_folders(tmp_path, [f"name={name}" for name in NAMES])
    found = ind.scan(tmp_path, original=ORIGINAL, schema=SCHEMA)
    assert len(found.leaks) == 12
    shown = str(found.document())
    assert shown.count("(identifiers; 12 times)") == 1
    assert shown.count("column 'name'") == 1


@pytest.mark.parametrize(("other", "files"), [(None, 0), ("_SUCCESS", 1), ("age=30/.names.csv", 1)])
def test_folders_of_partitions_are_no_files_that_were_left_out_and_files_in_them_are(tmp_path, other, files):
    write_folders(tmp_path, ["age=30", "age=31"])
    if other is not None:
        (tmp_path / other).write_text("Anna Schmidt1")
    found = ind.scan(tmp_path, original=ORIGINAL, schema=SCHEMA)
    beside = [each.what for each in found.not_checked if "in the folder" in each.what]
    assert beside == ([f"{files} other file in the folder"] if files else [])
