"""`indistinct anonymize`: from a policy, or a table and flags, to a verified release."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import options
from indistinct.cli.flags import hierarchies_of, models_of, reading_options, refuse_beside_policy, schema_of
from indistinct.cli.releasing import Target, publish, report
from indistinct.cli.screen import note, progress

if TYPE_CHECKING:
    from indistinct.policy import Policy


def command(
    source: Annotated[Path, typer.Argument(metavar="POLICY|DATA", help="A policy (.toml), or a table.")],
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    insensitive: options.Insensitive = None,
    identifier: options.Identifier = None,
    model: options.Models = None,
    algorithm: options.AlgorithmSpec = None,
    hierarchy: options.Hierarchies = None,
    suppression: options.Suppression = None,
    label: options.Label = None,
    output: options.Output = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
    save_recoding: options.SaveRecoding = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
) -> None:
    """Publish a table so that a model holds: by a policy, or by flags.

    Beside a policy only -o, --overwrite, --seed, --save-recoding, --json and --show-values can stand.
    """
    job = {
        "--quasi": quasi,
        "--sensitive": sensitive,
        "--insensitive": insensitive,
        "--identifier": identifier,
        "--model": model,
        "--algorithm": algorithm,
        "--hierarchy": hierarchy,
        "--suppression": suppression,
        "--label": label,
        "--delimiter": delimiter,
        "--encoding": encoding,
        "--missing": missing,
    }
    by_policy = source.suffix.lower() == ".toml"
    policy = _read(source, job) if by_policy else _from_flags(source, job)
    named = None if policy.output.path is None else policy.locate(policy.output.path)
    target = Target.checked(
        output or named,
        recoding=save_recoding,
        overwrite=overwrite,
        sources=[*policy.files, *([source] if by_policy else [])],
    )
    _run(policy, target, seed=seed, as_json=as_json)


def _read(source: Path, job: dict[str, Any]) -> "Policy":
    from indistinct.policy import read_policy

    refuse_beside_policy(job)
    policy = read_policy(source)
    if policy.output.report is not None:
        note("this version writes no report yet; the policy's `report` is left out")
    return policy


def _from_flags(source: Path, job: dict[str, Any]) -> "Policy":
    from indistinct.algorithms.partition.mondrian import Mondrian
    from indistinct.policy import Input, Policy, predicted_column
    from indistinct.registry import parse_algorithm

    schema = schema_of(
        quasi=job["--quasi"],
        sensitive=job["--sensitive"],
        insensitive=job["--insensitive"],
        identifier=job["--identifier"],
    )
    return Policy(
        input=Input(
            source, **reading_options(job["--delimiter"], job["--encoding"], missing=job["--missing"])
        ),
        schema=schema,
        models=models_of(job["--model"]),
        hierarchies=hierarchies_of(job["--hierarchy"]),
        suppression=job["--suppression"] or 0.0,
        algorithm=parse_algorithm(job["--algorithm"]) if job["--algorithm"] else Mondrian(),
        label=predicted_column(job["--label"], (), schema=schema),
    )


def _run(policy: "Policy", target: Target, *, seed: int | None, as_json: bool) -> None:
    from indistinct import api
    from indistinct.metrics import standard_metrics

    read = policy.input
    with progress("anonymizing") as share:
        table = api.open(
            policy.locate(read.path), delimiter=read.delimiter, encoding=read.encoding, missing=read.missing
        )
        release = api.anonymize(
            table,
            policy.schema,
            model=policy.model,
            algorithm=policy.algorithm,
            hierarchies=policy.hierarchies,
            suppression=policy.suppression,
            label=policy.label,
            seed=seed,
            progress=share,
        )
    metrics = policy.metrics or standard_metrics(k=policy.model.smallest, label=policy.label)
    measured = api.measure(release, metrics)
    report(release, publish(release, target), target, metrics=measured, as_json=as_json)
