"""Every check of a published file finds what is planted for it, and finds nothing in the same file without it."""

import gzip
import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import indistinct as ind
from indistinct.exploration.scan.scan import CHECKS
from indistinct.hierarchy import Hierarchy
from references.workbooks import workbook

ROWS = 40
SCHEMA = ind.Schema(["name"], ["age", "town"], ["disease"])


def original():
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "name": [f"Person-{number:03d}-Qzxv" for number in range(ROWS)],
            "age": rng.integers(20, 60, ROWS),
            "town": [("Oslo", "Bergen", "Tromso", "Vadsoe")[code] for code in [3, *rng.integers(0, 3, ROWS - 1)]],
            "disease": [f"disease {code}" for code in rng.integers(0, 30, ROWS)],
        }
    )


def published():
    """Return a sound release: coarse ages, one row suppressed, and the others shuffled."""
    table = original().slice(1)
    table = table.take(pa.array(np.random.default_rng(6).permutation(len(table)))).drop_columns(["name"])
    ages = [f"[{age // 20 * 20}-{age // 20 * 20 + 20}[" for age in table["age"].to_pylist()]
    towns = ["*"] * len(table)
    return pa.table({"age": ages, "town": towns, "disease": table["disease"]})


def csv(table, folder, name="published.csv", **options):
    table.to_pandas().to_csv(folder / name, index=False, **options)
    return folder / name


def parquet(table, folder):
    pq.write_table(table.replace_schema_metadata(None), folder / "published.parquet", store_schema=False)
    return folder / "published.parquet"


def arrow(table, folder, name="published.arrow"):
    with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return folder / name


def written(content, folder, name):
    (folder / name).write_bytes(content)
    return folder / name


def book(folder, **options):
    table = published()
    rows = [table.column_names, *(list(row.values()) for row in table.to_pylist())]
    return written(workbook(rows, **options), folder, "published.xlsx")


def frame(**columns):
    return published().to_pandas().assign(**columns)


def pickled(content, folder):
    return written(pickle.dumps(content), folder, "published.pkl")


class Runs:
    def __reduce__(self):
        return os.system, ("true",)


def with_index(folder):
    pd.DataFrame({"a": range(3)}, index=[7, 1, 5]).to_parquet(folder / "published.parquet")
    return folder / "published.parquet"


def behind_missing():
    ages = pa.Array.from_buffers(pa.int64(), 16, [pa.py_buffer(b"\x00\xff"), pa.py_buffer(np.arange(16))])
    return pa.table({"age": ages})


def without_missing():
    return pa.table({"age": pa.array([None] * 8 + list(range(8)), pa.int64())})


def false_statistics(folder):
    """Overwrite the largest value in the cells of a file whose statistics still tell it."""
    path = folder / "published.parquet"
    table = pa.table({"age": pa.array([1, 2, 3, 99_999_999_999], pa.int64())})
    pq.write_table(table, path, compression="none", use_dictionary=False, store_schema=False)
    stored, changed = (np.array([3, last], dtype="<i8").tobytes() for last in (99_999_999_999, 4))
    return written(path.read_bytes().replace(stored, changed), folder, path.name)


def sorted_as_before(folder):
    ages = published()["age"].to_pylist()
    table = original().slice(1).drop_columns(["name", "age", "town"])
    return csv(table.append_column("age", pa.array(sorted(ages))), folder)


def zipped(folder, *names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, "age\n30\n")
    return written(packed.getvalue(), folder, "published.zip")


def gzipped(folder, *, name, behind=b""):
    packed = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=packed, mtime=0) as file:
        file.write(csv(published(), folder).read_bytes())
    return written(packed.getvalue() + behind, folder, "published.csv.gz")


def outside(folder):
    return csv(frame(town=["Paris"] * (ROWS - 1)).pipe(pa.Table.from_pandas, preserve_index=False), folder)


def unused(folder):
    kinds = pd.CategoricalDtype([*original()["disease"].unique().to_pylist(), "disease of the suppressed row"])
    frame().astype({"disease": kinds}).to_parquet(folder / "published.parquet", index=False)
    return folder / "published.parquet"


def coded(table):
    """Return the published diseases as codes into the values of a table, in the order of its rows."""
    values = [
        value for value in table["disease"].unique().to_pylist() if value in set(published()["disease"].to_pylist())
    ]
    kind = pd.CategoricalDtype(values)
    return pa.Table.from_pandas(frame().astype({"disease": kind}), preserve_index=False).replace_schema_metadata(None)


def plain(folder):
    return csv(published(), folder)


def with_trailer(table, folder):
    path = arrow(table, folder)
    return written(path.read_bytes() + b"rows", folder, path.name)


def keyed(folder):
    return arrow(published().replace_schema_metadata({"made of": "patients.csv"}), folder)


def attributed(_folder):
    table = frame()
    table.attrs["source"] = "patients.csv"
    return table


def survey(folder, **options):
    """Return a file of SPSS: codes of diseases with their labels, beside ages and towns."""
    texts = published()["disease"].to_pylist()
    codes = {text: number for number, text in enumerate(sorted(set(texts)), start=1)}
    coded = frame(disease=[float(codes[text]) for text in texts])
    labels = {"disease": {number: text for text, number in codes.items()}}
    pyreadstat.write_sav(coded, folder / "published.sav", variable_value_labels=labels, **options)
    return folder / "published.sav"


def uncounted(folder):
    """Let the header of a file of SPSS count two rows fewer than there are."""
    content = bytearray(survey(folder).read_bytes())
    content[80:84] = (ROWS - 3).to_bytes(4, "little")
    return written(content, folder, "published.sav")


def suppressed_label(folder):
    """Return a file of SPSS without the rows of one disease, which is still among its labels."""
    cells, told = pyreadstat.read_sav(survey(folder))
    labels = told.variable_value_labels
    pyreadstat.write_sav(cells[cells["disease"] != 1], folder / "published.sav", variable_value_labels=labels)
    return folder / "published.sav"


CORE = '<cp xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>Somebody</dc:creator></cp>'
PIVOT = {"xl/pivotCache/pivotCacheRecords1.xml": "<records/>"}

# For each check: a file with something planted, and one without; both are scanned with all that is known.
PLANTED = {
    "invented-columns": (lambda f: csv(pa.table({"index": range(ROWS - 1), **dict_of(published())}), f), plain),
    "identifiers": (lambda f: csv(original(), f), plain),
    "row-numbers": (lambda f: csv(pa.table({"n": range(100, 99 + ROWS), **dict_of(published())}), f), plain),
    "unique-columns": (lambda f: csv(pa.table({"disease": [f"x{n}" for n in range(ROWS)]}), f), plain),
    "another-original": (lambda f: csv(pa.table({"disease": ["flu", "cold"] * 9}), f), plain),
    "row-order": (sorted_as_before, plain),
    "values-in-the-bytes": (lambda f: arrow(published().replace_schema_metadata({"a": "Person-007-Qzxv"}), f), plain),
    "identifier-values": (lambda f: csv(pa.table({"who": original()["name"], "age": original()["age"]}), f), plain),
    "labels-outside-hierarchy": (outside, plain),
    "unused-categories": (unused, lambda f: parquet(published(), f)),
    "category-order": (lambda f: arrow(coded(original()), f), lambda f: arrow(coded(published()), f)),
    "values-behind-missing": (lambda f: arrow(behind_missing(), f), lambda f: arrow(without_missing(), f)),
    "pandas-index": (with_index, lambda f: parquet(published(), f)),
    "frame-index": (attributed, lambda _folder: frame()),
    "key-value-metadata": (keyed, lambda f: arrow(published(), f)),
    "parquet-statistics": (false_statistics, lambda f: parquet(published(), f)),
    "parquet-stray-bytes": (
        lambda f: written(parquet(published(), f).read_bytes() + b"rows", f, "published.parquet"),
        lambda f: parquet(published(), f),
    ),
    "parquet-writer": (lambda f: parquet(published(), f), None),
    "arrow-stray-bytes": (lambda f: with_trailer(published(), f), lambda f: arrow(published(), f)),
    "formula-cells": (lambda f: csv(pa.table({"disease": ["=1+1", "-5", "+49 123"]}), f), plain),
    "text-marks": (lambda f: csv(published(), f, encoding="utf-8-sig"), plain),
    "gzip-header": (lambda f: gzipped(f, name="patients.csv"), lambda f: gzipped(f, name="")),
    "zip-entries": (lambda f: zipped(f, "home/somebody/published.csv"), None),
    "archive-bytes": (lambda f: written(b"names" + book(f).read_bytes(), f, "published.xlsx"), book),
    "workbook-properties": (lambda f: book(f, entries={"docProps/core.xml": CORE}), book),
    "workbook-hidden": (lambda f: book(f, second=[["name"], ["x"]], state="veryHidden"), book),
    "workbook-strings": (lambda f: book(f, left_over=["deleted"]), book),
    "workbook-entries": (lambda f: book(f, entries=PIVOT), book),
    "workbook-unused-entries": (lambda f: book(f, entries={"xl/worksheets/sheet9.xml": "<names/>"}), book),
    "value-labels": (suppressed_label, survey),
    "declared-missing": (lambda f: survey(f, missing_ranges={"disease": [2.0]}), survey),
    "file-notes": (lambda f: survey(f, file_label="made of patients.csv", note="by somebody"), survey),
    "file-times": (survey, None),
    "hidden-rows": (uncounted, survey),
    "pickle-code": (lambda f: pickled(Runs(), f), None),
    "pickle-index": (lambda f: pickled(frame()[1:], f), lambda f: pickled(frame(), f)),
}


def dict_of(table):
    return dict(zip(table.column_names, table.columns, strict=True))


def scanned(source):
    hierarchies = {"town": Hierarchy.suppression()}
    return ind.scan(source, original=original(), schema=SCHEMA, hierarchies=hierarchies)


def test_everything_registered_is_planted():
    assert set(PLANTED) == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_what_is_planted_is_found(name, tmp_path):
    planted, _ = PLANTED[name]
    scan = scanned(planted(tmp_path))
    (first, *_) = [finding for finding in scan.findings if finding.check == name]
    assert first.count > 0
    assert first.remedy
    assert name in scan.checked
    assert "Qzxv" not in json.dumps(scan.to_json()), "no finding tells a value"


def test_a_value_is_told_of_once(tmp_path):
    (found,) = [each for each in scanned(PLANTED["values-in-the-bytes"][0](tmp_path)).findings if "bytes" in each.check]
    assert found.sentence.startswith("the metadata of the file holds 1 value of column")


@pytest.mark.parametrize("name", [name for name, (_, clean) in PLANTED.items() if clean])
def test_nothing_is_found_where_nothing_is_planted(name, tmp_path):
    scan = scanned(PLANTED[name][1](tmp_path))
    assert name in scan.checked
    assert [finding for finding in scan.findings if finding.check == name] == []


LEAKS = {
    *("invented-columns", "identifiers", "row-numbers", "row-order", "values-in-the-bytes", "identifier-values"),
    *("labels-outside-hierarchy", "unused-categories", "values-behind-missing", "pandas-index", "parquet-statistics"),
    *("parquet-stray-bytes", "arrow-stray-bytes", "workbook-hidden", "workbook-strings", "workbook-entries"),
    *("pickle-code", "pickle-index", "category-order", "value-labels", "hidden-rows", "archive-bytes"),
    "workbook-unused-entries",
}


def test_years_are_no_numbers_of_rows():
    assert ind.scan(pa.table({"year": range(2000, 2020)})).clean
    assert not ind.scan(pa.table({"id": np.random.default_rng(1).permutation(20)})).clean


@pytest.mark.parametrize("name", CHECKS)
def test_only_a_leak_makes_a_file_unclean(name, tmp_path):
    scan = scanned(PLANTED[name][0](tmp_path))
    assert (name in {finding.check for finding in scan.leaks}) == (name in LEAKS)
    assert scan.clean == (not scan.leaks and not scan.unread)


def test_every_check_stands_in_the_guide():
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "scanning-a-file.md").read_text(encoding="utf-8")
    listed = [line.split("`")[1] for line in guide.splitlines() if line.startswith("| `")]
    assert listed == list(CHECKS)
