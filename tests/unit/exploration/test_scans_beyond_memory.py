"""Scans of what is larger than memory, or lies in several files: what was not read is said, and never called clean."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind

ROWS = 40_000
SCHEMA = ind.Schema(identifiers=["name"], quasi=["age"], insensitive=["note"])


@pytest.fixture
def release():
    chance = np.random.default_rng(3)
    ages = pa.array(np.array(["20-39", "40-59", "60-79"])[np.sort(chance.integers(0, 3, ROWS))])
    return pa.table({"age": ages, "note": pa.array(chance.integers(0, 50, ROWS).astype(str))})


def _write(table, path, *, groups=8):
    pq.write_table(table, path, row_group_size=-(-len(table) // groups), store_schema=False)
    return path


def test_row_groups_that_fit_are_read_and_the_others_are_named(release, tmp_path, monkeypatch):
    path = _write(release, tmp_path / "release.parquet")
    whole = ind.scan(path, schema=SCHEMA)
    assert (whole.rows, whole.unread, whole.clean) == (ROWS, (), True)
    monkeypatch.setattr("indistinct.exploration.scan.scan.bytes_of", lambda _: 1_400_000)
    some = ind.scan(path, schema=SCHEMA, memory="any")
    assert (some.rows, some.clean, str(some.verdict)) == (ROWS, False, "not scanned")
    assert [each.what for each in some.unread] == ["25,000 of 40,000 rows"]
    assert "3 of 8 row groups" in some.unread[0].reason
    assert any("no row has" in each.what for each in some.not_checked)
    assert not some.findings or some.findings == whole.findings


def test_a_file_of_which_no_row_group_fits_is_refused_with_what_it_needs(release, tmp_path, monkeypatch):
    path = _write(release, tmp_path / "release.parquet", groups=1)
    monkeypatch.setattr("indistinct.exploration.scan.scan.bytes_of", lambda _: 1_400_000)
    with pytest.raises(ind.OutOfMemoryError, match=r"40,000 rows of 2 columns: that takes \d+ MB"):
        ind.scan(path, schema=SCHEMA, memory="any")


def test_leaks_in_a_part_are_found(release, tmp_path, monkeypatch):
    numbered = release.append_column("row_id", pa.array(range(ROWS)))
    path = _write(numbered, tmp_path / "release.parquet")
    monkeypatch.setattr("indistinct.exploration.scan.scan.bytes_of", lambda _: 2_000_000)
    some = ind.scan(path, schema=SCHEMA, memory="any")
    assert str(some.verdict) == "leak"
    assert "invented-columns" in {finding.check for finding in some.leaks}
    assert some.unread


def test_values_of_rows_that_were_not_read_are_no_leak(release, tmp_path, monkeypatch):
    """A dictionary, and the bytes of the file, hold values of row groups that were left out."""
    table = release.set_column(1, "note", release["note"].dictionary_encode())
    table = table.set_column(1, "note", pa.array([f"remark {i // 10_000}" for i in range(ROWS)]).dictionary_encode())
    path = _write(table, tmp_path / "release.parquet", groups=4)
    original = pa.table({"name": [f"person {i}" for i in range(ROWS)], "age": ["30"] * ROWS, "note": table["note"]})
    monkeypatch.setattr("indistinct.exploration.scan.scan.bytes_of", lambda _: 1_400_000)
    monkeypatch.setattr("indistinct.exploration.scan.scan.open_table", lambda table, memory: ind.open(table))
    some = ind.scan(path, original=original, schema=SCHEMA, memory="any")
    assert some.unread
    assert {finding.check for finding in some.leaks} & {"unused-categories", "values-in-the-bytes"} == set()


def test_the_files_of_a_folder_are_scanned_one_after_the_other(release, tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    _write(release.slice(0, 25_000), folder / "part-0.parquet", groups=1)
    _write(release.slice(25_000), folder / "part-1.parquet", groups=1)
    found = ind.scan(folder, schema=SCHEMA)
    assert (found.kind, found.rows, found.clean) == ("parquet", ROWS, True)
    assert found.checked == ind.scan(folder / "part-0.parquet", schema=SCHEMA).checked
    (folder / "_SUCCESS").write_text("")
    numbered = release.slice(25_000).append_column("row_id", pa.array(range(15_000)))
    _write(numbered, folder / "part-1.parquet", groups=1)
    leaking = ind.scan(str(folder / "*.parquet"), schema=SCHEMA)
    assert not leaking.clean
    assert {finding.place.partition(":")[0] for finding in leaking.leaks} == {"part-1.parquet"}
    beside = [each.what for each in ind.scan(folder, schema=SCHEMA).not_checked]
    assert "1 other file in the folder" in beside


def test_a_folder_of_several_kinds_is_refused_by_name(release, tmp_path):
    _write(release, tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("age\n20-39\n")
    with pytest.raises(ind.InputError, match="files of several kinds"):
        ind.scan(tmp_path)
