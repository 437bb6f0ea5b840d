"""A job as one command: flags that say the same as a policy, or a word about what they cannot say."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from indistinct.addresses import address_of
from indistinct.algorithms.auto import Auto
from indistinct.engines.postgres.address import shown
from indistinct.errors import IndistinctError
from indistinct.hierarchy import Explicit, Hierarchy
from indistinct.hierarchy.readers import hierarchy_from_spec
from indistinct.policy import Policy
from indistinct.registry import parse_algorithm, parse_model
from indistinct.release.pseudonym_columns import Pseudonym
from indistinct.spelling import spell
from indistinct.tables.value import Reading
from indistinct.transformations import parse_transformation

BY_POLICY = "indistinct anonymize policy.toml"
ROLES = {
    "quasi": "quasi",
    "sensitive": "sensitive",
    "insensitive": "insensitive",
    "identifier": "identifiers",
    "person": "person",
}
Flag = tuple[str, str | None]


class _UnsaidError(Exception):
    """Something that no flag can say, in words."""


def command_of(policy: Policy) -> str:
    """Return a command that does what a policy says, ready for a shell.

    Where flags cannot say all of it, comments tell what is missing, and the command runs the policy.
    """
    flags: list[Flag] = []
    unsaid: list[str] = []
    for part in (_roles, _privacy, _hierarchies, _others, _reading, _output):
        for say in part(policy):
            try:
                flags.append(say())
            except _UnsaidError as reason:
                unsaid.append(str(reason))
    if unsaid:
        told = "\n".join(f"#   {each}" for each in unsaid)
        return f"# Flags cannot say all of it:\n{told}\n# Save policy.toml beside the table, and run\n{BY_POLICY}\n"
    lines = [f"indistinct anonymize {shlex.quote(_source(policy))}", *map(_written, flags)]
    return "".join(f"{line}\n" for line in _left_out(policy)) + " \\\n  ".join(lines) + "\n"


def _written(flag: Flag) -> str:
    name, value = flag
    if value is None:
        return name
    gap = "=" if value.startswith("-") else " "
    return f"{name}{gap}{shlex.quote(value)}"


def _left_out(policy: Policy) -> list[str]:
    """Return comments about what a policy says beside the release itself."""
    parts = {
        "metrics": bool(policy.metrics),
        "the report": policy.output.report is not None,
        "what people state": policy.about != type(policy.about)(),
        "reasons of roles": bool(policy.reasons),
    }
    missing = [name for name, there in parts.items() if there]
    return [f"# Left out, as the release does not depend on it: {', '.join(missing)}"] if missing else []


def _source(policy: Policy) -> str:
    return shown(policy.input.database.database) if policy.input.database else _spelled(policy.input.path)


def _spelled(path: Path) -> str:
    return address_of(path) or path.as_posix()


Says = Iterator[Callable[[], Flag]]


def _roles(policy: Policy) -> Says:
    for flag, field in ROLES.items():
        names = getattr(policy.schema, field)
        if names:
            yield lambda flag=flag, names=names: (f"--{flag}", _listed(names))


def _listed(names: tuple[str, ...]) -> str:
    return ",".join(map(_listed_name, names))


def _listed_name(name: str) -> str:
    if name != name.strip() or not name or "\n" in name or "\r" in name:
        raise _UnsaidError("a column whose name begins or ends with a space, or has several lines")
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',"') else name


def _privacy(policy: Policy) -> Says:
    for model in policy.models:
        yield lambda model=model: ("--model", _same(model.spec(), parse_model, model, "a model"))
    if policy.suppression:
        yield lambda: ("--suppression", repr(policy.suppression))
    if policy.algorithm != Auto():
        yield lambda: (
            "--algorithm",
            _same(spell(policy.algorithm), parse_algorithm, policy.algorithm, "the algorithm"),
        )


def _same(text: str, parse: Callable[[str], object], value: object, what: str) -> str:
    """Return a spelling; raise unless it spells the value."""
    try:
        if parse(text) == value:
            return text
    except IndistinctError:
        pass
    raise _UnsaidError(f"{what}, as it stands in the policy")


def _of_column(name: str, spec: str, what: str) -> str:
    if "=" in name or not name:
        raise _UnsaidError(f"the {what} of a column whose name has an equals sign")
    return f"{name}={spec}"


def _hierarchies(policy: Policy) -> Says:
    for name, each in policy.hierarchies.items():
        yield lambda name=name, each=each: ("--hierarchy", _of_column(name, _hierarchy(name, each), "hierarchy"))


def _hierarchy(column: str, hierarchy: Hierarchy) -> str:
    told = hierarchy.to_json()
    kind, value = next(iter(told.items()))
    if isinstance(hierarchy, Explicit):
        if kind == "file" and set(told) <= {"file", "header"}:
            return f"{'header' if hierarchy.header else 'file'}:{value}"
        how = "read in a way of its own" if kind == "file" else "a tree" if kind == "tree" else "written out row by row"
        raise _UnsaidError(f"the hierarchy of {column!r}: it is {how}")
    spellings = {
        "mask": lambda: f"mask:{value}",
        "intervals": lambda: "intervals:" + ",".join(map(str, value)),
        "dates": lambda: "dates:" + ",".join(value),
        "order": lambda: "order:" + "|".join(map(str, value)),
        "suppression": lambda: "suppression",
    }
    spell_it = spellings.get(kind)
    spec = "" if spell_it is None else spell_it()
    try:
        if spec and hierarchy_from_spec(column, spec) == hierarchy:
            return spec
    except IndistinctError:
        pass
    raise _UnsaidError(f"the hierarchy of {column!r}: {kind} with these values or options")


def _others(policy: Policy) -> Says:
    for name, each in policy.transformations.items():
        yield lambda name=name, each=each: (
            "--transform",
            _of_column(
                name,
                _same(each.spec(), parse_transformation, each, f"the transformation of {name!r}"),
                "transformation",
            ),
        )
    for name, each in policy.pseudonyms.items():
        yield lambda name=name, each=each: ("--pseudonym", _of_column(name, _pseudonym(each), "pseudonym"))
    if policy.target:
        yield lambda: ("--target", str(policy.target))
    population = policy.input.population
    if population is not None:
        yield lambda: ("--population", _spelled(population))
    database = policy.input.database
    if database is not None and database.table:
        yield lambda: ("--table", str(database.table))
    if database is not None and database.query:
        yield lambda: ("--query", str(database.query))


def _pseudonym(pseudonym: Pseudonym) -> str:
    if pseudonym.random:
        return "random"
    if pseudonym.key is None:
        return f"environment:{pseudonym.environment}"
    return f"key:{Path(pseudonym.key).as_posix()}"


def _reading(policy: Policy) -> Says:
    reading = policy.input.reading
    for name in ("delimiter", "encoding", "decimal", "thousands", "sheet"):
        value = getattr(reading, name)
        if value is not None:
            yield lambda name=name, value=value: (f"--{name}", value)
    for name in ("header", "codes"):
        if getattr(reading, name):
            yield lambda name=name: (f"--{name}", None)
    if reading.text:
        yield lambda: ("--text", _listed(reading.text))
    for column, kind in reading.types.items():
        yield lambda column=column, kind=kind: ("--type", f"{column}={kind}")
    for form in reading.dates:
        yield lambda form=form: ("--dates", _of_all(form))
    for column, form in reading.dates_in.items():
        yield lambda column=column, form=form: ("--dates", _of_column(column, form, "date format"))
    yield from _missing(reading)


def _missing(reading: Reading) -> Says:
    """Yield marks for missing cells; flags always take a cell without any text for missing."""
    if "" not in reading.missing:
        yield _cells_without_text
        return
    for mark in reading.missing:
        if mark:
            yield lambda mark=mark: ("--missing", _of_all(mark))
    for column, marks in reading.missing_in.items():
        for mark in marks:
            yield lambda column=column, mark=mark: ("--missing", _of_column(column, mark, "mark for missing"))


def _cells_without_text() -> Flag:
    raise _UnsaidError("that a cell without text is not missing")


def _of_all(text: str) -> str:
    return f"*={text}" if "=" in text else text


def _output(policy: Policy) -> Says:
    output, writing = policy.output, policy.output.writing
    if output.database is not None:
        place = output.database
        yield lambda: ("--output", shown(place.database))
        if place.table:
            yield lambda: ("--output-table", str(place.table))
    else:
        yield lambda: ("--output", _spelled(output.path or Path("release.csv")))
    if writing.delimiter is not None:
        yield lambda: ("--output-delimiter", "tab" if writing.delimiter == "\t" else str(writing.delimiter))
    if writing.decimal is not None:
        yield lambda: ("--output-decimal", str(writing.decimal))
    if writing.encoding is not None:
        yield lambda: ("--output-encoding", str(writing.encoding))
    if writing.bom:
        yield lambda: ("--bom", None)
    if writing.spreadsheet:
        yield lambda: ("--for-spreadsheet", None)
    if output.smallest_count is not None:
        yield lambda: ("--smallest-count", str(output.smallest_count))
    ledger = output.ledger
    if ledger is not None:
        yield lambda: ("--ledger", _spelled(ledger))
