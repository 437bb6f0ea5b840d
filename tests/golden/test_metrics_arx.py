"""Metrics of full-domain nodes of the Adult sample, against what ARX 3.9.2 reports for its optima."""

import csv
import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from indistinct.metrics import Discernibility, GeometricLoss, Loss, Precision
from indistinct.recoding.outputs import Assignment
from references.by_hand import HandColumn, HandValue, assignment_by_hand

ADULT = Path(os.environ.get("INDISTINCT_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"), "adult-arx")

pytestmark = pytest.mark.skipif(
    not ADULT.is_dir(), reason="no Adult sample here; set INDISTINCT_DATA to the folder of adult-arx"
)


def read(name: str) -> list[list[str]]:
    with (ADULT / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines, delimiter=";"))


def node(levels: tuple[int, ...], *, k: int) -> Assignment:
    """Return the node of the lattice over the first columns of the file; classes below k are suppressed."""
    header, *rows = read("adult")
    columns, climbs = [], []
    for name, level in zip(header, levels, strict=False):
        hierarchy = read(name)
        leaves = Counter(path[level] for path in hierarchy)
        columns.append(HandColumn(name, size=len(hierarchy), height=len(hierarchy[0]) - 1))
        climbs.append({p[0]: HandValue(p[level], leaves=leaves[p[level]], level=level) for p in hierarchy})
    classes = defaultdict(list)
    for row in rows:
        cells = tuple(row[: len(levels)])
        classes[tuple(climb[cell] for climb, cell in zip(climbs, cells, strict=True))].append(cells)
    return assignment_by_hand(
        columns, [(members, shown if len(members) >= k else None) for shown, members in classes.items()]
    )


@pytest.mark.parametrize(
    ("levels", "k", "suppressed", "geometric", "mean", "discernibility", "precision"),
    [
        ((0, 3, 0), 2, 0, 0.06026787816, 0.06397306397, 158689450, 0.75),
        ((0, 3, 0, 0, 1, 1), 5, 1076, 0.13605673258, 0.14120178784, 58215828, 0.70985106352),
        ((0, 3, 0, 0, 1, 1, 0, 1, 0), 2, 2093, 0.16175977579, 0.16707764889, 67143421, 0.71518951980),
    ],
)
def test_metrics_of_the_optimum(
    levels: tuple[int, ...],
    k: int,
    *,
    suppressed: int,
    geometric: float,
    mean: float,
    discernibility: int,
    precision: float,
) -> None:
    assignment = node(levels, k=k)
    assert assignment.suppressed == suppressed
    assert GeometricLoss().value(assignment) == pytest.approx(geometric)
    assert Loss().value(assignment) == pytest.approx(mean)
    assert Discernibility().value(assignment) == discernibility
    assert Precision().value(assignment) == pytest.approx(precision)
