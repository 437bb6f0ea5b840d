"""The page's search: its task makes what the command line makes, and leaves nothing half behind."""

import asyncio
import hashlib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.bucket.anatomy import Anatomy
from indistinct.algorithms.bucket.slicing import Slicing
from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.errors import InfeasibleError
from indistinct.evaluation.assess.assess import assess
from indistinct.evaluation.assess.profiles import PROFILES, models_asked_by
from indistinct.evaluation.verify import verify
from indistinct.job.policy import Input, Output, Policy
from indistinct.metrics import parse_metric
from indistinct.models import (
    AlphaK,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveLDiversity,
)
from indistinct.models.base import MODEL_GROUPS
from indistinct.models.registry import MODELS, parse_model
from indistinct.models.words import promise_for_one, words_of
from indistinct.parameters import labels_of, starts_of
from indistinct.release.history.ledger import read_ledger
from indistinct.schema import Schema
from indistinct.web.algorithm_words import algorithms_by_kind, obstacles
from indistinct.web.parameters import FieldError, build_value, default_texts, form_fields, texts_of
from indistinct.web.sessions import Session, Settings, Work, job_of
from indistinct.web.standing import standing
from indistinct.web.steps.found_release import facts_of
from indistinct.web.steps.privacy import budget_of, check_model
from indistinct.web.steps.remedies import remedies_for
from indistinct.web.steps.search import begin_search
from indistinct.web.tasks.searching import search
from indistinct.web.worker import Desk, Progress, TaskError, task_error

ROWS = "age,sex,person,disease\n" + "".join(f"{20 + i % 7},{'fm'[i % 2]},p{i % 20},d{i % 3}\n" for i in range(40))


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    (tmp_path / "people.csv").write_text(ROWS)
    schema = Schema(quasi=["age", "sex"], sensitive=["disease"], identifiers=["person"])
    return Policy(Input(Path("people.csv")), schema, (KAnonymity(4),), base=tmp_path)


def made(policy: Policy, folder: Path) -> dict[str, Any]:
    return search(Desk(), policy, folder)


def test_search_writes_a_release_that_verifies(policy: Policy, tmp_path: Path) -> None:
    found = made(policy, tmp_path / "release" / "one")
    files = found["files"]
    assert found["holds"]
    assert found["k"] >= 4
    assert found["violations"] == 0
    assert found["loss"] == pytest.approx(sum(found["column_losses"].values()) / 2)
    assert {files[kind].name for kind in ("table", "certificate", "recoding")} == {
        "people-release.csv",
        "people-release.csv.certificate.json",
        "recoding.json",
    }
    assert files["recoding"].stat().st_mode & 0o077 == 0
    certificate = verify(files["table"], policy.schema, model="k-anonymity:k=4")
    assert certificate.holds
    assert hashlib.sha256(files["table"].read_bytes()).hexdigest() == found["certificate"]["output_digest"]


def test_search_counts_people(policy: Policy, tmp_path: Path) -> None:
    schema = Schema(quasi=["age", "sex"], sensitive=["disease"], person=["person"])
    found = made(replace(policy, schema=schema), tmp_path / "r")
    assert (found["people"], found["original_people"], found["suppressed_people"]) == (20, 20, 0)
    assert found["k"] >= 4


def test_search_tells_its_stages(policy: Policy, tmp_path: Path) -> None:
    told: list[Progress] = []
    search(Desk(tell=told.append), policy, tmp_path / "r")
    assert [told[0].stage, told[-1].stage] == ["reading", "measuring"]
    assert [each.share for each in told] == sorted(each.share for each in told)
    assert told[-1].share == 1


def test_search_asks_a_ledger_and_tells_it_nothing(policy: Policy, tmp_path: Path) -> None:
    schema = Schema(quasi=["age", "sex"], sensitive=["disease"], person=["person"])
    ledger = tmp_path / "ledger"
    job = replace(policy, schema=schema, output=Output(ledger=ledger))
    assert made(job, tmp_path / "one")["holds"]
    assert read_ledger(ledger) == ()
    made(replace(job, algorithm=Auto(reuse=True)), tmp_path / "two")
    assert read_ledger(ledger) == ()


def test_search_keeps_metrics_and_target(policy: Policy, tmp_path: Path) -> None:
    job = replace(policy, metrics=(parse_metric("precision"),))
    assert set(made(job, tmp_path / "r")["metrics"]) == {"precision"}
    assert "classification" in made(replace(policy, target="disease"), tmp_path / "s")["metrics"]


def test_a_release_in_buckets_has_a_risk_of_links_and_no_loss(policy: Policy, tmp_path: Path) -> None:
    found = made(replace(policy, models=(), algorithm=Anatomy(2)), tmp_path / "r")
    assert found["loss"] is None
    assert [each.name for each in found["files"]["others"]] == ["people-release.sensitive.csv"]
    strip = told_of(session_with(policy, tmp_path / "session", found))
    assert "smallest bucket" in strip
    assert strip["highest risk"].endswith("for a value")
    assert ("Buckets", "20 buckets, the smallest of 2 rows") in facts_of(found)


def test_a_search_that_is_stopped_leaves_nothing_and_the_next_one_replaces_the_last(
    policy: Policy, tmp_path: Path
) -> None:
    folder = tmp_path / "session" / "release"
    session = session_with(policy, tmp_path / "session", made(policy, folder / "first"))

    async def searched(*, stop: bool) -> list[str]:
        begin_search(session)
        assert session.work is not None
        assert session.work.handle is not None
        if stop:
            await asyncio.sleep(0.2)
            session.cancel()
        await session.work.handle
        assert session.stopped is stop
        return [each.name for each in folder.iterdir()]

    try:
        assert asyncio.run(searched(stop=True)) == ["first"]
        (last,) = asyncio.run(searched(stop=False))
    finally:
        session.close()
    assert last != "first"
    assert session.is_fresh("release", job_of(policy))


# Where a job stands


def session_with(policy: Policy, folder: Path, found: dict[str, Any] | None = None) -> Session:
    session = Session(folder, Settings(policy.base, 10**9))
    session.keep(
        "inspection",
        {
            "rows": 40,
            "people": 20,
            "smallest_class": 1,
            "columns": [{"name": "disease", "distinct": 3}, {"name": "age", "distinct": 7}],
        },
    )
    session.change(policy)
    if found is not None:
        session.keep("release", found, rests_on=job_of(policy))
    return session


def told_of(session: Session) -> dict[str, str]:
    return {name: value for name, value, _ in standing(session)}


def test_strip_before_a_search_says_what_is_asked_and_the_risk_now(policy: Policy, tmp_path: Path) -> None:
    assert told_of(session_with(policy, tmp_path)) == {
        "rows": "40",
        "people": "20",
        "k asked": "4",
        "violations": "–",
        "highest risk": "100 % now",
        "loss": "–",
    }


def test_strip_after_a_search_counts_people_and_grows_old(policy: Policy, tmp_path: Path) -> None:
    job = replace(policy, schema=Schema(quasi=["age", "sex"], sensitive=["disease"], person=["person"]))
    found = made(job, tmp_path / "r")
    session = session_with(job, tmp_path / "session", found)
    assert told_of(session)["k reached"] == str(found["k"])
    assert told_of(session)["people"] == "20"
    assert {kind for _, _, kind in standing(session)} == {""}, "nothing is good before the checks are done"
    session.change(replace(job, suppression=0.5))
    assert told_of(session)[""] == "changed since the last search"
    session.undo()
    assert "" not in told_of(session)


def test_a_change_forgets_how_the_last_search_failed(policy: Policy, tmp_path: Path) -> None:
    session = session_with(policy, tmp_path)
    session.work = Work("Search", TaskError("no"), done=True)
    session.change(replace(policy, suppression=0.5))
    assert session.work is None


# Words and fields


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_has_words_for_its_fields(name: str) -> None:
    kind, schema = MODELS[name], Schema(quasi=["age"], sensitive=["disease"], identifiers=["id"])
    shown = {each.name for each in form_fields(MODELS[name], schema)}
    assert set(labels_of(kind)) == shown
    assert words_of(kind).group in MODEL_GROUPS
    texts = {
        **default_texts(MODELS[name]),
        "sensitive": "disease",
        "y": ("id",),
        "population_size": "",
        **starts_of(kind),
    }
    if name == "l-diverse-links":
        texts["sensitive"] = ("disease",)
    if name == "population-uniqueness":
        with pytest.raises(FieldError, match="must be given") as caught:
            build_value(MODELS[name], texts, schema=schema)
        assert caught.value.field == "population_size"
        texts["population_size"] = "1000"
    model = build_value(MODELS[name], texts, schema=schema)
    told = promise_for_one(model, schema)
    assert "{" not in told
    assert build_value(MODELS[name], texts_of(model), schema=schema) == model


def test_a_promise_on_column_sets_says_which_columns() -> None:
    schema = Schema(quasi=["age", "sex", "zip"])
    told = [
        promise_for_one(parse_model(f"subset-anonymity:k=3,{which}"), schema)
        for which in ("size=2", "sets=age+sex|sex+zip")
    ]
    assert told == [
        "An attacker who knows any 2 of age, sex and zip of a person is left with at least 3 rows.",
        "An attacker who knows age and sex, or sex and zip of a person is left with at least 3 rows.",
    ]


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_every_algorithm_has_words_for_its_fields(name: str) -> None:
    kind, schema = ALGORITHMS[name], Schema(quasi=["age"], sensitive=["disease"])
    assert set(labels_of(kind)) == {each.name for each in fields(kind)}
    assert kind.words is not None
    algorithm = build_value(kind, {**default_texts(kind), **starts_of(kind)}, schema=schema)
    assert build_value(kind, texts_of(algorithm), schema=schema) == algorithm
    assert any(name in names for names in algorithms_by_kind().values())


def test_what_no_field_shows_is_kept(tmp_path: Path) -> None:
    (tmp_path / "queries.sql").write_text("SELECT COUNT(*) WHERE age < 30\n")
    cut = parse_algorithm(f"mondrian:workload={tmp_path / 'queries.sql'}")
    changed = build_value(Mondrian, {**texts_of(cut), "positions": "3"}, schema=Schema(), kept=cut)
    assert changed == replace(cut, positions=3)


@pytest.mark.parametrize(
    ("name", "texts", "field"),
    [
        ("k-anonymity", {"k": "0"}, "k"),
        ("k-anonymity", {"k": "1,5"}, "k"),
        ("k-anonymity", {"k": ""}, "k"),
        ("t-closeness", {"sensitive": "disease", "t": "2"}, "t"),
        ("t-closeness", {"sensitive": "", "t": "0.2"}, "sensitive"),
        ("delta-presence", {"low": "0.9", "high": "0.1"}, "low"),
        ("k-map", {"k": "5", "significance": "0.1"}, "significance"),
        ("xy-anonymity", {"k": "5", "y": ()}, "y"),
    ],
)
def test_errors_of_parameters_name_their_field(name: str, texts: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldError) as caught:
        build_value(MODELS[name], texts, schema=Schema(sensitive=["disease"], identifiers=["id"]))
    assert caught.value.field == field
    assert "of KAnonymity" not in caught.value.message


def test_more_than_a_table_has_is_refused_at_its_field(policy: Policy, tmp_path: Path) -> None:
    session = session_with(policy, tmp_path)
    for model, field in ((KAnonymity(41), "k"), (DistinctLDiversity("disease", l=4), "l")):
        with pytest.raises(FieldError) as caught:
            check_model(model, session)
        assert caught.value.field == field
    check_model(KAnonymity(40), session)
    check_model(DistinctLDiversity("disease", l=3), session)


@pytest.mark.parametrize("text", ["", "x", "-1", "101", "1/0", "nan", "inf"])
def test_a_wrong_per_cent_is_refused(text: str) -> None:
    with pytest.raises(TaskError):
        budget_of(text)


@pytest.mark.parametrize("name", list(PROFILES))
def test_a_release_that_a_profile_asks_for_passes_its_gate(name: str, policy: Policy, tmp_path: Path) -> None:
    profile = PROFILES[name]()
    asked = models_asked_by(profile, policy.schema)
    found = made(replace(policy, models=asked.models), tmp_path / "r")
    assert not asked.unmet
    gate = assess(found["files"]["table"], policy.schema, profile=profile).gate
    assert gate is not None
    assert gate.passed


# Where a search finds nothing


def failed(policy: Policy, folder: Path) -> TaskError:
    with pytest.raises(InfeasibleError) as caught:
        made(policy, folder)
    return task_error(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"models": (DistinctLDiversity("disease", l=5),)},
        {"models": (KAnonymity(50),)},
        {"models": (KAnonymity(4), EntropyLDiversity("disease", l=3.5))},
        {"models": (), "algorithm": Anatomy(4)},
        {"models": (AlphaK("disease", alpha=0.2, k=2),)},
        {"models": (RecursiveLDiversity("disease", c=0.4, l=2),)},
        {"models": (), "algorithm": Slicing(l=2, size=50)},
        {"models": (KAnonymity(11),), "algorithm": ChosenNode((0, 0))},
    ],
)
def test_a_remedy_finds_what_was_not_found(changes: dict[str, Any], policy: Policy, tmp_path: Path) -> None:
    job = replace(policy, **changes)
    remedies = remedies_for(failed(job, tmp_path / "none"), job)
    assert remedies
    assert made(remedies[0].policy, tmp_path / "found")["holds"]


def test_other_failures_have_no_remedy(policy: Policy) -> None:
    assert remedies_for(TaskError("no such file", kind="InputError"), policy) == []


def test_obstacles_say_what_an_algorithm_cannot_do(policy: Policy) -> None:
    assert obstacles(Auto(), policy) == ([], [])
    cannot, notes = obstacles(ALGORITHMS["samarati"](), replace(policy, models=(DeltaDisclosure("disease", delta=1),)))
    assert "not monotone" in cannot[0]
    assert "age and sex" in notes[0]
    assert obstacles(Auto(), replace(policy, models=()))[0] == [
        "no model is given, and auto has no privacy guarantee of its own"
    ]
