"""Confidence intervals of shares, and of the difference of two, that hold for few attempts as well."""

import math

# A normal estimate lies within so many deviations in 95 % of cases.
DEVIATIONS = 1.959963984540054

Interval = tuple[float, float]


def wilson(successes: float, attempts: int) -> Interval:
    """Return the 95 % interval of a share of successes (Wilson 1927); nothing is known without attempts.

    >>> [round(end, 3) for end in wilson(0, 10)]
    [0.0, 0.278]
    """
    if attempts <= 0:
        return (0.0, 1.0)
    share, square = successes / attempts, DEVIATIONS**2
    middle = (share + square / (2 * attempts)) / (1 + square / attempts)
    spread = DEVIATIONS * math.sqrt(share * (1 - share) / attempts + square / (4 * attempts**2))
    half = spread / (1 + square / attempts)
    return (max(middle - half, 0.0) if share > 0 else 0.0, min(middle + half, 1.0) if share < 1 else 1.0)


def newcombe(successes: float, attempts: int, others: float, other_attempts: int) -> Interval:
    """Return the 95 % interval of the difference of two shares (Newcombe 1998, method 10).

    >>> [round(end, 2) for end in newcombe(56, 70, 48, 80)]
    [0.05, 0.33]
    """
    first, second = wilson(successes, attempts), wilson(others, other_attempts)
    one = successes / attempts if attempts > 0 else 0.5
    other = others / other_attempts if other_attempts > 0 else 0.5
    low = one - other - math.hypot(one - first[0], second[1] - other)
    high = one - other + math.hypot(first[1] - one, other - second[0])
    return (max(low, -1.0), min(high, 1.0))
