"""`indistinct measure`: what a published file cost, compared with the table it was made from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.buckets import bucket_file
from indistinct.cli.flags import opened_table
from indistinct.cli.members import CLASSES, draw_members, measured_members, members_document, members_table
from indistinct.cli.published_file import Question, aligned, question, remarks
from indistinct.cli.screen import metric_table, note, print_json, progress, show
from indistinct.cli.targets import check_targets
from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from indistinct.metrics import Metric


def command(
    published: Annotated[Path, typer.Argument(metavar="PUBLISHED", help="The published table.")],
    policy: options.PolicyFile = None,
    original: options.Original = None,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    insensitive: options.Insensitive = None,
    identifier: options.Identifier = None,
    model: options.Models = None,
    algorithm: options.MadeBy = None,
    hierarchy: options.Hierarchies = None,
    target: options.Label = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw by how many classes or buckets tuples are matched (.svg)."),
    ] = None,
    overwrite: options.Overwrite = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    text: options.TextColumns = None,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
) -> None:
    """Measure the utility of a published table.

    The original is the policy's input unless --original names another. A model gives the k of the metric
    average-class-size. Membership disclosure is measured as well: how many tuples could have been in the table, and how
    many of them were not.
    """
    asked = question(
        policy,
        {"quasi": quasi, "sensitive": sensitive, "insensitive": insensitive, "identifier": identifier},
        model,
        hierarchies=hierarchy,
        target=target,
        reading={"delimiter": delimiter, "encoding": encoding, "missing": missing, "text": text},
        algorithm=algorithm,
    )
    named = None if asked.policy is None else asked.policy.locate(asked.policy.input.path)
    source = original or named
    if source is None:
        raise ParameterError("no original is given", hint="name the table before publishing with --original")
    if chart is not None:
        if chart.suffix.lower() != ".svg":
            raise ParameterError(f"the chart {chart} must end in .svg", hint="for example --chart matching.svg")
        check_targets([chart], sources=[published, source], overwrite=overwrite)
    _measure(asked, published, source, chart=chart, overwrite=overwrite, as_json=as_json)


def _measure(
    asked: Question, published: Path, source: Path, *, chart: Path | None, overwrite: bool, as_json: bool
) -> None:
    from indistinct import api
    from indistinct.registry import all_of

    whole = opened_table(source, asked.original_reading).data
    buckets = bucket_file(published, asked, original=whole)
    if buckets is not None:
        buckets.measured(asked, original=whole, chart=chart, overwrite=overwrite, as_json=as_json)
        return
    table = aligned(asked.opened(published), whole)
    remarks(asked.schema, table.column_names)
    with progress("measuring") as share:
        measured = api.measure_table(
            table,
            asked.schema,
            original=whole,
            hierarchies=asked.hierarchies,
            k=all_of(asked.models).smallest if asked.models else 1,
            target=asked.target,
            metrics=_metrics(asked),
        )
        share(0.5)
        found = measured_members(
            {"quasi-identifiers": {"hierarchies": asked.hierarchies}}, table, asked.schema, original=whole
        )
    if chart is not None:
        draw_members(found, chart, CLASSES, overwrite=overwrite)
    rows = table.num_rows, whole.num_rows
    if as_json:
        about = {
            "published": str(published),
            "original": str(source),
            "rows": rows[0],
            "original_rows": rows[1],
        }
        said = {"metrics": measured.to_json(), "membership": members_document(found), "chart": chart and str(chart)}
        print_json({**about, **said})
    else:
        show(f"{published}: {rows[0]:,} of {rows[1]:,} rows\n", metric_table(measured))
        if found:
            show("", members_table(found, CLASSES))


def _metrics(asked: Question) -> "list[Metric] | None":
    """Return the metrics of the policy that a published file can answer, None for the standard ones."""
    wanted = asked.policy.metrics if asked.policy is not None else ()
    # Entropy compares rows with their originals, and a published file does not tell which ones these are.
    answered = [metric for metric in wanted if metric.name != "entropy"]
    if len(answered) < len(wanted):
        note("entropy is measured only when a release is made")
    return answered or None
