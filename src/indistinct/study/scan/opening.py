"""A published file of any kind, told by its first bytes and opened without running anything in it."""

from dataclasses import replace
from pathlib import Path

from indistinct.errors import InputError
from indistinct.machine.memory import Allowance
from indistinct.study.scan import arrow, excel, parquet, pickles, statistics
from indistinct.study.scan.base import Opened
from indistinct.study.scan.containers import GZIP, ZIP, inflate, open_archive, open_zip
from indistinct.study.scan.text import open_delimited
from indistinct.tables.input_files import no_file, read_ordinary
from indistinct.tables.several import ARROW, DELIMITED, LABELLED, PARQUET
from indistinct.tables.value import Reading

MOST_BYTES = 2 << 30
PICKLE = (".pkl", ".pickle", ".p")
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".ods")
OTHERS = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "RAR",
}


def open_file(path: Path, reading: Reading, *, memory: int | None = None) -> Opened:
    """Open a published file; raise `InputError` for one that is encrypted, broken, or of no known kind."""
    try:
        content = read_ordinary(path, most=MOST_BYTES)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) or not isinstance(error, OSError):
            raise no_file(path) from None
        raise InputError(
            f"cannot read {path}: {error.strerror}", hint="give one file, whose permissions let you read it"
        ) from None
    if not content:
        raise InputError(f"{path} is empty", hint="check that this is the right file")
    allowance = Allowance(len(content), memory)
    if not content.startswith(GZIP):
        return _opened(path, content, reading, allowance)
    inner, header = inflate(content, str(path), allowance)
    return replace(_opened(path, inner, reading, allowance), gzip=header)


def _opened(path: Path, content: bytes, reading: Reading, allowance: Allowance) -> Opened:
    name = str(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if content.startswith(parquet.ENCRYPTED):
        raise parquet.encrypted(name)
    if content.startswith(parquet.MAGIC) or suffix in PARQUET:
        return parquet.open_parquet(content, name, allowance)
    if content.startswith((arrow.MAGIC, arrow.FIRST_FEATHER)) or suffix in ARROW:
        return arrow.open_arrow(content, name)
    if content.startswith(excel.OLE):
        raise excel.refuse_old_office(content, name)
    if content.startswith(ZIP) or suffix in EXCEL:
        archive = open_archive(content, name)
        if excel.is_workbook(archive, name, allowance):
            return excel.open_workbook(archive, content, name, allowance)
        return open_zip(archive)
    program = statistics.suffix_of(content, suffix if suffix in LABELLED else "")
    if program is not None:
        return statistics.open_statistics(content, name, program, reading)
    if suffix in PICKLE or pickles.is_pickle(content):
        return pickles.open_pickle(content, name)
    packed = next((what for start, what in OTHERS.items() if content.startswith(start)), None)
    if packed is not None:
        raise InputError(f"{path} is compressed with {packed}", hint="decompress it, and scan what is inside")
    if suffix not in DELIMITED:
        known = (*DELIMITED, *PARQUET, *ARROW, *EXCEL, *LABELLED, *PICKLE)
        raise InputError(
            f"{path} is of no kind that can be scanned",
            hint=f"its name should end in one of {', '.join(known)}",
        )
    how = replace(reading, delimiter="\t") if reading.delimiter is None and suffix == ".tsv" else reading
    return open_delimited(path, content, how)
