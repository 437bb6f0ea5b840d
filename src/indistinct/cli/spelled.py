"""Parsers of single flags: columns, models, levels, hierarchies, transformations, pseudonyms."""

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING

from indistinct.errors import ParameterError

if TYPE_CHECKING:
    from indistinct.hierarchy import Hierarchy
    from indistinct.models import Model
    from indistinct.recoding.columns import Importance, LevelBounds, NumericForms
    from indistinct.recoding.transformations import Transformation
    from indistinct.release.pseudonyms.making import Pseudonym


def items_of(texts: Sequence[str] | None) -> list[str]:
    """Return the items of lists in flags, which are separated by commas; double quotes enclose an item with a comma.

    >>> items_of(["-99,n/a", '"1,5"', '" "'])
    ['-99', 'n/a', '1,5', ' ']
    """
    try:
        return [item for row in csv.reader(texts or (), skipinitialspace=True) for item in row if item]
    except csv.Error:
        raise ParameterError(
            "a list in a flag cannot be read", hint="put an item with a comma or an end of line in double quotes"
        ) from None


def names_of(texts: Sequence[str] | None) -> list[str]:
    """Return the columns that lists in flags name.

    >>> names_of(["age,sex", '"last, first"'])
    ['age', 'sex', 'last, first']
    """
    return [name for name in (item.strip() for item in items_of(texts)) if name]


def by_column(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the items of lists in flags by column: COLUMN=TEXT, or TEXT for all columns.

    An item after COLUMN=TEXT belongs to the same column.

    >>> by_column(["-99,n/a", "age=999,998,pay=-1", "*=a=b"])
    {'*': ['-99', 'n/a', 'a=b'], 'age': ['999', '998'], 'pay': ['-1']}
    """
    from indistinct.tables.value import EVERY

    parted: dict[str, list[str]] = {}
    for text in texts:
        name, items = EVERY, items_of([text])
        if text and not items:
            raise ParameterError("a list has no item", hint="""put an item that is a comma in quotes: '","'""")
        for item in items:
            column, equals, rest = item.partition("=")
            name, value = (column, rest) if equals and column else (name, item)
            parted.setdefault(name, []).append(value)
    return parted


def date_formats_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return date formats by column; a list with an item that is no format is one format with a comma in it.

    >>> date_formats_of(["%d.%m.%Y,%Y/%m/%d", "%b %d, %Y"])
    {'*': ['%d.%m.%Y', '%Y/%m/%d', '%b %d, %Y']}
    """
    parted: dict[str, list[str]] = {}
    for text in texts:
        formats = by_column([text])
        if not all(_is_format(each) for forms in formats.values() for each in forms):
            formats = by_column(['"' + text.replace('"', '""') + '"'])
        for name, forms in formats.items():
            parted.setdefault(name, []).extend(forms)
    return parted


def _is_format(text: str) -> bool:
    """Return whether a text is a date format."""
    from indistinct.tables.notation import check_format

    try:
        check_format(text)
    except ParameterError:
        return False
    return True


def models_of(texts: Sequence[str] | None) -> tuple["Model", ...]:
    """Parse the models of flags."""
    from indistinct.models.registry import parse_model

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
    """Parse hierarchies given as COLUMN=SPEC."""
    from indistinct.hierarchy import hierarchy_from_spec

    specs = _specs(texts, "hierarchy", example="--hierarchy zipcode=mask:right --hierarchy age=intervals:5,10,20")
    return {column: hierarchy_from_spec(column, spec) for column, spec in specs.items()}


def transformations_of(texts: Sequence[str] | None) -> dict[str, "Transformation"]:
    """Parse maskings given as COLUMN=SPEC."""
    from indistinct.recoding.transformations import parse_transformation

    specs = _specs(texts, "transformation", example="--transform cost=round:100,top:10000 --transform note=clear")
    return {column: parse_transformation(spec) for column, spec in specs.items()}


def pseudonyms_of(texts: Sequence[str] | None) -> dict[str, "Pseudonym"]:
    """Parse pseudonyms given as COLUMN=SPEC."""
    from indistinct.release.pseudonyms.making import parse_pseudonym

    specs = _specs(texts, "pseudonym", example="--pseudonym patient=key:FILE or --pseudonym patient=random")
    return {column: parse_pseudonym(spec) for column, spec in specs.items()}


def importance_of_flags(texts: Sequence[str] | None) -> "Importance":
    """Parse attribute weights given as COLUMN=NUMBER.

    >>> str(importance_of_flags(["age=3", "sex=0.5"]))
    'age=3|sex=0.5'
    """
    from indistinct.recoding.columns import importance_of

    example = "--importance age=3 --importance sex=2"
    weights = {}
    for column, spec in _specs(texts, "importance", example=example).items():
        try:
            weights[column] = float(spec)
        except ValueError:
            raise ParameterError(f"the importance of {column!r} must be a number", hint=example) from None
    return importance_of(weights)


def levels_of_flags(texts: Sequence[str] | None) -> "LevelBounds":
    """Parse minimum and maximum generalization given as COLUMN=LEAST..MOST.

    >>> str(levels_of_flags(["zipcode=1..3", "age=2.."]))
    'zipcode=1..3, age=2..'
    """
    from indistinct.recoding.columns import levels_of

    return levels_of(_specs(texts, "levels", example="--levels zipcode=1..3 --levels age=1.."))


def numeric_of_flags(texts: Sequence[str] | None) -> "NumericForms":
    """Parse the forms of single columns of numbers given as COLUMN=FORM.

    >>> str(numeric_of_flags(["age=mean", "hours=bounds"]))
    'age=mean|hours=bounds'
    """
    from indistinct.recoding.columns import numeric_forms

    return numeric_forms(_specs(texts, "form", example="--numeric age=mean --numeric hours=bounds"))


def rules_of(texts: Sequence[str] | None) -> dict[str, str]:
    """Parse the rules for ranges in an analysis given as COLUMN=RULE."""
    return _specs(texts, "a rule", example="--rule age=midpoint")


def _specs(texts: Sequence[str] | None, what: str, *, example: str) -> dict[str, str]:
    """Return the specifications of columns, each given once as COLUMN=SPEC."""
    specs: dict[str, str] = {}
    for text in texts or ():
        column, equals, spec = text.partition("=")
        if not equals or not column or not spec or column in specs:
            reason = "is given twice" if column in specs else "must be written COLUMN=SPEC"
            raise ParameterError(f"the {what} of {column!r} {reason}", hint=f"for example {example}")
        specs[column] = spec
    return specs
