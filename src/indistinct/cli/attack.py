"""`indistinct attack`: what an attacker would learn from a published file of the people in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import options
from indistinct.cli.failures import name_attack
from indistinct.cli.flags import is_linked
from indistinct.cli.linked import attack_linked
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, MadeBy, refuse_most_below, share_options
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import print_json, progress, show
from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from indistinct.evaluation.attack.attack import Outcomes
    from indistinct.evaluation.attack.base import Outcome
    from indistinct.release.published import Published


External = Annotated[
    Path | None, typer.Option("--external", metavar="FILE", help="A register with names and quasi-identifiers.")
]
Control = Annotated[Path | None, typer.Option("--control", metavar="FILE", help="People who are not in the release.")]
Earlier = Annotated[
    Path | None, typer.Option("--earlier", metavar="FILE", help="Another release about some of the same people.")
]
EarlierOriginal = Annotated[
    Path | None, typer.Option("--earlier-original", metavar="FILE", help="The original of --earlier.")
]
Original = Annotated[
    Path | None,
    typer.Option("--original", metavar="FILE", help="The table before it was published; else the policy's input."),
]
Seconds = Annotated[
    float | None,
    typer.Option("--seconds", metavar="N", help="Time limit in seconds; by default 60 for all attacks together."),
]
Chance = Annotated[
    int | None, typer.Option("--seed", help="Fix what an attack draws at random, such as errors of a register.")
]
Sample = Annotated[
    int | None,
    typer.Option("--sample", metavar="ROWS", help="Attack about this many random rows of a large original."),
]


@share_options(*ROLES, "model", "algorithm", "hierarchy", "transform", *READING, "memory", *SCREEN, algorithm=MadeBy)
def command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An attack, such as record-linkage:errors=0.05, or all of them: all.")
    ],
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The published table.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    original: Original = None,
    external: External = None,
    control: Control = None,
    earlier: Earlier = None,
    earlier_original: EarlierOriginal = None,
    seconds: Seconds = None,
    seed: Chance = None,
    sample: Sample = None,
    most_below: options.MostBelow = None,
) -> None:
    """Attack a published table, made by any tool, and report how often each attack succeeds.

    Name the attack first, then the file; `all` runs every attack that applies, the most successful first. Attacks:
    record-linkage, homogeneity, background-knowledge, skewness, similarity, membership, intersection,
    unsorted-matching, predictable-seed, definetti, minimality, downcoding, combinatorial-refinement. Needs the original
    (--original, or the policy's input), which tells right guesses from wrong ones.

    Each success rate comes with a baseline (guesses without the release), a control (people who are not in it,
    --control) and the option that prevents the attack. Tables that do not fit in memory are refused.

    With a policy of several tables, RELEASE is a folder and the attack is known-rows.
    """
    if policy is not None and is_linked(policy):
        given_too: dict[str, Any] = {"original": original, "external": external, "control": control, "earlier": earlier}
        given_too |= {"earlier_original": earlier_original, "seconds": seconds}
        attack_linked(name, release, policy, flags, seed=seed, sample=sample, most_below=most_below, **given_too)
        return
    refuse_most_below(most_below)
    _check(name, by=policy or original)
    from indistinct.evaluation.attack.attack import attack

    given = published_file(release, flags, policy=policy, original=original, by_input=True)[1]
    tables = {"external": external, "control": control, "earlier_original": earlier_original}
    others = _read_others(given, tables, earlier)
    with progress("attacking") as share:
        options = {"seed": seed, "sample": sample, "progress": share, **others}
        outcome: Outcome | Outcomes = attack(name, given, seconds=seconds, **options)
    if flags.as_json:
        print_json(outcome.to_json())
    else:
        show(outcome.document())


def _check(name: str, *, by: Path | None) -> None:
    """Raise for mistakes that show before any file is read."""
    from indistinct.evaluation.attack.attack import EVERY
    from indistinct.evaluation.attack.registry import parse_attack

    if name != EVERY:
        if Path(name).suffix and Path(name).is_file():
            raise ParameterError("no attack is named", hint=name_attack(name))
        parse_attack(name)
    if by is None:
        raise ParameterError(
            "no original is given",
            hint="add --original FILE, the table as it was before publishing, or --policy policy.toml",
        )


def _read_others(given: "Published", tables: Mapping[str, Path | None], earlier: Path | None) -> dict[str, Any]:
    """Return the other tables of an attacker or a judge, read as the original was, and the earlier release."""
    from indistinct.release.opening import read_alike, read_release
    from indistinct.tables import open_table

    known: dict[str, Any] = {
        name: read_alike(path, open_table(given.raw)) for name, path in tables.items() if path is not None
    }
    if earlier is not None:
        reading = given.main.reading
        known["earlier"] = read_release(earlier, given.schema, algorithm=given.algorithm, reading=reading)
    return known
