"""`indistinct generate`: invented tables to try algorithms and models on."""

import secrets
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.screen import print_json, show
from indistinct.errors import ParameterError
from indistinct.schema import did_you_mean


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as patients or census; see `list`.")],
    rows: Annotated[int, typer.Option("--rows", min=0, help="Number of rows.")] = 1000,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="The same seed gives the same table; random if left out.")
    ] = None,
    output: options.Output = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Write a table of invented people."""
    if output is None:
        raise ParameterError("no output is given", hint=f"say where it goes, for example -o {name}.csv")
    from indistinct.release.writing.files import write_table
    from indistinct.release.writing.places import check_format, check_targets
    from indistinct.samples import GENERATORS

    check_format(output)
    check_targets([output], sources=[], overwrite=overwrite)
    if name not in GENERATORS:
        raise ParameterError(
            f"there is no generator {name!r}", hint=did_you_mean(name, GENERATORS) or f"known: {', '.join(GENERATORS)}"
        )
    chosen = secrets.randbits(32) if seed is None else seed
    table = GENERATORS[name](rows, seed=chosen)
    write_table(table, output, overwrite=overwrite)
    if as_json:
        about = {"output": str(output), "name": name, "rows": table.num_rows, "seed": chosen}
        print_json({**about, "columns": table.column_names})
    else:
        show(f"{output}: {table.num_rows:,} rows of {name}, seed {chosen}")
