"""`indistinct apply`: a recoding that was found before publishes another table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import data_of, earlier_files, place_of, policy_of, run_options, source_of
from indistinct.cli.linked import refuse_linked
from indistinct.cli.options import DATABASE, EARLIER, ENGINE, READING, SCREEN, WRITING, Flags, option_of, share_options
from indistinct.cli.output import checked_path, measure_and_note, report, run_and_note
from indistinct.cli.screen import progress
from indistinct.settings import FLAGS

if TYPE_CHECKING:
    from indistinct.job.job import Changes


@share_options(
    *("model", "hierarchy", "pseudonym", "suppression", "population", *READING, *EARLIER, "smallest_count"),
    *(*DATABASE, "output_table", "partition_by", *WRITING, *ENGINE, *SCREEN),
    model=option_of(
        FLAGS["model"], "Another privacy model than that of the recoding, such as k-anonymity:k=5. Repeatable."
    ),
    suppression=option_of(
        FLAGS["suppression"],
        "Suppression limit: a share of the rows, such as 0.02, or a number, such as '4 rows'; by default that of the "
        "first release.",
    ),
)
def command(
    recoding: Annotated[Path, typer.Argument(metavar="RECODING", help="What --save-recoding wrote.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="A table with the same columns, or a database.")],
    flags: Flags,
    output: options.Release = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
    hold_back: Annotated[
        bool,
        typer.Option("--hold-back", help="Withhold, within --suppression, people whom earlier releases would expose."),
    ] = False,
) -> None:
    """Publish another table with a stored recoding, and verify that it satisfies the same privacy model.

    The table is read like the first one, unless flags change that. New values are published where a hierarchy, a range
    or a region of the recoding covers them. Rows with other values, and equivalence classes that violate the model, are
    suppressed up to --suppression (by default the limit of the first release); beyond it the command fails.

    Other columns are masked as in the first release; identifiers are dropped unless --pseudonym is given again. --model
    replaces the model. --previous with --previous-input compares with one earlier release of the same people, --ledger
    with all that the ledger records.
    """
    for each in (recoding, Path(data)):
        refuse_linked(each, "apply")
    from indistinct.evaluation.measure.measure import measure as measure_release
    from indistinct.evaluation.summary import summary_of_release
    from indistinct.job import running
    from indistinct.job.job import job_of_policy
    from indistinct.recoding.storage import arrays_path, read_recoding

    with progress("applying") as share:
        stored = read_recoding(recoding)
        policy = policy_of(data_of(data, flags), flags, schema=stored.schema, reading=stored.reading)
        read = [recoding, arrays_path(recoding), *policy.files, *earlier_files(flags, policy)]
        path = checked_path(place_of(output, flags.output_table), recoding=None, overwrite=overwrite, sources=read)
        share(0.2)
        changes: Changes = {
            **run_options(flags, policy),
            "table": source_of(policy, flags),
            "recoding": stored,
            "suppression": flags.suppression,
            "output": path,
            "overwrite": overwrite,
            "seed": seed,
            "hold_back": hold_back,
        }
        release = run_and_note(job_of_policy(policy, **changes), running.run_job)
        share(1.0)
    metrics = measure_and_note(lambda: measure_release(release))
    report(summary_of_release(release, path, metrics=metrics), as_json=flags.as_json)
