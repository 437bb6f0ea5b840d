"""A field of the page that cannot take what was typed: it blocks what rests on the job until that is settled."""

import ast
import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("nicegui")

import indistinct.web
from indistinct.algorithms.auto import Auto
from indistinct.job.policy import Input, Policy
from indistinct.models import DistinctLDiversity, KAnonymity
from indistinct.schema import Schema
from indistinct.suppression_limit import Budget
from indistinct.web.parameters import parse_whole
from indistinct.web.sessions import Refusal, Session, Settings
from indistinct.web.standing import standing
from indistinct.web.steps.algorithm_grid import sizes_of
from indistinct.web.steps.privacy import budget_of
from indistinct.web.worker import TaskError
from references.page_tasks import add

POLICY = Policy(
    Input(Path("people.csv")),
    Schema(quasi=["age"], sensitive=["disease"]),
    (KAnonymity(5), DistinctLDiversity("disease", l=2)),
    algorithm=Auto(),
)
NO_NUMBER = TaskError("k must be a whole number")


@pytest.fixture
def session(tmp_path):
    session = Session(tmp_path / "private", Settings(tmp_path, 10))
    session.change(POLICY)
    yield session
    session.close()


def refused(place=0, *, text="20,", action=""):
    return Refusal(
        "privacy",
        f"model-{place}-k",
        f"Promise {place}",
        text,
        NO_NUMBER,
        lambda policy: policy.models[place : place + 1],
        action,
    )


def begin(session, **options):
    async def run():
        work = session.begin("Adding", add, 1, then=lambda _found: None, **options)
        await work.handle
        return work

    return asyncio.run(run())


def test_nothing_begins_by_a_job_of_which_a_field_is_not_valid(session):
    session.refuse("k", refused())
    with pytest.raises(TaskError, match="Promise 0 is not valid: k must be a whole number"):
        begin(session)
    assert session.work is None
    assert ("", "a field is not valid", "bad") in standing(session)
    assert not begin(session, action=None).error, "a table can be opened all the same"


def test_a_field_of_one_action_is_in_the_way_of_that_action_alone(session):
    session.refuse("size", refused(action="assess"))
    assert not session.refusals()
    with pytest.raises(TaskError, match="not valid"):
        session.require_valid("assess")
    assert not begin(session).error
    assert "a field is not valid" not in [told for _, told, _ in standing(session)]


def test_a_refusal_lasts_until_its_own_part_of_the_job_is_another_one(session):
    session.refuse("k", refused())
    session.change(replace(POLICY, suppression=0.02))
    assert session.refusal("k").text == "20,"
    session.change(replace(session.policy, models=(KAnonymity(20),)))
    assert session.refusal("k") is None
    session.require_valid()


def test_another_table_leaves_nothing_to_correct(session):
    session.refuse("k", refused())
    session.change(replace(POLICY, input=Input(Path("others.csv"))))
    assert session.refusals() == []


def test_undo_takes_back_what_was_typed_before_it_takes_back_a_change(session):
    session.change(replace(POLICY, suppression=0.02))
    session.refuse("k", refused())
    session.refuse("l", refused(1, text="x"))
    session.undo()
    assert [each.text for each in session.refusals()] == ["20,"]
    session.undo()
    assert session.refusals() == []
    assert session.policy.suppression == Budget(0.02)
    session.undo()
    assert session.policy == POLICY


def test_every_field_can_be_left_as_it_was(session):
    session.refuse("k", refused())
    before = session.version
    session.settle_all()
    assert session.refusals() == []
    assert session.version > before, "other tabs see it"


@pytest.mark.parametrize("text", ["20,", "2,5", "1.5", "", "-3", "0", "٣", "1e3", "20 k", "9" * 40, "1,0000"])
def test_a_number_that_was_half_typed_is_none(text):
    with pytest.raises(TaskError, match="must be a whole number"):
        parse_whole(text, what="it")


@pytest.mark.parametrize(
    ("text", "number"), [("20", 20), ("20,000", 20_000), ("1 000 000", 10**6), (" 7 ", 7), ("10_000", 10**4)]
)
def test_marks_between_thousands_are_read(text, number):
    assert parse_whole(text, what="it") == number


def test_sizes_and_shares_that_are_none_are_refused():
    for text in ("2, 5,0", "two"):
        with pytest.raises(TaskError):
            sizes_of(text)
    for text in ("20,,", "x", "101", "nan"):
        with pytest.raises(TaskError):
            budget_of(text)


def test_fields_that_change_the_job_keep_what_they_cannot_take():
    """`Screen.field` does so; the fields of these modules wait for a button, or only choose what is shown."""
    waiting = {
        "frame.py",  # Screen.field itself
        "parameter_fields.py",  # for draw_value, which keeps what was typed, and for a form with a button
        "opening.py",  # a path, with a button
        "reading_form.py",  # a form with a button
        "release.py",  # a folder, with a button
        "editor.py",  # what is sought, and a name for a button
    }
    root = Path(indistinct.web.__file__).parent
    direct = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "parts.field":
                direct.add(path.name)
                assert "kind='number'" not in ast.unparse(node), "a browser hides what it cannot read as a number"
    assert direct == waiting
