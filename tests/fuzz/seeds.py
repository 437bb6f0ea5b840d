"""Files of every kind that the program reads, small and whole: what mutations begin with.

Cells of the table hold a mark that no message may repeat.
"""

import gzip
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyreadstat

import indistinct as ind
from indistinct.recoding import storage
from indistinct.release.writing.files import write_table
from indistinct.samples import generate_patients
from references.arx_projects import arx_project
from references.arx_projects import column as arx_column
from references.binary_workbooks import binary_workbook, old_workbook
from references.open_documents import open_document
from references.sheets import spreadsheet
from references.workbooks import workbook

MARK = "Qzxv"
ROLES = ["--identifier", "name", "--quasi", "age,sex,zipcode,admitted", "--sensitive", "disease,cost"]
MODEL = ["--model", "k-anonymity:k=3"]
OUT = ["-o", "out.csv", "--overwrite"]
SCHEMA = ind.Schema(["name"], ["age", "sex", "zipcode", "admitted"], ["disease", "cost"])
POLICY = """
[input]
path = "data.csv"
missing = ["", "-99"]

[columns]
name = "identifier"
age = { role = "quasi", hierarchy = { intervals = [5, 10, 20] } }
sex = "quasi"
zipcode = { role = "quasi", hierarchy = { file = "zipcode.csv" } }
admitted = { role = "quasi", hierarchy = { dates = ["month", "year"] } }
disease = "sensitive"
cost = "sensitive"

[privacy]
models = ["k-anonymity:k=3"]
suppression = 0.05

[algorithm]
use = "optimal"

[measure]
metrics = ["discernibility"]

[output]
path = "release.csv"
"""


@dataclass(frozen=True)
class Seed:
    """A file and the commands that read it."""

    name: str
    commands: tuple[tuple[str, ...], ...]


WORKBOOKS = (".xlsx", ".xlsb", ".xls", ".ods")
STATISTICS = (".sav", ".zsav", ".dta", ".xpt")


def _table_commands(name: str) -> tuple[tuple[str, ...], ...]:
    return (
        ("inspect", name),
        ("anonymize", name, *ROLES, *MODEL, *OUT),
        ("apply", "recoding.json", name, *OUT),
        ("verify", name, *ROLES, *MODEL),
        ("measure", name, *ROLES, "--original", "data.parquet"),
        ("explore", name, *ROLES, *MODEL, "--hierarchy", "age=intervals:10,50"),
        ("scan", name, *ROLES, "--original", "data.parquet"),
    )


def _file_commands(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the commands that read a file in ways of their own; the others read it as these do."""
    inspect, anonymize, _, verify, *_, scan = _table_commands(name)
    return inspect, anonymize, verify, scan


SEEDS = (
    Seed("data.csv", _table_commands("data.csv")),
    Seed("small.parquet", _table_commands("small.parquet")),
    Seed("data.arrow", _table_commands("data.arrow")),
    Seed("data.csv.gz", _file_commands("data.csv.gz")),
    *(Seed(f"data{suffix}", _file_commands(f"data{suffix}")) for suffix in (*WORKBOOKS, *STATISTICS)),
    Seed("project.deid", (("inspect", "--from", "project.deid", "-o", "taken.toml", "--overwrite"),)),
    Seed("published.csv", _table_commands("published.csv")[3:5]),
    Seed("published.xlsx", (("scan", "published.xlsx", *ROLES, "--original", "data.parquet"),)),
    Seed("published.pkl", (("scan", "published.pkl", *ROLES, "--original", "data.parquet"),)),
    Seed("published.csv.gz", (("scan", "published.csv.gz"),)),
    Seed(
        "policy.toml",
        (
            ("anonymize", "policy.toml", *OUT),
            ("explore", "policy.toml"),
            ("verify", "published.csv", "--policy", "policy.toml"),
            ("measure", "published.csv", "--policy", "policy.toml"),
        ),
    ),
    Seed("zipcode.csv", (("anonymize", "policy.toml", *OUT), ("explore", "policy.toml"))),
    Seed("recoding.json", (("apply", "recoding.json", "data.parquet", *OUT),)),
    Seed("large.json", (("apply", "large.json", "data.parquet", *OUT),)),
    Seed("large.json.arrow", (("apply", "large.json", "data.parquet", *OUT),)),
    Seed(
        "buckets.csv.certificate.json",
        (
            ("verify", "buckets.csv", *ROLES, *MODEL, "--algorithm", "anatomy:l=2"),
            ("measure", "buckets.csv", *ROLES, "--algorithm", "anatomy:l=2", "--original", "data.parquet"),
            ("verify", "buckets.csv", *ROLES, *MODEL),
        ),
    ),
)


def plant(folder: Path) -> Mapping[str, bytes]:
    """Write every seed into a folder and return the content of each."""
    table = generate_patients(60, seed=1)
    for column in ("name", "disease"):
        place = table.column_names.index(column)
        marked = pc.binary_join_element_wise(MARK, table[column].cast(pa.string()), "")
        table = table.set_column(place, column, marked)
    write_table(table, folder / "data.csv")
    write_table(table, folder / "data.arrow")
    (folder / "data.csv.gz").write_bytes(gzip.compress((folder / "data.csv").read_bytes()))
    for name in ("data.parquet", "small.parquet"):
        pq.write_table(table, folder / name)
    _plant_workbooks(table, folder)
    _plant_statistics(table, folder)
    (folder / "policy.toml").write_text(POLICY)
    codes = sorted(set(table["zipcode"].cast(pa.string()).to_pylist()))
    (folder / "zipcode.csv").write_text("".join(f"{code};{code[:3]}**;{code[:1]}****;*\n" for code in codes))
    _plant_project(table, codes, folder)
    release = ind.anonymize(folder / "data.csv", SCHEMA, model="k-anonymity:k=3")
    release.write(folder / "published.csv")
    names, rows = release.table.column_names, release.table.to_pylist()
    cells = [names, *([str(cell) for cell in row.values()] for row in rows)]
    (folder / "published.xlsx").write_bytes(workbook(cells, second=[["name"], [MARK]], state="hidden"))
    (folder / "published.pkl").write_bytes(pickle.dumps(rows))
    (folder / "published.csv.gz").write_bytes(gzip.compress((folder / "published.csv").read_bytes()))
    release.write_recoding(folder / "recoding.json")
    large, storage.LARGE = storage.LARGE, 0
    try:
        release.write_recoding(folder / "large.json")
    finally:
        storage.LARGE = large
    one = ind.Schema(["name"], ["age", "sex", "zipcode", "admitted"], ["disease"], ["cost"])
    ind.anonymize(folder / "data.csv", one, algorithm="anatomy:l=2").write(folder / "buckets.csv")
    json.loads((folder / "buckets.csv.certificate.json").read_text())
    return {seed.name: (folder / seed.name).read_bytes() for seed in SEEDS}


def _plant_project(table: pa.Table, codes: list[str], folder: Path) -> None:
    """Write the table as a project of ARX, with a hierarchy."""
    rows = [table.column_names, *(list(row.values()) for row in table.to_pylist())]
    roles = {"name": "identifier", "cost": "insensitive", "disease": "sensitive"}
    columns = [arx_column(name, roles.get(name, "quasi")) for name in table.column_names if name != "zipcode"]
    arx_project(
        folder / "project.deid",
        rows,
        [*columns, arx_column("zipcode", ref="hierarchies/zipcode.csv", min=0, max=1)],
        hierarchies={"zipcode": [[code, code[:3] + "**", "*"] for code in codes]},
    )


def _plant_workbooks(table: pa.Table, folder: Path) -> None:
    """Write the table as workbooks of every kind, with dates as text, as the old formats here hold no others."""
    texts = table.set_column(
        table.column_names.index("admitted"), "admitted", table["admitted"].cast(pa.string())
    ).to_pylist()
    rows = [table.column_names, *(list(row.values()) for row in texts)]
    (folder / "data.xlsx").write_bytes(spreadsheet({"S1": rows}))
    (folder / "data.xlsb").write_bytes(binary_workbook({"S1": rows}))
    (folder / "data.xls").write_bytes(old_workbook(rows))
    (folder / "data.ods").write_bytes(open_document({"S1": rows}))


def _plant_statistics(table: pa.Table, folder: Path) -> None:
    """Write the table as files of statistics programs, with codes and labels for one column."""
    frame = table.to_pandas()
    codes = {text: number for number, text in enumerate(sorted(set(frame["disease"])), start=1)}
    coded = frame.assign(disease=[float(codes[text]) for text in frame["disease"]])
    labels = {"disease": {number: text for text, number in codes.items()}}
    pyreadstat.write_sav(coded, folder / "data.sav", variable_value_labels=labels, row_compress=True)
    pyreadstat.write_sav(coded, folder / "data.zsav", variable_value_labels=labels, compress=True)
    pyreadstat.write_dta(coded, folder / "data.dta", variable_value_labels=labels)
    pyreadstat.write_xport(frame, folder / "data.xpt")
