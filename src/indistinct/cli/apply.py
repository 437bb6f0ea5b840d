"""`indistinct apply`: a recoding that was found before publishes another table."""

from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import hierarchies_of, models_of, opened_table, reading_options
from indistinct.cli.output import Destination, publish, report
from indistinct.cli.screen import progress


def command(
    recoding: Annotated[Path, typer.Argument(metavar="RECODING", help="What --save-recoding wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A table with the same columns.")],
    output: options.Output = None,
    model: options.Models = None,
    hierarchy: options.Hierarchies = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    text: options.TextColumns = None,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
) -> None:
    """Publish another table by a stored recoding, and verify that its promise still holds.

    A value that the recoding does not know is an error; --model asks for something else than the promise.
    """
    from indistinct import api
    from indistinct.recoding.storage import beside, read_recoding
    from indistinct.registry import all_of

    with progress("applying") as share:
        found = read_recoding(recoding)
        others = ("sensitive",) if getattr(found, "form", None) == "tables" else ()
        destination = Destination.checked(
            output, recoding=None, overwrite=overwrite, sources=[recoding, beside(recoding), data], others=others
        )
        share(0.2)
        table = opened_table(data, reading_options(delimiter, encoding, missing=missing, text=text))
        release = api.apply(
            found,
            table,
            model=all_of(models_of(model)) if model else None,
            hierarchies=hierarchies_of(hierarchy),
            seed=seed,
        )
        share(1.0)
    report(release, publish(release, destination), destination, metrics=api.measure(release), as_json=as_json)
