"""Documents: one value, the same words and figures in every rendering, and no text that is read as markup."""

import re

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.cli.screen import show
from indistinct.document.blocks import (
    Code,
    Document,
    Figure,
    Grid,
    JsonValues,
    Listing,
    Notice,
    Paragraph,
    Picture,
    Section,
    Terms,
    document,
    grid,
)
from indistinct.document.html import block_html, grid_html, page_html
from indistinct.document.result import markdown_of
from indistinct.evaluation.assess.assess_document import assess_document, risk_grid
from indistinct.samples import generate_patients

EVIL = "<script>x</script>|*_`"
EVERYTHING = document(
    "3 rows",
    Paragraph("A share of 6.25 % of all."),
    Notice("Something is open.", "warning"),
    Listing(("one", "two")),
    Terms((("release", "a.csv"), ("reviewer", None))),
    Code("To make it again", "indistinct anonymize\nindistinct verify"),
    Picture("Sizes", "Sizes of classes", "<svg></svg>"),
    grid("Risk", ("figure", "value"), [("highest", Figure(("assess", "highest"), 0.0625, "6.25 %"))], right=["value"]),
)
WORDS = (
    "6.25",
    "Something is open.",
    "one",
    "two",
    "a.csv",
    "indistinct verify",
    "Sizes of classes",
    "Risk",
    "highest",
)


@pytest.fixture(scope="module")
def assessment():
    patients = generate_patients(200, seed=1)
    schema = ind.Schema(
        identifiers=["name"],
        quasi=["age", "sex", "zipcode"],
        sensitive=["disease", "cost"],
        insensitive=["admitted"],
    )
    release = ind.anonymize(patients, schema, model="k-anonymity:k=4", algorithm="mondrian")
    return ind.assess(release, original=patients, profile="public")


def figures(whole: Document):
    for block in whole.blocks:
        if isinstance(block, Grid):
            yield from (cell for row in block.rows for cell in row if isinstance(cell, Figure))


def test_every_renderer_has_every_block(capsys):
    show(EVERYTHING)
    shown = {"terminal": capsys.readouterr().out, "html": page_html(EVERYTHING), "markdown": markdown_of(EVERYTHING)}
    for name, text in shown.items():
        assert [word for word in WORDS if word not in text] == [], name
        assert all(re.search(r"6\.25[ \u00a0]%", text) for _ in WORDS), name


def test_figures_of_an_assessment_are_those_of_its_json(assessment):
    found = JsonValues("assess", assessment.to_json())
    listed = list(figures(assess_document(found)))
    assert len(listed) > 60
    for figure in listed:
        assert figure.path[0] == "assess"
        assert found.at(*figure.path[1:]) == figure.value, figure.path


def test_a_figure_that_was_withheld_has_no_row(assessment):
    told = assessment.to_json()
    whole = risk_grid(JsonValues("assess", told))
    without = risk_grid(JsonValues("assess", {name: each for name, each in told.items() if name != "journalist"}))
    assert {row[0] for row in whole.rows} - {row[0] for row in without.rows} == {
        "journalist: highest risk",
        "journalist: average risk",
        "journalist: share above 9 %",
    }


def test_a_table_of_one_row_is_assessed_and_shown(capsys):
    one = pa.table({"age": pa.array([None], pa.int64()), "disease": ["=x"]})
    found = ind.assess(one, ind.Schema(quasi=["age"], sensitive=["disease"]))
    show(found.document())
    assert "1 row in 1 class, the smallest of 1 row" in capsys.readouterr().out
    assert found.to_markdown().startswith("**Assessment of 1 row")


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_no_line_of_a_terminal_is_broken_before_a_percent_sign(assessment, width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", width)
    show(assessment.document())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 40
    assert [line for line in lines if line.lstrip().startswith("%")] == []


def test_columns_take_the_width_that_there_is(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    headings = ("column", "total variation", "Kullback-Leibler, bits", "of the span")
    show(grid("Distances", headings, [("admitted", "0.149", "0.449", "0.00318")], right=headings[1:]))
    out = capsys.readouterr().out
    assert "0.00318" in out
    assert max(map(len, out.splitlines())) <= 60


def test_rows_beyond_the_most_are_counted_on_a_terminal_and_all_on_a_page(capsys):
    long = grid("Sets", ("columns", "rows"), [(f"c{index}", "1") for index in range(9)], right=["rows"], most=4)
    show(long)
    out = capsys.readouterr().out
    assert "5 more rows; --json has all" in out
    assert "c4" not in out
    assert "c8" in grid_html(long)


def test_no_text_is_markup():
    whole = Document(EVIL, (Section("a", EVIL, (grid(EVIL, (EVIL, "b"), [(EVIL, EVIL)]), Paragraph(EVIL))),))
    assert "<script" not in page_html(whole)
    told = markdown_of(whole)
    assert "<script" not in told.replace("\\<", "")
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in told.splitlines() if line.startswith("| "))


def test_lines_of_a_code_stay_lines_everywhere(capsys):
    code = Code("To make it again", "one --flag\ntwo `x`")
    show(code)
    assert capsys.readouterr().out.splitlines() == ["To make it again", "one --flag", "two `x`"]
    assert "one --flag\ntwo `x`" in markdown_of(document("", code))
    assert "one --flag\ntwo `x`" in block_html(code, name="0")
