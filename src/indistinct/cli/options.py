"""The options that commands share, spelled once."""

from pathlib import Path
from typing import Annotated

import typer

Quasi = Annotated[
    list[str] | None,
    typer.Option("--quasi", metavar="COLUMNS", help="Columns that others may know, to be recoded: a,b,c."),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option("--sensitive", metavar="COLUMNS", help="Columns that must not be learnt about a person."),
]
Insensitive = Annotated[
    list[str] | None,
    typer.Option("--insensitive", metavar="COLUMNS", help="Columns that are published as they are."),
]
Identifier = Annotated[
    list[str] | None,
    typer.Option("--identifier", metavar="COLUMNS", help="Columns that point at a person, to be dropped."),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="SPEC", help="What must hold, such as k-anonymity:k=5. Repeatable."),
]
AlgorithmSpec = Annotated[
    str | None,
    typer.Option("--algorithm", metavar="SPEC", help="How to search, such as mondrian:relaxed=true."),
]
ChosenLevels = Annotated[
    str | None,
    typer.Option(
        "--node", metavar="LEVELS", help="A node of the lattice, chosen by hand: a level a quasi-identifier, 1,0,2."
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=SPEC",
        help="Coarser values of a column: a CSV file, mask:right, intervals:5,10,20, dates:month,year, "
        "order:low|mid|high or suppression. Repeatable.",
    ),
]
Suppression = Annotated[
    float | None,
    typer.Option("--suppression", metavar="SHARE", help="Share of the rows that may be dropped, such as 0.02."),
]
Label = Annotated[
    str | None,
    typer.Option("--target", metavar="COLUMN", help="Column that the classification metric predicts."),
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Delimiter of text files; found if not given.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Encoding of text files; found if not given.")]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="TEXT", help="A text that stands for missing, besides none. Repeatable."),
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="COLUMNS", help="Columns of codes: text, whatever their values spell."),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write: .csv, .tsv, .parquet or .arrow."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist already.")]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Fix the shuffling of rows, for tests only: the certificate warns of it."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
ShowValues = Annotated[
    bool,
    typer.Option("--show-values", help="Let messages show values of the table, which they never do else."),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="Take roles, hierarchies and models from here."),
]
MadeBy = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        metavar="SPEC",
        help="How a release in buckets was made, such as slicing:l=5; its certificate tells the columns.",
    ),
]
Original = Annotated[Path | None, typer.Option("--original", metavar="FILE", help="The table before it was published.")]
SaveRecoding = Annotated[
    Path | None,
    typer.Option("--save-recoding", metavar="FILE", help="Keep the recoding; it holds original values."),
]
