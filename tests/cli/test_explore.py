"""`indistinct explore`, and `anonymize --node`: from a table to its lattice, and from a node to a release."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from indistinct.job.policy import policy_from_toml, policy_to_toml, read_policy

POLICY = """
[input]
path = "patients.csv"

[columns]
name     = "identifier"
age      = { role = "quasi", hierarchy = { intervals = [10, 20] } }
sex      = { role = "quasi" }
zipcode  = { role = "quasi", hierarchy = { mask = "right", levels = 2 } }
admitted = "insensitive"
disease  = { role = "sensitive" }
cost     = "insensitive"

[privacy]
models = ["k-anonymity:k=3"]
suppression = 0.05

[output]
path = "release.csv"
"""
FLAGS = [
    *("--identifier", "name", "--quasi", "age,sex,zipcode", "--sensitive", "disease"),
    *("--insensitive", "admitted,cost", "--model", "k-anonymity:k=3", "--suppression", 0.05),
    *("--hierarchy", "age=intervals:10,20", "--hierarchy", "zipcode=mask:right"),
]


@pytest.fixture
def policy(patients: Path) -> Path:
    path = patients.with_name("policy.toml")
    path.write_text(POLICY, encoding="utf-8")
    return path


def document_of(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_from_the_lattice_to_the_release_of_a_node(policy: Path, run) -> None:
    document = document_of(run("explore", policy, "--json"))
    assert len(document["nodes"]) == 4 * 2 * 4
    assert document["suppression"] == 15
    best = next(node for node in document["nodes"] if node["node"] == document["best"])
    assert best["satisfied"]
    released = document_of(
        run("anonymize", policy, "--node", ",".join(map(str, best["node"])), "-o", policy.with_name("x.csv"), "--json")
    )
    assert released["k"] == best["smallest_class"] >= 3
    assert (released["suppressed_rows"], released["classes"]) == (best["suppressed_rows"], best["classes"])
    assert released["metrics"]["loss"] == pytest.approx(best["loss"])
    assert released["certificate"]["algorithm"] == "node:levels=" + "|".join(map(str, best["node"]))


def test_the_screen_shows_satisfying_nodes_and_the_front(policy: Path, run) -> None:
    ran = run("explore", policy, "--limit", 2)
    assert ran.code == 0, ran.err
    assert "32 nodes over age, sex, zipcode" in ran.out
    assert "2 of 32 nodes shown" in ran.out
    assert "Pareto front of loss against risk" in ran.out
    assert "minimal" in ran.out
    assert "width 10" in ran.out
    every = run("explore", policy, "--all", "--metric", "precision", "--node", "0,0,0")
    assert "nodes shown" not in every.out
    assert "0,0,0 *" in every.out
    assert "precision" in every.out
    assert "discernibility" not in every.out


def test_flags_say_what_a_policy_says(patients: Path, policy: Path, run) -> None:
    by_flags = document_of(run("explore", patients, *FLAGS, "--metric", "loss", "--json"))
    assert by_flags["columns"][0]["levels"][1].startswith("width 10")
    assert by_flags["suppression"] == 15
    assert "loss" in by_flags["metrics"]
    assert run("explore", policy, "--quasi", "age").code == 2


def test_the_picture_is_written_whole_and_never_over_something(policy: Path, run) -> None:
    target = policy.with_name("lattice.svg")
    ran = run("explore", policy, "--svg", target, "--json")
    assert document_of(ran)["svg"] == str(target)
    root = ElementTree.parse(target).getroot()  # noqa: S314
    assert root.tag.endswith("svg")
    assert "best loss" in target.read_text(encoding="utf-8")
    before = target.read_bytes()
    ran = run("explore", policy, "--svg", target)
    assert ran.code == 1
    assert "exists" in ran.err or "already" in ran.err
    assert target.read_bytes() == before
    assert run("explore", policy, "--svg", target, "--overwrite", "--node", "1,0,2").code == 0
    assert ">chosen<" in target.read_text(encoding="utf-8")
    assert run("explore", policy, "--svg", policy, "--overwrite").code == 2
    assert policy.read_text(encoding="utf-8") == POLICY


def test_a_lattice_that_fits_no_page_leaves_no_picture(patients: Path, run) -> None:
    target = patients.with_name("lattice.svg")
    wide = [*FLAGS[:2], "--quasi", "age,sex,zipcode,admitted,cost", *FLAGS[4:6], *FLAGS[8:]]
    ran = run("explore", patients, *wide, "--hierarchy", "admitted=dates:day,month,year", "--svg", target)
    assert ran.code == 2
    assert "picture" in ran.err
    assert not target.exists()
    assert not list(target.parent.glob(".*"))
    ran = run("explore", patients, *wide, "--most", 10)
    assert ran.code == 2
    assert "more than the limit of 10" in ran.err


def test_a_model_that_no_node_can_satisfy(patients: Path, run) -> None:
    ran = run("explore", patients, *FLAGS[:8], "--model", "k-anonymity:k=301")
    assert ran.code == 3
    assert ran.out == ""


@pytest.mark.parametrize(
    ("extra", "code", "words"),
    [
        (["--node", "9,0,0"], 2, "age 0 to 3, sex 0 to 1, zipcode 0 to 3"),
        (["--node", "1,0"], 2, "age 0 to 3"),
        (["--node", "one"], 2, "whole numbers"),
        (["--node", "-1,0,0"], 2, "whole numbers from 0"),
        (["--node", "0,0,0"], 3, "of 300 rows are suppressed; 15 may be"),
    ],
)
def test_nodes_that_cannot_be_published(policy: Path, run, extra, code, words) -> None:
    target = policy.with_name("x.csv")
    ran = run("anonymize", policy, *extra, "-o", target)
    assert ran.code == code, ran.err
    assert words in " ".join(ran.err.split())
    assert not target.exists()


def test_a_node_takes_the_place_of_an_algorithm(patients: Path, policy: Path, run) -> None:
    target = patients.with_name("x.csv")
    ran = run("anonymize", patients, *FLAGS, "--node", "2,0,3", "--algorithm", "mondrian", "-o", target)
    assert ran.code == 2
    assert "--algorithm" in ran.err
    ran = run("anonymize", policy, "--node", "3,0,3", "-o", target)
    assert ran.code == 0, ran.err
    assert "node:levels=3|0|3 takes the place of auto" in ran.err


def test_a_policy_can_choose_a_node(policy: Path, run) -> None:
    policy.write_text(POLICY + "\n[algorithm]\nnode = [3, 0, 3]\n", encoding="utf-8")
    read = read_policy(policy)
    assert 'use = "node:levels=3|0|3"' in policy_to_toml(read)
    assert policy_from_toml(policy_to_toml(read), base=policy.parent) == read
    document = document_of(run("anonymize", policy, "--json"))
    assert document["certificate"]["algorithm"] == "node:levels=3|0|3"
    assert document_of(run("explore", policy, "--json"))["chosen"] == [3, 0, 3]
    for node in ("[]", '["1"]', "[1.5]", "3", '[3, 0, 3]\nuse = "mondrian"', "[-1, 0, 0]"):
        policy.write_text(POLICY + f"\n[algorithm]\nnode = {node}\n", encoding="utf-8")
        ran = run("explore", policy)
        assert ran.code == 1, node
        assert "[algorithm]" in ran.err
