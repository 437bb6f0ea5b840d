"""Cells and the classes that cover them, compared with sets: many classes, small blocks, values that nobody covers."""

import numpy as np
import pytest

from indistinct.frequencies.value import Classes, FrequencySet
from indistinct.machine.arrays import starts_of
from indistinct.view import cover


@pytest.mark.parametrize("classes", [1, 63, 64, 65, 130])
@pytest.mark.parametrize(("block", "together"), [(1, 64), (200, 7), (1 << 20, 1 << 10)])
def test_pairs_are_those_of_sets(classes, block, together, monkeypatch):
    monkeypatch.setattr(cover, "BLOCK", block)
    monkeypatch.setattr(cover, "TOGETHER", together)
    generator = np.random.default_rng(classes)
    vectors = np.unique(generator.integers(0, 6, size=(40, 3)), axis=0).astype(np.int32)
    cells = FrequencySet(("a", "b", "c"), vectors, Classes(np.ones(len(vectors), dtype=np.int64)))
    parts = [[np.flatnonzero(generator.random(8) < 0.6) for _ in range(classes)] for _ in range(3)]
    covers = [cover.cover_of_codes(starts_of([len(each) for each in own]), np.concatenate(own)) for own in parts]
    wanted = [
        (cell, place)
        for cell, vector in enumerate(vectors.tolist())
        for place in range(classes)
        if all(code in parts[column][place].tolist() for column, code in enumerate(vector))
    ]
    found = cover.pairs_of_cells(cells, covers)
    assert list(zip(*(each.tolist() for each in found), strict=True)) == wanted
