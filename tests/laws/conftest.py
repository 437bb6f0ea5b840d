"""Small tables on the way of large ones, so that both ways can be compared."""

import pytest

from indistinct.frequencies import count


@pytest.fixture(scope="session")
def as_if_large():
    """Return what lets small tables go the way of large ones: compiled, and on several threads."""
    return _patch


def _patch(patch, *, threads=2):
    patch.setattr("indistinct.machine.threads.LARGE_ROWS", 1)
    patch.setattr(count, "ROWS_PER_BLOCK", 3)
    patch.setenv("INDISTINCT_THREADS", str(threads))
