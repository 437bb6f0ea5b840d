"""Settings of a job: what a user can set, declared once for the policy, the command line, Python and the web app.

Each setting has one row in `SETTINGS`. The reader and writer of policies, the flags of the command line, the command
and the program that the web app shows, and the reference page of policies are made from these rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value: how a policy describes it, which TOML values it takes, and the Python type of its flag."""

    words: str
    accepts: Callable[[Any], bool]
    flag: Any = str | None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_texts_by_column(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else [value]
    return all(_is_text(each) or _is_list_of_texts(each) for each in parts)


SEVERAL = list[str] | None
"""The type of a flag that can be repeated."""

TEXT = ValueKind("a text", _is_text)
PATH = ValueKind("a text", _is_text, Path | None)
SPEC = ValueKind("a text", _is_text)
TEXTS = ValueKind("a list of texts", _is_list_of_texts, SEVERAL)
COLUMNS = ValueKind("a list of texts", _is_list_of_texts, SEVERAL)
NUMBER = ValueKind("a number", _is_number, float | None)
WHOLE = ValueKind("a whole number from 0", _is_whole, int | None)
TRUTH = ValueKind("true or false", lambda value: isinstance(value, bool), bool | None)
LIMIT = ValueKind("a number or a text", lambda value: _is_text(value) or _is_number(value))
TABLE = ValueKind("a table of keys", lambda value: isinstance(value, dict), SEVERAL)
BY_COLUMN = ValueKind("a text, a list of texts, or a table of columns with such", _are_texts_by_column, SEVERAL)
WEIGHT = ValueKind("a number", _is_number, SEVERAL)
LEVELS = ValueKind(
    "a list of whole numbers",
    lambda value: isinstance(value, list) and all(isinstance(level, int) for level in value) and bool(value),
)
BOUNDS = ValueKind(
    'two levels, such as "1..3" or [1, 3]',
    lambda value: _is_text(value) or (isinstance(value, list) and len(value) == 2),
    SEVERAL,
)
DAY = ValueKind("a date or a text", lambda value: isinstance(value, str | date))
TEXT_OR_TRUTH = ValueKind("true, false or a text", lambda value: isinstance(value, bool | str))
TEXT_OR_TABLE = ValueKind("a text or a table of keys", lambda value: isinstance(value, str | dict), SEVERAL)

Group = Literal["Input", "Roles", "Privacy", "Generalization", "Output", "Engine", "Messages", "Statement"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that a user can set.

    `key` is its place in a policy, such as "input.delimiter" or "columns.role". `field` is where a `Policy` holds its
    value, such as "input.reading.delimiter", and `python` the function and the parameter, such as "open.delimiter".
    `flag` says whether commands share a flag for it, which is named after the setting unless `option_name` differs.
    `label` is what a form calls it.
    """

    name: str
    kind: ValueKind
    help: str
    group: Group
    key: str | None = None
    field: str | None = None
    python: str | None = None
    metavar: str | None = None
    flag: bool = True
    default: Any = None
    label: str | None = None
    option_name: str | None = None
    short: str | None = None
    since: str = "0.1.0"

    @property
    def option(self) -> str:
        """The flag on the command line."""
        return self.option_name or f"--{self.name.replace('_', '-')}"

    @property
    def table(self) -> str | None:
        """The table of a policy that has the key."""
        return None if self.key is None else self.key.partition(".")[0]

    @property
    def own_key(self) -> str:
        """The key inside its table."""
        return "" if self.key is None else self.key.partition(".")[2]


def _read(name: str, kind: ValueKind, words: str, *, key: str | None = None, **more: Any) -> Setting:
    """Return a setting of how files are read: a key of [input] and a parameter of `open`."""
    own = key or name
    return Setting(name, kind, words, "Input", f"input.{own}", f"input.reading.{own}", python=f"open.{own}", **more)


def _written(name: str, kind: ValueKind, words: str, *, key: str, **more: Any) -> Setting:
    """Return a setting of how a text file is written: a key of [output] and a field of `Writing`."""
    return Setting(
        name, kind, words, "Output", f"output.{key}", f"output.writing.{key}", python=f"Writing.{key}", **more
    )


def _of_column(name: str, kind: ValueKind, words: str, **more: Any) -> Setting:
    """Return a key of a column that has no flag of its own."""
    return Setting(name, kind, words, "Generalization", f"columns.{name}", flag=False, **more)


def _stated(name: str, kind: ValueKind, words: str) -> Setting:
    return Setting(name, kind, words, "Statement", f"about.{name}", f"about.{name}", flag=False)


ROLE_SETTINGS = (
    Setting(
        "quasi",
        COLUMNS,
        'Quasi-identifiers: columns that others may know, which are generalized: a,b,c or "d,e".',
        "Roles",
        field="schema.quasi",
        python="Schema.quasi",
        metavar="COLUMNS",
    ),
    Setting(
        "sensitive",
        COLUMNS,
        "Sensitive columns, whose values must not be learned about a person.",
        "Roles",
        field="schema.sensitive",
        python="Schema.sensitive",
        metavar="COLUMNS",
    ),
    Setting(
        "insensitive",
        COLUMNS,
        "Columns that are published unmodified.",
        "Roles",
        field="schema.insensitive",
        python="Schema.insensitive",
        metavar="COLUMNS",
    ),
    Setting(
        "identifier",
        COLUMNS,
        "Direct identifiers, such as names, which are dropped.",
        "Roles",
        field="schema.identifiers",
        python="Schema.identifiers",
        metavar="COLUMNS",
    ),
    Setting(
        "person",
        COLUMNS,
        "Person ID, where a person has several rows: people are counted, not rows.",
        "Roles",
        field="schema.person",
        python="Schema.person",
        metavar="COLUMNS",
    ),
    Setting(
        "role",
        TEXT,
        "Role of the column: identifier, person, quasi, sensitive or insensitive.",
        "Roles",
        "columns.role",
        flag=False,
    ),
    Setting("reason", TEXT, "Why the column has its role, for the report.", "Roles", "columns.reason", flag=False),
)
PRIVACY_SETTINGS = (
    Setting(
        "model",
        TEXTS,
        "Privacy model that the release must satisfy, such as k-anonymity:k=5. Repeatable.",
        "Privacy",
        "privacy.models",
        "models",
        "anonymize.model",
        "SPEC",
    ),
    Setting(
        "suppression",
        LIMIT,
        "Suppression limit: a share of the rows, such as 0.02 or 4/30, or a number, such as '4 rows'.",
        "Privacy",
        "privacy.suppression",
        "suppression",
        "anonymize.suppression",
        "LIMIT",
    ),
    Setting(
        "algorithm",
        SPEC,
        "Algorithm, such as mondrian; by default several are tried (auto).",
        "Generalization",
        "algorithm.use",
        "algorithm",
        "anonymize.algorithm",
        "SPEC",
    ),
    Setting(
        "node",
        LEVELS,
        "A node of the generalization lattice, chosen by hand: one level per quasi-identifier.",
        "Generalization",
        "algorithm.node",
        flag=False,
    ),
    Setting(
        "hierarchy",
        TABLE,
        "Generalization hierarchy of a column: a CSV file (header:FILE if its first line names the levels), "
        "mask:right, intervals:5,10,20, dates:month,year, order:low|mid|high or suppression. Repeatable.",
        "Generalization",
        "columns.hierarchy",
        "hierarchies",
        "anonymize.hierarchies",
        "COLUMN=SPEC",
    ),
    Setting(
        "transform",
        TEXTS,
        "Masking of a column that is not generalized: round:100,top:10000,bottom:0, truncate:month, level:2, clear or "
        "clear:presence. Repeatable.",
        "Generalization",
        field="transformations",
        python="anonymize.transformations",
        metavar="COLUMN=SPEC",
    ),
    _of_column("round", NUMBER, "Round numbers to multiples of this."),
    _of_column("top", NUMBER, "Top-code: larger numbers are published as this one."),
    _of_column("bottom", NUMBER, "Bottom-code: smaller numbers are published as this one."),
    _of_column("truncate", TEXT, "Truncate dates to a unit, such as month."),
    _of_column("level", WHOLE, "Publish the column at this level of its hierarchy."),
    _of_column("clear", TEXT_OR_TRUTH, 'Publish no values, or with "presence" whether there is one.'),
    Setting(
        "pseudonym",
        TEXT_OR_TABLE,
        "Pseudonym in place of an identifier or person ID: key:FILE, environment:NAME or random. Repeatable.",
        "Generalization",
        "columns.pseudonym",
        "pseudonyms",
        "anonymize.pseudonyms",
        "COLUMN=SPEC",
    ),
    Setting(
        "importance",
        WEIGHT,
        "Attribute weight of a quasi-identifier, such as age=3; the default is 1. Repeatable.",
        "Generalization",
        "columns.importance",
        "importance",
        "anonymize.importance",
        "COLUMN=NUMBER",
    ),
    Setting(
        "levels",
        BOUNDS,
        "Minimum and maximum generalization of a quasi-identifier, such as zipcode=1..3, 1.. or ..3; level 0 is the "
        "original value. Repeatable.",
        "Generalization",
        "columns.levels",
        "levels",
        "anonymize.levels",
        "COLUMN=MIN..MAX",
    ),
    Setting(
        "target",
        TEXT,
        "Column that the classification metric predicts.",
        "Generalization",
        "measure.target",
        "target",
        "anonymize.target",
        "COLUMN",
    ),
    Setting("metrics", TEXTS, "Utility metrics to print.", "Output", "measure.metrics", "metrics", flag=False),
    Setting(
        "population",
        PATH,
        "Table of the population that the rows were drawn from, for models such as k-map.",
        "Privacy",
        "input.population",
        "input.population",
        "anonymize.population",
        "FILE",
    ),
    Setting(
        "sample",
        NUMBER,
        "Publish a random sample of this share of the rows, such as 0.1; the table is the population.",
        "Privacy",
        "input.sample",
        "input.sample",
        "anonymize.sample",
        "SHARE",
    ),
)
INPUT_SETTINGS = (
    Setting(
        "path", TEXT, "The table: a file, a folder or the address of a database.", "Input", "input.path", flag=False
    ),
    Setting(
        "table",
        TEXT,
        "Table of a database, such as clinic.visits.",
        "Input",
        "input.table",
        "input.database.table",
        "open.table",
        "NAME",
    ),
    Setting(
        "query",
        TEXT,
        "SQL query to read from a database, instead of a table.",
        "Input",
        "input.query",
        "input.database.query",
        "open.query",
        "SQL",
    ),
    _read("delimiter", TEXT, "Delimiter of text files; detected by default."),
    _read("encoding", TEXT, "Encoding of text files; detected by default."),
    _read("decimal", TEXT, "Decimal mark of numbers, such as a comma.", metavar="MARK"),
    _read("thousands", TEXT, "Thousands separator of numbers.", metavar="MARK"),
    _read("sheet", TEXT, "Sheet of a workbook, if several have cells.", metavar="NAME"),
    _read("comment", TEXT, "Prefix of comment lines, such as #.", metavar="MARK"),
    _read("nameless", TEXT, "Drop columns without a name, or name them by their number.", metavar="drop|name"),
    _read(
        "version",
        WHOLE,
        "Version of a Delta table or snapshot ID of an Iceberg table; the newest by default.",
        metavar="N",
        since="0.2.0",
    ),
    _read("header", TRUTH, "The first line holds column names, even if it looks like data."),
    _read("codes", TRUTH, "Keep the codes of SPSS and Stata instead of their labels."),
    _read("trim", TRUTH, "Strip blanks around names and fields of text files."),
    _read("columns", COLUMNS, "Read only these columns: a,b,c.", metavar="COLUMNS", label="Columns that are read"),
    _read("skip_rows", WHOLE, "Lines above the column names: a title, comments.", metavar="N"),
    _read(
        "text",
        COLUMNS,
        "Columns that are text although they look like numbers, such as codes.",
        metavar="COLUMNS",
        label="Columns of text",
    ),
    _read(
        "type",
        TABLE,
        "Type of a column: number, plain-number, integer, date, datetime or text, as in age=number,zip=text. "
        "Repeatable.",
        key="types",
        metavar="COLUMN=KIND",
        label="Types of columns",
    ),
    _read(
        "dates",
        BY_COLUMN,
        "Format of dates and times, such as %d.%m.%Y, in all columns or in one. Separate several by commas; a format "
        "that contains a comma is quoted. Repeatable.",
        metavar="FORMAT|COLUMN=FORMAT",
        label="Dates",
    ),
    _read(
        "missing",
        BY_COLUMN,
        "NA strings besides the empty one, in all columns or in one: -99,n/a or age=999,998. Write *=TEXT for one that "
        'contains =, and "1,5" for one that contains a comma. Repeatable.',
        metavar="TEXTS|COLUMN=TEXTS",
        label="Missing values",
    ),
)
OUTPUT_SETTINGS = (
    Setting("output", TEXT, "Where the release is written.", "Output", "output.path", flag=False),
    Setting(
        "output_table",
        TEXT,
        "Table of a database that the release is written to.",
        "Output",
        "output.table",
        "output.database.table",
        "DatabaseTable.table",
        "NAME",
    ),
    Setting("report", TEXT, "Where the report is written.", "Output", "output.report", "output.report", flag=False),
    _written("output_delimiter", TEXT, "Delimiter of the text file that is written.", key="delimiter", metavar="MARK"),
    _written("output_decimal", TEXT, "Decimal mark of its numbers: . or ,", key="decimal", metavar="MARK"),
    _written("output_encoding", TEXT, "Its encoding; UTF-8 by default.", key="encoding", metavar="NAME"),
    _written("bom", TRUTH, "Begin it with a byte order mark, by which spreadsheets recognize UTF-8.", key="bom"),
    _written(
        "for_spreadsheet",
        TRUTH,
        "Put an apostrophe before texts that a spreadsheet would run, or read as dates or other numbers.",
        key="spreadsheet",
    ),
    _written("guard_formulas", TRUTH, "Put an apostrophe before texts that a spreadsheet would run.", key="formulas"),
    Setting(
        "ranges",
        TEXT,
        "Publish ranges of numbers and dates as labels such as [18-21], or as columns such as age_from and age_to.",
        "Output",
        "output.ranges",
        "output.ranges",
        "anonymize.ranges",
        "labels|columns",
    ),
    Setting(
        "smallest_count",
        WHOLE,
        "The certificate withholds smaller counts that the release does not show: 11, or 0 for none.",
        "Output",
        "output.smallest_count",
        "output.smallest_count",
        "anonymize.smallest_count",
        "N",
    ),
    Setting(
        "ledger",
        PATH,
        "Private file with every release about the same people: compare with all of them, then add this one.",
        "Privacy",
        "output.ledger",
        "output.ledger",
        "anonymize.ledger",
        "FILE",
    ),
    Setting(
        "fresh",
        COLUMNS,
        "Columns that are re-measured for every release, so that earlier releases do not show their values.",
        "Privacy",
        field="fresh",
        python="anonymize.fresh",
        metavar="COLUMNS",
    ),
    _of_column("fresh", TRUTH, "The column is re-measured for every release."),
)
RUN_SETTINGS = (
    Setting(
        "previous",
        PATH,
        "Recoding of an earlier release about the same people.",
        "Privacy",
        python="anonymize.previous",
        metavar="FILE",
    ),
    Setting(
        "previous_input",
        PATH,
        "Table that the earlier release was made from.",
        "Privacy",
        python="anonymize.previous_input",
        metavar="FILE",
    ),
    Setting(
        "accept_overlap",
        TRUTH,
        "Publish, with a warning, although the releases together leave groups that are too small.",
        "Privacy",
        python="anonymize.accept_overlap",
        default=False,
    ),
    Setting(
        "engine",
        TEXT,
        "Engine: auto, memory, duckdb for tables larger than memory, postgres or spark.",
        "Engine",
        python="anonymize.engine",
        metavar="NAME",
    ),
    Setting(
        "memory",
        TEXT,
        "Memory that a table or the engine duckdb may use, such as 8GB.",
        "Engine",
        python="anonymize.memory",
        metavar="SIZE",
    ),
    Setting(
        "as_json",
        TRUTH,
        "Print one JSON document on stdout and nothing else.",
        "Messages",
        default=False,
        option_name="--json",
    ),
    Setting(
        "show_values",
        TRUTH,
        "Let messages contain values of the table; by default they never do.",
        "Messages",
        default=False,
    ),
    Setting("verbose", TRUTH, "Log on stderr what each stage counts.", "Messages", default=False, short="-v"),
)
STATEMENT_SETTINGS = (
    _stated("profile", TEXT, "Profile that the release is judged by, such as public."),
    _stated("purpose", TEXT, "What the release is for."),
    _stated("recipient", TEXT, "Who receives it."),
    _stated("operator", TEXT, "Who makes it."),
    _stated("reviewer", TEXT, "Who reviews it."),
    _stated("reassess", DAY, "When the risk is assessed again."),
    _stated("assumed", TEXTS, "Attackers that are assumed, in words."),
    _stated("not_assumed", TEXTS, "Attackers that are not assumed, in words."),
)
SETTINGS: tuple[Setting, ...] = (
    *INPUT_SETTINGS,
    *ROLE_SETTINGS,
    *PRIVACY_SETTINGS,
    *OUTPUT_SETTINGS,
    *RUN_SETTINGS,
    *STATEMENT_SETTINGS,
)
FLAGS = {setting.name: setting for setting in SETTINGS if setting.flag}
TABLES = ("input", "columns", "privacy", "algorithm", "measure", "about", "output")
"""The tables of a policy, in the order in which they are written."""


def settings_of(table: str) -> dict[str, Setting]:
    """Return the settings that a table of a policy has, by their keys."""
    return {setting.own_key: setting for setting in SETTINGS if setting.table == table}


def settings_under(field: str) -> dict[str, Setting]:
    """Return the settings whose values lie under a field of a policy, by their keys there."""
    below = {name: each for each in SETTINGS for name in [(each.field or "").removeprefix(f"{field}.")]}
    return {name: each for name, each in below.items() if each.field == f"{field}.{name}"}


def value_at(value: Any, field: str) -> Any:
    """Return what lies at a dotted path of attributes; None where a value on the way is None.

    >>> value_at(3 + 4j, "imag.real")
    4.0
    """
    for name in field.split("."):
        value = None if value is None else getattr(value, name)
    return value


def names_under(field: str) -> tuple[str, ...]:
    """Return the flags whose values lie under a field of a policy.

    >>> names_under("schema")
    ('quasi', 'sensitive', 'insensitive', 'identifier', 'person')
    """
    return tuple(setting.name for setting in settings_under(field).values() if setting.flag)
