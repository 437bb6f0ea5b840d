"""What flags say, as the values of a policy: roles, hierarchies and models."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.cli.screen import note
from indistinct.errors import ParameterError
from indistinct.schema import Schema, did_you_mean

if TYPE_CHECKING:
    from indistinct.hierarchy import Hierarchy
    from indistinct.models import Model
    from indistinct.tables import Table

HIERARCHY_KINDS = ("mask", "intervals", "dates", "order", "suppression", "file")


def schema_of(
    *,
    quasi: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    insensitive: Sequence[str] | None,
    identifier: Sequence[str] | None,
) -> Schema:
    """Return the roles that flags give."""
    return Schema(
        identifiers=names_of(identifier),
        quasi=names_of(quasi),
        sensitive=names_of(sensitive),
        insensitive=names_of(insensitive),
    )


def names_of(texts: Sequence[str] | None) -> list[str]:
    """Return the columns that comma-separated texts name; a name with a comma stands in double quotes.

    >>> names_of(["age,sex", '"last, first"'])
    ['age', 'sex', 'last, first']
    """
    rows = csv.reader(texts or (), skipinitialspace=True)
    return [name for row in rows for name in (part.strip() for part in row) if name]


def models_of(texts: Sequence[str] | None) -> tuple["Model", ...]:
    """Return the models that flags spell; raise if there is none."""
    from indistinct.registry import parse_model

    if not texts:
        raise ParameterError("no model is given", hint="say what must hold, for example --model k-anonymity:k=5")
    return tuple(part for text in texts for part in parse_model(text).parts())


def node_of(text: str) -> tuple[int, ...]:
    """Return the levels that a flag gives.

    >>> node_of("1,0,2")
    (1, 0, 2)
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            "--node must be whole numbers separated by commas", hint="one level a quasi-identifier, such as 1,0,2"
        ) from None


def hierarchies_of(texts: Sequence[str] | None) -> dict[str, "Hierarchy"]:
    """Return the hierarchies that flags spell as COLUMN=SPEC."""
    found: dict[str, Hierarchy] = {}
    for text in texts or ():
        column, equals, spec = text.partition("=")
        if not equals or not column or not spec or column in found:
            reason = "is given twice" if column in found else "must be written COLUMN=SPEC"
            raise ParameterError(
                f"the hierarchy of {column!r} {reason}",
                hint="for example --hierarchy zipcode=mask:right --hierarchy age=intervals:5,10,20",
            )
        found[column] = _hierarchy(column, spec)
    return found


def _hierarchy(column: str, spec: str) -> "Hierarchy":
    from indistinct.hierarchy import Hierarchy

    kind, _, rest = spec.partition(":")
    match kind:
        case "mask":
            return Hierarchy.masking(rest or "right")
        case "intervals":
            return Hierarchy.intervals([_number(column, part) for part in rest.split(",")])
        case "dates":
            return Hierarchy.dates(rest.split(",")) if rest else Hierarchy.dates()
        case "order":
            return Hierarchy.order(rest.split("|"))
        case "suppression" if not rest:
            return Hierarchy.suppression()
    path = rest if kind == "file" else spec
    if kind != "file" and not Path(path).suffix:
        raise ParameterError(
            f"the hierarchy of {column!r} is neither a file nor one of {', '.join(HIERARCHY_KINDS)}",
            hint=did_you_mean(kind, HIERARCHY_KINDS) or f"for example --hierarchy {column}=mask:right",
        )
    return Hierarchy.read_csv(path)


def _number(column: str, text: str) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            f"the widths of the intervals of {column!r} must be numbers",
            hint=f"for example --hierarchy {column}=intervals:5,10,20",
        ) from None


def refuse_beside_policy(given: Mapping[str, Any]) -> None:
    """Raise if a flag repeats what the policy says: what was reviewed is what runs."""
    flags = [flag for flag, value in given.items() if value is not None]
    if flags:
        raise ParameterError(
            f"{', '.join(flags)} cannot stand beside a policy, which says it already",
            hint="change the policy, or name the data file and give everything as flags",
        )


def opened_table(path: Path, how: Mapping[str, Any]) -> "Table":
    """Return the table in a file; say where codes may have been taken for numbers."""
    from indistinct import api

    table = api.open(path, **how)
    for name in table.respelled:
        note(f"column {name!r} spells one number in several ways, which are one value now; codes want --text {name}")
    return table


def reading_options(
    delimiter: str | None, encoding: str | None, *, missing: Sequence[str] | None, text: Sequence[str] | None
) -> dict[str, Any]:
    """Return how text files are read; no text at all is always missing."""
    texts, columns = tuple(dict.fromkeys(("", *(missing or ())))), tuple(dict.fromkeys(names_of(text)))
    return {"delimiter": delimiter, "encoding": encoding, "missing": texts, "text": columns}
