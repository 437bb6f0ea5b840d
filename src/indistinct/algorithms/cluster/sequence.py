"""Sequence numbers of clusters: how two-level clustering finds similar clusters without a search (Verma 2013).

A vector of digits is numbered as a many-sided odometer counts, from 1. Clusters that differ in one attribute only then
stand a fixed stride apart, and in an array in this order those that begin alike are one run. A group-by on the vector
without that attribute finds the same clusters, which is what the algorithm does.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from indistinct.arrays import Codes
from indistinct.errors import ParameterError


def strides(choices: Sequence[int]) -> list[int]:
    """Return how far apart the numbers of two clusters are that differ by one in one attribute.

    >>> strides([2, 3, 2, 3])
    [18, 6, 3, 1]
    """
    return [prod(choices[place + 1 :]) for place in range(len(choices))]


def sequence_number(digits: Sequence[int], choices: Sequence[int]) -> int:
    """Return the number of a cluster, from 1; attribute `i` has one of `choices[i]` values, digits count from 0.

    Numbers are exact however many attributes there are.

    >>> sequence_number([0, 2, 0, 1], [2, 3, 2, 3])
    14
    """
    if any(not 0 <= digit < count for digit, count in zip(digits, choices, strict=True)):
        raise ParameterError("a digit must be at least 0 and below the number of its attribute's values")
    return 1 + sum(digit * stride for digit, stride in zip(digits, strides(choices), strict=True))


def digits_of(number: int, choices: Sequence[int]) -> tuple[int, ...]:
    """Return the digits that a sequence number stands for.

    >>> digits_of(14, [2, 3, 2, 3])
    (0, 2, 0, 1)
    """
    if not 1 <= number <= prod(choices):
        raise ParameterError(f"a sequence number must lie between 1 and {prod(choices)}; got {number}")
    return tuple((number - 1) // stride % count for stride, count in zip(strides(choices), choices, strict=True))


def similar_clusters(attribute: int, choices: Sequence[int]) -> Codes:
    """Return the numbers of clusters that differ in one attribute only: a row for each group, ascending.

    >>> similar_clusters(3, [2, 3, 2, 3])[:2].tolist()
    [[1, 2, 3], [4, 5, 6]]
    """
    if not 0 <= attribute < len(choices):
        raise ParameterError(f"there are {len(choices)} attributes, counted from 0; got {attribute}")
    count, stride = choices[attribute], strides(choices)[attribute]
    firsts = np.arange(prod(choices) // count)
    blocks, offsets = np.divmod(firsts, stride)
    return (blocks * count * stride + offsets)[:, None] + np.arange(count) * stride + 1


def equal_range(vectors: Codes, prefix: Sequence[int]) -> tuple[int, int]:
    """Return where the clusters stand that begin with a prefix: from the first place up to, but without, the second.

    `vectors` ascend lexicographically. Each attribute narrows the run of those before it by two binary searches.

    >>> equal_range(np.array([[0, 1], [1, 0], [1, 2], [2, 0]]), [1])
    (1, 3)
    """
    low, high = 0, len(vectors)
    for attribute, digit in enumerate(prefix):
        run = vectors[low:high, attribute]
        left, right = np.searchsorted(run, digit, side="left"), np.searchsorted(run, digit, side="right")
        low, high = low + int(left), low + int(right)
    return low, high
