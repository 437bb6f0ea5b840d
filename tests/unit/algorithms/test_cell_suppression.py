"""Cell and value suppression: few stars, no row dropped that can be placed, ties, budgets and what is refused."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.algorithms.full_domain.cell_suppression import STARTS, CellSuppression
from indistinct.algorithms.full_domain.stars import (
    MASKS_PER_SIZE,
    MAX_RESTARTS,
    Units,
    group_published,
    place_greedily,
    place_units,
    repair,
)
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import InfeasibleError, ParameterError
from indistinct.frequencies.value import Classes
from indistinct.models import KAnonymity, SubsetAnonymity
from indistinct.recoding.kinds import ByCell, ByColumn
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.text_form import spell

SCHEMA = ind.Schema(quasi=["a", "b"], insensitive=["key"])
CROWD = [("x", "p")] * 4 + [("y", "q")] * 4


def release_of(rows, *, algorithm, suppression=0.0, k=2, schema=SCHEMA):
    columns = dict(zip(schema.quasi, zip(*rows, strict=True), strict=True))
    table = pa.table({**columns, "key": list(range(len(rows)))})
    return ind.anonymize(table, schema, model=KAnonymity(k), algorithm=algorithm, suppression=suppression)


def shown(release):
    names = release.schema.quasi
    return Counter(tuple(row[name] for name in names) for row in release.table.to_pylist())


# Cells.


def test_outliers_that_share_a_value_keep_it():
    rows = [*CROWD, ("x", "q"), ("x", "r")]
    plain = release_of(rows, algorithm="optimal", suppression=0.2)
    assert plain.certificate.suppressed_rows == 2
    release = release_of(rows, algorithm="cell-suppression", suppression=0.2)
    assert shown(release) == {("x", "p"): 4, ("y", "q"): 4, ("x", "*"): 2}
    assert isinstance(release.recoding, ByCell)
    assert recoding_from_json(recoding_to_json(release.recoding)) == release.recoding


def test_one_star_goes_before_two():
    rows = [*CROWD * 2, ("x", "q"), ("x", "r"), ("u", "v"), ("w", "z")]
    release = release_of(rows, algorithm="cell-suppression", suppression=0.2)
    assert shown(release) == {("x", "p"): 8, ("y", "q"): 8, ("x", "*"): 2, ("*", "*"): 2}


def test_another_order_places_a_row_that_the_first_one_leaves():
    """The column that places most rows, `a`, would leave (x, z) alone; starring `b` for (x, q) too drops nobody."""
    rows = [*CROWD * 2, ("x", "q"), ("u", "q"), ("w", "q"), ("x", "z")]
    release = release_of(rows, algorithm="cell-suppression", suppression=0.2)
    assert shown(release) == {("x", "p"): 8, ("y", "q"): 8, ("*", "q"): 2, ("x", "*"): 2}
    assert release.certificate.suppressed_rows == 0


def test_important_columns_are_starred_last():
    rows = [*CROWD * 2, ("x", "r"), ("u", "r"), ("x", "s"), ("u", "s")]
    for column, expected in (("a", {("x", "*"): 2, ("u", "*"): 2}), ("b", {("*", "r"): 2, ("*", "s"): 2})):
        release = release_of(rows, algorithm=CellSuppression(importance={column: 3}), suppression=0.2)
        assert shown(release) == {("x", "p"): 8, ("y", "q"): 8, **expected}


def test_a_repair_takes_stars_away_that_greed_leaves():
    values = np.random.default_rng(4).integers(0, 3, (90, 5))
    values, counts = np.unique(values, axis=0, return_counts=True)
    units = Units(values, Classes(counts.astype(np.int64)), tuple(range(5)), (1.0,) * 5, KAnonymity(4))
    greedy = place_greedily(units, order=0, counters=Counter())
    repaired = repair(units, greedy, counters=Counter())
    best = place_units(units, counters=Counter(), progress=lambda share: None)
    assert best.cost(units) <= repaired.cost(units) < greedy.cost(units)
    for found in (repaired, best):
        ids, size = group_published(values[found.placed], found.stars[found.placed])
        assert np.bincount(ids, weights=counts[found.placed], minlength=size).min() >= 4


def test_nothing_is_starred_where_nobody_stands_out():
    release = release_of([*CROWD], algorithm="cell-suppression", suppression=0.2)
    assert shown(release) == {("x", "p"): 4, ("y", "q"): 4}
    assert isinstance(release.recoding, ByColumn)
    assert release.recoding.levels == {"a": 0, "b": 0}


def test_a_column_that_nobody_stars_keeps_its_type():
    rows = [(1, "p")] * 4 + [(2, "q")] * 4 + [(1, "q"), (1, "r")]
    release = release_of(rows, algorithm="cell-suppression", suppression=0.2)
    assert release.table["a"].to_pylist().count(1) == 6
    assert pa.types.is_integer(release.table["a"].type)


def test_a_row_that_cannot_be_placed_is_dropped_within_the_budget():
    rows = [*CROWD, ("u", "v")]
    release = release_of(rows, algorithm="cell-suppression", suppression=0.2)
    assert shown(release) == {("x", "p"): 4, ("y", "q"): 4}
    assert isinstance(release.recoding, ByColumn), "no cell is starred, so other combinations stay known"


def test_a_start_that_leaves_more_rows_than_may_be_dropped_is_infeasible():
    rows = [*CROWD, ("u", "v")]
    with pytest.raises(InfeasibleError, match="1 row") as caught:
        release_of(rows, algorithm=CellSuppression("datafly:outliers=1,suppressed_rows=star"))
    assert "start=optimal" in caught.value.hint


@pytest.mark.parametrize("start", STARTS)
def test_every_start_finds_a_node(start):
    rows = [*CROWD * 3, ("x", "q"), ("x", "r")]
    release = release_of(rows, algorithm=CellSuppression(start), suppression=0.1)
    assert release.certificate.holds
    assert release.certificate.suppressed_rows == 0


def test_twenty_columns_are_within_reach():
    names = [f"c{place:02d}" for place in range(20)]
    schema = ind.Schema(quasi=names, insensitive=["key"])
    crowd = [("x",) * 20] * 30
    strangers = [tuple("xy"[(row >> (place % 3)) & 1] for place in range(20)) for row in range(1, 4)]
    release = release_of(
        [*crowd, *strangers], algorithm="cell-suppression:start=datafly", suppression=0.1, k=3, schema=schema
    )
    assert release.certificate.suppressed_rows == 0
    assert release.counters["checks"] <= (MAX_RESTARTS + 1) * 21 * 2 * MASKS_PER_SIZE


def test_the_start_is_spelled_and_checked():
    algorithm = parse_algorithm('cell-suppression:start="optimal:metric=classification:target=y"')
    assert algorithm.keys == (("y",),)
    assert parse_algorithm(spell(algorithm)) == algorithm
    assert CellSuppression("samarati").beginning() == ind.Samarati()
    with pytest.raises(ParameterError, match="full-domain algorithm"):
        CellSuppression("mondrian")


# Values.


def test_rare_values_are_suppressed_everywhere():
    rows = [*CROWD, ("x", "r"), ("y", "s")]
    release = release_of(rows, algorithm="value-suppression")
    assert shown(release) == {("*", "p"): 4, ("*", "q"): 4, ("*", "*"): 2}
    assert release.recoding.levels is None


def test_a_value_that_need_not_be_suppressed_is_restored():
    rows = [("x", "p")] * 3 + [("y", "p")] * 3 + [("z", "p"), ("z", "p")]
    release = release_of(rows, algorithm="value-suppression", k=2)
    assert shown(release) == {("x", "p"): 3, ("y", "p"): 3, ("z", "p"): 2}


def test_the_budget_lets_values_stand():
    rows = [*CROWD * 2, ("x", "r")]
    release = release_of(rows, algorithm="value-suppression", suppression=0.1)
    assert shown(release) == {("x", "p"): 8, ("y", "q"): 8}
    starred = release_of(rows, algorithm="value-suppression")
    assert starred.certificate.suppressed_rows == 0
    assert "r" not in {b for _, b in shown(starred)}


def test_a_budget_of_all_rows_still_publishes_some():
    rows = [(str(place), "p") for place in range(6)]
    release = release_of(rows, algorithm="value-suppression", suppression=1.0)
    assert release.table.num_rows
    assert min(shown(release).values()) >= 2


def test_unique_columns_are_suppressed_as_a_whole():
    rows = [(str(place), "pq"[place % 2]) for place in range(8)]
    release = release_of(rows, algorithm="value-suppression", k=4)
    assert shown(release) == {("*", "p"): 4, ("*", "q"): 4}


@pytest.mark.parametrize("width", [3, 66])
def test_outliers_of_column_sets_are_placed_in_tables_of_any_width(width):
    names = [f"column{number}" for number in range(width)]
    last = ["common"] * 8 + ["rare", "rarer", "rarest"]
    table = pa.table({**dict.fromkeys(names[:-1], ["common"] * len(last)), names[-1]: last})
    release = ind.anonymize(
        table,
        ind.Schema(quasi=names),
        model=SubsetAnonymity(k=3, size=1),
        algorithm=CellSuppression(start="datafly"),
        suppression=0.3,
    )
    assert Counter(release.table[names[-1]].to_pylist()) == {"common": 8, "*": 3}


def test_a_model_that_cannot_hold_is_infeasible():
    for algorithm in ("value-suppression", "cell-suppression"):
        with pytest.raises(InfeasibleError):
            release_of(CROWD, algorithm=algorithm, k=9, suppression=0.5)
