"""From a table of generated patients to a verified 5-anonymous release and its report, in one run of `make demo`."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
from rich import box
from rich.console import Console
from rich.table import Table

import indistinct as ind
from indistinct.release.writing.files import certificate_path
from indistinct.samples import generate_patients

ROWS = 5_000
SEED = 2026
"""Fixes the generated people, not the release: its rows are shuffled anew in every run."""

# The cost is dropped: to the cent nearly everyone has their own, and an attacker who knows it would find the row.
SCHEMA = ind.Schema(identifiers=["name", "cost"], quasi=["age", "sex", "zipcode", "admitted"], sensitive=["disease"])
MODEL = ind.KAnonymity(k=5) & ind.DistinctLDiversity("disease", l=3)
HIERARCHIES: dict[str, ind.Hierarchy] = {"zipcode": ind.Hierarchy.masking()}


def main(folder: Path, console: Console) -> ind.Release:
    """Generate patients, publish them, and say what was achieved; existing files are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    source, target = folder / "patients.csv", folder / "release.csv"
    pa.csv.write_csv(generate_patients(ROWS, seed=SEED), source)

    table = ind.open(source)
    release = ind.anonymize(table, SCHEMA, model=MODEL, algorithm=ind.Mondrian(), hierarchies=HIERARCHIES)
    certificate = release.write(target, overwrite=True)

    console.print(excerpt(table.data, "before: invented people, who never leave your hands", rows=4))
    console.print(excerpt(release.table, "after: the first class of the release", rows=first_class(release)))
    console.print(summary(release, certificate))
    k, diversity = certificate.achieved["k"], certificate.achieved["l"]
    console.print(f"A [bold]{k}-anonymous release[/bold], {diversity} diseases or more in every class.\n")
    console.print(f"release      {target}", soft_wrap=True)
    console.print(f"certificate  {certificate_path(target)}", soft_wrap=True)
    written = write_report(release, table, folder)
    console.print(f"report       {written}", soft_wrap=True)
    return release


def write_report(release: ind.Release, table: ind.Table, folder: Path) -> Path | str:
    """Write the page that a committee reads, and return where it is, or how to get what it needs."""
    try:
        made = ind.report(release, original=table, path=folder / "release.csv")
    except ind.MissingExtraError as error:
        return f"not written: {error.hint}"
    return made.write(folder / "release.html", overwrite=True)


def first_class(release: ind.Release) -> int:
    """Return the number of rows in the first class; classes stand together in a release."""
    return int(release.assignment.classes.sizes[0])


def excerpt(data: pa.Table, title: str, *, rows: int) -> Table:
    """Return the first rows of a table for the terminal."""
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in data.column_names:
        shown.add_column(name, no_wrap=True)
    for row in data.slice(0, rows).to_pylist():
        shown.add_row(*("" if cell is None else str(cell) for cell in row.values()))
    return shown


def summary(release: ind.Release, certificate: ind.Certificate) -> Table:
    """Return what was verified on the published table, and what the release cost."""
    shown = Table(title="what was verified, and what it cost", title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("counted on the release")
    shown.add_column("", justify="right")
    shown.add_column("metric")
    shown.add_column("", justify="right")
    found = ind.measure(release)
    counted = [
        ("rows", f"{certificate.rows:,}"),
        ("suppressed rows", f"{certificate.suppressed_rows}"),
        ("classes", f"{certificate.classes:,}"),
        ("k: rows in the smallest class", f"{certificate.achieved['k']}"),
        ("l: diseases in the poorest class", f"{certificate.achieved['l']}"),
    ]
    metrics = ("discernibility", "average-class-size", "gcp", "loss", "precision")
    for (what, count), name in zip(counted, metrics, strict=True):
        shown.add_row(what, count, name, f"{found[name]:,.4g}" if found[name] < 1000 else f"{found[name]:,.0f}")
    return shown


if __name__ == "__main__":
    destination = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-output")
    main(destination, Console(width=96, highlight=False))
