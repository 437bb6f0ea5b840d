"""`indistinct compare`: algorithms, models and budgets tried on one table, with what each gives and how to make it."""

import shlex
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import policy_of, preferred_analysis, read_table
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, share_options
from indistinct.cli.screen import note, print_json, progress, show
from indistinct.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from indistinct.exploration.compare.compare import Comparison
    from indistinct.exploration.compare.trials import Point
    from indistinct.job.policy import Policy

LISTED = "several with commas between them, or repeat the flag"
Algorithms = Annotated[
    list[str] | None, typer.Option("--algorithms", metavar="SPECS", help=f"Algorithms: {LISTED}. Else the policy's.")
]
Models = Annotated[
    list[str] | None,
    typer.Option("--models", metavar="SPECS", help=f"Privacy models: {LISTED}; & joins models. Else the policy's."),
]
Shares = Annotated[
    str | None,
    typer.Option("--suppression", metavar="LIMITS", help="Suppression limits, such as '0,0.02,4 rows'."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metrics", metavar="SPECS", help=f"Metrics: {LISTED}. The first one ranks the results."),
]
Folder = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FOLDER", help="Private folder for results; a stopped run continues there."),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="Number of processes; by default one per core."),
]


@share_options(*ROLES, "hierarchy", "transform", "target", "population", *READING, *SCREEN)
def command(
    source: Annotated[Path, typer.Argument(metavar="POLICY|DATA", help="A policy (.toml), or a table.")],
    flags: Flags,
    algorithms: Algorithms = None,
    models: Models = None,
    suppression: Shares = None,
    metrics: Metrics = None,
    data: options.Input = None,
    prefer: options.Prefer = None,
    formulas: options.Formulas = None,
    output: Folder = None,
    workers: Workers = None,
) -> None:
    """Compare algorithms, models and suppression limits by utility and risk.

    Nothing is published. Each result shows the command that makes the release; infeasible ones give the reason. In a
    list, a comma begins the next name unless key=value follows: mondrian:relaxed=true,numeric=mean,datafly names two
    algorithms. Figures of several releases reveal more than those of one: keep them private.
    """
    from indistinct.exploration.by_policy import compare_by_policy
    from indistinct.exploration.compare.folder import private_folder

    policy = _policy(source, flags, data)
    if output is not None:
        private_folder(output)  # before minutes of searching
    with progress("comparing") as share:
        comparison = compare_by_policy(
            read_table(policy),
            policy,
            algorithms=algorithms or None,
            models=models or None,
            suppression=suppression,
            metrics=metrics or None,
            folder=output,
            workers=workers,
            analysis=preferred_analysis(prefer, formulas, policy),
            progress=share,
            command=_commands(source, flags, data),
        )
    files = [] if output is None else _written(comparison, output)
    if flags.as_json:
        print_json({**comparison.to_json(), "files": [str(path) for path in files]})
    else:
        from indistinct.exploration.compare.results import comparison_document

        show(comparison_document(comparison, front_only=True))
        show(*(f"{path}" for path in files if path.suffix != ".svg"))
    if comparison.exit_code:
        raise typer.Exit(comparison.exit_code)


def _policy(source: Path, flags: Flags, data: Path | None) -> "Policy":
    """Return the policy of a comparison: a file, or flags for a table."""
    by_policy = source.suffix.lower() == ".toml"
    if data is not None and not by_policy:
        raise ParameterError("--input goes with a policy, whose table it replaces", hint=f"indistinct compare {data} …")
    policy = policy_of(source, flags, policy=source if by_policy else None)
    return policy if data is None else replace(policy, input=policy.input.of_other_table(data.absolute()))


def _commands(source: Path, flags: Flags, data: Path | None) -> "Callable[[Point], str]":
    """Return a function that writes the command that makes the release of a point."""
    words = ["indistinct", "anonymize", str(source)]
    if source.suffix.lower() == ".toml":
        words += ["--instead", *([] if data is None else ["--input", str(data)])]
    words += _respell_flags(flags)

    def spelled(point: "Point") -> str:
        model = [] if point.model is None else ["--model", point.model]
        dropped = ["--suppression", str(point.suppression)]
        command = [*words, *model, "--algorithm", point.algorithm, *dropped, "-o", f"{point.name}.parquet"]
        return shlex.join(command)

    return spelled


def _respell_flags(flags: Flags) -> list[str]:
    """Return shared flags as words, again."""
    words = []
    for each in fields(Flags):
        value = getattr(flags, each.name)
        if each.name in SCREEN or value is None or value is False:
            continue
        name = f"--{each.name.replace('_', '-')}"
        given = value if isinstance(value, list) else [value]
        words += [name] if value is True else [word for part in given for word in (name, str(part))]
    return words


def _written(comparison: "Comparison", folder: Path) -> list[Path]:
    """Write the results and pictures of a comparison; return their paths."""
    from indistinct.exploration.compare.results import draw_comparison, write_results

    pictures = {}
    try:
        pictures = draw_comparison(comparison)
    except MissingExtraError as error:
        note(f"no pictures: {error.message}; {error.hint}")
    return write_results(comparison, folder, pictures=pictures)
