"""`indistinct list`: every model, algorithm, metric, attack, engine and generator, with its parameters."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from indistinct.cli import options
from indistinct.cli.screen import print_json, show
from indistinct.document.blocks import grid
from indistinct.machine.arguments import is_required

if TYPE_CHECKING:
    from indistinct.text_form import Registry


def command(as_json: options.Json = False) -> None:
    """Show what --model, --algorithm, --metrics, `attack`, --engine and `generate` accept, with the parameters of each.

    What other packages add is listed with the name of the package, and with the reason where it is broken.
    """
    from indistinct.algorithms.registry import EVERY_ALGORITHM
    from indistinct.engines import every_engine
    from indistinct.evaluation.attack.registry import EVERY_ATTACK
    from indistinct.metrics import EVERY_METRIC
    from indistinct.models.registry import EVERY_MODEL
    from indistinct.samples import GENERATORS

    every: dict[str, Registry[Any]] = {
        "models": EVERY_MODEL,
        "algorithms": EVERY_ALGORITHM,
        "metrics": EVERY_METRIC,
        "attacks": EVERY_ATTACK,
    }
    listed = {what: _entries(registry) for what, registry in every.items()}
    engines = {name: sorted(kind.supports) for name, kind in every_engine().items()}
    if as_json:
        print_json({**listed, "engines": engines, "generators": list(GENERATORS)})
        return
    for what, entries in listed.items():
        extra_keys = [key for key in ("better", "meaning") if any(key in entry for entry in entries)]
        rows = [
            (entry["name"], _describe_entry(entry), *(entry.get(key, "") for key in extra_keys)) for entry in entries
        ]
        show(grid("", (what, "parameters", *extra_keys), rows, most=len(rows)), "")
    published = [(name, ", ".join(kinds)) for name, kinds in engines.items()]
    show(grid("", ("engines", "recodings that they publish"), published), "")
    show(f"generators: {', '.join(GENERATORS)}")


def _entries(registry: "Registry[Any]") -> list[dict[str, Any]]:
    """List the entries of a registry, with extensions of other packages."""
    listed: list[dict[str, Any]] = [{"name": name, **_about(kind)} for name, kind in registry.builtin.items()]
    for extension in registry.extensions():
        about = {"broken": extension.problem} if extension.kind is None else _about(extension.kind)
        listed.append({"name": extension.name, "package": extension.package, **about})
    return listed


def _about(kind: type[Any]) -> dict[str, Any]:
    """Return the parameters; of a metric also which way is good, and what it means."""
    from indistinct.metrics import BETTER, Metric

    about: dict[str, Any] = {"parameters": parameters(kind)}
    return about | {"better": BETTER[kind.goal], "meaning": kind.meaning} if issubclass(kind, Metric) else about


def _describe_entry(entry: dict[str, Any]) -> str:
    if "broken" in entry:
        return f"broken, of package {entry['package']}: {entry['broken']}"
    given = [key if value is None else f"{key}={value or 'none'}" for key, value in entry["parameters"].items()]
    return ", ".join(given) + (f" (of package {entry['package']})" if "package" in entry else "")


def parameters(kind: type[Any]) -> dict[str, str | None]:
    """Return each parameter with its default as a user writes it, "" for none; None where it is required."""
    return {f.name: None if is_required(f) else _spell_default(f.default) for f in fields(kind)}


def _spell_default(value: Any) -> str:
    if value is None or isinstance(value, tuple):
        return "|".join(map(str, value or ()))
    return str(value).lower() if isinstance(value, bool) else str(value)
