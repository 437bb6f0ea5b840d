"""Comparisons: the grid, what becomes of its points, what is kept, and what is drawn."""

import json
import stat
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.errors import OutputError, ParameterError
from indistinct.exploration.compare import folder as folders
from indistinct.exploration.compare import trials, workers
from indistinct.exploration.compare.compare import Comparison
from indistinct.exploration.compare.folder import KeptTrials, private_folder
from indistinct.exploration.compare.results import draw_comparison, sweep, to_html, write_results
from indistinct.exploration.compare.trials import ComparedJob, Point, Trial, metrics_of, points_of, try_point
from indistinct.job.job import Job
from indistinct.samples import generate_patients
from indistinct.tables import open_table
from indistinct.text_form import split_specs

SCHEMA = ind.Schema(quasi=["age", "sex", "zipcode"], sensitive=["disease"])
HIERARCHIES = {"zipcode": ind.Hierarchy.masking(), "age": ind.Hierarchy.intervals([5, 20])}
GRID = {
    "algorithms": "mondrian,mondrian:relaxed=true,datafly",
    "models": ["k-anonymity:k=5,k-anonymity:k=10", "k-anonymity:k=9000"],
    "hierarchies": HIERARCHIES,
}


def compared_job(table, schema, hierarchies, metrics, **others):
    return ComparedJob(Job(table, schema, hierarchies=hierarchies, **others), metrics)


@pytest.fixture(scope="module")
def patients():
    return generate_patients(300, seed=1).select(["age", "sex", "zipcode", "disease"])


@pytest.fixture(scope="module")
def compared(patients):
    return ind.compare(patients, SCHEMA, **GRID, workers=1)


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("a,b", ["a", "b"]),
        ("mondrian:relaxed=true,numeric=mean, datafly", ["mondrian:relaxed=true,numeric=mean", "datafly"]),
        ("k:k=5 & t:sensitive=s,t=0.2,k:k=10", ["k:k=5 & t:sensitive=s,t=0.2", "k:k=10"]),
        ('slicing:columns="a,b"|"c",l=3,anatomy:l=2', ['slicing:columns="a,b"|"c",l=3', "anatomy:l=2"]),
        ("", []),
    ],
)
def test_a_list_is_parted_where_a_new_name_begins(text, specs):
    assert split_specs(text) == specs


def test_a_parameter_without_a_name_is_refused():
    with pytest.raises(ParameterError, match="comes before any name") as caught:
        split_specs("mondrian,relaxed=true")
    assert "mondrian:relaxed=true" in str(caught.value.hint)


def test_the_grid_has_every_combination_once():
    points = points_of(["mondrian", ind.Datafly()], "k-anonymity:k=2,k-anonymity:k=2", [0, 0.1])
    assert points == (
        Point("mondrian", "k-anonymity:k=2", 0.0),
        Point("mondrian", "k-anonymity:k=2", 0.1),
        Point("datafly", "k-anonymity:k=2", 0.0),
        Point("datafly", "k-anonymity:k=2", 0.1),
    )
    assert points_of("anatomy:l=2,mondrian", None, 0) == (Point("anatomy:l=2", None, 0.0),)


@pytest.mark.parametrize(
    "given",
    [("mondrian", None, 0), ("mondrien", "k-anonymity:k=2", 0), ("mondrian", "k-anonymity:k=2", 2), ([], "k", 0)],
)
def test_an_impossible_grid_is_refused(given):
    with pytest.raises(ParameterError):
        points_of(*given)


def test_metrics_are_named_once_and_workers_are_counted(patients):
    assert [metric.name for metric in metrics_of("precision,gcp")] == ["precision", "gcp"]
    with pytest.raises(ParameterError, match="once"):
        metrics_of("gcp,gcp")
    with pytest.raises(ParameterError, match="workers"):
        ind.compare(patients, SCHEMA, **GRID, workers=0)


def test_a_point_has_the_figures_of_its_release(patients, compared):
    release = ind.anonymize(patients, SCHEMA, model="k-anonymity:k=5", algorithm="datafly", hierarchies=HIERARCHIES)
    (trial,) = [each for each in compared.trials if each.point == Point("datafly", "k-anonymity:k=5")]
    assert trial.metrics == dict(ind.measure(release, ["gcp", "discernibility"]))
    risk = ind.assess(release).risk.prosecutor
    assert (trial.highest_risk, trial.average_risk) == (risk.highest, risk.average)
    assert (trial.classes, trial.rows) == (release.certificate.classes, release.certificate.rows)


def test_what_is_infeasible_has_its_reason_and_the_others_go_on(compared):
    assert compared.counts == {"done": 6, "infeasible": 3, "failed": 0}
    assert compared.exit_code == 0
    (reason,) = {trial.reason for trial in compared.trials if trial.state == "infeasible"}
    assert "k = 9000" in reason


def test_exit_codes_tell_why_nothing_worked():
    infeasible, failed = Trial(Point("a", None), "infeasible"), Trial(Point("b", None), "failed")
    assert Comparison("t", 1, (infeasible,), {"gcp": "min"}, ("",)).exit_code == 3
    assert Comparison("t", 1, (infeasible, failed), {"gcp": "min"}, ("", "")).exit_code == 1


def test_an_unexpected_failure_is_named_by_its_type_alone(patients, monkeypatch):
    def broken(*_, **__):
        raise ValueError("a cell: 47906")

    monkeypatch.setattr(trials, "run_job", broken)
    found = ind.compare(patients, SCHEMA, **GRID, workers=1)
    assert {trial.reason for trial in found.trials} == {"an unexpected ValueError"}
    assert found.exit_code == 1


def test_average_class_size_is_in_units_of_each_k(patients):
    found = ind.compare(patients, SCHEMA, **{**GRID, "algorithms": "mondrian"}, metrics="average-class-size", workers=1)
    done = {trial.point.model: trial for trial in found.trials if trial.state == "done"}
    for k in (5, 10):
        trial = done[f"k-anonymity:k={k}"]
        assert trial.metrics["average-class-size"] == pytest.approx(trial.rows / trial.classes / k)


def test_buckets_have_no_metric_of_generalization(patients):
    found = ind.compare(patients, SCHEMA, algorithms="anatomy:l=2", metrics="gcp,discernibility", workers=1)
    (trial,) = found.trials
    assert trial.metrics["gcp"] is None
    assert trial.metrics["discernibility"] is not None
    assert found.pareto() == []


def test_the_front_is_what_nothing_beats():
    figures = [(0.5, 1.0), (0.2, 2.0), (0.2, 2.0), (0.3, 3.0), (0.1, 9.0), (0.5, 1.5)]
    made = tuple(
        Trial(Point("a", None, place / 10), "done", highest_risk=risk, average_risk=-risk, metrics={"m": value})
        for place, (risk, value) in enumerate(figures)
    )
    found = Comparison("t", 1, made, {"m": "min"}, ("",) * 6)
    assert found.pareto() == [made[0], made[1], made[4]]
    assert [row["pareto"] for row in found.table()] == [True, True, False, False, True, False]
    upwards = Comparison("t", 1, made, {"m": "max"}, ("",) * 6)
    assert upwards.pareto() == [made[4]]
    with pytest.raises(ParameterError, match="not compared"):
        found.pareto("gcp")


def test_processes_give_what_one_gives(patients, compared, tmp_path):
    found = ind.compare(patients, SCHEMA, **GRID, workers=2, folder=tmp_path / "kept")
    untimed = [[{**trial.to_json(), "seconds": 0} for trial in each.trials] for each in (found, compared)]
    assert untimed[0] == untimed[1]
    again = ind.compare(patients, SCHEMA, **GRID, workers=1, folder=tmp_path / "kept")
    assert all(trial.kept for trial in again.trials)


def test_a_killed_run_goes_on(patients, tmp_path, monkeypatch):
    tried = []

    def stopping(job, point):
        if len(tried) == 4:
            raise KeyboardInterrupt
        tried.append(point)
        return try_point(job, point)

    monkeypatch.setattr(workers, "try_point", stopping)
    with pytest.raises(KeyboardInterrupt):
        ind.compare(patients, SCHEMA, **GRID, workers=1, folder=tmp_path / "kept")
    monkeypatch.setattr(workers, "try_point", try_point)
    shares = []
    found = ind.compare(patients, SCHEMA, **GRID, workers=1, folder=tmp_path / "kept", progress=shares.append)
    assert [trial.kept for trial in found.trials] == [True] * 4 + [False] * 5
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_other_data_roles_or_hierarchies_are_not_taken_for_the_same(patients, tmp_path):
    place, metrics = private_folder(tmp_path / "kept"), metrics_of(None)
    table, point = open_table(patients), Point("mondrian", "k-anonymity:k=5")
    job = compared_job(table, SCHEMA, HIERARCHIES, metrics)
    KeptTrials(place, job).keep(Trial(point, "done"))
    KeptTrials(place, job).keep(Trial(Point("datafly", None), "failed"))
    assert KeptTrials(place, compared_job(open_table(patients), SCHEMA, dict(HIERARCHIES), metrics)).find(point).kept
    chunked = pa.concat_tables([patients.slice(0, 7), patients.slice(7)])
    assert (
        KeptTrials(place, compared_job(open_table(chunked.combine_chunks()), SCHEMA, HIERARCHIES, metrics))
        .find(point)
        .kept
    )
    assert KeptTrials(place, job).find(Point("datafly", None)) is None
    others = [
        compared_job(open_table(patients.slice(1)), SCHEMA, HIERARCHIES, metrics),
        compared_job(table, ind.Schema(quasi=["sex", "age", "zipcode"], sensitive=["disease"]), HIERARCHIES, metrics),
        compared_job(table, SCHEMA, {}, metrics),
        compared_job(table, SCHEMA, HIERARCHIES, metrics_of("loss")),
        compared_job(table, SCHEMA, HIERARCHIES, metrics, population=patients),
    ]
    assert [KeptTrials(place, other).find(point) for other in others] == [None] * 5


def test_a_spoilt_file_is_tried_again(patients, tmp_path):
    place = tmp_path / "kept"
    ind.compare(patients, SCHEMA, **GRID, workers=1, folder=place)
    kept = sorted((place / folders.TRIALS).iterdir())
    kept[0].write_text("{", encoding="utf-8")
    kept[1].write_text('{"state": "done"}', encoding="utf-8")
    found = ind.compare(patients, SCHEMA, **GRID, workers=1, folder=place)
    assert sum(not trial.kept for trial in found.trials) == 2


def test_the_folder_is_private_and_holds_no_value(patients, compared, tmp_path):
    marked = patients.set_column(2, "zipcode", pa.array([f"Zq{place:03d}" for place in range(300)]))
    place = tmp_path / "kept"
    found = ind.compare(marked, SCHEMA, algorithms="mondrian", models="k-anonymity:k=5", folder=place, workers=1)
    write_results(found, place, pictures=draw_comparison(found))
    every = [place, *place.rglob("*")]
    assert {stat.S_IMODE(each.stat().st_mode) for each in every} == {0o700, 0o600}
    texts = [each.read_text(encoding="utf-8") for each in every if each.is_file()]
    assert len(texts) == 5
    values = [*{str(v) for v in marked["disease"].to_pylist()}, "Zq0", "Zq1", "Zq2"]
    assert not [value for value in values for text in texts if value in text]
    assert json.loads((place / "comparison.json").read_text(encoding="utf-8")) == found.to_json()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="something else"):
        private_folder(tmp_path)
    with pytest.raises(OutputError):
        private_folder(tmp_path / "mine.txt")
    with pytest.raises(OutputError):
        private_folder(tmp_path / "not" / "there")


def test_pictures_show_every_release_and_a_line_for_each_algorithm(compared):
    drawn = draw_comparison(compared)
    assert list(drawn) == ["risk-and-utility", "sweep"]
    risk, lines = (ElementTree.fromstring(svg) for svg in drawn.values())  # noqa: S314
    kinds = [each.get("aria-roledescription", "") for each in risk.findall(".//{*}path")]
    assert kinds.count("point") == 6 * 2 * 2
    assert sum("line mark" in each.get("aria-roledescription", "") for each in lines.findall(".//{*}path")) == 3 * 2
    rows, parameter = sweep(compared)
    assert (parameter, {row["k"] for row in rows}) == ("k", {5.0, 10.0})


def test_models_of_several_kinds_have_no_sweep():
    made = tuple(
        Trial(Point("a", model), "done", highest_risk=0.2, average_risk=0.1, metrics={"m": 1.0})
        for model in ("k-anonymity:k=5", "k-anonymity:k=10 & distinct-l-diversity:sensitive=s,l=2")
    )
    assert sweep(Comparison("t", 1, made, {"m": "min"}, ("", ""))) == ([], "")


def test_the_page_has_no_script_and_every_command(compared):
    page = to_html(compared, pictures=draw_comparison(compared))
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert page.count('<figure class="picture"') == 2
    assert page.count("ind.anonymize(") == 9
    assert "k = 9000" in page


def test_a_long_legend_stands_in_several_lines(patients):
    """The names of eight series would make the picture three times as wide as its charts."""
    found = ind.compare(
        *(patients, SCHEMA),
        algorithms="mondrian,mondrian:relaxed=true,numeric=mean,datafly,samarati",
        models="k-anonymity:k=5",
        suppression=[0, 0.05],
        hierarchies=HIERARCHIES,
        workers=1,
    )
    drawn = ElementTree.fromstring(draw_comparison(found)["risk-and-utility"])  # noqa: S314
    texts = {each.text for each in drawn.findall(".//{*}text")}
    assert {"mondrian, none dropped", "samarati, up to 5 % dropped"} <= texts
    assert float(drawn.get("width", "inf")) < 1000
