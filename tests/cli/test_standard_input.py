"""Standard input as a table: `cat table.csv | indistinct anonymize - …`."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indistinct.cli import main
from indistinct.samples import generate_patients
from indistinct.tables import addresses

MODEL = ["--model", "k-anonymity:k=5", "--algorithm", "mondrian", "--seed", "1"]


def test_a_pipe_gives_the_release_of_the_file_and_leaves_nothing(
    patients: Path, roles: list[str], tmp_path: Path
) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    command = [sys.executable, "-m", "indistinct.cli", "anonymize"]
    environment = {**os.environ, "INDISTINCT_SPILL": str(spill)}
    with patients.open("rb") as piped:
        done = subprocess.run(
            [*command, "-", *roles, *MODEL, "-o", str(tmp_path / "piped.csv")],
            stdin=piped,
            capture_output=True,
            env=environment,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert main(["anonymize", str(patients), *roles, *MODEL, "-o", str(tmp_path / "file.csv")]) == 0
    assert (tmp_path / "piped.csv").read_bytes() == (tmp_path / "file.csv").read_bytes()
    assert list(spill.iterdir()) == []


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch):
    def give(content: bytes) -> None:
        monkeypatch.setattr(addresses, "_COPIES", {})
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


def test_what_comes_is_told_by_its_first_bytes(run, piped, roles, tmp_path) -> None:
    table = generate_patients(300, seed=1)
    packed = io.BytesIO()
    pq.write_table(table, packed)
    arrow = io.BytesIO()
    with pa.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table)
    for number, content in enumerate((packed.getvalue(), arrow.getvalue())):
        piped(content)
        assert run("anonymize", "-", *roles, *MODEL, "-o", tmp_path / f"{number}.csv").code == 0
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


def test_a_copy_is_private_and_messages_name_standard_input(run, piped, roles) -> None:
    piped(b"age,age\n31,32\n")
    ran = run("inspect", "-")
    assert ran.code == 1
    piped(b"age;sex\n31;m;x\n32;f\n")
    ran = run("inspect", "-")
    assert ran.code == 1
    assert "indistinct-rows" not in ran.err
    (_, copy) = addresses._COPIES[addresses.STANDARD]
    assert copy.path.parent.stat().st_mode & 0o077 == 0
    assert copy.path.stat().st_mode & 0o077 == 0
    assert os.fstat(copy.file.fileno()).st_nlink == 0


def test_nothing_is_no_table(run, piped) -> None:
    piped(b"")
    ran = run("inspect", "-")
    assert (ran.code, "standard input is empty" in ran.err) == (1, True)


def test_a_policy_may_read_standard_input(run, piped, patients, roles, tmp_path) -> None:
    policy = tmp_path / "policy.toml"
    assert run("inspect", patients, "-o", policy).code == 0
    piped(patients.read_bytes())
    ran = run("anonymize", policy, "--input", "-", "-o", tmp_path / "out.csv")
    assert ran.code == 0, ran.err


def test_flags_of_the_output(run, patients, roles, tmp_path) -> None:
    target = tmp_path / "out.csv"
    flags = ["--output-delimiter", ";", "--output-decimal", ",", "--output-encoding", "utf-16", "--for-spreadsheet"]
    assert run("anonymize", patients, *roles, *MODEL, *flags, "-o", target).code == 0
    assert target.read_text("utf-16").splitlines()[0].count(";") == 5
    assert run("verify", target, *roles, "--model", "k-anonymity:k=5", "--decimal", ",").code == 0
    assert run("anonymize", patients, *roles, *MODEL, "--output-delimiter", "xx", "-o", tmp_path / "b.csv").code == 2
