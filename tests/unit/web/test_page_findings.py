"""Two questions and findings with buttons: what follows from each is a policy that can be run."""

import math
import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import OutputError
from indistinct.evaluation.assess.profiles import PROFILES
from indistinct.evaluation.verdict import Verdict, verdict_of
from indistinct.evaluation.verdict_line import Line
from indistinct.job.policy import policy_to_toml
from indistinct.job.policy.reading import policy_from_toml
from indistinct.models import DistinctLDiversity, KAnonymity, TCloseness
from indistinct.recoding.transformations import Transformation
from indistinct.samples import generate_patients, generate_visits
from indistinct.schema import Role, Schema
from indistinct.suppression_limit import NO_BUDGET
from indistinct.tables import Reading
from indistinct.web.deciding import (
    FEW,
    LEAST,
    SAME,
    shape_of,
    with_answers,
    with_importance,
    with_levels,
    with_role,
)
from indistinct.web.findings import find_against_profile, find_in_columns, find_in_names, find_in_verdict, with_regions
from indistinct.web.steps.columns import warn_of_values
from indistinct.web.steps.explore import with_solution
from indistinct.web.steps.privacy import models_asked
from indistinct.web.tasks.exploring import solve
from indistinct.web.tasks.looking import look, writing_like
from indistinct.web.tasks.risks import assess_release
from indistinct.web.tasks.searching import search
from indistinct.web.tasks.treatments import (
    join_rare,
    join_values,
    suggest_coarser,
)
from indistinct.web.worker import Desk


@pytest.fixture(scope="module")
def desk():
    return Desk()


@pytest.fixture(scope="module")
def looked(tmp_path_factory, desk):
    path = tmp_path_factory.mktemp("table") / "patients.csv"
    pyarrow.csv.write_csv(generate_patients(800, seed=5), path)
    return look(desk, path, Reading())


def answer(looked, **answers):
    return with_answers(looked.policy, answers, looked=looked.inspection, starter=looked.starter)


@pytest.mark.parametrize("who", PROFILES)
@pytest.mark.parametrize("shape", [SAME, LEAST])
def test_every_pair_of_answers_is_a_job_that_finds_a_release(looked, desk, tmp_path, who, shape):
    policy = answer(looked, who=who, shape=shape)
    assert policy.about.profile == who
    assert shape_of(policy.algorithm) == shape
    assert policy_from_toml(policy_to_toml(policy), base=policy.base) == policy
    made = search(desk, policy, tmp_path / "release")
    assert made["holds"]


def test_the_same_groups_have_levels_for_every_column_that_has_some_and_leave_a_few_rows_out(looked):
    policy = answer(looked, who="public", shape=SAME)
    assert {"age", "zipcode", "admitted"} <= set(policy.hierarchies)
    assert policy.suppression.share == FEW
    back = with_answers(policy, {"who": "public", "shape": LEAST}, looked=looked.inspection, starter=looked.starter)
    assert (back.suppression, back.algorithm) == (NO_BUDGET, Auto())
    assert set(back.hierarchies) == set(looked.starter.hierarchies)


def test_a_column_that_becomes_known_gets_its_levels_where_groups_are_the_same(looked):
    policy = answer(looked, shape=SAME)
    dropped = with_role(policy, "age", Role.INSENSITIVE, looked=looked.inspection, starter=looked.starter)
    again = with_role(dropped, "age", Role.QUASI, looked=looked.inspection, starter=looked.starter)
    assert "age" in again.hierarchies


def test_what_matters_and_between_which_levels_goes_with_the_role(looked):
    policy = with_levels(with_importance(looked.policy, "zipcode", 3.0), "zipcode", "1..3")
    assert (str(policy.importance), str(policy.levels)) == ("zipcode=3", "zipcode=1..3")
    assert policy_from_toml(policy_to_toml(policy), base=policy.base) == policy
    other = with_role(policy, "zipcode", Role.INSENSITIVE, looked=looked.inspection, starter=looked.starter)
    assert (other.importance.weights, other.levels.columns) == ((), ())
    assert with_levels(with_importance(policy, "zipcode", 1.0), "zipcode", " ") == looked.policy


def test_names_that_would_be_published_are_found_and_dropping_them_settles_it(looked):
    policy = with_role(looked.policy, "name", Role.INSENSITIVE, looked=looked.inspection, starter=looked.starter)
    finding = next(
        each for each in find_in_columns(policy, looked.inspection, looked.starter) if each.words.startswith("name ")
    )
    assert finding.tone == "bad"
    [remedy] = finding.remedies
    assert remedy.policy.schema.role("name") is Role.IDENTIFIER
    assert warn_of_values(looked.inspection["columns"][0], Role.INSENSITIVE)


def test_a_k_that_the_profile_contradicts_is_said_at_once(looked):
    policy = answer(looked, who="public", shape=LEAST)
    assert find_against_profile(policy, models_asked(policy, looked.inspection)) == []
    weaker = replace(policy, models=(KAnonymity(5),))
    [finding] = find_against_profile(weaker, models_asked(weaker, looked.inspection))
    assert "at least 12" in finding.words
    assert "20 %" in finding.words
    [remedy] = finding.remedies
    assert remedy.policy.models == (KAnonymity(12),)
    assert models_asked(replace(weaker, about=replace(weaker.about, profile=None)), looked.inspection) == ()


def test_a_column_that_points_at_rows_is_found_and_one_click_settles_it(looked):
    [finding] = find_in_columns(looked.policy, looked.inspection, looked.starter)
    assert "cost" in finding.words
    coarser, known, dropped = finding.remedies
    assert coarser.policy.transformations["cost"].round is not None
    assert known.policy.schema.role("cost") is Role.QUASI
    assert dropped.policy.schema.role("cost") is Role.IDENTIFIER
    for remedy in finding.remedies:
        assert find_in_columns(remedy.policy, looked.inspection, looked.starter) == []


def test_a_sensitive_column_without_a_promise_can_be_given_one(looked):
    bare = replace(looked.policy, models=(KAnonymity(5),), transformations={"cost": Transformation(round=500)})
    [finding] = find_in_columns(bare, looked.inspection, looked.starter)
    kinds = {type(remedy.policy.models[-1]) for remedy in finding.remedies}
    assert kinds == {DistinctLDiversity, TCloseness}


def test_attacks_that_succeed_offer_a_defence_once(looked):
    lines = [
        Line("attack", "failed", (), {"beyond_chance": 0.2}, attack=name)
        for name in ("downcoding", "combinatorial-refinement", "skewness", "record-linkage")
    ]
    weak = replace(looked.policy, models=(KAnonymity(5),))
    found = find_in_verdict(Verdict(tuple(lines)), weak, looked.inspection, looked.starter)
    assert [len(each.remedies) for each in found] == [1, 0, 1, 1]
    assert found[0].remedies[0].policy.algorithm == parse_algorithm("mondrian:extent=region,choose=loss")
    assert any(isinstance(each, TCloseness) for each in found[2].remedies[0].policy.models)
    assert with_regions(parse_algorithm("optimal")) is None


def test_small_groups_offer_larger_ones(looked):
    weak = replace(looked.policy, models=(KAnonymity(1),))
    line = Line("smallest-class", "failed", (), {"k": 1, "alone": 3, "members": 50})
    [finding] = find_in_verdict(Verdict((line,)), weak, looked.inspection, looked.starter)
    assert finding.words.startswith("K = 1 is no protection")
    assert finding.remedies[0].policy.models == (KAnonymity(3),)


@pytest.mark.parametrize(
    ("profile", "figure", "k"),
    [("public", "highest", 12), ("licensed", "average", 12), ("internal", "average", 5), ("public", "uniques", 3)],
)
def test_larger_classes_are_as_large_as_the_limit_needs(looked, profile, figure, k):
    weak = replace(looked.policy, models=(KAnonymity(2),), about=replace(looked.policy.about, profile=profile))
    line = Line("limit", "failed", (), {"limit": 0.09, "value": 0.5}, figure=figure)
    [finding] = find_in_verdict(Verdict((line,)), weak, looked.inspection, looked.starter)
    assert finding.remedies[0].policy.models == (KAnonymity(k),)
    kept = replace(weak, models=(KAnonymity(k),))
    assert find_in_verdict(Verdict((line,)), kept, looked.inspection, looked.starter)[0].remedies == ()


def test_every_surface_asks_for_the_same_number_of_values(looked):
    bare = replace(answer(looked, who="public"), models=(KAnonymity(12),))
    asked = {each.sensitive: each.l for each in answer(looked, who="public").models if hasattr(each, "l")}
    line = Line("limit", "failed", (), {"limit": 0.0, "value": 0.5}, figure="homogeneous")
    [finding] = find_in_verdict(Verdict((line,)), bare, looked.inspection, looked.starter)
    assert {each.sensitive: each.l for each in finding.remedies[0].policy.models[1:]} == asked
    [offered, *_] = [
        each for each in find_in_columns(bare, looked.inspection, looked.starter) if "guarantee" in each.words
    ]
    assert offered.remedies[0].policy.models[-1].l == set(asked.values()).pop()
    # Where an attacker rules one value out, two must be left: a model that asks for fewer gives way.
    attacked = Line("attack", "failed", (), {"beyond_chance": 0.2}, attack="background-knowledge")
    [finding] = find_in_verdict(Verdict((attacked,)), answer(looked, who="public"), looked.inspection, looked.starter)
    assert {each.l for each in finding.remedies[0].policy.models if hasattr(each, "l")} == {3}


def wide_table(path, rows=900):
    """Write visits with a number for each case, rare wards, exact costs, and people who come twice."""
    draw = random.Random(4)  # noqa: S311
    lines = ["person,age,sex,case,ward,cost,illness"]
    for place in range(rows):
        ward = draw.choice(["north", "south", "east"]) if draw.random() < 0.96 else f"ward {draw.randrange(60)}"
        illness = draw.choice(["flu", "gout", "acne"])
        age, sex, cost = draw.randrange(20, 80), draw.choice("mf"), draw.gauss(4_000, 900)
        lines.append(f"p{place // 2},{age},{sex},{70_000 + place},{ward},{cost:.2f},{illness}")
    path.write_text("\n".join(lines))


@pytest.mark.parametrize(
    "roles",
    [
        {"cost": "sensitive"},
        {"cost": "insensitive"},
        {"ward": "insensitive"},
        {"case": "insensitive", "ward": "insensitive"},
    ],
)
@pytest.mark.parametrize("people", [False, True])
def test_every_remedy_that_is_offered_settles_what_it_is_offered_for(desk, tmp_path, roles, people):
    path = tmp_path / "visits.csv"
    wide_table(path)
    found = look(desk, path, Reading())
    every = {"person": "person" if people else "identifier", "age": "quasi", "sex": "quasi", "case": "identifier",
             "ward": "identifier", "cost": "identifier", "illness": "sensitive"} | roles  # fmt: skip
    schema = Schema.from_roles({name: Role(role) for name, role in every.items()})
    base = replace(found.policy, schema=schema, hierarchies={}, models=(KAnonymity(3),), transformations={})
    base = with_answers(base, {"who": "public"}, looked=found.inspection, starter=found.starter)

    def judge(policy, name):
        made = search(desk, policy, tmp_path / name)
        risk = assess_release(desk, policy, made["files"])
        return verdict_of(risk["figures"], PROFILES["public"]()), risk["treatments"]

    verdict, treatments = judge(base, "release")
    kinds = {"published-columns", "column-set", "sensitive-column"}
    findings = find_in_verdict(verdict, base, found.inspection, found.starter, treatments=treatments)
    open_lines = [line for line in verdict.open if line.kind in kinds]
    assert open_lines
    tried = 0
    for line, finding in zip(verdict.open, findings, strict=True):
        for place, remedy in enumerate(finding.remedies if line.kind in kinds else ()):
            assert "Round case" not in remedy.words
            assert policy_from_toml(policy_to_toml(remedy.policy), base=remedy.policy.base) == remedy.policy
            after, _ = judge(remedy.policy, f"{line.kind}-{tried}-{place}")
            left = {(each.kind, each.columns) for each in after.open}
            assert (line.kind, line.columns) not in left, remedy.words
            if line.kind != "sensitive-column":
                assert not {"published-columns", "column-set"} & {kind for kind, _ in left}, remedy.words
            tried += 1
    assert tried >= 2


def test_people_in_several_classes_are_brought_together_by_dropping_what_changes(desk, tmp_path):
    path = tmp_path / "visits.csv"
    visits = generate_visits(600, seed=2)
    day = pa.array([f"2024-{1 + row % 12:02}-01" for row in range(visits.num_rows)])
    pyarrow.csv.write_csv(visits.append_column("visited", day), path)
    found = look(desk, path, Reading())
    schema = Schema(
        person=["person"], quasi=["age", "sex", "visited"], identifiers=["zipcode"], sensitive=["diagnosis"]
    )
    base = replace(found.policy, schema=schema, hierarchies={}, models=(KAnonymity(4),), transformations={})

    def judge(policy, name):
        made = search(desk, policy, tmp_path / name)
        risk = assess_release(desk, policy, made["files"])
        return verdict_of(risk["figures"]), risk["treatments"]

    verdict, treatments = judge(base, "release")
    assert treatments.varying == ("visited",)
    findings = find_in_verdict(verdict, base, found.inspection, found.starter, treatments=treatments)
    (finding,) = [each for line, each in zip(verdict.open, findings, strict=True) if line.kind == "several-classes"]
    (remedy,) = finding.remedies
    assert remedy.words == "Drop visited (make it an identifier)"
    after, left = judge(remedy.policy, "without")
    assert left.varying == ()
    assert "several-classes" not in {line.kind for line in after.open}


def test_rare_values_are_joined_and_the_joined_ones_are_not_rare():
    column = pa.chunked_array([["a"] * 9 + ["b"] * 6 + list("cdefgh")])
    joined = join_rare(column)
    assert {row[1] for row in joined.rows} == {"a", "b", "other"}
    assert join_rare(pa.chunked_array([["a"] * 9 + ["b"] * 6 + ["c"]])) is None, "one joined value stays unique"
    one = {"a": 900, "b": 800, "c": 7}
    assert join_values(one, least=10) is None, "one value alone would only be called otherwise"
    assert join_values(one | {"d": 3}, least=10) is not None
    taken = pa.chunked_array([["other"] * 9 + ["b"] * 6 + list("cdefgh")])
    assert {row[1] for row in join_rare(taken).rows} == {"other", "b", "other values"}


@pytest.mark.parametrize("seed", range(3))
def test_what_is_suggested_leaves_no_row_with_a_value_of_its_own(seed):
    column = generate_patients(4_000, seed=seed)["cost"]
    coarser = suggest_coarser(column)
    low, high = coarser.get("bottom", -math.inf), coarser.get("top", math.inf)
    rounded = [max(min(round(value / coarser["round"]) * coarser["round"], high), low) for value in column.to_pylist()]
    assert min(rounded.count(value) for value in set(rounded)) >= 5
    assert suggest_coarser(pa.chunked_array([["a", "b"]])) is None
    days = pa.chunked_array([pa.array(range(3_000), pa.int32()).cast(pa.date32())])
    assert suggest_coarser(days) == {"truncate": "month"}


def test_a_release_is_written_as_its_table_was(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text("Name;Kosten\nA;1,5\nB;2,5\n", encoding="cp1252")
    how = writing_like(path, Reading(decimal=","))
    assert (how.delimiter, how.decimal, how.formulas) == (";", ",", True)
    assert writing_like(Path(tmp_path / "sheet.xlsx").with_suffix(".parquet"), Reading()).plain


@pytest.mark.parametrize("shape", [SAME, LEAST])
def test_solutions_go_from_safer_to_finer_and_the_own_one_is_among_them(looked, desk, tmp_path, shape):
    policy = answer(looked, who="internal", shape=shape)
    made = search(desk, policy, tmp_path / "release")
    found = solve(desk, policy, made)
    own = found.solutions[found.own]
    assert own.loss == pytest.approx(made["loss"])
    risks = [each.risk for each in found.solutions]
    assert risks == sorted(risks) or found.kind == "sizes"
    sizes = [each.size for each in found.solutions]
    assert sizes == sorted(sizes, reverse=True)
    assert all(len(each.after) == len(found.before) for each in found.solutions)
    other = next(each for each in found.solutions if not each.own)
    again = search(desk, with_solution(policy, other), tmp_path / "other")
    assert again["loss"] == pytest.approx(other.loss)


def test_a_name_that_is_a_formula_has_ways_out_that_find_a_release(desk, tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("=age;sex\n" + "".join(f"{20 + place % 30};{'mf'[place % 2]}\n" for place in range(300)))
    found = look(desk, path, Reading())
    [finding, *_] = find_in_columns(found.policy, found.inspection, found.starter)
    assert "=age" in finding.words
    with pytest.raises(OutputError, match="takes the name of a column for a formula"):
        search(desk, found.policy, tmp_path / "guarded")
    assert len(finding.remedies) == 3
    for place, remedy in enumerate(finding.remedies):
        assert not find_in_names(remedy.policy, found.inspection, found.starter)
        assert search(desk, remedy.policy, tmp_path / str(place))["holds"]
