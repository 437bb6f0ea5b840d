"""`indistinct classify`: how well a column can still be learned from releases of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli.flags import job_of, read_table
from indistinct.cli.options import READING, ROLES, SCREEN, Flags, Texts, share_options
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import note, print_json, progress, show
from indistinct.cli.spelled import names_of
from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from indistinct.job.policy import Policy

Target = Annotated[
    str | None, typer.Option("--target", metavar="COLUMN", help="The column to predict; else the policy's target.")
]
Classifiers = Annotated[
    Texts,
    typer.Option(
        "--classifiers",
        metavar="SPECS",
        help="Which of logistic-regression, random-forest, gradient-boosting, naive-bayes; else all. Repeatable.",
    ),
]
Folds = Annotated[int, typer.Option("--folds", metavar="N", help="Folds of the cross-validation.")]
Repeats = Annotated[int, typer.Option("--repeats", metavar="N", help="How often the cross-validation is repeated.")]
As = Annotated[
    str,
    typer.Option("--as", metavar="KIND", help="How generalized values become features: midpoints, sampled or nodes."),
]
FinishedRelease = Annotated[
    Path | None,
    typer.Option("--release", metavar="FILE", help="Train on this finished release, whose people are also tested."),
]
Chance = Annotated[int, typer.Option("--seed", help="Seed for folds, samples and forests.")]


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
    """Train classifiers on anonymized rows and test them on held-out rows of the original (cross-validation).

    In each fold the training rows are anonymized anew. For comparison, the same classifiers are trained on the original
    rows and on rows without quasi-identifiers, and the most frequent value is predicted for every row.
    Needs scikit-learn: pip install "indistinct[ml]".
    """
    from indistinct.evaluation.measure.learning.classification import classify
    from indistinct.evaluation.measure.learning.classifiers import CLASSIFIERS, require_extra

    require_extra()
    job, whole, how = _describe_learning(table, flags, release)
    wanted = target or job.target
    if wanted is None:
        raise ParameterError(
            "no target column is given", hint="name the column to predict with --target, or `target` in the policy"
        )
    with progress("learning") as share:
        learned = classify(
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
    if flags.as_json:
        for words in learned.notes:
            note(words)
        print_json(learned.to_json())
    else:
        show(learned.document())


def _describe_learning(table: Path, flags: Flags, release: Path | None) -> "tuple[Policy, Any, dict[str, Any]]":
    """Return the job, what `classify` learns from, and its arguments for anonymizing training folds.

    Without `release` it learns from the table; with it, from that finished release, which needs no arguments. `table`
    is the original, or a policy (.toml) that names it.
    """
    from indistinct.job.published import transform_by_policy

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
