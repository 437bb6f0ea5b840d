"""Laws of individual risk: the formulas in many digits, one over the class where p is 1, never above it."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indistinct.evaluation.assess.individual import risks_of_counts

quick = settings(max_examples=150, deadline=None)
weights = st.one_of(st.floats(1, 1e15), st.integers(0, 30).map(lambda bits: 1 + 2.0**-bits))


def in_many_digits(f, weight):
    with localcontext() as context:
        context.prec = 80
        population = max(Decimal(weight), Decimal(f))
        p = Decimal(f) / population
        odds, log = p / (1 - p) if p < 1 else None, -p.ln()
        if odds is None:
            return float(1 / Decimal(f))
        return float({1: odds * log, 2: odds - odds**2 * log}.get(f, p / (f - (1 - p))))


@quick
@given(st.integers(1, 6), weights)
@example(2, 1e15)
@example(1, 1.0)
def test_the_formulas_lose_no_digits(f, mean):
    found = risks_of_counts(np.array([f]), np.array([f * mean]))[0]
    assert found == pytest.approx(in_many_digits(f, float(f * mean)), rel=1e-12)


@quick
@given(st.integers(1, 50), st.floats(0, 1e12), st.floats(0, 1e12))
def test_risk_lies_between_0_and_one_over_the_class_and_falls_as_weights_grow(f, one, other):
    low, high = risks_of_counts(np.array([f, f]), np.array(sorted([one, other])))[::-1]
    assert 0 < low <= high * (1 + 1e-12)
    assert high <= 1 / f * (1 + 1e-12)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("f", [1, 2, 3, 5, 12])
def test_risk_is_the_expectation_of_one_over_the_population(f, p):
    """Exact for one and two people, and at most some 4 % too high for more."""
    share, expected = p**f, 0.0
    for population in range(f, int(60 * f / p)):  # negative binomial, term by term
        expected += share / population
        share *= population * (1 - p) / (population + 1 - f)
    found = risks_of_counts(np.array([f]), np.array([f / p]))[0]
    if f <= 2:
        assert found == pytest.approx(expected, rel=1e-9)
    else:
        assert expected <= found <= expected * (1.0405 if f < 5 else 1.015)
