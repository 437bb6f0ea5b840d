"""Tables and releases at addresses, in memory here: whole or not at all, and no password in any message."""

import sys

import fsspec
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.cli import main
from indistinct.release.writing.files import write_table
from indistinct.samples import generate_patients
from indistinct.tables.addresses import address_of, without_credentials

SCHEMA = ind.Schema(identifiers=["name"], quasi=["age", "sex", "zipcode", "admitted"], sensitive=["disease", "cost"])
JOB = {"model": "k-anonymity:k=5", "algorithm": "mondrian", "seed": 1}


@pytest.fixture
def store(tmp_path):
    system = fsspec.filesystem("memory")
    system.rm("/", recursive=True) if system.ls("/") else None
    write_table(generate_patients(300, seed=1), tmp_path / "a.csv")
    system.pipe("/in/a.csv", (tmp_path / "a.csv").read_bytes())
    return system


def test_a_table_comes_from_an_address_and_its_release_goes_to_one(store, tmp_path):
    release = ind.anonymize("memory://in/a.csv", SCHEMA, output="memory://out/r.csv", **JOB)
    ind.anonymize(tmp_path / "a.csv", SCHEMA, output=tmp_path / "r.csv", **JOB)
    assert store.cat("/out/r.csv") == (tmp_path / "r.csv").read_bytes()
    assert sorted(store.ls("/out", detail=False)) == ["/out/r.csv", "/out/r.csv.certificate.json"]
    assert ind.verify("memory://out/r.csv", SCHEMA, "k-anonymity:k=5").holds
    assert release.certificate.output_digest is not None


def test_the_certificate_at_an_address_must_be_the_file_s_own(store):
    ind.anonymize("memory://in/a.csv", SCHEMA, output="memory://out/r.csv", **JOB)
    store.pipe("/out/r.csv", store.cat("/out/r.csv").replace(b"\n", b"\r\n"))
    assert not ind.verify("memory://out/r.csv", SCHEMA, "k-anonymity:k=5").holds


def test_both_tables_of_anatomy_go_and_come(store):
    job = {"algorithm": "anatomy:l=2", "seed": 1}
    schema = ind.Schema(
        identifiers=["name", "cost"], quasi=["age", "sex", "zipcode", "admitted"], sensitive=["disease"]
    )
    ind.anonymize("memory://in/a.csv", schema, output="memory://out/r.csv", **job)
    assert len(store.ls("/out", detail=False)) == 3


def test_a_file_at_an_address_is_read_again_when_it_changed(store):
    assert ind.open("memory://in/a.csv").rows == 300
    store.pipe("/in/a.csv", b"age,sex\n31,m\n32,f\n")
    assert ind.open("memory://in/a.csv").rows == 2


def test_files_of_a_folder_and_of_a_pattern_are_one_table(store, tmp_path):
    table = generate_patients(300, seed=1)
    for part in range(3):
        pq.write_table(table.slice(part * 100, 100), tmp_path / "p.parquet")
        store.pipe(f"/many/{part}.parquet", (tmp_path / "p.parquet").read_bytes())
    assert ind.open("memory://many").rows == 300
    assert ind.open("memory://many/*.parquet").rows == 300
    assert ind.open(["memory://many/0.parquet", "memory://many/2.parquet"]).rows == 200


def test_nothing_is_replaced_unless_it_is_asked_for_and_never_the_input(store):
    ind.anonymize("memory://in/a.csv", SCHEMA, output="memory://out/r.csv", **JOB)
    with pytest.raises(ind.OutputError, match="exists already"):
        ind.anonymize("memory://in/a.csv", SCHEMA, output="memory://out/r.csv", **JOB)
    with pytest.raises(ind.OutputError, match="replace the input"):
        ind.anonymize("memory://in/a.csv", SCHEMA, output="memory://in/a.csv", overwrite=True, **JOB)
    ind.anonymize(
        "memory://in/a.csv", SCHEMA, output="memory://out/r.csv", overwrite=True, **{**JOB, "model": "k-anonymity:k=9"}
    )
    assert ind.verify("memory://out/r.csv", SCHEMA, "k-anonymity:k=9").holds


@pytest.mark.parametrize("failing", ["put_file", "mv"])
def test_a_store_that_fails_is_left_as_it_was(store, monkeypatch, failing):
    calls = []

    def fail(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError("denied to zoe7:secret")
        return real(*arguments, **options)

    real = getattr(store, failing)
    monkeypatch.setattr(type(store), failing, lambda _self, *a, **o: fail(*a, **o))
    with pytest.raises(ind.OutputError, match="cannot be written") as caught:
        ind.anonymize("memory://in/a.csv", SCHEMA, output="memory://out/r.csv", **JOB)
    assert "secret" not in str(caught.value)
    assert not store.exists("/out") or store.ls("/out", detail=False) == []


@pytest.mark.parametrize(
    "address",
    [
        "s3://zoe7:secret@bucket/a.csv",
        "foo://zoe7:secret@bucket/a.csv",
        "https://zoe7:sec/ret@host/a.csv?token=secret#secret",
        "sftp://zoe7:secret@@host/a.csv",
        "memory://zoe7:secret@nowhere/a.csv?sig=secret",
    ],
)
def test_no_message_repeats_what_lets_somebody_in(address, tmp_path, capsys, store):
    source = tmp_path / "a.csv"
    flags = ["--quasi", "age", "--model", "k-anonymity:k=2"]
    runs = [
        ["inspect", address],
        ["anonymize", address, *flags, "-o", tmp_path / "out.csv"],
        ["anonymize", source, *flags, "-o", address],
        ["anonymize", source, *flags, "-o", address.replace(".csv", ".xyz")],
        ["verify", address, *flags, "--original", source],
        ["scan", address],
    ]
    for run in runs:
        code = main([str(part) for part in run])
        said = capsys.readouterr()
        assert code in (1, 2), run
        assert "unexpected" not in said.err, run
        for part in ("secret", "sec/ret", "ret@", "zoe7"):
            assert part not in said.out + said.err, run


def test_what_succeeds_does_not_show_it_either(store, tmp_path, capsys):
    store.pipe("/zoe7:secret@in/a.csv", store.cat("/in/a.csv"))
    source, target = "memory://zoe7:secret@in/a.csv", "memory://zoe7:secret@in/r.csv"
    roles = ["--identifier", "name", "--quasi", "age,sex,zipcode,admitted", "--sensitive", "disease,cost"]
    model = ["--model", "k-anonymity:k=5"]
    runs = [
        ["inspect", source],
        ["anonymize", source, *roles, *model, "--algorithm", "mondrian", "-o", target],
        ["verify", target, *roles, *model],
        ["measure", target, *roles, "--original", source],
        ["scan", target],
    ]
    for run in runs:
        for json in ([], ["--json"]):
            again = ["--overwrite"] if run[0] == "anonymize" else []
            assert main([*run, *again, *json]) == 0, run
            said = capsys.readouterr()
            assert "secret" not in said.out + said.err, run


def test_an_unknown_scheme_is_named(tmp_path):
    for address in ("foo://bucket/a.csv", "reference://x/a.csv"):
        with pytest.raises(ind.ParameterError, match=f"the scheme {address.partition(':')[0]}://"):
            ind.open(address)
    with pytest.raises(ind.ParameterError, match="::"):
        ind.open("simplecache::memory://in/a.csv")
    (tmp_path / "a.xyz").write_bytes(b"a")
    with pytest.raises(ind.InputError, match=r"the suffix '\.xyz'"):
        ind.open(tmp_path / "a.xyz")


def test_addresses_survive_as_paths_and_are_shown_without_secrets(tmp_path):
    from pathlib import Path

    assert address_of(Path("s3://bucket/a.csv")) == "s3://bucket/a.csv"
    assert address_of(Path("file:///folder/a.csv")) == "file:///folder/a.csv"
    assert address_of(tmp_path / "a.csv") is None
    assert address_of("C:/a.csv") is None
    assert without_credentials("s3://zoe7:pa@ss@bucket/a.csv?x=1") == "s3://***@bucket/a.csv?***"


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ind.MissingExtraError) as caught:
        ind.open("s3://bucket/a.csv")
    assert caught.value.hint == 'pip install "indistinct[cloud]"'
