"""`indistinct schema`: the JSON Schema of what a command prints with --json."""

from typing import Annotated

import typer

from indistinct.cli.json_schemas import SCHEMAS, schema_of
from indistinct.cli.screen import print_json
from indistinct.errors import ParameterError, did_you_mean


def command(
    name: Annotated[
        str, typer.Argument(metavar="COMMAND", help="A command with --json, or `error` for what failed commands print.")
    ],
) -> None:
    """Print the JSON Schema (draft 2020-12) of what a command prints with --json.

    Later versions may add fields; existing fields keep their names and types.
    """
    if name not in SCHEMAS:
        raise ParameterError(
            f"there is no schema of {name!r}", hint=did_you_mean(name, SCHEMAS) or f"known: {', '.join(SCHEMAS)}"
        )
    print_json(schema_of(name))
