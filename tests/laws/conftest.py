"""Small tables on the way of large ones, so that both ways can be compared."""

import pytest

from indistinct.engines.memory import _kernels
from indistinct.frequencies import blocks, count, encode, grouping
from indistinct.recoding import regions


@pytest.fixture(scope="session")
def as_if_large():
    """Return what lets small tables go the way of large ones: compiled, and on two threads."""
    return _patch


def _patch(patch):
    for module, name in (
        (encode, "COMPILE_FROM"),
        (count, "PARALLEL_FROM"),
        (grouping, "PARALLEL_FROM"),
        (regions, "COMPILE_FROM"),
        (_kernels, "COMPILE_FROM"),
    ):
        patch.setattr(module, name, 1)
    patch.setattr(blocks, "BLOCK", 3)
    patch.setattr(grouping.os, "cpu_count", lambda: 2)
