"""A job as flags: all of a policy as one command, or parts of a job, with a word about what flags cannot say."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines.base import without_password
from indistinct.errors import IndistinctError
from indistinct.hierarchy.registry import spec_of_hierarchy
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.policy import Input, Policy
from indistinct.models.registry import parse_model
from indistinct.recoding.columns import spell_bounds
from indistinct.recoding.transformations import Transformation, parse_transformation
from indistinct.release.pseudonyms.making import Pseudonym
from indistinct.schema import Schema
from indistinct.settings import FLAGS, names_under, settings_under, value_at
from indistinct.suppression_limit import Budget
from indistinct.tables.addresses import address_of
from indistinct.tables.value import Reading
from indistinct.text_form import spell

BY_POLICY = "indistinct anonymize policy.toml"


@dataclass(frozen=True, slots=True)
class Unsaid:
    """Something that no flag can say, in words."""

    words: str


Flag = tuple[str, str | Unsaid | None]
Flags = Iterator[Flag]


def command_of(policy: Policy) -> str:
    """Return a command that does what a policy says, ready for a shell.

    Where flags cannot say all of it, comments tell what is missing, and the command runs the policy.
    """
    flags = [
        *role_flags(policy.schema),
        *_privacy(policy),
        *hierarchy_flags(policy.hierarchies),
        *_others(policy),
        *_reading(policy),
        *_output(policy),
    ]
    unsaid = words_of_unsaid(flags)
    if unsaid:
        notes = "\n".join(f"#   {each}" for each in unsaid)
        return f"# Flags cannot say all of it:\n{notes}\n# Save policy.toml next to the table, and run\n{BY_POLICY}\n"
    lines = [f"indistinct anonymize {shlex.quote(_source(policy))}", *write_flags(flags)]
    return "".join(f"{line}\n" for line in _left_out(policy)) + " \\\n  ".join(lines) + "\n"


def write_flags(flags: Iterable[Flag]) -> list[str]:
    """Return flags as a shell takes them, but for what no flag can say.

    >>> write_flags([("--quasi", "age,post code"), ("--header", None), ("--model", Unsaid("a model"))])
    ["--quasi 'age,post code'", '--header']
    """
    return [_write_flag(name, value) for name, value in flags if not isinstance(value, Unsaid)]


def words_of_unsaid(flags: Iterable[Flag]) -> list[str]:
    """Return the settings that no flag can express, in words."""
    return [value.words for _, value in flags if isinstance(value, Unsaid)]


def _write_flag(name: str, value: str | None) -> str:
    if value is None:
        return name
    gap = "=" if value.startswith("-") else " "
    return f"{name}{gap}{shlex.quote(value)}"


def _left_out(policy: Policy) -> list[str]:
    """Return comments about the parts of a policy that no flag expresses."""
    parts = {
        "metrics": bool(policy.metrics),
        "the report": policy.output.report is not None,
        "what people state": policy.about != type(policy.about)(),
        "reasons of roles": bool(policy.reasons),
    }
    missing = [name for name, there in parts.items() if there]
    return [f"# Left out, as the release does not depend on it: {', '.join(missing)}"] if missing else []


def _source(policy: Policy) -> str:
    return without_password(policy.input.database.database) if policy.input.database else _spelled(policy.input.path)


def _spelled(path: Path) -> str:
    return address_of(path) or path.as_posix()


def role_flags(schema: Schema) -> Flags:
    """Yield the flags that give columns their roles."""
    for role, setting in settings_under("schema").items():
        names = getattr(schema, role)
        if names:
            yield (setting.option, _listed(names))


def _listed(names: Sequence[str]) -> str | Unsaid:
    """Write names as one flag takes them, or say why no flag can."""
    if any(name != name.strip() or not name or "\n" in name or "\r" in name for name in names):
        return Unsaid("a column whose name begins or ends with a space, or has several lines")
    return ",".join(map(_quoted, names))


def _quoted(item: str) -> str:
    """Return an item of a list as flags take it: in quotes where it holds a comma, or begins with a blank."""
    marked = any(mark in item for mark in ',"') or item.startswith(" ")
    return '"' + item.replace('"', '""') + '"' if marked else item


def _item(text: str | Unsaid) -> str | Unsaid:
    return text if isinstance(text, Unsaid) else _quoted(text)


def _privacy(policy: Policy) -> Flags:
    """Yield the flags of models, suppression and algorithm."""
    for model in policy.models:
        yield ("--model", _same(model.spec(), parse_model, model, what="a model"))
    yield from suppression_flags(policy.suppression)
    if policy.algorithm != Auto():
        spelled = _same(spell(policy.algorithm), parse_algorithm, policy.algorithm, what="the algorithm")
        yield ("--algorithm", spelled)


def suppression_flags(budget: Budget) -> Flags:
    """Yield the flag of what may be dropped, if anything may."""
    if budget:
        yield ("--suppression", str(budget))


def _same(text: str, parse: Callable[[str], object], value: object, *, what: str) -> str | Unsaid:
    """Return a text if it parses to the value."""
    with suppress(IndistinctError):
        if parse(text) == value:
            return text
    return Unsaid(f"{what}, as written in the policy")


def _of_column(name: str, spec: str | Unsaid, *, what: str) -> str | Unsaid:
    """Write COLUMN=SPEC, or say why no flag can."""
    if "=" in name or not name:
        return Unsaid(f"the {what} of a column whose name has an equals sign")
    return spec if isinstance(spec, Unsaid) else f"{name}={spec}"


def hierarchy_flags(hierarchies: Mapping[str, Hierarchy], *, same_values: bool = False) -> Flags:
    """Yield a flag for every hierarchy; of a table with the `same_values` a mask finds its length again."""
    for name, each in hierarchies.items():
        yield ("--hierarchy", _of_column(name, _hierarchy(name, each, same_values), what="hierarchy"))


def _hierarchy(column: str, hierarchy: Hierarchy, same_values: bool) -> str | Unsaid:
    """Write a hierarchy as its flag takes it, or say why no flag can express it."""
    declared = hierarchy.to_json()
    if same_values and set(declared) == {"mask", "length"}:
        return f"mask:{declared['mask']}"
    kind = next(iter(declared))
    how = {"file": "read in a way of its own", "tree": "a tree", "rows": "written out row by row"}
    unsaid = f"it is {how[kind]}" if kind in how else f"{kind} with these values or options"
    return spec_of_hierarchy(hierarchy) or Unsaid(f"the hierarchy of {column!r}: {unsaid}")


def _others(policy: Policy) -> Flags:
    """Yield the flags of masking, pseudonyms, weights, levels, numeric forms and further settings."""
    yield from transformation_flags(policy.transformations)
    yield from pseudonym_flags(policy.pseudonyms)
    for name, weight in policy.importance.weights:
        yield ("--importance", _of_column(name, f"{weight:.17g}", what="importance"))
    for name, bounds in policy.levels.bounds:
        yield ("--levels", _of_column(name, spell_bounds(bounds), what="levels"))
    for name, form in policy.numeric.by_column:
        yield ("--numeric", _of_column(name, form, what="form"))
    yield from _plain_flags(policy, ("target", "population", "sample", "table", "query"))


def transformation_flags(transformations: Mapping[str, Transformation]) -> Flags:
    """Yield a flag for every column that is published otherwise than it is."""
    for name, change in transformations.items():
        spelled = _same(change.spec(), parse_transformation, change, what=f"the transformation of {name!r}")
        yield ("--transform", _of_column(name, spelled, what="transformation"))


def pseudonym_flags(pseudonyms: Mapping[str, Pseudonym]) -> Flags:
    """Yield a flag for every identifier that has a pseudonym; a key is named by its file, and never shown."""
    for name, pseudonym in pseudonyms.items():
        yield ("--pseudonym", _of_column(name, _pseudonym(pseudonym), what="pseudonym"))


def _pseudonym(pseudonym: Pseudonym) -> str:
    """Write a pseudonym as its flag takes it."""
    if pseudonym.random:
        return "random"
    if pseudonym.key is None:
        return f"environment:{pseudonym.environment}"
    return f"key:{Path(pseudonym.key).as_posix()}"


def _reading(policy: Policy) -> Flags:
    """Yield the flags that declare how the input is read."""
    reading = policy.input.reading
    own = ("type", "dates", "missing")  # these name columns, each in its own way
    yield from _plain_flags(policy, [name for name in names_under("input.reading") if name not in own])
    for column, kind in reading.types.items():
        yield ("--type", _quoted(f"{column}={kind}"))
    for form in reading.dates:
        yield ("--dates", _quoted(_of_all(form)))
    for column, form in reading.dates_in.items():
        yield ("--dates", _item(_of_column(column, form, what="date format")))
    yield from _missing(reading)


def _plain_flags(policy: Policy, names: Iterable[str]) -> Flags:
    """Yield the flags of settings that differ from their defaults, each as its kind is written."""
    usual = Policy(Input(Path()), policy.schema, ())
    for setting in (FLAGS[name] for name in names):
        value = value_at(policy, setting.field or "")
        if value == value_at(usual, setting.field or ""):
            continue
        match value:
            case True:
                yield (setting.option, None)
            case tuple():
                yield (setting.option, _listed(value))
            case Path():
                yield (setting.option, _spelled(value))
            case float():
                yield (setting.option, repr(value))
            case _:
                yield (setting.option, "tab" if value == "\t" and "output" in setting.name else str(value))


def _missing(reading: Reading) -> Flags:
    """Yield marks for missing cells; flags always take a cell without any text for missing."""
    if "" not in reading.missing:
        yield ("--missing", Unsaid("that a cell without text is not missing"))
        return
    for mark in reading.missing:
        if mark:
            yield ("--missing", _quoted(_of_all(mark)))
    for column, marks in reading.missing_in.items():
        for mark in marks:
            yield ("--missing", _item(_of_column(column, mark, what="mark for missing")))


def _of_all(text: str) -> str:
    """Write a value for all columns so that it is not read as COLUMN=VALUE."""
    return f"*={text}" if "=" in text else text


def _output(policy: Policy) -> Flags:
    """Yield the flags for the output of a policy, each with its value; a database's address is without its password."""
    output = policy.output
    if output.database is not None:
        yield ("--output", without_password(output.database.database))
    else:
        yield ("--output", _spelled(output.path or Path("release.csv")))
    names = (*names_under("output.database"), *names_under("output.writing"))
    yield from _plain_flags(policy, (*names, "ranges", "partition_by", "smallest_count", "ledger", "fresh"))
