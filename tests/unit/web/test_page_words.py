"""What the page says to somebody who has not read anything else: each word of the trade has a plain one beside it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from indistinct.algorithms.bucket.anatomy import Anatomy
from indistinct.evaluation.verdict import Figures
from indistinct.job.policy import Input, Policy
from indistinct.models import DistinctLDiversity, KAnonymity, Model
from indistinct.models.registry import MODELS
from indistinct.models.words import words_of
from indistinct.release.guarantee import CHECKS, MATCHES, SETS_SHARED
from indistinct.reporting.beginning import promise_in_words
from indistinct.schema import Role, Schema
from indistinct.web.deciding import find_unprotected
from indistinct.web.parameters import FieldError, build_value
from indistinct.web.sessions import Session, Settings, job_of
from indistinct.web.standing import MEANING, standing
from indistinct.web.steps.columns import describe_role
from indistinct.web.steps.found_release import as_sentence
from indistinct.web.steps.search import promises_nothing

SCHEMA = Schema(quasi=["age"], sensitive=["disease", "cost"])
POLICY = Policy(Input(Path("people.csv")), SCHEMA, (KAnonymity(4),))


@pytest.mark.parametrize("role", Role)
def test_every_role_is_told_in_a_few_words(role: Role) -> None:
    assert describe_role(role).startswith(str(role))
    assert len(describe_role(role)) <= 36, "a narrow list cuts it off"
    assert describe_role(role, suggested=True).endswith(" (suggested)")


@pytest.mark.parametrize("name", [*MODELS, *CHECKS, MATCHES, SETS_SHARED])
def test_every_promise_is_told_in_words_and_spelled(name: str) -> None:
    words, _, spelled = promise_in_words(f"{name}:k=3").partition(" (")
    assert " " in words
    assert spelled == f"{name}, k = 3)"
    assert promise_in_words("of-another-package:x=1") == "of-another-package, x = 1"


@pytest.mark.parametrize("kind", MODELS.values())
def test_models_speak_of_equivalence_classes(kind: type[Model]) -> None:
    words = words_of(kind)
    assert "group" not in f"{words.title} {words.about}".lower()


def test_one_is_not_told_as_nobody_stands_alone() -> None:
    for spelled in ("k-anonymity:k=1", "k-map:k=1", "alpha-k:sensitive=disease,alpha=0.5,k=1"):
        assert "alone" not in promise_in_words(spelled)
    assert promise_in_words("k-anonymity:k=1") == "No protection (k-anonymity, k = 1)"


def test_every_figure_of_the_strip_says_what_it_is(tmp_path: Path) -> None:
    session = Session(tmp_path, Settings(tmp_path, 10))
    session.change(POLICY)
    before = {label for label, _, _ in standing(session)}
    made: dict[str, Any] = {"rows": 9, "original_rows": 9, "people": 8, "original_people": 8, "k": 3}
    made |= {"violations": 0, "holds": True, "loss": 0.1, "models": (), "certificate": {"output_digest": "x"}}
    made["figures"] = Figures("rows", 9, 3, 0, promise=True)
    shown = set()
    for form in (None, "tables"):
        session.keep("release", {**made, "form": form}, rests_on=job_of(POLICY))
        shown |= {label for label, _, _ in standing(session)}
    # Jobs on several tables alone show the figure of tables.
    assert before | shown | {"tables"} == set(MEANING)


def test_nothing_is_searched_for_where_nothing_is_promised() -> None:
    nothing = replace(POLICY, models=())
    assert promises_nothing(nothing)
    assert not promises_nothing(POLICY)
    assert not promises_nothing(replace(nothing, algorithm=Anatomy(2)))


def test_sensitive_columns_without_a_promise_are_known() -> None:
    assert find_unprotected(POLICY) == ["disease", "cost"]
    assert find_unprotected(replace(POLICY, models=(DistinctLDiversity("disease", l=2),))) == ["cost"]


@pytest.mark.parametrize("text", ["x", "2.5", "0"])
def test_what_is_wrong_with_a_number_is_said_without_the_name_of_a_class(text: str) -> None:
    with pytest.raises(FieldError) as caught:
        build_value(KAnonymity, {"k": text}, schema=SCHEMA)
    assert caught.value.message.startswith("k must be ")


def test_what_the_library_notes_is_a_sentence_here() -> None:
    assert as_sentence("column 'cost' is published unmodified") == "Column 'cost' is published unmodified."
    assert as_sentence("1,106 of 2,236 people are in several classes") == (
        "1,106 of 2,236 people are in several classes."
    )
