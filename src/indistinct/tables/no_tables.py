"""Files that no engine reads as a table, whatever their suffix: pickles, archives, and what is encrypted.

They are known by their first bytes. A pickle would run code when it is read, so nothing here ever does.
"""

from pathlib import Path

from indistinct.errors import InputError

DECRYPT = "decrypt it first, and give the table that comes out"
UNPICKLE = "a pickle runs code when it is read: save the table as Parquet or CSV where it was made"
UNPACK = "unpack it first; a workbook ends in .xlsx, .xls or .ods"

# What a file of some kind begins with, what it is, and what to do with it.
SIGNATURES = (
    (b"\x80\x02", "a pickle", UNPICKLE),
    (b"\x80\x03", "a pickle", UNPICKLE),
    (b"\x80\x04", "a pickle", UNPICKLE),
    (b"\x80\x05", "a pickle", UNPICKLE),
    (b"PARE", "an encrypted Parquet file", DECRYPT),
    (b"Salted__", "encrypted by OpenSSL", DECRYPT),
    (b"age-encryption.org/", "encrypted by age", DECRYPT),
    (b"-----BEGIN PGP MESSAGE", "encrypted by PGP", DECRYPT),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or an encrypted document of an office program", UNPACK),
    (b"PK\x03\x04", "an archive or a workbook, which may be encrypted", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "an archive, which may be encrypted", UNPACK),
)
HINTS = {
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), UNPICKLE),
    **dict.fromkeys((".gpg", ".pgp", ".asc", ".age", ".enc", ".aes"), DECRYPT),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar"), UNPACK),
}
"""What to do with files of some suffixes."""


# What a workbook begins with, by its suffix or not: whoever reads sheets says whether one is encrypted.
OF_WORKBOOKS = (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04")


def check_content(path: Path, *, workbook: bool = False) -> None:
    """Raise `InputError` for a file that is something else than its suffix says."""
    with path.open("rb") as file:
        first = file.read(32)
    for mark, what, hint in SIGNATURES:
        if first.startswith(mark) and not (workbook and mark in OF_WORKBOOKS):
            raise InputError(f"{path} is {what}, and no table", hint=hint)
