"""Errors of libraries that get no memory, no thread or no addresses are told from others."""

import pyarrow as pa
import pytest

from indistinct.machine import memory

ALWAYS = (
    MemoryError(),
    OSError(12, "Cannot allocate memory"),
    RuntimeError("can't start new thread"),
    ImportError("_core.so: failed to map segment from shared object"),
    pa.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily unavailable"),
)
LIMITED = (
    OSError("Could not find/load shared object file 'libllvmlite.so' from resource location"),
    RuntimeError("Out of Memory Error: failed to allocate data of size 16.0 MiB"),
    BlockingIOError(11, "Resource temporarily unavailable"),
)


@pytest.mark.parametrize("error", ALWAYS, ids=repr)
def test_what_always_says_that_memory_is_short(error):
    assert memory.is_memory(error)


@pytest.mark.parametrize("error", LIMITED, ids=repr)
def test_what_says_so_only_where_addresses_are_limited(error, monkeypatch):
    monkeypatch.setattr(memory, "address_space", lambda: None)
    assert not memory.is_memory(error)
    monkeypatch.setattr(memory, "address_space", lambda: 1 << 30)
    assert memory.is_memory(error)


def test_other_errors_are_no_want_of_memory(monkeypatch):
    monkeypatch.setattr(memory, "address_space", lambda: 1 << 30)
    assert not memory.is_memory(ValueError("wrong"))
    assert not memory.is_memory(FileNotFoundError(2, "No such file"))
