"""Loaders of the Adult table and its hierarchies, on which the published results of most algorithms rest.

The table is not part of this package: it is read from the folder that `INDISTINCT_DATA` names. The UCI
Machine Learning Repository publishes it (https://archive.ics.uci.edu/dataset/2/adult, CC BY 4.0) as two files.
"""

import io
import os
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv

from indistinct.errors import InputError, ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct_papers._adult_taxonomy import taxonomy_rows

ADULT_QUASI = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")
"""The quasi-identifiers in the order of LeFevre et al. (2005)."""
ADULT_COLUMNS = (*ADULT_QUASI, "salary-class")
"""The columns that have hierarchies."""
ADULT_TRAINING_ROWS = 32_561
"""How many rows the training file holds; they come first."""

_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_EVERY = (
    *(
        "age",
        "workclass",
        "fnlwgt",
        "education",
        "education-num",
        "marital-status",
        "occupation",
        "relationship",
        "race",
    ),
    *("sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary-class"),
)
_KINDS = ("reference", "arx")
_RAW = ("adult.data", "adult.test")
WHERE = (
    "get adult.data and adult.test from the UCI Machine Learning Repository (Becker & Kohavi 1996, CC BY 4.0, "
    "https://archive.ics.uci.edu/dataset/2/adult), and set INDISTINCT_DATA to their folder"
)
"""Where the table is published, and where it is looked for."""


def load_adult(folder: str | Path | None = None, *, training_only: bool = False, drop_missing: bool = True) -> pa.Table:
    """Return the Adult table (Becker & Kohavi 1996), all fifteen columns.

    The folder holds the published files adult.data and adult.test unmodified, or both under one header as adult.csv.
    Both have 48,842 rows, 45,222 without unknowns; the training file alone has 32,561 and 30,162. Unknown cells are
    null where they are not dropped. Numbers are int64, everything else is text.
    """
    place = data_folder(folder)
    if (place / "adult.csv").is_file():
        table = _read(place / "adult.csv", delimiter=",")
        table = table.slice(0, ADULT_TRAINING_ROWS) if training_only else table
    else:
        table = pa.concat_tables(_read_raw(_find(name, folder)) for name in _RAW[: 1 if training_only else 2])
    return table.drop_null() if drop_missing else table


def load_adult_arx(folder: str | Path | None = None) -> pa.Table:
    """Return the sample of Adult that the ARX project ships: 30,162 rows, nine columns."""
    return _read(_find("adult-arx/adult.csv", folder), delimiter=";")


def adult_hierarchies(
    kind: Literal["reference", "arx"] = "reference", *, folder: str | Path | None = None
) -> dict[str, Hierarchy]:
    """Return a hierarchy for each column of `ADULT_COLUMNS`.

    The reference taxonomy reproduces the counts that LeFevre et al. (2005) print for three to six attributes;
    the one of ARX groups otherwise and its age ranges are shifted by one: do not mix them.
    """
    if kind not in _KINDS:
        raise ParameterError(f"`kind` must be one of {', '.join(_KINDS)}; got {kind!r}")
    if kind == "reference":
        return {column: Hierarchy.from_rows(rows) for column, rows in taxonomy_rows().items()}
    return {column: Hierarchy.read_csv(_find(f"adult-arx/{column}.csv", folder)) for column in ADULT_COLUMNS}


def data_folder(folder: str | Path | None = None) -> Path:
    """Return where tables lie that are not part of this package."""
    return Path(folder or os.environ.get("INDISTINCT_DATA") or "../shared/data")


def _find(name: str, folder: str | Path | None) -> Path:
    place = data_folder(folder)
    if not (place / name).is_file():
        raise InputError(f"there is no file {name!r} in the data folder {str(place)!r}", hint=WHERE)
    return place / name


def _read_raw(path: Path) -> pa.Table:
    """Return a published file: no names, a space behind each comma, a comment on top, a dot behind labels of tests."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        raise InputError(f"the Adult table in {str(path)!r} cannot be read", hint="check its permissions") from None
    rows = [line.replace(b", ", b",").removesuffix(b".") for line in lines if line and not line.startswith(b"|")]
    header = ",".join(_EVERY).encode()
    return _read(path, delimiter=",", text=b"\n".join([header, *rows, b""]))


def _read(path: Path, *, delimiter: str, text: bytes | None = None) -> pa.Table:
    convert = pa.csv.ConvertOptions(
        column_types={**dict.fromkeys(ADULT_COLUMNS, pa.string()), **dict.fromkeys(_NUMBERS, pa.int64())},
        null_values=["?"],
        strings_can_be_null=True,
    )
    try:
        parse = pa.csv.ParseOptions(delimiter=delimiter)
        return pa.csv.read_csv(path if text is None else io.BytesIO(text), parse_options=parse, convert_options=convert)
    except (pa.ArrowException, OSError):
        raise InputError(
            f"the Adult table in {str(path)!r} cannot be read",
            hint="fifteen cells a row, unknown ones written as ?; adult.csv has a line of names above"
            if delimiter == ","
            else f"one header line, then rows separated by {delimiter!r}; unknown cells are written as ?",
        ) from None
