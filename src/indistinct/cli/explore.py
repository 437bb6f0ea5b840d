"""`indistinct explore`: every full-domain recoding of a table, what the model says of it, and a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import job_of, preferred_analysis, source_of
from indistinct.cli.options import ENGINE, READING, ROLES, SCREEN, Flags, share_options
from indistinct.cli.output import check_picture, write_text
from indistinct.cli.screen import print_json, progress, show
from indistinct.cli.spelled import node_of

if TYPE_CHECKING:
    from indistinct.exploration.explore import Exploration
    from indistinct.job.policy import Policy

Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="SPEC", help="Metric of a node, such as loss; the first one ranks. Repeatable."),
]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the lattice here, if it fits a page.")]
Shown = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many nodes to show.")]
Every = Annotated[bool, typer.Option("--all", help="Show all nodes, also those that do not satisfy the model.")]
Most = Annotated[int, typer.Option("--most", metavar="N", min=1, help="Refuse a lattice of more nodes than this.")]


@share_options(*ROLES, "model", "hierarchy", "transform", "suppression", "population", *READING, *ENGINE, *SCREEN)
def command(
    source: Annotated[Path, typer.Argument(metavar="POLICY|DATA", help="A policy (.toml), or a table.")],
    flags: Flags,
    metric: Metrics = None,
    node: options.ChosenLevels = None,
    svg: Svg = None,
    overwrite: options.Overwrite = False,
    limit: Shown = 20,
    every: Every = False,
    most: Most = 100_000,
    prefer: options.Prefer = None,
    formulas: options.Formulas = None,
) -> None:
    """List the nodes of the lattice: which satisfy the model, what they suppress and cost, and the best trade-offs.

    With a policy, only --metric, --node, --population, --svg, --overwrite, --limit, --all, --most, --json and
    --show-values are allowed; its algorithm is not used. Publish a node with `indistinct anonymize … --node LEVELS`.
    """
    policy = job_of(source, flags)
    if svg is not None:
        check_picture(svg, flag="--svg", overwrite=overwrite)
    from indistinct.exploration.by_policy import explore_by_policy

    with progress("exploring") as share:
        table = source_of(policy, flags)
        explored = explore_by_policy(
            table,
            policy,
            metrics=metric,
            limit=most,
            memory=flags.memory,
            progress=share,
            analysis=preferred_analysis(prefer, formulas, policy),
        )
    chosen = _chosen(explored, policy, node)
    if svg is not None:
        write_text(svg, explored.to_svg(chosen=chosen), overwrite=overwrite)
    if flags.as_json:
        marked = None if chosen is None else list(chosen)
        print_json({**explored.to_json(), "chosen": marked, "svg": None if svg is None else str(svg)})
    else:
        from indistinct.exploration.explore import exploration_document

        show(exploration_document(explored, chosen=chosen, most=None if every else limit))
        if svg is not None:
            show(f"picture  {svg}")


def _chosen(explored: "Exploration", policy: "Policy", node: str | None) -> tuple[int, ...] | None:
    """Return the node that is named, or the one of the policy."""
    if node is not None:
        levels: tuple[int, ...] = explored.node(node_of(node))["node"]
        return levels
    return policy.algorithm.chosen_node(explored.heights)
