"""`indistinct attack`: what an attacker would learn from a published file of the people in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import options
from indistinct.cli.flags import opened
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, MadeBy, shared
from indistinct.cli.published_file import Question, question_of
from indistinct.cli.screen import grid, print_json, progress, show
from indistinct.errors import ParameterError
from indistinct.figures import number, percent

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from indistinct.attacking import Outcomes
    from indistinct.attacks.base import Outcome


def _other(name: str, words: str) -> object:
    return typer.Option(name, metavar="FILE", help=words)


@shared(*ROLES, "model", "algorithm", "hierarchy", *READING, *SCREEN, algorithm=MadeBy)
def command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An attack, such as record-linkage:errors=0.05, or all of them: all.")
    ],
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The published table.")],
    flags: Flags,
    policy: options.PolicyFile = None,
    original: options.Original = None,
    external: Annotated[Path | None, _other("--external", "A register: names and quasi-identifiers.")] = None,
    control: Annotated[Path | None, _other("--control", "People who are not in the release.")] = None,
    earlier: Annotated[Path | None, _other("--earlier", "Another release about some of the same people.")] = None,
    earlier_original: Annotated[Path | None, _other("--earlier-original", "The table that it was made from.")] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="N", help="How long all attacks together may take; 60.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Fix what an attack draws at random, such as errors of a register.")
    ] = None,
) -> None:
    """Attack a published table, whoever made it, and say how often that succeeds.

    The original is the policy's input unless --original names another; it decides which guesses are right. `all` runs
    what applies, the worst first. Every attack tells what guessing gives without the release, what it gives on people
    who are not in it (--control), and which option closes the hole. `indistinct list` shows all attacks.
    """
    from indistinct.attacking import EVERY, SECONDS, attack, attack_all
    from indistinct.attacks.registry import parse_attack
    from indistinct.release.reading import read_alike, read_release

    if name != EVERY:
        parse_attack(name)  # a misspelt name is told before anything is read
        if seconds is not None:
            raise ParameterError("--seconds goes with all attacks", hint=f"indistinct attack all {release} …")
    if policy is None and original is None:
        raise ParameterError("no original is given", hint="name the table before publishing with --original")
    asked = question_of(release, flags, policy=policy, original=original)
    whole = opened(asked.policy, original)
    job = asked.policy
    beside = {"external": external, "control": control, "earlier_original": earlier_original}
    known = {
        **{part: read_alike(path, whole) for part, path in beside.items() if path is not None},
        "original": whole,
        "hierarchies": job.hierarchies,
        "model": job.model,
        "algorithm": _algorithm(asked),
        "seed": seed,
    }
    if earlier is not None:
        known["earlier"] = read_release(earlier, job.schema, algorithm=job.algorithm)
    with progress("attacking") as share:
        if name == EVERY:
            found = attack_all(
                asked.published, job.schema, seconds=SECONDS if seconds is None else seconds, progress=share, **known
            )
        else:
            outcome = attack(name, asked.published, job.schema, progress=share, **known)
    if name == EVERY:
        print_json(found.to_json()) if flags.as_json else _show_all(found)
    else:
        print_json(outcome.to_json()) if flags.as_json else _show(outcome)


def _algorithm(asked: Question) -> object:
    """Return how the release was made, where somebody said so."""
    from indistinct.algorithms.auto import Auto

    return None if isinstance(asked.policy.algorithm, Auto) else asked.policy.algorithm


def _table(outcomes: "tuple[Outcome, ...]") -> "Grid":
    right = ("tried", "found", "baseline", "control", "risk")
    table = grid("attack", *right, "between", right=right, names=("attack",))
    for each in outcomes:
        low, high = each.interval
        table.add_row(
            each.attack,
            number(each.tally.attempts),
            number(round(each.tally.successes, 1)),
            percent(each.baseline),
            "–" if each.control is None else percent(each.control.share),
            percent(each.risk),
            f"{percent(low)} and {percent(high)}",
        )
    return table


def _show(outcome: "Outcome") -> None:
    show(_table((outcome,)), "", *_words(outcome))


def _words(outcome: "Outcome") -> list[str]:
    said = "succeeds" if outcome.succeeds else "does no better than chance"
    told = [f"{outcome.attack} {said}. {outcome.sentence}"]
    if outcome.succeeds and outcome.defence is not None:
        told.append(f"  defend: {outcome.defence}")
    return told


def _show_all(found: "Outcomes") -> None:
    if found.outcomes:
        show(_table(found.outcomes), "")
    for outcome in found.outcomes:
        show(*_words(outcome))
    if found.refused:
        show("", "did not apply:")
        show(*(f"  {name}: {reason}" for name, reason in found.refused.items()))
    if found.left_out:
        show("", f"left out for lack of time (--seconds): {', '.join(found.left_out)}")
