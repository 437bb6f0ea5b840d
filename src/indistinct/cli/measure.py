"""`indistinct measure`: what a published file cost, compared with the table it was made from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.published import Question, aligned, question, remarks
from indistinct.cli.screen import metric_table, note, print_json, show
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
    hierarchy: options.Hierarchies = None,
    label: options.Label = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
) -> None:
    """Measure the utility of a published table.

    The original is the policy's input unless --original names another. A model gives the k of the metric
    average-class-size.
    """
    asked = question(
        policy,
        {"quasi": quasi, "sensitive": sensitive, "insensitive": insensitive, "identifier": identifier},
        model,
        hierarchies=hierarchy,
        label=label,
        reading={"delimiter": delimiter, "encoding": encoding, "missing": missing},
        needs_model=False,
    )
    named = None if asked.policy is None else asked.policy.locate(asked.policy.input.path)
    source = original or named
    if source is None:
        raise ParameterError("no original is given", hint="name the table before publishing with --original")
    _measure(asked, published, source, as_json=as_json)


def _measure(asked: Question, published: Path, source: Path, *, as_json: bool) -> None:
    from indistinct import api
    from indistinct.registry import all_of

    whole = api.open(source, **asked.original_reading).data
    table = api.open(published, **asked.reading).data
    remarks(asked.schema, table.column_names)
    measured = api.measure_table(
        aligned(table, whole),
        asked.schema,
        original=whole,
        hierarchies=asked.hierarchies,
        k=all_of(asked.models).smallest if asked.models else 1,
        label=asked.label,
        metrics=_metrics(asked),
    )
    rows = table.num_rows, whole.num_rows
    if as_json:
        about = {
            "published": str(published),
            "original": str(source),
            "rows": rows[0],
            "original_rows": rows[1],
        }
        print_json({**about, "metrics": measured.to_json()})
    else:
        show(f"{published}: {rows[0]:,} of {rows[1]:,} rows\n", metric_table(measured))


def _metrics(asked: Question) -> "list[Metric] | None":
    """Return the metrics of the policy that a published file can answer, None for the standard ones."""
    wanted = asked.policy.metrics if asked.policy is not None else ()
    # Entropy compares rows with their originals, and a published file does not tell which ones these are.
    answered = [metric for metric in wanted if metric.name != "entropy"]
    if len(answered) < len(wanted):
        note("entropy is measured only when a release is made")
    return answered or None
