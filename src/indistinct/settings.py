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
TEXT_TABLE = ValueKind(
    "a table of texts", lambda value: isinstance(value, dict) and all(map(_is_text, value.values())), SEVERAL
)
GRADES = ValueKind(
    "a table of columns with three words each",
    lambda value: isinstance(value, dict) and all(map(_is_list_of_texts, value.values())),
    SEVERAL,
)
BY_COLUMN = ValueKind("a text, a list of texts, or a table of columns with such", _are_texts_by_column, SEVERAL)
FORM = ValueKind("a text", _is_text, SEVERAL)
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

Group = Literal[
    "Input", "Roles", "Privacy", "Generalization", "Output", "Engine", "Messages", "Statement", "Analysis", "Context"
]


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that a user can set.

    `key` is its place in a policy, such as "input.delimiter" or "columns.role". `field` is where a `Policy` holds its
    value, such as "input.reading.delimiter", and `python` the function and the parameter, such as "open.delimiter".
    `flag` says whether commands share a flag for it, which is named after the setting unless `option_name` differs.
    A form calls it by its `label` and shows its `help`; `syntax` says how a flag is written, in addition to that.
    `in_policy` is the help of the key where its value is written otherwise than that of the flag.
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
    syntax: str = ""
    in_policy: str | None = None

    @property
    def policy_help(self) -> str:
        """The help text of the key in a policy."""
        return self.in_policy or self.help.removesuffix(" Repeatable.")

    @property
    def flag_help(self) -> str:
        """The help text of the flag."""
        return f"{self.help} {self.syntax}".strip()

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
    """Return a setting for reading files: a key of [input] and a parameter of `open`."""
    own = key or name
    return Setting(name, kind, words, "Input", f"input.{own}", f"input.reading.{own}", python=f"open.{own}", **more)


def _written(name: str, kind: ValueKind, words: str, *, key: str, **more: Any) -> Setting:
    """Return a setting for writing text files: a key of [output] and a field of `Writing`."""
    return Setting(
        name, kind, words, "Output", f"output.{key}", f"output.writing.{key}", python=f"Writing.{key}", **more
    )


def _of_column(name: str, kind: ValueKind, words: str, **more: Any) -> Setting:
    """Return a key of a column that has no flag of its own."""
    return Setting(name, kind, words, "Generalization", f"columns.{name}", flag=False, **more)


def _stated(name: str, kind: ValueKind, words: str, label: str | None = None) -> Setting:
    return Setting(name, kind, words, "Statement", f"about.{name}", f"about.{name}", flag=False, label=label)


def _in_table(table: str, group: Group, *rows: tuple[str, ValueKind, str]) -> tuple[Setting, ...]:
    """Return the settings of a table of the policy without flags; `rows` are name, kind and meaning."""
    return tuple(
        Setting(name, kind, words, group, f"{table}.{name}", f"{table}.{name}", flag=False, since="0.2.0")
        for name, kind, words in rows
    )


def _role(name: str, words: str, key: str) -> Setting:
    """Return the flag that names the columns of a role."""
    return Setting(name, COLUMNS, words, "Roles", field=f"schema.{key}", python=f"Schema.{key}", metavar="COLUMNS")


ROLE_SETTINGS = (
    _role("quasi", 'Quasi-identifiers, which others may know; a release generalizes them: a,b,c or "d,e".', "quasi"),
    _role("sensitive", "Sensitive columns, whose values must not be learned about a person.", "sensitive"),
    _role("insensitive", "Columns that are published unmodified.", "insensitive"),
    _role("identifier", "Direct identifiers, such as names; a release drops them.", "identifiers"),
    _role("person", "Person ID, where a person has several rows: people are counted, not rows.", "person"),
    Setting(
        "role",
        TEXT,
        "Role of the column: identifier, person, quasi, sensitive or insensitive.",
        "Roles",
        "columns.role",
        flag=False,
        metavar="identifier|person|quasi|sensitive|insensitive",
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
        "Suppression limit: a share of the rows, such as 0.02 or 4/30, or a number, such as '4 rows'; by default 0, "
        "for apply that of the recoding.",
        "Privacy",
        "privacy.suppression",
        "suppression",
        "anonymize.suppression",
        "LIMIT",
    ),
    Setting(
        "knows",
        TEXT,
        'With pseudonyms: "classes" states that numbers of rows of a person are not known.',
        "Privacy",
        "privacy.knows",
        "knows",
        "anonymize.knows",
        flag=False,
        metavar="classes",
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
        "mask:right, intervals:5,10,20, cuts:18,65, dates:month,year, order:low|mid|high or suppression. Repeatable.",
        "Generalization",
        "columns.hierarchy",
        "hierarchies",
        "anonymize.hierarchies",
        "COLUMN=SPEC",
        in_policy='Generalization hierarchy: { file = "icd.csv" }, { mask = "right" }, { intervals = [5, 10, 20] }, '
        '{ cuts = [18, 65] }, { dates = ["month", "year"] } and others.',
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
    _of_column("round", NUMBER, "Round numbers to multiples of this.", label="Round to multiples of"),
    _of_column("top", NUMBER, "Top-code: larger numbers are published as this one.", label="Top-code at"),
    _of_column("bottom", NUMBER, "Bottom-code: smaller numbers are published as this one.", label="Bottom-code at"),
    _of_column("truncate", TEXT, "Truncate dates to a unit, such as month.", metavar="day|month|quarter|year"),
    _of_column("level", WHOLE, "Publish the column at this level of its hierarchy.", label="Level of its hierarchy"),
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
        in_policy='Pseudonym in place of an identifier or person ID: { key = "study.key" }, '
        '{ environment = "STUDY_KEY" } or "random".',
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
        in_policy="Attribute weight of a quasi-identifier, such as 3; the default is 1.",
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
        in_policy='Minimum and maximum generalization of a quasi-identifier, such as "1..3", "1.." or "..3"; level 0 '
        "is the original value.",
    ),
    Setting(
        "numeric",
        FORM,
        "Form of a quasi-identifier of numbers or dates, such as age=mean: interval, interval+mean, bounds or mean. "
        "Repeatable.",
        "Generalization",
        "columns.numeric",
        "numeric",
        "anonymize.numeric",
        "COLUMN=FORM",
        since="0.2.0",
        in_policy='Form of a quasi-identifier of numbers or dates: "interval", "interval+mean", "bounds" or "mean".',
    ),
    Setting(
        "target",
        TEXT,
        "Column to predict: for the classification metric, and for searches that cut for a target.",
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
    _read("delimiter", TEXT, "Delimiter of text files; detected by default.", label="Delimiter"),
    _read("encoding", TEXT, "Encoding of text files; detected by default.", label="Encoding"),
    _read("decimal", TEXT, "Decimal mark of numbers, such as a comma.", metavar="MARK", label="Decimal mark"),
    _read("thousands", TEXT, "Thousands separator of numbers.", metavar="MARK", label="Thousands separator"),
    _read("sheet", TEXT, "Sheet of a workbook, if several have cells.", metavar="NAME", label="Sheet"),
    _read("comment", TEXT, "Prefix of comment lines, such as #.", metavar="MARK", label="Comment lines"),
    _read(
        "nameless",
        TEXT,
        "Columns without a name: drop them, or name them by their number.",
        metavar="drop|name",
        label="Columns without a name",
    ),
    _read(
        "version",
        WHOLE,
        "Version of a Delta table or snapshot ID of an Iceberg table; the newest by default.",
        metavar="N",
        since="0.2.0",
        label="Version",
    ),
    _read("header", TRUTH, "The first line holds column names, even if it looks like data.", label="Column names"),
    _read("codes", TRUTH, "Keep the codes of SPSS and Stata instead of their labels.", label="Codes"),
    _read("trim", TRUTH, "Strip blanks around names and fields of text files.", label="Blanks"),
    _read(
        "columns",
        COLUMNS,
        "Read only these columns.",
        metavar="COLUMNS",
        label="Columns that are read",
        syntax="For instance a,b,c.",
        in_policy='Read only these columns, such as ["a", "b"].',
    ),
    _read(
        "skip_rows",
        WHOLE,
        "Lines above the column names: a title, comments.",
        metavar="N",
        label="Lines above the column names",
    ),
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
        "Type of a column: number, plain-number, integer, date, datetime or text.",
        key="types",
        metavar="COLUMN=KIND",
        syntax="For instance age=number,zip=text. Repeatable.",
        in_policy="Types of columns: number, plain-number, integer, date, datetime or text, such as "
        '{ age = "number", zip = "text" }.',
        label="Types of columns",
    ),
    _read(
        "dates",
        BY_COLUMN,
        "Format of dates and times, such as %d.%m.%Y, in all columns or in one.",
        metavar="FORMAT|COLUMN=FORMAT",
        syntax="Separate several by commas; a format that contains a comma is quoted. Repeatable.",
        in_policy='Format of dates and times, such as "%d.%m.%Y", a list of them, or { visit = "%d/%m/%Y" }.',
        label="Dates",
    ),
    _read(
        "missing",
        BY_COLUMN,
        "NA strings besides the empty one, such as -99, in all columns or in one.",
        metavar="TEXTS|COLUMN=TEXTS",
        syntax='For instance -99,n/a or age=999,998. Write *=TEXT for one that contains =, "1,5" for one with a comma. '
        "Repeatable.",
        in_policy='NA strings besides the empty one: "-99", ["-99", "n/a"], or { age = ["999", "998"] }.',
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
    _written(
        "output_delimiter",
        TEXT,
        "Delimiter of the text file that is written.",
        key="delimiter",
        metavar="MARK",
        label="Delimiter",
    ),
    _written(
        "output_decimal",
        TEXT,
        "Decimal mark of its numbers: . or ,",
        key="decimal",
        metavar="MARK",
        label="Decimal mark",
    ),
    _written(
        "output_encoding", TEXT, "Its encoding; UTF-8 by default.", key="encoding", metavar="NAME", label="Encoding"
    ),
    _written(
        "bom",
        TRUTH,
        "Begin it with a byte order mark, by which spreadsheets recognize UTF-8.",
        key="bom",
        label="Byte order mark",
    ),
    _written(
        "for_spreadsheet",
        TRUTH,
        "Put an apostrophe before texts that a spreadsheet would run, or read as dates or other numbers.",
        key="spreadsheet",
        label="For a spreadsheet",
    ),
    _written(
        "guard_formulas",
        TRUTH,
        "Put an apostrophe before texts that a spreadsheet would run.",
        key="formulas",
        label="Guard against formulas",
    ),
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
        "partition_by",
        COLUMNS,
        "Write a folder of Parquet files, with one Hive partition for each value of these columns: a,b.",
        "Output",
        "output.partition_by",
        "output.partition_by",
        "anonymize.partition_by",
        "COLUMNS",
        since="0.2.0",
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
    _stated("purpose", TEXT, "What the release is for.", label="Purpose"),
    _stated("recipient", TEXT, "Who receives it.", label="Recipient"),
    _stated("operator", TEXT, "Who makes it.", label="Operator"),
    _stated("reviewer", TEXT, "Who reviews it.", label="Reviewer"),
    _stated("reassess", DAY, "When the risk is assessed again.", label="Next assessment of the risk"),
    _stated("assumed", TEXTS, "Attackers that are assumed, in words."),
    _stated("not_assumed", TEXTS, "Attackers that are not assumed, in words."),
)
ANALYSIS_SETTINGS = _in_table(
    "analysis",
    "Analysis",
    ("formulas", TEXTS, 'Regressions of the study, such as "cost ~ age + C(sex)" or "Surv(days, died) ~ age".'),
    ("family", TEXT, "Family of the regressions: linear, logistic or poisson."),
    ("tables", TEXTS, 'Contingency tables, such as "sex, disease".'),
    ("means", TEXTS, 'Means by group, such as "cost by sex".'),
    ("medians", TEXTS, 'Medians by group, such as "age by disease".'),
    ("correlations", TEXTS, 'Correlations of numbers, such as "age, cost".'),
    ("rules", TEXT_TABLE, "How the ranges of a column enter: imputation, midpoint or category."),
    ("weights", TEXT, "Column with survey weights."),
)
CONTEXT_SETTINGS = _in_table(
    "context",
    "Context",
    ("release_model", TEXT, "Release model: public, controlled or internal."),
    ("purpose", TEXT, "What the data are used for."),
    ("recipients", TEXT, "Who receives the data."),
    ("controls", TEXTS, "Controls on the recipient, in words."),
    ("contract", TRUTH, "The recipient signs a contract."),
    ("decides", TEXT, "Who decides about the release: name and role."),
    ("retention", TEXT, "How long the release is kept."),
    ("review", DAY, "When the assessment is made again."),
    ("threshold", LIMIT, "Threshold of the risk and its reason."),
    ("attempt_probability", NUMBER, "Probability that an attack is tried; 1 for public release."),
    ("attempt_source", TEXT, "Where that probability comes from."),
    ("grades", GRADES, "Replicability, availability and distinguishability of each column, in words."),
)
SETTINGS: tuple[Setting, ...] = (
    *INPUT_SETTINGS,
    *ROLE_SETTINGS,
    *PRIVACY_SETTINGS,
    *OUTPUT_SETTINGS,
    *RUN_SETTINGS,
    *STATEMENT_SETTINGS,
    *ANALYSIS_SETTINGS,
    *CONTEXT_SETTINGS,
)
FLAGS = {setting.name: setting for setting in SETTINGS if setting.flag}
TABLES = ("input", "columns", "privacy", "algorithm", "measure", "analysis", "about", "context", "output")
"""The tables of a policy, in the order of writing."""


def settings_of(table: str) -> dict[str, Setting]:
    """Return the settings that a table of a policy has, by their keys."""
    return {setting.own_key: setting for setting in SETTINGS if setting.table == table}


def settings_under(field: str) -> dict[str, Setting]:
    """Return the settings whose values are below a field of a policy, by their keys there."""
    below = {name: each for each in SETTINGS for name in [(each.field or "").removeprefix(f"{field}.")]}
    return {name: each for name, each in below.items() if each.field == f"{field}.{name}"}


def value_at(value: Any, field: str) -> Any:
    """Return the value at a dotted path of attributes; None if a value on the path is None.

    >>> value_at(3 + 4j, "imag.real")
    4.0
    """
    for name in field.split("."):
        value = None if value is None else getattr(value, name)
    return value


def names_under(field: str) -> tuple[str, ...]:
    """Return the flags whose values are below a field of a policy.

    >>> names_under("schema")
    ('quasi', 'sensitive', 'insensitive', 'identifier', 'person')
    """
    return tuple(setting.name for setting in settings_under(field).values() if setting.flag)
