"""Memory that runs out: which step needed how much, in the library's own error."""

import errno

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.engines.memory import Memory
from indistinct.machine.memory import (
    check_address_space,
    free_bytes,
    free_in_container,
    is_memory,
    needs_memory,
    wanted_bytes,
)

TABLE = pa.table({"age": [20, 30] * 5})


def exhausted(error: BaseException):
    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    return fail


def numpy_error() -> MemoryError:
    with pytest.raises(MemoryError) as raised:
        np.empty((1 << 46,), dtype=np.int64)
    return raised.value


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "there is not enough memory for counting cells of 10 rows and 1 columns"),
        (pa.ArrowMemoryError("malloc of size 5242880 failed"), "5 MB more were asked for"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "counting cells"),
        (RuntimeError("can't start new thread"), "counting cells"),
    ],
)
def test_a_step_says_what_it_needed(monkeypatch, error, words):
    monkeypatch.setattr("indistinct.engines.memory.count_for_publishing", exhausted(error))
    with pytest.raises(ind.OutOfMemoryError, match=words) as raised:
        ind.anonymize(TABLE, ind.Schema(quasi=["age"]), model="k-anonymity:k=2")
    assert isinstance(raised.value, MemoryError)
    assert "quasi-identifiers" in raised.value.hint


def test_numpy_says_how_much():
    assert wanted_bytes(numpy_error()) == 1 << 49


def test_other_errors_pass(monkeypatch):
    monkeypatch.setattr("indistinct.engines.memory.count_for_publishing", exhausted(RuntimeError("something else")))
    with pytest.raises(RuntimeError, match="something else"):
        Memory().count(ind.open(TABLE), None)


def test_the_innermost_step_is_named():
    inner = needs_memory("reading the table")(exhausted(MemoryError()))
    with pytest.raises(ind.OutOfMemoryError, match="reading the table"):
        needs_memory("searching")(inner)()


def test_what_is_no_want_of_memory():
    assert not is_memory(OSError(errno.ENOENT, "No such file"))


@pytest.mark.parametrize("limit", [250, 600, 900])
def test_too_few_addresses_are_told_before_libraries_load(monkeypatch, limit):
    monkeypatch.setattr("indistinct.machine.memory.address_space", lambda: limit << 20)
    with pytest.raises(ind.OutOfMemoryError, match=f"may use {limit} MB of addresses"):
        check_address_space()


def test_no_limit_is_no_error(monkeypatch):
    monkeypatch.setattr("indistinct.machine.memory.address_space", lambda: None)
    assert check_address_space() is None


def group(folder, names, *, limit, used, cached):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(names, (limit, used, f"file 9\n{names[2]} {cached}\n"), strict=True):
        (folder / ("memory.stat" if name == names[2] else name)).write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("line", "top", "names"),
    [
        ("0::/a/b", "", ("memory.max", "memory.current", "inactive_file")),
        ("4:memory:/a/b", "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")),
    ],
)
def test_the_tightest_group_of_a_container_says_what_is_left(tmp_path, line, top, names):
    own, groups = tmp_path / "own", tmp_path / "groups"
    own.write_text(f"9:pids:/\n{line}\n")
    assert free_in_container(groups, own) is None, "no group, no limit"
    group(groups / top / "a", names, limit="1000", used="700", cached="100")
    group(groups / top / "a" / "b", names, limit="max" if not top else str((1 << 63) - 4096), used="600", cached="0")
    assert free_in_container(groups, own) == 400
    group(groups / top / "a" / "b", names, limit="500", used="490", cached="20")
    assert free_in_container(groups, own) == 30
    assert free_in_container(groups, tmp_path / "no such file") is None


def test_what_is_free_is_what_both_system_and_container_leave(monkeypatch):
    free = free_bytes()
    assert free is None or free > 0
    monkeypatch.setattr("indistinct.machine.memory.free_in_container", lambda: 12)
    assert free_bytes() == 12
