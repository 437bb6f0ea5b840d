"""What is above the labels of a release, where suppression left few of them."""

import pyarrow as pa

import indistinct as ind
from indistinct.document.html import printable

SCHEMA = ind.Schema(quasi=["age", "adm"], sensitive=["d"])


def test_labels_that_suppression_left_out_do_not_count_among_levels():
    """One outlier is gone, so that the release shows one value of a column with many nodes above others."""
    dates = ["2023-03-05"] * 40 + [f"20{year}-0{month}-11" for year in range(10, 22) for month in range(1, 10)]
    original = pa.table({"age": [30] * len(dates), "adm": dates, "d": ["a", "b"] * (len(dates) // 2)})
    release = original.slice(0, 40)
    hierarchies = {"adm": ind.Hierarchy.dates(["month", "year"])}
    found = ind.assess(release, SCHEMA, original=original, hierarchies=hierarchies)
    assert found.to_json()["rows"] == 40


def test_text_cannot_turn_around_what_follows_it():
    assert printable("a\u202eb\u2066c") == "a\ufffdb\ufffdc"
