"""Charts: one self-contained SVG that says what it is, and lines with the numbers that they were given."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from indistinct.drawing.charts import altair, draw
from indistinct.drawing.lines import line_charts

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [
    {"size": size, "k": k, "algorithm": name, "seconds": 0.02 * size * k, "distortion": float(size + place)}
    for size in (3, 4, 7)
    for k in (2, 10)
    for place, name in enumerate(("kaca", "top-down"))
]
MEASURES = {"seconds": "log", "distortion": "linear"}


def lines(rows=ROWS):
    return line_charts(rows, x=("size", "quasi-identifiers"), across="k", lines="algorithm", measures=MEASURES)


def texts(text):
    root = ElementTree.fromstring(text)  # noqa: S314
    return root, ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


def test_a_drawing_says_what_it_is_and_holds_nothing_active():
    text = draw(lines(), title="Times", notes=["on Adult", "k = 2"])
    root, drawn = texts(text)
    assert root.findtext(f"{SVG}title") == "Times"
    assert root.findtext(f"{SVG}desc") == "on Adult;\nk = 2"
    assert [drawn.count(words) for words in ("Times", "on Adultk = 2")] == [1, 1], "a title, and two lines below it"
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "rect", "g", "path", "line", "text", "tspan"}
    assert not {name for each in root.iter() for name in each.attrib if name.startswith("on") or "href" in name}
    assert "url(" not in text


def test_a_long_note_does_not_shrink_the_chart():
    import altair as alt

    chart = alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    widths = [
        float(re.search(r'width="([0-9.]+)"', draw(chart, title="a", notes=[note]))[1])
        for note in ("short", "many words " * 60)
    ]
    assert widths[1] < 3 * widths[0]


def test_a_drawing_is_the_same_every_time():
    assert draw(lines(), title="Times") == draw(lines(), title="Times")


def test_no_text_breaks_a_drawing():
    hostile = '<script>alert("&")</script>\x07\ud800'
    rows = [{**row, "algorithm": f"{row['algorithm']} {hostile}"} for row in ROWS]
    root, drawn = texts(draw(lines(rows), title=hostile, notes=[hostile]))
    shown = '<script>alert("&")</script>��'
    assert (root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")) == (shown, shown)
    assert shown in drawn
    assert f"kaca {shown}" in drawn
    assert not list(root.iter(f"{SVG}script"))


def test_every_measure_has_a_row_of_charts_and_every_line_its_numbers():
    spec = lines().to_dict()
    assert spec["data"]["values"] == [{**row, "k": f"k = {row['k']}"} for row in ROWS]
    for chart, (measure, scale) in zip(spec["vconcat"], MEASURES.items(), strict=True):
        assert (chart["facet"]["column"]["field"], chart["facet"]["column"]["sort"]) == ("k", ["k = 2", "k = 10"])
        encoding = chart["spec"]["encoding"]
        assert (encoding["x"]["field"], encoding["x"]["title"]) == ("size", "quasi-identifiers")
        assert encoding["x"]["axis"]["values"] == [3, 4, 7]
        assert (encoding["y"]["field"], encoding["y"]["title"]) == (measure, measure)
        assert encoding["y"]["scale"].get("type", "linear") == scale
        for channel in ("color", "strokeDash", "shape"):
            assert encoding[channel]["field"] == "algorithm"
            assert encoding[channel]["scale"]["domain"] == ["kaca", "top-down"]
    assert spec["vconcat"][0]["spec"]["encoding"]["y"]["axis"]["values"] == [0.1, 1.0, 10.0]


def test_lines_have_one_legend_and_readable_axes():
    _, drawn = texts(draw(lines(), title="Times"))
    assert [drawn.count(words) for words in ("kaca", "top-down", "seconds", "distortion")] == [1, 1, 1, 1]
    assert drawn.count("quasi-identifiers") == 4
    assert {"0.1", "1", "10"} <= set(drawn)


def test_one_size_is_a_chart_of_points():
    _, drawn = texts(draw(lines([{**row, "size": 77} for row in ROWS[:4]]), title="Times"))
    assert drawn.count("77") == 4
    assert not any("NaN" in each for each in drawn)


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_a_missing_package_says_what_to_install(missing):
    code = f"""
import sys
sys.modules[{missing!r}] = None
from indistinct.errors import MissingExtraError
from indistinct.drawing.charts import altair
try:
    altair()
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"a chart needs the package {missing}" in done.stdout
    assert 'hint: pip install "indistinct[report]"' in done.stdout
    assert altair().__name__ == "altair"


def test_few_whole_sizes_have_no_decimals_on_their_axis() -> None:
    rows = [{"size": size, "kind": "a", "of": 1, "cost": 2.0 * size} for size in (3, 4)]
    made = line_charts(rows, x=("size", "sizes"), across="of", lines="kind", measures={"cost": "linear"}).to_dict()
    assert made["vconcat"][0]["spec"]["encoding"]["x"]["axis"]["labelExpr"].startswith("format(")
