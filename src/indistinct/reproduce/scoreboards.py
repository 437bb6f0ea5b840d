"""Neutral scoreboards: releases judged on tables of others, beside what other programs give there.

NIST's excerpts of the American Community Survey, and the setting in which Airbnb's Mondrian publishes Adult. The tables
are not part of this package: they are read from the folder that `INDISTINCT_DATA` names. The programs of others are not
called: k-marginals are computed here as NIST defines them, and the figures of Lighthouse were measured apart.
"""

from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from indistinct.algorithms.base import Progress
from indistinct.errors import InputError
from indistinct.hierarchy import Hierarchy
from indistinct.job.publishing import anonymize
from indistinct.models import KAnonymity
from indistinct.release.release import Release
from indistinct.reproduce.base import Cell, Reproduction
from indistinct.reproduce.datasets.adult import data_folder, load_adult_arx
from indistinct.schema import Schema

STAR = "*"
NIST_TABLES = ("ma2019", "tx2019", "national2019")
NIST_COLUMNS = ("PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE")
LIGHTHOUSE_NAMES = ("sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")
# Shares of starred categorical cells of project-lighthouse-anonymize 1.0.0, as `make lighthouse` prints them.
LIGHTHOUSE = {2: 0.0392, 5: 0.0890, 10: 0.1319}


def reproduce_nist(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Publish NIST's excerpts with values exact or starred, and score them by their k-marginals; `sizes` are k."""
    rows: list[tuple[Cell, ...]] = []
    for done, name in enumerate(NIST_TABLES):
        table = _read_nist(name)
        schema = Schema(quasi=list(NIST_COLUMNS))
        for k in sizes:
            for algorithm in ("auto", "mondrian:choose=loss"):
                release = anonymize(
                    table,
                    schema,
                    model=KAnonymity(k),
                    algorithm=algorithm,
                    hierarchies=dict.fromkeys(NIST_COLUMNS, Hierarchy.suppression()),
                )
                kept = release.table.num_rows / table.num_rows
                shown = (k_marginal(table, release.table), unique_matches(table, release.table))
                rows.append((name, k, algorithm, *shown, round(share_of_stars(release, NIST_COLUMNS), 4), kept))
        progress((done + 1) / len(NIST_TABLES))
    return Reproduction(
        title="NIST's diverse community excerpts, values exact or starred",
        source="National Institute of Standards and Technology, Collaborative Research Cycle, excerpts of 2019.",
        data=f"{', '.join(NIST_TABLES)}; the quasi-identifiers are {', '.join(NIST_COLUMNS)}.",
        headings=("table", "k", "algorithm", "k-marginal", "unique exact matches", "stars", "rows kept"),
        rows=tuple(rows),
        findings=("a star is a value of its own in the k-marginals; 1000 is the score of the table itself",),
        facts={},
        differs=(
            "the score is computed here, over pairs of columns and not by area; NIST's own program, regressions and "
            "propensity are not run",
            "the columns are chosen by us, and are no feature set of the archive",
        ),
    )


def reproduce_lighthouse(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Publish Adult with names exact or starred, beside Airbnb's Mondrian; `sizes` are k."""
    table = load_adult_arx().select(["age", *LIGHTHOUSE_NAMES])
    rows: list[tuple[Cell, ...]] = []
    for done, k in enumerate(sizes):
        release = anonymize(
            table,
            Schema(quasi=table.column_names),
            model=KAnonymity(k),
            hierarchies=dict.fromkeys(LIGHTHOUSE_NAMES, Hierarchy.suppression()),
        )
        ours, theirs = share_of_stars(release, LIGHTHOUSE_NAMES), LIGHTHOUSE.get(k)
        ratio = None if theirs is None else round(ours / theirs, 3)
        rows.append((k, theirs, round(ours, 4), ratio, table.num_rows - release.table.num_rows))
        progress((done + 1) / len(sizes))
    return Reproduction(
        title="Adult with eight quasi-identifiers, names exact or starred",
        source="project-lighthouse-anonymize 1.0.0 (Airbnb), as measured on the same rows.",
        data="The sample of Adult that ARX ships, 30,162 rows.",
        headings=("k", "stars of Lighthouse", "stars here", "ratio", "rows dropped here"),
        rows=tuple(rows),
        findings=("stars are the share of categorical cells that are starred; Lighthouse also drops 1 % of the rows",),
        facts={},
        differs=("Lighthouse is not run by this command: its figures were measured once",),
    )


def k_marginal(original: pa.Table, published: pa.Table) -> int:
    """Return the score of a release by pairs of columns: 1000 where all shares are as in the original, 0 at worst.

    >>> k_marginal(pa.table({"a": ["x", "y"], "b": ["p", "q"]}), pa.table({"a": ["x", "y"], "b": ["p", "q"]}))
    1000
    >>> k_marginal(pa.table({"a": ["x", "y"], "b": ["p", "q"]}), pa.table({"a": ["x", "*"], "b": ["p", "q"]}))
    500
    """
    pairs = list(combinations(original.column_names, 2))
    apart = 0.0
    for pair in pairs:
        mine, theirs = (_shares(table, pair) for table in (original, published))
        apart += sum(abs(mine.get(key, 0.0) - theirs.get(key, 0.0)) for key in mine.keys() | theirs.keys()) / 2
    return round(1000 * (1 - apart / len(pairs)))


def unique_matches(original: pa.Table, published: pa.Table) -> int:
    """Return how many rows that are unique in the original are published exactly."""
    names = tuple(original.column_names)
    mine, theirs = (_counts(table, names) for table in (original, published))
    return sum(1 for key, count in mine.items() if count == 1 and key in theirs)


def share_of_stars(release: Release, names: tuple[str, ...]) -> float:
    """Return the share of cells of some columns that are starred."""
    starred = sum(pc.sum(pc.equal(release.table[name].cast(pa.string()), STAR)).as_py() or 0 for name in names)
    return float(starred / (release.table.num_rows * len(names)))


def _counts(table: pa.Table, names: tuple[str, ...]) -> dict[tuple[str | None, ...], int]:
    """Return how many rows have each combination of values, as text."""
    texts = pa.table({name: table[name].cast(pa.string()) for name in names})
    counted = texts.group_by(list(names)).aggregate([([], "count_all")])
    keys = zip(*(counted[name].to_pylist() for name in names), strict=True)
    return dict(zip(keys, counted["count_all"].to_pylist(), strict=True))


def _shares(table: pa.Table, names: tuple[str, ...]) -> dict[tuple[str | None, ...], float]:
    return {key: count / table.num_rows for key, count in _counts(table, names).items()}


def _read_nist(name: str) -> pa.Table:
    path = Path(data_folder()) / "nist-crc" / f"{name}.csv"
    if not path.is_file():
        raise InputError(
            f"there is no file {path.name!r} in the folder {str(path.parent)!r}",
            hint="get NIST's diverse community excerpts, and set INDISTINCT_DATA to the folder that holds nist-crc",
        )
    kinds = csv.ConvertOptions(column_types=dict.fromkeys(NIST_COLUMNS, pa.string()), include_columns=NIST_COLUMNS)
    return csv.read_csv(path, convert_options=kinds)
