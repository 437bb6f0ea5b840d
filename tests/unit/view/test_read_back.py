"""What published texts are read as, what is refused, and a full-domain node of Adult against ARX."""

import csv
import datetime as dt
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines import count_source
from indistinct.errors import InputError, ParameterError, SchemaError
from indistinct.evaluation.measure.measure import measure_table
from indistinct.frequencies.count import Request
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.columns import columns_of
from indistinct.recoding.outputs import PublishedColumn, WrittenRange, written_members, written_ranges
from indistinct.recoding.summary import node_summary
from indistinct.view.read_back import read_back

AGES = [20, 21, 25, 30, 40]


def read(
    original: list[Any], published: Any, *, hierarchy: Hierarchy | None = None, name: str = "q"
) -> PublishedColumn:
    """Return how the published cells of one quasi-identifier are read, one entry a distinct value.

    The original is doubled, so that it has rows enough for what is published.
    """
    table = published if isinstance(published, pa.Table) else pa.table({name: published})
    declared = {} if hierarchy is None else {name: hierarchy}
    counted = count_source(pa.table({name: original * 2}), Request([name], (), declared))
    assignment = read_back(
        table,
        columns_of(counted.domains, declared),
        frequencies=counted.frequencies,
        schema=ind.Schema(quasi=[name]),
    )
    return assignment.columns[0]


def covered(column: PublishedColumn) -> dict[str | None, tuple[float, float, int, int]]:
    shown = column.outputs[0][1].to_pylist()
    parts = zip(column.low, column.high, column.leaves, column.levels, strict=True)
    return dict(zip(shown, [(float(a), float(b), int(c), int(d)) for a, b, c, d in parts], strict=True))


# Labels.


def test_every_hyphen_may_part_a_range() -> None:
    assert next(written_ranges("[-5 .. 12]")) == WrittenRange("-5", "12")
    assert WrittenRange("-5", "-1") in list(written_ranges("[-5--1]"))
    assert list(written_ranges("20-24")) == [WrittenRange("20", "24")]
    assert list(written_ranges("[20, 25)")) == [WrittenRange("20", "25", closed=False)]
    assert list(written_ranges("[20, 25[")) == [WrittenRange("20", "25", closed=False)]
    assert [list(written_ranges(label)) for label in ("", "[", "[]", "twenty")] == [[], [], [], []]


@pytest.mark.parametrize("label", ["", "{", "{}", "{a", "a, b", '{"a" b}', '{"a}', "{a}, {b}", "{a,, b}"])
def test_what_is_no_set_is_not_read_as_one(label: str) -> None:
    assert written_members(label) is None


# Ranges.


def test_ranges_of_numbers() -> None:
    found = read([*AGES, None], ["20", "[21-30]", "[20-40] or missing", "25 or missing", None, "*"])
    assert found.ranged
    assert (found.span, found.size, found.height) == (20.0, 6, 1)
    assert covered(found) == {
        None: (20, 20, 1, 0),
        "20": (20, 20, 1, 0),
        "[21-30]": (21, 30, 3, 1),
        "[20-40] or missing": (20, 40, 6, 1),
        "25 or missing": (25, 25, 2, 1),
        "*": (20, 40, 6, 1),
    }


def test_ends_that_no_row_has_lie_on_the_line_and_are_clipped_to_it() -> None:
    found = read(AGES, ["[22-39]", "[0-24]", "20-29", "[20, 30)", "[20, 30]"])
    assert covered(found) == {
        "[22-39]": (22, 39, 2, 1),
        "[0-24]": (20, 24, 2, 1),
        "20-29": (20, 29, 3, 1),
        "[20, 30)": (20, 30, 3, 1),
        "[20, 30]": (20, 30, 4, 1),
    }


def test_numbers_keep_their_meaning_in_another_type_and_spelling() -> None:
    for cells in (pa.array(AGES, pa.int8()), pa.array(AGES, pa.float64()), [f"{age}.0" for age in AGES]):
        found = read(AGES, cells)
        assert found.leaves.tolist() == [1] * 5
        assert found.low.tolist() == sorted(AGES)
        assert not found.levels.any()


def test_ends_and_members_in_another_spelling_are_the_same_values() -> None:
    found = read([20, 21, 25, 1000], ["[20.0-25.00]", "{20.0, 1e3}"])
    assert covered(found) == {"[20.0-25.00]": (20, 25, 3, 1), "{20.0, 1e3}": (20, 1000, 2, 1)}


def test_text_that_came_back_as_numbers_is_read_by_size() -> None:
    found = read(["53711", "1.50", "x"], pa.array([53711.0, 1.5]))
    assert found.leaves.tolist() == [1, 1]
    assert not found.levels.any()


def test_dictionary_columns_are_read_as_their_values() -> None:
    found = read(AGES, pa.array(["[20-30]", "40", "[20-30]"]).dictionary_encode())
    assert covered(found) == {"40": (40, 40, 1, 0), "[20-30]": (20, 30, 4, 1)}


def test_ranges_of_dates_and_moments() -> None:
    days = [dt.date(1970, 1, 1), dt.date(1970, 1, 3), dt.date(1970, 2, 1)]
    found = read(days, ["1970-01-01", "[1970-01-01 .. 1970-01-03]", "[1970-01-02 .. 1970-02-01]"])
    assert covered(found) == {
        "1970-01-01": (0, 0, 1, 0),
        "[1970-01-01 .. 1970-01-03]": (0, 2, 2, 1),
        "[1970-01-02 .. 1970-02-01]": (1, 31, 2, 1),
    }
    moments = [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, 12)]
    found = read(moments, ["1970-01-01", "[1970-01-01 00:00:00 .. 1970-01-01T12:00]"])
    assert list(covered(found).values()) == [(0, 0, 1, 0), (0, 0.5, 2, 1)]


def test_ranges_of_a_declared_order() -> None:
    order = Hierarchy.order(["low", "mid-low", "middle", "high"])
    found = read(["low", "mid-low", "high"], ["[low .. mid-low]", "[low-high]", "high", "*"], hierarchy=order)
    assert found.ranged
    assert (found.span, found.size) == (2.0, 4)
    assert covered(found) == {
        "[low .. mid-low]": (0, 1, 2, 1),
        "[low-high]": (0, 2, 3, 1),
        "high": (2, 2, 1, 0),
        "*": (0, 2, 4, 1),
    }
    with pytest.raises(InputError):
        read(["low", "mid-low", "high"], ["[high-low]"], hierarchy=order)


# Bounds and means.


def test_bounds_are_read_together() -> None:
    shown = pa.table({"q_min": [20, 25, None], "q_max": [30, 25, None], "q_missing": ["true", "False", "true"]})
    found = read([*AGES, None], shown)
    assert [name for name, _ in found.outputs] == ["q_min", "q_max", "q_missing"]
    assert sorted(zip(found.low, found.high, found.leaves, strict=True)) == [
        (20, 20, 1),
        (20, 30, 5),
        (25, 25, 1),
    ]


@pytest.mark.parametrize(
    "shown",
    [
        {"q_min": [30], "q_max": [20]},
        {"q_min": [20], "q_max": pa.array([None], pa.int64())},
        {"q_min": [20], "q_max": [30], "q_missing": ["perhaps"]},
    ],
)
def test_bounds_that_cannot_be(shown: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"'q' shows 1 distinct value"):
        read(AGES, pa.table(shown))


def test_a_mean_beside_an_interval_tells_classes_apart() -> None:
    found = read(AGES, pa.table({"q": ["[20-30]", "[20-30]"], "q_mean": [23.0, 25.5]}))
    assert found.leaves.tolist() == [4, 4]
    table, schema = (
        pa.table({"q": AGES[:4], "q_mean": list("abab")}),
        ind.Schema(quasi=["q"], insensitive=["q_mean"]),
    )
    shown = pa.table({"q": ["[20-30]"] * 4, "q_mean": list("abab")})
    assert measure_table(shown, schema, original=table)["discernibility"] == 16


def test_means_alone_cannot_be_measured() -> None:
    with pytest.raises(InputError, match="means") as caught:
        read([*AGES, None], pa.table({"q": [23.5], "q_missing": [True]}))
    assert "bounds" in str(caught.value)
    with pytest.raises(InputError) as caught:
        read(AGES, pa.table({"q": [20.0, 23.5]}))
    assert "means" in str(caught.value.hint)
    assert caught.value.values == ("23.5",)


# Sets and hierarchies.


def test_sets_of_names() -> None:
    names = ["a", "b, c", 'd"e', "missing", None]
    found = read(names, ["a", '{a, "b, c"}', '{missing, "missing", "d""e"}', None, "missing", "*"])
    assert not found.ranged
    counted = {text: (leaves, level) for text, (_, _, leaves, level) in covered(found).items()}
    assert counted == {
        "a": (1, 0),
        '{a, "b, c"}': (2, 1),
        '{missing, "missing", "d""e"}': (3, 1),
        None: (1, 0),
        "missing": (1, 0),
        "*": (5, 1),
    }


def test_labels_of_a_tree_are_read_at_their_lowest_level() -> None:
    tree = Hierarchy.tree({"any": {"health": ["nurse", "surgeon", "midwife"], "none": []}})
    found = read(["nurse", "surgeon", "none"], ["nurse", "health", "none", "any", "*", "{nurse, none}"], hierarchy=tree)
    assert not found.ranged
    assert (found.size, found.height) == (4, 2)
    counted = {text: (leaves, level) for text, (_, _, leaves, level) in covered(found).items()}
    assert counted == {
        "nurse": (1, 0),
        "health": (3, 1),
        "none": (1, 0),
        "any": (4, 2),
        "*": (4, 2),
        "{nurse, none}": (2, 2),
    }


def test_a_label_on_several_levels_is_the_lowest() -> None:
    ages = Hierarchy.intervals(cuts=[[18, 40], [40]])
    found = read([3, 18, 39, 40, 77], ["<40", ">=40"], hierarchy=ages)
    assert {text: level for text, (*_, level) in covered(found).items()} == {"<40": 2, ">=40": 1}
    same = Hierarchy.from_rows([["other", "other", "*"], ["odd", "other", "*"], ["usual", "usual", "*"]])
    assert covered(read(["other", "odd", "usual"], ["other"], hierarchy=same))["other"][2:] == (1, 0)


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        (Hierarchy.intervals([5, 10]), [*AGES, None]),
        (Hierarchy.intervals([2.5, 5]), [0.5, 2.5, 4.75, 7.0]),
        (Hierarchy.intervals([5, 20]), [-12, -3, 0, 4, 31]),
        (Hierarchy.intervals(cuts=[[18, 30, 40], [30]]), [3, 18, 39, 40, 77]),
        (
            Hierarchy.dates(),
            [dt.date(2024, 1, 31), dt.date(2024, 2, 1), dt.date(2031, 1, 1)],
        ),
        (Hierarchy.masking(), ["1204", "1205", "1390"]),
    ],
)
def test_every_level_is_measured_as_its_nodes(hierarchy: Hierarchy, values: list[Any]) -> None:
    counted = count_source(pa.table({"q": values}), Request(["q"], (), {"q": hierarchy}))
    (column,) = columns_of(counted.domains, {"q": hierarchy})
    taxonomy = column.taxonomy
    assert taxonomy is not None
    for level in range(1, taxonomy.height + 1):
        nodes = np.arange(len(taxonomy.labels[level]), dtype=np.int32)
        expected = node_summary(column, np.full(len(nodes), level, dtype=np.int32), nodes).published
        found = read(values, expected.outputs[0][1], hierarchy=hierarchy)
        shown = [label for label in taxonomy.labels[level] if label is not None]
        assert not found.ranged
        for label in shown:
            place = taxonomy.labels[level].index(label)
            low, high, leaves, at = covered(found)[label]
            assert (low, high) == (expected.low[place], expected.high[place])
            assert (leaves, at) == (expected.leaves[place], level)


def test_ranges_beside_nodes_are_measured_along_the_line() -> None:
    found = read(AGES, ["20-24", "[25-40]", "*"], hierarchy=Hierarchy.intervals([5]))
    assert found.ranged
    assert covered(found) == {"20-24": (20, 21, 2, 1), "[25-40]": (25, 40, 3, 2), "*": (20, 40, 5, 2)}


# Whole tables.

TABLE = pa.table({"q": AGES, "s": list("xxyyy")})
SCHEMA = ind.Schema(quasi=["q"], sensitive=["s"])


def test_rows_that_are_not_published_are_suppressed() -> None:
    measured = measure_table(pa.table({"q": ["[20-21]"] * 2, "s": ["x", "y"]}), SCHEMA, original=TABLE, k=2, target="s")
    assert "entropy" not in measured
    assert measured["discernibility"] == 2 * 2 + 5 * 3
    assert measured["average-class-size"] == 1
    assert measured["loss"] == pytest.approx((2 * 1 / 20 + 3) / 5)
    assert measured["precision"] == 0
    assert measured["classification"] == pytest.approx(4 / 5)


def test_a_table_without_rows_has_lost_everything() -> None:
    empty = pa.table({"q": pa.array([], pa.string()), "s": pa.array([], pa.string())})
    measured = measure_table(empty, SCHEMA, original=TABLE, target="s")
    assert (measured["loss"], measured["precision"], measured["classification"]) == (1, 0, 1)


def test_rows_of_stars_are_rows_of_the_root() -> None:
    shown = pa.table({"q": ["20", "21", "*", "*", "*"], "s": list("xxyyy")})
    measured = measure_table(shown, SCHEMA, original=TABLE)
    assert measured["discernibility"] == 1 + 1 + 9
    assert measured["loss"] == pytest.approx(3 / 5)


def test_values_that_are_not_understood_are_counted_and_kept_out_of_the_message() -> None:
    with pytest.raises(InputError, match=r"column 'q' shows 2 distinct value") as caught:
        measure_table(pa.table({"q": ["20s", "20s", "thirty", "21"]}), SCHEMA, original=TABLE)
    assert "20s" not in str(caught.value)
    assert set(caught.value.values) == {"20s", "thirty"}
    assert "hierarchies=" in str(caught.value.hint)
    with pytest.raises(InputError, match=r"1 distinct value"):
        measure_table(pa.table({"q": ["[26-29]"]}), SCHEMA, original=TABLE)
    with pytest.raises(InputError, match=r"1 distinct value"):
        measure_table(pa.table({"q": pa.array([None], pa.string())}), SCHEMA, original=TABLE)
    with pytest.raises(InputError, match=r"1 distinct value"):
        measure_table(pa.table({"q": ["{20, 22}"]}), SCHEMA, original=TABLE)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(InputError, match=r"has 6 rows; the original has 5"):
        measure_table(pa.table({"q": ["20"] * 6}), SCHEMA, original=TABLE)
    with pytest.raises(SchemaError, match="nothing of quasi-identifier 'q'"):
        measure_table(pa.table({"q_min": [20], "s": ["x"]}), SCHEMA, original=TABLE)
    with pytest.raises(SchemaError, match="column 's'"):
        measure_table(pa.table({"q": [20]}), SCHEMA, original=TABLE, target="s")
    with pytest.raises(SchemaError, match="column 'q'"):
        measure_table(TABLE, SCHEMA, original=TABLE, target="q")
    with pytest.raises(ParameterError, match="entropy"):
        measure_table(TABLE, SCHEMA, original=TABLE, metrics=["gcp", "entropy"])
    with pytest.raises(ParameterError, match="k"):
        measure_table(TABLE, SCHEMA, original=TABLE, k=0)


def test_named_metrics_alone_are_measured() -> None:
    measured = measure_table(TABLE, SCHEMA, original=TABLE, metrics=["classification:target=s", "gcp"])
    assert dict(measured) == {"classification": 0, "gcp": 0}


def test_files_are_read_as_tables_are(tmp_path: Path) -> None:
    original = tmp_path / "original.csv"
    original.write_text("q,zip\n20,02138\n21,02139\n25,02140\n", encoding="utf-8")
    published = tmp_path / "published.csv"
    published.write_text("q,zip\n[20-25],0213*\n[20-25],0213*\n[20-25],0214*\n", encoding="utf-8")
    measured = measure_table(
        published,
        ind.Schema(quasi=["q", "zip"]),
        original=original,
        hierarchies={"zip": Hierarchy.masking()},
    )
    assert measured["discernibility"] == 5
    assert measured["precision"] == pytest.approx(1 - (1 + 1 / 5) / 2)


# ARX.

DATA = Path(os.environ.get("INDISTINCT_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
ADULT, OPTIMA = DATA / "adult-arx", DATA.parent / "golden" / "arx_k_anonymity.csv"


@pytest.mark.skipif(
    not (ADULT.is_dir() and OPTIMA.is_file()),
    reason="no Adult sample or no known optima here; set INDISTINCT_DATA to the folder of adult-arx",
)
@pytest.mark.parametrize(("quasi", "k", "limit"), [(3, "2", "0"), (6, "5", "0.05"), (9, "5", "0.05")])
def test_a_published_node_of_adult_measures_as_arx_says(quasi: int, k: str, limit: str) -> None:
    with OPTIMA.open(encoding="utf-8", newline="") as lines:
        optimum = next(
            row
            for row in csv.DictReader(lines)
            if (len(row["quasi_identifiers"].split()), row["k"], row["suppression_limit"]) == (quasi, k, limit)
        )
    original = ind.open(ADULT / "adult.csv")
    names = original.columns[:quasi]
    hierarchies = {name: Hierarchy.read_csv(ADULT / f"{name}.csv") for name in names}
    shown = []
    for name, level in zip(names, optimum["levels"].split(), strict=True):
        climb = {row[0]: row[int(level)] for row in hierarchies[name].rows}
        shown.append([climb[str(value)] for value in original.data[name].to_pylist()])
    rows = list(zip(*shown, strict=True))
    sizes = Counter(rows)
    kept = [row for row in rows if sizes[row] >= int(k)]
    published = pa.table({name: list(cells) for name, cells in zip(names, zip(*kept, strict=True), strict=True)})
    schema = ind.Schema(quasi=names, insensitive=original.columns[quasi:])
    measured = measure_table(published, schema, original=original, hierarchies=hierarchies, k=int(k))
    assert measured["geometric-loss"] == pytest.approx(float(optimum["geometric_loss"]))
    assert measured["loss"] == pytest.approx(float(optimum["mean_loss"]))
    assert measured["discernibility"] == int(optimum["discernibility"])
    assert measured["precision"] == pytest.approx(float(optimum["precision"]))
