"""The fields of each builder: a change is checked at its field, and what was refused stays there to be mended."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Any

from indistinct.hierarchy import CutPoints, Dates, Hierarchy, Intervals, Masking, Order
from indistinct.hierarchy.builders import declared_order
from indistinct.web import parts
from indistinct.web.deciding import with_levels
from indistinct.web.frame import Screen
from indistinct.web.steps.hierarchies.declarations import (
    UNITS,
    cuts_of,
    lines_of,
    number_of,
    parse_numbers,
    spell_numbers,
    whole_number_of,
    with_hierarchy,
    with_option,
)
from indistinct.web.tasks.hierarchies import survey
from indistinct.web.worker import TaskError

COLUMN = "column"
"""Under this name a tab keeps which column it shows."""


def draw_fields(screen: Screen, column: str, hierarchy: Hierarchy | None) -> None:
    """Draw the fields of a hierarchy's builder, if it has any."""
    form = _Form(screen, column)
    match hierarchy:
        case Intervals():
            _draw_intervals(form, hierarchy)
        case CutPoints():
            form.field(
                "Cut points, a line a level, finest first",
                "\n".join(map(spell_numbers, hierarchy.cuts)),
                lambda text: with_option(hierarchy, "cuts", cuts_of(text)),
                name="cuts",
                kind="area",
                hint="An interval begins with its cut point. A coarser level repeats some cuts of the finer one.",
            )
        case Dates():
            _draw_dates(form, hierarchy)
        case Masking():
            _draw_masking(form, hierarchy)
        case Order():
            form.field(
                "Values, a line each, lowest first",
                "\n".join(hierarchy.values),
                lambda text: with_option(hierarchy, "order", lines_of(text)),
                name="order",
                kind="area",
            )


def _draw_intervals(form: "_Form", hierarchy: Intervals) -> None:
    form.field(
        "Widths, finest first",
        spell_numbers(hierarchy.widths),
        lambda text: with_option(hierarchy, "intervals", parse_numbers(text)),
        name="widths",
        hint="One level each; every width is a multiple of the one before, as 5, 10, 20.",
    )
    form.field(
        "Where an interval begins",
        spell_numbers([hierarchy.origin]),
        lambda text: with_option(hierarchy, "origin", number_of(text)),
        name="origin",
        hint="With 0, intervals of 5 are 20-24, 25-29; with 1 they are 21-25, 26-30.",
    )


def _draw_dates(form: "_Form", hierarchy: Dates) -> None:
    error = form.screen.errors.get("units")
    with parts.tag("fieldset", id="units", tabindex="-1", aria_describedby="units-error" if error else None):
        parts.tag("legend", "Periods, one level each")
        for unit in UNITS:
            parts.tick(unit.capitalize(), unit in hierarchy.levels, form.tick(hierarchy, unit), name=f"unit-{unit}")
        if error:
            parts.problem(error, at="units")


def _draw_masking(form: "_Form", hierarchy: Masking) -> None:
    form.choice(
        "Characters are hidden from the",
        {"right": "right: 4351, 435*, 43**", "left": "left: 4351, *351, **51"},
        hierarchy.side,
        lambda side: with_option(hierarchy, "mask", side),
        name="side",
    )
    form.field(
        "Levels before the top",
        "" if hierarchy.levels is None else str(hierarchy.levels),
        lambda text: with_option(hierarchy, "levels", whole_number_of(text)),
        name="levels",
        hint="Empty: one for each character but the last.",
        inputmode="numeric",
    )
    form.field(
        "Length of the longest value",
        "" if hierarchy.length is None else str(hierarchy.length),
        lambda text: with_option(hierarchy, "length", whole_number_of(text)),
        name="length",
        hint="Empty: as in this table.",
        inputmode="numeric",
    )
    form.field(
        "Character in place of a hidden one",
        hierarchy.char,
        lambda text: with_option(hierarchy, "char", text),
        name="char",
        maxlength="1",
    )


class _Form:
    """Fields of one column: each turns what is typed into a hierarchy."""

    def __init__(self, screen: Screen, column: str) -> None:
        self.screen, self.column = screen, column

    def field(self, label: str, value: str, make: Callable[[str], Hierarchy], *, name: str, **options: Any) -> None:
        """Draw a field; what was refused is shown again with what is wrong."""
        column = self.column
        self.screen.field(
            label,
            value,
            lambda text: self._take(text, make),
            name=name,
            key=(column, name),
            about=f"{column}: {label.lower()}",
            part=lambda policy: policy.hierarchies.get(column),
            **options,
        )

    def choice(
        self, label: str, shown: dict[str, str], value: str, make: Callable[[str], Hierarchy], *, name: str
    ) -> None:
        """Draw a list to choose from."""
        screen = self.screen
        screen.choice(label, shown, value, lambda text: self._take(text, make), name=name)

    def tick(self, hierarchy: Dates, unit: str) -> Callable[..., Any]:
        """Return what a box of a period does; the last one cannot be taken away."""

        def take(wanted: bool) -> Awaitable[None]:
            return self._take(unit, lambda _unit: with_unit(hierarchy, unit, wanted))

        return self.screen.on(take, at="units")

    async def _take(self, text: str, make: Callable[[str], Hierarchy]) -> None:
        """Put what is typed into the policy if it is a hierarchy that fits the column."""
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
    kept = [each for each in UNITS if (each in hierarchy.levels or wanted) and (each != unit or wanted)]
    kept = [each for each in kept if each in hierarchy.levels or each == unit]
    if not kept:
        raise TaskError("one period at least must stay", hint="or choose suppression")
    return with_option(hierarchy, "dates", kept)


def decide(screen: Screen, column: str, hierarchy: Hierarchy | None, *, keep: Collection[str] = ()) -> None:
    """Put a hierarchy into the policy; what the tab had chosen about the old one is gone but for what it shall keep.

    Bounds of its levels stay with a tree that is edited, and go with one that is replaced.
    """
    changed = replace(screen.policy, hierarchies=with_hierarchy(screen.policy.hierarchies, column, hierarchy))
    screen.change(changed if keep else with_levels(changed, column, ""))
    kept = {name: value for name, value in screen.choices.items() if name in keep}
    screen.choices = {**kept, COLUMN: column}
