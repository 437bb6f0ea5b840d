"""Files that get their names together or not at all, with the mode of what they replace."""

import fcntl
import hashlib
import os
import stat
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from indistinct.errors import OutputError
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.staging import filled, publish, stage, staging


def put(text):
    return lambda place: Path(place).write_text(text)


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def refuse_links(*_, **__):
    raise OSError(95, "Operation not supported")


def put_together(folder, text, *, overwrite=False, outdated=()):
    """Write `a`, `b` and, as the seal, `c`; return the SHA-256 of each."""
    with staging() as staged:
        for name in ("a", "b", "c"):
            staged.append(stage(folder / name, filled(text)))
        publish(staged, overwrite=overwrite, outdated=outdated)
        return [each.digest for each in staged]


def test_a_file_appears_whole_with_its_digest(tmp_path):
    seen = []

    def produce(place):
        seen.append((place.parent, stat.S_IMODE(place.stat().st_mode), place.name))
        assert not (tmp_path / "a.txt").exists()
        place.write_text("whole")

    digest = write_atomically(tmp_path / "a.txt", produce)
    assert digest == hashlib.sha256(b"whole").hexdigest()
    assert listing(tmp_path) == ["a.txt"]
    folder, mode, name = seen[0]
    assert (folder, mode) == (tmp_path, 0o600)
    assert name.startswith(".a.txt.")
    assert name.endswith(".tmp")


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_the_mode_follows_the_mask(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "a.txt", put("x"))
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o666 & ~mask


def test_an_existing_file_is_refused_or_replaced(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(OutputError, match="exists") as caught:
        write_atomically(path, put("new"))
    assert "`overwrite=True` (--overwrite)" in caught.value.hint
    assert path.read_text() == "old"
    write_atomically(path, put("new"), overwrite=True)
    assert path.read_text() == "new"
    assert listing(tmp_path) == ["a.txt"]


def test_a_dangling_link_is_in_the_way(tmp_path):
    (tmp_path / "a.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError):
        write_atomically(tmp_path / "a.txt", put("x"))


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", refuse_links)

    def produce(place):
        place.write_text("ours")
        (tmp_path / "a.txt").write_text("theirs")

    with pytest.raises(OutputError, match="exists"):
        write_atomically(tmp_path / "a.txt", produce)
    assert (tmp_path / "a.txt").read_text() == "theirs"
    assert listing(tmp_path) == ["a.txt"]


def test_file_systems_without_links_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", refuse_links)
    write_atomically(tmp_path / "a.txt", put("x"))
    write_atomically(tmp_path / "a.txt", put("y"), overwrite=True)
    assert (tmp_path / "a.txt").read_text() == "y"
    assert listing(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError, OSError(28, "No space left on device")])
@pytest.mark.parametrize("existing", [False, True])
def test_a_failure_leaves_what_was_there(tmp_path, failure, existing):
    def produce(place):
        place.write_text("half")
        raise failure

    if existing:
        (tmp_path / "a.txt").write_text("old")
    expected = OutputError if isinstance(failure, OSError) else failure
    with pytest.raises(expected):
        write_atomically(tmp_path / "a.txt", produce, overwrite=True)
    assert listing(tmp_path) == (["a.txt"] if existing else [])
    assert not existing or (tmp_path / "a.txt").read_text() == "old"


def test_places_that_take_no_file(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="no directory"):
        write_atomically(tmp_path / "absent" / "a.txt", put("x"))
    with pytest.raises(OutputError, match="no directory"):
        write_atomically(tmp_path / "file" / "a.txt", put("x"))
    with pytest.raises(OutputError, match="is a directory"):
        write_atomically(tmp_path, put("x"), overwrite=True)
    with pytest.raises(OutputError, match="cannot be written"):
        write_atomically(tmp_path / ("n" * 300), put("x"))


def test_a_folder_of_a_release_is_in_the_way_as_a_file_is(tmp_path):
    (tmp_path / "release.parquet").mkdir()
    (tmp_path / "release.parquet" / "part-00000.parquet").write_text("old")
    with pytest.raises(OutputError, match="exists already"):
        write_atomically(tmp_path / "release.parquet", put("x"))
    assert listing(tmp_path / "release.parquet") == ["part-00000.parquet"]


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind the superuser")
def test_a_directory_without_write_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        write_atomically(tmp_path / "a.txt", put("x"))


def test_files_that_belong_together_appear_together(tmp_path):
    assert put_together(tmp_path, "new") == [hashlib.sha256(b"new").hexdigest()] * 3
    assert listing(tmp_path) == ["a", "b", "c"]


class Failing:
    """Steps of the system, of which one fails."""

    def __init__(self, monkeypatch, names, *, last, failure):
        self.count, self.last, self.failure = 0, last, failure
        for name in names:
            monkeypatch.setattr(os, name, partial(self.run, getattr(os, name)))

    def run(self, step, *arguments, **options):
        self.count += 1
        if self.count - 1 == self.last:
            raise self.failure
        return step(*arguments, **options)


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize(
    ("failure", "names"), [(OSError(5, "broken"), ["replace"]), (KeyboardInterrupt(), ["replace", "link", "fsync"])]
)
def test_a_failure_at_any_step_restores_everything(tmp_path, monkeypatch, failure, names, existing, links):
    for last in range(50):
        folder = tmp_path / str(last)
        folder.mkdir()
        (folder / "extra").write_text("old")
        if existing:
            put_together(folder, "old")
        before = {path.name: path.stat().st_ino for path in folder.iterdir()}
        with monkeypatch.context() as patch:
            if not links:
                patch.setattr(os, "link", refuse_links)
            steps = Failing(patch, names, last=last, failure=failure)
            with suppress(OutputError, KeyboardInterrupt):
                put_together(folder, "new", overwrite=existing, outdated=[folder / "extra"] if existing else [])
        if steps.count <= last:
            break
        assert {path.name: path.stat().st_ino for path in folder.iterdir()} == before
    assert {path.name for path in folder.iterdir()} == {"a", "b", "c"} | (set() if existing else {"extra"})
    assert (folder / "a").read_text() == "new"
    assert last >= 3 or (links and not existing and names == ["replace"])


def test_nothing_else_is_renamed_if_one_path_is_taken(tmp_path):
    (tmp_path / "b").write_text("theirs")
    with pytest.raises(OutputError, match="exists"):
        put_together(tmp_path, "ours")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"b": "theirs"}


def test_no_table_gets_beside_a_seal_that_appeared_meanwhile(tmp_path, monkeypatch):
    named = []
    monkeypatch.setattr(os, "link", lambda _, target: named.append(target))
    with staging() as staged:
        staged.extend(stage(tmp_path / name, filled("ours")) for name in "abc")
        (tmp_path / "c").write_text("theirs")
        with pytest.raises(OutputError, match="exists"):
            publish(staged, overwrite=False)
    assert named == []


def test_outdated_files_go_with_the_old_seal(tmp_path):
    put_together(tmp_path, "old")
    (tmp_path / "extra").write_text("old")
    put_together(tmp_path, "new", overwrite=True, outdated=[tmp_path / "extra"])
    assert listing(tmp_path) == ["a", "b", "c"]


def test_two_runs_to_one_path_take_turns(tmp_path, monkeypatch):
    """The second would put its tables beside the certificate of the first."""
    put_together(tmp_path, "old")
    replace, reached, proceed = os.replace, threading.Event(), threading.Event()
    main = threading.current_thread()

    def pause_at_the_seal(source, target):
        if threading.current_thread() is not main and Path(target).name == "c":
            reached.set()
            assert proceed.wait(300)
        replace(source, target)

    monkeypatch.setattr(os, "replace", pause_at_the_seal)
    first = threading.Thread(target=put_together, args=(tmp_path, "first"), kwargs={"overwrite": True})
    first.start()
    assert reached.wait(300)
    threading.Timer(0.2, proceed.set).start()
    put_together(tmp_path, "second", overwrite=True)
    assert proceed.is_set()
    first.join()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys("abc", "second")


@pytest.mark.parametrize("missing", ["on this file system", "on this system"])
def test_where_there_are_no_locks_nothing_is_cleared(tmp_path, monkeypatch, missing):
    def refuse(*_, **__):
        raise OSError(37, "No locks available")

    if missing == "on this system":
        monkeypatch.setitem(sys.modules, "fcntl", None)
    else:
        monkeypatch.setattr(fcntl, "flock", refuse)
    left = [".a.0123456789abcdef.tmp", ".c.0123456789abcdef.old"]
    for name in left:
        (tmp_path / name).write_text("perhaps of a live run")
    put_together(tmp_path, "old")
    put_together(tmp_path, "new", overwrite=True)
    assert listing(tmp_path) == [*left, "a", "b", "c"]


# ---------------------------------------------------------------- modes and owners


def test_a_replaced_file_keeps_its_own_mode(tmp_path):
    put_together(tmp_path, "old")
    for name, mode in zip("abc", (0o600, 0o640, 0o444), strict=True):
        (tmp_path / name).chmod(mode)
    put_together(tmp_path, "new", overwrite=True)
    assert [mode_of(tmp_path / name) for name in "abc"] == [0o600, 0o640, 0o444]


def test_a_new_file_beside_a_replaced_one_follows_the_mask(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o600)
    put_together(tmp_path, "new", overwrite=True)
    assert mode_of(tmp_path / "a") == 0o600
    (tmp_path / "other").touch()
    assert mode_of(tmp_path / "b") == mode_of(tmp_path / "c") == mode_of(tmp_path / "other")


@pytest.mark.parametrize("before", [None, 0o644])
def test_a_private_file_is_its_owners(tmp_path, before):
    if before is not None:
        (tmp_path / "a").touch(before)
    write_atomically(tmp_path / "a", filled("x"), overwrite=True, private=True)
    assert mode_of(tmp_path / "a") == 0o600


def test_a_staged_file_is_its_owners_until_it_is_published(tmp_path):
    (tmp_path / "a").write_text("old")
    with staging() as staged:
        staged.append(stage(tmp_path / "a", filled("new")))
        assert mode_of(staged[0].temporary) == 0o600


def test_the_mode_behind_a_link_is_kept_and_the_file_behind_it_is_not_touched(tmp_path):
    (tmp_path / "secret").write_text("old")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "a").symlink_to("secret")
    write_atomically(tmp_path / "a", filled("new"), overwrite=True)
    assert mode_of(tmp_path / "a") == 0o600
    assert ((tmp_path / "secret").read_text(), (tmp_path / "a").is_symlink()) == ("old", False)


def other_group():
    if os.geteuid() == 0:
        return 12345
    others = set(os.getgroups()) - {os.getegid()}
    return others.pop() if others else pytest.skip("a file can be given to another group by a member only")


def test_a_replaced_file_keeps_its_group(tmp_path):
    (tmp_path / "a").touch(0o640)
    os.chown(tmp_path / "a", -1, group := other_group())
    write_atomically(tmp_path / "a", filled("x"), overwrite=True)
    assert ((tmp_path / "a").stat().st_gid, mode_of(tmp_path / "a")) == (group, 0o640)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    (tmp_path / "a").touch(0o600)
    os.chown(tmp_path / "a", 12345, 12346)
    write_atomically(tmp_path / "a", filled("x"), overwrite=True)
    status = (tmp_path / "a").stat()
    assert (status.st_uid, status.st_gid, mode_of(tmp_path / "a")) == (12345, 12346, 0o600)


def test_another_group_gets_no_more_than_everybody(tmp_path, monkeypatch):
    (tmp_path / "a").touch(0o664)
    (tmp_path / "a").chmod(0o664)
    os.chown(tmp_path / "a", -1, other_group())

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    write_atomically(tmp_path / "a", filled("x"), overwrite=True)
    assert ((tmp_path / "a").read_text(), mode_of(tmp_path / "a")) == ("x", 0o644)
