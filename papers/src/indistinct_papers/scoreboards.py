"""Neutral scoreboards: releases judged on tables of others, next to what other programs give there.

NIST's excerpts of the American Community Survey, and settings in which Airbnb's Mondrian publishes Adult. The
tables are not part of this package: they are read from the folder that `INDISTINCT_DATA` names. The programs of others
want old libraries and are not called here: `make sdnist` and `make lighthouse` run them; what they gave is below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from indistinct.schema import Schema
from indistinct_papers.adult import data_folder, load_adult, load_adult_arx
from indistinct_papers.base import Cell, Reproduction

STAR = "*"
NIST_TABLES = ("ma2019", "tx2019", "national2019")
# The feature set that the archive of the Collaborative Research Cycle calls demographic-focused.
NIST_COLUMNS = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE")
NIST_ALGORITHMS = ("auto", "mondrian:choose=loss")
SDCMICRO = "sdcMicro, published"
LIGHTHOUSE_NAMES = ("sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")
GUIDE_COLUMNS = ("age", "hours-per-week", "workclass", "native-country", "salary-class")
GUIDE_K = 5


@dataclass(frozen=True, slots=True)
class NistScores:
    """What sdnist gives for the published rows that have no star.

    `all_rows` is its k-marginal metric over all rows, a star being a code of its own. The line is that of the income
    decile by education.
    """

    rows: int
    k_marginal: int
    all_rows: int | None
    matches: int
    propensity: float
    slope: float
    intercept: float


# As `make sdnist` printed them on 2026-11-18 with sdnist 2.4.
SDNIST: Mapping[tuple[str, int, str], NistScores] = {
    ("ma2019", 6, "auto"): NistScores(1181, 539, 742, 0, 0.042, 1.49, -6.09),
    ("ma2019", 6, "mondrian:choose=loss"): NistScores(1038, 540, 729, 0, 0.037, 1.54, -6.48),
    ("ma2019", 12, "auto"): NistScores(899, 467, 695, 0, 0.039, 1.09, -4.22),
    ("ma2019", 12, "mondrian:choose=loss"): NistScores(762, 453, 672, 0, 0.033, 1.24, -5.37),
    ("tx2019", 6, "auto"): NistScores(1679, 531, 744, 0, 0.048, 1.65, -6.03),
    ("tx2019", 6, "mondrian:choose=loss"): NistScores(1648, 532, 739, 0, 0.047, 1.65, -6.0),
    ("tx2019", 12, "auto"): NistScores(1232, 473, 697, 0, 0.042, 0.22, -0.65),
    ("tx2019", 12, "mondrian:choose=loss"): NistScores(1123, 472, 685, 0, 0.038, 0.27, -0.81),
    ("national2019", 6, "auto"): NistScores(5387, 606, 762, 0, 0.043, 1.38, -6.15),
    ("national2019", 6, "mondrian:choose=loss"): NistScores(5101, 607, 757, 0, 0.040, 1.41, -6.47),
    ("national2019", 12, "auto"): NistScores(3654, 515, 711, 0, 0.038, 0.7, -3.09),
    ("national2019", 12, "mondrian:choose=loss"): NistScores(3381, 513, 700, 0, 0.036, 0.77, -3.42),
    # NIST's sample report r_k_anonymity_k_6_demographic_focused_na2019, made with sdnist 2.5 on 2025-02-12.
    ("national2019", 6, SDCMICRO): NistScores(18720, 907, None, 7073, 0.018, 0.88, -1.92),
}


@dataclass(frozen=True, slots=True)
class LighthouseFigures:
    """What project-lighthouse-anonymize 1.0.0 gives: the share of starred categorical cells, rows and CPU seconds.

    `years` is the mean width of the ages of a published row's class.
    """

    stars: float
    dropped: int
    changed: int
    cpu: float
    years: float


# As `make lighthouse` printed them on 2026-11-18. The guide prints the same rows dropped and changed.
LIGHTHOUSE: Mapping[int, LighthouseFigures] = {
    2: LighthouseFigures(0.0392, 295, 15_850, 26.4, 3.14),
    5: LighthouseFigures(0.0890, 292, 22_955, 12.4, 7.84),
    10: LighthouseFigures(0.1320, 287, 26_413, 7.1, 11.66),
}
LIGHTHOUSE_GUIDE = LighthouseFigures(0.0111, 349, 17_698, 8.3, 1.7)


def reproduce_nist(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Publish NIST's excerpts with values exact or starred, and score them by their k-marginals; `sizes` are k."""
    rows: list[tuple[Cell, ...]] = []
    for done, name in enumerate(NIST_TABLES):
        table = _read_nist(name)
        for k in sizes:
            for algorithm in NIST_ALGORITHMS:
                release = publish_nist(table, k, algorithm)
                kept = release.table.num_rows / table.num_rows
                scores = (k_marginal(table, release.table), unique_matches(table, release.table))
                stars = round(share_of_stars(release.table, NIST_COLUMNS), 4)
                exact = exact_rows(release.table, NIST_COLUMNS).num_rows
                rows.append((name, k, algorithm, *scores, stars, kept, exact, *_nist_cells(name, k, algorithm)))
            if (name, k, SDCMICRO) in SDNIST:
                theirs = SDNIST[name, k, SDCMICRO]
                rows.append((name, k, SDCMICRO, None, None, None, None, theirs.rows, *_nist_cells(name, k, SDCMICRO)))
        progress((done + 1) / len(NIST_TABLES))
    published = SDNIST["national2019", 6, SDCMICRO]
    return Reproduction(
        title="NIST's diverse community excerpts, values exact or starred",
        source="National Institute of Standards and Technology, Collaborative Research Cycle, excerpts of 2019.",
        data=f"{', '.join(NIST_TABLES)}; the quasi-identifiers are {', '.join(NIST_COLUMNS)}.",
        headings=(
            *("table", "k", "algorithm", "k-marginal", "unique exact matches", "stars", "rows kept"),
            *("rows without a star", "sdnist k-marginal", "sdnist k-marginal of all rows", "sdnist matches"),
            *("sdnist propensity", "sdnist slope", "sdnist intercept"),
        ),
        rows=tuple(rows),
        findings=(
            "a star is a value of its own in the k-marginals; 1000 is the score of the table itself",
            "columns that begin with sdnist are of NIST's own program, version 2.4, as `make sdnist` gave them on "
            "2026-11-18: of the rows without a star, as NIST scores sdcMicro, and the k-marginal of all rows as well",
            f"NIST's report on sdcMicro's local suppression (k = 6, national2019, sdnist 2.5): {published.rows:,} of "
            f"27,253 rows without a suppressed cell, k-marginal {published.k_marginal}, and {published.matches:,} of "
            "the 14,918 unique people published exactly, because a suppressed cell matches everything there; here "
            "no unique person is published exactly, so at most 5,387 rows can go without a star",
            "the true lines have slope 0.62 (ma2019), 0.58 (tx2019) and 0.63 (national2019), intercept 0.12, 0.79 "
            "and -0.1",
        ),
        facts={},
        differs=(
            "sdnist takes the codes of its dictionary alone: its report drops a column that has a star or a range, and "
            "N is only where the dictionary has it; so ages are exact or starred here, and rows with a star are "
            "left out of its figures",
            "the k-marginal that is computed here takes ages one by one and all rows; sdnist puts ages into twenty "
            "bins; neither goes by area, because this feature set has none",
            "releases for sdnist are made at the command line, which reads codes as numbers: Mondrian's cuts, and so "
            "the stars, differ in the fourth digit",
        ),
    )


def publish_nist(table: pa.Table, k: int, algorithm: str) -> Release:
    """Return a release of an excerpt with values exact or starred."""
    return anonymize(
        table,
        Schema(quasi=list(NIST_COLUMNS)),
        model=KAnonymity(k),
        algorithm=algorithm,
        hierarchies=dict.fromkeys(NIST_COLUMNS, Hierarchy.suppression()),
    )


def _nist_cells(name: str, k: int, algorithm: str) -> tuple[Cell, ...]:
    """Return the figures of sdnist as a row has them; none where none were measured."""
    scores = SDNIST.get((name, k, algorithm))
    if scores is None:
        return (None,) * 6
    lines = (scores.propensity, scores.slope, scores.intercept)
    return (scores.k_marginal, scores.all_rows, scores.matches, *lines)


def reproduce_lighthouse(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Publish Adult with names exact or starred, next to Airbnb's Mondrian; `sizes` are k."""
    rows: list[tuple[Cell, ...]] = []
    for done, k in enumerate(sizes):
        table = load_adult_arx().select(["age", *LIGHTHOUSE_NAMES])
        if k in LIGHTHOUSE:
            rows.append(_compare_lighthouse("30,162 × 8", table, k, LIGHTHOUSE_NAMES, LIGHTHOUSE[k]))
        if k == GUIDE_K:
            table = load_adult(drop_missing=False).select(GUIDE_COLUMNS)
            rows.append(_compare_lighthouse("48,842 × 5", table, k, GUIDE_COLUMNS[2:], LIGHTHOUSE_GUIDE))
        progress((done + 1) / len(sizes))
    return Reproduction(
        title="Adult, names exact or starred",
        source="project-lighthouse-anonymize 1.0.0 (Airbnb): its program on the same rows, and its guide.",
        data="The sample of Adult that ARX ships, 30,162 rows × 8; for k = 5 also the guide's, all 48,842 rows × 5.",
        headings=(
            *("table", "k", "stars of Lighthouse", "stars here", "ratio", "rows dropped by Lighthouse"),
            *("rows dropped here", "ratio with dropped rows", "rows changed by Lighthouse", "rows changed here"),
            *("years of age in Lighthouse", "years of age here"),
        ),
        rows=tuple(rows),
        findings=(
            "stars are the share of categorical cells of published rows that are starred; with dropped rows, these "
            "count as rows of stars",
            "rows are changed if a published cell is a star or a range; Lighthouse publishes means of numbers",
            "years are the mean width of a row's age: of its published range here, and of the ages of the rows that "
            "Lighthouse publishes alike",
            "the guide prints 349 rows dropped and 17,698 changed at k = 5, which the program gives here as well",
        ),
        facts={},
        differs=("Lighthouse is not run by this command: `make lighthouse` gave its figures on 2026-11-18",),
    )


def publish_adult(table: pa.Table, k: int, names: Sequence[str]) -> Release:
    """Return a release of Adult by the default algorithm, some columns exact or starred."""
    return anonymize(
        table,
        Schema(quasi=table.column_names),
        model=KAnonymity(k),
        hierarchies=dict.fromkeys(names, Hierarchy.suppression()),
    )


def _compare_lighthouse(
    setting: str, table: pa.Table, k: int, names: Sequence[str], theirs: LighthouseFigures
) -> tuple[Cell, ...]:
    """Return a row of figures: theirs, ours and ratios."""
    made = publish_adult(table, k, names)
    release = made.table
    ours, dropped = share_of_stars(release, names), table.num_rows - release.num_rows
    with_dropped = [
        stars_with_dropped(*figures, rows=table.num_rows)
        for figures in ((ours, dropped), (theirs.stars, theirs.dropped))
    ]
    changed = release.num_rows - exact_rows(release, table.column_names).num_rows
    return (
        *(setting, k, theirs.stars, round(ours, 4), round(ours / theirs.stars, 3), theirs.dropped, dropped),
        *(round(with_dropped[0] / with_dropped[1], 3), theirs.changed, changed),
        *(theirs.years, round(mean_width(made, "age"), 2)),
    )


def mean_width(release: Release, column: str) -> float:
    """Return the mean width of the ranges that the rows of a release publish of a column of numbers."""
    assignment = release.assignment
    place = [each.column for each in assignment.columns].index(column)
    shown, values = assignment.columns[place], assignment.values[:, place]
    widths, rows = (shown.high - shown.low)[values], assignment.classes.sizes
    return float(widths @ rows / max(rows.sum(), 1))


def stars_with_dropped(share: float, dropped: int, *, rows: int) -> float:
    """Return the share of starred cells of all rows, where a dropped row counts as stars.

    >>> stars_with_dropped(0.5, 20, rows=100)
    0.6
    """
    return (share * (rows - dropped) + dropped) / rows


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


def share_of_stars(published: pa.Table, names: Sequence[str]) -> float:
    """Return the share of cells of some columns that are starred.

    >>> share_of_stars(pa.table({"a": ["x", "*"], "b": ["p", None]}), ["a", "b"])
    0.25
    """
    starred = sum(pc.sum(pc.equal(published[name].cast(pa.string()), STAR)).as_py() or 0 for name in names)
    return float(starred / (published.num_rows * len(names)))


def exact_rows(published: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the rows of some columns that have neither a star nor a range.

    >>> exact_rows(pa.table({"a": ["1", "[1-2]", "3"], "b": ["p", "q", "*"]}), ["a", "b"]).num_rows
    1
    """
    texts = pa.table({name: published[name].cast(pa.string()) for name in names})
    exact = pa.array([True] * published.num_rows)
    for name in names:
        coarse = pc.or_(pc.equal(texts[name], STAR), pc.match_substring_regex(texts[name], r"^[\[(].*[\])]$"))
        exact = pc.and_(exact, pc.invert(pc.fill_null(coarse, False)))
    return texts.filter(exact)


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
