"""`indistinct assess`: who could be found in a table or a release, and what could be learned of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli import options
from indistinct.cli.flags import is_linked, opened_population, policy_of, source_of
from indistinct.cli.linked import assess_linked
from indistinct.cli.options import ENGINE, OF_RELEASE, READING, ROLES, SCREEN, Flags, MadeBy, share_options
from indistinct.cli.published_file import published_file
from indistinct.cli.screen import note, print_json, progress, show
from indistinct.errors import ParameterError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indistinct.evaluation.assess.assessment import Assessment


PopulationFile = Annotated[
    Path | None,
    typer.Option("--population", metavar="FILE", help="A table of the population from which the people were drawn."),
]
PopulationSize = Annotated[
    int | None, typer.Option("--population-size", metavar="N", help="Number of people in the population.")
]
SamplingFraction = Annotated[
    float | None, typer.Option("--sampling-fraction", metavar="SHARE", help="Share of the population in the table.")
]
Weights = Annotated[
    str | None, typer.Option("--weights", metavar="COLUMN", help="Survey weights: the people that a row represents.")
]
Suda = Annotated[
    int | None,
    typer.Option("--suda", metavar="SIZE", help="Look for special uniques in combinations of up to SIZE columns."),
]
UniqueSets = Annotated[
    int | None,
    typer.Option("--unique-sets", metavar="SIZE", help="List the sets of up to SIZE columns that single people out."),
]
ProfileSpec = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="SPEC",
        help="Make it a gate: public, licensed or internal, also with limits such as public:highest=0.05.",
    ),
]
Threshold = Annotated[
    float,
    typer.Option(
        "--threshold",
        metavar="RISK",
        help="Rows with a higher risk count as at risk; 0.09 is a class of fewer than 12.",
    ),
]


@share_options(
    *(*ROLES, "algorithm", "hierarchy", "transform", "pseudonym", "population", *READING, *ENGINE, *SCREEN),
    algorithm=MadeBy,
    population=PopulationFile,
)
def command(
    flags: Flags,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="An original or a published table; for several tables, the folder."),
    ] = None,
    policy: options.PolicyFile = None,
    original: options.Original = None,
    recoding: options.RecodingFile = None,
    population_size: PopulationSize = None,
    sampling_fraction: SamplingFraction = None,
    weights: Weights = None,
    suda: Suda = None,
    unique_sets: UniqueSets = None,
    profile: ProfileSpec = None,
    threshold: Threshold = 0.09,
    knows: Annotated[
        str | None,
        typer.Option(
            "--knows",
            metavar="NUMBERS",
            help="Several tables: rows of a person that an attacker knows, such as 1,2.",
        ),
    ] = None,
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="FILE", help="Several tables: draw the risk (.svg).")
    ] = None,
    most_below: options.MostBelow = None,
) -> None:
    """Assess the re-identification risk of an original, of a release, or of both with --original.

    Roles come from a policy or from flags. Of the population from which people were drawn, give table, size or share.
    With --profile the exit code is 4 if a limit is exceeded. Equivalence classes of an original are shown with
    their values only with --show-values.

    With a policy of several tables, its originals or the folder of a release are assessed by the number of rows that an
    attacker knows of a person (--knows).
    """
    if policy is not None and is_linked(policy):
        given_too: dict[str, Any] = {
            "original": original,
            "recoding": recoding,
            "population_size": population_size,
            "sampling_fraction": sampling_fraction,
            "weights": weights,
            "suda": suda,
            "unique_sets": unique_sets,
            "profile": profile,
        }
        asked: dict[str, Any] = {"knows": knows or "1,2,3", "chart": chart, "most_below": most_below}
        assess_linked(data, policy, flags, **asked, **given_too)
        return
    options.refuse_most_below(most_below)
    for name, value in (("--knows", knows), ("--chart", chart)):
        if value is not None:
            raise ParameterError(f"{name} goes with a policy of several tables", hint="--policy policy.toml")
    if data is None:
        raise ParameterError("no table is given", hint="indistinct assess FILE --policy policy.toml")
    from indistinct.evaluation.assess.assess import assess as assess_table

    # A policy may name a population; a size or a fraction that is given here takes its place.
    sized = population_size is not None or sampling_fraction is not None
    named = {"policy": policy, "original": original, "recoding": recoding}
    given, known = _describe_table(data, flags, named, population=flags.population is not None or not sized)
    with progress("assessing") as share:
        assessment = assess_table(
            given,
            population_size=population_size,
            sampling_fraction=sampling_fraction,
            weights=weights,
            threshold=threshold,
            profile=profile,
            show_values=flags.show_values,
            suda=suda,
            unique_sets=unique_sets,
            progress=share,
            **known,
        )
    _report(assessment, data, as_json=flags.as_json)
    if not assessment.passed:
        raise typer.Exit(VerificationError.exit_code)


def _report(assessment: "Assessment", table: Path, *, as_json: bool) -> None:
    """Print an assessment."""
    from indistinct.document.blocks import JsonValues
    from indistinct.evaluation.assess.assess_document import assess_document

    for warning in assessment.notes:
        note(warning)
    if as_json:
        print_json({"table": str(table), **assessment.to_json()})
    else:
        show(assess_document(JsonValues("assess", assessment.to_json()), name=str(table)))


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _describe_table(
    table: Path, flags: Flags, named: "Mapping[str, Path | None]", *, population: bool
) -> "tuple[Any, dict[str, Any]]":
    """Return a table as a `Published`, or unchanged if it is the input of the policy."""
    from indistinct.job.published import transform_by_policy
    from indistinct.release.certificate import certificate_path

    policy, original = named["policy"], named["original"]
    asked = policy_of(original or table, flags, policy=policy, allowed=("model", *OF_RELEASE))
    source = asked.locate(asked.input.path)
    is_input = original is None and (table == source or _is_same(table, source))
    if is_input and not (policy is None and certificate_path(table).is_file()):
        return transform_by_policy(source_of(asked, flags), asked), {
            "schema": asked.schema,
            "hierarchies": asked.used_hierarchies,
            "pseudonyms": asked.pseudonyms,
            "population": opened_population(asked) if population else None,
            "memory": flags.memory,
        }
    recoding = named["recoding"]
    given = published_file(table, flags, policy=policy, original=original, recoding=recoding, population=population)[1]
    return given, {}
