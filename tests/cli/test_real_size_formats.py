"""Every format that is read and every one that is written, at 300,000 rows, by the commands that a user types.

Each source is anonymized with default settings, in a process of its own, into the format beside it; that file is
verified and scanned, and so read again. Formats that differ in their suffix alone (.feather, .ipc, .pq, .xlsm) are left
to the same code.
"""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pyreadstat
import pytest

from references.binary_workbooks import binary_workbook, old_workbook
from references.open_documents import open_document
from references.sheets import spreadsheet

ROWS = 300_000
# A sheet of an old workbook has 65,536 rows, and the first one holds the names.
MAX_ROWS = {".xls": 65_535}
ROLES = ["--quasi", "age,sex,zip", "--sensitive", "ill", "--insensitive", "cost"]
MODEL = ["--model", "k-anonymity:k=5"]
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="session")
def people():
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "age": rng.integers(18, 90, ROWS),
            "sex": rng.choice(["female", "male"], ROWS),
            "zip": rng.integers(10_000, 10_200, ROWS),
            "ill": rng.choice([f"disease {code}" for code in range(20)], ROWS),
            "cost": rng.integers(1, 40_000, ROWS) / 4,
        }
    )


def rows_of(table):
    return [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]


def compressed_text(table):
    text = io.BytesIO()
    pyarrow.csv.write_csv(table, text)
    return gzip.compress(text.getvalue(), compresslevel=1)


def write_source(table, path):
    match "".join(path.suffixes):
        case ".csv.gz":
            path.write_bytes(compressed_text(table))
        case ".parquet":
            pq.write_table(table, path)
        case ".sav":
            pyreadstat.write_sav(table.to_pandas(), path)
        case ".xlsx":
            path.write_bytes(spreadsheet({"People": rows_of(table)}))
        case ".xlsb":
            path.write_bytes(binary_workbook({"People": rows_of(table)}))
        case ".xls":
            path.write_bytes(old_workbook(rows_of(table)))
        case ".ods":
            path.write_bytes(open_document({"People": rows_of(table)}))


def run_process(folder, *argv):
    ran = subprocess.run(
        [sys.executable, "-m", "indistinct", *argv],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert ran.returncode == 0, (argv, ran.stdout[-2000:], ran.stderr[-2000:])


@pytest.mark.parametrize(
    ("source", "into"),
    [
        (".csv.gz", ".tsv"),
        (".parquet", ".arrow"),
        (".sav", ".parquet"),
        (".xlsx", ".sav"),
        (".ods", ".dta"),
        (".xlsb", ".xpt"),
        (".xls", ".csv"),
    ],
)
def test_a_format_at_real_size(people, tmp_path, run, source, into):
    rows, published = MAX_ROWS.get(source, ROWS), tmp_path / f"release{into}"
    write_source(people.slice(0, rows), tmp_path / f"people{source}")
    run_process(tmp_path, "anonymize", f"people{source}", *ROLES, *MODEL, "-o", published.name)
    verified = run("verify", published, *ROLES, *MODEL, "--json")
    assert json.loads(verified.out)["holds"], verified.err
    scanned = json.loads(run("scan", published, "--json").out)
    assert (scanned["rows"], scanned["clean"], scanned["unread"]) == (rows, True, [])
