"""What the page shows of a release is German: what was found, other solutions, risk, attacks, and its files."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.csv
import pytest

from indistinct.algorithms.registry import EVERY_ALGORITHM, parse_algorithm
from indistinct.document.catalogue import read_catalogue
from indistinct.hierarchy import KINDS
from indistinct.job.policy import Policy
from indistinct.job.policy.value import AnalysisPlan
from indistinct.models import DistinctLDiversity, KAnonymity
from indistinct.models.registry import EVERY_MODEL
from indistinct.models.words import words_of
from indistinct.parameters import constraints_of, labels_of
from indistinct.samples import generate_patients
from indistinct.schema import Role
from indistinct.settings import TRUTH
from indistinct.suppression_limit import Budget
from indistinct.tables import Reading
from indistinct.web.algorithm_words import words_of_algorithm
from indistinct.web.deciding import with_answers, with_roles
from indistinct.web.following import every_attack
from indistinct.web.sessions import Session, Settings, Work, job_of
from indistinct.web.standing import INSPECTED, RELEASED, STARTER
from indistinct.web.steps import STEPS
from indistinct.web.steps.algorithm_grid import COMPARED, grid_job
from indistinct.web.steps.before_after import DISTANCES
from indistinct.web.steps.opening import FORM, NOTES
from indistinct.web.steps.release import ABOUT, WRITING
from indistinct.web.steps.solutions import EXPLORED
from indistinct.web.tasks.exploring import compare_grid, explore_all, explored_job
from indistinct.web.tasks.hierarchies import begin_hierarchy
from indistinct.web.tasks.looking import Look, look
from indistinct.web.tasks.published import all_distances
from indistinct.web.tasks.searching import search
from indistinct.web.worker import Desk, task_error
from references.drawn_page import draw_step, texts_of, work_at_once

GERMAN = read_catalogue("de")
ROWS = 900
AFTER = ("search", "explore", "risk", "release")
Decide = Callable[[Policy, Look], Policy]


@pytest.fixture(scope="module")
def desk() -> Desk:
    return Desk()


@pytest.fixture(scope="module")
def looked(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Look:
    path = tmp_path_factory.mktemp("table") / "patients.csv"
    pyarrow.csv.write_csv(generate_patients(ROWS, seed=4), path)
    found = look(desk, path, Reading())
    assert isinstance(found, Look)
    return found


@pytest.fixture
def session(looked: Look, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session in German with a table."""
    work_at_once(monkeypatch, desk)
    made = Session(tmp_path, Settings(tmp_path, 10, language="de"))
    made.change(looked.policy, name="patients.csv")
    kept = ((INSPECTED, looked.inspection), (NOTES, looked.notes), (STARTER, looked.starter), (FORM, looked.form))
    for key, value in kept:
        made.keep(key, value)
    return made


def publish(session: Session, desk: Desk) -> None:
    policy = session.require_job()
    session.keep(RELEASED, search(desk, policy, session.folder / "release" / "one"), rests_on=job_of(policy))


def english_on(session: Session, *steps: str, **choices: object) -> dict[str, list[str]]:
    """Return what steps say in English."""
    missing = {step: list(draw_step(session, step, choices=dict(choices))[1].missing) for step in steps}
    return {step: texts for step, texts in missing.items() if texts}


def as_it_is(policy: Policy, _looked: Look) -> Policy:
    asked = AnalysisPlan(formulas=("cost ~ age + sex",), tables=("sex, disease",), means=("cost by sex",))
    return replace(policy, analysis=asked)


def by_levels(policy: Policy, looked: Look) -> Policy:
    changed = with_answers(policy, {"who": "public", "shape": "same"}, looked=looked.inspection, starter=looked.starter)
    return replace(changed, suppression=Budget(0.1))


def in_buckets(policy: Policy, _looked: Look) -> Policy:
    return replace(policy, models=(DistinctLDiversity("disease", l=2),), algorithm=parse_algorithm("anatomy:l=3"))


def in_people(policy: Policy, looked: Look) -> Policy:
    changed = with_roles(policy, {"name": Role.PERSON}, looked=looked.inspection, starter=looked.starter)
    return replace(changed, suppression=Budget(0.05), algorithm=parse_algorithm("datafly"))


@pytest.mark.parametrize("decide", [as_it_is, by_levels, in_buckets, in_people])
def test_a_release_is_told_in_german(session: Session, looked: Look, desk: Desk, decide: Decide) -> None:
    session.change(decide(looked.policy, looked))
    publish(session, desk)
    assert english_on(session, *AFTER) == {}
    said = list(texts_of(draw_step(session, "risk")[0]))
    assert "Wer gefunden werden könnte" in said


def test_what_experts_see_is_told_in_german(session: Session, looked: Look, desk: Desk) -> None:
    policy = by_levels(looked.policy, looked)
    session.change(policy)
    publish(session, desk)
    files = session.result(RELEASED)["files"]
    session.keep(EXPLORED, explore_all(desk, policy), rests_on=explored_job(policy))
    grid = compare_grid(desk, policy, ("mondrian", "datafly"), (5, 12))
    session.keep(COMPARED, grid, rests_on=grid_job(policy))
    session.keep(DISTANCES, all_distances(desk, policy, files), rests_on=str(files["table"]))
    node = explore_all(desk, policy).lattice.pareto("loss")[0]["node"]
    assert english_on(session, "explore", expert=True, looked=node) == {}


def test_a_job_that_was_changed_since_says_so_in_german(session: Session, looked: Look, desk: Desk) -> None:
    publish(session, desk)
    session.change(replace(looked.policy, suppression=Budget(40, "rows")))
    assert english_on(session, *AFTER) == {}


@pytest.mark.parametrize("kind", ["intervals", "cuts", "dates", "mask", "order", "tree", "suppression"])
def test_each_hierarchy_is_told_in_german(session: Session, looked: Look, desk: Desk, kind: str) -> None:
    column = {"dates": "admitted", "mask": "zipcode", "order": "sex", "tree": "zipcode"}.get(kind, "age")
    made = begin_hierarchy(desk, looked.policy, column, kind=kind)
    session.change(replace(looked.policy, hierarchies={**looked.policy.hierarchies, column: made}))
    assert english_on(session, "hierarchies", column=column) == {}


@pytest.mark.parametrize("name", EVERY_MODEL.builtin)
def test_the_form_of_each_model_is_german(session: Session, name: str) -> None:
    assert english_on(session, "privacy", new={"name": name, "texts": {}}) == {}


def test_a_search_that_finds_nothing_says_so_in_german(session: Session, looked: Look, desk: Desk) -> None:
    session.change(replace(looked.policy, models=(KAnonymity(ROWS), DistinctLDiversity("disease", l=30))))
    session.work = Work("Search", "search", "search", done=True)
    try:
        publish(session, desk)
    except Exception as error:  # noqa: BLE001 (as the page shows it)
        session.work.error = task_error(error)
    assert session.work.error is not None
    assert english_on(session, "search") == {}


ENGLISH = re.compile(r"\b(the|of|each(?!,)|that|which|with|are|is)\b")


def missing_of(*texts: str | None) -> list[str]:
    """Return the texts of which German has nothing, or only parts: the rest stayed as if it were a name."""
    return [text for text in texts if text and ENGLISH.search(GERMAN.translate(text) or "the")]


def test_words_of_models_algorithms_hierarchies_settings_and_attacks_are_there() -> None:
    for model in EVERY_MODEL.builtin.values():
        assert missing_of(words_of(model).title, words_of(model).about, words_of(model).group) == []
        assert missing_of(*(text for pair in labels_of(model).values() for text in pair)) == []
    for algorithm in EVERY_ALGORITHM.builtin.values():
        words = words_of_algorithm(algorithm)
        assert missing_of(words.title, words.about) == []
        assert missing_of(*(text for pair in labels_of(algorithm).values() for text in pair)) == []
    for kind in KINDS.values():
        parameters = [each for _, _, each, _ in constraints_of(kind.kind)]
        assert missing_of(kind.title, kind.meaning) == []
        assert kind.key in ("rows", "file", "parents") or (
            missing_of(*(text for each in parameters for text in (each.label, each.meaning))) == []
        )
    assert missing_of(*(text for each in ABOUT.values() for text in (each.label, each.help))) == []
    assert (
        missing_of(*(text for each in WRITING.values() if each.kind is TRUTH for text in (each.label, each.help))) == []
    )
    assert missing_of(*((each.__doc__ or "").strip().partition("\n")[0] for each in every_attack().values())) == []
    assert len(STEPS) == 8
