"""`indistinct reproduce`: hands over to the package `indistinct-papers`, where it is installed."""

from importlib.metadata import entry_points
from typing import Annotated

import typer

from indistinct.errors import MissingExtraError

GROUP = "indistinct.commands"
"""The entry points of commands that another package holds; each names an application of Typer."""
PACKAGE = "indistinct-papers"
# Every argument is passed on as it was written, `--help` too.
SETTINGS = {"ignore_unknown_options": True, "help_option_names": []}


def command(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[NAME] [OPTIONS]", show_default=False)] = None,
) -> None:
    """Print a published figure next to what the algorithms give now; needs the package indistinct-papers."""
    points = entry_points(group=GROUP, name="reproduce")
    if not points:
        raise MissingExtraError(PACKAGE, purpose="`indistinct reproduce`")
    (point,) = points
    own = typer.main.get_command(point.load())
    own.main(args=arguments or [], prog_name="indistinct reproduce", standalone_mode=False)
