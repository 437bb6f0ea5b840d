"""The fields of each builder: a change is checked at its field, and what was refused stays there to be mended."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from indistinct.hierarchy import Dates, Hierarchy
from indistinct.hierarchy.builders import CALENDAR
from indistinct.hierarchy.explicit import declared_order
from indistinct.parameters import (
    Choice,
    Constraint,
    Parameter,
    SeveralNumbers,
    SeveralOf,
    SeveralTexts,
    Whole,
    WrittenNumber,
    constraints_of,
)
from indistinct.web import parts
from indistinct.web.deciding import with_levels
from indistinct.web.frame import Screen
from indistinct.web.steps.hierarchies.declarations import (
    cuts_of,
    lines_of,
    number_of,
    parse_numbers,
    spell_numbers,
    whole_number_of,
    with_hierarchy,
)
from indistinct.web.tasks.hierarchies import survey
from indistinct.web.worker import TaskError

COLUMN = "column"
"""Under this name a tab keeps which column it shows."""


def draw_fields(screen: Screen, column: str, hierarchy: Hierarchy | None) -> None:
    """Draw a field for each parameter of a hierarchy, by what it takes; a tree has none."""
    form = _Form(screen, column)
    for name, takes, parameter, _ in () if hierarchy is None else constraints_of(type(hierarchy)):
        value = getattr(hierarchy, name)
        match takes:
            case SeveralOf():
                _draw_ticks(form, hierarchy, name, takes.names, parameter)
            case Choice():
                form.choice(hierarchy, name, {each: each for each in takes.names}, parameter)
            case _:
                read, write, how = _text_form(takes)
                form.field(hierarchy, name, write(value), read, parameter, **how)


def _text_form(takes: Constraint) -> tuple[Callable[[str], Any], Callable[[Any], str], dict[str, str]]:
    """Return parser, writer and look of a text field."""
    match takes:
        case SeveralNumbers(nested=True):
            return cuts_of, lambda lists: "\n".join(map(spell_numbers, lists)), {"kind": "area"}
        case SeveralNumbers():
            return parse_numbers, spell_numbers, {}
        case WrittenNumber():
            return number_of, lambda value: spell_numbers([value]), {}
        case SeveralTexts():
            return lines_of, "\n".join, {"kind": "area"}
        case Whole():
            return whole_number_of, lambda value: "" if value is None else str(value), {"inputmode": "numeric"}
        case _:
            return str, str, {"maxlength": "1"}


def _draw_ticks(form: "_Form", hierarchy: Any, name: str, names: Sequence[str], parameter: Parameter) -> None:
    """Draw checkboxes for the periods of a hierarchy of dates."""
    error = form.screen.errors.get(name)
    with parts.tag("fieldset", id=name, tabindex="-1", aria_describedby=f"{name}-error" if error else None):
        parts.tag("legend", parameter.label)
        for each in names:
            ticked = each in getattr(hierarchy, name)
            parts.tick(each.capitalize(), ticked, form.tick(hierarchy, each), name=f"{name}-{each}")
        if error:
            parts.problem(error, at=name)


class _Form:
    """Fields of one column: each turns what is typed into a hierarchy."""

    def __init__(self, screen: Screen, column: str) -> None:
        self.screen, self.column = screen, column

    def field(
        self, hierarchy: Any, name: str, text: str, read: Callable[[str], Any], parameter: Parameter, **how: Any
    ) -> None:
        """Draw a field; what was refused is shown again with what is wrong."""
        column = self.column
        self.screen.field(
            parameter.label,
            text,
            lambda typed: self._take(typed, lambda typed: replace(hierarchy, **{name: read(typed)})),
            name=name,
            key=(column, name),
            about=f"{column}: {parameter.label.lower()}",
            part=lambda policy: policy.hierarchies.get(column),
            hint=parameter.meaning,
            **how,
        )

    def choice(self, hierarchy: Any, name: str, shown: dict[str, str], parameter: Parameter) -> None:
        """Draw a list to choose from."""
        self.screen.choice(
            parameter.label,
            shown,
            getattr(hierarchy, name),
            lambda chosen: self._take(chosen, lambda chosen: replace(hierarchy, **{name: chosen})),
            name=name,
            hint=parameter.meaning,
        )

    def tick(self, hierarchy: Dates, unit: str) -> Callable[..., Any]:
        """Return the handler of a period's checkbox; the last period cannot be removed."""

        def take(wanted: bool) -> Awaitable[None]:
            return self._take(unit, lambda _unit: with_unit(hierarchy, unit, wanted))

        return self.screen.on(take, at="levels")

    async def _take(self, text: str, make: Callable[[str], Hierarchy]) -> None:
        """Save the typed hierarchy in the policy if it fits the column."""
        screen, column = self.screen, self.column
        made = make(text)
        changed = replace(screen.policy, hierarchies=with_hierarchy(screen.policy.hierarchies, column, made))
        fit = (await screen.session.ask(survey, changed, (column,)))[column]
        # Values that an order does not name can be added to it; everything else is mended here.
        if fit.message and not (fit.uncovered and declared_order(made) is not None):
            raise TaskError(fit.message, hint=fit.hint)
        screen.change(changed)


def with_unit(hierarchy: Dates, unit: str, wanted: bool) -> Hierarchy:
    """Return periods with one more, or one less.

    >>> with_unit(Hierarchy.dates(["month", "decade"]), "year", True).levels
    ('month', 'year', 'decade')
    """
    kept = [each for each in CALENDAR.names if (wanted if each == unit else each in hierarchy.levels)]
    if not kept:
        raise TaskError("one period at least must stay", hint="or choose suppression")
    return replace(hierarchy, levels=kept)


def decide(screen: Screen, column: str, hierarchy: Hierarchy | None, *, keep: Collection[str] = ()) -> None:
    """Save a hierarchy in the policy, and forget the tab's choices about the old one except those to `keep`.

    Bounds of its levels stay with a tree that is edited, and go with one that is replaced.
    """
    changed = replace(screen.policy, hierarchies=with_hierarchy(screen.policy.hierarchies, column, hierarchy))
    screen.change(changed if keep else with_levels(changed, column, ""))
    kept = {name: value for name, value in screen.choices.items() if name in keep}
    screen.choices = {**kept, COLUMN: column}
