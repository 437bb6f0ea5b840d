"""Published offsets: labels of one class that overlap are counted, whatever the numbers of classes are."""

import numpy as np
import pytest

from indistinct.linked.calendar import OPEN, overlapping


def overlapping_by_hand(low, high, classes):
    count = 0
    for number in set(classes):
        labels = sorted({(low[i], high[i]) for i in range(len(low)) if classes[i] == number})
        count += sum(any(end >= labels[i][0] for _, end in labels[:i]) for i in range(len(labels)))
    return count


@pytest.mark.parametrize("first", [0, (1 << 21) - 2, 1 << 21])
def test_overlapping_labels_are_counted_within_their_class(first):
    dice = np.random.default_rng(first)
    for _ in range(150):
        size = int(dice.integers(0, 20))
        low = dice.integers(-12, 12, size)
        high = low + dice.integers(0, 6, size)
        low[dice.random(size) < 0.1], high[dice.random(size) < 0.1] = -OPEN, OPEN
        classes = first + dice.integers(0, 5, size)
        assert overlapping(low, high, classes) == overlapping_by_hand(*(each.tolist() for each in (low, high, classes)))
