"""Columns before and after in few bars, and rows that columns single out, against counts by hand."""

import re
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.document.catalogue import read_catalogue
from indistinct.document.translation import Translation
from indistinct.drawing.class_sizes import draw_class_sizes, draw_column_sets, draw_risks
from indistinct.drawing.shares import draw_shares
from indistinct.frequencies.encode import encode_column
from indistinct.linked.assess import KnownRowsRisk, LinkedAssessment
from indistinct.linked.pictures import draw_known_rows
from indistinct.reporting.column_sets import column_set_facts
from indistinct.reporting.columns import shares_of
from indistinct.samples import generate_patients
from indistinct.view.value import unmodified

SCHEMA = ind.Schema(quasi=["age", "sex", "zipcode", "admitted"], sensitive=["disease"], identifiers=["name"],
                    insensitive=["cost"])  # fmt: skip


@pytest.fixture(scope="module")
def patients():
    return generate_patients(600, seed=11)


def released(patients, algorithm):
    release = ind.anonymize(patients, SCHEMA, model="k-anonymity:k=5", algorithm=algorithm)
    return ind.published(release, original=patients)


def shares(values, name="value"):
    column = encode_column(name, pa.chunked_array([values]))
    return shares_of({name: column}, unmodified({name: column}))[name]


def test_bars_of_numbers_have_equal_width_and_every_row():
    values = [float(2**power) for power in range(12)] * 3 + [None] * 4
    found = shares(values)
    widths = np.diff(found.edges)
    assert np.allclose(widths, widths[0])
    assert found.edges[0] <= 1.0
    assert found.edges[-1] > 2048.0
    low, high = found.edges[0], found.edges[1]
    assert found.labels[0] == "missing"
    assert found.before[0] == pytest.approx(4 / 40)
    assert found.before[1] == pytest.approx(sum(low <= value < high for value in values if value is not None) / 40)
    assert sum(found.before) == pytest.approx(1)
    assert max(found.before) > 0.5, "not flat: most values are small"


@pytest.mark.parametrize(("days", "first"), [(20, "2023-12-28"), (400, "2024-01-01"), (9000, "20")])
def test_bars_of_dates_are_units_of_the_calendar(days, first):
    values = np.datetime64("2024-01-03") + np.arange(0, days, max(1, days // 100))
    found = shares(pa.array(values.astype("datetime64[D]")))
    assert found.dates
    assert found.labels[0].startswith(first)
    assert found.edges[0] <= float(np.datetime64("2024-01-03").astype(int)) < found.edges[1]
    assert sum(found.before) == pytest.approx(1)
    assert len(found.labels) <= 14


def test_labels_that_do_not_overlap_are_the_bars(patients):
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    table = patients.select(["age", "disease"])
    levels = {"age": ind.Hierarchy.intervals([10, 50])}
    release = ind.anonymize(table, schema, model="k-anonymity:k=5", algorithm="optimal", hierarchies=levels)
    given = ind.published(release, original=table)
    found = shares_of(given.values_of_original("a test"), given.view("a test"))["age"]
    counted = Counter(pa.table(release)["age"].to_pylist())
    assert 1 < len(counted) == len(found.labels)
    assert found.edges == ()
    assert sorted(found.after) == pytest.approx(sorted(count / 600 for count in counted.values()))
    assert found.after == pytest.approx(found.before), "every row is published"


def test_values_whose_rows_are_all_suppressed_have_a_bar_beside_published_labels():
    zips = [f"0{place % 9}{place % 7}" for place in range(120)] + [f"1{place % 9}{place % 7}" for place in range(120)]
    table = pa.table({"zip": [*zips, "999"], "disease": ["flu", "cold", "HIV"] * 80 + ["flu"]})
    schema = ind.Schema(quasi=["zip"], sensitive=["disease"])
    levels = {"zip": ind.Hierarchy.masking()}
    release = ind.anonymize(table, schema, model="k-anonymity:k=20", algorithm="optimal", hierarchies=levels,
                            suppression=0.1, levels={"zip": [2, 2]})  # fmt: skip
    given = ind.published(release, original=table)
    found = shares_of(given.values_of_original("a test"), given.view("a test"))["zip"]
    assert found.labels[-1] == "999"
    assert len(found.labels) == 3
    assert found.after[-1] == 0.0
    assert found.before[-1] == pytest.approx(1 / 241)


def test_rows_that_columns_single_out_are_those_counted_by_hand(patients):
    given = released(patients, "mondrian")
    found = column_set_facts(given)
    rows = patients.to_pylist()
    assert found["rows"] == len(rows)
    assert found["sets"][0] == {
        "columns": list(SCHEMA.quasi),
        "before": unique_rows(rows, SCHEMA.quasi),
        "after": 0,
    }
    for each in found["sets"]:
        assert each["before"] == unique_rows(rows, each["columns"])
    [cost] = [each for each in found["sets"] if each["columns"] == ["cost"]]
    assert cost["after"] == cost["before"] > 500
    assert not [each for each in found["sets"] if "cost" in each["columns"] and len(each["columns"]) == 2]


def unique_rows(rows, names):
    counted = Counter(tuple(row[name] for name in names) for row in rows)
    return sum(count == 1 for count in counted.values())


def test_in_buckets_no_columns_are_counted_together(patients):
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])
    table = patients.select(["age", "sex", "disease"])
    release = ind.anonymize(table, schema, model="l-diverse-links:l=2", algorithm="anatomy:l=2")
    assert column_set_facts(ind.published(release, original=table)) == {"rows": 0, "sets": []}


def words_in(svg):
    root = ElementTree.fromstring(svg)  # noqa: S314
    return ["".join(each.itertext()) for each in root.iter() if each.tag.endswith("text")]


def test_risks_stand_beside_their_limit():
    drawn = draw_risks([("highest", 1.0, 0.0833), ("average", 0.9, 0.07)], limits=[0.09, None])
    assert {"100 %", "8.33 %", "90 %", "7 %", "before", "after"} <= set(words_in(drawn))
    assert drawn.count("#D55E00") == 1, "one limit, one line"
    alone = draw_risks([("highest", None, 0.5)], limits=[None])
    assert "before" not in words_in(alone)
    assert "#D55E00" not in alone
    assert re.search(r"<desc>highest: 50 % after</desc>", alone)


def test_sets_of_columns_say_their_shares():
    drawn = draw_column_sets([("age + zip", 0.56, 0.0), ("day of admission + length of stay", 0.2, 0.0)])
    assert "length of stay</tspan>" in drawn, "a long label takes several lines, and no name is cut"
    assert "…" not in drawn
    assert {"age + zip", "56 %", "0 %"} <= set(words_in(drawn))


def test_a_histogram_says_what_is_missing():
    drawn = draw_shares("age", ["missing", "0 to 5", "5 to 10"], before=[0.2, 0.5, 0.3], after=[0.1, 0.6, 0.3],
                        edges=[0.0, 5.0, 10.0])  # fmt: skip
    assert "missing: 20 % before, 10 % after" in "".join(words_in(drawn))


def test_names_for_missing_and_several_values_are_in_italics_and_translated():
    """A value that is called like one of them is no such name, and stays."""
    values = [None, None, "missing", *(f"v{place}" for place in range(20)), "v0", "v0"]
    found = shares(pa.array(values))
    assert {found.labels[place] for place in found.joined} == {"missing", f"{len(found.labels) - 1} others"}
    drawn = draw_shares("value", found.labels, before=found.before, after=found.after, joined=found.joined)
    assert re.findall(r'font-style="italic"[^>]*>([^<]*)', drawn) == ["missing", "11 others"]
    german = Translation(read_catalogue("de")).drawing(drawn, values=True)
    assert {"fehlend", "11 weitere", "missing", "v0"} <= set(words_in(german))
    assert "missing" not in re.findall(r'font-style="italic"[^>]*>([^<]*)', german)


def test_the_name_of_k_is_above_the_bars():
    drawn = draw_class_sizes({"after": {12: 5, 13: 5}}, k=12)
    place = re.search(r'translate\([-\d.]+,([-\d.]+)\)"[^>]*>k = 12', drawn)
    assert float(place[1]) < 0, "the plot begins at 0"


def test_risk_by_known_rows_says_what_attackers_know_in_either_language():
    risks = tuple(KnownRowsRisk("stays", known, columns, 9, 20, 2) for known in (1, 2) for columns in (True, False))
    drawn = draw_known_rows(LinkedAssessment(5, 20, risks))
    told = {"who knows columns of the person, and rows", "who knows rows alone", "share of people"}
    assert told <= set(words_in(drawn))
    german = set(words_in(Translation(read_catalogue("de")).drawing(drawn)))
    assert {"wer Spalten der Person und Zeilen kennt", "wer nur Zeilen kennt", "Anteil der Personen"} <= german
    assert "Personen unter weniger als 5" in german
    assert not told & german


def test_pictures_of_columns_are_as_wide_as_each_other():
    """Next to each other their letters have one size, whatever is drawn."""
    numbers = draw_shares("age", ["0", "1"], before=[0.4, 0.6], after=[0.5, 0.5], edges=[0.0, 5.0, 10.0])
    dates = draw_shares("day", ["0", "1"], before=[0.4, 0.6], after=[0.5, 0.5], edges=[0.0, 31.0, 59.0], dates=True)
    long = draw_shares("job", ["m", "a very long name of a value"], before=[0.4, 0.6], after=[0.5, 0.5])
    widths = [float(re.search(r'width="([\d.]+)"', each)[1]) for each in (numbers, dates, long)]
    assert max(widths) - min(widths) <= 8


def test_the_report_says_the_verdict_and_the_risk_first_and_its_digests_last(patients):
    release = ind.anonymize(patients, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian")
    for edition in ("internal", "external"):
        report = ind.report(release, edition=edition, seconds=0.1)
        anchors = [each.anchor for each in report.content.sections]
        assert anchors[0] == "verdict"
        assert anchors[-2:] == ["identity", "glossary"]
        assert any(block.__class__.__name__ == "Picture" for block in report.content.sections[0].blocks)
        assert ("unique_on_columns" in report.content.documents) == (edition == "internal" and "distributions" in
                                                               report.content.documents)  # fmt: skip
