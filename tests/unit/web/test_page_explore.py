"""The step explore of the page: its points are those of the lattice, and its rows those of the published file."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ind
from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.algorithms.registry import parse_algorithm
from indistinct.job.policy import Input, Policy
from indistinct.samples import generate_patients
from indistinct.text_form import spell

pytest.importorskip("nicegui")

from indistinct.web.front import Spot, draw_front, ticks
from indistinct.web.picking import Pick, table_html
from indistinct.web.sessions import job_of
from indistinct.web.steps.algorithm_grid import grid_job, sizes_of
from indistinct.web.steps.before_after import rows_html
from indistinct.web.steps.solutions import in_words, levels_in_words, parse_whole
from indistinct.web.tasks.classes import class_page
from indistinct.web.tasks.exploring import compare_grid, explore_all, explored_job, plain_trials, scope_style
from indistinct.web.tasks.published import all_distances, column_picture
from indistinct.web.tasks.searching import search
from indistinct.web.tasks.usefulness import answerable
from indistinct.web.worker import Desk, TaskError

QUASI = ("age", "sex", "zipcode")
SCHEMA = ind.Schema(quasi=QUASI, sensitive=["disease"])
HIERARCHIES = {"age": ind.Hierarchy.intervals([10, 20]), "zipcode": ind.Hierarchy.masking(levels=2)}


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explore")
    table = generate_patients(300, seed=3).select([*QUASI, "disease"])
    pyarrow.csv.write_csv(table, folder / "patients.csv")
    models = (ind.KAnonymity(4),)
    return Policy(Input(Path("patients.csv")), SCHEMA, models, HIERARCHIES, suppression=0.1, base=folder)


@pytest.fixture(scope="module")
def explored(policy):
    return explore_all(Desk(), policy)


def released(policy, algorithm, folder):
    by = parse_algorithm(algorithm)
    models = () if by.traits.buckets else policy.models
    job = replace(policy, algorithm=by, models=models)
    return job, search(Desk(), job, folder / "release")["files"]


def every_row(job, files, *, by="release"):
    desk, found, first = Desk(), [], 0
    while True:
        page = class_page(desk, job, files, by=by, first=first, rows=37)
        found += page["rows"]
        first += 37
        if first >= page["of"]:
            return page, found


def test_the_front_that_is_drawn_is_that_of_the_lattice(policy, explored):
    table = ind.open(policy.source)
    found = ind.explore(table, SCHEMA, model="k-anonymity:k=4", hierarchies=HIERARCHIES, suppression=0.1)
    assert explored.fronts == {metric: found.pareto(metric) for metric in ("loss", "discernibility")}
    held = {(row["risk"], row["loss"]) for row in found.nodes() if row["satisfied"]}
    assert set(explored.places["loss"]) <= held
    spots = [Spot(row["risk"], row["loss"], "1", "words", chosen=False) for row in explored.fronts["loss"]]
    drawn = draw_front(spots, explored.places["loss"], cost="loss")
    assert drawn.count('role="button" tabindex="0"') == len(spots) > 1
    assert drawn.count('class="other"') == len(explored.places["loss"])


def test_pages_of_a_ranking_are_parts_of_it(explored):
    found = explored.lattice
    whole_list = found.ranked("loss")
    assert found.ranked("loss", first=5, most=7) == whole_list[5:12]
    assert found.ranked("loss", first=len(found) - 2, most=7) == whole_list[-2:]


def test_samples_are_rows_and_what_the_release_of_a_node_shows(policy, explored):
    best = explored.lattice.best()["node"]
    release = ind.anonymize(
        ind.open(policy.source),
        SCHEMA,
        model="k-anonymity:k=1",
        algorithm=ChosenNode(best),
        hierarchies=HIERARCHIES,
    )
    shown = {tuple(str(row[name]) for name in QUASI) for row in release.table.to_pylist()}
    samples = explored.samples
    for place in range(len(samples.before["age"])):
        after = tuple(samples.after[name][level][place] for name, level in zip(QUASI, best, strict=True))
        assert tuple("None" if each == "missing" else each for each in after) in shown


def test_a_lattice_rests_on_the_job_and_not_on_how_it_is_searched(policy):
    assert explored_job(replace(policy, algorithm=ChosenNode((0, 0, 0)))) == explored_job(policy)
    assert explored_job(replace(policy, suppression=0.2)) != explored_job(policy)
    assert job_of(replace(policy, algorithm=ChosenNode((0, 0, 0)))) != job_of(policy)
    assert grid_job(replace(policy, models=(ind.KAnonymity(9),))) == grid_job(policy)
    assert grid_job(replace(policy, hierarchies={})) != grid_job(policy)


def test_too_many_solutions_and_no_promise_are_refused(policy):
    with pytest.raises(ind.ParameterError, match="more than the limit of 3"):
        explore_all(Desk(), policy, 3)
    with pytest.raises(ind.ParameterError, match="no privacy model is chosen"):
        explore_all(Desk(), replace(policy, models=()))


@pytest.mark.parametrize("algorithm", [spell(ChosenNode((2, 1, 3))), "mondrian", "mondrian:relaxed=true", "top-down"])
def test_every_class_has_the_size_that_the_published_file_has(policy, algorithm, tmp_path):
    job, files = released(policy, algorithm, tmp_path)
    published = pyarrow.csv.read_csv(
        files["table"], convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(QUASI, pa.string()))
    ).to_pylist()
    names = [name for name in published[0] if name != "disease"]
    sizes = Counter(tuple(row[name] or "missing" for name in names) for row in published)
    page, rows = every_row(job, files)
    assert page["after"] == [name for name in names if name in page["after"]] == names
    assert len(rows) == len(published)
    assert Counter(tuple(row["after"]) for row in rows) == sizes
    assert all(row["size"] == sizes[tuple(row["after"])] for row in rows)
    assert page["classes"] == len(sizes)
    ranked = [row["size"] for row in every_row(job, files, by="smallest")[1]]
    assert ranked == sorted(ranked)
    left_out = every_row(job, files, by="suppressed")[1]
    assert len(left_out) == page["suppressed"] == 300 - len(published)
    original = ind.open(policy.source).data.select(QUASI).to_pylist()
    before = Counter(tuple("missing" if value is None else str(value) for value in row.values()) for row in original)
    assert Counter(tuple(row["before"]) for row in [*rows, *left_out]) == before


def test_rows_that_are_left_out_say_so(policy, explored, tmp_path):
    node = next(row["node"] for row in explored.lattice.ranked() if row["satisfied"] and row["suppressed_rows"])
    job, files = released(policy, spell(ChosenNode(node)), tmp_path)
    page = class_page(Desk(), job, files, by="suppressed", rows=5)
    assert page["suppressed"] == explored.lattice.node(node)["suppressed_rows"] > 0
    assert rows_html(page).count("suppressed") == len(page["rows"]) > 0


def test_people_are_counted_where_the_schema_tells_them_apart(policy, tmp_path):
    rows = {"who": [1, 1, 2, 3, 4, 4], "age": [20, 20, 20, 30, 30, 30], "ill": ["a", "b", "a", "c", "a", "b"]}
    pyarrow.csv.write_csv(pa.table(rows), tmp_path / "visits.csv")
    schema = ind.Schema(person=["who"], quasi=["age"], sensitive=["ill"])
    job = Policy(Input(Path("visits.csv")), schema, (ind.KAnonymity(2),), base=tmp_path)
    files = search(Desk(), job, tmp_path / "release")["files"]
    page = class_page(Desk(), job, files)
    assert [(row["size"], row["people"]) for row in page["rows"]] == [(3, 2)] * 6


@pytest.mark.parametrize("algorithm", ["anatomy:l=2", "slicing:l=2"])
def test_buckets_are_those_of_the_published_file(policy, algorithm, tmp_path):
    job, files = released(policy, algorithm, tmp_path)
    published = pyarrow.csv.read_csv(files["table"])
    sizes = Counter(published["bucket"].to_pylist())
    page, rows = every_row(job, files)
    assert not page["whole_rows"]
    assert len(rows) == published.num_rows
    assert all(row["size"] == sizes[row["class"]] for row in rows)
    if algorithm.startswith("anatomy"):
        apart = pyarrow.csv.read_csv(files["others"][0]).to_pylist()
        told = [f"{row['disease']} × {row['count']}" for row in apart if row["bucket"] == rows[0]["class"]]
        assert rows[0]["after"] == [", ".join(told)]


def test_columns_and_distances_are_drawn_for_classes_and_buckets(policy, tmp_path):
    job, files = released(policy, "mondrian", tmp_path)
    assert "before" in column_picture(Desk(), job, files, "age")
    assert "disease" in column_picture(Desk(), job, files, "disease")
    found = all_distances(Desk(), job, files)
    assert [each["column"] for each in found["columns"]] == [*QUASI, "disease"]
    assert found["picture"].startswith("<svg")


@pytest.mark.parametrize("algorithm", ["mondrian", "anatomy:l=2"])
def test_what_can_still_be_answered_is_said_in_sentences(policy, tmp_path, algorithm):
    job, files = released(policy, algorithm, tmp_path)
    said = answerable(Desk(), job, files)
    assert said
    assert all(each.endswith((".", "?")) for each in said)
    asked = [each for each in said if each.startswith("How many rows")]
    for each in asked:
        numbers = [int(n.replace(",", "")) for n in re.findall(r"[0-9][0-9,]*", each.partition("?")[2])]
        assert numbers[0] <= numbers[-1] <= numbers[min(1, len(numbers) - 2)], "the bounds contain the truth"
    assert bool(asked) or algorithm != "mondrian"


def test_a_grid_says_what_each_release_would_be(policy):
    grid = compare_grid(Desk(), policy, ["mondrian", "datafly"], [2, 5])
    trials = plain_trials(grid)
    assert [(each["algorithm"], each["k"]) for each in trials] == [
        (name, k) for name in ("mondrian", "datafly") for k in (2, 5)
    ]
    assert all(each["smallest"] >= each["k"] for each in trials if each["state"] == "done")
    assert sum(each["best"] for each in trials) == len(grid.comparison.pareto())
    assert "sweep" in grid.pictures


def test_what_stewards_type_is_a_number_or_an_error():
    assert sizes_of("10; 2,5 5") == (2, 5, 10)
    assert parse_whole("20,000", what="it") == 20_000
    for text in ("", "0", "-3", "2.5", "many", "٣"):
        with pytest.raises(TaskError):
            parse_whole(text, what="it")
    with pytest.raises(TaskError, match="at least one k"):
        sizes_of(" , ")


@pytest.mark.parametrize(("own", "anchor"), [(0, "start"), (1, "end")])
def test_the_name_of_the_release_stays_inside_its_picture(own, anchor):
    spots = [Spot(risk, 1 - risk, str(risk), "words", own=place == own) for place, risk in enumerate((0.05, 0.5))]
    drawn = draw_front(spots, [], cost="detail lost", share=True)
    assert re.search(f'text-anchor="{anchor}">your release', drawn)
    assert drawn.count("your release") == 1


def test_a_solution_is_told_in_words(explored):
    found = explored.lattice
    top = found.node(found.heights)
    assert levels_in_words(found, (0, 0, 0)) == "everything unmodified"
    assert levels_in_words(found, (1, 0, 0)) == "age in steps of 10"
    assert "highest risk" in in_words(found, top, "loss")


def test_markup_is_escaped_and_its_style_stays_inside(explored):
    hostile = '"><script>alert(1)</script>'
    drawn = table_html(hostile, [hostile], [[Pick(hostile, hostile, hostile)], [hostile]])
    assert "<script" not in drawn
    assert "<script" not in draw_front([Spot(0.1, 0.2, hostile, hostile)], [], cost=hostile)
    style = explored.picture.partition("<style>")[2].partition("</style>")[0]
    assert all(line.startswith("#lattice ") for line in style.splitlines() if "{" in line)
    assert scope_style("<svg/>", "#x") == "<svg/>"


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.03, 0.21), (5, 5), (-3, 12), (0, 25_000_000)])
def test_ticks_are_few_and_inside(low, high):
    found = ticks(low, high)
    assert 1 <= len(found) <= 7
    assert all(low - 1e-9 <= each <= high + 1e-9 for each in found)
