"""What every registered attack must do: run or say why not, report plain JSON, tell no value, and repeat itself."""

import json
import re
from dataclasses import fields, is_dataclass

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.evaluation.attack.attack import target_of
from indistinct.evaluation.attack.base import Attack
from indistinct.evaluation.attack.registry import ATTACKS, parse_attack
from indistinct.text_form import spell

KEYS = {
    "attack",
    "attempts",
    "successes",
    "success_interval",
    "baseline",
    "control",
    "control_attempts",
    "control_interval",
    "risk",
    "interval",
    "beyond_chance",
    "succeeds",
    "sentence",
    "defend",
    "details",
}
# Values that no sentence of ours could hold by accident.
CITIES, ILLS = ["Quixburg", "Zwolnax", "Ytterby", "Vlorpia"], ["xenitis", "qualgia", "zymosis", "vortemia"]
SECRETS = re.compile("|".join([*CITIES, *ILLS, "jaxoid", "kweroid", "Pwyx", "wq", r"(?<![\d.])710\d\d(?!\d)"]))
SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "city"], sensitive=["illness"], insensitive=["ward"])
HIERARCHIES = {"illness": ind.Hierarchy.tree({"*": {"jaxoid": ILLS[:2], "kweroid": ILLS[2:]}})}


def people(rows, seed):
    chance = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"Pwyx{number}q{seed}" for number in range(rows)],
            "age": 71_000 + chance.integers(0, 40, rows),
            "city": chance.choice(CITIES, rows),
            "illness": chance.choice(ILLS, rows),
            "ward": [f"wq{number}" for number in chance.permutation(rows)],
        }
    )


ORIGINAL, OUTSIDE = people(60, 1), people(30, 2)
RELEASES = {
    name: ind.anonymize(ORIGINAL, SCHEMA, algorithm=name, model=model)
    for name, model in {"mondrian": "k-anonymity:k=4", "anatomy:l=2": None, "slicing:l=2": None}.items()
}
KNOWN = {
    "original": ORIGINAL,
    "external": ORIGINAL.select(["name", "age", "city"]),
    "control": OUTSIDE,
    "earlier": RELEASES["mondrian"],
    "earlier_original": ORIGINAL,
    "hierarchies": HIERARCHIES,
    "seed": 5,
}
# Attacks whose default takes long, as they are run here.
SHORT = {"predictable-seed": "predictable-seed:seeds=15"}
every_attack = pytest.mark.parametrize("name", ATTACKS)


@every_attack
def test_an_attack_is_a_frozen_value_with_a_spelling(name) -> None:
    kind = ATTACKS[name]
    assert issubclass(kind, Attack)
    assert is_dataclass(kind)
    # Attacks on sensitive values differ only in what they take for learnt, and share a file.
    shared = dict.fromkeys(("homogeneity", "background-knowledge", "skewness", "similarity"), "attributes")
    home = {**shared, "unsorted-matching": "row_order"}.get(name, name.replace("-", "_").lower())
    assert kind.__module__ == f"indistinct.evaluation.attack.{home}"
    attack = parse_attack(name)
    assert parse_attack(spell(attack)) == attack == kind()
    assert (kind.__doc__ or "").strip()
    assert all(hasattr(attack, field.name) for field in fields(kind))


@every_attack
@pytest.mark.parametrize("algorithm", RELEASES)
def test_an_attack_runs_or_says_why_not(name, algorithm) -> None:
    attack = parse_attack(SHORT.get(name, name))
    reason = attack.refusal(target_of(RELEASES[algorithm], **KNOWN))
    if reason is not None:
        with pytest.raises(ind.ParameterError, match="does not apply to this release") as raised:
            ind.attack(attack, RELEASES[algorithm], **KNOWN)
        assert reason in raised.value.message
        assert not SECRETS.search(str(raised.value))
        return
    found = ind.attack(attack, RELEASES[algorithm], **KNOWN)
    told = found.to_json()
    assert set(told) == KEYS
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert 0 <= told["successes"] <= told["attempts"]
    assert 0 <= told["baseline"] <= 1
    assert 0 <= told["interval"][0] <= told["risk"] <= told["interval"][1] <= 1
    assert told["sentence"].endswith(".")
    assert told["defend"]
    text = json.dumps(told) + repr(found)
    assert not SECRETS.search(text)


@every_attack
def test_an_attack_repeats_itself_with_a_seed(name) -> None:
    first, again = (_told(name) for _ in range(2))
    assert first == again


def _told(name):
    try:
        return ind.attack(SHORT.get(name, name), RELEASES["mondrian"], **KNOWN).to_json()
    except ind.ParameterError as error:
        return error.message


@every_attack
def test_without_a_control_it_is_null_or_a_coin(name) -> None:
    """An attack without people outside says so; the order of a file is compared with a shuffle."""
    known = {key: value for key, value in KNOWN.items() if key not in ("control", "external")}
    try:
        found = ind.attack(SHORT.get(name, name), RELEASES["mondrian"], **known)
    except ind.ParameterError:
        return
    if found.control is None:
        assert "control" in found.sentence
