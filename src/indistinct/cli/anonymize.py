"""`indistinct anonymize`: from a policy, or a table and flags, to a verified release."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.jobs import job_of, opened, policy_of
from indistinct.cli.output import Destination, publish, report
from indistinct.cli.screen import note, progress

if TYPE_CHECKING:
    from indistinct.metrics import Metric
    from indistinct.policy import Policy


def command(
    source: Annotated[Path, typer.Argument(metavar="POLICY|DATA", help="A policy (.toml), or a table.")],
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    insensitive: options.Insensitive = None,
    identifier: options.Identifier = None,
    model: options.Models = None,
    algorithm: options.AlgorithmSpec = None,
    node: options.ChosenLevels = None,
    hierarchy: options.Hierarchies = None,
    suppression: options.Suppression = None,
    target: options.Label = None,
    output: options.Output = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
    save_recoding: options.SaveRecoding = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    text: options.TextColumns = None,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
) -> None:
    """Publish a table so that a model holds: by a policy, or by flags.

    Beside a policy only -o, --node, --overwrite, --seed, --save-recoding, --json and --show-values can stand.
    """
    job = job_of(
        (quasi, sensitive, insensitive, identifier),
        (delimiter, encoding, missing, text),
        model=model,
        algorithm=algorithm,
        hierarchy=hierarchy,
        suppression=suppression,
        target=target,
    )
    policy = policy_of(source, job, node=node)
    if policy.output.report is not None:
        note("this version writes no report yet; the policy's `report` is left out")
    named = None if policy.output.path is None else policy.locate(policy.output.path)
    destination = Destination.checked(
        output or named,
        recoding=save_recoding,
        others=("sensitive",) if getattr(policy.algorithm, "form", None) == "tables" else (),
        overwrite=overwrite,
        sources=[*policy.files, source],
    )
    _run(policy, destination, seed=seed, as_json=as_json)


def _run(policy: "Policy", destination: Destination, *, seed: int | None, as_json: bool) -> None:
    from indistinct import api
    from indistinct.metrics import standard_metrics

    with progress("anonymizing") as share:
        release = api.anonymize(
            opened(policy),
            policy.schema,
            model=policy.model,
            algorithm=policy.algorithm,
            hierarchies=policy.hierarchies,
            suppression=policy.suppression,
            target=policy.target,
            seed=seed,
            progress=share,
        )
    if policy.model is None or policy.algorithm.traits.buckets:
        if policy.metrics or policy.target:
            note("values are not recoded in buckets: only what speaks of buckets is measured")
        metrics: Sequence[Metric] | None = None
    else:
        metrics = policy.metrics or standard_metrics(k=policy.model.smallest, target=policy.target)
    measured = api.measure(release, metrics)
    report(release, publish(release, destination), destination, metrics=measured, as_json=as_json)
