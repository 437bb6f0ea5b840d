"""Every bad input: a clear error with a hint, the right exit code, nothing written, no cell value."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MARKER = "SECRETVALUE42"
HEADER = "name,age,city,disease"
ROWS = [f"{MARKER},{20 + i},{MARKER if i % 2 else 'Oslo'},{MARKER if i % 3 else 'flu'}" for i in range(8)]
ROLES = ["--identifier", "name", "--quasi", "age,city", "--sensitive", "disease"]
MODEL = ["--model", "k-anonymity:k=2"]

Build = Callable[[Path], list[str]]


def table(folder: Path, *lines: str, header: str = HEADER, name: str = "data.csv") -> str:
    path = folder / name
    path.write_text("\n".join([header, *(lines or ROWS)]) + "\n", encoding="utf-8")
    return str(path)


def anonymize(folder: Path, source: str, *flags: str, roles: list[str] = ROLES, model: list[str] = MODEL) -> list[str]:
    return ["anonymize", source, *roles, *model, "-o", str(folder / "out.csv"), *flags]


def hierarchy(folder: Path, *rows: str) -> str:
    path = folder / "city.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return f"city={path}"


def parquet(folder: Path, ages: list[float]) -> str:
    path = folder / "data.parquet"
    rows = len(ages)
    columns = {"name": [MARKER] * rows, "age": ages, "city": [MARKER] * rows, "disease": [MARKER] * rows}
    pq.write_table(pa.table(columns), path)
    return str(path)


def policy(folder: Path, **changes: str) -> list[str]:
    table(folder)
    text = (
        '[input]\npath = "data.csv"\n\n[columns]\nname = "identifier"\nage = { role = "quasi" }\n'
        'city = { role = "quasi" }\ndisease = { role = "sensitive" }\n\n'
        '[privacy]\nmodels = ["k-anonymity:k=2"]\n\n[output]\npath = "out.csv"\n'
    )
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return ["anonymize", str(path)]


def existing(folder: Path) -> list[str]:
    (folder / "out.csv").write_text("precious\n")
    return anonymize(folder, table(folder))


def existing_certificate(folder: Path) -> list[str]:
    (folder / "out.csv.certificate.json").write_text("precious\n")
    return anonymize(folder, table(folder))


def onto_itself(folder: Path, *flags: str, link: Callable[[str, str], None] | None = None) -> list[str]:
    source = table(folder)
    target = source
    if link is not None:
        target = str(folder / "link.csv")
        link(source, target)
    return ["anonymize", source, *ROLES, *MODEL, "-o", target, *flags]


def onto_policy(folder: Path) -> list[str]:
    command = policy(folder)
    os.link(command[1], folder / "out2.csv")
    return [*command, "-o", str(folder / "out2.csv"), "--overwrite"]


def recoding_onto_release(folder: Path) -> list[str]:
    return anonymize(folder, table(folder), "--save-recoding", str(folder / "out.csv"))


def not_a_recoding(folder: Path) -> list[str]:
    path = folder / "recoding.json"
    path.write_text(json.dumps({"format": MARKER}))
    return ["apply", str(path), table(folder), "-o", str(folder / "out.csv")]


def subsets(folder: Path, parameters: str) -> list[str]:
    return anonymize(folder, table(folder), model=["--model", f"subset-anonymity:k=2,{parameters}"])


def bounded(folder: Path, levels: str) -> list[str]:
    flags = ["--hierarchy", "age=intervals:5,10", "--levels", levels]
    return anonymize(folder, table(folder), *flags, "--algorithm", "optimal")


@dataclass(frozen=True)
class Case:
    code: int
    build: Build
    message: str


CASES: dict[str, Case] = {
    "missing file": Case(1, lambda f: anonymize(f, str(f / "nope.csv")), "there is no file"),
    "missing policy": Case(1, lambda f: ["anonymize", str(f / "nope.toml")], "there is no policy"),
    "missing recoding": Case(
        1,
        lambda f: ["apply", str(f / "no.json"), table(f), "-o", str(f / "out.csv")],
        "there is no recoding",
    ),
    "not a recoding": Case(1, not_a_recoding, "not a recoding"),
    "column without a role": Case(
        1,
        lambda f: anonymize(f, table(f), roles=["--quasi", "age,city", "--identifier", "name"]),
        "'disease'",
    ),
    "role for no column": Case(
        1, lambda f: anonymize(f, table(f), "--insensitive", "diseases"), "no column 'diseases'"
    ),
    "role twice": Case(1, lambda f: anonymize(f, table(f), "--sensitive", "age"), "exactly one role"),
    "no quasi-identifier": Case(
        1, lambda f: anonymize(f, table(f), roles=["--insensitive", HEADER]), "no quasi-identifier"
    ),
    "unknown encoding": Case(1, lambda f: anonymize(f, table(f), "--encoding", "klingon"), "encoding 'klingon'"),
    "wrong encoding": Case(
        1, lambda f: anonymize(f, table(f, *ROWS, "Å,1,Å,Å"), "--encoding", "ascii"), "encoding ascii"
    ),
    "long delimiter": Case(2, lambda f: anonymize(f, table(f), "--delimiter", "::"), "delimiter"),
    "ragged CSV": Case(1, lambda f: anonymize(f, table(f, *ROWS, f"{MARKER},1")), "expected 4 fields, got 2"),
    "open quote": Case(1, lambda f: anonymize(f, table(f, *ROWS, f'{MARKER},1,"{MARKER},x')), "quote"),
    "duplicate header": Case(
        1, lambda f: anonymize(f, table(f, header="name,age,age,disease")), "several columns have the same name"
    ),
    "empty file": Case(1, lambda f: anonymize(f, _empty(f)), "is empty"),
    "header only": Case(1, lambda f: anonymize(f, _header_only(f)), "no rows"),
    "all-null column": Case(1, lambda f: anonymize(f, table(f, *[f"{MARKER},,Oslo,flu"] * 4)), "every cell is missing"),
    "NaN": Case(1, lambda f: anonymize(f, parquet(f, [1.0, float("nan"), 2.0])), "1 NaN, which"),
    "infinity": Case(1, lambda f: anonymize(f, parquet(f, [1.0, float("inf"), 2.0])), "1 infinite value, which"),
    "mixed types": Case(
        1,
        lambda f: anonymize(f, table(f, *ROWS, f"{MARKER},{MARKER},Oslo,flu"), "--hierarchy", "age=intervals:5,10"),
        "holds text",
    ),
    "mixed types without a hierarchy": Case(
        1, lambda f: anonymize(f, table(f, *ROWS, f"{MARKER},{MARKER},Oslo,flu")), "mixes numbers and text"
    ),
    "NaN among few numbers": Case(
        1,
        lambda f: anonymize(f, table(f, f"{MARKER},31,Oslo,flu", f"{MARKER},NaN,Oslo,flu")),
        "mixes numbers and text",
    ),
    "mixed dates": Case(
        1,
        lambda f: anonymize(f, table(f, *(f"a,2024-01-{i:02d},Oslo,flu" for i in range(1, 9)), f"a,{MARKER},Oslo,flu")),
        "mixes dates and text",
    ),
    "numbers in another spelling": Case(
        1,
        lambda f: anonymize(f, table(f, *(f'a,"{i},0{i}0",Oslo,flu' for i in range(1, 9)))),
        "looks like numbers in a notation that was not declared",
    ),
    "verify of a header": Case(1, lambda f: ["verify", _header_only(f), "--quasi", "age", *MODEL], "no rows"),
    "value outside the hierarchy": Case(
        1, lambda f: anonymize(f, table(f), "--hierarchy", hierarchy(f, "Oslo;*")), "does not cover"
    ),
    "broken nesting": Case(
        1,
        lambda f: anonymize(f, table(f), "--hierarchy", hierarchy(f, f"{MARKER};A;X;*", "Oslo;A;Y;*")),
        "nest",
    ),
    "two roots": Case(
        1, lambda f: anonymize(f, table(f), "--hierarchy", hierarchy(f, f"{MARKER};A", "Oslo;B")), "root"
    ),
    "missing hierarchy": Case(
        1,
        lambda f: anonymize(f, table(f), "--hierarchy", f"city={f / 'no.csv'}"),
        "the hierarchy of column",
    ),
    "hierarchy for no column": Case(1, lambda f: anonymize(f, table(f), "--hierarchy", "town=suppression"), "'town'"),
    "unknown kind of hierarchy": Case(
        2, lambda f: anonymize(f, table(f), "--hierarchy", "city=maks"), "neither a file nor one of"
    ),
    "hierarchy without a column": Case(2, lambda f: anonymize(f, table(f), "--hierarchy", "mask"), "COLUMN=SPEC"),
    "intervals that are no numbers": Case(
        2, lambda f: anonymize(f, table(f), "--hierarchy", "age=intervals:five"), "must be numbers"
    ),
    "k < 1": Case(
        2,
        lambda f: anonymize(f, table(f), model=["--model", "k-anonymity:k=0"]),
        "`k` of k-anonymity must be at least 1",
    ),
    "k < 1 in a policy": Case(1, lambda f: policy(f, k=("k=2", "k=0")), "[privacy] models: `k`"),
    "k > rows": Case(3, lambda f: anonymize(f, table(f), model=["--model", "k-anonymity:k=9"]), "has only 8 rows"),
    "l > distinct values": Case(
        3,
        lambda f: anonymize(f, table(f), model=["--model", "distinct-l-diversity:sensitive=disease,l=3"]),
        "only 2 distinct",
    ),
    "model of a quasi-identifier": Case(
        1,
        lambda f: anonymize(f, table(f), model=["--model", "distinct-l-diversity:sensitive=age,l=2"]),
        "'age'",
    ),
    "set of an unknown column": Case(1, lambda f: subsets(f, "sets=age+town"), "'town'"),
    "set of a sensitive column": Case(1, lambda f: subsets(f, "sets=age+disease"), "'disease'"),
    "set of an identifier": Case(1, lambda f: subsets(f, "sets=age+name"), "'name'"),
    "size above the number of columns": Case(2, lambda f: subsets(f, "size=3"), "at most the number of quasi"),
    "size of nothing": Case(2, lambda f: subsets(f, "size=0"), "`size`"),
    "size and sets": Case(2, lambda f: subsets(f, "size=2,sets=age+city"), "got both"),
    "importance of 0": Case(2, lambda f: anonymize(f, table(f), "--importance", "age=0"), "above 0"),
    "importance below 0": Case(2, lambda f: anonymize(f, table(f), "--importance", "age=-1"), "above 0"),
    "importance that is no number": Case(2, lambda f: anonymize(f, table(f), "--importance", "age=x"), "a number"),
    "importance of a sensitive column": Case(
        2, lambda f: anonymize(f, table(f), "--importance", "disease=2"), "not a quasi-identifier"
    ),
    "a form of numbers that is none": Case(
        2, lambda f: anonymize(f, table(f), "--algorithm", "mondrian", "--numeric", "age=median"), "must be one of"
    ),
    "a form without a column": Case(2, lambda f: anonymize(f, table(f), "--numeric", "mean"), "must be written"),
    "a form of numbers for a sensitive column": Case(
        2,
        lambda f: anonymize(f, table(f), "--algorithm", "mondrian", "--numeric", "disease=mean"),
        "not a quasi-identifier",
    ),
    "importance of 0 in a policy": Case(
        1, lambda f: policy(f, age=('age = { role = "quasi" }', 'age = { role = "quasi", importance = 0 }')), "above 0"
    ),
    "importance of a sensitive column in a policy": Case(
        1, lambda f: policy(f, one=('role = "sensitive"', 'role = "sensitive", importance = 2')), "importance"
    ),
    "levels above the hierarchy": Case(2, lambda f: bounded(f, "age=1..9"), "within its hierarchy, 0..3"),
    "levels upside down": Case(2, lambda f: bounded(f, "age=2..1"), "'age'"),
    "levels that are none": Case(2, lambda f: bounded(f, "age=fine"), "two levels, such as 1..3"),
    "levels of an unknown column": Case(2, lambda f: bounded(f, "town=1..2"), "'town'"),
    "levels in a policy that are none": Case(
        1, lambda f: policy(f, age=('age = { role = "quasi" }', 'age = { role = "quasi", levels = "x" }')), "levels"
    ),
    "sample of fewer than k": Case(3, lambda f: anonymize(f, table(f), "--sample", "0.1"), "a sample of 0.1 has 1 row"),
    "sample of nothing": Case(2, lambda f: anonymize(f, table(f), "--sample", "0"), "above 0 and at most 1"),
    "sample of 200 %": Case(2, lambda f: anonymize(f, table(f), "--sample", "2"), "above 0 and at most 1"),
    "sample of 200 % in a policy": Case(
        1,
        lambda f: policy(f, sample=('path = "data.csv"', 'path = "data.csv"\nsample = 2.0')),
        "[input]: `sample` must be",
    ),
    "no model": Case(2, lambda f: anonymize(f, table(f), model=[]), "no model"),
    "unknown model": Case(2, lambda f: anonymize(f, table(f), model=["--model", "k-anonimity:k=2"]), "k-anonimity"),
    "unknown algorithm": Case(2, lambda f: anonymize(f, table(f), "--algorithm", "mondrain"), "mondrain"),
    "suppression of nothing": Case(2, lambda f: anonymize(f, table(f), "--suppression", ""), "suppression"),
    "suppression of 200 %": Case(2, lambda f: anonymize(f, table(f), "--suppression", "2"), "from 0 to 1"),
    "unknown option": Case(2, lambda f: anonymize(f, table(f), "--frobnicate"), "--frobnicate"),
    "unknown command": Case(2, lambda f: ["anonymise"], "anonymise"),
    "label that is not published": Case(1, lambda f: anonymize(f, table(f), "--target", "name"), "'name'"),
    "label of no column": Case(1, lambda f: anonymize(f, table(f), "--target", "diseases"), "'diseases'"),
    "label of no column, measured": Case(
        1,
        lambda f: ["measure", table(f), *ROLES, "--target", "town", "--original", str(f / "data.csv")],
        "'town'",
    ),
    "no output": Case(2, lambda f: ["anonymize", table(f), *ROLES, *MODEL], "no output"),
    "unwritable output": Case(
        1, lambda f: ["anonymize", table(f), *ROLES, *MODEL, "-o", str(f / "no" / "out.csv")], "no directory"
    ),
    "output is a directory": Case(
        1, lambda f: ["anonymize", table(f), *ROLES, *MODEL, "-o", str(_folder(f, "d.csv"))], "is a directory"
    ),
    "output in no format": Case(
        1, lambda f: ["anonymize", table(f), *ROLES, *MODEL, "-o", str(f / "out.doc")], "format"
    ),
    "existing output": Case(1, existing, "exists already"),
    "existing certificate": Case(1, existing_certificate, "exists already"),
    "output equal to input": Case(1, onto_itself, "would replace the input"),
    "output equal to input, overwriting": Case(1, lambda f: onto_itself(f, "--overwrite"), "would replace the input"),
    "output a symbolic link to the input": Case(
        1, lambda f: onto_itself(f, "--overwrite", link=os.symlink), "would replace the input"
    ),
    "output a hard link to the input": Case(
        1, lambda f: onto_itself(f, "--overwrite", link=os.link), "would replace the input"
    ),
    "output a link to the policy": Case(1, onto_policy, "would replace the input"),
    "recoding in the place of the release": Case(1, recoding_onto_release, "two outputs"),
    "policy with an unknown key": Case(
        1, lambda f: policy(f, key=("models =", "suppresion = 0.1\nmodels =")), "unknown key 'suppresion'"
    ),
    "policy with an unknown table": Case(
        1, lambda f: policy(f, key=("[privacy]", "[privacies]\n[privacy]")), "unknown key 'privacies'"
    ),
    "policy with a wrong type": Case(
        1, lambda f: policy(f, key=('["k-anonymity:k=2"]', '"k-anonymity:k=2"')), "expected a list of texts"
    ),
    "policy with a number among texts": Case(
        1,
        lambda f: policy(f, key=('["k-anonymity:k=2"]', "[12]")),
        "expected a list of texts; got a list with a number",
    ),
    "policy that is no TOML": Case(1, lambda f: policy(f, key=('"data.csv"', f"{MARKER}")), "line 2: broken TOML"),
    "policy with a role twice": Case(
        1, lambda f: policy(f, key=("[privacy]", 'age = "sensitive"\n[privacy]')), "broken TOML"
    ),
    "policy beside flags": Case(2, lambda f: [*policy(f), "--quasi", "age"], "sets what --quasi would set"),
    "verify without roles": Case(2, lambda f: ["verify", table(f)], "no model"),
    "verify of another table": Case(1, lambda f: ["verify", table(f), "--quasi", "ages", *MODEL], "no column 'ages'"),
    "measure without the original": Case(2, lambda f: ["measure", table(f), "--quasi", "age"], "no original"),
    "unknown generator": Case(2, lambda f: ["generate", "patient", "-o", str(f / "out.csv")], "'patient'"),
    "negative rows": Case(2, lambda f: ["generate", "patients", "--rows", "-1", "-o", str(f / "out.csv")], "--rows"),
    "inspection of a header": Case(1, lambda f: ["inspect", _header_only(f)], "no rows"),
    "policy onto the data": Case(
        1,
        lambda f: ["inspect", table(f), "-o", str(f / "data.csv"), "--overwrite"],
        "would replace the input",
    ),
}


def _empty(folder: Path) -> str:
    (folder / "data.csv").write_bytes(b"")
    return str(folder / "data.csv")


def _header_only(folder: Path) -> str:
    (folder / "data.csv").write_text(HEADER + "\n")
    return str(folder / "data.csv")


def _folder(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name: str, tmp_path: Path, run) -> None:
    case = CASES[name]
    command = case.build(tmp_path)
    before = contents(tmp_path)
    ran = run(*command)
    assert ran.code == case.code, ran.err
    assert case.message in ran.err
    assert "\nhint: " in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert MARKER not in ran.err
    assert contents(tmp_path) == before, "something was written"


@pytest.mark.parametrize("name", CASES)
def test_bad_input_as_json(name: str, tmp_path: Path, run) -> None:
    case = CASES[name]
    ran = run(*case.build(tmp_path), "--json")
    assert ran.code == case.code
    error = json.loads(ran.out)["error"]
    assert case.message in error["message"]
    assert error["type"]
    assert error["hint"]
    assert MARKER not in ran.out + ran.err


@pytest.mark.parametrize(
    "flags", [["--missing", MARKER], ["--hierarchy", "age=suppression"], ["--hierarchy", "age=mask:right"]]
)
def test_what_the_hint_for_mixed_types_says_mends_it(flags: list[str], tmp_path: Path, run) -> None:
    ran = run(*CASES["mixed types without a hierarchy"].build(tmp_path), *flags)
    assert ran.code == 0, ran.err


def test_codes_with_leading_zeros_are_text_on_purpose(tmp_path: Path, run) -> None:
    rows = [f"{name},{code},Oslo,flu" for name in "ab" for code in ("02138", "53711", "53715")]
    ran = run(*anonymize(tmp_path, table(tmp_path, *rows)))
    assert ran.code == 0, ran.err


def test_the_nearest_known_key_is_the_hint(tmp_path: Path, run) -> None:
    ran = run(*CASES["policy with an unknown key"].build(tmp_path))
    assert "hint: did you mean 'suppression'?" in ran.err


def test_values_are_shown_on_request(tmp_path: Path, run) -> None:
    command = CASES["value outside the hierarchy"].build(tmp_path)
    assert MARKER in run(*command, "--show-values").err


def test_an_unexpected_error_tells_its_type_alone(tmp_path: Path, run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError(MARKER)

    monkeypatch.setattr("indistinct.job.running.run_job", broken)
    monkeypatch.delenv("INDISTINCT_DEBUG", raising=False)
    ran = run(*anonymize(tmp_path, table(tmp_path)))
    assert ran.code == 1
    assert "unexpected error: ZeroDivisionError" in ran.err
    assert "INDISTINCT_DEBUG=1" in ran.err
    assert MARKER not in ran.err + ran.out
    monkeypatch.setenv("INDISTINCT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run(*anonymize(tmp_path, table(tmp_path)))


@pytest.mark.parametrize("name", ["data.csv", "data.xlsx", "data.parquet"])
@pytest.mark.parametrize("command", ["anonymize", "verify"])
def test_a_file_without_permission_to_read_is_named(
    tmp_path: Path, run, monkeypatch: pytest.MonkeyPatch, name: str, command: str
) -> None:
    path, open_path = Path(table(tmp_path, name=name)), Path.open

    def refuse(self: Path, *arguments: object, **options: object) -> object:
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return open_path(self, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    ran = run(
        command, str(path), *ROLES, *MODEL, *(["-o", str(tmp_path / "out.csv")] if command == "anonymize" else [])
    )
    assert ran.code == 1
    assert f"cannot read {path}: Permission denied" in " ".join(ran.err.split())
    assert "ask for access" in ran.err


def test_a_folder_without_permission_to_search_is_named(tmp_path: Path, run, monkeypatch: pytest.MonkeyPatch) -> None:
    path, stat_path = tmp_path / "closed" / "data.csv", Path.stat

    def refuse(self: Path, **options: bool) -> os.stat_result:
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return stat_path(self, **options)

    monkeypatch.setattr(Path, "stat", refuse)
    ran = run(*anonymize(tmp_path, str(path)))
    assert ran.code == 1
    assert f"no access to {path}: Permission denied" in " ".join(ran.err.split())
    assert "ask for access" in ran.err


def test_an_interrupt_is_130_and_writes_nothing(tmp_path: Path, run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("indistinct.job.running.run_job", interrupted)
    command = anonymize(tmp_path, table(tmp_path))
    before = contents(tmp_path)
    ran = run(*command)
    assert ran.code == 130
    assert "interrupted" in ran.err
    assert contents(tmp_path) == before


def test_a_failed_write_of_the_recoding_leaves_nothing(tmp_path: Path, run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(content: bytes, path: Path) -> None:
        path.write_bytes(content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("indistinct.recoding.storage._fill", full)
    command = anonymize(tmp_path, table(tmp_path), "--save-recoding", str(tmp_path / "r.json"))
    before = contents(tmp_path)
    ran = run(*command)
    assert ran.code == 1
    assert "No space left" in ran.err
    assert contents(tmp_path) == before


def test_a_release_that_shows_an_identifier_does_not_hold(tmp_path: Path, run) -> None:
    rows = [f"a{i},20,Oslo,flu" for i in range(4)]
    ran = run("verify", table(tmp_path, *rows), *ROLES, *MODEL, "--json")
    assert ran.code == 4
    document = json.loads(ran.out)
    assert not document["holds"]
    assert [verdict["model"] for verdict in document["models"] if not verdict["holds"]] == ["no-identifier"]
    assert "role identifier" in ran.err
