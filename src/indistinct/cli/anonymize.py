"""`indistinct anonymize`: from a policy, or a table and flags, to a verified release."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import options
from indistinct.cli.flags import (
    data_of,
    earlier_files,
    is_linked,
    job_of,
    place_of,
    preferred_analysis,
    run_options,
    source_of,
)
from indistinct.cli.linked import anonymize_linked
from indistinct.cli.options import DATABASE, EARLIER, ENGINE, READING, ROLES, SCREEN, WRITING, Flags, share_options
from indistinct.cli.output import checked_path, checked_report, measure_and_note, report, run_and_note
from indistinct.cli.report import write_report
from indistinct.cli.screen import note, progress

if TYPE_CHECKING:
    from indistinct.job.job import Changes
    from indistinct.job.policy import Policy
    from indistinct.job.policy.value import AnalysisPlan


@share_options(
    *(*ROLES, "model", "algorithm", "hierarchy", "transform", "pseudonym", "suppression", "importance", "levels"),
    *("numeric", "target", "population", "sample"),
    *(
        *READING,
        *EARLIER,
        "smallest_count",
        "ranges",
        *DATABASE,
        "output_table",
        "partition_by",
        *WRITING,
        *ENGINE,
        *SCREEN,
    ),
)
def command(
    source: Annotated[str, typer.Argument(metavar="POLICY|DATA", help="A policy (.toml), a table, or a database.")],
    flags: Flags,
    data: options.Input = None,
    node: options.ChosenLevels = None,
    instead: options.Instead = False,
    output: options.Release = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
    save_recoding: options.SaveRecoding = None,
    prefer: options.Prefer = None,
    formulas: options.Formulas = None,
) -> None:
    """Publish a table so that it satisfies a privacy model, by a policy or by flags.

    A policy sets roles, models, generalization and how the table is read. Flags for these are refused together with a
    policy, unless --instead lets --model, --algorithm and --suppression override it.

    A policy of several tables publishes a folder.
    """
    if is_linked(source):
        given_too: dict[str, Any] = {
            "input": data,
            "node": node,
            "instead": instead,
            "seed": seed,
            "save_recoding": save_recoding,
            "prefer": prefer,
            "formula": formulas,
        }
        anonymize_linked(Path(source), flags, output, overwrite=overwrite, **given_too)
        return
    given = data_of(source, flags)
    policy = job_of(given, flags, node=node, data=data, instead=instead)
    read = [*policy.files, *([given] if isinstance(given, Path) else []), *earlier_files(flags, policy)]
    wanted = place_of(output, flags.output_table) or policy.place
    path = checked_path(wanted, recoding=save_recoding, overwrite=overwrite, sources=read)
    page = checked_report(policy, path, recoding=save_recoding, overwrite=overwrite, sources=read)
    plan = preferred_analysis(prefer, formulas, policy)
    from indistinct.cli.kernels import compile_aside
    from indistinct.evaluation.measure.measure import measure as measure_release
    from indistinct.evaluation.summary import summary_of_release
    from indistinct.job import running
    from indistinct.job.job import job_of_policy

    with progress("anonymizing") as share, compile_aside(policy.algorithm):
        table = source_of(policy, flags)
        policy = replace(policy, input=policy.input.with_version(table.reading.version))
        if plan is not None:
            policy = _prefer(policy, plan, table)
        changes: Changes = {
            **run_options(flags, policy),
            "table": table,
            "output": path,
            "overwrite": overwrite,
            "save_recoding": save_recoding,
            "seed": seed,
            "progress": share,
        }
        release = run_and_note(job_of_policy(policy, **changes), running.run_job)
    if release.structure.unmeasured and (policy.metrics or policy.target):
        note(release.structure.unmeasured)
    metrics = measure_and_note(lambda: measure_release(release, policy.metrics or None, target=policy.target))
    if page is not None:
        with progress("reporting"):
            original = source_of(policy, flags)
            write_report(page, release, policy, original=original, overwrite=overwrite, place=path)
    summary = summary_of_release(release, path, metrics=metrics, recoding=save_recoding, report=page)
    report(summary, as_json=flags.as_json)


def _prefer(policy: "Policy", plan: "AnalysisPlan", table: Any) -> "Policy":
    """Return a policy with the algorithm that loses least of a study's analyses, and say what was tried."""
    from indistinct.exploration.by_policy import prefer_by_policy
    from indistinct.figures import percent

    chosen, comparison = prefer_by_policy(table, policy, plan)
    losses = [
        f"{trial.point.algorithm} {percent(loss)}"
        for trial in comparison.trials
        for loss in [trial.metrics.get(next(iter(comparison.metrics)))]
        if loss is not None
    ]
    note(f"chosen by what the analyses lose: {'; '.join(losses)}")
    return chosen
