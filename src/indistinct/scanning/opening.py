"""A published file of any kind, told by its first bytes and opened without running anything in it."""

from dataclasses import replace
from pathlib import Path

from indistinct.errors import InputError
from indistinct.input_files import no_file, read_ordinary
from indistinct.scanning import arrow, excel, parquet, pickles
from indistinct.scanning.base import Opened
from indistinct.scanning.containers import GZIP, ZIP, inflate, open_archive, open_zip
from indistinct.scanning.text import open_delimited
from indistinct.tables.several import ARROW, DELIMITED, PARQUET
from indistinct.tables.value import Reading

MOST_BYTES = 2 << 30
PICKLE = (".pkl", ".pickle", ".p")
EXCEL = (".xlsx", ".xlsm")
OTHERS = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "RAR",
}


def open_file(path: Path, reading: Reading) -> Opened:
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
    if not content.startswith(GZIP):
        return _opened(path, content, reading)
    inner, header = inflate(content, str(path))
    return replace(_opened(path, inner, reading), gzip=header)


def _opened(path: Path, content: bytes, reading: Reading) -> Opened:
    name = str(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if content.startswith(parquet.ENCRYPTED):
        raise parquet.encrypted(name)
    if content.startswith(parquet.MAGIC) or suffix in PARQUET:
        return parquet.open_parquet(content, name)
    if content.startswith((arrow.MAGIC, arrow.FIRST_FEATHER)) or suffix in ARROW:
        return arrow.open_arrow(content, name)
    if content.startswith(excel.OLE):
        raise excel.refuse_old_office(content, name)
    if content.startswith(ZIP) or suffix in EXCEL:
        archive = open_archive(content, name)
        return excel.open_workbook(archive, name) if excel.is_workbook(archive) else open_zip(archive)
    if suffix in PICKLE or pickles.is_pickle(content):
        return pickles.open_pickle(content, name)
    packed = next((what for start, what in OTHERS.items() if content.startswith(start)), None)
    if packed is not None:
        raise InputError(f"{path} is compressed with {packed}", hint="decompress it, and scan what is inside")
    if suffix not in DELIMITED:
        raise InputError(
            f"{path} is of no kind that can be scanned",
            hint=f"its name should end in one of {', '.join((*DELIMITED, *PARQUET, *ARROW, *EXCEL, *PICKLE))}",
        )
    how = replace(reading, delimiter="\t") if reading.delimiter is None and suffix == ".tsv" else reading
    return open_delimited(path, content, how)
