"""Small files that would take everything: an answer or a clear error, soon, and with little memory."""

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fuzz.guard import Guard, Outcome

MEGABYTE = 1 << 20
ORIGINAL = "age,sex\n" + "".join(f"{20 + row % 10},{'MF'[row % 2]}\n" for row in range(100))
POLICY = '[input]\npath="data.csv"\n[columns]\nage="quasi"\nsex="sensitive"\n[privacy]\nmodels=["k-anonymity:k=2"]\n'
ROLES = ["--quasi", "age", "--sensitive", "sex"]
MODEL = ["--model", "k-anonymity:k=2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile")
    (path / "data.csv").write_text(ORIGINAL)
    return path


@pytest.fixture(scope="module")
def guard(folder: Path) -> Iterator[Guard]:
    with Guard(folder) as guard:
        yield guard


def refused(outcome: Outcome, *words: str, memory: int = 150) -> None:
    """Assert that a run ended with a sentence that has some words, and took little."""
    assert outcome.code in (1, 2), (outcome.code, outcome.words[-2000:])
    assert "Traceback" not in outcome.words
    assert "unexpected" not in outcome.words
    assert "error: " in outcome.err
    assert "hint: " in outcome.err
    told = " ".join(outcome.err.split())  # lines are broken where a path is long
    for word in words:
        assert word in told
    assert outcome.memory < memory * MEGABYTE, outcome.memory >> 20


def bomb(path: Path, start: bytes, part: bytes, *, megabytes: int) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(start)
        for _ in range(megabytes):
            file.write(part * (MEGABYTE // len(part)))
    return path


@pytest.mark.parametrize(
    ("start", "part", "words"),
    [
        (b"", b"0", "first line"),
        (b"", b"\0", "first line"),
        (b'"a,b\n1,', b"0\n", "first line"),
        (b"", b"\n", "first line"),
        (b"a,b\n1,", b"0", "line 2"),
        (b'a,b\n1,"', b"0\n", "line 1"),
    ],
    ids=["zeros", "nul", "open-quote", "blank-lines", "long-field", "open-quote-below"],
)
@pytest.mark.parametrize("command", ["inspect", "anonymize"])
def test_a_line_that_never_ends_is_refused(
    guard: Guard, folder: Path, command: str, start: bytes, part: bytes, words: str
) -> None:
    path = bomb(folder / "bomb.csv.gz", start, part, megabytes=100)
    roles = ["--quasi", "a", *MODEL, "-o", "out.csv"] if command == "anonymize" else []
    refused(guard.run(command, path, *roles), words)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.mkdir()


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("make", [device, pipe, directory, sparse])
@pytest.mark.parametrize(
    "argv",
    [
        ["inspect", "x.csv"],
        ["inspect", "x.csv.gz"],
        ["inspect", "x.parquet"],
        ["inspect", "x.arrow"],
        ["anonymize", "x.toml"],
        ["anonymize", "data.csv", *ROLES, *MODEL, "-o", "out.csv", "--hierarchy", "age=x.csv"],
        ["apply", "x.json", "data.csv", "-o", "out.csv"],
        ["verify", "x.csv", *ROLES, *MODEL],
        ["measure", "x.csv", *ROLES, "--original", "data.csv"],
        ["explore", "x.csv", *ROLES, *MODEL],
    ],
    ids=" ".join,
)
def test_what_is_no_ordinary_file_is_refused(
    folder: Path, guard: Guard, make: Callable[[Path], None], argv: list[str]
) -> None:
    path = folder / next(each for part in argv for each in [part.rpartition("=")[2]] if each.startswith("x."))
    make(path)
    try:
        refused(guard.run(*argv))
    finally:
        path.rmdir() if make is directory else path.unlink()


def test_a_certificate_that_is_a_pipe_is_refused(folder: Path, guard: Guard) -> None:
    path = folder / "data.csv.certificate.json"
    os.mkfifo(path)
    try:
        refused(guard.run("verify", "data.csv", *ROLES, *MODEL, "--algorithm", "anatomy"))
    finally:
        path.unlink()


@pytest.mark.parametrize(
    "cell",
    [
        "[" + "1-" * 60000 + "1]",
        "1-" * 60000 + "1",
        "[" + "1 .. " * 60000 + "1]",
        "[" + "1, " * 60000 + "1)",
        "{" + "1, " * 60000 + "}",
        "{" + '"",' * 60000 + "",
        "{" + '"' * 60001,
        "{a" + " " * 60000,
        "[" * 60000,
        "9" * 60000,
        "1e" + "9" * 60000,
        "20-" * 40000,
        " or missing" * 10000,
        "1" + ":1,1" * 40000 + ":",
    ],
    ids=lambda cell: cell[:6] + cell[-3:],
)
@pytest.mark.parametrize("column", ["age", "sex"])
def test_a_published_cell_is_read_in_linear_time(folder: Path, guard: Guard, cell: str, column: str) -> None:
    rows = [f"{20 + row % 10},{'MF'[row % 2]}" for row in range(100)]
    quoted = '"' + cell.replace('"', '""') + '"'
    rows[7] = f"{quoted},M" if column == "age" else f"20,{quoted}"
    (folder / "published.csv").write_text("age,sex\n" + "\n".join(rows) + "\n")
    outcome = guard.run("measure", "published.csv", "--quasi", "age,sex", "--original", "data.csv")
    refused(outcome, column)
    assert cell[:20] not in outcome.words


@pytest.mark.parametrize("columns", [2_000, 1_000_000])
@pytest.mark.parametrize("command", ["inspect", "anonymize", "verify"])
def test_very_many_columns_are_answered_or_refused(folder: Path, guard: Guard, command: str, columns: int) -> None:
    names, cells = ",".join(f"c{number}" for number in range(columns)), ",".join(["1"] * columns)
    (folder / "wide.csv").write_text(f"{names}\n{cells}\n{cells}\n")
    rest = ",".join(f"c{number}" for number in range(2, 2_000))
    flags = [] if command == "inspect" else ["--quasi", "c0,c1", "--insensitive", rest, *MODEL]
    flags += ["-o", "out.csv", "--overwrite"] if command == "anonymize" else []
    outcome = guard.run(command, "wide.csv", *flags)
    if columns > 2_000:
        refused(outcome, "columns", memory=200)
    else:
        assert outcome.code == 0, outcome.words[-2000:]
        assert "unexpected" not in outcome.err


def test_very_many_columns_of_parquet_are_refused(folder: Path, guard: Guard) -> None:
    pq.write_table(pa.table({f"c{number}": [1, 2] for number in range(60_000)}), folder / "wide.parquet")
    refused(guard.run("inspect", "wide.parquet"), "columns", memory=400)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".".join("a" * 50_000) + " = 1\n", "line 1"),
        ("\n[" + ".".join("a" * 50_000) + "]\n", "line 2"),
        ("a = { " + ".".join("a" * 50_000) + " = 1 }\n", "line 1"),
        ("x = " + "[" * 50_000 + "]" * 50_000 + "\n", "line 1"),
        ("\nx = " + "{a=" * 50_000 + "1" + "}" * 50_000 + "\n", "line 2"),
        (POLICY + "suppression = " + "9" * 5_000 + "\n", "line 8"),
        (POLICY + "suppression = 0x" + "9" * 5_000 + "\n", "line 8"),
        (POLICY + "suppression = 1e" + "9" * 5_000 + "\n", "line 8"),
        (POLICY + "suppression = nan\n", "suppression"),
        (POLICY.replace("k=2", "k=" + "9" * 5_000), "k"),
        (POLICY + '[columns.x]\nrole="quasi"\nhierarchy={tree=' + "{a=" * 90 + '"b"' + "}" * 90 + "}\n", "x"),
        ("x = " + '"""' + "\n" * 10 + "a" * 100 + "\n", "line"),
        ("a = 1\n" * 50_000, "line 2"),
        ("".join(f"[a{number}]\n" for number in range(50_000)), "a0"),
        ("a.b.c = 1\n[a.b]\n", "line 2"),
        ("x = '" + "a" * (1 << 20) + "\n", "at the end"),
        (POLICY.replace('"orig', '"\\ud800'), ""),
    ],
)
def test_a_policy_that_takes_everything_is_refused(folder: Path, guard: Guard, text: str, words: str) -> None:
    (folder / "hostile.toml").write_text(text)
    outcome = guard.run("anonymize", "hostile.toml", "-o", "out.csv", "--overwrite")
    if words:
        refused(outcome, "hostile.toml", words)
    assert len(outcome.words) < 2_000


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000 + "]" * 200_000,
        '{"format":"indistinct-recoding","version":4,"x":' + '{"a":' * 20_000 + "1" + "}" * 20_001,
        '{"format":"indistinct-recoding","version":' + "9" * 5_000 + "}",
        '{"format":"indistinct-recoding","version":4' + ',"a":1' * 50_000 + "}",
        "9" * 5_000,
        '"\\ud800"',
    ],
    ids=lambda text: text[:4] + text[-4:],
)
def test_json_that_takes_everything_is_refused(folder: Path, guard: Guard, text: str) -> None:
    (folder / "hostile.json").write_text(text)
    refused(guard.run("apply", "hostile.json", "data.csv", "-o", "out.csv"), "recoding")
    certificate = folder / "data.csv.certificate.json"
    certificate.write_text(text)
    try:
        outcome = guard.run("verify", "data.csv", *ROLES, *MODEL, "--algorithm", "anatomy:l=2")
        assert outcome.code in (1, 4)
        assert "unexpected" not in outcome.words
    finally:
        certificate.unlink()


def invalid(*, encoded: bool) -> pa.Table:
    offsets = pa.array([0, 1, 3, 4], pa.int32()).buffers()[1]
    texts = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xff\xfeb")])
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), texts) if encoded else texts
    return pa.table({"age": [1, 2, 3], "sex": texts})


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("command", ["inspect", "anonymize"])
def test_text_that_is_not_utf8_is_refused_with_its_column(
    folder: Path, guard: Guard, command: str, suffix: str, encoded: bool
) -> None:
    table, path = invalid(encoded=encoded), folder / f"invalid.{suffix}"
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    flags = ["--quasi", "age,sex", *MODEL, "-o", "text.csv"] if command == "anonymize" else []
    refused(guard.run(command, path, *flags), "'sex'", "UTF-8")
