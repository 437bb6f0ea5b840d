"""The command line: each command reads its flags, calls the public function of its name and prints the result.

Commands import what they need when they run, so that `indistinct --help` answers at once.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import indistinct
from indistinct.cli import (
    analyze,
    anonymize,
    apply,
    assess,
    attack,
    classify,
    codebook,
    compare,
    dbt,
    distributions,
    explore,
    generate,
    inspect,
    ledger,
    listing,
    measure,
    query,
    report,
    reproduce,
    scan,
    schema,
    serve,
    verify,
    warm_up,
)
from indistinct.cli.failures import run_guarded, run_in_process, stop_quietly
from indistinct.cli.help import HELP_ALL, HELP_NAMES, arrange_help
from indistinct.cli.screen import say_preparing
from indistinct.machine.arrow_alone import keep_arrow_from_pandas
from indistinct.machine.memory import address_space, check_address_space
from indistinct.machine.spill import remove_leftovers

__all__ = ["app", "main"]

app = typer.Typer(
    name="indistinct",
    help="Anonymize tables about people, verify what was published, and assess its risk and utility.",
    epilog="Exit codes: 0 done, 1 error, 2 usage, 3 infeasible, 4 verification failed, 130 interrupted.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP_NAMES},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"indistinct {indistinct.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Anonymize tables about people, verify what was published, and assess its risk and utility."""


COMMANDS = {
    "Start": {"inspect": inspect, "serve": serve, "generate": generate},
    "Publish": {"anonymize": anonymize, "apply": apply, "compare": compare, "explore": explore, "ledger": ledger},
    "Check": {"verify": verify, "assess": assess, "attack": attack, "scan": scan, "report": report},
    "Utility": {
        "measure": measure,
        "distributions": distributions,
        "classify": classify,
        "analyze": analyze,
        "query": query,
    },
    "Readers and tools": {
        "codebook": codebook,
        "dbt": dbt,
        "list": listing,
        "schema": schema,
        "warm-up": warm_up,
        "reproduce": reproduce,
    },
}
for _panel, _modules in COMMANDS.items():
    for _name, _module in _modules.items():
        _settings = reproduce.SETTINGS if _module is reproduce else None
        app.command(_name, rich_help_panel=_panel, context_settings=_settings)(_module.command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; no traceback reaches the user."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if argv is None:  # a process of its own: being stopped takes temporary files away, as an interrupt does
        stop_quietly()
    command = typer.main.get_command(app)
    if {*HELP_NAMES, HELP_ALL} & set(arguments) and arguments[0] != "reproduce":
        arguments = arrange_help(command, arguments)

    def run() -> object:
        if not {*HELP_NAMES} & set(arguments) and arguments[0] != "--version":
            check_address_space()
            remove_leftovers()
            if argv is None:
                keep_arrow_from_pandas()
        with say_preparing():
            return command.main(args=arguments, prog_name="indistinct", standalone_mode=False)

    if argv is None and address_space() is not None:
        return run_in_process(lambda: run_guarded(run, arguments), arguments)
    return run_guarded(run, arguments)
