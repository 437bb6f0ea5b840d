"""Options that several commands share, made from the table of settings."""

import functools
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.cli.screen import stages
from indistinct.errors import ParameterError
from indistinct.settings import FLAGS, TRUTH, WHOLE, Setting, names_under

Texts = list[str] | None

if TYPE_CHECKING:

    @dataclass(frozen=True, init=False)
    class Flags:
        """The values of shared flags as they were typed; None where one is not given."""

        def __init__(self, **values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

else:
    Flags = make_dataclass(
        "Flags", [(name, each.kind.flag, each.default) for name, each in FLAGS.items()], frozen=True, slots=True
    )


def option_of(setting: Setting, words: str | None = None) -> Any:
    """Return the type of a shared flag, with what its help shows; `words` replace the text of the setting."""
    names = (setting.option, *([] if setting.short is None else [setting.short]))
    least = 0 if setting.kind is WHOLE else None
    panel, words = setting.group, words or setting.flag_help
    metavar = "" if setting.kind is TRUTH else setting.metavar
    option = typer.Option(*names, metavar=metavar, help=words, min=least, rich_help_panel=panel)
    return Annotated[setting.kind.flag, option]


Json = Annotated[bool, typer.Option("--json", rich_help_panel="Messages", help=FLAGS["as_json"].help)]

ROLES = names_under("schema")
READING = names_under("input.reading")
OF_RELEASE = tuple(name for name in READING if name != "version")
WRITING = names_under("output.writing")
EARLIER = ("previous", "previous_input", "ledger", "accept_overlap", "fresh")
DATABASE = ("query",)
ENGINE = ("engine", "memory", "table")
SCREEN = ("as_json", "show_values", "verbose")

MadeBy = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        metavar="SPEC",
        rich_help_panel="Generalization",
        help="Of a bucketized or sliced release: the algorithm that made it, such as slicing:l=5.",
    ),
]
ChosenLevels = Annotated[
    str | None,
    typer.Option(
        "--node",
        metavar="LEVELS",
        rich_help_panel="Generalization",
        help="Publish this node of the lattice: a level for each quasi-identifier, such as 1,0,2.",
    ),
]
Prefer = Annotated[
    str | None,
    typer.Option(
        "--prefer",
        metavar="analysis",
        rich_help_panel="Generalization",
        help="Rank releases by what the study's analyses lose: those of --formula, or of [analysis] in the policy.",
    ),
]
Formulas = Annotated[
    list[str] | None,
    typer.Option(
        "--formula",
        metavar="FORMULA",
        rich_help_panel="Generalization",
        help='With --prefer analysis: a regression, such as "cost ~ age + C(sex)". Repeatable.',
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", rich_help_panel="Output", help="Where to write: .csv, .parquet, .sav, .dta …"
    ),
]
Release = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel="Output",
        help="Where to write: .csv, .tsv, .parquet, .arrow, .xlsx, .sav, .dta or .xpt; or the address of a database.",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", rich_help_panel="Output", help="Replace files that exist already.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        rich_help_panel="Generalization",
        help="Seed of the random order of rows, for tests only: the certificate warns of it.",
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy", metavar="FILE", rich_help_panel="Input", help="The policy with roles, hierarchies and models."
    ),
]
MostBelow = Annotated[
    float | None,
    typer.Option("--most-below", metavar="SHARE", help="Several tables: exit 4 if more people are below k."),
]
Original = Annotated[
    Path | None,
    typer.Option("--original", metavar="FILE", rich_help_panel="Input", help="The table before it was published."),
]
RecodingFile = Annotated[
    Path | None,
    typer.Option(
        "--recoding",
        metavar="FILE",
        rich_help_panel="Input",
        help="The saved recoding of the release; assigns rows of the original to its classes.",
    ),
]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input", metavar="FILE", rich_help_panel="Input", help="With a policy: another table than its input."
    ),
]
Instead = Annotated[
    bool,
    typer.Option(
        "--instead",
        rich_help_panel="Input",
        help="With a policy: --model, --algorithm and --suppression override it.",
    ),
]
SaveRecoding = Annotated[
    Path | None,
    typer.Option(
        "--save-recoding",
        metavar="FILE",
        rich_help_panel="Output",
        help="Save the recoding; it contains original values.",
    ),
]


def share_options(*names: str, **reworded: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add shared options to a command at its parameter `flags`, which receives their values.

    `reworded` gives some of them another help text.
    """
    options = [_parameter(name, reworded.get(name, option_of(FLAGS[name])), FLAGS[name].default) for name in names]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            flags = Flags(**{name: given.pop(name) for name in names})
            with stages() if flags.verbose else nullcontext():
                command(flags=flags, **given)

        own = inspect.signature(command).parameters.values()
        spliced = [
            options if each.name == "flags" else [_parameter(each.name, each.annotation, each.default)] for each in own
        ]
        parameters = [parameter for part in spliced for parameter in part]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def refuse_most_below(limit: float | None) -> None:
    """Raise if the limit of people below k is given for a single table."""
    if limit is not None:
        raise ParameterError("--most-below goes with a policy of several tables", hint="--policy policy.toml")
