"""Names and cells of a table are text in every report and on every page, whatever they hold."""

from html.parser import HTMLParser

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.evaluation.assess.assess import assess
from indistinct.inspection.inspect import inspect

AGE = '<img src=x onerror="planted(1)">'
SEX = 'a"><svg onload=planted(2)>'
ILL = "</script><script>planted(3)</script>"
NOTE = "=HYPERLINK('x')<b onclick=planted(4)>"
CELLS = ["<script>planted(5)</script>", "&lt;b&gt; & \"'`", "</svg></style><style>*{}</style>", "{{7*7}} ${8*8}"]
ALLOWED = {"script", "style"}


class Planted(HTMLParser):
    """Collects every element and attribute of a document that data could have planted."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag, attributes):
        self.inside = tag if tag in ALLOWED else ""
        for name, value in attributes:
            if name.startswith("on") or (name in ("src", "href", "xlink:href") and "planted" in (value or "")):
                self.found.append(f"<{tag} {name}>")

    def handle_endtag(self, _tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside and "planted(" in data:
            self.found.append(f"planted in <{self.inside}>")


def planted_in(text):
    reader = Planted()
    reader.feed(text)
    return reader.found


@pytest.fixture(scope="module")
def table():
    rows = 240
    return pa.table(
        {
            AGE: [20 + place % 40 for place in range(rows)],
            SEX: [CELLS[place % 2] for place in range(rows)],
            ILL: [CELLS[place * 7 % 4] for place in range(rows)],
            NOTE: [CELLS[place * 5 % 3] for place in range(rows)],
        }
    )


SCHEMA = ind.Schema(quasi=[AGE, SEX], sensitive=[ILL], insensitive=[NOTE])


@pytest.mark.parametrize("edition", ["internal", "external"])
@pytest.mark.parametrize("algorithm", ["mondrian", "anatomy:l=2"])
def test_reports_show_names_and_cells_as_text(table, edition, algorithm):
    models = {} if algorithm.startswith("anatomy") else {"model": ind.KAnonymity(5) & ind.DistinctLDiversity(ILL, l=2)}
    release = ind.anonymize(table, SCHEMA, algorithm=algorithm, seed=1, **models)
    report = ind.report(release, edition=edition, original=table, seconds=1, profile="public")
    assert planted_in(report.html) == []
    assert "planted(1)" in report.html.replace("&#x27;", "'"), "the name is shown, as text"


def test_other_pages_show_names_and_cells_as_text(table):
    release = ind.anonymize(table, SCHEMA, model=ind.KAnonymity(5), algorithm="mondrian", seed=1)
    shown = [release, release.certificate, assess(release), inspect(table)]
    texts = [each._repr_html_() for each in shown if hasattr(each, "_repr_html_")]
    assert texts
    for text in texts:
        assert planted_in(text) == []


def test_the_reader_of_this_test_finds_what_is_planted():
    assert planted_in(AGE) == ["<img onerror>"]
    assert planted_in(CELLS[0]) == ["planted in <script>"]
    assert planted_in(SEX) == ["<svg onload>"]
