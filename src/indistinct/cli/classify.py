"""`indistinct classify`: how well a column can still be learned from releases of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli.flags import job_of, read_table
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, Texts, share_options
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import grid, note, print_json, progress, show
from indistinct.cli.spelled import names_of
from indistinct.errors import ParameterError
from indistinct.figures import percent

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.job.policy import Policy
    from indistinct.study.measure.learning.scores import Classification, Estimate

Target = Annotated[
    str | None, typer.Option("--target", metavar="COLUMN", help="The column to be learned; else the policy's target.")
]
Classifiers = Annotated[
    Texts,
    typer.Option(
        "--classifiers",
        metavar="SPECS",
        help="Which of logistic-regression, random-forest, gradient-boosting, naive-bayes; else all. Repeatable.",
    ),
]
Folds = Annotated[int, typer.Option("--folds", metavar="N", help="Parts of the table, each of which is tested once.")]
Repeats = Annotated[int, typer.Option("--repeats", metavar="N", help="How often the table is split anew.")]
As = Annotated[
    str,
    typer.Option("--as", metavar="KIND", help="How labels are learned from: midpoints, sampled values or nodes."),
]
FinishedRelease = Annotated[
    Path | None,
    typer.Option("--release", metavar="FILE", help="Judge this finished release of the table; its people are in it."),
]
Chance = Annotated[int, typer.Option("--seed", help="What folds, samples and forests are drawn from.")]


@share_options(*ROLES, "model", "algorithm", "hierarchy", "transform", "suppression", *READING, *SCREEN)
def command(
    table: Annotated[Path, typer.Argument(metavar="FILE|POLICY", help="The original table, or a policy (.toml).")],
    flags: Flags,
    target: Target = None,
    classifiers: Classifiers = None,
    folds: Folds = 5,
    repeats: Repeats = 1,
    representation: As = "midpoints",
    release: FinishedRelease = None,
    seed: Chance = 0,
) -> None:
    """Learn a column from releases of a table, and be judged on rows of the original that were left out.

    The table is split, the training folds alone are anonymized, and classifiers predict the other rows. Beside it stand
    the same classifiers trained on the original and on what is left without quasi-identifiers, and the majority.
    Needs scikit-learn: pip install "indistinct[ml]".
    """
    from indistinct.study.measure.learning.classification import classify
    from indistinct.study.measure.learning.classifiers import CLASSIFIERS, require_extra

    require_extra()
    job, whole, how = _describe_learning(table, flags, release)
    wanted = target or job.target
    if wanted is None:
        raise ParameterError("no column is named that is to be learned", hint="name it with --target")
    with progress("learning") as share:
        found = classify(
            whole,
            target=wanted,
            classifiers=tuple(names_of(classifiers)) or tuple(CLASSIFIERS),
            folds=folds,
            repeats=repeats,
            representation=representation,  # type: ignore[arg-type]  # checked there
            seed=seed,
            progress=share,
            **how,
        )
    for words in found.notes:
        note(words)
    if flags.as_json:
        print_json(found.to_json())
    else:
        show(*_parts(found))


def _describe_learning(table: Path, flags: Flags, release: Path | None) -> "tuple[Policy, Any, dict[str, Any]]":
    """Return the job, the table and how releases of it are made, or the finished release with its original."""
    from indistinct.study.by_policy import transform_by_policy

    if release is None:
        job = job_of(table, flags)
        how = {"model": job.model if job.models else None, "algorithm": job.algorithm, "suppression": job.suppression}
        return (
            job,
            transform_by_policy(read_table(job), job),
            {"schema": job.schema, "hierarchies": job.used_hierarchies, **how},
        )
    by_policy = table.suffix.lower() == ".toml"
    policy, original = (table, None) if by_policy else (None, table)
    job, finished = published_file(release, flags, policy=policy, original=original, by_input=True)
    return job, finished, {}


def _parts(found: "Classification") -> "list[str | Table]":
    from indistinct.study.measure.learning.scores import ORIGINAL, RELEASE, WITHOUT

    headings = ("original", "release", "difference", "balanced", "without")
    table = grid("classifier", *headings, right=headings, names=("classifier",))
    for name in dict.fromkeys(each.classifier for each in found.scores):
        own, best, least = (found.score(name, trained) for trained in (RELEASE, ORIGINAL, WITHOUT))
        cells = (best.accuracy, own.accuracy, own.difference, own.balanced_accuracy, least.accuracy)
        table.add_row(name, *map(_spell_estimate, cells))
    again = f", {found.repeats} times" if found.repeats > 1 else ""
    told = [
        f"{found.target!r} ({found.role}, {found.values} values) learned from {found.rows:,} rows in {found.folds} "
        f"folds{again}, labels as {found.representation}, seed {found.seed}",
        "Right predictions in %, of classifiers trained on the original, on the release (difference between the two; "
        "mean over values of the target), and without quasi-identifiers:",
        "",
        f"majority: {_spell_estimate(found.majority)}",
    ]
    if found.metric is not None:
        told.append(f"classification metric of the releases (Iyengar): {_spell_estimate(found.metric)}")
    if found.suppressed:
        told.append(f"suppressed of the training rows: {percent(found.suppressed)}")
    return [*told[:2], "", table, *told[2:], "± 95 %, corrected resampled t (Nadeau and Bengio 2003)"]


def _spell_estimate(of: "Estimate") -> str:
    return f"{100 * of.mean:.1f} ± {50 * (of.high - of.low):.1f}"
