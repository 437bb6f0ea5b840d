"""What single flags spell: columns, models, levels, hierarchies, transformations, pseudonyms."""

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING

from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from indistinct.hierarchy import Hierarchy
    from indistinct.models import Model
    from indistinct.release.pseudonym_columns import Pseudonym
    from indistinct.transformations import Transformation


def names_of(texts: Sequence[str] | None) -> list[str]:
    """Return the columns that comma-separated texts name; a name with a comma stands in double quotes.

    >>> names_of(["age,sex", '"last, first"'])
    ['age', 'sex', 'last, first']
    """
    rows = csv.reader(texts or (), skipinitialspace=True)
    return [name for row in rows for name in (part.strip() for part in row) if name]


def models_of(texts: Sequence[str] | None) -> tuple["Model", ...]:
    """Return the models that flags spell."""
    from indistinct.registry import parse_model

    return tuple(part for text in texts or () for part in parse_model(text).parts())


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
    from indistinct.hierarchy.readers import hierarchy_from_spec

    specs = _specs(texts, "hierarchy", example="--hierarchy zipcode=mask:right --hierarchy age=intervals:5,10,20")
    return {column: hierarchy_from_spec(column, spec) for column, spec in specs.items()}


def transformations_of(texts: Sequence[str] | None) -> dict[str, "Transformation"]:
    """Return the transformations that flags spell as COLUMN=SPEC."""
    from indistinct.transformations import parse_transformation

    specs = _specs(texts, "transformation", example="--transform cost=round:100,top:10000 --transform note=clear")
    return {column: parse_transformation(spec) for column, spec in specs.items()}


def pseudonyms_of(texts: Sequence[str] | None) -> dict[str, "Pseudonym"]:
    """Return the pseudonyms that flags spell as COLUMN=SPEC."""
    from indistinct.release.pseudonym_columns import parse_pseudonym

    specs = _specs(texts, "pseudonym", example="--pseudonym patient=key:FILE or --pseudonym patient=random")
    return {column: parse_pseudonym(spec) for column, spec in specs.items()}


def _specs(texts: Sequence[str] | None, what: str, *, example: str) -> dict[str, str]:
    """Return what is said of single columns, as COLUMN=SPEC, once of each."""
    found: dict[str, str] = {}
    for text in texts or ():
        column, equals, spec = text.partition("=")
        if not equals or not column or not spec or column in found:
            reason = "is given twice" if column in found else "must be written COLUMN=SPEC"
            raise ParameterError(f"the {what} of {column!r} {reason}", hint=f"for example {example}")
        found[column] = spec
    return found
