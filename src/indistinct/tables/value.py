"""The table that an engine counts and a recoding changes, and what is declared about its file."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypedDict, TypeGuard, Unpack

import pyarrow as pa

from indistinct.errors import InputError, ParameterError, did_you_mean
from indistinct.schema import where_is
from indistinct.tables.domain import Kind, kind_of
from indistinct.tables.notation import check_format, check_marks, is_run_of_digits

# Upper limit of columns: each costs milliseconds.
MAX_COLUMNS = 20_000
EVERY = "*"
"""Where columns are named, the name that means all of them."""

LAYOUT = (
    *("delimiter", "encoding", "header", "sheet", "codes", "columns", "skip_rows", "comment", "trim", "nameless"),
    "version",
)
"""The declarations that decide which columns a file has, and what its cells are before other declarations apply."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How tables are read, as declared; None and empty parts were not declared, and are found or left unchanged.

    `missing` are the NA strings of all columns, `missing_in` those of single columns. `dates` are date and time formats
    as in strptime, each tried on every text column; `dates_in` gives a column its own format. `decimal` and `thousands`
    are separators in numbers, `types` the types of single columns (see `indistinct.tables.value`). `text` names
    columns that are text whatever they contain. `header` says that the first line of a text file has names even if it
    looks like data. `sheet` is the sheet of a workbook; with `codes` the columns of a statistics program keep their
    codes, which otherwise become the texts of their labels. `columns` are those that are read, in their order; empty
    means all.

    `skip_rows` lines of a text file or rows of a sheet are above the names, and lines that begin with `comment` are not
    rows. With `trim`, blanks around names and fields of a text file are removed. Columns without a name are left out
    if `nameless` is "drop", and named after their number if it is "name". `version` is that of a Delta table, or the ID
    of a snapshot of an Iceberg table; None is the newest.
    """

    delimiter: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ("",)
    text: tuple[str, ...] = ()
    decimal: str | None = None
    thousands: str | None = None
    dates: tuple[str, ...] = ()
    dates_in: Mapping[str, str] = field(default_factory=dict)
    missing_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    header: bool = False
    sheet: str | None = None
    codes: bool = False
    columns: tuple[str, ...] = ()
    skip_rows: int = 0
    comment: str | None = None
    trim: bool = False
    nameless: str | None = None
    version: int | None = field(default=None, metadata={"stored": False})  # recodings suit other versions

    @property
    def named_columns(self) -> tuple[str, ...]:
        """Every column that a declaration names."""
        return tuple(dict.fromkeys((*self.text, *self.dates_in, *self.missing_in, *self.types)))

    def about(self, names: Collection[str]) -> "Reading":
        """Return the declarations for another file with some of the columns, without those about its layout."""
        return replace(
            self,
            delimiter=None,
            encoding=None,
            sheet=None,
            columns=(),
            skip_rows=0,
            comment=None,
            nameless=None,
            version=None,
            text=tuple(name for name in self.text if name in names),
            dates_in={name: form for name, form in self.dates_in.items() if name in names},
            missing_in={name: marks for name, marks in self.missing_in.items() if name in names},
            types={name: kind for name, kind in self.types.items() if name in names},
        )

    @property
    def of_cells(self) -> "Reading":
        """Return the declarations about cells alone, without those about the layout of a file."""
        plain = Reading()
        return replace(self, **{key: getattr(plain, key) for key in LAYOUT})

    def marks(self, column: str) -> tuple[str, ...]:
        """Return the NA strings of a column."""
        return (*self.missing, *self.missing_in.get(column, ()))


@dataclass(frozen=True, slots=True)
class ColumnLabels:
    """Labels of a column beyond its values, which are published with it where its values are unmodified.

    In a file of a statistics program, `text` labels the column and `codes` are the codes of its texts. `category` is an
    empty tuple for a column of unordered categories, and all categories in order for an ordered one.
    """

    text: str = ""
    codes: Mapping[str, Any] = field(default_factory=dict)
    category: tuple[str, ...] | None = None

    def spelled_codes(self) -> dict[str, str]:
        """Return the label of each code; codes are written as in a text file.

        >>> ColumnLabels(codes={"male": 1.0, "female": 2.0}).spelled_codes()
        {'1': 'male', '2': 'female'}
        """
        whole = {label: int(code) if isinstance(code, float) and code.is_integer() else code
                 for label, code in self.codes.items()}  # fmt: skip
        return {str(code): label for label, code in whole.items()}


class _Typed(Protocol):
    @property
    def arrow(self) -> pa.Schema: ...


class SourceDetails:
    """What a source may provide beyond its cells; the defaults provide nothing. Columns follow from `arrow`.

    `path` is its location if that is one file, and `files` are all files from which it was read. `left_out` lists what
    was left out of a text file, such as empty lines, and `notes` are further notes for the user. `respelled` names
    columns in which a text file writes one number in several ways, `grouped` those that were read as numbers with three
    decimals but may have thousands separators instead. `in_memory` is the whole table if this process has it, None
    where rows are read from their place. `labels` are labels of columns, `samples` texts of text columns that are not
    in memory, and `comment` is that of a table of a database. `home` is the engine that opened it.
    """

    __slots__ = ()
    home: ClassVar[str] = "memory"

    @property
    def columns(self: _Typed) -> tuple[str, ...]:
        """Return the column names in order."""
        return tuple(self.arrow.names)

    @property
    def kinds(self: _Typed) -> Mapping[str, Kind]:
        """Return the kind of each column's values: numbers, dates or texts."""
        return {column.name: kind_of(column.type) for column in self.arrow}

    @property
    def in_memory(self) -> pa.Table | None:  # noqa: D102 (as the class says, here and below)
        return None

    @property
    def path(self) -> Path | None:  # noqa: D102
        return None

    @property
    def files(self) -> tuple[Path, ...]:  # noqa: D102
        return ()

    @property
    def left_out(self) -> tuple[str, ...]:  # noqa: D102
        return ()

    @property
    def notes(self) -> tuple[str, ...]:  # noqa: D102
        return ()

    @property
    def respelled(self) -> tuple[str, ...]:  # noqa: D102
        return ()

    @property
    def grouped(self) -> tuple[str, ...]:  # noqa: D102
        return ()

    @property
    def labels(self) -> Mapping[str, ColumnLabels]:  # noqa: D102
        return {}

    @property
    def samples(self) -> Mapping[str, pa.Array] | None:  # noqa: D102
        return None

    @property
    def comment(self) -> str | None:  # noqa: D102
        return None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(SourceDetails):
    """Columns of equal length with distinct names: the source of the engine that works in memory.

    Metadata is removed, because it may describe rows (pandas stores its index there), and there is never an index
    column: engines only see selected columns. `reading` is how the table was read.

        >>> Table(pa.table({"age": [31, 42]})).columns
        ('age',)
    """

    data: pa.Table
    name: str | None = None
    path: Path | None = None
    reading: Reading = Reading()
    respelled: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    labels: Mapping[str, ColumnLabels] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = self.data.column_names
        check_names(names)
        fields = [pa.field(field.name, field.type) for field in self.data.schema]
        object.__setattr__(self, "data", pa.table(self.data.columns, schema=pa.schema(fields)))

    def __repr__(self) -> str:
        return f"<Table of {self.rows} rows: {', '.join(self.columns)}>"

    @property
    def in_memory(self) -> pa.Table:
        """Return the whole table."""
        return self.data

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow types of the columns."""
        return self.data.schema

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.data.num_rows)


def home_of_opened(source: Any) -> str | None:
    """Return the engine that opened a source, None for a source that is not open."""
    return source.home if isinstance(source, SourceDetails) else None


def is_table(source: Any) -> TypeGuard[Table]:
    """Return whether an object is a table that was opened into memory."""
    return isinstance(source, Table)


def check_width(columns: int) -> None:
    """Raise `InputError` if there are more columns than are allowed."""
    if columns > MAX_COLUMNS:
        raise InputError(
            f"a table has at most {MAX_COLUMNS:,} columns; got {columns:,}",
            hint="save the columns that are to be published in a file of their own",
        )


def check_names(names: list[str], *, quote: bool = True) -> None:
    """Raise `InputError` unless there is a column, every column has a name, and no two names are equal.

    Without `quote` the message numbers columns, because the supposed names may be a person's data.
    """
    if not names:
        raise InputError("a table has at least one column; got none", hint="check that this is the right table")
    check_width(len(names))
    blank = [index for index, name in enumerate(names, start=1) if not name.strip()]
    if blank:
        raise InputError(
            f"every column needs a name; columns without: {', '.join(map(str, blank))}",
            hint='drop with --nameless drop, or name by number with --nameless name (nameless="drop" or "name" in '
            "Python). R and pandas write row numbers so: as row numbers identify a person, they are an identifier",
            nameless=True,
        )
    counts = Counter(names)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        numbers = [str(number) for number, name in enumerate(names, start=1) if counts[name] > 1]
        which = ", ".join(map(repr, twice)) if quote else f"columns {', '.join(numbers)}"
        raise InputError(
            f"several columns have the same name: {which}",
            hint="rename or remove the columns that repeat a name",
        )


def choose(names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """Return the wanted columns, by default all; raise `InputError` for one that does not exist."""
    if columns is None:
        return list(names)
    present = set(names)
    for name in columns:
        if name not in present:
            raise InputError(
                f"the table has no column {name!r}",
                hint=where_is(name, names, expected=columns),
            )
    return list(columns)


TYPES = ("number", "plain-number", "integer", "date", "datetime", "text")
"""The types that can be declared; a plain number has a decimal point in a file with another decimal separator."""

NAMELESS = ("drop", "name")
"""What happens to columns without a name."""


class Declarations(TypedDict, total=False):
    """What can be declared about a file or a frame; None declares nothing."""

    delimiter: str | None
    encoding: str | None
    missing: str | Iterable[str] | Mapping[str, str | Iterable[str]] | None
    text: str | Iterable[str] | None
    decimal: str | None
    thousands: str | None
    dates: str | Iterable[str] | Mapping[str, str | Iterable[str]] | None
    types: Mapping[str, str] | None
    header: bool | None
    sheet: str | None
    codes: bool | None
    columns: str | Iterable[str] | None
    skip_rows: int | None
    comment: str | None
    trim: bool | None
    nameless: str | None
    version: int | None


def declare(base: Reading | None = None, **declared: Unpack[Declarations]) -> Reading:
    """Return a reading with declarations replaced; None keeps the previous declaration.

    `dates` and `missing` are one or several texts for all columns, or a mapping of columns, in which `"*"` means all.

    >>> declare(missing={"*": ["", "?"], "age": "-99"}).marks("age")
    ('', '?', '-99')
    """
    for key in declared:
        if key not in Declarations.__annotations__:
            known = tuple(Declarations.__annotations__)
            raise ParameterError(
                f"{key!r} cannot be declared about a file",
                hint=did_you_mean(key, known) or f"known: {', '.join(known)}",
            )
    changed: dict[str, Any] = dict(declared)
    for key in ("text", "columns"):
        if (names := changed.pop(key, None)) is not None:
            changed[key] = _texts(key, names)
    if (missing := changed.pop("missing", None)) is not None:
        marks, marks_in = _part_declarations("missing", missing)
        changed |= {"missing": ("",) if marks is None else marks, "missing_in": marks_in}
    if (dates := changed.pop("dates", None)) is not None:
        forms, forms_in = _part_declarations("dates", dates)
        changed |= {"dates": forms or (), "dates_in": {name: _one(name, each) for name, each in forms_in.items()}}
    if (types := changed.pop("types", None)) is not None:
        changed["types"] = dict(types)
    options = {key: value for key, value in changed.items() if value is not None}
    return check_reading(replace(base or Reading(), **options))


def check_reading(reading: Reading) -> Reading:
    """Return a reading; raise `ParameterError` if it contradicts itself or is not supported."""
    check_marks(reading.decimal, reading.thousands, reading.delimiter)
    _check_layout(reading)
    for form in (*reading.dates, *reading.dates_in.values()):
        check_format(form)
    for form in reading.dates:
        if is_run_of_digits(form):
            raise ParameterError(
                f"the date format {form!r} has no mark between its parts, so that numbers and codes would fit it too",
                hint=f'name its column: dates={{"column": "{form}"}} in Python and policies, --dates COLUMN={form}',
            )
    for name, kind in reading.types.items():
        if kind not in TYPES:
            raise ParameterError(
                f"the type of column {name!r} must be one of {', '.join(TYPES)}; got {kind!r}",
                hint=did_you_mean(str(kind), TYPES) or "leave the column out to have its type found",
            )
    if len(set(reading.columns)) < len(reading.columns):
        raise ParameterError("`columns` names a column twice", hint="name every column once")
    twice = [name for name in reading.text if reading.types.get(name, "text") != "text" or name in reading.dates_in]
    twice += [name for name in reading.dates_in if reading.types.get(name, "date") not in ("date", "datetime")]
    if twice:
        raise ParameterError(
            f"column {twice[0]!r} is declared to be two things", hint="declare it under one of text, types and dates"
        )
    return reading


def _check_layout(reading: Reading) -> None:
    """Raise `ParameterError` for impossible declarations of skipped lines, comments and names."""
    skipped = reading.skip_rows
    if isinstance(skipped, bool) or not isinstance(skipped, int) or skipped < 0:
        raise ParameterError("`skip_rows` must be a whole number of lines above the names", hint="skip_rows=1")
    mark = reading.comment
    if mark is not None and (not isinstance(mark, str) or not mark.strip() or set(mark) & set('"\r\n\0')):
        raise ParameterError("`comment` must be the text that comment lines begin with", hint='comment="#"')
    if reading.nameless not in (None, *NAMELESS):
        raise ParameterError(
            f"`nameless` must be one of {', '.join(NAMELESS)}; got {reading.nameless!r}",
            hint='"drop" leaves columns without a name out, "name" calls them after their number: column 1',
        )
    version = reading.version
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 0):
        raise ParameterError("`version` must be a whole number from 0", hint="version=3")


def to_options(reading: Reading) -> dict[str, Any]:
    """Return a reading as the options of `declare` and of a policy, without what was not declared.

    >>> to_options(declare(dates="%d.%m.%Y", missing=["", "-99"]))
    {'missing': ['', '-99'], 'dates': '%d.%m.%Y'}
    """
    default = Reading()
    changed = {key: getattr(reading, key) for key in Declarations.__annotations__}
    changed = {key: value for key, value in changed.items() if value != getattr(default, key)}
    options = {key: list(value) if isinstance(value, tuple) else value for key, value in changed.items()}
    if len(reading.dates) == 1:
        options["dates"] = reading.dates[0]
    for key, own in (("dates", dict(reading.dates_in)), ("missing", reading.missing_in)):
        if own:
            everywhere = {EVERY: options[key]} if key in options else {}
            each = {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}
            options[key] = {**everywhere, **each}
    return {key: options[key] for key in Declarations.__annotations__ if key in options}


def _part_declarations(name: str, given: Any) -> tuple[tuple[str, ...] | None, dict[str, tuple[str, ...]]]:
    """Return (declaration for all columns or None, declarations for single columns)."""
    if not isinstance(given, Mapping):
        return _texts(name, given), {}
    parts = {column: _texts(name, each) for column, each in given.items()}
    return parts.pop(EVERY, None), parts


def _texts(name: str, given: Any) -> tuple[str, ...]:
    texts = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(text, str) for text in texts):
        raise ParameterError(f"`{name}` must be texts", hint='marks are texts too: missing=["-99"], not [-99]')
    return texts


def _one(column: str, forms: tuple[str, ...]) -> str:
    if len(forms) != 1:
        raise ParameterError(f"column {column!r} must have one date format; got {len(forms)}", hint="keep one")
    return forms[0]
