"""`indistinct generate`: write tables of invented people to try algorithms and models on."""

import secrets
from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.output import write_text
from indistinct.cli.screen import print_json, show
from indistinct.errors import ParameterError, did_you_mean

CLINIC = "clinic"


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="patients, census, … or clinic; see `indistinct list`.")],
    rows: Annotated[int | None, typer.Option("--rows", min=0, help="Number of rows; by default 1000.")] = None,
    people: Annotated[
        int | None, typer.Option("--people", min=0, help="Number of people of clinic; its tables go to a folder.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="The same seed gives the same table; by default random.")
    ] = None,
    output: options.Output = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Write a table of invented people, to try things out.

    `clinic` writes a folder: several tables about the same people, and a policy for them. Without --seed each run draws
    other people and names the seed that draws them again.
    """
    chosen = secrets.randbits(32) if seed is None else seed
    if name == CLINIC:
        _write_clinic(
            1000 if people is None else people, chosen, output, rows=rows, overwrite=overwrite, as_json=as_json
        )
        return
    if people is not None:
        raise ParameterError(f"--people goes with {CLINIC}, and --rows with other tables", hint="leave --people out")
    rows = 1000 if rows is None else rows
    if output is None:
        raise ParameterError("no output is given", hint=f"say where it goes, for example -o {name}.csv")
    from indistinct.release.writing.files import write_table
    from indistinct.release.writing.places import check_format, check_targets
    from indistinct.samples import GENERATORS

    check_format(output)
    check_targets([output], sources=[], overwrite=overwrite)
    known = (*GENERATORS, CLINIC)
    if name not in GENERATORS:
        raise ParameterError(
            f"there is no generator {name!r}", hint=did_you_mean(name, known) or f"known: {', '.join(known)}"
        )
    table = GENERATORS[name](rows, seed=chosen)
    write_table(table, output, overwrite=overwrite)
    if as_json:
        about = {"output": str(output), "name": name, "rows": table.num_rows, "seed": chosen}
        print_json({**about, "columns": table.column_names})
    else:
        show(f"{output}: {table.num_rows:,} rows of {name}, seed {chosen}")


def _write_clinic(
    people: int, seed: int, output: Path | None, *, rows: int | None, overwrite: bool, as_json: bool
) -> None:
    """Write the tables of a clinic, the parents of its codes and a policy into a folder."""
    from indistinct.release.writing.files import write_table
    from indistinct.release.writing.places import check_targets
    from indistinct.samples.clinic import CLINIC_POLICY, clinic_codes, generate_clinic

    if rows is not None:
        raise ParameterError("--rows goes with one table; clinic has a number of people", hint=f"--people {rows}")
    if output is None:
        raise ParameterError("no output is given", hint="name a folder, for example -o clinic")
    tables = {**generate_clinic(people, seed=seed), "codes": clinic_codes()}
    paths = {each: output / f"{each}.csv" for each in tables}
    policy = output / "policy.toml"
    output.mkdir(exist_ok=True)
    check_targets([*paths.values(), policy], sources=[], overwrite=overwrite)
    for each, table in tables.items():
        write_table(table, paths[each], overwrite=overwrite)
    write_text(policy, CLINIC_POLICY, overwrite=overwrite)
    counts = {each: table.num_rows for each, table in tables.items()}
    if as_json:
        print_json({"output": str(output), "name": CLINIC, "people": people, "seed": seed, "rows": counts})
    else:
        show(f"{output}: {', '.join(f'{count:,} {each}' for each, count in counts.items())}, seed {seed}")
