"""`indistinct measure`: what a published file cost, compared with the table it was made from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import is_linked
from indistinct.cli.linked import measure_linked
from indistinct.cli.options import ENGINE, READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.output import check_picture, report, write_text
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import note, progress
from indistinct.errors import InputError, OutOfMemoryError, ParameterError, SchemaError

if TYPE_CHECKING:
    from indistinct.evaluation.assess.membership import Membership
    from indistinct.metrics import Metric
    from indistinct.release.published import Published


@share_options(
    *ROLES,
    "model",
    "algorithm",
    "hierarchy",
    "transform",
    "pseudonym",
    "target",
    *READING,
    *ENGINE,
    *SCREEN,
    algorithm=MadeBy,
)
def command(
    published: Annotated[Path, typer.Argument(metavar="PUBLISHED", help="The published table.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    original: options.Original = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="SPEC", help="Measure this alone, such as loss. Repeatable."),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw by how many classes or buckets tuples are matched (.svg)."),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Measure the utility of a published table: how much information generalization and suppression cost.

    The table is compared with the original (--original, or the policy's input). --metric replaces the metrics of the
    policy; `indistinct list` names them. --model sets the k of average-class-size. Membership disclosure is measured
    too: how many combinations of values are possible under the release, and how many of these were not in the original.

    With a policy of several tables, PUBLISHED is the folder of a release.
    """
    if policy is not None and is_linked(policy):
        measure_linked(published, policy, flags, original=original, metric=metric, chart=chart, overwrite=overwrite)
        return
    if policy is None and original is None:
        raise ParameterError(
            "no original is given",
            hint="add --original FILE, the table as it was before publishing, or --policy policy.toml",
        )
    if chart is not None:
        check_picture(chart, flag="--chart", overwrite=overwrite)
    from indistinct.evaluation.measure.measure import measure
    from indistinct.evaluation.summary import Summary
    from indistinct.frequencies.structure import units_of
    from indistinct.recoding.outputs import MAIN
    from indistinct.release.verification.evidence import appearance_of

    job, given = published_file(published, flags, policy=policy, original=original, by_input=True)
    sources, structure, whole = given.tables.sources, given.structure, given.require_original("measure")
    columns = {name: table.columns for name, table in sources.items()}
    for warning in appearance_of(given.schema, columns, structure, pseudonyms=tuple(given.pseudonyms)).warnings:
        note(warning)
    with progress("measuring") as share:
        metrics = measure(given, metric or _choose_metrics(job.metrics), target=job.target)
        share(0.5)
        members = _measured_members(given)
    for name, reason in metrics.not_measured:
        note(f"{name} is not measured on a published file: {reason}")
    if chart is not None:
        write_text(chart, _draw_members(members, (structure.unit, units_of(structure.form))), overwrite=overwrite)
    files = {"published": published, "original": whole.path, "chart": chart}
    summary = Summary(files, sources[MAIN].rows, whole.rows, structure.form, metrics=metrics, membership=members)
    report(summary, as_json=flags.as_json)


def _choose_metrics(metrics: "tuple[Metric, ...]") -> "list[Metric] | None":
    """Return the metrics that a published file can answer, None for the standard ones."""
    # A published file does not show which original values a row comes from.
    answered = [metric for metric in metrics if not metric.compares_cells]
    for metric in (each for each in metrics if each.compares_cells):
        note(f"{metric.name} is measured only when a release is made")
    return answered or None


def _measured_members(given: "Published") -> "dict[str, Membership]":
    """Return the membership disclosure of a release for each kind of tuples; nothing but a note where there is none."""
    from indistinct.evaluation.assess.membership import membership_by_kind

    try:
        return membership_by_kind(given)
    except SchemaError:
        raise
    except (InputError, OutOfMemoryError) as error:
        note(f"membership is not measured: {error.message}")
        return {}


def _draw_members(members: "dict[str, Membership]", matched: tuple[str, str]) -> str:
    """Draw the membership histograms of the first kind of tuples as text."""
    from indistinct.evaluation.assess.membership import draw_matching

    if not members:
        raise ParameterError("there is nothing to draw: membership was not measured", hint="leave --chart out")
    title = f"{matched[1].capitalize()} that match original and fake tuples"
    kind, first = next(iter(members.items()))
    return draw_matching(first, title=title, matched=matched, kind=kind)
