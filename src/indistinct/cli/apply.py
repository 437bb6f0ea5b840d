"""`indistinct apply`: a recoding that was found before publishes another table."""

from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import opened, policy_of
from indistinct.cli.options import READING, SCREEN, Flags, shared
from indistinct.cli.output import checked_path, measured, published, report
from indistinct.cli.screen import progress


@shared("model", "hierarchy", "suppression", *READING, *SCREEN)
def command(
    recoding: Annotated[Path, typer.Argument(metavar="RECODING", help="What --save-recoding wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A table with the same columns.")],
    flags: Flags,
    output: options.Output = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
) -> None:
    """Publish another table by a stored recoding, and verify that its promise still holds.

    The table is read as the first one was, but for what flags say of it. A value that the recoding does not know is an
    error; --model asks for something else than the promise, and --suppression for another share than the first release
    was allowed.
    """
    from indistinct import api
    from indistinct.recoding.storage import beside, read_recoding
    from indistinct.summary import summary_of_release

    with progress("applying") as share:
        found = read_recoding(recoding)
        policy = policy_of(data, flags, schema=found.schema, reading=found.reading)
        read = [recoding, beside(recoding), *policy.files]
        path = checked_path(output, recoding=None, overwrite=overwrite, sources=read)
        share(0.2)
        release = published(
            path,
            lambda: api.apply(
                found,
                opened(policy),
                model=policy.model,
                hierarchies=policy.hierarchies,
                suppression=flags.suppression,
                seed=seed,
                output=path,
                overwrite=overwrite,
            ),
        )
        share(1.0)
    metrics = measured(lambda: api.measure(release))
    report(summary_of_release(release, path, metrics=metrics), as_json=flags.as_json)
