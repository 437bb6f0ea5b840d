"""Help texts: an example first, and the options that most users need; `--help-all` shows every option."""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from indistinct.figures import plural

HELP_NAMES = ["-h", "--help"]
HELP_ALL = "--help-all"
# The panels of options, as help shows them.
PANELS = ("Input", "Roles", "Privacy", "Generalization", "Output", "Engine", "Messages")

# One command line for each command, as its help shows it.
EXAMPLES = {
    "inspect": "indistinct inspect patients.csv -o policy.toml",
    "compare": "indistinct compare policy.toml --algorithms mondrian,optimal -o folder",
    "explore": "indistinct explore policy.toml --svg lattice.svg",
    "anonymize": "indistinct anonymize a.csv --identifier name --quasi age,sex --sensitive disease "
    "--model k-anonymity:k=5 -o b.csv",
    "apply": "indistinct apply recoding.json july.csv -o release.csv",
    "verify": "indistinct verify release.csv --policy policy.toml",
    "codebook": "indistinct codebook release.csv -o codebook.csv",
    "measure": "indistinct measure release.csv --policy policy.toml --original patients.csv",
    "distributions": "indistinct distributions release.csv --policy policy.toml --original a.csv",
    "classify": "indistinct classify policy.toml --target disease",
    "query": 'indistinct query release.csv "SELECT COUNT(*) WHERE age > 30" --policy p.toml',
    "assess": "indistinct assess release.csv --policy policy.toml --profile public",
    "attack": "indistinct attack all release.csv --policy policy.toml --original a.csv",
    "report": "indistinct report release.csv --policy policy.toml -o report.html",
    "scan": "indistinct scan release.csv --original patients.csv --policy policy.toml",
    "dbt": "indistinct dbt policy.toml -o tests/",
    "serve": "indistinct serve --demo",
    "ledger": "indistinct ledger show releases.ledger",
    "generate": "indistinct generate patients --rows 1000 -o patients.csv",
    "analyze": 'indistinct analyze release.csv --policy policy.toml --formula "cost ~ age + C(sex)"',
    "list": "indistinct list",
    "schema": "indistinct schema assess",
    "warm-up": "indistinct warm-up",
}

# Parameters of commands that `--help` leaves out: reading and writing unusual files, earlier releases, fine tuning.
RARELY_USED = frozenset(
    """
    dates missing transform ledger encoding thousands sheet comment nameless version header codes trim columns
    skip_rows text type table query output_table output_delimiter output_decimal output_encoding bom for_spreadsheet
    guard_formulas ranges smallest_count partition_by previous previous_input accept_overlap fresh pseudonym importance
    levels target node population sample seed verbose save_recoding memory delimiter numeric suda unique_sets
    most_below recoding chart seconds workload learn draws rule least_overlap prefer
    formulas decimal
    """.split()  # noqa: SIM905
)
# Options of these that the help text of a command explains, so that it shows them: (command, parameter).
SHOWN = {
    ("assess", "population"),
    ("classify", "target"),
    ("generate", "seed"),
    ("query", "recoding"),
    ("query", "workload"),
    ("verify", "recoding"),
}


def arrange_help(root: Any, arguments: Sequence[str]) -> list[str]:
    """Hide rarely used options unless `--help-all` is given; return the arguments with `--help` in its place.

    `root` is the group of all commands. Hidden options work as the others do.
    """
    from rich.markup import escape

    show_all = HELP_ALL in arguments
    _hide_metavars_of_flags(root)
    for name, command in root.commands.items():
        hidden = [] if show_all else list(_rarely_used(command))
        for option in hidden:
            option.hidden = True
        _hide_metavars_of_flags(command)
        for option in command.params:
            if getattr(option, "help", None):
                option.help = escape(option.help)
        command.params.sort(key=_panel_rank)
        paragraphs = _paragraphs(command.help or "")
        command.short_help = paragraphs[0]
        example = [f"Example: {escape(EXAMPLES[name])}"] if name in EXAMPLES else []
        command.help = "\n\n".join([*example, *paragraphs])
        if hidden:
            flags = " ".join(option.opts[0] for option in hidden)
            command.epilog = f"{plural(len(hidden), 'more option')}, explained by indistinct {name} {HELP_ALL}: {flags}"
    return ["--help" if each == HELP_ALL else each for each in arguments]


def _paragraphs(text: str) -> list[str]:
    r"""Return the paragraphs of a help text without line breaks, with brackets that Rich does not take for markup.

    >>> _paragraphs("First\nline.\n\npip install a[b]")
    ['First line.', 'pip install a\\[b]']
    """
    from rich.markup import escape

    return [escape(" ".join(paragraph.split())) for paragraph in inspect.cleandoc(text).split("\n\n")]


def _hide_metavars_of_flags(command: Any) -> None:
    """Show a flag without a value as `--flag`, not as `--flag <bool>`, and `--help` in the panel of messages."""
    context = command.context_class(command, info_name=command.name, help_option_names=HELP_NAMES)
    help_option = command.get_help_option(context)
    if help_option is not None and any(getattr(each, "rich_help_panel", None) for each in command.params):
        help_option.rich_help_panel = PANELS[-1]
    for option in (*command.params, *filter(None, [help_option])):
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""


def _panel_rank(parameter: Any) -> int:
    """Return the position of a parameter's panel in the help; a command's own options come first."""
    panel = getattr(parameter, "rich_help_panel", None)
    return PANELS.index(panel) + 1 if panel in PANELS else 0


def _rarely_used(command: Any) -> Iterator[Any]:
    """Yield the options of a command that `--help` leaves out."""
    for option in command.params:
        if (
            option.param_type_name == "option"
            and option.name in RARELY_USED
            and (command.name, option.name) not in SHOWN
        ):
            yield option
