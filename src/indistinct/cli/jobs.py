"""The job that a command is given: a policy, or a table and flags that say the same."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.cli.flags import (
    hierarchies_of,
    models_of,
    node_of,
    opened_table,
    reading_options,
    refuse_beside_policy,
    schema_of,
)
from indistinct.cli.screen import note
from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from indistinct.policy import Policy
    from indistinct.tables import Table


ROLES = ("--quasi", "--sensitive", "--insensitive", "--identifier")
READING = ("--delimiter", "--encoding", "--missing", "--text")


def job_of(roles: tuple[Any, ...], reading: tuple[Any, ...], **others: Any) -> dict[str, Any]:
    """Return flags by their names: roles and ways of reading in their order, all others as they are called."""
    named = {f"--{name}": value for name, value in others.items()}
    return {**dict(zip(ROLES, roles, strict=True)), **named, **dict(zip(READING, reading, strict=True))}


def policy_of(source: Path, job: Mapping[str, Any], *, node: str | None = None) -> "Policy":
    """Return the policy in a file, or the one that flags describe; a chosen node takes the place of its algorithm."""
    from indistinct.algorithms.full_domain.node import ChosenNode
    from indistinct.policy import read_policy
    from indistinct.spelling import spell

    by_policy = source.suffix.lower() == ".toml"
    if by_policy:
        refuse_beside_policy(job)
    if node is not None and job.get("--algorithm") is not None:
        raise ParameterError(
            "--node and --algorithm cannot stand together", hint="a chosen node takes the place of a search"
        )
    policy = read_policy(source) if by_policy else _from_flags(source, job)
    if node is None:
        return policy
    chosen = ChosenNode(node_of(node))
    if by_policy and chosen != policy.algorithm:
        note(f"{spell(chosen)} takes the place of {spell(policy.algorithm)}, which the policy says")
    return replace(policy, algorithm=chosen)


def opened(policy: "Policy") -> "Table":
    """Return the table that a policy reads."""
    read = policy.input
    how = {name: getattr(read, name) for name in ("delimiter", "encoding", "missing", "text")}
    return opened_table(policy.locate(read.path), how)


def _from_flags(source: Path, job: Mapping[str, Any]) -> "Policy":
    from indistinct.algorithms.partition.mondrian import Mondrian
    from indistinct.policy import Input, Policy, predicted_column
    from indistinct.registry import parse_algorithm

    schema = schema_of(
        quasi=job["--quasi"],
        sensitive=job["--sensitive"],
        insensitive=job["--insensitive"],
        identifier=job["--identifier"],
    )
    algorithm = parse_algorithm(job["--algorithm"]) if job.get("--algorithm") else Mondrian()
    own = algorithm.traits.buckets and not job["--model"]
    return Policy(
        input=Input(
            source,
            **reading_options(job["--delimiter"], job["--encoding"], missing=job["--missing"], text=job["--text"]),
        ),
        schema=schema,
        models=() if own else models_of(job["--model"]),
        hierarchies=hierarchies_of(job["--hierarchy"]),
        suppression=job["--suppression"] or 0.0,
        algorithm=algorithm,
        target=predicted_column(job.get("--target"), (), schema=schema),
    )
