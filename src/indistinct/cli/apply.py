"""`indistinct apply`: a recoding that was found before publishes another table."""

from pathlib import Path
from typing import Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import opened, policy_of
from indistinct.cli.options import READING, SCREEN, Flags, shared
from indistinct.cli.output import checked_path, measured, published, report
from indistinct.cli.screen import progress
from indistinct.errors import InputError


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

    A value that the recoding does not know is an error; --model asks for something else than the promise, and
    --suppression for another share than the first release was allowed.
    """
    stored = _read_text(recoding)
    from indistinct import api
    from indistinct.recoding.json import recoding_from_json
    from indistinct.summary import summary_of_release

    with progress("applying") as share:
        found = recoding_from_json(stored)
        policy = policy_of(data, flags, schema=found.schema)
        path = checked_path(output, recoding=None, overwrite=overwrite, sources=[recoding, *policy.files])
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


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot read the recoding {path}: {error.strerror or 'unreadable'}", hint="check the path"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a recoding", hint="it must be a file that --save-recoding wrote") from None
