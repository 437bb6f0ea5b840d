"""The optimum of the Adult sample under geometric loss, against what ARX 3.9.2 finds and reports."""

import csv
import math
import os
from functools import cache
from pathlib import Path

import pytest

import indistinct as ind
from indistinct.algorithms.base import Problem
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.engines import count_source
from indistinct.frequencies.count import Request
from indistinct.metrics import Discernibility, GeometricLoss, Loss, Precision
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct.suppression_limit import Budget
from indistinct_papers.adult import adult_hierarchies, load_adult_arx

DATA = Path(os.environ.get("INDISTINCT_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
ANSWERS = DATA.parent / "golden" / "arx_k_anonymity.csv"

pytestmark = pytest.mark.skipif(
    not ((DATA / "adult-arx").is_dir() and ANSWERS.is_file()),
    reason="no Adult sample here; set INDISTINCT_DATA to the folder of adult-arx, with golden/ beside it",
)


def answers() -> list[dict[str, str]]:
    if not ANSWERS.is_file():
        return []
    with ANSWERS.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def spelled(row: dict[str, str]) -> str:
    return f"{len(row['quasi_identifiers'].split())} columns, k={row['k']}, {row['suppression_limit']}"


@cache
def sample():
    return load_adult_arx(DATA), adult_hierarchies("arx", folder=DATA)


@cache
def counted(names: tuple[str, ...]):
    table, hierarchies = sample()
    return count_source(table, Request(names, (), {name: hierarchies[name] for name in names}))


def assert_measures(assignment, row: dict[str, str]) -> None:
    """Every figure of the file: ARX rounds while it adds, so its means agree to nine digits or so."""
    assert GeometricLoss().value(assignment) == pytest.approx(float(row["geometric_loss"]), rel=1e-9)
    assert Loss().value(assignment) == pytest.approx(float(row["mean_loss"]), rel=1e-9)
    assert Precision().value(assignment) == pytest.approx(float(row["precision"]), rel=1e-9)
    assert Discernibility().value(assignment) == int(row["discernibility"])
    assert assignment.suppressed == int(row["suppressed_rows"])
    assert len(assignment.classes) == int(row["classes"])


@pytest.mark.parametrize("row", answers(), ids=spelled)
def test_the_optimum_is_that_of_arx(row):
    names, k = tuple(row["quasi_identifiers"].split()), int(row["k"])
    cells = counted(names)
    rows = cells.frequencies.rows
    problem = Problem(
        cells.frequencies,
        columns_of(cells.domains, sample()[1]),
        ind.KAnonymity(k),
        suppression=Budget(float(row["suppression_limit"])).allows(rows),
    )
    recoding = Optimal("geometric-loss").search(problem)
    assignment = assign(cells.frequencies, recoding)
    assert problem.counters["nodes"] == int(row["lattice_nodes"])
    assert problem.counters["proven"] == 1
    assert math.isclose(GeometricLoss().value(assignment), float(row["geometric_loss"]), rel_tol=1e-9)
    assert tuple(recoding.levels.values()) == tuple(map(int, row["levels"].split()))
    assert_measures(assignment, row)


@pytest.mark.parametrize("row", answers()[1::9], ids=spelled)
def test_the_release_measures_the_same(row):
    table, hierarchies = sample()
    quasi = row["quasi_identifiers"].split()
    release = ind.anonymize(
        table,
        ind.Schema(quasi=quasi, insensitive=[name for name in table.column_names if name not in quasi]),
        model=ind.KAnonymity(int(row["k"])),
        algorithm="optimal:metric=geometric-loss",
        hierarchies={name: hierarchies[name] for name in quasi},
        suppression=float(row["suppression_limit"]),
    )
    assert list(release.recoding.levels) == quasi
    assert tuple(release.recoding.levels.values()) == tuple(map(int, row["levels"].split()))
    assert_measures(release.assignment, row)
    assert release.certificate.suppressed_rows == int(row["suppressed_rows"])
    assert release.certificate.classes == int(row["classes"])
    assert len(release.table) == len(table) - int(row["suppressed_rows"])
