"""Releases of tables of others against the programs of others: starred cells, scores and computing, as ratios.

The programs run where `make lighthouse` and `make sdnist` made their environments; else what they gave once stands for
them, and the line says so.
"""

import csv
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from benchmarks.timing import Line
from indistinct_papers.adult import load_adult, load_adult_arx
from indistinct_papers.scoreboards import (
    GUIDE_COLUMNS,
    GUIDE_K,
    LIGHTHOUSE,
    LIGHTHOUSE_GUIDE,
    LIGHTHOUSE_NAMES,
    SDCMICRO,
    SDNIST,
    LighthouseFigures,
    NistScores,
    mean_width,
    publish_adult,
    share_of_stars,
    stars_with_dropped,
)

ROOT = Path(__file__).parents[1]
Settings = Mapping[tuple[str, int], LighthouseFigures]


def scoreboard_lines() -> Iterator[Line]:
    yield from lighthouse_lines()
    yield from nist_lines()


def lighthouse_lines() -> Iterator[Line]:
    adult, guide = load_adult_arx().select(["age", *LIGHTHOUSE_NAMES]), load_adult(drop_missing=False)
    tables = {"adult-8": (adult, LIGHTHOUSE_NAMES), "guide-5": (guide.select(GUIDE_COLUMNS), GUIDE_COLUMNS[2:])}
    recorded: Settings = {
        **{("adult-8", k): figures for k, figures in LIGHTHOUSE.items()},
        ("guide-5", GUIDE_K): LIGHTHOUSE_GUIDE,
    }
    measured = run_lighthouse()
    peer = "Lighthouse" if measured else "Lighthouse, as recorded"
    publish_adult(adult, 2, LIGHTHOUSE_NAMES)  # kernels are compiled before time is taken
    for (setting, k), theirs in (measured or recorded).items():
        table, names = tables[setting]
        began = time.process_time()
        made = publish_adult(table, k, names)
        taken, release = time.process_time() - began, made.table
        what, stars = f"{setting}, k = {k}", share_of_stars(release, names)
        every = (
            _count_dropped(stars, table, release.num_rows),
            _count_dropped(theirs.stars, table, table.num_rows - theirs.dropped),
        )
        yield Line(f"{what}: % of names starred", 100 * stars, peer, 100 * theirs.stars, None)
        yield Line(f"{what}: the same, dropped rows as stars", 100 * every[0], peer, 100 * every[1], 1)
        yield Line(f"{what}: years of age", mean_width(made, "age"), peer, theirs.years, None)
        yield Line(f"{what}: CPU seconds", taken, peer, theirs.cpu, 1)


def _count_dropped(share: float, table: pa.Table, published: int) -> float:
    return stars_with_dropped(share, table.num_rows - published, rows=table.num_rows)


def run_lighthouse() -> Settings:
    """Return what Lighthouse gives now; nothing where its environment was not made."""
    program = ROOT / ".venv-lighthouse" / "bin" / "python"
    if not program.exists():
        return {}
    command = [str(program), "-W", "ignore", "benchmarks/lighthouse_child.py"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    found = {}
    for line in printed.splitlines():
        setting, k, stars, dropped, changed, cpu, years = line.split()
        figures = LighthouseFigures(float(stars), int(dropped), int(changed), float(cpu), float(years))
        found[setting, int(k)] = figures
    return found


def nist_lines() -> Iterator[Line]:
    """Yield what NIST's program says of ours against what it says of sdcMicro; a k-marginal is better when higher."""
    measured = run_sdnist()
    scores = measured or SDNIST
    told = "" if measured else ", as recorded"
    peer = "sdcMicro, as NIST publishes it"
    ours, theirs = scores["national2019", 6, "auto"], SDNIST["national2019", 6, SDCMICRO]
    yield Line(f"national2019, k = 6: rows without a star{told}", ours.rows, peer, theirs.rows, None)
    yield Line(f"the same: k-marginal of these, sdnist{told}", ours.k_marginal, peer, theirs.k_marginal, None)
    yield Line(f"the same: unique exact matches, sdnist{told}", ours.matches, peer, theirs.matches, 0)
    yield Line(f"the same: propensity, sdnist{told}", ours.propensity, peer, theirs.propensity, None)


def run_sdnist() -> dict[tuple[str, int, str], NistScores]:
    """Return what sdnist gives now for k = 6; nothing where its environment was not made."""
    program = ROOT / ".venv-sdnist" / "bin" / "python"
    if not program.exists():
        return {}
    command = [str(program), "-W", "ignore", "benchmarks/sdnist_child.py", ".venv/bin/indistinct", "6"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    found = {}
    for row in csv.DictReader(printed.splitlines(), delimiter="\t"):
        scores = NistScores(
            rows=int(row["without a star"]),
            k_marginal=int(row["k-marginal"]),
            all_rows=int(row["k-marginal of all rows"]),
            matches=int(row["unique exact matches"]),
            propensity=float(row["propensity"]),
            slope=float(row["slope"]),
            intercept=float(row["intercept"]),
        )
        found[row["table"], int(row["k"]), row["algorithm"]] = scores
    return found
