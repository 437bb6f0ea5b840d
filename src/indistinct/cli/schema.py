"""`indistinct schema`: the JSON Schema of what a command prints with --json."""

from typing import Annotated

import typer

from indistinct.cli.json_schemas import SCHEMAS, schema_of
from indistinct.cli.screen import print_json
from indistinct.errors import ParameterError
from indistinct.schema import did_you_mean


def command(
    name: Annotated[
        str, typer.Argument(metavar="COMMAND", help="A command that has --json, or error: what any prints that fails.")
    ],
) -> None:
    """Print the JSON Schema (draft 2020-12) of the document that a command prints with --json.

    Further fields may come with a version; a field that is there keeps its name and its type.
    """
    if name not in SCHEMAS:
        raise ParameterError(
            f"there is no schema of {name!r}", hint=did_you_mean(name, SCHEMAS) or f"known: {', '.join(SCHEMAS)}"
        )
    print_json(schema_of(name))
