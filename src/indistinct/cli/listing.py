"""`indistinct list`: every model, algorithm, metric and generator, with its parameters."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from indistinct.cli import options
from indistinct.cli.screen import grid, print_json, show


def command(as_json: options.Json = False) -> None:
    """Show what --model, --algorithm and `generate` accept, with the parameters of each."""
    from indistinct.datasets import GENERATORS
    from indistinct.registry import ALGORITHMS, METRICS, MODELS

    known: dict[str, Mapping[str, Any]] = {"models": MODELS, "algorithms": ALGORITHMS, "metrics": METRICS}
    if as_json:
        listed = {
            what: [{"name": name, "parameters": _parameters(kind)} for name, kind in kinds.items()]
            for what, kinds in known.items()
        }
        print_json({**listed, "generators": list(GENERATORS)})
        return
    for what, kinds in known.items():
        table = grid(what, "parameters")
        for name, kind in kinds.items():
            given = _parameters(kind).items()
            shown = [key if value is None else f"{key}={value or 'none'}" for key, value in given]
            table.add_row(name, ", ".join(shown))
        show(table, "")
    show(f"generators: {', '.join(GENERATORS)}")


def _parameters(kind: Any) -> dict[str, str | None]:
    """Return each parameter with its default as it is spelled, None where it must be given."""
    return {f.name: None if f.default is MISSING else _spelled(f.default) for f in fields(kind)}


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "|".join(map(str, value)) if isinstance(value, tuple) else str(value)
