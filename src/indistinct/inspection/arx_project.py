"""ARX projects (`.deid`): roles, hierarchies, models and limits, read from the XML and CSV files of the archive.

Serialized Java objects in the archive (`*.dat`) are never opened. An entry is only looked up by its name; nothing is
unpacked under a path that the archive chooses.
"""

import csv
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

from indistinct.errors import IndistinctError, InputError
from indistinct.models import (
    AverageRisk,
    BasicBetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    Model,
    RecursiveLDiversity,
    SampleUniqueness,
    TCloseness,
)
from indistinct.recoding.columns import Bounds
from indistinct.schema import Role
from indistinct.tables.addresses import check_ordinary
from indistinct.tables.dialect import encodings_of
from indistinct.tables.extents import ARCHIVE_ERRORS
from indistinct.tables.sheets import MAX_INFLATED_BYTES
from indistinct.tables.xml_documents import parse_xml

SUFFIX = ".deid"
DEFINITION, CONFIG, PROJECT = "input/definition.xml", "input/config.xml", "project.xml"
DATA, SUBSET = "data/input.csv", "data/input_subset.csv"
# What one description and one hierarchy may be, in bytes, and how many columns a project may have.
MAX_XML, MAX_HIERARCHY, MAX_COLUMNS = 1 << 24, 1 << 28, 16_384
ROLES = {
    "IDENTIFYING_ATTRIBUTE": Role.IDENTIFIER,
    "QUASI_IDENTIFYING_ATTRIBUTE": Role.QUASI,
    "SENSITIVE_ATTRIBUTE": Role.SENSITIVE,
    "INSENSITIVE_ATTRIBUTE": Role.INSENSITIVE,
}
_NUMBER, _OF = r"([0-9.]+(?:[eE]-?[0-9]+)?)", r" for attribute '(.*)'"
# What versions of ARX write of a model, and the model of the same definition.
MODELS = (
    (r"(\d+)-anonymity", lambda k: KAnonymity(int(k))),
    (rf"distinct-(\d+)-diversity{_OF}", lambda number, column: DistinctLDiversity(column, l=int(number))),
    (rf"(?:shannon-)?entropy-{_NUMBER}-diversity{_OF}", lambda number, name: EntropyLDiversity(name, l=float(number))),
    (
        rf"grassberger-entropy-{_NUMBER}-diversity{_OF}",
        lambda number, name: EntropyLDiversity(name, l=float(number), estimator="grassberger"),
    ),
    (
        rf"recursive-\({_NUMBER},\s*(\d+)\)-diversity{_OF}",
        lambda c, number, name: RecursiveLDiversity(name, c=float(c), l=int(number)),
    ),
    (
        rf"{_NUMBER}-closeness with (equal|ordered|hierarchical) (?:ground-)?distance{_OF}",
        lambda t, distance, name: TCloseness(name, t=float(t), distance=distance),
    ),
    (rf"{_NUMBER}-disclosure privacy{_OF}", lambda delta, name: DeltaDisclosure(name, delta=float(delta))),
    (rf"basic-{_NUMBER}-likeness{_OF}", lambda beta, name: BasicBetaLikeness(name, beta=float(beta))),
    (rf"enhanced-{_NUMBER}-likeness{_OF}", lambda beta, name: EnhancedBetaLikeness(name, beta=float(beta))),
    (rf"\(<?{_NUMBER}\)-avg-reidentification-risk", lambda share: AverageRisk(threshold=float(share))),
    (rf"\(<?{_NUMBER}\)-sample-unique(?:ness|s)", lambda share: SampleUniqueness(share=float(share))),
)
# Models that judge the rows against a larger table; the project publishes a subset of it.
_OF_SUBSET = re.compile(r"inclusion|enclosure|\(.*\)-presence|\d+-map|k-map", re.IGNORECASE)
# Letters of a Java date format, and the same of strptime.
_DATE_PARTS = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "M": "%m",
    "dd": "%d",
    "d": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
}


@dataclass(frozen=True, slots=True)
class ArxColumn:
    """A column of a project: its role, the format of its dates, its generalization limits and its hierarchy.

    `hierarchy` is the name of an entry, `dates` a format of strptime; `numeric` columns are integers or decimals.
    """

    name: str
    role: Role
    numeric: bool = False
    hierarchy: str | None = None
    bounds: Bounds | None = None
    dates: str | None = None


@dataclass(frozen=True, slots=True)
class ArxProject:
    """What a project says: columns, models, suppression limit, attribute weights, and what could not be read.

    `data` is the entry of the rows that are published, `population` that of the table from which they were chosen,
    where the archive has both. `lost` are sentences for people.
    """

    path: Path
    columns: tuple[ArxColumn, ...]
    delimiter: str
    data: str
    population: str | None = None
    models: tuple[Model, ...] = ()
    suppression: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


def read_arx_project(path: Path, *, most: int = MAX_INFLATED_BYTES) -> ArxProject:
    """Read a project of ARX; the archive may inflate to `most` bytes.

    Raises `InputError` for a file that is no project, is damaged or encrypted, or that could fill the memory.
    """
    with open_archive(path, most=most) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        missing = [name for name in (DEFINITION, DATA) if name not in entries]
        if missing:
            raise InputError(
                f"{path} has no {missing[0]}, which a project of ARX has",
                hint="open it in ARX, import its data, and save it again",
            )
        columns, lost = _read_columns(_xml(archive, DEFINITION, path), entries)
        config = _xml(archive, CONFIG, path) if CONFIG in entries else ElementTree.Element("config")
        settings = _xml(archive, PROJECT, path) if PROJECT in entries else ElementTree.Element("project")
        chosen = SUBSET in entries and _content(entries[SUBSET]) != _content(entries[DATA])
        models, not_models = _read_models(config, {column.name: column.role for column in columns})
        weights, not_weights = _read_weights(config)
        return ArxProject(
            path=path,
            columns=columns,
            delimiter=_delimiter(settings),
            data=SUBSET if chosen else DATA,
            population=DATA if chosen else None,
            models=models,
            suppression=_share(config.findtext("relativeMaxOutliers")),
            weights=weights,
            lost=(*not_models, *lost, *not_weights, *_other_losses(config, entries)),
        )


@contextmanager
def open_archive(path: Path, *, most: int = MAX_INFLATED_BYTES) -> Iterator[zipfile.ZipFile]:
    """Open the archive of a project; raise `InputError` for one that is damaged, encrypted or inflates without end."""
    try:
        check_ordinary(path)
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if any(entry.flag_bits & 1 for entry in entries):
                raise InputError(f"{path} is encrypted", hint="save the project without a password where that is safe")
            if sum(entry.file_size for entry in entries) > most:
                raise InputError(
                    f"{path} decompresses to more than {most >> 20:,} MB",
                    hint="save the table alone, as CSV or Parquet",
                )
            if len({entry.filename for entry in entries}) < len(entries):
                raise InputError(
                    f"{path} has several entries of one name, which ARX never writes", hint="save it again in ARX"
                )
            yield archive
    except FileNotFoundError:
        raise InputError(f"there is no file {path}", hint="check the path") from None
    except ARCHIVE_ERRORS:
        raise InputError(
            f"{path} cannot be read as a project of ARX", hint="it is a zip archive: check that it was copied whole"
        ) from None


def read_rows(archive: zipfile.ZipFile, name: str, delimiter: str, path: Path) -> list[tuple[str, ...]]:
    """Return the rows of a hierarchy."""
    text = _text(_bytes(archive, name, path, most=MAX_HIERARCHY))
    try:
        return [tuple(row) for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    except csv.Error:
        raise InputError(f"{name} in {path} has a quote that is left open", hint="export it from ARX again") from None


def _bytes(archive: zipfile.ZipFile, name: str, path: Path, *, most: int) -> bytes:
    """Read an entry of a project; raise if it is too large."""
    if archive.getinfo(name).file_size > most:
        raise InputError(f"{name} in {path} is larger than {most >> 20:,} MB", hint="this is not an ARX project")
    with archive.open(name) as entry:
        return entry.read(most)


def _text(content: bytes) -> str:
    """Decode text in the first encoding that fits."""
    for encoding in encodings_of(content):
        try:
            return content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1")


def _xml(archive: zipfile.ZipFile, name: str, path: Path) -> ElementTree.Element:
    """Return an entry of an archive as parsed XML; raise `InputError` if it is malformed, or too large."""
    content = _bytes(archive, name, path, most=MAX_XML)
    try:
        return parse_xml(content, f"{name} in {path}")
    except (ElementTree.ParseError, ValueError, RecursionError):
        raise InputError(
            f"{name} in {path} cannot be read as XML", hint="save the project again with a current version of ARX"
        ) from None


def _content(entry: zipfile.ZipInfo) -> tuple[int, int]:
    """Return a value that is equal for entries with equal content."""
    return entry.file_size, entry.CRC


def _read_columns(
    definition: ElementTree.Element, entries: Mapping[str, zipfile.ZipInfo]
) -> tuple[tuple[ArxColumn, ...], list[str]]:
    """Return the columns that the data definition names, and what of it is not taken over."""
    columns: dict[str, ArxColumn] = {}
    lost: list[str] = []
    for element in definition.iter("assigment"):  # written so by ARX
        name = element.findtext("name") or ""
        column, more = _read_column(name, element, entries)
        lost += more
        if columns.setdefault(name, column) is not column or len(columns) > MAX_COLUMNS:
            raise InputError(
                f"the data definition of the project names a column twice, or more than {MAX_COLUMNS:,}",
                hint="save the project again in ARX",
            )
    if not columns:
        raise InputError(
            "the data definition of the project names no column", hint="import data in ARX, and save the project again"
        )
    return tuple(columns.values()), lost


def _read_column(
    name: str, element: ElementTree.Element, entries: Mapping[str, zipfile.ZipInfo]
) -> tuple[ArxColumn, list[str]]:
    """Read a column of the project; return also what cannot be taken over."""
    lost = []
    role = ROLES.get((element.findtext("type") or "").strip())
    if role is None:
        lost.append(f"column {name!r} has no role that is known: it is an identifier, and dropped")
    kind, form = (element.findtext("datatype") or "").strip(), element.findtext("format")
    dates = _strptime(form) if kind == "Date/Time" and form else None
    if kind == "Date/Time" and form and dates is None:
        lost.append(f"column {name!r}: its date format {form!r}; inspect proposed how to read it")
    if kind == "Ordinal" and role in (Role.QUASI, Role.SENSITIVE):
        lost.append(f"column {name!r}: the order of its values")
    if element.findtext("microAggregationFunction"):
        lost.append(f"column {name!r} is microaggregated in ARX: here it is generalized, or choose the algorithm mdav")
    if (element.findtext("responseVariable") or "").strip() == "true":
        lost.append(f"column {name!r} is a response variable: name it as `target` under [measure]")
    reference = f"input/{element.findtext('ref') or f'hierarchies/{name}.csv'}"
    hierarchy = reference if reference in entries else None
    if hierarchy is None and element.findtext("ref"):
        lost.append(f"column {name!r}: its hierarchy is not in the archive")
    numeric = kind in ("Integer", "Decimal")
    return ArxColumn(name, role or Role.IDENTIFIER, numeric, hierarchy, _bounds(element), dates), lost


def _bounds(element: ElementTree.Element) -> Bounds | None:
    """Return the generalization limits of a column, None where all levels are allowed."""
    least, most = (_whole(element.findtext(key)) for key in ("min", "max"))
    return None if least is None and most is None else (least or 0, most)


def _whole(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _share(text: str | None) -> float | None:
    """Return a share from 0 to 1; None for anything else."""
    try:
        share = float(text or "")
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None


def _strptime(form: str) -> str | None:
    """Return a Java date format in the words of strptime; None for one with other parts.

    >>> _strptime("dd.MM.yyyy"), _strptime("EEE d MMM")
    ('%d.%m.%Y', None)
    """
    parts = re.findall(r"([A-Za-z])(\1*)|([^A-Za-z])", form)
    words = [_DATE_PARTS.get(letter + more) if letter else mark.replace("%", "%%") for letter, more, mark in parts]
    return None if any(word is None for word in words) else "".join(word or "" for word in words)


def _delimiter(settings: ElementTree.Element) -> str:
    """Return the field separator of the project's files, by default a semicolon."""
    given = settings.findtext("separator") or ";"
    given = given if len(given) == 1 else given.strip()
    return given if len(given) == 1 and given not in '"\r\n' else ";"


def _read_models(config: ElementTree.Element, roles: Mapping[str, Role]) -> tuple[tuple[Model, ...], list[str]]:
    """Return the models of a project, and those that are not taken over, in words."""
    models: list[Model] = []
    lost: list[str] = []
    for element in config.iter("criterion"):
        text = (element.text or "").strip()
        model = _model(text, roles)
        if model is not None:
            models.append(model)
        elif _OF_SUBSET.match(text):
            lost.append(
                f"the model {text}: it publishes a subset of the rows that only ARX can read; the policy publishes all "
                "rows of the archive, so export the subset from ARX, and name the whole table as `population`"
            )
        else:
            lost.append(f"the model {text}: choose one under [privacy] in its place")
    if not models:
        lost.insert(0, "no model was taken over: the k of the policy is a proposal")
    return tuple(models), lost


def _model(text: str, roles: Mapping[str, Role]) -> Model | None:
    """Return the model that ARX writes in this way; None where there is none, or its column is not sensitive."""
    for pattern, make in MODELS:
        matched = re.fullmatch(pattern, text, re.DOTALL)
        if matched is not None:
            named = matched[matched.re.groups] if pattern.endswith(_OF) else None
            if named is not None and roles.get(named) is not Role.SENSITIVE:
                return None
            try:
                return make(*matched.groups())
            except (IndistinctError, ValueError):
                return None
    return None


def _read_weights(config: ElementTree.Element) -> tuple[dict[str, float], list[str]]:
    """Return the attribute weights relative to ARX's default of one half; none where all are that."""
    weights: dict[str, float] = {}
    lost = []
    for element in config.iter("attributeWeight"):
        name, share = element.findtext("attribute") or "", _share(element.findtext("weight"))
        if share:
            weights[name] = 2 * share
        else:
            lost.append(f"column {name!r}: its weight of 0, for each column matters here")
    return {name: weight for name, weight in weights.items() if weight != 1}, lost


def _other_losses(config: ElementTree.Element, entries: Mapping[str, zipfile.ZipInfo]) -> list[str]:
    """Return further settings of the project that cannot be taken over."""
    lost = []
    metric = (config.findtext("metric") or "").strip()
    if metric:
        lost.append(f"the utility measure, {metric}: `optimal:metric=loss` searches as ARX does, auto tries several")
    if any(name.startswith(("output/", "lattice")) for name in entries):
        lost.append("the result that ARX computed: it is searched again")
    return lost
