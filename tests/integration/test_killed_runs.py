"""A run that is killed: no table is beside the certificate of another, and the next run clears what was left."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indistinct.machine import spill
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.staging import filled, publish, stage, staging

# Writes a release, then another one in its stead, and dies at the n-th step of the second: one process for each n,
# until n is larger than the number of steps.
KILLED_AT_EVERY_STEP = """
import errno, os, shutil, signal, sys
from pathlib import Path
import pyarrow as pa
from indistinct.release.certificate import Certificate
from dataclasses import replace
from indistinct.release.writing.files import write_release

CERTIFICATE = Certificate("1", (), rows=2, classes=1, smallest_class=2)
STEPS = ("replace", "rename", "link", "unlink", "remove", "fsync", "chmod")

def write(folder, version, *, others, overwrite):
    tables = {"": pa.table({"a": [version, "x"]}), **{name: pa.table({"b": [version, name]}) for name in others}}
    def fill(sink):
        for name, table in tables.items():
            sink.accept(name, [table])
    def certify(sink):
        digests = {name: each.digest for name, each in sink.names.items()}
        main = digests.pop("")
        return replace(CERTIFICATE, output_digest=main, other_digests=digests)
    write_release(folder / "r.arrow", fill, certify, tables=tuple(tables), overwrite=overwrite)

def refuse(*arguments, **options):
    raise OSError(errno.EPERM, "no links")

def die_at(last):
    count = 0
    def counted(step):
        def run(*arguments, **options):
            nonlocal count
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            return step(*arguments, **options)
        return run
    os.fsync = lambda descriptor: None  # a kill is no power cut: what was written stays
    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))

def run(folder, last):
    shutil.copytree(root / "before", folder)
    if links == "linkless":
        os.link = refuse
    die_at(last)
    write(folder, "new", others=after.split("+")[1:], overwrite=before != "none")

root, before, after, links = Path(sys.argv[1]), *sys.argv[2:]
(root / "before").mkdir()
write(root / "before", "old", others=before.split("+")[1:], overwrite=False)
if before == "none":
    for path in (root / "before").iterdir():
        path.unlink()
for last in range(200):
    if not os.fork():
        run(root / f"{last:03}", last)
        os._exit(0)
    if os.WIFEXITED(status := os.wait()[1]):
        sys.exit(status)
"""
# Stages a file, says so, and waits.
STAGED_AND_WAITING = """
import sys
from pathlib import Path
from indistinct.release.writing.staging import filled, stage
staged = stage(Path(sys.argv[1]), filled("theirs"))
print(staged.temporary.name, flush=True)
sys.stdin.read()
"""


def start(program, *arguments, **options):
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], text=True, **options)


def visible(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def check(folder, versions):
    """Check that the tables are whole and that a certificate is that of all of them; return which version it is."""
    files = visible(folder)
    certificate = json.loads(files.pop("r.arrow.certificate.json", b"null"))
    assert all(content in [version.get(name) for version in versions] for name, content in files.items())
    if certificate is None:
        return "bare"
    digests = {"r.arrow": certificate["output_digest"]}
    digests |= {f"r.{name}.arrow": digest for name, digest in certificate["other_digests"].items()}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in files.items()} == digests
    return "old" if files.items() <= versions[0].items() else "new"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver forks")
@pytest.mark.parametrize("links", ["links", "linkless"])
@pytest.mark.parametrize(("before", "after"), [("none", "r+s"), ("r", "r+s"), ("r+s", "r+s"), ("r+s", "r")])
def test_a_kill_at_any_step(tmp_path, monkeypatch, before, after, links):
    assert start(KILLED_AT_EVERY_STEP, tmp_path, before, after, links).wait() == 0
    *folders, old = sorted(tmp_path.iterdir())
    versions = visible(old), visible(folders[-1])
    assert len(folders) > 10
    assert {check(folder, versions) for folder in folders} == {"bare", "new", *(["old"] if before != "none" else [])}
    # The next run clears what was left.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    assert sum(any(path.name.startswith(".") for path in folder.iterdir()) for folder in folders) > 8
    names = ["r.arrow", "r.s.arrow", "r.arrow.certificate.json"]
    for folder in folders:
        with staging() as staged:
            staged.extend(stage(folder / name, filled("next")) for name in names)
            publish(staged, overwrite=True)
        assert {path.name: path.read_text() for path in folder.iterdir()} == dict.fromkeys(names, "next")


def test_files_of_a_live_run_stay_and_those_of_a_killed_one_go(tmp_path):
    target = tmp_path / "a.txt"
    child = start(STAGED_AND_WAITING, target, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        theirs = tmp_path / child.stdout.readline().strip()
        write_atomically(target, filled("ours"))
        assert theirs.read_text() == "theirs"
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        assert theirs.exists()
        write_atomically(target, filled("again"), overwrite=True)
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    finally:
        child.kill()
        child.communicate()


def test_old_files_that_a_kill_left_stay_until_the_new_release_is_complete(tmp_path):
    left = tmp_path / ".seal.0123456789abcdef.old"
    left.write_text("the only copy")
    with staging() as staged:
        staged.append(stage(tmp_path / "table", filled("new")))
        staged.append(stage(tmp_path / "seal", filled("new")))
        assert left.exists()
        publish(staged, overwrite=False)
    assert not left.exists()


def test_names_of_others_are_never_cleared(tmp_path):
    names = [".a.0123456789abcde.tmp", ".a.0123456789abcdefa.tmp", ".a.0123456789ABCDEF.tmp", ".a.backup.tmp"]
    names += ["a.0123456789abcdef.tmp", ".aa.0123456789abcdef.tmp", ".a.0123456789abcdef.tmp~"]
    for name in names:
        (tmp_path / name).write_text("mine")
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / ".a.0000000000000000.tmp").symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".a.0000000000000001.tmp").mkdir()
    os.mkfifo(tmp_path / ".a.0000000000000002.tmp")
    before = sorted(path.name for path in tmp_path.iterdir())
    (tmp_path / ".a.0123456789abcdef.tmp").write_text("left by a killed run")
    write_atomically(tmp_path / "a", filled("x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*before, "a"])
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_a_name_with_signs_of_a_pattern_is_taken_literally(tmp_path):
    (tmp_path / ".axb.0123456789abcdef.tmp").write_text("mine")
    write_atomically(tmp_path / "a.b", filled("x"))
    assert (tmp_path / ".axb.0123456789abcdef.tmp").exists()


def test_a_new_file_that_another_run_clears_before_it_is_locked_gets_another_name(tmp_path, monkeypatch):
    create, created = os.open, []

    def create_and_lose(path, flags, *arguments, **options):
        descriptor = create(path, flags, *arguments, **options)
        if flags & os.O_EXCL:
            created.append(Path(path))
            if len(created) == 1:
                Path(path).unlink()
        return descriptor

    monkeypatch.setattr(os, "open", create_and_lose)
    write_atomically(tmp_path / "a", filled("x"))
    assert len(set(created)) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_run_left_is_removed_and_what_a_live_one_has_is_not(tmp_path):
    program = f"""
import os, signal
from pathlib import Path
from indistinct.machine.spill import private_directory
with private_directory(Path({str(tmp_path)!r})) as folder:
    (folder / "1.rows").write_text("secret")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    assert len(names_in(tmp_path)) == 1
    (tmp_path / f"{spill.PREFIX}made").mkdir()  # killed before it had a lock
    (tmp_path / f"{spill.PREFIX}link").symlink_to(tmp_path.parent)
    with spill.private_directory(tmp_path) as live:
        assert names_in(tmp_path) == sorted([live.name, f"{spill.PREFIX}link"])
        with spill.private_directory(tmp_path) as other:
            assert names_in(tmp_path) == sorted([live.name, other.name, f"{spill.PREFIX}link"])
    assert names_in(tmp_path) == [f"{spill.PREFIX}link"]


def test_a_run_that_is_stopped_leaves_nothing(tmp_path):
    source, spilled = tmp_path / "patients.csv", tmp_path / "spill"
    spilled.mkdir()
    line = "".join(f"{number % 90},{number % 977}\n" for number in range(50_000))
    source.write_text("age,zip\n" + line * 20)
    command = [sys.executable, "-m", "indistinct", "anonymize", str(source), "--quasi", "age,zip"]
    command += ["--model", "k-anonymity:k=5", "--algorithm", "mondrian", "--engine", "duckdb"]
    run = subprocess.Popen(
        [*command, "-o", str(tmp_path / "out.parquet")],
        env={**os.environ, "INDISTINCT_SPILL": str(spilled)},
        stderr=subprocess.DEVNULL,
    )
    while run.poll() is None and not list(spilled.glob("*/*/*.parquet")):
        time.sleep(0.01)
    assert run.poll() is None, "it ended before it was stopped"
    run.send_signal(signal.SIGTERM)
    assert run.wait(300) != 0
    assert list(spilled.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patients.csv", "spill"]


# The command line, with a table that takes ten minutes to open.
SLOW = """
import pathlib, signal, sys, time
from indistinct import cli
from indistinct.inspection import inspect as looking

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and its children
reached = pathlib.Path(sys.argv.pop(1))
looking.inspect = lambda *_, **__: (reached.touch(), time.sleep(600))
sys.exit(cli.main())
"""


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_with_130_and_publishes_nothing(tmp_path: Path, sign: signal.Signals) -> None:
    reached = tmp_path / "reached"
    (tmp_path / "any.csv").write_text("age\n30\n")
    ran = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(reached), "inspect", str(tmp_path / "any.csv")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not reached.exists():
        assert ran.poll() is None
        time.sleep(0.05)
    ran.send_signal(sign)
    out, err = ran.communicate(timeout=300)
    assert (ran.returncode, out) == (130, ""), err
    assert "interrupted" in err
    assert "Traceback" not in err
