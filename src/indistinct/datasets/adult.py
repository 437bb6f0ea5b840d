"""Loaders of the Adult table and its hierarchies, on which the published results of most algorithms rest.

The table is not part of this package: it is read from the folder that `INDISTINCT_DATA` names.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv

from indistinct.errors import InputError, ParameterError
from indistinct.hierarchy import Hierarchy

ADULT_QUASI = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")
"""The quasi-identifiers in the order of LeFevre et al. (2005)."""
ADULT_COLUMNS = (*ADULT_QUASI, "salary-class")
"""The columns that have hierarchies."""
ADULT_TRAINING_ROWS = 32_561
"""How many rows the training file holds; they come first."""

_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_FOLDERS: Mapping[str, str] = {"reference": "adult-reference", "arx": "adult-arx"}


def load_adult(folder: str | Path | None = None, *, training_only: bool = False, drop_missing: bool = True) -> pa.Table:
    """Return the Adult table (Becker & Kohavi 1996), all fifteen columns.

    Both files have 48,842 rows, 45,222 without unknowns; the training file alone has 32,561 and 30,162.
    Unknown cells are null where they are not dropped. Numbers are int64, everything else is text.
    """
    table = _read(_find("adult.csv", folder), delimiter=",")
    if training_only:
        table = table.slice(0, ADULT_TRAINING_ROWS)
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
    if kind not in _FOLDERS:
        raise ParameterError(f"`kind` must be one of {', '.join(_FOLDERS)}; got {kind!r}")
    return {column: Hierarchy.read_csv(_find(f"{_FOLDERS[kind]}/{column}.csv", folder)) for column in ADULT_COLUMNS}


def _find(name: str, folder: str | Path | None) -> Path:
    place = Path(folder or os.environ.get("INDISTINCT_DATA") or "../shared/data")
    if not (place / name).is_file():
        raise InputError(
            f"there is no file {name!r} in the data folder {str(place)!r}",
            hint="get the Adult table from the UCI Machine Learning Repository (Becker & Kohavi 1996), join "
            "its two files under one header as adult.csv, and set INDISTINCT_DATA to their folder",
        )
    return place / name


def _read(path: Path, *, delimiter: str) -> pa.Table:
    convert = pa.csv.ConvertOptions(
        column_types={**dict.fromkeys(ADULT_COLUMNS, pa.string()), **dict.fromkeys(_NUMBERS, pa.int64())},
        null_values=["?"],
        strings_can_be_null=True,
    )
    try:
        return pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter=delimiter), convert_options=convert)
    except (pa.ArrowException, OSError):
        raise InputError(
            f"the Adult table in {str(path)!r} cannot be read",
            hint=f"one header line, then rows separated by {delimiter!r}; unknown cells are written as ?",
        ) from None
