"""A run with a ledger that is killed at any step: no release stays that the ledger does not know."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ind

SCHEMA = ind.Schema(quasi=["age"], sensitive=["disease"], person=["patient"])
JUNE = pa.table({"patient": list("abcdef"), "age": [20, 21, 22, 60, 61, 62], "disease": list("xyzxyz")})
OPTIONS = {"model": "k-anonymity:k=3", "algorithm": "mondrian"}
# Writes a release that a ledger is to remember, and dies at the n-th step: one process for each n.
KILLED_AT_EVERY_STEP = """
import os, shutil, signal, sqlite3, sys
from dataclasses import replace
from pathlib import Path
import pyarrow as pa
import indistinct as ind

root = Path(sys.argv[1])
table = pa.table({"patient": list("abcdef"), "age": [20, 21, 22, 60, 61, 62], "disease": list("xyzxyz")})
schema = ind.Schema(quasi=["age"], sensitive=["disease"], person=["patient"])
(root / "before").mkdir()
release = ind.anonymize(
    table, schema, model="k-anonymity:k=3", algorithm="mondrian", ledger=root / "before" / "a.ledger"
)
count, last = 0, 0

def step():
    global count
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)
    count += 1

def counted(act):
    def run(*arguments, **options):
        step()
        return act(*arguments, **options)
    return run

class Connection(sqlite3.Connection):
    def execute(self, *arguments):
        step()
        return super().execute(*arguments)

connect = sqlite3.connect

def run(folder):
    shutil.copytree(root / "before", folder)
    os.fsync = lambda descriptor: None  # a kill is no power cut: what was written stays
    for name in ("replace", "rename", "link", "unlink", "remove", "chmod"):
        setattr(os, name, counted(getattr(os, name)))
    sqlite3.connect = lambda *arguments, **options: connect(*arguments, factory=Connection, **options)
    record = replace(release.record, ledger=replace(release.record.ledger, path=folder / "a.ledger"))
    replace(release, record=record).write(folder / "r.arrow")

for last in range(300):
    if not os.fork():
        run(root / f"{last:03}")
        os._exit(0)
    if os.WIFEXITED(status := os.wait()[1]):
        sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver forks")
def test_no_kill_leaves_a_release_that_the_ledger_does_not_know(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED_AT_EVERY_STEP, tmp_path]).returncode == 0
    states = set()
    *folders, before = sorted(tmp_path.iterdir())
    assert len(folders) > 15
    for folder in folders:
        ledger, table, seal = (folder / name for name in ("a.ledger", "r.arrow", "r.arrow.certificate.json"))
        entries = ind.read_ledger(ledger)
        assert len(entries) <= 1
        states.add((len(entries), table.exists(), seal.exists(), any(entry.published for entry in entries)))
        assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in folder.glob("a.ledger*"))
        if table.exists():
            (entry,) = entries
            assert entry.output_digest in (seal.read_text() if seal.exists() else entry.output_digest)
        # The next run is compared with what is left, and clears up.
        again = ind.anonymize(JUNE, SCHEMA, output=table, overwrite=True, ledger=ledger, **OPTIONS)
        assert (again.certificate.overlap is None) == (not entries)
        assert {each.name for each in folder.iterdir()} == {"a.ledger", "r.arrow", "r.arrow.certificate.json"}
    assert ind.read_ledger(before / "a.ledger") == ()
    assert states == {
        (0, False, False, False),
        (1, False, False, False),
        (1, True, False, False),
        (1, True, True, False),
        (1, True, True, True),
    }
