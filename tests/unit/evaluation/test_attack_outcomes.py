"""Outcomes of attacks: residual risk beyond a control, and intervals."""

import pytest

from indistinct.document.blocks import Grid
from indistinct.evaluation.attack.base import Outcome, Tally, newcombe, wilson


def outcome(successes: float, attempts: int, control: Tally | None = None, baseline: float = 0.0) -> Outcome:
    return Outcome("guess", Tally(attempts, successes), baseline, "A sentence.", control)


def test_wilson_agrees_with_published_figures() -> None:
    # Newcombe 1998, Statistics in Medicine 17: 857, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    found = [wilson(*counts) for counts in ((81, 263), (15, 148), (0, 20), (1, 29))]
    wanted = [(0.2553, 0.3662), (0.0624, 0.1605), (0.0, 0.1611), (0.0061, 0.1718)]
    assert [(round(low, 4), round(high, 4)) for low, high in found] == wanted


def test_newcombe_agrees_with_published_figures() -> None:
    # Newcombe 1998, Statistics in Medicine 17: 873, table II, method 10.
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe(9, 10, 3, 10) == pytest.approx((0.1705, 0.8090), abs=5e-5)
    assert newcombe(10, 10, 0, 20) == pytest.approx((0.6791, 1.0), abs=5e-5)


def test_risk_is_what_succeeds_beyond_the_control() -> None:
    assert outcome(30, 100).risk == 0.3
    assert outcome(60, 100, Tally(100, 20)).risk == pytest.approx(0.5)
    assert outcome(10, 100, Tally(100, 20)).risk == 0.0
    assert outcome(100, 100, Tally(100, 100)).risk == 0.0


def test_an_attack_succeeds_only_beyond_chance() -> None:
    assert outcome(60, 100, baseline=0.4).succeeds
    assert not outcome(45, 100, baseline=0.4).succeeds
    assert not outcome(60, 100, Tally(100, 58), baseline=0.4).succeeds
    assert not outcome(0, 0).succeeds


def test_nothing_is_known_without_attempts() -> None:
    told = outcome(0, 0).to_json()
    assert (told["risk"], told["interval"], told["control"]) == (0.0, [0.0, 1.0], None)


def test_the_share_that_is_found_stands_beside_the_risk_beyond_control():
    told = Outcome("unsorted-matching", Tally(1_942, 960), 0.5, "…", control=Tally(1_942, 971)).document()
    (table,) = (block for block in told.blocks if isinstance(block, Grid))
    shown = dict(zip(table.headings, (getattr(cell, "text", cell) for cell in table.rows[0]), strict=True))
    assert (shown["found"], shown["share"], shown["control"]) == ("960 of 1,942", "49.4 %", "50 %")
    assert shown["beyond control"] == "0 %"
