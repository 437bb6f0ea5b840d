"""Results in notebooks and consoles: short for any table, escaped, and without scripts."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import indistinct as ind

ROWS = 3000
EVIL = "<script>alert('x')</script>"
SCHEMA = ind.Schema(quasi=["age", "income"], sensitive=[EVIL], insensitive=["town"])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "income": rng.integers(0, 10**6, ROWS),
            EVIL: rng.choice(["cold", "flu", "<b>gout</b>"], ROWS),
            "town": [f"town {each}" for each in rng.integers(0, 40, ROWS)],
        }
    )


@pytest.fixture(scope="module")
def results(table):
    release = ind.anonymize(table, SCHEMA, model="k-anonymity:k=3", algorithm="mondrian")
    grouped = ind.anonymize(table, SCHEMA, model="k-anonymity:k=3", algorithm="datafly", suppression=0.9)
    workload = ind.Workload.of([f"SELECT COUNT(*) WHERE age >= {age}" for age in range(20, 60)])
    bands = {"age": ind.Hierarchy.intervals([10, 50]), "income": ind.Hierarchy.intervals([10**5])}
    return {
        "inspect": ind.inspect(table),
        "measure": ind.measure(release),
        "scan": ind.scan(release.to_pandas(), schema=SCHEMA, original=table),
        "scan of the original": ind.scan(table, schema=SCHEMA, original=table),
        "distributions": ind.distributions(release, original=table),
        "query": ind.query(release, "SELECT COUNT(*) WHERE age >= 40"),
        "query by groups": ind.query(release, "SELECT COUNT(*) GROUP BY town"),
        "attack": ind.attack("record-linkage", release, original=table),
        "attack_all": ind.attack_all(release, original=table),
        "intervals": ind.intervals(release),
        "assess": ind.assess(release, original=table),
        "certificate": release.certificate,
        "release": release,
        "other release": grouped,
        "workload": ind.workload_error(release, table, workload),
        "explore": ind.explore(table, SCHEMA, model="k-anonymity:k=3", hierarchies=bands),
    }


def test_every_result_has_html_that_is_short_and_escaped(results):
    for name, result in results.items():
        shown = result._repr_html_()
        assert len(shown) < 60_000, name
        assert "<script" not in shown, name
        assert "<b>gout" not in shown, name
        assert not re.search(r"\son\w+=|javascript:", shown), name
        assert shown.count("<table") == shown.count("</table>"), name


def test_every_result_is_a_short_line_in_a_console(results):
    for name, result in results.items():
        if name != "certificate":
            assert len(repr(result)) < 400, name
            assert "\n" not in repr(result), name


def test_a_table_that_is_cut_says_how_much_more_there_is(results):
    book = results["intervals"]
    assert len(book) > 100
    shown = book._repr_html_()
    assert "more rows are in to_json()" in shown
    assert repr(book) == f"<Codebook of {len(book):,} labels of {len(book.columns)} columns>"


def test_figures_in_html_are_those_of_the_result(results):
    found = results["distributions"]
    worst = max(found.pairs, key=lambda pair: pair.total_variation)
    shown = found._repr_html_()
    assert f'value="{worst.total_variation}"' in shown
    for column in found.columns:
        assert f'value="{column.total_variation}"' in shown


def test_charts_are_svg_without_scripts(results):
    for name in ("distributions", "assess", "workload", "explore"):
        chart = results[name].chart()
        assert chart._repr_svg_().lstrip().startswith("<svg")
        assert "<script" not in chart.svg
        assert len(repr(chart)) < 100


def test_a_chart_is_written_to_a_file(results, tmp_path):
    results["distributions"].chart().write(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_chart_without_its_packages_names_the_extra():
    code = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("altair", "vl_convert"):
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Missing())
import indistinct as ind, pyarrow as pa
table = pa.table({"age": [1, 2, 3, 4] * 5, "sex": ["f", "m"] * 10})
schema = ind.Schema(quasi=["age"], insensitive=["sex"])
found = ind.distributions(ind.anonymize(table, schema, model="k-anonymity:k=2"), original=table)
assert found._repr_html_()
try:
    found.chart()
except ind.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "indistinct[report]" in done.stdout


def test_an_answer_may_be_a_date_or_unbounded():
    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=60), "sex": ["f", "m"] * 30})
    release = ind.anonymize(days, ind.Schema(quasi=["day"], insensitive=["sex"]), model="k-anonymity:k=3")
    found = ind.query(release, "SELECT MAX(day)")
    assert "2020-02-" in repr(found)
    assert "2020-02-" in found._repr_html_()


def test_an_inspection_shows_no_value_of_the_table(results, table):
    shown = results["inspect"]._repr_html_() + repr(results["inspect"])
    assert not any(town in shown for town in table["town"].unique())
