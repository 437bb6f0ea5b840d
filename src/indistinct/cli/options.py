"""The options that commands share, spelled once, and the one value that they become."""

import functools
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from indistinct.cli.screen import stages

Texts = list[str] | None
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]


@dataclass(frozen=True, slots=True)
class Flags:
    """What shared options say, as it was typed; None where one is left out."""

    quasi: Annotated[
        Texts,
        typer.Option("--quasi", metavar="COLUMNS", help='Columns that others may know, to be recoded: a,b,c or "d,e".'),
    ] = None
    sensitive: Annotated[
        Texts, typer.Option("--sensitive", metavar="COLUMNS", help="Columns that must not be learnt about a person.")
    ] = None
    insensitive: Annotated[
        Texts, typer.Option("--insensitive", metavar="COLUMNS", help="Columns that are published as they are.")
    ] = None
    identifier: Annotated[
        Texts, typer.Option("--identifier", metavar="COLUMNS", help="Columns that point at a person, to be dropped.")
    ] = None
    person: Annotated[
        Texts,
        typer.Option("--person", metavar="COLUMNS", help="Columns that tell people apart: people count, not rows."),
    ] = None
    model: Annotated[
        Texts, typer.Option("--model", metavar="SPEC", help="What must hold, such as k-anonymity:k=5. Repeatable.")
    ] = None
    algorithm: Annotated[
        str | None,
        typer.Option("--algorithm", metavar="SPEC", help="How to search, such as mondrian; else auto."),
    ] = None
    hierarchy: Annotated[
        Texts,
        typer.Option(
            "--hierarchy",
            metavar="COLUMN=SPEC",
            help="Coarser values of a column: a CSV file (header:FILE if its first line names the levels), "
            "mask:right, intervals:5,10,20, dates:month,year, order:low|mid|high or suppression. Repeatable.",
        ),
    ] = None
    transform: Annotated[
        Texts,
        typer.Option(
            "--transform",
            metavar="COLUMN=SPEC",
            help="What is published of a column that is not recoded: round:100,top:10000,bottom:0, truncate:month, "
            "level:2, clear or clear:presence. Repeatable.",
        ),
    ] = None
    pseudonym: Annotated[
        Texts,
        typer.Option(
            "--pseudonym",
            metavar="COLUMN=SPEC",
            help="What stands in place of an identifier or person: key:FILE, environment:NAME or random. Repeatable.",
        ),
    ] = None
    suppression: Annotated[
        str | None,
        typer.Option(
            "--suppression",
            metavar="BUDGET",
            help="How much may be dropped: a share of the rows, such as 0.02 or 4/30, or a number, such as '4 rows'.",
        ),
    ] = None
    importance: Annotated[
        Texts,
        typer.Option(
            "--importance",
            metavar="COLUMN=NUMBER",
            help="How much a quasi-identifier matters, such as age=3; others matter 1. Repeatable.",
        ),
    ] = None
    levels: Annotated[
        Texts,
        typer.Option(
            "--levels",
            metavar="COLUMN=LEAST..MOST",
            help="Between which levels of its hierarchy a quasi-identifier is published, such as zipcode=1..3, 1.. or "
            "..3; level 0 is the column as it is. Repeatable.",
        ),
    ] = None
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="Column that the classification metric predicts.")
    ] = None
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="Delimiter of text files; found if not given.")
    ] = None
    encoding: Annotated[str | None, typer.Option("--encoding", help="Encoding of text files; found if not given.")] = (
        None
    )
    missing: Annotated[
        Texts,
        typer.Option(
            "--missing",
            metavar="MARKS|COLUMN=MARKS",
            help="Texts that stand for missing, besides none, in all columns or in one: -99,n/a or age=999,998. A "
            'mark that holds = is written *=MARK, one that holds a comma "1,5". Repeatable.',
        ),
    ] = None
    text: Annotated[
        Texts, typer.Option("--text", metavar="COLUMNS", help="Columns of codes: text, whatever their values spell.")
    ] = None
    population: Annotated[
        Path | None,
        typer.Option(
            "--population",
            metavar="FILE",
            help="Everybody from whom the table was drawn, for models that compare with them, such as k-map.",
        ),
    ] = None
    sample: Annotated[
        float | None,
        typer.Option(
            "--sample",
            metavar="SHARE",
            help="Publish this share of the rows, such as 0.1, drawn by the operating system; the table is the "
            "population of what is drawn.",
        ),
    ] = None
    previous: Annotated[
        Path | None,
        typer.Option("--previous", metavar="FILE", help="The recoding of an earlier release of the same people."),
    ] = None
    previous_input: Annotated[
        Path | None, typer.Option("--previous-input", metavar="FILE", help="The table that release was made from.")
    ] = None
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="A private file that remembers every release of the same people: compare with all, then add this one.",
        ),
    ] = None
    accept_overlap: Annotated[
        bool,
        typer.Option("--accept-overlap", help="Publish, with a warning, what all releases together make too small."),
    ] = False
    fresh: Annotated[
        Texts,
        typer.Option(
            "--fresh",
            metavar="COLUMNS",
            help="Columns that are measured anew for every release, so that no earlier one tells their values.",
        ),
    ] = None
    smallest_count: Annotated[
        int | None,
        typer.Option(
            "--smallest-count",
            metavar="N",
            help="The certificate hides smaller counts that the release does not show: 11, or 0 for none.",
        ),
    ] = None
    output_delimiter: Annotated[
        str | None, typer.Option("--output-delimiter", metavar="MARK", help="Delimiter of a text file that is written.")
    ] = None
    output_decimal: Annotated[
        str | None,
        typer.Option("--output-decimal", metavar="MARK", help="Decimal mark of its numbers: . or ,"),
    ] = None
    output_encoding: Annotated[
        str | None, typer.Option("--output-encoding", metavar="NAME", help="Its encoding; UTF-8 if not given.")
    ] = None
    bom: Annotated[
        bool | None, typer.Option("--bom", help="Begin it with a byte order mark, by which spreadsheets know UTF-8.")
    ] = None
    for_spreadsheet: Annotated[
        bool | None,
        typer.Option(
            "--for-spreadsheet",
            help="Put an apostrophe before texts that a spreadsheet would run, or take for dates or other numbers.",
        ),
    ] = None
    guard_formulas: Annotated[
        bool | None,
        typer.Option(
            "--guard-formulas", help="Put an apostrophe before texts that a spreadsheet would run, and no others."
        ),
    ] = None
    ranges: Annotated[
        str | None,
        typer.Option(
            "--ranges",
            metavar="FORM",
            help="How ranges of numbers and dates are published: labels such as [18-21], or columns such as age_from "
            "and age_to.",
        ),
    ] = None
    query: Annotated[
        str | None, typer.Option("--query", metavar="SQL", help="What is read of a database, instead of a table.")
    ] = None
    output_table: Annotated[
        str | None,
        typer.Option("--output-table", metavar="NAME", help="The table of a database that the release goes to."),
    ] = None
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="Where rows are counted: auto, memory, duckdb for tables larger than it, postgres or spark.",
        ),
    ] = None
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="The table of a database that is meant, such as clinic.visits."),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="SIZE", help="What the engine duckdb, or a table that is read, may take: 8GB."
        ),
    ] = None
    decimal: Annotated[
        str | None, typer.Option("--decimal", metavar="MARK", help="Decimal mark of numbers, such as a comma.")
    ] = None
    thousands: Annotated[
        str | None, typer.Option("--thousands", metavar="MARK", help="Mark between groups of thousands in numbers.")
    ] = None
    dates: Annotated[
        Texts,
        typer.Option(
            "--dates",
            metavar="FORMAT|COLUMN=FORMAT",
            help="How dates and times are written, such as %d.%m.%Y, in all columns that fit or in one. A list has "
            "commas, and a format that holds one double quotes. Repeatable.",
        ),
    ] = None
    type: Annotated[
        Texts,
        typer.Option(
            "--type",
            metavar="COLUMN=KIND",
            help="A column is a number, plain-number, integer, date, datetime or text: age=number,zip=text. "
            "Repeatable.",
        ),
    ] = None
    header: Annotated[
        bool | None, typer.Option("--header", help="The first line holds names, even if it looks like data.")
    ] = None
    sheet: Annotated[
        str | None, typer.Option("--sheet", metavar="NAME", help="The sheet of a workbook, if several have cells.")
    ] = None
    codes: Annotated[
        bool | None, typer.Option("--codes", help="Keep the codes of SPSS and Stata, not their labels.")
    ] = None
    columns: Annotated[Texts, typer.Option("--columns", metavar="COLUMNS", help="Read these columns alone: a,b,c.")] = (
        None
    )
    skip_rows: Annotated[
        int | None,
        typer.Option("--skip-rows", metavar="N", min=0, help="Lines above the names of columns: a title, comments."),
    ] = None
    comment: Annotated[
        str | None, typer.Option("--comment", metavar="MARK", help="Lines that begin so are comments, such as #.")
    ] = None
    trim: Annotated[
        bool | None, typer.Option("--trim", help="Take blanks off around names and fields of text files.")
    ] = None
    nameless: Annotated[
        str | None,
        typer.Option(
            "--nameless", metavar="drop|name", help="Leave columns without a name out, or call them by their number."
        ),
    ] = None
    version: Annotated[
        int | None,
        typer.Option(
            "--version",
            metavar="N",
            min=0,
            help="The version of a Delta table, or the snapshot ID of an Iceberg table, if not the newest.",
        ),
    ] = None
    as_json: Json = False
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Let messages show values of the table, which they never do else.")
    ] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say on stderr what each stage counts.")] = False


NOTATION = ("decimal", "thousands", "dates", "type")
ROLES = ("quasi", "sensitive", "insensitive", "identifier", "person")
LAYOUT = ("skip_rows", "comment", "trim", "nameless")
OF_RELEASE = ("delimiter", "encoding", "missing", "text", *NOTATION, "header", "sheet", "codes", "columns", *LAYOUT)
READING = (*OF_RELEASE, "version")
WRITING = ("output_delimiter", "output_decimal", "output_encoding", "bom", "for_spreadsheet", "guard_formulas")
EARLIER = ("previous", "previous_input", "ledger", "accept_overlap", "fresh")
DATABASE = ("query",)
ENGINE = ("engine", "memory", "table")
SCREEN = ("as_json", "show_values", "verbose")

MadeBy = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        metavar="SPEC",
        help="How a release in buckets was made, such as slicing:l=5; its certificate tells the columns.",
    ),
]
ChosenLevels = Annotated[
    str | None,
    typer.Option(
        "--node", metavar="LEVELS", help="A node of the lattice, chosen by hand: a level a quasi-identifier, 1,0,2."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write: .csv, .parquet, .sav, .dta …"),
]
Release = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write: .csv, .tsv, .parquet, .arrow, .xlsx, .sav, .dta or .xpt; or the address of a database.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist already.")]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Fix the shuffling of rows, for tests only: the certificate warns of it.")
]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="Take roles, hierarchies and models from here.")
]
Original = Annotated[Path | None, typer.Option("--original", metavar="FILE", help="The table before it was published.")]
RecodingFile = Annotated[
    Path | None, typer.Option("--recoding", metavar="FILE", help="The recoding of the release, to count people by it.")
]
Input = Annotated[
    Path | None, typer.Option("--input", metavar="FILE", help="Beside a policy: the table, instead of the policy's.")
]
Instead = Annotated[
    bool,
    typer.Option(
        "--instead", help="Beside a policy: --model, --algorithm and --suppression take the place of what it says."
    ),
]
SaveRecoding = Annotated[
    Path | None, typer.Option("--save-recoding", metavar="FILE", help="Keep the recoding; it holds original values.")
]


def share_options(*names: str, **reworded: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take shared options where its parameter `flags` stands, which then has them all.

    `reworded` gives some of them another help text.
    """
    known = {field.name: field for field in fields(Flags)}
    options = [_parameter(name, reworded.get(name, known[name].type), known[name].default) for name in names]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            flags = Flags(**{name: given.pop(name) for name in names})
            with stages() if flags.verbose else nullcontext():
                command(flags=flags, **given)

        own = inspect.signature(command).parameters.values()
        spliced = [
            options if each.name == "flags" else [_parameter(each.name, each.annotation, each.default)] for each in own
        ]
        parameters = [parameter for part in spliced for parameter in part]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
