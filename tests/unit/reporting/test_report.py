"""The report: figures are those of the functions, an external edition leaks nothing, and nothing missing vanishes."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import resources

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.drawing.class_sizes import draw_class_sizes, draw_cumulative
from indistinct.frequencies.encode import encode_column
from indistinct.reporting.columns import shares_of
from indistinct.reporting.editions import edition_of
from indistinct.samples import generate_patients
from indistinct.view.value import unmodified

SCHEMA = ind.Schema(identifiers=["name", "cost"], quasi=["age", "sex", "zipcode", "admitted"], sensitive=["disease"])
MODEL = "k-anonymity:k=5 & distinct-l-diversity:sensitive=disease,l=2"
HIERARCHIES = {"zipcode": ind.Hierarchy.masking(), "age": ind.Hierarchy.intervals([10, 50])}
KINDS = {"classes": "mondrian", "anatomy": "anatomy:l=2", "slicing": "slicing:l=2"}
LARGEST = 3_000_000


class Page(HTMLParser):
    """What a page holds: figures by path, elements with their attributes, and all text."""

    def __init__(self, html):
        super().__init__()
        self.figures, self.elements, self.words = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.elements.append((tag, given))
        if tag == "data":
            self.figures.append((json.loads(given["data-of"]), json.loads(given["value"])))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def at(documents, path):
    found = documents
    for key in path:
        found = found[key]
    return found


@pytest.fixture(scope="module")
def patients():
    return generate_patients(300, seed=3)


@pytest.fixture(scope="module")
def released(patients):
    """A release of each kind."""
    return {
        kind: ind.anonymize(
            patients,
            SCHEMA,
            model=MODEL if kind == "classes" else None,
            algorithm=spec,
            hierarchies=HIERARCHIES if kind == "classes" else None,
        )
        for kind, spec in KINDS.items()
    }


@pytest.fixture(scope="module")
def reports(released, patients):
    """Both editions for every kind of release, with everything known and with nothing."""
    made = {}
    for kind, release in released.items():
        for edition in ("internal", "external"):
            made[kind, edition, True] = ind.report(
                release,
                original=patients,
                population=patients if kind == "classes" else None,
                edition=edition,
                seconds=60 if (kind, edition) == ("classes", "internal") else 0.3,
                seed=1,
            )
            made[kind, edition, False] = ind.report(
                release.table if kind == "classes" else release, SCHEMA, edition=edition, model=MODEL
            )
    return made


EVERY = [(kind, edition, known) for kind in KINDS for edition in ("internal", "external") for known in (True, False)]


@pytest.mark.parametrize("key", EVERY, ids=str)
def test_a_page_is_complete_in_itself_and_readable_for_all(reports, key):
    report = reports[key]
    page = Page(report.html)
    tags = [tag for tag, _ in page.elements]
    assert len(report.html.encode()) < LARGEST
    assert "script" not in tags
    assert "img" not in tags
    assert not re.search(r"(?:src|href)=(?![\"']#)", report.html), "nothing is fetched"
    assert tags.count("h1") == 1
    assert tags.count("h2") == len(report.content.sections)
    assert all(section.blocks for section in report.content.sections)
    assert (len(report.content.sections) == 16) == (report.edition == "internal")
    regions = [given for _, given in page.elements if given.get("role") == "region"]
    assert len(regions) >= tags.count("table"), "a table that repeats its heading has no caption of its own"
    assert all(given.get("aria-label") for given in regions)
    pictures = [given for tag, given in page.elements if tag == "svg"]
    assert all(given["role"] == "img" and len(given["aria-label"]) > 20 for given in pictures)
    assert tags.count("figcaption") >= len(pictures)
    names = [given["id"] for _, given in page.elements if "id" in given]
    assert len(names) == len(set(names)), "what is referred to is named once"
    assert all(given.get("lang") == "en" for tag, given in page.elements if tag == "html")


@pytest.mark.parametrize("key", EVERY, ids=str)
def test_every_figure_of_a_page_stands_in_a_document(reports, key):
    report = reports[key]
    figures = Page(report.html).figures
    assert len(figures) > 20
    for path, value in figures:
        assert at(report.content.documents, path) == value, path


def test_figures_are_those_that_the_functions_give(reports, released, patients):
    release, documents = released["classes"], reports["classes", "internal", True].content.documents
    known = ind.assess(release, original=patients, population=patients, hierarchies=HIERARCHIES)
    attacked = ind.attack("all", release, original=patients, seconds=60, seed=1).to_json()
    assert documents["certificate"] == release.certificate.to_json()
    assert documents["assess"] == known.to_json()
    assert documents["measure"]["metrics"] == ind.measure(release).to_json()
    assert documents["distributions"] == ind.distributions(release, patients).to_json()
    told = {each["attack"]: each for each in attacked["outcomes"]}
    assert len(documents["attack"]["outcomes"]) >= 3
    for outcome in documents["attack"]["outcomes"]:
        assert outcome == told[outcome["attack"]]
    losses = [each["loss"] for each in documents["columns"].values() if each["loss"] is not None]
    assert sum(losses) / len(losses) == pytest.approx(documents["measure"]["metrics"]["loss"])


def test_queries_are_compared_where_there_is_a_workload(released, patients):
    workload = ind.Workload.generate(patients, SCHEMA, queries=20, attributes=2, selectivity=0.2, seed=1)
    release = released["classes"]
    report = ind.report(release, original=patients, workload=workload, seconds=0.2)
    assert report.content.documents["query"] == ind.workload_error(release, patients, workload).to_json()
    shown = {tuple(path): value for path, value in Page(report.html).figures if path[0] == "query"}
    assert shown["query", "queries"] == 20


def test_what_is_missing_is_said(reports, released):
    alone = reports["classes", "internal", False]
    text = Page(alone.html).text
    assert text.count("The original was not given") >= 4
    assert "No population was given" in text
    assert "No workload was given" in text
    assert "Not stated: purpose" in text
    readers = Page(reports["classes", "external", True].html).text
    assert "internal edition" not in readers
    assert readers.count("Comparisons of the release with its original") == 1
    assert Page(ind.report(released["classes"]).html).text.count("The original was not given") >= 3


# What an external edition must not tell.


@pytest.fixture(scope="module")
def telling():
    """People of whom four are unlike all others: they are suppressed, and their values stand nowhere else."""
    usual = 240
    rows = {
        "name": [f"Nomina{place:04d}" for place in range(usual + 4)],
        "age": [20 + place % 4 for place in range(usual)] + [7001, 7102, 7203, 7304],
        "town": [("north", "south")[place // 4 % 2] for place in range(usual)]
        + [f"Remote{place}" for place in range(4)],
        "disease": [("flu", "cold", "gout")[place % 3] for place in range(usual)]
        + [f"Rare{place}" for place in range(4)],
    }
    return pa.table(rows)


@pytest.fixture(scope="module")
def told(telling, tmp_path_factory):
    """The release of these people, as a file with its certificate, and its external edition."""
    schema = ind.Schema(identifiers=["name"], quasi=["age", "town"], sensitive=["disease"])
    release = ind.anonymize(telling, schema, model="k-anonymity:k=5", algorithm="optimal", suppression=0.02)
    path = tmp_path_factory.mktemp("telling") / "release.csv"
    certificate = release.write(path)
    assert certificate.suppressed_rows == 4
    by_release = ind.report(release, original=telling, population=telling, edition="external", seconds=2)
    by_file = ind.report(path, schema, model="k-anonymity:k=5", original=telling, edition="external", seconds=2)
    inside = ind.report(release, original=telling, seconds=0.2)
    assert "Rare0" in inside.html, "the search finds what an edition shows"
    assert inside.content.documents["certificate"]["suppressed_rows"] == 4
    beside = path.with_name("release.csv.certificate.json").read_text(encoding="utf-8")
    return {"release": by_release.html, "file": by_file.html, "certificate": beside, "reports": (by_release, by_file)}


@pytest.mark.parametrize("which", ["release", "file", "certificate"])
def test_values_of_suppressed_rows_and_identifiers_are_nowhere(told, which):
    shown = re.sub("[0-9a-f]{64}", "", told[which])
    assert [secret for secret in ("Nomina", "Remote", "Rare", "7001", "7102", "7203", "7304") if secret in shown] == []


@pytest.mark.parametrize("place", [0, 1])
def test_no_small_count_and_no_difference_that_is_one(told, place, telling):
    report = told["reports"][place]
    documents = report.content.documents
    assert documents["certificate"]["suppressed_rows"] is None
    assert documents["certificate"]["original_rows"] is None
    assert "seeded" not in documents["certificate"]
    figures = [(path, value) for path, value in Page(report.html).figures if isinstance(value, int | float)]
    assert [path for path, value in figures if value == telling.num_rows] == []
    assert [path for path, value in figures if value == 4 and path[0] != "columns"] == []
    totals = {value for path, value in figures if path[0] == "certificate" and isinstance(value, int) and value > 10}
    assert all(abs(one - other) == 0 or abs(one - other) > 10 for one in totals for other in totals)
    assert set(documents) <= {"certificate", "assess", "columns", "suppression", "measure", "attack", "verdict"}
    assert set(documents["attack"]) == {"tried", "succeeds"}
    assert "metrics" not in documents.get("measure", {}), "rows were suppressed"
    assert all("before" not in each and "loss" not in each for each in documents["columns"].values())
    assert documents["assess"]["before"] is None


def test_what_a_reader_counts_on_the_file_is_shown(told):
    (by_release, by_file), schema = told["reports"], ind.Schema(quasi=["age", "town"], sensitive=["disease"])
    for report in (by_release, by_file):
        shown = report.content.documents["assess"]
        assert shown["rows"] == 240
        assert shown["prosecutor"]["highest"] == pytest.approx(1 / shown["smallest_class"])
        assert all("worst" not in each for each in shown["sensitive"].values())
    assert schema.quasi == ("age", "town")


def test_figures_beside_the_original_are_rounded_to_steps_of_many_people():
    people = generate_patients(1500, seed=5)
    release = ind.anonymize(people, SCHEMA, model="k-anonymity:k=5", algorithm="mondrian")
    shown = ind.report(release, original=people, edition="external", seconds=0.1).content.documents["measure"][
        "metrics"
    ]
    exact = ind.measure(release)
    assert shown == {name: round(exact[name], 2) for name in ("loss", "gcp", "precision")}
    few = ind.report(release, original=people, edition="external", seconds=0.1, smallest_count=20)
    assert "measure" not in few.content.documents, "a step of one percent would be fewer than 20 people"


def test_a_certificate_that_hides_less_is_not_repeated(tmp_path):
    people = pa.table(
        {
            "who": [f"p{place}" for place in range(44)],
            "age": [30 + place % 2 for place in range(40)] + [80, 81, 82, 83],
        }
    )
    schema = ind.Schema(quasi=["age"], person=["who"])
    release = ind.anonymize(people, schema, model="k-anonymity:k=5", algorithm="optimal", suppression=0.1)
    release.write(tmp_path / "release.csv", smallest_count=0)
    shown = ind.report(tmp_path / "release.csv", schema, model="k-anonymity:k=5", edition="external")
    told = shown.content.documents["certificate"]
    assert told["suppressed_rows"] is told["original_rows"] is None
    assert set(told["people"].values()) == {None}
    assert ind.report(tmp_path / "release.csv", schema, model="k-anonymity:k=5").content.documents["certificate"][
        "suppressed_rows"
    ]


# Bad input.


def test_hostile_names_and_values_are_text(tmp_path):
    script, quote = "<script>alert(1)</script>", "\"><img src=x onerror='alert(2)'>\x07"
    people = pa.table(
        {
            script: [1, 2] * 20,
            "town": [quote, "b"] * 20,
            quote.replace("\x07", ""): ["x", "</style>", "{{ 7 * 191 }}", "]]>"] * 10,
        }
    )
    schema = ind.Schema(quasi=[script, "town"], sensitive=[quote.replace("\x07", "")])
    release = ind.anonymize(people, schema, model="k-anonymity:k=2", algorithm="mondrian")
    for edition in ("internal", "external"):
        html = ind.report(release, original=people, edition=edition, seconds=0.5).html
        page = Page(html)
        assert "<script" not in html
        assert "<img" not in html
        assert "\x07" not in html
        assert "1337" not in page.text.split()
        assert script in page.text, "it is shown as text"
        assert [tag for tag, given in page.elements if any(name.startswith("on") for name in given)] == []
    pieces = (release, release.certificate, ind.assess(release))
    assert all("<script" not in piece._repr_html_() and "<img" not in piece._repr_html_() for piece in pieces)


def test_an_unknown_edition_is_refused(released):
    with pytest.raises(ind.ParameterError, match="`edition` must be one of internal, external; got 'extern'") as caught:
        ind.report(released["classes"], edition="extern")
    assert caught.value.hint == "did you mean 'external'?"
    assert edition_of("internal") == "internal"


def test_a_certificate_of_another_file_is_refused(released, tmp_path):
    path = tmp_path / "release.csv"
    released["classes"].write(path)
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])
    with pytest.raises(ind.InputError, match="is that of another file"):
        ind.report(path, SCHEMA, model=MODEL)


def test_roles_must_be_known(released):
    with pytest.raises(ind.ParameterError, match="roles of the columns are not known"):
        ind.report(released["classes"].table)


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_a_missing_package_says_what_to_install(missing):
    code = f"""
import sys
sys.modules[{missing!r}] = None
import indistinct as ind
try:
    ind.report("release.csv")
except ind.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"needs the package {missing}" in done.stdout
    assert 'hint: pip install "indistinct[report]"' in done.stdout


def test_the_page_is_part_of_the_package():
    style = resources.files("indistinct.document") / "page.css"
    assert "@page { size: A4" in style.read_text(encoding="utf-8")


def test_the_name_of_the_function_is_not_that_of_a_package(reports, tmp_path):
    import indistinct.drawing.charts  # noqa: F401  (a package `report` would take its place)

    assert callable(ind.report)
    report = reports["classes", "internal", True]
    assert repr(report) == "<Report, internal edition, 16 sections>"
    assert report.holds
    path = report.write(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == report.html
    assert path.stat().st_mode & 0o077 == 0, "an internal edition is its owner's"
    with pytest.raises(ind.OutputError):
        report.write(path)
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["edition"] == "internal"


def test_what_is_missing_has_a_bar_of_its_own():
    weights = pa.chunked_array([[None] * 6 + [float(place % 30) for place in range(120)]])
    column = encode_column("weight", weights)
    shares = shares_of({"weight": column}, unmodified({"weight": column}))["weight"]
    assert shares.labels[0] == "missing"
    assert shares.before == shares.after
    assert shares.before[0] == pytest.approx(6 / 126)
    assert sum(shares.before) == pytest.approx(1)
    assert len(shares.labels) <= 13


# Notebooks.


def test_pieces_for_notebooks_hold_the_same_figures(released, patients):
    release = released["classes"]
    assessment = ind.assess(release, original=patients)
    figures = {tuple(path): value for path, value in Page(assessment._repr_html_()).figures}
    documents = {"assess": assessment.to_json(), "certificate": release.certificate.to_json()}
    assert figures["assess", "prosecutor", "highest"] == assessment.risk.prosecutor.highest
    for piece in (release, release.certificate, assessment):
        page = Page(piece._repr_html_())
        assert page.figures
        assert all(at(documents, path) == value for path, value in page.figures)


def test_the_piece_of_an_exploration_names_the_best_nodes(patients):
    found = ind.explore(
        patients,
        ind.Schema(identifiers=["name", "cost", "zipcode", "admitted"], quasi=["age", "sex"], sensitive=["disease"]),
        model="k-anonymity:k=5",
        hierarchies={"age": HIERARCHIES["age"]},
    )
    page = Page(found._repr_html_())
    best = ",".join(map(str, found.best()["node"]))
    assert best in page.text
    assert [tag for tag, _ in page.elements].count("table") == 3


def test_a_column_can_be_learned_and_pictures_name_k(released, patients):
    report = ind.report(
        released["classes"], original=patients, target="sex", classifiers=["naive-bayes"], seconds=0.2, seed=1
    )
    learned = report.content.documents["classify"]
    asked = {"target": "sex", "release": released["classes"], "classifiers": ["naive-bayes"]}
    assert learned == ind.classify(patients, SCHEMA, hierarchies=released["classes"].hierarchies, **asked).to_json()
    shown = [value for path, value in Page(report.html).figures if path[:1] == ["classify"]]
    assert learned["scores"][0]["accuracy"] in shown
    assert "k = 5" in draw_class_sizes({"before": {1: 9}, "after": {5: 4, 6: 1}}, k=5)
    assert "k = " not in draw_cumulative({"after": {5: 4}}, k=None, groups="buckets", unit="people")
