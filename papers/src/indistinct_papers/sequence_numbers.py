"""The machinery of two-level clustering as Verma (2013) describes it: algorithms 3, 6 and 7 of the thesis, corrected.

A cluster has a letter for each quasi-identifier and so a number among all clusters in alphabetical order. Clusters that
become one when a column is generalized are a stride apart, and clusters with a given beginning are neighbours. The
algorithm `two-level` groups rows by their generalized values instead, which gives the same groups in one step.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import prod


def number_of(letters: str, options: Sequence[int]) -> int:
    """Return the sequence number of a cluster, from 1; `options` are the numbers of values (algorithm 3).

    >>> number_of("ACAB", (2, 3, 2, 3))
    14
    """
    return bounds_of(letters, options)[-1][0]


def letters_of(number: int, options: Sequence[int]) -> str:
    """Return the cluster that has a sequence number.

    >>> letters_of(14, (2, 3, 2, 3))
    'ACAB'
    """
    rest, found = number - 1, ""
    for choices in reversed(options):
        rest, code = divmod(rest, choices)
        found = chr(ord("A") + code) + found
    return found


def bounds_of(letters: str, options: Sequence[int]) -> list[tuple[int, int]]:
    """Return, after each letter, the lowest and the highest number of the clusters that begin so.

    >>> bounds_of("ACAB", (2, 3, 2, 3))
    [(1, 18), (13, 18), (13, 15), (14, 14)]
    """
    lower, upper, found = 1, prod(options), list[tuple[int, int]]()
    for letter, choices in zip(letters, options, strict=True):
        span = (upper - lower + 1) // choices
        lower += (ord(letter) - ord("A")) * span
        upper = lower + span - 1
        found.append((lower, upper))
    return found


def similar_numbers(column: int, options: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the groups of clusters that become one when a column is generalized to its root (algorithm 7).

    Members are as far apart as the columns to the right have combinations.

    >>> similar_numbers(2, (2, 3, 2, 3))[:2]
    [(1, 4), (2, 5)]
    """
    stride, choices = prod(options[column + 1 :]), options[column]
    firsts = [number for number in range(1, prod(options) + 1) if (number - 1) // stride % choices == 0]
    return [tuple(first + stride * step for step in range(choices)) for first in firsts]


def narrow_limits(clusters: Sequence[str], beginning: str) -> list[tuple[int, int]]:
    """Return, after each letter, between which places of sorted clusters those lie that begin so (algorithm 6).

    Both ends are found by bisection and are inside, places are counted from 1; the last end is below the first where
    there is none.

    >>> narrow_limits(["AC", "AD", "BC", "BD", "BE"], "BD")
    [(3, 5), (4, 4)]
    """
    low, high, found = 0, len(clusters), list[tuple[int, int]]()
    for column, letter in enumerate(beginning):

        def letter_at(cluster: str, column: int = column) -> str:
            return cluster[column]

        left = bisect_left(clusters, letter, low, high, key=letter_at)
        high = bisect_right(clusters, letter, low, high, key=letter_at)
        low = left
        found.append((low + 1, high))
    return found
