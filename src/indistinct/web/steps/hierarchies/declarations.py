"""What a steward types into fields as the declaration of a hierarchy, in the form in which a policy has it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from indistinct.algorithms.base import Algorithm
from indistinct.figures import number, plural
from indistinct.hierarchy import (
    KINDS,
    CutPoints,
    Dates,
    Explicit,
    Hierarchy,
    Intervals,
    Masking,
    Order,
    table_of_values,
)
from indistinct.job.policy import Policy
from indistinct.tables.domain import Kind
from indistinct.web.worker import TaskError

NONE, TREE = "none", "tree"
AS_TREES = ("rows", "file", "parents")
"""Kinds of declarations that are shown as trees."""
NO_LEVELS = "No coarser values are declared: the search decides what becomes of values."


def builder_of(hierarchy: Hierarchy | None) -> str:
    """Return which builder made a hierarchy.

    >>> builder_of(Hierarchy.masking())
    'mask'
    """
    if hierarchy is None:
        return NONE
    return TREE if table_of_values(hierarchy) is not None else next(iter(hierarchy.to_json()))


def builders_for(kind: str, chosen: str) -> dict[str, str]:
    """Return the titles of the builders that a column of a kind can have, and of the one that it has."""
    offered = [each for key, each in KINDS.items() if key not in AS_TREES]
    fit = [each for each in offered if not each.columns or kind in each.columns or each.key == chosen]
    return {NONE: "No levels", **{each.key: each.title for each in fit}}


def meaning_of(builder: str) -> str:
    """Return the description of a builder."""
    return NO_LEVELS if builder == NONE else KINDS[builder].meaning


def describe_hierarchy(hierarchy: Hierarchy | None) -> str:
    """Return a declaration in a few words.

    >>> describe_hierarchy(Hierarchy.intervals([5, 10]))
    'ranges of 5, then 10'
    """
    match hierarchy:
        case None:
            return "no levels"
        case Intervals():
            start = f", from {hierarchy.origin:g}" if hierarchy.origin else ""
            return f"ranges of {_in_turn(map(number, hierarchy.widths))}{start}"
        case CutPoints():
            return f"ranges that you cut, on {plural(len(hierarchy.cuts), 'level')}"
        case Dates():
            return f"the {_in_turn(hierarchy.levels)}"
        case Masking():
            return f"characters hidden from the {hierarchy.side}, one more on each level"
        case Order():
            return f"{plural(len(hierarchy.values), 'value')} in an order, neighbours joined"
        case Explicit():
            source = (
                f", from {Path(hierarchy.path).name}"
                if hierarchy.form in ("file", "parents") and hierarchy.path
                else ""
            )
            return f"groups of {plural(len(hierarchy.rows), 'value')}{source}"
        case _:
            return "unmodified, or not at all"


def helps(advice: Hierarchy, declared: Hierarchy | None) -> bool:
    """Return whether a suggestion is worth taking: suppression is what a column without levels has already.

    >>> helps(Hierarchy.suppression(), None), helps(Hierarchy.masking(), None)
    (False, True)
    """
    return advice != declared and not (declared is None and builder_of(advice) == "suppression")


def _in_turn(levels: Iterable[str]) -> str:
    return ", then ".join(levels)


def show_path(labels: Sequence[str]) -> str:
    """Write the labels of a value, level by level, without repetitions.

    >>> show_path(["34", "30-34", "30-39", "30-39", "*"])
    '34 → 30-34 → 30-39 → *'
    """
    return " → ".join(label for label, before in zip(labels, [None, *labels], strict=False) if label != before)


def parse_numbers(text: str) -> list[float]:
    """Return the numbers that a text lists.

    >>> parse_numbers("5, 10; 12.5")
    [5, 10, 12.5]
    """
    parts = [part for part in re.split(r"[\s,;]+", text.strip()) if part]
    if not parts:
        raise TaskError("name one number at least", hint="for instance 5, 10, 20")
    return [_number(part, index) for index, part in enumerate(parts, start=1)]


def number_of(text: str) -> float:
    """Return the one number of a text; none is 0."""
    return _number(text.strip(), 1) if text.strip() else 0


def whole_number_of(text: str) -> int | None:
    """Return the whole number of a text, None if it is empty."""
    if not text.strip():
        return None
    if not text.strip().isdecimal():
        raise TaskError("this must be a whole number", hint="or leave the field empty")
    return int(text)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not empty, without blanks at their ends."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def cuts_of(text: str) -> list[list[float]]:
    """Return the cut points of each level: a line a level, finest first.

    >>> cuts_of("18, 40, 65")
    [[18, 40, 65]]
    """
    lines = lines_of(text)
    if not lines:
        raise TaskError("name one cut point at least", hint="for instance 18, 40, 65")
    cuts = []
    for index, line in enumerate(lines, start=1):
        try:
            cuts.append(parse_numbers(line))
        except TaskError as error:
            raise TaskError(f"level {index}: {error.message}", hint=error.hint) from None
    return cuts


def spell_numbers(values: Sequence[float]) -> str:
    """Return numbers as `parse_numbers` reads them.

    >>> spell_numbers([5, 2.5])
    '5, 2.5'
    """
    return ", ".join(map(repr, values))


def _number(text: str, index: int) -> float:
    """Parse one number of a list; errors give its position."""
    try:
        return int(text) if re.fullmatch(r"[+-]?\d+", text, re.ASCII) else float(text)
    except ValueError:
        raise TaskError(
            f"entry {index} is not a number", hint="separate numbers by commas, and write decimals with a point: 2.5"
        ) from None


def columns_with_hierarchies(policy: Policy) -> dict[str, str]:
    """Return the columns that a hierarchy is good for, each with what it is for."""
    uses = dict.fromkeys(policy.schema.quasi, "quasi-identifier")
    for model in policy.models:
        for part in model.parts():
            uses |= dict.fromkeys(part.needs_hierarchies, f"sensitive, distances of {part.name}")
    for name, transformation in policy.transformations.items():
        if transformation.level is not None:
            uses[name] = f"published on level {transformation.level}"
    for name in policy.hierarchies:
        if name in policy.schema.published:
            uses.setdefault(name, str(policy.schema.role(name)))
    return uses


def remark(algorithm: Algorithm, hierarchy: Hierarchy | None, *, kind: str, quasi: bool) -> str:
    """Return a remark on how an algorithm uses the hierarchy of a column, if that may surprise."""
    traits = algorithm.traits
    if not quasi:
        return ""
    if traits.keeps_values:
        return "The search keeps values unmodified, so that it publishes no levels." if hierarchy else ""
    if traits.ranges and kind != Kind.TEXT and (hierarchy is None or not hierarchy.categorical):
        if hierarchy is None:
            return "The search makes ranges that fit this column: nothing needs to be done here."
        return (
            "The search makes ranges that fit this column, and does not publish these levels; figures of loss alone "
            "look at them. Ask for the same groups for everybody to publish them."
        )
    if hierarchy is not None:
        return ""
    if traits.hierarchies:
        return "Without levels a value of this column is published unmodified, or not at all."
    return "Without levels values of this column are joined to sets, such as {a, b}."


def with_hierarchy(
    hierarchies: Mapping[str, Hierarchy], column: str, hierarchy: Hierarchy | None
) -> dict[str, Hierarchy]:
    """Replace or remove the hierarchy of a column."""
    kept = {name: each for name, each in hierarchies.items() if name != column or hierarchy is not None}
    return kept if hierarchy is None else {**kept, column: hierarchy}
