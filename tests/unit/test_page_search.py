"""The page's search: its task makes what the command line makes, and leaves nothing half behind."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from indistinct import api
from indistinct.models import KAnonymity
from indistinct.policy import Input, Policy
from indistinct.schema import Schema
from indistinct.web.tasks.searching import search
from indistinct.web.worker import Desk, Progress

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
    certificate = api.verify(files["table"], policy.schema, model="k-anonymity:k=4")
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
